"""Commands by name to the drives and grippers of the worlds of a batch, as ``World`` takes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from hydro_sim_core.errors import InputError, excerpt
from hydro_sim_core.simulation.batches.memory import on_host
from hydro_sim_core.simulation.batches.parts import BatchParts, array_of
from hydro_sim_core.simulation.world.drives import WRITTEN, JointCommand
from hydro_sim_core.simulation.world.world import World

_SOURCE = "command"


class BatchCommands(BatchParts):
    """Commands to joints and grippers; those of a world's script for what is commanded end."""

    def set_command(
        self, values: Any, mode: str = "effort", joints: Sequence[str] | None = None, worlds: Any = None
    ) -> None:
        """Command joints of ``m`` worlds, by default of all, as ``World.set_command`` does, overriding their scripts.

        Args:
            values: By the names of joints a number (rad, m; rad/s, m/s; N m, N) for all of the worlds, or one for
                each, (m,). Or an array (m, joints), or (joints,) for all alike.
            mode: ``"position"``, ``"velocity"`` or ``"effort"``, whatever the mode of the actuators is.
            joints: Joints that the columns of an array belong to; ``world.actuated_joint_names`` by default.
            worlds: (m,) numbers of worlds, or a mask (n,) of which ``m`` are true.

        Raises:
            InputError: Unknown mode, joint or world, a wrong shape, NaN or infinity, a position outside the joint's
                limits, a mode for which the joint has no gain, another thread steps the worlds; or, on a GPU, the
                scene scripts one of the joints and only some worlds are commanded.
        """
        chosen = self._chosen(worlds)
        self.world.check_command({}, mode)
        named = self._by_name(values, mode, joints, len(chosen))
        self.world.check_command(dict.fromkeys(named, 0.0))  # of names that are none it tells
        columns = {name: self._column(f"joint '{name}'", one, len(chosen)) for name, one in named.items()}
        written = []
        for scene, rows in self._by_scene(chosen):
            for name, column in columns.items():
                _check(scene, name, column[rows], mode, [chosen[row] for row in rows])
                command = JointCommand(**{mode: column[rows]})
                written.append((rows, name, scene.drive_bank.fields_of(name, command)))
        grippers = self.world.drive_bank.grippers_of(columns)
        with self._alone("set_command"):
            if chosen:
                self._worlds.leave_scripts(chosen, (*columns, *grippers))
            for rows, name, fields in written:
                self._write([chosen[row] for row in rows], name, fields)

    def set_gripper(
        self,
        name: str | None = None,
        force: Any = None,
        position: Any = None,
        max_force: Any = None,
        worlds: Any = None,
    ) -> None:
        """Command a gripper of ``m`` worlds, by default of all, as ``World.set_gripper`` does, in place of scripts.

        Args:
            name: Gripper; the only one by default.
            force: Closing force per finger, N, of a linkage the effort at its joint, N m or N: a number for all of the
                worlds, or one for each, (m,).
            position: Gap between the fingers, m, of a linkage the position of its joint, rad or m; likewise.
            max_force: Force with which the gripper moves to ``position`` and presses, as ``force``.
            worlds: (m,) numbers of worlds, or a mask (n,) of which ``m`` are true.

        Raises:
            InputError: As ``World.set_gripper``, or as ``set_command``.
        """
        chosen = self._chosen(worlds)
        known = self.world.drive_bank.gripper(name).name
        told = {"force": force, "position": position, "max_force": max_force}
        given = {
            key: on_host(self._column(f"gripper '{known}', {key}", value, len(chosen)))
            for key, value in told.items()
            if value is not None
        }
        joints = self.world.gripper_joints(known)
        written = []
        for scene, rows in self._by_scene(chosen):
            bank, places = scene.drive_bank.copy(), [scene.velocity_names.index(joint) for joint in joints]
            fields = np.empty((len(rows), len(WRITTEN), len(joints)))
            for k, row in enumerate(rows):
                try:
                    bank.set_gripper(known, **{key: float(column[row]) for key, column in given.items()})
                except InputError as error:
                    raise _of_world(error, chosen[row]) from None
                fields[k] = [getattr(bank.arrays, field)[places] for field in WRITTEN]
            written.append((rows, fields))
        with self._alone("set_gripper"):
            if chosen:
                self._worlds.leave_scripts(chosen, (known,))
            for rows, fields in written:
                for k, joint in enumerate(joints):
                    of_joint = dict(zip(WRITTEN, fields[:, :, k].T, strict=True))
                    self._write([chosen[row] for row in rows], joint, of_joint)

    def _by_name(self, values: Any, mode: str, joints: Sequence[str] | None, m: int) -> dict[str, Any]:
        """What each joint is told, not yet looked at."""
        if isinstance(values, Mapping):
            return self.world.drive_bank.by_name(values, mode, joints)
        # Whether joints are names, and none is there twice, a world tells.
        names = self.world.actuated_joint_names if joints is None else joints
        known = list(self.world.drive_bank.check_command([0.0] * len(names), "effort", names))
        wanted = f"give one of shape ({m}, {len(known)}) or ({len(known)},), or values by the names of joints"
        array = array_of(self._worlds.numpy, values)
        if array is None:
            raise InputError(_SOURCE, mode, "is not an array of real numbers", wanted)
        if array.ndim not in (1, 2) or array.shape[-1] != len(known):
            raise InputError(_SOURCE, mode, f"has shape {array.shape}", wanted)
        return {name: array[..., k] for k, name in enumerate(known)}

    def _column(self, element: str, values: Any, m: int) -> Any:
        """What ``m`` worlds are told, (m,) where the worlds are, of a number for all of them or of as many."""
        numpy, mend = self._worlds.numpy, f"give a finite number, or {m} of them"
        given = array_of(numpy, values)
        if given is None or given.dtype.kind not in "fiu":
            raise InputError(_SOURCE, element, f"{excerpt(values)} is not a number", mend)
        if given.shape not in ((), (m,)):
            raise InputError(_SOURCE, element, f"has shape {given.shape}", mend)
        return numpy.broadcast_to(given.astype(float), (m,))

    def _by_scene(self, chosen: Sequence[int]) -> Iterator[tuple[World, list[int]]]:
        """Each scene that some of the worlds are of, and which of them."""
        scene_of = self.scene_of[list(chosen)]
        for k, scene in enumerate(self._scenes):
            rows = np.flatnonzero(scene_of == k).tolist()
            if rows:
                yield scene, rows

    def _write(self, worlds: list[int], joint: str, fields: Mapping[str, Any]) -> None:
        """Write the fields of a drive."""
        place, numpy = self.world.velocity_names.index(joint), self._worlds.numpy
        for field, values in fields.items():
            self._worlds.rows[f"machine.drives.{field}"][worlds, place] = numpy.asarray(values)


def _check(scene: World, joint: str, values: Any, mode: str, worlds: Sequence[int]) -> None:
    """Refuse what a world would, which it does at one end of the values if anywhere.

    Raises:
        InputError: A value is refused; it names the first of these worlds that is told it.
    """
    try:
        for extreme in (values.min(), values.max()):  # NaN, if there is any
            scene.check_command({joint: float(extreme)}, mode)
    except InputError:
        for world, value in zip(worlds, on_host(values).tolist(), strict=True):
            try:
                scene.check_command({joint: value}, mode)
            except InputError as error:
                raise _of_world(error, world) from None
        raise


def _of_world(error: InputError, world: int) -> InputError:
    return InputError(error.source, f"world {world}, {error.element}", error.problem, error.mend)
