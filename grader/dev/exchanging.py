"""Names that could be mistaken for one another: of one kind, known at the same place."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

# Each use is exchanged for this many others at most, the latest first.
MOST = 3
SIZES = {"shape", "size", "dim", "ndim", "numel"}


@dataclass(frozen=True)
class Names:
    """The names of a function, each with the line it is known from and its kind.

    `attributes` are those of the class, each with what it was made by.
    """

    known: Mapping[str, tuple[int, str]] = field(default_factory=dict[str, "tuple[int, str]"])
    attributes: Mapping[str, str] = field(default_factory=dict[str, str])

    def alike(self, name: str, line: int) -> list[str]:
        """Return the names that may stand for `name` on a line, the latest first."""
        if name not in self.known:
            return []
        kind = self.known[name][1]
        found = [
            (since, other)
            for other, (since, its) in self.known.items()
            if other != name and its == kind and since < line
        ]
        return [other for _, other in sorted(found, key=lambda each: -each[0])][:MOST]


def names_of(node: ast.FunctionDef | ast.ClassDef, outer: Names) -> Names:
    """Return what is known inside a definition."""
    if isinstance(node, ast.ClassDef):
        return Names({}, _attributes(node))
    known: dict[str, tuple[int, str]] = {}
    for argument in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]:
        if argument.arg != "self":
            known[argument.arg] = (node.lineno, _kind(argument.arg, argument.annotation, node))
    for each in ast.walk(node):
        targets, value = _assigned(each)
        for target in targets:
            if isinstance(target, ast.Name):
                kind = "size" if _is_size(value) else "tensor"
                kind = "mask" if "mask" in target.id.lower() else kind
                known.setdefault(target.id, (target.lineno, kind))
    return Names(known, outer.attributes)


def others(node: ast.expr, names: Names) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names that could stand in the place of this one."""
    match node:
        case ast.Name(id=name, ctx=ast.Load()):
            for other in names.alike(name, node.lineno):
                yield "name", ast.Name(other, ast.Load())
        case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Load()):
            kind = names.attributes.get(name)
            alike = [a for a, its in names.attributes.items() if its == kind and a != name]
            for other in alike[:MOST] if kind else []:
                yield "name", ast.Attribute(ast.Name("self", ast.Load()), other, ast.Load())
        case _:
            pass


def _attributes(node: ast.ClassDef) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in ast.walk(node):
        targets, value = _assigned(each)
        for target in targets:
            if isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self":
                made = ast.unparse(value.func) if isinstance(value, ast.Call) else "value"
                found.setdefault(target.attr, made)
    return found


def _assigned(node: ast.AST) -> tuple[list[ast.expr], ast.expr | None]:
    """Return the targets of an assignment or loop, unpacked, and the value."""
    match node:
        case ast.Assign(targets=targets, value=value):
            pass
        case ast.AnnAssign(target=target, value=value) | ast.For(target=target, iter=value):
            targets = [target]
        case _:
            return [], None
    flat = [e for t in targets for e in (t.elts if isinstance(t, ast.Tuple) else [t])]
    return flat, value


def _kind(name: str, annotation: ast.expr | None, node: ast.FunctionDef) -> str:
    if "mask" in name.lower():
        return "mask"
    if annotation is not None and "Tensor" in ast.unparse(annotation):
        return "tensor"
    if annotation is not None or node.name == "__init__":
        return "size"
    return "tensor"


def _is_size(value: ast.expr | None) -> bool:
    """Tell whether a value is a number, or a tuple of them."""
    match value:
        case ast.Attribute(attr=name) | ast.Call(func=ast.Attribute(attr=name)):
            return name in SIZES
        case ast.Call(func=ast.Name(id=name)):
            return name in ("range", "len", "int")
        case ast.Subscript(value=inner):
            return _is_size(inner)
        case ast.BinOp(op=op, left=left):
            return isinstance(op, ast.FloorDiv) or _is_size(left)
        case ast.Tuple(elts=elements):
            return all(map(_is_size, elements))
        case ast.Constant():
            return True
        case _:
            return False
