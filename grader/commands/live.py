"""The live screen of an interview: its clock, and a key for each step.

It shows what the commands know and takes the steps that they take; the clock
stands below, and what the steps print above it stays in the terminal.
"""

from __future__ import annotations

import contextlib
import select
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path

from rich.text import Text

from grader.commands.interviewing import Front, begin, standing, take
from grader.commands.prompting import ask
from grader.errors import HistoryError, UsageError
from grader.isolation.interrupting import noting_interrupts
from grader.keyboard import Keys, pressing
from grader.practice.conducting import Conductor
from grader.practice.judging import Judge
from grader.views.pinned import Pinned
from grader.views.screen import Screen
from grader.views.times import clock

INTERRUPTED = 130
# Seconds: how often the clock is drawn, the file looked at, the time saved.
DRAW, LOOK, SAVE = 0.1, 0.5, 10.0
KEYS = {
    "c": "check",
    "n": "next",
    "h": "hint",
    "e": "edit",
    "t": "tests",
    "f": "finish",
}
LEAVE = ("q", "c-d")
LEGENDS = {
    "build": "c check, n next round, h hint, e edit, t edit tests, f finish, q leave",
    "debug": "c check, n next round, h hint, e edit, f finish, q leave",
    "questions": "n ask, f finish, q leave",
}


def conduct(out: Screen, conductor: Conductor) -> int:
    """Show the screen until the interview is over or somebody leaves; return the exit code."""
    with ExitStack() as stack:
        interrupted = stack.enter_context(noting_interrupts())
        front = LiveFront(out, conductor, interrupted)
        front.keys = stack.enter_context(pressing(front.pinned.away))
        # One process for all gradings: torch is loaded while somebody reads the first lines.
        judge = stack.enter_context(Judge(interrupted=front.stopped))
        conductor.judges = lambda: nullcontext(judge)
        judge.warm()
        return front.run()


class LiveFront(Front):
    """The terminal: what steps print goes above the clock, questions have it below them."""

    keys: Keys

    def __init__(self, out: Screen, conductor: Conductor, interrupted: Callable[[], bool]) -> None:
        super().__init__(out)
        self.conductor = conductor
        self.interrupted = interrupted
        self.pinned = Pinned(out, self.lines)
        self.doing = ""
        self.told = ""
        self.drawn = self.looked = self.saved = 0.0

    # --- what is shown -------------------------------------------------------------

    def lines(self) -> Sequence[Text]:
        headline, rows = standing(self.conductor)
        found = self.conductor.round
        legend = self.doing or (LEGENDS[found.kind] if found else "")
        rule = "─" if self.out.unicode else "-"
        above = [self.out.text(rule * self.out.width, "dim"), *self.out.wrapped(headline, "bold")]
        below = self.out.wrapped(legend)
        room = self.pinned.room - len(above) - len(below)
        return [*above, *self.out.laid_out(rows)[: max(0, room)], *below]

    def headline(self) -> str:
        """Return the line below a question."""
        return self.out.text(f"{clock(self.conductor.left())} left").plain

    # --- what steps ask for ----------------------------------------------------------

    @contextmanager
    def busy(self, words: str) -> Generator[None]:
        self.doing = words
        try:
            with self.pinned.shown():
                yield
        finally:
            self.doing = ""
            # Nobody was there to answer; but Ctrl-Z and q still mean what they say.
            self.keys.forget(("c-z", *LEAVE))

    def answered(self, question: str) -> str:
        self.out.line(question)
        with self.keys.released():
            return ask(self.out, self.headline, self.conductor.over, self.interrupted)

    def edit(self, path: Path, meanwhile: Callable[[], None]) -> None:
        with self.keys.released():
            super().edit(path, meanwhile)

    def how(self, step: str) -> str:
        return next((f"press {key}" for key, name in KEYS.items() if name == step), step)

    def show_standing(self, conductor: Conductor) -> None:
        """Print nothing: it is on the screen already."""

    def stopped(self) -> bool:
        """Keep the clock going during a grading, and tell whether somebody wants to stop it."""
        if time.monotonic() - self.drawn > DRAW:
            self.drawn = time.monotonic()
            self.pinned.draw()
        return self.interrupted() or "c-c" in self.keys.peeked()

    # --- the loop --------------------------------------------------------------------

    def run(self) -> int:
        try:
            begin(self, self.conductor)
            while True:
                with self.pinned.shown():
                    key = self.waited()
                if key == "gone":
                    self.out.line("the interview was ended by another command")
                    return 0
                if key in ("c-c", "stop"):
                    return self.left(INTERRUPTED)
                if key in LEAVE:
                    return self.left(0)
                # Once the time is up, any step ends the interview.
                self.press("status" if key == "over" else KEYS.get(key, "status"))
                if self.conductor.interview.state != "running":
                    return 0
        except KeyboardInterrupt:
            return self.left(INTERRUPTED)

    def waited(self) -> str:
        """Wait for a key, or for something that ends the waiting, and name it."""
        while True:
            self.pinned.draw()
            with contextlib.suppress(InterruptedError):
                select.select([self.keys.fileno()], [], [], DRAW)
            if self.interrupted():
                return "stop"
            pressed = self.keys.pressed()
            if pressed:
                return pressed[0]
            if self.conductor.over():
                return "over"
            if not self.noticed():
                return "gone"

    def noticed(self) -> bool:
        """Keep up with saves and other commands; False where the interview is over by one."""
        if time.monotonic() - self.looked < LOOK:
            return True
        self.looked = time.monotonic()
        told = ""
        try:
            if not self.conductor.refresh():
                return False
            told = self.conductor.look()
            if time.monotonic() - self.saved > SAVE:
                self.saved = time.monotonic()
                self.conductor.note_time()
        except (HistoryError, UsageError) as error:
            told = str(error)
        if told and told != self.told:  # once, not twice a second
            with self.pinned.away():
                self.out.line(told)
        self.told = told
        return True

    def press(self, step: str) -> None:
        try:
            if self.sure(step):
                take(self, self.conductor, step)
        except (HistoryError, UsageError) as error:
            if self.conductor.over():  # there is nothing else to be done here
                raise
            self.out.line(str(error))
        except KeyboardInterrupt:
            if self.interrupted() or self.conductor.over():
                raise
            self.keys.forget()
            self.out.line("stopped; nothing of that step was kept")

    def sure(self, step: str) -> bool:
        """Ask before a key ends what cannot be taken up again."""
        found = self.conductor.round
        if found is None or self.conductor.over():
            return True
        if step == "finish":
            question = "end the interview now, and see the scorecard? y/n"
        elif step == "next" and found.kind != "questions" and found.passed is None:
            question = "this round has not passed: end it all the same? y/n"
        else:
            return True
        return self.answered(question).lower() in ("y", "yes") or self.conductor.over()

    def left(self, code: int) -> int:
        self.out.line(f"the interview goes on: {clock(self.conductor.left())} left")
        self.out.rows([("resume", "python -m grader interview --resume")])
        return code
