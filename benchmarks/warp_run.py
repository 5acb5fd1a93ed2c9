"""Worlds laid over each other as the threads of a warp run them.

Threads that take different ways at a branch go one way after the other, and come together where all ways meet: in the
part that lies on every way from the branch to the end of its function (its *immediate postdominator*). A way that leads
out of a loop, as a return in it does, moves that place behind the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from warp_code import Code, Part

#: End of a function.
_END = -1


@dataclass
class Run:
    """What a warp runs: parts in order, and which threads run each (bit by bit)."""

    parts: list[int] = field(default_factory=list)
    threads: list[int] = field(default_factory=list)


class Warp:
    """Runs what has been written down of some worlds.

    Args:
        code: The code, see ``warp_code.traced``.
    """

    def __init__(self, code: Code) -> None:
        self._code = code
        parts = code.parts
        # The loop over worlds is the processor's; on a GPU each thread has one.
        parts[code.ends].successors = [_END]
        of_function: dict[str, list[int]] = {}
        for i, part in enumerate(parts):
            of_function.setdefault(part.function, []).append(i)
        self._meets: dict[int, int] = {}
        for numbers in of_function.values():
            self._meets |= immediate_postdominators(parts, numbers)

    def run(self, traces: Sequence[Sequence[int]]) -> Run:
        """Run worlds side by side.

        Args:
            traces: Parts that each of them ran, one after another.
        """
        self._traces, self._at = [[*trace, _END] for trace in traces], [0] * len(traces)
        self._run = Run()
        self._go(self._code.begins, list(range(len(traces))), _END)
        return self._run

    def _go(self, at: int, threads: list[int], until: int) -> None:
        """Let threads that are in the same part go on until another one."""
        while at != until:
            part = self._code.parts[at]
            self._run.parts.append(at)
            self._run.threads.append(sum(1 << thread for thread in threads))
            for thread in threads:
                assert self._traces[thread][self._at[thread]] == at, "a trace does not fit its code"
                self._at[thread] += 1
            if part.call is not None and part.after is not None:
                self._go(self._code.entries[part.call], threads, _END)
                at = part.after
            elif not part.successors:
                return
            else:
                at = self._branch(at, threads)

    def _branch(self, at: int, threads: list[int]) -> int:
        """Let threads take their ways from the end of a part; return where they are together again."""
        ways: dict[int, list[int]] = {}
        for thread in threads:
            ways.setdefault(self._traces[thread][self._at[thread]], []).append(thread)
        if len(ways) == 1:
            return next(iter(ways))
        meeting = self._meets[at]
        for way, together in sorted(ways.items()):
            if way != meeting:
                self._go(way, together, meeting)
        return meeting


def immediate_postdominators(parts: Sequence[Part], numbers: Sequence[int]) -> dict[int, int]:
    """Where ways meet again that part at the end of each part of a function, by going over all until none changes."""
    following = {i: _following(parts[i]) for i in numbers}
    leading: dict[int, list[int]] = {}
    for i, ways in following.items():
        for way in ways:
            leading.setdefault(way, []).append(i)
    order = _from_the_end(leading)
    rank = {i: k for k, i in enumerate(order)}
    found, changed = {_END: _END}, True
    while changed:
        changed = False
        for i in reversed(order[:-1]):
            known = [way for way in following[i] if way in found]
            meeting = known[0]
            for way in known[1:]:
                meeting = _common(way, meeting, found, rank)
            changed = changed or found.get(i) != meeting
            found[i] = meeting
    del found[_END]
    return found


def _following(part: Part) -> list[int]:
    if part.after is not None:
        return [part.after]
    if part.lines and part.lines[-1] == "unreachable":
        return []
    return part.successors or [_END]


def _from_the_end(leading: dict[int, list[int]]) -> list[int]:
    """Parts in the order in which a search backwards from the end leaves them."""
    order, seen = [], {_END}
    stack = [(_END, iter(leading.get(_END, ())))]
    while stack:
        i, rest = stack[-1]
        before = next((k for k in rest if k not in seen), None)
        if before is None:
            order.append(i)
            stack.pop()
        else:
            seen.add(before)
            stack.append((before, iter(leading.get(before, ()))))
    return order


def _common(one: int, other: int, found: dict[int, int], rank: dict[int, int]) -> int:
    while one != other:
        while rank[one] < rank[other]:
            one = found[one]
        while rank[other] < rank[one]:
            other = found[other]
    return one
