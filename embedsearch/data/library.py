"""The datasets library: imported where it is needed, kept quiet, asked for hub data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

from embedsearch.errors import UserError

HUB_PREFIX = "hf:"


@contextmanager
def quiet_datasets() -> Iterator[Any]:
    """The ``datasets`` module, without progress bars and log lines until the block ends."""
    import datasets  # here, not above: it takes a second, and most commands need none of it

    bars, level = datasets.are_progress_bars_disabled(), datasets.logging.get_verbosity()
    datasets.disable_progress_bars()
    datasets.logging.set_verbosity(datasets.logging.CRITICAL)
    try:
        yield datasets
    finally:
        datasets.logging.set_verbosity(level)
        if not bars:
            datasets.enable_progress_bars()


@dataclass(frozen=True)
class HubName:
    """``hf:NAME[:CONFIG[:SPLIT]][#COLUMN]``; CONFIG may be left empty (``hf:NAME::test``)."""

    name: str
    config: str | None
    split: str
    column: str | None

    @classmethod
    def parse(cls, location: str, split: str) -> Self:
        """Take ``location`` apart; ``split`` is the one meant where it names none."""
        body, _, column = location.removeprefix(HUB_PREFIX).partition("#")
        name, config, named_split, *rest = [*body.split(":"), "", ""]
        if not name or any(rest):
            raise UserError(f"'{location}': write hf:NAME[:CONFIG[:SPLIT]][#COLUMN]")
        return cls(name, config or None, named_split or split, column or None)

    def load(self) -> Any:
        """The split as a memory-mapped ``datasets.Dataset``; ``UserError`` if it can't be had."""
        with quiet_datasets() as datasets:
            try:
                return datasets.load_dataset(self.name, self.config, split=self.split)
            except Exception as error:  # the library has no common kind for these
                raise UserError(
                    f"hf:{self.name} (split {self.split}) can't be loaded: {told(error)}; "
                    f"check its name and the network, or give a file"
                ) from error


def root_cause(error: BaseException) -> BaseException:
    """The error that others were raised from; one of decoding is as deep as it gets."""
    while error.__cause__ is not None and not isinstance(error, UnicodeDecodeError):
        error = error.__cause__
    return error


def told(error: BaseException) -> str:
    """What an error's cause says, as part of a sentence."""
    cause = root_cause(error)
    lines = str(cause).strip().splitlines()
    return lines[0].rstrip(" .:") if lines else type(cause).__name__
