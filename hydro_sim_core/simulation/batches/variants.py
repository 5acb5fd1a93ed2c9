"""Scenes that worlds of one batch are of: alike but for constants, such as shapes, moduli and masses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.contact.geometry_set import make_geometry_set
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation.assembly.surfaces import distinct_shapes
from hydro_sim_core.simulation.stepping.model import Model
from hydro_sim_core.simulation.world.world import World

_SOURCE = "BatchWorld"


class Differing(NamedTuple):
    """An array of the model that is not the same in all scenes.

    Attributes:
        owner: Class of the struct that has it.
        name: Its name there.
        path: Where it is in ``MachineData``, such as ``model.tree.mass``.
        values: It, of each scene.
    """

    owner: type
    name: str
    path: str
    values: list[NDArray[Any]]


def check_alike(worlds: Sequence[World]) -> None:
    """See that worlds of several scenes may be rows of the same arrays.

    Raises:
        InputError: They have other joints, links, pairs, steps or solvers than the first one.
    """
    first = worlds[0]
    for i, world in enumerate(worlds[1:], 1):
        for what, own, wanted in (
            ("time step", world.time_step, first.time_step),
            ("joints", world.velocity_names, first.velocity_names),
            ("links", world.frame_names, first.frame_names),
            ("integrator", type(world.stepper), type(first.stepper)),
            ("solver", world.machine.solve, first.machine.solve),
            ("pairs that may touch", _pairs_of(world), _pairs_of(first)),
        ):
            if own != wanted:
                raise InputError(
                    _SOURCE,
                    f"scene {i} ('{world.name}')",
                    f"has other {what} than scene 0",
                    "give scenes that differ in shapes, moduli, masses and other numbers only",
                )


def _pairs_of(world: World) -> list[list[int]]:
    pairs: list[list[int]] = world.built.model.pairs.tolist()
    return pairs


def share_shapes(worlds: Sequence[World]) -> None:
    """Have worlds of several scenes use one set of shapes, with the shapes of all of them.

    Which of them a body has is told by rows of the set, which the worlds differ in then.
    """
    shapes = [distinct_shapes(world.built.colliders) for world in worlds]
    row_of = {shape: row for row, shape in enumerate(dict.fromkeys(one for own in shapes for one in own))}
    geometries = make_geometry_set(list(row_of))
    for world, own in zip(worlds, shapes, strict=True):
        row = np.array([row_of[shape] for shape in own], dtype=np.int64)
        machine, model = world.machine, world.built.model
        constants: dict[tuple[type, str], Any] = {
            (Model, "geometries"): geometries,
            (Model, "pair_rows"): row[model.pair_rows],
            (Model, "geometry_row"): row[model.geometry_row],
        }
        world.use_arrays(machine.state, machine.drives, machine.loads, constants)


def differing_constants(worlds: Sequence[World]) -> list[Differing]:
    """Arrays of the model that are not the same in all of these worlds.

    Raises:
        InputError: Something differs of which there is one for all worlds, such as the solver.
    """
    differing = []
    for one in _constants([world.built.model for world in worlds], "model"):
        values, first = one.values, one.values[0]
        if all(value is first for value in values):
            continue
        if isinstance(first, np.ndarray) and all(value.shape == first.shape for value in values):
            if any(not np.array_equal(value, first, equal_nan=value.dtype.kind == "f") for value in values):
                differing.append(one)
        elif isinstance(first, np.ndarray) or any(value != first for value in values):
            mend = "give backend='cpu', or scenes that agree in it"
            raise InputError(_SOURCE, one.name, "is not the same in all scenes, as a GPU needs it", mend)
    return differing


def _constants(structs: Sequence[Any], path: str) -> Iterator[Differing]:
    """Numbers and arrays of structs of one class, and of structs within them."""
    for name, *values in zip(structs[0]._fields, *structs, strict=True):
        if isinstance(values[0], tuple):
            yield from _constants(values, f"{path}.{name}")
        else:
            yield Differing(type(structs[0]), name, f"{path}.{name}", values)
