"""A step's code cut into straight parts, and a program that writes down which of them it runs, and what it reads.

The code is LLVM's, as a GPU gets it (``compilation.ptx``). A part begins where a block does, or behind a call of one of
the code's own functions, and ends with a branch or such a call.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.compilation import ptx
from hydro_sim_core.simulation.batches.memory import Placed
from hydro_sim_core.simulation.batches.programs import HostProgram

#: The variable that tells which world is stepped; it and the others of that name are no memory of a world.
_PRESENT, _OURS = "@hydro_present", ("@hydro_places", "@hydro_present")
_EVENTS_AT, _ADDRESSES_AT = "hydro_events_at", "hydro_addresses_at"
#: Room for what a world writes down in a step, several times over.
_EVENTS, _ADDRESSES = 500_000, 1_500_000

_NAME = r'("[^"]+"|[\w.$-]+)'
_LABEL = re.compile(rf"^{_NAME}:")
_FUNCTION = re.compile(rf"^define [^@]*@{_NAME}\(", re.MULTILINE)
_CALL = re.compile(rf"\bcall\b[^@]*@{_NAME}\(")
_TARGET = re.compile(rf"label %{_NAME}")
_CASE = re.compile(r"^i\d+ -?\d+, label")
_MEMORY = re.compile(
    rf"^(?:%{_NAME} = load \w+, ptr |store \w+ [^,]+, ptr )"
    rf"(?P<at>%{_NAME}|@[^,]+|getelementptr .*\))(?:, (?:align|!).*)?$"
)


_READS_OR_WRITES = re.compile(
    rf"^(?:%{_NAME} = )?(?:load|store|atomicrmw|cmpxchg|(?:tail )?call .*@llvm\.mem(?:cpy|move))\b"
)


@dataclass
class Part:
    """A straight part of a function.

    Attributes:
        function: Name of the function.
        block: Name of the block.
        lines: Its instructions, without those that only tell which world is stepped.
        call: Function that is called at its end.
        after: Part behind that call.
        successors: Parts to which its branch leads.
    """

    function: str
    block: str
    lines: list[str] = field(default_factory=list)
    call: str | None = None
    after: int | None = None
    successors: list[int] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)


@dataclass
class Code:
    """A module that writes down what it runs.

    Attributes:
        text: The module.
        parts: Its parts.
        entries: First part of each function.
        begins: Part in which the step of a world begins.
        ends: Part in which it ends.
    """

    text: str
    parts: list[Part]
    entries: dict[str, int]

    def __post_init__(self) -> None:
        self.begins = next(i for i, part in enumerate(self.parts) if any(map(_tells_world, part.lines)))
        around = (i for i, part in enumerate(self.parts) if self.begins in part.successors)
        self.ends = next(i for i in around if i > self.begins)
        for part in self.parts:
            part.lines = [line for line in part.lines if not _is_ours(line)]


def traced(text: str) -> Code:
    """The code of a module (``ptx.module_here``) that writes down what it runs."""
    return _Tracing(text).code()


class _Tracing:
    """Goes through a module line by line."""

    def __init__(self, text: str) -> None:
        self._functions = {match.group(1) for match in _FUNCTION.finditer(text)}
        self._text = text
        self._lines: list[str] = []
        self._parts: list[Part] = []
        self._entries: dict[str, int] = {}
        self._blocks: dict[str, int] = {}
        self._marked = True
        self._count = 0

    def code(self) -> Code:
        """The result."""
        inside = False
        for line in self._text.splitlines():
            if defined := _FUNCTION.match(line):
                inside, self._blocks, self._of_function = True, {}, len(self._parts)
                self._function = defined.group(1)
            elif inside and line.startswith("}"):
                inside = False
                for part in self._parts[self._of_function :]:
                    part.successors = [self._blocks[target] for target in part.targets]
            elif inside and line.strip():
                self._take(line)
                continue
            self._lines.append(line)
        for name in (_EVENTS_AT, _ADDRESSES_AT):
            self._lines.append(f"@{name} = global ptr null, align 8")
        return Code("\n".join(self._lines), self._parts, self._entries)

    def _take(self, line: str) -> None:
        label, code = _LABEL.match(line), line.strip()
        if label or len(self._parts) == self._of_function:
            self._begin(label.group(1) if label else "entry")
            if label:
                self._lines.append(line)
                return
        part = self._parts[-1]
        if code.startswith(("br ", "switch ")) or _CASE.match(code):
            part.targets += _TARGET.findall(code)
        if _CASE.match(code) or code == "]":
            self._lines.append(line)
            return
        if " = phi " not in code:
            self._mark()
        self._note_address(code)
        part.lines.append(code)
        self._lines.append(line)
        called = _CALL.search(code)
        if called and called.group(1) in self._functions:
            part.call, part.after = called.group(1), len(self._parts)
            self._parts.append(Part(self._function, part.block + "'"))
            self._marked = False
            self._mark()

    def _begin(self, label: str) -> None:
        self._entries.setdefault(self._function, len(self._parts))
        self._blocks[label] = len(self._parts)
        self._parts.append(Part(self._function, label))
        self._marked = False

    def _mark(self) -> None:
        """Let the present part be written down, behind what must come first in a block."""
        if not self._marked:
            self._write("i32", str(len(self._parts) - 1), _EVENTS_AT)
            self._marked = True

    def _note_address(self, code: str) -> None:
        """Let the address of a load or a store be written down."""
        if is_memory(code) and not _is_ours(code):
            memory = _MEMORY.match(code)
            if memory is None:
                raise ValueError(f"no way is known to tell what this reads or writes: {code}")
            self._write("ptr", memory.group("at"), _ADDRESSES_AT)

    def _write(self, kind: str, value: str, at: str) -> None:
        n, self._count = self._count, self._count + 1
        self._lines += [
            f"  %trace_{n} = load ptr, ptr @{at}",
            f"  store {kind} {value}, ptr %trace_{n}",
            f"  %next_{n} = getelementptr {kind}, ptr %trace_{n}, i64 1",
            f"  store ptr %next_{n}, ptr @{at}",
        ]


def _tells_world(line: str) -> bool:
    """Whether an instruction tells which world is stepped next."""
    return line.startswith("store ") and _PRESENT in line


def _is_ours(line: str) -> bool:
    return any(name in line for name in _OURS)


def is_memory(line: str) -> bool:
    """Whether an instruction reads or writes memory, whose address is written down."""
    return _READS_OR_WRITES.match(line) is not None


class TracedProgram(HostProgram):
    """Steps worlds and writes down what runs.

    Args:
        code: The code.
        room: Number of worlds.

    Attributes:
        events: Parts as they ran in the last call, world after world.
        addresses: Addresses of their loads and stores.
    """

    def __init__(self, code: Code, room: int) -> None:
        super().__init__(ptx.object_of_module(code.text))
        self._buffers: dict[str, NDArray[Any]] = {
            _EVENTS_AT: np.zeros(room * _EVENTS, dtype=np.int32),
            _ADDRESSES_AT: np.zeros(room * _ADDRESSES, dtype=np.int64),
        }
        self._at = {
            name: ctypes.c_int64.from_address(self._engine.get_global_value_address(name))
            for name in self._buffers
        }

    def run(self, memory: Placed, dt: float) -> None:
        """Step all worlds; see ``Program``."""
        for name, buffer in self._buffers.items():
            self._at[name].value = buffer.ctypes.data
        super().run(memory, dt)
        self.events, self.addresses = (self._written(name) for name in self._buffers)

    def _written(self, name: str) -> NDArray[Any]:
        buffer = self._buffers[name]
        return buffer[: (self._at[name].value - buffer.ctypes.data) // buffer.itemsize]


def split_by_world(code: Code, events: NDArray[Any]) -> Iterable[tuple[int, int]]:
    """First event of each world, and the one behind its last."""
    begins = np.flatnonzero(events == code.begins)
    ends = np.flatnonzero(events == code.ends) + 1
    return zip(begins.tolist(), ends.tolist(), strict=True)
