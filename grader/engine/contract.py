"""See whether a file defines what the kata asks for, before anything is called."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from torch import nn

from grader.engine.loading import Namespace
from grader.model import Target


@dataclass(frozen=True)
class Problem:
    """Why a target cannot be graded, and the learner's line where there is one."""

    target: str
    message: str
    line: int | None = None


def problems(namespace: Namespace, targets: Sequence[Target]) -> tuple[Problem, ...]:
    """Return one problem for each target that is missing or cannot be called as agreed."""
    found: list[Problem] = []
    for target in targets:
        message, culprit = _problem(namespace, target)
        if message:
            found.append(Problem(target.name, message, _line(culprit, namespace)))
    return tuple(found)


def _problem(namespace: Namespace, target: Target) -> tuple[str, Any]:
    names = namespace.names
    if target.name not in names:
        own = [
            name
            for name, value in names.items()
            if not name.startswith("_")
            and callable(value)
            and getattr(value, "__module__", None) == names.get("__name__")
        ]
        return _missing(target, own), None
    value = names[target.name]
    if target.kind == "function":
        if inspect.isclass(value) or not callable(value):
            return f"{target.name} should be a function, but is {_what(value)}", value
        theirs = _refuses(value, target.parameters)
        if theirs:
            return f"{target.name} takes {theirs}; expected {_listed(target.parameters)}", value
        return "", None
    if not inspect.isclass(value):
        # A function that builds the module will do, if it takes what the constructor takes.
        built = callable(value) and not _refuses(value, target.parameters)
        return "" if built else f"{target.name} should be a class, but is {_what(value)}", value
    if not issubclass(value, nn.Module):
        return f"{target.name} should inherit from nn.Module: class {target.name}(nn.Module)", value
    theirs = _refuses(value, target.parameters)
    if theirs:
        return (
            f"{target.name}'s constructor takes {theirs}; expected {_listed(target.parameters)}",
            value.__init__,
        )
    return _forward_problem(value, target, namespace.source)


def _forward_problem(value: type[nn.Module], target: Target, source: str) -> tuple[str, Any]:
    if value.__new__ is not object.__new__:
        return "", None  # it may build another class, and that one's forward counts
    if re.search(r"\bself\.forward\s*=[^=]", source):
        return "", None  # it may choose one when it is built
    if value.forward is nn.Module.forward or not callable(value.forward):
        return f"{target.name} has no forward method", value
    theirs = _refuses(value.forward, ("self", *target.forward))
    if theirs:
        return (
            f"{target.name}.forward takes {theirs.replace('self, ', '')}; "
            f"expected {_listed(target.forward)}",
            value.forward,
        )
    return "", None


def _missing(target: Target, own: Sequence[str]) -> str:
    kind = "function" if target.kind == "function" else "class"
    lowered = {name.lower(): name for name in own}
    near = difflib.get_close_matches(target.name.lower(), list(lowered), n=1, cutoff=0.6)
    if near:
        return f"no {kind} {target.name} in the file; is {lowered[near[0]]} meant to be it?"
    there = f"; it defines {', '.join(own[:6])}" if own else ""
    return f"no {kind} {target.name} in the file{there}"


def _refuses(value: Any, parameters: Sequence[str]) -> str:
    """Return the signature as text where a call would not do as agreed, else "".

    That is a call by these keywords, or by position, in their order.

    A decorator may take other arguments than what it wraps, and tell only of the latter's.
    """
    told = [_refused(value, parameters, follow_wrapped=follow) for follow in (True, False)]
    return told[0] if all(told) else ""


def _refused(value: Any, parameters: Sequence[str], *, follow_wrapped: bool) -> str:
    try:
        signature = inspect.signature(value, follow_wrapped=follow_wrapped)
    except (TypeError, ValueError):
        return ""
    keywords = [name for name in parameters if name != "self" and not name.startswith("*")]
    try:
        bound = (None,) if "self" in parameters else ()
        # A starred parameter takes whatever else is handed over.
        extra = (None,) * sum(name == "*args" for name in parameters)
        if extra:
            signature.bind(*bound, *[None] * len(keywords), *extra)
        else:
            signature.bind(*bound, **dict.fromkeys(keywords))
        agreed = _in_order(list(signature.parameters.values())[len(bound) :], keywords)
    except TypeError:
        agreed = False
    if agreed:
        return ""
    return _listed([str(p).split(":")[0].split("=")[0] for p in signature.parameters.values()])


def _in_order(parameters: Sequence[inspect.Parameter], names: Sequence[str]) -> bool:
    """Tell whether those of `names` that come first, by position, stand in this order."""
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    known = takewhile(lambda p: p.kind in by_position and p.name in names, parameters)
    theirs = [parameter.name for parameter in known]
    return theirs == [name for name in names if name in theirs]


def _listed(names: Sequence[str]) -> str:
    return "(" + ", ".join(names) + ")"


def _what(value: Any) -> str:
    if inspect.ismodule(value):
        return "a module"
    if inspect.isclass(value):
        return "a class"
    if inspect.isfunction(value):
        return "a function"
    return f"of type {type(value).__name__}"


def _line(value: Any, namespace: Namespace) -> int | None:
    if value is None:
        return None
    code = getattr(value, "__code__", None)
    if code is not None and code.co_filename == namespace.filename:
        return int(code.co_firstlineno)
    if inspect.isclass(value):
        for number, text in enumerate(namespace.source.splitlines(), start=1):
            if text.lstrip().startswith(f"class {value.__name__}"):
                return number
    return None
