"""The file of an unfinished sweep: a line of JSON for each sample that is done, so that the sweep can go on later."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from hydro_sim_core.errors import InputError
from hydro_sim_core.sweeps.plan import Plan
from hydro_sim_core.sweeps.samples import ERROR, Row

#: Behind the name of the table.
SUFFIX = ".part"
#: Largest size that is read, bytes: what a million samples with many measures take.
_LIMIT = 2**32


class Journal:
    """Rows of a sweep that are done, in a file beside the table until all are.

    Args:
        table: File of the table; the journal's name is this with ``.part`` behind it.
        told: What the sweep is. A journal of another one is refused.
        count: Number of samples.
        replace: Whether what is done of another sweep is forgotten.

    Attributes:
        rows: Rows that are done, by number of the sample.

    Raises:
        InputError: The file cannot be written, is used by another process, or is of another sweep.
    """

    def __init__(self, table: Path, told: Mapping[str, Any], count: int, replace: bool = False) -> None:
        self.path = table.with_name(table.name + SUFFIX)
        self.rows: dict[int, Row] = {}
        self._count = count
        try:
            # Neither waits for the reader of a pipe nor follows a link to a file of someone else's.
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
            self._file: BinaryIO = os.fdopen(os.open(self.path, flags, 0o666), "r+b")
        except OSError as error:
            problem = f"cannot be opened ({error.strerror})"
            raise InputError(self.path, "", problem, "give a table in another folder") from None
        try:
            self._lock()
            self._begin(json.dumps(told, sort_keys=True), replace)
        except BaseException:
            self._file.close()
            raise

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                self.path, "", "is used by another sweep", "wait for it, or give another table"
            ) from None

    def _begin(self, head: str, replace: bool) -> None:
        """Read what is done, and drop a last line that was not finished."""
        if os.fstat(self._file.fileno()).st_size > _LIMIT:
            raise InputError(self.path, "", "is too large for a journal", "remove it, or give another table")
        line = self._file.readline()
        is_whole = line.endswith(b"\n")
        is_same = is_whole and line.decode(errors="replace").rstrip("\n") == head
        if is_whole and not is_same and not replace:
            mend = "give the same options to go on with it, another table, or --overwrite to forget it"
            raise InputError(self.path, "", "is of another sweep, which is not finished", mend)
        if not is_same:
            self._file.seek(0)
            self._file.truncate()
            self._write(head)
            return
        end = self._file.tell()
        for number, line in enumerate(self._file, start=2):
            if not line.endswith(b"\n"):
                break
            self._take(number, line)
            end += len(line)
        self._file.seek(end)
        self._file.truncate()

    def _take(self, number: int, line: bytes) -> None:
        try:
            index, row = json.loads(line)
            good = type(index) is int and 0 <= index < self._count and isinstance(row, dict) and ERROR in row
        except (ValueError, TypeError, RecursionError):
            good = False
        if not good:
            mend = "remove the line, whose sample will be tried again"
            raise InputError(self.path, f"line {number}", "is no sample", mend)
        self.rows[index] = row

    def add(self, index: int, row: Row) -> None:
        """Keep the row of a sample.

        Raises:
            InputError: It cannot be written.
        """
        line = json.dumps([index, row], allow_nan=False)
        self.rows[index] = json.loads(line)[
            1
        ]  # as it will be read, so that tables of interrupted sweeps are the same
        self._write(line)

    def _write(self, line: str) -> None:
        """At once, so that only what is being worked on is lost with this process."""
        try:
            self._file.write(line.encode() + b"\n")
            self._file.flush()
        except OSError as error:
            raise InputError(
                self.path, "", f"cannot be written ({error.strerror})", "make room, and go on"
            ) from None

    def close(self) -> None:
        """Leave the file for another time."""
        self._file.close()

    def remove(self) -> None:
        """Remove it, as all is in the table."""
        self.path.unlink(missing_ok=True)
        self.close()


def rows_of_table(plan: Plan, rows: Mapping[int, Row]) -> list[dict[str, Any]]:
    """Rows with numbers, values and measures, in the order of the samples; all have the columns of all."""
    ordered = [rows[index] for index in sorted(rows)]
    measured = dict.fromkeys(name for row in ordered for name in row if name != ERROR)
    values = plan.samples()
    return [
        {"sample": index, **values[index], **{name: row.get(name) for name in measured}, ERROR: row[ERROR]}
        for index, row in zip(sorted(rows), ordered, strict=True)
    ]
