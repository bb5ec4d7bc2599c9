"""Whatever a file does, one clear verdict comes, and everything else is as before.

All files are graded by a few commands, as a teacher would grade a folder: one
bad answer never ends the batch.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from grader.isolation.sandbox import available

HELD = available()
EXIT_CODES = {"passed": 0, "failed": 1, "not_loadable": 3, "timeout": 4, "memory": 4, "crashed": 4}

HEAD = """\
import gc, os, random, signal, socket, subprocess, sys, threading, time
import torch

{top}
def softmax(x, dim=-1):
{body}
    e = (x - x.amax(dim, keepdim=True)).exp()
    return e / e.sum(dim, keepdim=True)
"""

# name: (what the function does first, status, words of the message)
IN_A_CALL = {
    "endless": ("while True: pass", "timeout", "no answer within"),
    "sleeps": ("time.sleep(1000)", "timeout", "time.sleep(1000)"),
    "swallows": (
        "while True:\n    try: time.sleep(1)\n    except BaseException: pass",
        "timeout",
        "no answer within",
    ),
    "hangs_in_c": ("sum(iter(int, 1))", "timeout", "sum(iter(int, 1))"),
    "blocks_signals": (
        "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))\nwhile True: pass",
        "timeout",
        "no answer within",
    ),
    "hangs_when_large": (
        "while x.dim() > 1 and x.shape[0] > 2: pass",
        "timeout",
        '"n1": 3, "n2": 1, "n3": 1',
    ),
    "exits": ("sys.exit(3)", "failed", "do not end the program"),
    "exits_at_once": ("os._exit(3)", "crashed", "exit code 3"),
    "interrupts": ("raise KeyboardInterrupt", "failed", "KeyboardInterrupt"),
    "raises_its_own": (
        "class Odd(BaseException): pass\nraise Odd('strange')",
        "failed",
        "Odd: strange",
    ),
    "unsayable": (
        "class Bad(Exception):\n    def __str__(self): raise RuntimeError\nraise Bad",
        "failed",
        "its message cannot be shown",
    ),
    "unsayable_at_all": (
        "class Bad(RuntimeError):\n    def __str__(self): raise KeyboardInterrupt\nraise Bad",
        "failed",
        "its message cannot be shown",
    ),
    "segfaults": ("import ctypes\nctypes.string_at(0)", "crashed", "SIGSEGV"),
    "segfaults_when_large": (
        "import ctypes\nif x.dim() > 1 and x.shape[0] > 2: ctypes.string_at(0)",
        "crashed",
        '"n1": 3, "n2": 1, "n3": 1',
    ),
    "aborts": ("os.abort()", "crashed", "SIGABRT"),
    "recurses": ("return softmax(x, dim)", "failed", "RecursionError"),
    "asks_for_too_much": ("torch.empty(10**13)", "memory", "80,000.0 GB asked for"),
    "grows": (
        "globals().setdefault('KEPT', []).append(bytearray(3 * 10**8))",
        "memory",
        "runs out of memory",
    ),
    "prints_a_lot": (
        "for _ in range(2000): print('[bold]PASSED[/bold] \\x1b[31mred', '.' * 90)",
        "passed",
        "the answer printed",
    ),
    "raises_a_lot": ("raise ValueError('y' * 50_000_000)", "failed", "ValueError: yyy"),
    "asks": ("input('your name? ')", "failed", "there is no keyboard here"),
    "debugs": ("breakpoint()", "failed", "there is no keyboard here"),
    "patches": (
        "torch.softmax = torch.allclose = torch.equal = lambda *a, **k: True\nreturn x",
        "failed",
        "",
    ),
    "imports_the_solution": (
        "import solutions.kata01_softmax_dim as s\nreturn s.softmax(x, dim)",
        "failed",
        "not available while grading",
    ),
    "opens_the_solution": (
        "import grader.catalog\n"
        "print(open(grader.catalog.ROOT / 'solutions' / 'kata01_softmax_dim.py').read())",
        "failed",
        "not available while grading",
    ),
    "imports_the_spec": ("import grader.specs.kata01_softmax_dim", "failed", "not available"),
    "searches_memory": (
        "for o in gc.get_objects():\n"
        "    if getattr(o, '__module__', '') == 'solution': return o(x, dim)\n"
        "assert False, 'nothing there'",
        "failed",
        "nothing there",
    ),
    "walks_frames": (
        "frame = sys._getframe()\n"
        "while frame:\n"
        "    assert 'expected' not in frame.f_locals and 'reference' not in frame.f_locals\n"
        "    frame = frame.f_back\n"
        "assert False, 'nothing there'",
        "failed",
        "nothing there",
    ),
    "changes_its_input": ("x.sub_(1)", "failed", "in place"),
    "starts_threads": (
        "threading.Thread(target=time.sleep, args=(600,), daemon=True).start()",
        "",
        "",
    ),
    "forks": ("if os.fork() == 0: time.sleep(600)", "failed", "os.fork is not available"),
    "forks_without_end": ("while True: os.fork()", "failed", "os.fork is not available"),
    "leaves_a_daemon": (
        "subprocess.Popen(['sleep', '613'], start_new_session=True)",
        "failed",
        "starting another program is not available",
    ),
    "kills_its_parent": ("os.kill(os.getppid(), 9)", "failed", "not permitted"),
    "kills_everyone": ("os.kill(-1, 9)", "failed", "not permitted"),
    "kills_itself": ("os.kill(os.getpid(), 9)", "crashed", "SIGKILL"),
    "deletes": (
        "import grader.catalog, shutil\nshutil.rmtree(grader.catalog.ROOT / 'katas')",
        "failed",
        "",
    ),
    "fills_the_disk": (
        "with open('big', 'wb') as file:\n    for _ in range(1000): file.write(bytes(10**6))",
        "failed",
        "File too large",
    ),
    "opens_a_thousand": (
        "globals().setdefault('KEPT', []).extend(open('/dev/null') for _ in range(1000))",
        "failed",
        "Too many open files",
    ),
    "goes_online": ("socket.create_connection(('127.0.0.1', 9))", "failed", "the network is not"),
    "closes_everything": ("os.closerange(3, 1000)", "crashed", "connection to the grader"),
    "writes_everywhere": (
        "for n in range(3, 200):\n    try: os.write(n, b'x' * 99)\n    except OSError: pass",
        "crashed",
        "the grader's channel",
    ),
    "forges_a_reply": (
        "for o in gc.get_objects():\n"
        "    if type(o).__name__ == 'Connection': o.send(('loaded',), 1)",
        "crashed",
        "the grader's channel",
    ),
    "changes_settings": (
        "torch.set_default_dtype(torch.float16); torch.set_num_threads(2)\n"
        "torch.set_grad_enabled(False); torch.manual_seed(1); torch.set_default_device('meta')",
        "failed",
        "",
    ),
    "counts_calls": (
        "globals()['N'] = globals().get('N', 0) + 1\nx = x * 2 if N > 9 else x",
        "failed",
        "keeps state from earlier calls, or is random",
    ),
    "is_random": (
        "import secrets\nx = x + secrets.randbelow(99) * torch.arange(x.numel()).reshape(x.shape)",
        "failed",
        "",
    ),
}

# name: (what stands at the top of the file, status, words of the message)
ON_LOADING = {
    "endless_top": ("while True: pass", "timeout", "the file is not loaded within"),
    "exits_at_once_top": ("os._exit(0)", "crashed", "exit code 0"),
    "exits_top": ("sys.exit()", "not_loadable", "the file calls exit()"),
    "missing_package": ("import not_a_package", "not_loadable", "'not_a_package'"),
    "import_error": ("from torch import nothing_of_the_kind", "not_loadable", "cannot import name"),
    "interrupts_top": ("raise KeyboardInterrupt", "not_loadable", "KeyboardInterrupt"),
    "huge_top": ("KEPT = bytearray(10**11)", "not_loadable", "MemoryError"),
    "fine": ("", "passed", ""),
}

# name: (the whole file, status, words of the message)
FILES: dict[str, tuple[bytes, str, str]] = {
    "empty": (b"", "not_loadable", "softmax"),
    "null_bytes": (b"def softmax(x):\0", "not_loadable", "null bytes"),
    "not_utf8": (b"\n\ndef softmax(x): pass  # \xff\xfe", "not_loadable", "not valid UTF-8"),
    "unclosed": (b"def softmax(x, dim=-1:\n    pass\n", "not_loadable", "SyntaxError"),
    "indented": (b"def softmax(x, dim=-1):\npass\n", "not_loadable", "IndentationError"),
    "misspelt": (b"def soft_max(x, dim=-1): return x\n", "not_loadable", "soft_max"),
    "a_number": (b"softmax = 3\n", "not_loadable", "int"),
    "other_signature": (b"def softmax(y): return y\n", "not_loadable", "dim"),
    "returns_none": (b"def softmax(x, dim=-1): pass\n", "failed", "None"),
    "returns_a_list": (b"def softmax(x, dim=-1): return x.tolist()\n", "failed", "list"),
    "returns_ints": (b"def softmax(x, dim=-1): return x.long()\n", "failed", "int64"),
    "returns_nan": (b"def softmax(x, dim=-1): return x * float('nan')\n", "failed", "NaN"),
    "a_subclass": (
        b"import torch\nclass T(torch.Tensor): pass\n"
        b"def softmax(x, dim=-1): return torch.exp(x).as_subclass(T)\n",
        "failed",
        "T",
    ),
    "lying_eq": (
        b"class Yes:\n    def __eq__(self, other): return True\n"
        b"    def __getattr__(self, name): return self\n    def __call__(self, *a): return self\n"
        b"def softmax(x, dim=-1): return Yes()\n",
        "failed",
        "Yes",
    ),
}


def sources() -> dict[str, bytes]:
    found = {name: source for name, (source, _, _) in FILES.items()}
    for name, (code, _, _) in IN_A_CALL.items():
        body = "\n".join(f"    {line}" for line in code.splitlines())
        found[name] = HEAD.format(top="", body=body).encode()
    for name, (code, _, _) in ON_LOADING.items():
        found[name] = HEAD.format(top=code, body="").encode()
    fine = found["fine"]
    found["bom_and_crlf"] = b"\xef\xbb\xbf" + fine.replace(b"\n", b"\r\n")
    found["too_long"] = b"#" * (2 << 20)
    return found


@pytest.fixture(scope="module")
def batch(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> dict[str, Any]:
    """All files, graded in one command in a copy of the project."""
    return graded(tmp_path_factory.mktemp("hostile"), repository, sources())


def graded(
    folder: Path, repository: Path, answers: dict[str, bytes], **environment: str
) -> dict[str, Any]:
    """Grade files in one command; return the verdicts, and what is otherwise than before."""
    root, temporary = folder / "project", folder / "temporary"
    (folder / "answers").mkdir()
    temporary.mkdir()
    for name in ("grader", "katas", "solutions"):
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(repository / name, root / name, ignore=ignore)
    files = {name: folder / "answers" / f"{name}.py" for name in answers}
    for name, source in answers.items():
        files[name].write_bytes(source)
    words = [f"--file={path}" for path in files.values()]
    before = contents(root)
    began = time.monotonic()
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "grader",
            "kata1",
            "--json",
            "--timeout",
            "60",
            "--jobs",
            "4",
            *words,
        ],
        cwd=root,
        env={
            **os.environ,
            "PYTHONPATH": str(root),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TMPDIR": str(temporary),
            "GRADER_TEST": str(folder),
            **environment,
        },
        capture_output=True,
        encoding="utf-8",
        timeout=500,
        check=False,
    )
    return {
        "records": dict(zip(files, json.loads(done.stdout), strict=True)),
        "code": done.returncode,
        "stderr": done.stderr,
        "seconds": time.monotonic() - began,
        "left": [path.name for path in temporary.iterdir()],
        "processes": processes_with(f"GRADER_TEST={folder}\0".encode()),
        "changed": contents(root) != before,
    }


def contents(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and ".grader" not in path.parts
    }


def processes_with(mark: bytes) -> list[str]:
    """Return the processes that have a mark in their environment."""
    found: list[str] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_bytes().decode())
        except OSError:
            continue
    return found


def told(record: dict[str, Any]) -> str:
    """Return everything that a verdict says."""
    return json.dumps(record, ensure_ascii=False)


EXPECTED = {
    **{name: (status, words) for name, (_, status, words) in IN_A_CALL.items()},
    **{name: (status, words) for name, (_, status, words) in ON_LOADING.items()},
    **{name: (status, words) for name, (_, status, words) in FILES.items()},
    "bom_and_crlf": ("passed", ""),
    "too_long": ("not_loadable", "2.1 MB"),
}
# Where the system gives less, the learner is told less, but the verdict still stands.
NEEDS = {
    "forks": "filter",
    "forks_without_end": "filter",
    "leaves_a_daemon": "filter",
    "kills_its_parent": "filter",
    "kills_everyone": "filter",
    "grows": "memory",
    "huge_top": "memory",
    "fills_the_disk": "file size",
    "opens_a_thousand": "open files",
    "deletes": "files",
}


@pytest.mark.parametrize("name", EXPECTED)
def test_each_gets_its_verdict(batch: dict[str, Any], name: str) -> None:
    layer = NEEDS.get(name)
    if layer and not HELD.holds(layer):
        pytest.skip(f"no layer {layer!r} here")
    status, words = EXPECTED[name]
    record = batch["records"][name]
    assert record["status"] != "grader_error", told(record)
    if status:
        assert record["status"] == status, told(record)
    assert words in told(record)
    assert "Traceback" not in told(record)


def test_nothing_is_left_behind(batch: dict[str, Any]) -> None:
    assert batch["stderr"] == ""
    assert batch["left"] == []
    assert batch["processes"] == []
    assert not batch["changed"]
    assert batch["code"] == 4


def test_hangs_and_deaths_carry_the_line_and_the_smallest_case(batch: dict[str, Any]) -> None:
    lines = {"endless": 6, "sleeps": 6, "hangs_in_c": 6, "segfaults": 7, "exits_at_once": 6}
    for name, line in lines.items():
        (first, *_) = batch["records"][name]["checks"]
        assert first["line"] == line, name
        assert first["counterexample"]["called"] == "softmax(x=[-0.3], dim=-1)", name
    assert batch["records"]["endless_top"]["checks"][0]["line"] == 4


def test_workers_that_are_spawned_give_the_same_verdicts(
    batch: dict[str, Any], tmp_path: Path, repository: Path
) -> None:
    """Where a fork is missing or unsafe, the same happens, only slower."""
    names = ("fine", "hangs_when_large", "segfaults_when_large", "changes_its_input", "exits_top")
    chosen = {name: sources()[name] for name in names}
    found = graded(tmp_path, repository, chosen, GRADER_START="spawn")
    assert (found["stderr"], found["left"], found["processes"]) == ("", [], [])
    for name in names:
        ours, theirs = (dict(each["records"][name]) for each in (found, batch))
        for record in (ours, theirs):
            del record["seconds"]
        assert ours == theirs
