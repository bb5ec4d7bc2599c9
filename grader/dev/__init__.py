"""Commands for authors of katas: start one, generate its stub, prove it and the grader right.

Each takes the words after its name and returns an exit code: 0 fine, 1 there
is something to mend, 2 wrong use, 70 a fault that has nothing to do with the
katas.
"""

from __future__ import annotations

import warnings

from grader.dev.accepting import rewrite as rewrites
from grader.dev.attesting import truth
from grader.dev.creating import new
from grader.dev.proving import check
from grader.dev.stubbing import stubs
from grader.dev.surviving import mutate as mutants

__all__ = ["check", "mutants", "new", "rewrites", "stubs", "truth"]

# torch says so as soon as it meets a tensor; nothing here needs numpy.
warnings.filterwarnings("ignore", message="Failed to initialize NumPy")
