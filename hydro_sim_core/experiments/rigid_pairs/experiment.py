"""Rigid bodies rest on each other, fall without gaining energy and are not passed through, beside Drake and MuJoCo.

Weight, geometry and energy are the references: a body at rest stands still (within 1 um/s), where geometry puts it
(within 0.1 mm), no deeper than that in another (0.1 mm, by the surfaces alone), and its support carries its weight (to
a millionth). Steps take 1 ms unless it says otherwise.

Drake's point contact and MuJoCo get the same bodies in the same run, each with its defaults: in Drake shapes without
hydroelastic properties in its discrete steps, in MuJoCo the pyramidal cone with ``solref`` and ``solimp`` as they come.
Both could do better with settings for each scene: MuJoCo is stiffer with a shorter time constant, and both would take a
ring made of convex pieces. As they come, both replace a mesh by its convex hull: the peg stands on its
ring and the mug falls from its hook.

A mug on a hook rests because its handle is made of flat pieces and it was hung straight. Hung at an angle
of 2 degrees it rocks on the edges of the hook and loses a fifteenth of the swing's energy in a second: nothing in the
mechanics of rigid bodies brings a pendulum to rest soon.

The elbow of the shipped Gen3 cannot reach its base within its joint limits, and gravity alone swings the forearm past
it. The elbow is therefore driven by 10 N m while the other joints are held, until the bracelet lies on the base;
measured is the moment about the elbow, which gravity and drive must leave to the contact. Friction holds the tension of
the drives, and what it holds creeps (``docs/solvers.md``): with the default stiction speed of 10 um/s joints move by
52 urad/s; with the 10 nm/s of this scene, by less than one. In the others the arm rests a little otherwise, and the
moment differs by as much. MuJoCo gets its implicit integrator, which such stiff drives need.

Drops start in several orientations, without friction and dissipation. Energy is kinetic, potential and what contact
stores; the others do not tell the last, so theirs is without it. The ball and the bullet count as stopped while they
are less deep than the bounds; the bullet crosses 0.8 m in a step.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hydro_sim_core.drawing.figures import figure
from hydro_sim_core.experiments.report import Comparison, ExperimentReport
from hydro_sim_core.experiments.rigid_pairs import moving, plots
from hydro_sim_core.experiments.rigid_pairs.arm import ArmMaker, OurArm, measure_arm
from hydro_sim_core.experiments.rigid_pairs.cases import Rest, RestCase, measure, rest_cases
from hydro_sim_core.experiments.rigid_pairs.pictures import outlines, seen
from hydro_sim_core.experiments.rigid_pairs.simulators import Maker, OurBodies, Simulator, others

#: Bounds that are asked for: m/s, mm.
SPEED, DEPTH = 1e-6, 0.1
#: Bounds on what is carried, relative: where bodies still creep, in all other scenes, and on the arm's moment. Asked
#: for is 1e-6.
FORCES, FORCE, MOMENT = {"box over an edge": 2.8e-8, "mug on a hook": 2e-8}, 5.5e-12, 1.4e-8
#: Bounds on the gain of energy in a drop, as a share, and on the depth of ball and bullet, mm.
GAIN, BALL_DEPTH, BULLET_DEPTH = 1e-9, 0.3, 1.0
#: Orientations of the drops.
SEEDS = 5
#: Columns of the report: what is measured at rest, by its unit.
MEASURED = {"speed": "m/s", "depth": "mm", "off its place": "mm", "force": "N"}


def run(seeds: int = SEEDS) -> ExperimentReport:
    """Run all cases here and, where they are installed, in Drake and MuJoCo.

    Args:
        seeds: Number of orientations of each drop.
    """
    there = {name: other for name, other in others().items() if other is not None}
    missing = [name for name in others() if name not in there]
    installed = {name: other.bodies for name, other in there.items()}
    comparisons: list[Comparison] = []
    series: dict[str, list[float]] = {}
    for case in rest_cases():
        ours = measure(case, OurBodies, partial(_see, case.scene.name, series))
        theirs = {name: measure(case, make) for name, make in installed.items()}
        comparisons += _compare_rest(case, ours, theirs)
        series[f"poses, {case.scene.name}"] = seen(case.scene, ours.poses)
    comparisons += _compare_arm(series, {name: other.arm for name, other in there.items()})
    comparisons += _compare_drops(seeds, installed)
    comparisons += _compare_flights(installed)
    for name in ("hydro-sim", *installed):
        for quantity in MEASURED:
            rows = [c for c in comparisons if c.quantity.endswith(f": {quantity}")]
            series[f"{quantity}, {name}"] = [c.peers.get(name, c.measured) for c in rows]
    absent = f"; not installed here, so not compared: {' and '.join(missing)}" if missing else ""
    versions = "".join(f"; {name} {version(name.lower())} with its defaults" for name in installed)
    source = f"weight, geometry and conservation of energy{versions}{absent}"
    return ExperimentReport("Rigid bodies", source, tuple(comparisons), series)


def _see(name: str, series: dict[str, list[float]], simulator: Simulator) -> None:
    assert isinstance(simulator, OurBodies)
    series.update(outlines(name, simulator.world))


def _values(rest: Rest) -> dict[str, float]:
    return {
        "speed": rest.speed,
        "depth": 1e3 * rest.depth,
        "off its place": 1e3 * rest.off_place,
        "force": rest.force,
    }


def _compare_rest(case: RestCase, ours: Rest, theirs: dict[str, Rest]) -> list[Comparison]:
    limits = {"speed": SPEED, "depth": DEPTH, "off its place": DEPTH}
    comparisons = []
    for quantity, value in _values(ours).items():
        peers = {name: _values(rest)[quantity] for name, rest in theirs.items()}
        label, unit = f"{case.scene.name}: {quantity}", MEASURED[quantity]
        if quantity == "force":
            bound = FORCES.get(case.scene.name, FORCE)
            comparisons.append(Comparison(label, unit, case.weight, value, bound, "relative", peers))
        else:
            comparisons.append(Comparison(label, unit, limits[quantity], value, 0.0, "at_most", peers))
    return comparisons


def _compare_arm(series: dict[str, list[float]], installed: Mapping[str, ArmMaker]) -> list[Comparison]:
    arm = OurArm()
    ours = measure_arm(arm)
    theirs = {name: measure_arm(make()) for name, make in installed.items()}
    series |= outlines("arm on its base", arm.world) | {"positions, arm on its base": arm.world.q.tolist()}
    speeds = {name: rest.speed for name, rest in theirs.items()}
    depths = {name: 1e3 * rest.depth for name, rest in theirs.items()}
    moments = {name: rest.moment for name, rest in theirs.items()}
    of, elbow = "arm on its base, ", "moment about the elbow"
    return [
        Comparison(f"{of}joint speed", "rad/s", SPEED, ours.speed, 0.0, "at_most", speeds),
        Comparison(f"{of}depth", "mm", DEPTH, 1e3 * ours.depth, 0.0, "at_most", depths),
        Comparison(f"{of}{elbow}", "N m", ours.wanted, ours.moment, MOMENT, "relative", moments),
    ]


def _compare_drops(seeds: int, installed: Mapping[str, Maker]) -> list[Comparison]:
    comparisons = []
    for name, shape in moving.dropped().items():
        shares = {
            simulator: max(moving.most_in_drop(shape, seed, make) for seed in range(seeds))
            for simulator, make in {"": OurBodies, **installed}.items()
        }
        ours = shares.pop("")
        comparisons.append(
            Comparison(
                f"drop of a {name}: most energy over that at the start",
                "",
                1.0,
                ours,
                GAIN,
                "at_most",
                shares,
            )
        )
    return comparisons


def _compare_flights(installed: Mapping[str, Maker]) -> list[Comparison]:
    comparisons = []
    for scene, radius, bound in (
        (moving.ball_on_plate(), 0.02, BALL_DEPTH),
        (moving.bullet_on_sheet(), 0.0025, BULLET_DEPTH),
    ):
        depths = {
            simulator: 1e3 * moving.deepest_flight(scene, radius, make)
            for simulator, make in {"": OurBodies, **installed}.items()
        }
        ours = depths.pop("")
        comparisons.append(Comparison(f"{scene.name}: deepest", "mm", bound, ours, 0.0, "at_most", depths))
    return comparisons


def plot(report: ExperimentReport, path: Path) -> None:
    """Draw the scenes at rest with their contact patches, and what the simulators make of them.

    Raises:
        InputError: The figure cannot be drawn or written.
    """
    with figure(path, 9.0, 5.6) as canvas:
        parts: Any = canvas.subfigures(2, 1, height_ratios=(1.15, 1.0))
        above, below = parts
        plots.draw_scenes(above, report.series)
        plots.draw_bars(below, report)
