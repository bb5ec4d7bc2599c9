"""`reset`: put a kata's file back to its stub, and keep what was in it."""

from __future__ import annotations

from collections.abc import Sequence

from grader.catalog import written
from grader.commands.asking import agreed, chosen, screen
from grader.commands.parsing import parser, read
from grader.isolation.reading import state
from grader.resetting import reset
from grader.stubs import LEVELS

NOTHING_DONE = 1


def run(argv: Sequence[str]) -> int:
    """Write the stub once somebody agreed; exit code 1 where nobody did."""
    asks = parser("reset", "Put a kata's file back to its stub; a copy of yours is kept.")
    asks.add_argument("kata", nargs="?", default="", help="which kata")
    asks.add_argument("--level", choices=LEVELS, default=LEVELS[0], help="blank: without steps")
    asks.add_argument("--yes", action="store_true", help="do not ask")
    options = read(asks, argv)
    entry = chosen(options.kata, "reset")
    out = screen(options)
    file = written(entry.stub_path)
    if state(entry) == "started" and not options.yes:
        question = f"put {file} back to its stub? A copy of yours is kept."
        if not agreed(out, question):
            out.line("nothing was reset")
            return NOTHING_DONE
    kept = reset(entry, options.level)
    out.line(f"{file} is the stub again, level {options.level}")
    rows = [("kept", written(kept))] if kept else []
    out.rows([*rows, ("undo", f"python -m grader restore {entry.name}")] if kept else [])
    return 0
