"""Worlds that threads step in turn, each thread in one compiled call.

Calls from Python, one a world, would cost more than a cheap world's step, and threads would wait for Python's lock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.compilation import Handle, Int1D, entry, prepare
from hydro_sim_core.compilation.instructions import add, load, store, struct_at
from hydro_sim_core.simulation.batches.cores import on_cores
from hydro_sim_core.simulation.batches.stepping import Begin, Order, WorldData, advance_world
from hydro_sim_core.simulation.stepping.step import DONE
from hydro_sim_core.simulation.world.world import World
from hydro_sim_core.solvers.solve import SolverEntry
from hydro_sim_core.threads import threads_of_a_batch

#: Words that the threads share, each in a cache line of its own: how many worlds have been begun, and whether to stop.
BEGUN, STOP = 0, 8
_NUM_WORDS = 16


@entry
def take_turns(worlds: Int1D, like: WorldData, words: Int1D, solve: SolverEntry, dt: float) -> None:
    """Step worlds that no other thread has begun, each until its order is done or a step cannot be taken.

    Args:
        worlds: Addresses of their handles.
        like: Any of them.
        words: The words.
        solve: Solver of a step's problem.
        dt: Time step, s.
    """
    turn = add(words, BEGUN, 1)
    while turn < worlds.shape[0]:
        world = struct_at(worlds, turn, like)
        state, order = world.machine.state, world.order
        last = order.until[0]
        while order.status[0] == DONE and state.step[0] < last and load(words, STOP) == 0:
            order.until[0] = state.step[0] + 1
            advance_world(world, solve, dt)
        order.until[0] = last
        turn = add(words, BEGUN, 1)


class Turns:
    """Worlds of which each step is one compiled call, where it can be taken.

    Args:
        worlds: The worlds, with a common solver and time step.
        rows: Their arrays (n, ...) by the path of the field in ``WorldData``.
    """

    def __init__(self, worlds: Sequence[World], rows: Mapping[str, NDArray[Any]]) -> None:
        prepare([take_turns])
        self._worlds = worlds
        self._orders = [
            (Order(*of_order), Begin(*of_begin))
            for of_order, of_begin in zip(
                _rows_of(rows, "order", Order), _rows_of(rows, "begin", Begin), strict=True
            )
        ]
        self._handles = [self._handle(i) for i in range(len(worlds))]
        self._addresses = np.array([handle.address for handle in self._handles])

    def place(self, i: int) -> None:
        """Look where the data of a world are: its machine may have been given more room."""
        if self._handles[i].struct.machine is not self._worlds[i].machine.handle:
            self._handles[i] = self._handle(i)
            self._addresses[i] = self._handles[i].address

    def _handle(self, i: int) -> Handle:
        machine: Any = self._worlds[i].machine.handle  # written once; a handle may contain handles
        return Handle(WorldData(machine, *self._orders[i]))

    def take(self, worlds: NDArray[np.int64]) -> None:
        """Step worlds until their orders are done, or a step of them cannot be taken, which their status tells."""
        if not len(worlds):
            return
        words = np.zeros(_NUM_WORDS, dtype=np.int64)
        first = self._worlds[0]
        turns = partial(
            take_turns,
            self._addresses[worlds],
            self._handles[0],
            words,
            first.machine.solve,
            first.time_step,
        )
        on_cores([turns] * min(threads_of_a_batch(), len(worlds)), stop=partial(store, words, STOP, 1))


def _rows_of(rows: Mapping[str, NDArray[Any]], path: str, struct: type[NamedTuple]) -> Iterator[Any]:
    """The fields of a struct in every world."""
    return zip(*(rows[f"{path}.{name}"] for name in struct._fields), strict=True)
