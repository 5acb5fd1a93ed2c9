"""Work shared between processes: one that is killed loses what it was doing, and no more."""

from __future__ import annotations

import logging
import signal
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any

from hydro_sim_core.threads import leave_cores_to_others

#: What kills a process once may be a passing want of memory; what does it twice is the work itself.
_TRIES = 2


@dataclass(frozen=True)
class Lost:
    """In place of a result: the process ended each time that this was tried.

    Attributes:
        status: Exit status of the last one, negative for a signal; None where it is not known.
    """

    status: int | None

    def __str__(self) -> str:
        how = "" if self.status is None else f" with status {self.status}"
        return f"its process was lost {_TRIES} times{how}"


def completed(work: Callable[[Any], Any], items: Sequence[Any], jobs: int) -> Iterator[tuple[int, Any]]:
    """Let processes work on items, each on one at a time.

    Args:
        work: What is done with an item; it and the items can be pickled.
        items: The items.
        jobs: Largest number of processes.

    Yields:
        Number of an item and its result, as they come; ``Lost`` where the process has ended twice.

    Raises:
        Exception: What ``work`` has raised; the processes end.
    """
    waiting = deque(range(len(items)))
    lost: Counter[int] = Counter()
    idle: list[_Worker] = []
    busy: dict[Connection, tuple[_Worker, int]] = {}
    try:
        for _ in range(min(jobs, len(items))):
            idle.append(_Worker(work))
        while waiting or busy:
            while waiting and idle:
                worker, index = idle.pop(), waiting.popleft()
                worker.ask(items[index])
                busy[worker.connection] = worker, index
            ready = set(wait(list(busy)))
            for connection in [one for one in busy if one in ready]:
                worker, index = busy.pop(connection)
                try:
                    raised, result = worker.answer()
                except EOFError:
                    lost[index] += 1
                    status = worker.end()
                    idle.append(_Worker(work))
                    if lost[index] < _TRIES:
                        waiting.appendleft(index)
                    else:
                        yield index, Lost(status)
                    continue
                idle.append(worker)
                if raised:
                    raise result
                yield index, result
    finally:
        for worker in [*idle, *(worker for worker, _ in busy.values())]:
            worker.end()


class _Worker:
    """A process that works on items, and the pipe to it."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        # Started anew: a fork would share what the compiler keeps in threads.
        context = get_context("spawn")
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, work), daemon=True)
        # Ctrl-C reaches all processes of a terminal, and is for the one that ends the others. They inherit the mask,
        # which the start of the tracker, that the first process would begin with, would take away.
        resource_tracker.ensure_running()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()

    def ask(self, item: Any) -> None:
        """Send an item; if the process has ended, the answer will tell."""
        try:
            self.connection.send(item)
        except (BrokenPipeError, ConnectionResetError):
            return

    def answer(self) -> tuple[bool, Any]:
        """Whether the work has raised, and what it has raised or returned.

        Raises:
            EOFError: The process has ended.
        """
        try:
            raised, result = self.connection.recv()
        except ConnectionResetError:
            raise EOFError from None
        return raised, result

    def end(self) -> int | None:
        """End the process whatever it is doing; its exit status, negative for a signal."""
        self.connection.close()
        self._process.kill()  # no effect on one that has ended
        self._process.join()
        return self._process.exitcode


class _Once(logging.Filter):
    """Lets a message pass once: a hundred trials of a scene would warn of the same a hundred times."""

    def __init__(self) -> None:
        super().__init__()
        self._told: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record tells something new."""
        message = record.getMessage()
        is_new = message not in self._told
        self._told.add(message)
        return is_new


def _serve(connection: Connection, work: Callable[[Any], Any]) -> None:
    """Answer until the other end is closed, also by the end of its process."""
    leave_cores_to_others()
    if logging.lastResort is not None:  # what prints where nobody has asked for more
        logging.lastResort.addFilter(_Once())
    while True:
        try:
            item = connection.recv()
        except EOFError:
            return
        try:
            answer = False, work(item)
        except Exception as error:
            answer = True, error
        try:
            connection.send(answer)
        except BrokenPipeError:
            return
