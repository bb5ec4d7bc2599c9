"""The history: what is kept, what is counted, and what a bad file costs."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.errors import HistoryError
from grader.model import Verdict
from grader.practice import database
from grader.practice.exchanging import export, take_in
from grader.practice.history import BREAK, KEPT_VERDICTS, History

Make = Callable[..., Verdict]
Run = Callable[..., "subprocess.CompletedProcess[str]"]
MINUTE, DAY = 60.0, 24 * 3600.0
START = 1_767_960_000.0

RIGHT = "def answer():\n    return 42\n"
WRONG = 'def answer():\n    assert False, "41"\n'
FAULTY = "def answer():\n    raise SystemExit\n"


def test_an_attempt_comes_back_with_verdict_and_answer(history: History, verdict: Make) -> None:
    failed = verdict("failed", "echo", "off-by-one", "other")
    history.record(failed, b"the answer \xff", "command", START)
    (attempt,) = history.attempts("echo")
    assert (attempt.status, attempt.score, attempt.bugs) == (
        "failed",
        0.25,
        ("off-by-one", "other"),
    )
    found = history.latest("echo")
    assert found is not None
    assert found[0] == attempt
    assert found[1] == failed
    assert found[2] == b"the answer \xff"
    assert history.latest("echo", "passed") is None
    assert history.attempts("noise") == []


def test_without_a_file_there_is_nothing_and_looking_makes_none(history: History) -> None:
    assert history.attempts("echo") == []
    assert history.totals() == {}
    assert history.latest("echo") is None
    assert history.cards() == {}
    assert not history.path.parent.exists()


def test_time_runs_from_stub_to_pass_without_breaks(history: History, verdict: Make) -> None:
    steps = [
        ("not_started", 0.0, 0.0),
        ("not_started", 2 * MINUTE, 2 * MINUTE),
        ("failed", 5 * MINUTE, 5 * MINUTE),
        ("failed", 5 * MINUTE + BREAK + 1, 5 * MINUTE),  # away for lunch
        ("passed", 7 * MINUTE + BREAK + 1, 7 * MINUTE),
        ("passed", 8 * MINUTE + BREAK + 1, None),  # it had passed already
        ("failed", 9 * MINUTE + BREAK + 1, None),
        ("not_started", 10 * MINUTE + BREAK + 1, 0.0),  # put back to its stub
        ("passed", 9 * MINUTE + BREAK + 1, None),  # the clock was set back
    ]
    for status, at, _ in steps[:-1]:
        history.record(verdict(status), b"", "command", START + at)
    worked = [attempt.worked for attempt in history.attempts("echo")]
    assert worked == [each for status, _, each in steps[:-1] if status != "not_started"]
    last = history.record(verdict("passed"), b"", "command", START)
    assert last.worked == 0.0, "a clock set back counts nothing"
    history.record(verdict("failed", "noise"), b"", "command", START)
    (noise,) = history.attempts("noise")
    assert noise.worked is None, "nobody saw when it was begun"


def test_totals_count_attempts_passes_days_and_the_best_time(
    history: History, verdict: Make
) -> None:
    for day, minutes in ((0, 9), (1, 4), (1, 6)):
        at = START + day * DAY + minutes * 3600
        history.record(verdict("not_started"), b"", "command", at)
        history.record(verdict("failed"), b"", "command", at + MINUTE)
        history.record(verdict("passed"), b"", "watch", at + minutes * MINUTE)
    totals = history.totals()["echo"]
    assert (totals.attempts, totals.passes, totals.days_passed) == (6, 3, 2)
    assert totals.best == 4 * MINUTE
    assert totals.latest_status == "passed"
    assert len(history.days()) == 2


def test_hints_count_until_the_next_pass(history: History, verdict: Make) -> None:
    history.take_hint("echo", "concept", START)
    history.take_hint("echo", "where to look", START + 1)
    history.take_hint("noise", "concept", START + 1)
    assert history.record(verdict("failed"), b"", "command", START + 2).hints == 2
    assert history.hints_taken("echo") == ["concept", "where to look"]
    assert history.record(verdict("passed"), b"", "command", START + 3).hints == 2
    assert history.totals()["echo"].hints_of_last_pass == 2
    assert history.hints_taken("echo") == []
    assert history.record(verdict("passed"), b"", "command", START + 4).hints == 0


def test_only_the_latest_verdicts_are_kept_in_full(history: History, verdict: Make) -> None:
    for number in range(KEPT_VERDICTS + 15):
        history.record(verdict("failed"), b"same", "watch", START + number)
    connection = sqlite3.connect(history.path)
    assert connection.execute("SELECT COUNT(*) FROM verdicts").fetchone() == (KEPT_VERDICTS,)
    assert connection.execute("SELECT COUNT(*) FROM snapshots").fetchone() == (1,)
    connection.close()
    assert len(history.attempts("echo")) == KEPT_VERDICTS + 15
    latest = history.latest("echo")
    assert latest is not None
    assert latest[1] is not None


# --- bad files -----------------------------------------------------------------------


def damaged(path: Path) -> str:
    path.write_bytes(b"this is no database, however long it is" * 100)
    return "is damaged"


def half_a_file(path: Path) -> str:
    history = History(path)
    for number in range(200):
        history.record(
            Verdict("kata01", "echo", "failed", 0.0, 0.1), b"%d" % number * 500, "command"
        )
    path.write_bytes(path.read_bytes()[:5000])
    return "is damaged"


def newer(path: Path) -> str:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    return "was written by a newer grader (format 99"


def a_folder(path: Path) -> str:
    path.mkdir()
    return "cannot be"


def of_another_program(path: Path) -> str:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE attempts (something TEXT)")
    connection.close()
    return "is a database of something else"


@pytest.mark.parametrize("spoil", [damaged, half_a_file, newer, a_folder, of_another_program])
def test_a_bad_file_costs_one_line_and_never_a_verdict(
    run: Run, stage: Path, spoil: Callable[[Path], str]
) -> None:
    path = stage / ".grader" / "history.db"
    path.parent.mkdir()
    says = spoil(path)
    before = path.read_bytes() if path.is_file() else b""
    (stage / "katas" / "kata01_echo.py").write_text(RIGHT)
    done = run("kata1")
    assert done.returncode == 0
    assert done.stdout.startswith("PASS  kata1")
    assert "this attempt was not recorded" in done.stderr
    assert says in done.stderr.replace("\n", " ")
    for words in ((), ("list",)):
        done = run(*words)
        assert done.returncode == 0
        assert "kata1" in done.stdout
        assert done.stderr.count("\n") == 1
        assert says in done.stderr
    done = run("history", "kata1")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    if path.is_file():
        assert path.read_bytes() == before, "nothing was repaired, replaced or lost"


def test_a_locked_file_is_waited_for_and_then_told(
    run: Run, stage: Path, history: History, verdict: Make
) -> None:
    path = stage / ".grader" / "history.db"
    (stage / "katas" / "kata01_echo.py").write_text(RIGHT)
    assert run("kata1").returncode == 0
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    done = run("kata1")
    assert done.returncode == 0
    assert done.stdout.startswith("PASS")
    assert "another program has held it for 2 seconds" in done.stderr.replace("\n", " ")
    # Who only reads is never kept waiting.
    assert "1 attempt" in run("history", "kata1").stdout
    other.execute("COMMIT")
    other.close()


@pytest.mark.skipif(not hasattr(os, "setreuid") or os.getuid() != 0, reason="needs another user")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_read_only_history_costs_a_line(tmp_path: Path, verdict: Make, what: str) -> None:
    home = tmp_path / "home"
    history = History(home / "history.db")
    history.record(verdict(), b"x", "command", START)
    for path in (home, *home.iterdir()):
        path.chmod(0o555 if path == home and what == "folder" else 0o777 if path == home else 0o444)
    for folder in (tmp_path, *list(tmp_path.parents)[:3]):
        folder.chmod(folder.stat().st_mode | 0o055)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.setreuid(65534, 65534)
            try:
                history.record(verdict(), b"y", "command", START + 1)
            except HistoryError as error:
                code = 0 if "read-only" in str(error) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert len(history.attempts("echo")) == 1


def test_several_processes_may_make_the_file_at_once(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path\n"
        "from grader.model import Verdict; from grader.practice.history import History\n"
        "h = History(Path(sys.argv[1]))\n"
        "for n in range(10): h.record(Verdict('kata01', 'echo', 'failed', 0, 0), b'x', 'watch')\n"
    )
    path = tmp_path / "history.db"
    command = [sys.executable, "-c", script, str(path)]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(4)]
    assert [process.communicate(timeout=60)[1] for process in running] == [b""] * 4
    assert len(History(path).attempts("echo")) == 40


def test_files_of_every_older_format_are_brought_up_to_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = (
        "INSERT INTO attempts (uid, slug, at, day, status, score, seconds, worked, hints, origin,"
        " bugs, snapshot) VALUES ('u', 'echo', 1.0, '1970-01-01', 'failed', 0.5, 1.0, NULL, 0,"
        " 'command', '[]', '')"
    )
    for version in range(1, database.VERSION + 1):
        path = tmp_path / f"{version}.db"
        with monkeypatch.context() as patched:
            patched.setattr(database, "MIGRATIONS", database.MIGRATIONS[:version])
            patched.setattr(database, "VERSION", version)
            with database.writing(path) as connection:
                connection.execute(row)
        (attempt,) = History(path).attempts("echo")
        assert attempt.score == 0.5
        with database.reading(path) as connection:
            assert connection is not None
            assert connection.execute("PRAGMA user_version").fetchone()[0] == database.VERSION
            assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"


def test_a_migration_happens_as_a_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "history.db"
    History(path).take_hint("echo", "concept", START)
    broken = ("CREATE TABLE extra (a TEXT)", "CREATE TABLE hints (a TEXT)")
    with monkeypatch.context() as patched:
        patched.setattr(database, "MIGRATIONS", (*database.MIGRATIONS, broken))
        patched.setattr(database, "VERSION", database.VERSION + 1)
        with pytest.raises(HistoryError, match="hints already exists"):
            History(path).take_hint("echo", "concept", START)
    assert History(path).hints_taken("echo") == ["concept"]


# --- what the commands keep --------------------------------------------------------------


def test_gradings_of_ones_own_file_are_kept_and_nothing_else(run: Run, stage: Path) -> None:
    file = stage / "katas" / "kata01_echo.py"
    run("kata1")  # the stub
    file.write_text(WRONG)
    run("kata1")
    run("kata1", "--json")
    file.write_text(FAULTY)
    assert run("kata1").returncode == 70
    elsewhere = stage / "mine.py"
    elsewhere.write_text(RIGHT)
    run("kata1", "--file", "mine.py")
    file.unlink()
    assert run("kata1").returncode == 3
    kept = json.loads(run("history", "kata1", "--json").stdout)
    assert [(each["status"], each["bugs"]) for each in kept] == [
        ("failed", ["off-by-one"]),
        ("failed", ["off-by-one"]),
    ]
    assert all(each["worked"] is not None for each in kept)


@pytest.mark.parametrize("seed", range(4))
def test_what_was_on_the_screen_survives_every_kill(
    stage: Path, environment: dict[str, str], seed: int
) -> None:
    """Kill the grader again and again; each verdict that came out has to be in the history."""
    (stage / "katas" / "kata01_echo.py").write_text(WRONG)
    pick = random.Random(seed)
    shown = started = 0
    # How long a run takes here, to aim the kills at.
    began = time.monotonic()
    subprocess.run(
        [sys.executable, "-m", "grader", "kata1"], cwd=stage, env=environment, check=False
    )
    usual = time.monotonic() - began
    shown += 1
    for _ in range(15):
        process = subprocess.Popen(
            [sys.executable, "-u", "-m", "grader", "kata1"],
            cwd=stage,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        started += 1
        assert process.stdout is not None
        time.sleep(usual * pick.uniform(0.3, 1.1))
        process.send_signal(signal.SIGKILL)
        out = process.stdout.read()
        process.stdout.close()
        process.wait()
        shown += out.startswith(b"FAIL  kata1")
    kept = len(History(stage / ".grader" / "history.db").attempts("echo"))
    assert shown <= kept <= started + 1
    assert 1 < shown < started + 1, "some kills came before, some after the verdict"


# --- out and in ---------------------------------------------------------------------------


def filled(history: History, verdict: Make) -> History:
    history.record(verdict("not_started"), b"", "command", START)
    history.record(verdict("failed", "echo", "off-by-one"), b"one \xff", "command", START + 1)
    history.record(verdict("passed"), "zwei ü".encode(), "watch", START + 2)
    history.take_hint("echo", "concept", START + 3)
    history.set_card("echo", START + DAY, '{"card": {}, "before": null, "at": 1, "rating": "good"}')
    return history


def test_the_history_goes_out_and_comes_back_the_same(
    history: History, verdict: Make, tmp_path: Path
) -> None:
    lines = list(export(filled(history, verdict).path))
    assert all(json.loads(line)["kind"] for line in lines)
    other = tmp_path / "other.db"
    assert take_in(other, [line.encode() for line in lines], "a file") == len(lines) == 5
    assert list(export(other)) == lines
    assert History(other).attempts("echo") == history.attempts("echo")
    assert History(other).latest("echo", "failed") == history.latest("echo", "failed")
    assert take_in(other, [line.encode() for line in lines], "a file") == 0, "twice does no harm"


BAD_LINES = {
    "not json": "{",
    "not a record": "[1, 2]",
    "another kind": '{"kind": "cat"}',
    "a column too many": '{"kind": "hint", "uid": "a", "slug": "b", "at": 1, "rung": "c", "d": 1}',
    "a column too few": '{"kind": "hint", "uid": "a", "slug": "b", "at": 1}',
    "a wrong type": '{"kind": "hint", "uid": "a", "slug": "b", "at": "noon", "rung": "c"}',
    "not a number": '{"kind": "hint", "uid": "a", "slug": "b", "at": NaN, "rung": "c"}',
    "no card": '{"kind": "card", "slug": "a", "due": 1, "card": "[]"}',
}


@pytest.mark.parametrize("bad", BAD_LINES.values(), ids=BAD_LINES.keys())
def test_a_bad_line_is_named_and_nothing_is_taken_in(
    history: History, verdict: Make, tmp_path: Path, bad: str
) -> None:
    lines = [*export(filled(history, verdict).path), bad]
    other = tmp_path / "other.db"
    with pytest.raises(HistoryError, match=r"mine\.jsonl, line 6 is not a record of a history"):
        take_in(other, [line.encode() for line in lines], "mine.jsonl")
    assert History(other).attempts("echo") == []


@pytest.mark.parametrize(
    ("name", "value"),
    [("status", "superb"), ("bugs", '{"a": 1}'), ("bugs", "["), ("verdict", {"version": 1})],
)
def test_an_attempt_that_would_break_a_command_is_refused(
    history: History, verdict: Make, tmp_path: Path, name: str, value: object
) -> None:
    (_, line, *_) = export(filled(history, verdict).path)
    record = json.loads(line) | {name: value}
    with pytest.raises(HistoryError, match="line 1 is not a record"):
        take_in(tmp_path / "other.db", [json.dumps(record).encode()], "a file")


def test_the_commands_write_and_read_files_and_pipes(run: Run, stage: Path) -> None:
    (stage / "katas" / "kata01_echo.py").write_text(WRONG)
    run("kata1")
    done = run("history", "--export", "mine.jsonl")
    assert done.stdout == "1 record written to mine.jsonl\n"
    lines = (stage / "mine.jsonl").read_text()
    assert run("history", "--export", "-").stdout == lines
    (stage / ".grader" / "history.db").unlink()
    done = run("history", "--import", "mine.jsonl")
    assert done.stdout == "1 record added; what was there already stays as it is\n"
    assert run("history", "--import", "-", stdin=lines).stdout.startswith("0 records added")
    for words, says in (
        (["--import", "none.jsonl"], "none.jsonl cannot be read: No such file"),
        (["--export", "katas"], "katas is there already; nothing is written over"),
        (["--export", "katas/kata01_echo.py"], "kata01_echo.py is there already"),
        (["--export", "nowhere/mine.jsonl"], "there is no folder nowhere to write mine.jsonl to"),
        (["--export", "a", "--import", "b"], "stand alone"),
        (["kata1", "--export", "a"], "stand alone"),
        ([], "which kata?"),
        (["kata9"], "no kata is called 'kata9'"),
        (["kata1", "kata2"], "'kata2' is one word too many"),
        (["--exprt", "x"], "did you mean --export?"),
    ):
        done = run("history", *words)
        assert (done.returncode, done.stdout) == (2, ""), words
        assert says in done.stderr
        assert done.stderr.count("\n") == 1
