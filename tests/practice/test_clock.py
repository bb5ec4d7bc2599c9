"""The clock of an interview: the wall's, whatever somebody does to it meanwhile."""

from __future__ import annotations

import time

import pytest

from grader.practice import clock
from grader.views import times


def test_a_wall_clock_set_back_takes_no_time_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(clock.CLOCK, raising=False)
    before, wall = clock.now(), time.time
    monkeypatch.setattr(time, "time", lambda: wall() - 3600)
    assert 0 <= clock.now() - before < 60
    monkeypatch.setattr(time, "time", lambda: wall() + 3600)
    assert 3600 <= clock.now() - before < 3660, "asleep, or set forward"


def test_tests_may_let_it_run_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    start = time.time() - 10
    monkeypatch.setenv(clock.CLOCK, f"60@{start}")
    assert 600 <= clock.now() - start < 1200
    assert clock.shown(start + 1) == start + 60


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (1800.0, "30:00"),
        (1799.9, "30:00"),
        (59.1, "1:00"),
        (0.2, "0:01"),
        (0.0, "0:00"),
        (-5.0, "0:00"),
        (3661.0, "1:01:01"),
        (1800.0000002, "30:00"),
    ],
)
def test_it_begins_with_the_full_time_and_ends_at_zero(seconds: float, shown: str) -> None:
    assert times.clock(seconds) == shown
