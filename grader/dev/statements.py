"""Compare what a stub and its solution tell the learner."""

from __future__ import annotations

import ast
from collections.abc import Iterator

Told = dict[str, tuple[str, str]]


def differences(solution: str, stub: str) -> Iterator[str]:
    """Yield where two files differ in public names, signatures, decorators or docstrings.

    Both are parsed, never run. Raises SyntaxError where one does not parse.
    """
    wanted, found = told(solution), told(stub)
    for name in wanted:
        if name not in found:
            yield f"{name} is missing"
            continue
        if wanted[name][0] != found[name][0]:
            yield f"{name}: the signature differs"
        if wanted[name][1] != found[name][1]:
            yield f"{name}: the docstring differs"
    for name in found:
        if name not in wanted:
            yield f"{name} is not in the solution"


def told(source: str) -> Told:
    """Map every public class and function to its signature and docstring."""
    tree = ast.parse(source)
    found: Told = {"the module": ("", ast.get_docstring(tree) or "")}
    _collect(tree, "", found)
    return found


def _collect(node: ast.Module | ast.ClassDef, prefix: str, found: Told) -> None:
    for child in node.body:
        if not isinstance(child, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if child.name.startswith("_") and not child.name.endswith("__"):
            continue
        decorators = [ast.unparse(each) for each in child.decorator_list]
        if isinstance(child, ast.ClassDef):
            bases = [ast.unparse(each) for each in (*child.bases, *child.keywords)]
            signature = f"class {decorators} {bases}"
        else:
            returns = ast.unparse(child.returns) if child.returns else ""
            kind = type(child).__name__
            signature = f"{kind} {decorators} ({ast.unparse(child.args)}) -> {returns}"
        found[prefix + child.name] = (signature, ast.get_docstring(child) or "")
        if isinstance(child, ast.ClassDef):
            _collect(child, f"{prefix}{child.name}.", found)
