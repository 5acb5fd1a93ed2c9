"""``SoftSystem``: forward and inverse dynamics of articulated bodies under smooth contact, over any array library.

Equations 24 and 25 of Beker 2025. With NumPy it computes numbers; with JAX, ``jax.grad``, ``jax.hessian`` and
``jax.vmap`` apply to everything here, over states, efforts and the points of the clouds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import array_api_compat
import numpy as np

from hydro_sim_core.contact.soft_distance import OrientedCloud, SoftContactModel, point_forces
from hydro_sim_core.contact.soft_distance.checks import (
    check_libraries,
    check_numbers,
    check_range,
    holds,
    is_traced,
)
from hydro_sim_core.contact.soft_distance.cloud import Planes, placed
from hydro_sim_core.contact.soft_distance.pytrees import pytree
from hydro_sim_core.dynamics import KinematicTree
from hydro_sim_core.dynamics.array_form import (
    Posture,
    bias_forces,
    coordinate_rates,
    cross,
    integrated,
    mass_matrix,
    masses_of_tree,
    normalised,
    posture,
)
from hydro_sim_core.dynamics.tree import quaternion_starts
from hydro_sim_core.errors import InputError, whole_number

AnyArray = Any
Scheme = Literal["euler", "rk4"]

#: Lengths of a step, s.
_STEPS = 1e-12, 1e6
#: Quaternions need not be normalised, but shorter ones, or longer than its inverse, are no turn.
_LEAST_QUATERNION = 1e-6


@pytree(traced=("model",), fixed=("a", "b"))
@dataclass(frozen=True)
class SoftPair:
    """Two clouds that touch, by their indices, and how they do.

    Attributes:
        a: Index of surface A in ``SoftSystem.clouds``.
        b: Index of surface B.
        model: Parameters of the pair, with smoothing of its own.
    """

    a: int
    b: int
    model: SoftContactModel


@pytree(traced=("clouds", "pairs"), fixed=("tree", "bodies"))
@dataclass(frozen=True, eq=False)
class SoftSystem:
    """Articulated bodies with clouds fixed to them. Immutable: ``with_clouds`` gives one with other shapes.

    Efforts of a joint's damping and spring belong to the dynamics; its Coulomb friction, stops and drives do not, as
    they are not smooth: ``tau`` has what drives do.

    Once JAX is imported, systems are pytrees: arguments of ``jax.jit``, and ``jax.grad`` gives derivatives by all
    points, normals and parameters. Bodies, joints and pairs are fixed: for others JAX compiles again.

    Attributes:
        tree: Bodies and joints.
        clouds: Surfaces in the frames of their bodies.
        bodies: Body that carries each cloud, -1 for the world.
        pairs: Which of them touch.

    Raises:
        InputError: A body or a cloud that is named is not there, two half spaces make a pair, or clouds are of several
            array libraries. All methods raise it for arrays of another shape, library or type than the clouds', and
            numbers that are not finite; what JAX traces is not known, and passes the checks of numbers.
    """

    tree: KinematicTree
    clouds: tuple[OrientedCloud, ...]
    bodies: tuple[int, ...]
    pairs: tuple[SoftPair, ...]

    def __post_init__(self) -> None:
        if len(self.clouds) != len(self.bodies):
            problem = f"has {len(self.bodies)} entries for {len(self.clouds)} clouds"
            raise InputError("SoftSystem", "bodies", problem, "give one a cloud")
        check_libraries("SoftSystem", **{f"clouds[{i}]": cloud.points for i, cloud in enumerate(self.clouds)})
        count = len(self.tree.parent)
        for number, body in enumerate(self.bodies):
            if not -1 <= whole_number("SoftSystem", f"bodies[{number}]", body, least=-1) < count:
                mend = f"give one of {count} bodies, or -1 for the world"
                raise InputError("SoftSystem", f"bodies[{number}]", f"is {body}", mend)
        for number, pair in enumerate(self.pairs):
            self._check_pair(f"pairs[{number}]", pair)

    def _check_pair(self, element: str, pair: SoftPair) -> None:
        for index in (pair.a, pair.b):
            whole_number("SoftSystem", element, index, least=0)
        if not max(pair.a, pair.b) < len(self.clouds) or pair.a == pair.b:
            raise InputError("SoftSystem", element, "names no two clouds", "give two indices")
        if self.clouds[pair.a].is_half_space and self.clouds[pair.b].is_half_space:
            raise InputError(
                "SoftSystem", element, "is of two half spaces", "give one of them a bounded body"
            )

    def with_clouds(self, clouds: Sequence[OrientedCloud]) -> SoftSystem:
        """The system with other clouds on the same bodies."""
        return replace(self, clouds=tuple(clouds))

    def as_arrays_of(self, namespace: Any) -> SoftSystem:
        """The system with clouds of another array library, such as ``jax.numpy``; states have to be of the same one."""
        return self.with_clouds([cloud.as_arrays_of(namespace) for cloud in self.clouds])

    def points(self, q: AnyArray, cloud: int) -> AnyArray:
        """Points (N, 3) of a cloud in the world, m."""
        self._check_cloud(cloud)
        self._check(q=q)
        return self._placed(posture(self.tree, q), cloud).points

    def point_jacobians(self, q: AnyArray, cloud: int) -> AnyArray:
        """Jacobians (N, 3, nv) of a cloud's points: J v is their velocity in the world, m/s."""
        self._check_cloud(cloud)
        self._check(q=q)
        xp = array_api_compat.array_namespace(q)
        posed = posture(self.tree, q)
        points = self._placed(posed, cloud).points
        J = self._jacobian(posed, cloud, q)
        angular = xp.broadcast_to(J[:3, :].T[None, :, :], (points.shape[0], J.shape[1], 3))
        arms = xp.broadcast_to(points[:, None, :], angular.shape)
        return xp.permute_dims(J[3:, :].T[None, :, :] + cross(angular, arms), (0, 2, 1))

    def point_velocities(self, q: AnyArray, v: AnyArray, cloud: int) -> AnyArray:
        """Velocities (N, 3) of a cloud's points in the world, m/s."""
        self._check(q=q, v=v)
        return self.point_jacobians(q, cloud) @ v

    def contact_forces(self, q: AnyArray, v: AnyArray) -> AnyArray:
        """(nv,) generalised contact forces of all pairs, the sum of eq. 23."""
        self._check(q=q, v=v)
        return self._contact_forces(posture(self.tree, q), q, v)

    def forward(self, q: AnyArray, v: AnyArray, tau: AnyArray) -> AnyArray:
        """Accelerations (nv,) at generalised forces tau (nv,), eq. 25."""
        self._check(q=q, v=v, tau=tau)
        xp = array_api_compat.array_namespace(q)
        posed = posture(self.tree, q)
        total = tau - self._passive(posed, q, v) + self._contact_forces(posed, q, v)
        return xp.linalg.solve(self._mass_matrix(posed, q), total[:, None])[:, 0]

    def inverse(self, q: AnyArray, v: AnyArray, acceleration: AnyArray) -> AnyArray:
        """Generalised forces (nv,) that make the accelerations (nv,), eq. 24."""
        self._check(q=q, v=v, acceleration=acceleration)
        posed = posture(self.tree, q)
        needed = self._mass_matrix(posed, q) @ acceleration + self._passive(posed, q, v)
        return needed - self._contact_forces(posed, q, v)

    def step(
        self, q: AnyArray, v: AnyArray, tau: AnyArray, dt: float, scheme: Scheme = "rk4"
    ) -> tuple[AnyArray, AnyArray]:
        """Coordinates and velocities after ``dt`` (s) at constant generalised forces.

        Args:
            q: (nq,) coordinates.
            v: (nv,) velocities.
            tau: (nv,) generalised forces, N m or N.
            dt: Length of the step, s.
            scheme: ``euler``, which moves with the new velocities and is of first order, or ``rk4``, the classical
                Runge-Kutta method of fourth order.
        """
        _check_step(dt, scheme)
        self._check(q=q, v=v, tau=tau)
        if scheme == "euler":
            after = v + dt * self.forward(q, v, tau)
            return integrated(self.tree, q, after, dt), after

        def stage(before: tuple[AnyArray, AnyArray], share: AnyArray) -> tuple[Any, Any]:
            at_q, at_v = q + share * before[0], v + share * before[1]
            rates = coordinate_rates(self.tree, at_q, at_v), self.forward(at_q, at_v, tau)
            return rates, rates

        xp = array_api_compat.array_namespace(q)
        shares = xp.asarray([0.0, 0.5, 0.5, 1.0], dtype=q.dtype) * dt
        stages = _scanned(stage, (xp.zeros_like(q), xp.zeros_like(v)), shares)
        rates = [(a[0, :] + 2.0 * (a[1, :] + a[2, :]) + a[3, :]) / 6.0 for a in stages]
        return normalised(self.tree, q + dt * rates[0]), v + dt * rates[1]

    def rollout(
        self, q: AnyArray, v: AnyArray, efforts: AnyArray, dt: float, scheme: Scheme = "rk4"
    ) -> tuple[AnyArray, AnyArray]:
        """Coordinates (T + 1, nq) and velocities (T + 1, nv) of T steps, the start included.

        Args:
            q: (nq,) coordinates at the start.
            v: (nv,) velocities.
            efforts: (T, nv) generalised forces of every step.
            dt: Length of a step, s.
            scheme: As for ``step``.
        """
        _check_step(dt, scheme)
        self._check(q=q, v=v, efforts=efforts)
        xp = array_api_compat.array_namespace(q)

        def advance(state: tuple[AnyArray, AnyArray], tau: AnyArray) -> tuple[Any, Any]:
            after = self.step(*state, tau, dt, scheme)
            return after, after

        qs, vs = _scanned(advance, (q, v), efforts)
        return xp.concat([q[None, :], qs]), xp.concat([v[None, :], vs])

    def _mass_matrix(self, posed: Posture, q: AnyArray) -> AnyArray:
        return mass_matrix(self.tree, posed, masses_of_tree(self.tree, q))

    def _passive(self, posed: Posture, q: AnyArray, v: AnyArray) -> AnyArray:
        """Bias forces less the efforts of joint damping and springs (nv,)."""
        xp = array_api_compat.array_namespace(q)
        tree = self.tree
        total = (
            bias_forces(tree, posed, masses_of_tree(tree, q), v)
            + xp.asarray(np.array(tree.damping), dtype=v.dtype) * v
        )
        sprung = np.flatnonzero((tree.spring_stiffness > 0.0) & (tree.q_of_v >= 0))
        if len(sprung):
            stretch = xp.take(q, xp.asarray(tree.q_of_v[sprung])) - xp.asarray(tree.spring_reference[sprung])
            select = np.zeros((len(total), len(sprung)))
            select[sprung, np.arange(len(sprung))] = tree.spring_stiffness[sprung]
            total = total + xp.asarray(select, dtype=v.dtype) @ stretch
        return total

    def _contact_forces(self, posed: Posture, q: AnyArray, v: AnyArray) -> AnyArray:
        xp = array_api_compat.array_namespace(q)
        total = xp.zeros_like(v)
        planes = {index: self._placed(posed, index) for pair in self.pairs for index in (pair.a, pair.b)}
        for pair in self.pairs:
            J = self._jacobian(posed, pair.b, q) - self._jacobian(posed, pair.a, q)
            twist = J @ v
            # Round-off grows with the distance from the origin about which moments are taken.
            middle = xp.mean(planes[pair.b].points, axis=0)
            a, b = (_shifted(planes[index], -middle) for index in (pair.a, pair.b))
            pressed = point_forces(a, b, twist[:3], twist[3:] + cross(twist[:3], middle), pair.model)
            force = xp.sum(pressed.forces, axis=0)
            moment = xp.sum(cross(pressed.points, pressed.forces), axis=0) + cross(middle, force)
            total = total + J.T @ xp.concat([moment, force])
        return total

    def _placed(self, posed: Posture, cloud: int) -> Planes:
        """A cloud in the world."""
        body, own = self.bodies[cloud], self.clouds[cloud]
        if body < 0:
            return Planes(own.points, own.normals, own.is_half_space)
        return placed(own, posed.R_WB[body], posed.p_WB[body])

    def _jacobian(self, posed: Posture, cloud: int, q: AnyArray) -> AnyArray:
        """Jacobian (6, nv) of the body of a cloud about the world's origin; zero for the world."""
        xp = array_api_compat.array_namespace(q)
        body = self.bodies[cloud]
        return posed.jacobians[body] if body >= 0 else xp.zeros((6, len(self.tree.damping)), dtype=q.dtype)

    def _check_cloud(self, cloud: int) -> None:
        if whole_number("SoftSystem", "cloud", cloud, least=0) >= len(self.clouds):
            raise InputError("SoftSystem", "cloud", f"is {cloud}", f"give one of {len(self.clouds)} clouds")

    def _check(self, **arrays: AnyArray) -> None:
        """Refuse arrays, by their names, of the wrong shape, library or type, and numbers that are not finite."""
        nq, nv = _num_coordinates(self.tree), len(self.tree.damping)
        for name, array in arrays.items():
            check_numbers("SoftSystem", name, array)
            shape = tuple(array.shape)
            if name == "efforts":
                if len(shape) != 2 or shape[1] != nv:
                    raise InputError("SoftSystem", name, f"has shape {shape}", f"give shape (T, {nv})")
            elif shape != (count := nq if name == "q" else nv,):
                raise InputError("SoftSystem", name, f"has shape {shape}", f"give {count} numbers")
        of_clouds = {"clouds": self.clouds[0].points} if self.clouds else {}
        check_libraries("SoftSystem", **of_clouds, **arrays)
        if "q" in arrays:
            self._check_quaternions(arrays["q"])

    def _check_quaternions(self, q: AnyArray) -> None:
        if is_traced(q):
            return
        xp = array_api_compat.array_namespace(q)
        for first in quaternion_starts(self.tree).tolist():
            length = xp.sqrt(xp.sum(q[first : first + 4] ** 2))
            if not holds((length > _LEAST_QUATERNION) & (length < 1.0 / _LEAST_QUATERNION)):
                problem = f"has a quaternion of length {float(length):g} from entry {first} on"
                raise InputError("SoftSystem", "q", problem, "give one of length 1")


def _num_coordinates(tree: KinematicTree) -> int:
    return int((tree.q_index + tree.num_q).max(initial=0))


def _check_step(dt: float, scheme: str) -> None:
    check_range(dt, "SoftSystem", "dt", _STEPS)
    if scheme not in ("euler", "rk4"):
        raise InputError("SoftSystem", "scheme", f"is {scheme!r}", "give euler or rk4")


def _shifted(planes: Planes, shift: AnyArray) -> Planes:
    return planes._replace(points=planes.points + shift)


def _scanned(
    advance: Callable[[Any, Any], tuple[Any, Any]], state: tuple[AnyArray, AnyArray], rows: AnyArray
) -> tuple[AnyArray, AnyArray]:
    """What each row gives: JAX compiles one advance for all of them, other libraries take one after the other."""
    if array_api_compat.is_jax_array(rows):
        import jax

        return jax.lax.scan(advance, state, rows)[1]  # type: ignore[no-any-return]
    xp = array_api_compat.array_namespace(rows)
    first, second = [], []
    for k in range(rows.shape[0]):
        state, _ = advance(state, rows[k, ...])
        first.append(state[0])
        second.append(state[1])
    empty = tuple(xp.zeros((0, part.shape[0]), dtype=part.dtype) for part in state)
    return (xp.stack(first), xp.stack(second)) if first else empty
