"""kata3: cases, checks and known bugs of multi-head self-attention."""

from __future__ import annotations

from grader.mistakes.dropping import misplaced_dropout_mistakes
from grader.mistakes.lines import Head, Mask, both_fills
from grader.mistakes.masking import (
    dead_mask_mistakes,
    joining_mistakes,
    key_mask_mistakes,
    misread_mask_mistakes,
    weak_mask_mistakes,
    written_mask_mistakes,
)
from grader.mistakes.projecting import layer_mistakes
from grader.mistakes.scoring import product_mistakes, scale_mistakes, softmax_mistakes
from grader.mistakes.splitting import split_mistakes
from grader.model import Case, Check, Kata, Question, Recipe, Target
from grader.patching import bug
from grader.properties import (
    dropped_weights_only,
    earlier_calls,
    gradients_in_training,
    hidden_keys,
    instances,
    workmanship,
)
from grader.strategies import (
    CALLERS_MASKS,
    attention_roles,
    attention_weights,
    integer,
    laid_out,
    numbers,
    padding,
    with_blind_queries,
    with_last_token_changed,
    with_padding_changed,
    word,
)

NAME = "MultiHeadSelfAttention"

# Which masks a word stands for: the kind of causal mask, the side of the padding.
# Under each but the last of them every token, padded ones too, sees at least one real token.
MASKS = {
    "none": ("", ""),
    "causal": ("causal", ""),
    "window": ("window", ""),
    "prefix": ("prefix", ""),
    "others": ("others", ""),
    "pad": ("", "right"),
    "left": ("", "left"),
    "holes": ("", "holes"),
    "both": ("causal", "right"),
    # With padding on the right, the causal mask alone hides it from every real token.
    "both_holes": ("causal", "holes"),
    "both_left": ("causal", "left"),
    "both_prefix": ("prefix", "holes"),
    "both_strict": ("strict", "holes"),
    "strict": ("strict", ""),
}


def build(recipe: Recipe) -> Case:
    """Build one call: x (B, L, D) with D = heads * head_dim, and the masks asked for."""
    batch, length = integer(recipe, "batch", 2), integer(recipe, "length", 5)
    heads, head_dim = integer(recipe, "heads", 2), integer(recipe, "head_dim", 6)
    seed, times = integer(recipe, "seed", 1), integer(recipe, "times", 1)
    d_model = integer(recipe, "d_model", heads * head_dim)
    # Weights (B, L, L) returned beside the output (B, L, D) are told apart by their shape.
    length += length == d_model
    seen, side = MASKS[word(recipe, "mask", "none")]
    pad_mask = padding(seed, batch, length, side=side) if side else None
    if pad_mask is not None and seen and side != "left":
        pad_mask[:, 0] = True  # the one key that the first token may see
    case = Case(
        target=NAME,
        init={"d_model": d_model, "num_heads": heads},
        inputs={
            "x": numbers(seed, "x", batch, length, d_model) * times,
            "causal_mask": CALLERS_MASKS[seen](length) if seen else None,
            "pad_mask": pad_mask,
        },
        weights=attention_weights(seed, d_model),
        roles=attention_roles(),
        returns=((batch, length, d_model),),
        train=word(recipe, "mode", "eval") == "train",
        dtype=word(recipe, "dtype", "float64"),
        # Where scores run into the thousands, float32 arithmetic inside may be
        # off by more than usual; such cases look for NaN.
        tolerance=1e-2 if times > 10 else 1e-9,
        compared=None if pad_mask is None else pad_mask[:, :, None],
        banned=frozenset({"scaled_dot_product_attention", "MultiheadAttention", "Transformer"}),
    )
    return laid_out(with_blind_queries(case), recipe)


SIZES = {"batch": (1, 3), "length": (1, 5), "heads": (1, 3), "head_dim": (1, 4), "seed": (0, 999)}
SEVERAL = {**SIZES, "length": (2, 5)}

CHECKS = (
    Check(
        "layers_are_found",
        "the layer holds four projections of the right size",
        NAME,
        "layers",
        bank=({},),
    ),
    Check(
        "values_match",
        "without masks, the output is the attention's",
        NAME,
        "values",
        bank=(
            {},
            {"blank": 1, "seed": 16},
            {"heads": 3, "seed": 2},
            {"batch": 3, "length": 7, "heads": 3, "head_dim": 5, "seed": 3},
            {"heads": 1, "seed": 4},
            {"length": 1, "batch": 3, "seed": 5},
            {"batch": 1, "seed": 6},
            {"batch": 1, "length": 1, "seed": 7},
            {"length": 4, "batch": 4, "heads": 4, "seed": 8},
            # Where a fixed divisor of 8 is right, what else is wrong shows alone.
            {"batch": 1, "length": 2, "heads": 1, "head_dim": 64, "seed": 9},
            # As large as people run it, one size at a time.
            {"batch": 9, "length": 3, "seed": 72},
            {"batch": 1, "length": 40, "seed": 73},
            {"batch": 1, "length": 3, "heads": 8, "head_dim": 8, "seed": 74},
        ),
        draws=SIZES,
        examples=100,
    ),
    Check(
        "future_does_not_leak",
        "a token cannot see the future",
        NAME,
        "unchanged",
        vary=with_last_token_changed,
        bank=({"mask": "causal", "seed": 11}, {"mask": "both", "batch": 3, "seed": 12}),
        draws={**SEVERAL, "mask": ["causal", "both"]},
        examples=25,
    ),
    Check(
        "padding_is_ignored",
        "no token sees padding",
        NAME,
        "unchanged",
        vary=with_padding_changed,
        bank=(
            {"mask": "pad", "batch": 3, "seed": 13},
            {"mask": "both_holes", "batch": 3, "seed": 14},
        ),
        draws={**SEVERAL, "mask": ["pad", "left", "holes", "both_holes"]},
        examples=25,
    ),
    Check(
        "masks_are_applied",
        "with masks, every token sees exactly what it may",
        NAME,
        "values",
        bank=(
            {"mask": "causal", "seed": 21},
            {"mask": "causal", "length": 4, "heads": 4, "seed": 22},
            {"mask": "pad", "batch": 3, "seed": 23},
            {"mask": "pad", "batch": 5, "heads": 3, "seed": 24},
            {"mask": "left", "batch": 3, "seed": 25},
            {"mask": "holes", "batch": 3, "length": 7, "seed": 26},
            {"mask": "both", "batch": 3, "heads": 3, "seed": 27},
            {"mask": "both", "batch": 1, "length": 1, "seed": 28},
            {"mask": "both", "batch": 5, "heads": 5, "head_dim": 2, "seed": 29},
            {"mask": "both_holes", "batch": 3, "seed": 30},
            {"mask": "window", "batch": 3, "seed": 31},
            {"mask": "prefix", "batch": 3, "seed": 88},
            {"mask": "others", "seed": 89},
            {"mask": "strict", "seed": 92},
            {"mask": "both_left", "batch": 3, "seed": 90},
            {"mask": "both_prefix", "batch": 3, "seed": 94},
            {"mask": "both_strict", "batch": 3, "seed": 95},
            {"mask": "holes", "batch": 6, "empty": 1, "seed": 91},
            {"mask": "both_prefix", "batch": 6, "empty": 1, "seed": 96},
            # Not so large that hidden weights of a renormalised softmax underflow.
            {"mask": "both_holes", "batch": 3, "times": 3, "seed": 32},
            {"mask": "both_holes", "batch": 9, "length": 40, "seed": 75},
            {"mask": "holes", "length": 130, "batch": 1, "head_dim": 2, "seed": 76},
        ),
        draws={**SIZES, "mask": [word for word in MASKS if word != "none"]},
        examples=40,
        after=("values_match",),
    ),
    *hidden_keys(
        NAME,
        {"mask": "both_holes", "batch": 3, "low": 6, "seed": 77},
        {"mask": "holes", "batch": 3, "low": 60, "seed": 78},
        {"mask": "holes", "batch": 3, "high": 60, "seed": 94},
        {"mask": "causal", "low": 60, "seed": 96},
        {"mask": "causal", "high": 60, "seed": 95},
        after="masks_are_applied",
    ),
    Check(
        "train_mode_changes_nothing",
        "in train mode the output is the same, dropout aside",
        NAME,
        "undropped",
        bank=(
            {"mode": "train", "seed": 79},
            {"mode": "train", "mask": "causal", "seed": 80},
            {"mode": "train", "mask": "pad", "batch": 3, "seed": 81},
            {"mode": "train", "mask": "both_holes", "batch": 3, "seed": 82},
        ),
        after=("values_match", "masks_are_applied"),
    ),
    dropped_weights_only(
        NAME,
        {"length": 2, "heads": 1, "head_dim": 12, "seed": 90},
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
        "gradients reach every input and weight",
        NAME,
        "gradients",
        bank=(
            {"seed": 41},
            {"mask": "both_holes", "batch": 3, "heads": 3, "seed": 42},
        ),
        draws={**SIZES, "mask": ["none", "both_holes"]},
        examples=20,
        after=("values_match", "masks_are_applied"),
    ),
    gradients_in_training(
        NAME,
        {"mode": "train", "mask": "both_holes", "batch": 3, "seed": 43},
        after=("train_mode_changes_nothing", "gradients_match"),
    ),
    Check(
        "inputs_are_kept",
        "the input and the masks are not changed in place",
        NAME,
        "inputs_kept",
        bank=(
            {"mask": "both", "seed": 51},
            {"mask": "both", "batch": 1, "heads": 1, "seed": 52},
            {"mask": "both_left", "seed": 60},
            {"mask": "pad", "empty": 1, "seed": 61},
            *({"mask": mask, "seed": 59} for mask in ("none", "pad", "causal", "others", "strict")),
        ),
    ),
    Check(
        "repeats",
        "a second call returns the same",
        NAME,
        "repeats",
        bank=({"mask": "both", "seed": 53},),
    ),
    earlier_calls(
        NAME,
        {"mask": "both_holes", "seed": 71},
        # One token at a time, as in generation: what is kept of the last one gets in.
        {"length": 1, "seed": 80},
        masks=True,
        after=("values_match", "masks_are_applied"),
    ),
    instances(
        NAME,
        {"mask": "both_holes", "seed": 93},
        after=("values_match", "masks_are_applied"),
    ),
    Check(
        "works_in_float32",
        "float32, as people run it, gives the same",
        NAME,
        "values",
        bank=(
            {"dtype": "float32", "mask": "both_holes", "batch": 3, "seed": 54},
            {"dtype": "float32", "seed": 83},
            {"dtype": "float32", "mask": "window", "seed": 84},
            {"dtype": "float32", "mask": "pad", "batch": 3, "seed": 85},
        ),
        after=("values_match",),
    ),
    Check(
        "takes_any_layout",
        "tensors that are transposed views give the same",
        NAME,
        "values",
        bank=(
            {"transposed": 1, "length": 7, "head_dim": 4, "seed": 86},
            {"transposed": 1, "mask": "both_holes", "batch": 5, "seed": 87},
        ),
        after=("values_match", "masks_are_applied"),
    ),
    *workmanship(NAME, mask="both", after="masks_are_applied", tokens="tokens"),
)

CAUSAL = Mask("causal_mask", "causal_mask")
PAD = Mask("pad_mask", "pad_mask[:, None, None, :]")
MASKED = (CAUSAL, PAD)
QUERY, KEY, VALUE = Head("q"), Head("k"), Head("v")
HEADS = (QUERY, KEY, VALUE)
OWN_CAUSAL = (
    "future = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)\n"
    'scores = scores.masked_fill(future, float("-inf"))'
)
UNLESS_GIVEN = (
    "if causal_mask is None:\n"
    "    causal_mask = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()"
)

BUGS = (
    *weak_mask_mistakes(MASKED),
    *dead_mask_mistakes(MASKED),
    *joining_mistakes(*MASKED),
    *written_mask_mistakes(MASKED),
    *misread_mask_mistakes(MASKED),
    *scale_mistakes(["length"]),
    *layer_mistakes(HEADS),
    *misplaced_dropout_mistakes(QUERY.projected, VALUE.projected),
    *split_mistakes(HEADS, MASKED),
    *softmax_mistakes(MASKED),
    *key_mask_mistakes(PAD, MASKED),
    bug(
        "mask-transposed",
        (CAUSAL.fill, CAUSAL.fill.replace("causal_mask", "causal_mask.T")),
        fill_lines=[CAUSAL.fill, PAD.fill],
        says="the causal mask is applied transposed, so a token sees itself and the future "
        "instead of the past",
        ask="Which axis of causal_mask counts queries, and which axis of the scores does?",
    ),
    bug(
        "causal-always-applied",
        variants=[
            *both_fills([(CAUSAL.guard, f"{OWN_CAUSAL}\n{CAUSAL.guard}")], MASKED),
            *both_fills([(CAUSAL.fill, OWN_CAUSAL)], MASKED),
            *both_fills([(CAUSAL.guard, "if True:"), (CAUSAL.fill, OWN_CAUSAL)], MASKED),
            *both_fills([(CAUSAL.guard, f"{UNLESS_GIVEN}\n{CAUSAL.guard}")], MASKED),
        ],
        says="the layer makes a causal mask of its own, other than the one that it is handed",
        ask="What should a token see when no causal mask is handed in, or another one than the "
        "triangle?",
    ),
    *product_mistakes(MASKED),
    bug(
        "key-from-projected-query",
        variants=[
            [(KEY.split, "k = q")],
            [(KEY.projected, "k = self.k_proj(q)")],
        ],
        says="the key is made from the projected query instead of from x",
        ask="Which tensor does the line that makes your key read?",
    ),
    bug(
        "value-from-projected-query",
        variants=[
            [(VALUE.split, "v = q")],
            [(VALUE.projected, "v = self.v_proj(q)")],
        ],
        says="the value is made from the projected query instead of from x",
        ask="Which tensor does the line that makes your value read?",
    ),
)

EQUAL = (
    ("mask-multiplied", "mask-fill-zero", "mask-fill-1e-9"),
    (
        "mask-ignored",
        "mask-result-discarded",
        "mask-times-minus-1e-9",
        "mask-bool-tensor-filled",
        "mask-on-query-rows",  # with -1e9: an even shift of a real row, and padded rows are free
    ),
    ("value-uses-k-proj", "value-is-key"),
    ("key-uses-q-proj", "key-from-projected-query"),
)

HINTS = (
    "Every head runs the same single-head attention on its own d = D / H features. Nothing of "
    "one head reaches another until the output projection.",
    "Three places decide: how features become heads, which axis softmax runs over, and how heads "
    "become features again. Print the shape after each of them before you look at values.",
    "Follow x of shape (2, 5, 12) with 3 heads: projected (2, 5, 12), heads apart (2, 5, 3, 4), "
    "heads moved before the tokens (2, 3, 5, 4), scores (2, 3, 5, 5), context (2, 3, 5, 4), back "
    "behind the tokens (2, 5, 3, 4), output (2, 5, 12).",
    "Both masks must broadcast to (B, H, L, L), rows being queries and columns keys: causal_mask "
    "(L, L) lines up as it is; pad_mask (B, L) speaks of keys and lacks two axes between its own.",
    "view gives every head its features only while they are the last axis; a transpose then moves "
    "the heads. On the way back undo the transpose first, and merge afterwards. Hidden scores need "
    "a value whose exponential is 0, written before softmax.",
)

QUESTIONS = (
    Question(
        "What do several heads buy over a single head of the full size?",
        (
            "each head has its own pattern of attention, so one token can look at several places",
            "one softmax gives one average; several give several, mixed by the output projection",
            "parameters and operations stay about the same, as each head is smaller",
        ),
    ),
    Question(
        "Why are the scores divided by sqrt(d), and why d of one head instead of D?",
        (
            "a dot product of d independent terms of variance 1 has variance d",
            "without the scale softmax saturates and its gradient vanishes",
            "a score of one head sums over the d features of that head only",
            "the deviation grows like sqrt(d), so dividing by d would make the weights too even",
        ),
    ),
    Question(
        "What is the output projection for? What changes without it?",
        (
            "it mixes the heads; without it, output features [h·d, (h+1)·d) come from head h alone",
            "it lets the layer choose how much of each head to write into the residual stream",
            "each head's value and output matrices multiply into one map of low rank",
        ),
    ),
    Question(
        "How do time and memory grow with the length L, and how do people get around it?",
        (
            "L² · D operations for scores and averages, L · D² for the projections",
            "H · L² numbers of scores if they are stored",
            "fused kernels (FlashAttention) never store the scores; the time stays quadratic",
            "sparse, windowed or linear attention change the result to save time",
        ),
    ),
    Question(
        "Why must hidden scores become -inf rather than 0? What of -1e9 or finfo.min?",
        (
            "exp(0) = 1, so a score of 0 still takes weight; exp(-inf) is exactly 0",
            "a row with no visible key gives NaN with -inf, an even average with -1e9",
            "-1e9 does not fit in float16; torch.finfo(dtype).min always fits",
            "two fills of finfo.min added together overflow to -inf",
        ),
    ),
    Question(
        "A unit test shows the output's shape is right. Which bugs can it not see?",
        (
            "view without the transpose, which mixes tokens and heads and keeps the shape",
            "softmax over a wrong axis, since scores are square in self-attention",
            "a mask that leaks, a wrong scale, swapped key and value",
            "change the last token and look whether earlier outputs move: that shows a leak",
        ),
    ),
    Question(
        "How would you cache keys and values to generate one token after another?",
        (
            "keep k and v of past tokens, and compute q, k, v for the new token only",
            "append along the token axis; the one query attends to all cached keys, so no causal "
            "mask is needed for it",
            "memory of 2 · L · D numbers per layer and sequence; grouped or multi-query attention "
            "shrinks it by sharing keys and values among heads",
        ),
    ),
)

KATA = Kata(
    number=3,
    stem="kata03_multi_head_self_attention",
    title="Multi-head self-attention",
    minutes=12,
    cap_minutes=20,
    targets=(Target(NAME, "module", ("d_model", "num_heads"), ("x", "causal_mask", "pad_mask")),),
    build=build,
    checks=CHECKS,
    bugs=BUGS,
    equal=EQUAL,
    hints=HINTS,
    questions=QUESTIONS,
)
