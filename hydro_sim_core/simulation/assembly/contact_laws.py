"""Which law each pair of links has, to be told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.contact.laws import EQUIVALENT_POINT, LAWS, PRESSURE_FIELD, RIGID_SKIN, SOFT_MINIMUM
from hydro_sim_core.description.spec import PointSpec
from hydro_sim_core.simulation.assembly.builder import BuiltModel
from hydro_sim_core.simulation.assembly.pairs import linked_pairs


@dataclass(frozen=True, eq=False)
class ContactLaws:
    """Laws of all pairs of links that can touch; in arrays, because there may be a million pairs.

    Attributes:
        names: Names of links.
        pairs: (K, 2) indices of names, as from ``linked_pairs``.
        geometries: (K,) number of pairs of geometries of each.
        law_numbers: (K,) which of ``LAWS`` each has; one law is told where there are two.
        silent: Pairs of links that do not touch because of the scene, a description or the start pose.
        points: How those touch that do so at equivalent points, by their links.
    """

    names: list[str]
    pairs: NDArray[np.int64]
    geometries: NDArray[np.int64]
    law_numbers: NDArray[np.int64]
    silent: tuple[tuple[str, str], ...]
    points: Mapping[frozenset[str], PointSpec]

    def law(self, row: int) -> str:
        """Law of one pair."""
        return LAWS[self.law_numbers[row]]

    def ellipsoid(self, row: int) -> tuple[float, float, float | None] | None:
        """Semi-axes e_t, e_o (1), e_r (m) of friction at equivalent points; e_r is None if the patch has it.

        Pairs with another law have none.
        """
        if self.law(row) != EQUIVALENT_POINT:
            return None
        return self.points[frozenset(self.links(row))].ellipsoid or (1.0, 1.0, None)

    def words(self, row: int) -> str:
        """Law of one pair, with its friction ellipsoid."""
        return law_in_words(self.law(row), self.ellipsoid(row))

    def links(self, row: int) -> tuple[str, str]:
        """Names of the links of one pair."""
        a, b = self.pairs[row].tolist()
        return self.names[a], self.names[b]

    @property
    def counts(self) -> dict[str, int]:
        """Number of pairs of links of every law."""
        return dict(zip(LAWS, np.bincount(self.law_numbers, minlength=len(LAWS)).tolist(), strict=True))

    def told(self, most: int) -> list[tuple[str, str, str]]:
        """Links and law, in words, of at most so many pairs, ``none`` for silent ones, which come first."""
        silent = [(a, b, "none") for a, b in islice(self.silent, most)]
        rows = range(min(len(self.pairs), most - len(silent)))
        return silent + [(*self.links(row), self.words(row)) for row in rows]


def law_in_words(law: str, ellipsoid: Sequence[float | None] | None) -> str:
    """A law, with the semi-axes that it has if any."""
    if ellipsoid is None:
        return law
    e_t, e_o, e_r = ellipsoid
    about = "from the patch" if e_r is None else f"{e_r:g} m"
    return f"{law}, e_t {e_t:g}, e_o {e_o:g}, e_r {about}"


def contact_laws(built: BuiltModel, is_soft: bool = False) -> ContactLaws:
    """Laws of the pairs of links of a scene; with smooth contact, that of all."""
    names, pairs, geometries = linked_pairs(built.colliders, built.model.pairs)
    number = {name: i for i, name in enumerate(names)}
    size = max(len(names), 1)
    link = np.array([number[collider.link] for collider in built.colliders], dtype=np.int64)
    rigid = np.array([collider.geometry.is_rigid for collider in built.colliders], dtype=bool)
    a, b = built.model.pairs.T
    of_pairs = np.where(rigid[a] & rigid[b], LAWS.index(RIGID_SKIN), LAWS.index(PRESSURE_FIELD))
    of_pairs[built.model.points.first_pair[0] :] = LAWS.index(EQUIVALENT_POINT)
    if is_soft:
        of_pairs[:] = LAWS.index(SOFT_MINIMUM)
    # Of two laws the softer one is told, which comes first.
    order = np.lexsort((of_pairs, codes := _codes(link[a], link[b], size)))
    known, first = np.unique(codes[order], return_index=True)
    rows = np.searchsorted(known, _codes(pairs[:, 0], pairs[:, 1], size))
    # Of links that overlap at the start some geometries may touch all the same.
    touching = {frozenset((names[a], names[b])) for a, b in pairs.tolist()} if built.overlaps else set()
    overlapping = (one.links for one in built.overlaps if frozenset(one.links) not in touching)
    silent = (*built.laws.links("none"), *overlapping)
    told = {links: one.point for links, one in built.laws.told.items() if one.law == "equivalent_point"}
    return ContactLaws(names, pairs, geometries, of_pairs[order][first][rows], silent, told)


def _codes(a: NDArray[np.int64], b: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """A key for every pair of numbers below ``size``, independent of their order."""
    return np.minimum(a, b) * size + np.maximum(a, b)
