"""kata8: cases, checks and known bugs of the residual block."""

from __future__ import annotations

from typing import Any

from grader.mistakes.dropping import (
    dropout_share_mistakes,
    dropping_mistakes,
    unscaled_mistakes,
)
from grader.model import Case, Check, Edit, Kata, Part, Question, Recipe, Role, Target
from grader.patching import bug
from grader.properties import (
    distant_features,
    dropout_share,
    earlier_calls,
    equal_features,
    instances,
    next_to_no_dropout,
)
from grader.strategies import (
    DROPS,
    alternating,
    integer,
    norm_weights,
    numbers,
    with_distant_features,
    with_equal_features,
    word,
)

NAME = "ResidualBlock"


def build(recipe: Recipe) -> Case:
    """Build one call: a sublayer, x (B, L, D), and what the sublayer gets beside x."""
    import torch

    batch, length = integer(recipe, "batch", 3), integer(recipe, "length", 5)
    d_model, seed = integer(recipe, "d_model", 12), integer(recipe, "seed", 1)
    part, norm_first = word(recipe, "part", "mixing"), bool(integer(recipe, "norm_first", 0))
    drop, times = word(recipe, "dropout", "none"), integer(recipe, "times", 1)
    shape = (batch, length, d_model)
    extra, options = _extras(part, integer(recipe, "extras", 3), seed, shape)
    init: dict[str, Any] = {"d_model": d_model, "sublayer": _part(part, d_model, seed)}
    if not integer(recipe, "defaults", 0):
        init |= {"dropout": DROPS[drop], "norm_first": norm_first}
    # An eps is free, so what comes out of a norm may differ a little; where the
    # sublayer adds nothing, pre-norm hands x on as it is.
    bypassed = part == "zeros" or (drop == "all" and bool(integer(recipe, "train", 0)))
    case = Case(
        target=NAME,
        init=init,
        args=(numbers(seed, "x", *shape) * times, *extra),
        arg_names=("x", "the first further argument", "the second further argument"),
        inputs=options,
        weights=norm_weights(seed, "norm", d_model),
        roles=(Role("norm", "norm"),),
        returns=(shape,),
        train=bool(integer(recipe, "train", 0)),
        dtype=word(recipe, "dtype", "float64"),
        tolerance=torch.zeros(1) if norm_first and bypassed else 1e-4,
    )
    if integer(recipe, "flat", 0):
        return with_equal_features(case)
    if integer(recipe, "distant", 0):
        return with_distant_features(case)
    return _measuring(case) if part == "lifting" else case


def _part(name: str, d_model: int, seed: int) -> Part:
    if name == "mixing":
        return Part(name, {"d_model": d_model, "seed": seed})
    return Part(name)


def _extras(
    part: str, extras: int, seed: int, shape: tuple[int, int, int]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return what a sublayer gets beside x, by position and by keyword."""
    other = numbers(seed, "other", *shape)
    further = (other, numbers(seed, "second", *shape))
    if part == "gating":
        if extras % 2:
            return (other,), {"strength": 0.5}
        return (), {"other": other, "strength": 0.5}
    if part in ("steering", "steering function"):
        gain = numbers(seed, "gain", *shape)
        return (
            ((), {}),
            (further[:1], {"shift": 0.7}),
            (further, {}),
            (further, {"gain": gain, "shift": 0.7}),
            ((), {"second": further[1], "gain": gain}),
        )[extras]
    if part == "telling":
        return (
            ((None, other), {}),
            ((3, "near", other), {"mask": None}),
            ((), {"mask": None, "flag": False, "name": "causal"}),
            ((other, None), {"gain": further[1], "mask": None}),
            ((False, 0.5), {"flag": True, "scale": 2}),
            ((other > 0,), {"mask": other < 0}),
            (([1, 2], ()), {"dropout": 0.3, "training": None, "memory": None, "name": ""}),
            (((3, 4),), {}),
            (([5],), {"option": {"depth": 2}}),
        )[extras]
    return (), {}


def _measuring(case: Case) -> Case:
    """Lay tokens and norm out so that the output tells what dropout made of the answer."""
    from dataclasses import replace

    import torch

    size = case.returns[0][-1]
    return replace(
        case,
        args=(alternating(size).expand(case.returns[0]).clone(),),
        weights={
            "norm.weight": torch.ones(size, dtype=torch.float64),
            "norm.bias": torch.zeros(size, dtype=torch.float64),
        },
    )


SIZES = {"batch": (1, 3), "length": (1, 5), "d_model": (2, 8), "seed": (0, 999)}
PARTS: list[int | str] = [
    *("mixing", "doubling", "moody", "zeros", "itself", "identity", "halving")
]

CHECKS = (
    Check("layers_are_found", "the block holds a layer norm", NAME, "layers", bank=({},)),
    Check(
        "post_norm_matches",
        "in post-norm, the sum of x and the sublayer's answer is normalised",
        NAME,
        "values",
        bank=(
            {},
            {"batch": 2, "length": 7, "d_model": 10, "seed": 2},
            {"batch": 4, "length": 1, "seed": 3},
            {"batch": 1, "length": 1, "d_model": 5, "seed": 4},
            {"d_model": 1, "seed": 89},
            # Where L = D, or B = L, some wrong axes go unnoticed by the shapes.
            {"batch": 2, "length": 12, "seed": 5},
            {"batch": 4, "length": 4, "d_model": 7, "seed": 6},
            {"part": "doubling", "seed": 7},
            {"part": "itself", "seed": 8},
            {"part": "halving", "seed": 88},
            {"part": "moody", "seed": 9},
            {"part": "moody", "train": 1, "seed": 10},
            # As large as people run it, one size at a time.
            {"batch": 9, "length": 3, "seed": 81},
            {"batch": 1, "length": 40, "seed": 82},
            {"batch": 1, "length": 3, "d_model": 64, "seed": 83},
        ),
        draws={**SIZES, "part": PARTS, "dropout": ["none", "all", "half"]},
        examples=60,
    ),
    Check(
        "pre_norm_matches",
        "in pre-norm, the sublayer gets x normalised, and its answer is added to x itself",
        NAME,
        "values",
        bank=(
            {"norm_first": 1, "seed": 11},
            {"norm_first": 1, "batch": 2, "length": 7, "d_model": 10, "seed": 12},
            {"norm_first": 1, "batch": 4, "length": 1, "seed": 13},
            {"norm_first": 1, "batch": 1, "length": 1, "d_model": 5, "seed": 14},
            {"norm_first": 1, "d_model": 1, "seed": 90},
            {"norm_first": 1, "batch": 2, "length": 12, "seed": 15},
            {"norm_first": 1, "batch": 4, "length": 4, "d_model": 7, "seed": 16},
            {"norm_first": 1, "part": "doubling", "seed": 17},
            {"norm_first": 1, "part": "itself", "seed": 18},
            {"norm_first": 1, "part": "moody", "seed": 19},
            {"norm_first": 1, "part": "moody", "train": 1, "seed": 20},
            {"norm_first": 1, "batch": 9, "length": 3, "seed": 85},
            {"norm_first": 1, "batch": 1, "length": 40, "seed": 86},
            {"norm_first": 1, "batch": 1, "length": 3, "d_model": 64, "seed": 87},
        ),
        draws={**SIZES, "norm_first": [1], "part": PARTS, "dropout": ["none", "all", "half"]},
        examples=60,
    ),
    Check(
        "zeros_show_the_skip",
        "around a sublayer of zeros, pre-norm is exactly the identity and post-norm the norm",
        NAME,
        "values",
        bank=(
            {"part": "zeros", "norm_first": 1, "seed": 21},
            {"part": "zeros", "seed": 22},
        ),
        draws={**SIZES, "norm_first": [1, 0], "part": ["zeros"]},
        examples=20,
    ),
    Check(
        "arguments_are_handed_on",
        "the sublayer gets every further argument, by position and by keyword",
        NAME,
        "values",
        bank=tuple(
            {"part": part, "extras": extras, "norm_first": first, "seed": 23 + extras}
            for part, extras, first in (
                ("gating", 1, 0),
                ("gating", 0, 1),
                ("steering", 1, 0),
                ("steering", 1, 1),
                ("steering", 2, 0),
                ("steering", 2, 1),
                ("steering", 4, 0),
                ("steering", 4, 1),
                ("steering function", 3, 0),
                ("steering function", 3, 1),
                *(("telling", extras, first) for extras in range(9) for first in (0, 1)),
            )
        ),
        draws={
            **SIZES,
            "norm_first": [0, 1],
            "part": ["steering", "gating", "steering function", "telling"],
            "extras": (0, 4),
        },
        examples=40,
    ),
    Check(
        "sublayer_is_called_once",
        "the very sublayer that was handed in is called, once in each forward",
        NAME,
        "values",
        bank=(
            {"part": "counting", "seed": 32},
            {"part": "counting", "norm_first": 1, "seed": 33},
            {"part": "counting", "train": 1, "seed": 36},
            {"part": "counting", "norm_first": 1, "train": 1, "seed": 37},
            {"part": "counting", "after_others": 1, "seed": 34},
            {"part": "counting", "norm_first": 1, "after_others": 1, "seed": 35},
        ),
        after=("post_norm_matches", "pre_norm_matches"),
    ),
    Check(
        "defaults_hold",
        "left out, dropout is 0 and norm_first is False",
        NAME,
        "values",
        bank=({"defaults": 1, "train": 1, "seed": 31},),
        after=("post_norm_matches",),
    ),
    Check(
        "dropout_sits_before_the_add",
        "in train mode, dropout hits the sublayer's answer, before it is added",
        NAME,
        "values",
        bank=(
            {"train": 1, "dropout": "all", "seed": 41},
            {"train": 1, "dropout": "all", "norm_first": 1, "seed": 42},
            {"train": 1, "dropout": "all", "length": 1, "seed": 43},
            {"train": 1, "dropout": "all", "part": "steering", "norm_first": 1, "seed": 44},
        ),
        draws={**SIZES, "norm_first": [0, 1], "train": [1], "dropout": ["all"]},
        examples=20,
        after=("post_norm_matches", "pre_norm_matches"),
    ),
    Check(
        "dropout_rests_in_eval",
        "in eval mode, nothing is dropped",
        NAME,
        "values",
        bank=(
            {"dropout": "all", "seed": 45},
            {"dropout": "all", "norm_first": 1, "seed": 46},
        ),
        after=("post_norm_matches", "pre_norm_matches"),
    ),
    Check(
        "train_mode_without_dropout",
        "with a dropout of 0, train mode drops nothing",
        NAME,
        "values",
        bank=(
            {"train": 1, "seed": 47},
            {"train": 1, "norm_first": 1, "seed": 48},
        ),
        after=("post_norm_matches", "pre_norm_matches"),
    ),
    dropout_share(
        NAME,
        *(
            {
                "part": "lifting",
                "norm_first": first,
                "train": 1,
                "dropout": "some",
                # Many of each: one draw may decide for a sequence or for a place in all of them.
                "batch": 16,
                "length": 16,
                "d_model": 32,
            }
            for first in (0, 1)
        ),
        after="dropout_sits_before_the_add",
    ),
    Check(
        "large_inputs_stay_finite",
        "large inputs give finite, right values",
        NAME,
        "values",
        bank=(
            {"times": 1000, "seed": 51},
            {"times": 1000, "norm_first": 1, "seed": 52},
        ),
        after=("post_norm_matches", "pre_norm_matches"),
    ),
    equal_features(
        NAME,
        {"flat": 1, "part": "zeros", "seed": 49},
        {"flat": 1, "part": "identity", "norm_first": 1, "seed": 50},
        after=("post_norm_matches", "pre_norm_matches"),
    ),
    Check(
        "gradients_match",
        "gradients reach the input, the further arguments and the norm",
        NAME,
        "gradients",
        bank=(
            {"seed": 53},
            {"norm_first": 1, "seed": 54},
            {"part": "steering", "batch": 2, "length": 7, "seed": 55},
            {"part": "steering", "norm_first": 1, "seed": 56},
            # Its gradient needs what it returned, as that of a ReLU does.
            {"part": "squashing", "seed": 75},
            {"part": "squashing", "norm_first": 1, "seed": 76},
        ),
        draws={**SIZES, "norm_first": [0, 1], "part": ["mixing", "steering", "zeros"]},
        examples=20,
        after=("post_norm_matches", "pre_norm_matches"),
    ),
    next_to_no_dropout(
        NAME,
        {"train": 1, "seed": 63},
        {"train": 1, "norm_first": 1, "seed": 64},
        after="train_mode_without_dropout",
    ),
    Check(
        "inputs_are_kept",
        "no input is changed in place, whatever the sublayer returns",
        NAME,
        "inputs_kept",
        bank=tuple(
            {"part": part, "norm_first": first, "train": train, "dropout": drop, "seed": 57}
            for part in ("itself", "steering")
            for first in (0, 1)
            for train, drop in ((0, "none"), (1, "all"), (1, "none"))
        ),
    ),
    Check(
        "repeats",
        "a second call returns the same",
        NAME,
        "repeats",
        bank=(
            {"dropout": "half", "seed": 61},
            {"dropout": "half", "norm_first": 1, "seed": 62},
            {"part": "itself", "seed": 59},
            {"part": "itself", "norm_first": 1, "seed": 60},
        ),
    ),
    earlier_calls(
        NAME,
        {"part": "steering", "seed": 71},
        {"part": "steering", "norm_first": 1, "extras": 4, "seed": 72},
        after=("arguments_are_handed_on",),
    ),
    instances(
        NAME, {"seed": 75}, {"norm_first": 1, "seed": 76}, after=("arguments_are_handed_on",)
    ),
    Check(
        "takes_any_layout",
        "tensors that are transposed views give the same",
        NAME,
        "values",
        bank=(
            {"transposed": 1, "length": 12, "seed": 73},
            {"transposed": 1, "norm_first": 1, "part": "steering", "seed": 74},
        ),
        after=("arguments_are_handed_on",),
    ),
    Check(
        "works_in_float32",
        "float32, as people run it, gives the same",
        NAME,
        "values",
        bank=(
            {"dtype": "float32", "seed": 63},
            {"dtype": "float32", "norm_first": 1, "part": "steering", "seed": 64},
        ),
        after=("post_norm_matches", "pre_norm_matches"),
    ),
    Check(
        "runs_on_any_device",
        "everything follows the input to a GPU, the sublayer too",
        NAME,
        "device",
        bank=(
            {"seed": 65},
            {"norm_first": 1, "seed": 66},
            {"train": 1, "dropout": "half", "seed": 67},
        ),
        after=("post_norm_matches", "pre_norm_matches"),
    ),
    distant_features(NAME, {"part": "zeros", "seed": 77}, after=("works_in_float32",)),
    Check(
        "half_precision",
        "does not work in half precision (autocast, GPU inference)",
        NAME,
        "half",
        bank=({"dtype": "float16", "seed": 67}, {"dtype": "float16", "norm_first": 1, "seed": 68}),
        required=False,
        after=("post_norm_matches", "pre_norm_matches"),
    ),
    Check(
        "no_loop_over_tokens",
        "a Python loop over the tokens; a norm and a sublayer take them all at once",
        NAME,
        "loops",
        bank=({"grow": "length", "length": 2, "seed": 69},),
        required=False,
        after=("post_norm_matches",),
    ),
    Check(
        "no_loop_over_batch",
        "a Python loop over the batch; one call does it all",
        NAME,
        "loops",
        bank=({"grow": "batch", "batch": 1, "seed": 70},),
        required=False,
        after=("post_norm_matches",),
    ),
)

KEEP = "self.sublayer = sublayer"
FLAG = "self.norm_first = norm_first"
NORM = "self.norm = nn.LayerNorm(d_model)"
DROPOUT = "self.dropout = nn.Dropout(dropout)"
BEFORE = "inner = self.norm(x) if self.norm_first else x"
CALL = "inner = self.sublayer(inner, *args, **kwargs)"
DROP = "inner = self.dropout(inner)"
ADD = "total = x + inner"
AFTER = "return total if self.norm_first else self.norm(total)"

Edits = list[tuple[str, str]]
# A slip may be made in one of the two orders only.
ORDERS = ("self.norm_first", "not self.norm_first")


def either(line: str, wrong: str, right: str, form: str = "{}") -> list[Edits]:
    """Do something wrong in both orders, in pre-norm alone, or in post-norm alone."""
    return [
        [(line, form.format(wrong))],
        [(line, form.format(f"({wrong} if self.norm_first else {right})"))],
        [(line, form.format(f"({right} if self.norm_first else {wrong})"))],
    ]


def norms(formula: str) -> list[Edits]:
    """Write `formula` over `t`, with the gain and shift of `self.norm`, in place of the norm."""
    return [
        [
            (BEFORE, f"t = x\ninner = {formula} if self.norm_first else x"),
            (AFTER, f"t = total\nreturn total if self.norm_first else {formula}"),
        ]
    ]


AFFINE = "* self.norm.weight + self.norm.bias"
CENTRED = "(t - t.mean(-1, keepdim=True))"

BUGS = (
    # --- what is added to what
    bug(
        "pre-residual-from-normed",
        (ADD, "total = (self.norm(x) if self.norm_first else x) + inner"),
        says="pre-norm adds the normalised input to the sublayer's answer, so there is no path "
        "around the norm",
        ask="In pre-norm, around a sublayer of zeros, what should come out?",
    ),
    bug(
        "residual-missing",
        variants=either(ADD, "inner", "x + inner", "total = {}"),
        says="the sublayer's answer replaces x instead of being added to it",
        ask="If the sublayer returned zeros, what would be left of x?",
    ),
    bug(
        "returns-sublayer-output",
        variants=[
            [(AFTER, "return inner")],
            [(AFTER, "return inner if self.norm_first else self.norm(total)")],
            [(AFTER, "return total if self.norm_first else inner")],
        ],
        says="the sum is computed, but the sublayer's answer is what is returned",
        ask="Which name stands in your return line, and what does it hold?",
    ),
    bug(
        "residual-doubled",
        variants=[
            *either(ADD, "x + x + inner", "x + inner", "total = {}"),
            *either(ADD, "x + inner + inner", "x + inner", "total = {}"),
        ],
        says="one of the two things that are added is added twice",
        ask="How often does your sum hold x, and how often the sublayer's answer?",
    ),
    bug(
        "residual-scaled",
        variants=[
            *either(ADD, "0.5 * (x + inner)", "x + inner", "total = {}")[:2],
            *either(ADD, "(x + inner) / 2**0.5", "x + inner", "total = {}")[:1],
            *either(ADD, "0.5 * x + inner", "x + inner", "total = {}"),
            *either(ADD, "x + 0.5 * inner", "x + inner", "total = {}"),
        ],
        says="the sum, or one of its parts, is multiplied by a factor that the block does not have",
        ask="Around a sublayer of zeros in pre-norm, is your output x itself?",
    ),
    bug(
        "residual-inplace",
        variants=[
            *either(ADD, "x.add_(inner)", "x + inner", "total = {}"),
            *either(ADD, "inner.add_(x)", "x + inner", "total = {}"),
        ],
        says="a tensor is written to in place, as `+=` does, which is the caller's x, or becomes "
        "it with a sublayer that returns what it is given",
        ask="Who else holds the tensor on the left of a `+=`, or before a method that ends in `_`?",
    ),
    bug(
        "residual-detached",
        variants=either(ADD, "x.detach() + inner", "x + inner", "total = {}"),
        says="the x that is added is cut off from autograd, so no gradient takes the residual path",
        ask="Around a sublayer without any gradient, which gradient should x still get?",
    ),
    bug(
        "sublayer-detached",
        variants=[
            *either(
                CALL,
                CALL.replace("(inner,", "(inner.detach(),").removeprefix("inner = "),
                CALL.removeprefix("inner = "),
                "inner = {}",
            ),
            *either(ADD, "x + inner.detach()", "x + inner", "total = {}"),
        ],
        says="what goes into the sublayer, or what comes out of it, is cut off from autograd, so "
        "no gradient flows back through the sublayer",
        ask="By which two paths does a gradient get from your output to x?",
    ),
    # --- where the norm sits
    bug(
        "pre-post-exchanged",
        (FLAG, "self.norm_first = not norm_first"),
        says="the two orders are exchanged: norm_first=True gives post-norm, and False pre-norm",
        ask="With norm_first=True, which comes first in your code: the norm or the sublayer?",
    ),
    bug(
        "norm-first-ignored",
        variants=[
            [(FLAG, "self.norm_first = False")],
            [(FLAG, "self.norm_first = True")],
        ],
        says="norm_first changes nothing: the block always has the same order",
        ask="Which line of your forward depends on norm_first?",
    ),
    bug(
        "pre-norm-on-output",
        variants=[
            [
                (BEFORE, "inner = x"),
                (ADD, "total = x + (self.norm(inner) if self.norm_first else inner)"),
            ],
            [
                (BEFORE, "inner = x"),
                (DROP, "inner = self.dropout(self.norm(inner) if self.norm_first else inner)"),
            ],
        ],
        says="pre-norm normalises the sublayer's answer instead of its input",
        ask="In pre-norm, which tensor does the sublayer see?",
    ),
    bug(
        "post-norm-before-add",
        variants=[
            [
                (ADD, "total = x + (inner if self.norm_first else self.norm(inner))"),
                (AFTER, "return total"),
            ],
            [
                (DROP, "inner = self.dropout(inner if self.norm_first else self.norm(inner))"),
                (AFTER, "return total"),
            ],
        ],
        says="post-norm normalises the sublayer's answer before it is added, so the sum itself is "
        "never normalised",
        ask="After a post-norm block, what are the mean and the deviation of each token?",
    ),
    bug(
        "extra-final-norm-in-layer",
        variants=[
            [(AFTER, "return self.norm(total)")],
            [(BEFORE, "inner = self.norm(x)")],
            [(BEFORE, "inner = self.norm(x)"), (AFTER, "return self.norm(total)")],
        ],
        says="the norm is applied twice, before the sublayer and after the sum, where one of them "
        "is asked for",
        ask="In each order, how often should a token be normalised?",
    ),
    bug(
        "norm-declared-unused",
        variants=[
            [(BEFORE, "inner = x"), (AFTER, "return total")],
            [(BEFORE, "inner = x")],
            [(AFTER, "return total")],
        ],
        says="the norm is made but not applied",
        ask="In each of the two orders, which line calls your norm?",
    ),
    bug(
        "norm-missing",
        (NORM, ""),
        (BEFORE, "inner = x"),
        (AFTER, "return total"),
        says="the block has no norm",
        ask="Which part of the block keeps the size of a token from growing?",
    ),
    # --- what a layer norm is
    bug(
        "norm-in-forward",
        variants=[
            *norms("nn.LayerNorm(t.size(-1), dtype=t.dtype, device=t.device)(t)"),
            [(NORM, ""), *norms("nn.LayerNorm(t.size(-1), dtype=t.dtype)(t)")[0]],
        ],
        says="the norm is made anew in every forward, or kept where PyTorch does not see it, so "
        "its gain and shift are never trained",
        ask="Which parameters does the optimiser see, and when are they made?",
    ),
    bug(
        "ln-no-affine",
        variants=[
            [(NORM, "self.norm = nn.LayerNorm(d_model, elementwise_affine=False)")],
            *norms("nn.functional.layer_norm(t, t.shape[-1:])"),
        ],
        says="the norm has no gain and shift, or does not apply them",
        ask="What does a layer norm learn?",
    ),
    bug(
        "rmsnorm-for-layernorm",
        variants=[
            norms(f"nn.functional.rms_norm(t, t.shape[-1:], eps=1e-6) {AFFINE}")[0],
            [(NORM, "self.norm = nn.RMSNorm(d_model, eps=1e-6)")],
        ],
        says="the mean is not subtracted: that is RMSNorm, which divides by the root of the mean "
        "square only",
        ask="What is the mean of a token after a layer norm, before gain and shift?",
    ),
    bug(
        "batchnorm-for-layernorm",
        variants=[
            [(NORM, "self.norm = nn.BatchNorm1d(d_model)")],
            [
                (NORM, "self.norm = nn.BatchNorm1d(d_model)"),
                *norms("self.norm(t.transpose(1, 2)).transpose(1, 2)")[0],
            ],
        ],
        says="batch norm takes its statistics over the batch and the tokens; layer norm takes "
        "them over the features of one token",
        ask="Which numbers may decide how one token is normalised?",
    ),
    bug(
        "ln-over-seq",
        variants=norms(
            "(t - t.mean(1, keepdim=True)) "
            f"/ (t.var(1, correction=0, keepdim=True) + 1e-5).sqrt() {AFFINE}"
        ),
        says="the norm takes mean and variance over the tokens instead of the features",
        ask="Which dimension of (B, L, D) does a layer norm average over?",
    ),
    bug(
        "ln-over-all-dims",
        variants=[
            *norms(f"nn.functional.layer_norm(t, t.shape[1:]) {AFFINE}"),
            *norms(f"(t - t.mean()) / (t.var(correction=0) + 1e-5).sqrt() {AFFINE}"),
        ],
        says="the norm takes one mean and variance over tokens and features together, so tokens "
        "change each other",
        ask="If one token grows tenfold, should the others come out differently?",
    ),
    bug(
        "ln-unbiased-std",
        variants=norms(
            f"(t - t.mean(-1, keepdim=True)) / (t.std(-1, keepdim=True) + 1e-6) {AFFINE}"
        ),
        says="the deviation is taken with D - 1, torch's default; layer norm divides by D",
        ask="What does std() divide by if you do not say otherwise?",
    ),
    bug(
        "ln-var-formula",
        variants=norms(
            "(t - t.mean(-1, keepdim=True)) / ((t.pow(2).mean(-1, keepdim=True) "
            f"- t.mean(-1, keepdim=True)) ** 2 + 1e-5).sqrt() {AFFINE}"
        ),
        says="the variance is computed by a wrong formula, the square of a difference instead of "
        "a difference of squares",
        ask="What is the variance in terms of the mean and the mean of the squares?",
    ),
    bug(
        "ln-no-sqrt",
        variants=norms(f"{CENTRED} / (t.var(-1, correction=0, keepdim=True) + 1e-5) {AFFINE}"),
        says="the norm divides by the variance, where a layer norm divides by its root",
        ask="What is the deviation of a token after a layer norm, before gain and shift?",
    ),
    bug(
        "ln-eps-missing",
        variants=norms(f"{CENTRED} / t.std(-1, correction=0, keepdim=True) {AFFINE}"),
        says="the norm divides by a deviation that no eps is added to, so a token whose "
        "features are all equal becomes NaN",
        ask="What does your norm make of a token whose features are all the same?",
    ),
    bug(
        "ln-eps-too-large",
        (NORM, "self.norm = nn.LayerNorm(d_model, eps=1e-3)"),
        says="eps is larger than the statement allows, so it changes what the norm returns",
        ask="How large is the eps of your norm beside the variance of a token?",
    ),
    bug(
        "ln-no-shift",
        (NORM, "self.norm = nn.LayerNorm(d_model, bias=False)"),
        says="the norm has a gain, but no shift",
        ask="Which parameters does nn.LayerNorm(D) have, and which does your norm have?",
    ),
    # --- the sublayer
    bug(
        "sublayer-arguments-dropped",
        variants=[
            *(
                [(CALL, f"inner = self.sublayer({arguments})")]
                for arguments in (
                    "inner",
                    "inner, *args",
                    "inner, **kwargs",
                    "inner, args, **kwargs",
                    "inner, args, kwargs",
                    "inner, *args, **{k: v for k, v in kwargs.items() if v is not None}",
                    "inner, *(a for a in args if a is not None), **kwargs",
                    "inner, *(a for a in args if isinstance(a, Tensor)), **kwargs",
                )
            ),
            *([(CALL, f"{CALL} if {order} else self.sublayer(inner, *args)")] for order in ORDERS),
        ],
        says="what forward is given beside x does not reach the sublayer as it came in",
        ask="If the sublayer is an attention with a mask, how does the mask get to it?",
    ),
    bug(
        "sublayer-called-twice",
        variants=[
            [(CALL, f"self.sublayer(x, *args, **kwargs)\n{CALL}")],
            [(CALL, f"self.sublayer(inner, *args, **kwargs)\n{CALL}")],
            [(CALL, f"{CALL}\n{CALL}")],
            [(ADD, "total = x + inner + self.sublayer(x, *args, **kwargs)")],
            [(ADD, "inner = inner + self.sublayer(x, *args, **kwargs)\ntotal = x + inner")],
            [
                (
                    CALL,
                    "inner = (self.sublayer(self.norm(x), *args, **kwargs), "
                    "self.sublayer(x, *args, **kwargs))[0 if self.norm_first else 1]",
                )
            ],
        ],
        says="the sublayer runs more than once in a forward",
        ask="If the sublayer counted its calls, how many would it count in one forward?",
    ),
    bug(
        "sublayer-copied",
        (KEEP, "from copy import deepcopy\nself.sublayer = deepcopy(sublayer)"),
        says="the block calls a copy of the sublayer, so the one that was handed in is neither "
        "called nor trained",
        ask="After a training step, which weights have changed: those of the sublayer that the "
        "caller holds?",
    ),
    bug(
        "sublayer-not-registered",
        variants=[
            [(KEEP, "self.sublayer = lambda *args, **kwargs: sublayer(*args, **kwargs)")],
        ],
        says="the sublayer is kept where PyTorch does not see it, so its parameters are not the "
        "block's, and it does not follow .to(), .train() and .eval()",
        ask="What do `list(block.parameters())` and `block.eval()` reach?",
    ),
    # --- dropout
    bug(
        "dropout-missing",
        variants=[
            [(DROP, "")],
            *([(DROP, f"inner = inner if {order} else self.dropout(inner)")] for order in ORDERS),
        ],
        says="the sublayer's answer is added without dropout, though the layer is in train mode",
        ask="With a dropout of 1 in train mode, what should be left of the sublayer's answer?",
    ),
    bug(
        "dropout-on-sum",
        variants=[
            [(DROP, ""), (ADD, "total = self.dropout(x + inner)")],
            [
                (DROP, "inner = inner if self.norm_first else self.dropout(inner)"),
                (ADD, "total = self.dropout(x + inner) if self.norm_first else x + inner"),
            ],
            [
                (DROP, "inner = self.dropout(inner) if self.norm_first else inner"),
                (ADD, "total = x + inner if self.norm_first else self.dropout(x + inner)"),
            ],
            *either(ADD, "self.dropout(x) + inner", "x + inner", "total = {}"),
            [(DROP, ""), (ADD, "total = self.dropout(x) + inner")],
        ],
        says="dropout hits what should pass by the sublayer untouched: the sum, or x itself",
        ask="With a dropout of 1 in train mode, what should a pre-norm block return?",
    ),
    bug(
        "dropout-after",
        variants=[
            [
                (DROP, ""),
                (AFTER, "return self.dropout(total if self.norm_first else self.norm(total))"),
            ],
            [
                (DROP, "inner = self.dropout(inner) if self.norm_first else inner"),
                (AFTER, "return total if self.norm_first else self.dropout(self.norm(total))"),
            ],
        ],
        says="dropout hits the block's output, after the norm, instead of the sublayer's answer",
        ask="With a dropout of 1 in train mode, is the block's output all zeros?",
    ),
    bug(
        "dropout-on-input",
        variants=[
            [(DROP, ""), (CALL, CALL.replace("(inner,", "(self.dropout(inner),"))],
            [
                (DROP, "inner = inner if self.norm_first else self.dropout(inner)"),
                (BEFORE, "inner = self.dropout(self.norm(x)) if self.norm_first else x"),
            ],
            [
                (DROP, "inner = self.dropout(inner) if self.norm_first else inner"),
                (BEFORE, "inner = self.norm(x) if self.norm_first else self.dropout(x)"),
            ],
            [(CALL, CALL.replace("(inner,", "(self.dropout(inner),"))],
            [(BEFORE, "inner = self.dropout(self.norm(x)) if self.norm_first else x")],
            [(BEFORE, "inner = self.norm(x) if self.norm_first else self.dropout(x)")],
        ],
        says="dropout hits what goes into the sublayer; only what comes out is to be dropped",
        ask="With a dropout of 1 in train mode, what does your sublayer add?",
    ),
    bug(
        "dropout-in-eval",
        variants=either(
            DROP,
            "nn.functional.dropout(inner, self.dropout.p)",
            "self.dropout(inner)",
            "inner = {}",
        ),
        says="dropout is active in eval mode as well, so the output is random when it should "
        "not be",
        ask="How does your dropout know whether the module is in train or in eval mode?",
    ),
    *dropout_share_mistakes(),
    *unscaled_mistakes([DROP], ORDERS),
    *dropping_mistakes([DROP], ORDERS),
    bug(
        "dropout-inplace",
        (DROPOUT, "self.dropout = nn.Dropout(dropout, inplace=True)"),
        says="dropout writes into the sublayer's answer, which is the caller's x with a sublayer "
        "that returns what it is given",
        ask="Who made the tensor that your dropout takes, and who else may hold it?",
    ),
    # --- modules
    bug(
        "super-init-missing",
        ("super().__init__()", ""),
        says="super().__init__() is not called, so the module cannot hold layers",
        ask="What does nn.Module set up before the first layer is assigned?",
    ),
    bug(
        "api-typos",
        variants=[
            [(NORM, "self.norm = nn.Layernorm(d_model)")],
            [(NORM, "self.norm = nn.layer_norm(d_model)")],
            [(DROPOUT, "self.dropout = nn.dropout(dropout)")],
        ],
        says="a name of torch's is misspelt",
        ask="What does the error say does not exist, and how do the documents spell it?",
    ),
)

HINTS = (
    "The block adds the sublayer's answer to x. The two orders differ only in what the norm is "
    "applied to: the sum, or what goes into the sublayer.",
    "Look at what you add to: it is x as it came in, in both orders. Then look at the number of "
    "times the norm runs in each order: once.",
    "Everything is (B, L, D): x, what goes into the sublayer, its answer, the sum and the output. "
    "So no shape will tell you what is wrong; try a sublayer that returns zeros, in both orders.",
    "Five lines: what goes in (depends on norm_first), the call with *args and **kwargs, dropout "
    "on the answer, the sum with x, and what is returned (depends on norm_first again).",
)

QUESTIONS = (
    Question(
        "Which order would you choose for a deep stack, and why?",
        (
            "pre-norm: the path from input to output has no norm on it",
            "gradients reach the first layers at full size, so warm-up matters less",
            "post-norm needs warm-up, and may end up a little better when it trains",
        ),
    ),
    Question(
        "What does a stack of pre-norm blocks need at its end, and why?",
        (
            "one more norm over the last sum",
            "each block adds to x, so its size grows with depth",
            "the output head would otherwise see inputs of unknown size",
        ),
    ),
    Question(
        "How does the gradient get through a residual block?",
        (
            "the derivative of x + f(x) is the identity plus that of f",
            "even where f saturates, the identity carries the gradient on",
            "adding to the normalised x instead would take that path away",
        ),
    ),
    Question(
        "How would you test this block without a reference implementation?",
        (
            "a sublayer of zeros: pre-norm must be the identity, post-norm the norm",
            "dropout 1 in train mode must give the same two answers",
            "a random gain and shift in the norm, else a norm that lacks them is not seen",
            "a sublayer that returns its input, to see in-place changes",
        ),
    ),
    Question(
        "Why is a test on shapes worth little here?",
        (
            "every tensor in the block has the same shape",
            "leaving out the sum, the norm or the dropout keeps it",
            "values, gradients and train mode have to be compared",
        ),
    ),
    Question(
        "Why does the block take the sublayer instead of making it?",
        (
            "one block serves attention, cross-attention and feed-forward",
            "further arguments (masks, memory) go through *args and **kwargs",
            "assigned as an attribute, a module is registered: parameters, .to(), .train()",
        ),
    ),
    Question(
        "Where does dropout sit, and what does it do in train and in eval mode?",
        (
            "on the sublayer's answer, before the sum; never on the path of x",
            "train mode: a share p is dropped, the rest divided by 1 - p",
            "eval mode: nothing happens",
        ),
    ),
)

KATA = Kata(
    number=8,
    stem="kata08_residual_blocks",
    title="Residual blocks",
    minutes=5,
    cap_minutes=10,
    targets=(
        Target(
            NAME,
            "module",
            ("d_model", "sublayer", "dropout", "norm_first"),
            ("x", "*args", "**kwargs"),
        ),
    ),
    build=build,
    checks=CHECKS,
    bugs=BUGS,
    equal=(
        # In pre-norm both return the sublayer's answer.
        ("residual-missing", "returns-sublayer-output"),
        # The norm does not see whether x counts twice, or the rest counts half.
        ("residual-doubled", "residual-scaled"),
        ("norm-in-forward", "ln-no-affine"),
    ),
    accepts=((Edit(NORM, "self.norm = nn.LayerNorm(d_model, eps=1e-12)"),),),
    hints=HINTS,
    questions=QUESTIONS,
)
