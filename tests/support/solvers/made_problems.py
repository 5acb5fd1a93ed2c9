"""Random step problems, and their cost, impulses and residual written out face by face in NumPy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hydro_sim_core.dynamics import Forest
from hydro_sim_core.simulation.stepping.patch_loading import LEAST_INVERSE_MASS
from hydro_sim_core.solvers import ContactProblem, SolverOptions, find_islands, make_problem
from hydro_sim_core.solvers.face_laws import FRICTION_SOFTNESS
from hydro_sim_core.solvers.problem import (
    ELASTIC,
    FRICTION,
    INVERSE_MASS,
    LANES,
    LIMIT_INVERSE_R,
    LIMIT_SIGN,
    LIMIT_TARGET,
    NUM_FACE_ROWS,
    SLIP,
    STIFFNESS_DT,
    N,
    X,
)

DT = 1e-3
OPTIONS = SolverOptions(tolerance=1e-8, max_iterations=100, stiction_speed=1e-4, lags=True, relag=False)


@dataclass
class Faces:
    """Faces of one patch, one row a face, as the rows of a block but with vectors together."""

    x: np.ndarray
    n: np.ndarray
    elastic: np.ndarray
    stiffness_dt: np.ndarray
    friction: np.ndarray
    slip: np.ndarray

    @property
    def num(self) -> int:
        return len(self.elastic)


def random_faces(rng: np.random.Generator, num: int) -> Faces:
    """Faces around a patch's mean normal: some pressed hard, some barely, some in the margin skirt."""
    n = rng.normal(size=3) + 0.3 * rng.normal(size=(num, 3))
    k = 10.0 ** rng.uniform(1.0, 5.0, num)
    depth = rng.uniform(-1e-5, 2e-4, num)
    return Faces(
        x=rng.uniform(-0.05, 0.05, (num, 3)),
        n=n / np.linalg.norm(n, axis=1, keepdims=True),
        elastic=k * depth,
        stiffness_dt=DT * k,
        friction=10.0 ** rng.uniform(-6.0, -2.0, num),
        slip=10.0 ** rng.uniform(-5.0, -2.0, num),
    )


def load_faces(problem: ContactProblem, patches: list[Faces], lanes: list[int] | None = None) -> None:
    """Write patches into blocks; ``lanes`` caps the faces a block takes, the rest being padding."""
    block = 0
    for p, faces in enumerate(patches):
        problem.first_block[p] = block
        per_block = LANES if lanes is None else lanes[p]
        for first in range(0, faces.num, per_block):
            rows = np.zeros((NUM_FACE_ROWS, LANES))
            rows[SLIP] = rows[INVERSE_MASS] = 1.0
            count = min(per_block, faces.num - first)
            chosen = slice(first, first + count)
            rows[X : X + 3, :count] = faces.x[chosen].T
            rows[N : N + 3, :count] = faces.n[chosen].T
            rows[ELASTIC, :count] = faces.elastic[chosen]
            rows[STIFFNESS_DT, :count] = faces.stiffness_dt[chosen]
            rows[FRICTION, :count] = faces.friction[chosen]
            rows[SLIP, :count] = faces.slip[chosen]
            problem.blocks[block] = rows.ravel()
            block += 1
        problem.end_block[p] = block
    problem.num_patches[0] = len(patches)


def set_inverse_mass(problem: ContactProblem, p: int, w: float) -> None:
    """Give a loaded patch, and all of its faces, an inverse mass (1/kg)."""
    problem.delassus[p] = w
    blocks = problem.blocks.reshape(-1, NUM_FACE_ROWS, LANES)
    blocks[problem.first_block[p] : problem.end_block[p], INVERSE_MASS] = w


def forest_of(first: np.ndarray, velocities: np.ndarray) -> Forest:
    """Trees by their velocities; the solvers do not look at bodies."""
    nothing = np.zeros(0, dtype=np.bool_)
    none = np.zeros(0, dtype=np.int64)
    return Forest(none, first, velocities, none, nothing, nothing)


def couple_all(problem: ContactProblem) -> None:
    """Make all velocities one tree that every patch ties to the world."""
    nv = len(problem.v0)
    problem.dt[0] = DT
    problem.islands.patch_trees[:] = (0, -1)
    forest = forest_of(np.array([0, nv]), np.arange(nv))
    find_islands(forest, problem.num_patches[0], problem.islands)


@dataclass
class MadeProblem:
    """A problem as the solver reads it and the faces it was made from."""

    problem: ContactProblem
    patches: list[Faces]


def random_problem(seed: int) -> MadeProblem:
    """Patches between bodies with any coupling, drives, end stops and friction, of every degree of activity."""
    rng = np.random.default_rng(seed)
    nv = int(rng.integers(1, 16))
    num_patches = int(rng.integers(0, 4))
    patches = [random_faces(rng, int(rng.integers(1, 60))) for _ in range(num_patches)]
    problem = make_problem(1, nv, 4, 64 * 4)
    root = rng.normal(size=(nv, nv)) * 10.0 ** rng.uniform(-1.0, 0.5, nv)
    problem.A[:] = root @ root.T + np.diag(10.0 ** rng.uniform(-2.0, 0.5, nv))
    problem.v0[:] = rng.normal(size=nv) * 10.0 ** rng.uniform(-3.0, 0.5)
    force = rng.normal(size=nv) * 10.0 ** rng.uniform(-1.0, 2.0, nv)
    problem.push[:] = DT * force
    problem.momentum[:] = problem.A @ problem.v0 + problem.push
    load_faces(problem, patches)
    couple_all(problem)
    for p in range(num_patches):
        problem.jacobian[p] = rng.normal(size=(6, nv)) * (rng.random(nv) < 0.7)
        problem.friction[p] = rng.choice([0.0, 0.3, 1.0])
        problem.dissipation[p] = rng.choice([0.0, 5.0, 50.0])
        linear = problem.jacobian[p, 3:]
        felt = np.linalg.norm(linear @ np.diag(1.0 / np.diag(problem.A)) @ linear.T) / 3.0
        set_inverse_mass(problem, p, max(felt, LEAST_INVERSE_MASS))
    problem.limits[:, LIMIT_SIGN] = np.repeat([1.0, -1.0], nv)
    problem.limits[:, LIMIT_TARGET] = np.where(rng.random(2 * nv) < 0.3, rng.normal(size=2 * nv), -np.inf)
    problem.limits[:, LIMIT_INVERSE_R] = 10.0 ** rng.uniform(-1.0, 3.0, 2 * nv)
    driven = rng.random(nv) < 0.5
    problem.drive_bias[:] = driven * rng.normal(size=nv) * 20.0
    problem.drive_gain[:] = driven * 10.0 ** rng.uniform(-1.0, 2.0, nv)
    problem.drive_limit[:] = driven * 10.0 ** rng.uniform(-1.0, 2.0, nv)
    problem.speed_limit[:] = np.where(rng.random(nv) < 0.5, 0.1, np.inf)
    problem.speed_gain[:] = np.diag(problem.A) / DT
    problem.joint_slip[0] = 1e-4
    problem.joint_friction[:] = np.where(rng.random(nv) < 0.3, 1.0, 0.0)
    return MadeProblem(problem, patches)


# --- the same mathematics, face by face


def normal_impulse(elastic: float, stiffness_dt: float, dissipation: float, v_n: float) -> float:
    """``dt (f_e0 - dt k v_n)_+ (1 - d v_n)_+`` (DESIGN section 4)."""
    return DT * max(elastic - stiffness_dt * v_n, 0.0) * max(1.0 - dissipation * v_n, 0.0)


def normal_cost(elastic: float, stiffness_dt: float, dissipation: float, v_n: float) -> float:
    """Integral of the normal impulse from ``v_n`` to where it vanishes; minus its derivative is the impulse."""
    ends = [elastic / stiffness_dt] if stiffness_dt > 0.0 else []
    ends += [1.0 / dissipation] if dissipation > 0.0 else []
    if not ends or v_n >= min(ends):
        return 0.0
    end = min(ends)
    a, b, c = elastic, stiffness_dt + dissipation * elastic, dissipation * stiffness_dt
    return DT * sum(f * (end**k - v_n**k) / k for k, f in ((1, a), (2, -b), (3, c)))


def lagged(faces: Faces, V: np.ndarray, mu: float, dissipation: float, delassus: float) -> Faces:
    """Faces with friction bounds from the normal impulses at relative twist ``V``."""
    v_n = [n @ (V[3:] + np.cross(V[:3], x)) for x, n in zip(faces.x, faces.n, strict=True)]
    friction = mu * np.array(
        [
            normal_impulse(f, k, dissipation, v)
            for f, k, v in zip(faces.elastic, faces.stiffness_dt, v_n, strict=True)
        ]
    )
    slip = np.maximum(OPTIONS.stiction_speed, FRICTION_SOFTNESS * delassus * friction)
    return Faces(faces.x, faces.n, faces.elastic, faces.stiffness_dt, friction, slip)


def patch_cost(faces: Faces, V: np.ndarray, dissipation: float) -> float:
    """Cost of all faces at relative twist ``V``."""
    cost = 0.0
    for i in range(faces.num):
        v = V[3:] + np.cross(V[:3], faces.x[i])
        v_n = faces.n[i] @ v
        v_t = v - v_n * faces.n[i]
        cost += normal_cost(faces.elastic[i], faces.stiffness_dt[i], dissipation, v_n)
        cost += faces.friction[i] * np.sqrt(v_t @ v_t + faces.slip[i] ** 2)
    return cost


def patch_impulse(faces: Faces, V: np.ndarray, dissipation: float) -> np.ndarray:
    """Wrench impulse (6,) of all faces on B, each through its own Jacobian (3, 6)."""
    total = np.zeros(6)
    for i in range(faces.num):
        J = np.hstack([-cross_matrix(faces.x[i]), np.eye(3)])
        v = J @ V
        v_n = faces.n[i] @ v
        v_t = v - v_n * faces.n[i]
        normal = normal_impulse(faces.elastic[i], faces.stiffness_dt[i], dissipation, v_n)
        friction = -faces.friction[i] * v_t / np.sqrt(v_t @ v_t + faces.slip[i] ** 2)
        total += J.T @ (normal * faces.n[i] + friction)
    return total


def joint_impulses(problem: ContactProblem, v: np.ndarray) -> np.ndarray:
    """Impulses (..., nv) of end stops, drives and joint friction at velocities (..., nv)."""
    limits = problem.limits.reshape(2, v.shape[-1], -1)
    sign = limits[..., LIMIT_SIGN]
    stop = np.maximum(limits[..., LIMIT_TARGET] - sign * v[..., None, :], 0.0)
    stops = (sign * limits[..., LIMIT_INVERSE_R] * stop).sum(axis=-2)
    excess = v - np.clip(v, -problem.speed_limit, problem.speed_limit)
    effort = np.clip(problem.drive_bias - problem.drive_gain * v, -problem.drive_limit, problem.drive_limit)
    push = np.maximum(np.abs(effort) - problem.speed_gain * np.abs(excess), 0.0)
    drives = DT * np.where(effort * excess > 0.0, np.sign(effort) * push, effort)
    friction = -DT * problem.joint_friction * v / np.sqrt(v**2 + problem.joint_slip**2)
    return stops + drives + friction


def lagged_patches(made: MadeProblem) -> list[Faces]:
    """Patches with the friction bounds that the solver must use: those of the velocities before the step."""
    problem = made.problem
    return [
        lagged(
            faces,
            problem.jacobian[p] @ problem.v0,
            problem.friction[p],
            problem.dissipation[p],
            problem.delassus[p],
        )
        for p, faces in enumerate(made.patches)
    ]


def residual(made: MadeProblem, v: np.ndarray) -> tuple[np.ndarray, float]:
    """Momentum residual (nv,) at ``v`` and its norm relative to the momenta that the step exchanges."""
    problem = made.problem
    impulse = joint_impulses(problem, v)
    for p, faces in enumerate(lagged_patches(made)):
        J = problem.jacobian[p]
        impulse = impulse + J.T @ patch_impulse(faces, J @ v, problem.dissipation[p])
    r = problem.A @ v - problem.momentum - impulse
    weight = 1.0 / np.sqrt(np.diag(problem.A))
    exchanged = r + problem.push + impulse
    scale = max(np.linalg.norm(weight * x) for x in (exchanged, problem.push, impulse))
    return r, np.linalg.norm(weight * r) / scale if scale > 0.0 else 0.0


def cross_matrix(x: np.ndarray) -> np.ndarray:
    """Matrix (3, 3) of ``x ×``."""
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])
