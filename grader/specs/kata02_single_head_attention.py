"""kata2: cases, checks and known bugs of single-head attention, as a function and as a layer."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from grader.mistakes.dropping import misplaced_dropout_mistakes
from grader.mistakes.projecting import residual_inside
from grader.mistakes.weighing import (
    MIX,
    SCALE,
    SOFTMAX,
    scale_in_place,
    scale_missing,
    scale_mistakes,
    scale_wrong_vector,
    softmax_mistakes,
    softmax_over_queries,
    weights_transposed,
)
from grader.model import Axis, Case, Check, Kata, Question, Recipe, Shape, Target
from grader.patching import bug, each_and_all
from grader.properties import dropped_weights_only, earlier_calls, gradients_in_training, instances
from grader.strategies import (
    CALLERS_MASKS,
    attention_roles,
    attention_weights,
    causal,
    integer,
    laid_out,
    numbers,
    padding,
    prefix,
    strict,
    with_blind_queries,
    with_last_token_changed,
    with_loud_padding,
    with_padding_changed,
    word,
)

if TYPE_CHECKING:
    from torch import Tensor

FUNCTION, LAYER = "scaled_dot_product_attention", "SingleHeadAttention"
BANNED = frozenset({"scaled_dot_product_attention", "MultiheadAttention", "Transformer"})
# Where scores run into the thousands, float32 arithmetic inside may be off by
# more than usual; such cases look for NaN.
LARGE, LARGE_TOLERANCE = 10, 1e-2


def build(recipe: Recipe) -> Case:
    """Build one call of the layer where the recipe says so, else of the function."""
    return _layer(recipe) if word(recipe, "of", "function") == "layer" else _function(recipe)


def _function(recipe: Recipe) -> Case:
    """Build q (..., L, d), k (..., S, d), v (..., S, dv) with 0 to 2 leading dimensions."""
    sizes = (integer(recipe, "batch", 2), integer(recipe, "heads", 3))
    lead = sizes[: integer(recipe, "lead", 1)]
    queries, keys = integer(recipe, "queries", 5), integer(recipe, "keys", 7)
    d, d_v = integer(recipe, "d", 6), integer(recipe, "d_v", 4)
    seed, times = integer(recipe, "seed", 1), integer(recipe, "times", 1)
    low = integer(recipe, "low", 0)  # all scores about -2.4 low², which differ by about ten
    high = integer(recipe, "high", 0)  # or 2.4 high², and those of hidden keys twice as high
    small = 3 / (low or high) if low or high else times
    if integer(recipe, "equal", 0):
        small = 0  # all scores are 0
    mask = _mask(word(recipe, "mask", "none"), seed, lead, queries, keys)
    k = numbers(seed, "k", *lead, keys, d, scale=1.5) * small - low + high
    inputs = {
        "q": numbers(seed, "q", *lead, queries, d, scale=1.5) * small + low + high,
        "k": k if mask is None or not high else k + high * ~mask.mT,
        "v": numbers(seed, "v", *lead, keys, d_v) * times,
        "mask": mask,
    }
    if word(recipe, "mask", "none") == "omitted":
        del inputs["mask"]
    shown, blind = inputs.get("mask"), None
    if shown is not None and word(recipe, "mask", "none") == "dead":
        blind = ~shown.any(-1, keepdim=True).expand(*lead, queries, 1)
    return Case(
        target=FUNCTION,
        inputs=inputs,
        returns=((*lead, queries, d_v), (*lead, queries, keys)),
        blind=blind,
        dtype=word(recipe, "dtype", "float64"),
        nan_is_free=bool(high),  # of a mask on the weights, after the softmax
        tolerance=LARGE_TOLERANCE if times >= LARGE or low or high else 1e-9,
        banned=BANNED,
    )


def _mask(kind: str, seed: int, lead: Shape, queries: int, keys: int) -> Tensor | None:
    """Return a bool mask that broadcasts to (..., L, S); every query sees at least one key.

    "causal" (L, S), "keys" (..., 1, S) with another number of keys in each
    batch row, "row" (S,), "any" (..., L, S) or, with heads, (B, 1, L, S), "each"
    another for each head, "heads" the same without the batch, "both" causal
    and keys, and "dead" hides all keys from every other query.
    """
    import torch

    if kind in ("none", "omitted"):
        return None
    earlier = torch.ones(queries, keys, dtype=torch.bool).tril()
    batch = lead[0] if lead else 1
    shape = (*lead[:1], *(1 for _ in lead[1:]))
    kept = padding(seed, batch, keys)
    if kind == "causal":
        return earlier
    if kind == "row":
        return kept[-1]
    if kind == "keys":
        return kept.reshape(*shape, 1, keys)
    if kind == "both":
        return kept.reshape(*shape, 1, keys) & earlier
    if kind == "each":
        shape = lead
    if kind == "heads":
        shape = lead[1:]
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.rand(*shape, queries, keys, generator=generator) < 0.5
    diagonal = torch.arange(keys) == (torch.arange(queries) % keys)[:, None]
    if kind == "dead":
        return (drawn | diagonal) & (torch.arange(queries) % 2 == 1)[:, None]
    return drawn | diagonal


def _layer(recipe: Recipe) -> Case:
    """Build x (B, L, D) and the masks asked for."""
    batch, length = integer(recipe, "batch", 2), integer(recipe, "length", 5)
    d_model, seed = integer(recipe, "d_model", 6), integer(recipe, "seed", 1)
    # Weights (B, L, L) that are returned beside the output must not look like it.
    d_model += d_model == length
    mask, times = word(recipe, "mask", "none"), integer(recipe, "times", 1)
    pad_mask = None
    # A window, or a prefix that all see, is of the caller's own choice, not to be built anew.
    masks = {**CALLERS_MASKS, "both": causal, "both_left": causal}
    masks |= {"both_prefix": prefix, "both_strict": strict}
    causal_mask = masks[mask](length) if mask in masks else None
    if mask in ("pad", "left", "holes") or mask.startswith("both"):
        sides = {"pad": "right", "left": "left", "both_left": "left"}
        pad_mask = padding(seed, batch, length, side=sides.get(mask, "holes"))
        if mask.startswith("both") and mask != "both_left":
            # Padding behind the last token is hidden by the causal mask anyway, so it
            # stands in between; the first token is real, so that every query sees one.
            pad_mask[:, 0] = True
    inputs = {
        "x": numbers(seed, "x", batch, length, d_model) * times,
        "causal_mask": causal_mask,
        "pad_mask": pad_mask,
    }
    if mask == "omitted":
        inputs = {"x": inputs["x"]}
    case = Case(
        target=LAYER,
        init={"d_model": d_model},
        inputs=inputs,
        weights=attention_weights(seed, d_model),
        roles=attention_roles(),
        returns=((batch, length, d_model),),
        train=word(recipe, "mode", "eval") == "train",
        dtype=word(recipe, "dtype", "float64"),
        tolerance=LARGE_TOLERANCE if times >= LARGE else 1e-9,
        compared=None if pad_mask is None else pad_mask[:, :, None],
        banned=BANNED,
    )
    return laid_out(with_blind_queries(case), recipe)


def with_last_key_changed(case: Case) -> Case:
    """Change the last key and its value; queries that it is hidden from must not notice."""
    k, v, (*lead, queries, _) = case.inputs["k"], case.inputs["v"], case.returns[0]
    hidden = ~case.inputs["mask"].expand(*lead, queries, k.shape[-2])[..., -1:]
    changed = {"k": k.clone(), "v": v.clone()}
    for name, tensor in changed.items():
        tensor[..., -1, :] = numbers(98, f"other {name}", *lead, tensor.shape[-1], scale=2.0)
    return replace(case, inputs={**case.inputs, **changed}, compared=hidden)


def with_loud_hidden_values(case: Case) -> Case:
    """Multiply the values of all hidden keys by 1e8; no query must notice."""
    v, shown = case.inputs["v"], case.inputs["mask"].mT  # (..., S, 1)
    return replace(case, inputs={**case.inputs, "v": v.where(shown, 1e8 * v)})


SIZES: dict[str, Axis] = {
    "lead": (0, 2),
    "batch": (1, 3),
    "heads": (1, 3),
    "queries": (1, 4),
    "keys": (1, 4),
    "d": (1, 4),
    "d_v": (1, 4),
    "seed": (0, 999),
}
MASKED: list[int | str] = ["causal", "keys", "any", "both", "row", "each", "heads"]
LAYER_SIZES: dict[str, Axis] = {
    "of": ["layer"],
    "batch": (1, 3),
    "length": (1, 5),
    "d_model": (1, 6),
    "seed": (0, 999),
}
LAYER_MASKED: list[int | str] = [
    *(
        "causal",
        "pad",
        "both",
        "left",
        "holes",
        "window",
        "prefix",
        "both_left",
        "others",
        "strict",
    ),
    *("both_prefix", "both_strict"),
]


def _of(*recipes: dict[str, int | str]) -> tuple[Recipe, ...]:
    return tuple({"of": "layer", **recipe} for recipe in recipes)


CHECKS = (
    Check(
        "attention_matches",
        "without a mask, output and weights are the attention's",
        FUNCTION,
        "values",
        bank=(
            {"keys": 1, "seed": 6},
            {},
            {"lead": 0, "seed": 2},
            {"lead": 2, "seed": 3},
            {"queries": 7, "keys": 4, "d": 5, "d_v": 8, "seed": 4},
            {"queries": 1, "batch": 3, "seed": 5},
            {"lead": 2, "batch": 1, "heads": 1, "queries": 4, "keys": 4, "d": 3, "seed": 7},
            {"lead": 0, "queries": 6, "keys": 6, "d_v": 6, "seed": 8},
            {"mask": "omitted", "batch": 5, "keys": 5, "d": 5, "d_v": 5, "seed": 9},
            # As large as people run it, one size at a time.
            {"queries": 3, "keys": 130, "seed": 74},
            {"queries": 40, "keys": 3, "seed": 75},
            {"batch": 9, "d": 64, "d_v": 48, "seed": 76},
            {"lead": 2, "batch": 9, "heads": 8, "seed": 77},
        ),
        draws=SIZES,
        examples=100,
    ),
    Check(
        "weights_sum_to_one",
        "the weights of every query sum to one",
        FUNCTION,
        "sums_to_one",
        bank=({"mask": "any", "seed": 10}, {"mask": "both", "lead": 2, "seed": 11}),
        draws={**SIZES, "mask": ["none", *MASKED]},
        examples=15,
    ),
    Check(
        "hidden_keys_are_ignored",
        "a key that the mask hides has no influence",
        FUNCTION,
        "unchanged",
        vary=with_last_key_changed,
        bank=({"mask": "causal", "seed": 12}, {"mask": "both", "lead": 2, "seed": 13}),
        draws={**SIZES, "keys": (2, 4), "mask": ["causal", "keys", "any"]},
        examples=15,
    ),
    Check(
        "mask_is_applied",
        "with a mask, every query sees exactly what it may",
        FUNCTION,
        "values",
        bank=(
            {"mask": "causal", "seed": 21},
            {"mask": "causal", "lead": 0, "seed": 22},
            {"mask": "keys", "batch": 3, "seed": 23},
            {"mask": "keys", "lead": 2, "batch": 4, "seed": 24},
            {"mask": "any", "batch": 3, "times": 2, "seed": 25},
            {"mask": "any", "lead": 2, "seed": 26},
            {"mask": "both", "batch": 4, "seed": 27},
            {"mask": "row", "seed": 28},
            {"mask": "any", "lead": 0, "queries": 6, "keys": 6, "seed": 29},
            {"mask": "each", "lead": 2, "seed": 85},
            {"mask": "heads", "lead": 2, "seed": 86},
            {"mask": "heads", "seed": 87},
            {"mask": "dead", "seed": 32},
            {"mask": "dead", "lead": 2, "seed": 33},
            {"mask": "both", "batch": 1, "queries": 1, "keys": 1, "seed": 30},
            {"mask": "both", "batch": 9, "queries": 40, "keys": 36, "seed": 78},
        ),
        draws={**SIZES, "mask": MASKED},
        examples=40,
        after=("attention_matches",),
    ),
    Check(
        "hidden_keys_get_nothing",
        "whatever the scores are, a hidden key gets no weight",
        FUNCTION,
        "values",
        bank=(
            {"mask": "any", "low": 9, "seed": 79},
            {"mask": "keys", "low": 90, "seed": 80},
            {"mask": "keys", "high": 90, "seed": 82},
        ),
        after=("mask_is_applied",),
    ),
    Check(
        "hidden_keys_weigh_nothing",
        "not even huge values behind hidden keys have an influence",
        FUNCTION,
        "unchanged",
        vary=with_loud_hidden_values,
        bank=({"mask": "keys", "batch": 3, "equal": 1, "seed": 70},),
        after=("mask_is_applied",),
    ),
    Check(
        "attention_survives_large_scores",
        "large scores give finite, right values",
        FUNCTION,
        "values",
        bank=({"times": 60, "seed": 31}, {"times": 60, "lead": 2, "queries": 9, "seed": 32}),
        after=("attention_matches",),
    ),
    Check(
        "attention_gradients_match",
        "gradients reach q, k and v",
        FUNCTION,
        "gradients",
        bank=({"seed": 41}, {"mask": "both", "lead": 2, "batch": 4, "seed": 42}),
        draws={**SIZES, "mask": ["none", "any"]},
        examples=10,
        after=("attention_matches", "mask_is_applied"),
    ),
    Check(
        "attention_keeps_inputs",
        "q, k, v and the mask are not changed in place",
        FUNCTION,
        "inputs_kept",
        bank=(
            {"mask": "any", "seed": 51},
            {"mask": "causal", "lead": 0, "seed": 52},
            *({"mask": mask, "seed": 59} for mask in ("none", "keys", "both", "row", "dead")),
            *({"mask": mask, "lead": 2, "seed": 60} for mask in ("each", "heads", "keys", "dead")),
        ),
    ),
    Check(
        "attention_repeats",
        "a second call of the function returns the same",
        FUNCTION,
        "repeats",
        bank=({"mask": "any", "seed": 53},),
    ),
    Check(
        "attention_works_in_float32",
        "float32, as people run it, gives the same attention",
        FUNCTION,
        "values",
        bank=(
            {"dtype": "float32", "mask": "any", "seed": 54},
            {"dtype": "float32", "seed": 81},
            {"dtype": "float32", "mask": "keys", "lead": 2, "seed": 82},
        ),
        after=("attention_matches",),
    ),
    Check(
        "attention_takes_any_layout",
        "tensors that are transposed views give the same attention",
        FUNCTION,
        "values",
        bank=(
            {"transposed": 1, "queries": 6, "keys": 6, "d_v": 6, "seed": 83},
            {"transposed": 1, "mask": "any", "lead": 2, "seed": 84},
        ),
        after=("attention_matches", "mask_is_applied"),
    ),
    Check(
        "attention_runs_on_any_device",
        "the function's own tensors follow the input to a GPU",
        FUNCTION,
        "device",
        bank=({"mask": "any", "seed": 55}, {"seed": 56}),
        after=("mask_is_applied",),
    ),
    Check(
        "attention_is_written_by_hand",
        "the attention is written out, not called",
        FUNCTION,
        "banned",
        bank=({"mask": "any", "seed": 57}, {"seed": 58}),
    ),
    Check(
        "attention_in_half_precision",
        "the function does not work in half precision (autocast, GPU inference)",
        FUNCTION,
        "half",
        bank=({"dtype": "float16", "mask": "any", "seed": 59},),
        required=False,
        after=("mask_is_applied",),
    ),
    Check(
        "attention_loops",
        "a Python loop over the batch in the function; one batched product does it all",
        FUNCTION,
        "loops",
        bank=({"grow": "batch", "batch": 1, "seed": 60},),
        required=False,
        after=("attention_matches",),
    ),
    Check(
        "layers_are_found",
        "the layer holds four projections of the right size",
        LAYER,
        "layers",
        bank=_of({}),
    ),
    Check(
        "layer_matches",
        "without masks, the layer's output is right",
        LAYER,
        "values",
        bank=_of(
            # A single token sees itself alone: mistakes in values and output show by themselves.
            {"length": 1, "batch": 3, "seed": 3},
            {},
            {"batch": 3, "length": 7, "d_model": 12, "seed": 2},
            {"batch": 1, "seed": 4},
            {"batch": 1, "length": 1, "d_model": 3, "seed": 5},
            {"batch": 4, "length": 4, "d_model": 5, "mask": "omitted", "seed": 6},
            {"batch": 9, "length": 3, "seed": 85},
            {"batch": 1, "length": 40, "seed": 86},
            {"batch": 1, "length": 3, "d_model": 64, "seed": 87},
        ),
        draws=LAYER_SIZES,
        examples=60,
    ),
    Check(
        "future_does_not_leak",
        "a token cannot see the future",
        LAYER,
        "unchanged",
        vary=with_last_token_changed,
        bank=_of({"mask": "causal", "seed": 11}, {"mask": "both", "batch": 3, "seed": 12}),
        draws={**LAYER_SIZES, "length": (2, 5), "mask": ["causal"]},
        examples=10,
    ),
    Check(
        "padding_is_ignored",
        "no token sees padding",
        LAYER,
        "unchanged",
        vary=with_padding_changed,
        bank=_of({"mask": "pad", "batch": 3, "seed": 13}, {"mask": "both", "batch": 3, "seed": 14}),
        draws={**LAYER_SIZES, "length": (2, 5), "mask": ["pad", "left", "holes"]},
        examples=10,
    ),
    Check(
        "masks_are_applied",
        "with masks, every token sees exactly what it may",
        LAYER,
        "values",
        bank=_of(
            {"mask": "causal", "seed": 21},
            {"mask": "pad", "batch": 3, "seed": 23},
            {"mask": "pad", "batch": 5, "seed": 24},
            {"mask": "left", "batch": 3, "seed": 25},
            {"mask": "holes", "batch": 3, "length": 7, "seed": 26},
            {"mask": "both", "batch": 3, "seed": 27},
            {"mask": "both", "batch": 5, "seed": 28},
            {"mask": "window", "seed": 30},
            {"mask": "prefix", "seed": 96},
            {"mask": "others", "seed": 97},
            {"mask": "strict", "seed": 31},
            {"mask": "both_left", "batch": 3, "seed": 98},
            {"mask": "both_prefix", "batch": 3, "seed": 110},
            {"mask": "both_strict", "batch": 3, "seed": 111},
            {"mask": "holes", "batch": 6, "empty": 1, "seed": 99},
            {"mask": "both_prefix", "batch": 6, "empty": 1, "seed": 112},
            {"mask": "both", "batch": 1, "length": 1, "seed": 29},
            {"mask": "both", "batch": 9, "length": 40, "seed": 88},
        ),
        draws={**LAYER_SIZES, "mask": LAYER_MASKED},
        examples=40,
        after=("layer_matches",),
    ),
    Check(
        "layer_gives_hidden_keys_nothing",
        "whatever the scores are, the layer gives a hidden key no weight",
        LAYER,
        "values",
        bank=_of(
            {"mask": "both", "low": 6, "seed": 89},
            {"mask": "pad", "low": 60, "seed": 90},
            {"mask": "pad", "high": 60, "seed": 91},
            {"mask": "causal", "low": 60, "seed": 93},
            {"mask": "causal", "high": 60, "seed": 92},
        ),
        after=("masks_are_applied",),
    ),
    Check(
        "layer_weighs_hidden_keys_nothing",
        "not even huge tokens that are hidden have an influence",
        LAYER,
        "unchanged",
        vary=with_loud_padding,
        bank=_of({"mask": "pad", "batch": 3, "equal": 1, "seed": 89}),
        after=("masks_are_applied",),
    ),
    Check(
        "layer_is_the_same_in_training",
        "in train mode the layer gives the same, dropout aside",
        LAYER,
        "undropped",
        bank=_of(
            {"mode": "train", "seed": 91},
            {"mode": "train", "mask": "both", "batch": 3, "seed": 92},
            {"mode": "train", "mask": "pad", "batch": 3, "seed": 93},
        ),
        after=("layer_matches", "masks_are_applied"),
    ),
    dropped_weights_only(
        LAYER,
        {"of": "layer", "length": 2, "d_model": 12, "seed": 99},
        name="layer_drops_weights_only",
        after="layer_is_the_same_in_training",
    ),
    Check(
        "layer_survives_large_inputs",
        "large inputs give a finite, right output",
        LAYER,
        "values",
        bank=_of({"times": 60, "seed": 31}, {"times": 60, "length": 9, "seed": 32}),
        after=("layer_matches",),
    ),
    Check(
        "layer_gradients_match",
        "gradients reach the input and every weight",
        LAYER,
        "gradients",
        bank=_of({"seed": 41}, {"mask": "both", "batch": 3, "seed": 42}),
        draws={**LAYER_SIZES, "mask": ["none", "both"]},
        examples=10,
        after=("layer_matches", "masks_are_applied"),
    ),
    gradients_in_training(
        LAYER,
        {"of": "layer", "mode": "train", "mask": "both", "batch": 3, "seed": 43},
        after=("layer_is_the_same_in_training", "layer_gradients_match"),
    ),
    Check(
        "layer_keeps_inputs",
        "x and the masks are not changed in place",
        LAYER,
        "inputs_kept",
        bank=_of(
            {"mask": "both", "seed": 51},
            {"mask": "both", "batch": 1, "seed": 52},
            {"mask": "both_left", "seed": 60},
            {"mask": "pad", "empty": 1, "seed": 61},
            *({"mask": mask, "seed": 59} for mask in ("none", "pad", "causal", "others", "strict")),
        ),
    ),
    Check(
        "layer_repeats",
        "a second call of the layer returns the same",
        LAYER,
        "repeats",
        bank=_of({"mask": "both", "seed": 53}),
    ),
    earlier_calls(
        LAYER,
        *_of({"mask": "both", "seed": 71}, {"length": 1, "seed": 72}),
        masks=True,
        after=("layer_repeats",),
        name="layer_earlier_calls_leave_no_trace",
    ),
    instances(LAYER, *_of({"mask": "both", "seed": 73}), after=("masks_are_applied",)),
    Check(
        "layer_works_in_float32",
        "float32, as people run it, gives the same output",
        LAYER,
        "values",
        bank=_of(
            {"dtype": "float32", "mask": "both", "batch": 3, "seed": 54},
            {"dtype": "float32", "seed": 94},
            {"dtype": "float32", "mask": "window", "seed": 95},
            {"dtype": "float32", "mask": "pad", "batch": 3, "seed": 96},
        ),
        after=("layer_matches",),
    ),
    Check(
        "layer_takes_any_layout",
        "tensors that are transposed views give the same output",
        LAYER,
        "values",
        bank=_of(
            {"transposed": 1, "length": 7, "d_model": 8, "seed": 97},
            {"transposed": 1, "mask": "both", "batch": 5, "seed": 98},
        ),
        after=("layer_matches", "masks_are_applied"),
    ),
    Check(
        "layer_runs_on_any_device",
        "everything in the layer follows the input to a GPU",
        LAYER,
        "device",
        bank=_of(
            {"mask": "both", "seed": 55},
            {"seed": 56},
            {"mask": "both", "after_others": 1, "seed": 57},
        ),
        after=("masks_are_applied",),
    ),
    Check(
        "layer_is_written_by_hand",
        "the layer's attention is written out, not called",
        LAYER,
        "banned",
        bank=_of({"mask": "both", "seed": 57}, {"seed": 58}),
    ),
    Check(
        "layer_in_half_precision",
        "the layer does not work in half precision (autocast, GPU inference)",
        LAYER,
        "half",
        bank=_of({"dtype": "float16", "mask": "both", "seed": 59}),
        required=False,
        after=("masks_are_applied",),
    ),
    Check(
        "layer_loops",
        "a Python loop over the batch in the layer; one batched product does it all",
        LAYER,
        "loops",
        bank=_of({"grow": "batch", "batch": 1, "seed": 60}),
        required=False,
        after=("layer_matches",),
    ),
)

# --- known bugs --------------------------------------------------------------
# Lines of the solution, first the function's, then the layer's.

INF = 'float("-inf")'
PRODUCTS = "scores = q @ k.transpose(-2, -1)"
IF_MASK = "if mask is not None:"
FILL = f"scores = scores.masked_fill(~mask, {INF})"
RETURN = "return output, weights"
SUPER = "super().__init__()"
MAKE_Q, MAKE_K, MAKE_V, MAKE_OUT = MAKE = tuple(
    f"self.{name} = nn.Linear(d_model, d_model)"
    for name in ("q_proj", "k_proj", "v_proj", "out_proj")
)
QUERY, KEY, VALUE = PROJECT = tuple(f"{name} = self.{name}_proj(x)" for name in "qkv")
VISIBLE = "visible = causal_mask"
IF_PAD = "if pad_mask is not None:"
KEYS = "keys = pad_mask[:, None, :]"
JOIN = "visible = keys if visible is None else visible & keys"
ATTEND = "context, _ = scaled_dot_product_attention(q, k, v, visible)"
OUT = "return self.out_proj(context)"

Edits = list[tuple[str, str]]


def _causal_as(view: str) -> tuple[str, str]:
    return VISIBLE, f"visible = None if causal_mask is None else {view}"


def _attending(query: str, key: str, value: str) -> Edits:
    return [(ATTEND, ATTEND.replace("q, k, v", f"{query}, {key}, {value}"))]


def _apart(causal_slip: str, pad_slip: str) -> Edits:
    """Let the layer's masks be applied one after the other, each by a line of its own.

    The joint mask carries its two parts along, so that the lines sit where the
    function fills and go together with mistakes elsewhere in it. A mask
    without parts counts as causal.
    """
    join = JOIN.replace("visible =", "joint =", 1)
    fill = [
        'causal = getattr(mask, "causal", mask)',
        'keys = getattr(mask, "keys", None)',
        "if causal is not None:",
        f"    {_of_mask(causal_slip, 'causal')}",
        "if keys is not None:",
        f"    {_of_mask(pad_slip, 'keys')}",
    ]
    return [
        (JOIN, f"{join}\njoint.causal, joint.keys = visible, keys\nvisible = joint"),
        (FILL, "\n".join(fill)),
    ]


def _of_mask(line: str, name: str) -> str:
    return re.sub(r"\bmask\b", name, line)


def _slips(slip: str, *, both: bool = False) -> list[Edits]:
    """Make a slip with the function's mask, or with one of the layer's two."""
    found = [[(FILL, slip)], _apart(slip, FILL), _apart(FILL, slip)]
    return [*found, _apart(slip, slip)] if both else found


def _fill(value: str) -> str:
    return FILL.replace(INF, value)


def _with_and_without_layer(made: str, edit: tuple[str, str]) -> list[Edits]:
    """Leave a projection unused, or do without it altogether."""
    return [[edit], [(made, ""), edit]]


def _raw(index: int, *, bias: bool) -> tuple[str, str]:
    """Multiply by the weight of a Linear as it is stored, (out, in)."""
    name = "qkv"[index]
    add = f" + self.{name}_proj.bias" if bias else ""
    return PROJECT[index], f"{name} = x @ self.{name}_proj.weight{add}"


def _dropped(p: str) -> Edits:
    return [(SOFTMAX, f"{SOFTMAX}\nweights = nn.functional.dropout(weights, {p})")]


def _in_forward(*indices: int) -> Edits:
    """Make some of the projections anew at every call."""
    calls = (*PROJECT, OUT)
    made = "nn.Linear(x.shape[-1], x.shape[-1])"
    layers = ("self.q_proj", "self.k_proj", "self.v_proj", "self.out_proj")
    return [
        edit
        for i in indices
        for edit in ((MAKE[i], ""), (calls[i], calls[i].replace(layers[i], made)))
    ]


def _listed(layers: str, count: int) -> Edits:
    """Hold the projections in `self.layers`, made by the expression `layers`."""
    calls = (*PROJECT, OUT)
    names = ("q_proj", "k_proj", "v_proj", "out_proj")
    edits = [(MAKE[0], f"self.layers = {layers}"), *((made, "") for made in MAKE[1:count])]
    return edits + [(calls[i], calls[i].replace(names[i], f"layers[{i}]")) for i in range(count)]


LINEAR = "nn.Linear(d_model, d_model)"

BUGS = (
    *misplaced_dropout_mistakes(QUERY, VALUE),
    scale_missing(),
    softmax_over_queries((FILL,)),
    bug(
        "mask-ignored",
        variants=[[(FILL, "pass")], [(VISIBLE, "visible = None")], [(IF_PAD, "if False:")]],
        says="a mask has no effect: hidden keys are seen as if it had not been given",
        ask="Follow the mask from the signature: which line makes the scores depend on it?",
    ),
    bug(
        "mask-inverted",
        (FILL, FILL.replace("~", "")),
        variants=[
            *each_and_all(_causal_as("~causal_mask"), (KEYS, KEYS.replace("pad", "~pad"))),
            [(FILL, "scores = scores + mask * -1e9")],
        ],
        fill_lines=(FILL,),
        says="the mask is read the wrong way round: what may be seen is hidden, and the reverse",
        ask="In this kata, does True mean that a key may be seen or that it must not be?",
    ),
    bug(
        "mask-multiplied",
        variants=_slips("scores = scores * mask"),
        fill_lines=(FILL,),
        says="the mask multiplies the scores, so a hidden key keeps score 0, and exp(0) = 1 "
        "still takes weight",
        ask="After your mask, what weight does softmax give to a hidden key?",
    ),
    bug(
        "mask-fill-zero",
        variants=_slips(_fill("0.0")),
        fill_lines=(FILL,),
        says="hidden scores become 0, and exp(0) = 1 still takes weight",
        ask="Which score does softmax turn into a weight of nothing?",
    ),
    bug(
        "mask-fill-1e-9",
        variants=_slips(_fill("-1e-9")),
        fill_lines=(FILL,),
        says="hidden scores become -1e-9, which is next to 0, so hidden keys keep a weight",
        ask="How large is the number you fill in, and what is its exponential?",
    ),
    bug(
        "mask-added-01",
        variants=_slips("scores = scores + mask", both=True),
        fill_lines=(FILL,),
        says="the mask is added as 0 and 1, which only shifts the scores a little",
        ask="By how much does the score of a hidden key change when you add your mask?",
    ),
    bug(
        "returns-swapped",
        (RETURN, "return weights, output"),
        says="the function returns the weights first and the output second",
        ask="In which order does the docstring list what comes back?",
    ),
    bug(
        "returns-output-only",
        (RETURN, "return output"),
        fill_lines=(FILL,),
        says="the function returns the output alone; the weights are asked for as well",
        ask="How many tensors does the docstring promise?",
    ),
    bug(
        "returns-scores",
        (RETURN, "return output, scores"),
        fill_lines=(FILL,),
        says="the second result holds the scores before softmax, not the weights",
        ask="What should a row of the second result sum to?",
    ),
    bug(
        "mask-on-query-rows",
        (KEYS, "keys = pad_mask[:, :, None]"),
        fill_lines=(FILL,),
        says="the padding mask lies over the queries (rows), so real tokens still see padding",
        ask="In scores (B, L, L), which axis counts the tokens that are looked at?",
    ),
    bug(
        "mask-first-row-for-all",
        (KEYS, "keys = pad_mask[:1, None, :]"),
        fill_lines=(FILL,),
        says="the padding of the first sequence is applied to the whole batch",
        ask="If the second sequence is shorter than the first, which mask hides its padding?",
    ),
    bug(
        "causal-always-applied",
        (
            VISIBLE,
            "visible = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device)"
            ".tril()\nif causal_mask is not None:\n    visible = visible & causal_mask",
        ),
        variants=[
            [
                (
                    VISIBLE,
                    "visible = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, "
                    "device=x.device).tril()",
                )
            ],
            [
                (
                    VISIBLE,
                    "visible = causal_mask\nif visible is not None:\n"
                    "    visible = torch.ones_like(visible).tril()",
                )
            ],
            [
                (
                    VISIBLE,
                    "visible = causal_mask\nif visible is None:\n    visible = "
                    "torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).tril()",
                )
            ],
        ],
        fill_lines=(FILL,),
        says="the layer makes a causal mask of its own, other than the one that it is handed",
        ask="What should a token see when no causal mask is handed in, or another one than the "
        "triangle?",
    ),
    bug(
        "all-masked-row-nan",
        (KEYS, "keys = pad_mask[:, None, :] & pad_mask[:, :, None]"),
        says="padded queries come out as NaN, as they do where every key of a row is hidden with "
        "-inf, and NaN spreads through the gradients",
        ask="What does softmax return for a row in which every score is -inf?",
    ),
    bug(
        "mask-transposed",
        variants=[
            [(FILL, FILL.replace("~mask", "~mask.transpose(-2, -1)"))],
            [_causal_as("causal_mask.T")],
        ],
        fill_lines=(FILL,),
        says="the mask is transposed: what queries may see and what keys may be seen by change "
        "places, and the future leaks",
        ask="In an (L, S) mask, does a row belong to a query or to a key?",
    ),
    bug(
        "mask-after-softmax",
        (FILL, "pass"),
        (SOFTMAX, f"{SOFTMAX}\n{IF_MASK}\n    weights = weights * mask"),
        variants=[
            [
                (FILL, "pass"),
                (SOFTMAX, f"{SOFTMAX}\n{IF_MASK}\n    weights = weights.masked_fill(~mask, {INF})"),
            ]
        ],
        fill_lines=(FILL,),
        says="the mask comes after softmax, so the weights that are left no longer sum to one",
        ask="After your mask, what does a row of weights sum to?",
    ),
    bug(
        "mask-shape-2d",
        (KEYS, "keys = pad_mask"),
        says="the padding mask (B, L) meets scores (B, L, L) as it is, so its batch axis lines "
        "up with the queries: an exception, or a wrong mask where B = L",
        ask="Aligned from the right, which axes of the scores do those of (B, L) meet?",
    ),
    bug(
        "mask-unsqueezed-twice",
        variants=[
            [(KEYS, "keys = pad_mask[:, None, None, :]")],
            [_causal_as("causal_mask[None, None]")],
            [(FILL, FILL.replace("~mask", "~mask.unsqueeze(1)"))],
            [(FILL, FILL.replace("~mask", "~mask.unsqueeze(0)"))],
        ],
        fill_lines=(FILL,),
        says="the mask gets an axis too many (one for heads, say), so the result gains an axis "
        "or the shapes clash",
        ask="How many axes do your scores have here, and how many has the mask?",
    ),
    bug(
        "masks-joined-by-or",
        (JOIN, JOIN.replace("&", "|")),
        says="with both masks, a key is visible as soon as one of them allows it",
        ask="May a query see a padded token that lies in its past?",
    ),
    bug(
        "masks-not-joined",
        (JOIN, "visible = keys"),
        variants=[[(IF_PAD, "if pad_mask is not None and causal_mask is None:")]],
        says="with both masks, only one of them is used",
        ask="Walk through your code with both masks given: does each of them get its turn?",
    ),
    bug(
        "mask-if-truthiness",
        variants=[
            [(IF_MASK, "if mask:")],
            *each_and_all(
                (IF_PAD, "if pad_mask:"),
                (VISIBLE, "visible = causal_mask if causal_mask else None"),
            ),
        ],
        says="`if mask:` asks a whole tensor for one truth value, which raises; whether a mask "
        "was given at all is another question",
        ask="What does Python do with `if t:` when t is a tensor of many elements?",
    ),
    bug(
        "mask-float-dtype",
        variants=[
            [(FILL, FILL.replace("~mask", "1 - mask"))],
            [(FILL, FILL.replace("~mask", "(~mask).float()"))],
            [(KEYS, "keys = 1 - pad_mask[:, None, :]")],
            [_causal_as("1 - causal_mask")],
        ],
        says="the mask is treated as numbers, but it is bool: it cannot be subtracted, and "
        "masked_fill takes bool only",
        ask="Which dtype does the mask have, and which operator flips a tensor of that dtype?",
    ),
    bug(
        "mask-result-discarded",
        (FILL, FILL.removeprefix("scores = ")),
        says="masked_fill returns a new tensor, which is thrown away, so the mask has no effect",
        ask="Does `t.masked_fill(...)` change t?",
    ),
    bug(
        "mask-times-minus-1e-9",
        (FILL, "scores = scores + ~mask * -1e-9"),
        says="the mask is added times -1e-9, which is next to nothing, so it has no effect",
        ask="How large is the number you add to a hidden score?",
    ),
    bug(
        "mask-bool-tensor-filled",
        (FILL, f"scores = scores + mask.masked_fill(~mask, {INF})"),
        says="-inf is filled into the bool mask, where it becomes True, so every score is "
        "shifted by one and the mask has no effect",
        ask="What can a bool tensor hold once you fill -inf into it?",
    ),
    bug(
        "mask-times-minus-inf",
        (FILL, f"scores = scores + ~mask * {INF}"),
        says="the mask is multiplied by -inf before it is added, and 0 * inf is NaN",
        ask="What is 0 times infinity?",
    ),
    bug(
        "mask-fill-plus-inf",
        variants=[*_slips(_fill('float("inf")')), [(FILL, _fill("1e9"))]],
        says="hidden scores become huge and positive, so hidden keys get all the weight, or NaN",
        ask="What is the exponential of the number you fill in?",
    ),
    bug(
        "mask-fill-too-small",
        (FILL, _fill("-1.0")),
        variants=[
            *([(FILL, _fill(value))] for value in ("-10.0", "-20.0", "-100.0", "-1e3", "-1e4")),
            [(FILL, "scores = scores + ~mask * -1e4")],
        ],
        says="the number filled in or added is not small enough: hidden keys keep a weight that "
        "shows where the visible scores are low",
        ask="What weight does a hidden key get where all visible scores are below your number?",
    ),
    bug(
        "mask-unbound-when-none",
        (FILL, FILL.replace("scores =", "masked =")),
        (SOFTMAX, SOFTMAX.replace("scores", "masked")),
        says="the masked scores get their name only where a mask is given, so a call without "
        "one fails",
        ask="Without a mask, where does the variable that softmax reads come from?",
    ),
    bug(
        "mask-changed-in-place",
        variants=[
            [(FILL, FILL.replace("~mask", "mask.logical_not_()"))],
            [(KEYS, "keys = ~pad_mask.logical_not_()[:, None, :]")],
            [_causal_as("~causal_mask.logical_not_()")],
            [(JOIN, "if visible is None:\n    visible = keys\nelse:\n    visible &= keys")],
        ],
        says="the caller's mask is written to in place, which spoils it for the next layer",
        ask="After your call, does the caller still hold the mask that was handed in?",
    ),
    bug(
        "mask-wrong-device",
        (
            FILL,
            f"bias = torch.zeros(scores.shape, dtype=scores.dtype).masked_fill(~mask, {INF})\n"
            "scores = scores + bias",
        ),
        says="a tensor made for the mask stays on the CPU, so the call fails on a GPU",
        ask="On which device does a new tensor lie unless you say otherwise?",
    ),
    *scale_mistakes(),
    scale_wrong_vector("k.shape[-2]", "q.shape[-2]", "v.shape[-1]", "q.shape[1]", "q.shape[0]"),
    scale_in_place(PRODUCTS),
    bug(
        "query-key-swapped",
        (PRODUCTS, "scores = k @ q.transpose(-2, -1)"),
        variants=[_attending("k", "q", "v")],
        says="queries and keys change places, so a row of scores belongs to a key",
        ask="In your scores, does a row belong to a query or to a key?",
    ),
    bug(
        "key-uses-q-proj",
        variants=[
            *_with_and_without_layer(MAKE_K, (KEY, "k = self.q_proj(x)")),
            *_with_and_without_layer(MAKE_Q, (QUERY, "q = self.k_proj(x)")),
            [(PRODUCTS, "scores = q @ q.transpose(-2, -1)")],
        ],
        says="queries and keys come out of the same projection, so each token is most like itself",
        ask="Which weights make the queries, and which the keys?",
    ),
    bug(
        "key-value-swapped",
        variants=[
            _attending("q", "v", "k"),
            [(PRODUCTS, PRODUCTS.replace("k", "v")), (MIX, "output = weights @ k")],
        ],
        says="keys and values change places",
        ask="Which of k and v is compared with q, and which is averaged?",
    ),
    bug(
        "value-is-key",
        variants=[[(MIX, "output = weights @ k")], _attending("q", "k", "k")],
        says="the keys are averaged instead of the values",
        ask="What do the weights average?",
    ),
    bug(
        "value-uses-k-proj",
        variants=_with_and_without_layer(MAKE_V, (VALUE, "v = self.k_proj(x)")),
        says="the values come out of the key projection",
        ask="Which weights make the values?",
    ),
    bug(
        "value-uses-q-proj",
        variants=_with_and_without_layer(MAKE_V, (VALUE, "v = self.q_proj(x)")),
        says="the values come out of the query projection",
        ask="Which weights make the values?",
    ),
    bug(
        "value-not-projected",
        variants=_with_and_without_layer(MAKE_V, (VALUE, "v = x")),
        says="x itself is averaged; the value projection is left out",
        ask="What are the values made from, and by which layer?",
    ),
    bug(
        "query-not-projected",
        variants=_with_and_without_layer(MAKE_Q, (QUERY, "q = x")),
        says="x itself asks; the query projection is left out",
        ask="What are the queries made from, and by which layer?",
    ),
    bug(
        "key-not-projected",
        variants=_with_and_without_layer(MAKE_K, (KEY, "k = x")),
        says="x itself is compared with; the key projection is left out",
        ask="What are the keys made from, and by which layer?",
    ),
    bug(
        "raw-weight-not-transposed",
        variants=[
            *each_and_all(*(_raw(i, bias=True) for i in range(3))),
            [_raw(i, bias=False) for i in range(3)],
            [(OUT, "return context @ self.out_proj.weight + self.out_proj.bias")],
        ],
        says="x is multiplied by a Linear's weight as it is stored, (out, in), without turning it",
        ask="In which layout does nn.Linear store its weight, and what does calling it compute?",
    ),
    bug(
        "out-proj-missing",
        variants=_with_and_without_layer(MAKE_OUT, (OUT, "return context")),
        says="the output projection is left out",
        ask="Which of the four projections does the output pass through last?",
    ),
    bug(
        "out-proj-activation",
        (OUT, "return torch.relu(self.out_proj(context))"),
        variants=[
            [(line, line.replace("self", "torch.relu(self") + ")") for line in PROJECT],
        ],
        says="a ReLU follows a projection; attention has none",
        ask="Which step of attention cuts off negative numbers?",
    ),
    bug(
        "residual-inside",
        variants=residual_inside(),
        says="the layer adds its input to its output; a residual connection goes around the "
        "layer, not into it",
        ask="If the output projection were all zeros, what should your layer return?",
    ),
    bug(
        "softmax-dim-1",
        (SOFTMAX, SOFTMAX.replace("-1", "1")),
        fill_lines=(FILL,),
        says="softmax runs over axis 1, whatever that axis is: keys, queries or heads",
        ask="For inputs with 2, 3 and 4 dimensions, what does axis 1 of the scores count?",
    ),
    bug(
        "softmax-dim0",
        (SOFTMAX, SOFTMAX.replace("-1", "0")),
        fill_lines=(FILL,),
        says="softmax runs over the first axis, so weights sum to one over the batch",
        ask="What does axis 0 of your scores count?",
    ),
    bug(
        "softmax-implicit-dim",
        (SOFTMAX, "weights = nn.Softmax()(scores)"),
        fill_lines=(FILL,),
        says="softmax is not told its axis and picks one by the number of dimensions",
        ask="Which axis does softmax take when you name none?",
    ),
    bug(
        "softmax-dim-2",
        (SOFTMAX, SOFTMAX.replace("-1", "2")),
        fill_lines=(FILL,),
        says="softmax runs over axis 2, which holds the keys only where there is one leading "
        "dimension",
        ask="Which axis holds the keys when there is one leading dimension more, or none?",
    ),
    *softmax_mistakes((FILL,)),
    bug(
        "softmax-twice",
        (SOFTMAX, "weights = torch.softmax(torch.softmax(scores, dim=-1), dim=-1)"),
        says="softmax is applied twice, which flattens the weights and gives hidden keys some",
        ask="What does softmax make of a row that already sums to one?",
    ),
    bug(
        "softmax-detached",
        (SOFTMAX, f"{SOFTMAX}.detach()"),
        variants=[
            [(MIX, "output = weights.detach() @ v")],
            [(RETURN, "return output, weights.detach()")],
        ],
        says="the weights, as they are used or as they are returned, are cut off from autograd",
        ask="By which paths does a gradient reach q, through the output and through the weights?",
    ),
    bug(
        "key-transpose-reverses-all",
        (PRODUCTS, "scores = q @ k.T"),
        variants=[[(PRODUCTS, "scores = q @ k.t()")]],
        says="the transpose is meant for matrices: with leading dimensions it turns round all "
        "axes, or fails",
        ask="Which two axes have to change places, and which does your transpose touch?",
    ),
    bug(
        "key-not-transposed",
        (PRODUCTS, "scores = q @ k"),
        says="q (L, d) is multiplied by k (S, d) without turning k",
        ask="Which inner sizes must agree in a matrix product, and do they?",
    ),
    bug(
        "leading-dims-assumed",
        variants=[
            [(SOFTMAX, SOFTMAX.replace("-1", "3"))],
            *(
                [(PRODUCTS, products)]
                for products in (
                    "scores = q @ k.transpose(1, 2)",
                    "scores = torch.bmm(q, k.transpose(1, 2))",
                    "scores = torch.bmm(q, k.transpose(-2, -1))",
                    "scores = q @ k.permute(0, 2, 1)",
                    f"batch, length, d = q.shape\n{PRODUCTS}",
                    'scores = torch.einsum("bqd,bkd->bqk", q, k)',
                    "scores = q @ k.transpose(0, 1)",
                    f"batch, heads, length, d = q.shape\n{PRODUCTS}",
                    "scores = q @ k.transpose(2, 3)",
                    'scores = torch.einsum("bhqd,bhkd->bhqk", q, k)',
                )
            ),
        ],
        says="the code takes one fixed number of dimensions for granted; the inputs may have "
        "2, 3 or 4",
        ask="What does your line do with q of shape (L, d), and with (B, H, L, d)?",
    ),
    weights_transposed((FILL,)),
    bug(
        "batch-seq-axis-swapped",
        (
            ATTEND,
            "q, k, v = q.transpose(0, 1), k.transpose(0, 1), v.transpose(0, 1)\n"
            f"{ATTEND}\ncontext = context.transpose(0, 1)",
        ),
        says="batch and sequence change places, so tokens attend to other sequences",
        ask="Which axis of x is the batch in this kata?",
    ),
    bug(
        "dropout-in-eval",
        variants=[
            *(_dropped(p) for p in ("0.1", "0.2", "0.5")),
            [(MIX, "output = nn.functional.dropout(weights, 0.1) @ v")],
        ],
        says="dropout is active in eval mode as well, so the output is random",
        ask="How does F.dropout learn that the layer is not being trained?",
    ),
    bug(
        "param-in-forward",
        variants=[_in_forward(0, 1, 2), _in_forward(0, 1, 2, 3), _in_forward(3)],
        says="a projection is made anew in every call: random weights that no optimiser ever sees",
        ask="When is your nn.Linear created, and how often?",
    ),
    bug(
        "linear-in-python-list",
        variants=[_listed(f"[{LINEAR} for _ in range({count})]", count) for count in (3, 4)],
        says="the projections sit in a plain Python list, where PyTorch does not see them",
        ask="What does list(layer.parameters()) show?",
    ),
    bug(
        "layer-list-multiplied",
        variants=[
            *(_listed(f"nn.ModuleList([{LINEAR}] * {count})", count) for count in (3, 4)),
            [(MAKE_K, "self.k_proj = self.q_proj"), (MAKE_V, "self.v_proj = self.q_proj")],
        ],
        says="one Linear stands in several places, so the projections share their weights",
        ask="How many different weights does your layer hold?",
    ),
    bug(
        "super-init-missing",
        (SUPER, ""),
        says="nn.Module's own constructor is not called first",
        ask="What does nn.Module need before it can hold a layer?",
    ),
    bug(
        "api-typos",
        (MAKE_Q, MAKE_Q.replace("Linear", "linear")),
        variants=[
            [(SCALE, "scores = scores / torch.sqrt(q.shape[-1])")],
            [(SOFTMAX, SOFTMAX.replace("torch", "F"))],
            [(PRODUCTS, "scores = q @ k.transpose()")],
        ],
        says="torch has no such name, or does not take such an argument",
        ask="What do the last line of the exception and the documentation of that call say?",
    ),
)

KATA = Kata(
    number=2,
    stem="kata02_single_head_attention",
    title="Single-head attention",
    minutes=6,
    cap_minutes=12,
    targets=(
        Target(FUNCTION, "function", ("q", "k", "v", "mask")),
        Target(LAYER, "module", ("d_model",), ("x", "causal_mask", "pad_mask")),
    ),
    build=build,
    checks=CHECKS,
    bugs=BUGS,
    equal=(
        # Rows of padded queries are free, so a mask that hides only those does nothing.
        (
            "mask-on-query-rows",
            "mask-ignored",
            "mask-result-discarded",
            "mask-times-minus-1e-9",
            "mask-bool-tensor-filled",
        ),
        ("mask-multiplied", "mask-fill-zero", "mask-fill-1e-9"),
        ("value-is-key", "value-uses-k-proj"),
    ),
    hints=(
        "Attention is a weighted average. For each query, the weights say how well each key "
        "matches it; what is averaged are the values.",
        "There are five moves: products, scale, mask, softmax, average. Decide for each on which "
        "axis it works. The mask has to act before softmax, and softmax has to see, for one "
        "query, all keys.",
        "Write the shapes down: q (..., L, d) and k (..., S, d) give scores (..., L, S). Only the "
        "last two axes of k change places, so count axes from the end. weights (..., L, S) and "
        "v (..., S, dv) give (..., L, dv).",
        "The layer's masks speak of two things: causal_mask (L, L) of pairs, pad_mask (B, L) of "
        "keys. Give pad_mask an axis of size 1 where the queries are, and both broadcast to "
        "(B, L, L). True means visible, so the two go together by a logical operation.",
        "Nearly code: scores = product of q with k turned, over the root of its last size; where "
        "the mask is False put a number whose exponential is 0; weights = softmax over the last "
        "axis; return the product of weights with v, then the weights. Layer: three projections, "
        "one joint mask, the function, one projection.",
    ),
    questions=(
        Question(
            "Why are the scores divided by the square root of d, and not by d?",
            (
                "the dot product of d independent terms of variance 1 has variance d",
                "dividing by sqrt(d) brings the standard deviation back to 1",
                "large scores saturate softmax, and its gradient vanishes",
                "dividing by d would make the weights nearly uniform as d grows",
            ),
        ),
        Question(
            "Softmax runs over which axis, and what goes wrong over the other one?",
            (
                "over the keys, so that the weights of one query sum to one",
                "over the queries the columns sum to one, and the output is no average",
                "a causal mask then still lets the future in through the normaliser",
                "square inputs keep the shape, so a shape check sees nothing",
            ),
        ),
        Question(
            "Why does multiplying the scores by a 0/1 mask leak?",
            (
                "a hidden score becomes 0, and exp(0) = 1",
                "softmax needs -inf, or a very negative number, for a weight of zero",
                "where the other scores are negative, the hidden key even wins",
            ),
        ),
        Question(
            "-inf, -1e9 or finfo.min: when does the choice matter?",
            (
                "a row that is hidden completely: -inf gives NaN, the finite ones an average",
                "-1e9 does not fit into float16, finfo.min does",
                "adding two masks of finfo.min overflows to -inf",
                "with at least one visible key all three give weight 0",
            ),
        ),
        Question(
            "What are time and memory of attention in the sequence length, and what helps?",
            (
                "O(L S d) time and O(L S) memory for the scores",
                "flash attention never stores the score matrix: blocks and a running maximum",
                "a KV cache makes decoding one token O(S) instead of O(S^2)",
                "local or sparse attention limits which keys are looked at",
            ),
        ),
        Question(
            "Can you mask after softmax instead of before?",
            (
                "multiplying weights by the mask leaves rows that do not sum to one",
                "renormalising afterwards gives the same values",
                "it underflows to 0 / 0 where hidden scores are far above the visible ones",
            ),
        ),
        Question(
            "Why three projections of the same x, and why one more at the end?",
            (
                "what a token looks for, what it offers and what it passes on are different things",
                "with q = k the scores are symmetric, and each token tends to match itself",
                "the output projection mixes the features back into the residual stream",
                "with one head it could be merged into v_proj; with several it mixes the heads",
            ),
        ),
        Question(
            "Which tests would you write, and what do shape checks miss?",
            (
                "rows of weights sum to one; hidden keys have weight exactly 0",
                "changing a hidden key or a future token leaves the output alone",
                "L different from S and d different from dv, so that swapped axes show",
                "swapped softmax axis, missing scale and leaking masks all keep the shape",
            ),
        ),
    ),
)
