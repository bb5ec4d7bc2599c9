"""Other ways to write one expression that mean the same under every kata's contract."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.dev.altering import is_value, parsed, replaced

Rephrased = tuple[str, ast.expr]

# Functions of torch that are methods of a tensor as well, with the same arguments.
BOTH = set(
    "exp sum amax mean matmul unsqueeze transpose sin cos tril masked_fill softmax relu flatten"
    " sqrt rsqrt log_softmax".split()
)
SHAPED = {"reshape", "permute"}
KEYWORDS = {
    "Linear": ("in_features", "out_features"),
    "LayerNorm": ("normalized_shape",),
    "Dropout": ("p",),
}
INFINITY = ("-float('inf')", "-math.inf", "-torch.inf")
LONGEST = 160


def rephrased(node: ast.expr) -> Iterator[Rephrased]:
    """Yield what may stand in the place of an expression, and what kind of rewrite it is."""
    match node:
        case ast.BinOp(left=left, op=ast.MatMult(), right=right):
            yield from _products(left, right)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            yield from _quotients(left, right)
        case ast.BinOp(left=left, op=ast.Add() | ast.Mult(), right=right):
            if _is_plain(left) and _is_plain(right):
                yield "operands exchanged", replaced(node, left=right, right=left)
        case ast.UnaryOp(op=ast.Invert(), operand=mask):
            yield "inversion", parsed(f"torch.logical_not({ast.unparse(mask)})")
            yield "inversion", parsed(f"({ast.unparse(mask)}) == False")
        case ast.Compare(left=left, ops=[ast.IsNot()], comparators=[right]):
            yield "condition", parsed(f"not ({ast.unparse(left)} is {ast.unparse(right)})")
        case ast.IfExp(test=test, body=body, orelse=other):
            turned = ast.UnaryOp(ast.Not(), test)
            yield "condition", ast.IfExp(turned, other, body)
        case ast.Subscript(slice=ast.Tuple(elts=elements), ctx=ast.Load()):
            yield from _unsqueezed(node, elements)
        case ast.Call():
            yield from _calls(node)
        case _:
            pass


def _products(left: ast.expr, right: ast.expr) -> Iterator[Rephrased]:
    one, other = ast.unparse(left), ast.unparse(right)
    yield "matmul", parsed(f"torch.matmul({one}, {other})")
    yield "matmul", parsed(f"({one}).matmul({other})")
    yield "einsum", parsed(f"torch.einsum('...ij,...jk->...ik', {one}, {other})")


def _quotients(left: ast.expr, right: ast.expr) -> Iterator[Rephrased]:
    text = ast.unparse(right)
    if "sqrt" not in text and "0.5" not in text:
        return
    text = f"({text})"  # the scale may be a product or a power itself
    yield "scale", parsed(f"({ast.unparse(left)}) * (1 / {text})")
    if isinstance(left, ast.BinOp) and isinstance(left.op, ast.MatMult):
        one, other = ast.unparse(left.left), ast.unparse(left.right)
        yield "scale moved", parsed(f"(({one}) / {text}) @ ({other})")
        yield "scale moved", parsed(f"({one}) @ (({other}) / {text})")
        yield "scale moved", parsed(f"(({one}) / {text} ** 0.5) @ (({other}) / {text} ** 0.5)")


def _unsqueezed(node: ast.Subscript, elements: list[ast.expr]) -> Iterator[Rephrased]:
    kinds = [_axis(each) for each in elements]
    if None not in kinds and "new" in kinds:
        text = f"({ast.unparse(node.value)})"
        for place, kind in enumerate(kinds):
            text += f".unsqueeze({place})" if kind == "new" else ""
        yield "unsqueeze", parsed(text)


def _axis(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant) and node.value is None:
        return "new"
    if isinstance(node, ast.Slice) and (node.lower, node.upper, node.step) == (None, None, None):
        return "all"
    return None


def _calls(node: ast.Call) -> Iterator[Rephrased]:
    match node:
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value="-inf")]):
            yield from (("infinity", parsed(each)) for each in INFINITY)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="math"), attr="sqrt"), args=[value]):
            yield "square root", parsed(f"({ast.unparse(value)}) ** 0.5")
        case ast.Call(func=ast.Attribute(value=ast.Name(id="nn"), attr=name), args=values):
            yield from _layers(node, name, values)
        case ast.Call(func=ast.Attribute(value=root, attr=name), args=values):
            if is_value(root):
                yield from _methods(node, root, name, values)
            elif ast.unparse(root) in ("torch", "F", "nn.functional", "torch.nn.functional"):
                yield from _functions(node, name, values)
        case _:
            pass


def _layers(node: ast.Call, name: str, values: list[ast.expr]) -> Iterator[Rephrased]:
    words = KEYWORDS.get(name, ())
    if words and values and not any(isinstance(each, ast.Starred) for each in values):
        named = [ast.keyword(word, each) for word, each in zip(words, values, strict=False)]
        rest = values[len(named) :]
        if not rest:
            yield "keywords", replaced(node, args=[], keywords=[*named, *node.keywords])
    if name == "LayerNorm" and len(values) == 1:
        yield "norm's shape", replaced(node, args=[ast.Tuple([values[0]], ast.Load())])


def _methods(
    node: ast.Call, root: ast.expr, name: str, values: list[ast.expr]
) -> Iterator[Rephrased]:
    text = ast.unparse(root)
    arguments = _arguments(node)
    if name in BOTH:
        yield "function for method", parsed(f"torch.{name}({', '.join([text, *arguments])})")
    if name in SHAPED and len(values) > 1 and not node.keywords:
        yield "function for method", parsed(f"torch.{name}({text}, ({', '.join(arguments)}))")
    if name == "view":
        yield "reshape", replaced(node, func=ast.Attribute(root, "reshape", ast.Load()))
    if name == "reshape":
        yield "view and contiguous", parsed(f"({text}).contiguous().view({', '.join(arguments)})")
    if name == "transpose" and len(values) == 2:
        yield "transpose", parsed(f"({text}).swapaxes({', '.join(arguments)})")
        yield "transpose", parsed(f"({text}).transpose(dim0={arguments[0]}, dim1={arguments[1]})")
        if {ast.unparse(each) for each in values} == {"-1", "-2"}:
            yield "transpose", parsed(f"({text}).mT")
        yield from _permuted(root, text, values)
    if name == "softmax" and len(arguments) == 1:
        yield from _softmaxes(text, arguments[0].removeprefix("dim="))
    if name == "masked_fill" and isinstance(root, ast.Name) and len(values) == 2:
        yield from _fills(text, arguments[0], arguments[1])


def _permuted(root: ast.expr, text: str, values: list[ast.expr]) -> Iterator[Rephrased]:
    """Yield a permute where it can be seen how many axes there are."""
    match root:
        case ast.Call(func=ast.Attribute(attr="view" | "reshape"), args=sizes) if len(sizes) > 2:
            pass
        case _:
            return
    if any(isinstance(each, ast.Starred) for each in sizes):
        return
    order = list(range(len(sizes)))
    axes = [ast.unparse(each) for each in values]
    if not set(axes) <= {str(axis) for axis in range(-len(order), len(order))}:
        return  # no numbers, or in wrong code too large ones
    one, other = map(int, axes)
    order[one], order[other] = order[other], order[one]
    yield "permute", parsed(f"({text}).permute({', '.join(map(str, order))})")


def _fills(scores: str, mask: str, value: str) -> Iterator[Rephrased]:
    if "inf" not in value and "1e" not in value:
        return
    number = f"torch.full((), {value}, dtype={scores}.dtype, device={scores}.device)"
    yield "where", parsed(f"torch.where({mask}, {number}, {scores})")
    zeros = f"torch.zeros_like({mask}, dtype={scores}.dtype)"
    yield "additive mask", parsed(f"{scores} + {zeros}.masked_fill({mask}, {value})")
    lowest = f"torch.finfo({scores}.dtype).min"
    yield "lowest number", parsed(f"{scores}.masked_fill({mask}, {lowest})")
    yield "copied, then filled", parsed(f"{scores}.clone().masked_fill_({mask}, {value})")


def _functions(node: ast.Call, name: str, values: list[ast.expr]) -> Iterator[Rephrased]:
    arguments = _arguments(node)
    if not arguments or not values:
        return
    text, rest = arguments[0], arguments[1:]
    if name in BOTH:
        yield "method for function", parsed(f"({text}).{name}({', '.join(rest)})")
    if name == "matmul" and len(values) == 2:
        yield "matmul", parsed(f"({text}) @ ({arguments[1]})")
    if name == "softmax" and len(rest) == 1:
        yield from _softmaxes(text, rest[0].removeprefix("dim="))
    if name == "relu":
        yield "relu", parsed(f"torch.nn.functional.relu({text})")
        yield "relu", parsed(f"({text}).clamp(min=0)")
        yield "relu", parsed(f"torch.nn.ReLU()({text})")


def _softmaxes(scores: str, dim: str) -> Iterator[Rephrased]:
    yield "softmax", parsed(f"torch.softmax({scores}, {dim})")
    yield "softmax", parsed(f"torch.nn.functional.softmax({scores}, dim={dim})")
    yield "softmax", parsed(f"torch.nn.Softmax(dim={dim})({scores})")
    if scores.isidentifier():
        total = f"torch.logsumexp({scores}, dim={dim}, keepdim=True)"
        yield "softmax by hand", parsed(f"torch.exp({scores} - {total})")
        powers = f"torch.exp({scores} - {scores}.amax(dim={dim}, keepdim=True))"
        yield "softmax by hand", parsed(f"{powers} / {powers}.sum(dim={dim}, keepdim=True)")


def _arguments(node: ast.Call) -> list[str]:
    named = [f"{each.arg}={ast.unparse(each.value)}" for each in node.keywords]
    return [*map(ast.unparse, node.args), *named]


def _is_plain(node: ast.expr) -> bool:
    """Tell whether a value is surely a tensor or a number: for others order matters."""
    text = ast.unparse(node)
    return not any(sign in text for sign in ("[", "'", '"', "size(", "shape", "(*", ","))
