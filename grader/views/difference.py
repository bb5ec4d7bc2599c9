"""Code, and differences between two versions of it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.syntax import Syntax

from grader.views.screen import Screen

STYLES = {"+": "green", "-": "red", "@": "cyan"}


def show_difference(screen: Screen, lines: Sequence[str]) -> None:
    """Print a unified diff: - is the first file, + the second; nothing is wrapped or cut."""
    if not lines:
        screen.line("there is no difference")
    for number, line in enumerate(lines):
        style = "bold" if number < 2 else STYLES.get(line[:1], "")
        screen.code(screen.text(line, style))


def show_code(screen: Screen, source: str) -> None:
    """Print Python, with colours where there are any; nothing is wrapped or cut."""
    text = screen.text(source.rstrip())
    if screen.console.color_system:
        text = Syntax("", "python", theme="ansi_dark", background_color="default").highlight(
            text.plain
        )
        text.rstrip()
    screen.code(text)
