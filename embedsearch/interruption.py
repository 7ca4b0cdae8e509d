"""SIGTERM as Ctrl-C."""

from __future__ import annotations

import signal
from types import FrameType


def as_ctrl_c(number: int, frame: FrameType | None) -> None:
    """A handler that does what Ctrl-C would do now.

    Where Ctrl-C is ignored, as in a background job of a script, it still interrupts: whoever sends
    SIGTERM means it.
    """
    handler = signal.getsignal(signal.SIGINT)
    (handler if callable(handler) else signal.default_int_handler)(signal.SIGINT, frame)
