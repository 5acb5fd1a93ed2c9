"""Processes that read mesh files for this one; see ``parser_process.py`` for what they may do."""

from __future__ import annotations

import atexit
import json
import math
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from hydro_sim_core.mesh_files import parser_process
from hydro_sim_core.mesh_files.allowance import Allowance

#: Time that an answer may take, s: many times the processor's, as a machine may be busy, and a start takes a second.
_WAIT = 120.0

#: Signals that end a process for no reason of its own.
_FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP)

#: Most bytes of an answer's header and of its arrays.
_HEADER, _ARRAYS = 2**20, 2**28


class Unreadable(Exception):
    """A file could not be read; the message says why, as a clause."""


class _OutOfTime(Unreadable):
    """A file took all of its time."""


class ReaderFailed(Unreadable):
    """A file was not read for no fault of its own; it may be the next time."""


class _Gone(ReaderFailed):
    """A process had just ended, as it was asked nothing for a while, or somebody killed it."""


class Parser:
    """A process that reads files with one library; it is started when needed, and ends when it is not."""

    def __init__(self, library: str) -> None:
        self._library = library
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        #: What the last try took of a file's time, s.
        self._spent = 0.0

    def parse(
        self, request: Mapping[str, Any], contents: Sequence[bytes], allowance: Allowance
    ) -> tuple[dict[str, Any], list[np.ndarray]]:
        """Answer and arrays for a request, whose time is taken from an allowance.

        Raises:
            Unreadable: The library cannot read the file, or not within the limits.
            ReaderFailed: The process failed, so the file may be sound.
        """
        with self._lock:
            seconds = min(parser_process.CPU_LIMIT, allowance.left)
            answer, arrays = self._answer(request, contents, seconds, allowance)
        problem = answer.get("problem")
        if problem == parser_process.NO_MEMORY:
            raise Unreadable(f"it takes more than {parser_process.MEMORY_LIMIT // 2**20} MB of memory")
        if problem is not None:
            raise Unreadable(problem)
        return answer, arrays

    def _answer(
        self, request: Mapping[str, Any], contents: Sequence[bytes], seconds: float, allowance: Allowance
    ) -> tuple[dict[str, Any], list[np.ndarray]]:
        """Ask, and ask a new process if the first one had just ended; both have ``seconds`` together."""
        try:
            try:
                return self._ask(request, contents, seconds, allowance)
            except (BrokenPipeError, _Gone):
                self.end()
                if self._spent >= seconds:
                    raise
                return self._ask(request, contents, seconds - self._spent, allowance)
        except OSError as error:
            self.end()
            raise ReaderFailed(f"no reader could be started: {error.strerror}") from None
        except BaseException:  # also Ctrl-C: what it may still answer is not for the next file
            self.end()
            raise

    def end(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):
                    assert pipe is not None
                    pipe.close()

    def _ask(
        self, request: Mapping[str, Any], contents: Sequence[bytes], seconds: float, allowance: Allowance
    ) -> tuple[dict[str, Any], list[np.ndarray]]:
        """Ask the process, after its start, which is no file's time."""
        if self._process is None or self._process.poll() is not None:
            self.end()
            self._process = _start(self._library)
            _wait_until_ready(self._process)
        began = time.monotonic()
        try:
            answer, arrays = self._exchange(self._process, {**request, "seconds": seconds}, contents)
            self._spent = answer["seconds"]
        except _OutOfTime:
            self._spent = seconds
            raise
        except BaseException:
            # How much of the time it worked nobody can tell any more, but no more than it may.
            self._spent = min(time.monotonic() - began, seconds)
            raise
        finally:
            allowance.spend(self._spent)
        return answer, arrays

    @staticmethod
    def _exchange(
        process: subprocess.Popen[bytes], request: Mapping[str, Any], contents: Sequence[bytes]
    ) -> tuple[dict[str, Any], list[np.ndarray]]:
        header = json.dumps({**request, "size": sum(map(len, contents))}).encode()
        for part in (len(header).to_bytes(8, "big"), header, *contents):
            _write(process, part)
        answers = _Answers(process, time.monotonic() + _WAIT)
        length = int.from_bytes(answers.read(8), "big")
        if length > _HEADER:
            raise Unreadable("it has too many parts")
        answer = json.loads(answers.read(length))
        kinds = [(np.dtype(name), shape) for name, shape in answer["arrays"]]
        sizes = [dtype.itemsize * math.prod(shape) for dtype, shape in kinds]
        if sum(sizes) > _ARRAYS:
            raise Unreadable(f"it holds {sum(sizes) / 2**20:.0f} MB of numbers")
        arrays = [
            np.frombuffer(answers.read(size), dtype).reshape(shape)
            for size, (dtype, shape) in zip(sizes, kinds, strict=True)
        ]
        return answer, arrays


class _Answers:
    """What a process writes, until a time."""

    def __init__(self, process: subprocess.Popen[bytes], deadline: float) -> None:
        assert process.stdout is not None
        self._process = process
        self._pipe = process.stdout.fileno()
        self._deadline = deadline
        self._poll = select.poll()
        self._poll.register(self._pipe, select.POLLIN)

    def read(self, count: int) -> bytes:
        """The next ``count`` bytes."""
        content = bytearray()
        while len(content) < count:
            left = self._deadline - time.monotonic()
            if left <= 0.0 or not self._poll.poll(1000.0 * left):
                raise ReaderFailed(f"there is no answer after {_WAIT:g} s")
            part = os.read(self._pipe, min(count - len(content), 2**20))
            if not part:
                raise _ended(self._process.wait())
            content += part
        return bytes(content)


def _write(process: subprocess.Popen[bytes], content: bytes) -> None:
    assert process.stdin is not None
    view = memoryview(content)
    while len(view):  # a signal may interrupt it
        view = view[os.write(process.stdin.fileno(), view) :]


def _ended(status: int) -> Exception:
    """Why a process ended without an answer."""
    if status == 0:
        return _Gone("its reader ends without a word")
    if status == -signal.SIGPROF:
        return _OutOfTime(f"it takes more than {parser_process.CPU_LIMIT:g} s")
    problem = f"its reader ended with status {status}"
    return _Gone(problem) if -status in _FROM_OUTSIDE else Unreadable(problem)


def _wait_until_ready(process: subprocess.Popen[bytes]) -> None:
    """Wait until a process has imported its library.

    Raises:
        ReaderFailed: It cannot.
    """
    try:
        _Answers(process, time.monotonic() + _WAIT).read(1)
    except Unreadable as error:
        raise ReaderFailed(str(error)) from None


def _start(library: str) -> subprocess.Popen[bytes]:
    # Without -P the folder of the program would come first in the path, and its modules would hide others.
    process = subprocess.Popen(
        [sys.executable, "-P", parser_process.__file__, library],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    # One that ends when it is idle must not stay as a zombie.
    threading.Thread(target=process.wait, daemon=True, name="mesh reader's end").start()
    return process


#: One process for surfaces, one for volumes: their libraries are slow to import, and few programs need both.
parsers = {library: Parser(library) for library in ("surfaces", "volumes")}


def _end_all() -> None:
    for parser in parsers.values():
        parser.end()


def _forget_all() -> None:
    """In a forked process: those of the parent are not its own."""
    parsers.update({library: Parser(library) for library in parsers})


atexit.register(_end_all)
os.register_at_fork(after_in_child=_forget_all)
