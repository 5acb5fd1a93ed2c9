"""Small robots and scenes written to files, as a user would write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import yaml

import hydro_sim_core as hs

G = 9.81
CONFIG = Path(__file__).parents[2] / "config" / "scenes"
URDF = Path(__file__).parents[2] / "urdf"
#: Rigid ground: everything below z = 0.
GROUND = {
    "name": "ground",
    "shape": {"half_space": {}},
    "proximity": {"compliance": "rigid", "mu_dynamic": 0.5},
}


def robot(name: str, *elements: str) -> str:
    """A URDF of the given elements."""
    body = "\n".join(elements)
    return (
        f'<robot name="{name}" xmlns:drake="http://drake.mit.edu" xmlns:hydro="urn:hydro-sim">{body}</robot>'
    )


def inertial(mass: float, moments: tuple[float, float, float]) -> str:
    """Mass and principal moments about the link's origin."""
    ixx, iyy, izz = moments
    inertia = f'<inertia ixx="{ixx!r}" iyy="{iyy!r}" izz="{izz!r}" ixy="0" ixz="0" iyz="0"/>'
    return f'<inertial><mass value="{mass!r}"/>{inertia}</inertial>'


def proximity(modulus: float | None, mu: float, dissipation: float, hint: float) -> str:
    """Contact properties of a shape; rigid without a modulus."""
    if modulus is None:
        kind = "<drake:rigid_hydroelastic/>"
    else:
        kind = f'<drake:compliant_hydroelastic/><drake:hydroelastic_modulus value="{modulus!r}"/>'
    return (
        f"<drake:proximity_properties>{kind}"
        f'<drake:mesh_resolution_hint value="{hint!r}"/>'
        f'<drake:hunt_crossley_dissipation value="{dissipation!r}"/>'
        f'<drake:mu_dynamic value="{mu!r}"/><drake:mu_static value="{mu!r}"/>'
        "</drake:proximity_properties>"
    )


def solid_link(
    name: str,
    shape: str,
    mass: float,
    moments: tuple[float, float, float],
    modulus: float | None = 1e6,
    mu: float = 0.5,
    dissipation: float = 10.0,
    hint: float = 0.02,
) -> str:
    """A link with one collision geometry."""
    properties = proximity(modulus, mu, dissipation, hint)
    collision = f"<collision><geometry>{shape}</geometry>{properties}</collision>"
    return f'<link name="{name}">{inertial(mass, moments)}{collision}</link>'


def box(name: str, size: tuple[float, float, float], mass: float, **contact: Any) -> str:
    """A solid box."""
    x, y, z = (length**2 for length in size)
    moments = (mass * (y + z) / 12.0, mass * (x + z) / 12.0, mass * (x + y) / 12.0)
    shape = f'<box size="{size[0]!r} {size[1]!r} {size[2]!r}"/>'
    return robot(name, solid_link(name, shape, mass, moments, **contact))


def sphere(name: str, radius: float, mass: float, **contact: Any) -> str:
    """A solid sphere."""
    moment = 0.4 * mass * radius**2
    return robot(name, solid_link(name, f'<sphere radius="{radius!r}"/>', mass, (moment,) * 3, **contact))


def slider(
    mass: float = 2.0, limit: str = 'effort="1e9" velocity="1e9"', dynamics: str = "", kind: str = "prismatic"
) -> str:
    """A cart of ``mass`` on a rail along x (or a wheel of that moment of inertia about x)."""
    return robot(
        "slider",
        '<link name="rail"/>',
        f'<link name="cart">{inertial(mass, (mass, mass, mass))}</link>',
        f'<joint name="rail_joint" type="{kind}"><parent link="rail"/><child link="cart"/>'
        f'<axis xyz="1 0 0"/><limit lower="-1000" upper="1000" {limit}/>{dynamics}</joint>',
    )


def snake() -> str:
    """A free body with a wheel whose drive knows no limit."""
    return robot(
        "snake",
        f'<link name="base">{inertial(1.0, (0.1, 0.1, 0.1))}</link>',
        f'<link name="wheel">{inertial(1.0, (0.1, 0.1, 0.1))}</link>',
        '<joint name="axle" type="continuous"><parent link="base"/><child link="wheel"/><axis xyz="1 0 0"/></joint>',
    )


def free(text: str, xyz: Any = (0, 0, 0), rpy: Any = (0, 0, 0), **more: Any) -> dict[str, Any]:
    """A floating model for ``make_world``."""
    pose = {"xyz": [float(x) for x in xyz], "rpy": [float(x) for x in rpy]}
    return {"text": text, "base": "floating", "pose": pose, **more}


def write_scene(folder: Path, *models: dict[str, Any], **sections: Any) -> Path:
    """Write a scene and the URDF texts of its models; further keys go into the scene file as they are."""
    entries = []
    for i, model in enumerate(models):
        text = model["text"]
        name = text.split('"')[1]
        (folder / f"{i}.urdf").write_text(text)
        rest = {key: value for key, value in model.items() if key != "text"}
        entries.append({"name": f"{name}_{i}", "urdf": f"{i}.urdf", **rest})
    scene = {"name": "made", "models": entries, **sections}
    path = folder / "scene.yaml"
    path.write_text(yaml.safe_dump(scene))
    return path


def make_world(folder: Path, *models: dict[str, Any], **sections: Any) -> hs.World:
    """Write a scene and load it."""
    return hs.load_scene(write_scene(folder, *models, **sections))


def rotation_angle(R: np.ndarray) -> float:
    """Angle of a rotation (3, 3), rad."""
    return float(np.arccos(np.clip((np.trace(R) - 1.0) / 2.0, -1.0, 1.0)))
