"""What the name of a learner's layer says. Plain strings: torch is not needed here.

A path is a dotted name as PyTorch gives it ("decoder.heads.0.to_q"), a
component one part of it, a word a piece of a component ("to", "q").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

LABELS = {
    "query": "query projection",
    "key": "key projection",
    "value": "value projection",
    "output": "output projection",
    "norm": "normalisation",
    "ffn_in": "first feed-forward layer",
    "ffn_out": "second feed-forward layer",
}

_CORES = {
    "query": "q qs query queries querys",
    "key": "k ks key keys",
    "value": "v vs val vals value values",
    "output": "o out outs output outputs unify concat combine combiner combined merge merger mix"
    " mixer mixing final last join recombine aggregate collapse blend post",
}
_CORE = {word: part for part, words in _CORES.items() for word in words.split()}
# Words that say "layer" and nothing about which one. Longest first, so that
# "linearq" loses "linear" and not "lin".
_AFFIXES = sorted(
    "w b fc to lin linear linears dense proj projs projection projections projector get map net"
    " layer layers weight weights head heads gen attn attention state transform matrix mat param"
    " params kernel conv".split(),
    key=len,
    reverse=True,
)
_WEAK_OUTPUT = frozenset("fc proj projection projector linear dense lin".split())
_FUSED = frozenset(("in_proj", "in_projection", "c_attn", "w_pack", "pack"))
_SELF = ("self", "slf", "mask", "causal", "intra")
_CROSS = ("cross", "src", "source", "enc", "mem", "xattn", "xatt", "context")
_FFN = ("ffn", "ffw", "mlp", "feed", "forward", "pff", "pwff", "posff", "position", "pointwise")
_FIRST = frozenset("in input up expand inner first hidden intermediate wi enlarge before".split())
_SECOND = frozenset("out output down contract outer second last reduce wo shrink after".split())
_BIASES = frozenset("b bias biases beta betas shift shifts offset offsets".split())
_GAINS = frozenset(
    "w weight weights gamma gammas alpha alphas gain gains scale scales a g matrix kernel".split()
)
# Words that linear maps do not have, and words that leave no doubt which of the two is meant.
_NORM_WORDS = frozenset(
    "gamma gammas beta betas alpha alphas gain gains scale scales shift shifts".split()
)
_CLEAR_SHIFTS = _BIASES - {"b"}
_CLEAR_GAINS = _GAINS - {"w", "a", "g", "matrix", "kernel"}


@cache
def words(component: str) -> tuple[str, ...]:
    """Split at underscores, digits and capitals: "W_Q2" -> ("w", "q", "2")."""
    found = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", component)
    return tuple(word.lower() for word in found)


def numbers(path: str) -> tuple[int, ...]:
    """Return every number in the path, in order."""
    return tuple(int(digits) for digits in re.findall(r"\d+", path))


def masks(path: str) -> tuple[str, ...]:
    """Return the path once for each of its numbers, with "#" in that place."""
    return tuple(f"{path[: m.start()]}#{path[m.end() :]}" for m in re.finditer(r"\d+", path))


@cache
def _word_parts(word: str) -> tuple[str, ...]:
    if word in _CORE:
        return (_CORE[word],)
    letters = word.removesuffix("s")
    if 2 <= len(letters) <= 3 and set(letters) <= set("qkv") and len({*letters}) == len(letters):
        return tuple(_CORE[letter] for letter in letters)
    if word in _AFFIXES:
        return ()
    for affix in _AFFIXES:
        for rest in (word.removeprefix(affix), word.removesuffix(affix)):
            if rest != word and (found := _word_parts(rest)):
                return found
    return ()


@cache
def parts_of(path: str) -> tuple[str, ...]:
    """Return the attention parts that the path names, in the order it names them.

    The component nearest to the leaf that names any decides, so "heads.0.key"
    is a key. Query, key and value beat output within a component ("q_out").
    Several parts mean a fused layer: "kv" -> ("key", "value").
    """
    for component in reversed(path.split(".")):
        if component.lower() == "c_proj":
            return ("output",)
        found = [part for word in words(component) for part in _word_parts(word)]
        inner = tuple(dict.fromkeys(part for part in found if part != "output"))
        if inner or found:
            return inner or ("output",)
    return ()


def leaf(path: str) -> str:
    """Return the last component that is not a bare number or a parameter's own name."""
    components = [c for c in path.split(".") if not c.isdigit() and c != "#"]
    while len(components) > 1 and components[-1].lower() in ("weight", "bias", "w", "b", "kernel"):
        components.pop()
    return components[-1] if components else ""


def is_weak_output(path: str) -> bool:
    """Tell whether the leaf is a bare "proj", "fc", "linear": the output, if others are named."""
    found = words(leaf(path))
    said = _WEAK_OUTPUT & set(found)
    return bool(said) and all(word in said or word in ("c", "attn", "layer") for word in found)


def is_fused(path: str) -> bool:
    """Tell whether the name promises several projections in one layer."""
    own = path.rpartition(".")[2]
    name = "_".join(word for word in words(own) if word not in ("weight", "bias"))
    return len(parts_of(path)) > 1 or name in _FUSED


def _path_words(path: str) -> tuple[str, ...]:
    return tuple(word for component in path.split(".") for word in words(component))


@cache
def owner_of(path: str) -> str:
    """Return "self" or "cross" where the path says which attention this is, else ""."""
    for component in reversed(path.split(".")):
        found = words(component)
        if any(word in ("sa", "mmha", "mhsa") or word.startswith(_SELF) for word in found):
            return "self"
        if any(word in ("ca", "mhca") or word.startswith(_CROSS) for word in found):
            return "cross"
    return ""


def is_attention(path: str) -> bool:
    """Tell whether the path speaks of attention."""
    return bool(owner_of(path)) or any(
        "att" in word or word in ("mha", "msa", "multihead") for word in _path_words(path)
    )


def is_feed_forward(path: str) -> bool:
    """Tell whether the path speaks of a feed-forward network."""
    return any(
        word in ("ff", "intermediate") or word.startswith(_FFN) for word in _path_words(path)
    )


def order_attentions(paths: Sequence[str]) -> tuple[tuple[int, int], bool]:
    """Return which of two or more attentions is self and which is cross.

    The second value says whether the names (or numbers) tell; if not, the order
    is that of creation. A bare name takes the place that a clear one leaves.
    """
    owners = [owner_of(path) for path in paths]
    first = {owner: owners.index(owner) for owner in set(owners)}
    if "self" in first and "cross" in first:
        return (first["self"], first["cross"]), True
    if "cross" in first and "" in first:
        return (first[""], first["cross"]), True
    if "self" in first and "" in first:
        return (first["self"], first[""]), True
    counted = [numbers(path) for path in paths]
    if len(set(counted)) == len(paths):
        order = sorted(range(len(paths)), key=counted.__getitem__)
        return (order[0], order[1]), True
    return (0, 1), False


def order_norms(paths: Sequence[str], places: int) -> tuple[tuple[int, ...], bool]:
    """Return the place (0 to places - 1) of each norm, and whether the names tell.

    Names that say what the norm follows (attention, cross-attention,
    feed-forward) come first, then numbers, then creation order.
    """
    follows = [_follows(path) for path in paths]
    if "self" in follows:
        follows = ["cross" if word == "attention" else word for word in follows]
    ranks = {"self": 0, "attention": 0, "cross": 1, "feed_forward": 2, "last": 3}
    # Numbers break ties, for norm_attn1 and norm_attn2.
    keys = [(ranks.get(word, 0), numbers(path)) for word, path in zip(follows, paths, strict=True)]
    numbered = [numbers(path)[-1:] for path in paths]
    counted = [(n,) for n in range(1, places + 1)]
    if 1 < places < len(paths) and sorted(n for n in numbered if n) == counted:
        # norm1, norm2 beside a bare norm: the numbers tell, the bare one is left over.
        spare = iter(range(places, len(paths)))
        return tuple(n[0] - 1 if n else next(spare) for n in numbered), True
    told = all(follows) or not any(follows)
    if told and len(set(keys)) == len(keys):
        if len(keys) < places and all(follows):
            due = {0: 0, 1: min(1, places - 1), 2: places - 1, 3: places - 1}
            found = tuple(due[rank] for rank, _ in keys)
        elif len(keys) < places:
            counted = [number[-1] if number else 1 for _, number in keys]
            found = tuple(number - (0 not in counted) for number in counted)
        else:
            order = sorted(keys)
            found = tuple(order.index(key) for key in keys)
        if len(set(found)) == len(found) and (
            len(keys) >= places or max(found, default=-1) < places
        ):
            return found, len(keys) > 1 or places == 1
    return tuple(range(len(paths))), False


def _follows(path: str) -> str:
    if is_feed_forward(path):
        return "feed_forward"
    if owner := owner_of(path):
        return owner
    if is_attention(path):
        return "attention"
    return "last" if {"final", "last"} & set(words(leaf(path))) else ""


def feed_forward_place(path: str) -> int | None:
    """Return 0 for a name like "up" or "c_fc", 1 for "down" or "c_proj", else None."""
    component = leaf(path).lower()
    if component in ("c_fc", "c_proj"):
        return int(component == "c_proj")
    found = set(words(leaf(path)))
    if found & _SECOND:
        return 1
    return 0 if found & _FIRST else None


def compare_numbers(one: str, other: str) -> int:
    """Return -1 or 1 where two names differ in their numbers alone ("fc1", "fc2"), else 0."""
    bare = [re.sub(r"[._]?\d+", "", path) for path in (one, other)]
    left, right = numbers(one), numbers(other)
    return 0 if bare[0] != bare[1] or left == right else (-1 if left < right else 1)


def _own_name(path: str) -> str:
    """Return the last component that is not a bare number."""
    return next((c for c in reversed(path.split(".")) if not c.isdigit()), "")


def is_bias(path: str) -> bool:
    """Tell whether a parameter's own name is that of a bias ("b_q", "bq", "q_bias", "beta")."""
    found = words(_own_name(path))
    squashed = any(w[0] == "b" and (w[1:] in _CORE or is_fused(w)) for w in found if len(w) > 1)
    return squashed or bool(_BIASES & set(found[:1] + found[-1:])) or found[:1] == ("b",)


def is_gain(path: str) -> bool:
    """Tell whether a name belongs to norms alone ("gamma", "ln1_weight"), never to a linear map."""
    found = set(_path_words(path))
    spoken = _NORM_WORDS & found
    return bool(spoken) or any("norm" in word or word == "ln" for word in found)


def affine_kind(path: str) -> str:
    """Return "gain" or "shift" where a parameter's name says which it is in a norm, else ""."""
    found = set(words(_own_name(path)))
    gain, shift = bool(_CLEAR_GAINS & found), bool(_CLEAR_SHIFTS & found)
    return "" if gain == shift else "gain" if gain else "shift"


@cache
def stem(path: str) -> tuple[str, ...]:
    """Return what a weight and its bias have in common: "att.W_q" and "att.bq" agree.

    Words like "weight" and "b" are dropped from the parameter's own name, and
    from the name of the list it stands in.
    """
    components = path.split(".")
    own = 2 if components[-1].isdigit() else 1
    found: list[str] = [*components[:-own]]
    for component in components[-own:]:
        for word in words(component):
            if word not in _BIASES and word not in _GAINS:
                found.extend(_word_parts(word) or (word,))
    return tuple(found)
