"""Plots of contact as PNG: grip force, rotation, pressure map of a body.

They take arrays and contact patches, from a World or a recording::

    plot_pressure_map(world.contacts, "left_finger", world.frame_pose("left_finger"), "pressure.png")
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hydro_sim_core.drawing.chosen_scale import scale_of_peaks
from hydro_sim_core.drawing.figures import figure, pressure_colours
from hydro_sim_core.drawing.pressure_scale import PressureScale, in_unit
from hydro_sim_core.pictures.files import check_picture_file
from hydro_sim_core.pictures.plot_footprint import Contact, Footprint, footprint
from hydro_sim_core.pictures.plot_rotation import angles_about, main_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

#: Colours of curves, distinguishable with colour blindness and in greyscale; they repeat after the last.
_LINE_COLOURS = ("#1f5fa8", "#d1792c", "#2a2a2a", "#7fb0e0")
_COMMAND_COLOUR = "#8a8a8a"
_SUFFIXES = (".png",)
_WIDTH, _HEIGHT = 7.5, 4.0  # inches
_BANDS = 200
#: Limits of the height of a footprint's picture, which follows its shape, inches.
_LEAST_HEIGHT, _LARGEST_HEIGHT = 3.6, 8.0
#: Tilt above which the title of a footprint mentions it, degrees.
_NOTABLE_TILT = 20.0


def plot_grip_force(
    time: ArrayLike,
    forces: Mapping[str, ArrayLike],
    path: str | Path,
    commanded: Mapping[str, ArrayLike] | None = None,
    title: str = "Grip force",
) -> None:
    """Plot contact forces and commanded forces over time.

    Args:
        time: (N,) times, s.
        forces: (N,) forces by label, such as the finger's name, N.
        path: PNG file.
        commanded: (N,) commanded forces by label, N, NaN for none; drawn as steps.
        title: Title of the plot.

    Raises:
        InputError: The file is no PNG, or cannot be written, or matplotlib is not installed.
    """
    check_picture_file(Path(path), _SUFFIXES)
    with figure(Path(path), _WIDTH, _HEIGHT) as canvas:
        axes = canvas.subplots()
        for label, values in (commanded or {}).items():
            axes.step(
                time, values, where="post", color=_COMMAND_COLOUR, linewidth=3.0, alpha=0.6, label=label
            )
        for number, (label, values) in enumerate(forces.items()):
            # Dashed lines, so that equal forces of a gripper's fingers stay visible.
            style = "-" if number == 0 else (0, (4, 2 + number))
            colour = _LINE_COLOURS[number % len(_LINE_COLOURS)]
            axes.plot(time, values, color=colour, linestyle=style, linewidth=1.3, label=label)
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
        _finish(axes, "contact force [N]", title)
        canvas.legend(loc="outside lower center", ncols=3, frameon=False)


def plot_pitch(
    time: ArrayLike,
    X_WB: Array,
    path: str | Path,
    axis: ArrayLike | None = None,
    body: str = "",
) -> None:
    """Plot the rotation angle of a body about an axis since the first instant, in degrees.

    Args:
        time: (N,) times, s.
        X_WB: (N, 4, 4) poses of the body in the world.
        path: PNG file.
        axis: (3,) axis in the world; by default the one about which the body turns most.
        body: Name of the body, for the title.

    Raises:
        InputError: The axis has no direction, no axis is given and the body does not turn, matplotlib is not installed,
            or the file is no PNG or cannot be written.
    """
    check_picture_file(Path(path), _SUFFIXES)
    about = main_axis(X_WB) if axis is None else np.asarray(axis, dtype=float)
    angles = np.degrees(angles_about(about, X_WB))
    about = about / np.linalg.norm(about)
    with figure(Path(path), _WIDTH, _HEIGHT) as canvas:
        axes = canvas.subplots()
        axes.plot(time, angles, color=_LINE_COLOURS[0], linewidth=1.5)
        direction = ", ".join(f"{component:.2f}" for component in np.round(about, 2) + 0.0)
        title = f"Pitch{f' of {body}' if body else ''} about ({direction}) in the world"
        start = float(np.asarray(time, dtype=float)[0])
        _finish(axes, f"turned since {start:g} s [deg]", title)


def _finish(axes: Axes, quantity: str, title: str) -> None:
    axes.set(xlabel="simulated time [s]", ylabel=quantity, title=title)
    axes.margins(x=0.01)
    axes.grid(alpha=0.3)


def plot_pressure_map(
    contacts: Iterable[Contact],
    body: str,
    X_WB: ArrayLike,
    path: str | Path,
    scale: PressureScale | None = None,
    title: str = "",
) -> None:
    """Plot the contact pressure on a body, projected along the axis of its frame nearest to the contact normal.

    Args:
        contacts: Contact patches of one instant, such as ``world.contacts``.
        body: Name of the body, such as a finger of a gripper.
        X_WB: (4, 4) pose of the body in the world, such as ``world.frame_pose(body)``.
        path: PNG file.
        scale: Colour scale of pressure; by default one for these contacts.
        title: Title above the figures of the contact, such as the time.

    Raises:
        InputError: Nothing presses on the body, its pose is none, matplotlib is not installed, or the file is no PNG or
            cannot be written.
    """
    check_picture_file(Path(path), _SUFFIXES)
    found = footprint(contacts, body, X_WB)
    draw_footprint(found, path, scale or scale_of_peaks([{body: found.faces.pressures.max()}]), title)


def draw_footprint(found: Footprint, path: str | Path, scale: PressureScale, title: str = "") -> None:
    """Draw a footprint; see ``plot_pressure_map``."""
    x, y = 1e3 * found.points.T
    unit, unit_size = scale.unit
    shape = np.ptp(y) / max(np.ptp(x), 1e-6)
    height = float(np.clip(0.75 * _WIDTH * shape + 1.4, _LEAST_HEIGHT, _LARGEST_HEIGHT))
    with figure(Path(path), _WIDTH, height) as canvas:
        from matplotlib.collections import LineCollection
        from matplotlib.ticker import MaxNLocator
        from matplotlib.tri import Triangulation

        axes = canvas.subplots()
        # Bands have edges at exact values of the linear pressure; shading would blend colours.
        bands = axes.tricontourf(
            Triangulation(x, y, found.faces.triangles),
            np.maximum(found.faces.pressures, 0.0) / unit_size,
            levels=np.linspace(0.0, scale.maximum / unit_size, _BANDS + 1),
            cmap=pressure_colours(),
            extend="max" if found.faces.pressures.max() > scale.maximum else "neither",
        )
        sides = np.stack([x, y], axis=1)[found.faces.edges]
        axes.add_collection(LineCollection(list(sides), colors="black", linewidths=0.3, alpha=0.5))
        _mark_centre(axes, 1e3 * found.centre)
        bar = canvas.colorbar(bands, ax=axes)
        bar.locator = MaxNLocator(5)
        bar.set_label(f"pressure [{unit}]")
        across, up = found.axes
        axes.set(xlabel=f"{across} of {found.body} [mm]", ylabel=f"{up} of {found.body} [mm]")
        axes.set_aspect("equal", adjustable="datalim")
        axes.use_sticky_edges = False
        axes.margins(0.06)
        axes.grid(alpha=0.3)
        axes.set_axisbelow(True)
        axes.set_title("\n".join(_headlines(found, scale, title)))
        canvas.legend(loc="outside lower right", frameon=False)


def _mark_centre(axes: Axes, centre: Array) -> None:
    from matplotlib.patheffects import withStroke

    outline = withStroke(linewidth=4.0, foreground="black")
    (cross,) = axes.plot(
        *centre, "+", color="white", markersize=12, markeredgewidth=1.8, label="centre of pressure"
    )
    cross.set_path_effects([outline])


def _headlines(found: Footprint, scale: PressureScale, title: str) -> list[str]:
    between = f"{' and '.join(found.partners)} on {found.body}"
    peak = in_unit(found.faces.pressures.max(), scale.unit)
    figures = f"{found.force:.3g} N, {1e4 * found.area:.3g} cm², peak {peak} {scale.unit[0]}"
    tilt = np.degrees(found.tilt)
    tilted = [f"faces tilted by {tilt:.0f}° against the picture"] if tilt > _NOTABLE_TILT else []
    return [f"{between}, {title}" if title else between, figures, *tilted]
