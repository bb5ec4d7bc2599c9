"""Screens, and questions put to a person: Ctrl-C leaves, and no answer means no."""

from __future__ import annotations

import argparse
import sys

from grader.catalog import Entry, find
from grader.errors import UsageError
from grader.views.screen import Screen


def screen(options: argparse.Namespace) -> Screen:
    """Return where a command writes."""
    color = not options.no_color and not options.plain
    return Screen(sys.stdout, plain=options.plain, color=color)


def chosen(name: str, verb: str) -> Entry:
    """Return the kata of a name; the nearest names in a UsageError otherwise."""
    if not name:
        raise UsageError(f"which kata? python -m grader {verb} kata3")
    return find(name)


def answered(screen: Screen, question: str) -> str:
    """Ask, and return the line that was typed; empty where nobody answers."""
    return typed(screen, question) or ""


def typed(screen: Screen, question: str) -> str | None:
    """Ask, and return the line that was typed; None where there is none, as after Ctrl-D."""
    screen.line(question)
    screen.stream.write("> ")
    screen.stream.flush()
    line = sys.stdin.readline() if sys.stdin else ""
    if not line.endswith("\n") or not sys.stdin.isatty():
        screen.line()  # nobody's Enter has ended the line
    return line.strip() if line else None


def agreed(screen: Screen, question: str) -> bool:
    """Ask whether to go on; only y or yes is a yes."""
    return answered(screen, f"{question} y/n").lower() in ("y", "yes")
