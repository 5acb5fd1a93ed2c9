"""How far the contact forces of an instant can be trusted: computed by whoever looks, never while stepping."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hydro_sim_core.contact import ContactPatch

#: Patches with a smaller share of the largest patch's force are left out: a touch that begins or ends has few faces.
SIGNIFICANT_SHARE = 0.01


@dataclass(frozen=True)
class ContactWarning:
    """Why a contact should not be trusted.

    Attributes:
        bodies: The two links, ``a on b``.
        problem: What is wrong, as a short clause.
        mend: What to do about it, as an imperative clause.
    """

    bodies: str
    problem: str
    mend: str

    def __str__(self) -> str:
        return f"{self.bodies}: {self.problem}; {self.mend}"


@dataclass(frozen=True, eq=False)
class ContactSummary:
    """All patches of an instant by their quality.

    Attributes:
        patches: Every patch.
        faceless_overlaps: Pairs of links whose geometries overlap without any face.
    """

    patches: tuple[ContactPatch, ...]
    faceless_overlaps: tuple[tuple[str, str], ...] = ()

    @cached_property
    def significant(self) -> tuple[ContactPatch, ...]:
        """Patches with at least ``SIGNIFICANT_SHARE`` of the largest force."""
        forces = [float(np.linalg.norm(patch.normal_force_on_b)) for patch in self.patches]
        least = SIGNIFICANT_SHARE * max(forces, default=0.0)
        return tuple(patch for patch, force in zip(self.patches, forces, strict=True) if force >= least > 0.0)

    @cached_property
    def worst(self) -> ContactPatch | None:
        """The significant patch with the largest estimated force error; None where nothing presses."""
        return max(self.significant, key=lambda patch: patch.quality.force_error, default=None)

    @cached_property
    def under_resolved(self) -> tuple[ContactPatch, ...]:
        """Significant patches whose estimated force error is too large, the worst first."""
        coarse = (patch for patch in self.significant if not patch.quality.is_resolved)
        return tuple(sorted(coarse, key=lambda patch: patch.quality.force_error, reverse=True))

    @cached_property
    def deep(self) -> tuple[ContactPatch, ...]:
        """Patches that lost force because a body is pushed past its medial surface."""
        return tuple(patch for patch in self.patches if patch.quality.is_deep)

    @cached_property
    def warnings(self) -> tuple[ContactWarning, ...]:
        """What a user should know, the gravest first."""
        overlaps = (
            ContactWarning(
                bodies=f"{a} on {b}",
                problem="they overlap, but no contact holds them apart",
                mend="make them thicker or stiffer, or the time step shorter",
            )
            for a, b in self.faceless_overlaps
        )
        return (*overlaps, *map(_deep_warning, self.deep), *map(_coarse_warning, self.under_resolved))


def deep_problem(lost_force_share: float) -> str:
    """What is wrong with a patch that lost part of its force, 0 to 1."""
    return f"pushed past the medial surface, {100.0 * lost_force_share:.0f} % of the force lost"


def coarse_problem(num_faces: int, force_error: float) -> str:
    """What is wrong with a patch of too few faces that press; its estimated relative error is 0 to 1."""
    faces = "1 face" if num_faces == 1 else f"{num_faces} faces"
    return f"{faces}, force at this depth off by about {100.0 * force_error:.0f} %"


def _deep_warning(patch: ContactPatch) -> ContactWarning:
    return ContactWarning(
        bodies=f"{patch.name_a} on {patch.name_b}",
        problem=deep_problem(patch.quality.lost_force_share),
        mend="make them thicker or stiffer",
    )


def _coarse_warning(patch: ContactPatch) -> ContactWarning:
    return ContactWarning(
        bodies=f"{patch.name_a} on {patch.name_b}",
        problem=coarse_problem(patch.quality.num_faces, patch.quality.force_error),
        mend="mesh them finer (mesh_resolution_hint)",
    )
