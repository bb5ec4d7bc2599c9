"""How kata0 is graded: its cases, checks, bugs, hints and questions."""

from __future__ import annotations

from grader.model import Case, Check, Kata, Question, Recipe, Target
from grader.patching import bug
from grader.strategies import integer, numbers

# Sizes are pairwise different, so that a wrong dimension shows in shape or value.
BANK: tuple[Recipe, ...] = (
    {"B": 2, "L": 3, "D": 5, "seed": 1},
    {"B": 3, "L": 2, "D": 4, "seed": 2},
    {"B": 1, "L": 1, "D": 3, "seed": 3},
)


def build(recipe: Recipe) -> Case:
    """Turn the drawn integers into one call."""
    shape = (integer(recipe, "B", 2), integer(recipe, "L", 3), integer(recipe, "D", 5))
    x = numbers(integer(recipe, "seed", 0), "x", *shape)
    return Case(target="center", inputs={"x": x}, returns=(shape,))


KATA = Kata(
    number=0,
    stem="kata00_template",
    title="Template title",
    minutes=3,
    cap_minutes=6,
    targets=(Target("center", "function", ("x",)),),
    build=build,
    checks=(
        Check(
            "values_agree",
            "the result is the input less its mean over the features",
            target="center",
            watch="values",
            bank=BANK,
            draws={"B": (1, 3), "L": (1, 4), "D": (1, 6), "seed": (0, 9)},
        ),
        Check(
            "input_is_kept",
            "the input is not changed in place",
            target="center",
            watch="inputs_kept",
            bank=BANK,
        ),
    ),
    bugs=(
        bug(
            "mean-over-batch",
            ("mean = x.mean(dim=-1, keepdim=True)", "mean = x.mean(dim=0, keepdim=True)"),
            says="the mean runs over the batch, so examples in one batch change each other",
            ask="Which numbers should the mean of one token depend on?",
        ),
    ),
    hints=(
        "Each token is centred on its own: nothing of another token or example takes part.",
        "Look at the dimension you average over.",
        "(B, L, D) averaged over its last dimension, which is kept, is (B, L, 1).",
        "Call mean with the last dimension and keepdim, and subtract.",
    ),
    questions=(
        Question("Why keep the averaged dimension?", ("(B, L, 1) broadcasts against (B, L, D)",)),
        Question("What goes wrong for B = L without it?", ("a silent, wrong broadcast",)),
        Question("What is the gradient of the mean?", ("1 / D for each of its D features",)),
        Question("Which vectors does this map to zero?", ("those with all features equal",)),
        Question("How does LayerNorm go on from here?", ("divide by the deviation", "gain, shift")),
    ),
)
