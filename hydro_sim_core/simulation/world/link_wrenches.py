"""What contact applies to a link, summed over the patches of a step; of one world, or of many side by side."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.arithmetic import cross
from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.errors import InputError, excerpt
from hydro_sim_core.simulation.assembly.builder import BuiltModel
from hydro_sim_core.simulation.stepping.patch_table import PatchTable


class PatchRows(NamedTuple):
    """The part of ``PatchTable`` that forces are told by, with the worlds along the leading axes, if there are several.

    Attributes:
        num: (...,) number of patches.
        pair: (..., P) row of ``Model.pairs``.
        p_GR: (..., P, 3) reference point in the frame of geometry B, m.
        R_WG: (..., P, 3, 3) orientation of geometry B.
        p_WG: (..., P, 3) origin of geometry B, m.
        wrench: (..., P, 6) moment about the reference point and force on B, world axes, N m and N.
    """

    num: Any
    pair: Any
    p_GR: Any
    R_WG: Any
    p_WG: Any
    wrench: Any


def rows_of(patches: PatchTable) -> PatchRows:
    """The patches of the last step of one world, without copying."""
    num = int(patches.num[0])
    return PatchRows(num, *(getattr(patches, name)[:num] for name in PatchRows._fields[1:]))


def signs_of_pairs(built: BuiltModel, link: str, other: str | None) -> NDArray[np.float64]:
    """(pairs,) whether what acts on B acts on a link (1), its reaction (-1), or neither (0), of each pair.

    Args:
        built: The model.
        link: Name of the link.
        other: The link or static shape that touches it; None for all that may.

    Raises:
        InputError: They cannot touch.
    """
    names = np.array([collider.link for collider in built.colliders], dtype=object)
    other = None if other is None else str(other)
    first, second = names[built.model.pairs[:, 0]], names[built.model.pairs[:, 1]]
    on_first, on_second = first == link, second == link
    if other is not None:
        partners = set(second[on_first]) | set(first[on_second])
        if other not in partners:
            mend = did_you_mean(str(other), partners) if partners else "it can touch nothing"
            raise InputError("contact_wrench", f"link '{link}'", f"cannot touch {excerpt(other)}", mend)
        on_first, on_second = on_first & (second == other), on_second & (first == other)
    return on_second.astype(float) - on_first


def signs_on_all(built: BuiltModel, links: Collection[str]) -> NDArray[np.float64]:
    """(pairs,) the same of what acts on some links together, between which it is nothing."""
    on = np.array([collider.link in links for collider in built.colliders], dtype=float)
    signs: NDArray[np.float64] = on[built.model.pairs[:, 1]] - on[built.model.pairs[:, 0]]
    return signs


def wrench_about(numpy: Any, patches: PatchRows, signs: Any, point: Any) -> Any:
    """Moment about a point of every world, then force (..., 6), that patches apply with the sign of their pair.

    Args:
        numpy: What made the arrays: NumPy, or CuPy.
        patches: The patches.
        signs: (pairs,) see ``signs_of_pairs``.
        point: (..., 3) the points, m.
    """
    counts = numpy.arange(patches.pair.shape[-1]) < numpy.asarray(patches.num)[..., None]
    sign = numpy.where(counts, signs[patches.pair], 0.0)[..., None]
    moment, force = patches.wrench[..., :3], patches.wrench[..., 3:]
    arm = patches.p_WG + (patches.R_WG @ patches.p_GR[..., None])[..., 0] - point[..., None, :]
    # Rows behind the last patch are of earlier steps, or never written: they must not count, whatever they hold.
    terms = numpy.concatenate([moment + cross(arm, force), force], axis=-1)
    return (sign * numpy.where(counts[..., None], terms, 0.0)).sum(axis=-2)
