"""What works on this machine: `python -m grader doctor`."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
import tempfile
from typing import TYPE_CHECKING

from grader.catalog import ROOT, katas
from grader.isolation.sandbox import Layer, available

if TYPE_CHECKING:
    from grader.views.screen import Screen

PACKAGES = ("torch", "hypothesis", "rich", "watchfiles", "prompt_toolkit")
# What is lost where a layer does not hold, in the words of whoever runs their own code.
MEANINGS = {
    "memory": "an answer may take all memory",
    "cpu": "an answer that hides from the clock may run on",
    "file size": "an answer may fill the disk",
    "open files": "an answer may open files without end",
    "core dumps": "a crash may leave a core file",
    "privileges": "an answer keeps what rights you have",
    "parent": "an answer may outlive a killed grader",
    "folder": "an answer does not run in a folder of its own",
    "filter": "an answer may start programs",
    "processes": "an answer may start processes without end",
    "files": "an answer may read and change your files",
    "network": "an answer may reach the network",
    "signals": "an answer may end other programs of yours",
    "namespace": "a program that an answer leaves behind may be missed",
}


def examine(screen: Screen) -> int:
    """Print what was found; return 0 where katas can be graded, 70 where not."""
    version = platform.python_version()
    rows = [("python", f"{version} on {platform.system()} {platform.release()}")]
    missing: list[str] = []
    for name in PACKAGES:
        try:
            found = f"{name} {importlib.metadata.version(name)}"
        except importlib.metadata.PackageNotFoundError:
            missing.append(name)
            found = f"{name} is not installed: python -m pip install -e ."
        rows.append(("packages" if name == PACKAGES[0] else "", found))
    encoding = getattr(sys.stdout, "encoding", "") or "unknown"
    plain = "" if encoding.lower().startswith("utf") else "; other letters are written in ASCII"
    rows.append(("encoding", f"{encoding}{plain}"))
    rows.append(("katas", f"{len(katas())} in {ROOT}"))
    rows += _writing()
    report = available()
    held = [layer.name for layer in report.layers if layer.holds]
    rows.append(("holds", ", ".join(held) or "nothing"))
    rows += [("missing", _lost(layer)) for layer in report.missing()]
    rows.append(("start", _start()))
    rows.append(("watching", _watching()))
    screen.rows(rows)
    return 70 if "torch" in missing or "hypothesis" in missing else 0


def _lost(layer: Layer) -> str:
    meaning = MEANINGS.get(layer.name, "")
    return (
        f"{layer.name}: {meaning} ({layer.detail})" if meaning else f"{layer.name}: {layer.detail}"
    )


def _writing() -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for label, folder in (("scratch", tempfile.gettempdir()), ("project", str(ROOT))):
        if not os.access(folder, os.W_OK):
            rows.append((label, f"{folder} cannot be written to"))
    return rows


def _start() -> str:
    if os.environ.get("GRADER_START") == "spawn":
        return "each answer's process loads torch for itself (GRADER_START=spawn)"
    if not hasattr(os, "fork") or sys.platform == "darwin":
        return "each answer's process loads torch for itself: no safe fork here"
    return "each answer's process is forked from one that has torch"


def _watching() -> str:
    release = platform.release().lower()
    if "microsoft" in release:
        return "by polling: under WSL, saves from Windows send no events"
    return "by the system's events; --poll looks at the files instead"
