"""Slips that show in one kind of case only fail the check that is there for them.

Each is planted in a solution. None is a known bug with a name of its own: these
are guards, habits and shortcuts of which there is no end, and of each kind one
is held here in every kata it applies to.
"""

from __future__ import annotations

from functools import cache

import pytest

from grader import catalog
from grader.engine.bench import Bench, LocalAnswer
from grader.engine.checking import judge
from grader.engine.mutants import Store
from grader.model import Mismatch

PAIR = "causal_mask[None] & pad_mask[:, None]"
GUARD = f"""
        if causal_mask is not None and pad_mask is not None and not ({PAIR}).any(-1).all():
            {{}} = None
"""
EMPTY_ROW = """
        if causal_mask is not None and not causal_mask.any(-1).all():
            causal_mask = None
"""
# Guards that only show where the caller's mask is no plain triangle and some keys are padding.
SELF_SEEN = """
        if causal_mask is not None and pad_mask is not None:
            causal_mask = causal_mask | torch.eye(x.shape[1], dtype=torch.bool)
"""
TRIANGLE = """
        if causal_mask is not None and pad_mask is not None:
            causal_mask = causal_mask.tril()
"""
# A guard for a sequence of padding alone that opens a padded key of the others.
OPENED = """
        if {0} is not None and not {0}.any(-1).all():
            {0} = {0}.clone()
            {0}[:, {1}] = True
"""
# What a call with a causal mask alone leaves behind.
KEPT = """
        if causal_mask is not None and pad_mask is None:
            self.last = causal_mask
        if causal_mask is None:
            causal_mask = getattr(self, "last", None)
"""
ASKED = "        # Step 1: project x to queries, and the memory to keys and values\n"
VISIBLE = "        visible = causal_mask"
EMPTY_COLUMN = """
        if causal_mask is not None:
            causal_mask = causal_mask | ~causal_mask.any(0)
"""
PROJECT = "        # Step 1: project x to queries, keys and values\n"
INIT = "\n        self.apply(lambda m: isinstance(m, nn.Linear) and nn.init.zeros_(m.bias))"
FILL = 'scores = scores.masked_fill(~{}, float("-inf"))'
INFINITE = 'float("-inf")'
KEYS = "pad_mask[:, None, None, :]"
WEIGHTS = "weights = torch.softmax(scores, dim=-1)"
DROPS = """
class {}(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if not self.training or not self.p:
            return x{}


"""
DECODE = "        # Step 1: attend within x"

# For each kata, a slip: what is replaced by what, and the check that sees it.
SLIPS: dict[str, tuple[str, list[tuple[str, str]], str]] = {
    "kata2, heads of all layers in one": (
        "kata02",
        [("self.q_proj(x)", "SingleHeadAttention.last(x)"),
         ("self.k_proj = ", "SingleHeadAttention.last = self.q_proj\n        self.k_proj = ")],
        "instances_are_independent",
    ),
    "kata2, itself seen where both masks are": (
        "kata02", [(VISIBLE, SELF_SEEN + VISIBLE)], "masks_are_applied"
    ),
    "kata3, itself seen where both masks are": (
        "kata03", [(PROJECT, SELF_SEEN + PROJECT)], "masks_are_applied"
    ),
    "kata7, itself seen where both masks are": (
        "kata07", [(DECODE, SELF_SEEN + DECODE)], "masks_are_applied"
    ),
    "kata2, a triangle where both masks are": (
        "kata02", [(VISIBLE, TRIANGLE + VISIBLE)], "masks_are_applied"
    ),
    "kata3, a triangle where both masks are": (
        "kata03", [(PROJECT, TRIANGLE + PROJECT)], "masks_are_applied"
    ),
    "kata7, a triangle where both masks are": (
        "kata07", [(DECODE, TRIANGLE + DECODE)], "masks_are_applied"
    ),
    "kata2, the first key opened for an empty sequence": (
        "kata02", [(VISIBLE, OPENED.format("pad_mask", 0) + VISIBLE)], "masks_are_applied"
    ),
    "kata2, the last key opened for an empty sequence": (
        "kata02", [(VISIBLE, OPENED.format("pad_mask", -1) + VISIBLE)], "masks_are_applied"
    ),
    "kata3, the first key opened for an empty sequence": (
        "kata03", [(PROJECT, OPENED.format("pad_mask", 0) + PROJECT)], "masks_are_applied"
    ),
    "kata3, the last key opened for an empty sequence": (
        "kata03", [(PROJECT, OPENED.format("pad_mask", -1) + PROJECT)], "masks_are_applied"
    ),
    "kata4, the first key opened for an empty sequence": (
        "kata04", [(ASKED, OPENED.format("pad_mask", 0) + ASKED)], "mask_is_applied"
    ),
    "kata4, the last key opened for an empty sequence": (
        "kata04", [(ASKED, OPENED.format("pad_mask", -1) + ASKED)], "mask_is_applied"
    ),
    "kata7, the first key opened for an empty sequence": (
        "kata07", [(DECODE, OPENED.format("pad_mask", 0) + DECODE)], "masks_are_applied"
    ),
    "kata7, the last key opened for an empty sequence": (
        "kata07", [(DECODE, OPENED.format("pad_mask", -1) + DECODE)], "masks_are_applied"
    ),
    "kata7, the first key of the memory opened for an empty sequence": (
        "kata07", [(DECODE, OPENED.format("memory_pad_mask", 0) + DECODE)], "masks_are_applied"
    ),
    "kata7, the last key of the memory opened for an empty sequence": (
        "kata07", [(DECODE, OPENED.format("memory_pad_mask", -1) + DECODE)], "masks_are_applied"
    ),
    "kata2, the last causal mask kept": (
        "kata02", [(VISIBLE, KEPT + VISIBLE)], "layer_earlier_calls_leave_no_trace"
    ),
    "kata3, the last causal mask kept": (
        "kata03", [(PROJECT, KEPT + PROJECT)], "earlier_calls_leave_no_trace"
    ),
    "kata3, no gradient behind a frozen embedding": (
        "kata03",
        [("self.v_proj(x)\n", "self.v_proj(x) if x.requires_grad else self.v_proj(x).detach()\n")],
        "training_reaches_everything",
    ),
    "kata8, no gradient behind a frozen embedding": (
        "kata08",
        [("inner = self.dropout(inner)", "inner = self.dropout(inner if x.requires_grad"
          " else inner.detach())")],
        "training_reaches_everything",
    ),
    "kata3, heads kept on the class": (
        "kata03", [("self.num_heads", "type(self).num_heads")], "instances_are_independent"
    ),
    "kata4, heads kept on the class": (
        "kata04", [("self.num_heads", "type(self).num_heads")], "instances_are_independent"
    ),
    "kata5, table kept on the class": (
        "kata05",
        [('self.register_buffer("pe", pe)', "type(self).pe = pe")],
        "instances_are_independent",
    ),
    "kata5, max_len kept on the class": (
        "kata05",
        [("self.max_len", "type(self).max_len"), ("arange(max_len)", "arange(5000)"),
         ("zeros(max_len,", "zeros(5000,")],
        "more_than_max_len_is_refused",
    ),
    "kata6, network kept on the class": (
        "kata06",
        [("self.linear2 = ", "type(self).last = self.linear1\n        self.linear2 = "),
         ("self.linear1(", "type(self).last(")],
        "instances_are_independent",
    ),
    "kata7, network kept on the class": (
        "kata07",
        [("self.linear2 = ", "type(self).last = self.linear1\n        self.linear2 = "),
         ("self.linear1(", "type(self).last(")],
        "instances_are_independent",
    ),
    "kata8, order kept on the class": (
        "kata08", [("self.norm_first", "type(self).norm_first")], "instances_are_independent"
    ),
    "kata8, every Linear initialised": (
        "kata08", [("\n\n    def f", INIT + "\n\n    def f")], "post_norm_matches"
    ),
    "kata3, guard that drops the padding": (
        "kata03", [(PROJECT, GUARD.format("pad_mask") + PROJECT)], "masks_are_applied"
    ),
    "kata3, guard that drops the causal mask": (
        "kata03", [(PROJECT, GUARD.format("causal_mask") + PROJECT)], "masks_are_applied"
    ),
    "kata7, guard that drops the padding": (
        "kata07", [(DECODE, GUARD.format("pad_mask") + DECODE)], "masks_are_applied"
    ),
    "kata7, guard that drops the causal mask": (
        "kata07", [(DECODE, GUARD.format("causal_mask") + DECODE)], "masks_are_applied"
    ),
    "kata3, guard for an empty row": (
        "kata03", [(PROJECT, EMPTY_ROW + PROJECT)], "masks_are_applied"
    ),
    "kata7, guard for an empty row": (
        "kata07", [(DECODE, EMPTY_ROW + DECODE)], "masks_are_applied"
    ),
    "kata3, guard for an empty column": (
        "kata03", [(PROJECT, EMPTY_COLUMN + PROJECT)], "masks_are_applied"
    ),
    "kata7, guard for an empty column": (
        "kata07", [(DECODE, EMPTY_COLUMN + DECODE)], "masks_are_applied"
    ),
    **{
        f"{kata}, a fill of {fill}": (f"kata0{kata[-1]}", [('float("-inf")', fill)], check)
        for kata, check in (
            ("kata2", "hidden_keys_get_nothing"),
            ("kata2", "layer_gives_hidden_keys_nothing"),
            ("kata3", "hidden_keys_get_nothing"),
            ("kata4", "hidden_keys_get_nothing"),
        )
        for fill in ("-100.0", "-1e3", "-1e4")
    },
    "kata3, a fill of -1e4 in the causal mask alone": (
        "kata03",
        [(FILL.format("causal_mask"), FILL.format("causal_mask").replace(INFINITE, "-1e4"))],
        "hidden_keys_get_nothing",
    ),
    "kata3, a fill of -1e4 in the padding mask alone": (
        "kata03",
        [(FILL.format(KEYS), FILL.format(KEYS).replace(INFINITE, "-1e4"))],
        "hidden_keys_get_nothing",
    ),
    **{
        f"{kata}, {constant} added": (
            f"kata0{kata[-1]}", [(line, f"scores = scores + ~({mask}) * {constant}")], check
        )
        for kata, line, mask, check in (
            ("kata2", FILL.format("mask"), "mask", "hidden_keys_get_nothing"),
            ("kata2", FILL.format("mask"), "mask", "layer_gives_hidden_keys_nothing"),
            ("kata3", FILL.format("causal_mask"), "causal_mask", "hidden_keys_get_nothing"),
            ("kata3", FILL.format(KEYS), KEYS, "hidden_keys_get_nothing"),
            ("kata4", FILL.format(KEYS), KEYS, "hidden_keys_get_nothing"),
        )
        for constant in ("-100.0", "-1e3", "-1e4")
    },
    **{
        f"{kata}, weights dropped in place": (
            f"kata0{kata[-1]}",
            [(line, f"{line}\n        nn.functional.dropout(weights, 0.1, self.training, True)")],
            "training_reaches_everything",
        )
        for kata, line in (("kata3", WEIGHTS), ("kata4", WEIGHTS))
    },
    **{
        f"{kata}, dropout {what}": (
            f"kata0{kata[-1]}",
            [("nn.Dropout(dropout)", f"{name}(dropout)"),
             (f"class {target}", f"{code}class {target}")],
            "dropout_keeps_the_size",
        )
        for kata, target in (
            ("kata6", "EncoderLayer"), ("kata7", "DecoderLayer"), ("kata8", "ResidualBlock")
        )
        for what, name, code in (
            ("drawn once", "Once", DROPS.format("Once", """
        if not hasattr(self, "keep") or self.keep.shape != x.shape:
            self.keep = torch.rand_like(x) > self.p
        return x * self.keep / (1 - self.p)""")),
            ("of a fixed seed", "Seeded", DROPS.format("Seeded", """
        torch.manual_seed(42)
        return x * (torch.rand_like(x) > self.p) / (1 - self.p)""")),
            ("scaled by what is left", "Mean", DROPS.format("Mean", """
        keep = (torch.rand_like(x) > self.p).to(x)
        return x * keep / keep.mean().clamp(min=1e-6)""")),
            ("of equal numbers", "Even", DROPS.format("Even", """
        keep = torch.rand_like(x).argsort(-1) >= round(self.p * x.shape[-1])
        return x * keep / (1 - self.p)""")),
        )
    },
    "kata3, x written to with what it held": (
        "kata03", [("self.q_proj(x)", "self.q_proj(x.nan_to_num_())")], "inputs_are_kept"
    ),
    "kata4, memory written to with what it held": (
        "kata04", [("self.k_proj(memory)", "self.k_proj(memory.nan_to_num_())")], "inputs_are_kept"
    ),
    "kata8, x written to with what it held": (
        "kata08", [("total = x + inner", "total = x.nan_to_num_() + inner")], "inputs_are_kept"
    ),
    "kata5, codes kept for each length": (
        "kata05",
        [("self.max_len = max_len", "self.max_len = max_len\n        self.memo = {}"),
         ("return x + codes", "codes = self.memo.setdefault(length, codes.to(x))\n"
          "        return x + codes")],
        "runs_on_any_device",
    ),
    "kata7, mask kept for each length": (
        "kata07",
        [("def causal_mask(", "from functools import lru_cache\n\n\n@lru_cache\ndef made(length):\n"
          "    return torch.ones(length, length, dtype=torch.bool).tril()\n\n\ndef causal_mask("),
         ("    # Step 1: let every", "    return made(length)\n    # Step 1: let every")],
        "mask_follows_the_device",
    ),
    "kata1, gradients by way of a logarithm": (
        "kata01",
        [("return ", "log = (lambda e: (e / e.sum(dim, keepdim=True)).log())"
          "((x - x.amax(dim, keepdim=True)).exp())\n    return log.exp()\n    return ")],
        "gradients_match",
    ),
}  # fmt: skip


@cache
def store(stem: str) -> Store:
    entry = catalog.find(stem)
    return Store(entry.load_spec(), entry.solution_path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_fails_the_check_for_its_kind(slip: str) -> None:
    name, edits, wanted = SLIPS[slip]
    kept = store(name)
    kata, source = kept.reference.kata, kept.reference.source
    for line, by in edits:
        assert line in source
        source = source.replace(line, by)
    for text, failing in ((kept.reference.source, False), (source, True)):
        bench = Bench(kata, LocalAnswer(text.encode(), "x.py"), kept.reference)
        (check,) = (each for each in kata.checks if each.name == wanted)
        found = [judge(bench, check, recipe) for recipe in check.bank]
        assert any(isinstance(each, Mismatch) for each in found) is failing, found
