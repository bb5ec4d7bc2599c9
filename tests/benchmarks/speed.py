"""Print how fast grading is, as ratios to baselines taken in the same run.

    python tests/benchmarks/speed.py [--runs 7]

Whole commands are timed alternately with their baseline, so that a busy
machine slows both alike; the figure is the median of the ratios. Bytecode is
kept, as it is for whoever runs the grader a second time.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STEM = "kata03_multi_head_self_attention"
HEAVY = [sys.executable, "-c", "import torch, hypothesis, rich.console"]
LIGHT = [sys.executable, "-c", "import rich.console"]
# Independent slips in three different lines, each a known bug.
SLIPS = (
    (" / math.sqrt(self.head_dim)", " / math.sqrt(d_model)"),
    ('scores.masked_fill(~causal_mask, float("-inf"))', "scores * causal_mask"),
    ("return self.out_proj(context)", "return context"),
)


def seconds(command: Sequence[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    return time.perf_counter() - started


def ratio(command: Sequence[str], baseline: Sequence[str], runs: int) -> tuple[float, float]:
    """Return the median ratio of `command` to `baseline`, and the command's median seconds."""
    for warming in (command, baseline):
        seconds(warming)
    pairs = [(seconds(command), seconds(baseline)) for _ in range(runs)]
    return statistics.median(a / b for a, b in pairs), statistics.median(a for a, _ in pairs)


def median_of(call: Callable[[], object], runs: int) -> float:
    times: list[float] = []
    for _ in range(runs):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    runs: int = parser.parse_args().runs
    solution = (ROOT / "solutions" / f"{STEM}.py").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        answers: dict[str, Path] = {}
        for count in range(len(SLIPS) + 1):
            source = solution
            for old, new in SLIPS[:count]:
                source = source.replace(old, new)
            answers[f"{count} bugs"] = Path(folder) / f"answer{count}.py"
            answers[f"{count} bugs"].write_text(source, encoding="utf-8")
        print("whole commands, over `import torch, hypothesis, rich.console`")
        for name, path in answers.items():
            command = [sys.executable, "-m", "grader", "kata3", "--file", str(path), "--plain"]
            times, spent = ratio(command, HEAVY, runs)
            print(f"  grade kata3, {name:8} {times:5.2f} x   ({spent:.2f} s)")
        print("whole commands, over `import rich.console`")
        for words in (["list"], ["katta3"], []):
            times, spent = ratio([sys.executable, "-m", "grader", *words], LIGHT, runs)
            print(f"  {' '.join(['grader', *words]):20} {times:5.2f} x   ({spent:.2f} s)")
        inside({name: path.read_text(encoding="utf-8") for name, path in answers.items()}, runs)


def inside(answers: dict[str, str], runs: int) -> None:
    """Time the parts of a grading in this process, imports aside."""
    import torch

    from grader import catalog
    from grader.engine.bench import Bench, LocalAnswer, Reference
    from grader.engine.checking import judge
    from grader.engine.diagnosing import Diagnosis, bank, gather
    from grader.engine.exploring import smallest_failure
    from grader.engine.grading import grade
    from grader.engine.mutants import Store
    from grader.model import Mismatch, NamedBug, Recipe

    torch.set_num_threads(1)
    kata = catalog.load_spec(STEM)
    solution = answers["0 bugs"]
    print("inside the process, imports aside")
    for name, source in answers.items():
        data = source.encode()
        grade(kata, data, "a.py", solution=solution)
        spent = median_of(lambda data=data: grade(kata, data, "a.py", solution=solution), runs)
        print(f"  grading, {name}: {spent:.2f} s")
    for name, source in list(answers.items())[1:]:

        def diagnose(source: str = source) -> Sequence[NamedBug]:
            bench = Bench(kata, LocalAnswer(source.encode(), "a.py"), Reference(kata, solution))
            return Diagnosis(kata, Store(kata, solution), gather(bench, bank(bench, kata))).run()

        bugs = diagnose()
        print(f"  diagnosis, {name}: {median_of(diagnose, runs):.2f} s {[b.id for b in bugs]}")
    check = next(check for check in kata.checks if check.name == "masks_are_applied")
    bench = Bench(kata, LocalAnswer(solution.encode(), "a.py"), Reference(kata, solution))
    count = [0]

    def judged(recipe: Recipe) -> Mismatch | None:
        count[0] += 1
        finding = judge(bench, check, recipe)
        return finding if isinstance(finding, Mismatch) else None

    started = time.perf_counter()
    smallest_failure(check, judged, 500, 0)
    print(f"  Hypothesis: {count[0] / (time.perf_counter() - started):.0f} examples per second")


if __name__ == "__main__":
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    main()
