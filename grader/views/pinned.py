"""Lines that stay at the bottom of a terminal and are drawn anew as they change."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from rich.console import Group
from rich.live import Live
from rich.text import Text

from grader.views.screen import Screen


class Pinned:
    """Shown within `shown`, and gone without a trace outside: others may print there.

    Nothing is drawn but by `shown` and `draw`: there is no thread that could
    write while somebody else has the terminal.
    """

    def __init__(self, screen: Screen, lines: Callable[[], Sequence[Text]]) -> None:
        self._screen = screen
        self._lines = lines
        self._live: Live | None = None
        self._drawn: list[Text] = []

    @property
    def room(self) -> int:
        """The lines there can be: what scrolls off the screen cannot be taken back."""
        return max(1, self._screen.console.height - 1)

    @contextmanager
    def shown(self) -> Generator[None]:
        """Show the lines until the end of the block."""
        self._start()
        try:
            yield
        finally:
            self._stop()

    @contextmanager
    def away(self) -> Generator[None]:
        """Take the lines away until the end of the block, if they are shown."""
        was = self._live is not None
        self._stop()
        try:
            yield
        finally:
            if was:
                self._start()

    def draw(self) -> None:
        """Draw what has changed."""
        lines = list(self._lines())[: self.room]
        if self._live is not None and lines != self._drawn:
            self._live.update(Group(*lines), refresh=True)
            self._drawn = lines

    def _start(self) -> None:
        self._drawn = []
        self._live = Live(
            console=self._screen.console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start()
        self.draw()

    def _stop(self) -> None:
        live, self._live = self._live, None
        if live is not None:
            live.stop()
