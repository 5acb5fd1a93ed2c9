"""Tetrahedralisation of surfaces of any shape, by fTetWild in a separate process."""

from __future__ import annotations

import importlib.metadata
import logging
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry import tetwild_process
from hydro_sim_core.geometry.checks import MAX_ELEMENTS, positive
from hydro_sim_core.geometry.distance import closest_points, distance_to_surface, winding_numbers
from hydro_sim_core.geometry.geometry import FloatArray, Geometry, GeometryKind, IntArray
from hydro_sim_core.geometry.mesh_cache import check_solid, load_arrays, store_arrays
from hydro_sim_core.geometry.pressure_fields import depths
from hydro_sim_core.geometry.simplices import (
    boundary_triangles,
    linear_fields,
    longest_edges,
    tetrahedron_volumes,
)
from hydro_sim_core.geometry.splits import give_every_tetrahedron_depth, split_in_the_middle
from hydro_sim_core.geometry.surface_repair import Surface, repair_surface
from hydro_sim_core.held_interrupts import held_interrupts
from hydro_sim_core.progress import tell_detail

_LOG = logging.getLogger(__name__)

#: Callback with the current stage, called about once a second.
Progress = Callable[[str], None]

#: Default edge length: fraction of the body's mean thickness, and its least and largest fraction of the bounding box's
#: diagonal.
DEFAULT_EDGE = (1.0 / 3.0, 1.0 / 100.0, 1.0 / 20.0)

#: Largest edge length passed to the mesher, as a fraction of the diagonal: the mesher is slow for larger ones.
COARSEST = 1.0 / 5.0

#: Envelope within which fTetWild may move the surface: fractions of the bounding box's diagonal, of the edge length and
#: of the mean thickness; the smallest one applies.
ENVELOPE = (1e-3, 1e-1, 1e-1)

#: Factor on the envelope for the second try.
_WIDER = 4.0

#: Passes of mesh improvement; bodies that mesh well need three to seven.
PASSES = 25

#: Measured numbers of elements of fTetWild per cubic edge length of volume and per squared edge length of surface.
_ELEMENTS_PER_VOLUME, _ELEMENTS_PER_AREA = 9.0, 7.0

#: Default limit of processor time for all tries together, s: enough for half a million elements.
TIME_LIMIT = 600.0

#: Processor time of a try, s: constant part, and time per expected element, sixteen times the measured one.
_TIME_A_TRY, _TIME_PER_ELEMENT = 30.0, 8e-3

#: A mesher that has had no processor so many times in a row, a second each, waits for what does not come.
_MOST_IDLE = 30

#: Time between two lines about a mesh in work where only lines are shown, s.
_LINE_PERIOD = 60.0

#: Largest ratio of edge length to thickness for thin bodies, measured: beyond it the mesher refines.
_THIN = 5.0

#: Least fraction of its volume that a tetrahedron must keep when its vertices are moved onto the surface.
_LARGEST_LOSS = 0.5

#: Slope of the distance to the surface below which a tetrahedron is a plateau of the distance.
_PLATEAU = 1e-6

#: Tetrahedra flatter than this, relative to a cube on their longest edge, are not accepted from the mesher.
_FLATTEST = 1e-9


@dataclass(frozen=True, eq=False)
class SolidMesh:
    """Tetrahedra that fill a surface.

    Attributes:
        vertices: (N, 3) positions, m.
        tetrahedra: (M, 4) vertex indices, positively oriented; each has a vertex inside the body.
        surface: The filled surface, after repairs.
        edge_length: Target edge length, m.
        repairs: Repairs, one clause each.
    """

    vertices: FloatArray
    tetrahedra: IntArray
    surface: Surface
    edge_length: float
    repairs: tuple[str, ...]


def tetrahedralise(
    vertices: ArrayLike,
    triangles: ArrayLike,
    *,
    resolution: float | None = None,
    core: Geometry | None = None,
    time_limit: float = TIME_LIMIT,
    source: str = "tetrahedralise",
    progress: Progress | None = None,
) -> SolidMesh:
    """Fill a closed surface, convex or not, with tetrahedra.

    The same input gives the same mesh. fTetWild (Hu 2020) keeps the surface within an envelope of 0.1 % of the bounding
    box's diagonal (less for small edge lengths and thin bodies); vertices of the mesh's surface are then moved onto the
    given one. Tetrahedra without depth are split (see ``splits.py``). Results are kept on disk.

    Args:
        vertices: (N, 3) positions, m.
        triangles: (M, 3) vertex indices; defects are repaired as :func:`repair_surface` says.
        resolution: Target edge length, m. None takes a third of the body's mean thickness, between 1/100 and 1/20 of
            its bounding box's diagonal. At most 1/5 of the diagonal is used.
        core: Rigid mesh inside the surface, whose surface is resolved by faces of the tetrahedra.
        time_limit: Limit of the mesher's processor time, s; small bodies get less. Half of it is reserved for a second
            try if the first one fails.
        source: Name used in error messages.
        progress: Called with the current stage.

    Raises:
        InputError: The surface cannot be repaired, the resolution would need more than 10^7 elements, the time limit is
            not positive, or no mesh of acceptable quality was found in time.
    """
    check_core(source, core)
    time_limit = positive(source, "time_limit", time_limit)
    surface = repair_surface(source, vertices, triangles)
    edge_length = _edge_length(source, surface, resolution)
    expected = _check_budget(source, surface, edge_length)
    report = progress or (lambda message: None)

    mesher = importlib.metadata.version("pytetwild")
    options = {"edge_length": edge_length, "passes": PASSES, "mesher": mesher}
    points, corners = surface.vertices, surface.triangles
    if core is not None:
        corners = np.vstack([corners, core.elements + len(points)])
        points = np.vstack([points, core.vertices])
    found = load_arrays(points, corners, options, check_solid)
    if found is None:
        limit = _time_of_a_try(expected, time_limit)
        _tell(
            f"filling it with about {expected:.0f} tetrahedra, which may take {2.0 * limit:.0f} s of the processor",
            report,
        )
        found = _finished(
            _run(source, points, corners, edge_length, surface, expected, limit, report), surface, edge_length
        )
        store_arrays(points, corners, options, found)
    report(f"{len(found['tetrahedra'])} tetrahedra")
    repairs = (*surface.repairs, *found["repairs"].tolist())
    return SolidMesh(found["vertices"], found["tetrahedra"], surface, edge_length, repairs)


def _edge_length(source: str, surface: Surface, resolution: float | None) -> float:
    """Edge length of the tetrahedra, m: the target, limited by the surface's size."""
    if resolution is not None:
        return min(positive(source, "resolution", resolution), COARSEST * surface.extent)
    of_thickness, least, most = DEFAULT_EDGE
    return float(np.clip(of_thickness * surface.thickness, least * surface.extent, most * surface.extent))


def check_core(source: str, core: Geometry | None) -> None:
    """Raise ``InputError`` unless the core is None or a rigid mesh."""
    if core is not None and core.kind != GeometryKind.RIGID_MESH:
        raise InputError(source, "core", f"is a {core.kind.name.lower()}", "give a rigid mesh")


def _check_budget(source: str, surface: Surface, edge_length: float) -> float:
    """Estimate the number of elements; raise if there would be too many."""
    thickness = surface.thickness
    # Products overflow to infinity, whereas a power raises ``OverflowError``.
    per_edge = 1.0 / min(edge_length, _THIN * thickness)
    volume, area = _ELEMENTS_PER_VOLUME * surface.volume, _ELEMENTS_PER_AREA * surface.area
    expected = volume * per_edge * per_edge * per_edge + area * per_edge * per_edge
    if not expected <= MAX_ELEMENTS and edge_length > _THIN * thickness:
        problem = (
            f"bound a body {thickness:.2g} m thick in the mean, which would need {expected:.2g} elements"
        )
        mend = "give it more thickness, declare_convex, or use it as a rigid mesh"
        raise InputError(source, "triangles", problem, mend)
    if not expected <= MAX_ELEMENTS:
        problem = f"{edge_length:g} m would make {expected:.2g} elements, the limit is {MAX_ELEMENTS:.0e}"
        mend = (
            f"give a coarser resolution, or scale the body, which is {surface.extent:.3g} m across, to metres"
        )
        raise InputError(source, "resolution", problem, mend)
    return max(expected, float(len(surface.triangles)))


def _time_of_a_try(expected: float, time_limit: float) -> float:
    """Time limit, s, of each of two tries for an expected number of elements."""
    return min(_TIME_A_TRY + _TIME_PER_ELEMENT * expected, 0.5 * time_limit)


def _run(
    source: str,
    points: FloatArray,
    corners: IntArray,
    edge_length: float,
    surface: Surface,
    expected: float,
    limit: float,
    report: Progress,
) -> dict[str, np.ndarray]:
    """Run the mesher; an unusable result is followed by a second try with a wider envelope."""
    problem, mend = (
        "",
        "repair the surface in a modelling program, give another resolution, or declare_convex",
    )
    envelope = _envelope(surface, edge_length)
    for widened in (1.0, _WIDER):
        if widened > 1.0:
            _tell(f"filling it once more, in a wider envelope: {problem}", report)
        # Coordinates are shifted and scaled: far from the origin the mesher loses digits, and some tolerances are
        # absolute.
        job = {
            "vertices": (points - points[0]) / surface.extent,
            "triangles": corners,
            "edge_length": edge_length / surface.extent,
            "envelope": widened * envelope / surface.extent,
            "passes": PASSES,
        }
        try:
            outcome = _mesher(job, limit, report)
        except OSError as error:  # no disk space for its files, or no process could be started
            outcome = f"the mesher could not run: {error.strerror}"
        if outcome is None:
            problem = (
                f"no mesh after {limit:.0f} s of the processor, at {edge_length:.2g} m and about {expected:.0f} "
                "tetrahedra"
            )
            mend = (
                "give a coarser resolution, declare_convex, or mesh it once at the same resolution with hydro-sim mesh "
                "--time-limit, which keeps the result"
            )
            continue
        if isinstance(outcome, str):
            problem = outcome
            continue
        outcome["vertices"] = outcome["vertices"] * surface.extent + points[0]
        problem = _shortcomings(outcome["vertices"], outcome["tetrahedra"], surface)
        if not problem:
            return outcome
    raise InputError(source, "", f"could not be filled with tetrahedra ({problem})", mend)


def _envelope(surface: Surface, edge_length: float) -> float:
    """Distance by which the mesher may move the surface, m."""
    return float(min(np.array(ENVELOPE) * [surface.extent, edge_length, surface.thickness]))


def _mesher(job: dict[str, object], limit: float, report: Progress) -> dict[str, np.ndarray] | str | None:
    """Run the mesher's process; returns its arrays, a description of the failure, or None after its processor time.

    The process ends with this call, even if the call ends by Ctrl-C.
    """
    # Files without a name vanish with the processes, however these end.
    with (
        tempfile.TemporaryFile() as source,
        tempfile.TemporaryFile() as target,
        tempfile.TemporaryFile() as log,
    ):
        np.savez(source, **job)  # type: ignore[arg-type]
        source.seek(0)
        # Without -P the folder of the script would come first in the path, and its modules would hide others.
        program = [sys.executable, "-P", tetwild_process.__file__]
        process = subprocess.Popen(
            [*program, str(target.fileno()), str(os.getpid())],
            stdin=source,
            stdout=log,
            stderr=log,
            pass_fds=[target.fileno()],
            cwd=tempfile.gettempdir(),
        )
        try:
            status = _wait(process, limit, report)
        except KeyboardInterrupt:
            _LOG.warning("meshing is stopped, and nothing of it is kept")
            raise
        finally:
            process.kill()
            process.wait()
        if status is None or isinstance(status, str):
            return status
        if status != 0 or not os.fstat(target.fileno()).st_size:
            log.seek(0)
            last = log.read().decode(errors="replace").strip().splitlines()[-1:]
            return f"the mesher failed: {' '.join(last)[:200] or f'status {status}'}"
        target.seek(0)
        with np.load(target) as arrays:
            return dict(arrays)


def _wait(process: subprocess.Popen[bytes], limit: float, report: Progress) -> int | str | None:
    """Status of the mesher at its end; a description of why it is given up, or None after its processor time (s).

    Time by the clock would not do: on a busy machine a body would get another mesh, of the second try, or none.
    """
    began = told = time.monotonic()
    taken, idle = 0.0, 0
    while taken < limit:
        try:
            return process.wait(timeout=1.0)
        except subprocess.TimeoutExpired:
            before, taken = taken, _processor_time(process.pid, began)
        idle = 0 if taken > before else idle + 1
        if idle >= _MOST_IDLE:
            return f"the mesher has done nothing for {idle} s"
        what = f"filling it for {taken:.0f} s of at most {limit:.0f} s of the processor"
        report(what)
        if time.monotonic() - told >= _LINE_PERIOD:
            told = time.monotonic()
            tell_detail(what)
    return None


def _processor_time(process: int, began: float) -> float:
    """Processor time that a process has had, s; where the system does not tell it, time since it began (monotonic)."""
    try:
        with open(f"/proc/{process}/stat", encoding="ascii", errors="replace") as file:
            after_name = file.read().rpartition(")")[2].split()
    except OSError:
        return time.monotonic() - began
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


def _tell(what: str, report: Progress) -> None:
    """Tell everybody who may be waiting."""
    _LOG.info(what)
    tell_detail(what)
    report(what)


def _shortcomings(vertices: FloatArray, tetrahedra: IntArray, surface: Surface) -> str:
    """Description of the defects of a mesh; empty if it is usable."""
    if not len(tetrahedra) or not np.isfinite(vertices).all():
        return "the surface encloses nothing that the mesher can see"
    volumes = np.abs(tetrahedron_volumes(vertices, tetrahedra))
    if (volumes <= _FLATTEST * longest_edges(vertices, tetrahedra) ** 3).any():
        return "some tetrahedra are flat"
    if not 0.25 * surface.volume < volumes.sum() < 4.0 * surface.volume:
        return f"the tetrahedra fill {volumes.sum():.3g} m^3, the surface {surface.volume:.3g} m^3"
    return ""


def _finished(found: dict[str, np.ndarray], surface: Surface, edge_length: float) -> dict[str, np.ndarray]:
    """Orient the tetrahedra, move surface vertices onto the given surface, give every element an inner vertex."""
    used, tetrahedra = np.unique(found["tetrahedra"], return_inverse=True)
    vertices, tetrahedra = found["vertices"][used], tetrahedra.reshape(-1, 4)
    negative = tetrahedron_volumes(vertices, tetrahedra) < 0.0
    tetrahedra = np.where(negative[:, None], tetrahedra[:, [0, 1, 3, 2]], tetrahedra)

    repairs = []
    meshed = float(tetrahedron_volumes(vertices, tetrahedra).sum())
    if abs(meshed - surface.volume) > 0.02 * surface.volume:
        change = 100.0 * (meshed / surface.volume - 1.0)
        repairs.append(f"parts of the surface that overlap or pinch resolved: volume {change:+.1f} %")
    outer = boundary_triangles(tetrahedra)
    lost = _left_out(surface, vertices, outer, 2.0 * _WIDER * _envelope(surface, edge_length))
    if lost > 0.0:
        repairs.append(f"parts too thin for the mesher left out, up to {lost:.2g} m of them")
    vertices = _moved_onto(vertices, tetrahedra, np.unique(outer), _fine(surface, edge_length))

    count = len(vertices)
    vertices, tetrahedra = give_every_tetrahedron_depth(vertices, tetrahedra)
    vertices, tetrahedra = _without_plateaus(vertices, tetrahedra)
    if len(vertices) > count:
        repairs.append(f"{len(vertices) - count} vertices added to tetrahedra without pressure gradient")
    if not found["repeatable"]:
        repairs.append("the mesher could not be made repeatable on this machine")
    return {"vertices": vertices, "tetrahedra": tetrahedra, "repairs": np.array(repairs, dtype=np.str_)}


def _left_out(surface: Surface, vertices: FloatArray, outer: IntArray, least: float) -> float:
    """Largest distance of the given surface outside the mesh, m; 0 if below ``least``."""
    distance = distance_to_surface(surface.vertices, vertices, outer)
    far = np.flatnonzero(distance > least)
    outside = far[winding_numbers(surface.vertices[far], vertices, outer) < 0.5]
    return float(distance[outside].max(initial=0.0))


def _without_plateaus(vertices: FloatArray, tetrahedra: IntArray) -> tuple[FloatArray, IntArray]:
    """Split tetrahedra whose vertices have equal depth: they enclose part of the medial axis, which is deeper."""
    depth = depths("", vertices, tetrahedra)
    slope = np.linalg.norm(linear_fields(vertices, tetrahedra, depth)[:, :3], axis=1)
    return split_in_the_middle(vertices, tetrahedra, np.flatnonzero(slope < _PLATEAU))


def _fine(surface: Surface, edge_length: float) -> tuple[FloatArray, IntArray]:
    """The same surface with triangles small enough for a fast nearest-point search."""
    longest = longest_edges(surface.vertices, surface.triangles).max()
    size = 2.0 * max(edge_length, math.sqrt(longest * edge_length))
    with held_interrupts():
        import trimesh  # takes a third of a second

    return trimesh.remesh.subdivide_to_size(surface.vertices, surface.triangles, size, max_iter=30)


def _moved_onto(
    vertices: FloatArray, tetrahedra: IntArray, moving: IntArray, surface: tuple[FloatArray, IntArray]
) -> FloatArray:
    """Move vertices to the nearest points of the surface, except where that would flatten a tetrahedron."""
    moved = vertices.copy()
    moved[moving] = closest_points(vertices[moving], *surface)
    before = tetrahedron_volumes(vertices, tetrahedra)
    while True:
        spoilt = tetrahedron_volumes(moved, tetrahedra) < _LARGEST_LOSS * before
        back = np.unique(tetrahedra[spoilt])
        back = back[(moved[back] != vertices[back]).any(axis=1)]
        if not back.size:
            return moved
        moved[back] = vertices[back]
