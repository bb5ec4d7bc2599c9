"""Make mechanical mutants of a file: one small change of its syntax tree each.

A mutant is what a slip of the hand would leave: another operator, a number off
by one, an argument in another's place, a call forgotten. What cannot matter is
left alone: docstrings, annotations, messages, imports, and what runs only when
the file is a program. Trees are compared and shown as `ast.unparse` writes them.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from grader.dev.altering import alternatives
from grader.dev.exchanging import Names, names_of, others
from grader.dev.omitting import shortened, statements
from grader.stubs import is_docstring

# What the contract leaves free, or what no call ever runs.
SKIPPED = {
    (ast.arg, "annotation"),
    (ast.FunctionDef, "returns"),
    (ast.FunctionDef, "decorator_list"),
    (ast.AnnAssign, "annotation"),
    (ast.ClassDef, "bases"),
    (ast.ClassDef, "decorator_list"),
    (ast.Raise, "exc"),
    (ast.Assert, "msg"),
    (ast.JoinedStr, "values"),
    (ast.ExceptHandler, "type"),
}
IMPORTS = (ast.Import, ast.ImportFrom)
DEFINITIONS = (ast.FunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class Mutant:
    """One changed file. `where` is the definition changed, `before` and `after` the lines."""

    kind: str
    where: str
    before: str
    after: str
    source: str

    @property
    def change(self) -> str:
        """Return one line that tells this mutant from the others of its file."""
        return f"{self.where}: {self.before} -> {self.after}"


@dataclass(frozen=True)
class Place:
    """A node of the tree and what holds it: a list and an index, or a node and a field."""

    holder: Any
    key: Any
    node: ast.AST
    where: str
    names: Names

    def put(self, node: object) -> None:
        if isinstance(self.holder, list):
            self.holder[self.key] = node
        else:
            setattr(self.holder, self.key, node)


def bare(source: str) -> ast.Module:
    """Parse a file, without docstrings and without what runs only as a program."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and isinstance(node, (ast.Module, *DEFINITIONS)):
            kept = [each for each in body if not is_docstring(each) and not _is_program(each)]
            node.body = kept or [ast.Pass()]
    return tree


def plain(source: str) -> str:
    """Return the file as the mutants are written, with nothing changed."""
    return ast.unparse(bare(source)) + "\n"


def mutants(source: str) -> list[Mutant]:
    """Return every mutant of a file, each text once, in the order of the file."""
    tree = bare(source)
    original = ast.unparse(tree) + "\n"
    found: dict[str, Mutant] = {}

    def note(kind: str, where: str) -> None:
        text = ast.unparse(tree) + "\n"
        if text != original and text not in found:
            found[text] = Mutant(kind, where, *_changed(original, text), text)

    for place in places(tree):
        if isinstance(place.node, ast.expr):
            replacements = [*alternatives(place.node), *others(place.node, place.names)]
            for kind, node in replacements:
                place.put(node)
                note(kind, place.where)
            place.put(place.node)
        else:
            for kind, node in statements(place.node, place.names):
                place.put(node)
                note(kind, place.where)
            place.put(place.node)
    for body, where in _bodies(tree, ""):
        kept = list(body)
        for index, kind in shortened(kept):
            body[:] = [*kept[:index], *kept[index + 1 :]] or [ast.Pass()]
            note(kind, where)
        body[:] = kept
    return list(found.values())


def places(tree: ast.Module) -> Iterator[Place]:
    """Yield every expression and statement of a file that may be changed, outermost first."""
    return _places(tree, "", Names())


def _places(node: ast.AST, where: str, names: Names) -> Iterator[Place]:
    for field, value in ast.iter_fields(node):
        if (type(node), field) in SKIPPED or isinstance(node, IMPORTS):
            continue
        children: list[Any] = value if isinstance(value, list) else [value]
        for index, child in enumerate(children):
            if not isinstance(child, ast.AST):
                continue
            inside, known = where, names
            if isinstance(child, DEFINITIONS):
                inside = f"{where}.{child.name}".lstrip(".")
                known = names_of(child, names)
            if isinstance(child, (ast.expr, ast.stmt)):
                holder, key = (children, index) if isinstance(value, list) else (node, field)
                yield Place(holder, key, child, where or "the file", names)
            yield from _places(child, inside, known)


def _bodies(node: ast.AST, where: str) -> Iterator[tuple[list[ast.stmt], str]]:
    """Yield the lists of statements inside functions."""
    for child in ast.iter_child_nodes(node):
        inside = f"{where}.{child.name}".lstrip(".") if isinstance(child, DEFINITIONS) else where
        yield from _bodies(child, inside)
    if isinstance(node, (ast.Module, ast.ClassDef)):
        return
    for field in ("body", "orelse"):
        body = getattr(node, field, None)
        if isinstance(body, list) and body:
            yield body, where


def _changed(before: str, after: str) -> tuple[str, str]:
    """Return the lines that differ, each side on one line."""
    lines = list(difflib.ndiff(before.splitlines(), after.splitlines()))
    gone = [line[2:].strip() for line in lines if line.startswith("- ")]
    new = [line[2:].strip() for line in lines if line.startswith("+ ")]
    return " ; ".join(gone), " ; ".join(new)


def _is_program(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "__name__" in ast.dump(node.test)
