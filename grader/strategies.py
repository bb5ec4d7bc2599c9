"""Turn the small integers of a recipe into tensors, masks and weights.

Everything comes from a `torch.Generator`, so a recipe always builds the same
case, whatever torch's global seed is. Values are rounded to one decimal: a
person can check the smallest counterexample by hand. torch is imported inside
the functions, so that specs can be read without it.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from grader.model import Case, Recipe, Role, Shape

if TYPE_CHECKING:
    from torch import Tensor

# Rates of dropout by their words in recipes. "all" is so close to 1 that nothing survives;
# yet a dropout written by hand, which divides by 1 - p, stays finite.
DROPS = {
    "none": 0.0,
    "hardly": 1e-9,
    "default": 0.1,
    "some": 0.4,
    "half": 0.5,
    "all": 1 - 1e-9,
}


def integer(recipe: Recipe, name: str, default: int) -> int:
    """Read a whole number from a recipe."""
    return int(recipe.get(name, default))


def word(recipe: Recipe, name: str, default: str) -> str:
    """Read a word from a recipe."""
    return str(recipe.get(name, default))


def numbers(seed: int, name: str, *shape: int, scale: float = 1.0, step: float = 0.1) -> Tensor:
    """Draw normal float64 values for the tensor called `name`, rounded to `step`.

    Each name has a stream of its own, so that a longer sequence or another
    head leaves the other tensors alone.
    """
    import torch

    generator = torch.Generator().manual_seed(seed * 7919 + zlib.crc32(name.encode()))
    drawn = torch.randn(*shape, generator=generator, dtype=torch.float64) * scale
    return torch.round(drawn / step) * step


def linear_weights(seed: int, name: str, shape: Shape, *, scale: float = 1.0) -> dict[str, Tensor]:
    """Draw weight and bias of a Linear layer (out, in), large enough for peaky attention.

    A row has a standard deviation of about `scale` over inputs of unit variance.
    """
    out_features, in_features = shape
    return {
        f"{name}.weight": numbers(
            seed,
            f"{name}.weight",
            out_features,
            in_features,
            scale=max(0.2, scale / in_features**0.5),
        ),
        f"{name}.bias": numbers(seed, f"{name}.bias", out_features, scale=0.5),
    }


def attention_weights(
    seed: int, d_model: int, prefix: str = "", *, scale: float = 1.5
) -> dict[str, Tensor]:
    """Draw the four projections of an attention layer, each Linear(D, D)."""
    weights: dict[str, Tensor] = {}
    for layer in ("q_proj", "k_proj", "v_proj", "out_proj"):
        weights |= linear_weights(seed, prefix + layer, (d_model, d_model), scale=scale)
    return weights


def norm_weights(seed: int, name: str, d_model: int) -> dict[str, Tensor]:
    """Draw gain and shift of a LayerNorm, both far from their defaults 1 and 0.

    With the defaults, a norm that is shared, made anew in forward, or lacks
    its affine part cannot be told from a right one.
    """
    import torch

    gain = 1.0 + 0.3 * numbers(seed, f"{name}.weight", d_model)
    return {
        f"{name}.weight": torch.round(gain.clamp(0.3, 2.0) * 10) / 10,
        f"{name}.bias": numbers(seed, f"{name}.bias", d_model, scale=0.5),
    }


def attention_roles(prefix: str = "", owner: str = "") -> tuple[Role, ...]:
    """Name the four projections of an attention layer."""
    return tuple(
        Role(prefix + layer, part, owner)  # type: ignore[arg-type]
        for layer, part in (
            ("q_proj", "query"),
            ("k_proj", "key"),
            ("v_proj", "value"),
            ("out_proj", "output"),
        )
    )


def causal(length: int) -> Tensor:
    """Return the (L, L) mask that lets a token see itself and what came before it."""
    import torch

    return torch.ones(length, length, dtype=torch.bool).tril()


def window(length: int, width: int = 2) -> Tensor:
    """Return a causal (L, L) mask under which a token sees itself and `width` - 1 before it."""
    import torch

    return torch.ones(length, length, dtype=torch.bool).tril().triu(1 - width)


def prefix(length: int, width: int = 2) -> Tensor:
    """Return a causal (L, L) mask under which, beside, all tokens see the first `width`."""
    import torch

    return causal(length) | (torch.arange(length) < width)


def strict(length: int) -> Tensor:
    """Return an (L, L) mask under which a token sees what came before it, the first one nothing."""
    return causal(length).tril(-1)


def others(length: int) -> Tensor:
    """Return an (L, L) mask under which a token sees all but itself, if there are others."""
    import torch

    return ~torch.eye(length, dtype=torch.bool) if length > 1 else causal(length)


# The masks of queries and keys that a caller may hand over, by their words in recipes.
CALLERS_MASKS = {
    "causal": causal,
    "window": window,
    "prefix": prefix,
    "others": others,
    "strict": strict,
}


def padding(seed: int, batch: int, length: int, *, side: str = "right") -> Tensor:
    """Return a (B, L) mask whose rows keep different numbers of real tokens, at least one.

    `side` says where the padding stands: "right", "left", "holes" anywhere, or
    "inner", anywhere but first. With "right" and "inner" the first token is
    always real, so that no query of a causal mask is left without a key; only
    "inner" then hides a key that the causal mask shows.
    """
    import torch

    generator = torch.Generator().manual_seed(seed * 7919 + 17)
    start = int(torch.randint(0, max(1, length), (1,), generator=generator))
    rows: list[Tensor] = []
    for row in range(batch):
        kept = length - (start + row) % max(1, length)
        real = torch.arange(length) < kept
        if side == "left":
            real = real.flip(0)
        elif side == "holes":
            real = real[torch.randperm(length, generator=generator)]
        elif side == "inner":
            order = torch.randperm(length - 1, generator=generator) + 1
            real = torch.cat([real[:1], real[order]])
        rows.append(real)
    return torch.stack(rows)


def with_tokens_changed(
    case: Case, name: str, where: Tensor, compared: Tensor | None = None
) -> Case:
    """Return the case with other values in the tokens of input `name` where `where` (B, L) is True.

    `compared` (B, L) says at which positions the output must not notice; it
    adds to what the case compares anyway.
    """
    tokens = case.inputs[name]
    other = numbers(98, f"other {name}", *tokens.shape)
    changed = tokens.where(~where[:, :, None], other)
    kept = case.compared
    if compared is not None:
        kept = compared[:, :, None] if kept is None else kept & compared[:, :, None]
    return replace(case, inputs={**case.inputs, name: changed}, compared=kept)


def with_other_calls_before(case: Case, kind: int = 1) -> Case:
    """Return the case after a call with other values and without anything hidden.

    Of kind 2, that call has two tokens only; of kind 3, masks that hide something; of
    kinds 4 and 5, a causal mask or padding alone does.
    """

    def other(name: str, value: Any) -> Any:
        if not hasattr(value, "is_floating_point"):
            return value
        if value.is_floating_point():
            return numbers(97, f"earlier {name}", *value.shape)
        return value.new_ones(value.shape)

    given = {**dict(zip(case.arg_names, case.args, strict=False)), **case.inputs}
    call = {name: other(name, value) for name, value in given.items()}
    if kind == 2:
        call = {name: _shortened(name, value) for name, value in call.items()}
    if kind in (3, 5):
        call |= {name: _last_hidden(name, call) for name in call if name.endswith("pad_mask")}
    if kind in (3, 4) and "causal_mask" in call:
        call["causal_mask"] = causal(call["x"].shape[1])
    return replace(case, before=(call,))


def _shortened(name: str, value: Any) -> Any:
    if value is None:
        return None
    return value[:2, :2] if name == "causal_mask" else value[:, :2]


def _last_hidden(name: str, call: Mapping[str, Any]) -> Tensor:
    tokens = call[_masked_by(name, call)]
    mask = tokens.new_ones(tokens.shape[:2]).bool()
    mask[:, -1] = False
    return mask


def _masked_by(name: str, inputs: Mapping[str, Any]) -> str:
    """Return whose tokens a padding mask is over: "x", or "memory"."""
    alone = "memory" in inputs and "memory_pad_mask" not in inputs
    return "memory" if alone or name == "memory_pad_mask" else "x"


def as_asked(case: Case, recipe: Recipe) -> Case:
    """Return the case as the words of a recipe want it that mean the same in every kata.

    "after_others": after a call with other values. "built_after": another instance is
    built, at other sizes, before the call. "transposed": the inputs are views.
    "backward": gradients are observed. "frozen": those of the weights only. "bare": nothing
    is given that has a default. "blank": a token of zeros. "empty": sequences of padding
    alone. "dropout" may be "default": the constructor has to know it.
    """
    if recipe.get("after_others"):
        case = with_other_calls_before(case, integer(recipe, "after_others", 1))
    if recipe.get("built_after"):
        case = replace(case, built_after=_other_sizes(case.init or {}))
    if recipe.get("transposed"):
        case = replace(case, transposed=True)
    if recipe.get("backward"):
        case = replace(case, observe=case.observe | {"gradients"})
    if recipe.get("frozen"):
        case = replace(case, observe=case.observe | {"frozen"})
    if recipe.get("bare"):
        given = {name: value for name, value in case.inputs.items() if value is not None}
        case = replace(case, inputs=given, init=_without_dropout(case))
    if recipe.get("blank"):
        case = with_blank_token(case)
    if recipe.get("empty"):
        case = with_empty_sequences(case)
    if recipe.get("dropout") == "default":
        defaults = {"dropout": DROPS["default"]}
        case = replace(case, init=_without_dropout(case), defaults=defaults)
    return case


def _other_sizes(init: Mapping[str, Any]) -> dict[str, Any]:
    """Return a constructor's keywords with every size and switch changed, none of them to less."""
    options = dict(init)
    if "d_model" in init:
        options["d_model"] = 4 * init["d_model"]
    if "num_heads" in init:
        options["num_heads"] = 2 * init["num_heads"]
    for name in ("d_ff", "max_len"):
        if name in init:
            options[name] = init[name] + 3
    if "norm_first" in init:
        options["norm_first"] = not init["norm_first"]
    return options


def _without_dropout(case: Case) -> dict[str, Any] | None:
    if case.init is None:
        return None
    return {name: value for name, value in case.init.items() if name != "dropout"}


def with_blank_token(case: Case) -> Case:
    """Return the case with zeros as the last of the tokens; only a mask makes that padding."""
    tokens = {name: value.clone() for name, value in case.inputs.items() if name in ("x", "memory")}
    for value in tokens.values():
        value[:, -1] = 0
    return replace(case, inputs={**case.inputs, **tokens})


def with_empty_sequences(case: Case) -> Case:
    """Return the case with nothing but padding in a sequence of each kind: other ones count."""
    emptied: dict[str, Tensor] = {}
    for row, name in enumerate(name for name in case.inputs if name.endswith("pad_mask")):
        if case.inputs[name] is not None:
            emptied[name] = case.inputs[name].clone()
            emptied[name][row] = False
    return with_blind_queries(replace(case, inputs={**case.inputs, **emptied}))


def with_blind_queries(case: Case) -> Case:
    """Return the case of a layer with queries left out of which an attention sees no key."""
    batch, length = case.returns[0][:2]
    shown = case.inputs["x"].new_ones(batch, length, length).bool()
    seen = case.inputs.get("causal_mask")
    shown = shown if seen is None else shown & seen
    blind = shown.new_zeros(batch, length, 1)
    for name in ("pad_mask", "memory_pad_mask"):
        mask = case.inputs.get(name)
        if mask is None:
            continue
        if _masked_by(name, case.inputs) == "memory":
            blind = blind | ~mask.any(-1)[:, None, None]
        else:
            shown = shown & mask[:, None, :]
    blind = blind | ~shown.any(-1, keepdim=True)
    if not bool(blind.any()):
        return case
    kept = ~blind if case.compared is None else case.compared & ~blind
    return replace(case, compared=kept, blind=blind)


def with_low_scores(case: Case, level: int, sign: int = -1) -> Case:
    """Give an attention layer scores all far below 0, of which masks fill in none too low.

    Queries and keys are opposite or, with a `sign` of 1, the same, for scores far above
    0; tokens are alike but for little. At level 6 a score is about -200, at 60 about
    -20000, and scores differ by about ten. Values are made of what differs between
    tokens, so that it shows which of them were read.
    """
    sides = alternating(next(iter(case.inputs.values())).shape[-1])
    tokens = {
        name: 3 * value / level + level * sides
        for name, value in case.inputs.items()
        if name in ("x", "memory")
    }
    weights = dict(case.weights)
    for name in [name for name in weights if ".k_proj." in f".{name}"]:
        weights[name] = sign * weights[name.replace("k_proj", "q_proj")]
    for name in [name for name in weights if name.endswith("v_proj.weight")]:
        alike = (weights[name] @ sides)[:, None] * sides / len(sides)
        weights[name] = (weights[name] - alike) * level / 3
    return replace(case, inputs={**case.inputs, **tokens}, weights=weights, tolerance=1e-2)


def with_high_hidden_scores(case: Case, level: int) -> Case:
    """Give hidden keys scores far above those of all others: at level 60 by about 20000.

    Hidden are the padded tokens or, without padding, the last one by a causal mask.
    Queries and keys are the same, and hidden tokens twice as long as others. A mask on
    the weights, after the softmax, is right too, and then leaves 0 / 0.
    """
    name = "memory" if "memory" in case.inputs else "x"
    size, length = case.inputs[name].shape[-1], case.inputs[name].shape[1]
    real = case.inputs["pad_mask"]
    if real is None:
        real = case.inputs["x"].new_ones(length).bool()
        real[-1] = False
    case = with_low_scores(case, level, sign=1)
    longer = case.inputs[name] + (~real)[..., None] * level * alternating(size)
    return replace(case, inputs={**case.inputs, name: longer}, nan_is_free=True)


def with_equal_scores(case: Case) -> Case:
    """Give an attention layer scores that are all 0, whatever the tokens are."""
    weights = {n: 0 * w if ".q_proj." in f".{n}" else w for n, w in case.weights.items()}
    return replace(case, weights=weights)


def with_one_value(case: Case) -> Case:
    """Give an attention layer two source tokens of which only the first has a value.

    With one head, each row of the output is then one attention weight times what is
    the same for all rows. All batch rows are alike.
    """
    name = "memory" if "memory" in case.inputs else "x"
    size = case.inputs[name].shape[-1]
    alike = {
        each: value[:1].expand_as(value).clone()
        for each, value in case.inputs.items()
        if each in ("x", "memory")
    }
    alike[name][:, 1, : size // 2] = 0
    weights = {n: 0 * w if n.endswith(".bias") else w.clone() for n, w in case.weights.items()}
    weights["v_proj.weight"][:, size // 2 :] = 0
    return replace(case, inputs={**case.inputs, **alike}, weights=weights)


def laid_out(case: Case, recipe: Recipe) -> Case:
    """Return the case of an attention layer as the recipe asks for it beside sizes and masks."""
    low = integer(recipe, "low", 0)
    case = with_low_scores(case, low) if low else case
    high = integer(recipe, "high", 0)
    case = with_high_hidden_scores(case, high) if high else case
    case = with_equal_scores(case) if integer(recipe, "equal", 0) else case
    return with_one_value(case) if integer(recipe, "one_value", 0) else case


def alternating(size: int) -> Tensor:
    """Return 1 and -1 in turn."""
    import torch

    return 1.0 - 2.0 * (torch.arange(size, dtype=torch.float64) % 2)


def with_dropout_seen(case: Case, first: str, last: str) -> Case:
    """Return the case with values by which the output tells what dropout made of one sublayer.

    Each token is 1 and -1 in turn. Of the sublayer, the Linear `first` makes ones of
    it and the Linear `last` makes of them 0 in two features, 1 in the others; all
    other sublayers return zeros, and the norms leave tokens as they are.
    """
    import torch

    weights = {name: torch.zeros_like(value) for name, value in case.weights.items()}
    for name in weights:
        if "norm" in name and name.endswith("weight"):
            weights[name] += 1
    size = case.weights[f"{first}.weight"].shape[1]
    weights[f"{first}.weight"] += alternating(size) / size
    weights[f"{last}.weight"][2:] += 1 / case.weights[f"{last}.weight"].shape[1]
    tokens = {
        name: alternating(size).expand_as(value).clone()
        for name, value in case.inputs.items()
        if name in ("x", "memory")
    }
    return replace(case, inputs={**case.inputs, **tokens}, weights=weights)


def with_second_token_empty(case: Case) -> Case:
    """Let what `with_dropout_seen` made of a cross-attention add one attention weight to x.

    The memory has two tokens, the second without a value; how much the first one
    weighs depends on the query, and on the whole of it.
    """
    memory, weights = case.inputs["memory"].clone(), dict(case.weights)
    memory[:, 1] = 1
    for name in ("cross_attn.q_proj.weight", "cross_attn.k_proj.weight"):
        weights[name] = weights[name].clone()
        weights[name][0] = 2 * alternating(memory.shape[-1]) / memory.shape[-1]
    return replace(case, inputs={**case.inputs, "memory": memory}, weights=weights)


def with_equal_features(case: Case) -> Case:
    """Return the case with tokens that have no variance, before the first norm and behind each.

    All sublayers return zeros, and the shift of a norm is the same in every feature.
    Whatever its eps, a norm makes of such a token its shift; without an eps, NaN.
    """

    def level(value: Any, axis: int) -> Tensor:
        # Whole numbers: their mean is exact.
        return value.narrow(axis, 0, 1).round().expand_as(value).clone()

    def flat(name: str, value: Any) -> Any:
        return level(value, -1) if name in ("x", "memory") else value

    weights = {
        name: (level(value, 0) if name.endswith("bias") else value) if "norm" in name else 0 * value
        for name, value in case.weights.items()
    }
    args = tuple(flat(name, value) for name, value in zip(case.arg_names, case.args, strict=False))
    inputs = {name: flat(name, value) for name, value in case.inputs.items()}
    return replace(case, args=args, inputs=inputs, weights=weights)


def with_distant_features(case: Case) -> Case:
    """Return the case with tokens whose features lie far from 0 and near each other.

    All sublayers return zeros, so that is what the norm of x is given. In float32, a norm that
    subtracts the mean first is off by about 1e-4, one that takes the square of the mean from
    the mean of the squares by more than 1e-2.
    """

    def moved(name: str, value: Any) -> Any:
        return value + 1000 if name == "x" else value

    weights = {n: value if "norm" in n else 0 * value for n, value in case.weights.items()}
    args = tuple(moved(name, value) for name, value in zip(case.arg_names, case.args, strict=False))
    inputs = {name: moved(name, value) for name, value in case.inputs.items()}
    return replace(case, args=args, inputs=inputs, weights=weights, tolerance=1e-2)


def with_loud_padding(case: Case) -> Case:
    """Multiply all padding by 1e8: what has no weight at all still adds nothing."""
    name = "memory" if "memory" in case.inputs else "x"
    tokens, real = case.inputs[name], case.inputs["pad_mask"][:, :, None]
    return replace(case, inputs={**case.inputs, name: tokens.where(real, 1e8 * tokens)})


def with_last_token_changed(case: Case) -> Case:
    """Change the last token of x; what came before it must not notice."""
    import torch

    batch, length, _ = case.inputs["x"].shape
    last = torch.zeros(batch, length, dtype=torch.bool)
    last[:, -1] = True
    return with_tokens_changed(case, "x", last, ~last)


def with_padding_changed(case: Case) -> Case:
    """Change every padded token of x; no real token must notice."""
    return with_tokens_changed(case, "x", ~case.inputs["pad_mask"])
