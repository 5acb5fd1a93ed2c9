"""Warnings of lengths and inertias that look as if they were in millimetres: they change nothing.

What is told is far from what any body is: a hundredth of the density of air, or a radius of gyration of twenty times
the distance of the farthest point. Only bodies that move are looked at, as a room or a terrain may have any mass.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hydro_sim_core.arithmetic import product
from hydro_sim_core.description import LoadedScene
from hydro_sim_core.description.shape_types import shape_types
from hydro_sim_core.description.spec import CollisionSpec, LinkSpec, ShapeSpec, VisualSpec
from hydro_sim_core.errors import InputError
from hydro_sim_core.mesh_files import VOLUME_SUFFIXES, read_surface, read_volume, shared_allowance
from hydro_sim_core.simulation.assembly.builder import BuiltModel
from hydro_sim_core.simulation.assembly.pairs import Floats

_LOG = logging.getLogger(__name__)

#: Mass of a body for the volume of the box of one of its shapes, kg/m^3, below which the shape is too large: steel in
#: millimetres has 8e-6 of a full box, and a thin pole that lies across its box has 0.1.
LEAST_DENSITY = 0.01
#: Least size of such a shape, m: what is smaller may have next to no mass.
LEAST_SIZE = 1.0
#: Least thickness of the box of a shape, as a share of its largest length.
_THIN = 0.01
#: Radius of gyration for the distance of the farthest point from the centre of mass beyond which an inertia is too
#: large: no body reaches 1, and kg mm^2 give some 500.
MOST_GYRATION = 20.0
#: Distance of the centre of mass from the box of the shapes, for the diagonal of that, beyond which it is too far, and
#: the least such distance, m.
MOST_DISTANCE, LEAST_DISTANCE = 10.0, 1.0
#: Most slips of a kind that a warning names.
_MOST_NAMED = 3


@dataclass(frozen=True)
class _Kind:
    """What a warning says of all slips of a kind: what is wrong, and the mend."""

    problem: str
    mend: str


_SO_LARGE = "of moving bodies so large that their mass is nothing beside that of the air in them"
_MILLIMETRES = (
    'give a mesh in millimetres scale="0.001 0.001 0.001" and write lengths in m, or correct the mass'
)
_SIZE = _Kind(f"collision shapes {_SO_LARGE}", _MILLIMETRES)
_SEEN_SIZE = _Kind(f"visual shapes {_SO_LARGE}", _MILLIMETRES)
_INERTIA = _Kind(
    "inertias that no body of this mass and size has",
    "write them in kg m^2, 1e-6 of a number in kg mm^2, or those of the shapes",
)
_CENTRE = _Kind(
    "centres of mass that are far from the shapes of their bodies", "write xyz of <inertial> in m"
)


class _Slip(NamedTuple):
    """A number that is far from what a body can have."""

    kind: _Kind
    robot: int
    words: str


class _Link(NamedTuple):
    """A link in a body: index of its robot, the link, and its pose (4, 4) in the body."""

    robot: int
    spec: LinkSpec
    X_BL: Floats


class _Body(NamedTuple):
    """A body that moves by forces: mass, kg; centre of mass (3,) and radius of gyration, m; its links."""

    mass: float
    p_BCo: Floats
    gyration: float
    links: list[_Link]


def warn_of_unit_slips(scene: LoadedScene, built: BuiltModel, before: Iterable[str] = ()) -> tuple[str, ...]:
    """Log a warning of each kind of slip in each robot, unless its repairs are silent.

    Args:
        scene: The scene, with its repairs.
        built: What was made of it.
        before: Warnings of a world that this one follows, which are not repeated.

    Returns:
        All of the warnings.
    """
    return _tell(scene, _slips(scene, built), before)


def warn_of_seen_unit_slips(scene: LoadedScene, built: BuiltModel) -> tuple[str, ...]:
    """Log such warnings of visual shapes, whose files are read for this."""
    return _tell(scene, _seen_slips(scene, built))


def _tell(scene: LoadedScene, slips: Iterable[_Slip], before: Iterable[str] = ()) -> tuple[str, ...]:
    found: dict[tuple[int, _Kind], list[str]] = {}
    for slip in slips:
        if scene.spec.models[slip.robot].repair != "silent":
            found.setdefault((slip.robot, slip.kind), []).append(slip.words)
    warnings = []
    for (robot, kind), words in found.items():
        more = [f"{len(words) - _MOST_NAMED} more"] if len(words) > _MOST_NAMED else []
        named = "; ".join([*words[:_MOST_NAMED], *more])
        warnings.append(f"{scene.robots[robot].source}: {kind.problem}: {named}; {kind.mend}")
    known = set(before)
    for warning in warnings:
        if warning not in known:
            _LOG.warning("%s", warning)
    return tuple(warnings)


def _slips(scene: LoadedScene, built: BuiltModel) -> Iterator[_Slip]:
    """Slips of masses, inertias and collision shapes."""
    bodies, boxes = _bodies(scene, built), dict[int, list[Floats]]()
    for one in built.colliders:
        if one.body in bodies and not one.geometry.is_half_space:
            bounds = one.geometry.tree_boxes[0].reshape(2, 3)
            boxes.setdefault(one.body, []).append(_corners(bounds, one.X_BG))
            if words := _too_large(bodies[one.body], bounds):
                yield _Slip(_SIZE, one.robot, f"link '{one.link}', {_name(one.collision)} {words}")
    for i, body in bodies.items():
        yield from _inertia_slips(body, boxes.get(i, []))


def _inertia_slips(body: _Body, boxes: Sequence[Floats]) -> Iterator[_Slip]:
    """Slips of the mass and inertia of a body that touches with shapes in these boxes (8, 3), m."""
    reach = max(body.gyration, float(np.linalg.norm(body.p_BCo)))
    if not (_wrong_inertia(body, boxes) if boxes else reach > LEAST_SIZE):
        return
    # Many a body looks larger than what it touches with; its files are read only for what is suspect.
    seen = [_corners(bounds, product(link.X_BL, shape.X_LG)) for link, shape, bounds in _seen(body)]
    unread = sum(len(_visuals(link)) for link in body.links) - len(seen)
    beside = f" (beside visual shapes that cannot be read: {unread})" if unread else ""
    heaviest = max(body.links, key=_weight)
    for kind, words in _wrong_inertia(body, [*boxes, *seen]).items():
        yield _Slip(kind, heaviest.robot, f"link '{heaviest.spec.name}' {words}{beside}")


def _seen_slips(scene: LoadedScene, built: BuiltModel) -> Iterator[_Slip]:
    """Slips of visual shapes."""
    with shared_allowance(scene.source):
        for body in _bodies(scene, built).values():
            for link, shape, bounds in _seen(body):
                if words := _too_large(body, bounds):
                    yield _Slip(_SEEN_SIZE, link.robot, f"link '{link.spec.name}', {_name(shape)} {words}")


def _bodies(scene: LoadedScene, built: BuiltModel) -> dict[int, _Body]:
    """Bodies with a mass that move by forces, by index."""
    assembly, tree = built.assembly, built.assembly.tree
    index = {name: i for i, name in enumerate(assembly.link_names)}
    bodies: dict[int, _Body] = {}
    for robot, spec in enumerate(scene.robots):
        for link in spec.links:
            body = int(assembly.link_body[index[link.name]]) if link.name in index else -1
            if body < 0 or tree.prescribed[tree.v_index[body]] or not tree.mass[body] > 0.0:
                continue
            if body not in bodies:
                most = float(np.linalg.eigvalsh(tree.I_BCo[body])[-1])
                gyration = math.sqrt(max(0.0, most) / tree.mass[body])
                bodies[body] = _Body(float(tree.mass[body]), tree.p_BCo[body], gyration, [])
            bodies[body].links.append(_Link(robot, link, assembly.X_BL[index[link.name]]))
    return bodies


def _weight(link: _Link) -> float:
    """How much a link has to do with the inertia of its body."""
    inertial = link.spec.inertial
    return -1.0 if inertial is None else float(np.trace(inertial.I_LCo)) + inertial.mass


def _too_large(body: _Body, bounds: Floats) -> str:
    """What is wrong with a shape with these bounds (2, 3), m, in words; nothing if its body is not too light for it."""
    sides = np.ptp(bounds, axis=0)
    longest = float(sides.max())
    density = body.mass / float(np.maximum(sides, _THIN * longest).prod()) if longest > 0.0 else math.inf
    if longest < LEAST_SIZE or density >= LEAST_DENSITY:
        return ""
    return f"is {longest:.3g} m long, and its body of {body.mass:.3g} kg has {density:.2g} kg/m^3 of its box"


def _wrong_inertia(body: _Body, boxes: Sequence[Floats]) -> dict[_Kind, str]:
    """What is wrong with the inertia of a body with shapes in these boxes (8, 3), m, in words by kind."""
    if not boxes:
        return {}
    corners, found = np.vstack(boxes), dict[_Kind, str]()
    lower, upper = corners.min(axis=0), corners.max(axis=0)
    farthest = float(np.linalg.norm(corners - body.p_BCo, axis=1).max())
    distance = float(np.linalg.norm(body.p_BCo - np.clip(body.p_BCo, lower, upper)))
    if body.gyration > MOST_GYRATION * farthest:
        found[_INERTIA] = (
            f"with {body.mass:.3g} kg has a radius of gyration of {body.gyration:.3g} m, and no shape farther than "
            f"{farthest:.3g} m from its centre of mass"
        )
    if distance > max(LEAST_DISTANCE, MOST_DISTANCE * float(np.linalg.norm(upper - lower))):
        found[_CENTRE] = (
            f"has it {distance:.3g} m from its shapes, {np.ptp(corners, axis=0).max():.3g} m long"
        )
    return found


def _seen(body: _Body) -> Iterator[tuple[_Link, VisualSpec, Floats]]:
    """Visual shapes of a body, with their links and bounds (2, 3), m."""
    for link in body.links:
        for visual in _visuals(link):
            try:
                bounds = _bounds(visual.shape)
            except InputError:  # what cannot be had is not drawn either
                continue
            yield link, visual, bounds


def _visuals(link: _Link) -> list[VisualSpec]:
    """Visual shapes of a link that have bounds."""
    return [visual for visual in link.spec.visuals if visual.shape.kind != "half_space"]


def _bounds(shape: ShapeSpec) -> Floats:
    """Bounds (2, 3) of a shape in its frame, m."""
    if shape.kind != "mesh":
        vertices, _ = shape_types()[shape.kind].surface(shape.size)
    elif shape.path is not None and shape.path.suffix.lower() in VOLUME_SUFFIXES:
        vertices = read_volume(shape.path).points * shape.scale
    else:
        assert shape.path is not None
        vertices = read_surface(shape.path)[0] * shape.scale
    return np.stack([vertices.min(axis=0), vertices.max(axis=0)])


def _corners(bounds: Floats, X_BG: Floats) -> Floats:
    """Corners (8, 3) in the body of a box with these bounds (2, 3) in the frame of a shape, m."""
    x, y, z = bounds.T
    corners = np.stack(np.meshgrid(x, y, z), axis=-1).reshape(-1, 3)
    return corners @ X_BG[:3, :3].T + X_BG[:3, 3]


def _name(shape: CollisionSpec | VisualSpec) -> str:
    """What a message calls a shape: its file, or its name."""
    return str(shape.shape.path or shape.name)
