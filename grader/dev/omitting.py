"""Changes of whole statements: left out, conditions turned round, a call too many."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from grader.dev.altering import OPERATORS, parsed, replaced
from grader.dev.exchanging import Names

Change = tuple[str, ast.stmt]

# Put round a value, each of these changes it, its shape, its gradient, or nothing but training.
ADDED = (
    "({}).detach()",
    "torch.relu({})",
    "({}).transpose(-2, -1)",
    "({}).transpose(0, 1)",
    "({}).unsqueeze(0)",
    "torch.nn.functional.layer_norm({0}, ({0}).shape[-1:])",
    "torch.nn.functional.dropout({}, 0.1)",
)
# The last names known are what a return takes by mistake.
RETURNED = 4


def statements(node: ast.AST, names: Names) -> Iterator[Change]:
    """Yield what could stand in the place of one statement."""
    match node:
        case ast.If() | ast.While():
            yield "condition", replaced(node, test=ast.UnaryOp(ast.Not(), node.test))
            if isinstance(node, ast.If):
                yield "condition", replaced(node, test=ast.Constant(True))
                yield "condition", replaced(node, test=ast.Constant(False))
        case ast.AugAssign():
            for kind in OPERATORS.get(type(node.op), ()):
                yield "operator", replaced(node, op=kind())
            yield "operator", ast.Assign([node.target], node.value, lineno=node.lineno)
        case ast.Assign(targets=[ast.Name(id=name)]) if _is_tensor(name, names):
            yield from (("added", replaced(node, value=each)) for each in _added(node.value))
        case ast.Return(value=ast.expr() as value) if names.known:
            if not isinstance(value, ast.Tuple):
                yield from (("added", replaced(node, value=each)) for each in _added(value))
            for other in _latest(names, node.lineno):
                yield "returned", replaced(node, value=ast.Name(other, ast.Load()))
            for kept in value.elts if isinstance(value, ast.Tuple) else []:
                yield "returned", replaced(node, value=kept)
        case _:
            pass


def shortened(body: Sequence[ast.stmt]) -> Iterator[tuple[int, str]]:
    """Yield the statements that may be left out, by their index.

    Names first bound in one are needed later: without it every call raises, so
    such a statement stays.
    """
    for index, node in enumerate(body):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                if _uses(value, name):
                    yield index, "statement"
            case ast.Assign(targets=[ast.Tuple()]) | ast.FunctionDef() | ast.Pass():
                continue
            case _:
                yield index, "statement"


def _added(value: ast.expr) -> Iterator[ast.expr]:
    if isinstance(value, (ast.Constant, ast.Attribute, ast.Lambda, ast.Dict, ast.List)):
        return
    text = ast.unparse(value)
    for form in ADDED:
        yield parsed(form.format(text))


def _is_tensor(name: str, names: Names) -> bool:
    return names.known.get(name, (0, ""))[1] == "tensor"


def _latest(names: Names, line: int) -> list[str]:
    known = [(since, n) for n, (since, kind) in names.known.items() if kind == "tensor"]
    return [name for since, name in sorted(known, reverse=True) if since < line][:RETURNED]


def _uses(value: ast.expr, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(value))
