"""Which spaces and experiments there are: the shipped ones, and those in the working folder."""

from __future__ import annotations

from pathlib import Path

from embedsearch.config import unknown
from embedsearch.document import read_yaml
from embedsearch.errors import UserError

_PACKAGE = Path(__file__).parents[1]
OWN_FOLDER = Path("search_spaces")
OWN_EXPERIMENTS = Path("experiments")


def find_space(method: str, folder: Path = OWN_FOLDER) -> Path:
    """The space file of a method: the one in ``folder``, else the shipped one.

    Raises ``UserError`` with the nearest method and all of them.
    """
    spaces = space_names(folder)
    if method not in spaces:
        raise UserError(unknown("method", method, sorted(spaces)))
    return spaces[method]


def space_names(folder: Path = OWN_FOLDER) -> dict[str, Path]:
    """Every method's space file by the method's name; those in ``folder`` win."""
    return _files(shipped_folder(), folder)


def find_experiment(name: str | Path) -> Path:
    """The file of an experiment: by its path, or its name in ``./experiments`` or else the shipped.

    Raises ``UserError`` with the nearest and all of them.
    """
    path, named = Path(name), _files(shipped_folder(OWN_EXPERIMENTS), OWN_EXPERIMENTS)
    if path.is_file():
        return path
    if str(name) not in named:
        beside = [] if path.name == str(name) and not path.suffix else path.parent.glob("*.yaml")
        raise UserError(unknown("experiment", str(name), [*map(str, sorted(beside)), *named]))
    return named[str(name)]


def shipped_folder(own: Path = OWN_FOLDER) -> Path:
    """Where the project's own spaces lie: in an installed package, or beside it in a checkout.

    Or, with the other name, its experiments.
    """
    inside = _PACKAGE / own
    return inside if inside.is_dir() else _PACKAGE.parent / own


def _files(*folders: Path) -> dict[str, Path]:
    """YAML files by name; those of the last folder win."""
    return {path.stem: path for folder in folders for path in sorted(folder.glob("*.yaml"))}


def first_grid(path: Path) -> str:
    """The name of the grid that a space file gives first, nothing else of it checked."""
    return str(next(iter(read_yaml(path)["grids"])))
