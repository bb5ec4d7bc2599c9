"""What a confined process can no longer do, and that torch still works in there.

Everything happens in forks, which answer with JSON over a pipe and never come
back into pytest.
"""

from __future__ import annotations

import contextlib
import errno
import faulthandler
import importlib
import inspect
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
import torch
from torch import nn

import grader.given
from grader.isolation import containing, kernel, landlock, sandbox, seccomp

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the layers are those of Linux"
)

NOBODY = 65534
LIMIT = 60.0
# A fork answers over this file, so that `keep` can name it.
REPLIES = 200


@pytest.fixture(autouse=True)
def _leaves_no_process() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # a fork cannot use the threads of its parent
    yield
    torch.set_num_threads(threads)
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@pytest.fixture(scope="module")
def report() -> sandbox.Report:
    return sandbox.available()


@pytest.fixture
def needs(report: sandbox.Report) -> Callable[..., None]:
    def check(*names: str) -> None:
        for layer in report.layers:
            if layer.name in names and not layer.holds:
                pytest.skip(f"no layer {layer.name!r} here: {layer.detail}")

    return check


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


# --- asking a fork -----------------------------------------------------------


def answer_of(action: Callable[[], object], limit: float = LIMIT) -> Any:
    """Return what an action returns in a fork."""
    pid, pipe = start(action)
    try:
        text = read_all(pipe, limit)
    finally:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
    assert text, f"no answer, wait status {status}"
    answer = json.loads(text)
    assert "fault" not in answer, answer["fault"]
    return answer["value"]


def start(action: Callable[[], object]) -> tuple[int, int]:
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(ours)
        finish(action, theirs)
    os.close(theirs)
    return pid, ours


def finish(action: Callable[[], object], pipe: int) -> NoReturn:
    try:
        kept = os.dup2(pipe, REPLIES)
        try:
            answer = {"value": action()}
        except BaseException:  # noqa: BLE001 - told to the test
            answer = {"fault": traceback.format_exc()}
        os.write(kept, json.dumps(answer).encode())
    finally:
        os._exit(0)


def read_all(pipe: int, limit: float = LIMIT) -> str:
    """Read until every process that held the other end is gone, and close."""
    deadline = time.monotonic() + limit
    data = b""
    try:
        while True:
            left = deadline - time.monotonic()
            assert left > 0, f"still open after {limit} s: {data!r}"
            if select.select([pipe], [], [], left)[0]:
                chunk = os.read(pipe, 1 << 16)
                if not chunk:
                    return data.decode()
                data += chunk
    finally:
        os.close(pipe)


def failure(action: Callable[[], object]) -> str:
    """Return how an attempt fails: the name of the errno or of the exception, or nothing."""
    try:
        action()
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, type(error).__name__)
    except BaseException as error:  # noqa: BLE001 - told to the test
        return type(error).__name__
    return ""


def refusing(*_: object) -> NoReturn:
    raise OSError(errno.ENOSYS, "switched off for this test")


def as_nobody() -> None:
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


# --- torch -------------------------------------------------------------------


def test_torch_works_and_goes_on_importing(repository: Path, scratch: Path) -> None:
    def action() -> None:
        for name in ("torch.nn.utils.prune", "torch.distributions.kl", "sqlite3", "wave"):
            sys.modules.pop(name, None)
        sandbox.confine(scratch, hidden=[repository])
        mixed = torch.randn(60, 60) @ torch.randn(60, 60)
        assert torch.allclose(mixed.softmax(-1).sum(-1), torch.ones(60))
        layer = nn.TransformerEncoderLayer(12, 3, batch_first=True)
        layer(torch.randn(2, 3, 12)).sum().backward()
        assert all(p.grad is not None for p in layer.parameters())
        assert grader.given.MultiHeadSelfAttention(12, 3)(torch.randn(2, 3, 12)).shape == (2, 3, 12)
        for name in ("torch.nn.utils.prune", "torch.distributions.kl", "sqlite3", "wave"):
            importlib.import_module(name)
        torch.testing.assert_close(torch.ones(2), torch.ones(2))
        torch.linalg.svd(torch.randn(5, 5))
        torch.fft.rfft(torch.randn(8))
        assert "def forward" in inspect.getsource(nn.MultiheadAttention)
        thread = threading.Thread(target=lambda: torch.randn(9, 9) @ torch.randn(9, 9))
        thread.start()
        thread.join()
        torch.save(torch.ones(3), "saved.pt")
        assert torch.equal(torch.load("saved.pt"), torch.ones(3))
        with tempfile.NamedTemporaryFile() as file:
            assert Path(file.name).parent == scratch

    answer_of(action)


def test_torch_imagines_a_device(repository: Path, scratch: Path) -> None:
    def action() -> str:
        sandbox.confine(scratch, hidden=[repository])
        from torch._subclasses.fake_tensor import FakeTensorMode

        with FakeTensorMode():
            return str((torch.empty(3, device="lazy:0") + 1).device)

    assert answer_of(action) == "lazy:0"


# --- files -------------------------------------------------------------------


def test_what_is_hidden_cannot_be_read(
    needs: Callable[..., None], repository: Path, scratch: Path
) -> None:
    needs("files")
    solution = next((repository / "solutions").glob("kata*.py"))
    places = [
        solution,
        next((repository / "grader" / "specs").glob("kata*.py")),
        Path(__file__),
        next((repository / "katas").glob("kata*.py")),
        Path("/etc/passwd"),
        Path(f"/proc/{os.getpid()}/environ"),
        scratch / "link",
        scratch / ".." / "beside",
    ]
    (scratch / "link").symlink_to(solution)
    (scratch.parent / "beside").write_text("secret")
    assert all(failure(place.read_bytes) == "" for place in places)

    def action() -> list[str]:
        sandbox.confine(scratch, hidden=[repository])
        found = [failure(place.read_bytes) for place in places]
        found.append(failure(lambda: list((repository / "solutions").iterdir())))
        found.append(failure(lambda: os.link(solution, "hard")))
        return found

    found = answer_of(action)
    assert found[:-1] == ["EACCES"] * (len(places) + 1)
    assert found[-1] in ("EACCES", "EXDEV")


def test_what_is_named_readable_is_read_and_not_written(
    needs: Callable[..., None], tmp_path: Path, scratch: Path
) -> None:
    needs("files")
    named = tmp_path / "named"
    (named / "secret").mkdir(parents=True)
    (named / "secret" / "file").write_text("hidden")
    (named / "file").write_text("open")

    def action() -> list[str]:
        sandbox.confine(scratch, [named], [named / "secret"])
        return [
            (named / "file").read_text(),
            failure((named / "secret" / "file").read_text),
            failure(lambda: (named / "file").write_text("changed")),
        ]

    assert answer_of(action) == ["open", "EACCES", "EACCES"]


def test_nothing_outside_the_scratch_folder_is_changed(
    needs: Callable[..., None], tmp_path: Path, scratch: Path
) -> None:
    needs("files")
    victim = tmp_path / "victim"
    victim.write_text("whole")
    (tmp_path / "folder").mkdir()
    attempts: list[Callable[[], object]] = [
        lambda: victim.write_text("x"),
        lambda: victim.open("a"),
        victim.unlink,
        lambda: victim.rename(scratch / "mine"),
        lambda: os.truncate(victim, 0),
        lambda: victim.chmod(0),
        lambda: os.utime(victim),
        (tmp_path / "new").mkdir,
        (tmp_path / "new").touch,
        lambda: (tmp_path / "new").symlink_to(victim),
        (tmp_path / "folder").rmdir,
        lambda: os.mkfifo(tmp_path / "new"),
        lambda: Path("/dev/shm/grader-test").touch(),
    ]

    def action() -> list[str]:
        sandbox.confine(scratch)
        Path("inside").mkdir()
        Path("inside", "file").write_text("fine")
        Path("inside", "file").rename("moved")
        Path(os.devnull).write_text("gone")
        return [failure(attempt) for attempt in attempts]

    before = victim.stat()
    found = answer_of(action)
    assert [each for each in found if each not in ("EACCES", "EPERM", "EXDEV")] == []
    assert victim.read_text() == "whole"
    assert victim.stat().st_mode == before.st_mode
    assert victim.stat().st_mtime_ns == before.st_mtime_ns
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "scratch", "victim"]
    assert (scratch / "moved").read_text() == "fine"


def test_programs_cannot_be_run(needs: Callable[..., None], scratch: Path) -> None:
    needs("files")

    def action() -> list[str]:
        sandbox.confine(scratch)
        return [
            failure(lambda: os.execv("/bin/sh", ["sh", "-c", "true"])),
            failure(lambda: subprocess.run(["/bin/true"], check=True)),
        ]

    assert set(answer_of(action)) <= {"EACCES", "EPERM"}


def test_files_that_were_open_are_closed(repository: Path, scratch: Path) -> None:
    def action() -> list[str]:
        number = os.open(repository / "README.md", os.O_RDONLY)
        sandbox.confine(scratch, keep=[REPLIES])
        return [failure(lambda: os.read(number, 1)), failure(lambda: os.fstat(REPLIES))]

    assert answer_of(action) == ["EBADF", ""]


def test_hidden_folders_are_cut_out_of_those_that_hold_them(tmp_path: Path) -> None:
    for name in ("project/solutions", "project/.venv/lib", "project/grader/specs", "other"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "project" / "link").symlink_to(tmp_path / "project" / "solutions")
    project = tmp_path / "project"

    def cut(paths: list[Path], hidden: list[Path]) -> set[str]:
        found = landlock.without(paths, hidden)
        return {path.relative_to(tmp_path).as_posix() for path in found}

    assert cut([tmp_path], [project]) == {"other"}
    assert cut([project], [project]) == set()
    assert cut([project, project / ".venv"], [project]) == {"project/.venv"}
    assert cut([project / "link"], [project / "solutions"]) == set()
    assert cut([project], [project / "solutions", project / "grader" / "specs"]) == {
        "project/.venv"
    }
    assert cut([project / "missing"], []) == {"project/missing"}


# --- network and signals -----------------------------------------------------


@pytest.fixture
def listening() -> Iterator[tuple[str, int]]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()


def test_there_is_no_network(
    needs: Callable[..., None], scratch: Path, listening: tuple[str, int]
) -> None:
    needs("filter")

    def action() -> list[str]:
        sandbox.confine(scratch)
        return [
            failure(lambda: socket.create_connection(listening, 5)),
            failure(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)),
            failure(lambda: socket.socket(socket.AF_UNIX)),
            failure(socket.socketpair),  # reaches nobody
        ]

    assert answer_of(action) == ["EPERM", "EPERM", "EPERM", ""]


def test_without_the_filter_there_is_no_tcp(
    scratch: Path, listening: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    if landlock.version() < landlock.TCP_SINCE:
        pytest.skip(f"Landlock {landlock.version()} knows no TCP")
    monkeypatch.setattr(seccomp, "install", refusing)

    def action() -> list[object]:
        layers = {layer.name: layer for layer in sandbox.confine(scratch).layers}
        return [
            failure(lambda: socket.create_connection(listening, 5)),
            failure(lambda: socket.create_server(("127.0.0.1", 0))),
            layers["network"].detail,
        ]

    assert answer_of(action) == ["EACCES", "EACCES", "TCP only"]


@pytest.mark.parametrize("filtered", [True, False])
def test_others_cannot_be_signalled(
    needs: Callable[..., None], scratch: Path, filtered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs("signals")
    parent = os.getpid()
    if filtered:
        needs("filter")
    elif landlock.version() < landlock.SIGNALS_SINCE:
        pytest.skip(f"Landlock {landlock.version()} knows no signals")
    else:
        monkeypatch.setattr(seccomp, "install", refusing)

    def action() -> list[str]:
        sandbox.confine(scratch)
        caught: list[int] = []
        signal.signal(signal.SIGUSR1, lambda number, _: caught.append(number))
        os.kill(os.getpid(), signal.SIGUSR1)
        signal.raise_signal(signal.SIGUSR1)
        assert len(caught) == 2
        return [failure(lambda: os.kill(parent, 0)), failure(lambda: os.kill(1, 0))]

    assert answer_of(action) == ["EPERM", "EPERM"]


# --- limits ------------------------------------------------------------------


def test_limits_hold_and_cannot_be_raised(scratch: Path) -> None:
    def action() -> list[str]:
        import resource

        sandbox.confine(scratch)

        def write_a_gigabyte() -> None:
            with Path("big").open("wb", buffering=0) as file:
                file.writelines(bytes(1 << 20) for _ in range(1024))

        opened: list[int] = []
        return [
            failure(write_a_gigabyte),
            failure(lambda: opened.extend(os.open(os.devnull, 0) for _ in range(1000))),
            failure(lambda: bytearray(3 << 30)),
            failure(lambda: torch.empty(10**13)),
            *(
                failure(lambda kind=kind: resource.setrlimit(kind, (1 << 40, 1 << 40)))
                for kind in (resource.RLIMIT_AS, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE)
            ),
        ]

    written = ["EFBIG", "EMFILE", "MemoryError", "RuntimeError"]
    assert answer_of(action) == [*written, "ValueError", "ValueError", "ValueError"]
    assert (scratch / "big").stat().st_size == sandbox.FILE_SIZE


def test_an_endless_loop_ends_with_the_signal_of_its_limit(scratch: Path) -> None:
    child = containing.fork_into_namespace()
    if child.pid == 0:
        sandbox.confine(scratch, cpu_seconds=1)
        while True:
            pass
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert os.waitstatus_to_exitcode(containing.end(child)) == -signal.SIGXCPU


def test_there_are_threads_but_no_further_processes(
    needs: Callable[..., None], scratch: Path
) -> None:
    needs("filter")

    def action() -> list[str]:
        sandbox.confine(scratch)
        threads = [threading.Thread(target=lambda: None) for _ in range(4)]
        for thread in threads:
            thread.start()
            thread.join()
        return [failure(os.fork), failure(lambda: os.posix_spawn("/bin/true", ["true"], {}))]

    assert set(answer_of(action)) == {"EPERM"}


def test_without_the_filter_a_fork_bomb_is_bounded(
    needs: Callable[..., None], scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can become a user without other processes")
    needs("namespace")
    monkeypatch.setattr(seccomp, "install", refusing)
    scratch.chmod(0o777)
    ours, theirs = os.pipe()
    child = containing.fork_into_namespace()
    if child.pid == 0:
        os.close(ours)

        def bomb() -> list[object]:
            as_nobody()
            report = sandbox.confine(scratch)
            count = 0
            while count < 2000:
                try:
                    if os.fork() == 0:
                        signal.pause()
                except BlockingIOError:
                    break
                count += 1
            return [report.holds("processes"), count]

        finish(bomb, theirs)
    os.close(theirs)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    containing.end(child)
    # All of them held the pipe, so that they are gone when it ends.
    answer = json.loads(read_all(ours))
    assert "fault" not in answer, answer["fault"]
    held, count = answer["value"]
    assert held
    assert 1 <= count <= sandbox.MORE_TASKS


# --- the end of everything that was started ----------------------------------


def daemonize(pipe: int) -> None:
    """Leave a process behind that has left its group and session, and holds the pipe."""
    middle = os.fork()
    if middle == 0:
        os.setsid()
        if os.fork() == 0:
            os.setsid() if os.getsid(0) != os.getpid() else None
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
            os.write(pipe, b"up")
            while True:
                signal.pause()
        os._exit(0)
    os.waitpid(middle, 0)


def leave_a_daemon(code: int) -> tuple[containing.Child, int]:
    ours, theirs = os.pipe()
    child = containing.fork_into_namespace()
    if child.pid == 0:
        os.close(ours)
        daemonize(theirs)
        os._exit(code)
    os.close(theirs)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert os.read(ours, 2) == b"up"
    assert select.select([ours], [], [], 0.05)[0] == []  # it lives on
    return child, ours


def test_a_daemon_ends_with_its_namespace(needs: Callable[..., None]) -> None:
    needs("namespace")
    child, pipe = leave_a_daemon(7)
    assert child.first is not None
    assert os.waitstatus_to_exitcode(containing.end(child)) == 7
    assert read_all(pipe, 5) == ""


def test_without_namespaces_an_adopted_daemon_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "unshare", refusing)

    def action() -> list[object]:
        containing.claim()
        bystander = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        child, pipe = leave_a_daemon(7)
        code = os.waitstatus_to_exitcode(containing.end(child, others=[bystander.pid]))
        read_all(pipe, 5)
        bystander.communicate(b"\n")
        return [child.first, code, bystander.returncode]

    assert answer_of(action) == [None, 7, 0]


@pytest.mark.parametrize("how", ["exit", "abort", "segfault", "sleep"])
def test_a_child_keeps_its_own_ending(how: str) -> None:
    child = containing.fork_into_namespace()
    if child.pid == 0:
        faulthandler.disable()
        if how == "exit":
            os._exit(3)
        if how != "sleep":
            os.kill(os.getpid(), signal.SIGABRT if how == "abort" else signal.SIGSEGV)
        time.sleep(LIMIT)
    if how != "sleep":
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    began = time.monotonic()
    code = os.waitstatus_to_exitcode(containing.end(child))
    assert time.monotonic() - began < 2
    expected = {"exit": 3, "abort": -signal.SIGABRT, "segfault": -signal.SIGSEGV, "sleep": -9}
    assert code == expected[how]
    after = os.fork()  # back in the namespace of before
    if after == 0:
        os._exit(0)
    assert os.waitpid(after, 0) == (after, 0)


def test_all_ends_when_the_forking_process_is_killed(
    needs: Callable[..., None], scratch: Path
) -> None:
    needs("namespace", "parent")
    ours, theirs = os.pipe()
    forking = os.fork()
    if forking == 0:
        os.close(ours)
        child = containing.fork_into_namespace()
        if child.pid == 0:
            daemonize(theirs)
            sandbox.confine(scratch)
        time.sleep(LIMIT)
        os._exit(0)
    os.close(theirs)
    assert os.read(ours, 2) == b"up"
    os.kill(forking, signal.SIGKILL)
    os.waitpid(forking, 0)
    assert read_all(ours, 10) == ""


def test_a_confined_child_ends_with_its_parent(needs: Callable[..., None], scratch: Path) -> None:
    needs("parent")
    ours, theirs = os.pipe()
    parent = os.fork()
    if parent == 0:
        if os.fork() == 0:
            sandbox.confine(scratch)
            os.write(theirs, b"up")
        time.sleep(LIMIT)
        os._exit(0)
    os.close(theirs)
    assert os.read(ours, 2) == b"up"
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    assert read_all(ours, 10) == ""


def claim_and_leave_a_daemon() -> object:
    reason = containing.claim()
    if reason:
        return reason
    uid = os.getuid()
    child, pipe = leave_a_daemon(7)
    code = os.waitstatus_to_exitcode(containing.end(child))
    read_all(pipe, 5)
    return [uid, child.first is not None, code]


def test_ordinary_users_have_namespaces_too() -> None:
    user = os.getuid() or NOBODY

    def action() -> object:
        if os.getuid() == 0:
            as_nobody()
        return claim_and_leave_a_daemon()

    found = answer_of(action)
    if isinstance(found, str):
        pytest.skip(found)
    assert found == [user, True, 7]


@pytest.mark.parametrize("how", ["exit", "signal", "killed from outside"])
def test_who_stays_behind_ends_as_the_child_does(how: str) -> None:
    def action() -> object:
        if os.getuid() == 0:
            as_nobody()
        reason = containing.claim()
        if reason:
            return reason
        if how == "exit":
            os._exit(5)
        if how == "signal":
            # The first process of a namespace ignores what it does not handle itself.
            signal.signal(signal.SIGALRM, lambda *_: os._exit(6))
            signal.alarm(1)
        else:
            os.write(REPLIES, b"up")
        time.sleep(LIMIT)
        return None

    pid, pipe = start(action)
    if how == "killed from outside":
        assert os.read(pipe, 2) == b"up"
        os.kill(pid, signal.SIGKILL)
    text = read_all(pipe, 10)  # the child is gone as well, or this would not end
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if text:
        pytest.skip(json.loads(text)["value"])
    assert code == {"exit": 5, "signal": 6, "killed from outside": -signal.SIGKILL}[how]


# --- what holds --------------------------------------------------------------


def test_looking_changes_nothing_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def state() -> list[object]:
        lines = Path("/proc/self/status").read_text().splitlines()
        kept = ("NoNewPrivs", "Seccomp:", "CapEff", "NSpid", "Uid")
        kinds = ("AS", "CPU", "FSIZE", "NOFILE", "CORE", "NPROC")
        return [
            *(line for line in lines if line.startswith(kept)),
            *(resource.getrlimit(getattr(resource, f"RLIMIT_{kind}")) for kind in kinds),
            Path.cwd(),
            os.environ.copy(),
            len(list(Path("/proc/self/fd").iterdir())),
        ]

    before = state()
    layers = [layer.name for layer in sandbox.available().layers]
    assert state() == before
    assert list(tmp_path.iterdir()) == []
    assert {"memory", "files", "network", "signals", "processes", "namespace"} <= set(layers)


def test_a_system_without_any_layer_is_told_and_survived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("prctl", "syscall", "unshare", "keep_capabilities"):
        monkeypatch.setattr(kernel, name, refusing)
    monkeypatch.setattr(sandbox, "resource", None)

    def action() -> list[list[object]]:
        report = sandbox.confine(tmp_path / "missing")
        return [[layer.name, layer.detail] for layer in report.missing()]

    missing = dict(answer_of(action))
    assert {"memory", "privileges", "parent", "folder", "filter", "files"} <= set(missing)
    assert {"network", "signals", "processes"} <= set(missing)
    assert all(missing.values())


def test_memory_can_be_hidden_from_others_of_the_same_user() -> None:
    def action() -> list[object]:
        return [sandbox.hide_memory(), Path("/proc/self/mem").stat().st_uid]

    assert answer_of(action) == [True, 0]
