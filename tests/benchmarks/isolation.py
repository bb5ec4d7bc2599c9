"""Print what it costs to run answers in processes of their own, as ratios taken in one run.

    python tests/benchmarks/isolation.py [--runs 5]

The baseline is `python -c "import torch, hypothesis, rich.console"`, timed
alternately with what is compared with it; figures are medians. Bytecode is
kept, as it is for whoever runs the grader a second time.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pexpect

from grader import catalog

ROOT = Path(__file__).resolve().parents[2]
BASELINE = [sys.executable, "-c", "import torch, hypothesis, rich.console"]
GRADER = [sys.executable, "-m", "grader"]
FILES = 20


def seconds(command: Sequence[str], folder: Path = ROOT) -> float:
    began = time.perf_counter()
    subprocess.run(command, cwd=folder, capture_output=True, check=False)
    return time.perf_counter() - began


def alternating(command: Sequence[str], runs: int) -> tuple[float, float]:
    """Return the median ratio of a command to the baseline, and its median seconds."""
    for warming in (command, BASELINE):
        seconds(warming)
    pairs = [(seconds(command), seconds(BASELINE)) for _ in range(runs)]
    return statistics.median(a / b for a, b in pairs), statistics.median(a for a, _ in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    runs: int = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        answers = answers_of_each_kata(Path(folder))
        cold(answers, runs)
        warm(Path(folder), answers, runs)
        batch(Path(folder), answers)
        memory(answers)
        apart(answers, runs)


def answers_of_each_kata(folder: Path) -> dict[str, tuple[Path, Path]]:
    """Write a right and a wrong answer to each kata: the solution, and one with a known bug."""
    found: dict[str, tuple[Path, Path]] = {}
    corpus = ROOT / "tests" / "submissions"
    for entry in catalog.katas():
        right = folder / f"{entry.name}_right.py"
        right.write_bytes(entry.solution_path.read_bytes())
        wrong = next(iter(sorted((corpus / entry.stem / "wrong").glob("*.py"))))
        found[entry.name] = (right, wrong)
    return found


def cold(answers: dict[str, tuple[Path, Path]], runs: int) -> None:
    print("cold: one command over the baseline")
    for name, (right, wrong) in answers.items():
        for word, path in (("right", right), ("wrong", wrong)):
            command = [*GRADER, name, "--file", str(path), "--plain"]
            ratio, spent = alternating(command, runs)
            print(f"  {name} {word} {ratio:5.2f} x   ({spent:.2f} s)")


def warm(folder: Path, answers: dict[str, tuple[Path, Path]], runs: int) -> None:
    print("warm: from a save to the verdict on the screen, over the baseline")
    project = folder / "project"
    for name in ("grader", "katas", "solutions"):
        shutil.copytree(ROOT / name, project / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name, (right, wrong) in answers.items():
        target = project / "katas" / catalog.find(name).stub_path.name
        with watching(project, name) as child:
            for word, path, verdict in (("right", right, "PASS"), ("wrong", wrong, "FAIL")):
                ratios: list[float] = []
                for run in range(runs + 1):
                    began = time.perf_counter()
                    target.write_text(f"{path.read_text()}\n# {run}\n")
                    child.expect(verdict)
                    child.expect("next")
                    if run:  # the first one fills what is kept
                        ratios.append((time.perf_counter() - began) / seconds(BASELINE))
                    time.sleep(0.3)
                print(f"  {name} {word} {statistics.median(ratios):5.2f} x")


@contextmanager
def watching(project: Path, name: str) -> Generator[Any]:
    child: Any = pexpect.spawn(
        sys.executable,
        ["-m", "grader", "watch", name, "--plain"],
        cwd=str(project),
        env=os.environ | {"PYTHONPATH": str(project)},
        encoding="utf-8",
        timeout=60,
    )
    child.expect("NOT STARTED")
    yield child
    child.send("q")
    child.expect(pexpect.EOF)
    child.close()


def batch(folder: Path, answers: dict[str, tuple[Path, Path]]) -> None:
    source = answers["kata3"][0].read_text()
    files = [folder / f"many{number}.py" for number in range(FILES)]
    for number, path in enumerate(files):
        path.write_text(f"{source}\n# {number}\n")
    together = seconds([*GRADER, "kata3", "--plain", *(f"--file={path}" for path in files)])
    single = sum(seconds([*GRADER, "kata3", "--plain", f"--file={path}"]) for path in files)
    print(f"{FILES} files in one command over {FILES} commands: {together / single:.2f}")


def memory(answers: dict[str, tuple[Path, Path]]) -> None:
    """Compare what whole trees of processes hold, shared pages counted once."""
    command = [*GRADER, "kata3", "--plain", "--file", str(answers["kata3"][0])]
    grading = most_memory(command)
    bare = most_memory([sys.executable, "-c", "import torch, time; time.sleep(0.5)"])
    print(f"memory of the whole tree over bare import torch: {grading / bare:.2f}")


def most_memory(command: Sequence[str]) -> int:
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    most = [0]

    def look() -> None:
        while process.poll() is None:
            most[0] = max(most[0], sum(map(held, tree(process.pid))))
            time.sleep(0.02)

    thread = threading.Thread(target=look)
    thread.start()
    process.wait()
    thread.join()
    return most[0]


def tree(pid: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            about = (folder / "stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(about[1]), []).append(int(folder.name))
    found, waiting = [pid], [pid]
    while waiting:
        below = parents.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def held(pid: int) -> int:
    """Return a process's share of memory in kB (Pss)."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def apart(answers: dict[str, tuple[Path, Path]], runs: int) -> None:
    """Time the same grading with the answer in this process and in one of its own."""
    from grader.engine.bench import LocalAnswer
    from grader.engine.grading import grade
    from grader.isolation.answering import RemoteAnswer
    from grader.isolation.nursery import workers

    with tempfile.TemporaryDirectory() as folder:
        # Forked before any kata is loaded, as in a grading.
        nursery = workers(Path(folder))
        kata = catalog.find("kata3").load_spec()
        source = answers["kata3"][0].read_bytes()

        def timed(load: Callable[[bytes, str], Any]) -> float:
            began = time.perf_counter()
            made: list[Any] = []

            def keep(data: bytes, path: str) -> Any:
                made.append(load(data, path))
                return made[-1]

            grade(kata, source, "a.py", load=keep)
            for answer in made:
                if isinstance(answer, RemoteAnswer):
                    answer.close()
            return time.perf_counter() - began

        def remote(data: bytes, path: str) -> RemoteAnswer:
            return RemoteAnswer(nursery, data, path)

        timed(LocalAnswer)
        pairs = [(timed(remote), timed(LocalAnswer)) for _ in range(runs)]
        ratio = statistics.median(a / b for a, b in pairs)
        print(f"one grading with the answer apart, over all in one process: {ratio:.2f}")
        nursery.close()


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    main()
