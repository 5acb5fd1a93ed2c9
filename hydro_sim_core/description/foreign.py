"""Recognition of files that are given as a scene but are a mesh, or a model of another program."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from hydro_sim_core.description.paths import MESH_EXTENSIONS, is_robot_file
from hydro_sim_core.description.xml_source import read_bytes
from hydro_sim_core.errors import InputError


class Foreign(NamedTuple):
    """A format of other programs.

    Attributes:
        what: What a file in it is.
        converter: Program that makes a URDF of it, and where it comes from; None if none is known.
    """

    what: str
    converter: str | None = None

    @property
    def mend(self) -> str:
        """What to do with such a file."""
        if self.converter is None:
            return "export the robot as URDF, and name that file"
        return f"give the URDF that it was made from, or make one with {self.converter}"


#: Formats of other programs by the root element of the XML.
XML_FORMATS = {
    "mujoco": Foreign("a MuJoCo model (MJCF)", "mjcf_urdf_simple_converter (pip)"),
    "sdf": Foreign("an SDF file, as Gazebo reads", "sdf2urdf of the ROS package sdformat_tools"),
}
_USD = Foreign("USD", "usd_to_urdf (pip install nvidia-srl-usd-to-urdf)")
_OTHER_XML = Foreign("XML")
_MESH_SUFFIXES = (*MESH_EXTENSIONS, ".gltf", ".3mf", ".off", ".step", ".stp")
_USD_SUFFIXES = (".usd", ".usda", ".usdc", ".usdz")
#: Everything that may precede the root element.
_PROLOGUE = re.compile(rb"<!--.*?-->|<\?.*?\?>|<!.*?>", re.DOTALL)
_OUTERMOST = re.compile(rb"\s*<([\w.-]+)")
_ACCEPTED = "a scene is YAML, a robot URDF or xacro"


def format_of(path: Path) -> Foreign | None:
    """Format of another program that a file is in, by its suffix or outermost element; None if it is in none of them.

    Raises:
        InputError: The file cannot be read.
    """
    if path.suffix.lower() in _USD_SUFFIXES:
        return _USD
    return XML_FORMATS.get(_outermost_tag(read_bytes(path)) or "")


def refuse_what_is_no_scene(path: Path) -> None:
    """Refuse a file that cannot be a scene, with its actual format; reading it as YAML would give an obscure error.

    Raises:
        InputError: The file is a mesh, a recording, a robot, or a model of another program; or it cannot be read.
    """
    suffix = path.suffix.lower()
    if suffix == ".mcap":  # it may be larger than any description
        mend = "hydro-sim replay shows it; name the scene that it is of"
        raise InputError(path, "", f"is a recording, and no scene; {_ACCEPTED}", mend)
    text = read_bytes(path)
    if suffix in _MESH_SUFFIXES:
        raise InputError(
            path,
            "",
            f"is a mesh, and no scene; {_ACCEPTED}",
            "name it (STL, OBJ, DAE, GLB, PLY, VTK or MSH) as <mesh> in a URDF, or as mesh in a scene's environment",
        )
    if suffix in _USD_SUFFIXES:
        raise InputError(path, "", f"is {_USD.what}, and no scene; {_ACCEPTED}", _USD.mend)
    tag = _outermost_tag(text)
    if tag == "robot":
        mend = "name the file .urdf, or .xacro if it has xacro: tags"
        if is_robot_file(path):
            mend = "load it with load_urdf, or name it as urdf of a model in a scene"
        raise InputError(path, "<robot>", "is a robot", mend)
    if tag is not None:
        found = XML_FORMATS.get(tag, _OTHER_XML)
        raise InputError(path, f"<{tag}>", f"is {found.what}, and no scene; {_ACCEPTED}", found.mend)


def _outermost_tag(text: bytes) -> str | None:
    text = text.removeprefix(b"\xef\xbb\xbf").lstrip()
    found = _OUTERMOST.match(_PROLOGUE.sub(b"", text[:65536])) if text.startswith(b"<") else None
    return found[1].decode() if found else None
