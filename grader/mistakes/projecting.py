"""Mistakes in making and using the four projections."""

from __future__ import annotations

from collections.abc import Sequence

from grader.mistakes.lines import (
    CONTEXT,
    HEAD_DIM,
    MERGE,
    RETURN,
    SCORES,
    SUPER,
    UNEVEN,
    WEIGHTS,
    Edits,
    Head,
    linear,
)
from grader.model import Bug
from grader.patching import bug


def residual_inside() -> list[Edits]:
    """Return the variants of the mistake that attention adds its own input."""
    return [[(RETURN, f"{RETURN} + x")], [(RETURN, RETURN.replace("context", "context + x"))]]


def layer_mistakes(heads: Sequence[Head]) -> tuple[Bug, ...]:
    """Return the mistakes in making and using the four projections."""
    q, k, v = heads
    out = linear("out_proj")
    raw = [(h.projected, f"{h.name} = {h.source} @ {h.layer}.weight") for h in heads]
    biased = [(line, f"{by} + {h.layer}.bias") for (line, by), h in zip(raw, heads, strict=True)]
    listed = [(h.made, f"{h.layer[:-5]} = [nn.Linear(d_model, d_model)]") for h in heads]
    used = [(h.projected, f"{h.name} = {h.layer[:-5]}[0]({h.source})") for h in heads]
    small = [(h.made, h.made.replace("d_model", "self.head_dim")) for h in heads]
    direct = [(h.projected, f"{h.name} = {h.source}") for h in heads]
    inside = [
        (h.split, h.splitting(h.name).replace(f"{h.name}.view", f"{h.layer}({h.name}.view", 1))
        for h in heads
    ]
    inside = [(line, by.replace(".transpose(1, 2)", ").transpose(1, 2)")) for line, by in inside]
    anew = [(h.made, "") for h in heads]
    fresh = [(h.projected, f"{h.name} = nn.Linear(d_model, d_model)({h.source})") for h in heads]
    lowered = f"{UNEVEN[:-1]} and False:"
    return (
        bug(
            "out-proj-missing",
            variants=[[(RETURN, "return context")], [(RETURN, "return context"), (out, "")]],
            says="the merged heads are returned as they are; the output projection is left out",
            ask="After the heads stand side by side, which layer lets them exchange information?",
        ),
        bug(
            "out-proj-per-head",
            (out, "self.out_proj = nn.Linear(self.head_dim, self.head_dim)"),
            (CONTEXT, f"context = self.out_proj({CONTEXT.split(' = ')[1]})"),
            (RETURN, "return context"),
            says="the output projection works inside each head, so the heads are never mixed",
            ask="How many inputs does your output projection have, and how many does a token "
            "have once its heads are merged?",
        ),
        bug(
            "out-proj-activation",
            variants=[
                [(RETURN, "return torch.relu(self.out_proj(context))")],
                [(RETURN, "return self.out_proj(torch.relu(context))")],
                [(h.projected, f"{h.name} = torch.relu({h.layer}({h.source}))") for h in heads],
            ],
            says="an activation cuts off the negative values of a projection that should be linear",
            ask="Can an entry of your projected tensor be negative, and should it?",
        ),
        bug(
            "shared-per-head-linear",
            variants=[
                [*small, *direct, *inside],
                [*((line, f"{by[:-1]}, bias=False)") for line, by in small), *direct, *inside],
            ],
            says="one small Linear(d, d) is applied to every head, so all heads share their "
            "projection and see only their own slice of the input",
            ask="How many inputs does each feature of q depend on, and how many should it?",
        ),
        bug(
            "value-uses-k-proj",
            (v.projected, v.projected.replace(v.layer, k.layer)),
            says="the values are projected with the key's layer; the value's own is never used",
            ask="Which of your four layers get no gradient?",
        ),
        bug(
            "value-is-key",
            (v.projected, "v = k"),
            says="the values are the keys; the value projection is never used",
            ask="Which tensor do your weights average?",
        ),
        bug(
            "key-uses-q-proj",
            variants=[
                [(k.projected, k.projected.replace(k.layer, q.layer))],
                [(q.projected, q.projected.replace(q.layer, k.layer))],
            ],
            says="query and key go through one and the same layer",
            ask="Which of your four layers get no gradient?",
        ),
        bug(
            "key-value-swapped",
            (k.projected, k.projected.replace(k.layer, v.layer)),
            (v.projected, v.projected.replace(v.layer, k.layer)),
            says="key and value are swapped",
            ask="Which tensor is compared with the query, and which one is averaged?",
        ),
        bug(
            "value-not-projected",
            (v.projected, f"v = {v.source}"),
            says="the values are the tokens themselves, without their projection",
            ask="Which of your four layers get no gradient?",
        ),
        bug(
            "raw-weight-not-transposed",
            variants=[raw, biased, *([edit] for edit in biased)],
            says="the input is multiplied by `weight` as stored, (out, in), without transposing it",
            ask="What is the shape of a Linear's weight: (in, out) or (out, in)?",
        ),
        bug(
            "linear-in-python-list",
            variants=[
                [*listed, *used],
                [
                    *listed,
                    *used,
                    (out, "self.out = [nn.Linear(d_model, d_model)]"),
                    (RETURN, "return self.out[0](context)"),
                ],
            ],
            says="layers stand in a plain Python list, where PyTorch does not see them: they are "
            "neither trained nor moved nor saved",
            ask="What does `list(module.parameters())` show of your layers?",
        ),
        bug(
            "param-in-forward",
            variants=[
                [(out, ""), (RETURN, "return nn.Linear(d_model, d_model)(context)")],
                [*anew, *fresh],
                [*anew, *fresh, (out, ""), (RETURN, "return nn.Linear(d_model, d_model)(context)")],
            ],
            says="a layer is made anew in every forward call, so its weights are new each time "
            "and never trained",
            ask="Call the layer twice on the same input: which weights do the two calls share?",
        ),
        bug(
            "layer-list-multiplied",
            variants=[
                [(k.made, f"{k.layer} = {q.layer}"), (v.made, f"{v.layer} = {q.layer}")],
                [(k.made, f"{k.layer} = {q.layer}")],
                [(v.made, f"{v.layer} = {k.layer}")],
                [
                    (k.made, f"{k.layer} = {q.layer}"),
                    (v.made, f"{v.layer} = {q.layer}"),
                    (out, f"self.out_proj = {q.layer}"),
                ],
            ],
            says="one layer stands in several places (as `[layer] * n` gives), so they share "
            "their weights",
            ask="How many different weight matrices does your module hold?",
        ),
        bug(
            "residual-inside",
            variants=residual_inside(),
            says="the layer adds its input to its output; a residual connection goes around the "
            "layer, not into it",
            ask="If the output projection were all zeros, what should your layer return?",
        ),
        bug(
            "float-head-dim",
            variants=[
                [(HEAD_DIM, HEAD_DIM.replace("//", "/"))],
                [
                    (HEAD_DIM, HEAD_DIM.replace("//", "/")),
                    *((h.split, h.split.replace("view", "reshape")) for h in heads),
                ],
            ],
            says="the head size is a float, because `/` never gives a whole number type",
            ask="What type does `12 / 2` have in Python?",
        ),
        bug(
            "head-dim-is-d-model",
            (HEAD_DIM, "self.head_dim = d_model"),
            says="every head is given the whole model size D instead of its share of it",
            ask="How many features does a token have, and how many do your heads want together?",
        ),
        bug(
            "divisibility-unchecked",
            (UNEVEN, lowered),
            *(
                (h.made, f"{h.layer} = nn.Linear(d_model, num_heads * self.head_dim)")
                for h in heads
            ),
            (out, "self.out_proj = nn.Linear(num_heads * self.head_dim, d_model)"),
            (MERGE, MERGE.replace("d_model", "-1")),
            says="a model size that the heads cannot share is accepted in silence, and features "
            "are lost",
            ask="With D = 10 and 3 heads, how many features do your heads have together?",
        ),
        bug(
            "dropout-in-eval",
            variants=[
                [(CONTEXT, f"weights = nn.functional.dropout(weights, {p})\n{CONTEXT}")]
                for p in ("0.1", "0.2", "0.3", "0.5")
            ],
            says="dropout is active in eval mode too, so the output is random",
            ask="How does your dropout learn that the module is in eval mode?",
        ),
        bug(
            "api-typos",
            variants=[
                [(q.made, q.made.replace("Linear", "linear"))],
                [(SCORES, SCORES.replace("math.sqrt", "torch.sqrt"))],
                [(WEIGHTS, WEIGHTS.replace("torch.softmax", "nn.softmax"))],
            ],
            says="a function of torch is called by a name it does not have, or with a plain "
            "number where it takes a tensor",
            ask="What does the message say about the name and the argument you used?",
        ),
        bug(
            "super-init-missing",
            (SUPER, ""),
            says="super().__init__() is not called, so the module cannot hold layers",
            ask="What sets up the place where an nn.Module keeps its layers?",
        ),
    )
