"""Mistakes in how dropout drops, as patches of the lines that call it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from grader.mistakes.lines import RETURN, Edits
from grader.model import Bug
from grader.patching import bug, each_and_all

MADE = "self.dropout = nn.Dropout(dropout)"


def _instead(lines: Sequence[str], form: str, orders: Sequence[str] = ()) -> list[Edits]:
    """Return the edits that write `form` for each `self.dropout(value)`, in all lines and in each.

    `{value}` in it stands for what is dropped. It is also written only where one of `orders`
    holds, which are conditions.
    """

    def edited(line: str, order: str = "") -> tuple[str, str]:
        def written(call: re.Match[str]) -> str:
            wrong = form.format(value=call[1])
            return f"({wrong} if {order} else {call[0]})" if order else wrong

        return line, re.sub(r"self\.dropout\((\w+)\)", written, line)

    return [
        *each_and_all(*(edited(line) for line in lines)),
        *([edited(line, order) for line in lines] for order in orders),
    ]


def dropout_share_mistakes() -> tuple[Bug, ...]:
    """Return the mistakes after which another share is dropped than the one that was given."""
    return (
        bug(
            "dropout-share-exchanged",
            (MADE, "self.dropout = nn.Dropout(1 - dropout)"),
            says="dropout is used as the share that is kept, not the share that is dropped",
            ask="With dropout=0 in train mode, what does your block drop?",
        ),
        bug(
            "dropout-hard-coded",
            variants=[[(MADE, f"self.dropout = nn.Dropout({rate})")] for rate in (0.1, 0.2, 0.5)],
            says="the share that is dropped is written into the code, whatever dropout says",
            ask="Where in your constructor does its argument dropout have any effect?",
        ),
    )


def dropping_mistakes(lines: Sequence[str], orders: Sequence[str] = ()) -> tuple[Bug, ...]:
    """Return the mistakes in dropping itself; `lines` are those that call `self.dropout`.

    Each may also be made only where one of `orders` holds.
    """
    token, sequence, *others = (
        "{value} * self.dropout({value}.new_ones({value}[...].shape))".replace("...", part)
        for part in ("..., :1", ":, :1, :1", ":1, :1", ":1", ":, :1")
    )
    return (
        bug(
            "dropout-twice",
            variants=_instead(lines, "self.dropout(self.dropout({value}))", orders),
            says="a sublayer's output goes through dropout twice, so more of it is dropped than "
            "was asked for",
            ask="With a dropout of 0.5, which share of a sublayer's output should be left, and "
            "which is left of yours?",
        ),
        bug(
            "dropout-mask-shared",
            variants=[
                *_instead(lines, token, orders),
                *_instead(lines, sequence, orders),
                *(_instead(lines, form)[0] for form in others),
            ],
            says="one draw decides for many values at once (a token, a sequence, or one feature of "
            "all tokens), where each value should be dropped or kept by itself",
            ask="How many random draws does dropout need for an output of shape (B, L, D)?",
        ),
    )


def unscaled_mistakes(lines: Sequence[str], orders: Sequence[str] = ()) -> tuple[Bug, ...]:
    """Return the mistake of not scaling up what dropout leaves, see `dropping_mistakes`."""
    return (
        bug(
            "dropout-not-scaled",
            variants=_instead(
                lines,
                "(nn.functional.dropout({value}, self.dropout.p, self.training) "
                "* (1 - self.dropout.p if self.training else 1))",
                orders,
            ),
            says="what dropout leaves is not scaled up, so the sublayer's answer shrinks in train "
            "mode",
            ask="Over many calls in train mode, what should the mean of the dropped-out answer be?",
        ),
    )


def misplaced_dropout_mistakes(query: str, value: str) -> tuple[Bug, ...]:
    """Return the mistakes of dropping, in training, neither attention weights nor the output.

    `query` and `value` are the lines `q = …` and `v = …` that project them.
    """
    ask = "Which of your tensors has rows that sum to one, and which one do you drop?"

    def dropped(what: str) -> str:
        return f"nn.functional.dropout({what}, 0.5, self.training)"

    average = (RETURN, f"return self.out_proj({dropped('context')})")
    return (
        bug(
            "dropout-on-features",
            variants=[[(value, f"{value}\nv = {dropped('v')}")], [average]],
            says="dropout hits something on the way (tokens, values, what is averaged of them, or "
            "what scores are made of), where attention weights or the output may be dropped",
            ask=ask,
        ),
        bug(
            "dropout-on-scores",
            (query, f"{query}\nq = {dropped('q')}"),
            says="dropout hits what scores are made of, the queries or the keys, where attention "
            "weights or the output may be dropped",
            ask=ask,
        ),
    )
