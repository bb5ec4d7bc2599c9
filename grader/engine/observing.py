"""Watch what a call does inside torch: which functions, how many operations, on which device."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from grader.engine.loading import shorten

# Operators behind the functions, as they arrive at the dispatcher: whatever
# name or alias the learner reached them by, they end up here.
OPERATORS = {
    "softmax": (
        "_softmax", "_log_softmax", "_safe_softmax", "_sparse_softmax", "_sparse_log_softmax",
        "softmax", "log_softmax", "special_softmax", "special_log_softmax",
        "logsumexp", "special_logsumexp", "_masked_softmax",
    ),
    "scaled_dot_product_attention": (
        "scaled_dot_product_attention", "_scaled_dot_product_attention_math",
        "_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_flash_attention",
        "_scaled_dot_product_efficient_attention",
        "_scaled_dot_product_fused_attention_overrideable",
        "_fused_sdp_choice",
    ),
    "MultiheadAttention": ("_native_multi_head_attention",),
    "Transformer": ("_transformer_encoder_layer_fwd",),
}  # fmt: skip
FUNCTIONS = {
    "softmax": ("softmax", "log_softmax", "softmin", "logsumexp", "gumbel_softmax"),
    "scaled_dot_product_attention": ("scaled_dot_product_attention",),
    "MultiheadAttention": ("multi_head_attention_forward",),
    "layer_norm": (),
}
MODULES: dict[str, tuple[type[nn.Module], ...]] = {
    "MultiheadAttention": (nn.MultiheadAttention,),
    "Transformer": (
        nn.Transformer,
        nn.TransformerEncoder,
        nn.TransformerDecoder,
        nn.TransformerEncoderLayer,
        nn.TransformerDecoderLayer,
    ),
}


class _Functions(TorchFunctionMode):
    def __init__(self, names: Mapping[str, str], called: set[str]) -> None:
        super().__init__()
        self.names, self.called = names, called

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        name = self.names.get(getattr(func, "__name__", ""))
        if name:
            self.called.add(name)
        return func(*args, **(kwargs or {}))


class _Mode(TorchDispatchMode):
    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Keep torch from wrapping the handler for its compiler, which takes 0.6 s to import."""
        return False


class _Operators(_Mode):
    def __init__(self, names: Mapping[str, str], called: set[str]) -> None:
        super().__init__()
        self.names, self.called = names, called

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        name = self.names.get(func.overloadpacket.__name__)
        if name:
            self.called.add(name)
        return func(*args, **(kwargs or {}))


@contextmanager
def banned_calls(groups: frozenset[str]) -> Generator[set[str]]:
    """Collect the banned groups of functions that are called inside, however they are reached.

    Names in the text do not count: a function of the learner's own may be
    called `softmax`.
    """
    called: set[str] = set()
    # Operators too: a composite one never arrives at the dispatcher under its own name.
    functions = {
        name: group
        for group in groups
        for name in (*FUNCTIONS.get(group, ()), *OPERATORS.get(group, ()))
    }
    operators = {name: group for group in groups for name in OPERATORS.get(group, ())}
    modules = tuple(kind for group in groups for kind in MODULES.get(group, ()))
    with ExitStack() as stack:
        if modules:
            stack.callback(_watch_modules(groups, called))
        stack.enter_context(_Operators(operators, called))
        stack.enter_context(_Functions(functions, called))
        yield called


def recorded_calls(returned: Any, groups: frozenset[str]) -> set[str]:
    """Return the banned groups of which autograd remembers a call on the way to `returned`.

    Modes see the thread they were entered in; what another one computed is in the graph.
    """
    names = {name.replace("_", ""): group for group in groups for name in OPERATORS.get(group, ())}
    called: set[str] = set()
    waiting: list[Any] = [tensor.grad_fn for tensor in _flat(returned)]
    seen: set[Any] = {None}
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        # A node of torch's own ends in a number, one of the learner's own Function does not.
        operator = re.fullmatch(r"(\w+)Backward\d+", node.name())
        if operator and operator[1].lower() in names:
            called.add(names[operator[1].lower()])
        waiting += [following for following, _ in node.next_functions]
    return called


def _watch_modules(groups: frozenset[str], called: set[str]) -> Callable[[], None]:
    def seen(module: nn.Module, _args: Any) -> None:
        for group in groups:
            if isinstance(module, MODULES.get(group, ())):
                called.add(group)

    return nn.modules.module.register_module_forward_pre_hook(seen).remove


class _Counting(_Mode):
    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        self.count += 1
        return func(*args, **(kwargs or {}))


def count_operations(call: Callable[[], object]) -> int:
    """Return how many torch operations a call makes."""
    with _Counting() as counting:
        call()
    return counting.count


# --- another device ----------------------------------------------------------

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def runs_elsewhere(
    build: Callable[[], Any],
    construct: Callable[[], Any],
    arguments: Callable[[], Arguments],
    earlier: Sequence[Arguments] = (),
) -> str:
    """Return "" where a call would run on a GPU, else what goes wrong there.

    A cheap look comes first: does any tensor take part that comes neither from
    the inputs nor from the module's parameters and buffers, nor was made for
    an explicit device? Only then is the call repeated on an imagined device,
    which is exact, but takes most of a second to set up. `build` makes the
    callable with its weights, `construct` without. `earlier` are the arguments of
    calls that are made before the move.
    """
    subject = build()
    for args, inputs in earlier:
        subject(*args, **inputs)
    if isinstance(subject, nn.Module):
        _renew_buffers(subject)
    args, inputs = arguments()
    if "device" in inputs and inputs["device"] is None:
        return _on_default_device(subject, args, inputs)
    with _Origins(subject, args, inputs) as origins:
        returned = subject(*args, **inputs)
    first = _first(returned)
    if not origins.suspicious and (not isinstance(first, Tensor) or origins.knows(first)):
        return ""
    return _on_imagined_device(construct, arguments, earlier)


def _renew_buffers(module: nn.Module) -> None:
    """Put new tensors in the place of buffers, as `Module.to` does: other names keep the old."""
    for part in module.modules():
        for name, value in part._buffers.items():  # noqa: SLF001 - as in `_move`
            part._buffers[name] = None if value is None else value.clone()  # noqa: SLF001


def _on_default_device(subject: Any, args: Sequence[Any], inputs: Mapping[str, Any]) -> str:
    """Return "" where device=None stands for torch's default device, as in torch itself.

    A cheap look comes first here, too: the default is only left by whoever names a device.
    """
    with _Naming() as naming:
        subject(*args, **inputs)
    if not naming.seen:
        return ""
    try:
        with torch.device("meta"):
            first = _first(subject(*args, **inputs))
    except Exception:  # noqa: BLE001 - an answer may look at values, and meta has none
        return ""
    if not isinstance(first, Tensor) or first.device.type == "meta":
        return ""
    return f"with device=None the result is on {first.device}, whatever torch's default device is"


class _Naming(TorchFunctionMode):
    """See whether any device is named."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = False

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        moves = func in (Tensor.to, Tensor.cpu, Tensor.cuda)
        self.seen = self.seen or moves or (kwargs or {}).get("device") is not None
        return func(*args, **(kwargs or {}))


def _first(returned: Any) -> Any:
    return returned[0] if isinstance(returned, (tuple, list)) and returned else returned


class _Origins(TorchFunctionMode):
    """Mark the tensors that would follow the inputs to another device."""

    def __init__(self, subject: Any, args: Sequence[Any], inputs: Mapping[str, Any]) -> None:
        super().__init__()
        self.suspicious = False
        self.known: dict[int, Tensor] = {}  # kept alive, so that ids stay theirs
        self.has_device = "device" in inputs
        for value in (*args, *inputs.values()):
            if isinstance(value, Tensor):
                self.mark(value)
        if isinstance(subject, nn.Module):
            for value in (*subject.parameters(), *subject.buffers()):
                self.mark(value)

    def mark(self, value: Tensor) -> None:
        self.known[id(value)] = value

    def knows(self, value: Tensor) -> bool:
        return id(value) in self.known

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        given = list(_flat((args, kwargs)))
        name = getattr(func, "__name__", "")
        if name in ("cpu", "cuda", "numpy", "tolist", "set_default_device"):
            self.suspicious = True
        device = kwargs.get("device")
        if name == "to":
            device = next((a for a in args[1:] if isinstance(a, (str, torch.device))), device)
        if isinstance(device, str):
            self.suspicious = True
        known = device is not None or any(self.knows(value) for value in given)
        strangers = [v for v in given if v.dim() > 0 and not self.knows(v)]
        if strangers and (len(given) > len(strangers)):
            self.suspicious = True
        if known:
            for value in _flat(result):
                self.mark(value)
        return result


def _flat(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _flat(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _flat(item)


def _on_imagined_device(
    construct: Callable[[], Any],
    arguments: Callable[[], Arguments],
    earlier: Sequence[Arguments],
) -> str:
    """Run the call under FakeTensorMode on device lazy:0, which no CPU build refuses.

    Where that fails for a reason of its own, the meta device is asked: it sees
    most clashes of devices, though not all.
    """
    from torch._subclasses.fake_tensor import (
        DataDependentOutputException,
        DynamicOutputShapeException,
        FakeTensorDeviceMismatchError,
        FakeTensorMode,
    )

    real = arguments()  # imagined tensors cannot be copied from real ones
    try:
        with FakeTensorMode(), torch.no_grad():
            return _moved_call(construct, real, "lazy:0", earlier)
    except FakeTensorDeviceMismatchError as error:
        return str(error).replace("lazy:0", "cuda:0")
    except (DataDependentOutputException, DynamicOutputShapeException):
        return ""  # its path depends on values: nothing can be said
    except Exception as error:  # noqa: BLE001 - whatever the answer raises there
        if _speaks_of_devices(error):
            return _first_line(error).replace("lazy:0", "cuda:0")
    try:
        with torch.no_grad():
            return _moved_call(construct, real, "meta", earlier)
    except Exception as error:  # noqa: BLE001 - as above
        return _first_line(error).replace("meta", "cuda:0") if _speaks_of_devices(error) else ""


def _speaks_of_devices(error: Exception) -> bool:
    """Tell a clash of devices, or a hard-coded one, from an error that only imagining causes."""
    text = shorten(error).lower()
    signs = (
        "expected device",
        "different devices",
        "cuda",
        "copy out of meta tensor",
        "tensor to numpy",
    )
    return any(sign in text for sign in signs)


def _first_line(error: Exception) -> str:
    text = shorten(error)
    return text.splitlines()[0] if text else type(error).__name__


def _moved_call(
    construct: Callable[[], Any],
    real: Arguments,
    device: str,
    earlier: Sequence[Arguments],
) -> str:
    subject = construct()
    for first, others in earlier:
        kept = {name: _moved(value, "cpu") for name, value in others.items()}
        subject(*(_moved(value, "cpu") for value in first), **kept)
    if isinstance(subject, nn.Module):
        _move(subject, device)
    args = tuple(_moved(value, device) for value in real[0])
    inputs = {name: _moved(value, device) for name, value in real[1].items()}
    if "device" in inputs:
        inputs["device"] = torch.device(device)
    first = _first(subject(*args, **inputs))
    if isinstance(first, Tensor) and first.device != torch.device(device):
        return f"the result is on {first.device}, the input on cuda:0"
    return ""


def _move(module: nn.Module, device: str) -> None:
    """Replace parameters and buffers by empty ones on `device`, shared ones by one.

    `Module.to` is unreliable on fake tensors.
    """
    moved: dict[int, Tensor] = {}
    for part in module.modules():
        for store in (part._parameters, part._buffers):  # noqa: SLF001 - no public way to replace
            for name, value in store.items():
                if value is None:
                    continue
                if id(value) not in moved:
                    empty = torch.empty_like(value, device=device)
                    moved[id(value)] = (
                        nn.Parameter(empty, requires_grad=False)
                        if isinstance(value, nn.Parameter)
                        else empty
                    )
                store[name] = moved[id(value)]  # type: ignore[assignment]


def _moved(value: Any, device: str) -> Any:
    if not isinstance(value, Tensor):
        return value
    return torch.empty(value.shape, dtype=value.dtype, device=device)
