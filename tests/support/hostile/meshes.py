"""What hostile mesh files are made of, and how they are named to the program: by a robot of one link."""

from __future__ import annotations

import io
import itertools
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from support.hostile.cases import add

#: A tetrahedron: vertices, triangles, and the vertices as lines of text.
POINTS = np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 0.1]])
FACES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])
ROWS = "".join(f"{x} {y} {z}\n" for x, y, z in POINTS)

#: Bytes that an archive unpacks to.
UNPACKED = 600 * 2**20

_ROBOT = (
    '<robot name="r" xmlns:drake="http://drake.mit.edu"><link name="a"><inertial><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    '<visual><geometry><mesh filename="{0}"/></geometry></visual>'
    '<collision><geometry><mesh filename="{0}"/></geometry>{1}</collision></link></robot>'
)
_SOFT = (
    '<drake:proximity_properties><drake:compliant_hydroelastic/><drake:hydroelastic_modulus value="1e6"/>'
    "</drake:proximity_properties>"
)


def add_file(name: str, make: Callable[[Path], object]) -> None:
    """Add a case whose mesh file has this name and is made by a function of its path."""
    suffix = name.rpartition(".")[2]

    def write(folder: Path) -> list[str]:
        make(folder / name)
        soft = _SOFT if suffix in ("vtk", "vtu", "msh") else ""
        (folder / "robot.urdf").write_text(_ROBOT.format(name, soft))
        return ["check", "robot.urdf"]

    add(f"{suffix} meshes", name, write)


def content(name: str, value: str | bytes | Callable[[], str | bytes]) -> None:
    """Add a case with a content, or with a function that makes one which is large."""

    def make(path: Path) -> None:
        made = value() if callable(value) else value
        path.write_bytes(made.encode() if isinstance(made, str) else made)

    add_file(name, make)


def noise(seed: int, count: int = 3000) -> bytes:
    """Random bytes."""
    return np.random.default_rng(seed).bytes(count)


def add_damaged(suffix: str, whole: bytes) -> None:
    """Cases of a valid file that is cut, and that has random bytes."""
    for share in (1, 30, 60, 95):
        content(f"cut_{share}{suffix}", whole[: len(whole) * share // 100])
    for seed in range(3):
        random = np.random.default_rng(seed)
        held = bytearray(whole)
        for place in random.integers(0, len(held), 5):
            held[place] = random.integers(0, 256)
        content(f"damaged_{seed}{suffix}", bytes(held))


def laughs(root: str) -> str:
    """A DOCTYPE whose entity &z; stands for 10^10 words."""
    names = "abcdefghij"
    lines = [f'<!ENTITY {names[0]} "lolololol ">']
    lines += [f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in itertools.pairwise(names)]
    return f'<!DOCTYPE {root} [{"".join(lines)}<!ENTITY z "{"&j;" * 10}">]>'


def zipped(name: str, size: int) -> bytes:
    """A ZIP archive of a file of zeros."""
    held = io.BytesIO()
    with (
        zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open(name, "w") as file,
    ):
        for _ in range(size // 2**20):
            file.write(bytes(2**20))
    return held.getvalue()
