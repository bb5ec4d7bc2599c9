"""Let Hypothesis look for a failing recipe, and shrink it to the smallest."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky

from grader.model import Axis, Check, Mismatch, Recipe

EVERY_HEALTH_CHECK: list[HealthCheck] = [*HealthCheck]  # pyright: ignore[reportAssignmentType]
Judge = Callable[[Recipe], Mismatch | None]


class _Failure(Exception):
    """Raised at one place only: Hypothesis tells failures apart by type and line."""


def smallest_failure(
    check: Check, judge: Judge, examples: int, seed: int
) -> tuple[Recipe, Mismatch] | None:
    """Return the smallest failing recipe found within `examples`, and why it fails.

    The same seed walks the same way: no database, no deadline, no other
    source of randomness.
    """
    found: list[tuple[Recipe, Mismatch]] = []

    @hypothesis.seed(seed)
    @settings(
        max_examples=examples,
        derandomize=False,
        database=None,
        deadline=None,
        print_blob=False,
        report_multiple_bugs=False,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=EVERY_HEALTH_CHECK,
    )
    @given(st.fixed_dictionaries({name: _strategy(axis) for name, axis in check.draws.items()}))
    def explore(recipe: dict[str, int | str]) -> None:
        mismatch = judge(recipe)
        if mismatch is not None:
            # The smallest example is replayed last, so the last one stays.
            found[:] = [(recipe, mismatch)]
            raise _Failure

    with warnings.catch_warnings(), _no_harvest():
        warnings.simplefilter("ignore")
        try:
            explore()
        except _Failure:
            pass
        except Flaky:
            # The answer is random or keeps state: what failed once stands.
            pass
    return found[0] if found else None


@contextmanager
def _no_harvest() -> Generator[None]:
    """Keep Hypothesis from drawing constants that stand in whatever modules are loaded.

    Which ones are depends on how the grader was started, and on the katas that
    were graded before: the verdict must not. There is no setting for it.
    """
    try:
        providers: Any = importlib.import_module("hypothesis.internal.conjecture.providers")
        harvest = providers._get_local_constants  # noqa: SLF001
    except (ImportError, AttributeError):  # a version that does not do it
        yield
        return
    nothing = providers.Constants()
    providers._get_local_constants = lambda: nothing  # noqa: SLF001
    try:
        yield
    finally:
        providers._get_local_constants = harvest  # noqa: SLF001


def _strategy(axis: Axis) -> st.SearchStrategy[int | str]:
    if isinstance(axis, list):
        return st.sampled_from(axis)
    low, high = axis
    return st.integers(low, high)
