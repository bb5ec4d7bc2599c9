"""Learners' modules in many styles: the weights must land where the solution has them.

Each module is built in several sizes, some of them with coinciding ones (one
head, heads of one feature, D = F). One and the same guess must reproduce the
solution's output and gradients in all of them.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import permutations
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grader.engine.alignment import (
    TWIN_SIZES,
    Alignment,
    alignments,
    describe_missing,
    read_gradients,
    twin_of,
    write_weights,
)
from grader.given import MultiHeadCrossAttention, MultiHeadSelfAttention
from grader.model import Role, Shape

# Sizes go by the letters of the shapes, D, H, d, F.
# ruff: noqa: N803

SOLUTIONS = Path(__file__).resolve().parents[2] / "solutions"
# (d_model, num_heads, d_ff), generic sizes first
SIZES = ((12, 2, 20), (18, 3, 7), (4, 1, 4), (20, 4, 60), (5, 5, 10), (1, 1, 2))
Build = Callable[[int, int, int], nn.Module]


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Tensors this small gain nothing from threads, and lose a lot on a busy machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def load(stem: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(stem, SOLUTIONS / f"{stem}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


KATA3 = load("kata03_multi_head_self_attention")


def attention_roles(prefix: str = "", owner: Any = "") -> tuple[Role, ...]:
    return (
        Role(f"{prefix}q_proj", "query", owner),
        Role(f"{prefix}k_proj", "key", owner),
        Role(f"{prefix}v_proj", "value", owner),
        Role(f"{prefix}out_proj", "output", owner),
    )


ATTENTION = attention_roles()
FEED_FORWARD = (Role("linear1", "ffn_in"), Role("linear2", "ffn_out"))
NORMS = tuple(Role(f"norm{n}", "norm") for n in (1, 2, 3))
ENCODER = (*attention_roles("self_attn.", "self"), *FEED_FORWARD, *NORMS[:2])
DECODER = (
    *attention_roles("self_attn.", "self"),
    *attention_roles("cross_attn.", "cross"),
    *FEED_FORWARD,
    *NORMS,
)


# --- references ----------------------------------------------------------------


class Encoder(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int) -> None:
        super().__init__()
        self.self_attn = MultiHeadSelfAttention(d_model, num_heads)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm1(x + self.self_attn(x))
        return self.norm2(x + self.linear2(F.relu(self.linear1(x))))


class Decoder(Encoder):
    def __init__(self, d_model: int, num_heads: int, d_ff: int) -> None:
        super().__init__(d_model, num_heads, d_ff)
        self.cross_attn = MultiHeadCrossAttention(d_model, num_heads)
        self.norm3 = nn.LayerNorm(d_model)

    def forward(self, x: Tensor, memory: Tensor) -> Tensor:  # type: ignore[override]
        x = self.norm1(x + self.self_attn(x))
        x = self.norm2(x + self.cross_attn(x, memory))
        return self.norm3(x + self.linear2(F.relu(self.linear1(x))))


def canonical_weights(reference: nn.Module, seed: int = 0) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {
        name: torch.randn(p.shape, generator=generator, dtype=torch.float64)
        for name, p in reference.named_parameters()
    }


def shapes_of(reference: nn.Module) -> dict[str, Shape]:
    return {name: tuple(p.shape) for name, p in reference.named_parameters()}


def inputs_for(d_model: int, count: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    shapes = ((2, 3, d_model), (2, 6, d_model))[:count]
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]


def run(module: nn.Module, inputs: Sequence[Tensor]) -> Tensor:
    module.zero_grad()
    output = module(*inputs)
    (
        output * torch.arange(output.numel(), dtype=output.dtype).reshape(output.shape).sin()
    ).sum().backward()
    return output.detach()


def same(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and torch.allclose(one, other, rtol=1e-7, atol=1e-8)


class Expected:
    """The reference's output and gradients, once for every set of absent biases."""

    def __init__(self, reference: nn.Module, inputs: Sequence[Tensor]) -> None:
        self.reference, self.inputs = reference, inputs
        self.weights = canonical_weights(reference)
        self.shapes = shapes_of(reference)
        self.known: dict[tuple[str, ...], tuple[Tensor, dict[str, Tensor | None]]] = {}

    def without(self, absent: tuple[str, ...]) -> tuple[Tensor, dict[str, Tensor | None]]:
        if absent not in self.known:
            zeros = {name: torch.zeros_like(self.weights[name]) for name in absent}
            self.reference.load_state_dict({**self.weights, **zeros})
            output = run(self.reference, self.inputs)
            gradients = {
                name: p.grad.clone() if p.grad is not None else None
                for name, p in self.reference.named_parameters()
                if name not in absent
            }
            self.known[absent] = output, gradients
        return self.known[absent]

    def reproduced(self, module: nn.Module, guess: Alignment) -> bool:
        """Tell whether, with this guess, output and every gradient are the reference's."""
        wanted, due = self.without(guess.absent)
        write_weights(module, guess, self.weights)
        if not same(run(module, self.inputs), wanted):
            return False
        gradients = read_gradients(module, guess, self.shapes)
        assert set(gradients) == set(due)
        for name, expected in due.items():
            found = gradients[name]
            assert expected is not None
            assert found is not None, name
            assert same(found, expected), name
        return True


def working_guesses(
    build: Build,
    reference: Build,
    roles: Sequence[Role],
    sizes: Sequence[tuple[int, int, int]] = SIZES,
) -> tuple[set[int], int, list[Alignment]]:
    """Return the guesses that work at every size, how many there are, and the first of each."""
    working: set[int] | None = None
    counts: set[int] = set()
    first: list[Alignment] = []
    twin = twin_of(lambda **sizes: build(*(sizes[name] for name in TWIN_SIZES)), TWIN_SIZES)
    assert twin is not None
    for d_model, num_heads, d_ff in sizes:
        torch.manual_seed(0)
        module = build(d_model, num_heads, d_ff).double()
        solution = reference(d_model, num_heads, d_ff).double()
        expected = Expected(solution, inputs_for(d_model, 2 if roles is DECODER else 1))
        guesses = alignments(module, roles, expected.shapes, num_heads, (), twin)
        counts.add(len(guesses))
        first.append(guesses[0])
        assert not guesses[0].missing, describe_missing(guesses[0], roles, module)
        results: dict[object, bool] = {}  # many guesses are one at generic sizes
        for guess in guesses:
            if guess.slots not in results:
                results[guess.slots] = expected.reproduced(module, guess)
        found = {index for index, guess in enumerate(guesses) if results[guess.slots]}
        working = found if working is None else working & found
    assert working is not None
    assert len(counts) == 1, f"the number of guesses depends on the sizes: {counts}"
    return working, counts.pop(), first


def attention_reference(d_model: int, num_heads: int, _: int) -> nn.Module:
    return KATA3.MultiHeadSelfAttention(d_model, num_heads)


# --- attention: names -------------------------------------------------------------


def nest(root: nn.Module, path: str, layer: nn.Module | nn.Parameter) -> None:
    """Register the layer at a dotted path, with plain modules on the way."""
    *parents, name = path.split(".")
    for parent in parents:
        if parent not in dict(root.named_children()):
            root.add_module(parent, nn.Module())
        root = root.get_submodule(parent)
    setattr(root, name, layer)


def reach(root: nn.Module, path: str) -> Any:
    for name in path.split("."):
        root = getattr(root, name)
    return root


class Attention(nn.Module):
    """The part that all styles share; a style fills in build, project and finish."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads, self.d_model = num_heads, d_model
        self.head_dim = d_model // num_heads
        self.build(d_model, num_heads, self.head_dim)

    def build(self, D: int, H: int, d: int) -> None:
        raise NotImplementedError

    def project(self, x: Tensor) -> Sequence[Tensor]:
        """Return q, k, v, each (B, L, D) or (B, H, L, d)."""
        raise NotImplementedError

    def finish(self, context: Tensor) -> Tensor:
        """Return the output for the context (B, L, D)."""
        return reach(self, "out")(context)

    def split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (t if t.dim() == 4 else self.split(t) for t in self.project(x))
        context = F.scaled_dot_product_attention(q, k, v)
        return self.finish(context.transpose(1, 2).flatten(2))


class Named(Attention):
    """Four Linears under any names, registered in any order, with or without bias."""

    names: Sequence[str] = ()
    order: Sequence[int] = (0, 1, 2, 3)
    bias = True

    def build(self, D: int, H: int, d: int) -> None:
        for index in self.order:
            nest(self, self.names[index], nn.Linear(D, D, bias=self.bias))

    def project(self, x: Tensor) -> Sequence[Tensor]:
        return [reach(self, name)(x) for name in self.names[:3]]

    def finish(self, context: Tensor) -> Tensor:
        return reach(self, self.names[3])(context)


def named(names: str, order: Sequence[int] = (3, 1, 0, 2), bias: bool = True) -> Build:
    """Return a builder whose creation order is no help."""
    style = type("Style", (Named,), {"names": names.split(), "order": order, "bias": bias})
    return lambda d_model, num_heads, _: style(d_model, num_heads)


CLEAR_NAMES = (
    "q_proj k_proj v_proj out_proj",
    "q_proj k_proj v_proj o_proj",
    "query key value out",
    "query key value output",
    "queries keys values fc_out",
    "w_q w_k w_v w_o",
    "wq wk wv wo",
    "Wq Wk Wv Wo",
    "WQ WK WV WO",
    "W_Q W_K W_V W_O",
    "W_q W_k W_v W_out",
    "w_qs w_ks w_vs fc",
    "to_q to_k to_v to_out",
    "toqueries tokeys tovalues unifyheads",
    "q_linear k_linear v_linear out",
    "linear_q linear_k linear_v linear_out",
    "W_query W_key W_value out_proj",
    "fc_q fc_k fc_v fc_o",
    "Q K V O",
    "q k v proj",
    "proj_q proj_k proj_v proj",
    "get_keys.q get_keys.k get_keys.v combine_heads",
    "get_queries get_keys get_values merge",
    "key_layer.q key_layer.k key_layer.v dense",
    "query_layer key_layer value_layer output_linear",
    "query_transform key_transform value_transform final_proj",
    "query_proj_layer key_proj_layer value_proj_layer mix",
    "queryProjection keyProjection valueProjection outputProjection",
    "attention.query attention.key attention.value attention.c_proj",
    "attention.self.query attention.self.key attention.self.value attention.output.dense",
    "linears.q linears.k linears.v linears.o",
    "projections.q.0 projections.k.0 projections.v.0 projections.out.0",
    "q.linear k.linear v.linear o.linear",
    "map_q map_k map_v linear",
    "attn_q attn_k attn_v attn_o",
    "head_q head_k head_v concat",
    "qs ks vs recombine",
    "Wqs Wks Wvs last",
    "q_net k_net v_net o_net",
    "lin_q lin_k lin_v lin_final",
    "b.w_q b.w_k b.w_v b.w_concat",
)


@pytest.mark.parametrize("names", CLEAR_NAMES)
def test_clear_names_decide_alone(names: str) -> None:
    working, count, first = working_guesses(named(names), attention_reference, ATTENTION, SIZES)
    assert count == 1
    assert working == {0}
    assert not first[0].leftover
    assert not first[0].absent
    assert not first[0].notes


@pytest.mark.parametrize(
    "names", ["key query value out", "q v k o", "out_proj k_proj v_proj q_proj"]
)
def test_swapped_clear_names_are_never_put_right(names: str) -> None:
    sizes = SIZES[:2]
    working, count, _ = working_guesses(named(names), attention_reference, ATTENTION, sizes)
    assert count == 1
    assert working == set()


def test_one_layer_without_a_telling_name_takes_the_role_that_is_left() -> None:
    build = named("q_proj foo v_proj out_proj")
    working, count, first = working_guesses(build, attention_reference, ATTENTION, SIZES)
    assert (working, count) == ({0}, 1)
    assert first[0].notes == (
        "`foo` was taken for the key projection, since its name does not say",
    )


@pytest.mark.parametrize(
    "names",
    ["linears.0 linears.1 linears.2 linears.3", "a b c d", "layer1 layer2 layer3 layer4",
     "projections.0 projections.1 projections.2 out", "qkv.0 qkv.1 qkv.2 proj",
     "w1 w2 w3 dense", "q foo bar out", "linear_0 linear_1 linear_2 linear_3"],
)  # fmt: skip
def test_without_names_creation_order_is_the_first_guess(names: str) -> None:
    build = named(names, (0, 1, 2, 3))
    working, count, _ = working_guesses(build, attention_reference, ATTENTION, SIZES[:4])
    assert 0 in working
    assert count > 1


def test_without_names_another_order_is_found_by_trying() -> None:
    build = named("linears.3 linears.1 linears.0 linears.2", (2, 1, 3, 0))
    working, count, _ = working_guesses(build, attention_reference, ATTENTION, SIZES[:4])
    assert len(working) == 1
    assert 0 not in working
    assert count == 24


def test_projections_without_bias_are_free() -> None:
    build = named("q_proj k_proj v_proj out_proj", bias=False)
    working, count, first = working_guesses(build, attention_reference, ATTENTION, SIZES)
    assert (working, count) == ({0}, 1)
    assert first[0].absent == ("q_proj.bias", "k_proj.bias", "v_proj.bias", "out_proj.bias")


# --- attention: layouts -----------------------------------------------------------


class Fused(Attention):
    """One Linear(D, 3D); `pattern` is how its rows are cut, `order` what comes out."""

    name, out_name = "qkv", "proj"
    pattern: str = "fhd"
    order: str = "qkv"

    def build(self, D: int, H: int, d: int) -> None:
        setattr(self, self.name, nn.Linear(D, 3 * D))
        setattr(self, self.out_name, nn.Linear(D, D))

    def project(self, x: Tensor) -> Sequence[Tensor]:
        sizes = {"f": 3, "h": self.num_heads, "d": self.head_dim}
        parts = getattr(self, self.name)(x).unflatten(-1, [sizes[a] for a in self.pattern])
        axes = [2 + self.pattern.index(a) for a in "fhd"]
        parts = parts.permute(axes[0], 0, axes[1], 1, axes[2])  # (3, B, H, L, d)
        return [parts[self.order.index(letter)] for letter in "qkv"]

    def finish(self, context: Tensor) -> Tensor:
        return getattr(self, self.out_name)(context)


FUSED = {
    **{f"rows {p}": {"pattern": p} for p in ("fhd", "hfd", "hdf", "fdh", "dfh", "dhf")},
    **{f"order {o}": {"order": o} for o in ("kqv", "vkq", "vqk", "qvk", "kvq")},
    "in c_attn": {"name": "c_attn", "out_name": "c_proj"},
    "in to_qkv": {"name": "to_qkv", "out_name": "to_out"},
    "in Wqkv": {"name": "Wqkv", "out_name": "Wo"},
    "in qkv_proj": {"name": "qkv_proj", "pattern": "hfd", "out_name": "o_proj"},
    "in kqv": {"name": "kqv", "order": "kqv"},
    "in query_key_value": {"name": "query_key_value", "pattern": "hfd", "out_name": "dense"},
    "in W_pack": {"name": "W_pack", "out_name": "o_proj"},
    "in combined": {"name": "foo", "out_name": "bar", "order": "kvq", "pattern": "hfd"},
}


@pytest.mark.parametrize("style", FUSED)
def test_every_fused_layout_is_found(style: str) -> None:
    made = type("Style", (Fused,), FUSED[style])
    working, count, first = working_guesses(
        lambda D, H, _: made(D, H), attention_reference, ATTENTION, SIZES[:4]
    )
    assert len(working) == 1
    assert count == 36
    assert not first[0].leftover


def test_the_order_in_a_fused_name_comes_first() -> None:
    made = type("Style", (Fused,), {"name": "kqv", "order": "kqv"})
    working, _, _ = working_guesses(
        lambda D, H, _: made(D, H), attention_reference, ATTENTION, SIZES[:2]
    )
    assert working == {0}


class KeyValue(Attention):
    def build(self, D: int, H: int, d: int) -> None:
        self.to_q = nn.Linear(D, D, bias=False)
        self.to_kv = nn.Linear(D, 2 * D, bias=False)
        self.to_out = nn.Sequential(nn.Linear(D, D), nn.Dropout(0.0))

    def project(self, x: Tensor) -> Sequence[Tensor]:
        return [self.to_q(x), *self.to_kv(x).chunk(2, dim=-1)]

    def finish(self, context: Tensor) -> Tensor:
        return self.to_out(context)


class UnnamedKeyValue(KeyValue):
    def build(self, D: int, H: int, d: int) -> None:
        super().build(D, H, d)
        self.both = nn.Linear(D, 2 * D)
        self.query, self.out = nn.Linear(D, D), nn.Linear(D, D)
        del self.to_kv, self.to_q, self.to_out

    def project(self, x: Tensor) -> Sequence[Tensor]:
        return [self.query(x), *self.both(x).chunk(2, dim=-1)]

    def finish(self, context: Tensor) -> Tensor:
        return reach(self, "out")(context)


class QueryKey(Attention):
    def build(self, D: int, H: int, d: int) -> None:
        self.qk = nn.Linear(D, 2 * D)
        self.v = nn.Linear(D, D)
        self.out = nn.Linear(D, D)

    def project(self, x: Tensor) -> Sequence[Tensor]:
        return [*self.qk(x).chunk(2, dim=-1), self.v(x)]


class RawInFirst(Attention):
    """Raw matrices for x @ W, each with a bias beside it."""

    def build(self, D: int, H: int, d: int) -> None:
        for letter in "qkvo":
            setattr(self, f"W_{letter}", nn.Parameter(torch.randn(D, D)))
            setattr(self, f"b_{letter}", nn.Parameter(torch.randn(D)))

    def project(self, x: Tensor) -> Sequence[Tensor]:
        return [x @ getattr(self, f"W_{n}") + getattr(self, f"b_{n}") for n in "qkv"]

    def finish(self, context: Tensor) -> Tensor:
        return context @ reach(self, "W_o") + reach(self, "b_o")


class RawOutFirst(RawInFirst):
    def project(self, x: Tensor) -> Sequence[Tensor]:
        return [F.linear(x, getattr(self, f"W_{n}"), getattr(self, f"b_{n}")) for n in "qkv"]

    def finish(self, context: Tensor) -> Tensor:
        return F.linear(context, reach(self, "W_o"), reach(self, "b_o"))


class RawMixed(RawInFirst):
    def finish(self, context: Tensor) -> Tensor:
        return F.linear(context, reach(self, "W_o"), reach(self, "b_o"))


class RawSquashedNames(Attention):
    def build(self, D: int, H: int, d: int) -> None:
        for part in ("query", "key", "value", "out"):
            setattr(self, f"{part}_weight", nn.Parameter(torch.randn(D, D)))
            setattr(self, f"b{part[0]}", nn.Parameter(torch.randn(D)))

    def project(self, x: Tensor) -> Sequence[Tensor]:
        parts = ("query", "key", "value")
        return [x @ getattr(self, f"{p}_weight") + getattr(self, f"b{p[0]}") for p in parts]

    def finish(self, context: Tensor) -> Tensor:
        return context @ reach(self, "out_weight") + reach(self, "bo")


class RawTransposed(RawInFirst):
    """Parameters that are not contiguous."""

    def build(self, D: int, H: int, d: int) -> None:
        super().build(D, H, d)
        self.W_q = nn.Parameter(torch.randn(D, D).t())


class RawHeads(Attention):
    """(H, D, d) for q, k, v with biases (H, 1, d), and (H, d, D) for the output."""

    def build(self, D: int, H: int, d: int) -> None:
        for letter in "qkv":
            setattr(self, f"W_{letter}", nn.Parameter(torch.randn(H, D, d)))
            setattr(self, f"b_{letter}", nn.Parameter(torch.randn(H, 1, d)))
        self.W_o = nn.Parameter(torch.randn(H, d, D))

    def project(self, x: Tensor) -> Sequence[Tensor]:
        return [x[:, None] @ getattr(self, f"W_{n}") + getattr(self, f"b_{n}") for n in "qkv"]

    def finish(self, context: Tensor) -> Tensor:
        return torch.einsum(
            "blhd,hdo->blo", context.unflatten(-1, reach(self, "W_o").shape[:2]), reach(self, "W_o")
        )


class RawFlax(RawHeads):
    """(D, H, d) as einsum likes it, and (H, d, D) for the output."""

    def build(self, D: int, H: int, d: int) -> None:
        for part in ("query", "key", "value"):
            setattr(self, f"{part}_kernel", nn.Parameter(torch.randn(D, H, d)))
            setattr(self, f"{part}_bias", nn.Parameter(torch.randn(H, d)))
        self.W_o = nn.Parameter(torch.randn(H, d, D))

    def project(self, x: Tensor) -> Sequence[Tensor]:
        parts = ("query", "key", "value")
        return [
            torch.einsum("bli,ihd->bhld", x, getattr(self, f"{p}_kernel"))
            + getattr(self, f"{p}_bias")[:, None]
            for p in parts
        ]


class RawHeadsOutFirst(RawHeads):
    """(H, d, D): each head's matrix as nn.Linear stores it."""

    def build(self, D: int, H: int, d: int) -> None:
        super().build(D, H, d)
        for letter in "qkv":
            setattr(self, f"W_{letter}", nn.Parameter(torch.randn(H, d, D)))

    def project(self, x: Tensor) -> Sequence[Tensor]:
        return [
            x[:, None] @ getattr(self, f"W_{n}").transpose(1, 2) + getattr(self, f"b_{n}")
            for n in "qkv"
        ]


class RawOrder(Attention):
    """Three axes in any order: `inner` for q, k, v and `outer` for the output."""

    inner, outer = "ihd", "hdo"

    def build(self, D: int, H: int, d: int) -> None:
        sizes = {"i": D, "h": H, "d": d, "o": D}
        for letter in "qkv":
            shape = [sizes[axis] for axis in self.inner]
            setattr(self, f"w_{letter}", nn.Parameter(torch.randn(shape)))
        self.w_o = nn.Parameter(torch.randn([sizes[axis] for axis in self.outer]))

    def project(self, x: Tensor) -> Sequence[Tensor]:
        return [torch.einsum(f"bli,{self.inner}->bhld", x, getattr(self, f"w_{n}")) for n in "qkv"]

    def finish(self, context: Tensor) -> Tensor:
        split = context.unflatten(-1, (self.num_heads, self.head_dim))
        return torch.einsum(f"blhd,{self.outer}->blo", split, reach(self, "w_o"))


class RawWithBias(Attention):
    """(D + 1, D) for an input with a 1 at its end; `turned` is (D, D + 1)."""

    turned = False

    def build(self, D: int, H: int, d: int) -> None:
        for letter in "qkvo":
            shape = (D, D + 1) if self.turned else (D + 1, D)
            setattr(self, f"W_{letter}", nn.Parameter(torch.randn(shape)))

    def apply_to(self, x: Tensor, letter: str) -> Tensor:
        weight = getattr(self, f"W_{letter}")
        return F.pad(x, (0, 1), value=1.0) @ (weight.T if self.turned else weight)

    def project(self, x: Tensor) -> Sequence[Tensor]:
        return [self.apply_to(x, letter) for letter in "qkv"]

    def finish(self, context: Tensor) -> Tensor:
        return self.apply_to(context, "o")


class RawWithBiasTurned(RawWithBias):
    turned = True


class RawFusedWithBias(RawWithBias):
    """(3, H, D + 1, d)."""

    def build(self, D: int, H: int, d: int) -> None:
        super().build(D, H, d)
        del self.W_q, self.W_k, self.W_v
        self.W = nn.Parameter(torch.randn(3, H, D + 1, d))

    def project(self, x: Tensor) -> Sequence[Tensor]:
        return [F.pad(x, (0, 1), value=1.0)[:, None] @ self.W[i] for i in range(3)]


class RawLetters(RawOrder):
    """Names that say nothing, and one that a bias might have."""

    def build(self, D: int, H: int, d: int) -> None:
        super().build(D, H, d)
        self.A, self.B, self.C, self.E = self.w_q, self.w_k, self.w_v, self.w_o
        del self.w_q, self.w_k, self.w_v, self.w_o

    def project(self, x: Tensor) -> Sequence[Tensor]:
        return [torch.einsum("bli,ihd->bhld", x, w) for w in (self.A, self.B, self.C)]

    def finish(self, context: Tensor) -> Tensor:
        return context @ self.E.flatten(0, 1)


class RawFusedOrder(RawOrder):
    """Four axes in any order, with a bias (3, H, 1, d)."""

    fused = "fhid"

    def build(self, D: int, H: int, d: int) -> None:
        super().build(D, H, d)
        del self.w_q, self.w_k, self.w_v
        sizes = {"f": 3, "i": D, "h": H, "d": d}
        self.wqkv = nn.Parameter(torch.randn([sizes[axis] for axis in self.fused]))
        self.bqkv = nn.Parameter(torch.randn(3, H, 1, d))

    def project(self, x: Tensor) -> Sequence[Tensor]:
        parts = torch.einsum(f"bli,{self.fused}->fbhld", x, self.wqkv) + self.bqkv[:, None]
        return parts.unbind(0)


class RawFusedLikeTorch(Attention):
    def build(self, D: int, H: int, d: int) -> None:
        self.in_proj_weight = nn.Parameter(torch.randn(3 * D, D))
        self.in_proj_bias = nn.Parameter(torch.randn(3 * D))
        self.out_proj = nn.Linear(D, D)

    def project(self, x: Tensor) -> Sequence[Tensor]:
        return F.linear(x, self.in_proj_weight, self.in_proj_bias).chunk(3, dim=-1)

    def finish(self, context: Tensor) -> Tensor:
        return self.out_proj(context)


class RawFusedInFirst(RawFusedLikeTorch):
    def build(self, D: int, H: int, d: int) -> None:
        self.W_qkv = nn.Parameter(torch.randn(D, 3 * D))
        self.out_proj = nn.Linear(D, D)

    def project(self, x: Tensor) -> Sequence[Tensor]:
        return (x @ self.W_qkv).chunk(3, dim=-1)


class RawStacked(RawFusedLikeTorch):
    """(3, D, D) for x @ W."""

    def build(self, D: int, H: int, d: int) -> None:
        self.qkv_weight = nn.Parameter(torch.randn(3, D, D))
        self.qkv_bias = nn.Parameter(torch.randn(3, 1, D))
        self.out_proj = nn.Linear(D, D)

    def project(self, x: Tensor) -> Sequence[Tensor]:
        return [x @ self.qkv_weight[i] + self.qkv_bias[i] for i in range(3)]


class RawStackedOutFirst(RawStacked):
    def project(self, x: Tensor) -> Sequence[Tensor]:
        return [F.linear(x, self.qkv_weight[i], self.qkv_bias[i, 0]) for i in range(3)]


class RawStackedHeads(RawFusedLikeTorch):
    """(3, H, D, d)."""

    def build(self, D: int, H: int, d: int) -> None:
        self.W = nn.Parameter(torch.randn(3, H, D, d))
        self.out_proj = nn.Linear(D, D)

    def project(self, x: Tensor) -> Sequence[Tensor]:
        return [x[:, None] @ self.W[i] for i in range(3)]


class RawList(Attention):
    def build(self, D: int, H: int, d: int) -> None:
        self.weights = nn.ParameterList([torch.randn(D, D) for _ in range(4)])
        self.biases = nn.ParameterList([torch.randn(D) for _ in range(4)])

    def project(self, x: Tensor) -> Sequence[Tensor]:
        return [x @ self.weights[i] + self.biases[i] for i in range(3)]

    def finish(self, context: Tensor) -> Tensor:
        return context @ self.weights[3] + self.biases[3]


class LooseBiases(Attention):
    """A fused layer without bias, and biases of q and v alone, as in BEiT."""

    def build(self, D: int, H: int, d: int) -> None:
        self.qkv = nn.Linear(D, 3 * D, bias=False)
        self.q_bias = nn.Parameter(torch.zeros(D))
        self.v_bias = nn.Parameter(torch.zeros(D))
        self.proj = nn.Linear(D, D)

    def project(self, x: Tensor) -> Sequence[Tensor]:
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        return [q + self.q_bias, k, v + self.v_bias]

    def finish(self, context: Tensor) -> Tensor:
        return self.proj(context)


class HeadLists(Attention):
    """H small Linears in a list for each of q, k and v."""

    def build(self, D: int, H: int, d: int) -> None:
        self.keys = nn.ModuleList([nn.Linear(D, d) for _ in range(H)])
        self.queries = nn.ModuleList([nn.Linear(D, d) for _ in range(H)])
        self.values = nn.ModuleList([nn.Linear(D, d, bias=False) for _ in range(H)])
        self.out = nn.Linear(D, D)

    def project(self, x: Tensor) -> Sequence[Tensor]:
        return [
            torch.stack([layer(x) for layer in layers], dim=1)
            for layers in (self.queries, self.keys, self.values)
        ]


class Head(nn.Module):
    def __init__(self, D: int, d: int) -> None:
        super().__init__()
        self.k, self.q, self.v = (nn.Linear(D, d) for _ in range(3))


class HeadModules(Attention):
    def build(self, D: int, H: int, d: int) -> None:
        self.heads = nn.ModuleList([Head(D, d) for _ in range(H)])
        self.out = nn.Linear(D, D)

    def project(self, x: Tensor) -> Sequence[Tensor]:
        return [torch.stack([getattr(h, n)(x) for h in self.heads], 1) for n in "qkv"]


class HeadFused(HeadModules):
    def build(self, D: int, H: int, d: int) -> None:
        self.heads = nn.ModuleList([nn.ModuleDict({"qkv": nn.Linear(D, 3 * d)}) for _ in range(H)])
        self.out = nn.Linear(D, D)

    def project(self, x: Tensor) -> Sequence[Tensor]:
        parts = torch.stack([head["qkv"](x) for head in self.heads], 1)  # type: ignore[index]
        return parts.chunk(3, dim=-1)


class HeadFusedList(HeadModules):
    """A list of H fused Linears, under any name."""

    name = "qkvs"

    def build(self, D: int, H: int, d: int) -> None:
        setattr(self, self.name, nn.ModuleList([nn.Linear(D, 3 * d) for _ in range(H)]))
        self.out = nn.Linear(D, D)

    def project(self, x: Tensor) -> Sequence[Tensor]:
        return torch.stack([layer(x) for layer in reach(self, self.name)], 1).chunk(3, dim=-1)


class HeadFusedUnnamed(HeadFusedList):
    name = "heads"


class HeadKeyValues(HeadModules):
    """A list of H queries, and one of H Linears for key and value."""

    def build(self, D: int, H: int, d: int) -> None:
        self.kv = nn.ModuleList([nn.Linear(D, 2 * d) for _ in range(H)])
        self.q = nn.ModuleList([nn.Linear(D, d) for _ in range(H)])
        self.out = nn.Linear(D, D)

    def project(self, x: Tensor) -> Sequence[Tensor]:
        key, value = torch.stack([layer(x) for layer in self.kv], 1).chunk(2, dim=-1)
        return [torch.stack([layer(x) for layer in self.q], 1), key, value]


class HeadAttributes(HeadModules):
    """q_0, q_1, …: a number for each head in the name."""

    def build(self, D: int, H: int, d: int) -> None:
        for head in range(H):
            for letter in "qkv":
                setattr(self, f"{letter}_{head}", nn.Linear(D, d))
        self.out = nn.Linear(D, D)

    def project(self, x: Tensor) -> Sequence[Tensor]:
        return [
            torch.stack([getattr(self, f"{n}_{h}")(x) for h in range(self.num_heads)], 1)
            for n in "qkv"
        ]


class HeadsSummed(HeadLists):
    """An output layer for each head, and the sum of what they give."""

    def build(self, D: int, H: int, d: int) -> None:
        super().build(D, H, d)
        self.out = nn.ModuleList([nn.Linear(d, D) for _ in range(H)])

    def finish(self, context: Tensor) -> Tensor:
        parts = context.split(self.head_dim, dim=-1)
        return torch.stack([o(p) for o, p in zip(self.out, parts, strict=True)]).sum(0)


class HeadsSummedOneBias(HeadsSummed):
    """The sum has one bias; the other heads' layers have none."""

    def build(self, D: int, H: int, d: int) -> None:
        super().build(D, H, d)
        self.out = nn.ModuleList([nn.Linear(d, D, bias=head == 0) for head in range(H)])


class Convolutions(Attention):
    def build(self, D: int, H: int, d: int) -> None:
        for name in ("conv_q", "conv_k", "conv_v", "conv_o"):
            setattr(self, name, nn.Conv1d(D, D, 1))

    def project(self, x: Tensor) -> Sequence[Tensor]:
        flipped = x.transpose(1, 2)
        return [getattr(self, f"conv_{n}")(flipped).transpose(1, 2) for n in "qkv"]

    def finish(self, context: Tensor) -> Tensor:
        return reach(self, "conv_o")(context.transpose(1, 2)).transpose(1, 2)


class Conv1D(nn.Module):
    """GPT-2's: a weight (in, out)."""

    def __init__(self, out: int, inner: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(inner, out))
        self.bias = nn.Parameter(torch.zeros(out))

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.weight + self.bias


class GPT2(Attention):
    def build(self, D: int, H: int, d: int) -> None:
        self.c_attn = Conv1D(3 * D, D)
        self.c_proj = Conv1D(D, D)

    def project(self, x: Tensor) -> Sequence[Tensor]:
        return self.c_attn(x).chunk(3, dim=-1)

    def finish(self, context: Tensor) -> Tensor:
        return self.c_proj(context)


class HandLinear(nn.Module):
    def __init__(self, inner: int, out: int) -> None:
        super().__init__()
        self.W = nn.Parameter(torch.randn(out, inner))
        self.b = nn.Parameter(torch.zeros(out))

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.W.T + self.b


class HandWritten(Attention):
    def build(self, D: int, H: int, d: int) -> None:
        self.v, self.k, self.q, self.out = (HandLinear(D, D) for _ in range(4))

    def project(self, x: Tensor) -> Sequence[Tensor]:
        return [self.q(x), self.k(x), self.v(x)]


class TorchOwn(nn.Module):
    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.mha = nn.MultiheadAttention(d_model, num_heads, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.mha(x, x, x, need_weights=False)[0]


class Shared(Named):
    """A layer that is reachable under two names counts once."""

    names = ("q_proj", "k_proj", "v_proj", "out_proj")

    def build(self, D: int, H: int, d: int) -> None:
        super().build(D, H, d)
        self.layers = nn.ModuleList([reach(self, name) for name in self.names])
        self.weight_alias = reach(self, "out_proj").weight


LAYOUTS: tuple[type[nn.Module], ...] = (
    KeyValue,
    UnnamedKeyValue,
    QueryKey,
    RawInFirst,
    RawOutFirst,
    RawMixed,
    RawSquashedNames,
    RawTransposed,
    RawHeads,
    RawLetters,
    RawWithBias,
    RawWithBiasTurned,
    RawFusedWithBias,
    RawFlax,
    RawHeadsOutFirst,
    RawFusedLikeTorch,
    RawFusedInFirst,
    RawStacked,
    RawStackedOutFirst,
    RawStackedHeads,
    RawList,
    LooseBiases,
    HeadLists,
    HeadModules,
    HeadFused,
    HeadFusedList,
    HeadFusedUnnamed,
    HeadKeyValues,
    HeadAttributes,
    HeadsSummedOneBias,
    Convolutions,
    GPT2,
    HandWritten,
    TorchOwn,
)


@pytest.mark.parametrize("style", LAYOUTS, ids=lambda style: style.__name__)
def test_every_layout_is_found(style: type[nn.Module]) -> None:
    working, count, first = working_guesses(
        lambda D, H, _: style(D, H), attention_reference, ATTENTION, SIZES
    )
    assert working, describe_missing(first[0], ATTENTION)
    assert count <= 200
    assert not first[0].leftover


@pytest.mark.parametrize("style", [RawInFirst, RawHeads, RawStacked, HeadLists, HeadModules, GPT2])
def test_the_usual_layout_is_the_first_guess(style: type[nn.Module]) -> None:
    working, _, _ = working_guesses(
        lambda D, H, _: style(D, H), attention_reference, ATTENTION, SIZES
    )
    assert 0 in working


@pytest.mark.parametrize("style", [HeadLists, HeadModules, HeadAttributes, Convolutions, Shared])
def test_layers_with_clear_names_and_shapes_have_one_reading(style: type[nn.Module]) -> None:
    working, count, _ = working_guesses(
        lambda D, H, _: style(D, H), attention_reference, ATTENTION, SIZES
    )
    assert (working, count) == ({0}, 1)


ORDERS = [
    *({"inner": "".join(order)} for order in permutations("ihd")),
    *({"outer": "".join(order)} for order in permutations("hdo")),
]


@pytest.mark.parametrize("orders", ORDERS, ids=lambda orders: " ".join(orders.values()))
def test_every_order_of_axes_of_a_raw_matrix_is_found(orders: dict[str, str]) -> None:
    made = type("Style", (RawOrder,), orders)
    working, count, first = working_guesses(
        lambda D, H, _: made(D, H), attention_reference, ATTENTION, SIZES
    )
    # Where all axes differ in length there is no doubt.
    assert (working, count) == ({0}, 1), describe_missing(first[0], ATTENTION)


@pytest.mark.parametrize("fused", ["".join(order) for order in permutations("fihd")])
def test_every_order_of_axes_of_a_raw_fused_matrix_is_found(fused: str) -> None:
    made = type("Style", (RawFusedOrder,), {"fused": fused})
    working, count, first = working_guesses(
        lambda D, H, _: made(D, H), attention_reference, ATTENTION, (*SIZES, (9, 3, 4))
    )
    assert 0 in working, describe_missing(first[0], ATTENTION)
    assert count == 6  # the orders of q, k and v
    assert not first[0].leftover


@pytest.mark.parametrize("axes", ["fio", "ifo", "iof", "foi", "ofi", "oif"])
def test_all_four_projections_of_a_single_head_in_one_parameter(axes: str) -> None:
    class Packed(nn.Module):
        def __init__(self, d_model: int) -> None:
            super().__init__()
            sizes = {"f": 4, "i": d_model, "o": d_model}
            self.P = nn.Parameter(torch.randn([sizes[axis] for axis in axes]))

        def forward(self, x: Tensor) -> Tensor:
            q, k, v, o = self.P.permute([axes.index(axis) for axis in "fio"])
            return F.scaled_dot_product_attention(x @ q, x @ k, x @ v) @ o

    twin = twin_of(Packed, {"d_model": 70})
    working = set(range(200))
    for d_model in (6, 4, 3, 1):
        expected = Expected(
            KATA3.MultiHeadSelfAttention(d_model, 1).double(), inputs_for(d_model, 1)
        )
        module = Packed(d_model).double()
        guesses = alignments(module, ATTENTION, expected.shapes, 1, (), twin)
        working &= {n for n, guess in enumerate(guesses) if expected.reproduced(module, guess)}
    assert working


def test_swapped_clear_names_of_raw_matrices_are_never_put_right() -> None:
    class Swapped(RawOrder):
        def project(self, x: Tensor) -> Sequence[Tensor]:
            q, k, v = super().project(x)
            return [q, v, k]

    working, count, _ = working_guesses(
        lambda D, H, _: Swapped(D, H), attention_reference, ATTENTION, SIZES[:2]
    )
    assert (working, count) == (set(), 1)


def test_a_list_of_projections_is_not_taken_for_heads() -> None:
    class Three(Attention):
        def build(self, D: int, H: int, d: int) -> None:
            self.inner = nn.ModuleList([nn.Linear(D, D) for _ in range(3)])
            self.out = nn.Linear(D, D)

        def project(self, x: Tensor) -> Sequence[Tensor]:
            return [layer(x) for layer in self.inner]

    working, _, _ = working_guesses(
        lambda D, H, _: Three(D, H), attention_reference, ATTENTION, ((12, 3, 4), *SIZES)
    )
    assert 0 in working


def test_a_module_of_fixed_sizes_is_read_by_its_own_shapes() -> None:
    class Fixed(RawHeads):
        def __init__(self, d_model: int, num_heads: int) -> None:
            super().__init__(12, 2)

    expected = Expected(attention_reference(12, 2, 0).double(), inputs_for(12, 1))
    twin = twin_of(Fixed, {"d_model": 12, "num_heads": 2})
    module = Fixed(12, 2).double()
    guess = alignments(module, ATTENTION, expected.shapes, 2, (), twin)[0]
    assert expected.reproduced(module, guess)


def test_a_constructor_that_refuses_other_sizes_has_no_twin() -> None:
    def refuse(d_model: int) -> nn.Module:
        raise ValueError(d_model)

    assert twin_of(refuse, {"d_model": 12}) is None


def test_output_layers_of_single_heads_are_summed() -> None:
    module = HeadsSummed(12, 2).double()
    expected = Expected(attention_reference(12, 2, 0).double(), inputs_for(12, 1))
    (guess,) = alignments(module, ATTENTION, expected.shapes, 2)
    assert guess.zeroed == ("out.1.bias",)
    assert expected.reproduced(module, guess)


def test_an_unusual_order_is_noted() -> None:
    made = type("Style", (Fused,), {"order": "vkq"})
    guesses = alignments(made(12, 2), ATTENTION, shapes_of(attention_reference(12, 2, 0)), 2)
    assert guesses[0].notes == ()
    noted = [guess for guess in guesses if "value, key, query" in " ".join(guess.notes)]
    assert len(noted) == 6


# --- layers of katas 6 to 8 -----------------------------------------------------


class HandNorm(nn.Module):
    names = ("a_2", "b_2")

    def __init__(self, d_model: int, names: tuple[str, str] | None = None) -> None:
        super().__init__()
        self.names = names or self.names
        setattr(self, self.names[0], nn.Parameter(torch.ones(d_model)))
        setattr(self, self.names[1], nn.Parameter(torch.zeros(d_model)))

    def forward(self, x: Tensor) -> Tensor:
        gain, shift = (getattr(self, name) for name in self.names)
        return F.layer_norm(x, x.shape[-1:], gain, shift)


Parts = dict[str, str]


class Block(nn.Module):
    """An encoder or decoder layer under any names, registered in the order given."""

    def __init__(self, sizes: tuple[int, int, int], parts: Parts, make: Mapping[str, Any]) -> None:
        super().__init__()
        d_model, num_heads, d_ff = sizes
        makers: dict[str, Callable[[], Any]] = {
            "self": lambda: MultiHeadSelfAttention(d_model, num_heads),
            "cross": lambda: MultiHeadCrossAttention(d_model, num_heads),
            "ffn_in": lambda: nn.Linear(d_model, d_ff),
            "ffn_out": lambda: nn.Linear(d_ff, d_model),
            "norm": lambda: nn.LayerNorm(d_model),
        } | {
            kind: (lambda build=build: build(d_model, num_heads, d_ff))
            for kind, build in make.items()
        }
        self.parts = parts
        for part, path in parts.items():
            nest(
                self,
                path,
                makers.get(
                    part, makers[part.rstrip("123")] if part[-1] in "123" else makers[part]
                )(),
            )

    def call(self, part: str, *inputs: Tensor) -> Tensor:
        return reach(self, self.parts[part])(*inputs)

    def forward(self, x: Tensor, memory: Tensor | None = None) -> Tensor:
        x = self.call("norm1", x + self.call("self", x))
        last = "norm2"
        if memory is not None:
            x = self.call("norm2", x + self.call("cross", x, memory))
            last = "norm3"
        return self.call(last, x + self.call("ffn_out", F.relu(self.call("ffn_in", x))))


def block(text: str, **make: Any) -> Build:
    """Return a builder from "part=path part=path …", in the order of registration."""
    parts = dict(item.split("=") for item in text.split())
    return lambda d_model, num_heads, d_ff: Block((d_model, num_heads, d_ff), parts, make)


ENCODERS = {
    "canonical": "self=self_attn ffn_in=linear1 ffn_out=linear2 norm1=norm1 norm2=norm2",
    "backwards": "norm2=norm2 norm1=norm1 ffn_out=linear2 ffn_in=linear1 self=self_attn",
    "zero-based": "norm2=norms.1 norm1=norms.0 ffn_out=ffn.3 ffn_in=ffn.0 self=mha",
    "underscores": "self=attn norm2=ln_2 norm1=ln_1 ffn_out=w_2 ffn_in=w_1",
    "gpt": "norm2=ln_2 norm1=ln_1 ffn_out=mlp.c_proj ffn_in=mlp.c_fc self=attn",
    "what they follow": "norm2=norm_ffn norm1=norm_attn"
    " ffn_out=ffn.fc2 ffn_in=ffn.fc1 self=attention",
    "fairseq": "norm2=final_layer_norm norm1=self_attn_layer_norm"
    " ffn_out=fc2 ffn_in=fc1 self=self_attn",
    "words": "norm2=ff_norm norm1=attention_norm"
    " ffn_out=feed_forward.down ffn_in=feed_forward.up self=att",
    "harvard": "self=self_attn ffn_out=feed_forward.w_2 ffn_in=feed_forward.w_1"
    " norm2=sublayer.1.norm norm1=sublayer.0.norm",
    "jadore": "norm2=pos_ffn.layer_norm ffn_out=pos_ffn.w_2 ffn_in=pos_ffn.w_1"
    " norm1=slf_attn.norm self=slf_attn.mha",
    "bare and second": "norm2=norm2 norm1=norm ffn_out=fc2 ffn_in=fc self=attn",
    "layerNorm1": "norm2=layerNorm2 norm1=layerNorm1 ffn_out=lin2 ffn_in=lin1 self=attnLayer",
    "t5": "norm2=layer.1.layer_norm norm1=layer.0.layer_norm ffn_out=layer.1.DenseReluDense.wo"
    " ffn_in=layer.1.DenseReluDense.wi self=layer.0.SelfAttention",
    "in sublayers": "norm2=sub2.norm norm1=sub1.norm"
    " ffn_out=sub2.fn.2 ffn_in=sub2.fn.0 self=sub1.fn",
}


@pytest.mark.parametrize("style", ENCODERS)
def test_names_decide_in_an_encoder_layer(style: str) -> None:
    working, count, first = working_guesses(block(ENCODERS[style]), Encoder, ENCODER, SIZES[:4])
    assert (working, count) == ({0}, 1), describe_missing(first[0], ENCODER)
    assert not first[0].leftover
    assert not first[0].notes


UNNAMED_ENCODERS = {
    "bert": "self=attention.self norm1=attention.output.LayerNorm ffn_in=intermediate.dense"
    " ffn_out=output.dense norm2=output.LayerNorm",
    "letters": "self=a ffn_in=b ffn_out=c norm1=d norm2=e",
    "norms unnamed": "self=attn norm1=norm_a norm2=norm_b ffn_in=ffn.0 ffn_out=ffn.2",
}


@pytest.mark.parametrize("style", UNNAMED_ENCODERS)
def test_order_is_the_first_guess_in_an_encoder_layer(style: str) -> None:
    build = block(UNNAMED_ENCODERS[style])
    working, count, _ = working_guesses(build, Encoder, ENCODER, SIZES[:4])
    assert 0 in working
    assert count > 1


def test_unnamed_layers_in_the_other_order_are_found_by_trying() -> None:
    build = block("norm2=d norm1=e ffn_out=x ffn_in=y self=attn")
    working, count, _ = working_guesses(build, Encoder, ENCODER, SIZES[:4])
    assert working
    assert 0 not in working
    assert count == 4


@pytest.mark.parametrize(
    "text",
    ["self=self_attn ffn_in=linear1 ffn_out=linear2 norm1=norm2 norm2=norm1",
     "self=self_attn ffn_in=linear1 ffn_out=linear2 norm1=norm_ffn norm2=norm_attn"],
)  # fmt: skip
def test_swapped_norms_are_never_put_right(text: str) -> None:
    assert working_guesses(block(text), Encoder, ENCODER, SIZES[:2])[:2] == (set(), 1)


def test_shapes_tell_the_feed_forward_layers_apart_whatever_their_numbers() -> None:
    text = "self=self_attn ffn_in=linear2 ffn_out=linear1 norm1=norm1 norm2=norm2"
    assert working_guesses(block(text), Encoder, ENCODER, SIZES)[:2] == ({0}, 1)


def test_swapped_feed_forward_layers_show_where_sizes_agree() -> None:
    text = "self=self_attn ffn_in=linear2 ffn_out=linear1 norm1=norm1 norm2=norm2"
    swapped = block(
        text,
        ffn_in=lambda D, H, F: nn.Linear(F, D),
        ffn_out=lambda D, H, F: nn.Linear(D, F),
    )
    assert working_guesses(swapped, Encoder, ENCODER, [(4, 1, 4)])[:2] == (set(), 1)


class ZeroCentred(nn.Module):
    """The gain is 1 + g."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.g, self.b = (nn.Parameter(torch.zeros(d_model)) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(x, x.shape[-1:], 1 + self.g, self.b)


def test_gains_to_which_the_layer_adds_one() -> None:
    text = "self=self_attn ffn_in=fc1 ffn_out=fc2 norm1=norm1 norm2=norm2"
    build = block(text, norm=lambda D, H, F: ZeroCentred(D))
    working, count, _ = working_guesses(build, Encoder, ENCODER, SIZES)
    assert (working, count) == ({1}, 2)


def test_ones_plus_one_are_no_gains() -> None:
    class Doubled(ZeroCentred):
        def __init__(self, d_model: int) -> None:
            super().__init__(d_model)
            nn.init.ones_(self.g)

    text = "self=self_attn ffn_in=fc1 ffn_out=fc2 norm1=norm1 norm2=norm2"
    build = block(text, norm=lambda D, H, F: Doubled(D))
    assert working_guesses(build, Encoder, ENCODER, SIZES[:2])[:2] == (set(), 1)


class FlatEncoder(nn.Module):
    """Everything in one module: attention, raw feed-forward matrices and raw norms."""

    def __init__(self, d_model: int, num_heads: int, d_ff: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.proj = nn.Linear(d_model, d_model)
        self.W1 = nn.Parameter(torch.randn(d_model, d_ff))
        self.b1 = nn.Parameter(torch.zeros(d_ff))
        self.W2 = nn.Parameter(torch.randn(d_ff, d_model))
        self.b2 = nn.Parameter(torch.zeros(d_model))
        for n in (2, 1):
            setattr(self, f"gamma{n}", nn.Parameter(torch.ones(d_model)))
            setattr(self, f"beta{n}", nn.Parameter(torch.zeros(1, 1, d_model)))

    def norm(self, x: Tensor, n: int) -> Tensor:
        plain = F.layer_norm(x, x.shape[-1:])
        return plain * getattr(self, f"gamma{n}") + getattr(self, f"beta{n}")

    def forward(self, x: Tensor) -> Tensor:
        heads = self.qkv(x).unflatten(-1, (3, self.num_heads, -1)).permute(2, 0, 3, 1, 4)
        context = F.scaled_dot_product_attention(*heads).transpose(1, 2).flatten(2)
        x = self.norm(x + self.proj(context), 1)
        return self.norm(x + F.relu(x @ self.W1 + self.b1) @ self.W2 + self.b2, 2)


class ConvEncoder(Encoder):
    def __init__(self, d_model: int, num_heads: int, d_ff: int) -> None:
        super().__init__(d_model, num_heads, d_ff)
        del self.linear1, self.linear2
        self.conv2 = nn.Conv1d(d_ff, d_model, kernel_size=1)
        self.conv1 = nn.Conv1d(d_model, d_ff, kernel_size=1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm1(x + self.self_attn(x))
        return self.norm2(x + self.conv2(F.relu(self.conv1(x.transpose(1, 2)))).transpose(1, 2))


class OpaqueBiases(Encoder):
    """Biases of the feed-forward network in raw vectors whose names say nothing."""

    names = ("up", "ub", "down", "db")
    row = False

    def __init__(self, d_model: int, num_heads: int, d_ff: int) -> None:
        super().__init__(d_model, num_heads, d_ff)
        del self.linear1, self.linear2, self.norm1, self.norm2
        shapes = (d_ff, d_model), (d_ff,), (d_model, d_ff), (d_model,)
        for name, shape in zip(self.names, shapes, strict=True):
            row = self.row and len(shape) == 1
            setattr(self, name, nn.Parameter(torch.randn((1, *shape) if row else shape)))
        self.n = nn.ModuleList([nn.LayerNorm(d_model), nn.LayerNorm(d_model)])

    def forward(self, x: Tensor) -> Tensor:
        up, ub, down, db = (getattr(self, name) for name in self.names)
        x = self.n[0](x + self.self_attn(x))
        return self.n[1](x + F.relu(x @ up.T + ub) @ down.T + db)


class OtherOpaqueBiases(OpaqueBiases):
    names = ("w1", "c", "w2", "e")


class BiasRows(OpaqueBiases):
    row = True


@pytest.mark.parametrize(
    "style", [FlatEncoder, ConvEncoder, OpaqueBiases, OtherOpaqueBiases, BiasRows]
)
def test_other_encoder_layouts(style: Build) -> None:
    working, _, first = working_guesses(style, Encoder, ENCODER, SIZES[:4])
    assert 0 in working
    assert not first[0].leftover


@pytest.mark.parametrize(
    "names", [("a_2", "b_2"), ("gamma", "beta"), ("weight", "bias"), ("gain", "shift"),
              ("alpha", "bias"), ("scale", "offset"), ("g", "b")],
)  # fmt: skip
def test_hand_written_norms(names: tuple[str, str]) -> None:
    build = block(ENCODERS["backwards"], norm=lambda D, H, F: HandNorm(D, names))
    working, count, _ = working_guesses(build, Encoder, ENCODER, SIZES[:4])
    assert (working, count) == ({0}, 1)


OWN_ATTENTIONS: dict[str, Build] = {
    "fused": lambda D, H, _: type("Own", (Fused,), {"pattern": "hfd"})(D, H),
    "heads": lambda D, H, _: HeadModules(D, H),
    "list": named("linears.0 linears.1 linears.2 linears.3", (0, 1, 2, 3)),
}


class RawNorms(Encoder):
    """Gains and shifts of both norms in raw parameters, which a subclass creates."""

    def __init__(self, d_model: int, num_heads: int, d_ff: int) -> None:
        super().__init__(d_model, num_heads, d_ff)
        del self.norm1, self.norm2
        self.hold(d_model)

    def hold(self, D: int) -> None:
        raise NotImplementedError

    def affine(self, n: int) -> tuple[Tensor, Tensor]:
        """Return gain and shift of norm 0 or 1."""
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        shape = x.shape[-1:]
        x = F.layer_norm(x + self.self_attn(x), shape, *self.affine(0))
        return F.layer_norm(x + self.feed(x), shape, *self.affine(1))

    def feed(self, x: Tensor) -> Tensor:
        return self.linear2(F.relu(self.linear1(x)))


class NumberedNorms(RawNorms):
    names: tuple[str, ...] = ("g1", "s1", "g2", "s2")

    def hold(self, D: int) -> None:
        for name in self.names:
            setattr(self, name, nn.Parameter(torch.randn(D)))

    def affine(self, n: int) -> tuple[Tensor, Tensor]:
        return getattr(self, self.names[2 * n]), getattr(self, self.names[2 * n + 1])


class NormsInADict(RawNorms):
    """Opaque names in a dictionary whose own name sounds like a gain."""

    def hold(self, D: int) -> None:
        self.weights = nn.ParameterDict({n: torch.randn(D) for n in ("g1", "h1", "g2", "h2")})

    def affine(self, n: int) -> tuple[Tensor, Tensor]:
        return self.weights[f"g{n + 1}"], self.weights[f"h{n + 1}"]


class ListedNorms(RawNorms):
    """A list of gains and one of shifts, beside a norm without either."""

    of_gain, of_shift = "gains", "shifts"

    def hold(self, D: int) -> None:
        self.standardise = nn.LayerNorm(D, elementwise_affine=False)
        for name in (self.of_gain, self.of_shift):
            setattr(self, name, nn.ParameterList([torch.randn(D) for _ in range(2)]))

    def affine(self, n: int) -> tuple[Tensor, Tensor]:
        return getattr(self, self.of_gain)[n], getattr(self, self.of_shift)[n]


class StackedNorms(ListedNorms):
    """(2, D) for the gains and for the shifts."""

    def hold(self, D: int) -> None:
        for name in (self.of_gain, self.of_shift):
            setattr(self, name, nn.Parameter(torch.randn(2, D)))


class OneStack(RawNorms):
    """All in one parameter; `axes` are D, the norms n and gain or shift a."""

    axes, shift_first, name = "naD", False, "affines"

    def hold(self, D: int) -> None:
        sizes = {"n": 2, "a": 2, "D": D}
        setattr(self, self.name, nn.Parameter(torch.randn([sizes[axis] for axis in self.axes])))

    def affine(self, n: int) -> tuple[Tensor, Tensor]:
        both = getattr(self, self.name).permute([self.axes.index(axis) for axis in "naD"])[n]
        return (both[1], both[0]) if self.shift_first else (both[0], both[1])


class StackForEach(RawNorms):
    """(2, D) with gain and shift for each norm."""

    def hold(self, D: int) -> None:
        self.norm1, self.norm2 = (nn.Parameter(torch.randn(2, D)) for _ in range(2))

    def affine(self, n: int) -> tuple[Tensor, Tensor]:
        both = (self.norm1, self.norm2)[n]
        return both[0], both[1]


class StackInEachModule(RawNorms):
    """(2, D) with gain and shift in a module for each norm, all of it called `gain`."""

    def hold(self, D: int) -> None:
        self.posts = nn.ModuleList([nn.Module(), nn.Module()])
        for post in self.posts:
            post.gain = nn.Parameter(torch.randn(2, D))

    def affine(self, n: int) -> tuple[Tensor, Tensor]:
        both = self.posts[n].get_parameter("gain")
        return both[0], both[1]


class OpaqueEverything(NumberedNorms):
    """Biases of the feed-forward network that look like the norms' shifts."""

    names = ("g1", "o1", "g2", "o2")

    def __init__(self, d_model: int, num_heads: int, d_ff: int) -> None:
        super().__init__(d_model, num_heads, d_ff)
        del self.linear1, self.linear2
        self.w1 = nn.Parameter(torch.randn(d_model, d_ff))
        self.c1 = nn.Parameter(torch.randn(d_ff))
        self.w2 = nn.Parameter(torch.randn(d_ff, d_model))
        self.c2 = nn.Parameter(torch.randn(d_model))

    def feed(self, x: Tensor) -> Tensor:
        return F.relu(x @ self.w1 + self.c1) @ self.w2 + self.c2


RAW_NORMS: dict[str, tuple[type[RawNorms], dict[str, Any]]] = {
    "g1 s1 g2 s2": (NumberedNorms, {}),
    "s1 g1 s2 g2": (NumberedNorms, {"names": ("s1", "g1", "s2", "g2")}),
    "a b c d": (NumberedNorms, {"names": ("a", "b", "c", "d")}),
    "p r o t": (NumberedNorms, {"names": ("p", "r", "o", "t")}),
    "p.0 to p.3": (NumberedNorms, {"names": ("p_0", "p_1", "p_2", "p_3")}),
    "a dictionary": (NormsInADict, {}),
    "lists gains, shifts": (ListedNorms, {}),
    "lists a, b": (ListedNorms, {"of_gain": "a", "of_shift": "b"}),
    "lists norm_gain, norm_shift": (
        ListedNorms,
        {"of_gain": "norm_gain", "of_shift": "norm_shift"},
    ),
    "lists one, other": (ListedNorms, {"of_gain": "one", "of_shift": "other"}),
    "stacks gains, shifts": (StackedNorms, {}),
    "stacks norm_weight, norm_bias": (
        StackedNorms,
        {"of_gain": "norm_weight", "of_shift": "norm_bias"},
    ),
    "stacks one, other": (StackedNorms, {"of_gain": "one", "of_shift": "other"}),
    **{f"one stack {axes}": (OneStack, {"axes": axes}) for axes in ("naD", "anD", "Dna", "nDa")},
    "one stack, shift first": (OneStack, {"shift_first": True}),
    "one stack for each": (StackForEach, {}),
    "a stack called gain in each module": (StackInEachModule, {}),
    "one stack called gains": (OneStack, {"name": "gains"}),
    "c1, c2 beside": (OpaqueEverything, {}),
}


@pytest.mark.parametrize("style", RAW_NORMS)
def test_gains_and_shifts_in_raw_parameters(style: str) -> None:
    base, own = RAW_NORMS[style]
    made = type("Style", (base,), own)
    working, count, first = working_guesses(made, Encoder, ENCODER, (*SIZES[:5], (2, 1, 2)))
    assert working, describe_missing(first[0], ENCODER)
    assert count <= 200
    assert not first[0].leftover


@pytest.mark.parametrize(
    ("base", "own"),
    [
        (NumberedNorms, {"names": ("g2", "s2", "g1", "s1")}),
        (NumberedNorms, {"names": ("gamma2", "beta2", "gamma1", "beta1")}),
        (NumberedNorms, {"names": ("beta1", "gamma1", "beta2", "gamma2")}),
        (ListedNorms, {"of_gain": "shifts", "of_shift": "gains"}),
        (StackedNorms, {"of_gain": "norm_bias", "of_shift": "norm_weight"}),
    ],
    ids=lambda value: " ".join(value.get("names", value.values())) if type(value) is dict else "",
)
def test_swapped_numbers_and_clear_words_of_raw_norms_are_never_put_right(
    base: type[RawNorms], own: dict[str, Any]
) -> None:
    working, _, _ = working_guesses(type("Style", (base,), own), Encoder, ENCODER, SIZES[:1])
    assert not working


@pytest.mark.parametrize("axes", ["aD", "Da"])
def test_gain_and_shift_of_one_norm_stacked(axes: str) -> None:
    class Stacked(nn.Module):
        def __init__(self, d_model: int) -> None:
            super().__init__()
            sizes = {"a": 2, "D": d_model}
            self.affine = nn.Parameter(torch.randn([sizes[axis] for axis in axes]))

        def forward(self, x: Tensor) -> Tensor:
            gain, shift = self.affine.permute([axes.index(axis) for axis in "aD"])
            return F.layer_norm(x, x.shape[-1:], gain, shift)

    roles = (Role("norm", "norm"),)
    twin = twin_of(Stacked, {"d_model": 70})
    for d_model in (6, 2):
        module = Stacked(d_model).double()
        weights = {"norm.weight": torch.arange(d_model) + 2.0, "norm.bias": torch.ones(d_model)}
        shapes = {name: tuple(value.shape) for name, value in weights.items()}
        guess = alignments(module, roles, shapes, 1, (), twin)[0]
        write_weights(module, guess, weights)
        x = inputs_for(d_model, 1)[0]
        norm = F.layer_norm(x, x.shape[-1:], weights["norm.weight"].double())
        assert same(module(x), norm + 1)


@pytest.mark.parametrize("own", OWN_ATTENTIONS)
def test_a_learners_own_attention_in_an_encoder_layer(own: str) -> None:
    build = block(ENCODERS["zero-based"], self=OWN_ATTENTIONS[own])
    working, _, first = working_guesses(build, Encoder, ENCODER, SIZES[:4])
    assert working
    assert not first[0].leftover


DECODERS = {
    "canonical": "self=self_attn cross=cross_attn ffn_in=linear1 ffn_out=linear2"
    " norm1=norm1 norm2=norm2 norm3=norm3",
    "backwards": "cross=cross_attn self=self_attn ffn_in=linear1 ffn_out=linear2"
    " norm3=norm3 norm2=norm2 norm1=norm1",
    "torch": "self=self_attn cross=multihead_attn ffn_in=linear1 ffn_out=linear2"
    " norm1=norm1 norm2=norm2 norm3=norm3",
    "jadore": "cross=enc_attn.mha self=slf_attn.mha ffn_in=pos_ffn.w_1 ffn_out=pos_ffn.w_2"
    " norm3=pos_ffn.layer_norm norm2=enc_attn.layer_norm norm1=slf_attn.layer_norm",
    "harvard": "cross=src_attn self=self_attn ffn_in=feed_forward.w_1 ffn_out=feed_forward.w_2"
    " norm3=sublayer.2.norm norm2=sublayer.1.norm norm1=sublayer.0.norm",
    "masked": "cross=multi_head_attention self=mask_attention ffn_in=ffn.0 ffn_out=ffn.2"
    " norm3=ln3 norm2=ln2 norm1=ln1",
    "numbers": "cross=attn_2 self=attn_1 ffn_in=fc1 ffn_out=fc2 norm3=ln3 norm2=ln2 norm1=ln1",
    "second": "cross=multi_head_attention2 self=multi_head_attention ffn_in=fc1 ffn_out=fc2"
    " norm3=ln3 norm2=ln2 norm1=ln1",
    "bare": "cross=enc_dec_attention self=attention ffn_in=fc1 ffn_out=fc2"
    " norm3=norm_ffn norm2=norm_cross norm1=norm_attn",
    "fairseq": "cross=encoder_attn self=self_attn ffn_in=fc1 ffn_out=fc2 norm3=final_layer_norm"
    " norm2=encoder_attn_layer_norm norm1=self_attn_layer_norm",
    "capitals": "cross=CrossAttention self=SelfAttention ffn_in=mlp.0 ffn_out=mlp.3"
    " norm3=layerNorm3 norm2=layerNorm2 norm1=layerNorm1",
    "in sublayers": "cross=sub2.fn self=sub1.fn ffn_in=sub3.fn.0 ffn_out=sub3.fn.2"
    " norm3=sub3.norm norm2=sub2.norm norm1=sub1.norm",
    "one list": "self=layers.0.fn cross=layers.1.fn ffn_in=layers.2.fn.0 ffn_out=layers.2.fn.3"
    " norm3=layers.2.norm norm2=layers.1.norm norm1=layers.0.norm",
}


@pytest.mark.parametrize("style", DECODERS)
def test_names_decide_in_a_decoder_layer(style: str) -> None:
    working, count, first = working_guesses(block(DECODERS[style]), Decoder, DECODER, SIZES[:4])
    assert (working, count) == ({0}, 1), describe_missing(first[0], DECODER)
    assert not first[0].leftover
    assert not first[0].notes


def test_two_attentions_without_telling_names_are_tried_both_ways() -> None:
    given = {"self": lambda D, H, F: type("Mha", (MultiHeadSelfAttention,), {})(D, H)}
    rest = "ffn_in=fc1 ffn_out=fc2 norm1=norm1 norm2=norm2 norm3=norm3"
    working, count, first = working_guesses(
        block(f"self=mha_a cross=mha_b {rest}", **given), Decoder, DECODER, SIZES[:4]
    )
    assert (working, count) == ({0}, 2)
    assert "mha_a" in first[0].notes[0]
    working, count, _ = working_guesses(
        block(f"cross=mha_a self=mha_b {rest}", **given), Decoder, DECODER, SIZES[:4]
    )
    # The classes of the given layers tell, though the attributes do not.
    assert (working, count) == ({0}, 2)


def test_swapped_attentions_are_never_put_right() -> None:
    text = DECODERS["canonical"].replace(
        "self=self_attn cross=cross_attn", "self=cross_attn cross=self_attn"
    )
    assert working_guesses(block(text), Decoder, DECODER, SIZES[:2])[:2] == (set(), 1)


class OwnCross(Attention):
    def build(self, D: int, H: int, d: int) -> None:
        self.qkv = nn.Linear(D, 3 * D)
        self.proj = nn.Linear(D, D)

    def forward(self, x: Tensor, memory: Tensor | None = None) -> Tensor:
        memory = x if memory is None else memory
        weight, bias = self.qkv.weight.chunk(3), self.qkv.bias.chunk(3)
        q = self.split(F.linear(x, weight[1], bias[1]))
        k = self.split(F.linear(memory, weight[0], bias[0]))
        v = self.split(F.linear(memory, weight[2], bias[2]))
        context = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        return self.proj(context)


class FlatDecoder(nn.Module):
    """All projections side by side, told apart by a word or by a number."""

    def __init__(self, d_model: int, num_heads: int, d_ff: int, names: str) -> None:
        super().__init__()
        self.num_heads, self.names = num_heads, names
        for owner in names.split()[::-1]:
            for letter in "kvqo":
                setattr(self, owner.format(letter), nn.Linear(d_model, d_model))
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(d_model) for _ in range(3))

    def attend(self, owner: str, x: Tensor, memory: Tensor) -> Tensor:
        def heads(letter: str, given: Tensor) -> Tensor:
            return (
                getattr(self, owner.format(letter))(given)
                .unflatten(-1, (self.num_heads, -1))
                .transpose(1, 2)
            )

        context = F.scaled_dot_product_attention(
            heads("q", x), heads("k", memory), heads("v", memory)
        )
        return getattr(self, owner.format("o"))(context.transpose(1, 2).flatten(2))

    def forward(self, x: Tensor, memory: Tensor) -> Tensor:
        one, two = self.names.split()
        x = self.norm1(x + self.attend(one, x, x))
        x = self.norm2(x + self.attend(two, x, memory))
        return self.norm3(x + self.linear2(F.relu(self.linear1(x))))


@pytest.mark.parametrize(
    "names", ["self_{} cross_{}", "{}1 {}2", "{}_proj_self {}_proj_cross", "w{}_1 w{}_2"]
)
def test_projections_side_by_side_in_a_decoder_layer(names: str) -> None:
    working, count, _ = working_guesses(
        lambda D, H, F: FlatDecoder(D, H, F, names), Decoder, DECODER, SIZES[:4]
    )
    assert (working, count) == ({0}, 1)


def test_two_fused_attentions_are_read_alike_first() -> None:
    own: Any = lambda D, H, F: OwnCross(D, H)  # noqa: E731
    build = block(DECODERS["canonical"], self=own, cross=own)
    working, count, _ = working_guesses(build, Decoder, DECODER, SIZES[:2])
    assert count == 200
    assert len(working) == 1
    assert min(working) < 36


class ResidualBlock(nn.Module):
    def __init__(self, sublayer: nn.Module, norm: nn.Module) -> None:
        super().__init__()
        self.sublayer, self.layer_norm = sublayer, norm


def test_handed_in_sublayers_are_ignored() -> None:
    sublayer = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4))
    module = ResidualBlock(sublayer, nn.LayerNorm(4))
    shapes = {"norm.weight": (4,), "norm.bias": (4,)}
    ignore = {id(p) for p in sublayer.parameters()}
    (guess,) = alignments(module, [Role("norm", "norm")], shapes, ignore=ignore)
    assert [slot.parameter for slot in guess.slots] == ["layer_norm.weight", "layer_norm.bias"]
    assert guess.leftover == ()


# --- what is not there --------------------------------------------------------------


def guess_for(module: nn.Module, d_model: int = 12, num_heads: int = 2) -> Alignment:
    shapes = shapes_of(attention_reference(d_model, num_heads, 0))
    return alignments(module, ATTENTION, shapes, num_heads)[0]


def linears(**sizes: tuple[int, int]) -> nn.Module:
    module = nn.Module()
    for name, (inner, out) in sizes.items():
        setattr(module, name, nn.Linear(inner, out))
    return module


def test_layers_of_another_form_are_left_over_with_their_shapes() -> None:
    module = linears(q=(12, 12), k=(12, 12), v=(12, 12))
    module.table = nn.Parameter(torch.randn(13, 12))
    text = describe_missing(guess_for(module), ATTENTION, module)
    assert text.splitlines() == [
        "Not found: the output projection (out_proj).",
        "Found: q_proj in `q.weight`, k_proj in `k.weight`, v_proj in `v.weight`.",
        "Left over: `table` (13, 12).",
        "What is left over may be right in a form of its own, but cannot be read.",
    ]


def test_a_missing_output_projection_is_reported() -> None:
    module = linears(q_proj=(12, 12), k_proj=(12, 12), v_proj=(12, 12))
    guess = guess_for(module)
    assert guess.missing == ("out_proj",)
    assert guess.leftover == ()
    text = describe_missing(guess, ATTENTION, module)
    assert "Not found: the output projection (out_proj)." in text
    assert "k_proj in `k_proj.weight`" in text
    write_weights(module, guess, canonical_weights(attention_reference(12, 2, 0)))


def test_a_clear_name_with_a_wrong_shape_is_not_replaced() -> None:
    module = linears(q_proj=(6, 6), k_proj=(12, 12), v_proj=(12, 12), o=(12, 12), spare=(12, 12))
    guess = guess_for(module)
    assert guess.missing == ("q_proj",)
    assert {name for name, _ in guess.leftover} == {
        "q_proj.weight", "q_proj.bias", "spare.weight", "spare.bias",
    }  # fmt: skip
    text = describe_missing(guess, ATTENTION, module)
    assert "`q_proj` is named like the query projection" in text
    assert "(6, 6)" in text
    assert "(12, 12)" in text


def test_keys_shared_by_all_heads_are_the_wrong_shape() -> None:
    module = linears(q=(12, 12), k=(12, 6), v=(12, 6), o=(12, 12))
    guess = guess_for(module)
    assert guess.missing == ("k_proj", "v_proj")


def test_layers_in_a_plain_list_are_named() -> None:
    module = nn.Module()
    module.layers = [nn.Linear(12, 12) for _ in range(4)]  # type: ignore[assignment]
    module.more = {"out": nn.Linear(12, 12)}  # type: ignore[assignment]
    module.W_q = torch.randn(12, 12)
    guess = guess_for(module)
    assert guess.missing == tuple(role.name for role in ATTENTION)
    text = describe_missing(guess, ATTENTION, module)
    assert "`layers` is a plain list that holds 4 layers" in text
    assert "`more` is a plain dict that holds a layer" in text
    assert "`W_q` is a plain tensor of shape (12, 12)" in text


def test_a_list_of_registered_layers_is_no_complaint() -> None:
    module = linears(q_proj=(12, 12), k_proj=(12, 12), v_proj=(12, 12))
    module.all = [module.q_proj, module.k_proj, module.v_proj]  # type: ignore[assignment]
    text = describe_missing(guess_for(module), ATTENTION, module)
    assert "plain" not in text


def test_an_empty_module_says_so() -> None:
    module = nn.Module()
    assert "has no parameters at all" in describe_missing(guess_for(module), ATTENTION, module)


def test_one_layer_used_twice_leaves_a_role_open() -> None:
    module = linears(q_proj=(12, 12), v_proj=(12, 12), out_proj=(12, 12))
    module.k_proj = module.q_proj
    assert guess_for(module).missing == ("k_proj",)


def test_lazy_layers_have_no_shape_yet() -> None:
    module = linears(k_proj=(12, 12), v_proj=(12, 12), out_proj=(12, 12))
    module.q_proj = nn.LazyLinear(12)
    assert guess_for(module).missing == ("q_proj",)


def test_layers_without_a_role_are_left_over() -> None:
    module = linears(q=(12, 12), k=(12, 12), v=(12, 12), o=(12, 12), extra=(12, 12), tiny=(3, 2))
    guess = guess_for(module)
    assert guess.missing == ()
    assert guess.leftover == (
        ("extra.weight", (12, 12)), ("extra.bias", (12,)), ("tiny.weight", (2, 3)),
        ("tiny.bias", (2,)),
    )  # fmt: skip


def encoder_guess(module: nn.Module) -> Alignment:
    return alignments(module, ENCODER, shapes_of(Encoder(12, 2, 20)), 2)[0]


def test_one_norm_for_both_places_leaves_one_missing() -> None:
    module = Encoder(12, 2, 20)
    module.norm2 = module.norm1
    assert encoder_guess(module).missing == ("norm2",)


def test_the_number_says_which_norm_is_missing() -> None:
    module = Encoder(12, 2, 20)
    del module.norm1
    assert encoder_guess(module).missing == ("norm1",)


@pytest.mark.parametrize(
    ("norm", "missing"),
    [
        (nn.LayerNorm(12, elementwise_affine=False), ("norm2.weight", "norm2.bias")),
        (nn.LayerNorm(12, bias=False), ("norm2.bias",)),
        (nn.RMSNorm(12), ("norm2.bias",)),
    ],
)
def test_a_norm_must_have_gain_and_shift(norm: nn.Module, missing: tuple[str, ...]) -> None:
    module = Encoder(12, 2, 20)
    module.norm2 = norm  # type: ignore[assignment]
    guess = encoder_guess(module)
    assert guess.missing == missing
    assert guess.absent == ()
    assert f"({ENCODER[-1].name})" in describe_missing(guess, ENCODER, module)


def test_a_norm_of_another_size_is_refused_with_a_reason() -> None:
    module = Encoder(12, 2, 20)
    module.norm2 = nn.LayerNorm(20)
    guess = encoder_guess(module)
    assert guess.missing == ("norm2",)
    assert "`norm2` has a weight of shape (20,)" in describe_missing(guess, ENCODER, module)


@pytest.mark.parametrize("name", ["linear1", "linear2"])
def test_half_a_feed_forward_network(name: str) -> None:
    module = Encoder(12, 2, 20)
    delattr(module, name)
    assert encoder_guess(module).missing == (name,)


def test_one_attention_for_both_uses_leaves_the_other_missing() -> None:
    module = Decoder(12, 2, 20)
    module.cross_attn = module.self_attn  # type: ignore[assignment]
    shapes = shapes_of(Decoder(12, 2, 20))
    guess = alignments(module, DECODER, shapes, 2)[0]
    assert guess.missing == tuple(r.name for r in DECODER if r.owner == "cross")
    assert "of the cross-attention (cross_attn.q_proj)" in describe_missing(guess, DECODER, module)


def test_no_roles_no_slots() -> None:
    (guess,) = alignments(nn.Linear(2, 2), (), {})
    assert guess.slots == ()
    assert guess.missing == ()


# --- writing and reading ------------------------------------------------------------


def test_weights_take_the_modules_dtype_and_stay_the_same_parameters() -> None:
    module = named("q k v o")(12, 2, 0).float()
    before = [id(p) for p in module.parameters()]
    write_weights(module, guess_for(module), canonical_weights(attention_reference(12, 2, 0)))
    assert [id(p) for p in module.parameters()] == before
    assert {p.dtype for p in module.parameters()} == {torch.float32}
    assert all(p.requires_grad and p.grad is None for p in module.parameters())


def test_extra_buffers_are_left_alone() -> None:
    module = named("q k v o")(12, 2, 0)
    module.register_buffer("table", torch.ones(12, 12))
    guess = guess_for(module)
    write_weights(module, guess, canonical_weights(attention_reference(12, 2, 0)))
    assert guess.leftover == ()
    assert bool((module.get_buffer("table") == 1).all())


def test_a_weight_without_a_gradient_reads_as_none() -> None:
    module = named("q k v o")(12, 2, 0).double()
    guess = guess_for(module)
    shapes = shapes_of(attention_reference(12, 2, 0))
    assert read_gradients(module, guess, shapes) == dict.fromkeys(shapes)
    reach(module, "q")(inputs_for(12, 1)[0]).sum().backward()
    gradients = read_gradients(module, guess, shapes)
    assert gradients["q_proj.weight"] is not None
    assert gradients["k_proj.weight"] is None


def test_rows_of_a_fused_layer_without_a_part_in_the_result_are_zero() -> None:
    module = Fused(12, 2).double()
    guess = guess_for(module)
    module.project(inputs_for(12, 1)[0])[0].sum().backward()
    gradients = read_gradients(module, guess, shapes_of(attention_reference(12, 2, 0)))
    assert gradients["q_proj.weight"] is not None
    assert gradients["k_proj.weight"] is not None
    assert bool(gradients["q_proj.weight"].any())
    assert not bool(gradients["k_proj.weight"].any())


def test_biases_that_the_contract_does_not_have_are_zeroed() -> None:
    module = named("q k v o")(12, 2, 0)
    shapes = {n: s for n, s in shapes_of(attention_reference(12, 2, 0)).items() if "weight" in n}
    (guess,) = alignments(module, ATTENTION, shapes, 2)
    assert set(guess.zeroed) == {"q.bias", "k.bias", "v.bias", "o.bias"}
    write_weights(module, guess, {name: torch.ones(shape) for name, shape in shapes.items()})
    assert not any(bool(p.any()) for n, p in module.named_parameters() if n.endswith("bias"))


def test_equal_modules_share_the_result() -> None:
    shapes = shapes_of(Decoder(12, 2, 20))
    one, other = (alignments(Decoder(12, 2, 20), DECODER, shapes, 2) for _ in range(2))
    assert one is other
    ignored = Decoder(12, 2, 20)
    ids = {id(p) for p in ignored.norm3.parameters()}
    assert alignments(ignored, DECODER, shapes, 2, ids)[0].missing == ("norm3",)


def test_a_cached_result_is_quick() -> None:
    module, shapes = Decoder(12, 2, 20), shapes_of(Decoder(12, 2, 20))
    alignments(module, DECODER, shapes, 2)
    best = float("inf")
    for _ in range(20):
        start = time.perf_counter()
        alignments(module, DECODER, shapes, 2)
        best = min(best, time.perf_counter() - start)
    assert best < 0.002  # about 0.2 ms; the rest is for busy machines
