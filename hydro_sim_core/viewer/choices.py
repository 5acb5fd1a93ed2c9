"""What pages may load in place of what runs: a list made here, of which pages name entries and never files."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hydro_sim_core.assets import shipped_scenes
from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import World

logger = logging.getLogger(__name__)

_SUFFIXES = (".yaml", ".yml")
#: Most entries of a folder.
_MOST_FILES = 200
_LONGEST_NAME = 100


@dataclass(frozen=True)
class Choice:
    """An entry of the list.

    Attributes:
        name: Unique in the list.
        group: Heading under which it is shown.
        path: The scene's file.
        task: Name of the task whose controller leads what the scene holds; empty for none.
        settings: What that controller is told, by name.
    """

    name: str
    group: str
    path: Path
    task: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)


def scene_choices(scene: Path) -> tuple[Choice, ...]:
    """The shipped scenes, and the scenes beside the file of ``scene`` unless it is one of them.

    Those of the folder are named by their files, with suffix, and so never as a shipped one.
    """
    shipped = shipped_scenes()
    choices = [Choice(name, "Shipped scenes", path) for name, path in shipped.items()]
    folder = scene.absolute().parent
    if scene.suffix in _SUFFIXES and folder not in {path.absolute().parent for path in shipped.values()}:
        choices += [Choice(path.name, f"Folder {folder.name}", path) for path in _scene_files(folder)]
    return tuple(choices)


def _scene_files(folder: Path) -> list[Path]:
    try:
        files = sorted(path for path in folder.iterdir() if path.suffix in _SUFFIXES and path.is_file())
    except OSError:
        return []  # the scene runs all the same
    named = [path for path in files if path.name.isprintable() and len(path.name) <= _LONGEST_NAME]
    return named[:_MOST_FILES]


def chosen_of(choices: Sequence[Choice], world: World, last: str | None) -> str | None:
    """Name of the choice that a world was loaded from; None if it was none of them.

    Args:
        choices: The list.
        world: The world.
        last: Name that was chosen last, which tells choices of the same file apart; None if none was.
    """
    source = Path(world.scene.source).absolute()
    names = [choice.name for choice in choices if choice.path.absolute() == source]
    return last if last in names else next(iter(names), None)


class Chooser:
    """Loads what pages choose, one at a time, in a thread of its own, so that nothing else waits for it.

    Args:
        choices: The list.
        carry_out: Loads a choice and exchanges what runs for it; raises ``InputError`` if that fails, and then leaves
            what runs as it is.
        tell: Tells all pages the name of what is being loaded, or None at the end, and why it failed.

    Attributes:
        last: Name of what was chosen last, also while it is being loaded; None if nothing was.
    """

    def __init__(
        self,
        choices: Sequence[Choice],
        carry_out: Callable[[Choice], None],
        tell: Callable[[str | None, str | None], None],
    ) -> None:
        self.choices = tuple(choices)
        self._carry_out = carry_out
        self._tell = tell
        self._lock = threading.Lock()
        self._loading: str | None = None
        self.last: str | None = None

    def choose(self, name: str) -> None:
        """Begin to load a choice; pages are told how it ends.

        Raises:
            InputError: The list has no such name, or another choice is being loaded.
        """
        by_name = {choice.name: choice for choice in self.choices}
        if name not in by_name:
            raise InputError("viewer", "choice", "is not in the list", did_you_mean(name, by_name))
        with self._lock:
            if self._loading is not None:
                raise InputError("viewer", "choice", f"'{self._loading}' is being loaded", "wait until it is")
            self._loading = name
        threading.Thread(target=self._load, args=(by_name[name],), name="scene chooser", daemon=True).start()

    def _load(self, choice: Choice) -> None:
        self._tell(choice.name, None)
        before, self.last = self.last, choice.name
        problem = None
        try:
            self._carry_out(choice)
        except InputError as error:
            problem = str(error)
        except Exception as error:
            # An error must not leave the list closed.
            logger.exception("viewer: '%s' could not be loaded", choice.name)
            problem = f"viewer: '{choice.name}' could not be loaded: {error}"
        with self._lock:
            self._loading = None
            if problem is not None:
                self.last = before
        self._tell(None, problem)
