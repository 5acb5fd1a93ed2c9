"""Reading of mesh files: the plainest format here, all others in a process under limits."""

from __future__ import annotations

import codecs
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.errors import InputError, MissingFile
from hydro_sim_core.files import read_regular_file
from hydro_sim_core.mesh_files.allowance import Allowance, current_allowance
from hydro_sim_core.mesh_files.parser import ReaderFailed, Unreadable, parsers

SURFACE_SUFFIXES = (".stl", ".obj", ".dae", ".glb", ".ply")
VOLUME_SUFFIXES = (".vtk", ".vtu", ".msh")

#: Largest size of a file, bytes.
MAX_FILE_BYTES = 100 * 2**20

#: Largest number of triangles or tetrahedra in a file: those are looked at in seconds.
MAX_ELEMENTS = 500_000

#: Largest magnitude of a coordinate, in the unit of the file: beyond it vertices closer than a unit are one number.
_LARGEST_COORDINATE = 1e9

#: Vertices whose coordinates, times this and rounded, are equal are one; in the unit of the file.
_CELLS = 1e8

#: Size of a file of materials next to an OBJ file, bytes, and most of them.
_MATERIALS_BYTES, _MATERIALS_FILES = 2**20, 8

#: Problems of files by their digests: what takes seconds to be refused may be named by every link of a robot.
_refused: dict[bytes, str] = {}
_MOST_REFUSED = 100

#: Most bytes at the beginning of a file that tell what it is instead of a mesh.
_HEAD = 1024

_EXPORT = "export the mesh again"
_COARSER = "decimate the mesh"

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class EmptyMesh(InputError):
    """A mesh file that holds points, and nothing which takes up room.

    Attributes:
        collision: Name of the collision shape that it was read for, if any.
    """

    collision: str = ""


@dataclass(frozen=True, eq=False)
class Part:
    """A part of a surface.

    Attributes:
        vertices: (N, 3) positions in the frame of the file, in its unit (that of a DAE file is applied: m).
        triangles: (M, 3) vertex indices.
        colour: Red, green, blue and alpha from 0 to 1; None if the file gives none.
    """

    vertices: Floats
    triangles: Ints
    colour: tuple[float, ...] | None


@dataclass(frozen=True, eq=False)
class Volume:
    """Tetrahedra of a file.

    Attributes:
        points: (N, 3) positions, in the unit of the file.
        tetrahedra: (M, 4) indices of points.
        data: The arrays of points and cells that were asked for and that the file has.
    """

    points: Floats
    tetrahedra: Ints
    data: Mapping[str, NDArray[Any]]


def mesh_file(path: str | Path, suffixes: tuple[str, ...]) -> Path:
    """Return a path with one of the suffixes, or raise ``InputError``."""
    path = Path(path)
    if path.suffix.lower() not in suffixes:
        problem = f"has the unknown format '{path.suffix}'"
        raise InputError(path, "", problem, f"use one of {', '.join(suffixes)}")
    return path


def read_surface(path: Path) -> tuple[Floats, Ints]:
    """The triangles of a file as one surface: vertices (N, 3), in the unit of the file, and triangles (M, 3).

    All parts of a scene are merged with their transforms applied, and so are vertices that coincide; vertices of no
    triangle are left out. A description that names a file again gets the same arrays, so they cannot be written to.

    Raises:
        InputError: The file is missing, of an unknown format, too large, unreadable or empty, names vertices that do
            not exist, or has coordinates that are not finite; or the files of its description take too long.
    """
    allowance = current_allowance()
    return allowance.surface(path, lambda: _surface(path, allowance))


def _surface(path: Path, allowance: Allowance) -> tuple[Floats, Ints]:
    path, content = _content(path, SURFACE_SUFFIXES)
    if path.suffix.lower() == ".stl" and (found := _binary_stl(path, content)) is not None:
        vertices, triangles = found
    else:
        parts = _parts(path, content, {}, allowance, coloured=False)
        vertices, triangles = parts[0].vertices, parts[0].triangles
    return _merged(vertices, triangles)


def read_coloured_parts(path: Path) -> tuple[Part, ...]:
    """The parts of a file with their colours; materials are read from files next to an OBJ file.

    Raises:
        InputError: As for :func:`read_surface`.
    """
    allowance = current_allowance()
    with allowance.file(path):
        path, content = _content(path, SURFACE_SUFFIXES)
        companions = _materials(path, content) if path.suffix.lower() == ".obj" else {}
        return _parts(path, content, companions, allowance, coloured=True)


def read_volume(path: Path, point_data: Sequence[str] = (), cell_data: Sequence[str] = ()) -> Volume:
    """The linear tetrahedra of a file; other cells are ignored.

    Args:
        path: The file.
        point_data: Names of arrays with one value or row a point to read as well.
        cell_data: Names of arrays with one value a cell, all blocks of cells together.

    Raises:
        InputError: The file is missing, of an unknown format, too large or unreadable, has no linear tetrahedra,
            names vertices that do not exist, or has coordinates that are not finite; or the files of its description
            take too long.
    """
    allowance = current_allowance()
    with allowance.file(path):
        return _volume(path, {"point_data": point_data, "cell_data": cell_data}, allowance)


def _volume(path: Path, wanted: Mapping[str, Sequence[str]], allowance: Allowance) -> Volume:
    path, content = _content(path, VOLUME_SUFFIXES)
    request = {"suffix": path.suffix.lower(), **wanted}
    answer, (points, tetrahedra, *data) = _parsed(path, "volumes", request, [content], allowance)
    if not len(tetrahedra):
        found = ", ".join(answer["cells"]) or "no cells"
        raise InputError(path, "cells", f"has {found}", "export linear tetrahedra")
    points, tetrahedra = _checked(path, "cells", "tetrahedra", points, tetrahedra, 4)
    _refuse_twins(path, tetrahedra)
    return Volume(points, tetrahedra, dict(zip(answer["names"], data, strict=True)))


def _refuse_twins(path: Path, tetrahedra: Ints) -> None:
    """Refuse a tetrahedron with the same corners as another one, which leaves no surface of either."""
    corners = np.sort(tetrahedra, axis=1)
    order = np.lexsort(corners.T)  # stable: the first of equal ones stays the first
    twins = np.flatnonzero((corners[order[1:]] == corners[order[:-1]]).all(axis=1))
    if len(twins):
        second, first = order[twins[0] + 1], order[twins[0]]
        problem = f"has the same corners as tetrahedron {first} ({len(twins)} such)"
        raise InputError(path, f"tetrahedron {second}", problem, "keep one of them")


def _content(path: Path, suffixes: tuple[str, ...]) -> tuple[Path, bytes]:
    path = mesh_file(path, suffixes)
    try:
        content = read_regular_file(path, MAX_FILE_BYTES, excess=_COARSER)
    except MissingFile:
        raise MissingFile(path, "", "does not exist", "correct the path") from None
    if not content:
        raise InputError(path, "", "is empty", _EXPORT)
    _refuse_stand_in(path, content[:_HEAD])
    if path.suffix.lower() in (".dae", ".vtu"):
        _refuse_traps(path, content)
    return path, content


def _refuse_stand_in(path: Path, head: bytes) -> None:
    """Refuse what servers and programs put in place of a mesh file, which some readers take for an empty one."""
    if head.startswith(b"version https://git-lfs.github.com/spec/"):
        problem = "is a pointer of Git LFS, and the mesh itself was not downloaded"
        raise InputError(path, "", problem, "run git lfs pull in its repository")
    if re.match(rb"(\xef\xbb\xbf)?\s*<(!doctype\s+)?html\b", head, re.IGNORECASE) is not None:
        raise InputError(path, "", "is a web page", "download the mesh file that the page shows")


def _refuse_traps(path: Path, content: bytes) -> None:
    """Refuse in clear words what these formats do not need, and what the limits would stop anyhow."""
    if content.startswith(b"PK"):
        raise InputError(path, "", "is a ZIP archive", "unpack it and name the mesh file in it")
    if re.search(rb"<!(DOCTYPE|ENTITY)", content) is not None:
        raise InputError(path, "", "has a DOCTYPE, which may define endless text", "remove it")


def _binary_stl(path: Path, content: bytes) -> tuple[Floats, Ints] | None:
    """Vertices, three a triangle, and triangles; None for a file of text."""
    header, triangle = 84, np.dtype([("numbers", "<f4", (4, 3)), ("colour", "<u2")])
    told = int.from_bytes(content[80:header], "little") if len(content) >= header else -1
    is_text = b"\0" not in content or content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if not is_text and 80 <= len(content) <= header and not any(content[80:]):
        # As SolidWorks exports a link without a body; Kinova's end_effector_link.STL is such a file.
        raise EmptyMesh(path, "", "has no triangles", "export a triangulated surface")
    if len(content) != header + told * triangle.itemsize:
        if content.lstrip()[:5].lower() == b"solid":
            return None
        held = max(0, len(content) - header) // triangle.itemsize
        if told < 0 or is_text:
            return None
        raise InputError(path, "", f"has {held} triangles, and {told} by its header", _EXPORT)
    blocks = np.frombuffer(content, triangle, offset=header)
    vertices = blocks["numbers"][:, 1:].reshape(-1, 3).astype(np.float64)
    return _checked(path, "", "triangles", vertices, np.arange(len(vertices)).reshape(-1, 3), 3)


def _materials(path: Path, content: bytes) -> dict[str, bytes]:
    """Files of materials that an OBJ file names, if they lie next to it."""
    found: dict[str, bytes] = {}
    for match in re.finditer(rb"^[ \t]*mtllib[ \t]+([^\r\n]{1,255})", content, re.MULTILINE):
        name = match[1].decode(errors="replace").strip()
        if len(found) < _MATERIALS_FILES and name not in found and PurePosixPath(name).name == name:
            try:
                found[name] = read_regular_file(path.parent / name, _MATERIALS_BYTES)
            except InputError:
                continue  # the surface is the same without colours
    return found


def _parts(
    path: Path, content: bytes, companions: Mapping[str, bytes], allowance: Allowance, *, coloured: bool
) -> tuple[Part, ...]:
    request = {
        "suffix": path.suffix.lower(),
        "coloured": coloured,
        "companions": {name: len(held) for name, held in companions.items()},
    }
    answer, arrays = _parsed(path, "surfaces", request, [*companions.values(), content], allowance)
    if not arrays:
        raise _without(path, "triangles", answer["points"])
    parts = []
    for vertices, triangles, colour in zip(arrays[::2], arrays[1::2], answer["colours"], strict=True):
        checked = _checked(path, "triangles", "triangles", vertices, triangles, 3)
        parts.append(Part(*checked, None if colour is None else tuple(colour)))
    return tuple(parts)


def _parsed(
    path: Path, library: str, request: Mapping[str, Any], contents: Sequence[bytes], allowance: Allowance
) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    key = hashlib.sha256(repr(request).encode())
    for content in contents:
        key.update(content)
    problem = _refused.get(key.digest())
    if problem is None:
        try:
            return parsers[library].parse(request, contents, allowance)
        except Unreadable as error:
            problem = str(error)
            if isinstance(error, ReaderFailed):
                raise InputError(path, "", f"was not read ({problem})", "try again") from None
            if allowance.left <= 0.0:
                raise allowance.error(path) from None
            _refused[key.digest()] = problem
            if len(_refused) > _MOST_REFUSED:
                _refused.pop(next(iter(_refused)), None)
    raise InputError(path, "", f"cannot be read ({problem})", _EXPORT)


def _checked(
    path: Path, element: str, kind: str, vertices: NDArray[Any], elements: NDArray[Any], corners: int
) -> tuple[Floats, Ints]:
    """Vertices (N, 3) and elements (M, corners) of a file, or ``InputError``."""
    if vertices.ndim != 2 or vertices.shape[1] != 3:
        raise InputError(path, "vertices", f"have shape {vertices.shape}", "give three coordinates each")
    if elements.ndim != 2 or elements.shape[1] != corners:
        raise InputError(path, element, f"have shape {elements.shape}", _EXPORT)
    if not len(elements):
        raise _without(path, kind, len(vertices))
    if len(elements) > MAX_ELEMENTS or len(vertices) > 3 * MAX_ELEMENTS:
        problem = f"has {len(elements)} {kind} and {len(vertices)} vertices, the limit is {MAX_ELEMENTS}"
        raise InputError(path, "", problem, _COARSER)
    vertices, elements = vertices.astype(np.float64), elements.astype(np.int64)
    if elements.min() < 0 or elements.max() >= len(vertices):
        raise InputError(path, element, "name vertices that do not exist", _EXPORT)
    if not np.isfinite(vertices).all():
        raise InputError(path, "vertices", "are not all finite", "repair or export the mesh again")
    largest = float(np.abs(vertices).max())
    if largest > _LARGEST_COORDINATE:
        problem = f"reach {largest:.3g}, the limit is {_LARGEST_COORDINATE:g}"
        raise InputError(path, "vertices", problem, "correct the unit of the file")
    return vertices, elements


def _without(path: Path, kind: str, points: int) -> InputError:
    """The error of a file without elements: one that has no points either is no mesh at all."""
    if points:
        return EmptyMesh(path, "", f"has no {kind}", "export a triangulated surface")
    mend = f"{_EXPORT}, or name the right file"
    return InputError(path, "", f"is no mesh: it has no vertices and no {kind}", mend)


def _merged(vertices: Floats, triangles: Ints) -> tuple[Floats, Ints]:
    """Replace vertices that coincide by the first of them, and leave out those of no triangle."""
    used = np.zeros(len(vertices), dtype=bool)
    used[triangles] = True
    kept = np.flatnonzero(used)
    cells = np.rint(vertices[kept] * _CELLS).astype(np.int64)
    order = np.lexsort(cells.T)  # stable: the first of equal ones stays the first
    new = np.ones(len(kept), dtype=bool)
    new[1:] = (cells[order[1:]] != cells[order[:-1]]).any(axis=1)
    first = order[new]
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    renamed = np.empty(len(vertices), dtype=np.int64)
    renamed[kept[order]] = rank[np.cumsum(new) - 1]
    return vertices[kept[np.sort(first)]], renamed[triangles]
