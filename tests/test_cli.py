"""The command line, driven from outside, over katas that are none (tests/stage)."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

RIGHT = "def answer():\n    return 42\n"
WRONG = 'def answer():\n    print("so far")\n    assert False, "[bold]41"\n'
ENDLESS = "def answer():\n    while True:\n        pass\n"
DEAD = "import os\ndef answer():\n    os._exit(3)\n"
FAULTY = "def answer():\n    raise SystemExit\n"

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def environment(stage: Path, **more: str) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR")
    }
    ours = {"PYTHONPATH": str(stage), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "1"}
    return kept | ours | more


@pytest.fixture
def run(stage: Path) -> Run:
    def start(
        *words: str, cwd: Path | None = None, **more: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "grader", *words],
            cwd=cwd or stage,
            env=environment(stage, **more),
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )

    return start


@pytest.fixture
def answer(stage: Path) -> Callable[..., Path]:
    def write(source: str, name: str = "mine.py") -> Path:
        path = stage / name
        path.write_text(source, encoding="utf-8")
        return path

    return write


def stub(stage: Path, number: int) -> Path:
    (path,) = (stage / "katas").glob(f"kata0{number}_*.py")
    return path


# --- help -----------------------------------------------------------------------


def test_help_is_given_however_it_is_asked_for(run: Run) -> None:
    asked = run("--help")
    assert asked.returncode == 0
    assert run("help").stdout == asked.stdout
    assert run("help", "kata1").stdout == asked.stdout


@pytest.mark.parametrize("word", ["--help", "-h", "help"])
def test_the_commands_for_authors_are_listed(run: Run, word: str) -> None:
    done = run("dev", word)
    assert done.returncode == 0
    assert all(f"dev {name}" in done.stdout for name in ("check", "new", "stubs"))
    assert not done.stderr


@pytest.mark.parametrize(
    "words",
    [("stubs", "--level", "silly"), ("check", "--nonsense"), ("new",)],
)
def test_a_misused_command_for_authors_is_told_in_one_line(run: Run, words: tuple[str]) -> None:
    done = run("dev", *words)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert f"see python -m grader dev {words[0]} --help" in done.stderr


# --- grading --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "word", "code"),
    [
        (RIGHT, "PASS", 0),
        (WRONG, "FAIL", 1),
        (DEAD, "CRASHED", 4),
        (ENDLESS, "TIMEOUT", 4),
        ("def answer():\n    raise MemoryError\n", "OUT OF MEMORY", 4),
        (FAULTY, "GRADER FAULT", 70),
    ],
)
def test_each_outcome_has_its_word_and_its_exit_code(
    run: Run, answer: Callable[..., Path], source: str, word: str, code: int
) -> None:
    answer(source)
    done = run("kata1", "--file", "mine.py", "--timeout", "1")
    assert done.stdout.startswith(f"{word}  kata1 · ")
    assert done.returncode == code
    assert done.stderr == ""


def test_a_failure_says_what_was_seen_and_what_next(run: Run, answer: Callable[..., Path]) -> None:
    answer(WRONG)
    done = run("kata1", "--file", "mine.py")
    assert done.stdout.splitlines() == [
        "FAIL  kata1 · it answers                                               mine.py:3",
        "  called    answer()",
        "  expected  42",
        "  got       [bold]41",
        "            another value",
        "  cause     behaves exactly like off-by-one on all 4 probes:",
        "            it is one off",
        "  note      the answer printed 1 line: so far",
        "  next      Where do you begin?",
        "            1 more check waits on this one · score 50 %",
        "            python -m grader kata1 --file mine.py",
        "  try it    add --python to print this case as Python",
    ]


def test_python_prints_the_failing_case_to_paste(run: Run, answer: Callable[..., Path]) -> None:
    answer(WRONG)
    script = run("kata1", "--file", "mine.py", "--python").stdout.partition("\n\n")[2]
    assert script.startswith("# kata1: the smallest failing case of answers\nprint(1)\n")
    assert "try it" not in script


def test_the_untouched_stub_is_not_started_and_says_what_to_open(run: Run) -> None:
    done = run("kata2")
    assert done.returncode == 3
    assert done.stdout.startswith("NOT STARTED  kata2 · Echo chamber")
    assert "open      katas/kata02_echo_chamber.py" in done.stdout
    assert "then      python -m grader kata2" in done.stdout


def test_a_pass_offers_the_next_kata_that_is_not_started(run: Run, stage: Path) -> None:
    stub(stage, 1).write_text(RIGHT)
    stub(stage, 2).write_text(WRONG)
    assert "next      python -m grader kata3" in run("kata1").stdout


def test_several_katas_end_in_a_table_and_the_severest_exit_code(run: Run, stage: Path) -> None:
    stub(stage, 1).write_text(RIGHT)
    stub(stage, 2).write_text(WRONG)
    done = run("all")
    assert done.returncode == 1
    assert done.stdout.endswith("1 of 3 passed\n")
    assert re.search(r"^kata2 +FAIL +50 % +0\.1 +it answers$", done.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("sources", "code"),
    [
        ((RIGHT, RIGHT), 0),
        ((RIGHT, None), 3),
        ((None, WRONG), 1),
        ((WRONG, DEAD), 4),
        ((DEAD, FAULTY), 70),
    ],
)
def test_the_severest_outcome_decides(
    run: Run, stage: Path, sources: tuple[str | None, ...], code: int
) -> None:
    for number, source in enumerate(sources, start=1):
        if source is not None:
            stub(stage, number).write_text(source)
    assert run("kata1", "kata2").returncode == code


def test_one_kata_is_one_record_and_several_are_a_list(run: Run, stage: Path) -> None:
    stub(stage, 1).write_text(WRONG)
    one = run("kata1", "--json")
    record = json.loads(one.stdout)
    assert one.returncode == 1
    assert list(record) == [
        *("kata", "slug", "status", "score", "seconds", "path", "checks", "bugs", "notes"),
        "version",
    ]
    assert record["kata"] == "kata01"
    assert record["checks"][0]["counterexample"]["got"] == "[bold]41"
    several = json.loads(run("kata1", "kata2", "--json").stdout)
    assert [each["status"] for each in several] == ["failed", "not_started"]
    for path in (stage / "solutions").glob("kata0[23]*"):
        path.unlink()
        (stage / "grader" / "specs" / path.name).unlink()
    assert [each["kata"] for each in json.loads(run("all", "--json").stdout)] == ["kata01"]


@pytest.mark.parametrize("make", ["nothing", "folder", "large", "pipe"])
def test_what_is_no_answer_at_all_is_a_record_too(run: Run, stage: Path, make: str) -> None:
    path = stage / "mine.py"
    if make == "folder":
        path.mkdir()
    elif make == "large":
        path.write_bytes(b"#" * 2_000_000)
    elif make == "pipe":
        os.mkfifo(path)
    done = run("kata1", "--file", "mine.py", "--json")
    record = json.loads(done.stdout)
    assert done.returncode == 3
    assert record["status"] == "not_loadable"
    assert record["checks"][0]["name"] == "file_loads"
    assert "mine.py" in record["checks"][0]["message"]


def test_a_missing_file_is_answered_with_its_nearest_neighbour(
    run: Run, answer: Callable[..., Path]
) -> None:
    answer(RIGHT, "answer_one.py")
    assert "did you mean answer_one.py?" in run("1", "--file", "anser_one.py").stdout


def test_seed_and_examples_reach_the_engine(run: Run, stage: Path) -> None:
    stub(stage, 1).write_text(RIGHT)
    assert "seed 7, examples 3" in run("kata1", "--seed", "7", "--examples", "3").stdout


def test_the_file_is_found_from_where_the_learner_stands(run: Run, stage: Path) -> None:
    (stage / "elsewhere").mkdir()
    (stage / "elsewhere" / "mine.py").write_text(RIGHT)
    # Neither of these is the module that Python should find.
    (stage / "elsewhere" / "json.py").write_text("raise SystemError\n")
    done = run("kata1", "--file", "mine.py", cwd=stage / "elsewhere", PYTHONSAFEPATH="1")
    assert done.stdout.startswith("PASS")
    assert "mine.py\n" in done.stdout


# --- names ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["kata3", "3", "kata03", "03", "KATA3", "noise", "Noi", "kata03_noise", "kata03-noise"]
)
def test_every_way_to_call_a_kata(run: Run, name: str) -> None:
    assert run(name).stdout.startswith("NOT STARTED  kata3")


def test_the_path_of_the_stub_means_its_kata_but_no_other_file_does(run: Run) -> None:
    assert "kata3" in run("katas/kata03_noise.py").stdout
    other = run("solutions/kata03_noise.py")
    assert other.returncode == 2
    assert "--file solutions/kata03_noise.py" in other.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["kta3"], "no kata is called 'kta3'; did you mean kata3?"),
        (["nois3"], "no kata is called 'nois3'; did you mean kata3 (noise)?"),
        (["lst"], "no kata is called 'lst'; did you mean list?"),
        (["kata9x"], "did you mean"),
        (["zebra"], "there are kata1 to kata3, see python -m grader list"),
        (["ech"], "beginning of several katas: kata1 echo, kata2 echo-chamber"),
        (["kata1", "--jsn"], "there is no option --jsn; did you mean --json?"),
        (["kata1", "--examples", "0"], "argument --examples: 0 is not 1 or more"),
        (["kata1", "--examples", "few"], "'few' is not a whole number"),
        (["kata1", "--timeout", "nan"], "'nan' is not a number of seconds above 0"),
        (["kata1", "--timeout"], "expected one argument"),
        (["kata1", "kata2", "--file", "x.py"], "--file goes with exactly one kata"),
        (["list", "kata1"], "'list' stands alone"),
        (["kata1", "--json", "--python"], "--python goes without --json"),
        (["dev", "chek"], "dev check|mutants|new|rewrites|stubs|truth: 'chek' is not one of them"),
        (["dev"], "one is missing"),
        ([""], "no kata is called ''"),
    ],
)
def test_wrong_use_is_one_line_on_stderr(run: Run, words: list[str], message: str) -> None:
    done = run(*words)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_dev_commands_get_their_words_and_answer_for_themselves(run: Run, stage: Path) -> None:
    (stage / "grader" / "dev" / "__init__.py").write_text(
        "def stubs(argv):\n    print(argv)\n    return 5\n"
    )
    done = run("dev", "stubs", "--check", "kata1")
    assert done.stdout == "['--check', 'kata1']\n"
    assert done.returncode == 5


def test_help_names_the_exit_codes_and_version_the_version(run: Run) -> None:
    help_ = run("--help")
    assert help_.returncode == 0
    assert "70, 130, 4, 1, 3, 0" in help_.stdout
    assert re.fullmatch(r"grader \d+\.\d+\.\d+\n", run("--version").stdout)


# --- overview, list, discovery ----------------------------------------------------


def test_list_tells_what_was_begun(run: Run, stage: Path) -> None:
    stub(stage, 1).write_text(RIGHT)
    stub(stage, 3).unlink()
    rows = json.loads(run("list", "--json").stdout)
    assert [(row["name"], row["state"]) for row in rows] == [
        ("kata1", "started"),
        ("kata2", "not started"),
        ("kata3", "missing"),
    ]
    table = run("list").stdout
    assert re.search(r"kata2 +Echo chamber +not started +2 +katas/kata02_echo_chamber\.py", table)


def test_the_overview_names_one_next_command(run: Run, stage: Path) -> None:
    fresh = run().stdout
    assert "open      katas/kata01_echo.py\n  then      python -m grader kata1\n" in fresh
    stub(stage, 2).write_text(WRONG)
    assert "next      python -m grader kata2\n" in run().stdout


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("specs/kata03_noise.py: HERE = 1", "specs/kata03_noise.py has no KATA"),
        ("specs/kata03_noise.py: KATA = 1", "specs/kata03_noise.py has a int as its KATA"),
        ("specs/kata03_noise.py: import nothing_at_all", "kata03_noise.py cannot be imported"),
        ("specs/kata04_more.py: KATA = 1", "kata04_more.py has no solution"),
        ("../solutions/kata04_more.py: X = 1", "kata04_more.py has no spec"),
        ("specs/kata4.py: X = 1", "kata4.py is not named like"),
    ],
)
def test_katas_that_do_not_fit_together_are_reported_by_file(
    run: Run, stage: Path, change: str, message: str
) -> None:
    file, _, text = change.partition(": ")
    (stage / "grader" / file).write_text(text + "\n")
    done = run("list")
    assert done.returncode == 70
    assert message in done.stderr
    assert done.stderr.startswith("a fault of the grader")
    assert done.stderr.count("\n") == 1


def test_two_katas_of_one_number_are_reported(run: Run, stage: Path) -> None:
    for folder in (stage / "grader" / "specs", stage / "solutions"):
        shutil.copy(folder / "kata03_noise.py", folder / "kata03_other.py")
    assert "are both number 3" in run("list").stderr


# --- output -----------------------------------------------------------------------


@pytest.mark.parametrize("words", [["list"], ["kata1"], ["kata1", "kata2"], []])
def test_plain_is_ascii_without_escapes(run: Run, stage: Path, words: list[str]) -> None:
    stub(stage, 1).write_text('def answer():\n    assert False, "→ \\x1b[31m√"\n')
    done = run(*words, "--plain", FORCE_COLOR="1")
    assert done.stdout.isascii()
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "cp437"])
def test_an_encoding_without_our_signs_is_no_reason_to_fail(
    run: Run, stage: Path, encoding: str
) -> None:
    stub(stage, 1).write_text('def answer():\n    assert False, "→ ✓ 你"\n')
    more = {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0", "LC_ALL": "C"}
    done = subprocess.run(
        [sys.executable, "-m", "grader", "kata1"],
        cwd=stage,
        env=environment(stage, **more),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert b"FAIL  kata1" in done.stdout
    assert b"\\u4f60" in done.stdout
    assert done.stderr == b""


def test_colour_follows_no_color(run: Run, stage: Path) -> None:
    stub(stage, 1).write_text(WRONG)
    assert "\x1b[" in run("kata1", FORCE_COLOR="1", TERM="xterm").stdout
    assert "\x1b[" not in run("kata1", "--no-color", FORCE_COLOR="1", TERM="xterm").stdout
    assert "\x1b[3" not in run("kata1", FORCE_COLOR="1", NO_COLOR="1", TERM="xterm").stdout


@pytest.mark.parametrize("words", ["list", "kata1", "kata1 --json"])
def test_a_closed_pipe_is_no_news(stage: Path, words: str) -> None:
    stub(stage, 1).write_text(WRONG)
    script = f"{{ {sys.executable} -m grader {words}; echo $? >&2; }} | true"
    done = subprocess.run(
        ["/bin/sh", "-c", script],
        cwd=stage,
        env=environment(stage),
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.stderr in ("141\n", "1\n", "0\n")


@pytest.mark.parametrize("where", [">&-", "2>&-", ">/dev/full"])
def test_an_output_that_takes_nothing_does_not_crash(stage: Path, where: str) -> None:
    stub(stage, 1).write_text(RIGHT)
    done = subprocess.run(
        ["/bin/sh", "-c", f"{sys.executable} -m grader kata1 {where}"],
        cwd=stage,
        env=environment(stage),
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert "Traceback" not in done.stdout + done.stderr
    if where == ">/dev/full":
        assert done.stderr == "the result cannot be written: No space left on device\n"
        assert done.returncode == 70
    else:
        assert done.returncode == 0


def test_a_fault_of_ours_goes_to_a_file_and_not_to_the_screen(run: Run, stage: Path) -> None:
    stub(stage, 1).write_text(FAULTY)
    done = run("kata1")
    assert "a fault of the grader, not of your answer" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    (report,) = (stage / ".grader" / "faults").iterdir()
    assert "SystemExit" in report.read_text()
    assert report.name in done.stdout


@pytest.mark.parametrize("words", ["list", "kata1", "kta", "--help", ""])
def test_nothing_heavy_is_imported(stage: Path, words: str) -> None:
    program = (
        "import sys; from grader.cli import main; main(sys.argv[1:]); "
        "heavy = {'torch', 'hypothesis', 'numpy', 'pytest'} & set(sys.modules); "
        "assert not heavy, heavy; "
        "assert 'rich' not in sys.modules or sys.argv[1:] not in (['kta'], ['--help'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *words.split()],
        cwd=stage,
        env=environment(stage),
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


# --- a terminal -------------------------------------------------------------------


pexpect = pytest.importorskip("pexpect")

HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"


def spawn(stage: Path, *words: str) -> Any:
    return pexpect.spawn(
        sys.executable,
        ["-m", "grader", *words],
        cwd=str(stage),
        env=environment(stage, TERM="xterm-256color", COLUMNS="100", TMPDIR=str(stage)),
        encoding="utf-8",
        timeout=30,
        dimensions=(30, 100),
    )


def test_the_bar_moves_and_leaves_nothing_behind(stage: Path) -> None:
    stub(stage, 1).write_text(f"import time\ntime.sleep(0.5)\n{RIGHT}")
    terminal = spawn(stage, "kata1")
    terminal.expect_exact("kata1 it answers")
    terminal.expect_exact(SHOW)
    terminal.expect_exact("PASS")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0


@pytest.mark.parametrize("plain", [True, False])
def test_ctrl_c_ends_everything_and_gives_the_cursor_back(stage: Path, plain: bool) -> None:
    stub(stage, 1).write_text(f"import os\nopen('pid', 'w').write(str(os.getpid()))\n{ENDLESS}")
    terminal = spawn(stage, "kata1", "kata2", *(["--plain"] if plain else []))
    seen = ""
    if not plain:
        terminal.expect_exact("kata1 it answers")
        seen = terminal.before + terminal.after
    pid = written_pid(stage)
    terminal.sendintr()
    terminal.expect(pexpect.EOF)
    seen += terminal.before
    terminal.close()
    assert terminal.exitstatus == 130
    assert "interrupted" in seen
    assert "Traceback" not in seen
    assert seen.rfind(SHOW) >= seen.rfind(HIDE)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_plain_kill_leaves_no_process_behind(stage: Path, tmp_path: Path) -> None:
    stub(stage, 1).write_text(f"import os\nopen('pid', 'w').write(str(os.getpid()))\n{ENDLESS}")
    for number in (signal.SIGTERM, signal.SIGKILL):
        folder = tmp_path / str(number)
        folder.mkdir()
        grader = subprocess.Popen(
            [sys.executable, "-m", "grader", "kata1"],
            cwd=stage,
            env=environment(stage, TMPDIR=str(folder)),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        pid = written_pid(folder)
        grader.send_signal(number)
        code = grader.wait(20)
        assert code == (130 if number == signal.SIGTERM else -signal.SIGKILL)
        if number == signal.SIGTERM or sys.platform == "linux":
            assert gone(pid)


def written_pid(folder: Path) -> int:
    """Wait for the answer to write its number into its scratch folder, and return it."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        for path in folder.glob("grader-*/pid"):
            if text := path.read_text():
                return int(text)
        time.sleep(0.05)
    raise AssertionError("the answer never ran")


def gone(pid: int) -> bool:
    """Tell whether a process ends soon; a zombie has ended."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
            stat = Path(f"/proc/{pid}/stat")
            if stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.05)
    return False


def test_doctor_says_what_holds_here(run_python: Run, repository: Path) -> None:
    done = run_python(repository, "-m", "grader", "doctor", "--plain")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    for words in ("python ", "torch 2", "encoding", "holds", "start", "watching"):
        assert words in done.stdout
    assert done.stdout.isascii()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["watch", "kata1", "--json"], "watch is for people"),
        (["watch", "--file", "a.py"], "exactly one kata"),
        (["list", "--file", "a.py"], "exactly one kata, not with list"),
        (["watch", "list"], "watch goes with katas"),
        (["watch", "katta1"], "kata1"),
        (["watch", "kata1", "--file", "/no/such/folder/a.py"], "there is no folder"),
    ],
)
def test_what_does_not_go_together_is_refused_in_one_line(
    run_python: Run, repository: Path, words: list[str], says: str
) -> None:
    done = run_python(repository, "-m", "grader", *words)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_many_files_for_one_kata_keep_their_order(
    run_python: Run, repository: Path, tmp_path: Path
) -> None:
    solution = next((repository / "solutions").glob("kata01_*.py")).read_text()
    names = [tmp_path / f"answer{number}.py" for number in range(4)]
    for number, path in enumerate(names):
        path.write_text(solution if number != 2 else "import os; os._exit(1)")
    words = [f"--file={path}" for path in names]
    done = run_python(repository, "-m", "grader", "kata1", "--plain", *words)
    assert done.returncode == 4
    rows = [line.split()[:2] for line in done.stdout.splitlines() if line.startswith("answer")]
    assert rows == [
        ["answer0.py", "PASS"],
        ["answer1.py", "PASS"],
        ["answer2.py", "CRASHED"],
        ["answer3.py", "PASS"],
    ]
    assert "3 of 4 passed" in done.stdout


def test_a_missing_package_is_told_with_the_mend(run_python: Run, repository: Path) -> None:
    script = (
        "import sys; sys.modules['rich'] = None\n"
        "from grader.cli import main\nsys.exit(main(['list']))"
    )
    done = run_python(repository, "-c", script)
    assert done.returncode == 70
    assert "rich is not installed for" in done.stderr
    assert "python -m pip install -e ." in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_blank_stub_is_not_started_either(run_python: Run, copy: Path) -> None:
    words = ("-m", "grader", "dev", "stubs", "kata3", "--level", "blank", "--force")
    assert run_python(copy, *words).returncode == 0
    done = run_python(copy, "-m", "grader", "list", "--json")
    states = {row["name"]: row["state"] for row in json.loads(done.stdout)}
    assert states["kata3"] == "not started"
    assert run_python(copy, "-m", "grader", "kata3").returncode == 3
