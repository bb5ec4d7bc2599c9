"""Mistakes in turning scores into weights, where scale and softmax have lines of their own.

`fill_lines` are the solution's lines that hide scores, if there are any: see
`grader.patching.bug`. `products` and `mix` are the lines before and behind.
"""

from __future__ import annotations

from collections.abc import Sequence

from grader.model import Bug
from grader.patching import bug

SCALE = "scores = scores / math.sqrt(q.shape[-1])"
SOFTMAX = "weights = torch.softmax(scores, dim=-1)"
MIX = "output = weights @ v"
EXP = "weights = torch.exp(scores{shift})\nweights = weights / weights.sum({sum})"


def scale_missing() -> Bug:
    """Return the mistake that scores are not scaled at all."""
    return bug(
        "scale-missing",
        (SCALE, ""),
        says="the scores are not scaled, so they grow with d and softmax saturates",
        ask="If q and k have d independent entries of variance 1, what is the variance of q · k?",
    )


def softmax_over_queries(fill_lines: Sequence[str] = ()) -> Bug:
    """Return the mistake that the wrong axis of the scores sums to one."""
    return bug(
        "softmax-dim-query",
        (SOFTMAX, SOFTMAX.replace("-1", "-2")),
        fill_lines=fill_lines,
        says="softmax runs over the queries, so each column sums to one instead of each row",
        ask="For one query, which numbers have to sum to one, and along which axis do they lie?",
    )


def scale_mistakes() -> tuple[Bug, ...]:
    """Return the mistakes in a scale that is there."""
    return (
        bug(
            "scale-no-sqrt",
            (SCALE, "scores = scores / q.shape[-1]"),
            says="the scores are divided by d instead of by its square root, or scaled twice",
            ask="Is it the variance of q · k that is d, or its standard deviation?",
        ),
        bug(
            "scale-multiplied",
            (SCALE, SCALE.replace("/", "*")),
            says="the scores are multiplied by sqrt(d), which makes softmax saturate even more",
            ask="Should scaling make the scores larger or smaller?",
        ),
        bug(
            "scale-int-sqrt",
            (SCALE, "scores = scores / int(math.sqrt(q.shape[-1]))"),
            variants=[
                [(SCALE, "scores = scores / (q.shape[-1] // 2)")],
            ],
            says="the scale is rounded to a whole number, right only where d is a square",
            ask="What does your scale come to for d = 6?",
        ),
        bug(
            "scores-rounded",
            variants=[
                [(SCALE, SCALE.replace("/", "//"))],
                [(SCALE, f"{SCALE}\nscores = scores.round()")],
            ],
            says="the scores are rounded to whole numbers, and what is rounded has no gradient",
            ask="What does `//` do to 1.9, and what is its slope there?",
        ),
        bug(
            "scale-precedence",
            (SCALE, "scores = scores / q.shape[-1] ** 1 / 2"),
            says="`d ** 1 / 2` is d / 2 in Python, and in a chain of divisions something else "
            "again",
            ask="In which order does Python evaluate s / d ** 1 / 2?",
        ),
        bug(
            "scale-hardcoded",
            variants=[
                [(SCALE, f"scores = scores {scale}")]
                for scale in ("/ 8.0", "* 0.5", "/ 64", "/ math.sqrt(512)")
            ],
            says="the scale is a fixed number, right for one d only",
            ask="What changes in your scale when d changes?",
        ),
        bug(
            "scale-after-softmax",
            (SCALE, ""),
            (SOFTMAX, f"{SOFTMAX} / math.sqrt(q.shape[-1])"),
            says="the weights are scaled instead of the scores, so they no longer sum to one",
            ask="After your scaling, what does a row of weights sum to?",
        ),
    )


def scale_wrong_vector(*sizes: str) -> Bug:
    """Return the mistake that d is read from another axis: one of `sizes`."""
    return bug(
        "scale-wrong-vector",
        variants=[[(SCALE, SCALE.replace("q.shape[-1]", size))] for size in sizes],
        says="the scale takes the size of another axis than the one that q · k sums over",
        ask="Over how many products does one score sum, and which axis has that size?",
    )


def scale_in_place(products: str) -> Bug:
    """Return the mistake that the caller's q or k is scaled."""
    return bug(
        "scale-in-place",
        variants=[
            [(products, f"{name} /= math.sqrt({name}.shape[-1])\n{products}"), (SCALE, "")]
            for name in "qk"
        ],
        says="a tensor of the caller is written to in place, as `q /= ...` does",
        ask="What does the caller's q hold after your function has run?",
    )


def softmax_mistakes(fill_lines: Sequence[str] = (), mix: str = MIX) -> tuple[Bug, ...]:
    """Return the mistakes in what stands in the place of softmax, and in softmax by hand."""
    return (
        bug(
            "softmax-missing",
            (SOFTMAX, "weights = scores"),
            variants=[[(mix, mix.replace("weights", "scores"))]],
            fill_lines=fill_lines,
            says="the values are averaged by raw scores; softmax is left out",
            ask="What makes the weights of a query positive, with a sum of one?",
        ),
        bug(
            "softmax-sigmoid",
            (SOFTMAX, "weights = torch.sigmoid(scores)"),
            says="a sigmoid judges each key alone, so the weights of a query do not sum to one",
            ask="Do the weights of one query compete with each other?",
        ),
        bug(
            "softmax-log-softmax",
            (SOFTMAX, SOFTMAX.replace("softmax", "log_softmax")),
            fill_lines=fill_lines,
            says="the weights are logarithms of probabilities, all of them negative",
            ask="Can a weight of an average be negative?",
        ),
        bug(
            "softmax-no-max-subtract",
            (SOFTMAX, EXP.format(shift="", sum="dim=-1, keepdim=True")),
            says="a hand-written softmax takes exp of the scores as they are, which overflows to "
            "NaN",
            ask="What is exp(1000), and which shift of a row leaves its softmax as it was?",
        ),
        bug(
            "softmax-global-max",
            (SOFTMAX, EXP.format(shift=" - scores.max()", sum="dim=-1, keepdim=True")),
            says="a hand-written softmax subtracts one maximum of the whole tensor, so rows far "
            "below it become 0 / 0",
            ask="What happens to a row whose scores all lie 1000 below the largest of another row?",
        ),
        bug(
            "softmax-no-keepdim",
            (SOFTMAX, EXP.format(shift=" - scores.amax(-1, keepdim=True)", sum="dim=-1")),
            says="a hand-written softmax sums without keeping the axis, so rows are divided by the "
            "sums of other rows, or the shapes clash",
            ask="Which shape does the sum have, and how does it broadcast against the scores?",
        ),
        bug(
            "softmax-sum-all",
            (SOFTMAX, EXP.format(shift=" - scores.amax(-1, keepdim=True)", sum="")),
            fill_lines=fill_lines,
            says="a hand-written softmax divides by the sum over the whole tensor",
            ask="Over which numbers do you sum, and for which should the weights sum to one?",
        ),
    )


def weights_transposed(fill_lines: Sequence[str] = (), mix: str = MIX) -> Bug:
    """Return the mistake that the weights are turned before the average."""
    return bug(
        "weights-transposed",
        (mix, mix.replace("weights", "weights.transpose(-2, -1)")),
        fill_lines=fill_lines,
        says="the weights are transposed before they meet the values, so keys average queries",
        ask="Which axis of the weights has to meet the axis of v that counts the keys?",
    )
