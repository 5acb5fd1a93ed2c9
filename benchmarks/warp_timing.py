"""Cycles that a warp takes for what it runs, by a simple model: instructions in order, and caches that answer late.

An instruction begins when the one before it has begun and what it needs is there. Within a part loads come as early as
stores before them allow, as an assembler arranges them. A warp has its share of both caches to itself; what all worlds
share is always in the second one. It knows nothing of instructions that have to be fetched, of registers that do not
suffice, and of other warps. All numbers below are assumptions, of the order of what is measured on an H100; what the
model is worth is told by comparing it with a profile (decision 44).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from warp_code import Code, Part, is_memory

Ints = NDArray[np.int64]

#: Cycles until a load is there from the first cache, from the second one, and from memory.
ANSWERS = (40, 265, 650)
#: Bytes of both caches that a warp has: two warps a multiprocessor, 256 warps in all.
FIRST_CACHE, SECOND_CACHE = 120 * 1024, 195 * 1024
#: Bytes that a line of a cache has, and a part of it that is filled at a time.
_LINE, _SECTOR, _WAYS = 128, 32, 16
_THREADS = 32
#: Cycles for each further line that a load or store of a warp touches.
_FOR_A_LINE = 2
#: Where memories begin in what ``Model.placed`` returns, one after the other, the shared one first. Other addresses are
#: on the stack of the thread that steps the worlds, and negative there: a GPU has such memory for every thread.
_MEMORY, _OF_THREADS = 1 << 44, 1 << 60
_STACK = 1 << 24

#: Kinds of instructions: cycles until the next may begin, until the result is there, and how many a GPU makes of one.
_KINDS = {
    "nothing": (0, 0, 0),
    "load": (1, 0, 1),
    "store": (1, 0, 1),
    "float": (2, 8, 1),
    "division": (30, 130, 14),
    "integer": (2, 6, 2),
    "product": (4, 8, 4),
    "bit": (1, 5, 1),
    "choice": (2, 5, 2),
    "branch": (2, 12, 2),
    "call": (4, 20, 4),
}
_NAMES = list(_KINDS)
_NOTHING, _LOAD, _STORE = (_NAMES.index(name) for name in ("nothing", "load", "store"))
_OPERATIONS = {
    **dict.fromkeys(
        ("fadd", "fsub", "fmul", "fneg", "fcmp", "sitofp", "fptosi", "uitofp", "fptoui"), "float"
    ),
    **dict.fromkeys(("br", "switch", "ret", "unreachable"), "branch"),
    **dict.fromkeys(("mul", "udiv", "urem", "sdiv", "srem"), "product"),
    **dict.fromkeys(
        ("phi", "inttoptr", "ptrtoint", "zext", "trunc", "bitcast", "sext", "freeze", "alloca"), "nothing"
    ),
    "load": "load",
    "store": "store",
    "fdiv": "division",
    "select": "choice",
}
_VALUE = re.compile(r'%("[^"]+"|[\w.$-]+)')
_INCOMING = re.compile(r'\[ %("[^"]+"|[\w.$-]+),')
_RESULT = re.compile(r'^%("[^"]+"|[\w.$-]+) = (.*)')
_LABELS = re.compile(r'label %("[^"]+"|[\w.$-]+)')


@dataclass
class Timing:
    """What a warp takes, part by part.

    Attributes:
        cycles: (P,) in all.
        waiting: (P,) of these for memory.
        instructions: (P,) as a GPU has them, by a rule of thumb.
        answers: (P, 3) loads that were answered by the first cache, by the second, and by memory.
    """

    cycles: NDArray[np.float64]
    waiting: NDArray[np.float64]
    instructions: NDArray[np.float64]
    answers: NDArray[np.float64]


class Model:
    """Times what warps run.

    Args:
        code: The code, see ``warp_code.traced``.
    """

    def __init__(self, code: Code) -> None:
        self._rows, self._uses, self._first, self._num_values = _table(code.parts)
        self._num_memory = np.array([sum(map(is_memory, part.lines)) for part in code.parts])

    def first_addresses(self, events: NDArray[Any]) -> Ints:
        """(n + 1,) which address is the first of every event, and how many there are in all.

        Args:
            events: (n,) parts, as they were written down.
        """
        return np.concatenate([[0], np.cumsum(self._num_memory[events])])

    @staticmethod
    def placed(addresses: Ints, memories: Sequence[tuple[int, int]]) -> Ints:
        """Addresses as a GPU might have them, the same in every run.

        Args:
            addresses: As they were written down.
            memories: Address and bytes of what all worlds share, and of the other memories.
        """
        found = -1 - addresses % _STACK
        for k, (begin, size) in enumerate(memories):
            inside = (addresses >= begin) & (addresses < begin + size)
            found[inside] = (k + 1) * _MEMORY + addresses[inside] - begin
        return found

    def time(self, parts: Sequence[int], threads: Sequence[int], addresses: Ints, starts: Ints) -> Timing:
        """Time what a warp runs, once its data are where the step before has left them.

        Args:
            parts: Parts, see ``warp_run.Run``.
            threads: Which threads run them.
            addresses: Addresses of all worlds, see ``placed``.
            starts: (32,) first of those of each thread, of a full warp.
        """
        assert len(starts) == _THREADS, "a warp has that many threads"
        of_first, of_second = (size // _LINE // _WAYS for size in (FIRST_CACHE, SECOND_CACHE))
        found: Any = _simulate(
            np.array(parts),
            np.array(threads),
            self._rows,
            self._uses,
            self._first,
            self._num_values,
            np.array(list(_KINDS.values())),
            addresses,
            starts,
            np.array(ANSWERS),
            of_first,
            of_second,
        )
        return Timing(*found)


def _kind(line: str) -> str:
    operation = line.split()[0]
    if operation in ("tail", "call", "musttail"):
        if "@llvm.sqrt" in line:
            return "division"
        if "@llvm.fabs" in line:
            return "bit"
        if re.search(r"@llvm\.[su](max|min)", line):
            return "integer"
        return "nothing" if "@llvm." in line else "call"
    if operation in ("and", "or", "xor") and " i1 " in line:
        return "bit"
    return _OPERATIONS.get(operation, "integer")


def _table(parts: Sequence[Part]) -> tuple[Ints, Ints, Ints, int]:
    """Instructions (n, 4): kind, result, first use, number of uses; uses; first instruction of each part; results."""
    values: dict[tuple[str, str], int] = {}
    rows: list[tuple[int, int, int, int]] = []
    uses: list[int] = []
    first = [0]
    for part in parts:
        begin = len(rows)
        for line in part.lines:
            result = _RESULT.match(line)
            name, body = result.groups() if result else (None, line)
            kind = _kind(body)
            values_of = _INCOMING if body.startswith("phi ") else _VALUE
            needs = [(part.function, value) for value in values_of.findall(_LABELS.sub("", body))]
            if name is None and kind == "nothing":
                continue
            number = -1 if name is None else values.setdefault((part.function, name), len(values))
            rows.append((_NAMES.index(kind), number, len(uses), len(needs)))
            uses += [values.setdefault(need, len(values)) for need in needs]
        rows[begin:] = _loads_first(rows[begin:], uses)
        first.append(len(rows))
    return np.array(rows), np.array(uses), np.array(first), len(values)


def _loads_first(rows: list[Any], uses: list[int]) -> list[Any]:
    """Rows of a part in which loads, and what they need, come right behind the store before them."""
    ordered: list[Any] = []
    while rows:
        end = next((k + 1 for k, row in enumerate(rows) if row[0] == _STORE), len(rows))
        stretch, rows = rows[:end], rows[end:]
        made_by = {row[1]: k for k, row in enumerate(stretch) if row[1] >= 0}
        needs = [
            [made_by[use] for use in uses[row[2] : row[2] + row[3]] if made_by.get(use, k) < k]
            for k, row in enumerate(stretch)
        ]
        loads_before: list[int] = []
        for k in range(end):
            loads_before.append(
                max((loads_before[n] + (stretch[n][0] == _LOAD) for n in needs[k]), default=0)
            )
        early: set[int] = set()
        for k in range(len(stretch) - 1, -1, -1):
            if stretch[k][0] == _LOAD or k in early:
                early |= {k, *needs[k]}
        order = sorted(
            range(len(stretch)), key=lambda k: (k not in early, loads_before[k] if k in early else 0, k)
        )
        ordered += [stretch[k] for k in order]
    return ordered


@njit(cache=True)
def _look_up(cache: Any, line: int, sector: int, now: int) -> bool:
    """Whether part of a line is in a cache; it is afterwards."""
    tags, filled, used = cache
    row = ((line * 0x9E3779B97F4A7C15) >> 20) % tags.shape[0]
    oldest = 0
    for way in range(tags.shape[1]):
        if tags[row, way] == line:
            used[row, way] = now
            is_there = (filled[row, way] >> sector) & 1 == 1
            filled[row, way] |= 1 << sector
            return is_there
        if used[row, way] < used[row, oldest]:
            oldest = way
    tags[row, oldest], filled[row, oldest], used[row, oldest] = line, 1 << sector, now
    return False


@njit(cache=True)
def _empty(rows: int) -> Any:
    shape = (rows, _WAYS)
    return np.full(shape, -1, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.int64)


@njit(cache=True)
def _answer(address: int, caches: Any, now: int) -> int:
    """Who answers a load of an address: 0 the first cache, 1 the second, 2 memory."""
    line, sector = address // _LINE, address % _LINE // _SECTOR
    if _look_up(caches[0], line, sector, now):
        return 0
    if address < 2 * _MEMORY or _look_up(caches[1], line, sector, now):
        return 1
    return 2


@njit(cache=True)
def _touch(addresses: Any, caches: Any, now: int, arrivals: Any, at: int, answers: Any, loads: bool) -> Any:
    """Load or store at the addresses of all threads: who answers last, cycle when all is there, lines touched.

    Nobody waits for what is stored.
    """
    last_sector, last_line, lines, worst, there = -1, -1, 0, 0, at
    for address in addresses:
        if address // _SECTOR == last_sector:
            continue
        last_sector = address // _SECTOR
        lines += 1 if address // _LINE != last_line else 0
        last_line = address // _LINE
        who = _answer(address, caches, now)
        if loads:
            arrival = at + answers[who]
            if who > 0:
                arrivals[last_sector] = arrival
            elif last_sector in arrivals:
                arrival = max(arrival, arrivals[last_sector])
            worst, there = max(worst, who), max(there, arrival)
    return worst, there, lines


@njit(cache=True)
def _simulate(
    parts: Any,
    threads: Any,
    rows: Any,
    uses: Any,
    first: Any,
    num_values: int,
    kinds: Any,
    addresses: Any,
    starts: Any,
    answers: Any,
    rows_of_first: int,
    rows_of_second: int,
) -> Any:
    """Run a warp's step twice, and time it the second time; see ``Timing``."""
    num_parts = first.shape[0] - 1
    second_cache, touched = _empty(rows_of_second), 0
    cycles, waiting, counted = np.zeros(num_parts), np.zeros(num_parts), np.zeros(num_parts)
    answered = np.zeros((num_parts, 3))
    for _ in range(2):
        caches = (_empty(rows_of_first), second_cache)
        ready, is_load = np.zeros(num_values, np.int64), np.zeros(num_values, np.bool_)
        arrivals, positions, now = {-1: 0}, starts.copy(), 0
        cycles[:], waiting[:], counted[:], answered[:] = 0.0, 0.0, 0.0, 0.0
        here = np.zeros(_THREADS, np.int64)
        for k in range(parts.shape[0]):
            part, begin, num_touched = parts[k], now, 0
            for r in range(first[part], first[part + 1]):
                kind, result = rows[r, 0], rows[r, 1]
                needed, waits = 0, False
                for use in uses[rows[r, 2] : rows[r, 2] + rows[r, 3]]:
                    if ready[use] > needed:
                        needed, waits = ready[use], is_load[use]
                if kind == _NOTHING:
                    ready[result], is_load[result] = needed, waits
                    continue
                at = max(now, needed)
                waiting[part] += at - now if waits else 0
                counted[part] += kinds[kind, 2]
                now, there = at + kinds[kind, 0], at + kinds[kind, 1]
                if kind in (_LOAD, _STORE):
                    num = 0
                    for thread in range(_THREADS):
                        if threads[k] >> thread & 1:
                            address = addresses[positions[thread] + num_touched]
                            is_own = address < 0
                            here[num] = _OF_THREADS - (1 + address) * 32 + thread * 8 if is_own else address
                            num += 1
                    touched, num_touched = touched + 1, num_touched + 1
                    loads = kind == _LOAD
                    who, there, lines = _touch(here[:num], caches, touched, arrivals, at, answers, loads)
                    longer = _FOR_A_LINE * max(lines - 1, 0)
                    now, there = now + longer, there + longer
                    answered[part, who] += 1.0 if loads else 0.0
                if result >= 0:
                    ready[result], is_load[result] = there, kind == _LOAD
            for thread in range(_THREADS):
                positions[thread] += num_touched if threads[k] >> thread & 1 else 0
            cycles[part] += now - begin
    return cycles, waiting, counted, answered
