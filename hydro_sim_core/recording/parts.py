"""The files of one recording: which there are, and in which order."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hydro_sim_core.errors import InputError
from hydro_sim_core.recording.contents import RecordingContents
from hydro_sim_core.recording.mcap_file import REPLACE

logger = logging.getLogger(__name__)

#: Metadata of a file: the recording that it belongs to, its number there, and the file whose time it continues.
RECORDING, NUMBER, CONTINUES = "recording", "number", "continues"
#: Metadata of a file: the pressure at the upper end of the run's colour scale, Pa.
FULL_SCALE = "full_scale"
_SUFFIX = ".mcap"


@dataclass(frozen=True)
class _Part:
    """A file and what its metadata tell; ``recording`` is empty for files of other programs."""

    path: Path
    recording: str
    number: int
    continues: str


def episode_path(path: Path, number: int) -> Path:
    """``NAME.mcap`` for the first file of a recording, number 0, ``NAME_1.mcap`` for the next."""
    return path.with_stem(f"{path.stem}_{number}") if number else path


def check_later_files(path: Path, number: int, mend: str = REPLACE) -> None:
    """Check that no file is there that a recording may need later, when it is too late to choose another name.

    Args:
        path: The recording's first file, number 0.
        number: Number of the file that is next.
        mend: Remedy for a file that exists.

    Raises:
        InputError: There is such a file.
    """
    pattern = _numbered(path)
    for there in sorted(path.parent.iterdir()):
        match = pattern.fullmatch(there.name)
        if match is not None and int(match[1]) > number:
            problem = "exists already, and may be needed for the next part"
            raise InputError(there, "", problem, mend)


def recording_files(path: Path) -> tuple[Path, ...]:
    """The files to read for a file or a folder that a user names.

    The first file of a run stands for the run: the files that continue its time follow. Another file stands for itself,
    and a folder for the one recording that is in it, also where that was reset.

    Raises:
        InputError: The folder holds no recording, or several, or a file cannot be read.
    """
    if path.is_dir():
        return tuple(part.path for part in _recording_in(path))
    begin = _part(path)
    if not begin.recording or begin.continues:
        return (path,)
    return (path, *(part.path for part in _following(begin)))


def run_files(path: Path) -> tuple[Path, ...]:
    """As ``recording_files``, for what goes on without a reset.

    Raises:
        InputError: As ``recording_files``, or the recording was reset.
    """
    files = recording_files(path)
    if path.is_dir():
        begins = [part.path.name for part in map(_part, files) if not part.continues]
        if len(begins) > 1:
            problem = f"holds several runs, which begin with {', '.join(begins)}"
            raise InputError(path, "", problem, "give one of these files")
    return files


def _recording_in(folder: Path) -> list[_Part]:
    parts = [_part(path) for path in sorted(folder.glob(f"*{_SUFFIX}"))]
    if not parts:
        raise InputError(folder, "", "holds no recording", f"give a folder with {_SUFFIX} files, or a file")
    firsts: dict[str, str] = {}
    for part in sorted(parts, key=lambda part: part.number):
        firsts.setdefault(part.recording or str(part.path), part.path.name)
    if len(firsts) > 1:
        problem = f"holds {len(firsts)} recordings: {', '.join(sorted(firsts.values()))}"
        raise InputError(folder, "", problem, "give one of these files")
    return sorted(parts, key=lambda part: part.number)


def _following(begin: _Part) -> Iterator[_Part]:
    """The parts that continue a run, in order; of those that are missing or cannot be read a warning tells."""
    first, lost = _first_path(begin), []
    for number in range(begin.number + 1, _last_number(first) + 1):
        path = episode_path(first, number)
        try:
            part = _part(path)
        except InputError:  # gone, or empty, or of another program
            lost.append(path.name)
            continue
        if part.recording != begin.recording or not part.continues:
            return
        if lost:
            logger.warning("%s: %s missing or unreadable; the rest is used", begin.path, ", ".join(lost))
            lost = []
        yield part


def _last_number(first: Path) -> int:
    """Largest number of a file of a recording; 0 if there is the first alone."""
    pattern = _numbered(first)
    matches = filter(None, (pattern.fullmatch(there.name) for there in first.parent.iterdir()))
    return max((int(match[1]) for match in matches), default=0)


def _numbered(first: Path) -> re.Pattern[str]:
    return re.compile(rf"{re.escape(first.stem)}_(\d{{1,6}}){re.escape(first.suffix)}")


def _first_path(part: _Part) -> Path:
    """Path of file number 0 of a part's recording, which may be gone."""
    return part.path.with_stem(part.path.stem.removesuffix(f"_{part.number}")) if part.number else part.path


def _part(path: Path) -> _Part:
    contents = RecordingContents(path)
    try:
        about = contents.read_about()
    finally:
        contents.close()
    number = 0
    with suppress(ValueError):
        number = int(about.get(NUMBER, ""))
    return _Part(path, about.get(RECORDING, ""), number, about.get(CONTINUES, ""))
