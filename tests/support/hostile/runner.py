"""Runs cases and says what is wrong with how the program took them."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from support.hostile.cases import CANARY, Case
from support.hostile.server import CPU_SECONDS, ERRORS, MEMORY, OUTPUT, WALL_SECONDS

#: A file that lies beside the inputs of every case, to be left alone.
_PRECIOUS = "precious.txt"
#: Longest line of an error, characters.
_LONGEST_LINE = 3000


class Runner:
    """Runs cases one after the other.

    Args:
        server: Process of ``support.hostile.server``.
        folder: Folder for the files of cases.
    """

    def __init__(self, server: subprocess.Popen[str], folder: Path) -> None:
        self._server = server
        self._folder = folder

    def problems(self, case: Case) -> list[str]:
        """What is wrong with how the program took a case: nothing, if all is well."""
        place = Path(tempfile.mkdtemp(dir=self._folder))
        folder = place / "inputs"
        folder.mkdir()
        try:
            (folder / _PRECIOUS).write_text("precious")
            arguments = list(case.write(folder))
            before = _contents(folder)
            answer = self._ask(folder, arguments)
            output = (place / OUTPUT).read_bytes()
            errors = (place / ERRORS).read_bytes()
            changed = _changes(before, _contents(folder), case)
            return [*_of_process(answer), *_of_words(int(answer["code"]), output, errors), *changed]
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def _ask(self, folder: Path, arguments: list[str]) -> dict[str, float]:
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps({"folder": str(folder), "arguments": arguments}) + "\n")
        self._server.stdin.flush()
        return _answer(self._server.stdout)


@contextmanager
def runner() -> Iterator[Runner]:
    """A runner with its server, which takes some seconds to start."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "NO_COLOR": "1", "COLUMNS": "200", "CANARY": CANARY}
    command = [sys.executable, "-m", "support.hostile.server"]
    environment["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, sys.path)])
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        ) as server,
    ):
        assert _answer(server.stdout) == {"ready": True}
        yield Runner(server, Path(folder))
        assert server.stdin is not None
        server.stdin.close()


def _answer(stream: IO[str] | None) -> dict[str, float]:
    assert stream is not None
    line = stream.readline()
    assert line, "the server of hostile cases ended"
    answer: dict[str, float] = json.loads(line)
    return answer


def _of_process(answer: dict[str, float]) -> Iterator[str]:
    if answer["hangs"]:
        yield f"ran longer than {WALL_SECONDS:g} s"
    elif answer["code"] not in (0, 1, 2):
        yield f"ended with status {answer['code']:g}"
    if answer["cpu"] > CPU_SECONDS:
        yield f"took {answer['cpu']:.1f} s of processor time"
    if answer["memory"] > MEMORY:
        yield f"took {answer['memory'] / 2**30:.2f} GB"


def _of_words(code: int, output: bytes, errors: bytes) -> Iterator[str]:
    """What is wrong with what was printed."""
    told = errors.decode(errors="replace")
    lines = told.splitlines()
    if "Traceback (most recent call last)" in told:
        yield f"a traceback: {lines[-1][:300]}"
    elif code == 1 and sum(line.startswith("error:") for line in lines) != 1:
        yield f"not one line of error: {told[-300:]!r}"
    elif code == 2 and "Usage:" not in told and "error:" not in told:
        yield f"no word on the wrong usage: {told[-300:]!r}"
    if lines and max(map(len, lines)) > _LONGEST_LINE:
        yield f"a line of {max(map(len, lines))} characters"
    control = {one for one in output + errors if (one < 32 and one not in b"\n\t") or one == 127}
    if control:
        yield f"control characters {sorted(control)}"


def _contents(folder: Path) -> dict[str, str]:
    """Digests of the regular files below a folder, and the kinds of all others."""
    contents = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file():
            contents[str(path.relative_to(folder))] = "other"
        else:
            with path.open("rb") as file:
                contents[str(path.relative_to(folder))] = hashlib.file_digest(file, "sha256").hexdigest()
    return contents


def _changes(before: dict[str, str], after: dict[str, str], case: Case) -> Iterator[str]:
    for name in sorted(before.keys() | after.keys()):
        if name == CANARY and name not in before:
            yield "a command of the input was run"
        elif before.get(name) != after.get(name) and name not in case.makes:
            yield f"{name} was {'changed' if name in before else 'made'}"
