"""Catalogue of robots that can be spawned and worlds that can be loaded, and resolution of URIs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hydro_sim.simulation_control.refusals import Reason, Refused
from hydro_sim_core.assets import shipped_robots, shipped_scenes
from hydro_sim_core.description.paths import ROBOT_SUFFIXES, PackageResolver
from hydro_sim_core.errors import InputError, MissingFile, excerpt

SRDF_SUFFIXES = (".srdf", ".xacro")
WORLD_SUFFIXES = (".yaml", ".yml", *ROBOT_SUFFIXES)
_MOST_FILES = 1000


@dataclass(frozen=True)
class Resource:
    """A file of the catalogue: ``name`` to show, ``path`` to load."""

    name: str
    path: Path

    @property
    def uri(self) -> str:
        """``file://`` URI of the file."""
        return self.path.as_uri()


def robot_file(uri: str, package_dirs: Sequence[Path] = ()) -> Path:
    """File of a robot or object: a URI, an absolute path, or the name of a shipped one.

    Args:
        uri: The URI, path or name.
        package_dirs: Packages, or folders that hold packages, for ``package://``.

    Raises:
        Refused: There is none, or it is neither URDF nor xacro.
    """
    return _file(uri, ROBOT_SUFFIXES, shipped_robots(), package_dirs)


def srdf_file(uri: str, package_dirs: Sequence[Path] = ()) -> Path:
    """File of an SRDF: a URI or an absolute path; arguments and errors as for ``robot_file``."""
    return _file(uri, SRDF_SUFFIXES, {}, package_dirs)


def world_file(uri: str) -> Path:
    """File of a scene or robot: a URI, an absolute path, or the name of a shipped scene.

    Raises:
        Refused: There is none, or it is of another format.
    """
    return _file(uri, WORLD_SUFFIXES, shipped_scenes())


def _file(
    uri: str, suffixes: Sequence[str], shipped: Mapping[str, Path], package_dirs: Sequence[Path] = ()
) -> Path:
    if uri in shipped:
        return shipped[uri]
    if Path(uri).suffix.lower() not in suffixes:
        known = ", ".join(suffixes)
        raise Refused(
            Reason.UNSUPPORTED_FORMAT, f"{excerpt(uri)} is no {known} file, nor the name of a shipped one"
        )
    try:
        return _resolver(package_dirs).resolve(f"file://{uri}" if uri.startswith("/") else uri, "uri")
    except MissingFile as error:
        raise Refused(Reason.NOT_FOUND, str(error)) from None
    except InputError as error:
        raise Refused(Reason.OPERATION_FAILED, str(error)) from None
    except OSError as error:  # an impossible path
        raise Refused(Reason.NOT_FOUND, f"{excerpt(uri)}: {error.strerror}") from None


def _resolver(package_dirs: Sequence[Path]) -> PackageResolver:
    return PackageResolver(Path("request"), package_dirs, placeless=True)


def spawnables(sources: Sequence[str]) -> tuple[list[Resource], list[str]]:
    """Robots and objects: the shipped ones, and those in folders.

    Args:
        sources: Folders, as absolute paths or ``file://``.

    Returns:
        Resources found, and one message for each source that is not a folder.
    """
    return _listing(shipped_robots(), sources, ROBOT_SUFFIXES)


def worlds(sources: Sequence[str]) -> tuple[list[Resource], list[str]]:
    """Scenes: the shipped ones, and those in folders; arguments and result as for ``spawnables``."""
    return _listing(shipped_scenes(), sources, WORLD_SUFFIXES[:2])


def _listing(
    shipped: Mapping[str, Path], sources: Sequence[str], suffixes: Sequence[str]
) -> tuple[list[Resource], list[str]]:
    found = [Resource(name, path) for name, path in shipped.items()]
    problems = []
    for source in sources:
        folder = Path(source.removeprefix("file://"))
        try:
            if not folder.is_absolute() or not folder.is_dir():
                problems.append(f"{excerpt(source)} is no folder")
                continue
            files = sorted(path for path in folder.iterdir() if path.suffix in suffixes)
        except OSError as error:
            problems.append(f"{excerpt(source)}: {error.strerror}")
            continue
        found += [Resource(path.name.partition(".")[0], path) for path in files[:_MOST_FILES]]
        if len(files) > _MOST_FILES:
            problems.append(f"{excerpt(source)} holds more than {_MOST_FILES}")
    return found, problems
