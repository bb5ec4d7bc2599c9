"""Messages between judge and worker: what goes in comes out, and nothing else does."""

from __future__ import annotations

import dataclasses
import json
import math
import random
import socket
import struct
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from grader.catalog import katas
from grader.engine.contract import Problem
from grader.engine.execution import execute
from grader.engine.loading import load
from grader.isolation import fields, wire
from grader.isolation.connection import PREFIX, Connection
from grader.isolation.wire import Closed, Garbled, TimedOut, WireError, decode, encode
from grader.model import Alien, Case, Outcome, Part, Raised, Role, Target


def same(left: Any, right: Any) -> bool:
    """Compare values as the wire should keep them: types exactly, NaN like NaN."""
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        return (
            type(left) is type(right)
            and (left.dtype, left.shape) == (right.dtype, right.shape)
            and torch.equal(_bits(left), _bits(right))
        )
    if isinstance(left, Mapping):
        return (
            isinstance(right, Mapping)
            and list(left) == list(right)
            and all(type(a) is type(b) for a, b in zip(left, right, strict=True))
            and all(same(left[key], right[key]) for key in left)
        )
    if type(left) is not type(right):
        return False
    if isinstance(left, (tuple, list)):
        return len(left) == len(right) and all(map(same, left, right))
    if dataclasses.is_dataclass(left):
        names = [field.name for field in dataclasses.fields(left)]
        return all(same(getattr(left, name), getattr(right, name)) for name in names)
    if isinstance(left, float):
        return struct.pack("d", left) == struct.pack("d", right) or math.isnan(left + right)
    return left == right


def _bits(tensor: Tensor) -> Tensor:
    if not tensor.numel():
        return tensor
    return torch.empty(tensor.numel(), dtype=tensor.dtype).copy_(tensor.flatten()).view(torch.uint8)


# --- values of every kind ----------------------------------------------------

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
whole = st.integers(-(1 << 63), (1 << 64) - 1)
scalars = st.none() | st.booleans() | whole | st.floats() | texts
keys = st.none() | texts | st.integers(2, 99)


@st.composite
def tensors(draw: st.DrawFn) -> Tensor:
    dtype = draw(st.sampled_from([dtype for dtype, _ in wire.DTYPES.values()]))
    shape = draw(st.lists(st.integers(0, 4), max_size=4))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 99)))
    tensor = torch.randint(0, 200, shape, generator=generator).sub(100)
    tensor = tensor > 0 if dtype is torch.bool else tensor.to(dtype)
    if dtype.is_floating_point and tensor.numel():
        tensor.view(-1)[0] = draw(st.sampled_from([math.nan, math.inf, -math.inf, -0.0]))
    if draw(st.booleans()):
        tensor = tensor.transpose(0, -1) if shape else tensor
        tensor = tensor[..., ::2] if shape else tensor.expand(3)
    return tensor


leaves = scalars | tensors() | st.sampled_from([torch.device("cpu"), torch.device("cuda:1")])
names = st.lists(texts, max_size=3).map(tuple)
lines = st.none() | st.integers(1, 99)
pairs = st.lists(st.tuples(texts, texts), max_size=2).map(tuple)
anything = st.recursive(
    leaves | st.frozensets(keys, max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(keys, inner, max_size=3)
    ),
    max_leaves=8,
)
aliens = st.builds(Alien, type=texts, shown=texts)
parts = st.builds(Part, name=texts, options=st.dictionaries(texts, anything, max_size=2))
roles = st.builds(
    Role,
    name=texts,
    part=st.sampled_from(["query", "norm", "ffn_in"]),
    owner=st.sampled_from(["", "self"]),
)
raised = st.builds(
    Raised, kinds=names, message=texts, line=lines, own=st.booleans(), code=texts, shapes=pairs
)
by_name = st.dictionaries(texts, tensors(), max_size=3)
cases = st.builds(
    Case,
    target=texts,
    inputs=st.dictionaries(texts, anything, max_size=3),
    returns=st.lists(st.lists(st.integers(0, 9), max_size=3).map(tuple), max_size=2).map(tuple),
    init=st.none() | st.dictionaries(texts, anything | parts, max_size=2),
    args=st.lists(anything, max_size=2).map(tuple),
    arg_names=names,
    before=st.lists(st.dictionaries(texts, anything, max_size=2), max_size=2).map(tuple),
    weights=by_name,
    roles=st.lists(roles, max_size=2).map(tuple),
    train=st.booleans(),
    dtype=texts,
    compared=st.none() | tensors(),
    tolerance=st.floats() | tensors(),
    observe=st.frozensets(texts, max_size=2),
    banned=st.frozensets(texts, max_size=2),
    assignment=st.integers(0, 3),
    absent=names,
)
outcomes = st.builds(
    Outcome,
    status=st.sampled_from(["returned", "raised", "timeout", "memory", "crashed"]),
    returned=st.lists(tensors() | aliens, max_size=2).map(tuple),
    raised=st.none() | raised,
    gradients=st.dictionaries(texts, st.none() | tensors(), max_size=3),
    changed=names,
    missing=names,
    observed=st.fixed_dictionaries(
        {},
        optional={
            "device": texts,
            "operations": st.integers(0, 99),
            "banned": names,
            "again": st.lists(tensors() | aliens, max_size=2).map(tuple),
            "random": st.booleans(),
            "layers": st.fixed_dictionaries({"assignments": st.integers(1, 3), "message": texts}),
            "trainable": st.dictionaries(texts, st.booleans(), max_size=2),
            "state": by_name,
            "a later one": anything,
        },
    ),
    notes=names,
)
targets = st.builds(
    Target,
    name=texts,
    kind=st.sampled_from(["function", "module"]),
    parameters=names,
    forward=names,
)
found = st.builds(Problem, target=texts, message=texts, line=lines)
messages = anything | cases | outcomes | raised | aliens | parts | roles | targets | found


# --- there and back ----------------------------------------------------------


@given(messages)
@settings(max_examples=150)
def test_whatever_is_sent_arrives_as_it_was(message: object) -> None:
    assert same(decode(encode(message)), message)


@given(messages)
@settings(max_examples=30)
def test_the_same_value_has_the_same_bytes(message: object) -> None:
    assert encode(message) == encode(decode(encode(message)))


@pytest.mark.parametrize("entry", katas(), ids=lambda entry: entry.stem)
def test_every_case_of_every_bank_arrives(entry: Any) -> None:
    kata = entry.load_spec()
    for check in kata.checks:
        for recipe in check.bank:
            case = kata.build(recipe)
            case = check.vary(case) if check.vary else case
            assert same(decode(encode(case)), case)


ANSWER = b"""
from torch import nn

class Layer(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.linear = nn.Linear(d_model, d_model)

    def forward(self, x):
        return self.linear(x)
"""


@pytest.mark.parametrize(
    "observe",
    ["", "gradients", "repeats", "layers", "trainable", "state", "operations", "banned", "device"],
)
def test_everything_the_engine_observes_arrives(observe: str) -> None:
    weights = {"linear.weight": torch.ones(3, 3).double(), "linear.bias": torch.ones(3).double()}
    case = Case(
        "Layer",
        {"x": torch.ones(2, 3).double()},
        ((2, 3),),
        init={"d_model": 3},
        weights=weights,
        roles=(Role("linear", "output"),),
        observe=frozenset({observe} - {""}),
    )
    outcome = execute(case, load(ANSWER, "answer.py"))
    assert outcome.status == "returned", outcome
    assert same(decode(encode(outcome)), outcome)


def test_tensors_arrive_as_plain_data() -> None:
    weight = nn.Parameter(torch.ones(2, 3))
    for tensor in (weight, (weight * 2).T, torch.ones(1).expand(4, 4)):
        arrived = decode(encode(tensor))
        assert isinstance(arrived, Tensor)
        assert type(arrived) is Tensor
        assert not arrived.requires_grad
        assert torch.equal(arrived, tensor.detach())
        arrived.add_(1)  # memory of its own, to be written to


def test_a_tensor_arrives_whatever_the_answer_has_set() -> None:
    torch.set_default_device("meta")
    try:
        frame = encode(torch.ones(2, device="cpu"))
    finally:
        torch.set_default_device(None)
    assert same(decode(frame), torch.ones(2))


def test_lone_surrogates_are_escaped_on_the_way_out() -> None:
    assert decode(encode("a\ud800é")) == "a\\ud800é"


def test_text_of_a_class_of_its_own_is_taken_as_text() -> None:
    class Text(str):
        __slots__ = ()

        def __str__(self) -> str:
            raise AssertionError

        def encode(self, *_: object, **__: object) -> bytes:
            raise AssertionError

    assert decode(encode(Text("é"))) == "é"


class Derived(Tensor):
    pass


nested: list[object] = []
nested.append(nested)


@pytest.mark.parametrize(
    "value",
    [
        object(),
        1j,
        b"bytes",
        {1, 2},
        1 << 64,
        nested,
        {(1, 2): 3},
        frozenset({1.5}),
        Case,
        torch.ones(2, dtype=torch.complex64),
        torch.ones(2).to_sparse(),
        torch.ones(2, device="meta"),
        torch.ones(2).as_subclass(Derived),
        torch.ones(1).expand(1 << 27, 4),
        torch.empty(0, 1 << 41),
        torch.empty([1] * 33),
        [torch.ones(1)] * 5000,
        [0] * 300_000,
        "x" * (9 << 20),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_agreed_on_is_not_sent(value: object) -> None:
    with pytest.raises(WireError):
        encode(value)


# --- forged frames -----------------------------------------------------------


def frame_of(header: object, body: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


def forged(record: object, field: str, value: object) -> bytes:
    """Return the frame of a record with one field replaced, as it stands in the header."""
    header = json.loads(encode(record)[8:])
    names = [name for name, _ in fields.TESTS[header[0]]]
    header[1 + names.index(field)] = value
    return frame_of(header)


good = Outcome("returned")
broken = Raised(("ValueError",), "says no")
header = json.loads(encode(good)[8:])


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"short",
        struct.pack("<Q", 1 << 63) + b"{}",
        struct.pack("<Q", 3) + b"[]",
        frame_of(b""),
        frame_of(b"\xff"),
        frame_of(b"nul"),
        frame_of({}),
        frame_of([]),
        frame_of([[]]),
        frame_of([None]),
        frame_of(["os.system", "ls"]),
        frame_of(["tuple", {}]),
        frame_of(["map", "a"]),
        frame_of(["map", "a", 1, "a", 2]),
        frame_of(["map", ["tuple"], 1]),
        frame_of(["set", ["list"]]),
        frame_of(["device"]),
        frame_of(["device", "cuda:999"]),
        frame_of(["device", "cpu\n"]),
        frame_of(["device", ["list"]]),
        frame_of(b"[" * 100_000),
        frame_of(b"[" * 100_000 + b"]" * 100_000),
        frame_of(b'["list",' * 30 + b"1" + b"]" * 30),
        frame_of(b"9" * 5000),
        frame_of(1 << 64),
        frame_of(b'"\\ud800"'),
        frame_of(1, b"left over"),
        frame_of(["tensor"]),
        frame_of(["tensor", "complex64", 1], bytes(8)),
        frame_of(["tensor", "float64", -1], bytes(8)),
        frame_of(["tensor", "float64", True], bytes(8)),
        frame_of(["tensor", "float64", 1.0], bytes(8)),
        frame_of(["tensor", "float64", "1"], bytes(8)),
        frame_of(["tensor", "float64", 1 << 62, 1 << 62], bytes(8)),
        frame_of(["tensor", "float64", 0, 1 << 62, 1 << 62]),
        frame_of(["tensor", "float64", 1 << 24], bytes(8)),
        frame_of(["tensor", "float64", *[1] * 40], bytes(8)),
        frame_of(["tensor", ["list"], 1], bytes(8)),
        frame_of(["list", *[["tensor", "float64", 0]] * 5000]),
        frame_of(["list", *[0] * 300_000]),
        frame_of(header[:-1]),
        frame_of([*header, 1]),
        forged(good, "status", "passed"),
        forged(good, "status", ["list", "returned"]),
        forged(good, "returned", ["list"]),
        forged(good, "returned", ["tuple", 1.0]),
        forged(good, "raised", ["Alien", "a", "b"]),
        forged(broken, "kinds", ["tuple", 1]),
        forged(broken, "line", True),
        forged(broken, "own", 1),
        forged(broken, "shapes", ["tuple", ["tuple", "a"]]),
        forged(good, "gradients", ["map", "x", 1]),
        forged(good, "gradients", ["map", 1, None]),
        forged(good, "gradients", None),
        forged(good, "changed", "names"),
        forged(good, "observed", ["map", "device", 1]),
        forged(good, "observed", ["map", "operations", "many"]),
        forged(good, "observed", ["map", "layers", ["map", "assignments", "many"]]),
        forged(good, "observed", ["map", "state", ["map", "w", None]]),
        forged(Problem("a", "b"), "line", "1"),
        forged(Role("a", "query"), "part", "b"),
    ],
    ids=lambda frame: repr(frame[8:40]),
)
def test_forged_frames_are_refused(frame: bytes) -> None:
    began = time.monotonic()
    with pytest.raises(Garbled):
        decode(frame)
    assert time.monotonic() - began < 5


def test_the_forged_frames_start_from_a_good_one() -> None:
    assert decode(frame_of(header)) == good


def test_odd_bytes_in_a_bool_tensor_become_true() -> None:
    arrived = decode(frame_of(["tensor", "bool", 4], bytes([0, 1, 2, 255])))
    assert same(arrived, torch.tensor([False, True, True, True]))


CLOSED: set[type] = {
    *fields.RECORDS.values(), Tensor, torch.device, tuple, list, dict, frozenset,
    str, int, float, bool, type(None),
}  # fmt: skip


def kinds(value: Any) -> Iterator[type]:
    yield type(value)
    inside: Any = ()
    if isinstance(value, dict):
        inside = [*value, *value.values()]
    elif isinstance(value, (tuple, list, frozenset)):
        inside = value
    elif dataclasses.is_dataclass(value):
        inside = [getattr(value, field.name) for field in dataclasses.fields(value)]
    for each in inside:
        yield from kinds(each)


@given(cases | outcomes, st.integers(0, 1 << 32))
@settings(max_examples=150)
def test_a_damaged_frame_is_refused_or_plain_data(message: object, seed: int) -> None:
    whole_frame = encode(message)
    chance = random.Random(seed)
    for _ in range(20):
        frame = bytearray(whole_frame)
        for _ in range(chance.randint(1, 4)):
            here = chance.randrange(len(frame)) if frame else 0
            damage = chance.randrange(4)
            if damage == 0 and frame:
                frame[here] = chance.randrange(256)
            elif damage == 1:
                del frame[here : here + chance.randint(1, 9)]
            elif damage == 2:
                frame[here:here] = frame[here : here + chance.randint(1, 40)]
            else:
                frame[here:here] = chance.choice([b"[", b"]", b"1", b'"', b"null,", b"-", b"e99"])
        (length,) = struct.unpack_from("<Q", whole_frame)
        if chance.random() < 0.7:  # else most damage would be told by the length alone
            frame[:8] = struct.pack("<Q", max(0, length + len(frame) - len(whole_frame)))
        try:
            value = decode(frame)
        except WireError:
            continue
        assert set(kinds(value)) <= CLOSED


# --- the line ----------------------------------------------------------------

Line = tuple[Connection, socket.socket]


@pytest.fixture
def line() -> Iterator[Line]:
    """The judge's side, and the bare socket of a worker that may do anything."""
    ours, theirs = socket.socketpair()
    connection = Connection(ours)
    yield connection, theirs
    connection.close()
    theirs.close()


def reply(request_id: int, message: object) -> bytes:
    frame = encode(message)
    return PREFIX.pack(request_id, len(frame)) + frame


def test_messages_pass_in_both_directions_whatever_their_size(line: Line) -> None:
    judge, theirs = line
    worker = Connection(theirs)
    big = torch.arange(1 << 20)

    def echo() -> None:
        for _ in range(3):
            request_id, message = worker.receive()
            worker.send(message, request_id)

    thread = threading.Thread(target=echo)
    thread.start()
    for request_id, message in ((7, "short"), (1 << 63, big), (9, None)):
        judge.send(message, request_id, 10)
        number, answer = judge.receive(10, request_id)
        assert number == request_id
        assert same(answer, message)
    thread.join(10)


def test_a_message_that_cannot_be_sent_leaves_the_line_usable(line: Line) -> None:
    judge, theirs = line
    with pytest.raises(WireError):
        judge.send(object(), 1)
    judge.send("fine", 2)
    assert Connection(theirs).receive(5) == (2, "fine")


def test_silence_ends_at_the_deadline(line: Line) -> None:
    began = time.monotonic()
    with pytest.raises(TimedOut):
        line[0].receive(0.1)
    assert 0.09 < time.monotonic() - began < 2
    with pytest.raises(Closed):  # a late reply must not be taken for the next one
        line[0].receive(0.1)


def test_bytes_that_trickle_in_do_not_put_the_deadline_off(line: Line) -> None:
    judge, theirs = line
    stop = threading.Event()

    def trickle() -> None:
        for byte in reply(1, "x" * 5000):
            if stop.wait(0.01):
                return
            theirs.sendall(bytes([byte]))

    thread = threading.Thread(target=trickle)
    thread.start()
    began = time.monotonic()
    with pytest.raises(TimedOut):
        judge.receive(0.3)
    assert time.monotonic() - began < 2
    stop.set()
    thread.join(10)


def test_what_has_come_counts_after_the_deadline(line: Line) -> None:
    judge, theirs = line
    theirs.sendall(reply(1, "in time"))
    assert judge.receive(0.0) == (1, "in time")


def test_a_worker_that_does_not_read_does_not_hold_the_judge(line: Line) -> None:
    with pytest.raises(TimedOut):
        line[0].send(torch.zeros(1 << 22), 1, 0.2)
    with pytest.raises(Closed):
        line[0].send("more", 2, 0.2)


@pytest.mark.parametrize("sent", [b"", PREFIX.pack(1, 9), reply(1, "cut off")[:-1]])
def test_a_worker_that_is_gone_is_told_apart(line: Line, sent: bytes) -> None:
    judge, theirs = line
    theirs.sendall(sent)
    theirs.close()
    with pytest.raises(Closed):
        judge.receive(5)


def test_sending_to_a_worker_that_is_gone_is_told(line: Line) -> None:
    judge, theirs = line
    theirs.close()
    with pytest.raises(Closed):
        judge.send("anyone?", 1, 5)


@pytest.mark.parametrize(
    "sent",
    [
        reply(2, "of another request"),
        PREFIX.pack(1, 1 << 40),
        PREFIX.pack(1, 0),
        b"a print that found its way into the socket",
        PREFIX.pack(1, 10) + b"0123456789",
    ],
)
def test_garbage_on_the_line_is_told(line: Line, sent: bytes) -> None:
    judge, theirs = line
    theirs.sendall(sent)
    with pytest.raises(Garbled):
        judge.receive(5, 1)
    with pytest.raises(Closed):
        judge.receive(5, 1)


def test_a_field_that_could_not_be_tested_is_an_error() -> None:
    with pytest.raises(TypeError, match="bytes"):
        fields.test_of(bytes)
    assert [name for name, _ in fields.TESTS["Problem"]] == ["target", "message", "line"]
