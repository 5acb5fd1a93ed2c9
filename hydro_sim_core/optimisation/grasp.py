"""A schedule of grip force that lifts a box with the least effort.

The effort is the mean square of the force. Under smooth contact the box always creeps; how fast tells which share of
friction is in use, and that share is bounded. Sequential quadratic programming, of ``scipy``, finds the schedule by the
gradients. The pressure field, with friction that holds, then says how far the whole schedule may be scaled down.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from hydro_sim_core import geometry
from hydro_sim_core.contact.soft_distance import OrientedCloud, SoftContactModel, cloud_of_geometry
from hydro_sim_core.errors import InputError
from hydro_sim_core.optimisation.grasp_bodies import (
    BOX,
    DURATION,
    GRAVITY,
    PAD,
    TIME_STEP,
    Lift,
    RealGrasp,
    grasp_world,
)
from hydro_sim_core.optimisation.jax_library import require_jax
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.soft import SoftPair, SoftSystem

Array = NDArray[np.float64]
Tell = Callable[[str], None]

#: Times between the knots of the schedule, and of a step under smooth contact, s.
KNOT, SMOOTH_TIME_STEP = 0.05, 5e-4
#: Stiffness of each pad, N/m; velocities, m/s; temperatures, m; points of a pad.
_STIFFNESS, _DISSIPATION, _STICTION, _SHARP, _POINTS = 5e3, 0.4, 0.01, 1e-3, 26
#: Share of friction that may be in use under smooth contact.
SHARE = 0.9
#: Slip in the pressure field with which a grasp counts as held, m; how exactly the least scale is found.
HELD, _RESOLUTION = 5e-4, 0.005
#: Force at the start, least and largest one, in units of the weight; most iterations.
_FIRM, _WEAK, _STRONG, _MOST_ITERATIONS = 4.0, 0.02, 40.0, 30
#: Times of a knot at which the share is looked at, and the first, s: before it the box only begins to creep.
_LOOKS, _FIRST_LOOK = 2, 0.02


class GraspEffort(NamedTuple):
    """What a search took.

    Attributes:
        smooth_rollouts: Motions under smooth contact, each with its derivatives.
        rollouts: Motions in the pressure field.
        steps: Time steps of both together.
        seconds: Wall-clock time.
    """

    smooth_rollouts: int
    rollouts: int
    steps: int
    seconds: float


@dataclass(frozen=True, eq=False)
class GraspResult:
    """A schedule, and what it does in the pressure field.

    Attributes:
        lift: What is lifted.
        times: (K,) of the knots, s.
        smooth_forces: (K,) of each finger at the knots, as smooth contact wants them, N.
        forces: (K,) the same, scaled down until the grasp just holds in the pressure field.
        slip: How far the box slips there, m.
        slip_below: How far with a schedule that is weaker by half a part in a hundred, m.
        effort: Mean square of the force, N^2.
        least_effort: The same of Coulomb's least force.
        constant_effort: The same of the least constant force.
        search: What the search took.
    """

    lift: Lift
    times: Array
    smooth_forces: Array
    forces: Array
    slip: float
    slip_below: float
    effort: float
    least_effort: float
    constant_effort: float
    search: GraspEffort

    @property
    def is_held(self) -> bool:
        """Whether the box does not slip."""
        return self.slip <= HELD


class SmoothGrasp:
    """How much of friction is in use under smooth contact by the schedule, and the derivatives of that.

    Args:
        lift: What is lifted.
        knots: (K,) times of the knots of the schedule, s.
        looks: (L,) times at which the use of friction is wanted, s.
    """

    def __init__(self, lift: Lift, knots: Array, looks: Array) -> None:
        jax = require_jax()
        jnp = jax.numpy
        world = grasp_world(lift, in_hand=True)
        names = list(world.velocity_names)
        pads, thing = np.array([names.index("left_pad"), names.index("right_pad")]), names.index("slip")
        system = _system(world, lift, pads.tolist(), thing).as_arrays_of(jnp)
        self.steps = round(DURATION / SMOOTH_TIME_STEP)
        times: Array = SMOOTH_TIME_STEP * np.arange(self.steps, dtype=np.float64)
        weights = np.column_stack([np.interp(times, knots, unit) for unit in np.eye(len(knots))])
        # In the frame of the hand what it carries is the heavier, the faster the hand gains speed.
        pulls = -lift.mass * lift.acceleration(times)
        rows = np.round(looks / SMOOTH_TIME_STEP).astype(int) - 1
        start = jnp.asarray(world.q).at[system.tree.q_of_v[pads]]

        def rest(forces: Any) -> Any:
            def advance(state: tuple[Any, Any], row: tuple[Any, Any]) -> tuple[tuple[Any, Any], Any]:
                force, pull = row
                tau = jnp.zeros(len(names)).at[pads].set(force).at[thing].set(pull)
                after = system.step(*state, tau, SMOOTH_TIME_STEP, "euler")
                return after, after[1][thing]

            # As deep as the first force presses, so that nothing rings.
            depth = _SHARP * jnp.log(jnp.expm1(forces[0] / (_STIFFNESS * _SHARP)))
            state = start.set(depth), jnp.zeros(len(names))
            _, speeds = jax.lax.scan(advance, state, (jnp.asarray(weights) @ forces, jnp.asarray(pulls)))
            fall = -speeds[rows]
            # Inverse of the share in use: nearly linear in the force.
            return jnp.sqrt(_STICTION**2 + fall * fall) / fall - 1.0 / SHARE

        def rest_twice(forces: Any) -> tuple[Any, Any]:
            value = rest(forces)
            return value, value

        self._evaluate = jax.jit(jax.jacfwd(rest_twice, has_aux=True))

    def rest_and_slopes(self, forces: Array) -> tuple[Array, Array]:
        """What is left of friction (L,), negative where there is too little, and derivatives (L, K) by forces (K,)."""
        slopes, rest = self._evaluate(forces)
        return np.asarray(rest), np.asarray(slopes)


def _system(world: World, lift: Lift, pads: list[int], thing: int) -> SoftSystem:
    """Points of the pads against the flat sides of the box; joints by their velocities' indices."""
    tree = world.built.model.tree
    body_of = {int(first): body for body, first in enumerate(tree.v_index) if tree.num_v[body] > 0}
    pad = cloud_of_geometry(geometry.box(*PAD), _POINTS)
    clouds: list[OrientedCloud] = []
    bodies: list[int] = []
    pairs: list[SoftPair] = []
    model = SoftContactModel(_STIFFNESS, lift.friction, _DISSIPATION, _STICTION, 1e-6, _SHARP, _SHARP)
    for index, side in zip(pads, (-1.0, 1.0), strict=True):
        centre, normal = np.array([[0.0, side * 0.5 * BOX[1], 0.0]]), np.array([[0.0, side, 0.0]])
        pairs.append(SoftPair(len(clouds), len(clouds) + 1, model))
        clouds += [OrientedCloud(centre, normal, is_half_space=True), pad]
        bodies += [body_of[thing], body_of[index]]
    return SoftSystem(tree, tuple(clouds), tuple(bodies), tuple(pairs))


def find_grasp(lift: Lift, tell: Tell = lambda text: None) -> GraspResult:
    """Find a schedule by gradients, and scale it down until it just holds in the pressure field.

    Args:
        lift: What is lifted.
        tell: Told what is done at the moment.

    Raises:
        InputError: JAX is not installed, or no multiple of the schedule holds.
    """
    started = time.perf_counter()
    knots: Array = KNOT * np.arange(round(DURATION / KNOT) + 1, dtype=np.float64)
    looks = np.arange(_FIRST_LOOK, DURATION, KNOT / _LOOKS)
    tell("smooth contact: compiling derivatives")
    smooth = SmoothGrasp(lift, knots, looks)
    real = RealGrasp(lift)
    wanted, smooth_rollouts = _by_gradients(smooth, lift, knots, tell)
    times: Array = TIME_STEP * np.arange(real.steps, dtype=np.float64)
    schedule = np.interp(times, knots, wanted)
    rollouts = 0

    def slip(scale: float) -> float:
        nonlocal rollouts
        rollouts += 1
        tell(f"pressure field: {rollouts} lifts")
        return float(np.abs(real.slips(scale * schedule)).max())

    scale, held, slip_below = _least_scale(slip)
    forces, least = scale * schedule, lift.least_force(times)
    steps = smooth_rollouts * smooth.steps + rollouts * real.steps
    return GraspResult(
        lift,
        knots,
        wanted,
        scale * wanted,
        held,
        slip_below,
        float(np.mean(forces**2)),
        float(np.mean(least**2)),
        float(least.max() ** 2),
        GraspEffort(smooth_rollouts, rollouts, steps, time.perf_counter() - started),
    )


def _by_gradients(smooth: SmoothGrasp, lift: Lift, knots: Array, tell: Tell) -> tuple[Array, int]:
    """The schedule (K,) of least mean square with which friction is in use to ``SHARE`` at most, and its rollouts."""
    # In units of the weight: a firm grip that knows nothing of friction or of the lift.
    unit = lift.mass * GRAVITY
    last: tuple[bytes, Array, Array] = (b"", np.empty(0), np.empty(0))
    rollouts = 0

    def evaluated(x: Array) -> tuple[Array, Array]:
        nonlocal last, rollouts
        if last[0] != x.tobytes():
            rollouts += 1
            tell(f"smooth contact: {rollouts} lifts")
            last = (x.tobytes(), *smooth.rest_and_slopes(unit * x))
        return last[1], unit * last[2]

    mean = np.full(len(knots), 1.0 / len(knots))
    found = minimize(
        lambda x: (float(mean @ x**2), 2.0 * mean * x),
        np.full(len(knots), _FIRM),
        jac=True,
        method="SLSQP",
        bounds=[(_WEAK, _STRONG)] * len(knots),
        constraints={"type": "ineq", "fun": lambda x: evaluated(x)[0], "jac": lambda x: evaluated(x)[1]},
        options={"maxiter": _MOST_ITERATIONS, "ftol": 1e-5},
    )
    if not found.success:
        problem = f"no schedule was found: {found.message}"
        raise InputError("optimize grasp", "", problem, "take a larger friction or a lower height")
    return unit * np.asarray(found.x), rollouts


def _least_scale(slip: Callable[[float], float]) -> tuple[float, float, float]:
    """The least scale that holds, to 1 %, with its slip, m, and the slip with a scale that is less by that."""
    lower, upper = 0.0, 1.0
    held = slip(upper)
    while held > HELD:
        if upper > 2.0:
            mend = "take a larger friction or a lower height"
            raise InputError("optimize grasp", "", "the box slips in the pressure field", mend)
        lower, upper = upper, 1.2 * upper
        held = slip(upper)
    slip_below = math.inf
    lower = lower or 0.5 * upper
    while upper - lower > _RESOLUTION * upper:
        middle = 0.5 * (lower + upper)
        found = slip(middle)
        if found <= HELD:
            upper, held = middle, found
        else:
            lower, slip_below = middle, found
    return upper, held, slip_below
