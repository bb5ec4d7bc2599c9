"""Grade the same files many times, each time under other circumstances: one verdict each.

    python tests/benchmarks/stability.py [--runs 20]

Circumstances: the seed of hashes, the folder, the locale, the number of threads,
and whether other files were graded before by the same process. Verdicts are
compared byte for byte, without their times. Exit code 1 if any differs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
CORPUS = REPOSITORY / "tests" / "submissions"
# Wrong files and right ones: names of `tests/submissions`.
FILES = {
    "kata1": ("kata01_softmax_dim", ("wrong/naive_exp", "right/own_backward")),
    "kata2": ("kata02_single_head_attention", ("wrong/truthiness", "right/fused_qkv")),
    "kata3": ("kata03_multi_head_self_attention", ("wrong/late_mask_swapped_product",)),
    "kata5": ("kata05_positional_encoding", ("wrong/halves", "right/lazy_cache")),
    "kata6": ("kata06_encoder_layer", ("wrong/dropout_over_everything",)),
    "kata8": ("kata08_residual_blocks", ("wrong/dropout_on_the_sum", "right/handwritten")),
}


def circumstances(runs: int) -> Iterator[dict[str, str]]:
    """Yield what to set in the environment of each run."""
    for number in range(runs):
        locale = ("C", "C.UTF-8", "POSIX", "")[number % 4]
        yield {
            "PYTHONHASHSEED": str(number * 7919 % 1000),
            "LC_ALL": locale,
            "OMP_NUM_THREADS": str(1 + number % 2),
            "MKL_NUM_THREADS": str(1 + number % 2),
        }


def graded(kata: str, files: list[Path], folder: Path, settings: dict[str, str]) -> list[Any]:
    """Return the verdicts on some files, without what may differ: times and paths."""
    flags = [word for file in files for word in ("--file", str(file))]
    done = subprocess.run(
        [sys.executable, "-m", "grader", kata, *flags, "--json", "--jobs", "1"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)} | settings,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if not done.stdout.strip():
        raise SystemExit(f"{kata}: nothing was printed\n{done.stderr}")
    found = json.loads(done.stdout)
    verdicts: list[dict[str, Any]] = found if isinstance(found, list) else [found]
    for verdict in verdicts:
        verdict.pop("seconds")
    # The path is as one would type it in the folder, in the scripts of counterexamples too.
    return [json.dumps(verdict).replace(verdict["path"], "answer.py") for verdict in verdicts]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    runs: int = parser.parse_args().runs
    differing = 0
    for kata, (stem, names) in FILES.items():
        files = [CORPUS / stem / f"{name}.py" for name in names]
        seen: dict[Path, set[str]] = {file: set() for file in files}
        for number, settings in enumerate(circumstances(runs)):
            # Now in one order and now in the other: what was graded before must not matter.
            order = files if number % 2 else files[::-1]
            with tempfile.TemporaryDirectory() as folder:
                place = Path(folder) if number % 3 else REPOSITORY
                verdicts = graded(kata, order, place, settings)
            for file, verdict in zip(order, verdicts, strict=True):
                seen[file].add(verdict)
        for file, found in seen.items():
            differing += len(found) > 1
            print(f"{kata} {file.stem}: {runs} gradings, {len(found)} verdict(s)", flush=True)
    return 1 if differing else 0


if __name__ == "__main__":
    raise SystemExit(main())
