"""`restore`: the copies that were kept, and putting one of them back."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from grader.catalog import Entry, find, katas, written
from grader.commands.asking import screen
from grader.commands.parsing import parser, positive, read
from grader.errors import UsageError
from grader.resetting import Backup, backups, restore
from grader.views.screen import Screen


def run(argv: Sequence[str]) -> int:
    """List the copies that are kept, or put one back; what it replaces is kept too."""
    asks = parser("restore", "List the copies that are kept, or put one back.")
    asks.add_argument("kata", nargs="?", default="", help="whose copy; without it, all are listed")
    asks.add_argument("number", nargs="?", type=positive, help="which one, as listed: 1 is newest")
    asks.add_argument("--list", action="store_true", help="list those of the kata, do nothing")
    options = read(asks, argv)
    out = screen(options)
    if not options.kata:
        _list(out, katas())
        return 0
    entry = find(options.kata)
    if options.list:
        _list(out, [entry])
        return 0
    found = backups([entry])
    number = options.number or 1
    if number > len(found):
        kept = f"there are {len(found)}" if found else "no copy is kept"
        raise UsageError(f"{entry.name} has no copy {number}: {kept}")
    backup = found[number - 1]
    kept = restore(entry, backup)
    out.line(f"{written(entry.stub_path)} is what it was at {backup.shown}")
    out.rows([("kept", written(kept))] if kept else [])
    return 0


def _list(out: Screen, entries: Sequence[Entry]) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, pad_edge=False, header_style="")
    for name in ("kata", "copy", "kept at"):
        table.add_column(name, justify="right" if name == "copy" else "left", no_wrap=True)
    table.add_column("lines", justify="right")
    count = 0
    for entry in entries:
        for number, backup in enumerate(backups([entry]), 1):
            cells = (entry.name, str(number), backup.shown, _lines(backup))
            table.add_row(*(out.text(cell) for cell in cells))
            count += 1
    if not count:
        out.line("no copy is kept yet; reset and restore make them")
        return
    out.table(table)
    out.rows([("restore", "python -m grader restore KATA COPY")])


def _lines(backup: Backup) -> str:
    try:
        return str(len(backup.path.read_bytes().splitlines()))
    except OSError:
        return "?"
