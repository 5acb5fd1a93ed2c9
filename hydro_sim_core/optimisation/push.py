"""A push, or a few, of the finger that bring the T of ``planar_push`` to a goal.

First guesses are closed forms, gradients of smooth contact improve them, and the pressure field says what they are
worth: there Broyden's method takes off what the two models differ by. Where the T does not lie at the goal yet, another
push follows, for which the finger is lifted and put down elsewhere.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.errors import InputError
from hydro_sim_core.experiments.planar_push.bodies import OurPushing, miss
from hydro_sim_core.experiments.planar_push.paths import Path
from hydro_sim_core.optimisation.push_start import VIA_POINTS, first_guesses, next_goal, placed, relative
from hydro_sim_core.optimisation.search import by_cross_entropy, by_gradient, by_secants
from hydro_sim_core.optimisation.smooth_push import SmoothPush

Array = NDArray[np.float64]
#: Told what is done at the moment.
Tell = Callable[[str], None]

#: Goals (5, 3) that were chosen before any was tried, m and rad.
GOALS = np.array(
    [
        [0.10, 0.05, math.radians(30.0)],
        [-0.10, 0.05, math.radians(-30.0)],
        [0.00, 0.12, math.radians(45.0)],
        [0.12, -0.05, math.radians(-45.0)],
        [-0.05, -0.12, math.radians(60.0)],
    ]
)
#: Farthest goal, m and rad: beyond it pushes of two seconds are no slow ones.
FARTHEST, MOST_TURNED = 0.25, math.radians(90.0)
#: Length of a push and how long the finger rests at its end, s; time steps, s.
DURATION, REST = 2.0, 0.3
TIME_STEP, SMOOTH_TIME_STEP, SMOOTH_POINTS = 2e-3, 4e-3, 26
_MOST_PUSHES, _MOST_GUESSES = 4, 2
#: Lengths of a miss in units of the tolerance: with which a search under smooth contact ends, one in the pressure field
#: ends, and the first is worth to be tried there.
_NEAR_SMOOTH, _NEAR, _WORTH = 0.3, 0.95, 2.0
#: Most rollouts of each search, and largest change of a via point in a step, m.
_MOST_SMOOTH, _MOST_POLISHED, _MOST_TRIED, _LONGEST = 6, 5, 3, 0.03

#: How far from the centre of the T a straight path begins, m: beyond all of it.
_BEYOND = 0.2


def _smoothing(width: float) -> Array:
    """Lower triangle L (K - 1, K - 1) by which independent parameters become changes of neighbours that are alike.

    The shortest step would put all change where a path only grazes the T, where derivatives are large and hold for no
    distance. With L a step is the shortest where lengths count as L^-1 of them.
    """
    apart = np.subtract.outer(np.arange(VIA_POINTS - 1), np.arange(VIA_POINTS - 1))
    alike = np.exp(-0.5 * (apart / width) ** 2) + 1e-4 * np.eye(VIA_POINTS - 1)
    return np.asarray(np.linalg.cholesky(alike), dtype=np.float64)


_SMOOTH = _smoothing(0.8)


class Tolerance(NamedTuple):
    """How near to the goal is near enough.

    Attributes:
        distance: m.
        angle: rad.
    """

    distance: float = 0.01
    angle: float = math.radians(5.0)


class Effort(NamedTuple):
    """What a search took.

    Attributes:
        smooth_rollouts: Motions under smooth contact; with gradients each has its derivatives.
        rollouts: Motions in the pressure field.
        steps: Time steps of both together.
        seconds: Wall-clock time.
    """

    smooth_rollouts: int
    rollouts: int
    steps: int
    seconds: float


class _Played(NamedTuple):
    """A push that was played in the pressure field.

    Attributes:
        path: (K, 2) via points in the world, m.
        pose: (3,) of the T after it, m and rad.
        coordinates: (nq,) of the world after it; None before the first push.
        length: Of the miss, in units of the tolerance.
    """

    path: Array
    pose: Array
    coordinates: Array | None
    length: float


@dataclass(frozen=True, eq=False)
class PushResult:
    """Pushes, and where they end in the pressure field.

    Attributes:
        goal: (3,) place and heading, m and rad.
        paths: Via points (K, 2) of the finger of each push, m.
        poses: (P + 1, 3) places and headings of the T before the first push and after each.
        distance: From the goal at the end, m.
        angle: From the goal, rad.
        is_reached: Whether both are within the tolerance.
        effort: What it took to find.
    """

    goal: Array
    paths: tuple[Array, ...]
    poses: Array
    distance: float
    angle: float
    is_reached: bool
    effort: Effort


def check_goal(goal: Array, tolerance: Tolerance, element: str = "goal") -> None:
    """Check that a few pushes may bring the T to a goal (3,).

    Raises:
        InputError: They may not.
    """
    if not np.all(np.isfinite(goal)):
        raise InputError("optimize push", element, "is not finite", "give numbers")
    distance, angle = math.hypot(*goal[:2]), abs(goal[2])
    problem = f"is {distance:.3g} m and {math.degrees(angle):.3g} degrees away"
    if distance > FARTHEST or angle > MOST_TURNED:
        mend = f"give at most {FARTHEST:g} m and {math.degrees(MOST_TURNED):g} degrees"
        raise InputError("optimize push", element, problem, mend)
    if distance <= tolerance.distance and angle <= tolerance.angle:
        mend = "give one beyond the tolerance, a centimetre and five degrees"
        raise InputError("optimize push", element, f"{problem}, which counts as reached", mend)


class PushSearch:
    """Finds pushes; the first search compiles the derivatives, which takes longer than all else.

    Args:
        tolerance: How near to the goal is near enough.

    Raises:
        InputError: JAX is not installed.
    """

    def __init__(self, tolerance: Tolerance | None = None) -> None:
        self.tolerance = tolerance or Tolerance()
        self._scale = np.array([self.tolerance.distance, self.tolerance.distance, self.tolerance.angle])
        self._smooth = SmoothPush(SMOOTH_POINTS, SMOOTH_TIME_STEP, DURATION, REST, VIA_POINTS)
        self._pushing = OurPushing(None, TIME_STEP)
        self._smooth_rollouts = self._rollouts = 0
        self._started = 0.0

    def find(self, goal: Array, tell: Tell = lambda text: None) -> PushResult:
        """Find pushes by gradients and polish them in the pressure field.

        Args:
            goal: (3,) place and heading, m and rad; the T lies at the origin at first.
            tell: Told what is done at the moment.

        Raises:
            InputError: The goal is too far, or reached already.
        """
        check_goal(goal, self.tolerance)
        self._begin()
        played = [_Played(np.empty((0, 2)), np.zeros(3), None, math.inf)]
        while len(played) <= _MOST_PUSHES and not self._is_reached(played[-1].pose, goal):
            part = relative(played[-1].pose, goal)
            # The last push is for the goal itself, come what may.
            aim = next_goal(part) if len(played) < _MOST_PUSHES else part
            near, most = (_NEAR, _MOST_POLISHED) if aim is part else (_WORTH, _MOST_TRIED)
            played.append(self._push(aim, played[-1], near, most, f"push {len(played)}", tell))
        return self._result(goal, [one.path for one in played[1:]], np.array([one.pose for one in played]))

    def _push(self, aim: Array, before: _Played, near: float, most: int, name: str, tell: Tell) -> _Played:
        """A push in the pressure field towards an aim (3,) in the frame of the T, after another push.

        Args:
            aim: Place and heading, m and rad.
            before: The push before.
            near: Length of the miss that is near enough.
            most: Most rollouts of a guess in the pressure field.
            name: Of the push.
            tell: Told what is done at the moment.
        """
        best: _Played | None = None
        guesses = first_guesses(aim, _MOST_GUESSES)
        for number, guess in enumerate(guesses, start=1):
            tell(f"{name}, guess {number}, smooth contact")
            smooth = by_gradient(
                partial(self._smooth_miss, aim, guess),
                np.zeros(2 * VIA_POINTS - 2),
                _NEAR_SMOOTH,
                _MOST_SMOOTH,
                _LONGEST,
            )
            if np.linalg.norm(smooth.miss) > _WORTH and (best is not None or number < len(guesses)):
                continue
            tell(f"{name}, guess {number}, pressure field")

            def missed(x: Array, guess: Array = guess) -> Array:
                nonlocal best
                path = placed(before.pose, _changed(guess, x))
                pose = self._play([path], before.coordinates)
                miss = _difference(relative(before.pose, pose), aim) / self._scale
                length = float(np.linalg.norm(miss))
                if best is None or length < best.length:
                    best = _Played(path, pose, self._pushing.world.q.copy(), length)
                return miss

            by_secants(missed, smooth.parameters, smooth.slopes, near, most, _LONGEST)
            if best is not None and best.length <= near:
                break
        assert best is not None
        return best

    def by_cross_entropy(
        self, goal: Array, seed: int, most: int, informed: bool, tell: Tell = lambda text: None
    ) -> PushResult:
        """Find pushes by the cross-entropy method in the pressure field alone, to compare with.

        It ends with the first draw that reaches the goal, by the same tolerance as the result has.

        Args:
            goal: (3,) as for ``find``.
            seed: Of the draws.
            most: Most rollouts.
            informed: Whether draws begin about the closed forms of ``find``, with a deviation of 2 cm; otherwise about
                a straight path through the T towards the goal, with one of 5 cm.
            tell: Told what is done at the moment.

        Raises:
            InputError: The goal is too far, or reached already.
        """
        check_goal(goal, self.tolerance)
        self._begin()
        guesses = self._closed_forms(goal) if informed else [_straight(goal)]

        def paths_of(x: Array) -> list[Array]:
            parts = np.split(x, len(guesses))
            return [_changed(guess, part) for guess, part in zip(guesses, parts, strict=True)]

        def evaluate(x: Array) -> Array:
            missed = _difference(self._play(paths_of(x), None), goal) / self._scale
            tell(f"cross-entropy, {self._rollouts} pushes")
            return missed

        count = len(guesses) * (2 * VIA_POINTS - 2)
        random, deviation = np.random.default_rng(seed), 0.02 if informed else 0.05
        found = by_cross_entropy(
            evaluate, np.zeros(count), deviation, self._is_near, most // len(guesses), random
        )
        rollouts, paths = self._rollouts, paths_of(found.parameters)
        poses = [np.zeros(3), *(self._play(paths[: number + 1], None) for number in range(len(paths)))]
        self._rollouts = rollouts  # what is played for the record alone does not count
        return self._result(goal, paths, np.array(poses))

    def _closed_forms(self, goal: Array) -> list[Array]:
        """Via points in the world of the pushes that ``find`` would begin with, if each ended where it should."""
        guesses: list[Array] = []
        pose = np.zeros(3)
        while len(guesses) < _MOST_PUSHES and not self._is_reached(pose, goal):
            aim = next_goal(relative(pose, goal))
            guesses.append(placed(pose, first_guesses(aim, 1)[0]))
            pose = np.append(placed(pose, aim[:2]), pose[2] + aim[2])
        return guesses

    def _begin(self) -> None:
        self._smooth_rollouts = self._rollouts = 0
        self._started = time.perf_counter()

    def _is_reached(self, pose: Array, goal: Array) -> bool:
        return self._is_near(_difference(pose, goal) / self._scale)

    @staticmethod
    def _is_near(missed: Array) -> bool:
        """Whether a miss (3,) in units of the tolerance is within it."""
        return math.hypot(*missed[:2]) <= 1.0 and abs(float(missed[2])) <= 1.0

    def _smooth_miss(self, aim: Array, guess: Array, x: Array) -> tuple[Array, Array]:
        end, slopes = self._smooth.end_and_slopes(_changed(guess, x))
        self._smooth_rollouts += 1
        by_parameters = np.einsum("rkc,kj->rjc", slopes[:, 1:], _SMOOTH).reshape(3, -1) / self._scale[:, None]
        return _difference(end, aim) / self._scale, by_parameters

    def _play(self, paths: Sequence[Array], before: Array | None) -> Array:
        """Place and heading (3,) of the T after pushes in the pressure field, from coordinates or the start."""
        world = self._pushing.world
        for number, path in enumerate(paths):
            kept = before if number == 0 else world.q.copy()
            self._pushing.reset(path[0])
            if kept is not None:
                q = world.q.copy()
                q[:7] = kept[:7]
                world.set_state(q, np.zeros(len(world.v)))
            for target in Path(path, DURATION, REST).targets(TIME_STEP):
                self._pushing.step(target)
            self._rollouts += 1
        return self._pushing.pose()

    def _result(self, goal: Array, paths: Sequence[Array], poses: Array) -> PushResult:
        distance, angle = miss(poses[-1], goal)
        steps = self._smooth_rollouts * self._smooth.steps + self._rollouts * round(DURATION / TIME_STEP)
        seconds = time.perf_counter() - self._started
        effort = Effort(self._smooth_rollouts, self._rollouts, steps, seconds)
        is_reached = self._is_reached(poses[-1], goal)
        return PushResult(goal, tuple(paths), poses, distance, angle, is_reached, effort)


def _straight(goal: Array) -> Array:
    """Via points (K, 2) of a straight path, m, from beyond the T through its centre to the goal (3,)."""
    along = goal[:2] / max(float(np.linalg.norm(goal[:2])), 1e-9)
    return np.linspace(-_BEYOND * along, goal[:2], VIA_POINTS)


def _changed(guess: Array, x: Array) -> Array:
    """A guess (K, 2) with changes of all via points but the first by parameters (2 K - 2,), m."""
    return np.vstack([guess[:1], guess[1:] + _SMOOTH @ x.reshape(-1, 2)])


def _difference(pose: Array, other: Array) -> Array:
    turn = (pose[2] - other[2] + math.pi) % (2.0 * math.pi) - math.pi
    return np.append(pose[:2] - other[:2], turn)
