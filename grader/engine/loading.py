"""Turn source bytes into a namespace, without Python's import system.

The bytes are compiled here: a stale `.pyc` cannot be picked up, and nothing is
written beside the learner's file.
"""

from __future__ import annotations

import io
import linecache
import sys
import tokenize
import types
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from grader.errors import NotLoadable

MODULE_NAME = "answer"


@dataclass(frozen=True)
class Namespace:
    """What a file defines. `filename` is how its frames are told from others.

    `kept` is for code of our own: modules that calls may use again, by what
    they were built with. A learner's module is built anew for each call.
    `settled` says that its constructors are a solution's, whose layers need no
    looking for.
    """

    names: Mapping[str, Any]
    filename: str
    source: str
    kept: dict[object, Any] | None = None
    twins: dict[object, Any] = field(default_factory=dict[object, Any])
    settled: bool = False


def load(source: bytes, filename: str, module_name: str = MODULE_NAME) -> Namespace:
    """Run a file's top level and return what it defines.

    Code under `if __name__ == "__main__"` is not run. Raises NotLoadable with
    the cause and the learner's line.
    """
    text = decode(source)
    code = _compile(text, filename)
    module = types.ModuleType(module_name)
    # Registered for the time of loading and later: dataclasses, typing and
    # pickling look a class's module up by name.
    sys.modules[module_name] = module
    names = module.__dict__
    names["__file__"] = filename
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    try:
        exec(code, names)
    except BaseException as error:  # noqa: BLE001 - SystemExit and the like included
        raise _not_loadable(error, filename) from None
    finally:
        # Hypothesis harvests constants from every module that has a file: the
        # learner's constants would then steer the examples.
        names.pop("__file__", None)
    return Namespace(names, filename, text)


def decode(source: bytes) -> str:
    """Return the text of a file: UTF-8, with or without BOM, any line ends.

    A coding line in the first two lines is honoured. Raises NotLoadable.
    """
    if b"\0" in source:
        line = source[: source.index(b"\0")].count(b"\n") + 1
        raise NotLoadable("the file holds null bytes; is it a text file?", line)
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
        text = source.decode(encoding)
    except UnicodeDecodeError as error:
        line = source[: error.start].count(b"\n") + 1
        raise NotLoadable("the file is not valid UTF-8 text; save it as UTF-8", line) from None
    except (SyntaxError, LookupError) as error:
        # An unknown encoding in the coding line, or bytes that contradict it.
        raise NotLoadable(f"the file's encoding cannot be read: {error}", 1) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _compile(text: str, filename: str) -> types.CodeType:
    try:
        return compile(text, filename, "exec", dont_inherit=True)
    except SyntaxError as error:
        kind = type(error).__name__
        shown = (error.text or "").rstrip("\n")
        caret = " " * max(0, (error.offset or 1) - 1) + "^"
        place = f"\n    {shown}\n    {caret}" if shown else ""
        raise NotLoadable(f"{kind}: {error.msg}{place}", error.lineno) from None
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise NotLoadable(f"Python cannot compile the file: {error}") from None


def _not_loadable(error: BaseException, filename: str) -> NotLoadable:
    line = learner_line(error, filename)
    if isinstance(error, ModuleNotFoundError):
        message = f"the file imports {error.name!r}, which is not installed here"
    elif isinstance(error, SystemExit):
        message = "the file calls exit() while it is loaded; remove that call"
    else:
        said = shorten(error)
        message = f"loading the file raises {type(error).__name__}" + (f": {said}" if said else "")
    return NotLoadable(message, line)


def learner_line(error: BaseException, filename: str) -> int | None:
    """Return the deepest line of `filename` in the error's traceback."""
    line = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == filename:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def shorten(error: BaseException, limit: int = 300) -> str:
    """Return an error's message, shortened; an error that cannot say itself still gets one."""
    try:
        text = str(error)
    except BaseException:  # noqa: BLE001 - a __str__ of the learner's may raise anything
        text = "(its message cannot be shown)"
    return text if len(text) <= limit else text[: limit - 1] + "…"
