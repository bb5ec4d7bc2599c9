"""`hint`: say a little more each time it is asked."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from grader.commands.asking import chosen, screen
from grader.commands.parsing import parser, positive, read
from grader.errors import UsageError
from grader.practice.hinting import known, show_rung, take
from grader.practice.hints import Rung, ladder
from grader.practice.history import History
from grader.views.texts import say


def run(argv: Sequence[str]) -> int:
    """Show the next rung of a kata's hints, and note that it was taken."""
    asks = parser("hint", "Show the next hint for a kata; each is counted until you pass.")
    asks.add_argument("kata", nargs="?", default="", help="which kata")
    asks.add_argument("--again", action="store_true", help="show those that were taken already")
    asks.add_argument("--rung", type=positive, metavar="N", help="show this one")
    options = read(asks, argv)
    entry = chosen(options.kata, "hint")
    out = screen(options)
    history = History()
    faults: list[str] = []
    verdict, taken = known(history, entry, faults)
    rungs = ladder(entry, verdict)
    if options.rung is not None and options.rung > len(rungs):
        raise UsageError(f"there is no rung {options.rung}: {entry.name} has {len(rungs)} now")
    if options.again:
        again = [(n, rung) for n, rung in enumerate(rungs, 1) if rung.name in taken]
        for number, rung in again:
            show_rung(out, entry, rung, f"hint {number} of {len(rungs)}")
        if not again:
            out.line("no hint was taken since the last pass")
    else:
        number = options.rung or following(rungs, taken)
        if number:
            rung = rungs[number - 1]
            take(history, entry, rung, taken, faults)  # first, since nobody may be left after it
            show_rung(out, entry, rung, f"hint {number} of {len(rungs)}")
        else:
            what = f"all {len(rungs)} hints were shown" if rungs else "there is no hint"
            out.line(f"{what} for {entry.name}")
            rows = [("again", f"python -m grader hint {entry.name} --again")] if rungs else []
            out.rows([*rows, ("else", f"python -m grader solution {entry.name}")])
    for fault in dict.fromkeys(faults):
        sys.stderr.write(f"{say(fault)}\n")
    return 0


def following(rungs: Sequence[Rung], taken: Sequence[str]) -> int:
    """Return the number of the first rung that was not taken yet, 0 if there is none."""
    return next((n for n, rung in enumerate(rungs, 1) if rung.name not in taken), 0)
