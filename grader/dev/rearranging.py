"""Other ways to arrange a file that mean the same: names, order, helpers, fused layers."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from grader.dev.altering import parsed

# A rewrite that changes the tree it was offered for, in place.
Rewrite = tuple[str, Callable[[], None]]
Function = ast.FunctionDef

# Names that people give to the same layers, in the order of the first row.
ALIASES = (
    (
        "q_proj k_proj v_proj out_proj",
        "query key value out",
        "w_q w_k w_v w_o",
        "W_Q W_K W_V W_O",
        "wq wk wv wo",
        "to_q to_k to_v to_out",
        "q_linear k_linear v_linear out",
        "linear_q linear_k linear_v linear_o",
        "W_query W_key W_value out_proj",
        "fc_q fc_k fc_v fc_o",
        "queries keys values fc_out",
        "query_proj key_proj value_proj output_proj",
        "linearQ linearK linearV linearOut",
        "Wq Wk Wv Wo",
    ),
    ("linear1 linear2", "fc1 fc2", "w_1 w_2", "lin1 lin2", "ff_in ff_out", "dense1 dense2"),
    (
        "norm1 norm2 norm3",
        "ln1 ln2 ln3",
        "ln_1 ln_2 ln_3",
        "layer_norm1 layer_norm2 layer_norm3",
        "layernorm_1 layernorm_2 layernorm_3",
    ),
    ("dropout", "drop", "do", "resid_dropout"),
    ("self_attn", "attention", "attn", "self_attention", "mha"),
    ("norm", "ln", "layer_norm", "layernorm"),
    ("pe", "table", "encoding", "pos_table"),
)
# Helpers are cut out of expressions of about this many characters.
SHORT, LONG = 8, 200


def rearranged(tree: ast.Module) -> Iterator[Rewrite]:
    """Yield the rewrites that a file as a whole allows."""
    yield "hints dropped", lambda: _drop_hints(tree)
    yield from _aliases(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield from _of_class(node)
        if isinstance(node, Function):
            yield from _of_function(tree, node)
        for field in ("body", "orelse"):
            body = getattr(node, field, None)
            if isinstance(body, list):
                yield from _of_body(body, inside=isinstance(node, (Function, ast.If)))


def _drop_hints(tree: ast.Module) -> None:
    for node in ast.walk(tree):
        if isinstance(node, Function):
            node.returns = None
            for each in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]:
                each.annotation = None
            for spare in (node.args.vararg, node.args.kwarg):
                if spare:
                    spare.annotation = None
        body = getattr(node, "body", None)
        if isinstance(body, list) and isinstance(node, Function):
            node.body = [_bare(each) for each in node.body]


def _bare(node: ast.stmt) -> ast.stmt:
    if isinstance(node, ast.AnnAssign):
        return ast.Assign([node.target], node.value, lineno=0) if node.value else ast.Pass()
    return node


def _attributes(tree: ast.AST) -> set[str]:
    return {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def _aliases(tree: ast.Module) -> Iterator[Rewrite]:
    found = _attributes(tree)
    spoken = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for first, *rest in ALIASES:
        names = first.split()
        if not found.issuperset(names[:2]) or "named_parameters" in found:
            continue
        for row in rest:
            new = dict(zip(names, row.split(), strict=True))
            if not (set(new.values()) - set(names)) & (found | spoken):
                yield "layers renamed", lambda new=new: _rename(tree, new)


def _rename(tree: ast.Module, new: dict[str, str]) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self":
            node.attr = new.get(node.attr, node.attr)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "self.register_buffer":
            for name in node.args[:1]:
                if isinstance(name, ast.Constant) and isinstance(name.value, str):
                    name.value = new.get(name.value, name.value)


def _of_class(node: ast.ClassDef) -> Iterator[Rewrite]:
    for index, (one, other) in enumerate(pairwise(node.body)):
        if isinstance(one, Function) and isinstance(other, Function):
            yield "methods reordered", lambda i=index: _exchange(node.body, i)
    for each in ast.walk(node):
        if isinstance(each, ast.Expr) and ast.unparse(each) == "super().__init__()":
            text = f"super({node.name}, self).__init__()"
            yield "super in full", lambda each=each, text=text: setattr(each, "value", parsed(text))
    yield from _fused(node)


def _exchange(body: list[ast.stmt], index: int) -> None:
    body[index], body[index + 1] = body[index + 1], body[index]


def _fused(node: ast.ClassDef) -> Iterator[Rewrite]:
    """Yield one layer for several projections that are made and used in a row."""
    methods = {each.name: each for each in node.body if isinstance(each, Function)}
    if not {"__init__", "forward"} <= methods.keys():
        return
    made, used = methods["__init__"].body, methods["forward"].body
    for names, fused in (
        (["q_proj", "k_proj", "v_proj"], "qkv"),
        (["q_proj", "k_proj", "v_proj"], "in_proj"),
        (["k_proj", "v_proj"], "kv"),
        (["k_proj", "v_proj"], "to_kv"),
    ):
        layers = _row(made, [f"self.{name} = nn.Linear(d_model, d_model)" for name in names])
        calls = [
            index
            for index in range(len(used) - len(names) + 1)
            if _calls_in_a_row(used[index : index + len(names)], names)
        ]
        if layers is not None and calls:
            yield (
                "projections fused",
                lambda a=(layers, calls[0]), n=names, f=fused: _fuse(made, used, a, n, f),
            )


def _row(body: Sequence[ast.stmt], texts: Sequence[str]) -> int | None:
    written = [ast.unparse(each) for each in body]
    for index in range(len(body) - len(texts) + 1):
        if written[index : index + len(texts)] == list(texts):
            return index
    return None


def _calls_in_a_row(body: Sequence[ast.stmt], names: Sequence[str]) -> bool:
    asked: set[str] = set()
    for each, name in zip(body, names, strict=True):
        match each:
            case ast.Assign(targets=[ast.Name()], value=ast.Call(func=func, args=[source])):
                if ast.unparse(func) != f"self.{name}":
                    return False
                asked.add(ast.unparse(source))
            case _:
                return False
    return len(asked) == 1


def _fuse(
    made: list[ast.stmt],
    used: list[ast.stmt],
    at: tuple[int, int],
    names: Sequence[str],
    fused: str,
) -> None:
    count = len(names)
    layer = f"self.{fused} = nn.Linear(d_model, {count} * d_model)"
    made[at[0] : at[0] + count] = ast.parse(layer).body
    calls = used[at[1] : at[1] + count]
    targets = ", ".join(ast.unparse(each.targets[0]) for each in calls)  # type: ignore[attr-defined]
    source = ast.unparse(calls[0].value.args[0])  # type: ignore[attr-defined]
    call = f"{targets} = self.{fused}({source}).chunk({count}, dim=-1)"
    used[at[1] : at[1] + count] = ast.parse(call).body


def _of_function(tree: ast.Module, node: Function) -> Iterator[Rewrite]:
    local = _locals(node)
    for name in sorted(local):
        new = f"{name}_here"
        yield "local renamed", lambda n=name, m=new: _rename_local(node, n, m)
    known = local | _named_inside(node) | {each.arg for each in node.args.args}
    for each in node.body:
        match each:
            case ast.Assign(value=value) | ast.Return(value=ast.expr() as value):
                yield from _helper(tree, each, value, known)
            case _:
                pass


def _locals(node: Function) -> set[str]:
    """Return the names that a function binds itself and that nothing inside it binds anew."""
    inner = {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
    bound = {
        each.id
        for each in ast.walk(node)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }
    return bound - inner


def _named_inside(node: Function) -> set[str]:
    """Return what a function imports, and the functions and classes it defines."""
    found: set[str] = set()
    for each in ast.walk(node):
        if isinstance(each, (ast.Import, ast.ImportFrom)):
            found.update(alias.asname or alias.name.partition(".")[0] for alias in each.names)
        elif isinstance(each, (Function, ast.ClassDef)) and each is not node:
            found.add(each.name)
    return found


def _rename_local(node: Function, name: str, new: str) -> None:
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and each.id == name:
            each.id = new


def _helper(
    tree: ast.Module, node: ast.Assign | ast.Return, value: ast.expr, known: set[str]
) -> Iterator[Rewrite]:
    """Yield the value's cut into a function of its own, where its names can be handed over."""
    text = ast.unparse(value)
    if not SHORT <= len(text) <= LONG or not isinstance(value, (ast.BinOp, ast.Call)):
        return
    plain = (ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.Starred, ast.DictComp, ast.NamedExpr)
    inside = [each for each in ast.walk(value) if not isinstance(each, (ast.expr_context,))]
    if any(isinstance(each, plain) for each in inside) or "super()" in text:
        return
    used = dict.fromkeys(
        each.id for each in inside if isinstance(each, ast.Name) and each.id in known
    )
    taken = {each.name for each in tree.body if isinstance(each, Function)}
    name = next(n for i in range(99) if (n := f"compute_{i}") not in taken)

    def cut() -> None:
        node.value = parsed(f"{name}({', '.join(used)})")
        made = ast.parse(f"def {name}({', '.join(used)}):\n    return {text}\n").body
        last = max((i for i, e in enumerate(tree.body) if _is_import(e)), default=-1)
        tree.body[last + 1 : last + 1] = made

    yield "helper extracted", cut


def _is_import(node: ast.stmt) -> bool:
    return isinstance(node, (ast.Import, ast.ImportFrom))


def _of_body(body: list[ast.stmt], *, inside: bool) -> Iterator[Rewrite]:
    for index, node in enumerate(body):
        match node:
            case ast.Return(value=ast.expr() as value) if inside and not isinstance(
                value, ast.Name
            ):
                yield "result named", lambda i=index, v=value: _name_result(body, i, v)
            case ast.If(test=test, body=then, orelse=other):
                yield "condition turned", lambda n=node, t=test, a=then, b=other: _turn(n, t, a, b)
            case _:
                pass
    for index, (one, other) in enumerate(pairwise(body)):
        if _independent(one, other):
            yield "statements exchanged", lambda i=index: _exchange(body, i)


def _name_result(body: list[ast.stmt], index: int, value: ast.expr) -> None:
    body[index : index + 1] = [
        *ast.parse(f"the_result = {ast.unparse(value)}").body,
        ast.Return(ast.Name("the_result", ast.Load())),
    ]


def _turn(node: ast.If, test: ast.expr, then: list[ast.stmt], other: list[ast.stmt]) -> None:
    node.test = ast.UnaryOp(ast.Not(), test)
    node.body, node.orelse = other or [ast.Pass()], then


def _independent(one: ast.stmt, other: ast.stmt) -> bool:
    """Tell whether two plain assignments may change places."""
    sides: list[tuple[set[str], set[str]]] = []
    for node in (one, other):
        if not isinstance(node, ast.Assign) or not all(map(_is_target, node.targets)):
            return False
        sides.append(({ast.unparse(t) for t in node.targets}, _spoken(node.value)))
    (bound, used), (its, its_used) = sides
    return not bound & (its | its_used) and not its & used


def _is_target(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) or (
        isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self"
    )


def _spoken(node: ast.expr) -> set[str]:
    return {
        ast.unparse(each) for each in ast.walk(node) if isinstance(each, (ast.Name, ast.Attribute))
    }
