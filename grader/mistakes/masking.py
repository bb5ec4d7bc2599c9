"""Mistakes in hiding keys: masks that are weak, dead, misread or laid over wrong axes."""

from __future__ import annotations

from collections.abc import Sequence

from grader.mistakes.lines import CONTEXT, MERGE, WEIGHTS, Edits, Mask, both_fills
from grader.model import Bug
from grader.patching import NEGATIVE_INFINITY, bug, each_and_all


def _slips(masks: Sequence[Mask], by: str) -> list[Edits]:
    """Return the slip `by`, with `{mask}` in it, made in each mask alone and in all."""
    return each_and_all(*((m.fill, by.format(mask=m.view)) for m in masks))


def _mixed(masks: Sequence[Mask], by: str) -> list[Edits]:
    """Add the slip made in a later mask after an earlier one that fills with -1e9.

    A score of -inf that is then multiplied by 0 becomes NaN, one of -1e9 does not.
    """
    mixed: list[Edits] = []
    for index, mask in enumerate(masks[1:], start=1):
        earlier = [(m.fill, m.filled("-1e9")) for m in masks[:index]]
        mixed.append([*earlier, (mask.fill, by.format(mask=mask.view))])
    return _slips(masks, by) + mixed


def weak_mask_mistakes(masks: Sequence[Mask]) -> tuple[Bug, ...]:
    """Return the mistakes after which a hidden key has a modest score instead of no weight."""
    return (
        bug(
            "mask-multiplied",
            variants=_mixed(masks, "scores = scores * {mask}"),
            says="the mask multiplies the scores, so a hidden key keeps score 0, and exp(0) = 1 "
            "still takes weight",
            ask="After your mask, what weight does softmax give to a hidden key?",
        ),
        bug(
            "mask-fill-zero",
            variants=_slips(masks, "scores = scores.masked_fill(~{mask}, 0.0)"),
            says="hidden scores are set to 0, and exp(0) = 1 still takes weight",
            ask="Which score does a key need for its weight to become nothing?",
        ),
        bug(
            "mask-fill-1e-9",
            variants=_slips(masks, "scores = scores.masked_fill(~{mask}, -1e-9)"),
            says="hidden scores are set to -1e-9, which is next to 0, and exp(0) = 1 still "
            "takes weight",
            ask="Is -1e-9 a large number or a tiny one, and what is its exponential?",
        ),
        bug(
            "mask-added-01",
            variants=_slips(masks, "scores = scores + {mask}"),
            says="the mask is added as 0 and 1: a visible key gains one point, and a hidden one "
            "keeps its score",
            ask="What has to be added to a score for its exponential to become zero?",
        ),
        bug(
            "mask-fill-too-small",
            variants=[
                *(
                    [(m.fill, m.filled(value)) for m in masks]
                    for value in ("-10.0", "-20.0", "-1.0", "-100.0", "-1e3", "-1e4")
                ),
                *_slips(masks, "scores = scores.masked_fill(~{mask}, -1e4)"),
                *_slips(masks, "scores = scores + ~{mask} * -1e4"),
                *_slips(masks, "scores = scores.masked_fill(~{mask}, -1e4 / self.head_dim**0.5)"),
            ],
            says="hidden scores become modest numbers (by what is filled in or added), which real "
            "scores can fall below, so hidden keys take weight",
            ask="How low can the score of a visible key be, and is a hidden one still far below?",
        ),
        bug(
            "mask-fill-plus-inf",
            variants=_slips(masks, 'scores = scores.masked_fill(~{mask}, -float("-inf"))'),
            fill_lines=[mask.fill for mask in masks],
            says="hidden scores are set to plus infinity, which turns the row into NaN",
            ask="What is the sign of the number you fill in, with every minus counted?",
        ),
    )


def dead_mask_mistakes(masks: Sequence[Mask], first: str = "mask-ignored") -> tuple[Bug, ...]:
    """Return the mistakes after which a mask changes nothing; no probe tells them apart."""
    filled = f"{{mask}}.masked_fill(~{{mask}}, {NEGATIVE_INFINITY})"
    return (
        bug(
            first,
            variants=_slips(masks, "pass"),
            says="a mask that is given does not reach the scores, so the keys it hides take part",
            ask="Follow the mask from the signature on: which line makes a score depend on it, "
            "and does that line run whenever the mask is given?",
        ),
        bug(
            "mask-result-discarded",
            variants=_slips(masks, f"scores.masked_fill(~{{mask}}, {NEGATIVE_INFINITY})"),
            says="the masked scores are computed and thrown away, so the mask has no effect",
            ask="What does masked_fill do to the tensor it is called on, and what does it return?",
        ),
        bug(
            "mask-times-minus-1e-9",
            variants=_slips(masks, "scores = scores + ~{mask} * -1e-9"),
            says="the mask is added as a number next to zero (-1e-9), so it has no effect",
            ask="How large is the number that you add to a hidden score?",
        ),
        bug(
            "mask-bool-tensor-filled",
            variants=_slips(masks, f"scores = scores + {filled}"),
            says="minus infinity is written into the bool mask, where it becomes True, so the "
            "mask shifts all scores of a row alike and has no effect",
            ask="Which values can the tensor that you fill hold?",
        ),
    )


def misread_mask_mistakes(masks: Sequence[Mask]) -> tuple[Bug, ...]:
    """Return the mistakes that read a mask the wrong way round, or at the wrong moment."""
    flipped = _slips(masks, f"scores = scores.masked_fill({{mask}}, {NEGATIVE_INFINITY})")
    late = [f"{m.guard}\n    weights = weights * {m.view}" for m in masks]
    after = each_and_all(*((m.fill, "pass") for m in masks))
    lines = ["\n".join(late), *late] if len(masks) > 1 else late
    return (
        bug(
            "mask-inverted",
            variants=[both for edits in flipped for both in both_fills(edits, masks)],
            says="the mask is read the wrong way round: what may be seen is hidden, and what is "
            "hidden is seen",
            ask="Take a key whose mask is True: does your line hide it or keep it?",
        ),
        bug(
            "mask-after-softmax",
            variants=[
                [*edits, (CONTEXT, f"{line}\n{CONTEXT}")]
                for edits, line in zip(after, lines, strict=True)
            ],
            says="hidden weights are struck out after softmax, so the weights that stay no longer "
            "sum to 1",
            ask="After your mask, what do the weights of one query sum to?",
        ),
        bug(
            "mask-unbound-when-none",
            *((m.fill, m.fill.replace("scores", "masked")) for m in masks[1:]),
            (masks[0].fill, masks[0].fill.replace("scores =", "masked =")),
            (WEIGHTS, WEIGHTS.replace("scores", "masked")),
            says="the masked scores get their name only where a mask is given; without one, the "
            "name that softmax reads does not exist",
            ask="With no mask at all, which line sets the variable that softmax reads?",
        ),
        bug(
            "mask-if-truthiness",
            variants=each_and_all(*((m.guard, f"if {m.name}:") for m in masks)),
            says="`if mask:` asks a whole tensor for one truth value, which torch refuses",
            ask="What do you want to know of the mask at that line: what it holds, or whether "
            "it was given?",
        ),
        bug(
            "mask-float-dtype",
            variants=[
                *_slips(masks, f"scores = scores.masked_fill(1 - {{mask}}, {NEGATIVE_INFINITY})"),
                *_slips(
                    masks, f"scores = scores.masked_fill(~{{mask}}.float(), {NEGATIVE_INFINITY})"
                ),
                *_slips(
                    masks,
                    f"scores = scores.masked_fill(1 - {{mask}}.float(), {NEGATIVE_INFINITY})",
                ),
            ],
            says="the mask is used as a number where torch wants a bool, or as a bool where it "
            "wants a number",
            ask="Which dtype does your mask have at that line, and which does the operation take?",
        ),
    )


def joining_mistakes(first: Mask, second: Mask) -> tuple[Bug, ...]:
    """Return the mistakes in using two masks at once."""
    either = f"({first.name} if {second.name} is None else {first.name} | {second.view})"
    alone = f"if {{}} is not None and {second.name} is None:"
    return (
        bug(
            "masks-not-joined",
            variants=[
                [(second.guard, f"el{second.guard}")],
                [(first.guard, alone.format(first.name))],
            ],
            says="with both masks given, only one of them is used",
            ask="Walk through your code with both masks given: does each of them get its turn?",
        ),
        bug(
            "masks-joined-by-or",
            (first.fill, first.fill.replace(first.name, either)),
            (second.guard, f"{second.guard[:-1]} and {first.name} is None:"),
            fill_lines=[first.fill, second.fill],
            says="with both masks given, a key is visible as soon as one of them allows it",
            ask="May a query see a padded token that lies in its past?",
        ),
    )


def written_mask_mistakes(masks: Sequence[Mask]) -> tuple[Bug, ...]:
    """Return the mistake of writing into the masks that the caller holds."""
    return (
        bug(
            "mask-changed-in-place",
            variants=each_and_all(
                *((m.fill, m.fill.replace(f"~{m.name}", f"{m.name}.logical_not_()")) for m in masks)
            ),
            says="the caller's mask is written to in place, which spoils it for the next layer",
            ask="After your call, does the caller still hold the mask that was handed in?",
        ),
    )


def key_mask_mistakes(
    mask: Mask, masks: Sequence[Mask], on_queries: str = "mask-on-query-rows"
) -> tuple[Bug, ...]:
    """Return the mistakes that lay a (batch, keys) mask over the wrong axes of the scores."""

    def laid(view: str) -> Edits:
        return [(mask.fill, mask.fill.replace(mask.view, view))]

    flattened = (MERGE, "context = context.transpose(1, 2).flatten(2)")
    tiled = f"{mask.name}.repeat(self.num_heads, 1).view(batch, self.num_heads, 1, -1)"
    return (
        bug(
            on_queries,
            variants=both_fills(laid(f"{mask.name}[:, None, :, None]"), masks),
            says="the padding mask lies over the queries instead of the keys, so padded keys are "
            "still seen",
            ask="Which axis of the scores counts the keys, and which axis does your mask fill?",
        ),
        bug(
            "mask-shape-2d",
            variants=[*both_fills(laid(mask.name), masks), [*laid(mask.name), flattened]],
            says="a mask of two axes meets scores of four: torch lines it up with the last two, "
            "so its batch axis falls on the queries",
            ask="Write the shape of the mask under the shape of the scores, from the right: "
            "which axis meets which?",
        ),
        bug(
            "mask-shape-3d-on-4d",
            variants=both_fills(laid(f"{mask.name}[:, None, :]"), masks),
            says="a mask of three axes meets scores of four: torch lines it up with the last "
            "three, so its batch axis falls on the heads",
            ask="Write the shape of the mask under the shape of the scores, from the right: "
            "which axis meets which?",
        ),
        bug(
            "mask-unsqueezed-twice",
            variants=[laid(f"{mask.name}[:, None, None, None, :]")],
            says="the mask has gained more axes than the scores have, and the scores grow with it",
            ask="How many axes do your scores have before the mask, and how many after it?",
        ),
        bug(
            "mask-first-row-for-all",
            variants=both_fills(laid(mask.view.replace(mask.name, f"{mask.name}[:1]")), masks),
            says="the padding of the first sequence is applied to the whole batch",
            ask="If the second sequence is shorter than the first, which mask hides its padding?",
        ),
        bug(
            "mask-heads-tiled-wrong",
            variants=both_fills(laid(tiled), masks),
            says="the mask is repeated in the wrong order, so heads of one sequence get the mask "
            "of another",
            ask="With two sequences and two heads, which sequence does row 1 of your repeated "
            "mask belong to, and which does row 1 of the scores?",
        ),
    )
