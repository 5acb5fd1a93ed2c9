"""What users write to the rows of a batch: commands, loads and parameters; which of it no step can use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.dynamics import KinematicTree
from hydro_sim_core.errors import InputError, excerpt
from hydro_sim_core.simulation.batches.columns import Column, columns_of, columns_with
from hydro_sim_core.simulation.stepping.model import Drives
from hydro_sim_core.simulation.world.world import World

_SOURCE = "BatchWorld"
#: What is none if it is negative.
_NOT_NEGATIVE = ("mass", "joint_damping", "joint_friction", "friction", "dissipation", "kp", "kd", "limit")
#: Of these it depends on others, or on the body, whether a step can use them.
_OF_BODIES = ("mass", "inertia")
#: A determinant below 0 by this share of the largest entry's square or cube is no round-off.
_ROUND_OFF = 1e-9
#: A determinant below this share of the cube of the largest entry is round-off; a needle's is 1e-8 of it.
_SINGULAR = 1e-15


class Parameters(Mapping[str, Any]):
    """Constants that may differ from world to world, each (n, columns, ...), by name.

    They are the arrays that the steps use: write to their rows, or assign a value to all of one. ``columns`` tells
    which body, velocity or pair each column is of, ``index`` finds them.

    Args:
        names: What there is.
        rows_of: Returns the rows of one.
        world: A world of the first scene.
    """

    def __init__(self, names: Iterable[str], rows_of: Callable[[str], Any], world: World) -> None:
        self._unread = unread_parameters(world)
        self._names = tuple(name for name in names if name not in self._unread)
        self._rows_of = rows_of
        self._built = world.built

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __getitem__(self, name: str) -> Any:
        return self._rows_of(self._known(name))

    def __setitem__(self, name: str, values: Any) -> None:
        _write_all(self[name], f"parameter '{name}'", values)

    def columns(self, name: str) -> tuple[Column, ...]:
        """What each column of a parameter is of, such as ``("left_finger", "cylinder")`` of ``friction``.

        Args:
            name: The parameter.

        Returns:
            Of ``mass``, ``centre_of_mass`` and ``inertia`` (nb) links, each that which its joint moves: links that are
            fixed to it have a part in its numbers, which are in the frame of its body. Of ``joint_damping``
            and ``joint_friction`` the (nv) ``velocity_names`` of a world; joints that mimic one have a part in its. Of
            ``friction`` and ``dissipation`` (P) pairs of links, as ``name_a`` and ``name_b`` of a contact patch; links
            with several shapes stand there as often as these may touch.

        Raises:
            InputError: There is no such parameter.
        """
        return columns_of(self._known(name), self._built)

    def index(self, name: str, *of: str) -> list[int]:
        """Numbers of the columns of a parameter that are of a link, joint or velocity, or of two links.

        ``parameters["friction"][:, parameters.index("friction", "cylinder", "left_finger")] = 0.3`` is for that pair
        in all worlds; with one link it is for all that may touch it.

        Args:
            name: The parameter.
            *of: Names as ``columns`` tells them, of a pair one or both in any order, of a joint with several velocities
                also its own; without any, all columns are meant.

        Raises:
            InputError: There is no such parameter, or no such column.
        """
        return columns_with(self._known(name), self._built, of)

    def _known(self, name: str) -> str:
        """The name, if there is such a parameter."""
        if name in self._unread:
            mend = "give a list of scenes that differ in it"
            raise InputError(_SOURCE, f"parameter {excerpt(name)}", self._unread[name], mend)
        if name not in self._names:
            raise InputError(
                _SOURCE, f"parameter {excerpt(name)}", "is none", f"give one of {', '.join(self._names)}"
            )
        return name


class DriveRows(Drives):
    """Targets and gains of the drives of all worlds, each (n, nv): write to their rows, or assign to all of one."""

    __slots__ = ()

    def __setattr__(self, name: str, values: Any) -> None:
        if name not in self._fields:
            raise AttributeError(
                f"{_SOURCE}: drives.{name}: is none; {did_you_mean(name, self._fields)}", name=name, obj=self
            )
        _write_all(getattr(self, name), f"drives.{name}", values)


def _write_all(rows: Any, element: str, values: Any) -> None:
    try:
        if values is None:  # which NumPy takes for NaN
            raise TypeError
        rows[...] = values
    except (TypeError, ValueError):
        problem = f"{excerpt(values)} does not fit"
        raise InputError(_SOURCE, element, problem, f"give numbers of shape {rows.shape}") from None


def unread_parameters(world: World) -> dict[str, str]:
    """Parameters that no step of a world reads, and why: to write to them would change nothing."""
    if world.soft_pairs is not None:
        why = "is read when a scene of smooth contact is loaded, and by no step"
        return {"friction": why, "dissipation": why}
    if world.scene.spec.damping == "linear":
        return {"dissipation": "is read by no step where the scene has linear damping"}
    return {}


class Written:
    """Rows that users write: commands, loads and parameters; and which worlds they make unusable.

    Args:
        numpy: What made the arrays: NumPy, or CuPy.
        rows: Arrays (n, ...) by the path of the field in ``WorldData``.
        parameters: Those of the parameters, by name.
        tree: The bodies.
    """

    def __init__(
        self, numpy: Any, rows: Mapping[str, Any], parameters: Mapping[str, Any], tree: KinematicTree
    ) -> None:
        given = {
            path: array
            for path, array in rows.items()
            if path.startswith(("machine.drives.", "machine.loads."))
        }
        by_name = {path.rpartition(".")[2]: array for path, array in given.items()} | dict(parameters)
        self._numpy = numpy
        self._rows = {
            name: array for name, array in by_name.items() if array.dtype.kind == "f" and array.size
        }
        self._floating = numpy.asarray(floating_bodies(tree))
        #: Masses of bodies as they were last found usable, which takes long to find.
        self._usable = {
            name: numpy.full_like(self._rows[name], numpy.nan) for name in _OF_BODIES if name in self._rows
        }

    def unusable(self) -> Iterator[tuple[int, str]]:
        """Worlds with a number that is none, or negative where it may not be, and which; or with a mass of no body."""
        if not self._must_be_looked_at():
            return
        for name, is_wrong in self._wrong().items():
            by_world = is_wrong.reshape(len(is_wrong), -1)
            for i in self._numpy.flatnonzero(by_world.any(axis=1)).tolist():
                first = float(self._rows[name][i].reshape(-1)[by_world[i]][0])
                yield i, self._why(name, i, first)
            if name in self._usable and not bool(is_wrong.any()):
                self._usable[name][...] = self._rows[name]

    def _must_be_looked_at(self) -> bool:
        """Whether any of the numbers may be wrong."""
        numpy = self._numpy
        floors = {name: 0.0 if name in _NOT_NEGATIVE else -numpy.inf for name in self._rows}
        found = [~(self._rows[name].min() >= floor) for name, floor in floors.items()]  # so is NaN
        found += [(usable != self._rows[name]).any() for name, usable in self._usable.items()]
        # One look at all of them: each would wait for a GPU.
        return bool(found) and bool(numpy.stack(found).any())

    def _wrong(self) -> dict[str, Any]:
        """Which entries of the rows are wrong."""
        wrong = {
            name: self._numpy.isnan(rows) | (rows < 0.0) if name in _NOT_NEGATIVE else self._numpy.isnan(rows)
            for name, rows in self._rows.items()
        }
        if "inertia" in wrong:
            negative, none = _lacks_moments(self._numpy, self._rows["inertia"])
            wrong["inertia"] = wrong["inertia"] | (negative | (self._floating & none))[..., None, None]
        if "mass" in wrong:
            wrong["mass"] = wrong["mass"] | (self._floating & (self._rows["mass"] == 0.0))
        return wrong

    def _why(self, name: str, i: int, first: float) -> str:
        """What is wrong in a world with the rows of this name, and the ``first`` wrong number in them."""
        if name == "inertia" and first == first:
            has = "a moment below 0 about some axis"
            if not bool(_lacks_moments(self._numpy, self._rows[name][i])[0].any()):
                has = "no moment about some axis, of a body that floats"
            return f"inertia has {has}; give a positive definite matrix"
        mend = "give a number of at least 0" if name in _NOT_NEGATIVE else "give a number"
        if name == "mass":
            mend = "give one above 0 to a body that floats, and of at least 0 to others"
        return f"{name} is {first:g}; {mend}"


def floating_bodies(tree: KinematicTree) -> NDArray[np.bool_]:
    """(bodies,) whether forces alone move a body: it floats, and carries no others whose mass it may have."""
    floats = (tree.num_q > tree.num_v) & ~tree.prescribed[tree.v_index].astype(bool)
    return np.asarray(floats & ~np.isin(np.arange(len(floats)), tree.parent))


def _lacks_moments(numpy: Any, inertia: Any) -> tuple[Any, Any]:
    """Whether matrices (n, bodies, 3, 3) have a negative eigenvalue, and whether one that is at most 0: (n, bodies)."""
    a, b, c = inertia[..., 0, 0], inertia[..., 1, 1], inertia[..., 2, 2]
    d, e, f = inertia[..., 1, 2], inertia[..., 0, 2], inertia[..., 0, 1]
    largest = numpy.abs(inertia).max(axis=(-1, -2))
    # Some principal minor is then below 0.
    two = numpy.minimum(a * b - f * f, numpy.minimum(a * c - e * e, b * c - d * d))
    three = a * (b * c - d * d) - f * (f * c - d * e) + e * (f * d - b * e)
    is_negative = numpy.minimum(a, numpy.minimum(b, c)) < 0.0
    is_negative |= (two < -_ROUND_OFF * largest**2) | (three < -_ROUND_OFF * largest**3)
    return is_negative, is_negative | (three <= _SINGULAR * largest**3)
