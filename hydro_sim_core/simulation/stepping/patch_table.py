"""The table of a step's contact patches."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hydro_sim_core.compilation import Bool1D, Float1D, Float2D, Float3D, Int1D


class PatchTable(NamedTuple):
    """Patches of the last step; the first ``num[0]`` rows count.

    Attributes:
        num: (1,) number of patches.
        pair: (P,) row of ``Model.pairs``.
        first_face: (P + 1,) first column of each patch in the face buffer.
        p_GR: (P, 3) reference point in the frame of geometry B, m.
        R_WG: (P, 3, 3) orientation of geometry B at the beginning of the step, or of its turned mesh (``round_sides``).
        p_WG: (P, 3) origin of geometry B, m.
        R_BA: (P, 3, 3) orientation of geometry A in B where the faces were found.
        p_BA: (P, 3) origin of A in B, m.
        wrench: (P, 6) moment about the reference point and force on B, world axes, N m and N.
        normal_force: (P, 3) sum of the faces' forces along their normals, N.
        apart: (P,) how far the points of faces lie apart, as a share of what has the moments of their areas.
        area: (P,) area of what presses, m^2; 0 where all faces have three points.
        is_recovered: (P,) whether the patch includes faces of deep contact that are otherwise dropped (see
            ``collision``).
        dropped_force: (P,) pressure times area of faces dropped because a pressure gradient points the wrong way, N.
        faded_force: (P,) pressure times area, along the patch's force, of what does not press of faces that are nearly
            upright (see ``faces.share_of_rise``), N.
        num_deep: (1,) number of pairs that lost more than ``DEEP_SHARE`` of their force, or overlap by more than
            ``START_SHARE`` of their size at an equivalent point.
        num_faceless: (1,) number of pairs that overlap without any face; they have no patch.
        faceless_pair: (pairs,) rows of ``Model.pairs`` of those pairs.
    """

    num: Int1D
    pair: Int1D
    first_face: Int1D
    p_GR: Float2D
    R_WG: Float3D
    p_WG: Float2D
    R_BA: Float3D
    p_BA: Float2D
    wrench: Float2D
    normal_force: Float2D
    apart: Float1D
    area: Float1D
    is_recovered: Bool1D
    dropped_force: Float1D
    faded_force: Float1D
    num_deep: Int1D
    num_faceless: Int1D
    faceless_pair: Int1D


def make_patch_table(max_patches: int, num_pairs: int) -> PatchTable:
    """Allocate the table for a number of patches, of a number of pairs."""
    return PatchTable(
        num=np.zeros(1, dtype=np.int64),
        pair=np.zeros(max_patches, dtype=np.int64),
        first_face=np.zeros(max_patches + 1, dtype=np.int64),
        p_GR=np.zeros((max_patches, 3)),
        R_WG=np.zeros((max_patches, 3, 3)),
        p_WG=np.zeros((max_patches, 3)),
        R_BA=np.zeros((max_patches, 3, 3)),
        p_BA=np.zeros((max_patches, 3)),
        wrench=np.zeros((max_patches, 6)),
        normal_force=np.zeros((max_patches, 3)),
        apart=np.zeros(max_patches),
        area=np.zeros(max_patches),
        is_recovered=np.zeros(max_patches, dtype=np.bool_),
        dropped_force=np.zeros(max_patches),
        faded_force=np.zeros(max_patches),
        num_deep=np.zeros(1, dtype=np.int64),
        num_faceless=np.zeros(1, dtype=np.int64),
        faceless_pair=np.zeros(num_pairs, dtype=np.int64),
    )
