"""`dev new`: start a kata as a small one that already works."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from grader.catalog import ROOT, Entry
from grader.dev.places import solved
from grader.dev.reporting import console, guarded, parser
from grader.errors import UsageError
from grader.stubs import generate

TEMPLATES = Path(__file__).parent / "templates"
SLUG = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def new(argv: Sequence[str], *, root: Path = ROOT) -> int:
    """Write solution, spec and stub of a new kata under the next number.

    What is written is a whole kata, though a tiny one: it grades, it knows one
    bug, and `dev check` has nothing to say about it. The author changes it
    step by step and can check after each. Never overwrites a file.
    """
    options = parser("new", "Start a kata: a small one that works, to be changed.")
    options.add_argument("slug", help="kebab-case, for example layer-norm")
    options.add_argument("--title", default="", help="default: the slug in words")

    def run() -> int:
        asked = options.parse_args(argv)
        entry = _next_entry(root, asked.slug)
        for path, text in _files(entry, _title(asked.title, asked.slug)).items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
            console().print(f"wrote {path.relative_to(root).as_posix()}")
        console().print(
            f"next: make it your own, then python -m grader dev check {entry.name}; "
            f"python -m grader dev stubs {entry.name} keeps the stub in step"
        )
        return 0

    return guarded(run)


def _next_entry(root: Path, slug: str) -> Entry:
    if not SLUG.fullmatch(slug) or len(slug) > 40:
        raise UsageError(
            f"{slug!r} is not a slug: at most 40 small letters, digits and single hyphens, "
            "as in layer-norm"
        )
    others = solved(root)
    for other in others:
        if other.slug == slug:
            raise UsageError(f"{slug!r} is taken by {other.name}")
    number = max((other.number for other in others), default=0) + 1
    entry = Entry(number, f"kata{number:02d}_{slug.replace('-', '_')}", root)
    for path in (entry.solution_path, entry.spec_path, entry.stub_path):
        if path.exists():
            raise UsageError(f"{path.relative_to(root).as_posix()} exists and is not overwritten")
    return entry


def _title(title: str, slug: str) -> str:
    title = " ".join(title.split()) or slug.replace("-", " ").capitalize()
    if '"' in title or "\\" in title or len(title) > 60:
        raise UsageError("a title has at most 60 characters, no double quote and no backslash")
    return title


def _files(entry: Entry, title: str) -> dict[Path, str]:
    words = {
        "kata00_template": entry.stem,
        "number=0,": f"number={entry.number},",
        "kata0 ": f"{entry.name} ",
        "Template title": title,
    }

    def filled(name: str) -> str:
        text = (TEMPLATES / name).read_text(encoding="utf-8")
        for word, meant in words.items():
            text = text.replace(word, meant)
        return text

    solution = filled("solution.py")
    return {
        entry.solution_path: solution,
        entry.spec_path: filled("spec.py"),
        entry.stub_path: generate(solution),
    }
