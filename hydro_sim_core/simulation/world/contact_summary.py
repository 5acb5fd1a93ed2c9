"""Quality of the contact forces of an instant, computed on demand and never while stepping."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hydro_sim_core.contact import ContactPatch
from hydro_sim_core.contact.laws import PRESSURE_FIELD, RIGID_SKIN
from hydro_sim_core.contact.pressure_field.faces import SURE_RISE
from hydro_sim_core.geometry.skins import SLOPE
from hydro_sim_core.simulation.assembly.start_overlaps import LEAST_DEEP

#: Share of the largest patch force below which patches are ignored: a contact that begins or ends has few faces.
SIGNIFICANT_SHARE = 0.01
#: Largest share of a force that nearly upright faces may leave out: the sides of a soft box that lands do a little.
MAX_FADED = 0.1
#: Share of the force on upright faces that adds up along one direction, above which they are a rim in one plane.
RIM_SHARE = 0.7
#: Stands for no force in a share, N.
_NO_FORCE = 1e-300
#: Least slope of a skin that is as stiff as skins are made, Pa/m.
_STIFF = 0.999 * SLOPE


@dataclass(frozen=True)
class ContactWarning:
    """Reason not to trust a contact.

    Attributes:
        bodies: The two links, ``a on b``.
        problem: The problem, as a short clause.
        mend: The remedy, as an imperative clause.
    """

    bodies: str
    problem: str
    mend: str

    def __str__(self) -> str:
        return f"{self.bodies}: {self.problem}; {self.mend}"


@dataclass(frozen=True, eq=False)
class ContactSummary:
    """Contact patches of an instant and their quality.

    Attributes:
        patches: Every patch.
        faceless_overlaps: Pairs of links whose geometries overlap without any face.
        unrepeated: Pairs of links whose equivalent point kept the step from converging, and what of it was not the same
            from one solve to the next.
    """

    patches: tuple[ContactPatch, ...]
    faceless_overlaps: tuple[tuple[str, str], ...] = ()
    unrepeated: tuple[tuple[str, str, str], ...] = ()

    @cached_property
    def significant(self) -> tuple[ContactPatch, ...]:
        """Patches with at least ``SIGNIFICANT_SHARE`` of the largest force."""
        forces = [_force(patch) for patch in self.patches]
        least = SIGNIFICANT_SHARE * max(forces, default=0.0)
        return tuple(patch for patch, force in zip(self.patches, forces, strict=True) if force >= least > 0.0)

    @cached_property
    def _estimated(self) -> tuple[ContactPatch, ...]:
        """Significant patches whose force depends on the mesh; between rigid bodies it is what motion asks for."""
        return tuple(patch for patch in self.significant if patch.law == PRESSURE_FIELD)

    @cached_property
    def worst(self) -> ContactPatch | None:
        """The significant patch of a compliant body with the largest estimated force error; None without."""
        return max(self._estimated, key=lambda patch: patch.quality.force_error, default=None)

    @cached_property
    def under_resolved(self) -> tuple[ContactPatch, ...]:
        """Significant patches whose estimated force error is too large, the worst first."""
        coarse = (patch for patch in self._estimated if not patch.quality.is_resolved)
        return tuple(sorted(coarse, key=lambda patch: patch.quality.force_error, reverse=True))

    @cached_property
    def weak_in_tilt(self) -> tuple[ContactPatch, ...]:
        """Significant patches of enough faces for their force, but not for their moment, the worst first."""
        weak = (p for p in self._estimated if p.quality.is_resolved and not p.quality.resists_tilts)
        return tuple(sorted(weak, key=lambda patch: patch.quality.moment_error, reverse=True))

    @cached_property
    def deep(self) -> tuple[ContactPatch, ...]:
        """Patches that lost force as a body is pushed past its medial surface, of at least ``SIGNIFICANT_SHARE``."""
        forces = [_force(patch) + patch.dropped_force for patch in self.patches]
        least = SIGNIFICANT_SHARE * max(forces, default=0.0)
        found = zip(self.patches, forces, strict=True)
        return tuple(patch for patch, force in found if force >= least and patch.quality.is_deep)

    @cached_property
    def upright(self) -> tuple[tuple[ContactPatch, float], ...]:
        """Patches of which nearly upright faces, as of a wedge or a pad's rim, leave out much force, with the share.

        Nothing else may be left of a narrow pad that is deep, so that what is left out counts among the forces.
        """
        forces = [_force(patch) + patch.faded_force for patch in self.patches]
        least = max(SIGNIFICANT_SHARE * max(forces, default=0.0), _NO_FORCE)
        found = zip(self.patches, forces, strict=True)
        shares = (
            (p, p.faded_force / force) for p, force in found if force >= least and p.law == PRESSURE_FIELD
        )
        return tuple((patch, share) for patch, share in shares if share > MAX_FADED)

    @cached_property
    def rigid_overlaps(self) -> tuple[tuple[ContactPatch, float], ...]:
        """Patches of rigid bodies that are deeper in each other than they may start, with the depth, m.

        Those with a ``point_stiffness`` may be: they were told to yield.
        """
        depths = ((patch, _rigid_depth(patch)) for patch in self.patches if patch.law == RIGID_SKIN)
        return tuple((patch, depth) for patch, depth in depths if depth > LEAST_DEEP)

    @cached_property
    def warnings(self) -> tuple[ContactWarning, ...]:
        """Warnings for the user, the most serious first."""
        overlaps = (
            ContactWarning(
                bodies=f"{a} on {b}",
                problem="they overlap, but no contact holds them apart",
                mend="make them thicker or stiffer, or the time step shorter",
            )
            for a, b in self.faceless_overlaps
        )
        unrepeated = (
            ContactWarning(
                bodies=f"{a} on {b}",
                problem=f"the step did not converge at their equivalent point: {what}",
                mend="make the time step shorter",
            )
            for a, b, what in self.unrepeated
        )
        pressed = (_rigid_warning(patch, depth) for patch, depth in self.rigid_overlaps)
        return (
            *overlaps,
            *unrepeated,
            *map(_deep_warning, self.deep),
            *(_upright_warning(patch, share) for patch, share in self.upright),
            *pressed,
            *map(_coarse_warning, self.under_resolved),
            *map(_tilt_warning, self.weak_in_tilt),
        )


def deep_problem(lost_force_share: float) -> str:
    """Description of a patch that lost a share of its force, 0 to 1."""
    return f"pushed past the medial surface, {100.0 * lost_force_share:.0f} % of the force lost"


def coarse_problem(num_faces: int, force_error: float) -> str:
    """Description of a patch with too few faces with pressure; its estimated relative error is 0 to 1."""
    faces = "1 face" if num_faces == 1 else f"{num_faces} faces"
    return f"{faces}, force at this depth off by about {100.0 * force_error:.0f} %"


def _warning(patch: ContactPatch, problem: str, mend: str) -> ContactWarning:
    return ContactWarning(f"{patch.name_a} on {patch.name_b}", problem, mend)


def _deep_warning(patch: ContactPatch) -> ContactWarning:
    return _warning(
        patch,
        deep_problem(patch.quality.lost_force_share),
        "make them thicker or stiffer",
    )


def _upright_warning(patch: ContactPatch, share: float) -> ContactWarning:
    if _is_rim(patch):
        return _warning(
            patch,
            f"the rim, as wide as it is deep, was left out of the last step, {100.0 * share:.0f} % of the force",
            "none if the contact begins, as it bears from its second step on; else set solver.integrator to continuous",
        )
    return _warning(
        patch,
        f"sides within 6 degrees of upright leave out {100.0 * share:.0f} % of the force",
        "make them blunter, or set solver.parity to drake, which has such faces press whole",
    )


def _is_rim(patch: ContactPatch) -> bool:
    """Whether most of the faces that do not press for being upright face the way that the contact pushes.

    Those of a pad lie in the plane of what it is pressed on; the sides of a wedge are across it.
    """
    faces = patch.faces
    steepness = np.linalg.norm(faces.field_gradients, axis=1)
    is_upright = np.abs(faces.gradients.min(axis=1, initial=np.inf)) < SURE_RISE * steepness
    force = np.where(is_upright, faces.areas * np.maximum(faces.pressures, 0.0), 0.0)
    size = float(np.linalg.norm(force @ faces.normals))
    return size > RIM_SHARE * float(force.sum())


def _force(patch: ContactPatch) -> float:
    return float(np.linalg.norm(patch.normal_force_on_b))


def _rigid_depth(patch: ContactPatch) -> float:
    """Largest depth in a stiff skin, m; 0 in a soft one."""
    slopes = np.linalg.norm(patch.faces.field_gradients, axis=1)
    pressures = (pressure.max() for pressure in patch.vertex_pressures)
    return max(
        (p / slope for p, slope in zip(pressures, slopes, strict=True) if slope >= _STIFF), default=0.0
    )


def _rigid_warning(patch: ContactPatch, depth: float) -> ContactWarning:
    return _warning(
        patch,
        f"both are rigid, and {1e3 * depth:.2g} mm in each other",
        "take away what presses them together or placed them so, or make one compliant",
    )


def _coarse_warning(patch: ContactPatch) -> ContactWarning:
    return _warning(
        patch,
        coarse_problem(patch.quality.num_faces, patch.quality.force_error),
        "mesh them finer (mesh_resolution_hint)",
    )


def _tilt_warning(patch: ContactPatch) -> ContactWarning:
    weak = 100.0 * patch.quality.moment_error
    return _warning(
        patch,
        f"faces press at their centroids, which resists a tilt by {weak:.0f} % too little",
        "leave out solver.parity if it is given, or mesh them finer (mesh_resolution_hint)",
    )
