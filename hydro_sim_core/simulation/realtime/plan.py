"""What the compiled loop commands in the steps that it takes, and what it looks out for, as controllers hand it over.

A controller samples a motion before every step. So that the loop can do without it, it writes to the plan what it would
do in the coming steps, and which states it wants to see itself. Afterwards it takes back how far the loop has come.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from hydro_sim_core.compilation import Float1D, Float2D, Float3D, Int1D, Int2D
from hydro_sim_core.dynamics.tree import TreeScratch, make_scratch
from hydro_sim_core.simulation.world import World

#: What is commanded to a joint: what was commanded before; the polynomials of a trajectory; a set-point that moves at a
#: speed; a speed alone; a position that moves to its end at a speed.
STANDS, PIECES, SERVO, DAMPER, RAMP = range(5)
#: When Python wants to see a run: when a joint has left its tolerances; when all joints are within them.
NEVER, LEFT, REACHED = range(3)
#: Polynomials of a joint that are handed over at most.
MOST_PIECES = 64
#: Words of ``Plan.whole``: 1 if weights are needed; number of joints that a twist moves; link that it moves; link in
#: whose axes it is, -1 for the world's; number of runs; number of grippers.
WEIGHTS, TWISTED, TOOL, FRAME, RUNS, GRIPS = range(6)
#: Time (s) that a joint would need to reach its limit at the largest velocity that a twist gives it near there.
STOP_TIME = 0.1


class Plan(NamedTuple):
    """Commands of the coming steps; (J,) arrays have one row for each of ``World.joint_names``.

    Attributes:
        whole: What is said of all joints.
        kind: (J,) what is commanded.
        zero: (J,) simulated time of a trajectory's time zero, s.
        knots: (J, MOST_PIECES + 1) ends of its pieces since then, s.
        pieces: (J, MOST_PIECES, 6) polynomials in time since their begin, the constant term first.
        piece: (J,) the present one.
        is_rated: (J,) 1 where the velocity of a trajectory is commanded, too.
        desired: (J, 2) position and velocity of a trajectory at the begin of the coming step.
        speed: (J,) speed of a set-point, or of a ramp, rad/s or m/s.
        place: (J,) the set-point, or the position of a ramp at the begin of the coming step.
        coming: (J,) the same at the end of the step that is taken.
        reach: (J,) largest distance of a set-point from its joint.
        end: (J,) end of a ramp.
        is_weighed: (J,) 1 where the effort is what carries the joint's weight.
        run: (J,) run that watches a joint; -1 without.
        watch: (J,) when Python wants to see the run.
        allowed: (J, 2) largest deviations from what is desired, of position and velocity; 0 for no limit.
        off: (J,) scratch: by runs, the number of joints outside.
        twist: (6,) desired twist, angular first.
        arm: (J,) joints that it moves, in its order.
        J_WT: (6, nv) scratch: Jacobian of the tool.
        J_arm: (6, J) scratch: of its joints.
        twist_W: (6,) scratch.
        p_WT: (3,) scratch.
        bounds: (2, J) scratch.
        rates: (J,) scratch.
        is_free: (J,) scratch.
        A: (6, 6) scratch.
        x: (6,) scratch.
        weight: (nv,) scratch: efforts that carry the weight.
        memory: Scratch of the dynamics.
        finger: (grippers, J) joints of the fingers; -1 at the end.
        closing: (grippers, J) their closing directions.
        closed: (grippers, J) their closed positions.
        is_linkage: (grippers,) 1 where the opening is the position of the joint.
        gap: (grippers,) opening that is wanted, m.
        near: (grippers,) distance from it at which it is reached.
        slowest: (grippers,) speed below which it is taken to stand.
        patience: (grippers,) how long it stands before Python looks, s.
        moved_at: (grippers,) simulated time at which it moved last, s.
    """

    whole: Int1D
    kind: Int1D
    zero: Float1D
    knots: Float2D
    pieces: Float3D
    piece: Int1D
    is_rated: Int1D
    desired: Float2D
    speed: Float1D
    place: Float1D
    coming: Float1D
    reach: Float1D
    end: Float1D
    is_weighed: Int1D
    run: Int1D
    watch: Int1D
    allowed: Float2D
    off: Int1D
    twist: Float1D
    arm: Int1D
    J_WT: Float2D
    J_arm: Float2D
    twist_W: Float1D
    p_WT: Float1D
    bounds: Float2D
    rates: Float1D
    is_free: Int1D
    A: Float2D
    x: Float1D
    weight: Float1D
    memory: TreeScratch
    finger: Int2D
    closing: Float2D
    closed: Float2D
    is_linkage: Int1D
    gap: Float1D
    near: Float1D
    slowest: Float1D
    patience: Float1D
    moved_at: Float1D


class Planner(Protocol):
    """Somebody who commands joints before every step, and can tell what."""

    def hand_over(self, world: World, plan: Plan) -> float:
        """Write to the plan what is commanded from now on; return for how many steps it holds."""

    def take_back(self, world: World, plan: Plan) -> None:
        """Take notice of steps that were taken by the plan."""


def make_plan(world: World) -> Plan:
    """An empty plan of a world's size."""
    tree = world.built.model.tree
    joints, nv, grippers = len(world.joint_names), len(world.velocity_names), len(world.gripper_names)
    plan = Plan(
        whole=np.zeros(6, dtype=np.int64),
        kind=np.zeros(joints, dtype=np.int64),
        zero=np.zeros(joints),
        knots=np.zeros((joints, MOST_PIECES + 1)),
        pieces=np.zeros((joints, MOST_PIECES, 6)),
        piece=np.zeros(joints, dtype=np.int64),
        is_rated=np.zeros(joints, dtype=np.int64),
        desired=np.zeros((joints, 2)),
        speed=np.zeros(joints),
        place=np.zeros(joints),
        coming=np.zeros(joints),
        reach=np.zeros(joints),
        end=np.zeros(joints),
        is_weighed=np.zeros(joints, dtype=np.int64),
        run=np.zeros(joints, dtype=np.int64),
        watch=np.zeros(joints, dtype=np.int64),
        allowed=np.zeros((joints, 2)),
        off=np.zeros(joints, dtype=np.int64),
        twist=np.zeros(6),
        arm=np.zeros(joints, dtype=np.int64),
        J_WT=np.zeros((6, nv)),
        J_arm=np.zeros((6, joints)),
        twist_W=np.zeros(6),
        p_WT=np.zeros(3),
        bounds=np.zeros((2, joints)),
        rates=np.zeros(joints),
        is_free=np.zeros(joints, dtype=np.int64),
        A=np.zeros((6, 6)),
        x=np.zeros(6),
        weight=np.zeros(nv),
        memory=make_scratch(tree),
        finger=np.zeros((grippers, joints), dtype=np.int64),
        closing=np.zeros((grippers, joints)),
        closed=np.zeros((grippers, joints)),
        is_linkage=np.zeros(grippers, dtype=np.int64),
        gap=np.zeros(grippers),
        near=np.zeros(grippers),
        slowest=np.zeros(grippers),
        patience=np.zeros(grippers),
        moved_at=np.zeros(grippers),
    )
    clear_plan(plan)
    return plan


def clear_plan(plan: Plan) -> None:
    """Begin a plan anew: everything stands, and nothing is watched."""
    plan.whole[:] = 0
    plan.kind[:] = STANDS
    plan.is_weighed[:] = 0
    plan.watch[:] = NEVER
    plan.run[:] = -1


def commands_anything(plan: Plan) -> bool:
    """Whether the loop changes what is commanded."""
    return bool(np.any(plan.kind != STANDS) or np.any(plan.is_weighed))
