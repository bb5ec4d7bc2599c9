"""`python -m grader`."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    try:
        from grader.cli import main

        code = main()
    except KeyboardInterrupt:  # before there was anything to tidy up
        code = 130
    sys.exit(code)
