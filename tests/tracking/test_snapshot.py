"""Versions of a store, in real git and DVC repositories of a few small files."""

import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import pytest

from embedsearch.errors import UserError
from embedsearch.tracking import repository, runs
from embedsearch.tracking.artifacts import CHECKPOINT_FOLDER, Artifacts
from embedsearch.tracking.ledger import StoreLedger
from embedsearch.tracking.liveness import STALE_S, Claim
from embedsearch.tracking.repository import Repository
from embedsearch.tracking.snapshot import pull, take
from embedsearch.tracking.store import Store
from embedsearch.tracking.writer import Writer

from .conftest import make_result, make_spec, make_sweep, record, record_scores

needs_dvc = pytest.mark.skipif(find_spec("dvc") is None, reason="the extra 'dvc' is not installed")


@pytest.fixture(scope="module", autouse=True)
def _own_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Neither git nor DVC sees the settings of the person who runs the tests."""
    home = tmp_path_factory.mktemp("home")
    settings = home / "gitconfig"
    settings.write_text('[user]\n\tname = A\n\temail = a@b\n[protocol "file"]\n\tallow = always\n')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_CONFIG_GLOBAL", str(settings))
        patch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
        for name in ("SITE_CACHE_DIR", "GLOBAL_CONFIG_DIR", "SYSTEM_CONFIG_DIR"):
            patch.setenv(f"DVC_{name}", str(home / name))
        yield


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def dvc(folder: Path, *words: str) -> str:
    command = [sys.executable, "-m", "dvc", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "A snapshot")


def content(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


def record_with_checkpoints(store: Store, *alphas: float) -> None:
    """Trials that score 60 + alpha and whose checkpoints say alpha."""
    assert store.database
    results = {}
    specs = [make_spec(alpha) for alpha in alphas]
    for spec, alpha in zip(specs, alphas, strict=True):
        folder = store.database.parents[1] / "work" / str(alpha)
        folder.mkdir(parents=True)
        (folder / "model.safetensors").write_text(f"{alpha}")
        results[spec.id] = make_result(spec, 60 + alpha, checkpoint=str(folder))
    record(Writer(store), make_sweep(*specs), results)
    shutil.rmtree(store.database.parents[1] / "work")


def tags(store: Store) -> list[str]:
    trials = store.search(kind="trial")
    return sorted(run.tags.get(runs.CHECKPOINT, "") for run in trials)


@pytest.fixture
def checkout(store: Store, tmp_path: Path) -> Path:
    """A git repository with a store of three trials, as a project ignores its store."""
    git(tmp_path, "init", "-q")
    (tmp_path / ".gitignore").write_text("/mlruns/\n/.embedsearch/\n")
    commit(tmp_path)
    record_with_checkpoints(store, 0.1, 0.2, 0.3)
    return tmp_path


@pytest.fixture(scope="module")
def published(
    fresh_database: Path, tmp_path_factory: pytest.TempPathFactory, _own_settings: None
) -> Path:
    """A repository with a committed snapshot of three trials; not to be changed."""
    root = tmp_path_factory.mktemp("published")
    git(root, "init", "-q")
    (root / ".gitignore").write_text("/mlruns/\n/.embedsearch/\n")
    (root / "mlruns").mkdir()
    shutil.copy(fresh_database, root / "mlruns" / "mlflow.db")
    store = Store.open(root=root / "mlruns")
    record_with_checkpoints(store, 0.1, 0.2, 0.3)
    take(store)
    commit(root)
    return root


@pytest.fixture
def clone(published: Path, tmp_path: Path) -> Path:
    git(tmp_path, "clone", "-q", str(published), "a clone")
    return tmp_path / "a clone"


class FakeRepository:
    """One whose DVC notes what it is given, and does nothing."""

    def __init__(self, folder: Path, added: list[str]) -> None:
        self.folder, self.pointer, self.added = folder, folder.with_suffix(".dvc"), added

    def prepare(self) -> list[str]:
        return []

    def leave_out(self, names: object) -> None:
        pass

    def add(self) -> None:
        self.added += sorted(content(self.folder))

    def push(self) -> str:
        return "nowhere"

    def uncommitted(self) -> list[Path]:
        return []


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that a snapshot gave to a DVC that does nothing."""
    files: list[str] = []
    monkeypatch.setattr(Repository, "around", lambda folder: FakeRepository(folder, files))
    return files


@needs_dvc
def test_what_a_snapshot_takes(checkout: Path, store: Store) -> None:
    draft = checkout / "mlruns" / "artifacts" / ".checkpoint.7.draft"
    draft.mkdir()
    (draft / "half").write_text("half")
    said = "\n".join(take(store))
    assert "made a DVC repository" in said and "made .dvc/store its default remote" in said
    assert "mlruns: 3 trials, 3 checkpoints, 1." in said
    assert "wrote mlruns.dvc, pushed to .dvc/store (1." in said
    assert "git add mlruns.dvc .dvc .dvcignore && git commit" in said
    assert ".gitignore" not in said, "the project's own line for mlruns is enough"
    [line] = [line for line in said.splitlines() if "git add" in line]
    subprocess.run(line, shell=True, cwd=checkout, check=True, stdout=subprocess.DEVNULL)
    committed = git(checkout, "ls-files").splitlines()
    assert {".dvc/config", ".dvcignore", "mlruns.dvc"} <= set(committed)
    # the database, and of each trial its spec, environment and checkpoint; the sweep's list
    listing = next((checkout / ".dvc" / "store").rglob("*.dir")).read_text()
    assert listing.count("relpath") == 1 + 3 * 3 + 1
    assert ".lock" not in listing and "half" not in listing
    assert sum(path.startswith(".dvc/store/files/") for path in committed) > 3
    assert dvc(checkout, "status") == "Data and pipelines are up to date."
    config = (checkout / ".dvc" / "config").read_text()
    assert "analytics = false" in config and "check_update = false" in config
    assert "url = store" in config and str(checkout) not in config
    record_scores(store, (make_spec(0.4), 64.0))
    assert len(StoreLedger(store).best("scd", top=9).entries) == 4


@needs_dvc
def test_again_without_a_change_there_is_nothing_to_commit(clone: Path) -> None:
    dvc(clone, "pull")
    said = take(Store.open(root=clone / "mlruns"))
    assert said[-1] == "nothing has changed since the last committed snapshot"
    assert git(clone, "status", "--porcelain") == ""


@needs_dvc
def test_a_clone_of_another_name_has_the_results(clone: Path, tmp_path: Path) -> None:
    dvc(clone, "pull")
    clone.rename(tmp_path / "moved")
    (tmp_path / "moved" / "mlruns").rename(tmp_path / "moved" / "runs")
    store = Store.open(root=tmp_path / "moved" / "runs")
    ledger = StoreLedger(store)
    leader = ledger.best("scd").entries[0].leader
    assert (leader.score, leader.values["alpha"]) == (60.3, 0.3)
    ledger.export(leader.run_id, tmp_path / "encoder")
    assert (tmp_path / "encoder" / "model.safetensors").read_text() == "0.3"
    record_scores(store, (make_spec(0.4), 64.0))
    assert ledger.best("scd").points == 4


@needs_dvc
def test_a_pull_brings_the_store_and_then_a_newer_one(clone: Path, tmp_path: Path) -> None:
    store = Store.open(root=clone / "mlruns")
    assert "3 trials, 3 checkpoints" in pull(store)[0]
    git(tmp_path, "clone", "-q", str(clone), "other")
    other = Store.open(root=tmp_path / "other" / "mlruns")
    # a command that was stopped early leaves no more than this
    (tmp_path / "other" / "mlruns").mkdir()
    (tmp_path / "other" / "mlruns" / ".lock").touch()
    pull(other)
    record_with_checkpoints(other, 0.4)
    take(other, {None: 2})
    commit(tmp_path / "other")
    git(clone, "pull", "-q", str(tmp_path / "other"))
    again = pull(Store.open(root=clone / "mlruns"))
    assert "4 trials, 2 checkpoints" in again[0]
    assert git(clone, "status", "--porcelain") == ""
    assert content(clone / "mlruns") == content(tmp_path / "other" / "mlruns")


@needs_dvc
def test_a_pull_over_trials_of_its_own_is_explained(clone: Path) -> None:
    store = Store.open(root=clone / "mlruns")
    pull(store)
    record_with_checkpoints(store, 0.4, 0.5)
    before = content(clone / "mlruns")
    with pytest.raises(UserError, match=r"2 trials .* nothing deleted; .*embedsearch snapshot.*mv"):
        pull(store)
    assert content(clone / "mlruns") == before
    (clone / "mlruns").rename(clone / "mlruns.mine")
    assert "3 trials" in pull(Store.open(root=clone / "mlruns"))[0]
    assert StoreLedger(Store.open(str(clone / "mlruns.mine"))).best("scd").points == 5


@needs_dvc
def test_a_pull_during_a_sweep_or_over_other_files_is_refused(clone: Path) -> None:
    store = Store.open(root=clone / "mlruns")
    pull(store)
    writer = Writer(store)
    writer.sweep_started(make_sweep(make_spec(0.9), grid="fine"), {})
    with pytest.raises(UserError, match=r"the sweep scd fine \(demo\) is running"):
        pull(store)
    writer.close()
    (clone / "mlruns" / "artifacts" / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match=r"[34] files \(artifacts/"):
        pull(store)
    assert (clone / "mlruns" / "artifacts" / "notes.txt").read_text() == "mine"


@needs_dvc
def test_a_folder_that_is_no_store_is_left_alone(clone: Path) -> None:
    (clone / "mlruns").mkdir()
    (clone / "mlruns" / "file").write_text("mine")
    with pytest.raises(UserError, match="is no store; move it aside"):
        pull(Store.open(root=clone / "mlruns"))
    assert content(clone / "mlruns") == {"file": b"mine"}


@needs_dvc
@pytest.mark.parametrize(("lost", "said"), [("?*", "the remote store lacks"), ("*[!r]", "failed")])
def test_a_remote_that_lacks_files_is_named(clone: Path, lost: str, said: str) -> None:
    """All of them, or all but the list."""
    for path in (clone / ".dvc" / "store" / "files" / "md5").glob(f"*/{lost}"):
        path.unlink()
    with pytest.raises(UserError, match=said):
        pull(Store.open(root=clone / "mlruns"))
    assert not (clone / "mlruns").exists()


@needs_dvc
def test_without_a_pointer_nothing_is_pulled_or_made(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    with pytest.raises(UserError, match=r"no .*mlruns\.dvc; make one with"):
        pull(Store.open(root=tmp_path / "mlruns"))
    assert [path.name for path in tmp_path.iterdir()] == [".git"]
    (tmp_path / "mlruns.dvc").write_text("<<<<<<< ours\nouts: [\n")
    with pytest.raises(UserError, match=r"no pointer of DVC; .*git checkout mlruns\.dvc"):
        pull(Store.open(root=tmp_path / "mlruns"))


def test_it_refuses_while_a_sweep_is_live(checkout: Path, store: Store, added: list[str]) -> None:
    writer = Writer(store)
    writer.sweep_started(make_sweep(make_spec(0.9), grid="fine"), {})
    with pytest.raises(UserError, match=r"the sweep scd fine \(demo\) is running .*Ctrl-C"):
        take(store)
    assert added == []
    writer.close()


def test_a_killed_sweep_does_not_travel_as_running(store: Store, added: list[str]) -> None:
    writer = Writer(store)
    writer.sweep_started(make_sweep(make_spec(0.9), grid="fine"), {})
    writer.trial_started(make_spec(0.9))
    assert isinstance(writer._claim, Claim)
    writer._claim.release()
    [run] = [run for run in store.search(kind="sweep") if run.name == "fine (demo)"]
    store.log(run.run_id, tags={runs.HEARTBEAT: f"{time.time():.0f}"})
    with pytest.raises(UserError, match="the sweep scd fine"):  # it writes through a server
        take(store)
    store.log(run.run_id, tags={runs.HEARTBEAT: f"{time.time() - STALE_S - 1:.0f}"})
    take(store)
    assert store.search(mlflow_status="RUNNING") == []


def test_keep_bounds_the_checkpoints_and_orphans_go(
    checkout: Path, store: Store, added: list[str]
) -> None:
    trials = store.search("scd", kind="trial")
    orphan = min(trials, key=lambda run: run.metrics[runs.BEST])
    store.log(orphan.run_id, tags={runs.CHECKPOINT: runs.PRUNED})
    folder = Artifacts(store, orphan).folder
    assert folder and (folder / CHECKPOINT_FOLDER).is_dir()
    assert "3 trials, 1 checkpoint," in "\n".join(take(store, {None: 1}))
    assert tags(store) == ["kept", "pruned", "pruned"]
    assert sum(path.endswith("model.safetensors") for path in added) == 1
    assert "3 trials, 1 checkpoint," in "\n".join(take(store, {None: 0, "scd": 1}))
    assert "3 trials, 0 checkpoints," in "\n".join(take(store, {"scd": 0}))


def test_a_database_with_a_write_ahead_log_is_closed(
    checkout: Path, store: Store, added: list[str]
) -> None:
    database = checkout / "mlruns" / "mlflow.db"
    with closing(sqlite3.connect(database)) as open_elsewhere:
        open_elsewhere.execute("PRAGMA journal_mode = WAL").fetchone()
        open_elsewhere.execute("UPDATE experiments SET name = 'Other' WHERE experiment_id = 0")
        open_elsewhere.commit()
        with pytest.raises(UserError, match=r"can't close .*`embedsearch ui`"):
            take(Store.open(root=checkout / "mlruns"))
    program = (
        "import os, sqlite3\n"
        f"c = sqlite3.connect({str(database)!r})\n"
        "c.execute(\"UPDATE experiments SET name = 'Killed' WHERE experiment_id = 0\")\n"
        "c.commit()\n"
        "os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    assert database.with_name("mlflow.db-wal").stat().st_size > 0
    take(Store.open(root=checkout / "mlruns"))
    assert [path for path in added if path.startswith("mlflow.db")] == ["mlflow.db"]
    assert Store.open(root=checkout / "mlruns").client.get_experiment("0").name == "Killed"


@needs_dvc
def test_a_repository_of_its_own_settings_keeps_them(checkout: Path, store: Store) -> None:
    dvc(checkout, "init", "-q")
    dvc(checkout, "config", "cache.type", "symlink")
    dvc(checkout, "remote", "add", "--default", "bucket", str(checkout.with_name("bucket")))
    before = (checkout / ".dvc" / "config").read_text()
    assert "pushed to the remote bucket" in "\n".join(take(store))
    assert (checkout / ".dvc" / "config").read_text() == before
    files = [path for path in (checkout / "mlruns").rglob("*") if not path.is_dir()]
    assert not any(path.is_symlink() for path in files), "they would be read-only"
    assert all(path.stat().st_mode & 0o200 for path in files)


@needs_dvc
def test_what_dvc_says_is_passed_on(checkout: Path, store: Store) -> None:
    git(checkout, "add", "-f", "mlruns/mlflow.db")
    with pytest.raises(UserError, match=r"`dvc add mlruns` failed: output 'mlruns' is already"):
        take(store)


@needs_dvc
def test_folder_names(checkout: Path) -> None:
    name = "[a #b] 日本!"
    (checkout / "mlruns").rename(checkout / name)
    (checkout / name / ".lock").touch()
    take(Store.open(root=checkout / name))
    listing = next((checkout / ".dvc" / "store").rglob("*.dir")).read_text()
    assert "mlflow.db" in listing and ".lock" not in listing


def test_without_dvc_it_is_one_sentence(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repository, "find_spec", lambda _: None)
    with pytest.raises(UserError, match=r"pip install 'embedsearch\[dvc\]'"):
        take(store)


@needs_dvc
def test_outside_git_it_is_one_sentence(store: Store, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"in no git repository .*`git init`"):
        take(store)
    assert [path.name for path in tmp_path.iterdir()] == ["mlruns"]


@needs_dvc
def test_a_store_at_the_top_of_a_repository_is_refused(store: Store, tmp_path: Path) -> None:
    git(tmp_path / "mlruns", "init", "-q")
    with pytest.raises(UserError, match="a folder of their own"):
        take(store)


def test_a_server_has_its_own_backup() -> None:
    with pytest.raises(UserError, match="is a server"):
        take(Store.open("http://127.0.0.1:9"))
