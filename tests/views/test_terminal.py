"""What a learner reads, at several widths and on several terminals."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any

import pytest

from grader.model import CheckResult, Counterexample, NamedBug, Status, Verdict
from grader.records import from_dict, to_dict
from grader.views.json import render
from grader.views.listing import Row, show_list, show_overview
from grader.views.screen import Screen, pointed, shorten
from grader.views.terminal import Context, show, summarize
from grader.views.texts import say, spell

CASE = Counterexample(
    called="MultiHeadSelfAttention(d_model=2, num_heads=1)(x, causal_mask=[[1, 0], [1, 1]])",
    expected="[[0.3, -1.1], [0.9, 0.2]]",
    got="[[0.6, -0.4], [0.9, 0.2]]",
    python="import torch\n" * 12,
    recipe={"length": 2, "mask": "causal"},
)
MASK = NamedBug(
    "mask-multiplied",
    "a hidden key keeps score 0, and exp(0) = 1 still takes weight",
    "After your mask, what weight does softmax give to a hidden key?",
    "exact",
    matched=24,
    probes=24,
)
SCALE = NamedBug(
    "scale-missing", "the scores are not scaled", "How large do they get?", "exact", (), 24, 24
)
FAILED = Verdict(
    kata="kata03",
    slug="multi-head-self-attention",
    status="failed",
    score=0.825,
    seconds=0.31,
    path="katas/kata03_multi_head_self_attention.py",
    checks=(
        CheckResult("shapes_agree", "the shape is right", "passed"),
        CheckResult(
            "future_does_not_leak",
            "a token cannot see the future",
            "failed",
            "first difference at token 0",
            31,
            CASE,
        ),
        CheckResult("a", "one", "skipped"),
        CheckResult("b", "two", "skipped"),
        CheckResult("c", "three", "skipped"),
    ),
    bugs=(MASK,),
)
CONTEXT = Context("Multi-head self-attention", "python -m grader kata3", "python -m grader kata4")


def shown(
    verdict: Verdict = FAILED,
    width: int = 80,
    encoding: str = "utf-8",
    *,
    monkeypatch: pytest.MonkeyPatch,
    plain: bool = False,
    **options: bool,
) -> str:
    text, screen = _screen(width, encoding, monkeypatch, plain=plain)
    show(screen, verdict, CONTEXT, **options)
    return _read(text, encoding)


def _screen(
    width: int, encoding: str, monkeypatch: pytest.MonkeyPatch, *, plain: bool = False
) -> tuple[io.TextIOWrapper, Screen]:
    monkeypatch.setenv("COLUMNS", str(width))
    text = io.TextIOWrapper(io.BytesIO(), encoding=encoding, write_through=True)
    return text, Screen(text, plain=plain)


def _read(text: io.TextIOWrapper, encoding: str) -> str:
    text.flush()
    buffer = text.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode(encoding)


def test_the_failure_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(width=104, monkeypatch=monkeypatch) == (
        "FAIL  kata3 · a token cannot see the future"
        "                 katas/kata03_multi_head_self_attention.py:31\n"
        f"  called    {CASE.called}\n"
        "  expected  [[0.3, -1.1], [0.9, 0.2]]\n"
        "  got       [[0.6, -0.4], [0.9, 0.2]]\n"
        "            first difference at token 0\n"
        "  cause     behaves exactly like mask-multiplied on all 24 probes:\n"
        "            a hidden key keeps score 0, and exp(0) = 1 still takes weight\n"
        "  next      After your mask, what weight does softmax give to a hidden key?\n"
        "            3 more checks wait on this one · score 82 % · python -m grader kata3\n"
        "  try it    add --python to print this case as Python\n"
    )


LONG = replace(
    FAILED,
    checks=(
        replace(
            FAILED.checks[1],
            message="the values differ " * 30,
            counterexample=replace(
                CASE,
                called="f(" + "[[0.1, 0.2], [0.3, 0.4]], " * 60 + ")",
                expected="[" + "0.123, " * 300 + "9.9]",
                got="\n".join("[1.0, 2.0]" for _ in range(50)),
                shapes=tuple((f"name{n}", "(2, 5, 12) float64") for n in range(30)),
            ),
        ),
        *FAILED.checks[2:],
    ),
    bugs=(MASK, SCALE, replace(MASK, id="third", title="long words " * 40)),
    notes=tuple(f"note {n}" for n in range(20)),
)


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
@pytest.mark.parametrize("verdict", [FAILED, LONG], ids=["small", "long"])
def test_no_line_is_wider_than_the_terminal_and_no_screen_is_long(
    monkeypatch: pytest.MonkeyPatch, verdict: Verdict, width: int
) -> None:
    lines = shown(verdict, width, monkeypatch=monkeypatch).splitlines()
    # A path stays in one piece, or no editor opens it.
    too_wide = [line for line in lines if len(line) > width and "katas/" not in line]
    assert not too_wide
    assert all(line == line.rstrip() for line in lines)
    assert len(lines) <= (25 if width >= 80 else 32), "of which causes have at most nine"
    for label in ("called", "expected", "got", "cause", "next"):
        assert any(line.startswith(f"  {label}") for line in lines), label


def test_a_long_value_keeps_its_beginning_and_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(LONG, monkeypatch=monkeypatch)
    assert "[0.123, " in text
    assert "…" in text
    assert "9.9]" in text
    assert "49 more lines" in text


@pytest.mark.parametrize(
    ("bugs", "cause"),
    [
        ((), "not a bug I know"),
        (
            (MASK, SCALE),
            "behaves exactly like mask-multiplied and scale-missing together on all 24 probes:",
        ),
        (
            (replace(MASK, confidence="consistent", matched=20),),
            "consistent with mask-multiplied on 20 of 24 probes:",
        ),
        (
            (replace(SCALE, same_as=("scale-late", "scale-twice")),),
            "(cannot be told apart from: scale-late, scale-twice)",
        ),
    ],
)
def test_the_cause_says_no_more_than_was_seen(
    monkeypatch: pytest.MonkeyPatch, bugs: tuple[NamedBug, ...], cause: str
) -> None:
    text = shown(replace(FAILED, bugs=bugs), 120, monkeypatch=monkeypatch)
    assert cause in text
    assert ("exactly" in text) == any(bug.confidence == "exact" for bug in bugs)


def test_an_exception_shows_its_message_and_the_shapes_in_the_frame(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = replace(
        CASE, expected="", got="RuntimeError", shapes=(("x", "(1, 2)"), ("mask", "(2,)"))
    )
    check = replace(FAILED.checks[1], message="RuntimeError: sizes differ", counterexample=case)
    text = shown(replace(FAILED, checks=(check,), bugs=()), monkeypatch=monkeypatch)
    assert "  got       RuntimeError: sizes differ\n" in text
    assert "  shapes    x (1, 2) · mask (2,)\n" in text


def test_further_failures_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    checks = (FAILED.checks[1], replace(FAILED.checks[1], name="d"), FAILED.checks[2])
    text = shown(replace(FAILED, checks=checks), monkeypatch=monkeypatch)
    assert "1 more check failed · 1 more check waits on these" in text


def test_a_short_case_is_shown_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    case = replace(CASE, python="import torch\nprint(softmax(torch.ones(2)))\n")
    check = replace(FAILED.checks[1], counterexample=case)
    text = shown(replace(FAILED, checks=(check,)), monkeypatch=monkeypatch)
    assert "  try it    import torch\n            print(softmax(torch.ones(2)))\n" in text


@pytest.mark.parametrize(
    ("status", "word", "code"),
    [
        ("passed", "PASS", "next      python -m grader kata4"),
        ("not_started", "NOT STARTED", "then      python -m grader kata3"),
        ("not_loadable", "NOT LOADABLE", "mend that, then python -m grader kata3"),
        ("timeout", "TIMEOUT", "mend that, then"),
        ("memory", "OUT OF MEMORY", "mend that, then"),
        ("crashed", "CRASHED", "mend that, then"),
        ("grader_error", "GRADER FAULT", "send that file to whoever"),
    ],
)
def test_every_status_stands_in_words_with_a_next_step(
    monkeypatch: pytest.MonkeyPatch, status: Status, word: str, code: str
) -> None:
    checks = (CheckResult("file_loads", "it loads", "failed", "line 3:\n    x = (\n        ^", 3),)
    verdict = replace(FAILED, status=status, bugs=(), notes=("said so",))
    verdict = replace(verdict, checks=() if status in ("passed", "grader_error") else checks)
    text = shown(verdict, monkeypatch=monkeypatch)
    assert text.startswith(f"{word}  kata3 · ")
    assert code in text
    if status == "not_loadable":
        # The caret stays below its place.
        assert "                x = (\n                    ^\n" in text


HOSTILE = "[bold]PASSED[/bold] \x1b[2J\x07\r\x9b31m\u202e :smile: [link=file:///x]y"


def test_what_an_answer_says_does_nothing_to_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    case = replace(CASE, called=HOSTILE, expected=HOSTILE, got=HOSTILE, shapes=((HOSTILE, "1"),))
    check = CheckResult("a", HOSTILE, "failed", HOSTILE + "!", 1, case)
    verdict = replace(FAILED, checks=(check,), notes=(HOSTILE,), path=HOSTILE)
    text = shown(verdict, 200, monkeypatch=monkeypatch, python=True)
    assert "[bold]PASSED[/bold] \\x1b[2J\\x07\\x0d\\x9b31m\\u202e :smile: [link=" in text
    assert all(char == "\n" or char.isprintable() for char in text)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp437", "cp1252", "utf-8", "shift_jis"])
def test_every_encoding_can_print_every_screen(
    monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    verdict = replace(LONG, notes=("✓ √2 ≤ 你好 \ud800 😀",))
    assert "FAIL" in shown(verdict, encoding=encoding, monkeypatch=monkeypatch)


def test_plain_is_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(LONG, monkeypatch=monkeypatch, plain=True)
    assert text.isascii()
    assert "\x1b" not in text
    assert "FAIL  kata3 - a token" in text


def test_python_is_never_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    line = f"x = torch.tensor([{', '.join(['0.1'] * 80)}])"
    case = replace(CASE, python=line + "\n")
    check = replace(FAILED.checks[1], counterexample=case)
    text = shown(replace(FAILED, checks=(check,)), 40, monkeypatch=monkeypatch, python=True)
    assert line in text.splitlines()
    assert "try it" not in text


def test_python_without_a_case_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(replace(FAILED, status="passed", checks=()), monkeypatch=monkeypatch, python=True)
    assert "# kata3: there is no failing case to print" in text


@pytest.mark.parametrize("width", [40, 80, 200])
def test_the_summary_and_the_list_fit(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    text, screen = _screen(width, "utf-8", monkeypatch)
    summarize(screen, [FAILED, replace(FAILED, status="passed", score=1.0, checks=())])
    row = Row(3, "kata3", "Multi-head self-attention", "not started", 12, FAILED.path)
    show_list(screen, [row, replace(row, state="missing")])
    show_overview(screen, [row], [("next", "python -m grader kata3")])
    out = _read(text, "utf-8")
    # A path stays in one piece, so that it can be copied.
    assert all(len(line) <= width or line == FAILED.path for line in out.splitlines())
    assert "1 of 2 passed" in out
    assert "1 kata: 1 not started" in out
    assert "multi_head_self_attention.py" in out.replace("\n", "").replace(" ", "")


def test_a_score_is_never_rounded_up_to_a_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(replace(FAILED, score=0.999), monkeypatch=monkeypatch)
    assert "score 99 %" in text


# --- texts and records ----------------------------------------------------------


def test_say_keeps_line_ends_and_letters() -> None:
    assert say("é\n你 · √\tx") == "é\n你 · √    x"
    assert say("a\x1b]0;t\x07\u2028\ud800") == "a\\x1b]0;t\\x07\\u2028\\ud800"


def test_spell_changes_only_what_must_be() -> None:
    assert spell("a · b … é 你", "latin-1") == "a · b ... é \\u4f60"
    assert spell("a · b", "no-such-encoding").isascii()


@pytest.mark.parametrize("columns", [28, 68, 188])
@pytest.mark.parametrize("lines", [1, 2, 3, 6])
@pytest.mark.parametrize(
    "text", ["", "short", "0.12, " * 400, "x" * 900, "row\n" * 40, "x" * 900 + "\ny", "\n\n\n"]
)
def test_shorten_fits(text: str, columns: int, lines: int) -> None:
    got = shorten(text, columns, lines)
    assert sum(max(1, -(-len(row) // columns)) for row in got.split("\n")) <= lines


def test_a_record_survives_the_way_through_json() -> None:
    data: Any = json.loads(render([LONG], several=False))
    assert from_dict(data) == LONG
    assert next(iter(data)) == "kata"
    assert json.loads(render([FAILED, LONG], several=True))[0] == to_dict(FAILED)


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"status": "perfect"},
        {"score": "1"},
        {"score": float("nan")},
        {"kata": None},
        {"notes": [1]},
        {"checks": [{"name": "a"}]},
        {"checks": {}},
        {"checks": [1]},
        {"bugs": [{"id": "a", "title": "b", "confidence": "sure"}]},
    ],
)
def test_a_record_that_is_none_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError)):
        from_dict(to_dict(FAILED) | change)


def test_where_it_is_narrow_no_column_is_squeezed(monkeypatch: pytest.MonkeyPatch) -> None:
    text, screen = _screen(40, "utf-8", monkeypatch)
    summarize(screen, [FAILED])
    row = Row(3, "kata3", "Multi-head self-attention", "not started", 12, FAILED.path)
    show_list(screen, [row])
    out = _read(text, "utf-8")
    assert "FAIL  kata3 · 82 % · 0.3 s\n            a token cannot see the\n" in out
    assert f"kata3 · Multi-head self-attention\nnot started · 12 minutes\n{FAILED.path}\n" in out


@pytest.mark.parametrize("columns", [20, 40])
@pytest.mark.parametrize("place", [4, 30, 57])
def test_a_caret_stays_below_its_place_where_the_line_is_cut(columns: int, place: int) -> None:
    code = "    " + "".join(chr(ord("A") + n) for n in range(54))
    told = pointed(f"line 3:\n{code}\n{' ' * place}^", columns)
    head, line, caret = told.split("\n")
    assert head == "line 3:"
    assert len(line) <= columns
    assert line[caret.index("^")] == code[place]


@pytest.mark.parametrize("text", ["", "^", "one line", "two\nlines", "short\n  ^"])
def test_what_fits_is_not_cut(text: str) -> None:
    assert pointed(text, 40) == text


def test_plain_keeps_letters_of_any_alphabet(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = replace(FAILED, notes=("`größe` and `ключ` are left over · …",))
    plain = shown(failed, monkeypatch=monkeypatch, plain=True)
    assert "`größe` and `ключ` are left over - ..." in plain
    escaped = shown(failed, encoding="ascii", monkeypatch=monkeypatch, plain=True)
    assert "gr\\xf6\\xdfe" in escaped
