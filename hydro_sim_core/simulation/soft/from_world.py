"""The functions of arrays behind a World with ``solver: {model: soft}``."""

from __future__ import annotations

import numpy as np

from hydro_sim_core.contact.soft_distance import OrientedCloud, SoftContactModel
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation.soft.system import SoftPair, SoftSystem
from hydro_sim_core.simulation.world import World


def soft_system(world: World) -> SoftSystem:
    """The same bodies, clouds and pairs as functions of NumPy arrays.

    Its steps are those of the World without drives, stops and Coulomb friction of joints, and without loads: the
    efforts of all these belong to ``tau``.

    Raises:
        InputError: The World's scene does not say ``solver: {model: soft}``.
    """
    soft, model = world.soft_pairs, world.built.model
    if soft is None:
        raise InputError(world.name, "solver.model", "is not soft", "set it to soft")
    clouds, bodies = [], []
    rows = {geometry: number for number, geometry in enumerate(np.unique(model.pairs).tolist())}
    for geometry in rows:
        num_planes, num_points = soft.counts[geometry]
        R, p = model.R_BG[geometry], model.p_BG[geometry]
        planes = soft.planes[geometry, :, :num_planes].T
        clouds.append(
            OrientedCloud(
                planes[:, :3] @ R.T + p,
                planes[:, 3:] @ R.T,
                soft.areas[geometry, :num_planes],
                is_half_space=num_points == 0,
            )
        )
        bodies.append(int(model.geometry_body[geometry]))
    pairs = tuple(
        SoftPair(rows[a], rows[b], SoftContactModel(*parameters.tolist()))
        for (a, b), parameters in zip(model.pairs.tolist(), soft.parameters, strict=True)
    )
    return SoftSystem(model.tree, tuple(clouds), tuple(bodies), pairs)
