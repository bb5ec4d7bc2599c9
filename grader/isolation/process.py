"""One grading process, seen from outside: three pipes, a deadline, and an end."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import queue
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, Literal, cast

from grader.catalog import ROOT, Entry
from grader.isolation import endings, stacks
from grader.isolation.prints import Prints, end_of_prints
from grader.isolation.scratch import Scratch
from grader.model import Verdict
from grader.records import from_dict

# Importing torch takes a second, but a cold disk or a busy machine is nobody's fault.
LOADING_LIMIT = 120.0
# A reply is a verdict at most; more is an answer that found the channel.
LONGEST_REPLY = 8 << 20
MOST_FRAMES = 1000
MOST_LATE_MESSAGES = 1000
POLL = 0.1
# Seconds for a process that has given its verdict to write down what it found out.
LAST_WORDS = 2.0

Progress = Callable[[float, str], None]
Message = Mapping[str, Any]


@dataclass(frozen=True)
class Job:
    """One file to grade as the answer to one kata. `path` is how the learner calls it.

    Other depths than "full" are for answers of our own: they run in the grading process, and
    no case is shown (`grader.engine.skimming`). "diagnosed" names bugs as in full; the rest go
    as far as the first check that fails, which is "named" or not.
    With `bugs`, only those are looked for, which is fast: it is known which were planted.
    With `call`, the function of that name is called once, without arguments, instead of a
    grading: the verdict is "passed" where it returns.
    """

    entry: Entry
    path: str
    source: bytes
    examples: int | None = None
    seed: int = 0
    depth: Literal["full", "diagnosed", "named", "unnamed"] = "full"
    bugs: tuple[str, ...] | None = None
    call: str = ""


class Process:
    """One grading process and the three pipes to it."""

    def __init__(self, interrupted: Callable[[], bool]) -> None:
        self.usable = True
        self._interrupted = interrupted
        self._ready = False
        self._scratch = Scratch()
        self._kills = endings.kills_by_system()
        self._process = subprocess.Popen(  # noqa: S603 - this Python, our module
            [sys.executable, "-m", "grader.isolation.child", str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            # An empty folder: files written by a relative name go away with it, and
            # a torch.py beside the learner's answer is not torch.
            cwd=self._scratch.path,
            env=_environment(),
            # A group of its own can be killed whole, and Ctrl-C does not reach it.
            start_new_session=True,
        )
        self._messages: queue.Queue[Message | None] = queue.Queue()
        self._frames: list[tuple[str, int]] = []
        self._prints = Prints(cast("BinaryIO", self._process.stderr))
        self._sender: threading.Thread | None = None
        self._done = False
        threading.Thread(target=self._listen, daemon=True).start()

    def load(self) -> str:
        """Wait until torch is loaded; return what went wrong, or nothing."""
        deadline = time.monotonic() + LOADING_LIMIT
        while not self._ready:
            message = self._receive(deadline)
            if message == "late":
                return f"torch was not loaded within {LOADING_LIMIT:g} s\n{self._prints.text()}"
            if message == "ended":
                self._stop()
                self._prints.settle(0.5)
                code = self._process.returncode
                return f"the grading process ended with {code}\n{self._prints.text()}"
            if "fault" in message:
                return f"{message['fault']}\n{self._prints.text()}"
            self._ready = "ready" in message
        return ""

    def grade(self, job: Job, timeout: float, progress: Progress) -> Verdict:
        """Return a verdict in any case; afterwards `usable` says whether to go on."""
        self._done = False
        job_id = secrets.token_hex(8)
        self._frames.clear()
        self._prints.expect(end_of_prints(job_id))
        began = time.monotonic()
        title = ""
        preliminary: object = None
        # Not in this thread: a child that does not read must not hang the parent.
        self._sender = threading.Thread(target=self._send, args=(job, job_id), daemon=True)
        self._sender.start()
        late = 0
        while True:
            message = self._receive(began + timeout)
            # An answer that floods the channel must not push its deadline ahead.
            late += time.monotonic() > began + timeout
            if late > MOST_LATE_MESSAGES:
                message = "late"
            if isinstance(message, str):
                self.usable = False
                if message == "late" and preliminary is not None:
                    self._stop()
                    scene = endings.Scene(job.entry, job.path, time.monotonic() - began, title)
                    verdict = self._verdict({"verdict": preliminary}, scene)
                    return endings.unnamed(replace(verdict, seconds=scene.seconds))
                return self._ending(job, message, timeout, time.monotonic() - began, title)
            if message.get("id") != job_id:
                continue
            if "preliminary" in message:
                preliminary = message["preliminary"]
                continue
            if "progress" in message:
                title = str(message.get("title", ""))
                fraction = message["progress"]
                progress(fraction if isinstance(fraction, (int, float)) else 0.0, title)
                continue
            self._done = True
            scene = endings.Scene(job.entry, job.path, time.monotonic() - began, title)
            return self._verdict(message, scene)

    def cancel(self) -> None:
        """Have the child drop its job; nothing that it says of it counts any more."""
        if not self._ready:
            return  # it has none yet
        if hasattr(signal, "SIGUSR2"):
            with contextlib.suppress(OSError):
                self._process.send_signal(signal.SIGUSR2)
        else:
            self.usable = False

    def close(self) -> None:
        """End the process with everything in its group, and remove what it wrote.

        The threads close their own pipes: a process that left the group may
        hold those open for as long as it likes. One that has done its work
        gets a moment to write down what it found out.
        """
        if self._done and self.usable:
            with contextlib.suppress(OSError):
                cast("BinaryIO", self._process.stdin).close()
            self._wait(LAST_WORDS)
        self._stop()
        if self._sender:
            self._sender.join(1.0)
        with contextlib.suppress(OSError):
            cast("BinaryIO", self._process.stdin).close()
        self._scratch.remove()

    def _verdict(self, message: Message, scene: endings.Scene) -> Verdict:
        self._prints.settle(0.2)
        if "memory" in message:
            # What is left of the process after running out is not worth trusting.
            self.usable = False
            verdict = endings.memory(scene, str(message["memory"]))
        elif "verdict" in message:
            try:
                verdict = from_dict(message["verdict"])
            except (ValueError, TypeError, AttributeError) as error:
                self.usable = False
                return endings.fault(scene, f"unreadable verdict: {error}\n{message!r:.2000}")
        else:
            self.usable = False
            return endings.fault(scene, str(message.get("fault", message)))
        return self._with_prints(verdict)

    def _with_prints(self, verdict: Verdict) -> Verdict:
        note = self._prints.note()
        return replace(verdict, notes=(*verdict.notes, note)) if note else verdict

    def _ending(
        self,
        job: Job,
        how: Literal["late", "ended"],
        timeout: float,
        seconds: float,
        title: str,
    ) -> Verdict:
        if how == "late":
            self._ask_where()
            self._stop()
            return self._with_prints(endings.timeout(self._scene(job, seconds, title), timeout))
        gone = self._wait(1.0)
        self._stop()
        self._prints.settle(0.3)
        code = self._process.returncode if gone else None
        # The signal alone does not say who sent it; the system's own count does.
        killed = code == -9 and endings.kills_by_system() > self._kills
        scene = self._scene(job, seconds, title)
        return self._with_prints(endings.crashed(scene, code, out_of_memory=killed))

    def _scene(self, job: Job, seconds: float, title: str) -> endings.Scene:
        # The deepest frame is written first.
        file = stacks.as_written(job.path)
        line = next((line for name, line in self._frames if name == file), None)
        code = "" if line is None else stacks.code_at(job.source, line)
        return endings.Scene(job.entry, job.path, seconds, title, line, code)

    def _ask_where(self) -> None:
        """Have the child write its stack, if it still can; wait until it has."""
        if not hasattr(signal, "SIGUSR1"):
            return
        with contextlib.suppress(OSError):
            self._process.send_signal(signal.SIGUSR1)
            seen = -1
            for _ in range(6):
                if len(self._frames) == seen and seen:
                    break
                seen = len(self._frames)
                time.sleep(0.05)

    def _send(self, job: Job, job_id: str) -> None:
        line = {
            "id": job_id,
            "number": job.entry.number,
            "stem": job.entry.stem,
            "path": job.path,
            "source": base64.b64encode(job.source).decode(),
            "examples": job.examples,
            "bugs": job.bugs,
            "call": job.call,
            "seed": job.seed,
            "depth": job.depth,
        }
        data = json.dumps(line).encode() + b"\n"
        with contextlib.suppress(OSError, ValueError):
            while data:
                data = data[os.write(cast("BinaryIO", self._process.stdin).fileno(), data) :]

    def _receive(self, deadline: float) -> Message | Literal["late", "ended"]:
        """Return the next message, or what happened instead."""
        while True:
            left = deadline - time.monotonic()
            try:
                # What has come counts even after the deadline: the grader may
                # have been suspended meanwhile.
                message = self._messages.get(timeout=max(0.001, min(POLL, left)))
            except queue.Empty:
                if left <= 0:
                    return "late"
                # The pipe stays open where the answer left a process behind.
                if self._wait(0.0):
                    with contextlib.suppress(queue.Empty):
                        return self._messages.get(timeout=0.3) or "ended"
                    return "ended"
                message = {}
            if self._interrupted():
                raise KeyboardInterrupt
            if message is None:
                return "ended"
            if message:
                return message

    def _listen(self) -> None:
        """Take replies off the pipe; what is not one may be a frame of a stack."""
        pipe = cast("BinaryIO", self._process.stdout)
        rest = b""
        with contextlib.suppress(OSError, ValueError), pipe:
            while (chunk := pipe.read(1 << 16)) and len(rest) < LONGEST_REPLY:
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    self._take(line)
        self._messages.put(None)

    def _take(self, line: bytes) -> None:
        try:
            message: object = json.loads(line)
        except (ValueError, RecursionError):
            frame = stacks.frame(line.decode("ascii", "replace"))
            if frame and len(self._frames) < MOST_FRAMES:
                self._frames.append(frame[:2])
            return
        if isinstance(message, dict):
            self._messages.put(cast("Message", message))

    def _wait(self, seconds: float) -> bool:
        """Tell whether the process ends within `seconds`, without reaping it if possible."""
        deadline = time.monotonic() + seconds
        while not self._gone():
            if time.monotonic() >= deadline or self._interrupted():
                return False
            time.sleep(0.01)
        return True

    def _gone(self) -> bool:
        if self._process.returncode is not None:
            return True
        if not hasattr(os, "waitid"):
            return self._process.poll() is not None
        # Unreaped, its number stays its own, and the group can be killed safely.
        with contextlib.suppress(ChildProcessError):
            flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
            return os.waitid(os.P_PID, self._process.pid, flags) is not None
        return True

    def _stop(self) -> None:
        if self._process.returncode is None:
            with contextlib.suppress(OSError):
                if hasattr(os, "killpg"):
                    os.killpg(self._process.pid, signal.SIGKILL)
                else:
                    self._process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(10)


def _environment() -> dict[str, str]:
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "PYTHONHASHSEED": "0",  # the same verdict every time
        "PYTHONWARNINGS": "ignore",  # what is left on stderr is the answer's own
        "OMP_NUM_THREADS": "1",  # tensors are tiny, and the sums come out the same
        "MKL_NUM_THREADS": "1",
    }
