"""No workers: on the stage, answers run where they are graded, without torch."""

from __future__ import annotations

from pathlib import Path


class Workers:
    def end_all(self) -> None:
        pass

    def close(self) -> None:
        pass


def workers(base: Path) -> Workers:
    assert base.is_dir()
    return Workers()
