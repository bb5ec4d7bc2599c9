"""Put a kata's file back to its stub; what stood there is kept first."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

from grader.catalog import ROOT, Entry
from grader.errors import UsageError
from grader.isolation.reading import stub

BACKUPS = ROOT / ".grader" / "backups"


def reset(entry: Entry) -> Path | None:
    """Write the stub, and return where the answer is kept; None where there was none to keep.

    Raises UsageError, with the answer as it was, where either cannot be written.
    """
    path = entry.stub_path
    kept: Path | None = None
    try:
        if path.exists():
            kept = _free_name(entry)
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, kept)
        # Beside the file and then in its place: never half of it, whatever happens.
        new = path.with_name(f".{path.stem}.new")
        with new.open("w", encoding="utf-8", newline="\n") as file:
            file.write(stub(entry))
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError as error:
        raise UsageError(
            f"{error.filename or path} cannot be written ({error.strerror}); nothing was reset"
        ) from error
    return kept


def _free_name(entry: Entry) -> Path:
    stamp = time.strftime("%Y%m%d-%H%M%S")
    names = (
        BACKUPS / f"{entry.stem}-{stamp}{tail}.py" for tail in ("", *map("-{}".format, range(99)))
    )
    return next(name for name in names if not name.exists())
