"""Solutions against torch's own modules: the grader compares answers with them.

Weights are copied, masks inverted where torch means the opposite. Everything
runs in float64 on small sizes that are pairwise different.
"""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

REPOSITORY = Path(__file__).resolve().parents[1]
B, L, S, D, H, F_SIZE = 3, 5, 7, 12, 2, 20
LENGTHS = (1, 2, L)

Solution = Callable[[str], ModuleType]


@pytest.fixture(scope="module")
def solution() -> Iterator[Solution]:
    """Load a solution by its stem."""
    loaded: dict[str, ModuleType] = {}

    def load(stem: str) -> ModuleType:
        path = REPOSITORY / "solutions" / f"{stem}.py"
        if stem not in loaded:
            spec = importlib.util.spec_from_file_location(f"solution_{stem}", path)
            assert spec is not None
            assert spec.loader is not None
            loaded[stem] = importlib.util.module_from_spec(spec)
            sys.modules[spec.name] = loaded[stem]
            spec.loader.exec_module(loaded[stem])
        return loaded[stem]

    yield load
    for module in loaded.values():
        del sys.modules[module.__name__]


@pytest.fixture(autouse=True)
def _double_precision() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def draw(*shape: int, seed: int = 0, scale: float = 1.0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)) * scale


def shake(module: nn.Module) -> None:
    """Move every parameter off its default, LayerNorm's ones and zeros above all."""
    with torch.no_grad():
        for seed, parameter in enumerate(module.parameters(), start=100):
            parameter.add_(draw(*parameter.shape, seed=seed, scale=0.3))


def causal(length: int) -> Tensor:
    return torch.ones(length, length, dtype=torch.bool).tril()


def padding(length: int) -> Tensor:
    """Return a (B, length) mask with another number of real tokens in each row."""
    kept = torch.tensor([max(1, length - row) for row in range(B)])
    return torch.arange(length) < kept[:, None]


def fill_attention(theirs: nn.MultiheadAttention, ours: Any) -> None:
    with torch.no_grad():
        parts = (ours.q_proj, ours.k_proj, ours.v_proj)
        theirs.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
        theirs.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
        theirs.out_proj.weight.copy_(ours.out_proj.weight)
        theirs.out_proj.bias.copy_(ours.out_proj.bias)


def fill_layer(theirs: Any, ours: Any) -> None:
    for name in ("linear1", "linear2", "norm1", "norm2", "norm3"):
        if hasattr(ours, name):
            getattr(theirs, name).load_state_dict(getattr(ours, name).state_dict())


def assert_same(got: Tensor, expected: Tensor, where: Tensor | None = None) -> None:
    if where is not None:
        got, expected = got[where], expected[where]
    torch.testing.assert_close(got, expected, rtol=1e-9, atol=1e-9)


def assert_same_gradients(
    ours: Callable[[Tensor], Tensor], theirs: Callable[[Tensor], Tensor], x: Tensor
) -> None:
    found: list[Tensor] = []
    for call in (ours, theirs):
        leaf = x.clone().requires_grad_()
        result = call(leaf)
        (result * draw(*result.shape, seed=9)).sum().backward()
        assert leaf.grad is not None
        found.append(leaf.grad)
    assert_same(*found)


class TestWarmUp:
    stem = "kata00_warm_up"

    @pytest.mark.parametrize("d", [1, 4, 6])
    def test_agrees(self, solution: Solution, d: int) -> None:
        attention = solution(self.stem).attention
        q, k, v = (draw(3, d, seed=seed) for seed in (1, 2, 3))

        def expected(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            return F.scaled_dot_product_attention(q[None], k[None], v[None])[0]

        assert_same(attention(q, k, v), expected(q, k, v))
        assert_same_gradients(lambda t: attention(t, k, v), lambda t: expected(t, k, v), q)
        assert_same_gradients(lambda t: attention(q, t, v), lambda t: expected(q, t, v), k)
        assert_same_gradients(lambda t: attention(q, k, t), lambda t: expected(q, k, t), v)


class TestSoftmax:
    stem = "kata01_softmax_dim"

    @pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4), (2, 3, 4, 5), (1, 1)])
    def test_agrees_along_every_dimension(self, solution: Solution, shape: tuple[int, ...]) -> None:
        softmax = solution(self.stem).softmax
        x = draw(*shape, scale=3.0)
        for dim in range(-len(shape), len(shape)):
            assert_same(softmax(x, dim=dim), torch.softmax(x, dim=dim))
            assert_same_gradients(
                lambda t, dim=dim: softmax(t, dim=dim),
                lambda t, dim=dim: torch.softmax(t, dim=dim),
                x,
            )

    def test_uses_the_last_dimension_by_default(self, solution: Solution) -> None:
        x = draw(2, 3, 4)
        assert_same(solution(self.stem).softmax(x), torch.softmax(x, dim=-1))

    def test_survives_large_and_hidden_scores(self, solution: Solution) -> None:
        x = torch.tensor([[1e4, -1e4, 0.0], [-math.inf, 1.0, 2.0]])
        got = solution(self.stem).softmax(x, dim=-1)
        assert_same(got, torch.softmax(x, dim=-1))
        assert got[1, 0] == 0

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
    def test_keeps_the_dtype(self, solution: Solution, dtype: torch.dtype) -> None:
        x = draw(3, 4, scale=3.0).to(dtype)
        got = solution(self.stem).softmax(x, dim=-1)
        assert got.dtype == dtype
        # Torch's own kernel works in more than half precision inside; a hand-written one
        # rounds at each of its steps.
        step = torch.finfo(dtype).eps
        expected = torch.softmax(x.double(), dim=-1)
        torch.testing.assert_close(got.double(), expected, rtol=4 * step, atol=4 * step)

    def test_worked_example(self, solution: Solution) -> None:
        scores = torch.tensor([[1.0, 0.5, 0.2], [0.3, 1.2, 0.8], [0.7, 0.1, 1.5]])
        expected = torch.tensor(
            [[0.4864, 0.2950, 0.2186], [0.1958, 0.4815, 0.3228], [0.2649, 0.1454, 0.5896]]
        )
        got = solution(self.stem).softmax(scores, dim=-1)
        torch.testing.assert_close(got, expected, rtol=0, atol=5e-5)


class TestSingleHead:
    stem = "kata02_single_head_attention"

    @pytest.mark.parametrize("lead", [(), (B,), (B, H)])
    @pytest.mark.parametrize("masked", [False, True])
    def test_function_agrees(self, solution: Solution, lead: tuple[int, ...], masked: bool) -> None:
        q, k, v = draw(*lead, L, 6, seed=1), draw(*lead, S, 6, seed=2), draw(*lead, S, 4, seed=3)
        mask = torch.ones(L, S, dtype=torch.bool).tril(diagonal=1) if masked else None
        output, weights = solution(self.stem).scaled_dot_product_attention(q, k, v, mask=mask)
        assert_same(output, F.scaled_dot_product_attention(q, k, v, attn_mask=mask))
        assert weights.shape == (*lead, L, S)
        assert_same(weights.sum(-1), torch.ones(*lead, L))
        assert_same(weights @ v, output)

    @pytest.mark.parametrize("length", LENGTHS)
    @pytest.mark.parametrize("use_causal", [False, True])
    @pytest.mark.parametrize("use_pad", [False, True])
    def test_module_agrees(
        self, solution: Solution, length: int, use_causal: bool, use_pad: bool
    ) -> None:
        ours = solution(self.stem).SingleHeadAttention(d_model=D)
        compare_self_attention(ours, 1, length, use_causal=use_causal, use_pad=use_pad)


def compare_self_attention(
    ours: Any, heads: int, length: int, *, use_causal: bool, use_pad: bool
) -> None:
    shake(ours)
    theirs = nn.MultiheadAttention(D, heads, batch_first=True)
    fill_attention(theirs, ours)
    causal_mask = causal(length) if use_causal else None
    pad_mask = padding(length) if use_pad else None

    def expected(x: Tensor) -> Tensor:
        return theirs(
            x,
            x,
            x,
            attn_mask=None if causal_mask is None else ~causal_mask,
            key_padding_mask=None if pad_mask is None else ~pad_mask,
            need_weights=False,
        )[0]

    def got(x: Tensor) -> Tensor:
        return ours(x, causal_mask=causal_mask, pad_mask=pad_mask)

    x = draw(B, length, D, seed=4)
    assert_same(got(x), expected(x))
    assert_same_gradients(got, expected, x)


class TestMultiHeadSelf:
    stem = "kata03_multi_head_self_attention"

    @pytest.mark.parametrize("heads", [1, 2, 3, D])
    @pytest.mark.parametrize("length", LENGTHS)
    @pytest.mark.parametrize("use_causal", [False, True])
    @pytest.mark.parametrize("use_pad", [False, True])
    def test_agrees(
        self, solution: Solution, heads: int, length: int, use_causal: bool, use_pad: bool
    ) -> None:
        ours = solution(self.stem).MultiHeadSelfAttention(d_model=D, num_heads=heads)
        compare_self_attention(ours, heads, length, use_causal=use_causal, use_pad=use_pad)

    def test_refuses_heads_that_do_not_divide(self, solution: Solution) -> None:
        with pytest.raises(ValueError, match=r"12.*5"):
            solution(self.stem).MultiHeadSelfAttention(d_model=12, num_heads=5)


class TestCross:
    stem = "kata04_cross_attention"

    @pytest.mark.parametrize("heads", [1, H, 3])
    @pytest.mark.parametrize("sizes", [(L, S), (S, L), (1, S), (L, 1), (L, L)])
    @pytest.mark.parametrize("use_pad", [False, True])
    def test_agrees(
        self, solution: Solution, heads: int, sizes: tuple[int, int], use_pad: bool
    ) -> None:
        length, source = sizes
        ours = solution(self.stem).MultiHeadCrossAttention(d_model=D, num_heads=heads)
        shake(ours)
        theirs = nn.MultiheadAttention(D, heads, batch_first=True)
        fill_attention(theirs, ours)
        pad_mask = padding(source) if use_pad else None
        hidden = None if pad_mask is None else ~pad_mask
        x, memory = draw(B, length, D, seed=5), draw(B, source, D, seed=6)

        def attend(x: Tensor, memory: Tensor) -> Tensor:
            return theirs(x, memory, memory, key_padding_mask=hidden, need_weights=False)[0]

        assert_same(ours(x, memory, pad_mask=pad_mask), attend(x, memory))
        assert_same_gradients(
            lambda t: ours(t, memory, pad_mask=pad_mask), lambda t: attend(t, memory), x
        )
        assert_same_gradients(
            lambda t: ours(x, t, pad_mask=pad_mask), lambda t: attend(x, t), memory
        )


class TestPositions:
    stem = "kata05_positional_encoding"

    @pytest.mark.parametrize("d_model", [1, 2, 7, 8, 12])
    @pytest.mark.parametrize("length", [1, 5, 64])
    def test_agrees_with_the_formula(self, solution: Solution, d_model: int, length: int) -> None:
        ours = solution(self.stem).PositionalEncoding(d_model=d_model, max_len=64)
        x = draw(2, length, d_model)
        added = ours(x) - x
        expected = [
            [
                (math.cos if feature % 2 else math.sin)(
                    position / math.pow(10000.0, (feature - feature % 2) / d_model)
                )
                for feature in range(d_model)
            ]
            for position in range(length)
        ]
        # A float32 table is right too: it is off by 1.4e-6 at 64 positions.
        torch.testing.assert_close(
            added, torch.tensor(expected).expand_as(added), rtol=0, atol=1e-5
        )

    def test_trains_nothing_and_keeps_dtypes(self, solution: Solution) -> None:
        ours = solution(self.stem).PositionalEncoding(d_model=8)
        assert not list(ours.parameters())
        for dtype in (torch.bfloat16, torch.float32, torch.float64):
            assert ours.to(dtype)(draw(1, 3, 8).to(dtype)).dtype == dtype

    def test_refuses_more_than_max_len(self, solution: Solution) -> None:
        ours = solution(self.stem).PositionalEncoding(d_model=8, max_len=4)
        assert ours(draw(1, 4, 8)).shape == (1, 4, 8)
        with pytest.raises(Exception):  # noqa: B017, PT011 - the contract leaves the type free
            ours(draw(1, 5, 8))


class TestEncoderLayer:
    stem = "kata06_encoder_layer"

    @pytest.mark.parametrize("length", LENGTHS)
    @pytest.mark.parametrize("use_pad", [False, True])
    # In train mode, dropout of 1.0 leaves nothing of a sublayer: its place shows exactly.
    @pytest.mark.parametrize("dropout", [0.0, 1.0])
    def test_agrees(self, solution: Solution, length: int, use_pad: bool, dropout: float) -> None:
        ours = solution(self.stem).EncoderLayer(
            d_model=D, num_heads=H, d_ff=F_SIZE, dropout=dropout
        )
        shake(ours)
        theirs = nn.TransformerEncoderLayer(D, H, F_SIZE, dropout, batch_first=True)
        fill_attention(theirs.self_attn, ours.self_attn)
        fill_layer(theirs, ours)
        pad_mask = padding(length) if use_pad else None
        hidden = None if pad_mask is None else ~pad_mask
        real = torch.ones(B, length, dtype=torch.bool) if pad_mask is None else pad_mask
        x = draw(B, length, D, seed=7)

        def expected(x: Tensor) -> Tensor:
            return theirs(x, src_key_padding_mask=hidden) * real[..., None]

        def got(x: Tensor) -> Tensor:
            return ours(x, pad_mask=pad_mask) * real[..., None]

        assert_same(got(x), expected(x))
        assert_same_gradients(got, expected, x)

    def test_drops_nothing_when_evaluated(self, solution: Solution) -> None:
        ours = solution(self.stem).EncoderLayer(d_model=D, num_heads=H, d_ff=F_SIZE).eval()
        x = draw(B, L, D)
        assert_same(ours(x), ours(x))


class TestDecoderLayer:
    stem = "kata07_decoder_layer"

    @pytest.mark.parametrize("length", [1, 2, 6])
    def test_causal_mask(self, solution: Solution, length: int) -> None:
        mask = solution(self.stem).causal_mask(length)
        assert mask.dtype == torch.bool
        hidden = nn.Transformer.generate_square_subsequent_mask(length) == -math.inf
        assert torch.equal(mask, ~hidden)
        assert solution(self.stem).causal_mask(length, device="meta").device.type == "meta"

    @pytest.mark.parametrize("sizes", [(L, S), (1, S), (S, 2)])
    @pytest.mark.parametrize("use_causal", [False, True])
    @pytest.mark.parametrize("use_pad", [False, True])
    @pytest.mark.parametrize("dropout", [0.0, 1.0])
    def test_agrees(
        self,
        solution: Solution,
        sizes: tuple[int, int],
        use_causal: bool,
        use_pad: bool,
        dropout: float,
    ) -> None:
        length, source = sizes
        ours = solution(self.stem).DecoderLayer(
            d_model=D, num_heads=H, d_ff=F_SIZE, dropout=dropout
        )
        shake(ours)
        theirs = nn.TransformerDecoderLayer(D, H, F_SIZE, dropout, batch_first=True)
        fill_attention(theirs.self_attn, ours.self_attn)
        fill_attention(theirs.multihead_attn, ours.cross_attn)
        fill_layer(theirs, ours)
        causal_mask = causal(length) if use_causal else None
        pad_mask = padding(length) if use_pad else None
        memory_pad_mask = padding(source) if use_pad else None
        real = torch.ones(B, length, dtype=torch.bool) if pad_mask is None else pad_mask
        x, memory = draw(B, length, D, seed=7), draw(B, source, D, seed=8)

        def expected(x: Tensor, memory: Tensor) -> Tensor:
            return (
                theirs(
                    x,
                    memory,
                    tgt_mask=None if causal_mask is None else ~causal_mask,
                    tgt_key_padding_mask=None if pad_mask is None else ~pad_mask,
                    memory_key_padding_mask=None if memory_pad_mask is None else ~memory_pad_mask,
                )
                * real[..., None]
            )

        def got(x: Tensor, memory: Tensor) -> Tensor:
            masks = {
                "causal_mask": causal_mask,
                "pad_mask": pad_mask,
                "memory_pad_mask": memory_pad_mask,
            }
            return ours(x, memory, **masks) * real[..., None]

        assert_same(got(x, memory), expected(x, memory))
        assert_same_gradients(lambda t: got(t, memory), lambda t: expected(t, memory), x)
        assert_same_gradients(lambda t: got(x, t), lambda t: expected(x, t), memory)


class TestResidualBlock:
    stem = "kata08_residual_blocks"

    @pytest.mark.parametrize("norm_first", [False, True])
    @pytest.mark.parametrize("dropout", [0.0, 1.0])
    def test_agrees(self, solution: Solution, norm_first: bool, dropout: float) -> None:
        sublayer = nn.Linear(D, D)
        ours = solution(self.stem).ResidualBlock(
            d_model=D, sublayer=sublayer, dropout=dropout, norm_first=norm_first
        )
        shake(ours)

        def norm(x: Tensor) -> Tensor:
            return F.layer_norm(x, (D,), ours.norm.weight, ours.norm.bias)

        def expected(x: Tensor) -> Tensor:
            inner = sublayer(norm(x) if norm_first else x)
            total = x + F.dropout(inner, p=dropout, training=True)
            return total if norm_first else norm(total)

        x = draw(B, L, D, seed=7)
        assert_same(ours(x), expected(x))
        assert_same_gradients(ours, expected, x)

    @pytest.mark.parametrize("norm_first", [False, True])
    def test_hands_further_arguments_on(self, solution: Solution, norm_first: bool) -> None:
        def gate(x: Tensor, other: Tensor, *, strength: float) -> Tensor:
            return x * other * strength

        ours = solution(self.stem).ResidualBlock(d_model=D, sublayer=gate, norm_first=norm_first)
        x, other = draw(B, L, D, seed=1), draw(B, L, D, seed=2)
        inner = ours.norm(x) if norm_first else x
        total = x + inner * other * 0.5
        assert_same(ours(x, other, strength=0.5), total if norm_first else ours.norm(total))

    def test_a_sublayer_of_zeros_shows_the_skip(self, solution: Solution) -> None:
        x = draw(B, L, D)
        build = solution(self.stem).ResidualBlock
        pre = build(d_model=D, sublayer=torch.zeros_like, norm_first=True)
        post = build(d_model=D, sublayer=torch.zeros_like, norm_first=False)
        assert torch.equal(pre(x), x)
        assert_same(post(x), F.layer_norm(x, (D,)))


class TestGivenParts:
    """What katas 6 and 7 are handed keeps the contracts of katas 3 and 4."""

    @pytest.mark.parametrize("use_causal", [False, True])
    @pytest.mark.parametrize("use_pad", [False, True])
    def test_self_attention(self, solution: Solution, use_causal: bool, use_pad: bool) -> None:
        from grader import given

        theirs = solution("kata03_multi_head_self_attention").MultiHeadSelfAttention(D, H)
        ours = given.MultiHeadSelfAttention(D, H)
        shake(ours)
        theirs.load_state_dict(ours.state_dict())
        masks = {
            "causal_mask": causal(L) if use_causal else None,
            "pad_mask": padding(L) if use_pad else None,
        }
        x = draw(B, L, D)
        assert_same(ours(x, **masks), theirs(x, **masks))

    @pytest.mark.parametrize("use_pad", [False, True])
    def test_cross_attention(self, solution: Solution, use_pad: bool) -> None:
        from grader import given

        theirs = solution("kata04_cross_attention").MultiHeadCrossAttention(D, H)
        ours = given.MultiHeadCrossAttention(D, H)
        shake(ours)
        theirs.load_state_dict(ours.state_dict())
        x, memory = draw(B, L, D, seed=1), draw(B, S, D, seed=2)
        pad_mask = padding(S) if use_pad else None
        assert_same(ours(x, memory, pad_mask), theirs(x, memory, pad_mask))
