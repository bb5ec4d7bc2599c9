"""What an answer prints: taken off its hands, mostly thrown away, never shown raw."""

from __future__ import annotations

import contextlib
import re
import threading
from typing import BinaryIO

CAP = 64 * 1024
EXCERPT = 60
MARK = re.compile(rb"\0[0-9a-f]{16}\0")


def end_of_prints(job_id: str) -> bytes:
    """Return the mark that the child writes after a job's prints."""
    return f"\0{job_id}\0".encode()


class Prints:
    """Drains a pipe in a thread and keeps the first CAP bytes of each job.

    Without it a flood of prints would block the answer as soon as the pipe is
    full, which looks like an endless loop.
    """

    def __init__(self, pipe: BinaryIO) -> None:
        self._pipe = pipe
        self._kept = bytearray()
        self._lines = 0
        self._tail = b""
        self._mark = b""
        self._ended = threading.Event()
        self._lock = threading.Lock()
        threading.Thread(target=self._drain, daemon=True).start()

    def expect(self, mark: bytes) -> None:
        """Start afresh; this job's prints end at `mark`."""
        with self._lock:
            self._kept.clear()
            self._lines = 0
            self._tail = b""
            self._mark = mark
            self._ended.clear()

    def settle(self, seconds: float) -> None:
        """Wait until the mark was read, which comes before the verdict; not forever."""
        self._ended.wait(seconds)

    def text(self) -> str:
        with self._lock:
            kept = bytes(self._kept)
            if self._mark:
                kept = kept.partition(self._mark)[0]
            # What stands before another mark was printed for a job that was dropped.
            kept = MARK.split(kept)[-1]
        return kept.decode("utf-8", "replace")

    def note(self) -> str:
        """Describe in one line what was printed; empty if nothing was."""
        text = self.text().strip()
        if not text:
            return ""
        first = text.splitlines()[0].strip()
        if len(first) > EXCERPT:
            first = first[:EXCERPT] + "…"
        with self._lock:
            # Past the cap only the line ends were counted.
            capped = len(self._kept) >= CAP
        count = max(self._lines if capped else 0, len(text.splitlines()))
        lines = "1 line" if count == 1 else f"{count} lines, first"
        return f"the answer printed {lines}: {first}"

    def _drain(self) -> None:
        with contextlib.suppress(OSError, ValueError), self._pipe:
            while chunk := self._pipe.read(CAP):
                with self._lock:
                    self._take(chunk)
        self._ended.set()

    def _take(self, chunk: bytes) -> None:
        self._kept += chunk[: CAP - len(self._kept)]
        self._lines += chunk.count(b"\n")
        seen = self._tail + chunk
        if self._mark and self._mark in seen:
            self._ended.set()
        self._tail = seen[-len(self._mark) :] if self._mark else b""
