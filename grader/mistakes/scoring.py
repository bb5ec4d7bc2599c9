"""Mistakes in the products, their scale and softmax."""

from __future__ import annotations

from collections.abc import Sequence

from grader.mistakes.lines import CONTEXT, PRODUCTS, SCORES, WEIGHTS, Edits, Mask, both_fills
from grader.model import Bug
from grader.patching import bug


def scale_mistakes(lengths: Sequence[str]) -> tuple[Bug, ...]:
    """Return the mistakes in the scale of the scores; `lengths` name those of the sequences."""

    def scaled(by: str) -> tuple[str, str]:
        return (SCORES, f"scores = {PRODUCTS}{by}")

    return (
        bug(
            "scale-missing",
            scaled(""),
            says="the scores are not scaled, so they grow with the head size and softmax saturates",
            ask="If q and k have d independent entries of variance 1, what is the variance of "
            "q · k?",
        ),
        bug(
            "scale-d-model",
            scaled(" / math.sqrt(d_model)"),
            says="the scores are divided by the square root of the whole model's size D, not of "
            "one head's size d",
            ask="How many products does one score of one head sum up?",
        ),
        bug(
            "scale-no-sqrt",
            scaled(" / self.head_dim"),
            says="the scores are divided by d itself, so they are too small and the weights too "
            "even (scaling twice by the square root does the same)",
            ask="How large is the standard deviation of q · k, as opposed to its variance?",
        ),
        bug(
            "scale-multiplied",
            scaled(" * math.sqrt(self.head_dim)"),
            says="the scores are multiplied by the square root of d instead of divided by it",
            ask="Should the scores become larger or smaller as heads grow?",
        ),
        bug(
            "scale-num-heads",
            scaled(" / math.sqrt(self.num_heads)"),
            says="the scores are divided by the square root of the number of heads",
            ask="What does the size of q · k depend on: how many heads there are, or how long "
            "each vector is?",
        ),
        bug(
            "scale-wrong-vector",
            variants=[
                [scaled(by.format(length))]
                for length in lengths
                for by in (" / math.sqrt({})", " / {}")
            ],
            says="the scores are scaled by how many tokens there are, not by how long a head's "
            "vectors are",
            ask="Over how many products does one score sum, and which axis has that size?",
        ),
        bug(
            "scale-int-sqrt",
            scaled(" / int(math.sqrt(self.head_dim))"),
            says="the square root of d is rounded down to a whole number",
            ask="What is your divisor for d = 6, to three digits?",
        ),
        bug(
            "scale-precedence",
            scaled(" / self.head_dim ** 1 / 2"),
            says="`d ** 1 / 2` is (d ** 1) / 2, so the scores are divided by 2 d",
            ask="In which order does Python work out `s / d ** 1 / 2`?",
        ),
        bug(
            "scale-hardcoded",
            variants=[
                [scaled(" / 8.0")],
                [scaled(" / math.sqrt(512)")],
                [scaled(" * 0.5")],
                [scaled(" / 10.0")],
            ],
            says="the scores are divided by a fixed number, right for one head size only",
            ask="With d = 2 in place of the d you had in mind, what should the divisor be?",
        ),
        bug(
            "scale-after-softmax",
            scaled(""),
            (CONTEXT, f"weights = weights / math.sqrt(self.head_dim)\n{CONTEXT}"),
            says="the weights are scaled after softmax instead of the scores before it, so a row "
            "no longer sums to 1",
            ask="What do the weights of one query sum to when you use them?",
        ),
    )


def softmax_mistakes(masks: Sequence[Mask]) -> tuple[Bug, ...]:
    """Return the mistakes in turning scores into weights."""

    def weighed(by: str) -> list[Edits]:
        return both_fills([(WEIGHTS, f"weights = {by}")], masks)

    return (
        bug(
            "softmax-dim-query",
            variants=weighed("torch.softmax(scores, dim=-2)"),
            says="softmax runs over the queries, so the weights of one key sum to 1, not those "
            "of one query",
            ask="Which axis has to sum to 1 for a query to take an average of the values?",
        ),
        bug(
            "softmax-dim-1",
            variants=weighed("torch.softmax(scores, dim=1)"),
            says="softmax runs over axis 1, the heads, so the heads compete instead of the keys "
            "(a softmax without dim picks that axis too)",
            ask="What does each axis of the scores count, and which one do you normalise over?",
        ),
        bug(
            "softmax-missing",
            variants=weighed("scores"),
            says="the raw scores are used as weights; they are never normalised",
            ask="What do the weights of one query sum to, and can one be negative?",
        ),
        bug(
            "softmax-twice",
            variants=[
                [(WEIGHTS, "weights = torch.softmax(torch.softmax(scores, dim=-1), dim=-1)")]
            ],
            says="softmax is applied twice, which flattens the weights and gives hidden keys "
            "some again",
            ask="What does softmax make of a row that holds weights already?",
        ),
        bug(
            "softmax-sigmoid",
            variants=[[(WEIGHTS, "weights = torch.sigmoid(scores)")]],
            says="each score goes through a sigmoid of its own, so the weights of one query do "
            "not sum to 1",
            ask="What do the weights of one query sum to?",
        ),
        bug(
            "softmax-log",
            variants=weighed("torch.log_softmax(scores, dim=-1)"),
            says="the logarithms of the weights are used as weights",
            ask="Can a weight be negative, and is one of yours?",
        ),
        bug(
            "softmax-detached",
            (CONTEXT, CONTEXT.replace("weights", "weights.detach()")),
            says="the weights are cut off from autograd, so queries and keys are never trained",
            ask="By which path does a gradient reach the query projection, and is it open?",
        ),
    )


def product_mistakes(masks: Sequence[Mask]) -> tuple[Bug, ...]:
    """Return the mistakes in the two matrix products."""
    scale = " / math.sqrt(self.head_dim)"
    return (
        bug(
            "query-key-swapped",
            (SCORES, f"scores = k @ q.transpose(-2, -1){scale}"),
            says="query and key are swapped, so rows of the scores stand for keys",
            ask="After your product, does a row of the scores belong to a query or to a key?",
        ),
        bug(
            "weights-transposed",
            (CONTEXT, "context = weights.transpose(-2, -1) @ v"),
            fill_lines=[mask.fill for mask in masks],
            says="the weights are transposed before they meet the values",
            ask="Which axis of the weights has to meet the token axis of the values?",
        ),
        bug(
            "key-transpose-reverses-all",
            variants=[
                [(SCORES, f"scores = q @ k.T{scale}")],
                [(SCORES, f"scores = q @ k.permute(*range(3, -1, -1)){scale}")],
            ],
            says="`.T` reverses all four axes of the key, not the last two",
            ask="What is the shape of the key after you transpose it?",
        ),
    )
