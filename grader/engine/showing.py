"""Write a failing case as the call it makes, and as Python to paste."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from grader.engine.bench import Bench
from grader.engine.comparing import show
from grader.engine.execution import positional
from grader.model import Case, Counterexample, Mismatch, Part, Recipe

SMALL = 12
HALVES = ("float16", "bfloat16")


def counterexample(
    bench: Bench,
    case: Case,
    recipe: Recipe,
    mismatch: Mismatch,
    varied: Case | None = None,
    *,
    state: bool = True,
) -> Counterexample:
    """Describe the case on which a check failed; with `varied`, the second call as well.

    Without `state`, the script leaves out the weights: reading them runs the answer.
    """
    change = _change(case, varied) if varied is not None else ""
    return Counterexample(
        called=called(case) + (f"; then again with {change}" if change else ""),
        expected=mismatch.expected,
        got=mismatch.got,
        python=python(bench, case, varied, state=state),
        recipe=dict(recipe),
        shapes=mismatch.shapes,
    )


def called(case: Case) -> str:
    """Write the call in one line; small tensors in full, larger ones by their shape."""
    given = (*positional(case), *case.inputs.items())
    named = {name for name, value in given if _by_name(case, name, value)}
    arguments = [name if name in named else _short(value) for name, value in positional(case)]
    arguments += [
        name if name in named else f"{name}={_short(value)}"
        for name, value in case.inputs.items()
        if value is not None or case.arg_names  # handed on as it is, None counts
    ]
    call = f"({', '.join(arguments)})"
    where = [f"{name} {tuple(value.shape)}" for name, value in given if name in named]
    head = case.target if case.init is None else f"{case.target}({_options(case.init)})"
    extra = [", ".join(where)] if where else []
    extra += [f"after a call with {_other(case, earlier)}" for earlier in case.before]
    if case.built_after is not None:
        extra.append(f"after building {case.target}({_options(case.built_after)})")
    extra += ["transposed in memory"] if case.transposed else []
    extra += ["train mode"] if case.train else []
    extra += [case.dtype] if case.dtype != "float64" else []
    return head + call + (f"   with {'; '.join(extra)}" if extra else "")


def _other(case: Case, earlier: Mapping[str, Any]) -> str:
    given = dict((*positional(case), *case.inputs.items()))
    tensors = {name: value for name, value in earlier.items() if isinstance(value, Tensor)}
    if all(value.shape == getattr(given[name], "shape", None) for name, value in tensors.items()):
        return "other values"
    return ", ".join(f"{name} {tuple(value.shape)}" for name, value in tensors.items())


def _change(case: Case, varied: Case) -> str:
    """Say which tokens of which input a varied case changes: `x[0, 1] changed`."""
    for name, value in case.inputs.items():
        other = varied.inputs.get(name)
        if isinstance(value, Tensor) and isinstance(other, Tensor) and value.shape == other.shape:
            where = (value != other).reshape(*value.shape[:2], -1).any(-1).nonzero().tolist()
            if where:
                left = len(where) - 1
                more = f" and {left} more token{'s' if left > 1 else ''}" if left else ""
                return f"{name}{where[0]}{more} changed"
    return ""


def _by_name(case: Case, name: str, value: Any) -> bool:
    """Tell whether an input is shown by its name and shape alone.

    Without a layer's weights its numbers say little; a function has none.
    """
    if name not in ("x", "memory") or not isinstance(value, Tensor):
        return False
    return case.init is not None or value.numel() > SMALL


def _short(value: Any) -> str:
    if not isinstance(value, Tensor):
        return _option(value)
    if value.numel() <= SMALL:
        return show(value)
    return f"<{str(value.dtype).removeprefix('torch.')} {tuple(value.shape)}>"


def _options(init: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={_option(value)}" for name, value in init.items())


def _option(value: Any) -> str:
    if isinstance(value, Part):
        options = ", ".join(f"{name}={item!r}" for name, item in value.options.items())
        return f"{value.name}({options})"
    return repr(value)


def python(bench: Bench, case: Case, varied: Case | None = None, *, state: bool = True) -> str:
    """Write a script that makes the failing call on the learner's own file.

    The weights are those of the learner's module after ours were copied in, so
    the script needs nothing of the grader but the sublayers it hands over.
    """
    home = f"katas/{bench.kata.stem}.py"
    if bench.path.replace("\\", "/").endswith(home):
        where = f"from katas.{bench.kata.stem} import {case.target}"
    else:
        where = f"{case.target} = runpy.run_path({bench.path!r})[{case.target!r}]"
    lines = ["import torch", where, ""]
    if where.startswith(case.target):
        lines.insert(0, "import runpy\n")
    if any(isinstance(value, Part) for value in (case.init or {}).values()):
        lines[1:1] = ["from grader.model import Part", "from grader.parts import make"]
    if case.dtype == "float64":
        lines.append("torch.set_default_dtype(torch.float64)")
    callee = case.target
    if case.init is not None:
        lines.append(f"layer = {_construction(case.target, case.init)}")
        lines += _weights(bench, case) if state else []
        # As the case is run: a new layer trains, and .train() would wake parts put to rest.
        train = ["if not layer.training:", "    layer.train()"]
        lines += train if case.train else ["layer.eval()"]
        callee = "layer"
    lines += _before(case, callee)
    if case.dtype in HALVES and callee == "layer":
        lines.append(f"layer.to(torch.{case.dtype})")
    lines.append(f"print({callee}({_arguments(case)}))")
    if varied is not None:
        lines.append(f"# {_change(case, varied)}; what must not notice has to stay as it was:")
        lines.append(f"print({callee}({_arguments(replace(varied, transposed=False))}))")
    if "repeats" in case.observe:
        lines.append("# Called again, it has to return the same, and to leave its inputs alone:")
        lines.append("with torch.no_grad():")
        lines.append(f"    print({callee}({_arguments(case)}))")
    return "\n".join(lines) + "\n"


def _before(case: Case, callee: str) -> list[str]:
    """Return the lines of what happens between the building of the layer and its call."""
    lines: list[str] = []
    for values in case.before:
        earlier = replace(
            case,
            args=tuple(values.get(name, value) for name, value in positional(case)),
            inputs={**case.inputs, **{n: v for n, v in values.items() if n in case.inputs}},
            dtype="float32" if case.dtype in HALVES else case.dtype,
        )
        lines.append("# An earlier call, which must leave no trace:")
        lines.append(f"{callee}({_arguments(earlier)})")
    if case.built_after is not None:
        lines.append("# Another instance, which must make no difference:")
        lines.append(_construction(case.target, case.built_after))
    return lines


def _arguments(case: Case) -> str:
    given = [_code(value, case.dtype, case.transposed) for value in case.args]
    given += [
        f"{name}={_code(value, case.dtype, case.transposed)}" for name, value in case.inputs.items()
    ]
    return ", ".join(given)


def _weights(bench: Bench, case: Case) -> list[str]:
    state: Mapping[str, Tensor] = bench.state(case)
    if not state:
        return []
    lines = ["layer.load_state_dict({"]
    lines += [f"    {name!r}: {_code(value, case.dtype)}," for name, value in state.items()]
    return [*lines, "}, strict=False)"]


def _construction(target: str, init: Mapping[str, Any]) -> str:
    return f"{target}({', '.join(f'{name}={_made(value)}' for name, value in init.items())})"


def _made(value: Any) -> str:
    return f"make({value!r})" if isinstance(value, Part) else repr(value)


def _code(value: Any, dtype: str, transposed: bool = False) -> str:
    if isinstance(value, torch.device):
        return f"torch.device({str(value)!r})"
    if not isinstance(value, Tensor):
        return repr(value)
    if transposed and value.dim() > 1:
        return f"{_code(value, dtype)}.mT.contiguous().mT"
    tail = f", dtype=torch.{dtype}" if value.is_floating_point() and dtype != "float64" else ""
    if value.dtype == torch.bool:
        if value.numel() == 0:
            tail = ", dtype=torch.bool"
        return f"torch.tensor({value.tolist()}{tail})"
    return f"torch.tensor({_rounded(value.tolist())}{tail})"


def _rounded(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_rounded(item) for item in value) + "]"
    if isinstance(value, float):
        text = repr(round(value, 6))
        return f"float({text!r})" if text in ("inf", "-inf", "nan") else text
    return repr(value)
