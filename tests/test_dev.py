"""The authors' commands: a kata is started, its stub written, and all of it proved."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader import dev
from grader.catalog import Entry
from grader.dev.proving import Engine, Finding, prove_kata
from grader.dev.strays import strays
from grader.dev.templates import spec as template
from grader.model import (
    CheckResult,
    Edit,
    Kata,
    NamedBug,
    Question,
    Status,
    Verdict,
)
from grader.patching import patch
from grader.stubs import generate

RunPython = Callable[..., "subprocess.CompletedProcess[str]"]

TEMPLATE = Path(template.__file__).with_name("solution.py").read_text(encoding="utf-8")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A tree with one kata, the template."""
    for folder in ("katas", "solutions", "grader/specs"):
        (tmp_path / folder).mkdir(parents=True)
    assert dev.new(["first-one"], root=tmp_path) == 0
    return tmp_path


@pytest.fixture
def entry(root: Path) -> Entry:
    return Entry(1, "kata01_first_one", root)


def git(root: Path, *arguments: str) -> None:
    name = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(
        ["git", "-C", str(root), *name, *arguments], check=True, capture_output=True, timeout=60
    )


class TestNew:
    def test_writes_solution_spec_and_stub_under_the_next_number(
        self, root: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert dev.new(["layer-norm", "--title", "Layer  norm"], root=root) == 0
        shown = capsys.readouterr().out
        for folder in ("solutions", "grader/specs", "katas"):
            name = f"{folder}/kata02_layer_norm.py"
            text = (root / name).read_text(encoding="utf-8")
            assert f"wrote {name}" in shown
            assert "kata0 " not in text
            assert "template" not in text.lower()
            compile(text, name, "exec", dont_inherit=True)
        assert "kata2 · Layer norm." in (root / "katas/kata02_layer_norm.py").read_text("utf-8")
        assert "dev check kata2" in shown

    def test_takes_the_title_from_the_slug(self, root: Path) -> None:
        text = (root / "grader/specs/kata01_first_one.py").read_text(encoding="utf-8")
        assert 'title="First one"' in text

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["first-one"], "taken by kata1"),
            (["Layer-Norm"], "not a slug"),
            (["layer_norm"], "not a slug"),
            (["-layer"], ""),
            (["a--b"], "not a slug"),
            (["9-lives"], "not a slug"),
            (["../evil"], "not a slug"),
            (["a" * 41], "not a slug"),
            (["fine", "--title", 'quote"'], "no double quote"),
            (["fine", "--title", "x" * 61], "at most 60"),
            ([], ""),
            (["one", "two"], ""),
        ],
    )
    def test_refuses_what_it_cannot_use(
        self,
        root: Path,
        capsys: pytest.CaptureFixture[str],
        arguments: list[str],
        message: str,
    ) -> None:
        before = sorted(root.rglob("*"))
        assert dev.new(arguments, root=root) == 2
        assert message in capsys.readouterr().err
        assert sorted(root.rglob("*")) == before

    @pytest.mark.parametrize("folder", ["grader/specs", "katas"])
    def test_never_overwrites(self, root: Path, folder: str) -> None:
        there = root / folder / "kata02_layer_norm.py"
        there.write_text("mine", encoding="utf-8")
        assert dev.new(["layer-norm"], root=root) == 2
        assert there.read_text(encoding="utf-8") == "mine"
        assert not (root / "solutions/kata02_layer_norm.py").exists()


class TestStubs:
    def test_is_content_with_what_it_wrote(
        self, root: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert dev.stubs(["--check"], root=root) == 0
        assert "katas/kata01_first_one.py: up to date" in capsys.readouterr().out

    def test_writes_a_missing_one(self, root: Path, entry: Entry) -> None:
        entry.stub_path.unlink()
        assert dev.stubs(["--check"], root=root) == 1
        assert not entry.stub_path.exists()
        assert dev.stubs([], root=root) == 0
        assert entry.stub_path.read_text(encoding="utf-8") == generate(
            entry.solution_path.read_text(encoding="utf-8")
        )

    def test_replaces_the_other_level(self, root: Path, entry: Entry) -> None:
        guided = entry.stub_path.read_text(encoding="utf-8")
        solution = entry.solution_path.read_text(encoding="utf-8")
        entry.stub_path.write_text(generate(solution, "blank"), encoding="utf-8")
        assert dev.stubs(["kata1"], root=root) == 0
        assert entry.stub_path.read_text(encoding="utf-8") == guided
        assert not (root / ".grader").exists()

    def test_leaves_an_edited_one_alone(
        self, root: Path, entry: Entry, capsys: pytest.CaptureFixture[str]
    ) -> None:
        entry.stub_path.write_text("my work", encoding="utf-8")
        assert dev.stubs([], root=root) == 1
        assert "edited, left alone" in capsys.readouterr().out
        assert entry.stub_path.read_text(encoding="utf-8") == "my work"

    def test_force_backs_an_edited_one_up_every_time(self, root: Path, entry: Entry) -> None:
        for work in (b"my work", b"more\r\nwork\xff"):
            entry.stub_path.write_bytes(work)
            assert dev.stubs(["--force"], root=root) == 0
            assert b"NotImplementedError" in entry.stub_path.read_bytes()
        copies = (root / ".grader/backups").iterdir()
        assert sorted(copy.read_bytes() for copy in copies) == [b"more\r\nwork\xff", b"my work"]

    def test_replaces_what_git_holds(self, root: Path, entry: Entry) -> None:
        git(root, "init", "--quiet")
        git(root, "add", ".")
        git(root, "commit", "--quiet", "-m", "start")
        solution = entry.solution_path.read_text(encoding="utf-8")
        entry.solution_path.write_text(solution.replace("features", "numbers"), encoding="utf-8")
        assert dev.stubs(["--check"], root=root) == 1
        assert dev.stubs([], root=root) == 0
        assert "numbers" in entry.stub_path.read_text(encoding="utf-8")
        assert not (root / ".grader").exists()

    def test_writes_a_blank_one(
        self, root: Path, entry: Entry, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert dev.stubs(["kata1", "--level", "blank"], root=root) == 0
        assert "TODO" not in entry.stub_path.read_text(encoding="utf-8")
        assert dev.stubs(["--check", "--level", "blank"], root=root) == 0
        assert dev.stubs(["--check"], root=root) == 1
        assert dev.stubs(["--level", "empty"], root=root) == 2
        assert "'empty'" in capsys.readouterr().err

    def test_replaces_work_that_git_holds(self, root: Path, entry: Entry) -> None:
        git(root, "init", "--quiet")
        for number, keep in enumerate((["add", "."], ["commit", "--quiet", "-m", "work"])):
            entry.stub_path.write_text(f"my_work = {number}\n", encoding="utf-8")
            assert dev.stubs([], root=root) == 1
            git(root, "add", ".")
            git(root, *keep)
            assert dev.stubs([], root=root) == 0
        assert not (root / ".grader").exists()

    def test_replaces_the_stub_of_an_older_solution_and_keeps_a_copy(
        self, root: Path, entry: Entry
    ) -> None:
        old = entry.stub_path.read_bytes()
        solution = entry.solution_path.read_text(encoding="utf-8")
        entry.solution_path.write_text(solution.replace("features", "numbers"), encoding="utf-8")
        assert dev.stubs([], root=root) == 0
        assert "numbers" in entry.stub_path.read_text(encoding="utf-8")
        (copy,) = (root / ".grader/backups").iterdir()
        assert copy.read_bytes() == old

    def test_names_are_resolved(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert dev.new(["second"], root=root) == 0
        capsys.readouterr()
        for name in ("2", "kata2", "kata02", "second", "kata02_second"):
            assert dev.stubs([name], root=root) == 0
            assert capsys.readouterr().out == "katas/kata02_second.py: up to date\n"
        assert dev.stubs(["2", "second", "1"], root=root) == 0
        assert len(capsys.readouterr().out.splitlines()) == 2
        assert dev.stubs(["kata9"], root=root) == 2
        assert "kata9" in capsys.readouterr().err

    def test_a_solution_that_makes_no_stub_is_a_fault(
        self, root: Path, entry: Entry, capsys: pytest.CaptureFixture[str]
    ) -> None:
        entry.solution_path.write_text("def f(:\n", encoding="utf-8")
        assert dev.stubs([], root=root) == 70
        assert "does not parse" in capsys.readouterr().err


# --- the proof, with a grader that says what the test wants -------------------


def verdict(kata: Kata, status: Status, bugs: Sequence[NamedBug] = ()) -> Verdict:
    checks = [CheckResult("values_agree", "t", "failed", "differs")] if status == "failed" else []
    return Verdict(kata.stem[:6], "s", status, 0.0, 0.0, checks=checks, bugs=bugs)


def named(bug_id: str, confidence: Any = "exact", same_as: tuple[str, ...] = ()) -> NamedBug:
    return NamedBug(bug_id, "says", "ask", confidence, same_as)


def engine(
    *,
    mutant: Status = "failed",
    right: Status = "passed",
    stub: Status = "not_started",
    stub_bugs: Sequence[NamedBug] = (),
    bugs: Sequence[NamedBug] | None = None,
    solution_bugs: Sequence[NamedBug] = (),
    alike: Sequence[Sequence[str]] = (),
) -> Engine:
    """Return a grader that tells the three kinds of source apart and answers as told.

    By default every mutant gets the first bug of the kata that has its text.
    """

    def diagnose(kata: Kata, source: str) -> Sequence[NamedBug]:
        if bugs is not None:
            return bugs
        edits = [(b.id, e.by) for b in kata.bugs for v in b.variants for e in v]
        return [named(name) for name, by in edits if by in source][:1]

    def grade(
        kata: Kata, source: bytes, path: str, *, solution: str, examples: int | None = None
    ) -> Verdict:
        text = source.decode()
        if Path(path).parent.name == "katas":
            return verdict(kata, stub, stub_bugs)
        if text == solution:
            return verdict(kata, right, solution_bugs)
        return verdict(kata, mutant, diagnose(kata, text) if mutant == "failed" else ())

    return Engine(grade, lambda _kata, _source: alike)


KATA = replace(template.KATA, number=1, stem="kata01_first_one", title="First one")
(BUG,) = KATA.bugs


def findings(entry: Entry, kata: Kata = KATA, using: Engine | None = None) -> list[str]:
    found = list(prove_kata(kata, entry, using or engine()))
    assert all(finding.kata == "kata01" for finding in found)
    return [f"{finding.rule}: {finding.message}" for finding in found]


class TestProof:
    def test_the_template_is_fine(self, entry: Entry) -> None:
        assert findings(entry) == []

    @pytest.mark.parametrize(
        ("using", "message"),
        [
            (engine(stub="passed"), "stub: is graded 'passed', not 'not_started'"),
            (engine(right="failed"), "solution: is graded 'failed' (values_agree: differs)"),
            (engine(right="timeout"), "solution: is graded 'timeout' (no check failed)"),
            (
                engine(solution_bugs=[named("mean-over-batch")]),
                "solution: is taken for the bug mean-over-batch",
            ),
            (
                engine(mutant="passed"),
                "bugs: bug mean-over-batch: passes every required check",
            ),
            (
                engine(mutant="crashed"),
                "bugs: bug mean-over-batch: is graded 'crashed', not 'failed'",
            ),
            (
                engine(bugs=[]),
                "bugs: bug mean-over-batch: is not named; the diagnosis is nothing",
            ),
            (
                engine(bugs=[named("mean-over-batch", "consistent")]),
                "bugs: bug mean-over-batch: is not named; "
                "the diagnosis is mean-over-batch (consistent)",
            ),
            (
                engine(alike=[("", "mean-over-batch")]),
                "equal: mean-over-batch: no probe tells this from the solution",
            ),
        ],
    )
    def test_what_grading_shows(self, entry: Entry, using: Engine, message: str) -> None:
        assert findings(entry, using=using) == [message]

    def test_a_bug_may_be_named_by_one_that_the_diagnosis_calls_the_same(
        self, entry: Entry
    ) -> None:
        using = engine(bugs=[named("other", same_as=("mean-over-batch",))])
        assert findings(entry, using=using) == []

    def test_every_variant_is_tried(self, entry: Entry) -> None:
        line = "return x - mean"
        variants = (*BUG.variants, (Edit(line, "return x + ("),), (Edit("no such", ""),))
        first, second = findings(entry, replace(KATA, bugs=(replace(BUG, variants=variants),)))
        assert first.startswith("patches: bug mean-over-batch, variant 2: does not compile")
        assert second.startswith("patches: bug mean-over-batch, variant 3: the line 'no such'")

    def twins(self, equal: tuple[tuple[str, ...], ...]) -> Kata:
        twin = replace(BUG, id="twin", variants=((Edit("return x - mean", "return x"),),))
        return replace(KATA, bugs=(BUG, twin), equal=equal)

    def test_bugs_that_look_alike_must_be_declared(self, entry: Entry) -> None:
        pair = ("mean-over-batch", "twin")
        using = engine(alike=[pair])
        message = "equal: mean-over-batch, twin: no probe tells them apart"
        assert findings(entry, self.twins(()), using) == [message]
        assert findings(entry, self.twins((pair,)), using) == []

    def test_bugs_declared_equal_must_look_alike(self, entry: Entry) -> None:
        kata = self.twins((("mean-over-batch", "twin"),))
        assert findings(entry, kata) == [
            "equal: mean-over-batch, twin: declared equal, but a probe tells them apart"
        ]

    def test_a_bug_may_be_named_by_its_declared_equal(self, entry: Entry) -> None:
        pair = ("mean-over-batch", "twin")
        using = engine(bugs=[named("twin")], alike=[pair])
        assert findings(entry, self.twins((pair,)), using) == []

    def test_the_stub_must_say_what_the_solution_says(self, entry: Entry) -> None:
        stub = entry.stub_path.read_text(encoding="utf-8")
        changed = stub.replace("x: Tensor", "y: Tensor").replace("Subtract", "Take")
        entry.stub_path.write_text(changed + "\n\ndef more():\n    pass\n", encoding="utf-8")
        assert findings(entry) == [
            "stub: center: the signature differs",
            "stub: center: the docstring differs",
            "stub: more is not in the solution",
        ]
        entry.stub_path.write_text('"""No kata."""\n', encoding="utf-8")
        assert findings(entry) == [
            "stub: the module: the docstring differs",
            "stub: center is missing",
        ]

    def test_the_stub_must_be_generated(self, entry: Entry) -> None:
        stub = entry.stub_path.read_text(encoding="utf-8")
        entry.stub_path.write_text(stub.replace("# TODO 1", "# TODO I"), encoding="utf-8")
        assert findings(entry) == ["stub: is not what the solution generates; dev stubs writes it"]
        entry.stub_path.write_text("def f(:\n", encoding="utf-8")
        assert findings(entry)[0].startswith("stub: does not parse")
        entry.stub_path.unlink()
        assert findings(entry) == ["stub: cannot be read: No such file or directory"]


class TestSlip:
    """A stub that is a whole answer but for one bug: it must fail by that name."""

    SLIPPED = replace(KATA, slip=BUG.id)

    @pytest.fixture(autouse=True)
    def _handed_out(self, entry: Entry) -> None:
        solution = entry.solution_path.read_text(encoding="utf-8")
        entry.stub_path.write_text(patch(solution, BUG.variants[0]), encoding="utf-8")

    def found(self, entry: Entry, *bugs: NamedBug, stub: Status = "failed") -> list[str]:
        return findings(entry, self.SLIPPED, engine(stub=stub, stub_bugs=bugs))

    def test_it_fails_and_is_named(self, entry: Entry) -> None:
        assert self.found(entry, named(BUG.id)) == []

    def test_it_must_fail(self, entry: Entry) -> None:
        assert self.found(entry, stub="passed") == ["stub: is graded 'passed', not 'failed'"]
        assert self.found(entry, stub="not_started") == [
            "stub: is graded 'not_started', not 'failed'"
        ]

    @pytest.mark.parametrize(
        ("bugs", "told"),
        [
            ((), "nothing"),
            ((named(BUG.id, "consistent"),), "mean-over-batch (consistent)"),
            ((named("other"),), "other (exact)"),
            ((named(BUG.id), named("other")), "mean-over-batch (exact), other (exact)"),
        ],
    )
    def test_it_alone_must_be_named_for_sure(
        self, entry: Entry, bugs: tuple[NamedBug, ...], told: str
    ) -> None:
        assert self.found(entry, *bugs) == [
            f"stub: the slip mean-over-batch is not named; the diagnosis is {told}"
        ]

    def test_a_stub_to_write_is_not_what_is_handed_out(self, entry: Entry) -> None:
        solution = entry.solution_path.read_text(encoding="utf-8")
        entry.stub_path.write_text(generate(solution), encoding="utf-8")
        assert self.found(entry, named(BUG.id)) == [
            "stub: is not what the solution generates; dev stubs writes it"
        ]

    def test_it_must_be_a_known_bug(self, entry: Entry) -> None:
        found = findings(
            entry, replace(KATA, slip="ghost"), engine(stub="failed", stub_bugs=[named("ghost")])
        )
        assert found == [
            "ids: the slip 'ghost' is no known bug",
            "stub: kata01_first_one: the slip 'ghost' is no known bug",
        ]


def with_bug(**changes: Any) -> Kata:
    return replace(KATA, bugs=(replace(BUG, **changes),))


def with_check(**changes: Any) -> Kata:
    first, *rest = KATA.checks
    return replace(KATA, checks=(replace(first, **changes), *rest))


class TestTexts:
    @pytest.mark.parametrize(
        ("kata", "message"),
        [
            (replace(KATA, title=" "), "texts: the title is empty"),
            (replace(KATA, minutes=9), "minutes: 9 minutes do not fit a cap of 6"),
            (replace(KATA, minutes=0), "minutes: 0 minutes do not fit a cap of 6"),
            (replace(KATA, number=2), "ids: the spec calls itself 2, kata01_first_one"),
            (replace(KATA, hints=()), "texts: there are no hints, or one is empty"),
            (replace(KATA, hints=("a", "")), "texts: there are no hints, or one is empty"),
            (replace(KATA, questions=KATA.questions[:4]), "texts: 4 questions; 5 are needed"),
            (
                replace(KATA, questions=(*KATA.questions, Question("Why?", ()))),
                "texts: question 'Why?' has no points, or an empty one",
            ),
            (
                replace(KATA, questions=(*KATA.questions, Question(" ", ("p",)))),
                "texts: a question is empty",
            ),
            (with_bug(says=""), "texts: bug mean-over-batch: `says` is empty"),
            (with_bug(ask=" "), "texts: bug mean-over-batch: `ask` is empty"),
            (with_bug(variants=()), "patches: bug mean-over-batch: there is no patch"),
            (
                with_bug(ask="Try mean = x.mean(dim=-1, keepdim=True)?"),
                "texts: bug mean-over-batch: `ask` gives the solution's line away: "
                "mean = x.mean(dim=-1, keepdim=True)",
            ),
            (with_bug(id="Mean_Batch"), "ids: bug Mean_Batch: the id is not kebab-case"),
            (
                replace(KATA, bugs=(BUG, BUG)),
                "ids: bug mean-over-batch: the id is used 2 times",
            ),
            (with_check(title=""), "texts: check values_agree: the title is empty"),
            (with_check(target="f"), "checks: check values_agree: there is no target 'f'"),
            (with_check(name="input_is_kept"), "ids: check input_is_kept: the name is used twice"),
            (
                with_check(after=("input_is_kept",)),
                "checks: check values_agree waits on 'input_is_kept', which does not come before",
            ),
            (
                replace(KATA, checks=tuple(replace(c, required=False) for c in KATA.checks)),
                "checks: no check is required, so nothing can fail",
            ),
        ],
    )
    def test_what_a_spec_must_not_say(self, entry: Entry, kata: Kata, message: str) -> None:
        assert findings(entry, kata) == [message]

    @pytest.mark.parametrize(
        ("equal", "messages"),
        [
            ((("mean-over-batch",),), ["names fewer than two bugs"]),
            ((("mean-over-batch", "ghost"),), ["ghost is declared equal, but there is no such"]),
            (
                (("mean-over-batch", "twin"), ("twin", "mean-over-batch")),
                ["mean-over-batch stands in two groups", "twin stands in two groups"],
            ),
        ],
    )
    def test_groups_of_equal_bugs(
        self, entry: Entry, equal: tuple[tuple[str, ...], ...], messages: list[str]
    ) -> None:
        twin = replace(BUG, id="twin")
        kata = replace(KATA, bugs=(BUG, twin), equal=equal)
        found = "\n".join(findings(entry, kata, engine(alike=[tuple(g) for g in equal])))
        for message in messages:
            assert message in found


class TestStrays:
    def test_a_fresh_tree_has_none(self, root: Path) -> None:
        (root / "katas/README.md").write_text("x", encoding="utf-8")
        (root / "tests/submissions/kata01").mkdir(parents=True)
        assert list(strays(root)) == []

    @pytest.mark.parametrize(
        "name",
        [
            "katas/kata01_first_one.py.orig",
            "katas/notes.txt",
            "katas/kata02_second.py",
            "solutions/helper.py",
            "grader/specs/kata01_other.py",
            "grader/specs/.kata01_first_one.py.swp",
            "tests/submissions/answer.py",
        ],
    )
    def test_finds_a_stray_file(self, root: Path, name: str) -> None:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x", encoding="utf-8")
        assert list(strays(root)) == [f"{name} belongs to no kata"]

    def test_an_empty_tree_is_no_proof(self, tmp_path: Path) -> None:
        assert list(strays(tmp_path)) == ["there is no kata in solutions/"]

    def test_numbers_may_begin_with_0(self, root: Path) -> None:
        for folder in ("katas", "solutions", "grader/specs"):
            (root / folder / "kata00_before.py").write_text("x = 1\n", encoding="utf-8")
        assert list(strays(root)) == []
        (root / "solutions/kata03_third.py").write_text("x = 1\n", encoding="utf-8")
        assert list(strays(root))[-1] == "kata03_third should have number 2"

    def test_finds_a_missing_part_and_a_gap(self, root: Path, entry: Entry) -> None:
        entry.spec_path.unlink()
        (root / "solutions/kata03_third.py").write_text("x = 1\n", encoding="utf-8")
        assert list(strays(root)) == [
            "grader/specs/kata01_first_one.py is missing",
            "grader/specs/kata03_third.py is missing",
            "katas/kata03_third.py is missing",
            "kata03_third should have number 2",
        ]


def test_a_finding_is_one_line() -> None:
    assert str(Finding("kata01", "texts", "m")) == "kata01 · texts: m"
    assert str(Finding("", "strays", "m")) == "tree · strays: m"


# --- the whole way, with the real grader in a tree of its own -----------------


@pytest.fixture
def tree(copy: Path) -> Path:
    """The grader without its katas."""
    for folder in ("katas", "solutions", "grader/specs"):
        for path in (copy / folder).glob("kata*.py"):
            path.unlink()
    return copy


class TestWithTheRealGrader:
    def test_a_blank_stub_for_an_interview(self, copy: Path, run_python: RunPython) -> None:
        stub = copy / "katas/kata03_multi_head_self_attention.py"
        stub.unlink(missing_ok=True)  # in this checkout somebody may have worked on it
        done = run_python(copy, "-m", "grader", "dev", "stubs", "kata3", "--level", "blank")
        assert (done.returncode, done.stderr) == (0, "")
        solution = copy / "solutions" / stub.name
        assert stub.read_text("utf-8") == generate(solution.read_text("utf-8"), "blank")

    def test_a_new_kata_passes_its_proof(self, tree: Path, run_python: RunPython) -> None:
        made = run_python(tree, "-m", "grader", "dev", "new", "rotary-embedding")
        assert (made.returncode, made.stderr) == (0, "")
        made = run_python(tree, "-m", "grader", "dev", "new", "second", "--title", "Another")
        assert (made.returncode, made.stderr) == (0, "")
        written = run_python(tree, "-m", "grader", "dev", "stubs")
        assert written.returncode == 0
        assert written.stdout.count("up to date") == 2
        one = run_python(tree, "-m", "grader", "dev", "check", "kata2")
        assert (one.returncode, one.stdout) == (0, "1 kata: no findings\n"), one.stderr
        both = run_python(tree, "-m", "grader", "dev", "check")
        assert (both.returncode, both.stdout) == (0, "2 katas: no findings\n"), both.stderr

    def test_findings_come_as_lines_and_as_json(self, tree: Path, run_python: RunPython) -> None:
        run_python(tree, "-m", "grader", "dev", "new", "layer-norm")
        (tree / "katas/notes.txt").write_text("x", encoding="utf-8")
        spec = tree / "grader/specs/kata01_layer_norm.py"
        text = spec.read_text(encoding="utf-8")
        spec.write_text(text.replace("minutes=3", "minutes=9"), encoding="utf-8")
        lines = run_python(tree, "-m", "grader", "dev", "check")
        assert lines.returncode == 1
        assert "tree · strays: katas/notes.txt belongs to no kata\n" in lines.stdout
        data = run_python(tree, "-m", "grader", "dev", "check", "--json")
        assert data.returncode == 1
        report = json.loads(data.stdout)
        assert report["version"] == 1
        assert report["katas"] == ["kata01"]
        assert {"kata": "", "rule": "strays", "message": "katas/notes.txt belongs to no kata"} in (
            report["findings"]
        )
        assert {finding["rule"] for finding in report["findings"]} == {"strays", "minutes"}
        assert len(lines.stdout.splitlines()) == len(report["findings"]) + 1

    def test_a_broken_kata_does_not_hide_the_others(
        self, tree: Path, run_python: RunPython
    ) -> None:
        for slug in ("one", "two", "three"):
            run_python(tree, "-m", "grader", "dev", "new", slug)
        (tree / "solutions/kata01_one.py").write_text("def f(:\n", encoding="utf-8")
        (tree / "grader/specs/kata03_three.py").unlink()
        done = run_python(tree, "-m", "grader", "dev", "check")
        assert done.returncode == 1
        assert "kata01 · " in done.stdout
        assert "kata02 · " not in done.stdout
        assert "tree · strays: grader/specs/kata03_three.py is missing\n" in done.stdout
        assert "kata03 · fault: grader/specs/kata03_three.py cannot be imported" in done.stdout

    @pytest.mark.parametrize("arguments", [["kata99"], ["--nonsense"]])
    def test_wrong_use_exits_2(
        self, tree: Path, run_python: RunPython, arguments: list[str]
    ) -> None:
        run_python(tree, "-m", "grader", "dev", "new", "one")
        done = run_python(tree, "-m", "grader", "dev", "check", *arguments)
        assert done.returncode == 2
        assert arguments[0] in done.stderr
        assert "Traceback" not in done.stderr
