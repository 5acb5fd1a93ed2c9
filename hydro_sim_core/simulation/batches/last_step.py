"""What the last steps of worlds side by side tell: contacts, efforts, diagnostics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from hydro_sim_core.compilation.side_by_side import LANES
from hydro_sim_core.simulation.batches.memory import Placed, as_words, on_host
from hydro_sim_core.simulation.stepping.model import Scratch, copied
from hydro_sim_core.simulation.world.link_wrenches import PatchRows

_SCRATCH = "machine.scratch"
#: What of a step's memory tells of the step: arrays, and structs of them.
_TELLING = ("patches", "faces", "effort", "S", "solver.report", "points.unrepeated")


class LastSteps:
    """Of each of ``n`` worlds the last step, if there is one to tell of.

    Args:
        n: Number of worlds.

    Attributes:
        is_told: (n,) whether there is, which it is not after a reset, or a step that failed.
        led_here: (n,) whether it led to the present state, and no other one has been set since.
    """

    def __init__(self, n: int) -> None:
        self.is_told = np.zeros(n, dtype=bool)
        self.led_here = np.zeros(n, dtype=bool)
        #: Of worlds that found more faces than their lanes have room for.
        self._large: dict[int, Scratch] = {}

    def begin(self, frozen: Iterable[int]) -> None:
        """All worlds but the frozen ones are about to take steps in their lanes."""
        self._large = {i: self._large[i] for i in frozen if i in self._large}

    def end(self, frozen: Iterable[int]) -> None:
        """They have taken them."""
        going = np.ones_like(self.is_told)
        going[list(frozen)] = False
        self.is_told |= going
        self.led_here |= going

    def leave(self, worlds: list[int]) -> None:
        """Some worlds have been given other states."""
        self.led_here[worlds] = False

    def forget(self, worlds: list[int]) -> None:
        """Some worlds have started anew."""
        self.is_told[worlds] = self.led_here[worlds] = False

    def scratch(self, memory: Placed, i: int, like: Scratch) -> Scratch:
        """A copy of the step's memory of a world, with the structs of ``like``."""
        return copied(self._large[i]) if i in self._large else scratch_in_lane(memory, i, like)

    def put(self, memory: Placed, i: int, scratch: Scratch) -> None:
        """Tell of a step that a world has taken in another memory."""
        lane = on_host(memory.lane_of(i))
        for path, field in memory.plan.fields.items():
            if field.place != LANES or not path.startswith(f"{_SCRATCH}."):
                continue
            values: Any = scratch
            for name in path.split(".")[2:]:
                values = getattr(values, name)
            if values.shape != field.values.shape:
                self._large[i] = scratch
                return
            lane[field.offset : field.offset + field.values.size] = as_words(values)
        memory.lane_of(i)[...] = memory.numpy.asarray(lane)

    def patches(self, memory: Placed) -> PatchRows:
        """Patches of the steps that led to the states of the worlds; behind them in each row are older ones."""
        num = memory.of_all(f"{_SCRATCH}.patches.num")[:, 0]
        num[memory.numpy.asarray(~self.led_here)] = 0
        rows = [memory.of_all(f"{_SCRATCH}.patches.{name}") for name in PatchRows._fields[1:]]
        for i, scratch in self._large.items():
            if self.led_here[i]:
                count = int(scratch.patches.num[0])
                num[i] = count
                for row, name in zip(rows, PatchRows._fields[1:], strict=True):
                    row[i, :count] = memory.numpy.asarray(getattr(scratch.patches, name)[:count])
        return PatchRows(num, *rows)


def scratch_in_lane(memory: Placed, i: int, like: Scratch) -> Scratch:
    """A copy of the step's memory of a world in its lane, with the structs of ``like``."""
    lane = np.ascontiguousarray(on_host(memory.lane_of(i)))

    def filled(struct: Any, path: str) -> Any:
        fields = [
            filled(value, f"{path}.{name}")
            if isinstance(value, tuple)
            else memory.plan.from_lane(lane, f"{path}.{name}")
            for name, value in zip(struct._fields, struct, strict=True)
        ]
        return type(struct)(*fields)

    found: Scratch = filled(like, _SCRATCH)
    return found


def copy_out(memory: Placed) -> dict[str, Any]:
    """What the lanes of all worlds tell of their last steps, by path: (groups, ..., lanes)."""
    begins = tuple(f"{_SCRATCH}.{name}." for name in _TELLING)
    telling = (path for path in memory.plan.fields if f"{path}.".startswith(begins))
    return {path: memory.in_lanes(path).copy() for path in telling}


def copy_in(memory: Placed, told: dict[str, Any]) -> None:
    """Put what ``copy_out`` gave into lanes with more room."""
    for path, values in told.items():
        memory.in_lanes(path)[tuple(map(slice, values.shape))] = values
