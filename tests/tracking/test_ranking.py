from dataclasses import replace

from embedsearch.records import CONFIRM
from embedsearch.tracking.group import Group
from embedsearch.tracking.ranking import Trial, common_groups, rank

from .conftest import make_spec


def trial(alpha: float, score: float | None, *, seed: int = 0, **fields: object) -> Trial:
    spec = make_spec(alpha, seed=seed)
    values: dict[str, object] = {
        "run_id": f"{alpha}-{seed}",
        "point_id": spec.point.id,
        "group": Group.of(spec),
        "grids": frozenset({"coarse"}),
        "preset": "demo",
        "seed": seed,
        "values": spec.point.values,
        "score": score,
        "start_score": 50.0,
        "step": 20,
        "checkpoint": "there",
        "ended": 1,
    }
    return Trial(**{**values, **fields})  # type: ignore[arg-type]


def test_the_higher_score_leads() -> None:
    ranking = rank([trial(0.1, 60.0), trial(0.2, 62.0), trial(0.3, 61.0)])
    assert [entry.mean for entry in ranking.entries] == [62.0, 61.0, 60.0]
    assert ranking.entries[0].sd is None
    assert ranking.varying == {"alpha"}


def test_a_trial_without_a_score_never_counts() -> None:
    ranking = rank([trial(0.1, None), trial(0.2, 1.0)])
    assert [entry.mean for entry in ranking.entries] == [1.0]
    assert ranking.unscored == 1
    assert rank([trial(0.1, None)]).entries == ()


def test_seeds_count_with_their_mean() -> None:
    lucky = [trial(0.1, 64.0, seed=0), trial(0.1, 58.0, seed=1)]
    steady = [trial(0.2, 62.0, seed=0), trial(0.2, 62.2, seed=1)]
    first, second = rank([*lucky, *steady]).entries
    assert first.leader.values["alpha"] == 0.2
    assert first.mean == 62.1
    assert (second.mean, round(second.sd or 0, 2)) == (61.0, 4.24)
    assert second.scores == (64.0, 58.0)


def test_a_seed_counts_once() -> None:
    again = [trial(0.1, 62.0, ended=1, run_id="first"), trial(0.1, 61.0, ended=2, run_id="then")]
    (entry,) = rank(again).entries
    assert (entry.leader.run_id, entry.scores, entry.sd) == ("then", (61.0,), None)


def test_divided_batches_make_another_point() -> None:
    chunked = trial(0.1, 64.0, seed=1, division={"chunk_size": 16})
    spread = trial(0.1, 66.0, division={"chunk_size": 16, "ranks": 2})
    other = Group.of(make_spec(corpus="wiki"))
    ranking = rank([trial(0.1, 60.0), trial(0.1, 62.0, seed=1), chunked, spread])
    assert [entry.scores for entry in ranking.entries] == [(66.0,), (64.0,), (62.0, 60.0)]
    assert ranking.points == 3 and ranking.varying == {"chunk_size", "ranks"}
    apart = [replace(each, group=other, ended=0) for each in (trial(0.1, 1.0), chunked)]
    assert rank([trial(0.1, 60.0), *apart]).others == ((other, 2),)


def test_a_gap_within_the_seeds_spread_is_a_tie() -> None:
    wide = [trial(0.1, 62.0, seed=0), trial(0.1, 60.0, seed=1)]
    assert rank([*wide, trial(0.2, 60.5), trial(0.3, 50.0)]).tied == 2
    assert rank([trial(0.1, 61.0), trial(0.2, 60.9)]).tied == 1, "one seed has no spread"
    assert rank([trial(0.1, 61.0), trial(0.2, 61.0)]).tied == 2


FRESH = {"grids": frozenset({CONFIRM})}


def test_confirmed_points_come_first_with_their_fresh_seeds_alone() -> None:
    lucky = [trial(0.1, 66.0), *(trial(0.1, 60.0 + s, seed=s, **FRESH) for s in (1, 2))]
    ranking = rank([*lucky, trial(0.2, 63.0), trial(0.3, 50.0)])
    first, second, _ = ranking.entries
    assert (first.mean, first.scores) == (61.5, (62.0, 61.0))
    assert second.mean == 63.0 and not second.fresh
    assert (ranking.higher, ranking.tied) == (1, 1)
    value = first.to_json()
    assert (value["confirmed"], value["seeds"], value["search_scores"]) == (True, [2, 1], [66.0])


def test_one_fresh_seed_and_a_searched_one_confirm_nothing() -> None:
    one = [trial(0.1, 66.0), trial(0.1, 60.0, seed=1, **FRESH)]
    assert rank(one).entries[0].fresh == ()
    taken = trial(0.1, 70.0, seed=2, grids=frozenset({CONFIRM, "coarse"}))
    assert rank([*one, taken]).entries[0].fresh == ()
    assert rank([*one, trial(0.1, 61.0, seed=3, **FRESH)]).entries[0].mean == 60.5


def test_searches_are_compared_in_the_group_that_most_have() -> None:
    here, wiki = Group.of(make_spec()), Group.of(make_spec(corpus="wiki"))
    found = common_groups(
        {
            "a": [trial(0.1, 60.0, ended=1), trial(0.1, 60.0, group=wiki, ended=9)],
            "b": [trial(0.1, 60.0, ended=2)],
            "c": [trial(0.1, 60.0, group=wiki, ended=3)],
            "d": [trial(0.1, None, ended=4)],
            "e": [trial(0.1, 60.0, ended=5, **FRESH)],
        }
    )
    assert found == {"a": wiki, "b": here, "c": wiki}, "as many have either, so the latest"
    assert here.apart(wiki) == {"corpus": ("demo", "wiki")} and here.apart(here) == {}
    assert common_groups({"d": []}) == {}


def test_groups_are_never_mixed() -> None:
    other = Group.of(make_spec(corpus="wiki"))
    trials = [trial(0.1, 60.0, ended=5), trial(0.2, 90.0, group=other, ended=3)]
    ranking = rank(trials)
    assert ranking.group == Group.of(make_spec())
    assert [entry.mean for entry in ranking.entries] == [60.0]
    assert ranking.others == ((other, 1),)
    assert rank(trials, other.key).entries[0].mean == 90.0
    assert rank(trials, "unknown").entries == ()


def test_what_makes_a_group() -> None:
    base = Group.of(make_spec())
    assert Group.of(make_spec(0.2, seed=3)) == base
    assert Group.of(make_spec(corpus="wiki")) != base
    assert Group.of(make_spec(steps=40)) != base


def test_the_leader_is_the_best_seed_that_has_its_checkpoint() -> None:
    entry = rank([trial(0.1, 62.0, checkpoint=None), trial(0.1, 61.0, seed=1)]).entries[0]
    assert entry.leader.seed == 1


def test_json_has_all_numbers() -> None:
    value = rank([trial(0.1, 62.0), trial(0.1, 61.0, seed=1)]).entries[0].to_json()
    assert value["score"] == 61.5
    assert value["scores"] == [62.0, 61.0]
    assert value["seeds"] == [0, 1]
    assert value["start_score"] == 50.0
