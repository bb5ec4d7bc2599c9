"""What a store looks like from outside."""

from __future__ import annotations

from typing import Any


class Store:
    def __init__(self, kata: Any, source: str) -> None:
        self.source = source
