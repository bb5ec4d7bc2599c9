"""Mistakes in splitting features into heads, and in merging the heads again."""

from __future__ import annotations

from collections.abc import Sequence

from grader.mistakes.lines import MERGE, Edits, Head, Mask
from grader.model import Bug
from grader.patching import bug, each_and_all


def split_mistakes(heads: Sequence[Head], masks: Sequence[Mask]) -> tuple[Bug, ...]:
    """Return the mistakes in splitting q, k and v into heads and in merging them again."""

    def viewed(sizes: str) -> Edits:
        return [(h.split, f"{h.name} = {h.name}.view({sizes.format(h.length)})") for h in heads]

    straight = viewed("batch, self.num_heads, {}, self.head_dim")
    unmoved = viewed("batch, {}, self.num_heads, self.head_dim")
    turns = viewed("batch, {}, self.head_dim, self.num_heads")
    woven = [(line, f"{by}.permute(0, 3, 1, 2)") for line, by in turns]
    flat = MERGE.replace(".transpose(1, 2)", "")
    dropped = MERGE.split("reshape")[1]
    # Where tokens are mixed, a query that sees no key spreads what it got: NaN, or an average.
    fills = [mask.fill for mask in masks]
    return (
        bug(
            "split-view-no-transpose",
            variants=each_and_all(*straight),
            says="the heads are cut with view(B, H, L, d) directly, which mixes tokens and heads: "
            "memory holds the tokens first",
            ask="In memory, what stands next to the first d numbers of token 0: more of token 0, "
            "or token 1?",
        ),
        bug(
            "split-view-direct-heads-batch",
            *straight,
            (MERGE, flat),
            fill_lines=fills,
            says="the features are cut into heads and put back with view alone, so a head gets a "
            "slice of the tokens instead of a slice of the features",
            ask="After your split, which tokens can be found in head 0?",
        ),
        bug(
            "heads-never-transposed",
            variants=[[*unmoved, (MERGE, flat)], unmoved],
            says="the heads stay behind the tokens, so the products compare the heads of one "
            "token with each other, and tokens never meet",
            ask="Which two axes does `@` multiply, and what do they count in your q?",
        ),
        bug(
            "merge-no-transpose",
            (MERGE, flat),
            fill_lines=fills,
            says="the heads are merged without being moved back behind the tokens, so outputs of "
            "different tokens are mixed",
            ask="In what order do heads and tokens lie in memory when you flatten them?",
        ),
        bug(
            "merge-wrong-axes",
            variants=[
                [(MERGE, f"context = context.transpose(-1, -2).reshape{dropped}")],
                [(MERGE, f"context = context.permute(0, 3, 2, 1).reshape{dropped}")],
                [(MERGE, f"context = context.permute(0, 2, 3, 1).reshape{dropped}")],
            ],
            fill_lines=fills,
            says="the wrong axes are swapped before the heads are merged, so the features of a "
            "token are not those of its heads, one after the other",
            ask="Which axis order must the heads' outputs have for a flatten to put the heads of "
            "one token side by side?",
        ),
        bug(
            "merge-view-noncontiguous",
            (MERGE, MERGE.replace("reshape", "view")),
            says="view is asked to merge axes that a transpose has torn apart in memory",
            ask="What does view need of the tensor's memory, and what did the transpose do to it?",
        ),
        bug(
            "heads-averaged",
            variants=[
                [(MERGE, "context = context.mean(dim=1)")],
                [(MERGE, "context = context.sum(dim=1).repeat(1, 1, self.num_heads)")],
                [(MERGE, "context = context.mean(dim=1).repeat(1, 1, self.num_heads)")],
                [(MERGE, "context = context.amax(dim=1).repeat(1, 1, self.num_heads)")],
            ],
            says="the heads are folded into one (averaged, summed or the largest taken) instead "
            "of being put side by side",
            ask="How many features does a token have after your merge, and how many does each "
            "head contribute?",
        ),
        bug(
            "heads-interleaved",
            variants=[
                [*woven, (MERGE, f"context = context.permute(0, 2, 3, 1).reshape{dropped}")],
                woven,
            ],
            says="the heads take turns along the features: head h gets the features h, h + H, "
            "h + 2H and so on, not d features side by side",
            ask="Which features should head 0 own, and which does your split give it?",
        ),
        bug(
            "hard-coded-batch",
            variants=[
                [(h.split, h.split.replace("batch", size)) for h in heads]
                for size in ("1", "2", "32")
            ],
            says="the batch size is written into the code, and any other one fails",
            ask="Which numbers in your reshaping come from the input, and which do you assume?",
        ),
        bug(
            "hard-coded-len",
            variants=[
                [(h.split, h.split.replace(f" {h.length},", f" {size},")) for h in heads]
                for size in ("5", "10", "128")
            ],
            says="the number of tokens is written into the code, and any other one fails",
            ask="Which numbers in your reshaping come from the input, and which do you assume?",
        ),
        bug(
            "batch-seq-axis-swapped",
            *((h.split, h.split.replace("transpose(1, 2)", "permute(1, 2, 0, 3)")) for h in heads),
            (MERGE, MERGE.replace("transpose(1, 2)", "permute(2, 0, 1, 3)")),
            says="the first axis is taken for the tokens and the second for the batch, so tokens "
            "attend across sequences instead of along their own",
            ask="Which axis of the scores counts keys, and does it run along a sequence or across "
            "the batch?",
        ),
    )
