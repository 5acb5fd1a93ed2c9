"""The figure of the experiment: scenes at rest with their contact patches, and bars of three simulators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.experiments.report import ExperimentReport
from hydro_sim_core.experiments.rigid_pairs.arm import OurArm
from hydro_sim_core.experiments.rigid_pairs.cases import rest_cases
from hydro_sim_core.experiments.rigid_pairs.pictures import drawn_outlines, placed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

Array = NDArray[np.float64]
#: Corners (n, 3, 3) of triangles in the world, m, and their colour.
Surface = tuple[Array, tuple[float, float, float]]

_FIXED, _FREE, _OTHER = (0.72, 0.72, 0.72), (0.12, 0.37, 0.66), (0.50, 0.69, 0.88)
_PATCH = "#22a884"
_LIGHT = np.array([0.75, 0.15, 0.65])
#: Colours of the simulators, as in the other figures.
_COLOURS = {"hydro-sim": "#1f5fa8", "Drake": "#c44e24", "MuJoCo": "#e39a3b"}
#: Patches below this share of a panel's width are encircled.
_SMALL = 0.08
#: Turn of the camera about the vertical and its height above the horizon, degrees.
_TURN, _TILT = -50.0, 22.0
#: What is too small for the axis is drawn at its lower end.
_LEAST = {"depth": 1e-10, "speed": 1e-16}


def draw_scenes(canvas: SubFigure, series: Mapping[str, Sequence[float]]) -> None:
    """Draw every scene at rest; bodies are translucent, patches are not."""
    scenes: dict[str, list[Surface]] = {}
    for case in rest_cases():
        name = case.scene.name
        if name == "stack of ten, 10 ms":
            continue  # looks like the other stack
        poses = placed(case.scene, series[f"poses, {name}"])
        colours = [_FREE, _OTHER]
        scenes[name] = [
            (
                shape.surface.copy().apply_transform(poses[body.name]).triangles,
                colours[case.scene.free.index(body) % 2] if body.is_free else _FIXED,
            )
            for body in case.scene.bodies
            for shape in body.shapes
        ]
    scenes["arm on its base"] = _arm(series["positions, arm on its base"])
    for axes, (name, surfaces) in zip(np.ravel(canvas.subplots(1, len(scenes))), scenes.items(), strict=True):
        _draw(axes, surfaces, drawn_outlines(name, series))
        axes.set_title(name.removesuffix(", 1 ms"), fontsize="small")
    canvas.suptitle("At rest, with contact patches", fontsize="medium")


def _arm(positions: Sequence[float]) -> list[Surface]:
    world = OurArm().world
    world.set_state(positions, np.zeros(len(world.v)))
    surfaces = []
    for i, collider in enumerate(world.built.colliders):
        X = collider.X_BG if collider.body < 0 else world.frame_pose(collider.link) @ collider.X_BG
        vertices = collider.geometry.vertices @ X[:3, :3].T + X[:3, 3]
        colour = _FIXED if collider.body < 0 else (_FREE, _OTHER)[i % 2]
        surfaces.append((vertices[collider.geometry.elements], colour))
    return surfaces


def _draw(axes: Axes, surfaces: list[Surface], patches: list[Array]) -> None:
    """Paint triangles from far to near in parallel perspective, then the patches, which lie inside."""
    from matplotlib.collections import PolyCollection

    turn, tilt = np.radians(_TURN), np.radians(_TILT)
    towards = np.array([np.cos(tilt) * np.cos(turn), np.cos(tilt) * np.sin(turn), np.sin(tilt)])
    right = np.array([-np.sin(turn), np.cos(turn), 0.0])
    screen = np.stack([right, np.cross(towards, right)], axis=1)
    triangles = np.concatenate([corners for corners, _ in surfaces])
    colours = np.concatenate([np.tile(colour, (len(corners), 1)) for corners, colour in surfaces])
    alpha = np.where((colours == _FIXED).all(axis=1), 0.9, 0.5)
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    order = np.argsort((triangles @ towards).mean(axis=1))
    order = order[(normals @ towards)[order] > 0.0]
    shade = 0.62 + 0.38 * np.clip(normals @ _LIGHT, -1.0, 1.0)[:, None]
    rgba = np.column_stack([np.clip(colours * shade, 0.0, 1.0), alpha])
    flat = triangles @ screen
    axes.add_collection(PolyCollection(list(flat[order]), facecolors=rgba[order], edgecolors="none"))
    outlines = [patch @ screen for patch in patches]
    axes.add_collection(PolyCollection(outlines, facecolors=_PATCH, edgecolors=_PATCH, alpha=0.85, lw=1.2))
    corners = flat.reshape(-1, 2)
    low, high = corners.min(axis=0), corners.max(axis=0)
    # The panels are twice as high as wide, and the scenes stand on one line.
    width = 1.04 * max(high[0] - low[0], 0.5 * (high[1] - low[1]))
    left = 0.5 * (low[0] + high[0] - width)
    axes.set(xlim=(left, left + width), ylim=(low[1], low[1] + 2.0 * width), aspect="equal")
    for outline in outlines:
        if np.ptp(outline, axis=0).max() < _SMALL * width:
            axes.plot(*outline.mean(axis=0), "o", ms=11, mfc="none", mec=_PATCH, mew=1.6)
    axes.set_axis_off()


def draw_bars(canvas: SubFigure, report: ExperimentReport) -> None:
    """Draw depths and speeds at rest of every simulator that was there, and what was asked."""
    names = [case.scene.name for case in rest_cases()]
    there = [name for name in _COLOURS if f"depth, {name}" in report.series]
    titles = {"off its place": "how far off its place [mm]", "speed": "speed at rest [m/s or rad/s]"}
    for axes, (quantity, title) in zip(np.ravel(canvas.subplots(1, 2)), titles.items(), strict=True):
        least = _LEAST.get(quantity, 1e-10)
        for i, name in enumerate(there):
            values = np.maximum(report.series[f"{quantity}, {name}"], least)
            places = np.arange(len(names)) + 0.8 * ((i + 0.5) / len(there) - 0.5)
            axes.bar(places, values, 0.8 / len(there), bottom=0.0, color=_COLOURS[name], label=name)
        asked = next(c.reference for c in report.comparisons if c.quantity.endswith(f": {quantity}"))
        axes.axhline(asked, color="black", lw=1.0, ls=":", label="asked")
        axes.set_yscale("log")
        axes.set_ylim(bottom=least)
        axes.set_xticks(range(len(names)), [_broken(name) for name in names], fontsize="x-small")
        axes.set_title(title, fontsize="small")
        axes.grid(axis="y", alpha=0.3)
        axes.set_axisbelow(True)
    handles, labels = axes.get_legend_handles_labels()
    canvas.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)


def _broken(name: str) -> str:
    """A name in lines short enough to stand beside each other."""
    words, lines = name.split(), [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + len(word) > 9:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)
