"""Table of what a sweep can measure of a run.

To add a measure, add a row here, or a plug-in's entry point in the group ``hydro_sim.measures``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from numbers import Real
from typing import TypeVar

import numpy as np

from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.errors import InputError, excerpt
from hydro_sim_core.plugins import guarded, load_plugins
from hydro_sim_core.simulation import World
from hydro_sim_core.sweeps.axes import Array

T = TypeVar("T")

#: A number, a truth, or None where there is none, as of a contact that never was.
Value = float | int | bool | None


class Gauge:
    """What a measure follows of one run; made at its start."""

    def observe(self, world: World) -> None:
        """Called after every step, if the measure asks for it."""

    def value(self, world: World) -> Value:
        """The measured value, at the end of the run."""
        raise NotImplementedError


@dataclass(frozen=True)
class Measure:
    """A row of the table.

    Attributes:
        name: As ``--measure`` takes it.
        summary: What it is, with its unit.
        gauge: Makes the gauge of a run, of a world at its start and the element, such as the name of a link.
        element: What the element is, in capitals; empty for none. In brackets if it may be left out.
        every_step: Whether the gauge looks at every step.
        is_truth: Whether it is true or false.

    Raises:
        InputError: By ``gauge``, if the world has no such element.
    """

    name: str
    summary: str
    gauge: Callable[[World, str], Gauge]
    element: str = ""
    every_step: bool = False
    is_truth: bool = False


class _AtEnd(Gauge):
    """Reads the world at the end."""

    def __init__(self, read: Callable[[World], Value]) -> None:
        self._read = read

    def value(self, world: World) -> Value:
        return self._read(world)


class _Force(Gauge):
    """Force between two links over all steps in which they touch."""

    def __init__(self, world: World, element: str, chosen: Callable[[float, float], float]) -> None:
        self._pair, self._chosen = _touching(world, element), chosen
        self._force: float | None = None

    def observe(self, world: World) -> None:
        force = _force(world, self._pair)
        if force is not None:
            self._force = force if self._force is None else self._chosen(self._force, force)

    def value(self, world: World) -> Value:
        return self._force


def _relative(move: Callable[[Array], float]) -> Callable[[World, str], Gauge]:
    """A gauge of how a link has moved since the start, relative to the world or to another link."""

    def gauge(world: World, element: str) -> Gauge:
        links = [element] if element in world.frame_names else list(_split(element, world.frame_names))

        def pose(world: World) -> Array:
            of, *relative = (world.frame_pose(link) for link in links)
            return _seen_from(relative[0], of) if relative else of

        start = pose(world)
        return _AtEnd(lambda world: move(_seen_from(start, pose(world))))

    return gauge


def _seen_from(X_WA: Array, X_WB: Array) -> Array:
    """Pose X_AB (4, 4)."""
    X_AB = np.eye(4)
    X_AB[:3, :3] = X_WA[:3, :3].T @ X_WB[:3, :3]
    X_AB[:3, 3] = X_WA[:3, :3].T @ (X_WB[:3, 3] - X_WA[:3, 3])
    return X_AB


def _distance(X: Array) -> float:
    """Distance of a pose (4, 4) from the origin."""
    return math.sqrt(float(X[:3, 3] @ X[:3, 3]))


def _angle(X: Array) -> float:
    """Angle by which a pose (4, 4) is turned, exact for small ones too."""
    R = X[:3, :3]
    twice_sine = math.hypot(R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1])
    return math.atan2(twice_sine, float(np.trace(R)) - 1.0)


def _coordinate(axis: int) -> Callable[[World, str], Gauge]:
    def gauge(world: World, element: str) -> Gauge:
        link = _known(element, world.frame_names, "link")
        return _AtEnd(lambda world: float(world.frame_pose(link)[axis, 3]))

    return gauge


def _held(world: World, element: str) -> Gauge:
    link = _known(element, world.frame_names, "link")
    if not world.gripper_names:
        raise InputError("--measure", f"held:{element}", "the scene has no gripper", "measure touching:A/B")
    return _AtEnd(
        lambda world: any(world.grip_forces_on(name).get(link, 0.0) > 0.0 for name in world.gripper_names)
    )


def _grip(world: World, element: str) -> Gauge:
    name = _known(element, world.gripper_names, "gripper")
    return _AtEnd(lambda world: world.grip_force(name))


def _touches(world: World, element: str) -> Gauge:
    pair = _touching(world, element)
    return _AtEnd(lambda world: _force(world, pair) is not None)


def _peak_pressure(world: World, element: str) -> Gauge:
    pair = _touching(world, element)

    def peak(world: World) -> Value:
        return max(
            (one.peak_pressure for one in world.contacts if {one.name_a, one.name_b} == pair), default=None
        )

    return _AtEnd(peak)


def _diagnostic(name: str) -> Callable[[World, str], Gauge]:
    return lambda world, element: _AtEnd(lambda world: world.diagnostics()[name])


_ROWS = (
    *(
        Measure(axis, f"{axis} of a link's origin at the end, m", _coordinate(k), "LINK")
        for k, axis in enumerate("xyz")
    ),
    Measure(
        "displacement",
        "how far a link's origin has moved since the start, in the world or as another link sees it, m",
        _relative(_distance),
        "LINK[/LINK]",
    ),
    Measure("rotation", "the angle by which it has turned since then, rad", _relative(_angle), "LINK[/LINK]"),
    Measure(
        "held", "whether the fingers of a gripper press on a link at the end", _held, "LINK", is_truth=True
    ),
    Measure("grip_force", "force of a gripper at the end, N (N m of a linkage)", _grip, "GRIPPER"),
    Measure(
        "touching", "whether two links press on each other at the end", _touches, "LINK/LINK", is_truth=True
    ),
    Measure(
        "max_force",
        "largest contact force between two links in any step, N",
        lambda world, element: _Force(world, element, max),
        "LINK/LINK",
        every_step=True,
    ),
    Measure(
        "min_force",
        "least contact force between two links in the steps in which they touch, N",
        lambda world, element: _Force(world, element, min),
        "LINK/LINK",
        every_step=True,
    ),
    Measure(
        "peak_pressure", "largest pressure between two links at the end, Pa", _peak_pressure, "LINK/LINK"
    ),
    Measure(
        "energy",
        "kinetic, potential and elastic energy at the end, J",
        lambda world, element: _AtEnd(lambda world: world.energies().total),
    ),
    Measure(
        "kinetic_energy",
        "kinetic energy at the end, J",
        lambda world, element: _AtEnd(lambda world: world.energies().kinetic),
    ),
    Measure("faces", "contact faces in the last step", _diagnostic("faces")),
    Measure(
        "unconverged_steps", "steps that missed the solver's tolerance", _diagnostic("unconverged_steps")
    ),
)


@cache
def measures() -> Mapping[str, Measure]:
    """All rows by name, those of plug-ins included.

    Raises:
        InputError: A plug-in is broken, or adds a name that there is.
    """
    return {row.name: row for row in (*_ROWS, *load_plugins("hydro_sim.measures", Measure, _ROWS))}


@dataclass(frozen=True)
class Part:
    """One measure of what is asked for.

    Attributes:
        measure: The row of the table.
        element: Such as the name of a link.
        compare: ``<`` or ``>`` where only this is asked for; else empty.
        bound: What it is compared with.
    """

    measure: Measure
    element: str
    compare: str = ""
    bound: float = 0.0

    def gauge(self, world: World) -> Gauge:
        """What follows a run.

        Raises:
            InputError: The world lacks what is measured, or the measure's code does not work.
        """
        return self._guarded(lambda: self.measure.gauge(world, self.element))

    def observe(self, gauge: Gauge, world: World) -> None:
        """Let a gauge look at a step.

        Raises:
            InputError: The measure's code does not work.
        """
        self._guarded(lambda: gauge.observe(world))

    def value(self, gauge: Gauge, world: World) -> Value:
        """What a gauge says at the end of a run.

        Raises:
            InputError: The measure's code does not work, or says what is no number.
        """
        value = self._guarded(lambda: gauge.value(world))
        if value is not None and not isinstance(value, (Real, np.bool_)):
            mend = "let value return a number, a truth, or None for neither"
            raise InputError("measures", f"'{self.measure.name}'", f"{excerpt(value)} is no number", mend)
        return self.result(value)

    def _guarded(self, call: Callable[[], T]) -> T:
        return guarded(call, "measures", f"'{self.measure.name}'")

    def result(self, value: Value) -> Value:
        """What the value, which may be none, says."""
        if value is None or not math.isfinite(value):
            return False if self.compare or self.measure.is_truth else None
        if self.compare:
            return value < self.bound if self.compare == "<" else value > self.bound
        return value


@dataclass(frozen=True)
class Column:
    """What is asked for: a measure, or several truths that all have to hold.

    Attributes:
        name: Of the column.
        parts: The measures.
    """

    name: str
    parts: tuple[Part, ...]

    def gauges(self, world: World) -> list[Gauge]:
        """A gauge of each part.

        Raises:
            InputError: The world lacks what is measured.
        """
        return [part.gauge(world) for part in self.parts]

    def result(self, gauges: Sequence[Gauge], world: World) -> Value:
        """Value of the column at the end of a run."""
        found = [part.value(gauge, world) for part, gauge in zip(self.parts, gauges, strict=True)]
        return found[0] if len(found) == 1 else all(found)


_NAMED = re.compile(r"([\w ]+)=(.+)")
_COMPARED = re.compile(r"([^<>]*?)\s*([<>])\s*([^<>]*)")


def with_own(own: Sequence[Measure]) -> Mapping[str, Measure]:
    """All rows by name, and those of a program.

    Raises:
        InputError: One of these is no measure, or has the name of another row.
    """
    table = dict(measures())
    for row in own:
        if not isinstance(row, Measure):
            raise InputError(
                "measures", excerpt(row), "is no Measure", "give rows as in the table of measures"
            )
        if row.name in table:
            raise InputError("measures", f"'{row.name}'", "another one has this name", "give it another name")
        table[row.name] = row
    return table


def parse_measure(text: str, table: Mapping[str, Measure] | None = None) -> Column:
    """Read ``NAME:ELEMENT``, ``NAME:ELEMENT<NUMBER``, several of these with ``and`` between, or ``COLUMN=`` and any.

    Args:
        text: What is written.
        table: Measures by name; those of ``measures`` by default.

    Raises:
        InputError: It is written otherwise, there is no such measure, or its element is missing or too much.
    """
    named = _NAMED.fullmatch(text.strip())
    name, asked = (part.strip() for part in named.groups()) if named else (text.strip(), text.strip())
    parts = tuple(
        _parse_part(part.strip(), measures() if table is None else table) for part in asked.split(" and ")
    )
    if len(parts) > 1:
        for part in parts:
            if not (part.compare or part.measure.is_truth):
                problem = f"'{part.measure.name}' is a number, neither true nor false"
                raise InputError("--measure", excerpt(text), problem, "compare it, as in z:ball<0.1")
    return Column(name, parts)


def _parse_part(text: str, table: Mapping[str, Measure]) -> Part:
    found = _COMPARED.fullmatch(text)
    what, compare, number = found.groups() if found else (text, "", "0")
    try:
        bound = float(number)
        if not math.isfinite(bound):
            raise ValueError
    except ValueError:
        problem = f"'{number}' is no number"
        raise InputError("--measure", excerpt(text), problem, "write NAME:ELEMENT<NUMBER") from None
    name, _, element = what.partition(":")
    if name not in table:
        raise InputError(
            "--measure", excerpt(text), f"'{name}' is none that is known", did_you_mean(name, table)
        )
    row = table[name]
    if bool(row.element) != bool(element):
        mend = f"write {name}:{row.element}" if row.element else f"write {name}"
        problem = "says not of what" if row.element else "takes no element"
        raise InputError("--measure", excerpt(text), problem, mend)
    return Part(row, element, compare, bound)


def _known(name: str, names: Sequence[str], kind: str) -> str:
    if name not in names:
        mend = did_you_mean(name, names) if names else f"the scene has no {kind}"
        raise InputError("--measure", name, f"is no {kind} of the scene", mend)
    return name


def _split(element: str, names: Sequence[str]) -> tuple[str, str]:
    """Two names with a slash between, which may hold slashes themselves."""
    parts = element.split("/")
    for k in range(1, len(parts)):
        first, second = "/".join(parts[:k]), "/".join(parts[k:])
        if first in names and second in names:
            return first, second
    unknown = [part for part in parts if part not in names] or [element]
    mend = did_you_mean(unknown[0], names) if len(parts) > 1 else "write LINK/LINK"
    raise InputError("--measure", element, f"'{unknown[0]}' is no link of the scene", mend)


def _touching(world: World, element: str) -> set[str]:
    """Two links, or a link and a static shape, that can touch."""
    names = sorted({name for pair in world.touching_pairs for name in pair})
    pair = set(_split(element, names))
    if not any(pair == set(one) for one in world.touching_pairs):
        raise InputError("--measure", element, "never touch: the scene has no such pair", "name two that do")
    return pair


def _force(world: World, pair: set[str]) -> float | None:
    """Contact force between two links over the last step, N; None if they do not touch."""
    patches = [one for one in world.contacts if {one.name_a, one.name_b} == pair]
    if not patches:
        return None
    # Several geometries of a link make several patches; each may have the links in either order.
    first = patches[0].name_a
    total = sum((one.force_on_b if one.name_a == first else -one.force_on_b for one in patches), np.zeros(3))
    # Faces of the margin may be there without any force.
    return math.sqrt(float(total @ total)) or None
