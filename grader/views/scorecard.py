"""The scorecard of an interview, on a screen and as a page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from rich.table import Table

from grader.views.screen import Screen
from grader.views.texts import say

Part = tuple[str, float, float, str]
BAR = 10
PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{title}</title>
<style>
body {{ font: 16px/1.5 sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem }}
table {{ border-collapse: collapse; width: 100% }}
td, th {{ text-align: left; vertical-align: top; padding: .3rem .6rem }}
td, th {{ border-bottom: 1px solid #8886 }}
meter {{ width: 8rem }}
</style>
<h1>{title}</h1><p>{summary}</p>
<table><tr><th>part</th><th>points</th><th></th><th>why</th></tr>
{rows}
</table>
<h2>Rounds</h2>
<table>{rounds}</table>
</html>
"""


def show_card(
    screen: Screen, parts: Sequence[Part], rounds: Sequence[tuple[str, str]], summary: str
) -> None:
    """Print points, of how many and why, then what is known of each round."""
    screen.line(summary, "bold")
    wide = screen.width >= 60
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="")
    table.add_column("part", overflow="fold")
    table.add_column("points", justify="right", no_wrap=True)
    if wide:
        table.add_column("", no_wrap=True)
    table.add_column("why", overflow="fold")
    for name, points, of, words in parts:
        filled = round(points / of * BAR) if of else 0
        bar = [screen.text("█" * filled + "░" * (BAR - filled))] if wide else []
        table.add_row(
            screen.text(name), screen.text(f"{points:g}/{of:g}"), *bar, screen.text(words)
        )
    screen.table(table)
    screen.rows(rounds)


def page(parts: Sequence[Part], rounds: Sequence[tuple[str, str]], title: str, summary: str) -> str:
    """Return the same as HTML that needs nothing else."""
    rows = "\n".join(
        f"<tr><td>{_html(name)}</td><td>{points:g} of {of:g}</td>"
        f'<td><meter max="{of:g}" value="{points:g}"></meter></td><td>{_html(words)}</td></tr>'
        for name, points, of, words in parts
    )
    told = "\n".join(
        f"<tr><td>{_html(label)}</td><td>{_html(words)}</td></tr>" for label, words in rounds
    )
    return PAGE.format(title=_html(title), summary=_html(summary), rows=rows, rounds=told)


def _html(words: str) -> str:
    return escape(say(words))
