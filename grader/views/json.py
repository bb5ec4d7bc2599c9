"""The verdict as JSON, for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from grader.model import Verdict
from grader.records import from_dict, to_dict

__all__ = ["dump", "from_dict", "render", "to_dict"]


def render(verdicts: Sequence[Verdict], *, several: bool) -> str:
    """Return one record, or a list of them if `several` were asked for."""
    records = [to_dict(verdict) for verdict in verdicts]
    return dump(records if several else records[0])


def dump(data: Any) -> str:
    """Return JSON in ASCII, so that no terminal or pipe can fail to take it."""
    return json.dumps(data, indent=2, ensure_ascii=True, allow_nan=False)
