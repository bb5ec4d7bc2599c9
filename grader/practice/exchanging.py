"""The history as JSON lines: to keep a copy, to look at it, or to move to another machine.

Each line is one record with its "kind". An import adds what is not there yet,
so that importing twice, or merging two machines, does no harm; it happens as a
whole or not at all.
"""

from __future__ import annotations

import json
import math
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from grader.errors import HistoryError
from grader.model import VERDICT_VERSION
from grader.practice.database import reading, writing
from grader.practice.interviews import rounds_from
from grader.records import STATUSES, from_dict

# The tables whose rows go out, by the kind that stands in the line.
KINDS: Mapping[str, str] = {
    "attempt": "attempts",
    "hint": "hints",
    "card": "cards",
    "round": "rounds",
    "interview": "interviews",
}
TYPES: Mapping[str, tuple[type, ...]] = {"TEXT": (str,), "REAL": (int, float), "INTEGER": (int,)}


def export(path: Path) -> Iterator[str]:
    """Yield the history in `path` as lines without their ends."""
    with reading(path) as connection:
        if connection is None:
            return
        for kind, table in KINDS.items():
            for row in connection.execute(f"SELECT * FROM {table} ORDER BY rowid"):  # noqa: S608
                record: dict[str, Any] = {"kind": kind, **dict(row)}
                record.pop("id", None)
                if kind == "attempt":
                    record |= _attached(connection, row)
                yield json.dumps(record, allow_nan=False)


def take_in(path: Path, lines: Iterable[bytes], shown: str) -> int:
    """Add what is new among `lines` to the history in `path`; return how many records were.

    `shown` is what messages call the place that the lines came from. Raises
    HistoryError, with the history as it was, at the first line that is not a record.
    """
    added = 0
    with writing(path) as connection:
        columns = {kind: _columns(connection, table) for kind, table in KINDS.items()}
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                kind, record, attached = _read(line, columns)
            except (ValueError, TypeError) as error:
                raise HistoryError(
                    f"{shown}, line {number} is not a record of a history ({error}); "
                    "nothing was taken in"
                ) from error
            added += _add(connection, kind, record, attached)
    return added


def _attached(connection: sqlite3.Connection, row: sqlite3.Row) -> dict[str, Any]:
    found: dict[str, Any] = {}
    source = connection.execute(
        "SELECT source FROM snapshots WHERE digest = ?", (row["snapshot"],)
    ).fetchone()
    if source:
        found["answer"] = zlib.decompress(source[0]).decode("utf-8", "surrogateescape")
    verdict = connection.execute(
        "SELECT record FROM verdicts WHERE attempt = ?", (row["uid"],)
    ).fetchone()
    if verdict:
        found["verdict"] = json.loads(zlib.decompress(verdict[0]))
    return found


def _columns(connection: sqlite3.Connection, table: str) -> dict[str, tuple[str, bool]]:
    """Return each column's type, and whether it may be null."""
    rows = connection.execute(f"PRAGMA table_info({table})").fetchall()
    return {
        row["name"]: (row["type"], not row["notnull"] and not row["pk"])
        for row in rows
        if row["name"] != "id"
    }


def _read(
    line: bytes, columns: Mapping[str, Mapping[str, tuple[str, bool]]]
) -> tuple[str, dict[str, Any], dict[str, Any]]:
    data = json.loads(line)
    if not isinstance(data, dict):
        raise TypeError(f"a {type(data).__name__} where a record belongs")
    kind = data.pop("kind", None)
    if kind not in columns:
        raise ValueError(f"the kind {kind!r} is none of {', '.join(columns)}")
    attached = {name: data.pop(name) for name in ("answer", "verdict") if name in data}
    unknown = sorted(set(data) - set(columns[kind]))
    if unknown:
        raise ValueError(f"{unknown[0]} is no part of a {kind}")
    for name, (type_, nullable) in columns[kind].items():
        value = data.get(name)
        if not (value is None and nullable):
            _check_type(name, value, TYPES[type_])
    _check_content(kind, data, attached)
    return kind, data, attached


def _check_content(kind: str, data: Mapping[str, Any], attached: dict[str, Any]) -> None:
    if kind == "attempt":
        _check_attempt(data, attached)
    elif kind == "card":
        _check_card(data)
    elif kind == "round":
        _check_names(data)
    elif kind == "interview":
        rounds_from(data["rounds"])
        if not isinstance(json.loads(data["card"]), list):
            raise TypeError("card is not a list")


def _check_type(name: str, value: object, types: tuple[type, ...]) -> None:
    if isinstance(value, bool) or not isinstance(value, types):
        raise TypeError(f"{name} is {value!r}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name} is {value!r}")


def _check_attempt(data: Mapping[str, Any], attached: dict[str, Any]) -> None:
    if data["status"] not in STATUSES:
        raise ValueError(f"status is {data['status']!r}")
    _check_names(data)
    if not isinstance(attached.get("answer", ""), str):
        raise TypeError("answer is not text")
    if attached.get("verdict", {}).get("version", VERDICT_VERSION) != VERDICT_VERSION:
        del attached["verdict"]  # one of another time: the figures stay
    if "verdict" in attached:
        from_dict(attached["verdict"])


def _check_names(data: Mapping[str, Any]) -> None:
    bugs = json.loads(data["bugs"])
    if not isinstance(bugs, list) or not all(isinstance(each, str) for each in bugs):
        raise TypeError("bugs is not a list of names")


def _check_card(data: Mapping[str, Any]) -> None:
    card = json.loads(data["card"])
    if not isinstance(card, dict) or not {"card", "before", "at", "rating"} <= set(card):
        raise ValueError("card is incomplete")


def _add(
    connection: sqlite3.Connection, kind: str, record: dict[str, Any], attached: dict[str, Any]
) -> int:
    names = ", ".join(record)
    marks = ", ".join("?" * len(record))
    # Names were checked against the table's columns.
    query = f"INSERT OR IGNORE INTO {KINDS[kind]} ({names}) VALUES ({marks})"  # noqa: S608
    added = connection.execute(query, tuple(record.values())).rowcount
    if added and "answer" in attached:
        source = attached["answer"].encode("utf-8", "surrogateescape")
        connection.execute(
            "INSERT OR IGNORE INTO snapshots VALUES (?, ?)",
            (record["snapshot"], zlib.compress(source)),
        )
    if added and "verdict" in attached:
        packed = zlib.compress(json.dumps(attached["verdict"]).encode())
        connection.execute("INSERT OR IGNORE INTO verdicts VALUES (?, ?)", (record["uid"], packed))
    return added
