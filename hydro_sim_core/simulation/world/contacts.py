"""Contacts and diagnostics of a world's last step."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.contact import ContactPatch
from hydro_sim_core.simulation.assembly.contact_laws import ContactLaws, contact_laws
from hydro_sim_core.simulation.assembly.placement import reported_pairs
from hydro_sim_core.simulation.stepping.soft_model import SoftPairs
from hydro_sim_core.simulation.world.contact_records import (
    ContactRecord,
    contact_patches,
    faceless_overlaps,
    record_contacts,
    unrepeated_contacts,
)
from hydro_sim_core.simulation.world.contact_summary import ContactSummary
from hydro_sim_core.simulation.world.kinematics import WorldKinematics
from hydro_sim_core.simulation.world.link_wrenches import rows_of, signs_of_pairs, wrench_about
from hydro_sim_core.solvers.options import CONVERGED, FRICTION_CHANGE, ITERATIONS, RESIDUAL, SOLVES

Array = NDArray[np.float64]


class WorldContacts(WorldKinematics):
    """Contacts and diagnostics of the last step."""

    @cached_property
    def contact_pairs(self) -> tuple[tuple[str, str], ...]:
        """Pairs of links whose contact wrench is reported; computed at the first access, as there may be very many."""
        return reported_pairs(self._built, self.scene.spec.report.wrenches)

    @cached_property
    def touching_pairs(self) -> tuple[tuple[str, str], ...]:
        """Pairs of links and static shapes that can touch, reported or not."""
        return reported_pairs(self._built, "all")

    @cached_property
    def contact_laws(self) -> ContactLaws:
        """Which law each pair of links has; computed at the first access, as there may be very many."""
        return contact_laws(self._built, self._machine.soft is not None)

    @property
    def soft_pairs(self) -> SoftPairs | None:
        """Clouds and parameters of smooth contact; None unless the scene says ``solver: {model: soft}``."""
        return self._machine.soft

    @property
    def contacts(self) -> list[ContactPatch]:
        """Contact patches of the last step with the wrenches that the solver applied, averaged over the step.

        Also if it was taken in pieces or sub-steps: the sum of wrench times step is the change of momentum. The faces
        of a patch are those at the beginning of the step, or of its last piece in which the pair pressed; with the
        continuous integrator those of the step's end. Under smooth contact wrenches are those at its begin, faces are
        the cells of points that press then, each with its share of the force, and pairs count that are within reach.
        """
        return self.patches_of(self.record_contacts())

    def contact_wrench(self, link: str, other: str | None = None) -> Array:
        """Wrench that contact applies to a link, summed over all patches: that of the last step, see ``contacts``.

        Args:
            link: Name in ``frame_names``, or of a static shape.
            other: The link or static shape that touches it; by default all that do.

        Returns:
            Torque about the origin of the link's frame, N m, then force, N, along the axes of the world: (6,). The
            origin is that at the begin of the step, whose posture the forces belong to; for a static shape that of the
            world. Nothing where no step led to the state, as after a reset, or where another state has been set.

        Raises:
            InputError: There is no such link, or the two cannot touch.
        """
        row = self.row_of_touched(link)
        signs = signs_of_pairs(self._built, link, other)
        if self._before is None:
            return np.zeros(6)
        origin = np.zeros(3) if row is None else self.frame_poses(self._before[0])[row, :3, 3]
        wrench: Array = wrench_about(np, rows_of(self._scratch.patches), signs, origin)
        return wrench

    def row_of_touched(self, link: str) -> int | None:
        """Row in ``frame_names`` of a link whose contact wrench is asked for; None for a static shape.

        Raises:
            InputError: There is neither.
        """
        return None if str(link) in self._static_shapes else self.row_of_frame("contact_wrench", link)

    @cached_property
    def _static_shapes(self) -> frozenset[str]:
        """Names of shapes that are no links but belong to the world."""
        names = {collider.link for collider in self._built.colliders if collider.body < 0}
        return frozenset(names - self._frame_index.keys())

    def record_contacts(self) -> ContactRecord:
        """Copy the last step's contacts, for later conversion to patches in any thread."""
        return record_contacts(self._built.model, self._scratch)

    def patches_of(self, record: ContactRecord) -> list[ContactPatch]:
        """Patches of a record; safe to call from any thread."""
        is_soft = self._machine.soft is not None
        return contact_patches(record, self._built.model, self._built.colliders, is_soft)

    def contact_summary_of(self, record: ContactRecord, patches: Sequence[ContactPatch]) -> ContactSummary:
        """Quality of the contact forces of a record with its patches; safe to call from any thread."""
        made = self._built.model, self._built.colliders
        return ContactSummary(
            tuple(patches), faceless_overlaps(record, *made), unrepeated_contacts(record, *made)
        )

    def contact_summary(self) -> ContactSummary:
        """Quality of the last step's contact forces; takes about 1 ms for a patch of 200 faces."""
        record = self.record_contacts()
        return self.contact_summary_of(record, self.patches_of(record))

    def diagnostics(self) -> dict[str, float | int | bool]:
        """Diagnostics of the last step, and numbers of steps since the start that did not meet their tolerances.

        Returns:
            Contact ``faces`` and ``patches``; Newton ``iterations`` over all ``solves`` of the island that needed most;
            relative momentum ``residual`` and whether it ``converged``; ``friction_change``, how far Coulomb's bounds
            were from those of the solution (relative, of the worst patch); ``unconverged_steps`` and
            ``unsettled_steps``; ``deep_steps``, in which bodies were pushed past a medial surface, and
            ``faceless_steps``, in which bodies overlapped without contact; ``faceless_overlaps``, how many pairs do so
            now; and ``step_statistics``.
        """
        report = self._scratch.solver.report
        patches = self._scratch.patches
        return {
            "faces": int(patches.first_face[patches.num[0]]),
            "patches": int(patches.num[0]),
            "iterations": int(report[ITERATIONS]),
            "residual": float(report[RESIDUAL]),
            "converged": bool(report[CONVERGED]),
            "solves": int(report[SOLVES]),
            "friction_change": float(report[FRICTION_CHANGE]),
            "unconverged_steps": int(self._state.unconverged[0]),
            "unsettled_steps": int(self._state.unsettled[0]),
            "deep_steps": int(self._state.deep[0]),
            "faceless_steps": int(self._state.faceless[0]),
            "faceless_overlaps": int(patches.num_faceless[0]),
            **self.step_statistics(),
        }

    def step_statistics(self) -> dict[str, float | int]:
        """Statistics of steps beyond plain ones since the start; their names depend on ``solver`` in the scene."""
        return self._stepper.statistics()
