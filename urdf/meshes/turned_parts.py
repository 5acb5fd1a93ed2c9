"""Writes the turned parts that tasks put together, which are touched as they are seen: ``python turned_parts.py``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from hydro_sim_core.geometry import (
    Geometry,
    MetricThread,
    Surface,
    compliant_nut,
    metric_bolt,
    metric_nut,
    revolve,
    segments_for,
    write_surface,
    write_vtk,
)

FOLDER = Path(__file__).parent
#: How far chords may be from their circles, m: little beside a gap of 51 micrometres.
SAGITTA = 2e-6
#: Radius of the hole, and the width of its chamfer, m.
HOLE_RADIUS, CHAMFER = 4.051e-3, 0.5e-3
#: Radius and length of the peg, and the radius of the edge of its tip, m, an arc of that many chords.
PEG_RADIUS, PEG_LENGTH, PEG_EDGE, PEG_CHORDS = 4.0e-3, 0.040, 0.5e-3, 12
#: Radius and height of the block around it, m.
BLOCK_RADIUS, BLOCK_HEIGHT = 0.030, 0.035
#: Chamfer of its outer edges, m, which are only seen.
EDGE = 1.0e-3
#: Threads of an M16 nut and its bolt, whose profile is 0.1 mm closer to the axis.
NUT_THREAD = MetricThread(16e-3, 2e-3, chamfer=1.2e-3)
BOLT_THREAD = replace(NUT_THREAD, clearance=1e-4)
#: Length of the bolt, height of the (thin) nut and its width across flats, m.
BOLT_LENGTH, NUT_HEIGHT, NUT_WIDTH = 16e-3, 8e-3, 24e-3
#: Pressure half a pitch behind the nut's thread, Pa; descriptions scale it.
MODULUS = 1e8


def hole_block() -> Surface:
    """A round block with a through hole; its top face is at z = 0."""
    profile = [
        (HOLE_RADIUS + CHAMFER, 0.0),
        (HOLE_RADIUS, -CHAMFER),
        (HOLE_RADIUS, -BLOCK_HEIGHT),
        (BLOCK_RADIUS, -BLOCK_HEIGHT),
        (BLOCK_RADIUS, -EDGE),
        (BLOCK_RADIUS - EDGE, 0.0),
    ]
    return revolve(profile, segments_for(HOLE_RADIUS, SAGITTA), around=True)


def peg() -> Surface:
    """A round peg; its tip is at z = 0, and points along z."""
    angles = 0.5 * np.pi * np.arange(PEG_CHORDS + 1) / PEG_CHORDS
    edge = np.column_stack(
        [PEG_RADIUS + PEG_EDGE * (np.cos(angles) - 1.0), PEG_EDGE * (np.sin(angles) - 1.0)]
    )
    profile = np.vstack([[(0.0, -PEG_LENGTH), (PEG_RADIUS, -PEG_LENGTH)], edge, [(0.0, 0.0)]])
    return revolve(profile, segments_for(PEG_RADIUS, SAGITTA))


def bolt() -> Surface:
    """The thread of an M16 bolt; its lower end is at z = 0."""
    return metric_bolt(BOLT_THREAD, BOLT_LENGTH)


def nut() -> Surface:
    """A thin M16 nut as it is seen; its lower end is at z = 0."""
    return metric_nut(NUT_THREAD, NUT_HEIGHT, NUT_WIDTH)


def nut_solid() -> Geometry:
    """The same as it is touched."""
    return compliant_nut(NUT_THREAD, NUT_HEIGHT, NUT_WIDTH, modulus=MODULUS)


def surfaces() -> dict[str, Surface]:
    """All surfaces by the name of their file."""
    return {"hole_block": hole_block(), "peg": peg(), "m16_bolt": bolt(), "m16_nut": nut()}


def write(made: dict[str, Surface], folder: Path = FOLDER) -> None:
    """Write surfaces by their names."""
    for name, surface in made.items():
        write_surface(surface, folder / f"{name}.obj")


if __name__ == "__main__":
    write(surfaces())
    write_vtk(nut_solid(), FOLDER / "m16_nut.vtu")
