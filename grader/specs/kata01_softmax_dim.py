"""kata1: cases, checks and known bugs of softmax along a dimension."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from grader.model import Axis, Case, Check, Kata, Question, Recipe, Shape, Target
from grader.patching import bug, each_and_all
from grader.properties import earlier_calls
from grader.strategies import integer, numbers, word

if TYPE_CHECKING:
    from torch import Tensor

NAME = "softmax"

# The simplest come first: Hypothesis shrinks towards them.
DIMS = (-1, 0, 1, -2, 2, -3, 3, -4)
EXAMPLE = ((1.0, 0.5, 0.2), (0.3, 1.2, 0.8), (0.7, 0.1, 1.5))


def build(recipe: Recipe) -> Case:
    """Build one call: x with `ndim` dimensions of sizes n1, n2, …, and the dim to sum over.

    `kind` says which numbers x holds; with `call` = "default", no dim is given.
    """
    import torch

    kind = word(recipe, "kind", "plain")
    ndim = 2 if kind == "example" else integer(recipe, "ndim", 2)
    sizes = (("n1", 2), ("n2", 5), ("n3", 3), ("n4", 4))
    shape = tuple(integer(recipe, name, size) for name, size in sizes[:ndim])
    dims = [dim for dim in DIMS if -ndim <= dim < ndim]
    dim = integer(recipe, "dim", dims[integer(recipe, "axis", 0) % len(dims)])
    default = word(recipe, "call", "given") == "default"
    if default:
        dim = -1
    if kind == "example":
        x = torch.tensor(EXAMPLE, dtype=torch.float64)
    else:
        x = scores(kind, integer(recipe, "seed", 1), shape, dim)
    hidden = x.isinf()
    void = hidden.all(dim, keepdim=True)
    return Case(
        target=NAME,
        inputs={"x": x} if default else {"x": x, "dim": dim},
        returns=(tuple(x.shape),),
        blind=void if kind == "void hidden" else None,
        dtype=word(recipe, "dtype", "float64"),
        # A weight of exactly 0 is asked for where an entry is -inf.
        tolerance=torch.where(hidden, 0.0, 1e-9) if bool(hidden.any()) else 1e-9,
        banned=frozenset({"softmax", "scaled_dot_product_attention", "MultiheadAttention"}),
    )


def scores(kind: str, seed: int, shape: Shape, dim: int) -> Tensor:
    """Draw scores of a kind.

    All but "plain" are halves or whole numbers, exact in float32 as well: an
    answer that computes in float32 then differs by little in the weights too.
    """
    small = numbers(seed, "small", *shape, scale=4, step=1).clamp(-10, 10)
    if kind in ("large", "spread"):  # in size up to 1e4; slices that lie far apart
        one = tuple(1 if size == dim % len(shape) else n for size, n in enumerate(shape))
        far = numbers(seed, "far", *(shape if kind == "large" else one), scale=4000, step=1)
        return (far + (0 if kind == "large" else small / 2)).clamp(-1e4, 1e4)
    if kind == "high":
        return small + 9990
    if kind in ("low", "low hidden"):
        x = small - 9990
    elif kind == "halves":
        x = numbers(seed, "x", *shape, scale=1.5, step=0.5)
    else:
        x = numbers(seed, "x", *shape, scale=1.5)
    if kind.endswith("hidden"):
        hidden = numbers(seed, "hidden", *shape) < 0
        hidden.select(dim, seed % shape[dim]).fill_(False)  # one stays visible in each slice
        if kind == "void hidden":
            hidden[0] = True  # and of the first one, nothing
        x = x.masked_fill(hidden, float("-inf"))
    return x


def shifted(case: Case) -> Case:
    """Add another constant to each slice along dim; the weights must not notice."""
    x, dim = case.inputs["x"], case.inputs["dim"]
    one = [1 if axis == dim % x.dim() else size for axis, size in enumerate(x.shape)]
    offsets = numbers(97, "offsets", *one, scale=2000, step=64).clamp(-9000, 9000)
    return replace(case, inputs={**case.inputs, "x": x + offsets})


DRAWS: dict[str, Axis] = {
    "ndim": (1, 4),
    "axis": (0, 7),
    "n1": (1, 3),
    "n2": (1, 4),
    "n3": (1, 3),
    "n4": (1, 3),
    "seed": (0, 999),
}

CHECKS = (
    Check(
        "values_match",
        "along any dim, the weights are exp(x) over the sum of exp(x)",
        NAME,
        "values",
        bank=(
            {"kind": "example"},
            {"kind": "example", "dim": 0},
            {"dim": -1, "seed": 2},
            {"dim": 0, "seed": 3},
            {"ndim": 1, "n1": 6, "dim": -1, "seed": 4},
            {"ndim": 1, "n1": 6, "dim": 0, "seed": 5},
            {"ndim": 3, "dim": -1, "seed": 6},
            {"ndim": 3, "dim": 0, "seed": 7},
            {"ndim": 3, "dim": 1, "seed": 8},
            {"ndim": 3, "dim": -2, "seed": 9},
            {"ndim": 4, "dim": -1, "seed": 10},
            {"ndim": 4, "dim": 0, "seed": 11},
            {"ndim": 4, "dim": 1, "seed": 12},
            {"ndim": 4, "dim": 2, "seed": 13},
            {"ndim": 4, "dim": -4, "seed": 14},
            # Equal sizes: a sum that lost its dimension then broadcasts without a word.
            {"ndim": 3, "n1": 4, "n2": 4, "n3": 4, "dim": -1, "seed": 15},
            {"ndim": 3, "n1": 4, "n2": 4, "n3": 4, "dim": 1, "seed": 16},
            {"n1": 1, "dim": -1, "seed": 17},
            {"n1": 1, "dim": 0, "seed": 18},
            {"ndim": 1, "n1": 1, "seed": 19},
            # As long as people run it.
            {"n1": 9, "n2": 40, "seed": 101},
            {"n1": 130, "dim": 0, "seed": 102},
            {"ndim": 3, "n1": 2, "n2": 64, "n3": 9, "dim": 1, "seed": 103},
        ),
        draws=DRAWS,
        examples=100,
    ),
    Check(
        "slices_sum_to_one",
        "the weights along dim sum to one",
        NAME,
        "sums_to_one",
        bank=({"kind": "example"}, {"ndim": 3, "dim": 1, "seed": 21}),
        draws=DRAWS,
        examples=20,
    ),
    Check(
        "last_dim_is_the_default",
        "without a dim, the last one sums to one",
        NAME,
        "values",
        bank=tuple(
            {"call": "default", "ndim": ndim, "seed": seed}
            for seed, ndim in enumerate((1, 2, 3, 4), start=25)
        ),
        draws={**DRAWS, "call": ["default"]},
        examples=15,
        after=("values_match",),
    ),
    Check(
        "large_scores_stay_finite",
        "scores up to 1e4 in size give finite, right weights",
        NAME,
        "values",
        bank=(
            {"kind": "large", "seed": 31},
            {"kind": "large", "ndim": 3, "dim": 1, "seed": 32},
            {"kind": "high", "seed": 33},
            {"kind": "high", "ndim": 3, "dim": 0, "seed": 34},
            {"kind": "low", "seed": 35},
            {"kind": "spread", "n1": 3, "seed": 36},
            {"kind": "spread", "ndim": 3, "dim": 1, "seed": 37},
        ),
        draws={**DRAWS, "kind": ["high", "low", "large", "spread"]},
        examples=30,
        after=("values_match",),
    ),
    Check(
        "hidden_scores_get_zero",
        "an entry of -inf gets weight exactly 0",
        NAME,
        "values",
        bank=(
            {"kind": "hidden", "n1": 3, "seed": 41},
            {"kind": "hidden", "ndim": 3, "dim": 1, "seed": 42},
            {"kind": "hidden", "ndim": 1, "n1": 6, "seed": 43},
            # What becomes of a slice of nothing but -inf is free; that of the others is not.
            {"kind": "void hidden", "n1": 3, "seed": 44},
            {"kind": "void hidden", "ndim": 3, "n1": 3, "seed": 45},
            {"kind": "low hidden", "n1": 3, "seed": 44},
            {"kind": "low hidden", "ndim": 3, "dim": 0, "seed": 45},
        ),
        draws={**DRAWS, "n1": (1, 4), "kind": ["hidden", "low hidden"]},
        examples=20,
        after=("values_match",),
    ),
    Check(
        "shifts_change_nothing",
        "adding a constant to a whole slice changes nothing",
        NAME,
        "unchanged",
        vary=shifted,
        bank=({"kind": "halves", "n1": 3, "seed": 51}, {"kind": "halves", "ndim": 3, "dim": 1}),
        draws={**DRAWS, "kind": ["halves"]},
        examples=20,
        after=("values_match",),
    ),
    Check(
        "gradients_match",
        "gradients flow back to x, and are right",
        NAME,
        "gradients",
        bank=(
            {"seed": 61},
            {"dim": 0, "seed": 62},
            {"ndim": 3, "dim": 1, "seed": 63},
            {"kind": "hidden", "n1": 3, "seed": 64},
            {"kind": "high", "seed": 65},
            {"kind": "large", "n1": 3, "seed": 66},
        ),
        draws={**DRAWS, "kind": ["plain", "hidden"]},
        examples=20,
        after=("values_match",),
    ),
    Check(
        "input_is_kept",
        "x is not changed in place",
        NAME,
        "inputs_kept",
        bank=(
            {"seed": 71},
            {"ndim": 3, "dim": 1, "seed": 72},
            {"kind": "hidden", "n1": 3, "seed": 73},
            {"kind": "void hidden", "n1": 3, "seed": 76},
            {"kind": "high", "seed": 74},
            {"dtype": "float32", "seed": 75},
        ),
    ),
    Check(
        "repeats",
        "a second call returns the same",
        NAME,
        "repeats",
        bank=({"ndim": 3, "seed": 76},),
    ),
    earlier_calls(NAME, {"ndim": 3, "seed": 77}, after=("values_match",)),
    Check(
        "works_in_float32",
        "float32, as people run it, gives the same",
        NAME,
        "values",
        bank=(
            {"dtype": "float32", "seed": 81},
            {"dtype": "float32", "kind": "high", "seed": 82},
            {"dtype": "float32", "kind": "spread", "n1": 3, "seed": 83},
            {"dtype": "float32", "kind": "hidden", "n1": 3, "seed": 84},
            {"dtype": "float32", "n2": 300, "seed": 104},
        ),
        after=("values_match",),
    ),
    Check(
        "works_in_half_precision",
        "float16 and bfloat16 stay what they are, and give the same",
        NAME,
        "values",
        bank=tuple(
            {"dtype": dtype, "kind": kind, "n1": 3, "seed": 86}
            for dtype in ("float16", "bfloat16")
            for kind in ("plain", "large", "low", "spread", "hidden")
        ),
        draws={
            **DRAWS,
            "dtype": ["bfloat16", "float16"],
            "kind": ["plain", "high", "low", "large", "spread", "hidden", "low hidden"],
        },
        examples=20,
        after=("values_match",),
    ),
    Check(
        "runs_on_any_device",
        "everything follows x to a GPU",
        NAME,
        "device",
        bank=(
            {"seed": 91},
            {"kind": "hidden", "n1": 3, "seed": 92},
            {"dtype": "float32", "seed": 93},
        ),
        after=("values_match",),
    ),
    Check(
        "takes_any_layout",
        "an x that is a transposed view gives the same",
        NAME,
        "values",
        bank=(
            {"transposed": 1, "n1": 4, "n2": 4, "seed": 105},
            {"transposed": 1, "n1": 4, "n2": 4, "dim": 0, "seed": 106},
            {"transposed": 1, "ndim": 3, "dim": 1, "seed": 107},
        ),
        after=("values_match",),
    ),
    Check(
        "written_by_hand",
        "the softmax is written out, not called",
        NAME,
        "banned",
        bank=(
            {"ndim": 1, "n1": 6, "seed": 93},
            {"call": "default", "seed": 94},
            {"ndim": 3, "dim": 1, "seed": 95},
            {"ndim": 4, "dim": -2, "seed": 96},
            {"kind": "large", "seed": 97},
            {"kind": "hidden", "n1": 3, "seed": 98},
            {"dtype": "float16", "seed": 99},
        ),
    ),
    Check(
        "no_loop_over_slices",
        "a Python loop over the slices; whole-tensor operations do them all at once",
        NAME,
        "loops",
        bank=({"grow": "n1", "n1": 2, "n2": 3, "dim": -1, "seed": 101},),
        required=False,
        after=("values_match",),
    ),
    Check(
        "no_loop_along_dim",
        "a Python loop along dim; amax and sum do it in one step",
        NAME,
        "loops",
        bank=({"grow": "n2", "n1": 3, "n2": 2, "dim": -1, "seed": 102},),
        required=False,
        after=("values_match",),
    ),
)

HEAD = "def softmax(x: Tensor, dim: int = -1) -> Tensor:"
LARGEST = "largest = x.amax(dim=dim, keepdim=True)"
SHIFTED = "shifted = x - largest"
POWERS = "powers = torch.exp(shifted)"
TOTAL = "total = powers.sum(dim=dim, keepdim=True)"
RETURN = "return powers / total"
VALUES = "largest = x.max(dim=dim, keepdim=True).values"

BUGS = (
    bug(
        "softmax-no-max-subtract",
        (SHIFTED, "shifted = x"),
        says="the largest score is not subtracted, so exp overflows to inf for large scores, "
        "and inf / inf is NaN; where all scores are very low, it is 0 / 0",
        ask="What is exp(1000) in floating point, and which constant may you add to every score "
        "of a slice without changing its softmax?",
    ),
    bug(
        "softmax-index-subtracted",
        (
            "largest = x.amax(dim=dim, keepdim=True)",
            "largest = x.max(dim=dim, keepdim=True).indices",
        ),
        says="what is subtracted is where the largest score stands, not how large it is: max "
        "along a dim returns both",
        ask="What are the two things that x.max(dim) returns, and which of them did you take?",
    ),
    bug(
        "softmax-clamped",
        variants=[
            [(SHIFTED, f"shifted = x.clamp({clamp})")]
            for clamp in ("-80, 80", "max=80", "-50, 50", "max=50", "-88, 88", "max=88")
        ],
        says="the scores are cut off at a fixed height instead of shifted by the largest one, so "
        "all scores beyond it get the same weight",
        ask="What are the weights of the scores [1000, 2000], and what are yours?",
    ),
    bug(
        "softmax-global-max",
        (SHIFTED, "shifted = x - x.max()"),
        says="one largest score of the whole tensor is subtracted, so in a slice that lies far "
        "below it every exponential is 0, and the quotient is 0 / 0",
        ask="Take the rows [0, 1] and [5000, 5001]: what is left of the first row after your "
        "subtraction and exp?",
    ),
    bug(
        "softmax-no-keepdim",
        variants=each_and_all(
            (TOTAL, "total = powers.sum(dim=dim)"),
            (LARGEST, "largest = x.amax(dim=dim)"),
        ),
        says="the reduction drops its dimension, so what is left is lined up with the wrong one: "
        "an exception for most shapes, silently wrong numbers for square ones",
        ask="Which shape does your reduction of a (2, 5) tensor over its last dimension have, and "
        "how does broadcasting line it up with (2, 5)?",
    ),
    bug(
        "softmax-ignores-dim",
        (LARGEST, f"dim = -1\n{LARGEST}"),
        says="dim is accepted but not used: the last dimension sums to one, whatever the caller "
        "asks for",
        ask="Where in your code does dim have any effect?",
    ),
    bug(
        "softmax-unsqueezed-last",
        (LARGEST, "largest = x.amax(dim=dim).unsqueeze(-1)"),
        (TOTAL, "total = powers.sum(dim=dim).unsqueeze(-1)"),
        says="the dimension that a reduction took away is put back as the last one, wherever it "
        "was: right for dim=-1 alone",
        ask="For x of shape (2, 5) and dim=0, which shape does your sum have, and which would "
        "line up with x?",
    ),
    bug(
        "softmax-dim0",
        (LARGEST, f"dim = 0\n{LARGEST}"),
        says="the first dimension sums to one, whatever dim says",
        ask="For x of shape (2, 5) and dim=-1, which sums should be one: the 2 rows or the 5 "
        "columns? Which of yours are?",
    ),
    bug(
        "softmax-dim1",
        (LARGEST, f"dim = 1\n{LARGEST}"),
        says="dimension 1 sums to one, whatever dim says: right by luck where the input is 2-D",
        ask="Which dimension is number 1 of a 2-D tensor, of a 3-D and of a 4-D one?",
    ),
    bug(
        "softmax-implicit-dim",
        (LARGEST, f"dim = 0 if x.dim() in (0, 1, 3) else 1\n{LARGEST}"),
        variants=[
            [(RETURN, "return torch.nn.Softmax()(x)")],
            [(HEAD, "def softmax(x: Tensor, dim: int = 0) -> Tensor:")],
            [(HEAD, "def softmax(x: Tensor, dim: int = 1) -> Tensor:")],
        ],
        says="the dimension is left to a default, and that is not always the last one",
        ask="Which dimension sums to one where nobody names one, for 2-D and for 3-D scores?",
    ),
    bug(
        "softmax-max-dim-hardcoded",
        variants=[[(LARGEST, f"largest = x.amax(dim={dim}, keepdim=True)")] for dim in (-1, 0, 1)],
        says="the maximum is taken over a fixed dimension while the sum follows dim: what is "
        "subtracted then differs within a slice and does not cancel",
        ask="Which scores must have the same number subtracted, so that the softmax is unchanged?",
    ),
    bug(
        "softmax-sum-dim-hardcoded",
        variants=[[(TOTAL, f"total = powers.sum(dim={dim}, keepdim=True)")] for dim in (-1, 0, 1)],
        says="the sum runs over a fixed dimension, whatever dim says, so other slices sum to one",
        ask="With dim=0 on a (2, 5) input, how many sums do you need, and over which entries?",
    ),
    bug(
        "softmax-sum-all",
        (TOTAL, "total = powers.sum()"),
        says="the exponentials are divided by the sum over the whole tensor, so all weights "
        "together sum to one, not each slice",
        ask="How many separate distributions does a (2, 5) input with dim=-1 hold?",
    ),
    bug(
        "softmax-max-tuple",
        (LARGEST, "largest = torch.max(x, dim=dim, keepdim=True)"),
        says="max with a dim returns a pair of values and indices, and the pair is used like a "
        "tensor",
        ask="What does torch.max return once you give it a dim?",
    ),
    bug(
        "softmax-abs-max",
        (SHIFTED, "shifted = x - x.abs().amax(dim=dim, keepdim=True)"),
        variants=[
            [(SHIFTED, "shifted = x - largest.abs()")],
            [(SHIFTED, "shifted = x - x.abs().max()")],
        ],
        says="the largest absolute value is subtracted: where scores are very negative that "
        "drives every exponential to 0, and the quotient is 0 / 0",
        ask="For the scores [-5000, -5001], what do you subtract, and what is left?",
    ),
    bug(
        "softmax-min-subtract",
        (SHIFTED, "shifted = x - x.amin(dim=dim, keepdim=True)"),
        variants=[[(SHIFTED, "shifted = x - x.min()")]],
        says="the smallest score is subtracted, so the largest exponential can still overflow, "
        "and -inf - (-inf) is NaN",
        ask="After your subtraction, how large can the argument of exp become?",
    ),
    bug(
        "softmax-inplace",
        (SHIFTED, "shifted = x.sub_(largest)"),
        variants=[
            [(LARGEST, VALUES), (SHIFTED, "shifted = x.sub_(largest)")],
            [(POWERS, "powers = x.copy_(shifted).exp_()")],
            [
                (LARGEST, VALUES),
                (SHIFTED, "x -= largest"),
                (POWERS, "powers = x.exp_()"),
                (RETURN, "x /= total\nreturn x"),
            ],
        ],
        says="x itself is written to in place, as `x -= ...` does, and x is the caller's",
        ask="What do the caller's scores look like after your function has returned?",
    ),
    bug(
        "softmax-detached",
        (TOTAL, "total = powers.sum(dim=dim, keepdim=True).detach()"),
        variants=[
            [(POWERS, "powers = torch.exp(shifted).detach()")],
            [(RETURN, "return powers.detach() / total")],
            [
                (LARGEST, "largest = x.amax(dim=dim, keepdim=True).detach()"),
                (TOTAL, "total = powers.sum(dim=dim, keepdim=True).detach()"),
            ],
        ],
        says="the quotient, or a part of it, is cut off from autograd: the weights are right, "
        "their gradient is not",
        ask="If one score rises, which weights change? Which of these changes can autograd see?",
    ),
    bug(
        "softmax-missing",
        (RETURN, "return powers"),
        says="the exponentials are returned without being divided by their sum",
        ask="What do your weights along dim add up to?",
    ),
    bug(
        "softmax-mean",
        (TOTAL, "total = powers.mean(dim=dim, keepdim=True)"),
        says="the exponentials are divided by their mean, so n weights sum to n, not to one",
        ask="Along a slice of n entries, what do your weights add up to?",
    ),
    bug(
        "softmax-base2",
        (POWERS, "powers = torch.exp2(shifted)"),
        says="the powers are powers of 2, not of e, which makes the weights too flat",
        ask="By which factor does a weight grow when its score grows by one?",
    ),
    bug(
        "softmax-log-softmax-returned",
        (RETURN, "return shifted - total.log()"),
        variants=[[(RETURN, "return (powers / total).log()")]],
        says="the logarithms of the weights are returned, which are negative",
        ask="What range do your results lie in, and what range do weights lie in?",
    ),
    bug(
        "softmax-twice",
        (
            RETURN,
            "again = torch.exp(powers / total)\nreturn again / again.sum(dim=dim, keepdim=True)",
        ),
        says="softmax is applied to its own result, which flattens the weights",
        ask="What does a softmax do to numbers that all lie between 0 and 1?",
    ),
    bug(
        "softmax-sigmoid",
        (RETURN, "return torch.sigmoid(x)"),
        variants=[[(RETURN, "return 1 / (1 + torch.exp(-x))")]],
        says="each entry goes through a sigmoid of its own, so nothing makes a slice sum to one",
        ask="In a slice, what happens to the other weights when one score rises?",
    ),
    bug(
        "softmax-dtype-changed",
        (RETURN, "return (powers / total).float()"),
        variants=[[(RETURN, "return (powers / total).double()")]],
        says="the weights come back in another dtype than the scores had",
        ask="Which dtype do you return for a float16 input, which for float64?",
    ),
    bug(
        "softmax-called",
        (RETURN, "return torch.softmax(x, dim=dim)"),
        variants=[
            [(RETURN, "return torch.exp(x - torch.logsumexp(x, dim=dim, keepdim=True))")],
        ],
        says="torch's own softmax, or its logsumexp, does the work that you are to write here",
        ask="Which three or four tensor operations does a softmax consist of?",
    ),
)

HINTS = (
    "Softmax turns each slice along dim into one distribution: every entry becomes exp of itself, "
    "divided by the sum of those exps in the same slice. dim names the direction the sum runs in.",
    "Two reductions are needed, and both must run over the caller's dim: one that keeps exp from "
    "overflowing, one that makes the slice sum to one. Look at what you reduce over, at which "
    "shape comes out, and at how it is lined up with x again.",
    "x (2, 5) with dim=-1: the reduction must come out as (2, 1), not as (2,), so that it "
    "broadcasts over the 5 entries of its own row. With dim=0 it is (1, 5).",
    "exp(x - c) / sum exp(x - c) is the same for every c that is constant within a slice. Choose "
    "c so that the largest argument of exp is exactly 0: nothing overflows, and the sum is at "
    "least 1.",
    "Near-code: reduce x along dim to its largest entry, keeping the dimension; subtract into a "
    "new tensor; exponentiate; reduce to the sum along the same dim, keeping it; divide.",
)

QUESTIONS = (
    Question(
        "dim=-1 is the last dimension, the columns: why do the rows sum to one?",
        (
            "dim names the dimension that the sum runs over, not the one that is left",
            "summing over the columns of a row visits every entry of that row",
            "reducing dim removes it, or keeps it as size 1: one sum per row is left",
        ),
    ),
    Question(
        "Why subtract the maximum?",
        (
            "exp overflows beyond about 709 in float64, 88 in float32, 11 in float16",
            "a constant added to a slice cancels between numerator and denominator",
            "the largest term becomes exp(0) = 1, so the denominator is at least 1",
            "very small terms underflow to 0, which is harmless",
        ),
    ),
    Question(
        "Would one maximum of the whole tensor do as well?",
        (
            "it cancels too, since it is constant within each slice",
            "a slice far below it underflows to zeros only, and 0 / 0 is NaN",
            "the maximum of the slice itself keeps at least one term at 1",
        ),
    ),
    Question(
        "What is the derivative of the softmax?",
        (
            "d w_i / d x_j = w_i (1 if i = j else 0, minus w_j)",
            "the gradient of a slice is w times (g minus the sum of g w)",
            "each slice's gradient sums to zero, because shifts change nothing",
            "the maximum may be detached: its gradient cancels",
        ),
    ),
    Question(
        "How do you hide an entry from the softmax, and what if all of them are hidden?",
        (
            "set its score to -inf before the softmax: exp(-inf) = 0",
            "multiplying by 0 leaves the score 0, which still takes weight",
            "a slice of nothing but -inf gives -inf + inf = NaN",
            "a large negative finite number gives a flat average there instead",
        ),
    ),
    Question(
        "What changes in float16 or bfloat16?",
        (
            "float16 overflows at 65504, so exp beyond 11 does",
            "fills such as -1e9 do not fit into float16",
            "bfloat16 has the range of float32 but only 8 bits of precision",
            "kernels sum in float32 and round once at the end",
        ),
    ),
    Question(
        "How can a softmax be computed in one pass over a row too long to hold?",
        (
            "keep a running maximum and a running sum",
            "rescale the sum by exp(old maximum - new maximum) when the maximum grows",
            "blocks can be merged in the same way; flash attention rests on this",
        ),
    ),
    Question(
        "What does a temperature do?",
        (
            "scores are divided by it before the softmax",
            "towards 0 the weights become one-hot, towards infinity uniform",
            "1 / sqrt(d) in attention plays this part",
        ),
    ),
)

KATA = Kata(
    number=1,
    stem="kata01_softmax_dim",
    title="Softmax along a dimension",
    minutes=4,
    cap_minutes=8,
    targets=(Target(NAME, "function", ("x", "dim")),),
    build=build,
    checks=CHECKS,
    bugs=BUGS,
    hints=HINTS,
    questions=QUESTIONS,
)
