"""The experiments by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.errors import InputError
from hydro_sim_core.experiments import fem_layer, incline, spatula_slip, sphere_convergence
from hydro_sim_core.experiments.report import ExperimentReport


@dataclass(frozen=True)
class Experiment:
    """A program that measures and compares.

    Attributes:
        summary: One line on what it shows.
        run: Runs it; its argument asks for the quick form, which takes seconds and compares less.
        plot: Draws a report into a PNG file.
    """

    summary: str
    run: Callable[[bool], ExperimentReport]
    plot: Callable[[ExperimentReport, Path], None]


EXPERIMENTS = {
    "spatula_slip": Experiment(
        "Grip, pressure and roll of a spatula slipping in a welded gripper, against Drake.",
        lambda quick: spatula_slip.run("spatula_slip_welded", until=1.5 if quick else 6.0),
        spatula_slip.plot,
    ),
    "spatula_slip_arm": Experiment(
        "The same with the gripper on a Kinova arm that holds still.",
        lambda quick: spatula_slip.run("spatula_slip", until=1.5 if quick else 6.0),
        spatula_slip.plot,
    ),
    "incline": Experiment(
        "Creep below and acceleration above the friction angle of a block on a slope, against Coulomb's law.",
        lambda quick: incline.run((10.0, 25.0), (35.0,)) if quick else incline.run(),
        incline.plot,
    ),
    "sphere_convergence": Experiment(
        "Force of a sphere on a half space against the closed form, at second order in the mesh size.",
        lambda quick: sphere_convergence.run(sphere_convergence.RESOLUTIONS[: 4 if quick else None]),
        sphere_convergence.plot,
    ),
    "fem_layer": Experiment(
        "Force of a rigid sinusoid on a compliant layer against finite elements, from flat to point-like.",
        lambda quick: fem_layer.run((0.0, 1.0, 4.0), (4.0,)) if quick else fem_layer.run(),
        fem_layer.plot,
    ),
}


def find_experiment(name: str) -> Experiment:
    """An experiment by name.

    Raises:
        InputError: There is none of this name.
    """
    if name not in EXPERIMENTS:
        raise InputError("validate", f"experiment '{name}'", "is unknown", did_you_mean(name, EXPERIMENTS))
    return EXPERIMENTS[name]
