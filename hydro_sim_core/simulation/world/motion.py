"""Setting the state of a world, moving kinematic models, and external wrenches."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hydro_sim_core.arithmetic import norm
from hydro_sim_core.contact.poses import as_pose
from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.description.scene import TWIST_MODES
from hydro_sim_core.dynamics.joint_dispatch import FLOATING
from hydro_sim_core.errors import InputError, excerpt, shortened
from hydro_sim_core.rotations import quaternions_of, twist_between
from hydro_sim_core.simulation.stepping.model import WITHOUT_PAST, count_loads
from hydro_sim_core.simulation.world.parts import WorldParts, checked_array

Array = NDArray[np.float64]

#: Difference from one of the length of a quaternion that a step has normalised.
UNIT_ROUND_OFF = 1e-15
#: Least length of a quaternion that may be set: less is no turn.
LEAST_QUATERNION = 1e-6
#: How far beyond its limits a joint may be put, rad or m: a stop yields by as much to a load, and encoders tell it.
BEYOND_LIMITS = 1e-5


class WorldMotion(WorldParts):
    """State, placement, prescribed motion and external wrenches, by name."""

    def set_state(self, q: ArrayLike, v: ArrayLike) -> None:
        """Set coordinates and velocities; time is unchanged.

        Args:
            q: (nq,) coordinates; quaternions are normalised.
            v: (nv,) velocities; those of kinematic models hold until the next step, which uses their commands.

        Raises:
            InputError: Wrong length, NaN or infinity, a zero quaternion, or another thread is stepping the world. The
                state is then unchanged.
        """
        self._refuse_while_stepping("set_state")
        q, v = checked_array("q", q, len(self._state.q)), checked_array("v", v, len(self._state.v))
        for first in self._machine.quaternion_starts:
            length = norm(q[first : first + 4])
            if length < LEAST_QUATERNION:
                raise InputError(
                    "set_state", f"q[{first}:{first + 4}]", "is a zero quaternion", "give a unit one"
                )
            if (
                abs(length - 1.0) > UNIT_ROUND_OFF
            ):  # else a state that the world told would change when set again
                q[first : first + 4] /= length
        self._state.q[:], self._state.v[:], self._state.v_previous[:] = q, v, v
        for name, value in WITHOUT_PAST.items():
            getattr(self._state, name)[:] = value
        self._before = None

    def set_joint_positions(self, positions: Mapping[str, float]) -> None:
        """Set the positions of some joints; velocities, all other joints and the time stay as they are.

        Args:
            positions: Positions by the names of joints in ``joint_names``, rad or m. A mimic joint follows the one
                that it mimics.

        Raises:
            InputError: There is no such joint, it has no position of its own, or a position is not finite or outside
                the joint's limits. Nothing is then changed.
        """
        q = self.q.copy()
        for index, value in self._own_coordinates("set_joint_positions", positions).items():
            self._refuse_beyond_limits(index, value)
            q[self._joint_q[index]] = value
        self.set_state(q, self._state.v)

    def _refuse_beyond_limits(self, index: int, value: float) -> None:
        """Refuse a position from which the joint's stop would push it back."""
        tree, i = self._built.model.tree, self._joint_v[index]
        lower, upper = float(tree.q_lower[i]), float(tree.q_upper[i])
        if not lower - BEYOND_LIMITS <= value <= upper + BEYOND_LIMITS:
            problem = f"{value:g} is outside the joint's limits {lower:g} … {upper:g}"
            raise InputError(
                "set_joint_positions", f"joint '{self.joint_names[index]}'", problem, "give one inside"
            )

    def set_joint_velocities(self, velocities: Mapping[str, float]) -> None:
        """Set the velocities of some joints, rad/s or m/s; otherwise as ``set_joint_positions``."""
        v = self.v.copy()
        for index, value in self._own_coordinates("set_joint_velocities", velocities).items():
            v[self._joint_v[index]] = value
        self.set_state(self._state.q, v)

    def _own_coordinates(self, asker: str, values: Mapping[str, float]) -> dict[int, float]:
        """Values by the rows of their joints in ``joint_names``."""
        if not isinstance(values, Mapping):
            raise InputError(asker, excerpt(values), "is no mapping", "give values by the names of joints")
        found: dict[int, float] = {}
        for name, value in values.items():
            element = f"joint '{shortened(str(name))}'"
            if name not in self.joint_names:
                mend = did_you_mean(str(name), self.joint_names)
                raise InputError(asker, element, "is not in the scene, or has not one coordinate", mend)
            index = self.joint_names.index(name)
            if not self._joint_is_master[index]:
                master = self.velocity_names[self._joint_v[index]]
                raise InputError(asker, element, f"mimics '{master}'", f"set '{master}'")
            found[index] = float(checked_array(element, [value], 1)[0])
        return found

    def place(self, name: str, X_WB: ArrayLike | None = None, V_WB: ArrayLike | None = None) -> None:
        """Set pose and velocity of a floating or kinematic body; other bodies and the time are unchanged.

        Args:
            name: A model with a floating or kinematic base, or any floating joint, as named in ``velocity_names``.
            X_WB: (4, 4) pose of its root link in the world, or of the joint's child in the joint frame; None leaves it
                unchanged.
            V_WB: (6,) angular and linear velocity in the same frame, rad/s and m/s; None leaves them unchanged. A
                kinematic model keeps moving with it.

        Raises:
            InputError: There is no such body, it is fixed, or pose or velocity is invalid. Nothing is then changed.
        """
        body = self._floating_body("place", name)
        X = None if X_WB is None else as_pose(X_WB, "place", "X_WB")
        V = None if V_WB is None else checked_array("V_WB", V_WB, 6)
        tree, state = self._built.model.tree, self._state
        q, v = int(tree.q_index[body]), int(tree.v_index[body])
        if X is not None:
            x, y, z, w = quaternions_of(X[:3, :3])
            state.q[q : q + 7] = [w, x, y, z, *X[:3, 3]]
        if V is not None:
            state.v[v : v + 6] = state.v_previous[v : v + 6] = V
            if tree.prescribed[v]:
                self._lead(v, V, V)
        if self._before is not None:  # the jump must not count as an acceleration
            q_before, v_before = (array.copy() for array in self._before)
            q_before[q : q + 7], v_before[v : v + 6] = state.q[q : q + 7], state.v[v : v + 6]
            self._before = q_before, v_before
        carrier = self._built.model.geometry_body
        is_with_it = (carrier >= 0) & np.isin(carrier, list(self._moved_with(body)))
        pairs = is_with_it[self._built.model.pairs].any(axis=1)
        state.push[pairs], state.overlaps[pairs] = 0.0, 1

    def _moved_with(self, body: int) -> set[int]:
        """Bodies of the same independent tree, and bodies that are carried by ``body``."""
        moved = {body}
        parent, tree_of_body = self._built.model.tree.parent, self._built.model.forest.tree_of_body
        for i in range(len(parent)):
            if int(parent[i]) in moved or tree_of_body[i] == tree_of_body[body] >= 0:
                moved.add(i)
        return moved

    def move(self, name: str, X_WB: ArrayLike | None = None, V_WB: ArrayLike | None = None) -> None:
        """Prescribe pose and velocity of a kinematic model after the coming time step.

        Overrides its scripted commands. The model moves to the pose at constant velocity; contact forces act on other
        bodies only. Without further calls it keeps the last velocity.

        Args:
            name: A model with ``base: kinematic``.
            X_WB: (4, 4) pose of its root link in the world after the coming time step. Without it, ``V_WB`` applies
                from now on.
            V_WB: (6,) angular and linear velocity of the root link's origin from then on, world axes, rad/s and m/s;
                without it the model then stands still.

        Raises:
            InputError: There is no such model, it is not kinematic, or pose or velocity is invalid. Nothing is then
                changed.
        """
        body = self._floating_body("move", name)
        first = int(self._built.model.tree.v_index[body])
        if not self._built.model.tree.prescribed[first]:
            problem = "moves as forces make it"
            raise InputError("move", f"'{name}'", problem, "write base: kinematic for it in the scene")
        after = np.zeros(6) if V_WB is None else checked_array("V_WB", V_WB, 6)
        if X_WB is None:
            coming = after
        else:
            X_WS = self._evaluator.update(self._state.q).body_pose(body)
            coming = twist_between(X_WS, as_pose(X_WB, "move", "X_WB"), self.time_step)
        self._lead(first, coming, after)

    def _lead(self, first: int, coming: Array, after: Array) -> None:
        """Prescribe six velocities, overriding their scripted commands."""
        model = next(name for name, place in self._drives.led.items() if place == first)
        for mode in TWIST_MODES:
            self._script.release(f"{model}.{mode}")
        self._drives.prescribe(first, coming, after)

    def _floating_body(self, asker: str, name: str) -> int:
        """Body moved by a floating joint or by the floating or kinematic base of a model."""
        joints = self._built.assembly.joint_names
        floating = [
            joint
            for joint, kind in zip(joints, self._built.model.tree.joint_type, strict=True)
            if kind == FLOATING
        ]
        name = str(name)
        if name in floating:
            return joints.index(name)
        if name not in self.entities.names:
            mend = did_you_mean(name, [*self.entities.names, *floating])
            raise InputError(asker, f"'{shortened(name)}'", "is not in the scene", mend)
        joint = self.entities[name].joint
        if joint is None:
            base = "kinematic" if asker == "move" else "floating"
            raise InputError(asker, f"'{name}'", "is fixed", f"write base: {base} for it in the scene")
        return joints.index(joint)

    def apply_wrench(self, link: str, wrench: ArrayLike | None) -> None:
        """Apply an external wrench to a link in every step from now on, until it is changed or the world is reset.

        Args:
            link: Name in ``frame_names``.
            wrench: (6,) torque about the origin of the link's frame and force, in world axes, N m and N. The origin
                moves with the link, the direction is constant. None ends it.

        Raises:
            InputError: There is no such link, no force can move it, or the wrench is invalid. Nothing is then changed.
        """
        row = self.row_of_pushed("apply_wrench", link)
        loads = self._machine.loads
        loads.wrench[row] = 0.0 if wrench is None else checked_array("wrench", wrench, 6)
        count_loads(loads)

    def row_of_pushed(self, asker: str, link: str) -> int:
        """Row in ``frame_names`` of a link that forces move.

        Raises:
            InputError: There is no such link, or no force can move it.
        """
        row = self.row_of_frame(asker, link)
        problem = self.why_unmoved(row)
        if problem is not None:
            raise InputError(asker, f"link '{link}'", problem, "push a link that forces move")
        return row

    def applied_wrench(self, link: str) -> Array:
        """The wrench (6,) that ``apply_wrench`` set for a link, a copy; what touches it is ``contact_wrench``.

        Raises:
            InputError: There is no such link.
        """
        return self._machine.loads.wrench[self.row_of_frame("applied_wrench", link)].copy()
