"""kata4: cases, checks and known bugs of multi-head cross-attention."""

from __future__ import annotations

from grader.mistakes.dropping import misplaced_dropout_mistakes
from grader.mistakes.lines import MERGE, Head, Mask, both_fills
from grader.mistakes.masking import (
    dead_mask_mistakes,
    key_mask_mistakes,
    misread_mask_mistakes,
    weak_mask_mistakes,
    written_mask_mistakes,
)
from grader.mistakes.projecting import layer_mistakes
from grader.mistakes.scoring import product_mistakes, scale_mistakes, softmax_mistakes
from grader.mistakes.splitting import split_mistakes
from grader.model import Case, Check, Kata, Question, Recipe, Target
from grader.patching import bug, each_and_all
from grader.properties import (
    dropped_weights_only,
    earlier_calls,
    gradients_in_training,
    hidden_keys,
    instances,
    workmanship,
)
from grader.strategies import (
    attention_roles,
    attention_weights,
    integer,
    laid_out,
    numbers,
    padding,
    with_last_token_changed,
    with_tokens_changed,
    word,
)

NAME = "MultiHeadCrossAttention"


def build(recipe: Recipe) -> Case:
    """Build one call: x (B, L, D), memory (B, S, D), and a mask over the memory if asked for."""
    batch, length = integer(recipe, "batch", 2), integer(recipe, "length", 5)
    memory, heads = integer(recipe, "memory", 7), integer(recipe, "heads", 2)
    seed, times = integer(recipe, "seed", 1), integer(recipe, "times", 1)
    d_model = integer(recipe, "d_model", heads * integer(recipe, "head_dim", 6))
    # Weights (B, L, S) returned beside the output (B, L, D) are told apart by their shape.
    memory += memory == d_model
    side = word(recipe, "mask", "none")
    case = Case(
        target=NAME,
        init={"d_model": d_model, "num_heads": heads},
        inputs={
            "x": numbers(seed, "x", batch, length, d_model) * times,
            "memory": numbers(seed, "memory", batch, memory, d_model) * times,
            "pad_mask": None if side == "none" else padding(seed, batch, memory, side=side),
        },
        weights=attention_weights(seed, d_model),
        roles=attention_roles(),
        returns=((batch, length, d_model),),
        train=word(recipe, "mode", "eval") == "train",
        dtype=word(recipe, "dtype", "float64"),
        # Where scores run into the thousands, float32 arithmetic inside may be
        # off by more than usual; such cases look for NaN.
        tolerance=1e-2 if times > 10 else 1e-9,
        banned=frozenset({"scaled_dot_product_attention", "MultiheadAttention", "Transformer"}),
    )
    return laid_out(case, recipe)


def with_memory_padding_changed(case: Case) -> Case:
    """Change every padded token of the memory; no query must notice."""
    return with_tokens_changed(case, "memory", ~case.inputs["pad_mask"])


SIZES = {
    "batch": (1, 3),
    "length": (1, 4),
    "memory": (1, 5),
    "heads": (1, 3),
    "head_dim": (1, 4),
    "seed": (0, 999),
}
SIDES: list[int | str] = ["right", "left", "holes"]

CHECKS = (
    Check(
        "layers_are_found",
        "the layer holds four projections of the right size",
        NAME,
        "layers",
        # Equal lengths: what mixes the two up still runs, and its layers are seen.
        bank=({"length": 6, "memory": 6},),
    ),
    Check(
        "values_match",
        "without a mask, every query takes its average of the memory",
        NAME,
        "values",
        bank=(
            {},
            {"blank": 1, "seed": 16},
            {"heads": 3, "length": 7, "memory": 4, "seed": 2},
            {"batch": 3, "memory": 8, "heads": 4, "head_dim": 5, "seed": 3},
            {"heads": 1, "seed": 4},
            {"length": 1, "batch": 3, "seed": 5},
            {"memory": 1, "batch": 3, "seed": 6},
            {"batch": 1, "seed": 7},
            {"batch": 1, "length": 1, "memory": 1, "seed": 8},
            # Equal lengths hide what otherwise raises, and show it as wrong values.
            {"length": 6, "memory": 6, "heads": 3, "head_dim": 4, "seed": 9},
            {"length": 4, "memory": 4, "batch": 4, "heads": 4, "seed": 10},
            {"length": 5, "memory": 10, "seed": 11},
            # Where a fixed divisor of 8 is right, what else is wrong shows alone.
            {"batch": 1, "length": 1, "memory": 2, "heads": 1, "head_dim": 64, "seed": 16},
            # As large as people run it, one size at a time.
            {"batch": 9, "length": 3, "memory": 2, "seed": 72},
            {"batch": 1, "length": 40, "memory": 36, "seed": 73},
            {"batch": 1, "length": 3, "memory": 4, "heads": 8, "head_dim": 8, "seed": 74},
        ),
        draws=SIZES,
        examples=100,
    ),
    Check(
        "queries_are_independent",
        "a query does not see the other queries",
        NAME,
        "unchanged",
        vary=with_last_token_changed,
        bank=({"seed": 12}, {"length": 6, "memory": 6, "batch": 3, "seed": 13}),
        draws={**SIZES, "length": (2, 4)},
        examples=20,
    ),
    Check(
        "padding_is_ignored",
        "no query sees padding in the memory",
        NAME,
        "unchanged",
        vary=with_memory_padding_changed,
        bank=(
            {"mask": "right", "batch": 3, "seed": 14},
            {"mask": "right", "batch": 3, "length": 6, "memory": 6, "seed": 15},
        ),
        draws={**SIZES, "memory": (2, 5), "mask": SIDES},
        examples=25,
    ),
    Check(
        "mask_is_applied",
        "with a mask, every query sees exactly the real tokens of the memory",
        NAME,
        "values",
        bank=(
            {"mask": "right", "batch": 3, "seed": 21},
            {"mask": "right", "batch": 5, "heads": 3, "seed": 22},
            {"mask": "left", "batch": 3, "heads": 3, "head_dim": 4, "seed": 23},
            {"mask": "holes", "batch": 3, "length": 4, "memory": 9, "seed": 24},
            {"mask": "right", "batch": 1, "length": 1, "memory": 1, "seed": 25},
            {"mask": "right", "length": 6, "memory": 6, "batch": 3, "seed": 26},
            {"mask": "holes", "length": 4, "memory": 4, "batch": 4, "heads": 2, "seed": 27},
            {"mask": "holes", "length": 1, "memory": 7, "batch": 3, "heads": 2, "seed": 28},
            {"mask": "right", "batch": 3, "memory": 3, "heads": 3, "head_dim": 2, "seed": 29},
            # Not so large that hidden weights of a renormalised softmax underflow.
            {"mask": "holes", "batch": 3, "times": 3, "seed": 32},
            {"mask": "holes", "batch": 6, "empty": 1, "seed": 79},
            {"mask": "holes", "batch": 9, "length": 36, "memory": 40, "seed": 75},
            {"mask": "holes", "batch": 2, "length": 3, "memory": 130, "head_dim": 2, "seed": 76},
        ),
        draws={**SIZES, "mask": SIDES},
        examples=40,
        after=("values_match",),
    ),
    *hidden_keys(
        NAME,
        {"mask": "holes", "batch": 3, "low": 6, "seed": 77},
        {"mask": "right", "batch": 3, "low": 60, "seed": 78},
        {"mask": "right", "batch": 3, "high": 60, "seed": 94},
        after="mask_is_applied",
    ),
    Check(
        "train_mode_changes_nothing",
        "in train mode the output is the same, dropout aside",
        NAME,
        "undropped",
        bank=(
            {"mode": "train", "seed": 79},
            {"mode": "train", "mask": "right", "batch": 3, "seed": 80},
        ),
        after=("values_match", "mask_is_applied"),
    ),
    dropped_weights_only(
        NAME,
        {"memory": 2, "length": 3, "heads": 1, "head_dim": 12, "seed": 90},
        after="train_mode_changes_nothing",
    ),
    Check(
        "large_inputs_stay_finite",
        "large inputs give finite, right values",
        NAME,
        "values",
        bank=({"times": 60, "seed": 33},),
        after=("values_match",),
    ),
    Check(
        "gradients_match",
        "gradients reach x, the memory and every weight",
        NAME,
        "gradients",
        bank=(
            {"seed": 41},
            {"mask": "right", "batch": 3, "heads": 3, "seed": 42},
        ),
        draws={**SIZES, "mask": ["none", "right"]},
        examples=20,
        after=("values_match", "mask_is_applied"),
    ),
    gradients_in_training(
        NAME,
        {"mode": "train", "mask": "right", "batch": 3, "seed": 43},
        after=("train_mode_changes_nothing", "gradients_match"),
    ),
    Check(
        "inputs_are_kept",
        "x, the memory and the mask are not changed in place",
        NAME,
        "inputs_kept",
        bank=(
            {"mask": "right", "seed": 51},
            {"mask": "right", "batch": 1, "heads": 1, "seed": 52},
            {"mask": "holes", "seed": 60},
            {"mask": "right", "empty": 1, "seed": 61},
            {"mask": "left", "length": 6, "memory": 6, "seed": 59},
            {"seed": 59},
        ),
    ),
    Check(
        "repeats",
        "a second call returns the same",
        NAME,
        "repeats",
        bank=({"mask": "right", "seed": 53},),
    ),
    earlier_calls(
        NAME,
        {"mask": "right", "seed": 71},
        {"length": 1, "memory": 1, "seed": 72},
        masks=True,
        after=("values_match", "mask_is_applied"),
    ),
    instances(
        NAME,
        {"mask": "right", "seed": 93},
        after=("values_match", "mask_is_applied"),
    ),
    Check(
        "works_in_float32",
        "float32, as people run it, gives the same",
        NAME,
        "values",
        bank=(
            {"dtype": "float32", "mask": "right", "batch": 3, "seed": 54},
            {"dtype": "float32", "seed": 81},
        ),
        after=("values_match",),
    ),
    Check(
        "takes_any_layout",
        "tensors that are transposed views give the same",
        NAME,
        "values",
        bank=(
            {"transposed": 1, "length": 7, "memory": 7, "head_dim": 4, "seed": 82},
            {"transposed": 1, "mask": "holes", "batch": 5, "seed": 83},
        ),
        after=("values_match", "mask_is_applied"),
    ),
    *workmanship(NAME, mask="right", after="mask_is_applied", tokens="queries"),
)

PAD = Mask("pad_mask", "pad_mask[:, None, None, :]")
QUERY = Head("q")
KEY, VALUE = Head("k", "memory", "memory_length"), Head("v", "memory", "memory_length")
HEADS = (QUERY, KEY, VALUE)


def of_length(head: Head) -> str:
    """Return the line that splits keys or values into heads, with the length of x in it."""
    return head.split.replace("memory_length", "length")


FROM_X = [(h.projected, h.projected.replace("memory", "x")) for h in (KEY, VALUE)]
SPLIT_FROM_X = [(h.split, of_length(h)) for h in (KEY, VALUE)]
QUERY_FROM_MEMORY = [
    (QUERY.projected, "q = self.q_proj(memory)"),
    (QUERY.split, QUERY.split.replace("length", "memory_length")),
]
MERGE_MEMORY = (MERGE, MERGE.replace("length", "memory_length"))
OWN_CAUSAL = (
    "future = torch.ones(length, memory_length, dtype=torch.bool, device=x.device).triu(1)\n"
    'scores = scores.masked_fill(future, float("-inf"))'
)

BUGS = (
    bug(
        "key-from-projected-query",
        variants=[
            [(KEY.split, "k = q")],
            [(KEY.projected, "k = self.k_proj(q)"), SPLIT_FROM_X[0]],
        ],
        says="the key's heads are cut from the projected query, so each query is compared with "
        "queries and never with the memory",
        ask="Which tensor does the line that splits your key into heads read?",
    ),
    bug(
        "value-from-projected-query",
        variants=[
            [(VALUE.split, "v = q")],
            [(VALUE.projected, "v = self.v_proj(q)"), SPLIT_FROM_X[1]],
        ],
        says="the value's heads are cut from the projected query, so the output averages queries "
        "and not the memory",
        ask="Which tensor does the line that splits your value into heads read?",
    ),
    bug(
        "kv-reshaped-with-query-len",
        variants=[
            *each_and_all(*SPLIT_FROM_X),
            [(h.split, of_length(h).replace("self.num_heads", "-1")) for h in (KEY, VALUE)],
        ],
        says="keys and values are reshaped with the length of x, which fails as soon as the "
        "memory has another",
        ask="How many tokens do your keys come from when x has 5 and the memory 7?",
    ),
    bug(
        "context-ignored",
        *FROM_X,
        *SPLIT_FROM_X,
        says="keys and values come from x, so this is self-attention and the memory is never read",
        ask="If you change the memory, does your output change?",
    ),
    bug(
        "keys-from-x",
        FROM_X[0],
        SPLIT_FROM_X[0],
        says="the keys come from x instead of the memory",
        ask="What does a score compare: a token of x with which other token?",
    ),
    bug(
        "values-from-x",
        FROM_X[1],
        SPLIT_FROM_X[1],
        says="the values come from x instead of the memory",
        ask="Whose tokens should the output be an average of?",
    ),
    bug(
        "context-as-query",
        variants=[
            [*QUERY_FROM_MEMORY, *FROM_X, *SPLIT_FROM_X, MERGE_MEMORY],
            [*QUERY_FROM_MEMORY, *FROM_X, *SPLIT_FROM_X],
        ],
        says="the two sequences are exchanged: the memory asks and x is asked",
        ask="How many tokens does your output have, and how many should it have?",
    ),
    bug(
        "all-from-context",
        variants=[[*QUERY_FROM_MEMORY, MERGE_MEMORY], QUERY_FROM_MEMORY],
        fill_lines=[PAD.fill],
        says="the queries come from the memory too, so x is never read",
        ask="If you change x, does your output change?",
    ),
    bug(
        "memory-detached",
        variants=each_and_all(
            *((h.projected, h.projected.replace("memory", "memory.detach()")) for h in (KEY, VALUE))
        ),
        says="the memory is cut off from autograd, so the encoder behind it is never trained",
        ask="By which paths does a gradient reach the memory, and are they open?",
    ),
    bug(
        "causal-added",
        variants=both_fills([(PAD.guard, f"{OWN_CAUSAL}\n{PAD.guard}")], (PAD,)),
        says="a causal mask hides the end of the memory, which a query may see as a whole",
        ask="Which tokens does a causal mask hide, and are they among the memory's?",
    ),
    *weak_mask_mistakes((PAD,)),
    *dead_mask_mistakes((PAD,), "context-mask-missing"),
    *written_mask_mistakes((PAD,)),
    *misread_mask_mistakes((PAD,)),
    *key_mask_mistakes(PAD, (PAD,), "mask-for-queries"),
    *scale_mistakes(["length", "memory_length"]),
    *layer_mistakes(HEADS),
    *misplaced_dropout_mistakes(QUERY.projected, VALUE.projected),
    *split_mistakes(HEADS, (PAD,)),
    *softmax_mistakes((PAD,)),
    *product_mistakes((PAD,)),
)

EQUAL = (
    ("mask-multiplied", "mask-fill-zero", "mask-fill-1e-9"),
    (
        "context-mask-missing",
        "mask-result-discarded",
        "mask-times-minus-1e-9",
        "mask-bool-tensor-filled",
    ),
    ("value-uses-k-proj", "value-is-key"),
)

HINTS = (
    "One sequence asks, another answers. Only the query depends on x; whatever a query is "
    "compared with, and whatever it averages, depends on the memory.",
    "Look at every place where a length stands: which of them is the length of x, and which the "
    "length of the memory? Test with two different ones, so that a mix-up cannot hide.",
    "Follow x (2, 5, 12) and memory (2, 7, 12) with 3 heads: queries (2, 3, 5, 4), keys and values "
    "(2, 3, 7, 4), scores (2, 3, 5, 7), context (2, 3, 5, 4), output (2, 5, 12). The 7 lives in "
    "the last axis of the scores alone, and is summed away there.",
    "pad_mask (B, S) speaks of keys. To meet scores (B, H, L, S) it needs two axes of size 1 "
    "between its own. Its batch axis stays first and its token axis last.",
    "Three projections, two different arguments. Each of the three is split by its own batch, its "
    "own number of tokens, H and d, from its own projection; then the heads change places with the "
    "tokens. The merged result has as many tokens as the queries.",
)

QUESTIONS = (
    Question(
        "Whose padding mask does cross-attention take, and why is there no causal mask?",
        (
            "the memory's: masks hide keys, and the keys come from the memory",
            "padded queries need no mask, since their outputs are ignored later on",
            "the whole source is known before the first target token is generated",
            "the future that must be hidden lies in the target, which self-attention reads",
        ),
    ),
    Question(
        "Where do query, key and value come from in an encoder-decoder, and why so?",
        (
            "queries from the decoder's states, keys and values from the encoder's output",
            "the decoder asks what it needs for the next token, and gets an average of the source",
            "the output has one vector per query, so it can be added to the decoder's states",
        ),
    ),
    Question(
        "What may differ between x and the memory, and which shapes have to agree?",
        (
            "lengths may differ; the batch has to agree",
            "widths may differ too, if k_proj and v_proj take the memory's width",
            "q and k share the head size; that of v sets the width before the output projection",
        ),
    ),
    Question(
        "What can be cached in cross-attention while text is generated?",
        (
            "keys and values of the memory are computed once and never grow",
            "the self-attention's cache grows by one token a step",
            "only the query of the newest token is computed anew in each step",
        ),
    ),
    Question(
        "Your tests use equal lengths for x and memory. Which bugs get through?",
        (
            "keys or values reshaped with the length of x, which raises only when lengths differ",
            "scores transposed or softmax over the queries: the shapes stay square",
            "a mask laid over the queries instead of the keys",
            "keys or values taken from x keep every shape; change the memory to see it",
        ),
    ),
    Question(
        "What do time and memory depend on, and how does that compare with self-attention?",
        (
            "L · S · D operations for scores and averages, instead of L² · D",
            "projections cost L · D² for x and S · D² for the memory, the latter once",
            "with a few learned queries (Perceiver, Q-Former) the cost is linear in S",
        ),
    ),
    Question(
        "A whole memory row is padding. What happens, and what would you do about it?",
        (
            "softmax over nothing but -inf is NaN, and NaN spreads through the batch's loss",
            "a finite filler gives an even average over padding instead: no NaN, but noise",
            "zero the output of such rows, keep one token visible, or leave such rows out",
        ),
    ),
)

KATA = Kata(
    number=4,
    stem="kata04_cross_attention",
    title="Multi-head cross-attention",
    minutes=10,
    cap_minutes=15,
    targets=(Target(NAME, "module", ("d_model", "num_heads"), ("x", "memory", "pad_mask")),),
    build=build,
    checks=CHECKS,
    bugs=BUGS,
    equal=EQUAL,
    hints=HINTS,
    questions=QUESTIONS,
)
