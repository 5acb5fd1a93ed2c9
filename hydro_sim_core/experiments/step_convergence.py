"""Convergence of a scene in the time step: the scene is run with steps h, h/2, h/4 and so on.

With D_l(t) the difference of a quantity between level l and the next finer one, a method of order p has D_l = 2^p
D_(l+1) for short enough steps. Two properties are checked: p = log2(|D_l| / |D_(l+1)|) in the norm over the whole
trajectory, and whether the two differences have the same direction along it, which is not so after an impact with a
different outcome. Only if both hold is an order reported and the limit extrapolated (Richardson 1911): the error of the
first level is the sum of all D_l and D_last / (2^p - 1). Where differences decrease in another way, the error is about
their sum plus the last one. Where they do not decrease, the largest distance of the first level to any other level is
reported, which is a lower bound of the error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from hydro_sim_core.drawing.figures import figure
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.integrators.continuous import DEFAULT_ACCURACY

Array = NDArray[np.float64]

#: Tolerances of a good step: 1 mm, and the angle that moves a point at 10 cm by as much.
TOLERANCES = {"m": 1e-3, "rad": 1e-2}
#: Smaller differences are due to solver tolerance and round-off, m, rad or N.
_NOISE = {"m": 1e-8, "rad": 1e-8, "N": 1e-5}
#: Largest number of samples of a trajectory.
_SAMPLES = 1000
#: Range of plausible orders; the methods here have 1 or 2.
_LEAST_ORDER, _LARGEST_ORDER = 0.5, 3.0
#: Where differences do not decrease, the error exceeds them: by a factor of 1.4 in the median of 584 drops, 3.4 at
#: most.
_UNSETTLED_FACTOR = 4.0
#: Smallest cosine between the differences of neighbouring levels, and largest difference of their orders.
_LEAST_ALIGNMENT, _ORDER_SPREAD = 0.9, 0.5
#: The error of a sub-step goes with its square, so accuracy is divided by this where steps are halved.
_ACCURACY_RATIO = 4.0
#: Accuracy suggested to a scene whose fixed steps are too long; error control cuts steps only where necessary.
_IMPACT_ACCURACY = 1e-7


@dataclass(frozen=True)
class Level:
    """One run of the scene.

    Attributes:
        time_step: Time step, s.
        accuracy: Accuracy of error control; None with fixed steps.
        unconverged_steps: Number of steps that missed the solver's tolerance.
    """

    time_step: float
    accuracy: float | None
    unconverged_steps: int


@dataclass(frozen=True, eq=False)
class Quantity:
    """A position, angle or force, and its differences between the levels.

    Attributes:
        name: Name of the joint, the body or the pair in contact.
        kind: ``position``, ``angle``, ``joint`` or ``contact force``.
        unit: ``m``, ``rad`` or ``N``.
        differences: (levels - 1, samples, n) next finer level minus each level.
    """

    name: str
    kind: str
    unit: str
    differences: Array

    @property
    def on_the_way(self) -> Array:
        """(levels - 1,) largest difference from the next finer level at any instant."""
        return np.linalg.norm(self.differences, axis=2).max(axis=1)

    @property
    def at_the_end(self) -> Array:
        """(levels - 1,) difference from the next finer level at the end."""
        return np.linalg.norm(self.differences[:, -1], axis=1)

    @property
    def is_noise(self) -> bool:
        """Whether all levels agree to the solver's tolerance."""
        return bool(self.on_the_way.max() <= _NOISE[self.unit])

    @cached_property
    def _orders(self) -> Array:
        """(levels - 2,) order from the norms of neighbouring differences over the trajectory."""
        sizes = np.linalg.norm(self.differences.reshape(len(self.differences), -1), axis=1)
        return np.diff(-np.log2(np.maximum(sizes, _NOISE[self.unit])))

    @property
    def settles(self) -> bool:
        """Whether the differences decrease from level to level, in total as fast as with convergence."""
        return self.is_noise or bool(self._orders.min() > 0.0 and self._orders.mean() >= _LEAST_ORDER)

    @cached_property
    def order(self) -> float | None:
        """Observed order in the time step; None if there is none."""
        last, before = self.differences[-1].ravel(), self.differences[-2].ravel()
        order = float(self._orders[-1])
        if self.is_noise or not self.settles or not _LEAST_ORDER <= order <= _LARGEST_ORDER:
            return None
        if before @ last < _LEAST_ALIGNMENT * np.linalg.norm(before) * np.linalg.norm(last):
            return None
        if len(self._orders) > 1 and abs(order - self._orders[-2]) > _ORDER_SPREAD:
            return None
        return order

    @cached_property
    def errors(self) -> Array:
        """(levels, samples) estimated error of every level, extrapolated if there is an order.

        If differences only decrease, it is the distance from the finer levels plus the last difference, the remainder
        at first order; otherwise the distance alone, and the error may be larger.
        """
        last = len(self.differences)
        if self.order is not None:
            beyond = self.differences[-1] / (2.0**self.order - 1.0)
            rest = [self.differences[level:].sum(axis=0) + beyond for level in range(last)]
            return np.linalg.norm([*rest, beyond], axis=2)
        sums = [self.differences[level:].cumsum(axis=0) for level in range(last)]
        spreads = [np.linalg.norm(each, axis=2).max(axis=0) for each in sums]
        if self.settles:
            return np.array([*spreads, np.zeros_like(spreads[-1])]) + spreads[-1]
        # There is no finer run, so the error of the finest level is that of the level before it.
        return np.array([*spreads, spreads[-1]])

    @property
    def error(self) -> float:
        """Estimated error of the scene's own step, the largest over time; a lower bound if it does not settle."""
        return float(self.errors[0].max())

    @property
    def error_at_the_end(self) -> float:
        """Estimated error of the scene's own step at the end."""
        return float(self.errors[0, -1])

    @property
    def tolerance(self) -> float:
        """Tolerance; infinite for forces, which follow the positions."""
        return TOLERANCES.get(self.unit, math.inf)

    @property
    def share(self) -> float:
        """Error relative to the tolerance; if it does not settle, enlarged by a safety factor."""
        return (1.0 if self.settles else _UNSETTLED_FACTOR) * self.error / self.tolerance

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "name": self.name,
            "kind": self.kind,
            "unit": self.unit,
            "differences_on_the_way": self.on_the_way.tolist(),
            "differences_at_the_end": self.at_the_end.tolist(),
            "order": self.order,
            "settles": self.settles,
            "error": self.error,
            "error_at_the_end": self.error_at_the_end,
            "errors": self.errors.max(axis=1).tolist(),
        }


@dataclass(frozen=True, eq=False)
class StepConvergence:
    """Result of a convergence study of a scene's own time step.

    Attributes:
        scene: Name of the scene.
        duration: Simulated time, s.
        levels: Levels from the scene's own step to the shortest.
        times: (samples,) compared instants, s.
        quantities: Quantities of all joints, bodies and contacts.
    """

    scene: str
    duration: float
    levels: tuple[Level, ...]
    times: Array
    quantities: tuple[Quantity, ...]

    @property
    def beyond(self) -> list[Quantity]:
        """Quantities whose error exceeds, or may exceed, its tolerance, the worst first."""
        return sorted((q for q in self.quantities if q.share > 1.0), key=lambda q: -q.share)

    @property
    def good(self) -> bool:
        """Whether every position and angle is within ``TOLERANCES``."""
        return not self.beyond

    @property
    def agrees_until(self) -> float:
        """Time until which the two finest levels agree to ``TOLERANCES``, s."""
        apart = np.zeros(len(self.times), dtype=bool)
        for q in self.quantities:
            apart |= np.linalg.norm(q.differences[-1], axis=1) > q.tolerance
        agreed = np.append(0.0, self.times)
        return float(agreed[int(np.argmax(apart))] if apart.any() else agreed[-1])

    @property
    def suggestion(self) -> str | None:
        """Setting to try for ``TOLERANCES``; None if none is needed or known."""
        if self.good or not all(q.settles for q in self.beyond):
            return None
        # Half of the tolerance, because orders are known to 0.1 or 0.2; an order below 1 belongs to steps that are
        # still too long, and grows to 1.
        ratio = min(
            (0.5 * q.tolerance / float(q.errors[-1].max())) ** (1.0 / max(q.order or 1.0, 1.0))
            for q in self.beyond
        )
        own, finest = self.levels[0], self.levels[-1]
        if own.accuracy is None or finest.accuracy is None:
            return f"time_step: {_round_down(min(finest.time_step * ratio, own.time_step / 2.0)):g}"
        return f"solver.accuracy: {_round_down(min(finest.accuracy * ratio**2, own.accuracy / 4.0)):g}"

    @property
    def verdict(self) -> str:
        """Verdict in one line: the step is good, or the remedy."""
        limits = " and ".join(f"{1e3 * limit:g} m{unit}" for unit, limit in TOLERANCES.items())
        own = self.levels[0]
        step = f"{1e3 * own.time_step:g} ms" + (f", accuracy {own.accuracy:g}," if own.accuracy else "")
        if self.good:
            return f"good: {step} is within {limits}{self._largest()}"
        worst = self.beyond[0]
        off = f"the {worst.kind} of {worst.name} is off by {_shown(worst.error, worst.unit)}"
        if self.suggestion is not None:
            finer = f" or solver.accuracy: {_IMPACT_ACCURACY:g}" if own.accuracy is None else ""
            return f"too long: at {step} {off}; set {self.suggestion}{finer} for {limits}, and look again"
        mend = "judge a shorter --duration, or many runs instead of one; "
        mend += (
            f"set solver.accuracy: {_IMPACT_ACCURACY:g} to step impacts finely"
            if own.accuracy is None
            else f"set solver.accuracy: {own.accuracy / 100.0:g}"
        )
        return (
            f"no order: {off} at least, and shorter steps do not settle it (impacts, or chaos); "
            f"the two finest agree to {limits} until {self.agrees_until:.3g} s; {mend}"
        )

    def _largest(self) -> str:
        measured = [q for q in self.quantities if math.isfinite(q.tolerance)]
        worst = max(measured, key=lambda q: q.share, default=None)
        if worst is None:
            return ""
        if worst.is_noise:
            return "; nothing differs between steps"
        word = "off by" if worst.settles else "which does not settle, off by at least"
        return f"; largest: the {worst.kind} of {worst.name}, {word} {_shown(worst.error, worst.unit)}"

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "scene": self.scene,
            "duration": self.duration,
            "levels": [vars(level) for level in self.levels],
            "quantities": [q.as_dict() for q in self.quantities],
            "tolerances": TOLERANCES,
            "agrees_until": self.agrees_until,
            "good": self.good,
            "suggestion": self.suggestion,
            "verdict": self.verdict,
        }


def _shown(value: float, unit: str) -> str:
    return f"{1e3 * value:.3g} m{unit}"


def _round_down(value: float) -> float:
    """Largest of 1, 2 and 5 times a power of ten that is not above ``value``."""
    power = 10.0 ** math.floor(math.log10(value))
    return max(digit for digit in (1.0, 2.0, 5.0) if digit * power <= value * (1.0 + 1e-9)) * power


def converge(
    world: World, duration: float, levels: int, advanced: Callable[[float], None] = lambda done: None
) -> StepConvergence:
    """Run a scene from its start, script included, with its own step and with repeatedly halved ones.

    ``solver.accuracy``, if set, is refined too, by 4 where steps are halved.

    Args:
        world: The scene; it is not stepped.
        duration: Simulated time, s; at least one step.
        levels: Number of levels, three or more.
        advanced: Called now and then with the share of all steps that is done.

    Raises:
        InputError: Too few levels, too little time, or the finest step is shorter than a scene may have.
        FloatingPointError: A step gave NaN or infinity.
    """
    if levels < 3:
        raise InputError("converge", "levels", f"{levels} show no order", "give 3 or more")
    whole = round(duration / world.time_step)
    if whole < 1:
        mend = f"give at least {world.time_step:g} s"
        raise InputError("converge", "duration", f"{duration:g} s are less than one step", mend)
    scenes = [_refined(world, level) for level in range(levels)]
    marks = np.unique(np.append(np.arange(0, whole, max(1, math.ceil(whole / _SAMPLES)))[1:], whole))
    work = sum(2**level for level in range(levels))
    done = 0.0
    found, runs = [], []
    for level, settings in enumerate(scenes):
        run = World(world.scene.with_(settings), like=world)
        rows = []
        for row in _samples(run, np.diff(marks, prepend=0) * 2**level):
            rows.append(row)
            done += 2**level / len(marks)
            advanced(done / work)
        found.append(rows)
        accuracy = settings.get("solver.accuracy")
        runs.append(Level(run.time_step, accuracy, int(run.diagnostics()["unconverged_steps"])))
    times = marks * world.time_step
    return StepConvergence(world.name, float(times[-1]), tuple(runs), times, tuple(_quantities(world, found)))


def _refined(world: World, level: int) -> dict[str, float]:
    settings = {"time_step": world.time_step / 2**level}
    solver = world.scene.spec.solver
    if solver.accuracy is not None or solver.choice.integrator.accuracy == "allowed":
        settings["solver.accuracy"] = (solver.accuracy or DEFAULT_ACCURACY) / _ACCURACY_RATIO**level
    try:
        world.scene.with_(settings)
    except InputError as error:
        problem = f"{error.element} of level {level + 1}: {error.problem}"
        raise InputError("converge", "levels", problem, "give fewer") from None
    return settings


@dataclass(frozen=True)
class _Sample:
    """Compared values at an instant.

    Attributes:
        joints: (n,) positions, rad or m.
        links: (links, 4, 4) poses.
        forces: (pairs, 3) contact force on the second of each reported pair, N.
    """

    joints: Array
    links: Array
    forces: Array


def _samples(world: World, strides: Sequence[int]) -> Iterator[_Sample]:
    for stride in strides:
        try:
            world.step(int(stride))
        except FloatingPointError as failure:
            raise FloatingPointError(f"in steps of {1e3 * world.time_step:g} ms: {failure}") from None
        yield _Sample(world.joint_positions(), world.frame_poses(), _forces(world))


def _forces(world: World) -> Array:
    forces = np.zeros((len(world.contact_pairs), 3))
    signs: Mapping[tuple[str, str], tuple[int, float]] = {
        key: (row, sign)
        for row, (a, b) in enumerate(world.contact_pairs)
        for key, sign in (((a, b), 1.0), ((b, a), -1.0))
    }
    for patch in world.contacts:
        row, sign = signs.get((patch.name_a, patch.name_b), (-1, 0.0))
        if row >= 0:
            forces[row] += sign * np.asarray(patch.force_on_b)
    return forces


def _quantities(world: World, found: Sequence[Sequence[_Sample]]) -> Iterator[Quantity]:
    joints = np.array([[sample.joints for sample in rows] for rows in found])
    units = {
        name: unit
        for robot in world.scene.robots
        for joint in robot.joints
        for name, unit in joint.units.items()
    }
    for column, name in enumerate(world.joint_names):
        yield Quantity(name, "joint", units[name], np.diff(joints[:, :, column, None], axis=0))
    poses = np.array([[sample.links for sample in rows] for rows in found])
    for link in _end_links(world):
        X_WL = poses[:, :, world.frame_names.index(link)]
        yield Quantity(link, "position", "m", np.diff(X_WL[:, :, :3, 3], axis=0))
        yield Quantity(link, "angle", "rad", _turns(X_WL[:, :, :3, :3]))
    forces = np.array([[sample.forces for sample in rows] for rows in found])
    for row, (a, b) in enumerate(world.contact_pairs):
        if forces[:, :, row].any():
            yield Quantity(f"{a} on {b}", "contact force", "N", np.diff(forces[:, :, row], axis=0))


def _end_links(world: World) -> list[str]:
    """A link of every moving body that carries no other body: free bodies, hands and fingers."""
    assembly = world.built.assembly
    carriers = set(assembly.tree.parent.tolist())
    ends = [body for body in range(len(assembly.tree.parent)) if body not in carriers]
    return [assembly.link_names[assembly.link_body.tolist().index(body)] for body in ends]


def _turns(rotations: Array) -> Array:
    """(levels - 1, samples, 3) rotation vector from each level to the next."""
    relative = rotations[1:] @ rotations[:-1].swapaxes(2, 3)
    shape = (*relative.shape[:2], 3)
    return Rotation.from_matrix(relative.reshape(-1, 3, 3)).as_rotvec().reshape(shape)


def plot(result: StepConvergence, path: Path) -> None:
    """Plot the error of positions and angles over the step, with hollow markers for lower bounds.

    Raises:
        InputError: The figure cannot be drawn or written.
    """
    steps = [1e3 * level.time_step for level in result.levels]
    drawn = [q for q in result.quantities if math.isfinite(q.tolerance) and not q.is_noise]
    drawn = sorted(drawn, key=lambda q: -q.share)[:6]
    with figure(path, 6.4, 4.6) as canvas:
        axes = canvas.subplots()
        for q in drawn:
            errors = 1e3 * q.errors.max(axis=1)
            order = f"order {q.order:.2f}" if q.order is not None else "no order" if q.settles else "at least"
            label = f"{q.kind} of {q.name} [m{q.unit}], {order}"
            axes.loglog(steps, errors, "o-", mfc="white" if not q.settles else None, lw=1.2, label=label)
        for unit, limit in TOLERANCES.items():
            if any(q.unit == unit for q in drawn):
                axes.axhline(1e3 * limit, color="#8a8a8a", ls=":", lw=1.0)
        axes.set_xticks(steps, [f"{step:g}" for step in steps])
        axes.minorticks_off()
        axes.set(
            xlabel="time step [ms]", ylabel="estimated error [mm, mrad]", title=f"Time step of {result.scene}"
        )
        axes.grid(alpha=0.3)
        if drawn:
            axes.legend(frameon=False, fontsize="small")
