"""A console that prints what is meant and nothing else.

Texts are never read as markup, never coloured by guesswork, and hold no
character that the output cannot take.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grader.views.texts import say, simple, spell

# Lines of a pipe are not wrapped by anybody else; this is what fits most places.
INDENT = 2
LABEL = 10


class Screen:
    """Where a command writes. `plain` means no signs but ASCII, no colour, nothing that moves."""

    def __init__(self, stream: TextIO, *, plain: bool = False, color: bool = True) -> None:
        self.plain = plain
        self.stream = stream
        self.console = PipeConsole(
            file=stream,
            color_system="auto" if color and not plain else None,
            force_terminal=False if plain else None,
            highlight=False,
            markup=False,
            emoji=False,
            soft_wrap=False,
        )
        if not self.console.width:  # COLUMNS=0 says that nobody knows
            self.console.width = 80
        self.encoding = getattr(stream, "encoding", None) or "ascii"

    @property
    def width(self) -> int:
        return max(20, self.console.width)

    def text(self, words: str, style: str = "") -> Text:
        """Return words as rich can print them, stripped of every effect of their own."""
        # Names that the learner chose stay readable, in whatever alphabet they are.
        words = simple(say(words)) if self.plain else say(words)
        return Text(spell(words, self.encoding), style=style)

    def line(self, words: str = "", style: str = "") -> None:
        """Print words, wrapped at the width."""
        self._wrapped(self.text(words, style))

    def marked(self, before: str, mark: tuple[str, str], after: str) -> None:
        """Print words around others that have a style, wrapped at the width."""
        self._wrapped(Text.assemble(self.text(before), self.text(*mark), self.text(after)))

    def styled(self, text: Text) -> None:
        """Print text that has its styles already, wrapped at the width."""
        self._wrapped(text)

    def code(self, text: Text) -> None:
        """Print code that has its styles already: never wrapped, so that it stays whole."""
        self.console.print(text, soft_wrap=True)

    def clipped(self, text: Text) -> None:
        """Print one line of a picture: what does not fit is left out, nothing is wrapped."""
        text.truncate(self.width, overflow="crop")
        text.rstrip()
        self.console.print(text, soft_wrap=True)

    def raw(self, words: str) -> None:
        """Print words to be copied: never wrapped, so that they stay whole."""
        self.console.print(self.text(words), soft_wrap=True)

    def heading(self, status: str, style: str, title: str, place: str) -> None:
        """Print what it is about; the place on the right, or below where it is narrow."""
        head = Text.assemble(self.text(status, f"bold {style}"), "  ", self.text(title, "bold"))
        where = self.text(place)
        room = self.width - head.cell_len - where.cell_len
        if room >= 2:
            self.console.print(Text.assemble(head, " " * room if place else "", where))
            return
        self._wrapped(head)
        if place:
            # Editors and terminals open path:line, but only in one piece.
            self.console.print(Text(" " * INDENT) + where, soft_wrap=True)

    def rows(self, rows: Sequence[tuple[str, str]]) -> None:
        """Print labels and what belongs to them, in two columns."""
        for line in self.laid_out(rows):
            self.console.print(line, soft_wrap=True)

    def laid_out(self, rows: Sequence[tuple[str, str]]) -> list[Text]:
        """Return labels and what belongs to them as lines of two columns."""
        width, _ = self.room(1)
        lines: list[Text] = []
        for label, words in rows:
            for number, line in enumerate(self.text(words).wrap(self.console, width)):
                head = " " * INDENT + ("" if number else self.text(label).plain)
                line.rstrip()
                lines.append(Text.assemble(head.ljust(INDENT + LABEL), line))
        return lines

    def table(self, table: Table) -> None:
        """Print a table without the blanks that fill its last column."""
        with self.console.capture() as captured:
            self.console.print(table)
        lines = captured.get().splitlines()
        self.stream.write("".join(f"{line.rstrip()}\n" for line in lines))

    def room(self, lines: int) -> tuple[int, int]:
        """Return the size of a field of rows(): columns and lines."""
        return max(10, self.width - INDENT - LABEL), lines

    @contextmanager
    def bar(self, title: str, words: str = "starting") -> Generator[Callable[[float, str], None]]:
        """Show how far a grading is; only where it moves and then goes away."""
        if not self.moves:
            yield lambda _fraction, _title: None
            return
        from rich.progress import BarColumn, Progress, TextColumn

        progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            console=self.console,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        with progress:
            task = progress.add_task(self._short(f"{title} {words}"), total=1.0)

            def update(fraction: float, words: str) -> None:
                progress.update(
                    task, completed=fraction, description=self._short(f"{title} {words}")
                )

            yield update

    def wrapped(self, words: str, style: str = "") -> list[Text]:
        """Return words as the lines that they take at this width."""
        return list(self.text(words, style).wrap(self.console, self.width))

    def _wrapped(self, text: Text) -> None:
        for line in text.wrap(self.console, self.width) or [Text()]:
            line.rstrip()
            self.console.print(line, soft_wrap=True)

    def _short(self, words: str) -> str:
        text = self.text(words.replace("\n", " "))
        text.truncate(max(10, self.width - 30), overflow="ellipsis" if self.unicode else "crop")
        return text.plain

    @property
    def moves(self) -> bool:
        """Tell whether lines can be drawn anew: there is a terminal that can, and nobody minds."""
        return not self.plain and self.stream.isatty() and not self.console.is_dumb_terminal

    @property
    def unicode(self) -> bool:
        """Tell whether the output takes more than ASCII and Latin letters."""
        return not self.plain and self.encoding.lower().startswith("utf")


class PipeConsole(Console):
    """A console that leaves a broken pipe to whoever called it."""

    def on_broken_pipe(self) -> None:
        error = sys.exc_info()[1]
        raise error or BrokenPipeError


def pointed(text: str, columns: int) -> str:
    """Return a text whose last line is a caret with the line it points into cut to what fits."""
    *before, code, caret = ["", "", *text.rstrip().split("\n")]
    if caret.strip() != "^" or max(len(code), len(caret)) <= columns:
        return text
    indent = min(len(code) - len(code.lstrip()), caret.index("^"))
    code, place = code[indent:], caret.index("^") - indent
    start = max(0, min(place - columns // 2, len(code) - columns))
    return "\n".join([*before[2:], code[start:][:columns].rstrip(), " " * (place - start) + "^"])


def shorten(text: str, columns: int, lines: int) -> str:
    """Return the text cut to what fits; beginning and end stay, being the most telling."""
    rows = text.rstrip().split("\n")
    heights = [max(1, math.ceil(cell_len(row) / columns)) for row in rows]
    if sum(heights) <= lines:
        return "\n".join(rows)
    if len(rows) > 1 and lines > 1:
        kept: list[str] = []
        used = 0
        while kept != rows and used + heights[len(kept)] < lines:
            used += heights[len(kept)]
            kept.append(rows[len(kept)])
        if kept:
            left = len(rows) - len(kept)
            return "\n".join([*kept, f"… {left} more line{'s' if left > 1 else ''}"])
    # Wrapping at spaces wastes a little of each line.
    room = max(8, columns * lines - 4 * lines)
    whole = " ".join(row.strip() for row in rows)
    if len(whole) <= room:
        return whole
    tail = room // 3
    return f"{whole[: room - tail - 3].rstrip()} … {whole[len(whole) - tail :].lstrip()}"
