"""Timing of contact queries: both sides take turns over the same poses, in CPU time of the querying thread."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

import numpy as np

from hydro_sim_core.experiments.geometry_bench.ours import OurPair
from hydro_sim_core.experiments.geometry_bench.pairs import LOWEST_SPEED, SPEEDS, BenchPair, all_pairs
from hydro_sim_core.geometry import Geometry
from hydro_sim_core.geometry.geometry import FloatArray

#: Smallest number of faces of a patch for the growth; below it, the search for the patch dominates.
GROWTH_FROM = 500
_FAR_APART = 10.0  # m
_OVERHEAD_POSES = 300


class Side(Protocol):
    """Protocol of an implementation that finds contact faces of a pair."""

    def count_faces(self, X_BA: FloatArray) -> int:
        """Number of contact faces over all poses (n, 4, 4)."""


@dataclass(frozen=True)
class Effort:
    """Amount of timing.

    Attributes:
        turns: Number of turns of each side.
        faces: Approximate number of faces of each side in one turn.
        poses: Smallest and largest number of poses of a turn; the first poses find cold caches.
        largest: Pairs with more faces than this are left out.
    """

    turns: int
    faces: int
    poses: tuple[int, int]
    largest: float = math.inf


THOROUGH = Effort(turns=8, faces=40_000, poses=(12, 200))
QUICK = Effort(turns=3, faces=3_000, poses=(4, 20), largest=3_000)


@dataclass(frozen=True)
class Timing:
    """Times of one pair at one speed.

    Times are CPU times per query, s; those of Drake are None if it was left out.

    Attributes:
        family: Kind of the two geometries.
        level: Refinement.
        elements: Numbers of elements of A and of B.
        speed: Speed of A, m/s.
        poses: Number of queries of each side.
        faces: Contact faces per query of hydro-sim.
        drake_faces: Contact faces per query of Drake.
        seconds: Time of hydro-sim.
        drake_seconds: Time of Drake with its overhead.
        drake_overhead: Time of Drake for distant geometries: the cost of its call from Python.
        share_allowed: Largest allowed share of Drake's time.
        seconds_allowed: Largest allowed time of hydro-sim.
        stages: Time of hydro-sim by stage (see ``OurPair.stages``), from a run of its own.
    """

    family: str
    level: int
    elements: tuple[int, int]
    speed: float
    poses: int
    faces: float
    seconds: float
    drake_faces: float | None = None
    drake_seconds: float | None = None
    drake_overhead: float | None = None
    share_allowed: float | None = None
    seconds_allowed: float | None = None
    stages: Mapping[str, float] = field(default_factory=dict)

    @property
    def seconds_a_face(self) -> float:
        """Time of hydro-sim per face, s."""
        return self.seconds / self.faces

    @property
    def drake_seconds_a_face(self) -> float | None:
        """Time of Drake per face without the overhead, s."""
        if self.drake_seconds is None or self.drake_overhead is None or not self.drake_faces:
            return None
        return (self.drake_seconds - self.drake_overhead) / self.drake_faces

    @property
    def share(self) -> float | None:
        """Our time over Drake's with its overhead."""
        return None if self.drake_seconds is None else self.seconds / self.drake_seconds

    @property
    def share_without_overhead(self) -> float | None:
        """Our time over Drake's without its overhead, which is compared with the target."""
        if self.drake_seconds is None or self.drake_overhead is None:
            return None
        return self.seconds / (self.drake_seconds - self.drake_overhead)

    @property
    def reaches_target(self) -> bool | None:
        """Whether the pair meets its target; None if that is unknown."""
        if self.seconds_allowed is not None:
            return self.seconds <= self.seconds_allowed
        if self.share_allowed is None or self.share_without_overhead is None:
            return None
        return self.share_without_overhead <= self.share_allowed

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        derived = (
            "seconds_a_face",
            "drake_seconds_a_face",
            "share",
            "share_without_overhead",
            "reaches_target",
        )
        return {**asdict(self), **{name: getattr(self, name) for name in derived}}


@dataclass(frozen=True)
class Growth:
    """Growth of our cost per face with the resolution.

    Attributes:
        family: Family of pairs.
        faces: Number of faces of the coarsest pair that counts and of the finest.
        factor: Cost per face of the finest pair over that of the coarsest, at the lowest speed.
    """

    family: str
    faces: tuple[float, float]
    factor: float


def growths(timings: Sequence[Timing]) -> list[Growth]:
    """Growth in every family with two pairs of ``GROWTH_FROM`` faces or more."""
    found = []
    for family in dict.fromkeys(timing.family for timing in timings):
        fine = [
            t for t in timings if t.family == family and t.faces >= GROWTH_FROM and t.speed == LOWEST_SPEED
        ]
        if len(fine) >= 2:
            coarsest, finest = min(fine, key=lambda t: t.faces), max(fine, key=lambda t: t.faces)
            factor = finest.seconds_a_face / coarsest.seconds_a_face
            found.append(Growth(family, (coarsest.faces, finest.faces), factor))
    return found


@dataclass(frozen=True)
class _Spent:
    """Faces and CPU time (s) of a query."""

    faces: float
    seconds: float


def compile_queries() -> None:
    """Compile our queries, so that the first pair starts as quickly as the others."""
    pair = all_pairs()[0]
    OurPair(*pair.make(), pair.X_BA).stages(pair.X_BA[None])


def measure(
    pairs: Sequence[BenchPair],
    effort: Effort,
    make_drake: Callable[[Geometry, Geometry], Side] | None,
    speeds: Sequence[float] = SPEEDS,
) -> Iterator[Timing]:
    """Time all pairs at all speeds, one after the other.

    Args:
        pairs: Pairs to time.
        effort: Amount of timing.
        make_drake: Makes Drake's side from A and B; None leaves it out.
        speeds: Speeds of A, m/s.
    """
    for pair in pairs:
        a, b = pair.make()
        ours = OurPair(a, b, pair.X_BA)
        sides: dict[str, Side] = {"ours": ours}
        faces = ours.count_faces(pair.X_BA[None])
        if faces > effort.largest:
            continue
        if make_drake is not None:
            sides["drake"] = make_drake(a, b)
            sides["drake"].count_faces(pair.X_BA[None])
        overhead = _overhead(sides["drake"]) if "drake" in sides else None
        count = effort.turns * int(np.clip(effort.faces // faces, *effort.poses))
        for speed in speeds:
            X_BA = pair.poses(speed, count)
            spent = _take_turns(X_BA, effort.turns, sides)
            drake = spent.get("drake")
            yield Timing(
                family=pair.family,
                level=pair.level,
                elements=(len(a.elements), len(b.elements)),
                speed=speed,
                poses=count,
                faces=spent["ours"].faces,
                seconds=spent["ours"].seconds,
                drake_faces=drake.faces if drake else None,
                drake_seconds=drake.seconds if drake else None,
                drake_overhead=overhead,
                share_allowed=pair.share_allowed(speed),
                seconds_allowed=pair.target_seconds,
                stages=ours.stages(X_BA),
            )


def _take_turns(X_BA: FloatArray, turns: int, sides: dict[str, Side]) -> dict[str, _Spent]:
    """Faces and time of every side per query; each continues where it stopped, so the motion is never interrupted."""
    seconds = dict.fromkeys(sides, 0.0)
    faces = dict.fromkeys(sides, 0)
    for part in np.split(X_BA, turns):
        for name, side in sides.items():
            began = time.thread_time()
            faces[name] += side.count_faces(part)
            seconds[name] += time.thread_time() - began
    return {name: _Spent(faces[name] / len(X_BA), seconds[name] / len(X_BA)) for name in sides}


def _overhead(side: Side) -> float:
    """CPU time of a query of distant geometries, s."""
    X_BA = np.tile(np.eye(4), (_OVERHEAD_POSES, 1, 1))
    X_BA[:, :3, 3] = _FAR_APART
    began = time.thread_time()
    side.count_faces(X_BA)
    return (time.thread_time() - began) / _OVERHEAD_POSES
