"""kata0: cases, checks and known bugs of the warm-up, attention for three tokens.

The file is handed out with the slip `key-is-value`, for a first run that fails.
"""

from __future__ import annotations

from dataclasses import replace

from grader.mistakes.weighing import (
    SCALE,
    SOFTMAX,
    scale_in_place,
    scale_missing,
    scale_mistakes,
    scale_wrong_vector,
    softmax_mistakes,
    softmax_over_queries,
    weights_transposed,
)
from grader.model import Axis, Case, Check, Kata, Question, Recipe, Target
from grader.patching import bug, each_and_all
from grader.properties import earlier_calls
from grader.strategies import integer, numbers, word

NAME = "attention"
TOKENS = 3
EXAMPLE = {
    "q": ((2, 0, 0, 0), (0, 2, 0, 0), (0, 0, 2, 2)),
    "k": ((1, 0, 0, 1), (0, 1, 1, 0), (1, 1, 0, 0)),
    "v": ((1, 0, 4, 0), (1, 0, 0, 4), (1, 0, 2, 2)),
}
# Where scores run into the thousands, float32 arithmetic inside may be off by
# more than usual; such cases look for NaN.
LARGE, LARGE_TOLERANCE = 10, 1e-2


def build(recipe: Recipe) -> Case:
    """Build q, k and v, each (3, d); never (3, 3), which weights that come along would look like.

    With `times`, all three are larger by that factor. With `low`, all scores are
    about -2.4 low², and differ by about ten. `kind` "example" is the one worked by hand.
    """
    import torch

    d, seed = integer(recipe, "d", 4), integer(recipe, "seed", 1)
    d += d == TOKENS
    times, low = integer(recipe, "times", 1), integer(recipe, "low", 0)
    small = 3 / low if low else times
    if word(recipe, "kind", "drawn") == "example":
        inputs = {name: torch.tensor(rows, dtype=torch.float64) for name, rows in EXAMPLE.items()}
    else:
        inputs = {
            "q": numbers(seed, "q", TOKENS, d, scale=1.5) * small + low,
            "k": numbers(seed, "k", TOKENS, d, scale=1.5) * small - low,
            "v": numbers(seed, "v", TOKENS, d) * times,
        }
    return Case(
        target=NAME,
        inputs=inputs,
        returns=(tuple(inputs["v"].shape),),
        dtype=word(recipe, "dtype", "float64"),
        tolerance=LARGE_TOLERANCE if times >= LARGE or low else 1e-9,
        banned=frozenset({"scaled_dot_product_attention", "MultiheadAttention", "Transformer"}),
    )


def with_keys_in_another_order(case: Case) -> Case:
    """Put the last key first, and its value with it; no query must notice."""
    moved = {name: case.inputs[name].roll(1, 0) for name in ("k", "v")}
    return replace(case, inputs={**case.inputs, **moved})


DRAWS: dict[str, Axis] = {"d": (1, 5), "seed": (0, 999)}

CHECKS = (
    Check(
        "output_matches",
        "each query gets the average of the values whose keys it matches",
        NAME,
        "values",
        bank=(
            {"kind": "example"},
            {"d": 1, "seed": 2},
            {"d": 2, "seed": 3},
            {"d": 4, "seed": 4},
            {"d": 5, "seed": 5},
            {"d": 6, "seed": 6},
            {"d": 9, "seed": 7},
            {"d": 16, "seed": 8},
            {"d": 64, "seed": 9},
        ),
        draws=DRAWS,
        examples=60,
    ),
    Check(
        "order_of_keys_is_free",
        "keys that come in another order, with their values, give the same",
        NAME,
        "unchanged",
        vary=with_keys_in_another_order,
        bank=({"seed": 11}, {"d": 1, "seed": 12}),
        draws=DRAWS,
        examples=15,
    ),
    Check(
        "survives_large_scores",
        "scores in the thousands give finite, right results",
        NAME,
        "values",
        bank=(
            {"times": 60, "seed": 21},
            {"times": 60, "d": 6, "seed": 22},
            {"low": 9, "seed": 23},
            {"low": 60, "d": 6, "seed": 24},
        ),
        after=("output_matches",),
    ),
    Check(
        "gradients_match",
        "gradients reach q, k and v, and are right",
        NAME,
        "gradients",
        bank=({"seed": 31}, {"d": 1, "seed": 32}, {"d": 6, "seed": 33}),
        draws=DRAWS,
        examples=10,
        after=("output_matches",),
    ),
    Check(
        "inputs_are_kept",
        "q, k and v are not changed in place",
        NAME,
        "inputs_kept",
        bank=({"seed": 41}, {"d": 1, "seed": 42}, {"dtype": "float32", "seed": 43}),
    ),
    Check(
        "repeats",
        "a second call returns the same",
        NAME,
        "repeats",
        bank=({"seed": 51},),
    ),
    earlier_calls(NAME, {"seed": 52}, {"d": 6, "seed": 53}, after=("output_matches",)),
    Check(
        "works_in_float32",
        "float32, as people run it, gives the same",
        NAME,
        "values",
        bank=({"dtype": "float32", "seed": 61}, {"dtype": "float32", "d": 64, "seed": 62}),
        after=("output_matches",),
    ),
    Check(
        "takes_any_layout",
        "tensors that are transposed views give the same",
        NAME,
        "values",
        bank=({"transposed": 1, "seed": 71}, {"transposed": 1, "d": 6, "seed": 72}),
        after=("output_matches",),
    ),
    Check(
        "runs_on_any_device",
        "everything follows the input to a GPU",
        NAME,
        "device",
        bank=({"seed": 81}, {"dtype": "float32", "seed": 82}),
        after=("output_matches",),
    ),
    Check(
        "written_by_hand",
        "the attention is written out, not called",
        NAME,
        "banned",
        bank=({"seed": 91}, {"d": 1, "seed": 92}),
    ),
    Check(
        "half_precision",
        "does not work in half precision (autocast, GPU inference)",
        NAME,
        "half",
        bank=({"dtype": "float16", "seed": 93},),
        required=False,
        after=("output_matches",),
    ),
)

PRODUCTS = "scores = q @ k.T"
RETURN = "return weights @ v"

BUGS = (
    bug(
        "key-is-value",
        (PRODUCTS, "scores = q @ v.T  # (3, 3), one row for each query"),
        says="the queries are compared with the values, where the keys belong",
        ask="Which of q, k and v says what a token is found by, and which one stands in the line "
        "that compares?",
    ),
    scale_missing(),
    softmax_over_queries(),
    bug(
        "value-is-key",
        (RETURN, "return weights @ k"),
        says="the keys are averaged, where the values belong",
        ask="Which of q, k and v says what a token passes on, and which one do the weights "
        "average?",
    ),
    bug(
        "key-value-swapped",
        (PRODUCTS, "scores = q @ v.T"),
        (RETURN, "return weights @ k"),
        says="keys and values have changed places: the queries meet the values, and the keys are "
        "averaged",
        ask="What is each of k and v for? Follow both of them through your lines.",
    ),
    bug(
        "query-key-swapped",
        (PRODUCTS, "scores = k @ q.T"),
        says="query and key have changed places, so a row of the scores belongs to a key",
        ask="Row 0 of your scores: is it about the first query, or about the first key?",
    ),
    bug(
        "key-is-query",
        (PRODUCTS, "scores = q @ q.T"),
        says="the queries are compared with each other; the keys have no say",
        ask="If you double every key, which of your scores change?",
    ),
    bug(
        "query-unused",
        variants=[[(PRODUCTS, f"scores = {one} @ {other}.T")] for one in "kv" for other in "kv"],
        says="two tensors are compared of which neither holds the queries, so what is asked makes "
        "no difference",
        ask="If you double every query, which of your scores change?",
    ),
    bug(
        "value-is-query",
        (RETURN, "return weights @ q"),
        says="the queries are averaged, where the values belong",
        ask="What should a query come home with: queries again, or what the tokens pass on?",
    ),
    bug(
        "key-not-transposed",
        (PRODUCTS, "scores = q @ k"),
        says="q (3, d) meets k (3, d) as it is, and a product of matrices wants d to meet d",
        ask="Write down the shapes on both sides of your product: which two sizes have to agree?",
    ),
    bug(
        "query-transposed",
        (PRODUCTS, "scores = q.T @ k"),
        says="q is turned instead of k, so features are compared with features, not tokens with "
        "tokens",
        ask="Which shape do your scores have, and how many pairs of a query and a key are there?",
    ),
    bug(
        "own-key-only",
        (PRODUCTS, "scores = (q * k).sum(dim=-1)"),
        variants=[
            [(PRODUCTS, "scores = (q * k).sum(dim=-1, keepdim=True)")],
            [(PRODUCTS, "scores = q * k")],
            [(PRODUCTS, "scores = torch.diag((q * k).sum(dim=-1))")],
        ],
        says="each query is compared with the key of its own token, not with all three",
        ask="For three queries and three keys, how many scores are there?",
    ),
    bug(
        "causal-always-applied",
        (
            SCALE,
            f"{SCALE}\nhidden = torch.ones_like(scores).triu(1).bool()\n"
            'scores = scores.masked_fill(hidden, float("-inf"))',
        ),
        says="a causal mask hides later tokens, and nobody asked for one here",
        ask="May the first query see the third key in this kata?",
    ),
    *scale_mistakes(),
    scale_wrong_vector("q.shape[0]"),
    scale_in_place(PRODUCTS),
    *softmax_mistakes(mix=RETURN),
    bug(
        "softmax-twice",
        (SOFTMAX, f"{SOFTMAX}\nweights = torch.softmax(weights, dim=-1)"),
        says="softmax is applied twice, so the weights of three keys all lie between 0.2 and 0.6",
        ask="What does softmax make of the row [1, 0, 0], which sums to one already?",
    ),
    bug(
        "softmax-detached",
        variants=each_and_all(
            (SOFTMAX, f"{SOFTMAX}.detach()"), (PRODUCTS, "scores = (q @ k.T).detach()")
        )[1:],
        says="the weights are cut off from autograd: they are right, and q and k learn nothing",
        ask="By which path does a gradient of the output reach q?",
    ),
    weights_transposed(mix=RETURN),
    bug(
        "returns-weights",
        (RETURN, "return weights"),
        says="the weights are returned, and the values are not averaged",
        ask="Which shape does the docstring promise, and which one do you return?",
    ),
    bug(
        "returns-scores",
        (RETURN, "return scores"),
        says="the scores are returned, without softmax and without the values",
        ask="Which step comes after the scores, and where does v come in?",
    ),
    bug(
        "value-unweighed",
        (RETURN, "return v"),
        variants=[[(RETURN, "return v.mean(dim=0, keepdim=True).expand(3, -1)")]],
        says="the values come out the same whatever the queries ask: the weights are not used",
        ask="Where does your result depend on the weights?",
    ),
    bug(
        "products-elementwise",
        (RETURN, "return weights * v"),
        says="weights and values are multiplied entry by entry, where a product of matrices sums "
        "over the keys",
        ask="The output of one query is a sum over what?",
    ),
    bug(
        "leading-dims-assumed",
        variants=[
            [(PRODUCTS, "scores = q @ k.transpose(1, 2)")],
            [(PRODUCTS, "scores = torch.bmm(q, k.T)")],
            [(PRODUCTS, 'scores = torch.einsum("bqd,bkd->bqk", q, k)')],
            [(SOFTMAX, "weights = torch.softmax(scores, dim=2)")],
        ],
        says="the code takes a batch for granted, and there is none here: q, k and v are matrices",
        ask="How many dimensions has q, and which numbers may stand for them?",
    ),
    bug(
        "dropout-in-eval",
        variants=[
            [(SOFTMAX, f"{SOFTMAX}\nweights = torch.nn.functional.dropout(weights, {p})")]
            for p in ("0.1", "0.2", "0.5")
        ],
        says="weights are dropped at random at every call, and nothing is trained here",
        ask="What do you get if you call the function twice with the same tensors?",
    ),
    bug(
        "api-typos",
        (SCALE, "scores = scores / torch.sqrt(q.shape[-1])"),
        variants=[
            [(SOFTMAX, "weights = F.softmax(scores, dim=-1)")],
            [(SOFTMAX, "weights = torch.Softmax(scores, dim=-1)")],
            [(PRODUCTS, "scores = q @ k.transpose()")],
        ],
        says="torch has no such name here, or takes another kind of argument",
        ask="What does the last line of the exception say about the call on this line?",
    ),
)

HINTS = (
    "Each token has a query (what it looks for), a key (what it is found by) and a value (what it "
    "passes on). Two of the three are compared, the third is averaged.",
    "Read the failing run from the top: what was called, what was expected, and the cause. Then "
    "go through the steps and ask of each line which of q, k and v it has to hold.",
    "Shapes: q (3, d) with k turned, (d, 3), gives (3, 3): a row for each query, a column for each "
    "key. Softmax runs along a row. (3, 3) with v (3, d) gives (3, d).",
    "Nearly code: products of queries and keys, over the root of d; softmax along the last axis; "
    "product of the weights with the values. As the file is handed out, three of these four lines "
    "are right.",
)

QUESTIONS = (
    Question(
        "What are queries, keys and values, in a sentence each?",
        (
            "a query is what a token looks for",
            "a key is what a token is found by: it meets the queries",
            "a value is what a token passes on once it is found",
            "all three are made from the same token by projections of their own",
        ),
    ),
    Question(
        "In which way is attention a dictionary that is looked up softly?",
        (
            "a dictionary returns the value of the one key that equals the query",
            "attention compares the query with every key, and returns a weighted average",
            "when one score is far above the others, the average is nearly that one value",
            "being soft, it has gradients",
        ),
    ),
    Question(
        "What comes out if all three keys are the same?",
        (
            "all scores of a query are equal, so each weight is 1/3",
            "every query gets the plain mean of the values",
        ),
    ),
    Question(
        "What changes if you shuffle the tokens?",
        (
            "keys shuffled together with their values: nothing",
            "queries shuffled: the rows of the output are shuffled in the same way",
            "so attention knows no order, which is why positions are added to the tokens",
        ),
    ),
    Question(
        "Why is a check of shapes not enough here?",
        (
            "q, k and v have one shape, so any of them fits where another belongs",
            "scores (3, 3) keep their shape when they are transposed",
            "values, gradients and a second call tell more",
        ),
    ),
    Question(
        "How large is the output, at most?",
        (
            "it is an average, so each feature lies between the least and the largest value",
            "weights that do not sum to one break this, which makes a cheap test",
        ),
    ),
)

KATA = Kata(
    number=0,
    stem="kata00_warm_up",
    title="Warm-up with three tokens",
    minutes=2,
    cap_minutes=5,
    targets=(Target(NAME, "function", ("q", "k", "v")),),
    build=build,
    checks=CHECKS,
    bugs=BUGS,
    # Entry by entry or as matrices: the sizes that clash are the same.
    equal=(("key-not-transposed", "own-key-only"),),
    hints=HINTS,
    questions=QUESTIONS,
    slip="key-is-value",
)
