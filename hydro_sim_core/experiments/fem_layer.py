"""A rigid sinusoid pressed into a compliant layer: the pressure field against linear elasticity.

Elandt 2019, section VIII-A: a layer of unit thickness, no friction, the crests pressed in by a given depth, the
amplitude from flat to point-like. The field of a layer is its modulus times depth over thickness. That is exact for
full contact, at any amplitude; where only the crests touch, they also displace the layer beside them, which takes a
force that the field does not model.

In linear elasticity the field's share of the force depends on the amplitude in units of depth and on the wavelength in
units of thickness. The paper states the share at its largest amplitude; its lengths are not in the text available to
us. They were chosen here so that the share decreases to the paper's value, at an amplitude with a sixth of the surface
in contact: a wave of four thicknesses and an amplitude of four depths. The field is exact in full contact and too small
beyond it for any choice; the figure also has a shorter and a longer wave.

The force of the field is also known in closed form: it is that of a layer of independent springs (Winkler foundation),
and each force is compared with it too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.contact import ContactPatch, compute_patch
from hydro_sim_core.drawing.figures import figure
from hydro_sim_core.experiments.elastic_layer import ElasticLayer, finite_elements
from hydro_sim_core.experiments.report import Comparison, ExperimentReport
from hydro_sim_core.geometry import Geometry, compliant_mesh, rigid_mesh

Array = NDArray[np.float64]

SOURCE = (
    "finite elements (scikit-fem, plane strain, Poisson's ratio 0); Elandt 2019, section VIII-A: 23 % less force at "
    "the largest amplitude"
)
THICKNESS = 1.0
MODULUS = 1e5
DEPTH = 0.05
WAVELENGTH = 4.0
OTHER_WAVELENGTHS = (2.0, 8.0)
#: Amplitudes, in depths.
AMPLITUDES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
#: Amplitudes whose pressures are plotted.
DRAWN = (0.0, 1.0, 4.0)
PUBLISHED_SHARE = 0.77

#: Elements through the thickness: of the reported solution, and of the one that verifies it.
ELEMENTS = 64
COARSE_ELEMENTS = 32
#: Strips of the rigid sinusoid per wave; its chords lie within (pi / STRIPS)^2 / 2 of the amplitude.
STRIPS = 512
#: Cells of the layer along the wave; its field is linear, so that they only split the faces.
CELLS = 16
#: Width of both bodies into the plane, m.
WIDTH = 1.0

CONVERGENCE_BOUND = 1.5e-5
#: Bounds in full contact, where the field is exact: round-off of the linear algebra, and of the sum over faces.
FLAT_BOUND, FLAT_SPRINGS_BOUND = 6e-13, 4e-15
#: Bound on the sum over faces in partial contact, for each depth of amplitude: the chords of the sinusoid.
SPRINGS_BOUND = 2e-5
#: Bounds on the deviation of the field from elasticity in partial contact by amplitude, in depths, up to the paper's;
#: of other amplitudes that.
SHORTFALL = 1.0 - PUBLISHED_SHARE
SHORTFALLS = {0.5: 0.015, 0.75: 0.06, 1.0: 0.1, 1.5: 0.15, 2.0: 0.2, 3.0: 0.22}
PUBLISHED_BOUND = 0.0075


@dataclass(frozen=True)
class Pressing:
    """Solutions of the pressure field and of finite elements for one amplitude.

    Attributes:
        patch: Contact patch of the pressure field.
        pressure: (N,) pressure by finite elements at the layer's nodes, Pa.
        force: Force by finite elements, N per wave.
    """

    patch: ContactPatch
    pressure: Array
    force: float

    @property
    def conforms(self) -> bool:
        """Whether the elastic layer touches the sinusoid everywhere."""
        return bool(self.pressure.min() > 0.0)

    @property
    def our_force(self) -> float:
        """Force of the pressure field, N per wave."""
        return float(self.patch.force_on_b[2])

    @property
    def share(self) -> float:
        """Force of the pressure field as a share of the elastic force."""
        return self.our_force / self.force


def run(
    amplitudes: Sequence[float] = AMPLITUDES, wavelengths: Sequence[float] = (WAVELENGTH, *OTHER_WAVELENGTHS)
) -> ExperimentReport:
    """Press sinusoids into the layer and compare the forces.

    Args:
        amplitudes: Amplitudes in depths, increasing from 0.
        wavelengths: Wavelengths, m; the first is compared, the others are only in the series.

    Raises:
        InputError: scikit-fem is not installed.
    """
    series: dict[str, list[float]] = {"amplitude": list(amplitudes)}
    for wavelength in wavelengths:
        layer = ElasticLayer(wavelength, THICKNESS, MODULUS, ELEMENTS)
        pressings = [press(layer, wavelength, amplitude * DEPTH) for amplitude in amplitudes]
        series[f"share, wavelength {wavelength:g}"] = [pressing.share for pressing in pressings]
        if wavelength == wavelengths[0]:
            comparisons = _compare(amplitudes, wavelength, pressings)
            series |= _profiles(amplitudes, layer, pressings)
    return ExperimentReport("Rigid sinusoid in a compliant layer", SOURCE, tuple(comparisons), series)


def press(layer: ElasticLayer, wavelength: float, amplitude: float) -> Pressing:
    """Press one sinusoid ``DEPTH`` into the layer by both methods; lengths in m."""
    depth = DEPTH - amplitude * (1.0 - np.cos(2.0 * np.pi * layer.x / wavelength))
    pressure = layer.press(depth)
    # Half a wave represents the whole one.
    force = 2.0 * WIDTH * float(pressure @ layer.widths)
    patch = compute_patch(compliant_layer(wavelength), np.eye(4), sinusoid(wavelength, amplitude), np.eye(4))
    return Pressing(patch, pressure, force)


def compliant_layer(wavelength: float) -> Geometry:
    """One wave of the layer, 0 <= z <= THICKNESS, bonded at z = 0, where its pressure is the modulus."""
    mesh = finite_elements().MeshTet.init_tensor(
        np.linspace(-wavelength / 2.0, wavelength / 2.0, CELLS + 1),
        np.array([0.0, WIDTH]),
        np.array([0.0, THICKNESS]),
    )
    vertices = mesh.p.T
    return compliant_mesh(vertices, mesh.t.T, MODULUS * (1.0 - vertices[:, 2] / THICKNESS))


def sinusoid(wavelength: float, amplitude: float) -> Geometry:
    """The lower side of a rigid body whose crest at x = 0 lies ``DEPTH`` below the layer's upper side.

    It reaches beyond the layer by half a wave on either side and by half the width in y.
    """
    x = np.linspace(-wavelength, wavelength, 2 * STRIPS + 1)
    z = THICKNESS - DEPTH + amplitude * (1.0 - np.cos(2.0 * np.pi * x / wavelength))
    front, back = (np.column_stack([x, np.full(len(x), y), z]) for y in (-0.5 * WIDTH, 1.5 * WIDTH))
    left = np.arange(2 * STRIPS)
    right, behind = left + 1, len(x)
    triangles = np.vstack(
        [
            np.column_stack([left, left + behind, right]),
            np.column_stack([right, left + behind, right + behind]),
        ]
    )
    return rigid_mesh(np.vstack([front, back]), triangles, open_surface=True)


def elastic_foundation(wavelength: float, amplitude: float) -> float:
    """Closed-form force of the pressure field, that of a bed of springs of the layer's stiffness, N per wave."""
    reach = 1.0 - DEPTH / amplitude if amplitude > 0.0 else -1.0
    # The surface touches where cos(2 pi x / wavelength) is above ``reach``.
    phase = np.arccos(max(reach, -1.0))
    mean_depth = ((DEPTH - amplitude) * phase + amplitude * np.sin(phase)) / np.pi
    return float(MODULUS / THICKNESS * mean_depth * wavelength * WIDTH)


def _compare(
    amplitudes: Sequence[float], wavelength: float, pressings: Sequence[Pressing]
) -> list[Comparison]:
    comparisons = []
    for amplitude, pressing in zip(amplitudes, pressings, strict=True):
        where = f"at {amplitude:g} depths"
        springs = elastic_foundation(wavelength, amplitude * DEPTH)
        bound = FLAT_BOUND if pressing.conforms else SHORTFALLS.get(amplitude, SHORTFALL)
        # A rigid sinusoid of up to half the depth leaves no gap below a bed of springs.
        springs_bound = FLAT_SPRINGS_BOUND if amplitude <= 0.5 else SPRINGS_BOUND * amplitude
        comparisons += [
            Comparison(f"force {where}", "N", pressing.force, pressing.our_force, bound, "relative"),
            Comparison(
                f"force of springs {where}", "N", springs, pressing.our_force, springs_bound, "relative"
            ),
        ]
    largest = amplitudes[-1]
    coarse = press(ElasticLayer(wavelength, THICKNESS, MODULUS, COARSE_ELEMENTS), wavelength, largest * DEPTH)
    last = pressings[-1]
    return [
        *comparisons,
        Comparison(
            "share of the elastic force, largest amplitude (wave chosen to match)",
            "",
            PUBLISHED_SHARE,
            last.share,
            PUBLISHED_BOUND,
            "absolute",
        ),
        Comparison(
            f"finite elements, {COARSE_ELEMENTS} for {ELEMENTS} through the thickness",
            "N",
            last.force,
            coarse.force,
            CONVERGENCE_BOUND,
            "relative",
        ),
    ]


def _profiles(
    amplitudes: Sequence[float], layer: ElasticLayer, pressings: Sequence[Pressing]
) -> dict[str, list[float]]:
    columns = {"x, finite elements": layer.x.tolist()}
    for amplitude, pressing in zip(amplitudes, pressings, strict=True):
        if amplitude in DRAWN:
            faces = pressing.patch.faces
            order = np.argsort(faces.centroids[:, 0])
            columns |= {
                f"pressure at {amplitude:g}, finite elements": pressing.pressure.tolist(),
                f"x at {amplitude:g}, ours": faces.centroids[order, 0].tolist(),
                f"pressure at {amplitude:g}, ours": faces.pressures[order].tolist(),
            }
    return columns


def plot(report: ExperimentReport, path: Path) -> None:
    """Plot pressures along half a wave, and the share of the elastic force over the amplitude.

    Raises:
        InputError: The figure cannot be drawn or written.
    """
    series = report.series
    with figure(path, 10.0, 4.2) as canvas:
        profile, share = canvas.subplots(1, 2)
        colours = ("#4d4d4d", "#1f5fa8", "#c44e24")
        for amplitude, colour in zip(DRAWN, colours, strict=True):
            label = "flat" if amplitude == 0.0 else f"amplitude {amplitude:g} × depth"
            elastic = 1e-3 * np.array(series[f"pressure at {amplitude:g}, finite elements"])
            profile.plot(series["x, finite elements"], elastic, color=colour, label=label)
            x = np.array(series[f"x at {amplitude:g}, ours"])
            ours = 1e-3 * np.array(series[f"pressure at {amplitude:g}, ours"])
            profile.plot(x[x >= 0.0], ours[x >= 0.0], "--", color=colour)
        profile.plot([], [], color="k", label="finite elements")
        profile.plot([], [], "--", color="k", label="pressure field")
        profile.set_xlim(0.0, WAVELENGTH / 2.0)
        profile.set_xlabel("distance from the crest [thicknesses]")
        profile.set_ylabel("pressure [kPa]")
        profile.set_title(f"Half a wave of {WAVELENGTH:g} thicknesses, {DEPTH:g} deep")
        shares = [name for name in series if name.startswith("share")]
        for name, marker in zip(shares, "osv", strict=False):
            label = name.partition(", ")[2] + " thicknesses"
            share.plot(series["amplitude"], series[name], marker + "-", ms=4, label=label)
        published = f"Elandt 2019, largest amplitude: {PUBLISHED_SHARE:g}"
        share.axhline(PUBLISHED_SHARE, color="k", ls=":", label=published)
        share.set_ylim(0.0, 1.05)
        share.set_xlabel("amplitude [depths]")
        share.set_ylabel("pressure field's share of the elastic force")
        for axes in (profile, share):
            axes.grid(alpha=0.3)
            axes.legend(frameon=False, fontsize="small")
        canvas.suptitle(report.title)
