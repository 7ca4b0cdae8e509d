"""SIGTERM stops a command, whatever became of Ctrl-C."""

import signal
from collections.abc import Iterator

import pytest

from embedsearch.interruption import as_ctrl_c


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.getsignal(number) for number in numbers]
    signal.signal(signal.SIGTERM, as_ctrl_c)
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL, signal.default_int_handler])
def test_it_interrupts_also_where_ctrl_c_is_ignored(handler: signal.Handlers) -> None:
    """As in a background job of a script."""
    signal.signal(signal.SIGINT, handler)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)


def test_it_does_what_ctrl_c_would_do() -> None:
    seen: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: seen.append(number))
    signal.raise_signal(signal.SIGTERM)
    assert seen == [signal.SIGINT]
