"""What time it is. Tests let it run faster; nobody else does."""

from __future__ import annotations

import os
import time
from datetime import datetime

# "rate@start": from `start` (seconds since 1970) on, the clock runs `rate` times as fast.
CLOCK = "GRADER_CLOCK"
# Within one process, a wall clock that is set back does not take time with it.
_BEGAN = time.time() - time.monotonic()


def now() -> float:
    """Return seconds since 1970, as the wall clock has them."""
    return shown(max(time.time(), _BEGAN + time.monotonic()))


def shown(real: float) -> float:
    """Return what the clock shows at a moment of the machine's: when a file was written, say."""
    rate, _, start = os.environ.get(CLOCK, "").partition("@")
    if not start:
        return real
    return float(start) + (real - float(start)) * float(rate)


def day_of(at: float) -> str:
    """Return the local day as in 2026-01-31, which is what a streak is counted in."""
    return datetime.fromtimestamp(at).astimezone().date().isoformat()
