"""Machine code for entry points: from disk where it is there, else compiled, by several processes at once."""

from __future__ import annotations

import importlib.util
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from hydro_sim_core.compilation import store
from hydro_sim_core.compilation.dependencies import callees_first, dependencies
from hydro_sim_core.compilation.kernels import INTERPRETED, Entry
from hydro_sim_core.compilation.machine_code import load_code

#: More processes would wait for the longest entry point anyway; each takes 300 MB.
_MOST_WORKERS = 4


class BuildProgress(NamedTuple):
    """How far compiling is.

    Attributes:
        done: Kernels compiled.
        total: Kernels to compile in all.
    """

    done: int
    total: int


class CompilationFailed(Exception):
    """A kernel cannot be compiled; the text is the compiler's."""


#: Entry points for which ``prepare`` has nothing to do any more.
_ready: set[Entry] = set()
Observer = Callable[[BuildProgress], None]
_observers: list[Observer] = []


@contextmanager
def observed_by(observer: Observer) -> Iterator[None]:
    """Have an observer told of every kernel that is compiled within the context, in whatever thread that is."""
    _observers.append(observer)
    try:
        yield
    finally:
        _observers.remove(observer)


def build(entry: Entry) -> int:
    """Load an entry point and those that it calls, compiling what is nowhere found; returns its address."""
    callees_first(entry)
    called = {one.symbol: one.address for one in dependencies(entry).entries}
    code = store.load(entry)
    if code is None:
        code = _compile_here(entry, _Count([entry]))
    return load_code(code, entry.symbol, called)


def prepare(entries: Iterable[Entry]) -> None:
    """Compile entry points and all that they call, as far as no machine code is found for them.

    Without it each is compiled when it is called first, one after the other.

    Raises:
        CompilationFailed: A kernel cannot be compiled.
    """
    if INTERPRETED:
        return
    entries = {entry for entry in entries if not entry.is_loaded} - _ready
    if not entries:
        return
    missing = [entry for entry in callees_first(*entries) if not (entry.is_loaded or store.find(entry))]
    if not missing:
        _ready.update(entries)
        return
    # The longest first, so that the processes end together.
    missing.sort(key=_weight, reverse=True)
    count = _Count(missing)
    importable = [entry for entry in missing if _is_importable(entry)]
    workers = min(len(importable), _num_processors(), _MOST_WORKERS)
    if workers > 1 and store.kernels_are_kept():
        _compile_in_workers(importable, workers, count)
        missing = [entry for entry in missing if entry not in importable]
    for entry in missing:
        _compile_here(entry, count)
    _ready.update(entries)


def _num_processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _weight(entry: Entry) -> int:
    return len(dependencies(entry).kernels)


def _is_importable(entry: Entry) -> bool:
    if Entry.registry.get(entry.symbol) is not entry or "<locals>" in entry.symbol:
        return False
    module = entry.kernel.function.__module__
    try:
        return module != "__main__" and importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


class _Count:
    """Kernels done of those to do. One that several entry points contain is counted for each."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._left = {entry.symbol: _weight(entry) for entry in entries}
        self._total = sum(self._left.values())
        self._lock = threading.Lock()
        self._tell()

    def kernel_done(self, symbol: str) -> None:
        """One kernel of an entry point was translated; the last one counts when the whole is assembled."""
        with self._lock:
            self._left[symbol] = max(1, self._left[symbol] - 1)
        self._tell()

    def entry_done(self, symbol: str) -> None:
        """An entry point has its machine code."""
        with self._lock:
            self._left[symbol] = 0
        self._tell()

    def _tell(self) -> None:
        done = self._total - sum(self._left.values())
        progress = BuildProgress(done, self._total)
        for observer in list(_observers):
            observer(progress)


def _compile_here(entry: Entry, count: _Count) -> bytes:
    from numba.core.errors import NumbaError

    from hydro_sim_core.compilation import compiler

    def tell(_: str) -> None:
        count.kernel_done(entry.symbol)

    compiler.on_kernel.append(tell)
    try:
        code = compiler.compile_entry(entry)
    except (NumbaError, TypeError) as error:
        raise CompilationFailed(f"{entry.symbol}: {error}") from error
    finally:
        compiler.on_kernel.remove(tell)
    store.save(entry, code)
    count.entry_done(entry.symbol)
    return code


# --- Several processes -----------------------------------------------------------------------------------------------


def _compile_in_workers(entries: list[Entry], num_workers: int, count: _Count) -> None:
    waiting: queue.SimpleQueue[Entry] = queue.SimpleQueue()
    for entry in entries:
        waiting.put(entry)
    problems: list[str] = []
    workers = [_start_worker() for _ in range(num_workers)]
    threads = [
        threading.Thread(target=_feed, args=(worker, waiting, count, problems), daemon=True)
        for worker in workers
    ]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    if problems:
        raise CompilationFailed(problems[0])


def _start_worker() -> subprocess.Popen[bytes]:
    # This package first: an installation that is just being renewed has no finder of it. Not the working folder (-P),
    # whose files may have any name, but where this process looks there itself.
    own = str(Path(__file__).parents[2])
    path = os.pathsep.join([own, *(entry or os.getcwd() for entry in sys.path)])
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "hydro_sim_core.compilation.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    )


def _feed(
    worker: subprocess.Popen[bytes], waiting: queue.SimpleQueue[Entry], count: _Count, problems: list[str]
) -> None:
    """Give a worker one entry point after the other, until none is left or one fails."""
    requests: Any = worker.stdin
    answers: Any = worker.stdout
    while not problems:
        try:
            entry = waiting.get_nowait()
        except queue.Empty:
            return
        try:
            requests.write(f"{entry.symbol}\n".encode())
            requests.flush()
        except OSError:
            problems.append(f"{entry.symbol}: the compiling process ended with status {worker.wait()}")
            return
        for line in answers:
            what, _, rest = line.decode().rstrip("\n").partition(" ")
            if what == "kernel":
                count.kernel_done(entry.symbol)
            elif what == "done":
                count.entry_done(entry.symbol)
                break
            else:
                problems.append(f"{entry.symbol}: {rest.encode().decode('unicode_escape')}")
                return
        else:
            problems.append(f"{entry.symbol}: the compiling process ended with status {worker.wait()}")
            return
