"""Trials that no node takes: what is said of it, and when it ends."""

import time
from types import SimpleNamespace

import pytest

from embedsearch.errors import UserError
from embedsearch.sweep.search import placement
from embedsearch.sweep.search.cluster import prepare
from embedsearch.sweep.search.placement import Nodes, Patience, Watch, slots

GPU = {"CPU": 1.0, "GPU": 1.0}
NONE_LEFT = Nodes([{"CPU": 2.0, "memory": 1e9}], {"CPU": 2.0})
TAKEN = Nodes([{"CPU": 2.0, "GPU": 1.0}], {"CPU": 1.0})


class Clock:
    """Time that passes when it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)


def watch_for(
    nodes: list[Nodes], clock: Clock, seconds: int, processes: int = 1
) -> list[tuple[int, str]]:
    """When what is said, with ``nodes`` as they are in each minute."""
    said: list[tuple[int, str]] = []
    begun = clock.now

    def now() -> Nodes:
        return nodes[min(int((clock.now - begun) // 60) - 1, len(nodes) - 1)]

    def say(text: str) -> None:
        said.append((int(clock.now - begun), text))

    watch = Watch(GPU, processes, Patience(), now, say)
    for _ in range(seconds):
        clock.now += 1
        watch.look(running=False)
    return said


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_it_is_said_after_a_minute_and_sparingly_after_that(clock: Clock) -> None:
    said = watch_for([TAKEN], clock, 1000)
    assert [second for second, _ in said] == [60, 120, 240, 480, 960]
    assert said[0][1].startswith("for 60 s no trial has started: each wants 1 CPU and 1 GPU, and ")
    assert "1 of 2 CPU and 0 of 1 GPU are free" in said[0][1]


def test_what_no_node_has_is_named_and_ends_it(clock: Clock) -> None:
    with pytest.raises(UserError, match=r"600 s .* no node has 1 GPU \(at most 0 GPU\)"):
        watch_for([NONE_LEFT], clock, 700)


def test_a_node_that_comes_in_time_saves_it(clock: Clock) -> None:
    assert watch_for([NONE_LEFT] * 9 + [TAKEN] + [NONE_LEFT], clock, 1199)
    with pytest.raises(UserError):
        watch_for([NONE_LEFT] * 9 + [TAKEN] + [NONE_LEFT], clock, 1200)


def test_others_are_not_waited_for_for_ever(clock: Clock) -> None:
    with pytest.raises(UserError, match="43200 s"):
        watch_for([TAKEN], clock, 50_000)


def test_ranks_that_the_nodes_have_no_room_for_are_named_and_end_it(clock: Clock) -> None:
    node = {"CPU": 2.0, "GPU": 1.0}
    with pytest.raises(UserError, match=r"600 s no .* wants 4 processes of 1 CPU and 1 GPU, "):
        watch_for([Nodes([node] * 3, node)], clock, 700, processes=4)
    said = watch_for([Nodes([node] * 3, node)], clock, 100, processes=4)
    assert said[0][1].endswith("the nodes have room for 3 of its 4 processes")
    said = watch_for([Nodes([node] * 4, {"CPU": 8.0, "GPU": 3.0})], clock, 1000, processes=4)
    assert "8 of 8 CPU and 3 of 4 GPU are free" in said[0][1], "they may be spread over nodes"


def test_ranks_run_once_they_have_their_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """To Tune their trial runs while they wait."""
    prepare()
    looks: list[bool] = []
    monkeypatch.setattr(Watch, "look", lambda watch, running: looks.append(running))

    def look(processes: int, status: str, placed: bool) -> bool:
        monkeypatch.setattr(placement, "are_placed", lambda many: placed and many == processes)
        of_tune = placement.watching(GPU, processes, Patience())
        of_tune.on_step_end(0, [SimpleNamespace(status=status)])
        return looks[-1]

    assert look(2, "RUNNING", placed=True) and not look(2, "RUNNING", placed=False)
    assert look(1, "RUNNING", placed=False) and not look(2, "PENDING", placed=True)


def test_a_trial_that_runs_begins_the_minute_anew(clock: Clock) -> None:
    said: list[str] = []
    watch = Watch(GPU, 1, Patience(), lambda: NONE_LEFT, said.append)
    for second in range(2000):
        clock.now += 1
        watch.look(running=second % 59 == 0)
    assert not said


def test_a_cluster_of_nodes_too_small_each() -> None:
    small = Nodes([{"CPU": 2.0}, {"CPU": 1.0, "GPU": 1.0}], {})
    assert small.lacking({"CPU": 4.0}) == "no node has 4 CPU (at most 2 CPU)"
    assert small.lacking({"CPU": 2.0, "GPU": 1.0}) == "no node has 2 CPU and 1 GPU together"
    assert small.lacking({"CPU": 1.0, "GPU": 1.0}) == ""
    assert Nodes([], {}).lacking({"CPU": 1.0}) == "no node has 1 CPU (at most 0 CPU)"


@pytest.mark.parametrize("share", range(1, 65))
def test_as_many_trials_share_a_card_as_were_asked_for(share: int) -> None:
    assert slots({"CPU": 64.0, "GPU": 1.0}, {"CPU": 1.0, "GPU": 1 / share}) == share
