"""Ask for a line while a clock runs below it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.output import ColorDepth

from grader.views.screen import Screen

LOOK = 0.2


def ask(
    screen: Screen,
    below: Callable[[], str],
    late: Callable[[], bool],
    interrupted: Callable[[], bool],
) -> str:
    """Return the line that was typed; empty where it is too late.

    Raises KeyboardInterrupt for Ctrl-C and Ctrl-D, where the process was told
    to end, and where the terminal is gone.
    """

    async def watch() -> None:
        while not late() and not interrupted():
            await asyncio.sleep(LOOK)
        app = get_app()
        if not app.is_done:
            if interrupted():
                app.exit(exception=KeyboardInterrupt())
            else:
                app.exit(result="")

    def begin() -> None:
        get_app().create_background_task(watch())

    session: PromptSession[str] = PromptSession(
        bottom_toolbar=below,
        refresh_interval=LOOK,
        enable_suspend=True,
        color_depth=None if screen.console.color_system else ColorDepth.DEPTH_1_BIT,
        reserve_space_for_menu=0,
    )
    try:
        return session.prompt("> ", pre_run=begin).strip()
    except EOFError:
        raise KeyboardInterrupt from None
