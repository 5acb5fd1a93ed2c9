"""Machine code for entry points: loaded from disk, or else compiled by several processes at once."""

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
from hydro_sim_core.compilation.kernels import INTERPRETED, Entry, Kernel
from hydro_sim_core.compilation.machine_code import load_code
from hydro_sim_core.compilation.targets import Target, host
from hydro_sim_core.threads import cores

#: Largest number of compiler processes: more would only wait for the longest entry point, and each takes 300 MB.
_MOST_WORKERS = 4


class BuildProgress(NamedTuple):
    """Progress of compilation.

    Attributes:
        done: Kernels compiled.
        total: Total number of kernels to compile, as far as known.
    """

    done: int
    total: int


class CompilationFailed(Exception):
    """A kernel cannot be compiled; the message is the compiler's."""


#: Machine code that runs on this machine.
_codes: dict[Entry, bytes] = {}
Observer = Callable[[BuildProgress], None]


def build(entry: Entry) -> int:
    """Load an entry point and those that it calls, compiling them if needed; returns its address.

    Raises:
        CompilationFailed: A kernel cannot be compiled.
        TypeError: Entry points call each other in a cycle, or one contains something that a kernel may not.
    """
    callees_first(entry)
    called = {one.symbol: one.address_for_callers for one in dependencies(entry).entries}
    if not _is_found(entry):
        _compile_here(entry, host(), _Count([entry]), _codes)
    return load_code(_codes[entry], entry.symbol, called)


def prepare(entries: Iterable[Entry]) -> None:
    """Compile those of the entry points, and of the entry points they call, for which no machine code is found.

    What they call on demand is left out.

    Without this call each entry point is compiled at its first call, one after the other.

    Raises:
        CompilationFailed: A kernel cannot be compiled.
    """
    if INTERPRETED:
        return
    # The usual case: everything is loaded.
    entries = [entry for entry in entries if not (entry.is_loaded or entry in _codes)]
    if entries:
        machine_code(entries)


def make_ready(entries: Iterable[Entry]) -> None:
    """Compile and load entry points on demand now, and not when they are first called.

    Raises:
        CompilationFailed: A kernel cannot be compiled.
    """
    if INTERPRETED:
        return
    entries = tuple(entries)
    prepare(entries)
    for entry in entries:
        entry.load()


def machine_code(
    entries: Iterable[Entry], targets: Iterable[Target | None] = (None,)
) -> dict[Target | None, dict[Entry, bytes]]:
    """Machine code of entry points and of all that they call, compiled and stored if none is found.

    Args:
        entries: The entry points.
        targets: Target processors; None is this machine, for which code of a processor level may be used as well.

    Returns:
        Code of each entry point, by target.

    Raises:
        CompilationFailed: A kernel cannot be compiled.
    """
    wanted = callees_first(*entries)
    found = {target: _found(wanted, target) for target in targets}
    missing = {target: [entry for entry in wanted if entry not in codes] for target, codes in found.items()}
    # All kernels are counted before the first is compiled, so that the total is known.
    counts = {target: _Count(entries) for target, entries in missing.items() if entries}
    for target, count in counts.items():
        _compile(missing[target], target or host(), count, found[target])
    return {target: {entry: codes[entry] for entry in wanted} for target, codes in found.items()}


def _found(entries: list[Entry], target: Target | None) -> dict[Entry, bytes]:
    """Machine code from disk; for this machine also code that was found or compiled earlier in this process."""
    if target is not None:
        return {entry: code for entry in entries if (code := store.load(entry, target)) is not None}
    for entry in entries:
        _is_found(entry)
    return _codes


def _is_found(entry: Entry) -> bool:
    """Whether there is machine code for this machine; if so, it is put into ``_codes``."""
    if entry not in _codes and (code := store.load(entry)) is not None:
        _codes[entry] = code
    return entry in _codes


def _compile(missing: list[Entry], target: Target, count: _Count, codes: dict[Entry, bytes]) -> None:
    # The longest first, so that the processes end at about the same time.
    missing.sort(key=_weight, reverse=True)
    importable = [entry for entry in missing if _is_importable(entry)]
    workers = min(len(importable), cores(), _MOST_WORKERS)
    if workers > 1:
        _compile_in_workers(importable, target, workers, count, codes)
    for entry in missing:
        if entry not in codes:
            _compile_here(entry, target, count, codes)


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


def _is_foreign(kernel: Kernel) -> bool:
    """Whether a kernel is of a plug-in."""
    return kernel.function.__module__.partition(".")[0] != __name__.partition(".")[0]


def _compile_here(entry: Entry, target: Target, count: _Count, codes: dict[Entry, bytes]) -> None:
    from numba.core.errors import NumbaError

    from hydro_sim_core.compilation import compiler

    def tell(_: str) -> None:
        count.kernel_done(entry)

    compiler.on_kernel.append(tell)
    try:
        code = compiler.compile_entry(entry, target)
    except (NumbaError, TypeError) as error:
        foreign = sorted({one.function.__module__ for one in dependencies(entry).kernels if _is_foreign(one)})
        blame = f" It contains kernels of {', '.join(foreign)}." if foreign else ""
        raise CompilationFailed(f"{entry.symbol}: {error}{blame}") from error
    finally:
        compiler.on_kernel.remove(tell)
    codes[entry] = code
    store.save(entry, code, target)
    count.entry_done(entry)


# --- Observers -------------------------------------------------------------------------------------------------------


class _Observation:
    """Progress reported to an observer: everything that is compiled while it observes is counted together."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._done = self._total = 0

    def add(self, done: int, total: int = 0) -> None:
        """Report finished kernels, or kernels to be compiled."""
        self._done += done
        self._total += total
        self._observer(BuildProgress(self._done, self._total))


_observations: list[_Observation] = []


@contextmanager
def observed_by(observer: Observer) -> Iterator[None]:
    """Call an observer for every kernel that is compiled within the context, in any thread.

    An exception raised by the observer ends the compilation, in the thread that asked for it.
    """
    observation = _Observation(observer)
    _observations.append(observation)
    try:
        yield
    finally:
        _observations.remove(observation)


class _Count:
    """Count of finished and remaining kernels. A kernel that several entry points contain is counted for each."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._left = {entry: _weight(entry) for entry in entries}
        self._told = list(_observations)
        for observation in self._told:
            observation.add(0, sum(self._left.values()))

    def kernel_done(self, entry: Entry) -> None:
        """Count one translated kernel of an entry point; the last one is counted when the entry point is assembled."""
        self._leave(entry, max(1, self._left[entry] - 1))

    def entry_done(self, entry: Entry) -> None:
        """Count the remaining kernels of an entry point, whose machine code is complete."""
        self._leave(entry, 0)

    def _leave(self, entry: Entry, left: int) -> None:
        done = self._left[entry] - left
        self._left[entry] = left
        for observation in self._told:
            observation.add(done)


# --- Several processes -----------------------------------------------------------------------------------------------


class _Answer(NamedTuple):
    """Message of a worker on an entry point: ``kernel``, ``failed`` with a text, or ``done`` with digest and code."""

    entry: Entry
    what: str
    text: str = ""
    code: bytes = b""


class _Worker:
    """A compiler process; see ``worker``."""

    def __init__(self, target: Target) -> None:
        # The folder of this package comes first: an editable installation that is being renewed has no finder for it.
        # The working folder, whose files may have any name, is left out (-P) unless it is in the path of this process.
        own = str(Path(__file__).parents[2])
        path = os.pathsep.join([own, *(entry or os.getcwd() for entry in sys.path)])
        read, write = os.pipe()
        command = [sys.executable, "-P", "-m", "hydro_sim_core.compilation.worker"]
        try:
            self.process = subprocess.Popen(
                [*command, target.cpu, target.features, str(write)],
                stdin=subprocess.PIPE,
                # Output of that process, as of a sitecustomize, is discarded.
                stdout=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": path},
                pass_fds=(write,),
                # Ctrl-C reaches this process alone, which ends the other one.
                start_new_session=True,
            )
        finally:
            os.close(write)
        self._answers = os.fdopen(read, "rb")

    def compile(self, entry: Entry) -> Iterator[_Answer]:
        """Compile an entry point in the process; yields its messages."""
        requests: Any = self.process.stdin
        try:
            requests.write(f"{entry.symbol}\n".encode())
            requests.flush()
            for line in self._answers:
                what, _, text = line.decode().rstrip("\n").partition(" ")
                if what == "done":
                    digest, _, size = text.partition(" ")
                    yield _Answer(entry, what, digest, self._answers.read(int(size)))
                    return
                yield _Answer(entry, what, text.encode().decode("unicode_escape"))
                if what == "failed":
                    return
        except OSError:
            pass
        yield _Answer(entry, "failed", f"the compiling process ended with status {self.process.wait()}")

    def end(self) -> None:
        """Kill the process."""
        self.process.kill()
        self.process.wait()


def _compile_in_workers(
    entries: list[Entry], target: Target, num_workers: int, count: _Count, codes: dict[Entry, bytes]
) -> None:
    waiting: queue.SimpleQueue[Entry] = queue.SimpleQueue()
    for entry in entries:
        waiting.put(entry)
    answers: queue.SimpleQueue[_Answer | None] = queue.SimpleQueue()
    workers: list[_Worker] = []
    try:
        for _ in range(num_workers):
            workers.append(_Worker(target))
            threading.Thread(target=_feed, args=(workers[-1], waiting, answers), daemon=True).start()
        busy = num_workers
        while busy:
            answer = answers.get()
            if answer is None:
                busy -= 1
            elif answer.what == "kernel":
                count.kernel_done(answer.entry)
            elif answer.what == "failed":
                raise CompilationFailed(f"{answer.entry.symbol}: {answer.text}")
            # A worker reads the sources. If this program has changed a constant since, the digests differ, and the
            # entry point is compiled here.
            elif answer.text == dependencies(answer.entry).digest:
                codes[answer.entry] = answer.code
                store.save(answer.entry, answer.code, target)
                count.entry_done(answer.entry)
    finally:
        for worker in workers:
            worker.end()


def _feed(
    worker: _Worker, waiting: queue.SimpleQueue[Entry], answers: queue.SimpleQueue[_Answer | None]
) -> None:
    """Pass entry points to a worker one after the other, until none is left or one fails."""
    try:
        while True:
            for answer in worker.compile(waiting.get_nowait()):
                answers.put(answer)
                if answer.what == "failed":
                    return
    except queue.Empty:
        pass
    finally:
        answers.put(None)
