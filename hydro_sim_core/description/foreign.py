"""Recognition of files that are given as a scene but are a mesh, or a model of another program."""

from __future__ import annotations

import re
from pathlib import Path

from hydro_sim_core.description.paths import MESH_EXTENSIONS
from hydro_sim_core.description.xml_source import read_bytes
from hydro_sim_core.errors import InputError

#: Formats of other programs by the root element of the XML.
XML_FORMATS = {
    "mujoco": "a MuJoCo model (MJCF)",
    "sdf": "an SDF file, as Gazebo reads",
}
_MESH_SUFFIXES = (*MESH_EXTENSIONS, ".vtu", ".gltf", ".3mf", ".off", ".step", ".stp")
_USD_SUFFIXES = (".usd", ".usda", ".usdc", ".usdz")
#: Everything that may precede the root element.
_PROLOGUE = re.compile(rb"<!--.*?-->|<\?.*?\?>|<!.*?>", re.DOTALL)
_OUTERMOST = re.compile(rb"\s*<([\w.-]+)")
_ACCEPTED = "a scene is YAML, a robot URDF or xacro"
MEND = "export the robot as URDF, and name that file"


def refuse_what_is_no_scene(path: Path) -> None:
    """Refuse a file that cannot be a scene, with its actual format; reading it as YAML would give an obscure error.

    Raises:
        InputError: The file is a mesh, a robot, or a model of another program; or it cannot be read.
    """
    text = read_bytes(path)
    suffix = path.suffix.lower()
    if suffix in _MESH_SUFFIXES:
        raise InputError(
            path,
            "",
            f"is a mesh, and no scene; {_ACCEPTED}",
            "name it (STL, OBJ, DAE, GLB, PLY, VTK or MSH) as <mesh> in a URDF, or as mesh in a scene's environment",
        )
    if suffix in _USD_SUFFIXES:
        raise InputError(path, "", f"is USD, and no scene; {_ACCEPTED}", MEND)
    tag = _outermost_tag(text)
    if tag == "robot":
        raise InputError(
            path, "<robot>", "is a robot", "name the file .urdf, or .xacro if it has xacro: tags"
        )
    if tag is not None:
        raise InputError(
            path, f"<{tag}>", f"is {XML_FORMATS.get(tag, 'XML')}, and no scene; {_ACCEPTED}", MEND
        )


def _outermost_tag(text: bytes) -> str | None:
    text = text.removeprefix(b"\xef\xbb\xbf").lstrip()
    found = _OUTERMOST.match(_PROLOGUE.sub(b"", text[:65536])) if text.startswith(b"<") else None
    return found[1].decode() if found else None
