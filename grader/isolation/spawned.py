"""A worker that was started as a program: `python -m grader.isolation.spawned`."""

from __future__ import annotations

import sys
from pathlib import Path

from grader.isolation.worker import work

if __name__ == "__main__":
    work(int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[1]))
