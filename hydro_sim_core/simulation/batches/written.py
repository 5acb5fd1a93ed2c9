"""What users write to the rows of a batch: commands, loads and parameters; which of it no step can use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hydro_sim_core.errors import InputError, excerpt

_SOURCE = "BatchWorld"
#: Parameters of which a negative one is none.
_NOT_NEGATIVE = ("mass", "joint_damping", "joint_friction", "friction", "dissipation")


class Parameters(Mapping[str, Any]):
    """Constants that may differ from world to world, each (n, ...), by name.

    They are the arrays that the steps use: write to their rows, or assign a value to all of one.

    Args:
        names: What there is.
        rows_of: Returns the rows of one.
    """

    def __init__(self, names: Mapping[str, Any], rows_of: Callable[[str], Any]) -> None:
        self._names = tuple(names)
        self._rows_of = rows_of

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise InputError(
                _SOURCE, f"parameter {excerpt(name)}", "is none", f"give one of {', '.join(self._names)}"
            )
        return self._rows_of(name)

    def __setitem__(self, name: str, values: Any) -> None:
        rows = self[name]
        try:
            rows[...] = values
        except (TypeError, ValueError):
            problem = f"{excerpt(values)} does not fit"
            raise InputError(
                _SOURCE, f"parameter '{name}'", problem, f"give numbers of shape {rows.shape}"
            ) from None


def written_rows(rows: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Rows that users write, by the names that they know: commands, loads and parameters.

    Args:
        rows: Arrays (n, ...) by the path of the field in ``WorldData``.
        parameters: Those of the parameters, by name.
    """
    given = {
        path: array for path, array in rows.items() if path.startswith(("machine.drives.", "machine.loads."))
    }
    return {path.rpartition(".")[2]: array for path, array in given.items()} | dict(parameters)


def unusable(numpy: Any, written: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    """Worlds with a number that is none, or negative where it may not be, and which.

    Args:
        numpy: What made the arrays: NumPy, or CuPy.
        written: Rows (n, ...) of what users write, by the names that they know.
    """
    wrong = {
        name: numpy.isnan(rows) | (rows < 0.0) if name in _NOT_NEGATIVE else numpy.isnan(rows)
        for name, rows in written.items()
        if rows.dtype.kind == "f" and rows.size
    }
    # One look at all of them: each would wait for a GPU.
    if not wrong or not bool(numpy.stack([is_wrong.any() for is_wrong in wrong.values()]).any()):
        return
    for name, is_wrong in wrong.items():
        mend = "give a number of at least 0" if name in _NOT_NEGATIVE else "give a number"
        by_world = is_wrong.reshape(len(is_wrong), -1)
        for i in numpy.flatnonzero(by_world.any(axis=1)).tolist():
            yield i, f"{name} is {float(written[name][i].reshape(-1)[by_world[i]][0]):g}; {mend}"
