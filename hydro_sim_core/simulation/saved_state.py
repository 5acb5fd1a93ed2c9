"""A world's state in a file, to go on from it or to repeat a step that failed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation.model import Drives, State

#: Counters of what went wrong belong to the run, not to the state.
_COUNTERS = ("unconverged", "unsettled", "deep", "faceless")


@dataclass(frozen=True, eq=False)
class SavedState:
    """Everything that the next steps of a scene depend on, bit by bit.

    Attributes:
        scene: Name of the scene.
        state: The state.
        drives: What the drives were told.
    """

    scene: str
    state: State
    drives: Drives

    def write(self, path: Path) -> None:
        """Write it as JSON.

        Raises:
            InputError: The file cannot be written.
        """
        arrays = {
            name: {key: array.tolist() for key, array in group._asdict().items() if key not in _COUNTERS}
            for name, group in (("state", self.state), ("drives", self.drives))
        }
        text = json.dumps({"scene": self.scene, **arrays}, indent=1)
        try:
            path.write_text(text + "\n")
        except OSError as error:
            raise InputError(path, "", error.strerror or "cannot be written", "give another file") from None


def read_saved_state(path: Path, scene: str, state: State, drives: Drives) -> SavedState:
    """Read a file that ``SavedState.write`` wrote for the same scene.

    Args:
        path: The file.
        scene: Name of the scene that it is for.
        state: A state of the world that it is for; its arrays tell what fits.
        drives: The drives of that world.

    Raises:
        InputError: The file cannot be read, is no saved state, or belongs to another scene.
    """
    try:
        data = json.loads(path.read_text())
    except OSError as error:
        raise InputError(path, "", error.strerror or "cannot be read", "give a saved state") from None
    except ValueError as error:
        raise InputError(
            path, "", f"is not JSON: {error}", "give a file written by a failed or saved run"
        ) from None
    if not isinstance(data, dict) or data.get("scene") != scene:
        raise InputError(path, "scene", f"is not {scene}", "use the scene that the state was saved from")
    groups = {}
    for name, like in (("state", state), ("drives", drives)):
        group = data.get(name)
        groups[name] = {
            key: _array(path, f"{name}.{key}", group, key, old) for key, old in like._asdict().items()
        }
    return SavedState(scene, State(**groups["state"]), Drives(**groups["drives"]))


def _array(path: Path, element: str, group: Any, key: str, like: np.ndarray) -> np.ndarray:
    if key in _COUNTERS:
        return np.zeros_like(like)
    try:
        array = np.array(group[key], dtype=like.dtype)
    except (KeyError, TypeError, ValueError):
        raise InputError(path, element, "is missing or no array of numbers", "save the state again") from None
    if array.shape != like.shape:
        problem = f"has shape {array.shape} where the scene needs {like.shape}"
        raise InputError(path, element, problem, "use the scene that the state was saved from")
    if np.isnan(array).any():
        raise InputError(path, element, "holds NaN", "save the state again")
    return array
