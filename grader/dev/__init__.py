"""Commands for authors of katas: start one, generate its stub, prove it right.

Each takes the words after its name and returns an exit code: 0 fine, 1 there
is something to mend, 2 wrong use, 70 a fault that has nothing to do with the
katas.
"""

from __future__ import annotations

from grader.dev.creating import new
from grader.dev.proving import check
from grader.dev.stubbing import stubs

__all__ = ["check", "new", "stubs"]
