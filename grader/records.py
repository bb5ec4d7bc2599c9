"""Turn a verdict into plain data and back.

Below both the views and the isolation, because the record crosses the border
between processes as well as the one to the outside.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, cast, get_args

from grader.model import (
    VERDICT_VERSION,
    CheckResult,
    Counterexample,
    NamedBug,
    Status,
    Verdict,
)

STATUSES: tuple[str, ...] = get_args(Status)


def to_dict(verdict: Verdict) -> dict[str, Any]:
    """Return the verdict as JSON can hold it, keys in the order of the dataclass."""
    return cast("dict[str, Any]", _plain(verdict))


def from_dict(data: Mapping[str, Any]) -> Verdict:
    """Build a verdict from plain data.

    What comes out of the process that ran an answer is not trusted: raises
    ValueError or TypeError for another version and for anything of a wrong
    type. Missing optional keys get their defaults, unknown keys are ignored.
    """
    if data.get("version") != VERDICT_VERSION:
        raise ValueError(f"a record of version {data.get('version')!r}")
    return Verdict(
        kata=_text(data, "kata"),
        slug=_text(data, "slug"),
        status=_one_of(data, "status", STATUSES),
        score=_number(data, "score"),
        seconds=_number(data, "seconds"),
        path=_text(data, "path", ""),
        checks=tuple(_check(each) for each in _items(data, "checks")),
        bugs=tuple(_bug(each) for each in _items(data, "bugs")),
        notes=_texts(data, "notes"),
    )


def _plain(value: object) -> object:
    if is_dataclass(value):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return {str(key): _plain(each) for key, each in items}
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no NaN
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, Sequence):
        return [_plain(each) for each in cast("Sequence[object]", value)]
    raise TypeError(f"a record cannot hold a {type(value).__name__}")


def _check(data: Mapping[str, Any]) -> CheckResult:
    shown = data.get("counterexample")
    return CheckResult(
        name=_text(data, "name"),
        title=_text(data, "title"),
        status=_one_of(data, "status", ("passed", "failed", "skipped")),
        message=_text(data, "message", ""),
        line=_line(data),
        counterexample=None if shown is None else _counterexample(_mapping(shown)),
    )


def _counterexample(data: Mapping[str, Any]) -> Counterexample:
    recipe = _mapping(data.get("recipe", {}))
    if not all(isinstance(value, (int, str)) for value in recipe.values()):
        raise ValueError("a recipe holds integers and words only")
    shapes: list[tuple[str, str]] = []
    for pair in _list(data.get("shapes", ())):
        match _list(pair):
            case [str() as name, str() as shape]:
                shapes.append((name, shape))
            case _:
                raise ValueError("shapes are pairs of words")
    return Counterexample(
        called=_text(data, "called"),
        expected=_text(data, "expected"),
        got=_text(data, "got"),
        python=_text(data, "python", ""),
        recipe=dict(recipe),
        shapes=tuple(shapes),
    )


def _bug(data: Mapping[str, Any]) -> NamedBug:
    return NamedBug(
        id=_text(data, "id"),
        title=_text(data, "title"),
        ask=_text(data, "ask", ""),
        confidence=_one_of(data, "confidence", ("exact", "consistent")),
        same_as=_texts(data, "same_as"),
        matched=int(_number(data, "matched", 0)),
        probes=int(_number(data, "probes", 0)),
    )


def _text(data: Mapping[str, Any], key: str, default: str | None = None) -> str:
    value = data.get(key, default)
    if not isinstance(value, str):
        raise TypeError(f"{key} is a {type(value).__name__}, not text")
    return value


def _number(data: Mapping[str, Any], key: str, default: float | None = None) -> float:
    value = data.get(key, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"{key} is {value!r}, not a number")
    return value


def _line(data: Mapping[str, Any]) -> int | None:
    value = data.get("line")
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise ValueError(f"line is {value!r}")
    return value


def _one_of(data: Mapping[str, Any], key: str, words: Sequence[str]) -> Any:
    value = data.get(key)
    if value not in words:
        raise ValueError(f"{key} is {value!r}, not one of {', '.join(words)}")
    return value


def _texts(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    values = _list(data.get(key, ()))
    if not all(isinstance(value, str) for value in values):
        raise ValueError(f"{key} holds something that is not text")
    return tuple(str(value) for value in values)


def _items(data: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    return [_mapping(each) for each in _list(data.get(key, ()))]


def _list(value: object) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"a {type(value).__name__} where a list belongs")
    return list(cast("Sequence[Any]", value))


def _mapping(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"a {type(value).__name__} where a mapping belongs")
    return cast("Mapping[str, Any]", value)
