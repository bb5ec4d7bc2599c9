"""`dev truth`: measure that what is said of known bugs is true.

Known bugs are planted in the solutions, one, two and three at a time, each
in the solution's style and in two others, and graded. Whatever is stated as a
fact and is not so is a fault, and so is a planted bug that nobody notices.

To be fast, answers are graded on the banks of all checks, without exploring.
What is a fault there is graded once more as a learner's answer would be, and
what is said then counts.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from grader.catalog import find_each, katas
from grader.dev.pooling import grading
from grader.dev.reporting import guarded, parser

if TYPE_CHECKING:
    from grader.dev.assessing import Assessed
    from grader.dev.combining import Fit

PAIRS, TRIPLES = 12, 4
EVERY = "all"


def truth(argv: Sequence[str]) -> int:
    """Grade planted bugs of every kata, or of those named; exit 1 if one is not told truly."""
    options = parser("truth", "Plant known bugs and grade them; none may be given a wrong name.")
    options.add_argument("katas", nargs="*", metavar="kata")
    options.add_argument(
        "--pairs",
        type=_number,
        default=PAIRS,
        metavar="N",
        help=f"how many sets of two bugs for each kata, or {EVERY} ({PAIRS})",
    )
    options.add_argument(
        "--triples",
        type=_number,
        default=TRIPLES,
        metavar="N",
        help=f"how many sets of three, or {EVERY} ({TRIPLES})",
    )
    options.add_argument("--seed", type=int, default=0, metavar="N", help="draw others")
    options.add_argument("--json", action="store_true", help="print one JSON object")
    options.add_argument("--plain", action="store_true", help="ASCII only, no colour")

    def run() -> int:
        asked = options.parse_args(argv)
        # Not at the top: they load torch, which the other commands of this package do without.
        from grader.dev.combining import Probes
        from grader.dev.tallying import as_data, show_fault, show_left_out, show_table
        from grader.dev.trying import assessed, drawn
        from grader.views.screen import Screen

        out = Screen(sys.stdout, plain=asked.plain)
        err = Screen(sys.stderr, plain=asked.plain)
        found: list[Assessed] = []
        left_out: dict[str, Counter[Fit]] = {}
        with grading() as grade:
            for entry in find_each(asked.katas) or katas():
                with err.bar(entry.name, "planting bugs") as update:
                    probes = Probes(entry)
                    sample = drawn(probes, asked.pairs, asked.triples, asked.seed)
                    its = list(assessed(sample, probes, grade, asked.seed, update))
                found += its
                left_out[entry.name] = sample.left_out
                if not asked.json:
                    show_table(out, entry.name, its)
                    show_left_out(out, sample.left_out)
                    for each in its:
                        if each.fault:
                            show_fault(out, each, probes.solution)
                    out.line()
        if asked.json:
            sys.stdout.write(json.dumps(as_data(found, left_out), indent=2) + "\n")
        elif len(left_out) > 1:
            show_table(out, "in all", found)
        return 1 if any(each.fault for each in found) else 0

    return guarded(run)


def _number(text: str) -> int | None:
    """Read how many; None stands for all."""
    if text == EVERY:
        return None
    number = int(text) if text.isdecimal() else -1
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor {EVERY!r}")
    return number
