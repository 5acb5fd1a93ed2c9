"""Reliability test: random scenes, with every step checked independently of the solver.

Momentum: M (v1 - v0) is the impulse of gravity, gyroscopic moments, drives and the reported contact wrenches. A step
whose imbalance exceeds ``MOMENTUM_BOUND`` of the momenta involved but is reported as converged is a failure.

Energy: a face with pressure p0 and the force A (p0 - dt g v_n)_+ does at most the work A p0^2 / (4 g) on separating
bodies, half of its stored energy. Damping, lagged friction and the spin of free bodies only dissipate; the work of
gravity and drives is measured. A step that gains more kinetic and potential energy than all this has an error. Steps
with contact deeper than a medial surface are not judged, because faces across which pressure decreases have no such
bound. Neither are steps that were taken in pieces, of which one piece's faces are told. Over a whole scene, including
both, gains must stay below ``MOST_FROM_NOTHING``.

Wrenches and efforts of a step in pieces are averages over the pieces, in which postures change: such a step is judged
by the linear momentum of free bodies, for which postures do not matter.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.contact.pressure_field.faces import AREA, PRESSURE, SLOPE_A, SLOPE_B
from hydro_sim_core.dynamics import TreeEvaluator
from hydro_sim_core.dynamics.free_bodies import free_body_forces
from hydro_sim_core.dynamics.tree import quaternion_starts
from hydro_sim_core.experiments.random_parts import USUAL, Ranges
from hydro_sim_core.experiments.random_scenes import RandomScene, make_random_scene
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.stepping.joint_forces import LIMIT_BETA
from hydro_sim_core.simulation.world.contact_records import ContactRecord

Array = NDArray[np.float64]

#: Bound on the imbalance of a converged step, relative to the momenta involved. Gyroscopic moments are those of the
#: solution to within ``CORIOLIS_TOLERANCE``, which leaves up to 2e-6.
MOMENTUM_BOUND = 5e-6
#: The same with arms: the tolerance of Coriolis forces is based on angular speeds, and less accurate where a joint
#: slides by as much as its lever arm in a step. Measured 5e-4.
ARM_MOMENTUM_BOUND = 1.5e-3
#: Bound on the energy that round-off and the solver's tolerance add in a step, relative to the energies involved.
ENERGY_SLACK = 1e-6
#: The same with arms, whose energy oscillates where joints slide by their lever arm in a step (1.5e-2 measured), and
#: its growth with the square of the largest rotation in a step (0.11 per radian squared measured).
ARM_ENERGY_SLACK, ARM_SWING = 0.045, 0.3
#: Oscillation of a spinning body's energy in a step, relative to the energy times the cube of its rotation angle. For
#: the most unequal moments of inertia possible it is about a tenth.
SWING = 0.2
#: Bound on the deviation of a quaternion's norm from 1.
QUATERNION_BOUND = 1e-12
#: Speed (m/s or rad/s) above which a body counts as thrown by an error, which ends the scene. Contact deeper than a
#: medial surface, which the step reports, is known to do that; nothing else may.
RUNAWAY_SPEED = 1e4
#: Bound on the energy gained by a scene since its start, as a share of the available energy: initial kinetic energy,
#: work of drives and the deepest fall. It holds for the sum over all steps, deep or unconverged ones included. Measured
#: 0.4.
MOST_FROM_NOTHING = 1.0
STEPS_A_SCENE = 250
#: Number of worst cases that a report keeps of each kind.
KEPT = 5


@dataclass(frozen=True)
class Case:
    """A remarkable step, with the numbers to run its scene again.

    Attributes:
        seed: Seed of the series.
        number: Number of the scene.
        step: Number of the step, from 1.
        value: Severity, in the measure of the list that has it.
        detail: Description.
    """

    seed: int
    number: int
    step: int
    value: float
    detail: str


@dataclass
class ReliabilityReport:
    """Results of a reliability test.

    Attributes:
        scenes: Number of scenes run.
        steps: Number of steps done.
        counts: Numbers of steps that were unconverged, unsettled, deep or faceless, whose energy was not judged, ...
        failures: Steps that violated a bound, which must not happen.
        worst: Extreme cases by quality.
    """

    scenes: int = 0
    steps: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[Case] = field(default_factory=list)
    worst: dict[str, list[Case]] = field(default_factory=dict)

    def note(self, quality: str, case: Case) -> None:
        """Keep a case if it is among the worst in a quality."""
        cases = self.worst.setdefault(quality, [])
        if len(cases) == KEPT and case.value <= cases[-1].value:
            return
        cases.append(case)
        cases.sort(key=lambda kept: kept.value, reverse=True)
        del cases[KEPT:]

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "scenes": self.scenes,
            "steps": self.steps,
            "counts": dict(sorted(self.counts.items())),
            "failures": [asdict(case) for case in self.failures],
            "worst": {quality: [asdict(case) for case in cases] for quality, cases in self.worst.items()},
        }


@dataclass(frozen=True)
class StepAudit:
    """Errors and energies of a step.

    Attributes:
        momentum_error: Relative imbalance of momentum; NaN if not judged.
        energy_gain: Relative gain of kinetic and potential energy beyond the work of gravity and drives.
        energy_excess: Relative gain beyond the allowed gain; NaN if not judged.
        quaternion_error: Largest deviation of a quaternion's norm from 1.
        gained: Gain of kinetic and potential energy beyond drives' work, J.
        turn: Largest rotation of a body over the step, rad.
        work: Work of the drives, J.
        potential: Potential energy at the end, J.
    """

    momentum_error: float
    energy_gain: float
    energy_excess: float
    quaternion_error: float
    gained: float
    turn: float
    work: float
    potential: float


class Auditor:
    """Checks steps of a world from its public state.

    Call ``before`` and ``after`` around each step.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._tree = world.built.model.tree
        self._evaluator = TreeEvaluator(self._tree)
        self._quaternions = quaternion_starts(self._tree)[:, None] + np.arange(4)
        self._own = np.array(
            [world.joint_names.index(n) for n in world.velocity_names if n in world.joint_names]
        )
        self._own_v = np.array(
            [i for i, n in enumerate(world.velocity_names) if n in world.joint_names], dtype=int
        )
        self._counts, self._was_in_pieces = (0, 0), False
        free = self._tree.v_index[np.flatnonzero(world.built.model.forest.is_free_body)]
        self._spins = (free[:, None] + np.arange(3)).ravel()
        self._linear = (free[:, None] + np.arange(3, 6)).ravel()

    def energies(self) -> tuple[float, float]:
        """Kinetic and potential energy of the present state, J."""
        evaluator = self._evaluator.update(self._world.q)
        return evaluator.kinetic_energy(self._world.v), evaluator.potential_energy()

    def before(self) -> None:
        """Record the state at the begin of a step."""
        evaluator = self._evaluator.update(self._world.q)
        self._q0, self._v0 = self._world.q, self._world.v
        self._M = evaluator.mass_matrix()
        self._gravity = evaluator.gravity_forces()
        self._energy0 = evaluator.kinetic_energy(self._v0) + evaluator.potential_energy()

    def after(self) -> StepAudit:
        """Check the step done since ``before``."""
        world, dt = self._world, self._world.time_step
        v1, record = world.v, world.record_contacts()
        drives = np.zeros_like(v1)
        if len(self._own):
            drives[self._own_v] = world.joint_efforts()[self._own]
        is_deep, in_pieces = self._kind()
        # The evaluator still has the posture in which the step found its contacts.
        contacts = self._contact_forces(record)
        end, start = self._M @ v1, self._M @ self._v0
        push, bias, drive = (dt * forces for forces in (contacts, self._bias_forces(v1), drives))
        weight = 1.0 / np.sqrt(np.diag(self._M))
        scale = max(float(np.linalg.norm(weight * part)) for part in (end, start, push, bias, drive))
        missing = end - start - push + bias - drive + dt * self._tree.damping * v1
        if self._was_in_pieces:
            missing[self._spins] = 0.0  # the velocities before are over a piece of unknown length
        self._was_in_pieces = in_pieces
        imbalance = float(np.linalg.norm(weight * (missing - self._joint_impulses(missing, v1))))

        q1 = world.q
        evaluator = self._evaluator.update(q1)
        if in_pieces:
            missing = evaluator.mass_matrix() @ v1 - start - push + dt * self._gravity
            imbalance = float(np.linalg.norm((weight * missing)[self._linear]))
        work = float(drives @ self._displacement(q1, v1))
        kinetic = evaluator.kinetic_energy(v1)
        potential = self._evaluator.potential_energy()
        gain = kinetic + potential - self._energy0 - work
        spring = self._spring_work(record) + self._stop_work()
        fallen = dt * float(np.abs(self._gravity) @ np.abs(v1))
        involved = scale * scale + spring + abs(work) + fallen
        gained = gain
        gain -= self._turning(v1)
        excess = np.nan if is_deep or in_pieces else (gain - spring) / max(involved, 1e-300)
        quaternions = np.linalg.norm(q1[self._quaternions], axis=1)
        return StepAudit(
            momentum_error=imbalance / max(scale, 1e-300),
            energy_gain=gain / max(involved, 1e-300),
            energy_excess=excess,
            quaternion_error=float(np.max(np.abs(quaternions - 1.0), initial=0.0)),
            gained=float(gained),
            turn=dt * float(np.linalg.norm(self._evaluator.body_velocities(v1)[:, :3], axis=1).max()),
            work=work,
            potential=potential,
        )

    def _kind(self) -> tuple[bool, bool]:
        """Whether the step was deep, and whether it was taken in pieces."""
        done = self._world.diagnostics()
        counts = int(done["deep_steps"]), int(done["cut_steps"]) + int(done["fast_steps"])
        is_deep, in_pieces = (now > before for now, before in zip(counts, self._counts, strict=True))
        self._counts = counts
        return is_deep, in_pieces

    def _displacement(self, q1: Array, v1: Array) -> Array:
        """(nv,) change of every coordinate in the step; for those with quaternions that at the last velocity."""
        tree, change = self._tree, self._world.time_step * v1
        own = np.flatnonzero(tree.q_of_v >= 0)
        change[own] = (q1 - self._q0)[tree.q_of_v[own]]
        return change

    def _joint_impulses(self, missing: Array, v1: Array) -> Array:
        """The part of ``missing`` impulses (nv,) that joint friction and limits can explain.

        Friction is bounded in both directions; a limit only pushes back if the step reaches it or is beyond it.
        """
        tree, dt = self._tree, self._world.time_step
        most = dt * tree.friction
        least = -most
        for i in np.flatnonzero(tree.q_of_v >= 0):
            q0 = self._q0[tree.q_of_v[i]]
            reach = dt * (1.0 + LIMIT_BETA / np.pi) * v1[i]
            slack = 1e-9 * (abs(q0) + abs(reach))
            if q0 + reach <= tree.q_lower[i] + slack:
                most[i] = np.inf
            if q0 + reach >= tree.q_upper[i] - slack:
                least[i] = -np.inf
        return np.clip(missing, least, most)

    def _stop_work(self) -> float:
        """Bound on the work of joint limits in a step, J, from the square of their target velocities."""
        tree, dt = self._tree, self._world.time_step
        work = 0.0
        for i in np.flatnonzero(tree.q_of_v >= 0):
            q0 = self._q0[tree.q_of_v[i]]
            depth = max(tree.q_lower[i] - q0, q0 - tree.q_upper[i], 0.0)
            speed = depth / (dt * (1.0 + LIMIT_BETA / np.pi))
            inertia = self._M[i, i] + dt * tree.damping[i]
            work += 0.25 * speed * speed * inertia * (2.0 * np.pi / LIMIT_BETA) ** 2
        return work

    def _bias_forces(self, v1: Array) -> Array:
        """Coriolis forces (nv,) at the mean of the step's velocities, and those of free bodies by their own rule."""
        evaluator, v0 = self._evaluator, self._v0
        forest, dt = self._world.built.model.forest, self._world.time_step
        bias = evaluator.bias_forces(0.5 * (v0 + v1))
        touched = np.zeros(len(forest.is_free_tree), dtype=bool)
        R_WB, S = evaluator.R_WB, evaluator.S
        free_body_forces(self._tree, forest, R_WB, S, v0, v1.copy(), touched, dt, dt, bias)
        return bias

    def _turning(self, v1: Array) -> float:
        """Bound on the oscillation of the energy of spinning bodies in a step, J.

        The energy of the mean velocity over a step has a relative error (|w| dt)^2 that depends on the posture, which
        changes by |w| dt in a step.
        """
        forest, dt = self._world.built.model.forest, self._world.time_step
        swing = 0.0
        for body in np.flatnonzero(forest.is_free_body):
            spin = slice(self._tree.v_index[body], self._tree.v_index[body] + 3)
            turn = dt * float(max(np.linalg.norm(self._v0[spin]), np.linalg.norm(v1[spin])))
            energies = [0.5 * float(v[spin] @ self._M[spin, spin] @ v[spin]) for v in (self._v0, v1)]
            swing += SWING * turn**3 * max(energies)
        return swing

    def _contact_forces(self, record: ContactRecord) -> Array:
        """Generalised forces (nv,) of the reported contact wrenches."""
        model, forces = self._world.built.model, np.zeros(len(self._v0))
        for p, pair in enumerate(record.pair):
            p_WR = record.p_WG[p] + record.R_WG[p] @ record.p_GR[p]
            for geometry, sign in zip(model.pairs[pair], (-1.0, 1.0), strict=True):
                body = int(model.geometry_body[geometry])
                if body >= 0:
                    forces += sign * self._evaluator.point_jacobian(body, p_WR).T @ record.wrench[p]
        return forces

    def _spring_work(self, record: ContactRecord) -> float:
        """Bound on the work of the faces' linearised pressures in a step, J."""
        data = record.faces.data
        pressed = data[:, (data[PRESSURE] > 0.0) & (data[SLOPE_A] > 0.0) & (data[SLOPE_B] > 0.0)]
        compliances = 1.0 / pressed[SLOPE_A] + 1.0 / pressed[SLOPE_B]
        return float(np.sum(pressed[AREA] * pressed[PRESSURE] ** 2 * compliances / 4.0))


class _Balance:
    """Energy of a scene since its start, from a kinetic and a potential energy, J."""

    def __init__(self, kinetic: float, potential: float) -> None:
        self._given, self._potential = kinetic, potential
        self._lowest, self._gained = potential, 0.0

    def add(self, audit: StepAudit) -> float:
        """Add a step; return the unexplained gain as a share of the available energy."""
        self._gained += audit.gained
        self._given += max(audit.work, 0.0)
        self._lowest = min(self._lowest, audit.potential)
        return self._gained / max(self._given + self._potential - self._lowest, 1e-300)


def run_scene(scene: RandomScene, steps: int, report: ReliabilityReport) -> None:
    """Step a scene and add its results to the report; ends early if a step cannot be completed."""
    world, auditor = scene.world, Auditor(scene.world)
    report.scenes += 1
    report.counts[scene.kind] += 1
    before = world.diagnostics()
    balance = _Balance(*auditor.energies())
    for step in range(1, steps + 1):
        if len(scene.grip_forces) and (step - 1) % 25 == 0:
            world.set_gripper(force=float(scene.grip_forces[(step - 1) // 25 % len(scene.grip_forces)]))
        auditor.before()
        try:
            world.step()
        except FloatingPointError as error:
            report.failures.append(Case(scene.seed, scene.number, step, np.inf, str(error)))
            return
        report.steps += 1
        done = world.diagnostics()
        for name in ("unconverged", "unsettled", "deep", "faceless", "cut"):
            report.counts[name] += int(done[f"{name}_steps"]) - int(before[f"{name}_steps"])
        before = done
        if not np.abs(world.v).max() < RUNAWAY_SPEED:
            case = Case(scene.seed, scene.number, step, float(np.abs(world.v).max()), "a body runs away")
            if done["deep_steps"]:
                report.counts["thrown by deep contact"] += 1
                report.note("thrown by deep contact", case)
            else:
                report.failures.append(case)
            return
        audit = auditor.after()
        _judge(report, scene, step, audit, done)
        share = balance.add(audit)
        case = Case(scene.seed, scene.number, step, share, scene.kind)
        report.note("energy_from_nothing", case)
        if share > MOST_FROM_NOTHING:
            report.failures.append(replace(case, detail="energy comes from nothing"))
            return


def _judge(
    report: ReliabilityReport,
    scene: RandomScene,
    step: int,
    audit: StepAudit,
    done: dict[str, float | int | bool],
) -> None:
    def case(value: float, detail: str) -> Case:
        return Case(scene.seed, scene.number, step, float(value), detail)

    if not audit.quaternion_error <= QUATERNION_BOUND:
        report.failures.append(case(audit.quaternion_error, "a quaternion is not of unit length"))
    has_arm = scene.kind == "arm"
    slack = ARM_ENERGY_SLACK + ARM_SWING * audit.turn**2 if has_arm else ENERGY_SLACK
    if done["converged"] and audit.momentum_error > (ARM_MOMENTUM_BOUND if has_arm else MOMENTUM_BOUND):
        report.failures.append(
            case(audit.momentum_error, "momentum does not balance, yet the step says it converged")
        )
    if np.isnan(audit.energy_excess):
        report.counts["energy not judged"] += 1
    elif done["converged"] and audit.energy_excess > slack:
        report.failures.append(case(audit.energy_excess, "more energy than the step may gain"))
    report.note("energy_gain", case(audit.energy_gain, scene.kind))
    report.note("energy_excess", case(np.nan_to_num(audit.energy_excess, nan=-1.0), scene.kind))
    report.note("iterations", case(done["iterations"], scene.kind))
    if done["converged"]:
        report.note("momentum_error", case(np.nan_to_num(audit.momentum_error), scene.kind))
    else:
        report.note("unconverged", case(done["residual"], scene.kind))


def run_scenes(seed: int, steps: int, first: int = 0, ranges: Ranges = USUAL) -> Iterator[ReliabilityReport]:
    """Run scene after scene until ``steps`` steps are done; yields the growing report after each.

    Args:
        seed: Seed of the series.
        steps: Smallest total number of steps.
        first: Number of the first scene.
        ranges: Ranges to draw scenes from.
    """
    report, number = ReliabilityReport(), first
    while report.steps < steps:
        with tempfile.TemporaryDirectory() as folder:
            run_scene(make_random_scene(seed, number, Path(folder), ranges), STEPS_A_SCENE, report)
        number += 1
        yield report
