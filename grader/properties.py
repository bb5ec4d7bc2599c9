"""Checks that several katas have in common, word for word.

`mask` is the word of the kata for its usual mask. A check waits on those in `after`;
where that is one name, on the check that masks are applied at all.
"""

from __future__ import annotations

from dataclasses import replace

from grader.model import Check, Recipe
from grader.strategies import with_loud_padding


def hidden_keys(target: str, *bank: Recipe, after: str) -> tuple[Check, ...]:
    """Return the checks that hidden keys have no weight; `bank` draws scores far from 0."""
    return (
        Check(
            "hidden_keys_get_nothing",
            "whatever the scores are, a hidden key gets no weight",
            target,
            "values",
            bank=bank,
            after=(after,),
        ),
        Check(
            "hidden_keys_weigh_nothing",
            "not even huge values behind hidden keys have an influence",
            target,
            "unchanged",
            vary=with_loud_padding,
            bank=({"mask": "holes", "batch": 3, "equal": 1, "seed": 89},),
            after=(after,),
        ),
    )


def dropped_weights_only(
    target: str, sizes: Recipe, after: str, name: str = "only_weights_are_dropped"
) -> Check:
    """Return the check that dropout, if there is any, hits attention weights or the output.

    `sizes` gives one head, and two tokens to attend to.
    """
    return Check(
        name,
        "in training, dropout leaves queries, keys and values alone",
        target,
        "struck",
        bank=({**sizes, "one_value": 1, "mode": "train", "batch": 64},),
        after=(after,),
    )


def dropout_share(target: str, *bank: Recipe, after: str) -> Check:
    """Return the check of dropout at a real rate, on cases laid out for it."""
    return Check(
        "dropout_keeps_the_size",
        "dropout drops the share it is given, each value by itself, and scales up the rest",
        target,
        "drops",
        bank=bank,
        after=(after,),
    )


def equal_features(target: str, *bank: Recipe, after: tuple[str, ...]) -> Check:
    """Return the check of tokens without variance."""
    return Check(
        "equal_features_stay_finite",
        "a token whose features are all equal is normalised to the shift, not to NaN",
        target,
        "values",
        bank=bank,
        after=after,
    )


def distant_features(target: str, *bank: Recipe, after: tuple[str, ...]) -> Check:
    """Return the note on norms that lose their digits."""
    return Check(
        "distant_features_keep_their_digits",
        "a norm that loses its digits in float32 where features lie far from 0, as the mean of "
        "squares minus the square of the mean does; subtract the mean first",
        target,
        "values",
        bank=tuple({**recipe, "distant": 1, "dtype": "float32"} for recipe in bank),
        required=False,
        after=after,
    )


def gradients_in_training(target: str, *bank: Recipe, after: tuple[str, ...]) -> Check:
    """Return the check that train mode cuts nothing off from its gradient.

    Weights are reached where the inputs ask for no gradient, as behind a frozen embedding, too.
    """
    return Check(
        "training_reaches_everything",
        "in train mode, too, gradients reach everything",
        target,
        "undropped",
        bank=tuple(
            {**recipe, "backward": 1, **frozen} for frozen in ({}, {"frozen": 1}) for recipe in bank
        ),
        after=after,
    )


def next_to_no_dropout(target: str, *bank: Recipe, after: str) -> Check:
    """Return the same check for layers with dropout, at a rate that drops nothing."""
    hardly = ({**recipe, "dropout": "hardly"} for recipe in bank)
    return replace(
        gradients_in_training(target, *hardly, after=(after, "gradients_match")),
        title="with next to no dropout, train mode gives the same values and gradients as eval",
    )


def earlier_calls(
    target: str,
    *bank: Recipe,
    after: tuple[str, ...],
    name: str = "earlier_calls_leave_no_trace",
    masks: bool = False,
) -> Check:
    """Return the check that nothing is kept from one call to the next.

    With `masks`, the first recipe also comes after a call with fewer tokens, and without
    its masks after a call with masks.
    """
    recipes = [{**recipe, "after_others": 1} for recipe in bank]
    if masks:
        plain = {name: value for name, value in bank[0].items() if name != "mask"}
        recipes += [{**bank[0], "after_others": 2}]
        recipes += [{**plain, "after_others": kind} for kind in (3, 4, 5)]
    return Check(
        name,
        "what an earlier call was given makes no difference",
        target,
        "values",
        bank=tuple(recipes),
        after=after,
    )


def instances(target: str, *bank: Recipe, after: tuple[str, ...]) -> Check:
    """Return the check that nothing is kept on the class, or in a global name."""
    return Check(
        "instances_are_independent",
        "another instance, built later, makes no difference",
        target,
        "values",
        bank=tuple({**recipe, "built_after": 1} for recipe in bank),
        after=after,
    )


def left_out(
    target: str, what: str, recipe: Recipe, after: tuple[str, ...], name: str = "defaults"
) -> Check:
    """Return the note on what has a default in the signature, and has to be given."""
    return Check(
        name,
        f"{what}, as in the signature, cannot be left out",
        target,
        "values",
        bank=({**recipe, "bare": 1},),
        required=False,
        after=after,
    )


def default_dropout(target: str, *bank: Recipe, after: str) -> Check:
    """Return the check of the rate that dropout has where nobody gives one."""
    return Check(
        "dropout_is_a_tenth",
        "where no dropout is given, it is 0.1",
        target,
        "drops",
        bank=tuple({**recipe, "dropout": "default"} for recipe in bank),
        after=(after,),
    )


def workmanship(target: str, mask: str, after: str, tokens: str) -> tuple[Check, ...]:
    """Return the checks on how it is written: device, heads, calls, half precision and loops.

    `tokens` is what the kata calls the L positions that are looped over.
    """
    return (
        Check(
            "runs_on_any_device",
            "everything follows the input to a GPU",
            target,
            "device",
            bank=({"mask": mask, "seed": 55}, {"mask": mask, "after_others": 1, "seed": 60}),
            after=(after,),
        ),
        Check(
            "refuses_uneven_heads",
            "a d_model that the heads cannot share raises an exception",
            target,
            "raises",
            bank=({"d_model": 10, "heads": 3, "seed": 56}, {"d_model": 7, "heads": 2, "seed": 57}),
        ),
        Check(
            "written_by_hand",
            "the attention is written out, not called",
            target,
            "banned",
            bank=({"mask": mask, "seed": 58}, {"seed": 61}),
        ),
        left_out(
            target, "the masks' None", {"seed": 63}, ("values_match",), "masks_can_be_left_out"
        ),
        Check(
            "half_precision",
            "does not work in half precision (autocast, GPU inference)",
            target,
            "half",
            bank=({"dtype": "float16", "mask": mask, "seed": 59},),
            required=False,
            after=(after,),
        ),
        *(
            Check(
                f"no_loop_over_{name}",
                f"a Python loop over the {name}; one batched product does {them} all",
                target,
                "loops",
                bank=({"grow": size, size: 1, "mask": mask, "seed": seed},),
                required=False,
                after=("values_match",),
            )
            for name, them, size, seed in (
                ("heads", "them", "heads", 60),
                ("batch", "it", "batch", 61),
                (tokens, "them", "length", 62),
            )
        ),
    )
