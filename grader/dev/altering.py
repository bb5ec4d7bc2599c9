"""Changes of one expression: operators, numbers, comparisons, arguments, calls, slices."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

Change = tuple[str, ast.expr]

OPERATORS: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult, ast.Div),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.MatMult: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
}
ORDERED = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.MatMult)
COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
# What is written for its neighbour by mistake, each row both ways.
CONFUSED = (
    "sum mean prod cumsum",
    "amax amin",
    "max min",
    "sin cos",
    "tril triu",
    "exp exp2 expm1",
    "log log2 log10",
    "sqrt rsqrt square",
    "relu gelu leaky_relu tanh",
    "ReLU GELU LeakyReLU Tanh",
    "softmax log_softmax sigmoid",
    "ones zeros",
    "ones_like zeros_like",
    "std var",
    "LayerNorm Identity",
    "Dropout Identity",
    "logical_and logical_or",
    "repeat_interleave repeat",
)
NEIGHBOURS: dict[str, list[str]] = {"reshape": ["view"]}  # not the reverse: it always works
for _row in CONFUSED:
    _first, *_rest = _row.split()
    NEIGHBOURS.setdefault(_first, []).extend(_rest)
    for _other in _rest:
        NEIGHBOURS.setdefault(_other, []).append(_first)
# What a call may be given that it was not, and what it means then.
FLAGS = {
    "std": ("unbiased", False),
    "var": ("unbiased", False),
    "LayerNorm": ("elementwise_affine", False),
    "layer_norm": ("eps", 0.1),
    "sum": ("keepdim", True),
    "mean": ("keepdim", True),
    "amax": ("keepdim", True),
    "max": ("keepdim", True),
}
# A call of these on two arguments does the same with the two exchanged.
SYMMETRIC = {"transpose", "swapaxes", "swapdims", "isinstance", "add", "mul", "maximum", "minimum"}
TINY, HUGE = 1e-3, 1e6
# Names that stand for modules or for the object itself, not for a value that a method works on.
NOT_VALUES = {"torch", "nn", "F", "math", "functional", "self", "np", "super"}


def alternatives(node: ast.expr) -> Iterator[Change]:
    """Yield what could stand in the place of one expression, and what kind of slip it is."""
    match node:
        case ast.Constant() | ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
            yield from _constants(node)
        case ast.UnaryOp():
            yield "operator", node.operand
        case ast.BinOp():
            yield from _operations(node)
        case ast.Compare() | ast.BoolOp() | ast.IfExp():
            yield from _conditions(node)
        case ast.Call():
            yield from _arguments(node)
            yield from _calls(node)
        case ast.Attribute(attr=name, ctx=ast.Load()):
            for other in NEIGHBOURS.get(name, ()):
                yield "function", replaced(node, attr=other)
        case ast.Subscript(ctx=ast.Load()):
            yield from _subscripts(node)
        case ast.Tuple(elts=elements, ctx=ast.Load()) if len(elements) == 2:
            yield "order", replaced(node, elts=elements[::-1])
        case _:
            pass


def parsed(text: str) -> ast.expr:
    """Return the tree of an expression."""
    return ast.parse(text, mode="eval").body


def replaced(node: ast.AST, **fields: Any) -> Any:
    """Return a copy of a node with some fields replaced; the node itself stays."""
    changed = copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _number(value: complex) -> ast.expr:
    if isinstance(value, (int, float)) and value < 0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)


def _numbers(value: float) -> Iterator[ast.expr]:
    if isinstance(value, int):
        changed: list[float] = [value + 1, value - 1, 2 * value]
    elif abs(value) < TINY:  # an eps: a little more or less is right too
        changed = [0.0, 0.01, value + 1]
    elif abs(value) > HUGE:  # what hides a key: so is any other number as large
        changed = [0.0, -value, value / abs(value)]
    else:
        changed = [value * 2, value / 2, value * 10, -value, value + 1, value * 1.001]
    for each in dict.fromkeys(changed):
        if each != value:
            yield _number(each)


def _constants(node: ast.expr) -> Iterator[Change]:
    value = ast.literal_eval(node)
    if isinstance(value, bool):
        yield "flag", ast.Constant(not value)
    elif isinstance(value, (int, float)):
        yield from (("constant", each) for each in _numbers(value))
    elif isinstance(value, str):
        if value in ("-inf", "inf"):
            yield "constant", ast.Constant("inf" if value == "-inf" else "-inf")
        elif "->" in value:
            yield from (("axes", ast.Constant(each)) for each in _equations(value))


def _equations(equation: str) -> Iterator[str]:
    """Yield an einsum equation with two neighbouring letters of one operand exchanged."""
    for index in range(len(equation) - 1):
        one, other = equation[index : index + 2]
        if one.isalpha() and other.isalpha():
            yield equation[:index] + other + one + equation[index + 2 :]


def _operations(node: ast.BinOp) -> Iterator[Change]:
    for kind in OPERATORS.get(type(node.op), ()):
        yield "operator", replaced(node, op=kind())
    if isinstance(node.op, ORDERED):
        yield "operands", replaced(node, left=node.right, right=node.left)
    yield "operand", node.left
    yield "operand", node.right


def _conditions(node: ast.expr) -> Iterator[Change]:
    match node:
        case ast.Compare(ops=[op]):
            for kind in COMPARISONS[type(op)]:
                yield "comparison", replaced(node, ops=[kind()])
        case ast.BoolOp(op=op, values=values):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield "condition", replaced(node, op=other)
            yield from (("condition", each) for each in values)
        case ast.IfExp(body=body, orelse=other):
            yield "condition", body
            yield "condition", other
        case _:
            pass


def _arguments(node: ast.Call) -> Iterator[Change]:
    name = _called(node)
    for index in range(len(node.args) - 1):
        if name in SYMMETRIC or any(isinstance(each, ast.Starred) for each in node.args):
            break
        yield "arguments", replaced(node, args=_exchanged(node.args, index))
    for index, each in enumerate(node.args):
        if len(node.args) > 1:
            yield "argument", replaced(node, args=[*node.args[:index], *node.args[index + 1 :]])
        elif name == "range":
            less = ast.BinOp(each, ast.Sub(), ast.Constant(1))
            yield "constant", replaced(node, args=[less])
    for index in range(len(node.keywords)):
        kept = [*node.keywords[:index], *node.keywords[index + 1 :]]
        yield "keyword", replaced(node, keywords=kept)
    if name in FLAGS and all(each.arg != FLAGS[name][0] for each in node.keywords):
        flag = ast.keyword(FLAGS[name][0], ast.Constant(FLAGS[name][1]))
        yield "flag", replaced(node, keywords=[*node.keywords, flag])


def _calls(node: ast.Call) -> Iterator[Change]:
    name = _called(node)
    # A call dropped leaves what it was made on.
    if isinstance(node.func, ast.Attribute) and is_value(node.func.value):
        yield "call", node.func.value
    elif node.args and not name[:1].isupper() and not isinstance(node.args[0], ast.Starred):
        yield "call", node.args[0]
    if isinstance(node.func, ast.Name):
        for other in NEIGHBOURS.get(name, ()):
            yield "function", replaced(node, func=ast.Name(other, ast.Load()))


def _subscripts(node: ast.Subscript) -> Iterator[Change]:
    yield "subscript", node.value
    index = node.slice
    if isinstance(index, ast.Tuple):
        for place in range(len(index.elts) - 1):
            elements = _exchanged(index.elts, place)
            yield "axes", replaced(node, slice=replaced(index, elts=elements))
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    for place, part in enumerate(parts):
        if not isinstance(part, ast.Slice):
            continue
        for bound in ("lower", "upper", "step"):
            if getattr(part, bound) is not None:
                changed = replaced(part, **{bound: None})
                if isinstance(index, ast.Tuple):
                    elements = [*parts[:place], changed, *parts[place + 1 :]]
                    changed = replaced(index, elts=elements)
                yield "subscript", replaced(node, slice=changed)


def _exchanged(items: Sequence[ast.expr], index: int) -> list[ast.expr]:
    return [*items[:index], items[index + 1], items[index], *items[index + 2 :]]


def _called(node: ast.Call) -> str:
    func = node.func
    return func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")


def is_value(node: ast.expr) -> bool:
    """Tell whether a method is called on a value, not a function of a module or of self."""
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    return not (isinstance(root, ast.Name) and root.id in NOT_VALUES and root is not node) and not (
        isinstance(node, ast.Name) and node.id in NOT_VALUES
    )
