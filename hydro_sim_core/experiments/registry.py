"""Registry of the experiments by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.errors import InputError
from hydro_sim_core.experiments import (
    ecp_analytic,
    ecp_desk,
    ecp_t_bar,
    energy,
    face_scaling,
    fem_layer,
    flat_landing,
    incline,
    m16_nut,
    margin_boxes,
    off_centre_box,
    patch_moments,
    point_contact,
    rocking,
    rolling,
    scm_profile,
    sliding_disk,
    slip_control,
    spatula_release,
    spatula_slip,
    sphere_convergence,
    ssdf_isosurface,
    thin_plates,
)
from hydro_sim_core.experiments.planar_push import experiment as planar_push
from hydro_sim_core.experiments.report import ExperimentReport
from hydro_sim_core.experiments.rigid_pairs import experiment as rigid_pairs


@dataclass(frozen=True)
class Experiment:
    """An experiment: functions that run it and plot its report.

    Attributes:
        summary: Summary in one line.
        run: Runs it; its argument is whether to run the quick form, which takes seconds and compares less.
        plot: Plots a report to a PNG file.
    """

    summary: str
    run: Callable[[bool], ExperimentReport]
    plot: Callable[[ExperimentReport, Path], None]

    @property
    def description(self) -> str:
        """Description: the docstring of the experiment's module."""
        return inspect.getdoc(inspect.getmodule(self.plot)) or self.summary


EXPERIMENTS = {
    "spatula_slip": Experiment(
        "A spatula slips in a loose grasp and stands still in a secure one (Masterjohn 2022, figure 10).",
        lambda quick: spatula_slip.run("spatula_slip_welded", 6.0 if quick else spatula_slip.UNTIL),
        spatula_slip.plot,
    ),
    "spatula_slip_arm": Experiment(
        "The same with the gripper on a Kinova arm that holds still.",
        lambda quick: spatula_slip.run("spatula_slip", 6.0 if quick else spatula_slip.UNTIL),
        spatula_slip.plot,
    ),
    "spatula_release": Experiment(
        "The same with the spatula's physical inertia: at the first release it swings down, against Drake.",
        lambda quick: spatula_release.run(4.8) if quick else spatula_release.run(),
        spatula_release.plot,
    ),
    "slip_control": Experiment(
        "Area, pressure, position, force and pitch in Drake's slip control example, welded gripper.",
        lambda quick: slip_control.run("spatula_slip_welded", until=1.5 if quick else 6.0),
        slip_control.plot,
    ),
    "slip_control_arm": Experiment(
        "The same with the gripper on a Kinova arm that holds still.",
        lambda quick: slip_control.run("spatula_slip", until=1.5 if quick else 6.0),
        slip_control.plot,
    ),
    "incline": Experiment(
        "Creep below and acceleration above the friction angle of a block on a slope, against Coulomb's law.",
        lambda quick: incline.run((10.0, 25.0), (35.0,)) if quick else incline.run(),
        incline.plot,
    ),
    "rolling": Experiment(
        "Rigid balls and cylinders roll and slip down slopes, and along level ground, as rigid mechanics says.",
        lambda quick: rolling.run((10.0, 38.0)) if quick else rolling.run(),
        rolling.plot,
    ),
    "sphere_convergence": Experiment(
        "Force of a sphere on a half space against the closed form, at second order in the mesh size.",
        lambda quick: sphere_convergence.run(sphere_convergence.RESOLUTIONS[: 4 if quick else None]),
        sphere_convergence.plot,
    ),
    "energy": Experiment(
        "A ball bounces a hundred times without loss; balls that turn, slide and collide, as rigid mechanics says.",
        lambda quick: energy.run(10 if quick else energy.BOUNCES),
        energy.plot,
    ),
    "fem_layer": Experiment(
        "Force of a rigid sinusoid on a compliant layer against finite elements, from flat to point-like.",
        lambda quick: fem_layer.run((0.0, 1.0, 4.0), (4.0,)) if quick else fem_layer.run(),
        fem_layer.plot,
    ),
    "off_centre_box": Experiment(
        "Tilt of a flat box whose centre of mass is off its middle, against Winkler's foundation and Drake.",
        lambda quick: off_centre_box.run((1e6, 1e10)) if quick else off_centre_box.run(),
        off_centre_box.plot,
    ),
    "patch_moments": Experiment(
        "Force and moment of twelve kinds of pairs in random poses, against the slopes of the energy (Elandt 2019).",
        lambda quick: patch_moments.run(*patch_moments.QUICK) if quick else patch_moments.run(),
        patch_moments.plot,
    ),
    "rocking": Experiment(
        "Periods in which a flat box rocks and bounces on its pressure field, against Winkler's foundation.",
        lambda quick: rocking.run((1e7,)) if quick else rocking.run(),
        rocking.plot,
    ),
    "flat_landing": Experiment(
        "Boxes land flat, on ground and on a soft box, and keep their energy in ten bounces (Elandt 2019).",
        lambda quick: flat_landing.run(2) if quick else flat_landing.run(),
        flat_landing.plot,
    ),
    "face_scaling": Experiment(
        "Time of geometry and solver by the number of contact faces, and triangles against polygons.",
        lambda quick: face_scaling.run((200, 800), timed=False) if quick else face_scaling.run(),
        face_scaling.plot,
    ),
    "sliding_disk": Experiment(
        "Ratio of speed and spin of a coin as it stops, against theory and Masterjohn 2022.",
        lambda quick: sliding_disk.run(*sliding_disk.QUICK) if quick else sliding_disk.run(),
        sliding_disk.plot,
    ),
    "point_contact": Experiment(
        "What a patch adds to contact points: it resists twisting, in the grip too, and rolling.",
        lambda quick: (
            point_contact.run(1.5, point_contact.SHORT_SWINGING_TIME) if quick else point_contact.run()
        ),
        point_contact.plot,
    ),
    "ecp_desk": Experiment(
        "A desk on four feet touches at one equivalent point, pushed and turned as by Xie and Chakraborty 2019.",
        lambda _: ecp_desk.run(),
        ecp_desk.plot,
    ),
    "ecp_t_bar": Experiment(
        "A T-shaped bar tilts onto two of its points, onto two others, and spins (Xie and Chakraborty 2019).",
        lambda _: ecp_t_bar.run(),
        ecp_t_bar.plot,
    ),
    "ecp_analytic": Experiment(
        "Boxes and a coin at one equivalent point tip, slide and spin as closed forms say, and soft ones come to it.",
        lambda quick: ecp_analytic.run(ecp_analytic.MODULI[1:] if quick else ecp_analytic.MODULI),
        ecp_analytic.plot,
    ),
    "margin_boxes": Experiment(
        "Rattling of a box on a box, and how a margin stops it, against Drake's page on hydroelastic margin.",
        lambda quick: margin_boxes.run(*margin_boxes.QUICK) if quick else margin_boxes.run(),
        margin_boxes.plot,
    ),
    "rigid_pairs": Experiment(
        "Rigid bodies at rest on each other, falling and shot, beside Drake's contact points and MuJoCo.",
        lambda quick: rigid_pairs.run(1) if quick else rigid_pairs.run(),
        rigid_pairs.plot,
    ),
    "thin_plates": Experiment(
        "Plates of 0.5 to 10 mm in the Soft-bubble gripper: the force on each and the pull at which it slips.",
        lambda quick: thin_plates.run(thin_plates.QUICK) if quick else thin_plates.run(),
        thin_plates.plot,
    ),
    "ssdf_isosurface": Experiment(
        "Zero levels of the soft distance from cold to hot, against closed forms (Beker 2025, figures 1 and 4).",
        lambda _: ssdf_isosurface.run(),
        ssdf_isosurface.plot,
    ),
    "scm_profile": Experiment(
        "Force, gradient and Hessian of two spheres in smooth contact, beside MuJoCo (Beker 2025, figure 5).",
        lambda _: scm_profile.run(),
        scm_profile.plot,
    ),
    "m16_nut": Experiment(
        "A free nut is screwed onto an M16 bolt: its advance, how deep threads overlap, and what turns it.",
        lambda quick: m16_nut.run(1) if quick else m16_nut.run(),
        m16_nut.plot,
    ),
    "planar_push": Experiment(
        "A finger pushes a T in smooth contact, MuJoCo and the pressure field (Beker 2025, figures 6 and 7).",
        lambda quick: planar_push.run(planar_push.QUICK if quick else planar_push.VARIANTS),
        planar_push.plot,
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
