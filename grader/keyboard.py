"""Keys as they are pressed, without Enter; the terminal is given back as it was."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol

# Puts away what would be in the way on the terminal while somebody else has it.
Away = Callable[[], AbstractContextManager[None]]


class Keyboard(Protocol):
    """`pressed` names what was pressed since the last time: "n", "c-c" for Ctrl-C."""

    def fileno(self) -> int | None: ...

    def pressed(self) -> list[str]: ...


class Keys:
    """The keyboard of a terminal. Ctrl-Z stops the process, as it does everywhere."""

    def __init__(self, away: Away = nullcontext) -> None:
        from prompt_toolkit.input import create_input

        self.input = create_input(sys.stdin)
        self.away = away
        self._waiting: list[str] = []

    def fileno(self) -> int:
        return self.input.fileno()

    def pressed(self) -> list[str]:
        found = self.peeked()
        self._waiting = []
        for _ in range(found.count("c-z")):
            with self.away(), self.released():
                os.kill(os.getpid(), signal.SIGTSTP)
        return [name for name in found if name != "c-z"]

    def peeked(self) -> list[str]:
        """Return what the next `pressed` will: for who is busy, and wants to know of a Ctrl-C."""
        if select.select([self.input.fileno()], [], [], 0)[0]:
            for press in self.input.read_keys():
                self._waiting.append(str(getattr(press.key, "value", press.key)))
            # A terminal that is gone can be read from forever, and says nothing.
            if not self._waiting and self.input.closed:
                self._waiting = ["q"]
        return self._waiting

    def forget(self, kept: Sequence[str] = ()) -> None:
        """Drop what was pressed while nobody could answer, but for some keys."""
        self._waiting = [name for name in self.peeked() if name in kept]

    def released(self) -> AbstractContextManager[None]:
        """Give the terminal to somebody who reads lines: a prompt, an editor."""
        return self.input.cooked_mode()


class NoKeys:
    """There is no keyboard: stdin is a file, a pipe or nothing."""

    def fileno(self) -> int | None:
        return None

    def pressed(self) -> list[str]:
        return []


def has_keys() -> bool:
    """Tell whether keys can be read one by one."""
    return bool(sys.stdin) and sys.stdin.isatty() and os.name != "nt"


@contextmanager
def pressing(away: Away = nullcontext) -> Generator[Keys]:
    """Read the keys of the terminal one by one until the end of the block."""
    keys = Keys(away)
    with keys.input.raw_mode():
        yield keys


@contextmanager
def keyboard() -> Generator[Keyboard]:
    """Read keys one by one where there is a terminal, else none at all."""
    if not has_keys():
        yield NoKeys()
        return
    with pressing() as keys:
        yield keys
