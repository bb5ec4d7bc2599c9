"""The records that cross between judge and worker, and what their fields may hold.

The tests are built from the classes' own annotations, so a new field is
checked without a word here, and one that could not be checked stops the import.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor

from grader.engine.contract import Problem
from grader.model import Alien, Case, Outcome, Part, Raised, Role, Target

Test = Callable[[object], bool]

# int where float is due, as Python's own type checkers have it; never bool for int.
SCALARS: dict[Any, tuple[type, ...]] = {
    str: (str,),
    bool: (bool,),
    int: (int,),
    float: (float, int),
    type(None): (type(None),),
    Tensor: (Tensor,),
}


def tests_of(record: type) -> tuple[tuple[str, Test], ...]:
    """Return each field's name and test, in the order of the class.

    Raises TypeError where an annotation is of a kind unknown here.
    """
    # The records name Tensor for type checkers only.
    hints = typing.get_type_hints(record, localns={"Tensor": Tensor})
    return tuple((field.name, test_of(hints[field.name])) for field in dataclasses.fields(record))


def test_of(hint: Any) -> Test:
    """Return the test for one annotation; classes are compared exactly, never by isinstance."""
    if hint is Any:
        return _anything
    if hint in SCALARS:
        return _of_types(SCALARS[hint])
    if dataclasses.is_dataclass(hint):
        return _of_types((typing.cast("type", hint),))
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return _one_of(frozenset(arguments))
    if origin is typing.Union or origin is types.UnionType:
        return _any_of([test_of(argument) for argument in arguments])
    if origin is tuple and arguments[-1] is ...:
        return _all_in(tuple, test_of(arguments[0]))
    if origin is tuple:
        return _row([test_of(argument) for argument in arguments])
    if origin is frozenset:
        return _all_in(frozenset, test_of(arguments[0]))
    if origin is Mapping:
        return _mapping(*map(test_of, arguments))
    raise TypeError(f"no test for fields of type {hint}")


def _anything(_value: object) -> bool:
    return True


def _of_types(kinds: tuple[type, ...]) -> Test:
    return lambda value: type(value) in kinds


def _one_of(words: frozenset[object]) -> Test:
    return lambda value: type(value) is str and value in words


def _any_of(tests: list[Test]) -> Test:
    return lambda value: any(test(value) for test in tests)


def _all_in(kind: type, test: Test) -> Test:
    return lambda value: type(value) is kind and all(map(test, typing.cast("Any", value)))


def _row(tests: list[Test]) -> Test:
    def fits(value: object) -> bool:
        if type(value) is not tuple:
            return False
        items = typing.cast("tuple[object, ...]", value)
        return len(items) == len(tests) and all(
            test(item) for test, item in zip(tests, items, strict=True)
        )

    return fits


def _mapping(key_fits: Test, value_fits: Test) -> Test:
    def fits(value: object) -> bool:
        if type(value) is not dict:
            return False
        items = typing.cast("dict[object, object]", value)
        return all(map(key_fits, items)) and all(map(value_fits, items.values()))

    return fits


RECORDS: dict[str, type] = {
    kind.__name__: kind for kind in (Case, Outcome, Raised, Alien, Part, Role, Target, Problem)
}
TESTS = {name: tests_of(kind) for name, kind in RECORDS.items()}
# `Outcome.observed` may hold anything; these are the names that the engine reads.
OBSERVED: dict[str, Test] = {
    name: test_of(hint)
    for name, hint in (
        ("device", str),
        ("operations", int),
        ("banned", tuple[str, ...]),
        ("again", tuple[Tensor | Alien, ...]),
        ("written", tuple[str, ...]),
        ("random", bool),
        ("anew", bool),
        ("unseen", bool),
        ("shared", bool),
        ("drops", tuple[float, ...]),
        ("fixed", bool),
        ("struck", str),
        ("leftover", tuple[tuple[int, ...], ...]),
        ("layers", Mapping[str, Any]),
        ("trainable", Mapping[str, bool]),
        ("state", Mapping[str, Tensor]),
    )
}
LAYERS: dict[str, Test] = {
    "assignments": test_of(int),
    "absent": test_of(tuple[str, ...]),
    "message": test_of(str),
}


def build(name: str, values: Sequence[object]) -> object:
    """Return a record from its fields in order; raise ValueError where one does not fit."""
    for (field, fits), value in zip(TESTS[name], values, strict=True):
        if not fits(value):
            raise ValueError(f"{name}.{field} is not what its class says")
    record = RECORDS[name](*values)
    if isinstance(record, Outcome):
        _expect(OBSERVED, record.observed)
        _expect(LAYERS, record.observed.get("layers", {}))
    return record


def _expect(tests: Mapping[str, Test], found: Mapping[str, Any]) -> None:
    for name, fits in tests.items():
        if name in found and not fits(found[name]):
            raise ValueError(f"observed {name} is not what the engine says")
