"""Machine: model, state, drives, loads and memory of the compiled step."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from hydro_sim_core.compilation import Handle
from hydro_sim_core.dynamics.tree import quaternion_starts
from hydro_sim_core.simulation.stepping.helpers import LEAST_TIME, Helpers, with_lists
from hydro_sim_core.simulation.stepping.model import (
    Drives,
    Loads,
    MachineData,
    Model,
    Scratch,
    State,
    Struct,
    copied,
    freeze,
    make_loads,
    make_scratch_memory,
    make_state,
    overwrite,
)
from hydro_sim_core.simulation.stepping.soft_model import SoftPairs
from hydro_sim_core.simulation.stepping.step import NO_ROOM, advance
from hydro_sim_core.solvers.options import CONVERGED, LEAST_FACES
from hydro_sim_core.solvers.solve import solver_entry
from hydro_sim_core.threads import threads_allowed

#: Initial size of the face buffers, which grow when a step finds more faces.
INITIAL_FACES = 1024
#: Factor on it where polygons are split into triangles.
TRIANGLES_A_POLYGON = 4
#: Growth factor beyond the needed size, so that a growing patch does not need more at once.
GROWTH = 1.5


class Machine:
    """A model with its state, drives and memory.

    Attributes:
        model: The model.
        state: The state; steps write into it.
        drives: Targets and gains of the drives.
        loads: External wrenches on links, and springs that pull them.
        scratch: Memory of the step; replaced by a larger one when a step finds more contact faces.
        handle: Handle of all five for compiled steps.
        solve: Solver of a step's problem, see ``solvers.solver_entry``; None without convex steps.
        soft: Clouds and parameters of smooth contact; None without it.
        is_helped: Whether other threads may take part in steps that take long.
    """

    def __init__(
        self,
        model: Model,
        solver: tuple[str, str] | None,
        drives: Drives,
        q: np.ndarray,
        soft: SoftPairs | None = None,
    ) -> None:
        self.model = model
        self.soft = soft
        self.is_helped = True
        self._helpers: Helpers | None = None
        self._time_of_step = 0.0
        self._model_handle = Handle(model)
        self.drives = drives
        self.loads = make_loads(len(model.link_body))
        self._solver = solver
        self.solve = self._find_solver()
        self.state = self._state_at_rest(q)
        room = INITIAL_FACES * (TRIANGLES_A_POLYGON if model.splits_faces else 1)
        self.scratch = make_scratch_memory(model, len(q), room)
        self.handle = self._make_handle()
        self.restart(q)

    def _state_at_rest(self, q: np.ndarray) -> State:
        model = self.model
        return make_state(q, len(model.tree.damping), len(model.forest.is_free_tree), len(model.pairs))

    def _make_handle(self) -> Handle:
        if self._helpers is not None:
            self._helpers.leave()
            self._helpers = None
        model: Any = self._model_handle  # written once; a handle may contain handles
        return Handle(MachineData(model, self.state, self.drives, self.loads, self.scratch))

    def _find_solver(self) -> Any:
        return solver_entry(*self._solver) if self._solver is not None else None

    def __getstate__(self) -> dict[str, Any]:
        """State for pickling: handles are invalid in another process."""
        kept = {name: value for name, value in self.__dict__.items() if not isinstance(value, Handle)}
        del kept["solve"]
        kept["_helpers"] = None  # words of its team say that they are there: see ``_be_alone``
        return kept

    def __setstate__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)
        self.solve = self._find_solver()
        freeze(self.model)  # pickles do not tell
        self._model_handle = Handle(self.model)
        self._be_alone()
        self.handle = self._make_handle()

    def _be_alone(self) -> None:
        """Have no helpers, whose presence is told by the copied memory."""
        self._helpers = None
        self.scratch.solver.team.words[:] = self.scratch.solver.team.task[:] = 0

    def advance(self, dt: float, steps: int, *, same_contacts: bool = False, accept: bool = False) -> int:
        """Take ``steps`` steps of ``dt`` (s), or until one fails; arguments and result as for ``step.advance``."""
        last = int(self.state.step[0]) + steps
        while True:
            remaining = last - int(self.state.step[0])
            status = self._advance_helped(dt, remaining, same_contacts, accept)
            if status != NO_ROOM:
                return status
            self.make_room(int(self.scratch.faces_needed[0]))
            same_contacts = False

    def _advance_helped(self, dt: float, steps: int, same_contacts: bool, accept: bool) -> int:
        """``step.advance``, by several threads if that will take long; the results have the same bits."""
        if self.is_helped and self._is_long(steps) and threads_allowed() > 1:
            self._present_helpers().come()
        before, began = int(self.state.step[0]), time.perf_counter()
        status = advance(self.handle, self.solve, dt, steps, same_contacts, accept)
        taken = max(int(self.state.step[0]) - before, 1)
        self._time_of_step = (time.perf_counter() - began) / taken
        return status

    def _is_long(self, steps: int) -> bool:
        """Whether so many steps, if each takes as long and has as many faces as the last one, are worth helpers."""
        patches, least = self.scratch.patches, self.scratch.solver.team.least[LEAST_FACES]
        return patches.first_face[patches.num[0]] >= least and self._time_of_step * steps > LEAST_TIME

    def _present_helpers(self) -> Helpers:
        if self._helpers is None:
            if len(self.scratch.query.kept.found) < 2 * threads_allowed():
                self.use_scratch(with_lists(self.scratch, threads_allowed()))
            data = MachineData(self.model, self.state, self.drives, self.loads, self.scratch)
            self._helpers = Helpers(data, self.solve, threads_allowed() - 1)
        return self._helpers

    def restart(self, q: np.ndarray) -> None:
        """Reset to rest at coordinates ``q`` (nq,) and time zero, without contacts and with zero counters."""
        self.restore_state(self._state_at_rest(q))
        self.forget_step()
        for load in self.loads:
            load[:] = 0

    def make_room(self, faces: int) -> None:
        """Replace the memory by one for more than ``faces`` contact faces; patches are lost, other results kept."""
        before = self.scratch
        self.scratch = make_scratch_memory(self.model, len(self.state.q), int(GROWTH * faces))
        for kept, array in zip(_results(self.scratch), _results(before), strict=True):
            kept[:] = array
        self.handle = self._make_handle()

    def copy(self, drives: Drives) -> Machine:
        """An independent copy with the same model and state, and with the given drives."""
        other = Machine.__new__(Machine)
        other.__dict__.update(self.__dict__)
        other.drives = drives
        other.loads = copied(self.loads)
        other.state = self.copy_state()
        other.scratch = copied(self.scratch)
        other._be_alone()
        other.handle = other._make_handle()
        return other

    def use_arrays(self, state: State, drives: Drives, loads: Loads, model: Model) -> None:
        """Step in these arrays from now on, with a model of the same sizes."""
        self.state, self.drives, self.loads, self.model = state, drives, loads, model
        freeze(model)
        self._model_handle = Handle(model)
        self.handle = self._make_handle()

    def use_scratch(self, scratch: Scratch) -> None:
        """Step in this memory from now on; what it tells of the last step is told."""
        self.scratch = scratch
        self.handle = self._make_handle()

    def copy_state(self) -> State:
        """A copy of the state that later steps do not change."""
        return copied(self.state)

    def restore_state(self, saved: State) -> None:
        """Go back to a copied state."""
        overwrite(self.state, saved)

    @cached_property
    def quaternion_starts(self) -> tuple[int, ...]:
        """First coordinate of every quaternion."""
        return tuple(quaternion_starts(self.model.tree).tolist())

    @cached_property
    def tree_of_velocity(self) -> np.ndarray:
        """(nv,) independent tree of every velocity; the number of trees for prescribed velocities."""
        forest = self.model.forest
        trees = np.full(len(self.state.v), len(forest.first) - 1)
        trees[forest.velocities] = np.repeat(np.arange(len(forest.first) - 1), np.diff(forest.first))
        return trees

    @cached_property
    def tree_of_coordinate(self) -> np.ndarray:
        """(nq,) independent tree of every coordinate, numbered like those of velocities."""
        trees = np.empty(len(self.state.q), dtype=np.int64)
        tree = self.model.tree
        for first, num_q, body_tree in zip(
            tree.q_index, tree.num_q, self.model.forest.tree_of_body, strict=True
        ):
            number = body_tree if body_tree >= 0 else len(self.model.forest.first) - 1
            trees[first : first + num_q] = number
        return trees

    @cached_property
    def coordinate_weights(self) -> np.ndarray:
        """(nq,) 2 for components of quaternions, whose change is half the rotation angle, and 1 for others."""
        weights = np.ones(len(self.state.q))
        for first in self.quaternion_starts:
            weights[first : first + 4] = 2.0
        return weights

    def forget_step(self) -> None:
        """Tell of no step."""
        self.forget_contacts()
        self.scratch.effort[:] = 0.0
        self.scratch.solver.report[:] = 0.0
        self.scratch.solver.report[CONVERGED] = 1.0

    def forget_contacts(self) -> None:
        """Drop the contacts of the last step, which no longer belong to the state."""
        self.scratch.patches.num[0] = self.scratch.patches.num_faceless[0] = 0


def with_constants(model: Struct, constants: Mapping[tuple[type, str], Any]) -> Struct:
    """A struct with other arrays or structs in some of its fields, also of structs within it, by class and name."""
    of_this = {name: array for (owner, name), array in constants.items() if owner is type(model)}
    within = {
        name: with_constants(field, constants)
        for name, field in zip(model._fields, model, strict=True)  # type: ignore[attr-defined]
        if isinstance(field, tuple) and name not in of_this
    }
    return model._replace(**within, **of_this)  # type: ignore[attr-defined, no-any-return]


def _results(scratch: Scratch) -> tuple[np.ndarray, ...]:
    """What is told of the last step besides its patches."""
    patches = scratch.patches
    flags = (patches.num_deep, patches.num_faceless, patches.faceless_pair)
    return (scratch.effort, scratch.S, scratch.solver.report, scratch.points.unrepeated, *flags)
