"""Program that reads mesh files for another process, under limits: ``python -P parser_process.py LIBRARY``.

Third-party parsers believe the sizes that a file claims, unpack archives and follow references. Here they get the bytes
of one file at a time, and nothing else: once the library is imported, the process has no descriptor left for a file,
device, pipe or socket and starts no program, has a bounded memory, and is ended by the kernel when a file takes longer
than its request allows.
meshio alone keeps two descriptors, as it reads from files by name: from a copy of the bytes. This program imports
nothing from this package, so that it starts quickly.

It writes one byte when it is ready. A request is a JSON header and the bytes of a file; an answer is a JSON header and
the bytes of arrays. Headers are preceded by their length in 8 bytes, big-endian.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

#: Processor time that one file may take, s.
CPU_LIMIT = 5.0

#: Memory that files may take beyond that of the imported libraries, bytes.
MEMORY_LIMIT = 640 * 2**20

#: Time after which a process that is asked nothing ends, s.
IDLE_LIMIT = 5.0

#: What it writes first: from then on it reads files.
READY = b"r"

#: Problems that this process tells by name, as they end it.
NO_MEMORY = "memory"

#: meshio's names of formats.
_VOLUME_FORMATS = {".vtk": "vtk", ".vtu": "vtu", ".msh": "gmsh"}

Answer = tuple[Mapping[str, Any], Sequence[np.ndarray]]
Reader = Callable[[Mapping[str, Any], bytes], Answer]


def main(library: str) -> None:
    """Answer requests until there are none."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever waits for an answer decides
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # a process that starts this one may ignore it
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGPROF])
    answers = os.dup(1)
    os.dup2(2, 1)  # libraries print
    read, spare_files = _LIBRARIES[library]()
    _confine(spare_files)
    _write(answers, READY)
    told = time.process_time()  # the libraries are no file's time
    while select.select([0], [], [], IDLE_LIMIT)[0]:
        length = _receive(8)
        if not length:
            return
        header = json.loads(_receive(int.from_bytes(length, "big")))
        signal.setitimer(signal.ITIMER_PROF, header["seconds"])  # the kernel ends this process then
        content = _receive(header["size"])
        out_of_memory = False
        try:
            answer, arrays = read(header, content)
            if any(array.dtype.kind not in "fiu" for array in arrays):
                raise ValueError("it holds something else than numbers")
        except MemoryError:
            answer, arrays, out_of_memory = {"problem": NO_MEMORY}, (), True
        except ImportError:  # of the libraries' guesses
            answer, arrays = {"problem": "its text is not in UTF-8"}, ()
        except BaseException as error:  # parsers of damaged files raise anything, and meshio exits
            answer, arrays = {"problem": _words(error)}, ()
        del content
        used = time.process_time()
        _send(answers, {**answer, "seconds": used - told}, arrays)
        told = used
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        del arrays
        if out_of_memory:
            return


def _confine(spare_files: int) -> None:
    """Give up what reading does not need, for good."""
    with open("/proc/self/statm", encoding="ascii") as file:
        pages = int(file.read().split()[0])
    memory = pages * resource.getpagesize() + MEMORY_LIMIT
    opened = 1 + max(
        int(name) for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}")
    )
    for kind, limit in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_FSIZE, MEMORY_LIMIT if spare_files else 0),
        (resource.RLIMIT_NOFILE, opened + spare_files),
    ):
        most = resource.getrlimit(kind)[1]
        limit = limit if most == resource.RLIM_INFINITY else min(limit, most)
        resource.setrlimit(kind, (limit, limit))


def _receive(count: int) -> bytes:
    content = bytearray()
    while len(content) < count:
        part = os.read(0, min(count - len(content), 2**20))
        if not part:
            return b""
        content += part
    return bytes(content)


def _send(target: int, answer: Mapping[str, Any], arrays: Sequence[np.ndarray]) -> None:
    shapes = [[array.dtype.str, list(array.shape)] for array in arrays]
    header = json.dumps({**answer, "arrays": shapes}).encode()
    _write(target, len(header).to_bytes(8, "big") + header)
    for array in arrays:
        _write(target, array.tobytes())


def _write(target: int, content: bytes) -> None:
    view = memoryview(content)
    while len(view):
        view = view[os.write(target, view) :]


def _words(error: BaseException) -> str:
    """What a person is told of a parser's exception, on one line that a terminal may show."""
    text = next((line for line in str(error).splitlines() if line.strip()), "").strip()
    if isinstance(error, (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError)):
        text = f"its parts do not fit together: {type(error).__name__} {text}".strip()
    text = text or type(error).__name__
    return "".join(letter if letter.isprintable() else "?" for letter in text)[:200]


def _surfaces() -> tuple[Reader, int]:
    """Reader of surfaces: arrays of vertices and triangles, a pair a part, with colours (r, g, b, a) and all points."""
    # Pictures are not looked at, so they are not unpacked; and which letters a text is in is not guessed.
    for unwanted in ("PIL", "charset_normalizer", "chardet"):
        sys.modules[unwanted] = None  # type: ignore[assignment]

    # Python imports these when a text needs them, and the libraries some of their parts when they are called.
    import encodings.ascii
    import encodings.latin_1
    import encodings.utf_16  # noqa: F401

    import collada  # noqa: F401
    import trimesh

    def load(content: bytes, header: Mapping[str, Any], companions: Mapping[str, bytes]) -> Any:
        return trimesh.load_scene(
            io.BytesIO(content),
            file_type=header["suffix"][1:],
            process=False,
            resolver=_Companions(companions),  # type: ignore[arg-type]  # newer versions take a mapping too
            skip_materials=not header["coloured"],
        )

    def read(header: Mapping[str, Any], content: bytes) -> Answer:
        suffix = header["suffix"]
        # A name in a file refers to what was sent along with it; there is nothing else.
        companions, start = {}, 0
        for name, size in header["companions"].items():
            companions[name] = _utf8(content[start : start + size])
            start += size
        content = content[start:]
        if suffix == ".dae" and b"nan" in content.lower():
            _refuse_positions_that_are_no_numbers(content)
        if suffix in (".obj", ".stl"):
            content = _utf8(content)
        if suffix == ".obj" and not header["coloured"]:
            content = _without_materials(content)
        if suffix == ".dae" and not header["coloured"]:
            content = _without_looks(content)
        scene = load(content, header, companions)
        if suffix == ".dae" and header["coloured"] and not scene.geometry:
            scene = load(_without_looks(content), header, companions)
        points = 0
        for part in scene.geometry.values():
            points += len(getattr(part, "vertices", ()))
            _forget_looks(part, header["coloured"])
        if suffix == ".dae":
            scene = scene.convert_units("meters")
        found = [part for part in scene.dump() if isinstance(part, trimesh.Trimesh)]
        found = [part for part in found if len(part.faces)]
        if header["coloured"]:
            colours = [_colour(part) for part in found]
        else:
            found, colours = [trimesh.util.concatenate(found)] if found else [], [None]  # type: ignore[list-item]
        arrays = [np.asarray(array) for part in found for array in (part.vertices, part.faces)]
        return {"colours": colours, "points": points}, arrays

    return read, 0


def _utf8(text: bytes) -> bytes:
    """Text of a format that does not say which letters it is in: comments and names may have any."""
    try:
        text.decode()
    except UnicodeDecodeError:
        wide = text[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        return text.decode("utf-16" if wide else "latin-1", errors="replace").encode()
    return text


def _without_materials(content: bytes) -> bytes:
    """An OBJ file as one part: the library's time grows with the square of the number of parts."""
    lines = content.replace(b"\r\n", b"\n").replace(b"\\\n", b"")
    return lines.replace(b"usemtl ", b"\n# ")  # it begins a part at this word anywhere, in a comment too


def _without_looks(content: bytes) -> bytes:
    """A DAE file without materials: the library leaves out what has one of a picture that the file does not name."""
    from lxml import etree

    root = etree.fromstring(content)
    names = ("library_images", "library_effects", "library_materials", "bind_material")
    for element in root.xpath("//*[" + " or ".join(f"local-name()='{name}'" for name in names) + "]"):
        element.getparent().remove(element)
    return bytes(etree.tostring(root))


class _Companions:
    """Resolver of names in a mesh file."""

    def __init__(self, contents: Mapping[str, bytes]) -> None:
        self._contents = contents

    def get(self, name: str) -> bytes:
        """Content of a file that was sent along."""
        if name.strip() not in self._contents:
            raise ValueError(f"it refers to '{name}', which is not read")
        return self._contents[name.strip()]

    __getitem__ = get  # as the reader of GLB asks

    def namespaced(self, name: str) -> _Companions:
        """Resolver of a folder: none is sent along."""
        return _Companions({})


def _refuse_positions_that_are_no_numbers(content: bytes) -> None:
    """Raise if a DAE file has such a position; the library makes them zero, as it does with normals, where few care."""
    from lxml import etree

    root = etree.fromstring(content)
    names = root.xpath("//*[local-name()='vertices']/*[local-name()='input'][@semantic='POSITION']/@source")
    named = {name.lstrip("#") for name in names}
    for array in root.xpath("//*[local-name()='source']/*[local-name()='float_array']"):
        if array.getparent().get("id") in named and "nan" in (array.text or "").lower():
            raise ValueError("it has vertices that are not finite")


def _forget_looks(part: Any, coloured: bool) -> None:
    """Drop what a part looks like, or, where its colour is wanted, the picture that the library puts around a colour.

    Without its library of pictures it puts something there that cannot be copied.
    """
    from trimesh.visual import ColorVisuals
    from trimesh.visual.material import SimpleMaterial

    if not coloured and hasattr(part, "visual"):
        part.visual = ColorVisuals()
    elif isinstance(material := getattr(getattr(part, "visual", None), "material", None), SimpleMaterial):
        material.image = None


def _colour(part: Any) -> list[float] | None:
    """Colour of a part from 0 to 1; None if it has none."""
    visual = part.visual
    if not visual.defined:
        return None
    source = visual.material if visual.kind == "texture" else visual
    return [float(channel) / 255.0 for channel in source.main_color]


def _volumes() -> tuple[Reader, int]:
    """Reader of tetrahedra: arrays of points and tetrahedra, and then of the named data of points and cells."""
    import xml.etree.ElementTree  # noqa: F401  # meshio imports it when it reads

    import meshio

    # meshio reads from names of files alone, so the bytes get one, in memory.
    memory = os.memfd_create("mesh")

    def read(header: Mapping[str, Any], content: bytes) -> Answer:
        os.ftruncate(memory, 0)
        os.lseek(memory, 0, os.SEEK_SET)
        _write(memory, content)
        told = io.StringIO()
        try:
            with contextlib.redirect_stdout(told):
                mesh = meshio.read(f"/proc/self/fd/{memory}", _VOLUME_FORMATS[header["suffix"]])
        except SystemExit:  # after it has printed the reason
            reason = told.getvalue().strip()
            raise ValueError(reason or f"it is no {header['suffix'][1:].upper()} file") from None
        blocks = [block.data for block in mesh.cells if block.type == "tetra"]
        arrays: list[np.ndarray] = [np.asarray(mesh.points)]
        arrays.append(np.vstack(blocks) if blocks else np.zeros((0, 4), dtype=np.int64))
        names = []
        for name in header["point_data"]:
            if name in mesh.point_data:
                names.append(name)
                arrays.append(np.asarray(mesh.point_data[name]))
        for name in header["cell_data"]:
            if name in mesh.cell_data:
                names.append(name)
                arrays.append(np.concatenate([np.ravel(block) for block in mesh.cell_data[name]]))
        return {"names": names, "cells": sorted({block.type for block in mesh.cells})}, arrays

    return read, 2  # the reader of VTK opens the file a second time


_LIBRARIES = {"surfaces": _surfaces, "volumes": _volumes}


if __name__ == "__main__":
    main(sys.argv[1])
