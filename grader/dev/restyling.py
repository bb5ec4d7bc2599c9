"""Write planted code in another style, by the rewrites that keep the meaning of wrong code, too.

`rewriting` is made for right answers. Where the code is wrong, many of its
rewrites do something else, and a name that no longer fits would be no fault of
the diagnosis. Left out are those that
- meet other values in wrong code: a mask of other sizes ("where", "additive
  mask", "copied, then filled"), or with nothing visible ("lowest number"), one
  that is no bool ("inversion"), an infinity of the other sign ("softmax by
  hand"), gradients at zero ("relu"), a divisor that differs from key to key
  ("scale moved"), a negative number or a tensor under a root ("square root"),
  a norm over two axes ("norm's shape");
- forgive other shapes: "einsum" stretches sizes of 1, "reshape" takes what view
  does not, "unsqueeze" what an index does not;
- raise another class of exception where a value is no tensor, or has too few
  axes: "matmul", "transpose", "softmax", "method for function", "function for
  method", "view and contiguous";
- depend on the order of evaluation, which matters once something is written in
  place or raises: "statements exchanged", "operands exchanged";
- make views of one tensor out of tensors of their own: "projections fused".

What stays may change the learner's own names in the message of an exception.
"""

from __future__ import annotations

from random import Random

from grader.dev.rewriting import LARGEST, Rewritten, rewritten

KEEPING = frozenset(
    {
        "condition",
        "condition turned",
        "helper extracted",
        "hints dropped",
        "infinity",
        "keywords",
        "layers renamed",
        "local renamed",
        "methods reordered",
        "permute",
        "result named",
        "scale",
        "super in full",
    }
)
STEPS = 8


def restyled(source: str, pick: Random) -> Rewritten:
    """Return planted code after some rewrites that are drawn."""
    steps = [(pick.randrange(LARGEST), pick.randrange(LARGEST)) for _ in range(STEPS)]
    return rewritten(source, steps, KEEPING)
