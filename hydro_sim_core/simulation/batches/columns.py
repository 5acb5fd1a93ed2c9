"""Which body, velocity or pair each column of a batch's parameters is of, by the names that a user has for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.errors import InputError, excerpt
from hydro_sim_core.simulation.assembly.builder import BuiltModel

#: A link, a velocity, or the two links of a pair.
Column = str | tuple[str, str]


def columns_of(parameter: str, built: BuiltModel) -> tuple[Column, ...]:
    """What the columns of a parameter are of, in their order; see ``Parameters.columns``.

    Args:
        parameter: One of ``VARIED``.
        built: Model of the batch's first scene.
    """
    return _COLUMNS[parameter](built)


def columns_with(parameter: str, built: BuiltModel, names: Sequence[str]) -> list[int]:
    """Numbers of the columns of a parameter that are of all these names; see ``Parameters.index``.

    Args:
        parameter: One of ``VARIED``.
        built: Model of the batch's first scene.
        names: Links, or joints or velocities, whichever the columns are of.

    Raises:
        InputError: There is no such column.
    """
    if strange := [name for name in names if not isinstance(name, str)]:
        raise _error(parameter, f"{excerpt(strange[0])} is no name", "give names one by one, as text")
    columns = [_names_in(column, parameter) for column in columns_of(parameter, built)]
    found = [i for i, column in enumerate(columns) if column.issuperset(names)]
    if not found and names:
        of = " and ".join(excerpt(name) for name in names)
        raise _error(parameter, f"has no column of {of}", _mend(columns, parameter, built, names))
    return found


def _error(parameter: str, problem: str, mend: str) -> InputError:
    return InputError("BatchWorld", f"parameter '{parameter}'", problem, mend)


def _bodies(built: BuiltModel) -> tuple[str, ...]:
    """(nb) link that the joint of each body moves."""
    carried: dict[int, str] = {}
    for link, body in zip(built.assembly.link_names, built.assembly.link_body.tolist(), strict=True):
        carried.setdefault(body, link)  # links that are fixed to it come later
    return tuple(carried[body] for body in range(len(built.assembly.joint_names)))


def _velocities(built: BuiltModel) -> tuple[str, ...]:
    return built.assembly.velocity_names


def _pairs(built: BuiltModel) -> tuple[tuple[str, str], ...]:
    """(P) links of each pair of geometries, in the order in which contacts have them."""
    links = [collider.link for collider in built.colliders]
    return tuple((links[min(pair)], links[max(pair)]) for pair in built.model.pairs.tolist())


_COLUMNS: dict[str, Callable[[BuiltModel], tuple[Column, ...]]] = {
    "mass": _bodies,
    "centre_of_mass": _bodies,
    "inertia": _bodies,
    "joint_damping": _velocities,
    "joint_friction": _velocities,
    "friction": _pairs,
    "dissipation": _pairs,
}


def _names_in(column: Column, parameter: str) -> set[str]:
    """Names by which a column is found: of a velocity its own and that of its joint, of a pair both."""
    if isinstance(column, tuple):
        return set(column)
    joint = column.rpartition("/")[0] if _COLUMNS[parameter] is _velocities else ""
    return {column, joint or column}


def _mend(columns: Sequence[set[str]], parameter: str, built: BuiltModel, names: Sequence[str]) -> str:
    """What to give instead of names that no column is of."""
    known = set().union(*columns)
    for name in names:
        if name not in known:
            fixed = _mend_of_fixed(built, name) if _COLUMNS[parameter] is _bodies else None
            return fixed or did_you_mean(name, known)
    if _COLUMNS[parameter] is not _pairs:
        return "give one"
    partners = sorted(set().union(*(column for column in columns if names[0] in column)) - {names[0]})
    return f"'{names[0]}' may touch {', '.join(partners)}"


def _mend_of_fixed(built: BuiltModel, name: str) -> str | None:
    """What to give instead of a link that is fixed to another one or to the world; None for other names."""
    body_of = dict(zip(built.assembly.link_names, built.assembly.link_body.tolist(), strict=True))
    if name not in body_of:
        return None
    if body_of[name] < 0:
        return "it is fixed to the world; give a link that moves"
    return f"it is fixed to '{_bodies(built)[body_of[name]]}'; give that"
