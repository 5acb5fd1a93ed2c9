"""Transfer of state between worlds with different bodies: the state of everything that both have."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.simulation.assembly.builder import BuiltModel
from hydro_sim_core.simulation.stepping.kept_contacts import keep_all, put_contacts
from hydro_sim_core.simulation.stepping.machine import Machine
from hydro_sim_core.simulation.stepping.model import count_loads

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


def carry_over(old: BuiltModel, old_machine: Machine, new: BuiltModel, machine: Machine) -> None:
    """Copy motion, drives and the last step's contacts of everything that two models share, by name.

    Anything that only the new model has is left as it is, and so is the number of steps, which may have other lengths.

    Args:
        old: Model to copy from.
        old_machine: Machine of the old model.
        new: Model to copy to.
        machine: Machine of the new model.
    """
    v_old, v_new = _matches(old.assembly.velocity_names, new.assembly.velocity_names)
    q_old, q_new = _coordinates(old, new)
    pairs_old, pairs_new = _shared_pairs(old, new)
    source, target = old_machine.state, machine.state
    target.q[q_new] = source.q[q_old]
    for name in ("v", "v_previous"):
        getattr(target, name)[v_new] = getattr(source, name)[v_old]
    trees_old, trees_new = old_machine.tree_of_velocity[v_old], machine.tree_of_velocity[v_new]
    moves = (trees_old < len(source.extrapolate)) & (trees_new < len(target.extrapolate))
    target.extrapolate[trees_new[moves]] = source.extrapolate[trees_old[moves]]
    target.push[pairs_new] = source.push[pairs_old]
    target.overlaps[pairs_new] = source.overlaps[pairs_old]
    for name in (
        "dt_previous",
        "substep",
        "unconverged",
        "unsettled",
        "deep",
        "faceless",
    ):
        getattr(target, name)[:] = getattr(source, name)
    for from_array, to_array in zip(old_machine.drives, machine.drives, strict=True):
        to_array[v_new] = from_array[v_old]
    links_old, links_new = _matches(old.assembly.link_names, new.assembly.link_names)
    machine.loads.wrench[links_new] = old_machine.loads.wrench[links_old]
    machine.loads.pull[links_new] = old_machine.loads.pull[links_old]
    count_loads(machine.loads)
    new_pair = np.full(len(old.model.pairs), -1)
    new_pair[pairs_old] = pairs_new
    _carry_contacts(old_machine, machine, new_pair)
    bodies_old, bodies_new = _matches(old.assembly.joint_names, new.assembly.joint_names)
    machine.scratch.S[bodies_new] = old_machine.scratch.S[bodies_old]
    machine.scratch.effort[v_new] = old_machine.scratch.effort[v_old]
    machine.scratch.solver.report[:] = old_machine.scratch.solver.report


def carry_over_motion(
    old: BuiltModel, motion: tuple[Array, Array], new: BuiltModel, like: tuple[Array, Array]
) -> tuple[Array, Array]:
    """Coordinates and velocities of one model as those of another; those only in the new one are from ``like``."""
    (q_source, v_source), (q, v) = motion, (array.copy() for array in like)
    v_old, v_new = _matches(old.assembly.velocity_names, new.assembly.velocity_names)
    q_old, q_new = _coordinates(old, new)
    q[q_new], v[v_new] = q_source[q_old], v_source[v_old]
    return q, v


def _matches(old: tuple[object, ...], new: tuple[object, ...]) -> tuple[Indices, Indices]:
    """Rows of common names in each of two lists."""
    row = {name: i for i, name in enumerate(old)}
    both = [(row[name], i) for i, name in enumerate(new) if name in row]
    rows = np.array(both, dtype=np.int64).reshape(-1, 2)
    return rows[:, 0], rows[:, 1]


def _coordinates(old: BuiltModel, new: BuiltModel) -> tuple[Indices, Indices]:
    """Indices in each model of the coordinates of common joints."""
    found: list[tuple[int, int]] = []
    tree_old, tree_new = old.assembly.tree, new.assembly.tree
    for i, j in zip(*_matches(old.assembly.joint_names, new.assembly.joint_names), strict=True):
        # A joint that has kept its name and not its type starts anew.
        if tree_old.joint_type[i] != tree_new.joint_type[j]:
            continue
        count = int(tree_new.num_q[j])
        found += [(int(tree_old.q_index[i]) + k, int(tree_new.q_index[j]) + k) for k in range(count)]
    rows = np.array(found, dtype=np.int64).reshape(-1, 2)
    return rows[:, 0], rows[:, 1]


def _shared_pairs(old: BuiltModel, new: BuiltModel) -> tuple[Indices, Indices]:
    """Rows in each model of common pairs of geometries in the same order."""
    names_old, names_new = ([(c.link, c.name) for c in built.colliders] for built in (old, new))
    geometries_old, geometries_new = _matches(tuple(names_old), tuple(names_new))
    in_old = np.full(len(names_new), -1)
    in_old[geometries_new] = geometries_old
    wanted = in_old[new.model.pairs]
    rows_new = np.flatnonzero((wanted >= 0).all(axis=1))
    size = len(names_old)
    codes_old, codes_new = (pairs[:, 0] * size + pairs[:, 1] for pairs in (old.model.pairs, wanted[rows_new]))
    _, rows_old, found = np.intersect1d(codes_old, codes_new, assume_unique=True, return_indices=True)
    return rows_old, rows_new[found]


def _carry_contacts(old: Machine, new: Machine, new_pair: Indices) -> None:
    """Copy the patches of the last step whose pairs still exist, so that wrenches do not drop to zero in between.

    Args:
        old: Machine to copy from.
        new: Machine to copy to.
        new_pair: Row in the new model of every pair of the old one, -1 where there is none.
    """
    contacts = keep_all(old)
    contacts = contacts.selected(np.flatnonzero(new_pair[contacts.pair] >= 0))
    put_contacts(new, contacts._replace(pair=new_pair[contacts.pair]))
    patches, target = old.scratch.patches, new.scratch.patches
    target.num_deep[0] = patches.num_deep[0]
    faceless = new_pair[patches.faceless_pair[: patches.num_faceless[0]]]
    faceless = faceless[faceless >= 0]
    target.faceless_pair[: len(faceless)] = faceless
    target.num_faceless[0] = len(faceless)
