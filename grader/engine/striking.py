"""Tell by the values what dropout struck, where it may strike attention weights alone."""

from __future__ import annotations

from torch import Tensor

from grader.engine.dropping import added

# Dropped weights leave one size of what is left, and two where they are made to sum
# to one again. What else is dropped leaves many.
MOST_SIZES = 2
ALIKE = 1e-4

ALLOWED = "in training, attention weights may be dropped, or what the layer returns"
INPUT_KEPT = "in training, dropout is for what a sublayer returns"
MESSAGES = {
    "features": f"dropout hits more than that, such as tokens, values or scores: {ALLOWED}",
    "scores": f"dropout hits the queries, the keys or the scores: {ALLOWED}",
    "input": f"dropout hits what goes into an attention: {INPUT_KEPT}",
}


def struck(trained: Tensor, rested: Tensor, *, normed: bool) -> str:
    """Return which of `MESSAGES` is true of outputs (B, L, D) in train and in eval mode, or "".

    The case is laid out by `with_one_value`, so that every row of the output is one
    weight times something fixed, and all batch rows are alike; or, `normed`, by
    `with_dropout_seen`, so that this holds of what the sublayer adds. An answer that
    is not like that in eval mode either, having no value projection, say, tells nothing.
    """
    if trained.shape != rested.shape or trained.dim() != 3 or trained.shape[-1] < 4:
        return ""
    if normed:
        return "input" if _sizes(added(trained) / added(rested)) > MOST_SIZES else ""
    if not _proportional(rested):
        return ""
    ratios = (trained / rested).double().nan_to_num(0.0, 0.0, 0.0)
    sizes = max(_sizes(ratios[:, query]) for query in range(ratios.shape[1]))
    if sizes <= MOST_SIZES:
        # Many write the dropout that follows an attention into it: then whole values go.
        return ""
    uneven = (ratios.amax(-1) - ratios.amin(-1)).max() > ALIKE
    return "features" if uneven else "scores"


def _proportional(rows: Tensor) -> bool:
    """Tell whether all rows of (B, L, D) are multiples of one."""
    flat = rows.double().flatten(0, 1)
    longest = flat[flat.norm(dim=-1).argmax()]
    along = (flat @ longest)[:, None] * longest / longest.square().sum()
    return bool((flat - along).abs().max() <= ALIKE * longest.abs().max())


def _sizes(values: Tensor) -> int:
    """Count how many different values there are beside 0."""
    kept = values.flatten().nan_to_num(0.0, 0.0, 0.0)
    kept = kept[kept.abs() > ALIKE].sort().values
    return int(((kept[1:] - kept[:-1]) > ALIKE * kept[1:].abs()).sum()) + 1 if len(kept) else 0
