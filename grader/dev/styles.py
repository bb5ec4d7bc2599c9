"""The accepted submissions that stand for the ways in which people write each kata."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from grader.catalog import ROOT, Entry
from grader.errors import GraderError

CORPUS = ROOT / "tests" / "submissions"
# Beside the solution itself. Chosen to differ: in how layers are kept and named, how
# heads are split, how masks are applied, and in what is written by hand.
STYLES: Mapping[str, tuple[str, ...]] = {
    "kata00_warm_up": ("broadcast", "einsum", "handwritten_softmax", "turned_round"),
    "kata01_softmax_dim": ("log_space", "movedim", "own_backward", "where_hidden"),
    "kata02_single_head_attention": (
        "additive_mask",
        "attention_as_module",
        "batch_loop",
        "fused_qkv",
    ),
    "kata03_multi_head_self_attention": (
        "additive_before_scale",
        "annotated",
        "einsum_heads",
        "list_of_heads",
        "nanogpt",
    ),
    "kata04_cross_attention": (
        "functional_linear",
        "loop_over_heads",
        "module_in_module",
        "perceiver_kv",
    ),
    "kata05_positional_encoding": ("complex_numbers", "frequencies_only", "lazy_cache", "loops"),
    "kata06_encoder_layer": (
        "bert_style",
        "gamma_beta_norm",
        "handwritten_everything",
        "torch_style",
    ),
    "kata07_decoder_layer": ("gamma_beta", "own_attention", "sublayer_connections", "torch_style"),
    "kata08_residual_blocks": ("functional", "handwritten", "pre_and_post_modules", "two_branches"),
}
SOLUTION = "solution"


def sources(entry: Entry) -> dict[str, str]:
    """Return the solution of a kata and its styles, by name.

    Raises GraderError where a style is not in the corpus.
    """
    found = {SOLUTION: entry.solution_path.read_text(encoding="utf-8")}
    for name in STYLES.get(entry.stem, ()):
        path = style_path(entry.stem, name)
        try:
            found[name] = path.read_text(encoding="utf-8")
        except OSError as error:
            raise GraderError(f"{path}: {error.strerror}; styles.py names it") from error
    return found


def style_path(stem: str, name: str) -> Path:
    return CORPUS / stem / "right" / f"{name}.py"


def accepted(entry: Entry) -> dict[str, str]:
    """Return the solution of a kata and every accepted submission, by name."""
    paths = sorted((CORPUS / entry.stem / "right").glob("*.py"))
    found = {SOLUTION: entry.solution_path.read_text(encoding="utf-8")}
    return found | {path.stem: path.read_bytes().decode() for path in paths}
