"""Open a file in the editor that somebody has chosen."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from grader.errors import UsageError

LOOK = 0.5


def edit(path: Path, meanwhile: Callable[[], None]) -> None:
    """Open a file in $VISUAL or $EDITOR and wait for it to be closed.

    `meanwhile` is called twice a second. Raises UsageError where there is no
    editor, or it cannot be started.
    """
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"EDITOR={command} cannot be read: {error}") from None
    if not words:
        raise UsageError(f"EDITOR is not set; open {path} in the editor of your choice")
    with _ctrl_c_is_the_editors():
        try:
            process = subprocess.Popen([*words, str(path)])  # noqa: S603 - it is the user's own
        except OSError as error:
            raise UsageError(f"{words[0]} cannot be started: {error.strerror}") from None
        while process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(LOOK)
            meanwhile()


@contextmanager
def _ctrl_c_is_the_editors() -> Generator[None]:
    # A handler, not SIG_IGN, which the editor would inherit.
    before = signal.signal(signal.SIGINT, lambda _number, _frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
