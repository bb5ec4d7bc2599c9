"""kata6: cases, checks and known bugs of the post-norm encoder layer."""

from __future__ import annotations

from grader.mistakes.dropping import (
    dropout_share_mistakes,
    dropping_mistakes,
    unscaled_mistakes,
)
from grader.model import Case, Check, Edit, Kata, Question, Recipe, Role, Target
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
    integer,
    linear_weights,
    norm_weights,
    numbers,
    padding,
    with_distant_features,
    with_dropout_seen,
    with_equal_features,
    with_padding_changed,
    word,
)

NAME = "EncoderLayer"

# The two layers of a sublayer by which it is seen how much of it dropout leaves.
SEEN = {
    "attention": ("self_attn.v_proj", "self_attn.out_proj"),
    "network": ("linear1", "linear2"),
}

ROLES = (
    *attention_roles("self_attn."),
    Role("norm1", "norm"),
    Role("norm2", "norm"),
    Role("linear1", "ffn_in"),
    Role("linear2", "ffn_out"),
)


def build(recipe: Recipe) -> Case:
    """Build one call: x (B, L, D) with D = heads * head_dim, and a padding mask if asked for."""
    batch, length = integer(recipe, "batch", 3), integer(recipe, "length", 5)
    heads, head_dim = integer(recipe, "heads", 2), integer(recipe, "head_dim", 6)
    seed, mask = integer(recipe, "seed", 1), word(recipe, "mask", "none")
    times, d_model, d_ff = integer(recipe, "times", 1), heads * head_dim, integer(recipe, "d_ff", 7)
    pad_mask = None
    if mask != "none":
        pad_mask = padding(seed, batch, length, side="right" if mask == "pad" else mask)
    case = Case(
        target=NAME,
        init={
            "d_model": d_model,
            "num_heads": heads,
            "d_ff": d_ff,
            "dropout": DROPS[word(recipe, "dropout", "none")],
        },
        inputs={"x": numbers(seed, "x", batch, length, d_model) * times, "pad_mask": pad_mask},
        weights={
            **attention_weights(seed, d_model, "self_attn."),
            **norm_weights(seed, "norm1", d_model),
            **norm_weights(seed, "norm2", d_model),
            **linear_weights(seed, "linear1", (d_ff, d_model)),
            **linear_weights(seed, "linear2", (d_model, d_ff)),
        },
        roles=ROLES,
        returns=((batch, length, d_model),),
        train=bool(integer(recipe, "train", 0)),
        dtype=word(recipe, "dtype", "float64"),
        # A norm divides by sqrt(variance + eps), or by deviation + eps, with an
        # eps that is free; what `accepts` measures of that comes on top.
        tolerance=1e-2 if times > 1 else 1e-4,
        compared=None if pad_mask is None else pad_mask[:, :, None],
        banned=frozenset({"Transformer"}),
    )
    if integer(recipe, "flat", 0):
        return with_equal_features(case)
    if integer(recipe, "distant", 0):
        return with_distant_features(case)
    seen = word(recipe, "seen", "none")
    return case if seen == "none" else with_dropout_seen(case, *SEEN[seen])


SIZES = {
    "batch": (1, 3),
    "length": (1, 5),
    "heads": (1, 3),
    "head_dim": (2, 5),
    "d_ff": (1, 7),
    "seed": (0, 999),
}
MASKS: list[int | str] = ["pad", "left", "holes"]

# Large enough to measure shares by; a raw parameter is read by its shape.
MEASURED: Recipe = {
    "train": 1,
    "batch": 4,
    "length": 64,
    "head_dim": 16,
    "d_ff": 40,
}

CHECKS = (
    Check(
        "layers_are_found",
        "the layer holds an attention, two linear layers and two norms",
        NAME,
        "layers",
        bank=({},),
    ),
    Check(
        "values_match",
        "without a mask, the output is the encoder layer's",
        NAME,
        "values",
        bank=(
            {},
            {"blank": 1, "seed": 16},
            {"batch": 2, "length": 7, "heads": 3, "d_ff": 11, "seed": 2},
            {"batch": 4, "heads": 1, "seed": 3},
            {"batch": 4, "length": 1, "seed": 4},
            {"batch": 1, "seed": 5},
            {"batch": 1, "length": 1, "heads": 1, "seed": 6},
            {"heads": 1, "head_dim": 1, "seed": 17},
            # Where L = D, or B = L, some wrong axes go unnoticed by the shapes.
            {"batch": 2, "length": 12, "seed": 7},
            {"batch": 4, "length": 4, "heads": 3, "head_dim": 3, "d_ff": 1, "seed": 8},
            {"batch": 2, "d_ff": 12, "seed": 9},
            # As large as people run it, one size at a time.
            {"batch": 9, "length": 3, "seed": 61},
            {"batch": 1, "length": 40, "seed": 62},
            {"batch": 1, "length": 3, "heads": 8, "head_dim": 8, "d_ff": 256, "seed": 63},
        ),
        draws={**SIZES, "dropout": ["none", "all", "half"]},
        examples=100,
    ),
    Check(
        "padding_is_ignored",
        "no token sees padding",
        NAME,
        "unchanged",
        vary=with_padding_changed,
        bank=(
            {"mask": "pad", "seed": 11},
            {"mask": "left", "length": 7, "seed": 12},
            {"mask": "pad", "batch": 4, "length": 4, "seed": 13},
        ),
        draws={**SIZES, "length": (2, 5), "mask": MASKS},
        examples=8,
    ),
    Check(
        "mask_is_applied",
        "with a mask, every token sees exactly the real tokens",
        NAME,
        "values",
        bank=(
            {"mask": "pad", "seed": 21},
            {"mask": "pad", "batch": 5, "length": 4, "heads": 3, "seed": 22},
            {"mask": "left", "seed": 23},
            {"mask": "holes", "length": 7, "d_ff": 11, "seed": 24},
            {"mask": "pad", "batch": 4, "length": 4, "seed": 25},
            {"mask": "holes", "batch": 5, "length": 5, "heads": 3, "seed": 26},
            {"mask": "pad", "batch": 2, "length": 1, "seed": 27},
            {"mask": "pad", "batch": 1, "length": 1, "seed": 29},
            {"mask": "left", "batch": 1, "heads": 1, "seed": 28},
            {"mask": "holes", "batch": 9, "length": 4, "seed": 64},
            {"mask": "holes", "batch": 2, "length": 40, "seed": 65},
            {"mask": "holes", "batch": 2, "heads": 8, "head_dim": 8, "seed": 66},
        ),
        draws={**SIZES, "mask": MASKS},
        examples=30,
        after=("values_match",),
    ),
    Check(
        "dropout_sits_before_the_add",
        "in train mode, dropout hits the output of each sublayer, before it is added",
        NAME,
        "values",
        bank=(
            {"train": 1, "dropout": "all", "seed": 31},
            {"train": 1, "dropout": "all", "mask": "pad", "batch": 2, "length": 7, "seed": 32},
            {"train": 1, "dropout": "all", "length": 1, "heads": 1, "seed": 33},
        ),
        draws={**SIZES, "train": [1], "dropout": ["all"]},
        examples=10,
        after=("values_match",),
    ),
    Check(
        "train_mode_without_dropout",
        "with a dropout of 0, train mode drops and changes nothing",
        NAME,
        "undropped",
        bank=(
            {"train": 1, "seed": 71},
            {"train": 1, "mask": "pad", "batch": 2, "length": 7, "seed": 72},
            {"train": 1, "mask": "left", "seed": 73},
        ),
        after=("values_match", "mask_is_applied"),
    ),
    dropout_share(
        NAME,
        *(
            {**MEASURED, "seen": sublayer, "dropout": rate}
            for rate in ("some", "none")
            for sublayer in SEEN
        ),
        after="dropout_sits_before_the_add",
    ),
    default_dropout(NAME, {**MEASURED, "seen": "network"}, after="dropout_keeps_the_size"),
    Check(
        "attention_reads_everything",
        "in train mode, the attention still reads the whole of x",
        NAME,
        "struck",
        bank=(
            {
                "seen": "attention",
                "train": 1,
                "dropout": "some",
                "batch": 64,
                "length": 1,
                "heads": 1,
                "head_dim": 16,
            },
        ),
        after=("dropout_sits_before_the_add",),
    ),
    Check(
        "dropout_rests_in_eval",
        "in eval mode, nothing is dropped",
        NAME,
        "values",
        bank=(
            {"dropout": "all", "seed": 34},
            {"dropout": "all", "mask": "pad", "batch": 2, "length": 7, "seed": 35},
        ),
        after=("values_match",),
    ),
    Check(
        "large_inputs_stay_finite",
        "large inputs give finite, right values",
        NAME,
        "values",
        bank=({"times": 60, "seed": 41},),
        after=("values_match",),
    ),
    equal_features(NAME, {"flat": 1, "seed": 44}, after=("values_match",)),
    Check(
        "gradients_match",
        "gradients reach the input and every weight",
        NAME,
        "gradients",
        bank=(
            {"seed": 42},
            {"mask": "holes", "batch": 2, "length": 7, "heads": 3, "d_ff": 11, "seed": 43},
        ),
        draws={**SIZES, "mask": ["none", *MASKS]},
        examples=10,
        after=("values_match", "mask_is_applied"),
    ),
    next_to_no_dropout(
        NAME, {"train": 1, "mask": "pad", "seed": 45}, after="train_mode_without_dropout"
    ),
    Check(
        "inputs_are_kept",
        "the input and the mask are not changed in place",
        NAME,
        "inputs_kept",
        bank=(
            {"mask": "pad", "seed": 51},
            {"batch": 1, "length": 1, "heads": 1, "seed": 52},
            {"train": 1, "dropout": "all", "seed": 53},
            {"mask": "left", "seed": 60},
            {"seed": 59},
        ),
    ),
    Check(
        "repeats",
        "a second call returns the same",
        NAME,
        "repeats",
        bank=({"mask": "pad", "dropout": "half", "seed": 54},),
    ),
    earlier_calls(
        NAME,
        {"mask": "pad", "seed": 71},
        {"length": 1, "seed": 72},
        masks=True,
        after=("mask_is_applied",),
    ),
    instances(NAME, {"mask": "pad", "seed": 93}, after=("values_match", "mask_is_applied")),
    Check(
        "works_in_float32",
        "float32, as people run it, gives the same",
        NAME,
        "values",
        bank=(
            {"dtype": "float32", "seed": 74},
            {"dtype": "float32", "mask": "pad", "batch": 2, "length": 7, "seed": 55},
        ),
        after=("values_match",),
    ),
    Check(
        "takes_any_layout",
        "tensors that are transposed views give the same",
        NAME,
        "values",
        bank=(
            {"transposed": 1, "length": 12, "seed": 75},
            {"transposed": 1, "mask": "holes", "batch": 5, "seed": 76},
        ),
        after=("values_match", "mask_is_applied"),
    ),
    Check(
        "runs_on_any_device",
        "everything follows the input to a GPU",
        NAME,
        "device",
        bank=(
            {"mask": "pad", "seed": 56},
            {"mask": "pad", "train": 1, "dropout": "half", "seed": 56},
            {"mask": "pad", "after_others": 1, "seed": 57},
        ),
        after=("mask_is_applied",),
    ),
    Check(
        "written_by_hand",
        "the layer is put together, not called",
        NAME,
        "banned",
        bank=({"mask": "pad", "seed": 57}, {"seed": 58}),
    ),
    left_out(
        NAME,
        "dropout=0.1 and the mask's None",
        {"seed": 63},
        ("values_match", "dropout_rests_in_eval"),
    ),
    distant_features(NAME, {"seed": 46}, after=("works_in_float32",)),
    Check(
        "half_precision",
        "does not work in half precision (autocast, GPU inference)",
        NAME,
        "half",
        bank=({"dtype": "float16", "mask": "pad", "seed": 58},),
        required=False,
        after=("mask_is_applied",),
    ),
    Check(
        "no_loop_over_tokens",
        "a Python loop over the tokens; linear layers and norms take them all at once",
        NAME,
        "loops",
        bank=({"grow": "length", "length": 2, "seed": 59},),
        required=False,
        after=("values_match",),
    ),
    Check(
        "no_loop_over_batch",
        "a Python loop over the batch; one call does it all",
        NAME,
        "loops",
        bank=({"grow": "batch", "batch": 1, "seed": 60},),
        required=False,
        after=("values_match",),
    ),
)

ATTEND = "attended = self.self_attn(x, pad_mask=pad_mask)"
DROP1 = "attended = self.dropout(attended)"
ADD1 = "middle = self.norm1(x + attended)"
WIDEN = "hidden = self.linear1(middle)"
RELU = "hidden = torch.relu(hidden)"
NARROW = "fed = self.linear2(hidden)"
DROP2 = "fed = self.dropout(fed)"
ADD2 = "return self.norm2(middle + fed)"
LINEAR1 = "self.linear1 = nn.Linear(d_model, d_ff)"
LINEAR2 = "self.linear2 = nn.Linear(d_ff, d_model)"
NORM1 = "self.norm1 = nn.LayerNorm(d_model)"
NORM2 = "self.norm2 = nn.LayerNorm(d_model)"
DROPOUT = "self.dropout = nn.Dropout(dropout)"
INNER_DROPOUT = (RELU, "hidden = self.dropout(torch.relu(hidden))")


def attend(arguments: str) -> tuple[str, str]:
    """Call the attention with other arguments."""
    return ATTEND, f"attended = self.self_attn({arguments})"


def norms(*formula: str) -> list[tuple[str, str]]:
    """Write `formula` over the sum `t` and the norm `n` in place of both norms.

    Lines before the last one prepare it.
    """
    return [
        (line, f"t, n = {total}, {norm}\n{''.join(formula[:-1])}{result} {formula[-1]}")
        for line, total, norm, result in (
            (ADD1, "x + attended", "self.norm1", "middle ="),
            (ADD2, "middle + fed", "self.norm2", "return"),
        )
    ]


def moved(first: tuple[str, str], second: tuple[str, str]) -> list[list[tuple[str, str]]]:
    """Take dropout from its place and put it elsewhere: in both sublayers, or in one."""
    one, other = [(DROP1, ""), first], [(DROP2, ""), second]
    return [one + other, one, other]


def made_with(option: str) -> list[tuple[str, str]]:
    """Make both norms with an option more."""
    return [(line, f"{line[:-1]}, {option})") for line in (NORM1, NORM2)]


AFFINE = "* n.weight + n.bias"
SKIP_DROPPED = (
    (ADD1, "middle = self.norm1(self.dropout(x) + attended)"),
    (ADD2, "return self.norm2(self.dropout(middle) + fed)"),
)
CENTRED = "(t - t.mean(-1, keepdim=True))"

BUGS = (
    # --- what is added to what
    bug(
        "residual-from-layer-input",
        (ADD2, "return self.norm2(x + fed)"),
        says="the second sum adds the layer's input instead of what came out of the first norm, "
        "so the attention reaches the output only through the feed-forward network",
        ask="Two values could be called `x` by then: which of them went into the feed-forward "
        "network?",
    ),
    bug(
        "ffn-input-is-layer-input",
        (WIDEN, "hidden = self.linear1(x)"),
        says="the feed-forward network reads the layer's input, so it never sees what the "
        "attention found",
        ask="What should the feed-forward network know about the other tokens?",
    ),
    bug(
        "ffn-input-is-attention-output",
        (ATTEND, f"{ATTEND}\nfound = attended"),
        (WIDEN, "hidden = self.linear1(found)"),
        variants=[[(WIDEN, "hidden = self.linear1(attended)")]],
        says="the feed-forward network reads what the attention returned, not what the first norm "
        "made of it",
        ask="Which value does the second formula of the statement hand to the feed-forward "
        "network, and to the sum?",
    ),
    bug(
        "residual-missing-attn",
        (ADD1, "middle = self.norm1(attended)"),
        says="the first residual connection is missing: the attention's output replaces the "
        "input instead of being added to it",
        ask="If the attention returned zeros, what would be left of a token?",
    ),
    bug(
        "residual-missing-ffn",
        (ADD2, "return self.norm2(fed)"),
        says="the second residual connection is missing: the feed-forward network's output "
        "replaces its input instead of being added to it",
        ask="If the feed-forward network returned zeros, what would be left of a token?",
    ),
    bug(
        "residual-missing-both",
        (ADD1, "middle = self.norm1(attended)"),
        (ADD2, "return self.norm2(fed)"),
        says="both residual connections are missing: each sublayer's output replaces its input",
        ask="If both sublayers returned zeros, what would be left of a token?",
    ),
    bug(
        "residual-x-plus-x",
        (ADD1, "middle = self.norm1(attended + attended)"),
        says="the first sum adds the attention's output to itself: the name of the input was "
        "given to the output before the sum",
        ask="At the line of the first sum, what do the two names you add hold?",
    ),
    bug(
        "residual-inplace",
        variants=[
            [(ADD1, "x += attended\nmiddle = self.norm1(x)")],
            [
                (ADD1, "x += attended\nmiddle = self.norm1(x)"),
                (ADD2, "middle += fed\n" + ADD2.replace(" + fed", "")),
            ],
            [(ADD2, "middle += fed\n" + ADD2.replace(" + fed", ""))],
            [
                (DROP1, f"{DROP1}\nattended += x"),
                (ADD1, "x.copy_(self.norm1(attended))\nmiddle = x"),
            ],
        ],
        says="a tensor that the caller, or the backward pass, still needs is written to in "
        "place, as `+=` does",
        ask="Who else holds the tensor on the left of a `+=`, or before a method that ends in `_`?",
    ),
    bug(
        "residual-detached",
        variants=each_and_all(
            (ADD1, "middle = self.norm1(x.detach() + attended)"),
            (ADD2, "return self.norm2(middle.detach() + fed)"),
        ),
        says="what is added to a sublayer's output is cut off from autograd, so no gradient takes "
        "the residual path",
        ask="If a sublayer had no gradient at all, which one should still reach its input?",
    ),
    bug(
        "sublayer-detached",
        variants=[
            *each_and_all(
                attend("x.detach(), pad_mask=pad_mask"),
                (WIDEN, "hidden = self.linear1(middle.detach())"),
            ),
            *each_and_all(
                (DROP1, "attended = self.dropout(attended).detach()"),
                (DROP2, "fed = self.dropout(fed).detach()"),
            ),
        ],
        says="what goes into a sublayer, or what comes out of it, is cut off from autograd, so no "
        "gradient flows back through the sublayer",
        ask="By which paths does a gradient get from your output to x, and which of them are open?",
    ),
    # --- where the norms sit
    bug(
        "post-norm-before-add",
        variants=each_and_all(
            (ADD1, "middle = x + self.norm1(attended)"),
            (ADD2, "return middle + self.norm2(fed)"),
        ),
        says="the norm is applied to the sublayer's output before it is added, so the sum "
        "itself is never normalised",
        ask="After a post-norm layer, what are the mean and the deviation of each token?",
    ),
    bug(
        "post-implemented-as-pre",
        variants=[
            [
                attend("self.norm1(x), pad_mask=pad_mask"),
                (ADD1, "middle = x + attended"),
                (WIDEN, "hidden = self.linear1(self.norm2(middle))"),
                (ADD2, "return middle + fed"),
            ],
            [attend("self.norm1(x), pad_mask=pad_mask"), (ADD1, "middle = x + attended")],
            [(WIDEN, "hidden = self.linear1(self.norm2(middle))"), (ADD2, "return middle + fed")],
        ],
        says="a norm stands before its sublayer (pre-norm), and the sum after that goes without "
        "one; this layer is post-norm",
        ask="In the two formulas of the statement, what is inside the parentheses of each norm?",
    ),
    bug(
        "pre-residual-from-normed",
        variants=[
            [
                (ATTEND, f"x = self.norm1(x)\n{ATTEND}"),
                (ADD1, "middle = self.norm2(x + attended)"),
                (ADD2, "return middle + fed"),
            ],
            [(ATTEND, f"x = self.norm1(x)\n{ATTEND}"), (ADD1, "middle = x + attended")],
        ],
        says="the input is normalised first and the sum adds the normalised one, so there is no "
        "path around the norm, and the sum is not normalised",
        ask="Which tensor went into the layer, and is it still there at the sum?",
    ),
    bug(
        "extra-final-norm-in-layer",
        variants=[
            [
                (NORM2, f"{NORM2}\nself.norm3 = nn.LayerNorm(d_model)"),
                (ADD2, "return self.norm3(self.norm2(middle + fed))"),
            ],
            [(ADD2, "return self.norm2(self.norm2(middle + fed))")],
            [attend("self.norm1(x), pad_mask=pad_mask")],
            [(ADD1, "middle = self.norm1(x + self.norm1(attended))")],
            [(ADD2, "return self.norm2(middle + self.norm2(fed))")],
        ],
        says="a norm is applied once more than the layer has sums",
        ask="How many norms does the statement's pair of formulas hold, and where?",
    ),
    bug(
        "norm-shared",
        (NORM2, "self.norm2 = self.norm1"),
        says="one norm with one gain and shift serves both places; each needs its own",
        ask="How many gains and shifts does a layer with two norms learn?",
    ),
    bug(
        "layer-list-multiplied",
        (NORM1, "self.norms = nn.ModuleList([nn.LayerNorm(d_model)] * 2)"),
        (NORM2, "self.norm1, self.norm2 = self.norms"),
        says="a list times two holds the same norm twice, so both places share one gain and shift",
        ask="After `[layer] * 2`, how many layers exist?",
    ),
    bug(
        "second-norm-reuses-first",
        (ADD2, "return self.norm1(middle + fed)"),
        says="the second sum goes through the first norm; the second norm is never used and "
        "never trained",
        ask="Which gradient does the gain of your second norm get?",
    ),
    bug(
        "norms-swapped",
        (ADD1, "middle = self.norm2(x + attended)"),
        (ADD2, "return self.norm1(middle + fed)"),
        says="the second norm follows the attention and the first one the feed-forward network",
        ask="By their names, which norm comes first, and which does your forward call first?",
    ),
    bug(
        "norm-declared-unused",
        variants=each_and_all(
            (ADD1, "middle = x + attended"),
            (ADD2, "return middle + fed"),
        ),
        says="a norm is made but not applied to its sum",
        ask="For each sum in forward: what happens to it next?",
    ),
    bug(
        "norm-missing",
        variants=[
            [
                (NORM1, ""),
                (NORM2, ""),
                (ADD1, "middle = x + attended"),
                (ADD2, "return middle + fed"),
            ],
            [(NORM2, ""), (ADD2, "return middle + fed")],
            [
                (NORM2, ""),
                (ADD1, "middle = x + attended"),
                (ADD2, "return self.norm1(middle + fed)"),
            ],
            [(NORM1, ""), (ADD1, "middle = x + attended")],
        ],
        says="the layer lacks a norm: a sum goes on as it is",
        ask="How many sums does the layer have, and how many norms?",
    ),
    # --- what a layer norm is
    bug(
        "norm-in-forward",
        variants=[
            norms("nn.LayerNorm(t.size(-1), dtype=t.dtype, device=t.device)(t)"),
            [
                (NORM1, ""),
                (NORM2, ""),
                (ADD1, "middle = nn.LayerNorm(x.size(-1), dtype=x.dtype)(x + attended)"),
                (ADD2, "return nn.LayerNorm(x.size(-1), dtype=x.dtype)(middle + fed)"),
            ],
        ],
        says="the norm is made anew in every forward, or kept where PyTorch does not see it, so "
        "its gain and shift are never trained",
        ask="Which parameters does the optimiser see, and when are they made?",
    ),
    bug(
        "ln-no-affine",
        variants=[
            *each_and_all(*made_with("elementwise_affine=False")),
            norms("nn.functional.layer_norm(t, t.shape[-1:])"),
        ],
        says="a norm has no gain and shift, or does not apply them",
        ask="What does a layer norm learn?",
    ),
    bug(
        "batchnorm-for-layernorm",
        variants=[
            [
                (NORM1, "self.norm1 = nn.BatchNorm1d(d_model)"),
                (NORM2, "self.norm2 = nn.BatchNorm1d(d_model)"),
            ],
            [
                (NORM1, "self.norm1 = nn.BatchNorm1d(d_model)"),
                (NORM2, "self.norm2 = nn.BatchNorm1d(d_model)"),
                (ADD1, "middle = self.norm1((x + attended).transpose(1, 2)).transpose(1, 2)"),
                (ADD2, "return self.norm2((middle + fed).transpose(1, 2)).transpose(1, 2)"),
            ],
        ],
        says="batch norm takes its statistics over the batch and the tokens; layer norm takes "
        "them over the features of one token",
        ask="Which numbers may decide how one token is normalised?",
    ),
    bug(
        "ln-over-seq",
        *norms(
            "(t - t.mean(1, keepdim=True)) / "
            f"(t.var(1, correction=0, keepdim=True) + 1e-5).sqrt() {AFFINE}"
        ),
        says="the norm takes mean and variance over the tokens instead of the features",
        ask="Which dimension of (B, L, D) does a layer norm average over?",
    ),
    bug(
        "ln-over-all-dims",
        variants=[
            norms(f"nn.functional.layer_norm(t, t.shape[1:]) {AFFINE}"),
            norms(f"(t - t.mean()) / (t.var(correction=0) + 1e-5).sqrt() {AFFINE}"),
        ],
        says="the norm takes one mean and variance over tokens and features together, so tokens "
        "change each other",
        ask="If one token grows tenfold, should the others come out differently?",
    ),
    bug(
        "ln-unbiased-std",
        *norms(f"(t - t.mean(-1, keepdim=True)) / (t.std(-1, keepdim=True) + 1e-6) {AFFINE}"),
        says="the deviation is taken with D - 1, torch's default; layer norm divides by D",
        ask="What does std() divide by if you do not say otherwise?",
    ),
    bug(
        "rmsnorm-for-layernorm",
        variants=[
            norms(f"nn.functional.rms_norm(t, t.shape[-1:], eps=1e-6) {AFFINE}"),
            [
                (NORM1, "self.norm1 = nn.RMSNorm(d_model, eps=1e-6)"),
                (NORM2, "self.norm2 = nn.RMSNorm(d_model, eps=1e-6)"),
            ],
        ],
        says="the mean is not subtracted: that is RMSNorm, which divides by the root of the mean "
        "square only",
        ask="What is the mean of a token after a layer norm, before gain and shift?",
    ),
    bug(
        "ln-var-formula",
        *norms(
            "m, square = t.mean(-1, keepdim=True), t.pow(2).mean(-1, keepdim=True)\n",
            f"(t - m) / ((square - m) ** 2 + 1e-5).sqrt() {AFFINE}",
        ),
        says="the variance is computed by a wrong formula, the square of a difference instead of "
        "a difference of squares",
        ask="What is the variance in terms of the mean and the mean of the squares?",
    ),
    bug(
        "ln-no-sqrt",
        *norms(f"{CENTRED} / (t.var(-1, correction=0, keepdim=True) + 1e-5) {AFFINE}"),
        says="the norm divides by the variance, where a layer norm divides by its root",
        ask="What is the deviation of a token after a layer norm, before gain and shift?",
    ),
    bug(
        "ln-eps-missing",
        *norms(f"{CENTRED} / t.std(-1, correction=0, keepdim=True) {AFFINE}"),
        says="the norm divides by a deviation that no eps is added to, so a token whose "
        "features are all equal becomes NaN",
        ask="What does your norm make of a token whose features are all the same?",
    ),
    bug(
        "ln-eps-too-large",
        *made_with("eps=1e-3"),
        says="eps is larger than the statement allows, so it changes what the norm returns",
        ask="How large is the eps of your norm beside the variance of a token?",
    ),
    bug(
        "ln-no-shift",
        variants=each_and_all(*made_with("bias=False")),
        says="a norm has a gain, but no shift",
        ask="Which parameters does nn.LayerNorm(D) have, and which does your norm have?",
    ),
    # --- the feed-forward network
    bug(
        "ffn-missing",
        variants=[
            [(ADD2, "return middle")],
            [(ADD2, "return self.norm2(middle)")],
            [(ADD2, "return self.norm2(middle + middle)")],
        ],
        says="the feed-forward network has no part in the output",
        ask="Which gradient do the two linear layers get?",
    ),
    bug(
        "returns-attn-block",
        (ADD2, "return middle"),
        says="what is returned is the value after the first sublayer; the rest is computed for "
        "nothing",
        ask="Which name does your return line hold, and where was it last set?",
    ),
    bug(
        "ffn-no-activation",
        (RELU, ""),
        says="nothing stands between the two linear layers, so together they are one linear map",
        ask="What can two linear layers in a row do that one cannot?",
    ),
    bug(
        "ffn-activation-after-second",
        variants=[
            [(RELU, ""), (NARROW, f"{NARROW}\nfed = torch.relu(fed)")],
            [(NARROW, f"{NARROW}\nfed = torch.relu(fed)")],
        ],
        says="the activation follows the second linear layer, so the network can only add "
        "positive numbers",
        ask="Which signs can the output of your feed-forward network have?",
    ),
    bug(
        "ffn-activation-before-first",
        (WIDEN, "hidden = self.linear1(torch.relu(middle))"),
        (RELU, ""),
        says="the activation comes before the first linear layer, not between the two",
        ask="Which of your two linear layers gets numbers that are never negative?",
    ),
    bug(
        "ffn-gelu-for-relu",
        variants=[
            [(RELU, f"hidden = nn.functional.{name}(hidden)")]
            for name in ("gelu", "silu", "leaky_relu", "elu", "relu6", "softplus")
        ]
        + [[(RELU, f"hidden = torch.{name}(hidden)")] for name in ("tanh", "sigmoid")],
        says="the activation is another one than ReLU",
        ask="What does your activation return for -1, and what for 20?",
    ),
    bug(
        "ffn-width",
        variants=[
            [
                (LINEAR1, f"self.linear1 = nn.Linear(d_model, {w})"),
                (LINEAR2, f"self.linear2 = nn.Linear({w}, d_model)"),
            ]
            for w in ("d_model", "4 * d_model")
        ],
        says="the feed-forward network is not d_ff wide",
        ask="Which argument of the constructor is used nowhere?",
    ),
    # --- the attention
    bug(
        "attention-missing",
        variants=[[(ADD1, "middle = x")], [(ADD1, "middle = self.norm1(x)")]],
        says="the attention has no part in the output: every token is treated alone",
        ask="If you change one token, which outputs change?",
    ),
    bug(
        "sublayer-order",
        (ATTEND, "hidden = torch.relu(self.linear1(x))"),
        (DROP1, "attended = self.dropout(self.linear2(hidden))"),
        (WIDEN, "hidden = middle"),
        (RELU, ""),
        (NARROW, "fed = self.self_attn(middle, pad_mask=pad_mask)"),
        says="the feed-forward network comes first and the attention second",
        ask="Which of the two sublayers should see the layer's input?",
    ),
    bug(
        "pad-mask-passed-as-causal",
        variants=[[attend("x, pad_mask")], [attend("x, pad_mask, pad_mask")]],
        says="the padding mask is handed over in the causal mask's place, where (B, L) does not "
        "fit, or, if B = L, hides the wrong keys",
        ask="Which argument of the attention is your second positional one?",
    ),
    bug(
        "mask-not-passed",
        attend("x"),
        says="the layer takes a padding mask but does not hand it to the attention, so real "
        "tokens see padding",
        ask="Follow the mask from the signature on: who gets it?",
    ),
    bug(
        "mask-inverted",
        attend("x, pad_mask=None if pad_mask is None else ~pad_mask"),
        says="the mask is turned round before it is handed over: real tokens are hidden, and "
        "padding is seen",
        ask="What does True mean for the attention you are given?",
    ),
    bug(
        "mask-unsqueezed-twice",
        variants=[
            [attend(f"x, pad_mask=None if pad_mask is None else pad_mask{view}")]
            for view in ("[:, None, None, :]", "[:, None, :]", "[:, :, None]")
        ],
        says="the mask is given more dimensions before it is handed over, though the attention "
        "does that itself",
        ask="Which shape does the given attention expect of its padding mask?",
    ),
    bug(
        "mask-float-dtype",
        variants=[
            [attend("x, pad_mask=None if pad_mask is None else pad_mask.to(x.dtype)")],
            [attend("x, pad_mask=None if pad_mask is None else pad_mask.float()")],
            [attend("x, pad_mask=None if pad_mask is None else pad_mask.long()")],
        ],
        says="the mask is turned into numbers before it is handed over; added to the scores, 0 "
        "and 1 hide nothing",
        ask="Which dtype says `may attend`, and what does attention do with numbers?",
    ),
    bug(
        "mask-if-truthiness",
        attend("x, pad_mask=pad_mask if pad_mask else None"),
        says="a mask of several values is asked whether it is true, which has no answer",
        ask="What is the truth value of a tensor with six entries?",
    ),
    bug(
        "mha-tuple-unpacked",
        variants=[
            [(ATTEND, "attended, _ = self.self_attn(x, pad_mask=pad_mask)")],
            [(ATTEND, "attended = self.self_attn(x, pad_mask=pad_mask)[0]")],
        ],
        says="the attention's result is unpacked like a pair, though it is one tensor: that "
        "takes the first example of the batch for all of them",
        ask="What does the given attention return, and what is its entry 0?",
    ),
    bug(
        "mask-first-row-for-all",
        variants=[
            [attend(f"x, pad_mask=None if pad_mask is None else {view}")]
            for view in ("pad_mask[:1].expand_as(pad_mask)", "pad_mask[0].expand_as(pad_mask)")
        ],
        says="the padding of the first sequence is applied to the whole batch",
        ask="If the second sequence is shorter than the first, which mask hides its padding?",
    ),
    bug(
        "batch-seq-axis-swapped",
        variants=[
            [(ATTEND, f"attended = self.self_attn(x.transpose(0, 1){mask}).transpose(0, 1)")]
            for mask in (
                ", pad_mask=None if pad_mask is None else pad_mask.transpose(0, 1)",
                ", pad_mask=pad_mask",
                "",
            )
        ],
        says="batch and tokens are exchanged for the attention, so a token looks at the other "
        "sequences instead of the other tokens",
        ask="If the batch holds one sequence, how many keys does a token of yours see?",
    ),
    bug(
        "causal-added",
        variants=[
            [
                attend(
                    "x, torch.ones(x.size(1), x.size(1), dtype=torch.bool, "
                    "device=x.device).tril(), pad_mask"
                )
            ]
        ],
        says="a causal mask is handed to the attention, so a token of the encoder does not see "
        "what comes after it",
        ask="If you change the last token, which outputs of an encoder should change?",
    ),
    bug(
        "sublayer-called-twice",
        variants=[
            [
                (
                    ATTEND,
                    f"{ATTEND}\nattended = self.self_attn(attended, pad_mask=pad_mask)",
                )
            ],
            [(NARROW, f"{NARROW}\nfed = self.linear2(torch.relu(self.linear1(fed)))")],
        ],
        says="a sublayer runs twice, the second time on what it returned the first time",
        ask="How often does each sublayer stand in the two formulas of the statement?",
    ),
    bug(
        "attention-called-with-qkv",
        variants=[
            [attend("x, x, x, pad_mask")],
            [attend("x, x, x, pad_mask=pad_mask")],
            [attend("x, x, x")],
        ],
        says="x is handed over three times, as to an attention that takes queries, keys and "
        "values; this one takes x once, and then the masks",
        ask="Which parameters does the given attention's forward have?",
    ),
    # --- dropout
    bug(
        "dropout-missing",
        variants=[
            *each_and_all((DROP1, ""), (DROP2, "")),
            # Dropout inside the network alone is no dropout of what the network returns.
            [(DROP1, ""), (DROP2, ""), INNER_DROPOUT],
            [(DROP2, ""), INNER_DROPOUT],
        ],
        says="a sublayer's output is added without dropout, though the layer is in train mode",
        ask="With a dropout of 1 in train mode, what should be left of each sublayer?",
    ),
    bug(
        "dropout-before",
        variants=[
            *moved(
                (ADD1, "middle = self.norm1(self.dropout(x + attended))"),
                (ADD2, "return self.norm2(self.dropout(middle + fed))"),
            ),
            *moved(*SKIP_DROPPED),
            *each_and_all(*SKIP_DROPPED),
        ],
        says="dropout hits what should pass by the sublayer untouched: the sum, or what the "
        "sublayer's output is added to",
        ask="With a dropout of 1 in train mode, what should still reach the norm?",
    ),
    bug(
        "dropout-after",
        variants=moved(
            (ADD1, "middle = self.dropout(self.norm1(x + attended))"),
            (ADD2, "return self.dropout(self.norm2(middle + fed))"),
        ),
        says="dropout hits the output of a norm instead of the output of a sublayer",
        ask="With a dropout of 1 in train mode, is the layer's output all zeros?",
    ),
    bug(
        "dropout-on-input",
        variants=[
            *moved(
                attend("self.dropout(x), pad_mask=pad_mask"),
                (WIDEN, "hidden = self.linear1(self.dropout(middle))"),
            ),
            [attend("self.dropout(x), pad_mask=pad_mask")],
        ],
        says="dropout hits what goes into a sublayer; only what comes out is to be dropped",
        ask="With a dropout of 1 in train mode, what does your sublayer add?",
    ),
    bug(
        "dropout-in-eval",
        variants=[
            edits
            for rate in ("self.dropout.p", "0.1", "0.5")
            for edits in each_and_all(
                (DROP1, f"attended = nn.functional.dropout(attended, {rate})"),
                (DROP2, f"fed = nn.functional.dropout(fed, {rate})"),
            )
        ],
        says="dropout is active in eval mode as well, so the output is random when it should "
        "not be",
        ask="How does your dropout know whether the module is in train or in eval mode?",
    ),
    *dropout_share_mistakes(),
    *unscaled_mistakes([DROP1, DROP2]),
    *dropping_mistakes([DROP1, DROP2]),
    # --- modules
    bug(
        "linear-in-python-list",
        variants=[
            [
                (LINEAR1, "self.layers = [nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)]"),
                (LINEAR2, ""),
                (WIDEN, "hidden = self.layers[0](middle)"),
                (NARROW, "fed = self.layers[1](hidden)"),
            ],
        ],
        says="layers stand in a plain Python list, where PyTorch does not see their parameters",
        ask="What does `list(layer.parameters())` show?",
    ),
    bug(
        "norms-in-python-list",
        (NORM1, "self.norms = [nn.LayerNorm(d_model), nn.LayerNorm(d_model)]"),
        (NORM2, ""),
        (ADD1, "middle = self.norms[0](x + attended)"),
        (ADD2, "return self.norms[1](middle + fed)"),
        says="the norms stand in a plain Python list, where PyTorch does not see their gains "
        "and shifts",
        ask="What does `list(layer.parameters())` show?",
    ),
    bug(
        "param-in-forward",
        (LINEAR1, "self.d_ff = d_ff"),
        (LINEAR2, ""),
        (WIDEN, "hidden = nn.Linear(x.size(-1), self.d_ff, dtype=x.dtype)(middle)"),
        (NARROW, "fed = nn.Linear(self.d_ff, x.size(-1), dtype=x.dtype)(hidden)"),
        says="linear layers are made anew in every forward, so each call has other random "
        "weights and nothing is trained",
        ask="How often is a layer made that you create in forward?",
    ),
    bug(
        "super-init-missing",
        ("super().__init__()", ""),
        says="super().__init__() is not called, so the module cannot hold layers",
        ask="What does nn.Module set up before the first layer is assigned?",
    ),
    bug(
        "api-typos",
        variants=[
            [(LINEAR1, "self.linear1 = nn.linear(d_model, d_ff)")],
            [(NORM1, "self.norm1 = nn.Layernorm(d_model)")],
            [(NORM1, "self.norm1 = nn.layer_norm(d_model)")],
            [(DROPOUT, "self.dropout = nn.dropout(dropout)")],
        ],
        says="a name of torch's is misspelt",
        ask="What does the error say does not exist, and how do the documents spell it?",
    ),
)

HINTS = (
    "A sublayer computes a change, not a replacement: its output is dropped in part, added to "
    "its own input, and then the sum is normalised. The layer does that twice.",
    "Look at the tensors that meet in each sum. The first sum joins the layer's input and the "
    "attention; the second joins what came out of the first norm and the feed-forward network. "
    "Then look at which of the attention's arguments your mask lands in.",
    "(B, L, D) in, attention (B, L, D), sum (B, L, D), norm (B, L, D); then (B, L, F) after "
    "linear1 and ReLU, (B, L, D) after linear2, sum, norm, (B, L, D) out. The mask stays (B, L).",
    "In forward, twice: y = sublayer(h); y = dropout(y); h = norm(... two tensors ...). The first "
    "h is x; keep each result under a name of its own, so that none is overwritten too early.",
)

QUESTIONS = (
    Question(
        "Where does the norm sit in post-norm and in pre-norm, and what does that change?",
        (
            "post-norm normalises the sum, pre-norm the input of the sublayer",
            "pre-norm leaves a path from input to output without a norm, so gradients reach every "
            "layer at full size",
            "deep post-norm stacks need a learning rate warm-up",
            "a pre-norm stack needs one more norm at its end",
        ),
    ),
    Question(
        "Why does the layer have residual connections at all?",
        (
            "gradients flow past the sublayers",
            "a sublayer only has to learn a change",
            "at the start of training the layer is close to the identity",
        ),
    ),
    Question(
        "Why layer norm and not batch norm?",
        (
            "statistics of one token only: no dependence on the batch or on other tokens",
            "lengths and padding differ within a batch",
            "the same computation in training and in inference, no running averages",
        ),
    ),
    Question(
        "What is the feed-forward network for, and why is it wider than the model?",
        (
            "attention only averages values; this is the non-linear work on each token",
            "the same weights for every position, like a convolution with kernel 1",
            "about two thirds of the layer's parameters sit here, with F = 4 D",
        ),
    ),
    Question(
        "Where does dropout sit, and how would you test that without statistics?",
        (
            "on each sublayer's output, before it is added",
            "never on the residual path",
            "with p = 1 in train mode the layer must be norm2(norm1(x))",
            "in eval mode it does nothing",
        ),
    ),
    Question(
        "What do you have to watch for when you hand the padding mask to the attention?",
        (
            "which argument it is: a padding mask is (B, L), a causal mask (L, L)",
            "what True means: torch's own encoder layer means the opposite",
            "padded queries still give an output, which nobody should read",
        ),
    ),
    Question(
        "The output has the right shape. Which mistakes could still be in there?",
        (
            "a missing or wrong residual: every tensor here is (B, L, D)",
            "a mask that is never used",
            "one norm used twice, visible only once gain and shift are trained",
            "dropout in the wrong place, visible only in train mode",
        ),
    ),
    Question(
        "How do time and memory of one layer grow with the length?",
        (
            "attention: L * L * D time, and L * L scores a head",
            "projections and feed-forward: linear in L, with D * D and D * F",
            "for short sequences the feed-forward network costs most",
        ),
    ),
)

KATA = Kata(
    number=6,
    stem="kata06_encoder_layer",
    title="Encoder layer",
    minutes=12,
    cap_minutes=20,
    targets=(
        Target(NAME, "module", ("d_model", "num_heads", "d_ff", "dropout"), ("x", "pad_mask")),
    ),
    build=build,
    checks=CHECKS,
    bugs=BUGS,
    equal=(
        ("residual-missing-attn", "residual-x-plus-x"),
        ("norm-shared", "layer-list-multiplied"),
        ("norm-in-forward", "ln-no-affine"),
        ("ffn-missing", "returns-attn-block"),
    ),
    accepts=(
        (
            Edit(NORM1, "self.norm1 = nn.LayerNorm(d_model, eps=1e-12)"),
            Edit(NORM2, "self.norm2 = nn.LayerNorm(d_model, eps=1e-12)"),
        ),
    ),
    hints=HINTS,
    questions=QUESTIONS,
)
