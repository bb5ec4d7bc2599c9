"""Ctrl-C at a moment that suits us."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def noting_interrupts() -> Generator[Callable[[], bool]]:
    """Note the first Ctrl-C, to be asked for; let the second one through.

    An exception out of nowhere, in the middle of drawing a progress bar, is how
    a cursor stays hidden. A closed terminal and a plain kill count as Ctrl-C.
    """
    noted: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        noted.append(number)
        if len(noted) > 1:
            raise KeyboardInterrupt

    names = ("SIGINT", "SIGTERM", "SIGHUP")
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before: dict[int, Any] = {}
    with contextlib.suppress(ValueError):  # not in the main thread: there is nothing to catch
        before = {number: signal.signal(number, note) for number in numbers}
    try:
        yield lambda: bool(noted)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
