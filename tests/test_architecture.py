"""The rooms and who may call whom; what is declared is what is imported."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "embedsearch"
MODULES = sorted(PACKAGE.rglob("*.py"))

GROUND = {
    "records", "labels", "errors", "durable", "document", "config", "interruption",
    "objects", "bucket", "place",
}  # fmt: skip
"""What every room stands on."""

MAY_IMPORT: dict[str, set[str]] = {
    "losses": set(),
    "encoder": set(),
    "data": set(),
    "presets": set(),
    "methods": {"encoder", "losses", "data"},
    "evaluation": {"encoder", "data"},
    "training": {"encoder", "data", "methods.base"},
    "feed": {"data", "methods.base"},
    "setting": {"feed", "encoder", "methods.base"},
    "sources": {"encoder"},
    "remains": set(),
    "trial": {
        "feed",
        "sources",
        "remains",
        "data",
        "encoder",
        "evaluation",
        "training",
        "methods.base",
    },
    "sweep": {"trial", "sources", "presets", "methods.base"},
    "tracking": set(),
    "report": set(),
}
"""Rooms besides the ground and themselves. What is not listed (cli) may import everything."""

ONLY_IN = {
    "ray": "sweep.search",
    "optuna": "sweep.search",
    "mlflow": "tracking",
    "sklearn": "evaluation",
    "bm25s": "evaluation",
    "Stemmer": "evaluation",
    "matplotlib": "report",
    "pyarrow": "objects",
}
NOWHERE = {"sentence_transformers", "pandas"}


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def imports(path: Path) -> Iterator[str]:
    """Every module that a file imports, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def within(module: str, room: str) -> bool:
    return module == room or module.startswith(room + ".")


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_arrows(path: Path) -> None:
    module = name_of(path)
    room = module.split(".")[0]
    if module == "sweep.__main__" or room not in MAY_IMPORT:
        return
    allowed = {room, "__version__", *MAY_IMPORT[room], *GROUND}
    ours = [
        name.removeprefix("embedsearch.") for name in imports(path) if within(name, "embedsearch")
    ]
    assert not [name for name in ours if not any(within(name, to) for to in allowed)]


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_libraries_stay_in_their_room(path: Path) -> None:
    used = {name.split(".")[0] for name in imports(path)}
    assert not used & NOWHERE
    for library, room in ONLY_IN.items():
        assert library not in used or within(name_of(path), room)


def test_dependencies_are_exactly_what_is_imported() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    modules = {
        "huggingface-hub": "huggingface_hub",
        "pydantic-core": "pydantic_core",
        "pystemmer": "Stemmer",
        "pyyaml": "yaml",
        "scikit-learn": "sklearn",
    }
    declared = {re.split(r"[\[<>=~!]", item)[0] for item in project["dependencies"]}
    used = {name.split(".")[0] for path in MODULES for name in imports(path)}
    outside = used - set(sys.stdlib_module_names) - {"embedsearch"}
    assert {modules.get(name, name) for name in declared} == outside


def test_importing_does_nothing() -> None:
    """No download, no seed, no output, no thread: and light, for every command imports it."""
    program = (
        "import random, sys, threading; before = random.getstate()\n"
        "import embedsearch, embedsearch.records, embedsearch.cli.app\n"
        "assert random.getstate() == before and threading.active_count() == 1\n"
        "heavy = {'torch', 'ray', 'mlflow', 'datasets', 'transformers'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_worker_imports_what_its_trial_needs() -> None:
    """What runs a trial in a worker is light: torch comes with the trial that wants it."""
    program = (
        "import sys, embedsearch.sweep.search\n"
        "heavy = {'torch', 'ray', 'optuna', 'mlflow', 'transformers'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_nothing_unsafe_is_called() -> None:
    text = {path: path.read_text(encoding="utf-8") for path in MODULES}
    for path, source in text.items():
        for word in ("torch.load", "yaml.load(", "pickle", "trust_remote_code=True", "0.0.0.0"):
            searches = name_of(path).startswith("sweep.search")
            assert word not in source or (word == "pickle" and searches)


def test_rooms_have_nouns_for_names() -> None:
    names = {part for path in MODULES for part in path.relative_to(PACKAGE).with_suffix("").parts}
    assert not names & {"utils", "common", "misc", "helpers"}
