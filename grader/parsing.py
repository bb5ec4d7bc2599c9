"""Read command lines: what is wrong with one is said in one line."""

from __future__ import annotations

import argparse
from typing import NoReturn

from grader.errors import UsageError


class Parser(argparse.ArgumentParser):
    """Raises a UsageError of one line where argparse prints a page and leaves."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see {self.prog} --help")
