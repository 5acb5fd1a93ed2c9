"""A set of commands: what each joint is to do from the next step on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hydro_sim_core.errors import InputError, excerpt
from hydro_sim_core.shared_memory.checks import check_flag
from hydro_sim_core.shared_memory.layout import Command, Mode
from hydro_sim_core.shared_memory.names import SOURCE
from hydro_sim_core.shared_memory.tables import JointRow

Joints = str | Sequence[str] | npt.NDArray[np.integer[Any]]
_NOT_NEGATIVE = (Command.KP, Command.KD, Command.TIMEOUT)
_GIVEN = {Command.POSITION: Mode.POSITION, Command.VELOCITY: Mode.VELOCITY, Command.EFFORT: Mode.EFFORT}


class Commands:
    """Commands to the joints of a simulation; at first to none of them.

    Interfaces mix freely: a joint follows ``kp (position - q) + kd (velocity - v) + effort`` with what it is given,
    clipped to its limit.

    Args:
        joints: The joints, in the order of the segment's table.
    """

    def __init__(self, joints: Sequence[JointRow]) -> None:
        self._names = [joint.name for joint in joints]
        self._row = {name: row for row, name in enumerate(self._names)}
        self._interfaces = np.array([int(joint.interfaces) for joint in joints], np.int64)
        self._gains = np.array([(joint.kp, joint.kd) for joint in joints]).reshape(-1, 2)
        self.reals = np.zeros((len(joints), Command.END))
        self.integers = self.reals.view(np.int64)

    def rows(self, joints: Joints) -> npt.NDArray[np.integer[Any]]:
        """Rows of joints in the table; give them in place of names where it has to be quick.

        Raises:
            InputError: There is no such joint.
        """
        if isinstance(joints, np.ndarray):
            return self._checked(joints)
        if isinstance(joints, str) or not isinstance(joints, Iterable):
            joints = (joints,)
        names = tuple(joints)
        for name in names:
            if not isinstance(name, str) or name not in self._row:
                known = ", ".join(self._names) or "none"
                raise InputError(
                    SOURCE, f"joint {excerpt(name)}", "is not in the simulation", f"it has: {known}"
                )
        return np.array([self._row[name] for name in names], np.intp)

    def _checked(self, rows: npt.NDArray[Any]) -> npt.NDArray[np.integer[Any]]:
        """Rows that a caller gives, if they are some."""
        count = len(self._names)
        is_list = rows.dtype.kind in "iu" and rows.ndim == 1
        if not is_list or not all(0 <= row < count for row in rows.tolist()):
            mend = f"give names, or an array of whole numbers from 0 to {count - 1}"
            raise InputError(SOURCE, "joints", f"{excerpt(rows.tolist())} are no rows of joints", mend)
        return rows

    def give(
        self,
        joints: Joints,
        *,
        position: npt.ArrayLike | None = None,
        velocity: npt.ArrayLike | None = None,
        effort: npt.ArrayLike | None = None,
        kp: npt.ArrayLike | None = None,
        kd: npt.ArrayLike | None = None,
        timeout: float = 0.0,
        floats: bool = False,
    ) -> None:
        """Command joints, in place of what they were given before. It acts when the set is sent.

        Args:
            joints: Names of joints, or rows of them; values are one for all or one each.
            position: rad or m.
            velocity: rad/s or m/s.
            effort: N m or N, added to what the drive gives.
            kp: Stiffness in place of that of the drive, N m/rad or N/m.
            kd: Damping in place of that of the drive, N m s/rad or N s/m.
            timeout: Simulated time for which it is in force, s; 0 for ever.
            floats: Whether the joint gives no effort after its time-out; it holds its position otherwise.

        Raises:
            InputError: There is no such joint, it has no such interface, nothing is given, a value is not finite, or
                gains or the time-out are negative.
        """
        rows = self.rows(joints)
        if len(set(rows.tolist())) < rows.size:
            raise InputError(SOURCE, "joints", "has one joint twice", "give each once")
        mode = int(Mode.FLOATS) if check_flag("floats", floats) else 0
        values: dict[Command, npt.ArrayLike] = {Command.TIMEOUT: timeout}
        for (word, bit), value in zip(_GIVEN.items(), (position, velocity, effort), strict=True):
            if value is not None:
                mode |= bit
                values[word] = value
        if kp is not None or kd is not None:
            mode |= Mode.GAINS
            values[Command.KP] = self._gains[rows, 0] if kp is None else kp
            values[Command.KD] = self._gains[rows, 1] if kd is None else kd
        # Nothing is written before all is known to fit: a set that is refused leaves what was there.
        values = {word: self._spread(rows, word, value) for word, value in values.items()}
        self._check(rows, mode, values)
        self.integers[rows, Command.MODE] = mode
        for word, value in values.items():
            self.reals[rows, word] = value

    def _spread(self, rows: npt.NDArray[Any], word: Command, value: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """A value for each row, of one for all or one each."""
        try:
            given = np.asarray(value)
            if given.dtype.kind not in "fiu":  # nor texts, and whole numbers beyond 64 bits
                raise TypeError
            return np.broadcast_to(given.astype(np.float64), rows.shape)
        except (TypeError, ValueError):
            problem = "is no number, and no list of one for each joint"
            raise InputError(SOURCE, word.name.lower(), problem, f"give one number, or {rows.size}") from None

    def leave_all(self) -> None:
        """Leave all joints to others."""
        self.reals[:] = 0.0

    def leave(self, joints: Joints) -> None:
        """Leave joints to others.

        Raises:
            InputError: There is no such joint.
        """
        self.reals[self.rows(joints)] = 0.0

    def _check(self, rows: npt.NDArray[Any], mode: int, values: dict[Command, Any]) -> None:
        if not mode & (Mode.POSITION | Mode.VELOCITY | Mode.EFFORT):
            mend = "give a position, a velocity or an effort, or call leave"
            raise InputError(SOURCE, "command", "tells joints nothing to do", mend)
        there = self._interfaces[rows]
        if mode & Mode.GAINS:  # with gains of the command every drive follows positions and velocities
            there = np.where(there != 0, there | Mode.POSITION | Mode.VELOCITY, 0)
        lacking = mode & ~there & ~Mode.FLOATS
        if lacking.any():
            first = int(np.argmax(lacking != 0))
            has = Mode(int(self._interfaces[rows[first]]))
            raise InputError(
                SOURCE,
                f"joint '{self._names[rows[first]]}'",
                f"has no interface for {_words(Mode(int(lacking[first])))}",
                f"it has {_words(has)}" if has else "it cannot be driven: leave it out",
            )
        for word, value in values.items():
            if not np.isfinite(value).all():
                raise InputError(
                    SOURCE,
                    f"{word.name.lower()} of {', '.join(self._names[row] for row in rows)}",
                    "is not finite",
                    "give finite numbers",
                )
            if word in _NOT_NEGATIVE and (value < 0.0).any():
                element = f"{word.name.lower()} of {', '.join(self._names[row] for row in rows)}"
                raise InputError(SOURCE, element, "is negative", "give 0 or more")


def _words(mode: Mode) -> str:
    return ", ".join(bit.name.lower() for bit in Mode if bit in mode and bit is not Mode.FLOATS and bit.name)
