"""Saved states: files from which a run can continue or a failed step can be repeated."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hydro_sim_core.description import LoadedScene
from hydro_sim_core.description.paths import as_path
from hydro_sim_core.errors import InputError, excerpt
from hydro_sim_core.files import read_regular_file
from hydro_sim_core.simulation.stepping.fastest import FASTEST
from hydro_sim_core.simulation.stepping.machine import Machine
from hydro_sim_core.simulation.stepping.model import Drives, Loads, Model, State, copied, count_loads
from hydro_sim_core.simulation.stepping.pulls import STIFFNESS

#: Counters of failures, which belong to the run and not to the state.
COUNTERS = ("unconverged", "unsettled", "deep", "faceless")
#: Fields of the drives that may be infinite.
_MAY_BE_INFINITE = ("drives.limit",)
_MEND = "save the state again"
#: Size limit, bytes; 10 000 bodies need half of it.
_LARGEST_FILE = 2**25
#: Largest magnitude in each field: in SI units, as in ``description/limits.py``. Times are those of time steps.
_LARGEST = {
    "state.q": 1e9,
    "state.v": FASTEST,
    "state.v_previous": FASTEST,
    "state.dt_previous": 0.1,
    "state.substep": 0.1,
    "state.step": 2**53,
    "state.push": 1e15,
    "state.overlaps": 1,
    "loads.wrench": 1e15,
    "loads.pull": 1e15,
}
#: Of all other fields.
_LARGEST_ELSEWHERE = 1e18


@dataclass(frozen=True, eq=False)
class SavedState:
    """Everything that the next steps of a scene depend on, for bit-identical continuation.

    Attributes:
        scene: Fingerprint of the scene.
        state: The state.
        drives: Targets and gains of the drives.
        loads: External wrenches on links, and springs that pull them.
        released: Scripted targets that other commands have overridden.
    """

    scene: str
    state: State
    drives: Drives
    loads: Loads
    released: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<SavedState after step {int(self.state.step[0])}: {len(self.state.v)} velocities>"

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file as JSON.

        Raises:
            InputError: The file cannot be written.
        """
        path = as_path(path, "SavedState.write")
        groups = {
            name: {key: array.tolist() for key, array in group._asdict().items() if key not in COUNTERS}
            for name, group in (("state", self.state), ("drives", self.drives), ("loads", self.loads))
        }
        data = {"scene": self.scene, "released": list(self.released), **groups}
        try:
            path.write_text(json.dumps(data, indent=1) + "\n")
        except OSError as error:
            raise InputError(path, "", error.strerror or "cannot be written", "give another file") from None


def with_counters(state: State, of: State) -> State:
    """A state with the counters of failures of another one."""
    return state._replace(**{name: getattr(of, name) for name in COUNTERS})


def fingerprint(name: str, scene: LoadedScene, model: Model) -> str:
    """Name of a scene and digest of everything that defines the meaning of a state: settings, bodies, meshes, pairs.

    Parts that only read the state, such as sensors, are not included.
    """
    digest = hashlib.sha256(scene.spec.model_dump_json(exclude={"sensors"}).encode())
    for value in _leaves((model.tree, model.geometries, model[3:])):
        digest.update(np.ascontiguousarray(value).tobytes())
    return f"{name} {digest.hexdigest()[:16]}"


def _leaves(struct: tuple[Any, ...]) -> Iterator[Any]:
    """Numbers and arrays of a struct of structs, in order."""
    for value in struct:
        if isinstance(value, tuple):
            yield from _leaves(value)
        else:
            yield value


def read_saved_state(path: Path, scene: str, machine: Machine, targets: Sequence[str]) -> SavedState:
    """Read a file that ``SavedState.write`` wrote for the same scene.

    Args:
        path: The file.
        scene: Fingerprint of the scene.
        machine: Machine of the scene, which has the expected shapes of arrays.
        targets: Targets of the scene's script.

    Raises:
        InputError: The file cannot be read, is not a saved state, or belongs to another scene.
    """
    content = read_regular_file(path, _LARGEST_FILE, mend="give a saved state", excess="give a saved state")
    try:
        data = json.loads(content)
    except RecursionError:
        raise InputError(path, "", "is nested too deep", "give a file written by a run") from None
    except ValueError as error:
        raise InputError(path, "", f"is not JSON: {error}", "give a file written by a run") from None
    saved_for = data.get("scene") if isinstance(data, dict) else None
    if saved_for != scene:
        problem = f"is {excerpt(saved_for)} where {scene!r} is run"
        raise InputError(path, "scene", problem, "use the scene, unchanged, that the state was saved from")
    groups: dict[str, dict[str, np.ndarray]] = {}
    for name, like in (("state", machine.state), ("drives", machine.drives), ("loads", machine.loads)):
        groups[name] = {
            key: _array(path, f"{name}.{key}", data.get(name), key, array)
            for key, array in like._asdict().items()
        }
    state = State(**groups["state"])
    _check(path, state, machine)
    _check_sizes(path, groups)
    loads = Loads(**groups["loads"])
    _check_loads(path, loads)
    drives = Drives(**groups["drives"])
    for name in ("kp", "kd", "limit"):
        if (getattr(drives, name) < 0.0).any():
            raise InputError(path, f"drives.{name}", "is negative", _MEND)
    return SavedState(scene, state, drives, loads, _released(path, data.get("released"), targets))


def _array(path: Path, element: str, group: Any, key: str, like: np.ndarray) -> np.ndarray:
    if key in COUNTERS:
        return np.zeros_like(like)
    try:
        values = np.array(group[key])
    except (KeyError, TypeError, ValueError):
        raise InputError(path, element, "is missing or no array of numbers", _MEND) from None
    is_whole = like.dtype.kind == "i"
    if values.dtype.kind not in ("iu" if is_whole else "iuf") and values.size:
        raise InputError(path, element, f"is no array of {'whole ' if is_whole else ''}numbers", _MEND)
    if not values.size and not like.size:
        return np.zeros_like(like)  # an empty list does not have the length of its rows
    if values.shape != like.shape:
        problem = f"has shape {values.shape} where the scene needs {like.shape}"
        raise InputError(path, element, problem, "use the scene that the state was saved from")
    if np.isnan(values).any() or (element not in _MAY_BE_INFINITE and not np.isfinite(values).all()):
        raise InputError(path, element, "holds NaN or infinity", _MEND)
    return values.astype(like.dtype)


def _check(path: Path, state: State, machine: Machine) -> None:
    """Refuse states that no run can produce."""
    for name in ("step", "substep", "dt_previous"):
        if getattr(state, name)[0] < 0:
            raise InputError(path, f"state.{name}", "is negative", _MEND)
    if (state.extrapolate > (state.dt_previous > 0.0)).any() or (state.extrapolate < 0).any():
        raise InputError(path, "state.extrapolate", "does not fit state.dt_previous", _MEND)
    for first in machine.quaternion_starts:
        if abs(np.linalg.norm(state.q[first : first + 4]) - 1.0) > 1e-6:
            raise InputError(path, f"state.q[{first}:{first + 4}]", "is no unit quaternion", _MEND)


def _check_loads(path: Path, loads: Loads) -> None:
    """Refuse loads that no world has."""
    counted = copied(loads)
    count_loads(counted)
    for count, counts in (("num", "wrench"), ("num_pulls", "pull")):
        if getattr(loads, count)[0] != getattr(counted, count)[0]:
            raise InputError(path, f"loads.{count}", f"does not fit loads.{counts}", _MEND)
    if (loads.pull[:, STIFFNESS:] < 0.0).any():
        raise InputError(path, "loads.pull", "holds a negative stiffness or damping", _MEND)


def _check_sizes(path: Path, groups: dict[str, dict[str, np.ndarray]]) -> None:
    """Refuse numbers far beyond those of any run, with which the next step would overflow."""
    for group, arrays in groups.items():
        for name, values in arrays.items():
            finite = np.abs(values[np.isfinite(values)])
            if finite.size and finite.max() > _LARGEST.get(f"{group}.{name}", _LARGEST_ELSEWHERE):
                problem = f"holds {finite.max():g}, which no run can reach"
                raise InputError(path, f"{group}.{name}", problem, _MEND)


def _released(path: Path, released: Any, targets: Sequence[str]) -> tuple[str, ...]:
    if not isinstance(released, list) or any(target not in targets for target in released):
        raise InputError(path, "released", "does not list targets of the scene's script", _MEND)
    return tuple(released)
