"""Which spaces there are: the shipped ones, and those in the working folder."""

from __future__ import annotations

from pathlib import Path

from embedsearch.config import unknown
from embedsearch.document import read_yaml
from embedsearch.errors import UserError

_PACKAGE = Path(__file__).parents[1]
OWN_FOLDER = Path("search_spaces")


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
    return {
        path.stem: path for place in (shipped_folder(), folder) for path in place.glob("*.yaml")
    }


def shipped_folder() -> Path:
    """Where the project's own spaces lie: in an installed package, or beside it in a checkout."""
    inside = _PACKAGE / "search_spaces"
    return inside if inside.is_dir() else _PACKAGE.parent / "search_spaces"


def first_grid(path: Path) -> str:
    """The name of the grid that a space file gives first, nothing else of it checked."""
    return str(next(iter(read_yaml(path)["grids"])))
