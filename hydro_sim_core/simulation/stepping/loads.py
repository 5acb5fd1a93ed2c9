# mypy: allow-untyped-defs
"""Generalised forces of wrenches on links and bodies."""

from __future__ import annotations

from hydro_sim_core.compilation import kernel


@kernel
def has_loads(loads):
    """Whether a wrench or a spring acts on a link.

    Reads loads: num, num_pulls.
    """
    return loads.num[0] > 0 or loads.num_pulls[0] > 0


@kernel
def apply_loads(model, loads, scratch):
    """Write the generalised forces of the wrenches on links to ``scratch.applied``; uses ``scratch.tree.F_WB``.

    Reads loads: wrench; model: link_body, p_BL; scratch: R_WB, applied, p_WB; scratch.tree: F_WB.
    Writes scratch: applied; scratch.tree: F_WB.
    """
    F_WB, p = scratch.tree.F_WB, scratch.p_WB
    F_WB[:] = 0.0
    scratch.applied[:] = 0.0
    for link in range(loads.wrench.shape[0]):
        body, W = model.link_body[link], loads.wrench[link]
        if body < 0:
            continue
        R, r = scratch.R_WB[body], model.p_BL[link]
        x = p[body, 0] + R[0, 0] * r[0] + R[0, 1] * r[1] + R[0, 2] * r[2]
        y = p[body, 1] + R[1, 0] * r[0] + R[1, 1] * r[1] + R[1, 2] * r[2]
        z = p[body, 2] + R[2, 0] * r[0] + R[2, 1] * r[1] + R[2, 2] * r[2]
        F_WB[body, 0] += W[0] + y * W[5] - z * W[4]
        F_WB[body, 1] += W[1] + z * W[3] - x * W[5]
        F_WB[body, 2] += W[2] + x * W[4] - y * W[3]
        for i in range(3, 6):
            F_WB[body, i] += W[i]
    add_body_wrenches(model.tree, scratch, scratch.applied)


@kernel
def add_body_wrenches(tree, scratch, forces):
    """Add those of the bodies' wrenches about the origin to ``forces`` (nv,); accumulates the wrenches up the tree.

    Reads scratch: S; tree: num_v, parent, v_index; scratch.tree: F_WB.
    Writes scratch.tree: F_WB.
    """
    F_WB = scratch.tree.F_WB
    for i in range(tree.parent.shape[0] - 1, -1, -1):
        parent = tree.parent[i]
        for k in range(tree.num_v[i]):
            for r in range(6):
                forces[tree.v_index[i] + k] += scratch.S[i, k, r] * F_WB[i, r]
        if parent >= 0:
            for r in range(6):
                F_WB[parent, r] += F_WB[i, r]
