"""Frozen records that every layer shares. They carry data and no behaviour.

Nothing here imports torch, so that listing katas and reporting a typo stay
fast. Shape letters: B batch, L query length, S key length, D d_model,
H heads, d = D / H, F = d_ff.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from torch import Tensor

VERDICT_VERSION = 1

Shape = tuple[int, ...]
# What Hypothesis draws: small integers, and words from a short list.
Recipe = Mapping[str, "int | str"]
# Where it draws from: an inclusive range (low, high), or a list of choices.
Axis = tuple[int, int] | list["int | str"]


# --- what a kata is ----------------------------------------------------------


@dataclass(frozen=True)
class Edit:
    """One whole line of a solution, and what stands in its place.

    Lines are compared after stripping. `by` inherits the indentation, may hold
    several lines, and may be empty, which drops the line.
    """

    replace: str
    by: str


@dataclass(frozen=True)
class Bug:
    """A known mistake, as patches of the solution.

    Each of `variants` is a set of edits that makes the same mistake in another
    way (filling with -inf or with -1e9, say). `says` states what is wrong;
    `ask` is a question that leads to the mend and never contains it.
    """

    id: str
    variants: tuple[tuple[Edit, ...], ...]
    says: str
    ask: str


@dataclass(frozen=True)
class Role:
    """A layer the contract asks for, which learners name in their own way.

    `name` is its dotted name in the solution; `part` what it does; `owner` the
    sublayer it sits in ("self" or "cross"), where a kata has several.
    """

    name: str
    part: Literal["query", "key", "value", "output", "norm", "ffn_in", "ffn_out"]
    owner: Literal["", "self", "cross"] = ""


@dataclass(frozen=True)
class Part:
    """A module or callable that the grader hands to the learner's constructor."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Case:
    """One call, as plain data.

    `init` holds the constructor's keywords, or is None for a function; `defaults` those
    that are left to it, and only given where it does not do without. `inputs`
    are passed by keyword, `args` before them by position; messages speak of the
    latter by `arg_names`. `weights` go by the
    solution's parameter names. `returns` lists the shapes of what comes back.
    `before` holds the inputs of earlier calls on the same instance, which must
    leave no trace; positional ones go by `arg_names`. `built_after` holds the
    keywords of another instance, built before the call and after this one, which
    must make no difference either. `transposed` inputs are
    views whose last two axes lie the other way round in memory.
    `compared` is a bool tensor that broadcasts against the first returned
    tensor: where it is False, values are free (padded queries), and where `blind`
    is True (queries that see no key), so is whether they are finite. With
    `nan_is_free`, a NaN counts as right: what is written otherwise and is accepted
    comes out as 0 / 0 on it. `assignment`
    picks one reading of layers whose names do not say what they are; `absent`
    names the weights the answer does not have, zero here and without gradient.
    """

    target: str
    inputs: Mapping[str, Any]
    returns: tuple[Shape, ...]
    init: Mapping[str, Any] | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict[str, Any])
    args: tuple[Any, ...] = ()
    arg_names: tuple[str, ...] = ()
    before: tuple[Mapping[str, Any], ...] = ()
    built_after: Mapping[str, Any] | None = None
    transposed: bool = False
    weights: Mapping[str, Tensor] = field(default_factory=dict[str, Any])
    roles: tuple[Role, ...] = ()
    train: bool = False
    dtype: str = "float64"
    compared: Tensor | None = None
    blind: Tensor | None = None
    nan_is_free: bool = False
    tolerance: float | Tensor = 1e-9
    observe: frozenset[str] = frozenset()
    banned: frozenset[str] = frozenset()
    assignment: int = 0
    absent: tuple[str, ...] = ()


# What a check looks at. The engine has one function for each.
Watch = Literal[
    "values",  # type, shape, dtype and values agree with the solution
    "gradients",  # so do the gradients of every input and weight
    "inputs_kept",  # no input was changed in place
    "undropped",  # values agree in train mode, with torch's dropout switched off
    "drops",  # train mode drops the share it is given of every value by itself
    "struck",  # dropout strikes nothing but attention weights, and what a sublayer returns
    "repeats",  # a second call on the same instance returns the same
    "unchanged",  # the answer to `vary(case)` is the same as to `case`
    "sums_to_one",  # the last returned tensor sums to one over its last axis
    "raises",  # any exception is right, silence is wrong
    "device",  # runs when module and inputs sit on another device
    "trainable",  # exactly the parameters that the contract names are trained
    "banned",  # no call that gives the exercise away
    "layers",  # every layer of the contract was found
    "half",  # craft: works in half precision
    "loops",  # craft: no Python loop over heads, batch or time
]


@dataclass(frozen=True)
class Check:
    """A named property of an answer. `title` is what the learner reads.

    `bank` holds fixed recipes, run first and used for diagnosis; `draws` is
    what Hypothesis explores afterwards (empty: the bank is all there is).
    A check waits on those in `after`. Required checks decide pass or fail;
    the others only leave the note `title`.
    """

    name: str
    title: str
    target: str
    watch: Watch
    bank: tuple[Recipe, ...]
    draws: Mapping[str, Axis] = field(default_factory=dict[str, Any])
    examples: int = 30
    after: tuple[str, ...] = ()
    required: bool = True
    vary: Callable[[Case], Case] | None = None


@dataclass(frozen=True)
class Target:
    """A function or class the learner writes, with the names of its parameters."""

    name: str
    kind: Literal["function", "module"]
    parameters: tuple[str, ...]
    forward: tuple[str, ...] = ()


@dataclass(frozen=True)
class Question:
    """A follow-up an interviewer asks, and what a good answer mentions."""

    ask: str
    points: tuple[str, ...]


@dataclass(frozen=True)
class Kata:
    """Everything about one exercise but its solution and stub.

    `build(recipe)` turns drawn integers into a Case. `equal` lists groups of
    bug ids that no probe can tell apart. `accepts` holds harmless patches (an
    allowed LayerNorm eps, a float32 table): how far they move an answer is
    added to the tolerance. `slip` names the bug that the file to edit holds when it is
    handed out, where that is a whole answer and not bodies to be written.
    """

    number: int
    stem: str
    title: str
    minutes: int
    cap_minutes: int
    targets: tuple[Target, ...]
    build: Callable[[Recipe], Case]
    checks: tuple[Check, ...]
    bugs: tuple[Bug, ...]
    equal: tuple[tuple[str, ...], ...] = ()
    accepts: tuple[tuple[Edit, ...], ...] = ()
    hints: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
    slip: str = ""


# --- what a call did ---------------------------------------------------------


@dataclass(frozen=True)
class Raised:
    """An exception, as the learner needs to see it.

    `kinds` are the class names from the exception's own up to Exception;
    `line` is the deepest line in the learner's file, `own` whether it stands in
    the definition of the called target; `shapes` are the tensors
    in that frame, as (name, "(2, 5, 12) float64") pairs.
    """

    kinds: tuple[str, ...]
    message: str
    line: int | None = None
    own: bool = True
    code: str = ""
    shapes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Alien:
    """A returned object that is not a plain tensor: its type, shortly shown."""

    type: str
    shown: str = ""


@dataclass(frozen=True)
class Outcome:
    """What one call did.

    `returned` holds the tensors in the order of `Case.returns`, or the Alien
    that came instead. `gradients` maps input and weight names to tensors or
    None. `observed` holds what the case asked to observe beside that.
    """

    status: Literal["returned", "raised", "timeout", "memory", "crashed"]
    returned: tuple[Tensor | Alien, ...] = ()
    raised: Raised | None = None
    gradients: Mapping[str, Tensor | None] = field(default_factory=dict[str, Any])
    changed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    observed: Mapping[str, Any] = field(default_factory=dict[str, Any])
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Mismatch:
    """Why a check failed on one case, in words for the learner."""

    message: str
    expected: str = ""
    got: str = ""
    line: int | None = None
    shapes: tuple[tuple[str, str], ...] = ()


# --- the verdict -------------------------------------------------------------

Status = Literal[
    "passed",
    "failed",
    "not_started",
    "not_loadable",
    "timeout",
    "memory",
    "crashed",
    "grader_error",
]


# Of an answer that did not live to be compared: the check that says so, and its title.
ENDINGS: Mapping[Status, tuple[str, str]] = {
    "not_loadable": ("file_loads", "the file loads"),
    "timeout": ("answers_in_time", "it answers in time"),
    "memory": ("fits_in_memory", "it fits into memory"),
    "crashed": ("runs_to_the_end", "it runs to the end"),
}


@dataclass(frozen=True)
class Counterexample:
    """The smallest case found that fails: as a call, and as Python to paste."""

    called: str
    expected: str
    got: str
    python: str
    recipe: Recipe
    shapes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class CheckResult:
    name: str
    title: str
    status: Literal["passed", "failed", "skipped"]
    message: str = ""
    line: int | None = None
    counterexample: Counterexample | None = None


@dataclass(frozen=True)
class NamedBug:
    """A known bug that explains the answer.

    "exact": with the other bugs listed, it behaves like the answer on every
    probe (`matched` of `probes`). "consistent": only on some of them.
    """

    id: str
    title: str
    ask: str
    confidence: Literal["exact", "consistent"]
    same_as: tuple[str, ...] = ()
    matched: int = 0
    probes: int = 0


@dataclass(frozen=True)
class Verdict:
    """The one record of a grading; every view renders it."""

    kata: str
    slug: str
    status: Status
    score: float
    seconds: float
    path: str = ""
    checks: Sequence[CheckResult] = ()
    bugs: Sequence[NamedBug] = ()
    notes: Sequence[str] = ()
    version: int = VERDICT_VERSION
