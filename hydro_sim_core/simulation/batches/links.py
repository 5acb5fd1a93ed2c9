"""Links of many worlds: where they are, how they move, and what their joints transmit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.arithmetic import cross
from hydro_sim_core.simulation.stepping.model import Loads
from hydro_sim_core.simulation.world.link_masses import LinkMasses, momentum_rates, with_other_bodies
from hydro_sim_core.simulation.world.link_wrenches import PatchRows, signs_on_all, wrench_about
from hydro_sim_core.simulation.world.world import World


class Begins(NamedTuple):
    """Where the last steps of ``n`` worlds began; where none led to the present state, that state.

    Attributes:
        q: (n, nq) coordinates.
        v: (n, nv) velocities.
    """

    q: Any
    v: Any


class Pushes(NamedTuple):
    """What pushed links of ``n`` worlds in their last steps, beside contact; nothing where none led to the state.

    Attributes:
        wrench: (n, links, 6) of ``apply_wrench``, for each link at its origin, N m and N.
        pulled: Worlds in which springs pulled.
    """

    wrench: Any
    pulled: Sequence[int]


class Worlds(Protocol):
    """Worlds in the memory of a processor or a GPU."""

    @property
    def numpy(self) -> Any:
        """What makes arrays there: NumPy, or CuPy."""

    def parameter(self, name: str) -> Any:
        """(n, ...) rows of a parameter."""

    def patches(self) -> PatchRows:
        """Patches of the steps that led to the states of the worlds."""

    def begins(self) -> Begins:
        """Where these steps began."""

    def motions_of_steps(self) -> tuple[Any, Any, Any]:
        """Postures (n, nq), velocities and accelerations (n, nv) with which momenta changed in them.

        As ``World.motion_of_step``.
        """

    def pushes(self) -> Pushes:
        """What else pushed in them."""

    def body_motions(self, scene: int, q: Any, v: Any) -> tuple[Any, Any, Any]:
        """How the bodies of a scene lie and move in m worlds at coordinates (m, nq) and velocities (m, nv).

        Returns:
            Orientations (m, nb, 3, 3), origins (m, nb, 3), m, and twists (m, nb, 6) about the origin of the world.
        """

    def body_accelerations(self, scene: int, q: Any, v: Any, a: Any) -> tuple[Any, Any, Any, Any]:
        """The same, and their accelerations (m, nb, 6) about that origin, relative to free fall.

        Args:
            scene: Which scene.
            q: (m, nq) coordinates.
            v: (m, nv) velocities.
            a: (m, nv) accelerations, rad/s^2 or m/s^2.
        """


def begins_of(numpy: Any, rows: Mapping[str, Any], led_here: Any) -> Begins:
    """``Worlds.begins`` of worlds with these rows, whose last steps led to their states or not (n,)."""

    def begin(name: str) -> Any:
        return numpy.where(led_here[:, None], rows[f"begin.{name}"], rows[f"machine.state.{name}"])

    return Begins(begin("q"), begin("v"))


def pushes_of(numpy: Any, pushed: Loads, led_here: Any) -> Pushes:
    """``Worlds.pushes`` of worlds with these loads in their last steps, which led to their states or not (n,)."""
    wrench = numpy.where(led_here[:, None, None], pushed.wrench, 0.0)
    return Pushes(wrench, numpy.flatnonzero(led_here & (pushed.num_pulls[:, 0] > 0)).tolist())


def mean_motions(begins: Begins, v: Any, dt: float) -> tuple[Any, Any, Any]:
    """``Worlds.motions_of_steps`` of fixed steps of ``dt`` (s) that ended with velocities ``v`` (n, nv)."""
    return begins.q, 0.5 * (begins.v + v), (v - begins.v) / dt


class Links:
    """Links of the worlds of a batch.

    Args:
        worlds: The worlds.
        scenes: A world of each scene.
        scene_of: (n,) scene of every world.
    """

    def __init__(self, worlds: Worlds, scenes: Sequence[World], scene_of: NDArray[np.int64]) -> None:
        self._worlds, self._scenes, self._scene_of = worlds, scenes, scene_of
        self._numpy = worlds.numpy

    def motions(self, q: Any, v: Any) -> tuple[Any, Any]:
        """Poses (n, links, 4, 4) and twists (n, links, 6) about the world's origin, at (n, nq) and (n, nv)."""
        X_WL, V_WL = self._empty(4, 4), self._empty(6)
        for k, worlds in self._of_scenes():
            R_WB, p_WB, V_WB = self._worlds.body_motions(k, q[worlds], v[worlds])
            X_WL[worlds] = self._poses(k, R_WB, p_WB)
            V_WL[worlds] = self._of_links(k, V_WB, np.zeros(6))
        return X_WL, V_WL

    def joint_wrenches(self, joint: str, pushed: Any) -> Any:
        """What a joint transmits in every world (n, 6), as ``World.joint_wrench``, where no springs pull.

        Args:
            joint: The joint.
            pushed: (n, links, 6) wrenches on links in the last steps, each at its origin.

        Raises:
            InputError: There is no such joint.
        """
        world, numpy = self._scenes[0], self._numpy
        rows = world.rows_carried_by(joint)
        X_WL, rates = self._momentum_rates()
        X_WL, rates, pushed = X_WL[:, rows], rates[:, rows].sum(axis=1), pushed[:, rows]
        origins = X_WL[..., :3, 3]
        about = origins[:, 0]  # the origin of the child's frame
        signs = numpy.asarray(signs_on_all(world.built, {world.frame_names[row] for row in rows}))
        touched = wrench_about(numpy, self._worlds.patches(), signs, about)
        turned = pushed[..., :3] + cross(origins - about[:, None], pushed[..., 3:])
        moment = rates[:, :3] - cross(about, rates[:, 3:]) - touched[:, :3] - turned.sum(axis=1)
        force = rates[:, 3:] - touched[:, 3:] - pushed[..., 3:].sum(axis=1)
        # What the child applies to its parent, along the axes of the child.
        R_LW = X_WL[:, 0, :3, :3].swapaxes(-1, -2)
        return -numpy.concatenate([R_LW @ moment[..., None], R_LW @ force[..., None]], axis=1)[..., 0]

    def _momentum_rates(self) -> tuple[Any, Any]:
        """Poses of all links in the last steps, and their rates of momentum (n, links, 6)."""
        q, mean, a = self._worlds.motions_of_steps()
        X_WL, rates = self._empty(4, 4), self._empty(6)
        for k, worlds in self._of_scenes():
            R, p, V, A = self._worlds.body_accelerations(k, q[worlds], mean[worlds], a[worlds])
            gravity = self._scenes[k].built.model.tree.gravity
            X_WL[worlds] = X = self._poses(k, R, p)
            V = self._of_links(k, V, np.zeros(6))
            # What stands in the world falls upwards, seen from what falls freely.
            A = self._of_links(k, A, np.append(np.zeros(3), -gravity))
            rates[worlds] = momentum_rates(self._numpy, self._masses(k, worlds), gravity, X, V, A)
        return X_WL, rates

    def _masses(self, scene: int, worlds: Any) -> LinkMasses:
        """Masses of the links of some worlds of a scene."""
        world, rows = self._scenes[scene], self._worlds.parameter
        now = rows("mass")[worlds], rows("centre_of_mass")[worlds], rows("inertia")[worlds]
        built = world.built
        return with_other_bodies(self._numpy, world.link_masses, built.assembly, built.model.tree, now)

    def _poses(self, scene: int, R_WB: Any, p_WB: Any) -> Any:
        """Poses (m, links, 4, 4) of the links of bodies that lie so, and of those that stand in the world."""
        numpy, assembly = self._numpy, self._scenes[scene].built.assembly
        m, nb = p_WB.shape[:2]
        X_WB = numpy.zeros((m, nb + 1, 4, 4))
        X_WB[:, :nb, :3, :3], X_WB[:, :nb, :3, 3] = R_WB, p_WB
        X_WB[:, nb, :3, :3] = numpy.eye(3)  # index -1: the world
        X_WB[:, :, 3, 3] = 1.0
        return X_WB[:, numpy.asarray(assembly.link_body)] @ numpy.asarray(assembly.X_BL)

    def _of_links(self, scene: int, of_bodies: Any, of_world: Any) -> Any:
        """(m, links, 6) what bodies (m, nb, 6) have, and the world (6,), for the links on them."""
        numpy, body = self._numpy, self._scenes[scene].built.assembly.link_body
        world = numpy.broadcast_to(numpy.asarray(of_world), (len(of_bodies), 1, 6))
        return numpy.concatenate((of_bodies, world), axis=1)[:, numpy.asarray(body)]

    def _of_scenes(self) -> Iterator[tuple[int, Any]]:
        """Each scene, and the numbers of its worlds."""
        for k in range(len(self._scenes)):
            yield k, self._numpy.asarray(np.flatnonzero(self._scene_of == k))

    def _empty(self, *shape: int) -> Any:
        """Room for something (n, links, ...)."""
        return self._numpy.empty((len(self._scene_of), len(self._scenes[0].frame_names), *shape))
