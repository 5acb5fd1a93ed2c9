"""Resolution of file names in descriptions: ``package://``, ``model://``, ``file://`` and relative paths.

``model://`` names a package, or a model where Gazebo looks for them. All paths but those of ``file://`` may refer only
to files of a package: the description's own, one given in ``package_dirs``, or one of the ROS environment. Containment
is checked on the path as written, with symbolic links unresolved, because a ``colcon build --symlink-install``
workspace consists of links that point out of the package.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from urllib.parse import unquote

from lxml import etree

from hydro_sim_core.errors import InputError, MissingFile, UnknownFormat, excerpt
from hydro_sim_core.files import read_regular_file

#: Extensions of the mesh files that ``geometry`` reads: surfaces, and tetrahedral volumes.
MESH_EXTENSIONS = (".stl", ".obj", ".dae", ".glb", ".ply", ".vtk", ".vtu", ".msh")

#: Extensions of the files that describe robots and objects.
ROBOT_SUFFIXES = (".urdf", ".xacro")

#: Most folders above a description, and in its package's ``meshes``, that are searched for moved files.
_MOST_ABOVE, _MOST_FOLDERS = 6, 100

#: Variables with the folders in which Gazebo looks for models.
_MODEL_PATHS = ("GZ_SIM_RESOURCE_PATH", "IGN_GAZEBO_RESOURCE_PATH", "GAZEBO_MODEL_PATH")

#: What is no name of a package.
_NO_NAMES = ("", ".", "..")

#: Largest ``package.xml``, bytes.
_MOST_MANIFEST_BYTES = 2**20


class MissingPackage(InputError):
    """A package that a description names is nowhere."""


class PackageResolver:
    """Resolver of the URIs in one description file to absolute paths.

    Args:
        description: The URDF, xacro or scene file that contains the URIs.
        package_dirs: Packages, or folders that hold packages; searched before the ROS environment.
        confined: Refuse paths outside the packages. A scene file is trusted and may name any path.
        placeless: The description is not a file, so that relative paths are refused.

    Raises:
        InputError: A package folder does not exist.
    """

    def __init__(
        self,
        description: Path,
        package_dirs: Sequence[str | os.PathLike[str]] = (),
        *,
        confined: bool = True,
        placeless: bool = False,
    ) -> None:
        self.description = description if placeless else absolute(description)
        self.confined = confined
        self.placeless = placeless
        self.package_dirs = tuple(absolute(Path(folder)) for folder in package_dirs)
        for folder in self.package_dirs:
            if not os.path.isdir(folder):
                raise InputError(
                    self.description, f"package_dirs, {folder}", "no such folder", "correct package_dirs"
                )

    def resolve(self, uri: str, element: str) -> Path:
        """Absolute path of the file behind ``uri``.

        Args:
            uri: ``package://name/path`` (or ``model://``), ``file:///path`` or a path relative to the description.
            element: Name of the URI's place in error messages.

        Raises:
            InputError: The scheme or package is unknown, the path is outside the package, or the file does not exist.
        """
        path = self._locate(uri, element)
        if not os.path.isfile(path):
            raise MissingFile(
                self.description, element, f"'{uri}' names no file ({path})", "correct the path"
            )
        return path

    def resolve_mesh(self, uri: str, element: str) -> Path:
        """Like :meth:`resolve`, for a mesh file in one of the supported formats."""
        suffix = Path(uri).suffix
        if suffix.lower() not in MESH_EXTENSIONS:
            problem = (
                f"'{uri}' is of unknown mesh format '{suffix}'"
                if suffix
                else f"'{uri}' has no file extension"
            )
            known = ", ".join(MESH_EXTENSIONS)
            raise UnknownFormat(self.description, element, problem, f"convert the mesh to one of {known}")
        return self.resolve(uri, element)

    def find_moved_mesh(self, uri: str) -> Path | None:
        """A mesh file of a package that has another name or place than ``uri`` says, beside the description.

        Files are kept in other folders than those that they were written in. One is found where a folder above the
        description holds the end of the URI's path, at least a folder and the file; the longest such end counts. Else
        it is found where the package's ``meshes`` or just one folder in it does, or, of several, that of the
        description's name.
        """
        scheme, separator, rest = uri.partition("://")
        parts = Path(unquote(rest if separator else scheme)).parts
        if self.placeless or ".." in parts or Path(uri).suffix.lower() not in MESH_EXTENSIONS:
            return None
        for i in range(len(parts) - 1):
            for folder in self.description.parents[:-1][:_MOST_ABOVE]:
                path = folder.joinpath(*parts[i:])
                if path.is_relative_to(folder) and os.path.isfile(path):
                    return path
            found = {
                folder.name: folder.joinpath(*parts[i:])
                for folder in self._folders_of_meshes()
                if os.path.isfile(folder.joinpath(*parts[i:]))
            }
            chosen = self.description.name.partition(".")[0] if len(found) > 1 else next(iter(found), "")
            if chosen in found:
                return found[chosen]
        return None

    def _folders_of_meshes(self) -> list[Path]:
        """The folder ``meshes`` of the description's own package, and those in it."""
        meshes = self.description.parent.parent / "meshes"
        try:
            with os.scandir(meshes) as entries:
                inner = sorted(Path(entry) for entry in islice(entries, _MOST_FOLDERS) if entry.is_dir())
            return [meshes, *inner]
        except OSError:
            return []

    def find_package(self, name: str, element: str, also: Iterable[Path] = ()) -> Path:
        """Folder of the package ``name``.

        Args:
            name: The package.
            element: Name of the place that asks for it in error messages.
            also: Folders besides those of packages that may hold it, which come last.

        Raises:
            MissingPackage: The package was not found.
        """
        for candidate in (*self._package_candidates(name), *_inside(also, name)):
            if os.path.isdir(candidate):
                return candidate
        raise MissingPackage(
            self.description, element, f"no package '{name}'",
            "pass the folder that holds it in package_dirs (--package-dir), or source its ROS workspace",
        )  # fmt: skip

    def _locate(self, uri: str, element: str) -> Path:
        scheme, separator, rest = uri.partition("://")
        if not separator:
            scheme, rest = "", uri
        if scheme in ("package", "model"):
            name, _, inner = rest.partition("/")
            package = self.find_package(name, element, _model_folders() if scheme == "model" else [])
            return self._contained(package / unquote(inner), [package], uri, element)
        if scheme == "file":
            return self._absolute_file(unquote(rest.removeprefix("localhost")), uri, element)
        if scheme == "" and self.placeless:
            raise InputError(
                self.description, element, f"'{uri}' is relative to no file", "use package:// or file://"
            )
        if scheme == "":
            return self._contained(self.description.parent / rest, self._own_roots(), uri, element)
        raise InputError(
            self.description, element, f"'{uri}' has the unknown scheme '{scheme}://'",
            "use package://, model://, file:// or a relative path",
        )  # fmt: skip

    def _absolute_file(self, path: str, uri: str, element: str) -> Path:
        if not path.startswith("/"):
            raise InputError(
                self.description,
                element,
                f"'{uri}' is not absolute",
                "write file:/// and a path from the root",
            )
        return absolute(Path(path))

    def _contained(self, path: Path, roots: Sequence[Path], uri: str, element: str) -> Path:
        normal = absolute(path)
        if not any(normal.is_relative_to(root) for root in roots):
            raise InputError(
                self.description, element, f"'{uri}' is a path outside the package ({roots[0]})",
                "move the file into the package or name its package in package_dirs (--package-dir)",
            )  # fmt: skip
        return normal

    def _own_roots(self) -> list[Path]:
        """Folders that may contain files with relative paths; the description's own package comes first.

        Without a ``package.xml`` above it, the package of ``robot/urdf/arm.urdf`` is ``robot``, in the usual layout
        with meshes in ``robot/meshes``.
        """
        folder = self.description.parent
        if not self.confined:
            return [Path(folder.root)]
        own = next((f for f in (folder, *folder.parents) if (f / "package.xml").is_file()), folder.parent)
        return [own, *self.package_dirs, *_environment_packages()]

    def _package_candidates(self, name: str) -> Iterator[Path]:
        if name in _NO_NAMES:
            return
        for folder in (*self.package_dirs, *_path_list("ROS_PACKAGE_PATH")):
            if _is_package(folder, name):
                yield folder
            yield folder / name
        for prefix in _path_list("AMENT_PREFIX_PATH"):
            yield prefix / "share" / name
        for folder in () if self.placeless else self.description.parents:
            if _is_package(folder, name):
                yield folder


def is_robot_file(path: str | os.PathLike[str]) -> bool:
    """Whether a path names a description of a robot or an object, by its extension, in small letters or capitals."""
    return Path(path).suffix.lower() in ROBOT_SUFFIXES


def is_xacro_argument(word: str) -> bool:
    """Whether an argument of a xacro file is written ``name:=value``; the value may be empty."""
    name, assigns, _ = word.partition(":=")
    return bool(name and assigns)


def xacro_arguments(given: Iterable[str]) -> dict[str, str]:
    """Values by name of arguments that are written, and checked to be, ``name:=value``."""
    return dict(argument.split(":=", 1) for argument in given)


def as_path(value: str | os.PathLike[str], asker: str) -> Path:
    """A path argument of a program as a ``Path``.

    Raises:
        InputError: The value is not a path.
    """
    if not isinstance(value, str | os.PathLike):
        raise InputError(asker, excerpt(value), "is no path", "give the path of a file as text")
    return Path(value)


def absolute(path: Path) -> Path:
    """``path`` made absolute and without ``..``, with symbolic links unresolved.

    Raises:
        InputError: It begins with ``~`` and a user who has no home folder.
    """
    try:
        return Path(os.path.abspath(path.expanduser()))
    except RuntimeError:
        raise InputError(path, "", "names no user with a home folder", "write the path in full") from None


def _environment_packages() -> list[Path]:
    return [
        *_path_list("ROS_PACKAGE_PATH"),
        *(prefix / "share" for prefix in _path_list("AMENT_PREFIX_PATH")),
    ]


def _inside(folders: Iterable[Path], name: str) -> list[Path]:
    return [] if name in _NO_NAMES else [folder / name for folder in folders]


def _model_folders() -> list[Path]:
    """Where Gazebo looks for what a ``model://`` URI names, in its present and its earlier versions."""
    return [folder for variable in _MODEL_PATHS for folder in _path_list(variable)]


def _path_list(variable: str) -> list[Path]:
    return [absolute(Path(entry)) for entry in os.environ.get(variable, "").split(os.pathsep) if entry]


def _is_package(folder: Path, name: str) -> bool:
    if folder.name == name:
        return True
    manifest = folder / "package.xml"
    if not os.path.isfile(manifest):
        return False
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, recover=True)
    try:
        root = etree.fromstring(read_regular_file(manifest, _MOST_MANIFEST_BYTES), parser)
    except etree.XMLSyntaxError:  # such as that of an empty file
        return False
    return root is not None and (root.findtext("name") or "").strip() == name
