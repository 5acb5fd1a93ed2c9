"""Springs that pull points of links towards points of the world, as a hand does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hydro_sim_core.arithmetic import product
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation.stepping.model import count_loads
from hydro_sim_core.simulation.stepping.pulls import DAMPING, POINT, STIFFNESS, TARGET
from hydro_sim_core.simulation.world.parts import WorldParts, checked_array

Array = NDArray[np.float64]

#: Angular frequency (rad/s) at which the default spring moves a point: its own weight lengthens the spring by 25 mm.
PULL_FREQUENCY = 20.0
#: Bounds on positions (m), stiffness (N/m) and damping (N s/m).
_FARTHEST, _STIFFEST = 1e6, 1e12


@dataclass(frozen=True)
class Pull:
    """A spring with a damper from a point of a link to a point of the world.

    Attributes:
        link: Name of the link.
        point: (3,) the point in the link's frame, m.
        target: (3,) where it is pulled to, in the world, m.
        stiffness: N/m.
        damping: Against the point's velocity in the world, N s/m.
    """

    link: str
    point: tuple[float, float, float]
    target: tuple[float, float, float]
    stiffness: float
    damping: float

    def point_in_world(self, X_WL: Array) -> Array:
        """Where the point (3,) is, m, with the link at ``X_WL`` (4, 4)."""
        return product(X_WL[:3, :3], self.point) + X_WL[:3, 3]

    def force(self, X_WL: Array, V_WL: Array) -> Array:
        """Force on the link (3,), world axes, N.

        Args:
            X_WL: (4, 4) pose of the link in the world.
            V_WL: (6,) its twist about the world's origin, angular part first, rad/s and m/s.
        """
        p = self.point_in_world(X_WL)
        return self.stiffness * (np.array(self.target) - p) - self.damping * (
            V_WL[3:] + np.cross(V_WL[:3], p)
        )


class WorldPulls(WorldParts):
    """Springs that pull links, by the links' names."""

    def pull(
        self,
        link: str,
        point: ArrayLike,
        target: ArrayLike,
        stiffness: float | None = None,
        damping: float | None = None,
    ) -> None:
        """Pull a point of a link by a spring with a damper, from now on until ``let_go`` or the world is reset.

        A link has one such spring: another call moves it. Steps treat it implicitly, so that a stiff spring needs no
        short step.

        Args:
            link: Name in ``frame_names``.
            point: (3,) point in the link's frame, which it moves with, m.
            target: (3,) point in the world to which it is pulled, m.
            stiffness: N/m, above 0. By default as of a spring on which the mass that the point moves now, at most that
                of all bodies jointed to the link, swings at ``PULL_FREQUENCY``.
            damping: N s/m against the point's velocity in the world. By default critical for the mass that swings at
                ``PULL_FREQUENCY`` with this stiffness.

        Raises:
            InputError: There is no such link, no force can move it, or a number is invalid. Nothing is then changed.
        """
        row, numbers = self._checked_pull(link, point, target, stiffness, damping)
        if stiffness is None:
            mass = self._mass_at(int(self._built.model.link_body[row]), row, numbers[POINT:TARGET])
            numbers[STIFFNESS] = mass * PULL_FREQUENCY * PULL_FREQUENCY
        if damping is None:
            numbers[DAMPING] = 2.0 * numbers[STIFFNESS] / PULL_FREQUENCY
        self._set_pull(row, numbers)

    def check_pull(
        self,
        link: str,
        point: ArrayLike,
        target: ArrayLike,
        stiffness: float | None = None,
        damping: float | None = None,
    ) -> None:
        """Raise what ``pull`` would raise, without pulling; from any thread."""
        self._checked_pull(link, point, target, stiffness, damping)

    def let_go(self, link: str) -> None:
        """End the pull of a link, if there is one.

        Raises:
            InputError: There is no such link.
        """
        self._set_pull(self.row_of_frame("let_go", link), 0.0)

    @property
    def pulls(self) -> tuple[Pull, ...]:
        """The springs that pull links, in the order of ``frame_names``."""
        loads = self._machine.loads
        if loads.num_pulls[0] == 0:
            return ()
        rows = np.flatnonzero(loads.pull[:, STIFFNESS])
        return tuple(_as_pull(self.frame_names[row], loads.pull[row].tolist()) for row in rows)

    @property
    def pullable_links(self) -> tuple[str, ...]:
        """The links that forces move, in the order of ``frame_names``."""
        return tuple(name for row, name in enumerate(self.frame_names) if self.why_unmoved(row) is None)

    def _checked_pull(
        self, link: str, point: ArrayLike, target: ArrayLike, stiffness: float | None, damping: float | None
    ) -> tuple[int, Array]:
        """Row of the link, and its row of ``Loads.pull`` with 0 in place of what is None."""
        row = self.row_of_frame("pull", link)
        problem = self.why_unmoved(row)
        if problem is not None:
            raise InputError("pull", f"link '{link}'", problem, "pull a link that forces move")
        places = [checked_array("point", point, 3), checked_array("target", target, 3)]
        if np.abs(places).max() > _FARTHEST:
            problem = f"is farther than {_FARTHEST:g} m from the origin"
            raise InputError("pull", "point or target", problem, "give a nearer one")
        gains = [0.0 if gain is None else _gain(name, gain) for name, gain in _gains(stiffness, damping)]
        if stiffness is not None and gains[0] == 0.0:
            raise InputError("pull", "stiffness", "is 0", "let go of the link instead")
        return row, np.concatenate([*places, gains])

    def _set_pull(self, row: int, numbers: Array | float) -> None:
        self._machine.loads.pull[row] = numbers
        count_loads(self._machine.loads)

    def _mass_at(self, body: int, row: int, point: Array) -> float:
        """Mass that a force on a point of a link moves, mean over directions, kg: at most that of its tree."""
        model = self._built.model
        tree = int(model.forest.tree_of_body[body])
        mine = model.forest.velocities[model.forest.first[tree] : model.forest.first[tree + 1]]
        posture = self._evaluator.update(self._state.q)
        X_WL = product(posture.body_pose(body), self._built.assembly.X_BL[row])
        J = posture.point_jacobian(body, product(X_WL[:3, :3], point) + X_WL[:3, 3])[3:, mine]
        mobility = _inverse_inertia(posture.mass_matrix()[np.ix_(mine, mine)], J)
        heaviest = float(model.tree.mass[model.forest.tree_of_body == tree].sum())
        return min(3.0 / mobility, heaviest) if mobility > 0.0 else heaviest


def _as_pull(link: str, numbers: Sequence[float]) -> Pull:
    x, y, z, *rest = numbers
    return Pull(link, (x, y, z), (rest[0], rest[1], rest[2]), rest[3], rest[4])


def _gains(stiffness: float | None, damping: float | None) -> tuple[tuple[str, float | None], ...]:
    return ("stiffness", stiffness), ("damping", damping)


def _gain(name: str, value: float) -> float:
    gain = float(checked_array(name, [value], 1)[0])
    if not 0.0 <= gain <= _STIFFEST:
        raise InputError("pull", name, f"is {gain:g}", f"give 0 to {_STIFFEST:g}")
    return gain


def _inverse_inertia(M: Array, J: Array) -> float:
    """Trace of J M^-1 J^T, by elimination without products of NumPy's, whose last bits differ by machine."""
    A, B = M.copy(), J.T.copy()
    for k in range(len(A)):
        share = A[k + 1 :, k] / A[k, k]
        A[k + 1 :] -= share[:, None] * A[k]
        B[k + 1 :] -= share[:, None] * B[k]
    # With M = L D L^T, what is left of J^T is L^-1 J^T, and the trace is the sum of its squares over D.
    return math.fsum((B * B / A.diagonal()[:, None]).ravel())
