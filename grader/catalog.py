"""Which katas there are, and what a name on the command line means.

A kata is a solution and a spec of the same stem; nothing is registered
anywhere. What does not fit together is reported at once: a kata that silently
drops out of the list would look as if it had never been written.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib
import os
import re
import runpy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from grader.errors import SpecError, UsageError
from grader.model import Kata

# The install is editable: the katas lie beside the package, where people edit them.
ROOT = Path(__file__).resolve().parents[1]

# The folder for what practice leaves behind, in place of .grader beside the katas.
HOME = "GRADER_HOME"

STEM = re.compile(r"kata(\d{2,})_([a-z0-9]+(?:_[a-z0-9]+)*)")
NUMBER = re.compile(r"(?:kata)?[-_ ]?0*(\d{1,6})")


@dataclass(frozen=True)
class Entry:
    """One kata as the command line knows it: its names and its files."""

    number: int
    stem: str
    root: Path = ROOT

    @property
    def name(self) -> str:
        """The short name that commands take, as in kata3."""
        return f"kata{self.number}"

    @property
    def id(self) -> str:
        """The name that records carry, as in kata03: the start of the stem."""
        return self.stem.partition("_")[0]

    @property
    def slug(self) -> str:
        return self.stem.partition("_")[2].replace("_", "-")

    @property
    def solution_path(self) -> Path:
        return self.root / "solutions" / f"{self.stem}.py"

    @property
    def stub_path(self) -> Path:
        """The file that the learner edits."""
        return self.root / "katas" / f"{self.stem}.py"

    @property
    def spec_path(self) -> Path:
        return self.root / "grader" / "specs" / f"{self.stem}.py"

    def load_spec(self) -> Kata:
        return load_spec(self.stem, self.root)


def home(root: Path = ROOT) -> Path:
    """Return the folder for the history, backups and reports of faults; it need not exist."""
    named = os.environ.get(HOME, "")
    return Path(named).absolute() if named else root / ".grader"


def written(path: Path) -> str:
    """Write a path as one would type it here."""
    with contextlib.suppress(ValueError, OSError):
        return str(path.relative_to(Path.cwd()))
    with contextlib.suppress(ValueError, OSError):
        # From a folder of the project, ../katas/… is what an editor opens.
        if Path.cwd().is_relative_to(ROOT):
            return os.path.relpath(path)
    return str(path)


def load_spec(stem: str, root: Path = ROOT) -> Kata:
    """Import `grader.specs.<stem>`, or the file of that name below another root; return its `KATA`.

    Raises SpecError naming the file where it cannot be imported, has no KATA,
    or describes another kata than its name says.
    """
    file = f"grader/specs/{stem}.py"
    try:
        if root == ROOT:
            names = vars(importlib.import_module(f"grader.specs.{stem}"))
        else:
            names = runpy.run_path(str(root / file))
    except Exception as error:
        raise SpecError(f"{file} cannot be imported: {type(error).__name__}: {error}") from error
    kata = names.get("KATA")
    if not isinstance(kata, Kata):
        found = "has no KATA" if kata is None else f"has a {type(kata).__name__} as its KATA"
        raise SpecError(f"{file} {found}; it must define KATA = Kata(…)")
    if kata.stem != stem:
        raise SpecError(f"{file} describes the stem {kata.stem!r}")
    if kata.number != _number(stem):
        raise SpecError(f"{file} says number {kata.number}, its name says {_number(stem)}")
    return kata


@cache
def katas() -> tuple[Entry, ...]:
    """Return every kata by number.

    Raises SpecError, naming the file, for a spec without solution or the
    reverse, a number that two katas claim, and a spec that does not load.
    """
    specs = _stems(ROOT / "grader" / "specs")
    solutions = _stems(ROOT / "solutions")
    for stem in sorted(specs ^ solutions):
        if stem in specs:
            raise SpecError(f"grader/specs/{stem}.py has no solution solutions/{stem}.py")
        raise SpecError(f"solutions/{stem}.py has no spec grader/specs/{stem}.py")
    entries = sorted((Entry(_number(stem), stem) for stem in specs), key=lambda e: e.number)
    for one, other in pairwise(entries):
        if one.number == other.number:
            raise SpecError(
                f"grader/specs/{one.stem}.py and grader/specs/{other.stem}.py "
                f"are both number {one.number}"
            )
    for entry in entries:
        entry.load_spec()
    return tuple(entries)


def find(name: str, *, among: Sequence[Entry] | None = None, verbs: Iterable[str] = ()) -> Entry:
    """Return the kata that `name` means.

    Case never matters. A name is a number (3, kata3, kata03), a stem, a slug,
    a beginning of a slug that only one kata has, or the path of the file to
    edit. Raises UsageError with the nearest names otherwise; `verbs` are other
    words that may have been meant.
    """
    entries = katas() if among is None else tuple(among)
    plain = name.strip().lower()
    if plain.endswith(".py"):
        return _by_path(name, entries)
    number = NUMBER.fullmatch(plain)
    slug = plain.replace("_", "-").replace(" ", "-")
    for entry in entries:
        exact = (entry.stem.replace("_", "-"), entry.slug)
        if (number and int(number[1]) == entry.number) or slug in exact:
            return entry
    starting = [entry for entry in entries if slug and entry.slug.startswith(slug)]
    if len(starting) == 1:
        return starting[0]
    if starting:
        found = ", ".join(f"{entry.name} {entry.slug}" for entry in starting)
        raise UsageError(f"{name!r} is the beginning of several katas: {found}")
    raise UsageError(f"no kata is called {name!r}; {_nearest(slug, entries, verbs)}")


def find_each(
    names: Iterable[str], *, among: Sequence[Entry] | None = None, verbs: Iterable[str] = ()
) -> tuple[Entry, ...]:
    """Return the katas that names mean, each once; see `find`."""
    return tuple(dict.fromkeys(find(name, among=among, verbs=verbs) for name in names))


def _by_path(name: str, entries: Sequence[Entry]) -> Entry:
    # Completion by the shell gives paths. Only the path of the file that would
    # be graded counts: a copy elsewhere must not pass for it.
    for entry in entries:
        if Path(name).resolve() == entry.stub_path.resolve() or name == entry.stub_path.name:
            return entry
    raise UsageError(f"{name!r} is a file, not a kata; python -m grader KATA --file {name}")


def _nearest(slug: str, entries: Sequence[Entry], verbs: Iterable[str]) -> str:
    words = {word: word for word in verbs}
    for entry in entries:
        words[entry.name] = entry.name
        words[entry.slug] = f"{entry.name} ({entry.slug})"
    alike = {word: difflib.SequenceMatcher(None, word, slug).ratio() for word in words}
    # A far second is noise: kta3 is kata3, though kata2 shares three letters.
    least = max(0.6, max(alike.values(), default=0.0) - 0.1)
    close = sorted((word for word in words if alike[word] >= least), key=lambda w: -alike[w])[:3]
    if close:
        return "did you mean " + " or ".join(dict.fromkeys(words[word] for word in close)) + "?"
    if not entries:
        return "there are no katas yet"
    return f"there are {entries[0].name} to {entries[-1].name}, see python -m grader list"


def _number(stem: str) -> int:
    return int(stem[len("kata") :].partition("_")[0])


def _stems(folder: Path) -> set[str]:
    stems: set[str] = set()
    for path in folder.glob("kata*.py"):
        if not STEM.fullmatch(path.stem):
            raise SpecError(f"{path.relative_to(ROOT)} is not named like kata03_some_words.py")
        stems.add(path.stem)
    return stems
