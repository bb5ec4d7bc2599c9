"""What crosses between judge and worker, as bytes, and never as pickle.

A frame is the length of its header in 8 bytes, the header in JSON, and the raw
bytes of its tensors, one after another. In the header, None, bool, int, float
and str stand for themselves; anything else is a list that begins with its tag:

    ["tuple", …]  ["list", …]  ["set", …]  ["map", key, value, …]
    ["device", "cuda:0"]  ["tensor", "float64", size, …]  ["Case", field, …]

Whatever the bytes are, `decode` returns values of these types or raises
WireError: a worker runs code that may forge its replies.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Mapping, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from grader.isolation import fields

LARGEST_FRAME = 256 << 20
LARGEST_HEADER = 8 << 20
DEEPEST = 24
MOST_VALUES = 200_000
MOST_TENSORS = 4096
MOST_AXES = 32
# Sizes multiplied, zeros left out: strides must not overflow in an empty tensor either.
MOST_ELEMENTS = 1 << 40
SMALLEST, LARGEST = -(1 << 63), (1 << 64) - 1

LENGTH = struct.Struct("<Q")
DTYPES = {
    name: (cast("torch.dtype", getattr(torch, name)), width)
    for name, width in (
        ("bool", 1), ("uint8", 1), ("int8", 1), ("int16", 2), ("int32", 4), ("int64", 8),
        ("float16", 2), ("bfloat16", 2), ("float32", 4), ("float64", 8),
    )
}  # fmt: skip
NAMES = {dtype: name for name, (dtype, _) in DTYPES.items()}
DEVICE = re.compile(r"(?:cpu|cuda|mps|xpu|meta|lazy)(?::[0-9]{1,2})?", re.ASCII)

TAGS = {kind: name for name, kind in fields.RECORDS.items()}

# Taken before any answer is loaded: torch's own functions may be replaced by then.
_from_buffer = torch.frombuffer
_to_json = json.JSONEncoder(check_circular=False, separators=(",", ":")).encode
_from_json = json.JSONDecoder().decode


class WireError(Exception):
    """A message cannot be sent, did not come, or is none."""


class Closed(WireError):
    """The other side is gone, or an earlier error has left the two out of step."""


class TimedOut(WireError):
    """The whole frame did not pass in the time given."""


class Garbled(WireError):
    """What came is not a message, or not the answer to what was asked."""


def encode(value: object) -> bytes:
    """Return the frame of a value.

    Tensors are sent as they are now, without their graph; Parameters as plain
    tensors, mappings as dicts, lone surrogates as backslash escapes. Raises
    WireError for anything that is not in the closed set, or too large.
    """
    writer = _Writer()
    try:
        header = _to_json(writer.packed(value, 0)).encode("ascii")
    except (ValueError, RuntimeError) as error:  # torch refuses a tensor: no storage, say
        raise WireError(f"a value cannot be sent: {error}") from error
    if len(header) > LARGEST_HEADER:
        raise WireError(f"a header of {len(header)} bytes is too long to be sent")
    return b"".join((LENGTH.pack(len(header)), header, *writer.blocks))


def decode(frame: bytes | bytearray) -> object:
    """Return the value of a frame, or raise Garbled whatever else the bytes are.

    Counts are held against the bytes at hand before anything is allocated.
    Bytes of bool tensors other than 0 count as 1. Fields of records hold what
    their class says.
    """
    try:
        return _read(memoryview(frame))
    except (ValueError, TypeError, LookupError, ArithmeticError, RuntimeError, MemoryError) as e:
        # RuntimeError includes RecursionError, and whatever torch does not like.
        raise Garbled(f"not a message: {type(e).__name__}: {e!s:.200}") from e


def refusal(tensor: Tensor) -> str:
    """Return why a tensor cannot cross, or nothing where it can."""
    if type(tensor) not in (Tensor, nn.Parameter):
        return "it is of a class derived from Tensor"
    if tensor.layout is not torch.strided or tensor.device.type != "cpu":
        return f"its layout is {tensor.layout} on device {tensor.device}"
    if tensor.dtype not in NAMES:
        return f"its dtype is {tensor.dtype}"
    return _oversize(tensor.shape, tensor.element_size())


def _oversize(sizes: Sequence[int], width: int) -> str:
    if len(sizes) > MOST_AXES or math.prod(size or 1 for size in sizes) > MOST_ELEMENTS:
        return "its shape is out of bounds"
    if math.prod(sizes) * width > LARGEST_FRAME:
        return f"it takes {math.prod(sizes) * width} bytes"
    return ""


class _Writer:
    """One frame in the making: what its tensors need beside the header."""

    def __init__(self) -> None:
        self.blocks: list[bytearray] = []
        self.room = LARGEST_FRAME - LARGEST_HEADER - LENGTH.size
        self.values = 0

    def packed(self, value: Any, depth: int) -> object:
        kind = type(value)
        self.values += 1
        if depth > DEEPEST or self.values > MOST_VALUES:
            raise WireError("a value is nested too deeply, or holds too much, to be sent")
        if kind is str:
            return _clean(value)
        if kind is bool or kind is float or value is None:
            return value
        if kind is int:
            if not SMALLEST <= value <= LARGEST:
                raise WireError("an integer beyond 64 bits cannot be sent")
            return value
        if kind in TAGS:
            tag = TAGS[kind]
            held = (getattr(value, name) for name, _ in fields.TESTS[tag])
            return [tag, *(self.packed(item, depth + 1) for item in held)]
        return self._container(value, kind, depth + 1)

    def _container(self, value: Any, kind: type, depth: int) -> object:
        if issubclass(kind, Tensor):
            return self._tensor(value)
        if issubclass(kind, tuple):  # torch.Size included
            return ["tuple", *(self.packed(item, depth) for item in value)]
        if kind is list:
            return ["list", *(self.packed(item, depth) for item in value)]
        if kind is frozenset:
            # In one order, whatever the hashes are: the same value, the same bytes.
            return ["set", *sorted((self._key(item) for item in value), key=repr)]
        if issubclass(kind, Mapping):
            pairs = ((self._key(k), self.packed(v, depth)) for k, v in value.items())
            return ["map", *(item for pair in pairs for item in pair)]
        if kind is torch.device and DEVICE.fullmatch(str(value)):
            return ["device", str(value)]
        if issubclass(kind, str):  # a class of the learner's own, with methods of its own
            return _clean(str.__str__(value))
        raise WireError(f"an object of {type.__repr__(kind)} cannot be sent")

    def _key(self, value: object) -> object:
        if value is not None and not isinstance(value, (str, int)):
            raise WireError(f"an object of {type.__repr__(type(value))} cannot be a key")
        return self.packed(value, 0)

    def _tensor(self, tensor: Tensor) -> object:
        why_not = refusal(tensor)
        if why_not:
            raise WireError(f"a tensor cannot be sent: {why_not}")
        block = bytearray(tensor.numel() * tensor.element_size())
        self.room -= len(block)
        if self.room < 0 or len(self.blocks) == MOST_TENSORS:
            raise WireError("too many tensors, or too large ones, for one message")
        if block:
            # Copied by torch, so that any strides will do and numpy is not needed.
            _from_buffer(block, dtype=tensor.dtype).view(tensor.shape).copy_(tensor.detach())
        self.blocks.append(block)
        return ["tensor", NAMES[tensor.dtype], *tensor.shape]


def _clean(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _read(frame: memoryview) -> object:
    if not LENGTH.size <= len(frame) <= LARGEST_FRAME:
        raise Garbled(f"a frame of {len(frame)} bytes")
    (length,) = LENGTH.unpack_from(frame)
    if length > min(LARGEST_HEADER, len(frame) - LENGTH.size):
        raise Garbled(f"a header said to be {length} bytes long")
    end = LENGTH.size + length
    reader = _Reader(frame[end:])
    value = reader.unpacked(_from_json(str(frame[LENGTH.size : end], "ascii")), 0)
    if reader.rest:
        raise Garbled(f"{len(reader.rest)} bytes that belong to no tensor")
    return value


class _Reader:
    """One frame being read: the bytes of its tensors, taken off in order."""

    def __init__(self, rest: memoryview) -> None:
        self.rest = rest
        self.values = 0
        self.tensors = 0

    def unpacked(self, value: object, depth: int) -> object:
        self.values += 1
        if depth > DEEPEST or self.values > MOST_VALUES:
            raise Garbled("a value nested too deeply, or holding too much")
        if isinstance(value, list):
            return self._tagged(cast("list[object]", value), depth + 1)
        if isinstance(value, str):
            if not value.isascii():
                value.encode()  # lone surrogates raise UnicodeEncodeError, a ValueError
        elif type(value) is int:
            if not SMALLEST <= value <= LARGEST:
                raise Garbled("an integer beyond 64 bits")
        elif isinstance(value, dict):
            raise Garbled("a JSON object")
        return value

    def _tagged(self, packed: list[object], depth: int) -> object:
        tag, *items = packed
        if tag == "tensor":
            return self._tensor(items)
        if tag == "device":
            return _device(*items)
        values = [self.unpacked(item, depth) for item in items]
        if tag == "tuple":
            return tuple(values)
        if tag == "list":
            return values
        if tag == "set":
            return frozenset(_distinct(values))
        if tag == "map":
            return dict(zip(_distinct(values[::2]), values[1::2], strict=True))
        if isinstance(tag, str) and tag in fields.RECORDS:
            return fields.build(tag, values)
        raise Garbled("an unknown tag")

    def _tensor(self, items: list[object]) -> Tensor:
        name, *sizes = items
        self.tensors += 1
        if self.tensors > MOST_TENSORS or not isinstance(name, str):
            raise Garbled("a tensor too many, or without a dtype")
        dtype, width = DTYPES[name]
        shape = [size for size in sizes if type(size) is int and size >= 0]
        if len(shape) != len(sizes) or _oversize(shape, width):
            raise Garbled("a tensor of an impossible shape")
        length = math.prod(shape) * width
        if length > len(self.rest):
            raise Garbled("a tensor larger than the frame")
        if not length:
            return torch.empty(shape, dtype=dtype)
        block, self.rest = bytearray(self.rest[:length]), self.rest[length:]
        if dtype is torch.bool:  # any other byte than 0 and 1 is undefined there
            return _from_buffer(block, dtype=torch.uint8).ne(0).view(shape)
        return _from_buffer(block, dtype=dtype).view(shape)


def _distinct(keys: list[object]) -> list[object]:
    for key in keys:
        if key is not None and not isinstance(key, (str, int)):
            raise Garbled("a key that is neither text nor a number")
    if len(set(keys)) != len(keys):
        raise Garbled("the same key twice")
    return keys


def _device(name: object) -> torch.device:
    if not isinstance(name, str) or not DEVICE.fullmatch(name):
        raise Garbled("an unknown device")
    return torch.device(name)
