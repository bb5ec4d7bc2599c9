"""Grade on every save: `python -m grader watch`.

Saves are told by watchfiles (events of the system, or polling). A save counts
if it changed what the file holds, however it was written; one that comes during
a grading ends it and starts another.
"""

from __future__ import annotations

import contextlib
import os
import queue
import select
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from grader.catalog import Entry, written
from grader.errors import UsageError
from grader.isolation.interrupting import noting_interrupts
from grader.isolation.parent import Grader, Job
from grader.isolation.reading import contents, read, state
from grader.keyboard import Keyboard, keyboard
from grader.model import Verdict
from grader.practice.hinting import known, show_rung, take
from grader.practice.hints import ladder
from grader.practice.history import History
from grader.resetting import reset
from grader.submitting import (
    Settings,
    Submission,
    following,
    record,
    show,
    submissions,
    tell_of_review,
)

if TYPE_CHECKING:
    from grader.views.screen import Screen

# Milliseconds. Editors write a file in several steps; the last one within STEP counts.
STEP, DEBOUNCE, POLL_EVERY = 20, 300, 200
# Seconds. How long a file may be away while an editor puts another in its place.
AWAY = 0.4
# A tool that saves many times in a row is waited for until it pauses, but not forever.
PAUSE, LONGEST_BURST = 0.1, 2.0
LOOK = 0.5
KEYS = "n next, h hint, l list, r reset, q quit"


class SavedAgain(Exception):
    """A file holds something new while one is being graded."""


class Watcher:
    """What is watched, and what was last seen of it."""

    def __init__(
        self,
        asked: Sequence[Submission],
        settings: Settings,
        screen: Screen,
        progress: Screen,
        grader: Grader,
        saves: Saves,
    ) -> None:
        self.asked = list(asked)
        self.settings = settings
        self.screen = screen
        self.progress = progress
        self.grader = grader
        self.saves = saves
        self.at = _latest(self.asked)
        self.seen: dict[Path, bytes | None] = {}
        self.verdict: Verdict | None = None
        self.file: bytes | Verdict = b""
        self.hints = 0
        self.asks = ""

    def run(self, keyboard: Keyboard, interrupted: Callable[[], bool]) -> int:
        """Grade and wait until somebody ends it; return the exit code."""
        self.grade()
        while not interrupted():
            waiting = [self.saves.wakes]
            descriptor = keyboard.fileno()
            waiting += [] if descriptor is None else [descriptor]
            with contextlib.suppress(InterruptedError):
                select.select(waiting, [], [], LOOK)
            for key in keyboard.pressed():
                if key == "c-c":
                    return 130
                if key in ("q", "c-d"):
                    return 0
                self.press(key)
            if self.saves.fault:
                raise UsageError(self.saves.fault)
            changed = self.changed(self.saves.taken())
            if changed is not None:
                self.at = changed
                self.grade()
        return 130

    # --- grading ---------------------------------------------------------

    def grade(self) -> None:
        """Grade what is at hand, again and again while it is saved meanwhile."""
        while True:
            self.screen.line()
            self.screen.line(f"{time.strftime('%H:%M:%S')}  {self.at.shown}", "bold")
            try:
                self.verdict = self.graded()
            except SavedAgain:
                self.grader.cancel()
                self.at = self.settled()
                self.screen.line("saved again: starting over")
                continue
            break
        self.hints = 0
        kept = record(self.at, self.verdict, self.file, "watch")
        show(self.screen, self.at, self.verdict, python=self.settings.python)
        tell_of_review(self.screen, self.at.entry, kept)
        if kept.fault:
            self.screen.line(kept.fault)

    def graded(self) -> Verdict:
        at, settings = self.at, self.settings
        self.file = file = read(at.entry, at.path, at.shown)
        self.seen[at.path] = _content(at.path) if isinstance(file, Verdict) else file
        if isinstance(file, Verdict):
            return file
        job = Job(at.entry, at.shown, file, settings.examples, settings.seed)
        with self.progress.bar(at.entry.name) as update:
            return self.grader.grade(job, update)

    def unwanted(self) -> bool:
        """Stop a grading whose file was saved again; asked ten times a second."""
        saved = self.saves.taken()
        if self.changed(saved) is not None:
            self.saves.put_back(saved)
            raise SavedAgain
        return False

    def settled(self) -> Submission:
        """Wait until nothing is saved any more; return what was saved last."""
        saved: set[Path] = set()
        deadline = time.monotonic() + LONGEST_BURST
        while time.monotonic() < deadline and (more := self.saves.taken()):
            saved |= more
            time.sleep(PAUSE)
        return self.changed(saved) or self.at

    def changed(self, paths: Iterable[Path]) -> Submission | None:
        """Return the submission among these paths whose file holds something new."""
        found: Submission | None = None
        for each in self.asked:
            if each.path not in paths:
                continue
            deadline = time.monotonic() + AWAY
            while (content := _content(each.path)) is None and time.monotonic() < deadline:
                time.sleep(0.02)
            if content != self.seen.get(each.path, b""):
                found = each
        return found

    # --- keys ------------------------------------------------------------

    def press(self, key: str) -> None:
        asked, self.asks = self.asks, ""
        if asked:
            if key == "y":
                self.reset()
            else:
                self.screen.line("nothing was reset")
        elif key == "n":
            self.go_on()
        elif key == "h":
            self.hint()
        elif key == "l":
            self.show_list()
        elif key == "r":
            self.asks = "reset"
            self.screen.line(f"put {self.at.shown} back to its stub? A copy is kept. y/n")
        elif len(key) == 1 and key.isprintable():
            self.screen.line(KEYS)

    def go_on(self) -> None:
        after = following(self.at.entry)
        if after is None:
            self.screen.line("that was the last kata")
            return
        (self.at,) = submissions([after], [], self.settings)
        if all(each.path != self.at.path for each in self.asked):
            self.asked.append(self.at)
            self.saves.add(self.at.path)
        self.grade()

    def hint(self) -> None:
        """Show the next rung, of this file's last verdict; those of a learner's own are counted."""
        rungs = ladder(self.at.entry, self.verdict)
        if self.hints >= len(rungs):
            self.screen.line("there are no more hints" if rungs else "there is no hint")
            return
        rung = rungs[self.hints]
        self.hints += 1
        faults: list[str] = []
        if self.at.practised:  # counted first, as by the command
            history = History()
            _, taken = known(history, self.at.entry, faults)
            take(history, self.at.entry, rung, taken, faults)
        show_rung(self.screen, self.at.entry, rung, f"hint {self.hints} of {len(rungs)}")
        for fault in faults[:1]:
            self.screen.line(fault)

    def show_list(self) -> None:
        from grader.practice.overview import rows_of_katas
        from grader.views.listing import show_list

        show_list(self.screen, rows_of_katas())

    def reset(self) -> None:
        if self.at.path != self.at.entry.stub_path:
            self.screen.line("only a file in katas/ can be put back to its stub")
            return
        kept = reset(self.at.entry)
        self.screen.line(f"your answer is kept in {written(kept)}" if kept else "")
        self.grade()


class Saves:
    """Tells which files were written, by a thread; a context manager.

    `wakes` can be selected on. `fault` says why there is nothing to come.
    """

    def __init__(self, files: Iterable[Path], *, poll: bool) -> None:
        self._looks = {path: _look(path) for path in files}
        self._folders = sorted({path.parent for path in self._looks})
        self._poll = poll
        self._paths: queue.SimpleQueue[Path] = queue.SimpleQueue()
        self._stop = threading.Event()
        self.wakes, self._bell = os.pipe()
        os.set_blocking(self.wakes, False)
        self.fault = ""
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> Saves:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join(2.0)

    def taken(self) -> set[Path]:
        """Return the files written since the last time."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.wakes, 4096)
        found: set[Path] = set()
        with contextlib.suppress(queue.Empty):
            while True:
                found.add(self._paths.get_nowait())
        return found

    def put_back(self, paths: Iterable[Path]) -> None:
        """Have files count as written since the last time."""
        for path in paths:
            self._paths.put(path)

    def add(self, path: Path) -> None:
        """Look after one file more, in a folder that is watched already."""
        self._looks.setdefault(path, _look(path))

    def _listen(self) -> None:
        import watchfiles

        try:
            for changes in watchfiles.watch(
                *self._folders,
                watch_filter=None,
                debounce=DEBOUNCE,
                step=STEP,
                stop_event=self._stop,
                rust_timeout=100,
                yield_on_timeout=True,
                raise_interrupt=False,
                force_polling=True if self._poll else None,
                poll_delay_ms=POLL_EVERY,
                recursive=False,
                ignore_permission_denied=True,
            ):
                saved = {Path(path) for _, path in changes}
                # Polling tells times apart by the second: it may miss the last of a burst.
                for path, before in list(self._looks.items()):
                    self._looks[path] = _look(path)
                    if self._looks[path] != before:
                        saved.add(path)
                for path in saved:
                    self._paths.put(path)
                if saved:
                    os.write(self._bell, b"!")
        except (OSError, RuntimeError) as error:
            self.fault = f"saves cannot be watched here: {error}; --poll looks at the files instead"
            os.write(self._bell, b"!")


def watch(entries: Sequence[Entry], files: Sequence[str], settings: Settings, *, poll: bool) -> int:
    """Watch the files of these katas, or one file; return the exit code."""
    from grader.views.screen import Screen

    asked = submissions(entries, files, settings)
    color = settings.color and not settings.plain
    out = Screen(sys.stdout, plain=settings.plain, color=color)
    err = Screen(sys.stderr, plain=settings.plain, color=color)
    folders = {each.path.parent for each in asked}
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"there is no folder {written(folder)} to watch")
    with contextlib.ExitStack() as stack:
        interrupted = stack.enter_context(noting_interrupts())

        def stop() -> bool:
            return interrupted() or watcher.unwanted()

        grader = stack.enter_context(Grader(settings.timeout, stop))
        grader.warm()
        saves = stack.enter_context(Saves([each.path for each in asked], poll=poll))
        watcher = Watcher(asked, settings, out, err, grader, saves)
        keys = stack.enter_context(keyboard())
        out.line(f"watching {', '.join(sorted(map(written, folders)))}; a save is graded at once")
        if keys.fileno() is not None:
            out.line(KEYS)
        try:
            return watcher.run(keys, interrupted)
        except KeyboardInterrupt:
            return 130


def _latest(asked: Sequence[Submission]) -> Submission:
    """Return what somebody is at: the file edited last of those begun, else the first."""
    begun = [each for each in asked if len(asked) > 1 and state(each.entry) == "started"]

    def edited(each: Submission) -> float:
        with contextlib.suppress(OSError):
            return each.path.stat().st_mtime
        return 0.0

    return max(begun, key=edited, default=asked[0])


def _look(path: Path) -> tuple[int, ...] | None:
    """Return what changes in a file's entry when it is written, None where there is no file."""
    with contextlib.suppress(OSError):
        about = path.stat()
        return (about.st_mtime_ns, about.st_size, about.st_ino)
    return None


def _content(path: Path) -> bytes | None:
    with contextlib.suppress(OSError):
        return contents(path)
    return None
