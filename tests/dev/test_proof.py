"""The proof of one kata, as anyone can run it: every mutant fails or is listed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def test_no_mutant_of_kata1_passes(repository: Path) -> None:
    words = ["dev", "mutants", "kata1", "--unnamed"]
    done = subprocess.run(
        [sys.executable, "-m", "grader", *words, "--json"],
        cwd=repository,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)["katas"]["kata1"]
    assert found["made"] > 400
    assert found["survived"] == 0
    assert found["viable"] == found["killed"] + found["equivalent"]
    assert found["equivalent"] < 0.08 * found["viable"]
