"""The process that runs an answer, and holds nothing else.

It is asked to load a file, to name the problems of what the file defines, and
to run cases; what it says is plain data (see `wire`). It knows no solution, no
check and no expected value: whoever takes it over has won nothing.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import torch

from grader.catalog import ROOT
from grader.engine.contract import problems
from grader.engine.execution import execute
from grader.engine.loading import Namespace, load
from grader.errors import NotLoadable
from grader.isolation.connection import Connection
from grader.isolation.nursery import CUT_OFF
from grader.isolation.sandbox import confine
from grader.isolation.wire import Closed, Garbled, WireError
from grader.model import Case, Outcome, Raised

# Away from the low numbers that code closes or writes to by habit.
CHANNEL, STACKS = 120, 121
# Of this project, an answer may read other answers, and import what it is given.
KATAS = ROOT / "katas"
SECRET_MODULES = ("solutions", "tests", "grader.specs", "grader.mistakes")
# Events of Python's own (see its audit table), in the words of whoever meets them.
NOT_HERE = {
    "os.fork": "os.fork",
    "os.forkpty": "os.forkpty",
    "os.posix_spawn": "starting another program",
    "subprocess.Popen": "starting another program",
    "os.system": "starting another program",
    "os.exec": "starting another program",
    "socket.__new__": "the network",
}
PYTHON_INSIDE = (f"{os.sep}site-packages{os.sep}", f"{os.sep}lib{os.sep}python")


def work(channel: int, stacks: int, scratch: Path) -> NoReturn:
    """Answer requests until the other side is gone; never return.

    `channel` is a stream socket, `stacks` a file for the stack where the answer
    hangs or dies. `scratch` is the only folder that can be written to.
    """
    code = 1
    try:
        os.dup2(channel, CHANNEL)
        os.dup2(stacks, STACKS)
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, 0)
        report = confine(scratch, readable=[KATAS], hidden=[ROOT], keep=[CHANNEL, STACKS])
        connection = Connection(socket.socket(fileno=CHANNEL))
        _hide_the_rest()
        _tell_where()
        connection.send(("ready", tuple(layer.name for layer in report.missing())), 0)
        _serve(connection)
    except Closed:
        code = CUT_OFF  # by the answer, or the judge is gone and nobody asks
    finally:
        _leave(code)
    raise AssertionError


def _serve(connection: Connection) -> None:
    loaded: Namespace | None = None
    while True:
        number, message = connection.receive()
        match message:
            case ("load", str(source), str(path)):
                loaded, reply = _load(source.encode("latin-1"), path)
            case ("problems", tuple(targets)) if loaded:
                reply = problems(loaded, targets)
            case ("run", Case() as case) if loaded:
                reply = execute(case, loaded)
            case _:
                raise Garbled("a request of no known kind")
        _flush()
        try:
            connection.send(reply, number)
        except (Closed, TimeoutError):
            raise
        except WireError as error:
            connection.send(_unsendable(str(error)), number)


def _load(source: bytes, path: str) -> tuple[Namespace | None, object]:
    try:
        loaded = load(source, path)
    except NotLoadable as error:
        return None, ("not loadable", error.message, error.line)
    if torch.get_default_device().type != "cpu":
        torch.set_default_device("cpu")  # a case says itself where its tensors lie
    return loaded, ("loaded",)


def _unsendable(reason: str) -> Outcome:
    """Return what stands for an outcome that is too large or too strange to be told."""
    return Outcome("raised", raised=Raised(("ValueError", "Exception", "BaseException"), reason))


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        with contextlib.suppress(Exception):
            stream.flush()  # type: ignore[union-attr]


def _tell_where() -> None:
    """Have C code write the stack: at a fault, when asked to, and before os._exit."""
    faulthandler.enable(STACKS, all_threads=True)
    if hasattr(faulthandler, "register"):
        faulthandler.register(signal.SIGUSR1, STACKS, all_threads=True)

    def leave(code: int) -> NoReturn:
        with contextlib.suppress(Exception):
            faulthandler.dump_traceback(STACKS, all_threads=False)
            _flush()
        _leave(code)

    os._exit = leave


# Loaded once, before anything is forked or hidden; `katas` has no file of its own.
for _name in ("grader.given", "grader.parts", KATAS.name):
    with contextlib.suppress(ImportError):
        importlib.import_module(_name)

# Taken before an answer can replace it.
_leave: Callable[[int], NoReturn] = os._exit


class _Refusing:
    """Finds the modules that would give the exercise away, and says that they are not there."""

    def find_spec(
        self, name: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if any(name == secret or name.startswith(f"{secret}.") for secret in SECRET_MODULES):
            raise ModuleNotFoundError(f"{name} is not available while grading", name=name)
        return None


def _hide_the_rest() -> None:
    """Say in words what Landlock says with an errno; all there is where it is missing."""
    sys.meta_path.insert(0, _Refusing())
    project, answers = f"{ROOT}{os.sep}", f"{KATAS}{os.sep}"
    fspath, absolute = os.fspath, os.path.abspath  # an answer may replace them

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event in NOT_HERE:
            raise PermissionError(f"{NOT_HERE[event]} is not available while grading")
        if event != "open" or not isinstance(arguments[0], (str, os.PathLike)):
            return
        path = str(absolute(fspath(arguments[0])))
        inside = path.startswith(project) and not path.startswith(answers)
        # Where Python itself lives in the project (.venv), its packages stay readable.
        if inside and not any(part in path for part in PYTHON_INSIDE):
            raise PermissionError(f"{path} is not available while grading")

    sys.addaudithook(watch)
