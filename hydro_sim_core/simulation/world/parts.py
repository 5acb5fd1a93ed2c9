"""Base class of a world's aspects: its parts, time and state."""

from __future__ import annotations

import threading
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hydro_sim_core.description import LoadedScene
from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.dynamics import TreeEvaluator
from hydro_sim_core.errors import InputError, shortened
from hydro_sim_core.simulation.assembly.builder import BuiltModel
from hydro_sim_core.simulation.integrators.steppers import (
    Stepper,
)
from hydro_sim_core.simulation.stepping.machine import Machine
from hydro_sim_core.simulation.stepping.model import Scratch, State
from hydro_sim_core.simulation.world.drives import DriveBank
from hydro_sim_core.simulation.world.entities import Entities
from hydro_sim_core.simulation.world.fixed_attributes import FixedAttributes
from hydro_sim_core.simulation.world.scripts import Script

Array = NDArray[np.float64]


class WorldParts(FixedAttributes):
    """The parts of a world, constructed by ``World``.

    Attributes:
        scene: Scene that the world was made from.
        name: Name of the scene.
        time_step: Time step, s.
    """

    scene: LoadedScene
    name: str
    time_step: float
    joint_names: tuple[str, ...]
    velocity_names: tuple[str, ...]
    actuated_joint_names: tuple[str, ...]
    frame_names: tuple[str, ...]
    _built: BuiltModel
    _machine: Machine
    _drives: DriveBank
    _script: Script
    _stepper: Stepper
    _before: tuple[Array, Array] | None
    _is_stepping = False

    def _refuse_while_stepping(self, asker: str) -> None:
        """Refuse what would be lost in a step that is being taken, or spoil it.

        Raises:
            InputError: Another thread is stepping the world.
        """
        if self._is_stepping:
            problem = "is stepped by another thread"
            raise InputError(asker, self.name, problem, "wait for it, or give each its own, world.copy()")

    def _start(self) -> None:
        """Put everything at its place, at rest and at time zero; ``World`` knows how."""
        raise NotImplementedError

    @property
    def built(self) -> BuiltModel:
        """The frozen model and the names behind its indices: bodies, colliders, pairs."""
        return self._built

    @property
    def machine(self) -> Machine:
        """Model, state, drives and memory of the compiled step, for the loop that takes steps without this class."""
        return self._machine

    @property
    def _state(self) -> State:
        return self._machine.state

    @property
    def _scratch(self) -> Scratch:
        return self._machine.scratch

    @property
    def time(self) -> float:
        """Simulated time, s."""
        return float(self._state.step[0]) * self.time_step

    @property
    def step_count(self) -> int:
        """Steps done since the start or the last reset."""
        return int(self._state.step[0])

    @property
    def q(self) -> Array:
        """(nq,) coordinates, a copy that is read-only, as a write to it would change nothing.

        To change some, write to a copy of it: ``q = world.q.copy(); q[2] = 1.0; world.set_state(q, world.v)``; or call
        ``place`` or ``set_joint_positions``.
        """
        return read_only(self._state.q.copy())

    @property
    def v(self) -> Array:
        """(nv,) velocities, a copy that is read-only as ``q``.

        To change some, write to a copy of it: ``v = world.v.copy(); v[2] = 1.0; world.set_state(world.q, v)``; or call
        ``place`` or ``set_joint_velocities``.
        """
        return read_only(self._state.v.copy())

    @property
    def before_last_step(self) -> tuple[Array, Array] | None:
        """Coordinates (nq,) and velocities (nv,) at the begin of the last step, read-only.

        None if there was no step since the start or since another state was set.
        """
        if self._before is not None:
            for array in self._before:
                read_only(array)
        return self._before

    @cached_property
    def _evaluators(self) -> threading.local:
        return threading.local()

    @property
    def _evaluator(self) -> TreeEvaluator:
        """Evaluator of the calling thread: each has its own memory, and making one takes as long as ten uses."""
        own = self._evaluators
        if not hasattr(own, "evaluator"):
            own.evaluator = TreeEvaluator(self._built.model.tree)
        evaluator: TreeEvaluator = own.evaluator
        return evaluator

    def row_of_frame(self, asker: str, name: str) -> int:
        """Row of a link in ``frame_names``.

        Raises:
            InputError: There is no such link; ``asker`` is who asks.
        """
        index = self._frame_index.get(str(name))
        if index is None:
            mend = did_you_mean(str(name), self.frame_names)
            raise InputError(asker, f"link '{shortened(str(name))}'", "is not in the scene", mend)
        return index

    def why_unmoved(self, row: int) -> str | None:
        """Why no force moves the link in a row of ``frame_names``; None if one does."""
        tree, body = self._built.model.tree, int(self._built.model.link_body[row])
        if body < 0:
            return "is fixed to the world"
        if tree.prescribed[tree.v_index[body]]:
            return "moves as it is told, whatever pushes it"
        return None

    @cached_property
    def _frame_index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.frame_names)}

    @cached_property
    def _joint_q(self) -> NDArray[np.int64]:
        return np.array([j.q_index for j in self._built.assembly.scalar_joints], dtype=np.int64)

    @cached_property
    def _joint_v(self) -> NDArray[np.int64]:
        return np.array([j.v_index for j in self._built.assembly.scalar_joints], dtype=np.int64)

    @cached_property
    def _joint_scale(self) -> Array:
        return np.array([j.scale for j in self._built.assembly.scalar_joints])

    @cached_property
    def _joint_offset(self) -> Array:
        return np.array([j.offset for j in self._built.assembly.scalar_joints])

    @cached_property
    def _joint_is_master(self) -> NDArray[np.bool_]:
        return np.array([name in self.velocity_names for name in self.joint_names], dtype=bool)

    @cached_property
    def entities(self) -> Entities:
        """The models and static shapes of the scene."""
        return Entities(self.scene, self._built)


def read_only(array: Array) -> Array:
    """The same array, which is read-only from now on."""
    array.flags.writeable = False
    return array


def checked_array(name: str, values: ArrayLike, length: int) -> Array:
    """Finite numbers (length,).

    Raises:
        InputError: Their number is wrong, or they are not finite.
    """
    mend = "give a finite number" if length == 1 else f"give {length} finite numbers"
    try:
        array = np.array(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InputError("world", name, "is not an array of numbers", mend) from None
    if array.shape != (length,):
        raise InputError("world", name, f"has shape {array.shape}", f"give {length} numbers")
    if not np.all(np.isfinite(array)):
        raise InputError("world", name, "holds NaN or infinity", mend)
    return array
