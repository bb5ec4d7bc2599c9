"""kata7: cases, checks and known bugs of the causal mask and the decoder layer."""

from __future__ import annotations

from collections.abc import Sequence

from grader.mistakes.dropping import (
    dropout_share_mistakes,
    dropping_mistakes,
    unscaled_mistakes,
)
from grader.model import Bug, Case, Check, Edit, Kata, Question, Recipe, Role, Target
from grader.patching import bug, each_and_all
from grader.properties import (
    default_dropout,
    distant_features,
    dropout_share,
    earlier_calls,
    equal_features,
    instances,
    left_out,
    next_to_no_dropout,
)
from grader.strategies import (
    DROPS,
    attention_roles,
    attention_weights,
    causal,
    integer,
    linear_weights,
    norm_weights,
    numbers,
    others,
    padding,
    prefix,
    strict,
    with_blind_queries,
    with_distant_features,
    with_dropout_seen,
    with_equal_features,
    with_last_token_changed,
    with_padding_changed,
    with_second_token_empty,
    with_tokens_changed,
    word,
)

MASK, LAYER = "causal_mask", "DecoderLayer"
# The two layers of a sublayer by which it is seen how much of it dropout leaves.
SEEN = {
    "self": ("self_attn.v_proj", "self_attn.out_proj"),
    "cross": ("cross_attn.v_proj", "cross_attn.out_proj"),
    "network": ("linear1", "linear2"),
}
# Which masks a case has: c causal, p padding of x, m padding of the memory.
# Under some of the last, the first tokens see nothing.
MASKS = {
    "none": "",
    "causal": "c",
    "pad": "p",
    "memory": "m",
    "both": "cp",
    "all": "cpm",
    "left": "pm",
    "holes": "pm",
    "prefix": "xm",  # a mask of the caller's own choice, not to be built anew
    "others": "om",
    "strict": "sm",
    "both_left": "cp",
    "both_prefix": "xp",
    "both_strict": "sp",
}
# Sublayers that return zeros: where two mistakes are made at once, one of them shows alone.
OFF = {
    "none": (),
    "self": ("self_attn.out_proj",),
    "cross": ("cross_attn.out_proj",),
    "network": ("linear2",),
    "all": ("self_attn.out_proj", "cross_attn.out_proj", "linear2"),
}


def build(recipe: Recipe) -> Case:
    """Build a call of either target; a recipe with "of": "mask" is for the function."""
    return _mask(recipe) if word(recipe, "of", "layer") == "mask" else _layer(recipe)


def _mask(recipe: Recipe) -> Case:
    import torch

    length, where = integer(recipe, "length", 5), word(recipe, "device", "none")
    before = ({"length": length, "device": None},) if integer(recipe, "earlier", 0) else ()
    devices = {"none": None, "cpu": torch.device("cpu")}
    return Case(
        target=MASK,
        inputs={"length": length, "device": devices[where]},
        before=before,
        returns=((length, length),),
    )


def _layer(recipe: Recipe) -> Case:
    """Build one call with x (B, L, D) and memory (B, S, D), D = heads * head_dim."""
    batch, length = integer(recipe, "batch", 3), integer(recipe, "length", 5)
    source, seed = integer(recipe, "source", 7), integer(recipe, "seed", 1)
    heads, head_dim = integer(recipe, "heads", 2), integer(recipe, "head_dim", 6)
    # An answer may return its attention weights too; they are told apart by shape.
    while heads * head_dim in (length, source):
        head_dim += 1
    d_model = heads * head_dim
    d_ff = integer(recipe, "d_ff", 2 * d_model + 1)
    times, mask = integer(recipe, "times", 1), word(recipe, "mask", "none")
    kinds = MASKS[mask]
    masks = {"c": causal, "x": prefix, "o": others, "s": strict}
    seen = next((masks[kind] for kind in kinds if kind in masks), None)
    shown = "inner" if "c" in kinds or mask.startswith("both") else "right"
    side = {"left": "left", "both_left": "left", "holes": "holes"}.get(mask, shown)
    pad_mask = padding(seed, batch, length, side=side) if "p" in kinds else None
    memory_pad_mask = padding(seed + 1, batch, source, side=side) if "m" in kinds else None
    tokens = {
        "x": numbers(seed, "x", batch, length, d_model) * times,
        "memory": numbers(seed, "memory", batch, source, d_model) * times,
    }
    given = {
        "causal_mask": seen(length) if seen else None,
        "pad_mask": pad_mask,
        "memory_pad_mask": memory_pad_mask,
    }
    weights = {
        **attention_weights(seed, d_model, "self_attn."),
        **attention_weights(seed, d_model, "cross_attn."),
        **linear_weights(seed, "linear1", (d_ff, d_model), scale=1.5),
        **linear_weights(seed, "linear2", (d_model, d_ff), scale=1.5),
        **norm_weights(seed, "norm1", d_model),
        **norm_weights(seed, "norm2", d_model),
        **norm_weights(seed, "norm3", d_model),
    }
    for layer in OFF[word(recipe, "off", "none")]:
        weights |= {name: 0 * value for name, value in weights.items() if name.startswith(layer)}
    case = Case(
        target=LAYER,
        init={
            "d_model": d_model,
            "num_heads": heads,
            "d_ff": d_ff,
            "dropout": DROPS[word(recipe, "dropout", "none")],
        },
        inputs=tokens | given,
        weights=weights,
        roles=(
            *attention_roles("self_attn.", "self"),
            *attention_roles("cross_attn.", "cross"),
            Role("linear1", "ffn_in"),
            Role("linear2", "ffn_out"),
            *(Role(f"norm{number}", "norm") for number in (1, 2, 3)),
        ),
        returns=((batch, length, d_model),),
        train=word(recipe, "mode", "eval") == "train",
        dtype=word(recipe, "dtype", "float64"),
        # The eps of the norms is free, and shows in the fifth digit; where inputs are
        # large, float32 arithmetic inside may be further off.
        tolerance=1e-2 if times > 1 else 1e-4,
        compared=None if pad_mask is None else pad_mask[:, :, None],
        banned=frozenset({"Transformer"}),
    )
    case = with_blind_queries(case)
    if integer(recipe, "flat", 0):
        return with_equal_features(case)
    if integer(recipe, "distant", 0):
        return with_distant_features(case)
    part = word(recipe, "seen", "none")
    case = case if part == "none" else with_dropout_seen(case, *SEEN[part])
    return with_second_token_empty(case) if integer(recipe, "one_value", 0) else case


def with_memory_padding_changed(case: Case) -> Case:
    """Change every padded token of the memory; the output must not notice."""
    return with_tokens_changed(case, "memory", ~case.inputs["memory_pad_mask"])


SIZES = {
    "batch": (1, 3),
    "length": (1, 5),
    "source": (1, 5),
    "heads": (1, 3),
    "head_dim": (2, 4),
    "seed": (0, 999),
}

# Large enough to measure shares by; a raw parameter is read by its shape.
MEASURED: Recipe = {
    "mode": "train",
    "batch": 4,
    "length": 64,
    "source": 48,
    "head_dim": 16,
    "d_ff": 40,
}

CHECKS = (
    Check(
        "mask_shows_the_past",
        "causal_mask is True for a token itself and what came before it",
        MASK,
        "values",
        bank=(
            {"of": "mask", "length": 5},
            {"of": "mask", "length": 2, "device": "cpu"},
            {"of": "mask", "length": 1},
            {"of": "mask", "length": 70},
            {"of": "mask", "length": 600},
        ),
        draws={"of": ["mask"], "length": (1, 9)},
        examples=9,
    ),
    Check(
        "mask_follows_the_device",
        "causal_mask is made on the device it is asked for",
        MASK,
        "device",
        bank=(
            {"of": "mask", "length": 4, "device": "cpu"},
            {"of": "mask", "length": 13, "device": "none"},
            {"of": "mask", "length": 6, "device": "cpu", "earlier": 1},
        ),
    ),
    Check(
        "mask_repeats",
        "asked again, causal_mask is the same",
        MASK,
        "repeats",
        # A length of its own: an answer that keeps its masks keeps what is written into them.
        bank=({"of": "mask", "length": 11},),
    ),
    Check(
        "layers_are_found",
        "the layer holds two attentions, three norms and the two layers of the network",
        LAYER,
        "layers",
        bank=({},),
    ),
    Check(
        "values_match",
        "without masks, the output is the decoder layer's",
        LAYER,
        "values",
        bank=(
            {},
            {"blank": 1, "seed": 16},
            {"batch": 2, "length": 4, "source": 3, "heads": 3, "head_dim": 2, "seed": 2},
            {"length": 5, "source": 5, "d_ff": 7, "seed": 3},
            {"length": 1, "seed": 4},
            {"batch": 1, "source": 1, "heads": 1, "seed": 5},
            {"heads": 1, "head_dim": 1, "seed": 17},
            {"off": "self", "seed": 6},
            {"off": "cross", "seed": 7},
            {"off": "network", "seed": 8},
            {"off": "all", "seed": 9},
            # As large as people run it, one size at a time.
            {"batch": 9, "length": 3, "source": 2, "seed": 72},
            {"batch": 1, "length": 40, "source": 36, "seed": 73},
            {"batch": 1, "length": 3, "source": 2, "heads": 8, "head_dim": 8, "seed": 74},
        ),
        draws=SIZES,
        examples=100,
    ),
    Check(
        "future_does_not_leak",
        "a token cannot see the tokens after it",
        LAYER,
        "unchanged",
        vary=with_last_token_changed,
        bank=({"mask": "causal", "seed": 11},),
        draws={**SIZES, "length": (2, 5), "mask": ["causal", "all"]},
        examples=8,
    ),
    Check(
        "padding_is_ignored",
        "no token sees the padding of x",
        LAYER,
        "unchanged",
        vary=with_padding_changed,
        bank=({"mask": "pad", "seed": 12},),
        draws={**SIZES, "length": (2, 5), "mask": ["pad", "holes"]},
        examples=8,
    ),
    Check(
        "memory_padding_is_ignored",
        "no token sees the padding of the memory",
        LAYER,
        "unchanged",
        vary=with_memory_padding_changed,
        bank=({"mask": "memory", "seed": 13},),
        draws={**SIZES, "source": (2, 5), "mask": ["memory", "holes"]},
        examples=8,
    ),
    Check(
        "masks_are_applied",
        "with masks, every token sees exactly what it may",
        LAYER,
        "values",
        bank=(
            {"mask": "causal", "seed": 11},
            {"mask": "pad", "seed": 12},
            {"mask": "memory", "seed": 13},
            {"mask": "all", "seed": 14},
            {"mask": "all", "length": 5, "source": 5, "seed": 15},
            {"mask": "all", "batch": 5, "length": 5, "source": 7, "seed": 16},
            {"mask": "all", "batch": 4, "length": 4, "source": 4, "heads": 3, "seed": 17},
            {"mask": "holes", "length": 7, "source": 5, "seed": 18},
            {"mask": "left", "batch": 2, "length": 6, "source": 4, "seed": 19},
            {"mask": "prefix", "length": 6, "seed": 79},
            {"mask": "others", "length": 4, "seed": 81},
            {"mask": "strict", "seed": 84},
            {"mask": "both_left", "seed": 83},
            {"mask": "both_prefix", "seed": 86},
            {"mask": "both_strict", "seed": 87},
            {"mask": "all", "empty": 1, "seed": 80},
            {"mask": "holes", "batch": 6, "empty": 1, "seed": 120},
            {"mask": "both_prefix", "batch": 6, "empty": 1, "seed": 88},
            {"mask": "all", "batch": 1, "length": 1, "source": 3, "heads": 1, "seed": 20},
            # One side masked and not the other, where their lengths are equal.
            {"mask": "both", "length": 5, "source": 5, "seed": 75},
            {"mask": "memory", "length": 5, "source": 5, "seed": 76},
            {"mask": "all", "batch": 9, "length": 3, "source": 4, "seed": 77},
            {"mask": "all", "batch": 2, "length": 40, "source": 36, "seed": 78},
            {"mask": "all", "batch": 2, "length": 3, "source": 4, "heads": 8, "head_dim": 8},
        ),
        draws={**SIZES, "mask": [word for word in MASKS if word != "none"]},
        examples=40,
        after=("values_match",),
    ),
    Check(
        "large_inputs_stay_finite",
        "large inputs give finite, right values",
        LAYER,
        "values",
        bank=({"times": 60, "seed": 31},),
        after=("values_match",),
    ),
    equal_features(LAYER, {"flat": 1, "seed": 45}, after=("values_match",)),
    Check(
        "gradients_match",
        "gradients reach x, the memory and every weight",
        LAYER,
        "gradients",
        bank=({"seed": 41}, {"mask": "all", "seed": 42}),
        draws={**SIZES, "mask": ["none", "all"]},
        examples=10,
        after=("values_match", "masks_are_applied"),
    ),
    Check(
        "dropout_sits_before_the_add",
        "in training, dropout falls on what a sublayer returns, before it is added",
        LAYER,
        "values",
        bank=(
            {"mode": "train", "dropout": "all", "seed": 51},
            {"mode": "train", "dropout": "all", "mask": "all", "batch": 2, "seed": 52},
        ),
        draws={**SIZES, "mode": ["train"], "dropout": ["all"]},
        examples=10,
    ),
    Check(
        "training_is_the_same_without_dropout",
        "in training, a dropout of 0 changes nothing",
        LAYER,
        "undropped",
        bank=(
            {"mode": "train", "mask": "all", "seed": 53},
            {"mode": "train", "seed": 81},
            {"mode": "train", "mask": "causal", "seed": 82},
            {"mode": "train", "mask": "memory", "seed": 83},
        ),
        after=("values_match",),
    ),
    dropout_share(
        LAYER,
        *(
            {**MEASURED, "seen": sublayer, "dropout": rate}
            for rate in ("some", "none")
            for sublayer in SEEN
        ),
        after="dropout_sits_before_the_add",
    ),
    default_dropout(LAYER, {**MEASURED, "seen": "network"}, after="dropout_keeps_the_size"),
    Check(
        "attentions_read_everything",
        "in training, both attentions still read the whole of what they are given",
        LAYER,
        "struck",
        bank=tuple(
            {
                "seen": sublayer,
                "one_value": one_value,
                "mode": "train",
                "dropout": "some",
                "batch": 64,
                "length": 1,
                "source": 2,
                "heads": 1,
                "head_dim": 16,
                "d_ff": 40,
            }
            for sublayer, one_value in (("self", 0), ("cross", 1))
        ),
        after=("dropout_sits_before_the_add",),
    ),
    Check(
        "dropout_ends_with_training",
        "after .eval(), nothing is dropped",
        LAYER,
        "values",
        bank=({"dropout": "all", "mask": "all", "seed": 54},),
        after=("values_match", "masks_are_applied"),
    ),
    Check(
        "half_dropout_ends_with_training",
        "after .eval(), a dropout of 0.5 drops nothing",
        LAYER,
        "values",
        # No bank: what is dropped depends on the order of the draws, so no bug is known by it.
        bank=(),
        draws={**SIZES, "dropout": ["half"]},
        examples=5,
        after=("dropout_ends_with_training",),
    ),
    next_to_no_dropout(
        LAYER,
        {"mode": "train", "mask": "all", "seed": 46},
        after="training_is_the_same_without_dropout",
    ),
    Check(
        "inputs_are_kept",
        "x, the memory and the masks are not changed in place",
        LAYER,
        "inputs_kept",
        bank=(
            {"mask": "all", "seed": 14},
            {"batch": 1, "source": 1, "heads": 1, "seed": 5},
            {"mask": "all", "batch": 1, "seed": 6},
            {"mask": "left", "seed": 60},
            {"mask": "all", "empty": 1, "seed": 61},
            *({"mask": mask, "seed": 59} for mask in ("none", "pad", "causal", "memory")),
            {"mask": "strict", "seed": 62},
            {"mask": "both_left", "seed": 63},
        ),
    ),
    Check(
        "repeats",
        "a second call returns the same",
        LAYER,
        "repeats",
        bank=({"mask": "all", "seed": 56},),
    ),
    earlier_calls(
        LAYER,
        {"mask": "all", "seed": 71},
        {"length": 1, "seed": 72},
        masks=True,
        after=("values_match", "masks_are_applied"),
    ),
    instances(
        LAYER,
        {"mask": "all", "seed": 93},
        after=("values_match", "masks_are_applied"),
    ),
    Check(
        "works_in_float32",
        "float32, as people run it, gives the same",
        LAYER,
        "values",
        bank=(
            {"dtype": "float32", "mask": "all", "seed": 57},
            {"dtype": "float32", "seed": 84},
            {"dtype": "float32", "mask": "causal", "seed": 85},
            {"dtype": "float32", "mask": "holes", "seed": 86},
        ),
        after=("values_match",),
    ),
    Check(
        "takes_any_layout",
        "tensors that are transposed views give the same",
        LAYER,
        "values",
        bank=(
            {"transposed": 1, "length": 11, "source": 11, "head_dim": 5, "seed": 87},
            {"transposed": 1, "mask": "all", "batch": 5, "seed": 88},
        ),
        after=("values_match", "masks_are_applied"),
    ),
    Check(
        "runs_on_any_device",
        "everything follows the input to a GPU",
        LAYER,
        "device",
        bank=(
            {"mask": "all", "seed": 58},
            {"mask": "all", "mode": "train", "dropout": "half", "seed": 58},
            {"mask": "all", "after_others": 1, "seed": 59},
        ),
        after=("masks_are_applied",),
    ),
    Check(
        "written_by_hand",
        "the layer is put together, not taken from torch",
        LAYER,
        "banned",
        bank=({"mask": "all", "seed": 59}, {"seed": 60}),
    ),
    left_out(
        MASK,
        "device=None",
        {"of": "mask", "length": 3},
        ("mask_shows_the_past",),
        "mask_defaults",
    ),
    left_out(
        LAYER,
        "dropout=0.1 and the masks' None",
        {"seed": 60},
        ("values_match", "dropout_ends_with_training"),
    ),
    distant_features(LAYER, {"seed": 47}, after=("works_in_float32",)),
    Check(
        "half_precision",
        "does not work in half precision (autocast, GPU inference)",
        LAYER,
        "half",
        bank=({"dtype": "float16", "mask": "all", "seed": 61},),
        required=False,
        after=("masks_are_applied",),
    ),
    Check(
        "no_loop_over_batch",
        "a Python loop over the batch; every layer takes the whole batch at once",
        LAYER,
        "loops",
        bank=({"grow": "batch", "batch": 1, "seed": 62},),
        required=False,
        after=("values_match",),
    ),
    Check(
        "no_loop_over_tokens",
        "a Python loop over the tokens; every layer takes all of them at once",
        LAYER,
        "loops",
        bank=({"grow": "length", "length": 2, "seed": 63},),
        required=False,
        after=("values_match",),
    ),
)

# --- the solution's lines that bugs are planted in ---------------------------

EVERYTHING = "everything = torch.ones(length, length, dtype=torch.bool, device=device)"
TRIL = "return everything.tril()"
SELF = "attended = self.self_attn(x, causal_mask, pad_mask)"
CROSS = "crossed = self.cross_attn(after_self, memory, memory_pad_mask)"
HIDDEN = "hidden = torch.relu(self.linear1(after_cross))"
MAPPED = "mapped = self.linear2(hidden)"
ADD1 = "attended = x + self.dropout(attended)"
ADD2 = "crossed = after_self + self.dropout(crossed)"
ADD3 = "mapped = after_cross + self.dropout(mapped)"
NORM1 = "after_self = self.norm1(attended)"
NORM2 = "after_cross = self.norm2(crossed)"
NORM3 = "return self.norm3(mapped)"
MAKE_SELF = "self.self_attn = MultiHeadSelfAttention(d_model, num_heads)"
MAKE_CROSS = "self.cross_attn = MultiHeadCrossAttention(d_model, num_heads)"
MAKE_LINEAR1 = "self.linear1 = nn.Linear(d_model, d_ff)"
MAKE_LINEAR2 = "self.linear2 = nn.Linear(d_ff, d_model)"
MAKE_NORM1 = "self.norm1 = nn.LayerNorm(d_model)"
MAKE_NORM2 = "self.norm2 = nn.LayerNorm(d_model)"
MAKE_NORM3 = "self.norm3 = nn.LayerNorm(d_model)"

Edits = Sequence[tuple[str, str]]


def _self(arguments: str) -> tuple[str, str]:
    return SELF, f"attended = self.self_attn({arguments})"


def _cross(arguments: str) -> tuple[str, str]:
    return CROSS, f"crossed = self.cross_attn({arguments})"


def _norms(first: str, second: str, third: str) -> list[tuple[str, str]]:
    """Apply other norms in the three places; None in a place leaves its norm out."""
    return [
        (line, f"{start}self.{norm}({value})" if norm else f"{start}{value}")
        for line, start, value, norm in (
            (NORM1, "after_self = ", "attended", first),
            (NORM2, "after_cross = ", "crossed", second),
            (NORM3, "return ", "mapped", third),
        )
        if norm not in line or not norm
    ]


def _without(*lines: str) -> list[tuple[str, str]]:
    return [(line, "") for line in lines]


def _places(*places: Edits) -> list[list[tuple[str, str]]]:
    """Return the variants of a slip of several lines made everywhere, or in one place."""
    return [[edit for place in places for edit in place], *[list(place) for place in places]]


def _norm_before_add(term: str) -> list[list[tuple[str, str]]]:
    """Add the norm of what a sublayer returns, in the form of `term`, and apply none to the sum."""
    return _places(
        [
            (ADD1, "attended = " + term.format(norm="norm1", value="attended")),
            (NORM1, "after_self = x + attended"),
        ],
        [
            (ADD2, "crossed = " + term.format(norm="norm2", value="crossed")),
            (NORM2, "after_cross = after_self + crossed"),
        ],
        [
            (ADD3, "mapped = " + term.format(norm="norm3", value="mapped")),
            (NORM3, "return after_cross + mapped"),
        ],
    )


def _made_with(option: str) -> list[tuple[str, str]]:
    """Make the three norms with an option more."""
    lines = (MAKE_NORM1, MAKE_NORM2, MAKE_NORM3)
    return [(line, f"{line[:-1]}, {option})") for line in lines]


def _written_norms(formula: str) -> list[tuple[str, str]]:
    """Replace the three norms by ones written by hand, with the statistics of `formula`."""
    written = (
        "class Norm(nn.LayerNorm):\n"
        "    def forward(self, x):\n"
        f"        return {formula} * self.weight + self.bias\n"
    )
    return [
        (MAKE_NORM1, written + "self.norm1 = Norm(d_model)"),
        (MAKE_NORM2, "self.norm2 = Norm(d_model)"),
        (MAKE_NORM3, "self.norm3 = Norm(d_model)"),
    ]


def _inverted(guarded: bool) -> list[list[tuple[str, str]]]:
    """Invert the masks on their way to the attentions, all of them or some."""

    def no(name: str) -> str:
        return f"None if {name} is None else ~{name}" if guarded else f"~{name}"

    both = _self(f"x, {no('causal_mask')}, {no('pad_mask')}")
    memory = _cross(f"after_self, memory, {no('memory_pad_mask')}")
    return [
        [both, memory],
        [both],
        [memory],
        [_self(f"x, {no('causal_mask')}, pad_mask")],
        [_self(f"x, causal_mask, {no('pad_mask')}")],
    ]


BUILT = "torch.ones({0}, {0}, dtype=torch.bool, device=x.device).tril()"
OWN = BUILT.format("x.shape[1]")

MASK_BUGS = (
    bug(
        "causal-missing",
        (TRIL, "return everything"),
        variants=[[_self("x, None, pad_mask")], [_self("x, pad_mask=pad_mask")]],
        says="nothing hides the future: every token attends to the tokens after it",
        ask="When the layer predicts token 3, what keeps it from reading token 3?",
    ),
    bug(
        "causal-wrong-triangle",
        (TRIL, "return everything.triu()"),
        variants=[[(TRIL, "return everything.triu(1)")]],
        says="the mask is True on the wrong side: a token sees what comes after it, not before",
        ask="In row 0 of your mask, how many entries are True, and which ones should be?",
    ),
    bug(
        "causal-excludes-diagonal",
        (TRIL, "return everything.tril(-1)"),
        says="the diagonal is False, so a token does not see itself, and the first sees nothing",
        ask="Which keys may the very first token attend to?",
    ),
    bug(
        "causal-off-by-one-leak",
        (TRIL, "return everything.tril(1)"),
        says="the mask reaches one too far, so each token sees the next one",
        ask="How many keys may the first token attend to, and how many do you let it see?",
    ),
    bug(
        "causal-wrong-device",
        (EVERYTHING, "everything = torch.ones(length, length, dtype=torch.bool)"),
        variants=[[(EVERYTHING, EVERYTHING.replace("device=device", 'device=device or "cpu"'))]],
        says="the mask is made on another device than the one that `device` asks for (None: "
        "torch's default one), so a layer on a GPU refuses it",
        ask="Where does torch put a new tensor when it is told nothing about it?",
    ),
    bug(
        "causal-wrong-dtype",
        (EVERYTHING, "everything = torch.ones(length, length, device=device)"),
        variants=[
            [(EVERYTHING, f"everything = torch.ones(length, length, {kind}device=device)")]
            for kind in (
                "dtype=torch.float32, ",
                "dtype=torch.long, ",
                "dtype=torch.int, ",
                "dtype=torch.uint8, ",
            )
        ]
        + [
            [(TRIL, f'return torch.zeros({shape}).masked_fill(~everything.tril(), float("-inf"))')]
            for shape in (
                "length, length, device=device",
                "length, length, dtype=torch.float32, device=device",
            )
        ],
        says="the mask is made of numbers, though a mask of True and False is asked for",
        ask="What does `~mask` give where the mask holds ones and zeros that are not bool?",
    ),
    bug(
        "causal-always-applied",
        _self(f"x, {OWN}, pad_mask"),
        variants=[
            [
                _self(f"x, {OWN} if causal_mask is None else causal_mask, pad_mask"),
            ],
            [
                (
                    SELF,
                    f"built = {OWN}\n"
                    "built = built if causal_mask is None else built & causal_mask\n"
                    "attended = self.self_attn(x, built, pad_mask)",
                )
            ],
        ],
        says="the layer makes a causal mask of its own, so the future is hidden even where "
        "causal_mask is None",
        ask="What should a token see when no causal mask is handed in?",
    ),
    bug(
        "causal-built-with-memory-length",
        _self(f"x, {BUILT.format('memory.shape[1]')}, pad_mask"),
        says="the causal mask is made for the length of the memory, not for that of x",
        ask="Which two lengths meet in the scores of the self-attention?",
    ),
    bug(
        "mask-not-passed",
        _self("x, causal_mask"),
        variants=[[_self("x")]],
        says="pad_mask does not reach the self-attention, so real tokens attend to padding",
        ask="Follow pad_mask through your forward: who reads it?",
    ),
    bug(
        "pad-mask-passed-as-causal",
        _self("x, pad_mask, causal_mask"),
        variants=[[_self("x, pad_mask")]],
        says="pad_mask stands in the causal mask's place in the call of the self-attention",
        ask="Which argument of the self-attention comes second, and what shape does it have?",
    ),
    bug(
        "mask-inverted",
        variants=[*_inverted(guarded=True), *_inverted(guarded=False)],
        says="a mask is turned around on its way, so tokens see exactly what they must not",
        ask="Does True in your masks mean keep or hide, and what does the attention take it for?",
    ),
    bug(
        "mask-first-row-for-all",
        variants=each_and_all(
            _self("x, causal_mask, None if pad_mask is None else pad_mask[:1].expand_as(pad_mask)"),
            _cross(
                "after_self, memory, None if memory_pad_mask is None "
                "else memory_pad_mask[:1].expand_as(memory_pad_mask)"
            ),
        ),
        says="the padding of the first sequence is applied to the whole batch",
        ask="If the second sequence is shorter than the first, which mask hides its padding?",
    ),
    bug(
        "masks-swapped",
        _self("x, causal_mask, memory_pad_mask"),
        _cross("after_self, memory, pad_mask"),
        says="the padding masks of x and of the memory are exchanged",
        ask="Whose tokens are the keys in each attention, and which mask describes them?",
    ),
    bug(
        "self-uses-memory-mask",
        _self("x, causal_mask, memory_pad_mask"),
        says="the self-attention gets the memory's padding mask, though its keys are the tokens "
        "of x",
        ask="What length has the last axis of the self-attention's scores, and which mask has "
        "entries for them?",
    ),
    bug(
        "masks-not-combined",
        variants=[
            [_self("x, causal_mask, pad_mask if causal_mask is None else None")],
            [_self("x, causal_mask if pad_mask is None else None, pad_mask")],
        ],
        says="where the self-attention should get causal_mask and pad_mask, it gets only one of "
        "them",
        ask="Which keys should a token not see that has padding beside it and a future?",
    ),
    bug(
        "cross-uses-self-mask",
        _cross("after_self, memory, pad_mask"),
        variants=[[_cross("after_self, memory, causal_mask")]],
        says="the cross-attention gets a mask that describes x, though its keys are the memory's",
        ask="What length has the last axis of the cross-attention's scores?",
    ),
    bug(
        "memory-mask-missing",
        _cross("after_self, memory"),
        says="memory_pad_mask does not reach the cross-attention, so tokens attend to padding "
        "of the memory",
        ask="If two sentences of a batch differ in length, what stands at the end of the "
        "shorter one's memory?",
    ),
)

ATTENTION_BUGS = (
    bug(
        "cross-is-self",
        _cross("after_self, after_self, pad_mask"),
        variants=[
            [_cross("after_self, after_self")],
            [_cross("after_self, after_self, memory_pad_mask")],
            [_cross("after_self, x, pad_mask")],
            [(CROSS, "crossed = self.self_attn(after_self, causal_mask, pad_mask)")],
            [(CROSS, "crossed = self.self_attn(after_self, None, pad_mask)")],
        ],
        says="the second attention looks at x again, so the memory has no influence",
        ask="If you replace the memory by zeros, does your output change?",
    ),
    bug(
        "memory-is-query",
        _cross("memory, after_self, memory_pad_mask"),
        variants=[[_cross("memory, after_self, pad_mask")], [_cross("memory, after_self")]],
        says="the memory asks and the decoder's tokens answer: the roles in the cross-attention "
        "are exchanged",
        ask="How many rows does the cross-attention's output need, L or S, and which input "
        "decides that?",
    ),
    bug(
        "cross-shares-self-module",
        (
            CROSS,
            "crossed = MultiHeadCrossAttention.forward("
            "self.self_attn, after_self, memory, memory_pad_mask)",
        ),
        variants=[
            [
                (
                    CROSS,
                    "crossed = MultiHeadCrossAttention.forward("
                    "self.self_attn, after_self, memory, memory_pad_mask)",
                ),
                (MAKE_CROSS, ""),
            ],
            *(
                [
                    (
                        SELF,
                        "attended = MultiHeadSelfAttention.forward("
                        "self.cross_attn, x, causal_mask, pad_mask)",
                    ),
                    *gone,
                ]
                for gone in ([], [(MAKE_SELF, "")])
            ),
            [(CROSS, "crossed = self.self_attn(after_self, memory, memory_pad_mask)")],
            [(SELF, "attended = self.cross_attn(x, x, pad_mask)")],
        ],
        says="self-attention and cross-attention go through one and the same module, so they "
        "share their weights",
        ask="How many query projections does a decoder layer have, and which call uses which?",
    ),
    bug(
        "self-attends-memory",
        (
            SELF,
            "attended = MultiHeadCrossAttention.forward("
            "self.self_attn, x, memory, memory_pad_mask)",
        ),
        variants=[
            [_self("memory, causal_mask, memory_pad_mask")],
            [_self("memory, causal_mask, pad_mask")],
            [(SELF, "attended = self.cross_attn(x, memory, memory_pad_mask)")],
        ],
        says="the first attention takes keys from the memory; it should look at x alone",
        ask="What does the first of the three sublayers know about, x or the memory?",
    ),
    bug(
        "sublayer-order",
        (SELF, "attended = self.cross_attn(x, memory, memory_pad_mask)"),
        (CROSS, "crossed = self.self_attn(after_self, causal_mask, pad_mask)"),
        *_norms("norm2", "norm1", "norm3"),
        variants=[
            [
                (SELF, "attended = self.cross_attn(x, memory, memory_pad_mask)"),
                (CROSS, "crossed = self.self_attn(after_self, causal_mask, pad_mask)"),
            ],
            *(
                [
                    (CROSS, "crossed = self.linear2(torch.relu(self.linear1(after_self)))"),
                    (HIDDEN, ""),
                    (MAPPED, "mapped = self.cross_attn(after_cross, memory, memory_pad_mask)"),
                    *norms,
                ]
                for norms in ([], _norms("norm1", "norm3", "norm2"))
            ),
        ],
        says="the sublayers run in another order than self-attention, cross-attention, network",
        ask="What should a token know before it asks the memory?",
    ),
    bug(
        "attention-missing",
        *_without(SELF),
        (ADD1, "attended = x"),
        variants=[
            [*_without(SELF, MAKE_SELF), (ADD1, "attended = x")],
            [*_without(SELF, ADD1), (NORM1, "after_self = x")],
            [*_without(SELF, ADD1, MAKE_SELF, MAKE_NORM1), (NORM1, "after_self = x")],
        ],
        says="the self-attention is not part of what is returned",
        ask="Which of your lines lets one token of x learn about another?",
    ),
    bug(
        "dec-cross-missing",
        *_without(CROSS),
        (ADD2, "crossed = after_self"),
        variants=[
            [*_without(CROSS, MAKE_CROSS), (ADD2, "crossed = after_self")],
            [*_without(CROSS, ADD2), (NORM2, "after_cross = after_self")],
            [*_without(CROSS, ADD2, MAKE_CROSS, MAKE_NORM2), (NORM2, "after_cross = after_self")],
        ],
        says="the cross-attention is not part of what is returned, so the memory has no influence",
        ask="Through which line does the memory reach your output?",
    ),
    bug(
        "cross-query-is-layer-input",
        _cross("x, memory, memory_pad_mask"),
        says="the cross-attention asks with the layer's input, not with what the first sublayer "
        "made of it",
        ask="Which value should each sublayer start from?",
    ),
    bug(
        "cross-query-is-attention-output",
        (SELF, f"{SELF}\nfound = attended"),
        _cross("found, memory, memory_pad_mask"),
        variants=[
            [
                (ADD1, "found = self.dropout(attended)\nattended = x + found"),
                _cross("found, memory, memory_pad_mask"),
            ]
        ],
        says="the cross-attention asks with what the self-attention returned, not with what the "
        "first norm made of it",
        ask="Which value should each sublayer start from?",
    ),
    bug(
        "memory-normed",
        _cross("after_self, self.norm2(memory), memory_pad_mask"),
        variants=[[_cross("after_self, self.norm1(memory), memory_pad_mask")]],
        says="the memory goes through one of the layer's norms before it is attended to",
        ask="Who has already normalised the memory, and with which weights?",
    ),
    bug(
        "param-in-forward",
        (MAPPED, "mapped = nn.Linear(hidden.shape[-1], x.shape[-1])(hidden)"),
        (HIDDEN, "hidden = torch.relu(nn.Linear(x.shape[-1], self.d_ff)(after_cross))"),
        (MAKE_LINEAR1, "self.d_ff = d_ff"),
        *_without(MAKE_LINEAR2),
        says="layers with weights are made anew in every call, so they are random and are "
        "never trained",
        ask="Which weights would an optimizer find in your layer after it is built?",
    ),
    bug(
        "linear-in-python-list",
        (MAKE_LINEAR1, "self.network = [nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)]"),
        *_without(MAKE_LINEAR2),
        (HIDDEN, "hidden = torch.relu(self.network[0](after_cross))"),
        (MAPPED, "mapped = self.network[1](hidden)"),
        says="layers stand in a plain Python list, where torch does not see their weights",
        ask="What does list(layer.parameters()) hold?",
    ),
    bug(
        "super-init-missing",
        ("super().__init__()", "pass"),
        says="nn.Module is not set up before layers are assigned to it",
        ask="What must the first line of a module's constructor be?",
    ),
)

RESIDUAL_BUGS = (
    bug(
        "residual-missing-both",
        (ADD1, "attended = self.dropout(attended)"),
        (ADD2, "crossed = self.dropout(crossed)"),
        (ADD3, "mapped = self.dropout(mapped)"),
        variants=[
            [
                (ADD1, "attended = self.dropout(attended)"),
                (ADD3, "mapped = self.dropout(mapped)"),
            ],
        ],
        says="nothing is added back: each sublayer replaces what it was given",
        ask="If a sublayer returned zeros, what should be left of its input?",
    ),
    bug(
        "residual-missing-attn",
        (ADD1, "attended = self.dropout(attended)"),
        says="the self-attention's output replaces x, it is not added to it",
        ask="If the self-attention returned zeros, what should norm1 be given?",
    ),
    bug(
        "residual-x-plus-x",
        (ADD1, "attended = self.dropout(attended) + self.dropout(attended)"),
        says="the self-attention's output is added to itself, not to x",
        ask="At the moment of your first addition, what do its two sides hold?",
    ),
    bug(
        "cross-residual-missing",
        (ADD2, "crossed = self.dropout(crossed)"),
        says="the cross-attention's output replaces what it started from, it is not added to it",
        ask="If the cross-attention returned zeros, what should norm2 be given?",
    ),
    bug(
        "residual-missing-ffn",
        (ADD3, "mapped = self.dropout(mapped)"),
        says="the network's output replaces what it started from, it is not added to it",
        ask="If the network returned zeros, what should norm3 be given?",
    ),
    bug(
        "cross-residual-is-memory",
        (ADD2, "crossed = memory + self.dropout(crossed)"),
        says="the cross-attention's output is added to the memory, not to the decoder's own value",
        ask="How many rows has the output of the cross-attention, and what else has that many?",
    ),
    bug(
        "cross-residual-from-layer-input",
        (ADD2, "crossed = x + self.dropout(crossed)"),
        says="the second addition starts from the layer's input, so the first sublayer's result "
        "is lost there",
        ask="After the second addition, where is the result of the self-attention?",
    ),
    bug(
        "residual-from-layer-input",
        (ADD3, "mapped = x + self.dropout(mapped)"),
        variants=[[(ADD3, "mapped = after_self + self.dropout(mapped)")]],
        says="the last addition starts from an earlier value than the network was given",
        ask="Which value did the network start from, and which one do you add?",
    ),
    bug(
        "ffn-input-is-layer-input",
        (HIDDEN, "hidden = torch.relu(self.linear1(x))"),
        variants=[[(HIDDEN, "hidden = torch.relu(self.linear1(after_self))")]],
        says="the network reads an earlier value than the one that came out of the "
        "cross-attention's norm",
        ask="What should the network know that the self-attention did not?",
    ),
    bug(
        "ffn-input-is-attention-output",
        (CROSS, f"{CROSS}\nfound = crossed"),
        (HIDDEN, "hidden = torch.relu(self.linear1(found))"),
        variants=[
            [
                (ADD2, "found = self.dropout(crossed)\ncrossed = after_self + found"),
                (HIDDEN, "hidden = torch.relu(self.linear1(found))"),
            ]
        ],
        says="the network reads what the cross-attention returned, not what the second norm made "
        "of it",
        ask="Which value should each sublayer start from?",
    ),
    bug(
        "residual-detached",
        variants=each_and_all(
            (ADD1, "attended = x.detach() + self.dropout(attended)"),
            (ADD2, "crossed = after_self.detach() + self.dropout(crossed)"),
            (ADD3, "mapped = after_cross.detach() + self.dropout(mapped)"),
        ),
        says="what is added to a sublayer's output is cut off from autograd, so no gradient takes "
        "the residual path",
        ask="If a sublayer had no gradient at all, which one should still reach its input?",
    ),
    bug(
        "sublayer-detached",
        variants=[
            *each_and_all(
                _self("x.detach(), causal_mask, pad_mask"),
                _cross("after_self.detach(), memory, memory_pad_mask"),
                (HIDDEN, "hidden = torch.relu(self.linear1(after_cross.detach()))"),
            ),
            *each_and_all(
                (ADD1, "attended = x + self.dropout(attended).detach()"),
                (ADD2, "crossed = after_self + self.dropout(crossed).detach()"),
                (ADD3, "mapped = after_cross + self.dropout(mapped).detach()"),
            ),
        ],
        says="what goes into a sublayer, or what comes out of it, is cut off from autograd, so no "
        "gradient flows back through the sublayer",
        ask="By which paths does a gradient get from your output to x, and which of them are open?",
    ),
    bug(
        "memory-detached",
        _cross("after_self, memory.detach(), memory_pad_mask"),
        says="the memory is cut off from autograd, so the encoder learns nothing from the decoder",
        ask="Which gradient does the memory get, and who made the memory?",
    ),
    bug(
        "residual-inplace",
        (ADD1, "x += self.dropout(attended)\nattended = x"),
        says="the x of the caller is written to in place, as `+=` does",
        ask="After your forward, does the caller's x still hold what it held before?",
    ),
)

NORM_BUGS = (
    bug(
        "post-norm-before-add",
        variants=[
            *_norm_before_add("self.{norm}(self.dropout({value}))"),
            *_norm_before_add("self.dropout(self.{norm}({value}))"),
        ],
        says="the norm is taken of a sublayer's output alone, and the addition comes after it",
        ask="In post-norm, is what a layer returns itself normalised?",
    ),
    bug(
        "post-implemented-as-pre",
        _self("self.norm1(x), causal_mask, pad_mask"),
        (NORM1, "after_self = self.norm2(attended)"),
        (ADD2, "crossed = attended + self.dropout(crossed)"),
        (NORM2, "after_cross = self.norm3(crossed)"),
        (ADD3, "mapped = crossed + self.dropout(mapped)"),
        (NORM3, "return mapped"),
        variants=[
            [_self("self.norm1(x), causal_mask, pad_mask"), (NORM1, "after_self = attended")],
            [
                _cross("self.norm2(after_self), memory, memory_pad_mask"),
                (NORM2, "after_cross = crossed"),
            ],
            [
                (HIDDEN, "hidden = torch.relu(self.linear1(self.norm3(after_cross)))"),
                (NORM3, "return mapped"),
            ],
        ],
        says="a norm stands before its sublayer (pre-norm), and the addition after that goes "
        "without one; this layer is post-norm",
        ask="In the original Transformer, what is the last thing that is done to a sublayer's "
        "result?",
    ),
    bug(
        "pre-residual-from-normed",
        _self("self.norm1(x), causal_mask, pad_mask"),
        (ADD1, "attended = self.norm1(x) + self.dropout(attended)"),
        (NORM1, "after_self = self.norm2(attended)"),
        (NORM2, "after_cross = self.norm3(crossed)"),
        (NORM3, "return mapped"),
        says="the norms stand before the sublayers, and the normalised value is what is added",
        ask="On which path from input to output does your layer leave the value untouched?",
    ),
    bug(
        "extra-final-norm-in-layer",
        (NORM3, "return self.norm3(self.norm3(mapped))"),
        variants=[[(NORM3, "return nn.functional.layer_norm(self.norm3(mapped), x.shape[-1:])")]],
        says="there is one norm too many at the end of the layer",
        ask="How many norms does a value pass on its way from x to the output?",
    ),
    bug(
        "norm-shared",
        *_norms("norm1", "norm1", "norm1"),
        variants=[
            [*_norms("norm1", "norm1", "norm1"), *_without(MAKE_NORM2, MAKE_NORM3)],
            *(
                [*_norms(*order), *gone]
                for order in (("norm1", "norm2", "norm2"), ("norm1", "norm2", "norm1"))
                for gone in ([], _without(MAKE_NORM3))
            ),
            _norms("norm1", "norm3", "norm3"),
            _norms("norm2", "norm2", "norm3"),
            _norms("norm3", "norm2", "norm3"),
        ],
        says="one norm serves several sublayers, so they share its gain and shift",
        ask="How many gains of size D does your layer learn, and how many does it use?",
    ),
    bug(
        "norm1-used-for-cross",
        *_norms("norm1", "norm1", "norm3"),
        variants=[
            [*_norms("norm1", "norm1", "norm3"), *_without(MAKE_NORM2)],
            [*_norms("norm1", "norm1", "norm2"), *_without(MAKE_NORM3)],
        ],
        says="the norm of the self-attention is used again after the cross-attention",
        ask="Which norm follows each of your three additions?",
    ),
    bug(
        "norms-exchanged",
        *_norms("norm1", "norm3", "norm2"),
        variants=[
            _norms("norm2", "norm1", "norm3"),
            _norms("norm3", "norm2", "norm1"),
            _norms("norm2", "norm3", "norm1"),
            _norms("norm3", "norm1", "norm2"),
        ],
        says="the norms are used in another order than their numbers say",
        ask="Read your additions from top to bottom: which number has the norm after each?",
    ),
    bug(
        "norm-declared-unused",
        *_norms("", "norm2", "norm3"),
        variants=[_norms("norm1", "", "norm3"), _norms("", "", ""), _norms("", "", "norm3")],
        says="a norm is made in the constructor, but not applied after its addition",
        ask="Which of your three norms have a gradient after a backward pass?",
    ),
    bug(
        "norm-missing",
        variants=[
            [*_norms("", "norm2", "norm3"), *_without(MAKE_NORM1)],
            [*_norms("norm1", "", "norm3"), *_without(MAKE_NORM2)],
            [*_norms("", "", "norm3"), *_without(MAKE_NORM1, MAKE_NORM2)],
            [*_norms("", "", ""), *_without(MAKE_NORM1, MAKE_NORM2, MAKE_NORM3)],
        ],
        says="an addition is not followed by a norm, and the layer has fewer than three",
        ask="How many sublayers does the layer have, and how many norms?",
    ),
    bug(
        "dec-norm3-missing",
        (NORM3, "return mapped"),
        variants=[[(NORM3, "return mapped"), (MAKE_NORM3, "")]],
        says="the last addition is returned without its norm",
        ask="What mean and variance has each token of your output before gain and shift?",
    ),
    bug(
        "norm-in-forward",
        variants=_places(
            [
                (NORM1, "after_self = nn.LayerNorm(x.shape[-1])(attended)"),
                (MAKE_NORM1, ""),
            ],
            [
                (NORM2, "after_cross = nn.LayerNorm(x.shape[-1])(crossed)"),
                (MAKE_NORM2, ""),
            ],
            [
                (NORM3, "return nn.LayerNorm(x.shape[-1])(mapped)"),
                (MAKE_NORM3, ""),
            ],
        ),
        says="a norm is made anew in every call, so its gain and shift are never trained",
        ask="Which weights would an optimizer find in your layer after it is built?",
    ),
    bug(
        "ln-no-affine",
        variants=each_and_all(*_made_with("elementwise_affine=False")),
        says="a norm has no gain and shift to learn",
        ask="What can a norm with a gain and a shift do that one without cannot?",
    ),
    bug(
        "ln-unbiased-std",
        *_written_norms(
            "(x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + self.eps)",
        ),
        variants=[
            _written_norms(
                "(x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True) + self.eps)",
            )
        ],
        says="the norms divide by the deviation over D - 1, where LayerNorm divides by that over D",
        ask="By what does torch's std divide the sum of squares unless it is told otherwise?",
    ),
    bug(
        "rmsnorm-for-layernorm",
        *_written_norms("x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)"),
        variants=[
            [
                (line, line.replace("nn.LayerNorm(d_model)", "nn.RMSNorm(d_model, eps=1e-6)"))
                for line in (MAKE_NORM1, MAKE_NORM2, MAKE_NORM3)
            ]
        ],
        says="the norms do not subtract the mean: that is RMSNorm, which divides by the root of "
        "the mean square only",
        ask="What is the mean of a token after a LayerNorm, before gain and shift?",
    ),
    bug(
        "ln-no-sqrt",
        *_written_norms(
            "(x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, unbiased=False) + self.eps)",
        ),
        says="the norms divide by the variance, where a layer norm divides by its root",
        ask="What is the deviation of a token after a layer norm, before gain and shift?",
    ),
    bug(
        "ln-eps-missing",
        *_written_norms(
            "(x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True, unbiased=False)",
        ),
        says="the norms divide by a deviation that no eps is added to, so a token whose "
        "features are all equal becomes NaN",
        ask="What does your norm make of a token whose features are all the same?",
    ),
    bug(
        "ln-eps-too-large",
        *_made_with("eps=1e-3"),
        says="eps is larger than the statement allows, so it changes what the norm returns",
        ask="How large is the eps of your norm beside the variance of a token?",
    ),
    bug(
        "ln-no-shift",
        variants=each_and_all(*_made_with("bias=False")),
        says="a norm has a gain, but no shift",
        ask="Which parameters does nn.LayerNorm(D) have, and which does your norm have?",
    ),
    bug(
        "ln-over-seq",
        *_written_norms(
            "(x - x.mean(1, keepdim=True))"
            " / torch.sqrt(x.var(1, keepdim=True, unbiased=False) + self.eps)",
        ),
        says="the norms take mean and variance over the tokens, not over the features of each",
        ask="May the norm of one token depend on the other tokens?",
    ),
    bug(
        "ln-over-all-dims",
        *_written_norms(
            "(x - x.mean((1, 2), keepdim=True))"
            " / torch.sqrt(x.var((1, 2), keepdim=True, unbiased=False) + self.eps)",
        ),
        says="the norms take mean and variance over tokens and features together",
        ask="May the norm of one token depend on the other tokens?",
    ),
    bug(
        "batchnorm-for-layernorm",
        (MAKE_NORM1, "self.norm1 = nn.BatchNorm1d(d_model)"),
        (MAKE_NORM2, "self.norm2 = nn.BatchNorm1d(d_model)"),
        (MAKE_NORM3, "self.norm3 = nn.BatchNorm1d(d_model)"),
        variants=[
            [
                (MAKE_NORM1, "self.norm1 = nn.BatchNorm1d(d_model)"),
                (MAKE_NORM2, "self.norm2 = nn.BatchNorm1d(d_model)"),
                (MAKE_NORM3, "self.norm3 = nn.BatchNorm1d(d_model)"),
                (NORM1, "after_self = self.norm1(attended.mT).mT"),
                (NORM2, "after_cross = self.norm2(crossed.mT).mT"),
                (NORM3, "return self.norm3(mapped.mT).mT"),
            ]
        ],
        says="the norms are batch norms: they take their statistics over batch and tokens",
        ask="Over which axis does a Transformer's norm take mean and variance?",
    ),
)

NETWORK_BUGS = (
    bug(
        "returns-after-cross",
        (NORM3, "return after_cross"),
        says="what is returned is the value before the network: its result is computed and lost",
        ask="Which of your variables holds the network's result, and is that the one returned?",
    ),
    bug(
        "dec-ffn-missing",
        *_without(HIDDEN, MAPPED, ADD3),
        (NORM3, "return after_cross"),
        variants=[
            [*_without(HIDDEN, MAPPED, ADD3, *gone), (NORM3, returned)]
            for gone, returned in (
                ((MAKE_LINEAR1, MAKE_LINEAR2), "return after_cross"),
                ((MAKE_LINEAR1, MAKE_LINEAR2, MAKE_NORM3), "return after_cross"),
                ((MAKE_LINEAR1, MAKE_LINEAR2), "return self.norm3(after_cross)"),
                ((), "return self.norm3(after_cross)"),
            )
        ],
        says="the feed-forward network is not part of what is returned",
        ask="Which gradients do the weights of the network get?",
    ),
    bug(
        "returns-intermediate",
        (NORM3, "return after_self"),
        variants=[
            [(NORM3, "return crossed")],
            [(ADD3, ""), (NORM3, "return mapped")],
            [(NORM3, "return hidden")],
        ],
        says="a value from the middle of the layer is returned",
        ask="What is the name of the last value you compute, and what do you return?",
    ),
    bug(
        "ffn-no-activation",
        (HIDDEN, "hidden = self.linear1(after_cross)"),
        says="there is no activation between the two layers of the network, so they are one "
        "linear map",
        ask="What is a linear map of a linear map?",
    ),
    bug(
        "ffn-activation-after-second",
        (HIDDEN, "hidden = self.linear1(after_cross)"),
        (MAPPED, "mapped = torch.relu(self.linear2(hidden))"),
        variants=[[(MAPPED, "mapped = torch.relu(self.linear2(hidden))")]],
        says="an activation stands after the second layer of the network",
        ask="Can what your network adds to a token ever be negative?",
    ),
    bug(
        "ffn-activation-before-first",
        (HIDDEN, "hidden = self.linear1(torch.relu(after_cross))"),
        says="the activation comes before the first layer of the network, not between the two",
        ask="Which of the network's two layers gets numbers that are never negative?",
    ),
    bug(
        "ffn-gelu-for-relu",
        variants=[
            [(HIDDEN, f"hidden = nn.functional.{name}(self.linear1(after_cross){options})")]
            for name, options in (
                ("gelu", ""),
                ("gelu", ', approximate="tanh"'),
                *((name, "") for name in ("silu", "leaky_relu", "elu", "relu6", "softplus")),
                *((name, "") for name in ("tanh", "sigmoid")),
            )
        ],
        says="the activation is another one than ReLU",
        ask="What does your activation return for -0.5, and what for 20?",
    ),
    bug(
        "ffn-width",
        (MAKE_LINEAR1, "self.linear1 = nn.Linear(d_model, d_model)"),
        (MAKE_LINEAR2, "self.linear2 = nn.Linear(d_model, d_model)"),
        variants=[
            [
                (MAKE_LINEAR1, "self.linear1 = nn.Linear(d_model, 4 * d_model)"),
                (MAKE_LINEAR2, "self.linear2 = nn.Linear(4 * d_model, d_model)"),
            ]
        ],
        says="the hidden layer of the network has another width than d_ff",
        ask="Which argument of the constructor do you never use?",
    ),
)

UNDROPPED = (
    (ADD1, "attended = x + attended"),
    (ADD2, "crossed = after_self + crossed"),
    (ADD3, "mapped = after_cross + mapped"),
)
INNER_DROPOUT = (HIDDEN, "hidden = self.dropout(torch.relu(self.linear1(after_cross)))")

DROPOUT_BUGS = (
    bug(
        "dropout-missing",
        variants=[
            *each_and_all(*UNDROPPED),
            # Dropout inside the network alone is no dropout of what the network returns.
            [*UNDROPPED, INNER_DROPOUT],
            [UNDROPPED[2], INNER_DROPOUT],
        ],
        says="what a sublayer returns is added without dropout, though the layer is in train mode",
        ask="In training, which values does your layer drop?",
    ),
    bug(
        "dropout-before",
        variants=[
            *each_and_all(
                (ADD1, "attended = self.dropout(x + attended)"),
                (ADD2, "crossed = self.dropout(after_self + crossed)"),
                (ADD3, "mapped = self.dropout(after_cross + mapped)"),
            ),
            *each_and_all(
                (ADD1, "attended = self.dropout(x) + attended"),
                (ADD2, "crossed = self.dropout(after_self) + crossed"),
                (ADD3, "mapped = self.dropout(after_cross) + mapped"),
            ),
            *each_and_all(
                (ADD1, "attended = self.dropout(x) + self.dropout(attended)"),
                (ADD2, "crossed = self.dropout(after_self) + self.dropout(crossed)"),
                (ADD3, "mapped = self.dropout(after_cross) + self.dropout(mapped)"),
            ),
        ],
        says="dropout falls on the residual path: on the sum, or on what a sublayer's output is "
        "added to",
        ask="If everything were dropped, what should still come through?",
    ),
    bug(
        "dropout-after",
        variants=_places(
            [
                (ADD1, "attended = x + attended"),
                (NORM1, "after_self = self.dropout(self.norm1(attended))"),
            ],
            [
                (ADD2, "crossed = after_self + crossed"),
                (NORM2, "after_cross = self.dropout(self.norm2(crossed))"),
            ],
            [
                (ADD3, "mapped = after_cross + mapped"),
                (NORM3, "return self.dropout(self.norm3(mapped))"),
            ],
        ),
        says="dropout falls on what the norm returns, so it drops the residual path too",
        ask="If everything were dropped, what should still come through?",
    ),
    bug(
        "dropout-on-input",
        variants=[
            [_cross("after_self, self.dropout(memory), memory_pad_mask")],
            [_self("self.dropout(x), causal_mask, pad_mask")],
            [_cross("self.dropout(after_self), memory, memory_pad_mask")],
        ],
        says="dropout hits what goes into an attention; only what comes out is to be dropped",
        ask="Which tensors does your dropout take, and which of them did a sublayer return?",
    ),
    bug(
        "dropout-in-eval",
        variants=each_and_all(
            (ADD1, "attended = x + nn.functional.dropout(attended, self.dropout.p)"),
            (ADD2, "crossed = after_self + nn.functional.dropout(crossed, self.dropout.p)"),
            (ADD3, "mapped = after_cross + nn.functional.dropout(mapped, self.dropout.p)"),
        ),
        says="values are dropped even after .eval(), so the layer answers at random",
        ask="How does your dropout learn that training is over?",
    ),
    bug(
        "sublayer-called-twice",
        variants=[
            [(SELF, f"{SELF}\nattended = self.self_attn(attended, causal_mask, pad_mask)")],
            [(CROSS, f"{CROSS}\ncrossed = self.cross_attn(crossed, memory, memory_pad_mask)")],
            [(MAPPED, f"{MAPPED}\nmapped = self.linear2(torch.relu(self.linear1(mapped)))")],
        ],
        says="a sublayer runs twice, the second time on what it returned the first time",
        ask="How often should each of the three sublayers run in one forward?",
    ),
    *dropout_share_mistakes(),
    *unscaled_mistakes([ADD1, ADD2, ADD3]),
    *dropping_mistakes([ADD1, ADD2, ADD3]),
)

BUGS: tuple[Bug, ...] = (
    *MASK_BUGS,
    *NETWORK_BUGS,
    *RESIDUAL_BUGS,
    *ATTENTION_BUGS,
    *NORM_BUGS,
    *DROPOUT_BUGS,
)

HINTS = (
    "A decoder layer answers three questions in a row: what has been said so far, what does the "
    "source say about it, and what follows from both. Self-attention, cross-attention, network. "
    "All three end alike: drop, add, normalise.",
    "Look at what each sublayer starts from. It is what the one before returned after its norm, "
    "and the same value is what its own output is added to. The memory appears in one place only.",
    "Look at the masks: a mask always describes the keys. The keys of the self-attention are the "
    "tokens of x, so causal_mask (L, L) and pad_mask (B, L) go there. Those of the "
    "cross-attention are the memory's S tokens. In causal_mask, row i has i + 1 entries True.",
    "Shapes: x (B, L, D) -> self-attention (B, L, D) -> add, norm (B, L, D) -> cross-attention "
    "with memory (B, S, D) gives (B, L, D) again -> add, norm -> Linear to (B, L, F), ReLU, "
    "Linear back to (B, L, D) -> add, norm -> (B, L, D). S never shows up in the output.",
    "Nearly code: the lower triangle of a square of True, made on `device`. In the layer, three "
    "times: out = sublayer(value); value = norm_i(value + dropout(out)). The sublayer is first "
    "self_attn with two masks, then cross_attn with memory and one mask, then the two linear "
    "layers with a ReLU between them.",
)

QUESTIONS = (
    Question(
        "Which padding mask does the cross-attention take, and why has it no causal mask?",
        (
            "the memory's: a mask describes the keys, and the keys are the memory's tokens",
            "the source is known in full before the first target token is written",
            "padded queries of x need no mask there; their outputs are never used",
        ),
    ),
    Question(
        "Why is the mask needed in training, when generating does not look ahead anyway?",
        (
            "training predicts all positions in one pass, from the shifted target",
            "without a mask, position i reads the token it must predict",
            "generation has no future to read, so the cheat fails there: low loss, useless model",
        ),
    ),
    Question(
        "What may be cached while generating token by token?",
        (
            "keys and values of the memory: once per sentence, they never change",
            "keys and values of past tokens of x, per layer; only the new token's are computed",
            "this works because the causal mask keeps old positions from seeing new ones",
            "memory use grows with layers, heads, length and batch",
        ),
    ),
    Question(
        "Post-norm or pre-norm: what changes, and what does it cost?",
        (
            "post-norm: norm(x + f(x)); pre-norm: x + f(norm(x)), with a last norm after the stack",
            "pre-norm leaves an untouched path from output to input for the gradient",
            "post-norm usually needs a learning-rate warm-up and care in deep stacks",
            "post-norm, where it trains, often ends slightly better",
        ),
    ),
    Question(
        "Your layer returns the right shape. What does that not prove?",
        (
            "a residual block keeps its shape even where a sublayer is lost or misread",
            "L = S in a test hides exchanged masks, and queries exchanged with the memory",
            "change one token and watch which outputs move; perturb the memory and its padding",
            "look at the gradients: a layer without one is not used",
        ),
    ),
    Question(
        "May the three sublayers share one nn.Dropout? One LayerNorm? One attention module?",
        (
            "dropout yes: it has no weights, and each call draws anew",
            "a norm no: gain and shift are learned for each place",
            "attention no: queries for the past and queries for the memory need their own weights",
            "a shared norm goes unnoticed right after construction, when gains are 1 and shifts 0",
        ),
    ),
    Question(
        "Where does dropout sit, and why before the addition?",
        (
            "on what a sublayer returns, before it is added",
            "the residual path stays whole: with everything dropped, x still comes through",
            "off after .eval(), and the kept values are scaled by 1 / (1 - p) in training",
        ),
    ),
    Question(
        "What does one layer cost for L target and S source tokens?",
        (
            "self-attention L² · D, cross-attention L · S · D",
            "projections and network L · D² and L · D · F, plus S · D² for the memory's keys "
            "and values",
            "for short sequences the network dominates, for long ones the attention",
        ),
    ),
)

KATA = Kata(
    number=7,
    stem="kata07_decoder_layer",
    title="Decoder layer",
    minutes=18,
    cap_minutes=30,
    targets=(
        Target(MASK, "function", ("length", "device")),
        Target(
            LAYER,
            "module",
            ("d_model", "num_heads", "d_ff", "dropout"),
            ("x", "memory", "causal_mask", "pad_mask", "memory_pad_mask"),
        ),
    ),
    build=build,
    checks=CHECKS,
    bugs=BUGS,
    equal=(
        ("returns-after-cross", "dec-ffn-missing"),
        ("residual-missing-attn", "residual-x-plus-x"),
    ),
    accepts=(
        (
            Edit(MAKE_NORM1, "self.norm1 = nn.LayerNorm(d_model, eps=1e-12)"),
            Edit(MAKE_NORM2, "self.norm2 = nn.LayerNorm(d_model, eps=1e-12)"),
            Edit(MAKE_NORM3, "self.norm3 = nn.LayerNorm(d_model, eps=1e-12)"),
        ),
    ),
    hints=HINTS,
    questions=QUESTIONS,
)
