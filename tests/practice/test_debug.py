"""Debug rounds: what is planted, what is said of the mend, and what is not given away."""

from __future__ import annotations

import json
import random
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.catalog import Entry, katas
from grader.errors import UsageError
from grader.model import NamedBug, Verdict
from grader.patching import plant
from grader.practice.planting import left, plant_some, without_comments

Make = Callable[..., Verdict]
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def file(stage: Path) -> Path:
    return stage / ".grader" / "debug" / "debug_kata03_noise.py"


def test_a_round_from_planting_to_the_last_mend(run: Run, file: Path, stage: Path) -> None:
    done = run("debug", "kata3", "--bugs", "2", "--seed", "4")
    assert done.returncode == 0, done.stderr
    assert "kata3 · Noise: 2 bugs were planted, seed 4" in done.stdout
    assert "open      .grader/debug/debug_kata03_noise.py" in done.stdout
    planted = file.read_text()
    assert "#" not in planted.replace("kata3 ·", ""), "neither steps nor comments"
    done = run("debug", "kata3", "--check")
    assert done.returncode == 1
    assert done.stdout.startswith("FAIL  0 of 2 mended\n")
    for name in ("too-quiet", "too-short", "behaves exactly like"):
        assert name not in re.sub(r"got .*", "", done.stdout), "not where they are"
    half = planted.replace('wrong += ["too-quiet"]', "wrong += []")
    file.write_text(half)
    assert run("debug", "kata3", "--check").stdout.startswith("FAIL  1 of 2 mended\n")
    file.write_text(half.replace('["too-short"]', "[]") + "assert True\n")
    done = run("debug", "kata3", "--check")
    assert done.returncode == 0
    assert done.stdout.startswith("PASS  all 2 mended in ")
    assert "too-quiet: it is too quiet" in done.stdout
    assert json.loads(run("history", "kata3", "--json").stdout) == [], "no attempt at the kata"
    assert "round" in run("history", "--export", "-").stdout
    again = run("debug", "kata3", "--bugs", "2", "--seed", "4")
    assert file.read_text() == planted, "the same seed plants the same bugs"
    assert "kept" in again.stdout, "and what was there is kept"
    assert run("restore", "--list").stdout.startswith("no copy"), "apart from answers"


def test_what_cannot_be_counted_is_said(run: Run, file: Path) -> None:
    run("debug", "kata3", "--bugs", "1", "--seed", "1")
    file.write_text('def answer():\n    assert False, "something else"\n')
    done = run("debug", "kata3", "--check")
    assert done.stdout.startswith("FAIL  how many are mended cannot be told")
    file.write_text("def answer(:\n")
    assert run("debug", "kata3", "--check").returncode != 0
    file.unlink()
    done = run("debug", "kata3", "--check")
    assert done.returncode == 3
    assert "there is no file .grader/debug/debug_kata03_noise.py" in done.stdout


def test_an_open_round_is_not_thrown_away_unasked(run: Run, file: Path) -> None:
    run("debug", "kata3", "--seed", "4")
    file.write_text("# half done\n")
    done = run("debug", "kata3", "--seed", "5", stdin="n\n")
    assert (done.returncode, file.read_text()) == (1, "# half done\n")
    done = run("debug", "kata3", "--seed", "5", "--bugs", "1", "--yes")
    assert done.returncode == 0
    (kept,) = (file.parents[1] / "backups").iterdir()
    assert kept.read_text() == "# half done\n"


def test_giving_up_says_what_was_planted(run: Run) -> None:
    run("debug", "kata3", "--seed", "4")
    done = run("debug", "kata3", "--reveal")
    assert done.returncode == 0
    assert "too-quiet: it is too quiet" in done.stdout
    assert "too-short: it is too short" in done.stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "which kata?"),
        (["kata3", "--bugs", "0"], "0 is not 1 or more"),
        (["kata3", "--bugs", "4"], "--bugs 4 is too many: at most 3"),
        (["kata3", "--bugs", "x"], "'x' is not a whole number"),
        (["kata2"], "2 bugs cannot be planted: 0 bugs are known for this kata"),
        (["kata3", "--check"], "no round is open: python -m grader debug kata3 begins one"),
        (["kata3", "--check", "--reveal"], "one at a time"),
        (["kata3", "--check", "--seed", "1"], "--bugs and --seed begin a round"),
    ],
)
def test_bad_input_costs_one_line(run: Run, words: list[str], says: str) -> None:
    done = run("debug", *words)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


# --- planting ----------------------------------------------------------------------------


def named(verdict: Verdict, *bugs: NamedBug) -> Verdict:
    from dataclasses import replace

    return replace(verdict, bugs=bugs)


def test_bugs_are_counted_by_what_the_grader_names(verdict: Make) -> None:
    planted = ("a", "b")
    failed = verdict("failed")
    one = NamedBug("a", "", "", "exact")
    alike = NamedBug("c", "", "", "exact", same_as=("b",))
    assert left(planted, verdict("passed")) == 0
    assert left(planted, named(failed, one)) == 1
    assert left(planted, named(failed, alike)) == 1
    assert left(planted, named(failed, one, alike)) == 2
    assert left(planted, named(failed)) is None
    assert left(planted, named(failed, NamedBug("d", "", "", "exact"))) is None
    assert left(planted, named(failed, NamedBug("a", "", "", "consistent"))) is None
    assert left(planted, verdict("crashed")) is None


def test_what_the_grader_does_not_see_is_not_planted(verdict: Make) -> None:
    kata = next(entry for entry in katas() if entry.number == 3)
    spec, solution = kata.load_spec(), kata.solution_path.read_text()
    with pytest.raises(UsageError, match="try another --seed"):
        plant_some(spec, solution, 2, 0, lambda _source, _bugs: verdict("passed"))
    tried: list[tuple[str, ...]] = []

    def grade(_source: bytes, bugs: tuple[str, ...]) -> Verdict:
        tried.append(bugs)
        # The first two hide each other.
        seen = bugs if len(tried) > 2 else bugs[:1]
        return named(verdict("failed"), *(NamedBug(bug, "", "", "exact") for bug in seen))

    assert plant_some(spec, solution, 2, 0, grade).bugs == tried[2]


def test_of_few_bugs_those_are_found_that_go_together(repository: Path, verdict: Make) -> None:
    """Of the stage's three, nobody sees one; no seed may end with that one planted."""
    kata = Entry(3, "kata03_noise", repository / "tests" / "stage")
    graded: list[bytes] = []

    def grade(source: bytes, bugs: tuple[str, ...]) -> Verdict:
        graded.append(source)
        seen = [NamedBug(bug, "", "", "exact") for bug in bugs if bug != "unheard"]
        return named(verdict("failed"), *seen)

    for seed in range(200):
        graded.clear()
        planted = plant_some(kata.load_spec(), kata.solution_path.read_text(), 2, seed, grade)
        assert set(planted.bugs) == {"too-quiet", "too-short"}
        assert len(set(graded)) == len(graded), "nothing is graded twice"


@pytest.mark.parametrize("entry", katas(), ids=lambda entry: entry.name)
def test_comments_go_and_the_code_stays(entry: object) -> None:
    import ast

    assert isinstance(entry, Entry)
    solution = entry.solution_path.read_text()
    pick = random.Random(0)
    for bug in pick.sample(entry.load_spec().bugs, 5):
        for source in (solution, *plant(solution, [bug])):
            bare = without_comments(source)
            assert ast.dump(ast.parse(bare)) == ast.dump(ast.parse(source))
            code = bare.replace('"""', "").splitlines()
            assert not any(line.strip().startswith("#") for line in code)


def test_a_real_kata_is_planted_and_a_half_mend_is_counted(copy: Path, run_python: Run) -> None:
    words = ("-m", "grader", "debug", "kata1", "--bugs", "2", "--seed", "3")
    assert run_python(copy, *words).returncode == 0
    (file,) = (copy / ".grader" / "debug").iterdir()
    solution = without_comments((copy / "solutions" / "kata01_softmax_dim.py").read_text())
    pairs = list(zip(file.read_text().splitlines(), solution.splitlines(), strict=False))
    assert sum(planted != right for planted, right in pairs) >= 2
    done = run_python(copy, "-m", "grader", "debug", "kata1", "--check")
    assert done.stdout.startswith("FAIL  0 of 2 mended")
    file.write_text(solution + "\n# mended\n")
    done = run_python(copy, "-m", "grader", "debug", "kata1", "--check")
    assert (done.returncode, done.stdout[:18]) == (0, "PASS  all 2 mended")
