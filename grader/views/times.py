"""Spans and points of time, as people say them."""

from __future__ import annotations

import math
from datetime import datetime

DAY = 24 * 3600.0


def span(seconds: float) -> str:
    """Return a span in at most two units: 45 s, 12 min 5 s, 2 h 10 min, 3 days."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        minutes, rest = divmod(whole, 60)
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    if whole < DAY:
        hours, rest = divmod(whole // 60, 60)
        return f"{hours} h {rest} min" if rest else f"{hours} h"
    return _count(int(whole // DAY), "day")


def clock(seconds: float) -> str:
    """Return a span as a clock shows it: 12:05, 1:02:05; below zero as 0:00."""
    # Up to the next second: it begins with the full time, and 0:00 is the end.
    minutes, rest = divmod(max(0, math.ceil(seconds - 1e-3)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def when(at: float, now: float) -> str:
    """Return a point of time from now on: due now, due today, tomorrow, in 5 days."""
    if at <= now:
        return "due now"
    days = _day(at) - _day(now)
    if days == 0:
        return "due today"
    return "due tomorrow" if days == 1 else f"due in {_count(days, 'day')}"


def date(at: float) -> str:
    """Return the local date and time of a point of time: 2026-01-31 14:05."""
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")


def _day(at: float) -> int:
    return datetime.fromtimestamp(at).astimezone().date().toordinal()


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
