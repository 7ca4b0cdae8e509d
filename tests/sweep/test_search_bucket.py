"""Trials over a real Ray by way of a bucket: those that wait, and those of several processes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from embedsearch import remains, sources, trial
from embedsearch.bucket import Bucket
from embedsearch.place import Place
from embedsearch.records import Status
from embedsearch.sweep import search
from tests.conftest import make_point
from tests.sweep.test_search import Notes

pytestmark = pytest.mark.slow


def files(folder: Path) -> set[str]:
    """Of what trials keep there, by trial and name."""
    found = (path.relative_to(folder).parts for path in folder.rglob("*") if path.is_file())
    return {f"{parts[1]}/{parts[2]}" for parts in found if parts[0] == "work"}


def test_trials_wait_there_and_ranks_meet_there(
    make_setting: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    sources._publish.cache_clear()
    place, alone = Place(Bucket(f"file://{tmp_path}/bucket")), Place(tmp_path / "alone")
    setting = make_setting(steps=8)
    specs = [setting.spec(make_point(alpha=alpha)) for alpha in (0.1, 0.2, 0.3)]
    together = make_setting(steps=8, ranks=2, threads=2).spec(make_point())
    topk = search.Stopping.parse("topk=1", 8, 2)
    cluster = search.Cluster(cpus_per_trial=2)
    with search.connected(cluster):
        results = search.run_trials(specs, place, cluster, Notes(), stopping=topk)
        of_two = search.run_trials([together], place, cluster, Notes())
        wanted = search.run_trials([together], alone, cluster, Notes())
    [best] = [spec for spec in specs if results[spec.id].status is Status.FINISHED]
    assert results[best.id].best_score == trial.run(best, alone, lambda _: None).best_score
    assert of_two[together.id].status is Status.FINISHED, of_two[together.id].reason
    assert of_two[together.id].best_score == wanted[together.id].best_score
    kept = {f"{spec.id}/{name}" for spec in (best, together) for name in ("best", "result.json")}
    assert files(tmp_path / "bucket") == kept
    assert not [path for path in (tmp_path / "bucket" / "ray").rglob("*") if path.is_file()]
    assert Path(str(remains.at_hand(place, results[best.id]).checkpoint), "modules.json").exists()
