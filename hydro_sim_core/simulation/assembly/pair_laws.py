"""What scenes, URDFs and SRDFs say about contact of pairs of links, and which of them counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from hydro_sim_core.description.scene import ContactSettings
from hydro_sim_core.description.spec import ContactLaw, PointSpec, RobotSpec
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation.assembly.pairs import Collider, FoundPairs

#: Two links in any order.
Links = frozenset[str]


@dataclass(frozen=True)
class ToldLaw:
    """The law of a pair as somebody tells it.

    Attributes:
        links: The two links, in the order of the description.
        law: Their law.
        by: Kind of the description.
        reason: Why, in an SRDF's words.
        source: File, for error messages.
        element: Place in it.
        point: With law ``equivalent_point``, how they touch.
    """

    links: tuple[str, str]
    law: ContactLaw
    by: Literal["scene", "URDF", "SRDF"]
    reason: str = ""
    source: str = ""
    element: str = ""
    point: PointSpec = field(default_factory=PointSpec)


@dataclass(frozen=True)
class PairLaws:
    """What is told about the pairs of a scene.

    Attributes:
        told: By pair, what counts: a scene outranks a URDF, which outranks an SRDF.
        quiet: Links that touch nothing, after their SRDFs.
        spared: Pairs that touch although one of their links is quiet.
    """

    told: Mapping[Links, ToldLaw]
    quiet: tuple[str, ...]
    spared: tuple[Links, ...]

    def links(self, law: ContactLaw) -> list[tuple[str, str]]:
        """Pairs that are told to have this law."""
        return [one.links for one in self.told.values() if one.law == law]

    @property
    def touching(self) -> list[tuple[str, str]]:
        """Pairs that are told to touch, by any law."""
        return [one.links for one in self.told.values() if one.law != "none"]


def pair_laws(robots: Sequence[RobotSpec], contact: ContactSettings, source: Path) -> PairLaws:
    """Gather what is told about pairs.

    Args:
        robots: Robots of the scene, prefixes applied.
        contact: Contact settings of the scene.
        source: Scene file, for error messages.
    """
    told = {frozenset(one.links): one for one in _in_rising_rank(robots, contact, str(source))}
    wanted = (pair for pair, one in told.items() if one.law != "none")
    enabled = (frozenset(links) for robot in robots for links in robot.srdf.enabled)
    return PairLaws(
        told, tuple(link for robot in robots for link in robot.srdf.quiet), tuple({*wanted, *enabled})
    )


def _in_rising_rank(robots: Sequence[RobotSpec], contact: ContactSettings, source: str) -> Iterator[ToldLaw]:
    for robot in robots:
        for links, reason in robot.srdf.disabled:
            yield ToldLaw(links, "none", "SRDF", reason)
        for links, tag in robot.apart:
            yield ToldLaw(links, "none", "URDF", tag)
    for robot in robots:
        for one in robot.pair_laws:
            yield ToldLaw(one.links, one.law, "URDF", source=one.source, element=one.element, point=one.point)
    for i, links in enumerate(contact.exclude):
        yield ToldLaw(links, "none", "scene", source=source, element=f"contact.exclude.{i}")
    for i, pair in enumerate(contact.pairs):
        yield ToldLaw(
            pair.links, pair.law, "scene", source=source, element=f"contact.pairs.{i}", point=pair.point
        )


def check_wanted(laws: PairLaws, colliders: Sequence[Collider], found: FoundPairs, names: set[str]) -> None:
    """Check that pairs that are told to touch can.

    Args:
        laws: What is told.
        colliders: Collision geometries.
        found: Pairs of them that may touch.
        names: Links and static shapes of the scene; one that was told of may have been taken out since.

    Raises:
        InputError: Two links have no geometries between which there is a contact law, and why.
    """
    wanted = [one for one in laws.told.values() if one.law == "pressure_field"]
    if not wanted:
        return
    both = np.concatenate([found.compliant, found.rigid]).tolist()
    touching = {frozenset((colliders[i].link, colliders[j].link)) for i, j in both}
    for one in wanted:
        if frozenset(one.links) in touching or not names.issuperset(one.links):
            continue
        sides = [[c for c in colliders if c.link == link] for link in one.links]
        empty = next((link for link, side in zip(one.links, sides, strict=True) if not side), None)
        if empty is not None:
            problem, mend = f"'{empty}' has no collision geometry", "give it one, or leave the pair out"
        elif sides[0][0].group == sides[1][0].group:
            problem, mend = "are fixed to each other: contact would move neither", "leave the pair out"
        else:
            problem, mend = "neither moves freely: contact would move neither", "leave the pair out"
        links = f"'{one.links[0]}' and '{one.links[1]}'"
        raise InputError(one.source, one.element, f"law {one.law} for {links}: {problem}", mend)
