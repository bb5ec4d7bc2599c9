"""The scorecard of an interview. What was not part of it does not count."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from grader.catalog import Entry
from grader.model import Kata, Verdict
from grader.practice.interviews import LEFT_OUT, Interview, Round
from grader.practice.schedule import Rating

Part = tuple[str, float, float, str]
# What a check looks at that is neither the plain values nor what is allowed.
PLAIN = ("layers", "banned", "trainable")


def card(interview: Interview, entries: Sequence[Entry]) -> tuple[Part, ...]:
    """Return the parts that were measured: name, points, of how many, and why."""
    katas = {entry.slug: entry.load_spec() for entry in entries}
    counted = [each for each in interview.rounds if each.remark != LEFT_OUT]
    coding = [each for each in counted if each.kind != "questions"]
    build = [each for each in coding if each.kind == "build"]
    asked = [each for each in interview.rounds if each.kind == "questions"]
    parts: list[Part] = []
    if coding:
        share = fmean(correctness(each) for each in coding)
        parts.append(("correctness", 30 * share, 30, "; ".join(_result(e) for e in coding)))
        edges = [0.0 if each.edges is None else each.edges for each in coding]
        words = f"{fmean(edges):.0%} of the checks of edge cases and numerics hold"
        parts.append(("edge cases and numerics", 15 * fmean(edges), 15, words))
    if build:
        shares = [correctness(e) * (0.5 if e.loops else 1.0) for e in build if e.passed]
        share = sum(shares) / len(build)
        slow = any(each.loops for each in build)
        words = "a Python loop does a tensor's work" if slow else "counted for what passed"
        parts.append(("complexity", 15 * share, 15, words))
        tests = [0.0 if each.tests is None else each.tests for each in build]
        told = "; ".join(each.remark for each in build if each.remark) or "no tests were written"
        parts.append(("testing", 10 * fmean(tests), 10, told))
    if asked:
        share = fmean(communication(each, katas[each.slug]) for each in asked)
        parts.append(("communication", 20 * share, 20, "rated by yourself against the key points"))
    if coding:
        share = fmean(pace(each, katas[each.slug]) for each in coding)
        hints = sum(each.hints for each in coding)
        parts.append(("pace and hints", 10 * share, 10, f"{hints} hints"))
    return tuple((name, round(points, 1), of, words) for name, points, of, words in parts)


def correctness(found: Round) -> float:
    """Return the share of a round that is right: of the checks, or of the bugs planted."""
    if found.kind == "debug":
        return 1.0 if found.passed else (found.mended or 0) / max(1, len(found.bugs))
    return 1.0 if found.passed else found.score


def communication(found: Round, kata: Kata) -> float:
    """Return the share of the key points that were named."""
    points = sum(len(kata.questions[n].points) for n in found.asked)
    return sum(len(answer.points) for answer in found.answers) / points if points else 0.0


def pace(found: Round, kata: Kata) -> float:
    """Return 1 for a pass within the planned minutes, half within the cap; hints cost a fifth."""
    if found.passed is None or found.started is None:
        return 0.0
    minutes = (found.passed - found.started) / 60
    share = 1.0 if minutes <= kata.minutes else 0.5 if minutes <= kata.cap_minutes else 0.25
    return max(0.0, share - 0.2 * found.hints)


def rating(found: Round, kata: Kata) -> Rating | None:
    """Return how a round counts as a review of its kata; None where nothing was written."""
    if found.kind != "build" or found.status in ("", "not_started"):
        return None
    if not found.passed:
        return "again"
    share = pace(found, kata)
    return "easy" if share == 1.0 else "good" if share >= 0.5 else "hard"


def edges(kata: Kata, verdict: Verdict) -> float | None:
    """Return the share of the checks of edge cases and numerics that passed; None without any."""
    plain = next((check.name for check in kata.checks if check.watch == "values"), "")
    names = {c.name for c in kata.checks if c.required and c.watch not in PLAIN} - {plain}
    if not names:
        return 1.0 if verdict.status == "passed" else 0.0
    passed = {check.name for check in verdict.checks if check.status == "passed"}
    return len(names & passed) / len(names)


def loops(kata: Kata, verdict: Verdict) -> bool:
    """Tell whether the grading noted a Python loop where a tensor operation would do."""
    titles = [check.title for check in kata.checks if check.watch == "loops"]
    return any(note.startswith(title) for note in verdict.notes for title in titles)


def total(parts: Sequence[Part]) -> tuple[float, float]:
    """Return the points of a card, and of how many."""
    return sum(part[1] for part in parts), sum(part[2] for part in parts)


def _result(found: Round) -> str:
    if found.started is None:
        return f"{found.kind} not begun"
    if found.kind == "debug":
        mended = len(found.bugs) if found.passed else found.mended or 0
        return f"{mended} of {len(found.bugs)} mended"
    return "passed" if found.passed else f"{int(found.score * 100)} % of the checks"
