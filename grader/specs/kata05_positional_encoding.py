"""kata5: cases, checks and known bugs of the sinusoidal positional encoding."""

from __future__ import annotations

from grader.model import Axis, Case, Check, Kata, Question, Recipe, Target
from grader.patching import bug
from grader.properties import instances
from grader.strategies import integer, numbers, word

NAME = "PositionalEncoding"


def build(recipe: Recipe) -> Case:
    """Build one call: x (B, L, D), and a max_len that leaves `spare` positions over.

    With `call` = "default", no max_len is given; with `earlier`, the module is
    called before on one sequence of that length.
    """
    import torch

    batch, length = integer(recipe, "batch", 2), integer(recipe, "length", 5)
    d_model, seed = integer(recipe, "d_model", 12), integer(recipe, "seed", 1)
    max_len = max(2, length + integer(recipe, "spare", 4))
    default = word(recipe, "call", "given") == "default"
    earlier = integer(recipe, "earlier", 0)
    return Case(
        target=NAME,
        init={"d_model": d_model} if default else {"d_model": d_model, "max_len": max_len},
        inputs={"x": numbers(seed, "x", batch, length, d_model)},
        before=({"x": numbers(seed, "earlier", 1, earlier, d_model)},) if earlier else (),
        returns=((batch, length, d_model),),
        train=word(recipe, "mode", "eval") == "train",
        dtype=word(recipe, "dtype", "float64"),
        # A float32 frequency is off by 6e-8 of itself, and the angle by as much times
        # the position: up to 1.7e-4 at 5000. No bug known is smaller than 1e-2.
        tolerance=1e-6 + 3e-7 * torch.arange(length, dtype=torch.float64)[:, None],
    )


SIZES: dict[str, Axis] = {"batch": (1, 3), "length": (1, 6), "spare": (0, 3), "seed": (0, 99)}
EVEN: dict[str, Axis] = {**SIZES, "d_model": [2, 4, 6, 8, 12]}
ODD: dict[str, Axis] = {**SIZES, "d_model": [1, 3, 5, 7, 9]}

CHECKS = (
    Check(
        "values_match",
        "each token gets the code of its position added",
        NAME,
        "values",
        bank=(
            {},
            {"d_model": 6, "batch": 3, "length": 7, "spare": 9, "seed": 2},
            {"d_model": 2, "batch": 3, "seed": 3},
            {"batch": 1, "seed": 4},
            {"length": 1, "batch": 3, "seed": 5},
            {"length": 1, "batch": 1, "seed": 6},
            # Equal sizes: a table that is cut or lined up by the wrong one fits by luck.
            {"length": 4, "batch": 4, "d_model": 6, "seed": 7},
            {"length": 6, "batch": 3, "d_model": 6, "seed": 8},
            {"length": 3, "batch": 5, "d_model": 8, "spare": 2, "seed": 9},
            # As large as people run it.
            {"length": 40, "batch": 9, "d_model": 64, "seed": 10},
            {"length": 2, "batch": 130, "d_model": 4, "seed": 16},
            {"length": 3, "batch": 2, "d_model": 512, "seed": 15},
        ),
        draws=EVEN,
        examples=100,
    ),
    Check(
        "odd_sizes_work",
        "an odd d_model works too",
        NAME,
        "values",
        bank=(
            {"d_model": 7, "seed": 11},
            {"d_model": 3, "batch": 3, "seed": 12},
            {"d_model": 1, "seed": 13},
            {"d_model": 5, "length": 1, "seed": 14},
        ),
        draws=ODD,
        examples=30,
    ),
    Check(
        "max_len_tokens_fit",
        "as many tokens as max_len fit",
        NAME,
        "values",
        bank=(
            {"length": 6, "spare": 0, "seed": 21},
            {"length": 9, "spare": 0, "d_model": 8, "batch": 3, "seed": 22},
            {"length": 1, "spare": 0, "d_model": 4, "seed": 23},
        ),
        after=("values_match",),
    ),
    Check(
        "more_than_max_len_is_refused",
        "more tokens than max_len, 5000 unless given, raise an exception",
        NAME,
        "raises",
        bank=(
            {"length": 5, "spare": -1, "seed": 26},
            {"length": 7, "spare": -4, "d_model": 6, "seed": 27},
            {"length": 3, "spare": -1, "seed": 29},
            # A table is not to be rounded up to an even size, or to a power of two.
            {"length": 6, "spare": -1, "seed": 33},
            {"length": 10, "spare": -1, "seed": 34},
            {"length": 9, "spare": -2, "mode": "train", "seed": 30},
            {"length": 5, "spare": -1, "built_after": 1, "seed": 31},
            {"call": "default", "length": 5001, "d_model": 1, "batch": 1, "seed": 28},
        ),
    ),
    Check(
        "far_positions_match",
        "far positions get the right code",
        NAME,
        "values",
        bank=({"length": 300, "d_model": 6, "batch": 2, "seed": 31},),
        after=("values_match",),
    ),
    Check(
        "max_len_has_a_default",
        "without a max_len, 5000 tokens fit",
        NAME,
        "values",
        # Not one sequence only: a table of shape (L, 1, D) would blow it up to (L, L, D).
        bank=({"call": "default", "length": 5000, "d_model": 1, "batch": 2, "seed": 32},),
        after=("values_match",),
    ),
    Check(
        "train_mode_changes_nothing",
        "train mode gives the same: there is no dropout here",
        NAME,
        "values",
        bank=({"mode": "train", "seed": 36}, {"mode": "train", "d_model": 7, "seed": 37}),
        draws={**EVEN, "mode": ["train"]},
        examples=20,
        after=("values_match",),
    ),
    Check(
        "gradients_match",
        "the gradient flows back to x unchanged",
        NAME,
        "gradients",
        bank=({"seed": 41}, {"mode": "train", "d_model": 6, "batch": 3, "seed": 42}),
        draws=EVEN,
        examples=20,
        after=("values_match",),
    ),
    Check(
        "nothing_is_trained",
        "the codes are fixed, not trained",
        NAME,
        "trainable",
        # Two features only: mistakes in the frequencies do not show beside this one.
        bank=({"d_model": 2, "seed": 46},),
    ),
    Check(
        "input_is_kept",
        "x is not changed in place",
        NAME,
        "inputs_kept",
        bank=({"seed": 51}, {"mode": "train", "batch": 1, "length": 1, "seed": 52}),
    ),
    Check(
        "repeats",
        "a second call returns the same",
        NAME,
        "repeats",
        bank=({"seed": 53}, {"mode": "train", "seed": 54}),
    ),
    Check(
        "earlier_calls_leave_no_trace",
        "a shorter or longer sequence before makes no difference",
        NAME,
        "values",
        bank=(
            {"earlier": 2, "seed": 55},
            {"earlier": 7, "d_model": 6, "seed": 56},
            {"earlier": 1, "length": 1, "seed": 58},
        ),
        after=("values_match",),
    ),
    instances(NAME, {"seed": 68}, after=("values_match",)),
    Check(
        "works_in_float32",
        "float32, as people run it, gives the same",
        NAME,
        "values",
        bank=({"dtype": "float32", "seed": 56}, {"dtype": "float32", "d_model": 7, "seed": 57}),
        draws={**SIZES, "d_model": (1, 8), "dtype": ["float32"]},
        examples=20,
        after=("values_match",),
    ),
    Check(
        "follows_to_bfloat16",
        "bfloat16 in gives bfloat16 out",
        NAME,
        "values",
        bank=(
            {"dtype": "bfloat16", "seed": 61},
            {"dtype": "bfloat16", "d_model": 6, "seed": 62},
            {"dtype": "bfloat16", "earlier": 7, "seed": 65},
        ),
        draws={**EVEN, "dtype": ["bfloat16"]},
        examples=15,
        after=("values_match",),
    ),
    Check(
        "takes_any_layout",
        "an input that is a transposed view gives the same",
        NAME,
        "values",
        bank=(
            {"transposed": 1, "length": 12, "seed": 63},
            {"transposed": 1, "d_model": 7, "seed": 64},
        ),
        after=("values_match",),
    ),
    Check(
        "runs_on_any_device",
        "the codes follow the module to a GPU",
        NAME,
        "device",
        bank=({"seed": 66}, {"earlier": 7, "seed": 67}, {"earlier": 5, "seed": 69}),
        after=("values_match",),
    ),
    Check(
        "far_positions_in_bfloat16",
        "far positions blur in bfloat16; codes computed in float32 and rounded once do not",
        NAME,
        "half",
        bank=({"dtype": "bfloat16", "length": 300, "d_model": 6, "batch": 2, "seed": 71},),
        required=False,
        after=("follows_to_bfloat16", "far_positions_match"),
    ),
    Check(
        "no_loop_over_positions",
        "a Python loop over the positions at every call; the table can be built once",
        NAME,
        "loops",
        bank=({"grow": "length", "length": 4, "d_model": 6, "spare": 16, "seed": 76},),
        required=False,
        after=("values_match",),
    ),
)

SUPER = "super().__init__()"
MAX_LEN = "self.max_len = max_len"
POSITION = "position = torch.arange(max_len).unsqueeze(1)"
FREQUENCY = "frequency = torch.exp(-math.log(10000.0) * even / d_model)"
ANGLE = "angle = position * frequency"
TABLE = "pe = torch.zeros(max_len, d_model)"
SINES = "pe[:, 0::2] = torch.sin(angle)"
COSINES = "pe[:, 1::2] = torch.cos(angle[:, : d_model // 2])"
REGISTER = 'self.register_buffer("pe", pe)'
CHECKED = "if length > self.max_len:"
RAISED = 'raise ValueError(f"x has {length} tokens, max_len is {self.max_len}")'
LENGTH = "length = x.shape[1]"
CODES = "codes = self.pe[:length]"
RETURN = "return x + codes"

UNCHECKED = (CHECKED, "if length < 0:")
PAIRS = ".repeat_interleave(2, dim=1)[:, :d_model]"


def ending(line: str, *texts: str, unchecked: bool = False) -> list[list[tuple[str, str]]]:
    """Return variants with other texts for a line; also without the length check if told so."""
    edits = [[(line, text)] for text in texts]
    return edits + [[*each, UNCHECKED] for each in edits] if unchecked else edits


BUGS = (
    bug(
        "pe-exponent-doubled",
        (FREQUENCY, "frequency = torch.exp(-math.log(10000.0) * 2 * even / d_model)"),
        variants=[
            [
                (FREQUENCY, "frequency = torch.exp(-math.log(10000.0) * 2 * even / d_model)"),
                (
                    COSINES,
                    "odd = torch.exp(-math.log(10000.0) * 2 * (even + 1) / d_model)\n"
                    "pe[:, 1::2] = torch.cos(position * odd)[:, : d_model // 2]",
                ),
            ]
        ],
        says="the index in the exponent already counts features (0, 2, 4, …) and is doubled once "
        "more, so the frequencies fall twice as fast",
        ask="For the pair of features 2 and 3, what is i, and what is 2i?",
    ),
    bug(
        "pe-cos-own-exponent",
        (
            COSINES,
            "odd = torch.exp(-math.log(10000.0) * (even + 1) / d_model)\n"
            "pe[:, 1::2] = torch.cos(position * odd)[:, : d_model // 2]",
        ),
        variants=[
            [
                (
                    COSINES,
                    "odd = torch.exp(-math.log(10000.0) * (even + 2) / d_model)\n"
                    "pe[:, 1::2] = torch.cos(position * odd)[:, : d_model // 2]",
                )
            ]
        ],
        says="the cosine has a frequency of its own instead of sharing that of the sine before it",
        ask="In PE(pos, 2i + 1), which exponent stands under the cosine?",
    ),
    bug(
        "pe-sin-cos-swapped",
        (SINES, "pe[:, 0::2] = torch.cos(angle)"),
        (COSINES, "pe[:, 1::2] = torch.sin(angle[:, : d_model // 2])"),
        says="the even features hold cosines and the odd ones sines",
        ask="Which code should position 0 get, and which does it get?",
    ),
    bug(
        "pe-concatenated",
        (SINES, ""),
        (COSINES, "pe = torch.cat([torch.sin(angle), torch.cos(angle[:, : d_model // 2])], dim=1)"),
        variants=[
            [(SINES, ""), (COSINES, "pe = torch.cat([torch.sin(angle), torch.cos(angle)], dim=1)")]
        ],
        says="all sines come first and all cosines after them, instead of taking turns",
        ask="Which features hold the sine and the cosine of the same angle in the formula, and "
        "which in your table?",
    ),
    bug(
        "pe-odd-d-model",
        (COSINES, "pe[:, 1::2] = torch.cos(angle)"),
        variants=[
            [(SINES, "pe[:, 0 : d_model // 2 * 2 : 2] = torch.sin(angle[:, : d_model // 2])")],
            [(COSINES, f"{COSINES}\nif d_model % 2:\n    pe[:, -1] = torch.cos(angle[:, -1])")],
            *(
                [(FREQUENCY, f"frequency = torch.exp(-math.log(10000.0) * {exponent})")]
                for exponent in (
                    "even / (d_model + d_model % 2)",
                    "even / max(1, d_model - d_model % 2)",
                    "even / (d_model - d_model % 2)",
                )
            ),
        ],
        says="an odd d_model is not handled: it has one sine more than it has cosines, and D in "
        "the exponent stays odd",
        ask="For d_model = 5, how many even features are there, how many odd ones, and what does "
        "D in the exponent stand for?",
    ),
    bug(
        "pe-slice-by-batch",
        variants=ending(
            CODES,
            "codes = self.pe[: x.shape[0]]",
            "codes = self.pe[: x.shape[0], None]",
            unchecked=True,
        ),
        says="the table is cut to the size of the batch, not to the length of the sequence",
        ask="Which dimension of your x counts the tokens?",
    ),
    bug(
        "pe-no-slice",
        variants=ending(CODES, "codes = self.pe", unchecked=True),
        says="the whole table is added, whatever the length of the sequence",
        ask="Which shape does your table have, and which shape has x, when L is below max_len?",
    ),
    bug(
        "pe-unsqueeze-wrong-axis",
        variants=ending(CODES, "codes = self.pe[:length].unsqueeze(1)", unchecked=True),
        says="the table is lined up as (L, 1, D), for inputs with the tokens first; here the "
        "batch comes first",
        ask="How does broadcasting line up (L, 1, D) with (B, L, D)?",
    ),
    bug(
        "pe-is-parameter",
        (REGISTER, "self.pe = nn.Parameter(pe)"),
        says="the table, or something that it is made of, is trained, so the optimizer would "
        "change the codes",
        ask="What does an optimizer that is given module.parameters() do with your table?",
    ),
    bug(
        "pe-plain-attribute",
        (REGISTER, "self.pe = pe"),
        variants=[
            [(REGISTER, "self.pe = pe"), (RETURN, "return x + codes.to(x.dtype)")],
            [(REGISTER, "self.pe = pe"), (RETURN, "return x + codes.to(x.device)")],
            [(RETURN, "return x.cpu() + codes.cpu()")],
        ],
        says="what is added, or what comes out, does not follow the module and its input: after "
        ".to() it is still on the CPU, or still in float32",
        ask="After module.to('cuda') or module.to(torch.bfloat16), where are the codes you add, "
        "and in which dtype?",
    ),
    bug(
        "pe-cuda-result-discarded",
        (REGISTER, "self.pe = pe"),
        (CODES, f"self.pe.to(x.device)\n{CODES}"),
        says="the table is copied to the right device, and the copy is thrown away",
        ask="Does .to() change a tensor, or return a new one?",
    ),
    bug(
        "pe-float64-table",
        variants=[
            [(REGISTER, 'self.register_buffer("pe", pe.double())')],
            [(REGISTER, "self.pe = pe.double()")],
            [(REGISTER, "self.pe = pe.double()"), (RETURN, "return x + codes.to(x.device)")],
        ],
        says="what is added to the tokens is float64, and turns those of a float32 input into "
        "float64",
        ask="Which dtype does the sum of a float32 and a float64 tensor have?",
    ),
    bug(
        "pe-result-cast",
        variants=ending(
            RETURN,
            "return (x + codes).to(torch.get_default_dtype())",
            "return (x + codes).float()",
            "return x.float() + codes",
        ),
        says="the sum, or x, is cast to a dtype that does not depend on what came in",
        ask="Which dtype does your module return for an x in bfloat16, and which for one in "
        "float64?",
    ),
    bug(
        "pe-max-len-exceeded",
        (MAX_LEN, "self.max_len = max_len = max(max_len, 5000)"),
        variants=[
            [(MAX_LEN, "self.max_len = max_len = max(max_len, 10000)")],
            [(RAISED, "x = x[:, : self.max_len]")],
            *(
                [(CODES, f"codes = self.pe[[{place} for i in range(length)]]"), UNCHECKED]
                for place in ("i % self.max_len", "min(i, self.max_len - 1)")
            ),
        ],
        says="a sequence longer than max_len is accepted in silence",
        ask="What does your module do with max_len + 1 tokens, and what should it do?",
    ),
    bug(
        "pe-max-len-off-by-one",
        (CHECKED, "if length >= self.max_len:"),
        variants=[
            [(CHECKED, "if length >= self.max_len:"), (RAISED, "raise AssertionError")],
            [(POSITION, "max_len = max_len - 1\n" + POSITION)],
        ],
        says="max_len tokens do not fit: they are refused already, or the table is a row short",
        ask="With max_len = 4, which positions are there, and how many tokens may x have?",
    ),
    bug(
        "pe-returned-not-added",
        variants=ending(
            RETURN,
            "return codes[None]",
            "return codes",
            "return codes[None].repeat(x.shape[0], 1, 1)",
            unchecked=True,
        ),
        says="the codes are returned by themselves, without the tokens",
        ask="Where in your result are the tokens you were given?",
    ),
    bug(
        "pe-not-applied",
        variants=ending(RETURN, "return x", unchecked=True),
        says="x comes back as it was, without any code",
        ask="Swap two tokens of x: which difference does your module make between them?",
    ),
    bug(
        "pe-inplace",
        (RETURN, "x += codes\nreturn x"),
        says="x itself is written to in place, as `+=` does, and x is the caller's",
        ask="What does the caller's x hold after the call?",
    ),
    bug(
        "pe-added-twice",
        variants=ending(RETURN, "return x + (x + codes)", "return x + 2 * codes"),
        says="x or its code is added twice",
        ask="With x all zeros, what should come back, and with x all ones?",
    ),
    bug(
        "pe-multiplied",
        variants=ending(RETURN, "return x * codes"),
        says="x is multiplied by the codes instead of having them added",
        ask="What becomes of the first feature of the token at position 0, whose code is 0?",
    ),
    bug(
        "pe-concatenated-to-features",
        variants=ending(RETURN, "return torch.cat([x, codes.expand_as(x)], dim=-1)"),
        says="the codes are put beside the features of x instead of being added to them",
        ask="How many features does a token have before your module, and how many after it?",
    ),
    bug(
        "pe-embedding-scale",
        (LENGTH, f"{LENGTH}\nx = x * math.sqrt(x.shape[-1])"),
        variants=ending(RETURN, "return (x + codes) * math.sqrt(x.shape[-1])"),
        says="x is multiplied by sqrt(D): that belongs to the embedding, not here",
        ask="What should your module return for a token whose code is all zeros?",
    ),
    bug(
        "pe-dropout",
        variants=ending(
            RETURN,
            "return nn.functional.dropout(x + codes, 0.1, self.training)",
            "return nn.functional.dropout(x + codes, 0.5, self.training)",
        ),
        says="in train mode dropout changes the result; this exercise has none",
        ask="Which parts of your module behave differently in train mode?",
    ),
    bug(
        "dropout-in-eval",
        variants=ending(RETURN, "return nn.functional.dropout(x + codes, 0.1)"),
        says="dropout is active in eval mode too, so two calls differ",
        ask="How does your dropout learn whether the module is being trained?",
    ),
    bug(
        "pe-detached-input",
        (LENGTH, f"{LENGTH}\nx = x.detach()"),
        variants=ending(RETURN, "return (x + codes).detach()"),
        says="x is cut off from autograd, so nothing before this module can learn",
        ask="How does the gradient get from your result back to x?",
    ),
    bug(
        "pe-base-1000",
        (FREQUENCY, "frequency = torch.exp(-math.log(1000.0) * even / d_model)"),
        says="the frequencies are powers of 1000 instead of 10000",
        ask="Which wavelength does your slowest pair have, in positions?",
    ),
    bug(
        "pe-exponent-halved",
        (FREQUENCY, "frequency = torch.exp(-math.log(10000.0) * even / (2 * d_model))"),
        says="the exponent is i / D instead of 2i / D, so the frequencies fall half as fast",
        ask="Which exponent does the last pair of features have, close to 1 or close to 1/2?",
    ),
    bug(
        "pe-last-exponent-one",
        variants=[
            [(FREQUENCY, f"frequency = torch.exp(-math.log(10000.0) * even / 2 / max(1, {pairs}))")]
            for pairs in ("d_model / 2 - 1", "d_model // 2 - 1", "len(even) - 1")
        ],
        says="the exponents are divided by one less than the number of pairs, so that the last "
        "one is 1, as in tensor2tensor; the formula's last exponent is below 1",
        ask="For D = 4 there are two pairs: which exponent does the formula give the second one?",
    ),
    bug(
        "pe-log10",
        (FREQUENCY, "frequency = torch.exp(-math.log10(10000.0) * even / d_model)"),
        says="a logarithm to base 10 stands inside exp, so the base is e^4 = 55, not 10000",
        ask="exp(b · log a) is a to the power of b for which logarithm?",
    ),
    bug(
        "pe-sign-lost",
        (FREQUENCY, "frequency = torch.exp(math.log(10000.0) * even / d_model)"),
        # Angles run into the thousands, where float32 and its order of operations show.
        variants=[
            [(FREQUENCY, f"frequency = torch.exp({exponent})")]
            for exponent in (
                "even.float() * (math.log(10000.0) / d_model)",
                "even.float() * math.log(10000.0) / d_model",
            )
        ],
        says="the exponent has lost its minus, so the frequencies grow from pair to pair",
        ask="Should the last pair of features turn faster or slower than the first?",
    ),
    bug(
        "pe-divide-by-div-term",
        (ANGLE, "angle = position / frequency"),
        variants=[
            [
                (ANGLE, "angle = position / frequency"),
                (FREQUENCY, "frequency = torch.exp(even.float() * (-math.log(10000.0) / d_model))"),
            ]
        ],
        says="positions are divided by a factor that is already the inverse, so the frequencies "
        "grow from pair to pair",
        ask="Is your factor 10000^(2i/D), or one over it?",
    ),
    bug(
        "pe-div-max-len",
        (FREQUENCY, "frequency = torch.exp(-math.log(10000.0) * even / max_len)"),
        says="the exponent is divided by max_len instead of D",
        ask="Should the code of position 3 depend on how long the table is?",
    ),
    bug(
        "pe-int-arith",
        (FREQUENCY, "frequency = 1 / 10000.0 ** (even // d_model)"),
        variants=[[(FREQUENCY, "frequency = (1 / 10000 ** (even / d_model)).long()")]],
        says="the exponent or the frequencies are cut to whole numbers, so that all but a few "
        "features lose their frequency",
        ask="Print your frequencies: how many different ones are there?",
    ),
    bug(
        "pe-position-from-one",
        (POSITION, "position = torch.arange(1, max_len + 1).unsqueeze(1)"),
        says="positions count from 1, so every token gets the code of the next position",
        ask="Which code should the first token get: what are sin(0) and cos(0)?",
    ),
    bug(
        "pe-position-normalised",
        (POSITION, "position = torch.arange(max_len).unsqueeze(1) / max_len"),
        variants=[
            [(POSITION, "position = torch.arange(max_len).unsqueeze(1) / max(1, max_len - 1)")]
        ],
        says="positions are divided by the length of the table, so that neighbours hardly differ",
        ask="By how much should the angle of the first pair grow from one position to the next?",
    ),
    bug(
        "pe-rows-not-columns",
        (SINES, "pe[0::2] = torch.sin(angle)"),
        (COSINES, "pe[1::2] = torch.cos(angle)"),
        variants=[
            [
                (SINES, f"pe[0::2] = torch.sin(angle){PAIRS}[0::2]"),
                (COSINES, f"pe[1::2] = torch.cos(angle){PAIRS}[1::2]"),
            ]
        ],
        says="sines and cosines take turns over the positions (rows) instead of the features "
        "(columns)",
        ask="In your table, which index counts positions and which features? Which one do you "
        "slice?",
    ),
    bug(
        "super-init-missing",
        (SUPER, ""),
        says="super().__init__() is not called, so the module cannot hold anything yet",
        ask="Who sets up the places where a module keeps its buffers and parameters?",
    ),
)

HINTS = (
    "Every position gets a fixed vector of D numbers: pairs of a sine and a cosine of the same "
    "angle. The first pair turns by one radian per position, each later pair more slowly.",
    "Three places decide: the exponent (one per pair, shared by sine and cosine), the columns "
    "they are written to, and which part of the table is added to x. Then ask what .to() and an "
    "optimizer see of the table.",
    "positions as a column (max_len, 1) times frequencies (P,) gives angles (max_len, P) with "
    "P = D / 2 rounded up; the table is (max_len, D), of which L rows are added to (B, L, D).",
    "With e = 0, 2, 4, … below D, the frequency is 10000 to the power of -e / D. Sines fill the "
    "columns 0, 2, 4, …, cosines the columns 1, 3, 5, …; for odd D there is one column less for "
    "the cosines.",
    "Near-code: build angles by broadcasting; make a table of zeros and assign to its strided "
    "columns; keep it as a buffer; in forward, compare L with max_len, then add the first L rows.",
)

QUESTIONS = (
    Question(
        "Why does attention need positions at all?",
        (
            "without them, attention treats a sequence as a set",
            "permuting the tokens permutes the outputs, and nothing else changes",
            "a causal mask alone already breaks that symmetry",
        ),
    ),
    Question(
        "Why is the table a buffer?",
        (
            "it follows .to(), .cuda() and .half()",
            "no optimizer sees it, and no gradient is kept for it",
            "it goes into the state_dict unless persistent=False",
            "a plain attribute would stay on the CPU",
        ),
    ),
    Question(
        "Why sines and cosines in pairs?",
        (
            "a shift by k positions rotates each pair by a fixed angle",
            "so PE(pos + k) is a linear map of PE(pos) that does not depend on pos",
            "the dot product of two codes depends on their distance only",
        ),
    ),
    Question(
        "Why 10000?",
        (
            "wavelengths run geometrically from 2 pi to about 10000 times 2 pi",
            "the slowest pair should not wrap around within the longest sequence",
            "it is a choice; long-context models raise it",
        ),
    ),
    Question(
        "What happens beyond max_len, and beyond the lengths seen in training?",
        (
            "a table simply ends; codes can be computed for any position",
            "models rarely extrapolate to codes they never saw",
            "relative schemes such as RoPE or ALiBi were made for this",
        ),
    ),
    Question(
        "How does this compare with learned position embeddings and with RoPE?",
        (
            "learned: max_len times D parameters, nothing beyond max_len",
            "sinusoidal: no parameters, added once at the input",
            "RoPE rotates q and k in every layer, so that scores depend on distance",
        ),
    ),
    Question(
        "Why are token embeddings often multiplied by sqrt(D) before this?",
        (
            "embeddings drawn with deviation 1 / sqrt(D) are small beside codes in [-1, 1]",
            "scaling brings both to a similar size",
            "it belongs to the embedding layer, not to the encoding",
        ),
    ),
    Question(
        "Why compute the table in float32 even for a bfloat16 model?",
        (
            "bfloat16 holds whole numbers exactly only up to 256",
            "an angle that is off by one radian gives an unrelated code",
            "codes lie in [-1, 1], so rounding them once at the end is harmless",
        ),
    ),
)

KATA = Kata(
    number=5,
    stem="kata05_positional_encoding",
    title="Sinusoidal positional encoding",
    minutes=8,
    cap_minutes=15,
    targets=(Target(NAME, "module", ("d_model", "max_len"), ("x",)),),
    build=build,
    checks=CHECKS,
    bugs=BUGS,
    equal=(
        # Another dtype comes out, whether the codes keep theirs or the sum is cast.
        ("pe-plain-attribute", "pe-cuda-result-discarded", "pe-result-cast"),
        ("pe-sign-lost", "pe-divide-by-div-term"),
    ),
    hints=HINTS,
    questions=QUESTIONS,
)
