"""Why links do not touch, and what robots push with inside where a scene starts: for those who look at a scene."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from hydro_sim_core.simulation.assembly.builder import BuiltModel
from hydro_sim_core.simulation.assembly.pairs import Group, Indices
from hydro_sim_core.simulation.assembly.rigid_pairs import add_skins
from hydro_sim_core.simulation.assembly.start_overlaps import LinkOverlap, StartPose

#: Depth that is none but round-off of poses, m; a rigid pair pushes with newtons at a picometre.
_ROUND_OFF = 1e-12
#: Second name of a row about a link that touches nothing.
ALL_OTHERS = "all others"


@dataclass(frozen=True)
class SilentPair:
    """Two links that do not touch.

    Attributes:
        links: Their names; the second may be ``ALL_OTHERS``.
        reason: Why.
        is_joined: Whether they are neighbours or fixed to each other, so that they overlap as a rule.
        depth: How deep they overlap at the start, m: infinite if one lies inside the other, None if they do not or are
            joined.
        force: Force with which they would push each other, N; None as for the depth.
    """

    links: tuple[str, str]
    reason: str
    is_joined: bool = False
    depth: float | None = None
    force: float | None = None


@dataclass(frozen=True)
class InnerForces:
    """Forces between the links of a robot at the start, those attached to it included.

    Attributes:
        robot: Index of the robot.
        acting: Sum over pairs that touch, N.
        most: Pair with the largest share in it; None if nothing acts.
        silenced: Sum over pairs that overlap and do not touch, other than neighbours, N.
    """

    robot: int
    acting: float
    most: tuple[str, str] | None
    silenced: float


def silent_pairs(built: BuiltModel) -> list[SilentPair]:
    """Pairs of links that do not touch, each once, with the reason that is hardest to overrule.

    Links fixed to each other are given as pairs with the first of them. Bodies that the world carries or that move as
    they are told never touch each other and are left out.
    """
    rows: dict[frozenset[str], SilentPair] = {}
    for row in _of_all_reasons(built):
        rows.setdefault(frozenset(row.links), row)
    told = set(map(frozenset, built.laws.links("none")))
    asked = [row.links for pair, row in rows.items() if pair in told and not row.is_joined]
    depths = {frozenset(one.links): one for one in _overlaps(built, _colliders_of(built, asked))}
    return [
        replace(row, depth=depths[pair].depth, force=depths[pair].force) if pair in depths else row
        for pair, row in rows.items()
    ]


def inner_forces(built: BuiltModel, silent: Iterable[SilentPair]) -> list[InnerForces]:
    """Forces inside each robot at the start, of robots with several links that could touch.

    Args:
        built: The model.
        silent: Its silent pairs.
    """
    a, b = built.robot[built.model.pairs.T]
    inside = built.model.pairs[(a == b) & (a >= 0)]
    robot_of = {one.link: int(robot) for one, robot in zip(built.colliders, built.robot, strict=True)}
    acting = [one for one in _overlaps(built, inside) if one.force > 0.0]
    robots = {int(built.robot[i]) for i in inside[:, 0]}
    silenced: dict[int, float] = {}
    for row in silent:
        first, second = (robot_of.get(link, -1) for link in row.links)
        if row.force is not None and first == second >= 0:
            silenced[first] = silenced.get(first, 0.0) + row.force
    found = []
    for robot in sorted(robots | set(silenced)):
        own = [one for one in acting if robot_of[one.links[0]] == robot]
        most = max(own, key=lambda one: one.force).links if own else None
        found.append(InnerForces(robot, sum((one.force for one in own), 0.0), most, silenced.get(robot, 0.0)))
    return found


def _of_all_reasons(built: BuiltModel) -> Iterator[SilentPair]:
    """A row for each reason, the hardest to overrule first; the pairs of some repeat those of others."""
    links: dict[Group, list[str]] = {}
    for one in built.colliders:
        if one.robot >= 0 and one.link not in links.setdefault(one.group, []):
            links[one.group].append(one.link)
    touching = {link for group in links.values() for link in group}
    silent = [one for one in built.laws.told.values() if one.law == "none"]
    joined = {frozenset(row.links): row for row in _joined(built, links)}
    for told in silent:
        if told.by != "SRDF":
            is_joined = frozenset(told.links) in joined
            yield SilentPair(told.links, f"asked for in the {told.by}", is_joined=is_joined)
    yield from joined.values()
    for told in silent:
        if told.by == "SRDF" and touching.issuperset(told.links):
            yield SilentPair(told.links, f"SRDF: {told.reason}" if told.reason else "SRDF")
    met = _meetings(built)
    for link in built.laws.quiet:
        if link in touching:
            spared = [other for pair in met if link in pair for other in pair - {link}]
            but = f", but for {', '.join(spared)}" if spared else ""
            yield SilentPair((link, ALL_OTHERS), f"SRDF: disabled by default{but}")
    count = Counter(one.link for one in built.colliders)
    for overlap in built.overlaps:
        total = count[overlap.links[0]] * count[overlap.links[1]]
        out = total - met.get(frozenset(overlap.links), 0)
        share = f", {out} of {total} pairs of geometries" if out < total else ""
        yield SilentPair(
            overlap.links, f"overlap at the start{share}", depth=overlap.depth, force=overlap.force
        )


def _meetings(built: BuiltModel) -> Counter[frozenset[str]]:
    """How many pairs of geometries of two links may touch."""
    links = [one.link for one in built.colliders]
    return Counter(frozenset((links[a], links[b])) for a, b in built.model.pairs.tolist())


def _joined(built: BuiltModel, links: dict[Group, list[str]]) -> Iterator[SilentPair]:
    wanted = set(map(frozenset, built.laws.touching))
    for groups, joint in built.neighbours.items():
        if len(groups) == 2:
            first, second = (links.get(group, ()) for group in sorted(groups, key=_rank))
            for a, b in product(first, second):
                if frozenset((a, b)) not in wanted:
                    yield SilentPair((a, b), f"neighbours: {joint}", is_joined=True)
    for names in links.values():
        for other in names[1:]:
            yield SilentPair((names[0], other), "fixed to each other", is_joined=True)


def _rank(group: Group) -> tuple[bool, int]:
    """Order of groups along a robot: what is welded to the world first."""
    return group[0] == "body", group[1]


def _colliders_of(built: BuiltModel, pairs: Collection[tuple[str, str]]) -> Indices:
    """Pairs (P, 2) of colliders of pairs of links, without those that nothing moves."""
    own: dict[str, list[int]] = {}
    for i, one in enumerate(built.colliders):
        own.setdefault(one.link, []).append(i)
    found = [both for a, b in pairs for both in product(own.get(a, ()), own.get(b, ()))]
    moves = [both for both in found if any(built.colliders[i].body >= 0 for i in both)]
    return np.array(moves, dtype=np.int64).reshape(-1, 2)


def _overlaps(built: BuiltModel, pairs: Indices) -> Sequence[LinkOverlap]:
    """What overlaps at the start of pairs (P, 2) of colliders, whether they touch or not."""
    pairs = pairs[StartPose(built.colliders, built.assembly, built.q0).near(pairs) > 0.0]
    rigid = np.array([all(built.colliders[i].geometry.is_rigid for i in pair) for pair in pairs], dtype=bool)
    # Lower index first, as for the model: which of two alike gets the skin depends on it.
    colliders, stiff, sides = add_skins(built.colliders, np.sort(pairs[rigid], axis=1), built.margin_rule)
    skinned = np.zeros(pairs.shape, dtype=bool)
    skinned[np.arange(len(pairs) - len(stiff), len(pairs)), sides] = True
    start = StartPose(colliders, built.assembly, built.q0)
    both = np.concatenate([pairs[~rigid], stiff])
    return start.overlaps(both, skinned, np.full(len(both), _ROUND_OFF))[0]
