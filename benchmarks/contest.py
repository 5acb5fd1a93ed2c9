"""Whole steps of one scene, ours against Drake's: the simulators take turns, so that all see the same load."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from drake_scene import DrakeScene
from rich.table import Table

from hydro_sim_core.description import LoadedScene
from hydro_sim_core.simulation import World

OURS = "hydro-sim"
ONE_CALL_A_TURN, ONE_CALL_A_STEP = "one call a turn", "one call a step"

#: What the runs should agree on at the end, from the pose (4, 4) of a body.
Outcome = Callable[[np.ndarray], float]


@dataclass
class Contestant:
    """A simulator and one way to step it.

    Attributes:
        simulator: Which.
        stepping: How.
        advance: Takes a number of steps.
        faces: Contact faces now.
        pose: Pose (4, 4) of a body now.
        turn_times: CPU time of every turn, s.
        turn_faces: Faces at the end of every turn.
    """

    simulator: str
    stepping: str
    advance: Callable[[int], None]
    faces: Callable[[], int]
    pose: Callable[[str], np.ndarray]
    turn_times: list[float] = field(default_factory=list)
    turn_faces: list[int] = field(default_factory=list)

    def take_turn(self, steps: int) -> None:
        """Advance and keep the CPU time of this thread."""
        began = time.thread_time()
        self.advance(steps)
        self.turn_times.append(time.thread_time() - began)
        self.turn_faces.append(self.faces())


@dataclass(frozen=True)
class Result:
    """What a contestant did.

    Attributes:
        simulator: Which.
        stepping: How.
        ms_per_step: Mean CPU time, ms.
        ms_per_step_fastest_turn: Of the fastest turn, ms.
        ms_per_step_slowest_turn: Of the slowest turn, ms.
        faces: Mean number of contact faces.
        real_time_factor: Simulated time over CPU time.
        share: Our CPU time (the faster way of stepping) over its own.
        outcome: What the runs should agree on.
    """

    simulator: str
    stepping: str
    ms_per_step: float
    ms_per_step_fastest_turn: float
    ms_per_step_slowest_turn: float
    faces: float
    real_time_factor: float
    share: float
    outcome: float


def ours(scene: LoadedScene, stepping: str = ONE_CALL_A_TURN) -> Contestant:
    """Our world, compiled and reset."""
    world = World(scene)
    world.step()
    world.reset()

    def one_call_a_step(steps: int) -> None:
        for _ in range(steps):
            world.step()

    return Contestant(
        OURS,
        stepping,
        world.step if stepping == ONE_CALL_A_TURN else one_call_a_step,
        lambda: int(world.diagnostics()["faces"]),
        world.frame_pose,
    )


def drake(scene: LoadedScene, method: str, stepping: str = ONE_CALL_A_TURN) -> Contestant:
    """Drake's plant with one of its methods."""
    its = DrakeScene(scene, method)
    whole = stepping == ONE_CALL_A_TURN
    return Contestant(
        f"Drake {method}",
        stepping,
        lambda steps: its.advance(steps, pieces=1 if whole else steps),
        its.faces,
        its.pose,
    )


def compete(
    contestants: Sequence[Contestant],
    time_step: float,
    turn: float,
    settling: float,
    duration: float,
    body: str,
    outcome: Outcome,
) -> list[Result]:
    """Let all contestants simulate the same scene in turns.

    Args:
        contestants: Who takes part; one of them is ours.
        time_step: s.
        turn: Simulated time of a turn, s.
        settling: Simulated time at the beginning that does not count, s.
        duration: Simulated time that counts, s.
        body: Whose pose the outcome is taken from.
        outcome: What the runs should agree on.
    """
    steps = round(turn / time_step)
    for contestant in contestants:
        if settling:
            contestant.advance(round(settling / time_step))
    for _ in range(round(duration / turn)):
        for contestant in contestants:
            contestant.take_turn(steps)
    step_times = [np.array(contestant.turn_times) / steps for contestant in contestants]
    our_time = min(
        float(times.mean())
        for contestant, times in zip(contestants, step_times, strict=True)
        if contestant.simulator == OURS
    )
    return [
        Result(
            contestant.simulator,
            contestant.stepping,
            ms_per_step=1e3 * float(times.mean()),
            ms_per_step_fastest_turn=1e3 * float(times.min()),
            ms_per_step_slowest_turn=1e3 * float(times.max()),
            faces=float(np.mean(contestant.turn_faces)),
            real_time_factor=time_step / float(times.mean()),
            share=our_time / float(times.mean()),
            outcome=outcome(contestant.pose(body)),
        )
        for contestant, times in zip(contestants, step_times, strict=True)
    ]


def share_of_best(results: Sequence[Result], simulator: str) -> float:
    """Our CPU time over that of a simulator, each stepped the faster way."""
    return max(result.share for result in results if result.simulator == simulator)


def contest_table(results: Sequence[Result], title: str, outcome: str) -> Table:
    """One row a contestant.

    Args:
        results: What they did.
        title: Of the table.
        outcome: Heading of the outcome.
    """
    table = Table(title=title, caption="share: CPU time of hydro-sim, stepped the faster way, over its own")
    for heading in ("simulator", "stepping"):
        table.add_column(heading)
    for heading in ("ms a step", "fastest turn", "faces", "x real time", "share", outcome):
        table.add_column(heading, justify="right")
    for result in results:
        table.add_row(
            result.simulator,
            result.stepping,
            f"{result.ms_per_step:.4f}",
            f"{result.ms_per_step_fastest_turn:.4f}",
            f"{result.faces:.0f}",
            f"{result.real_time_factor:.1f}",
            "" if result.simulator == OURS else f"{result.share:.3f}",
            f"{result.outcome:.6f}",
        )
    return table


def as_rows(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Plain data for JSON."""
    return [asdict(result) for result in results]
