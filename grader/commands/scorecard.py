"""What is shown of an interview once it is over."""

from __future__ import annotations

from grader.catalog import katas, written
from grader.practice.answers import folder_of
from grader.practice.interviews import Interview, Round
from grader.practice.scoring import total
from grader.resetting import replace
from grader.views.scorecard import page, show_card
from grader.views.screen import Screen
from grader.views.times import date, span

NAMES = {"build": "build", "debug": "find the bugs", "questions": "follow-up questions"}


def show_scorecard(out: Screen, interview: Interview) -> None:
    """Show the scorecard of an interview that is over, and write it as a page."""
    points, of = total(interview.card)
    summary = f"{points:g} of {of:g} points · {interview.format}, {interview.minutes:g} minutes"
    rounds = [_told(number, each) for number, each in enumerate(interview.rounds, 1)]
    show_card(out, interview.card, rounds, summary)
    path = folder_of(interview) / "scorecard.html"
    title = f"Mock interview of {date(interview.at)}"
    try:
        replace(path, page(interview.card, rounds, title, summary))
        out.rows([("page", written(path))])
    except OSError as error:
        out.line(f"{path} cannot be written: {error.strerror}")


def _told(number: int, found: Round) -> tuple[str, str]:
    entry = next((each for each in katas() if each.slug == found.slug), None)
    words = [f"{NAMES[found.kind]}, {entry.name if entry else found.slug}"]
    if found.started is None:
        return f"round {number}", f"{words[0]}: {found.remark or 'it did not come to that'}"
    for name, at in (("first run", found.first), ("passed", found.passed)):
        if at is not None:
            words.append(f"{name} after {span(max(0.0, at - found.started))}")
    if found.kind == "questions":
        words.append(f"{len(found.answers)} of {len(found.asked)} answered")
    else:
        words.append("1 grading" if found.checks == 1 else f"{found.checks} gradings")
        says = {bug.id: bug.says for bug in entry.load_spec().bugs} if entry else {}
        named = dict.fromkeys([*found.bugs, *found.met])
        words += [f"{name}: {says[name]}" for name in named if name in says]
    return f"round {number}", "\n".join(words)
