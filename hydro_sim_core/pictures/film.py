"""Films of pictures: MP4 and WebM by ffmpeg, GIF by Pillow."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Final

import numpy as np

from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.errors import InputError
from hydro_sim_core.pictures.files import check_picture_file, pillow, written_aside
from hydro_sim_core.pictures.page_camera import CameraName, PageCamera, PictureSize
from hydro_sim_core.viewer.frame import ViewFrame
from hydro_sim_core.viewer.scene import ViewScene

if TYPE_CHECKING:
    from PIL.Image import Image

#: How ffmpeg is to encode, by the file's ending.
_CODECS: Final = {
    ".mp4": ["-c:v", "libx264", "-preset", "veryfast", "-crf", "18", "-movflags", "+faststart"],
    ".webm": ["-c:v", "libvpx-vp9", "-crf", "24", "-b:v", "0", "-deadline", "realtime", "-cpu-used", "6"],
}
#: Encoders that halve the resolution of colours want even sizes.
_FILTER: Final = "pad=ceil(iw/2)*2:ceil(ih/2)*2,scale=out_color_matrix=bt709:out_range=tv,format=yuv420p"
_COLOURS: Final = ["-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "iec61966-2-1"]
_GIF: Final = ".gif"
#: In a second; what the durations of its frames are counted in.
_GIF_TICKS: Final = 100
#: Browsers show GIFs with more frames a second more slowly.
_GIF_MAX_RATE = 50.0
#: Frames a second of any film: a GIF counts a frame's time in 16 bits, and ffmpeg its own time stamps.
_MIN_RATE, _MAX_RATE = 0.01, 1000.0
#: Of a film: an hour at thirty a second, and hours of drawing.
_MOST_FRAMES = 100_000
#: What the system calls a disk without room.
_DISK_FULL: Final = (errno.ENOSPC, errno.EDQUOT)
#: Of the 256 colours of a GIF, those that are kept for pressures.
_PRESSURE_COLOURS = 64
#: Pictures of a film that its other colours are taken from.
_SAMPLE = 8

#: Adds a frame of a scene to a film.
AddFrame = Callable[[ViewScene, ViewFrame], object]
#: Adds a picture, PNG, to a film.
AddPicture = Callable[[bytes], object]

FILM_SUFFIXES: Final = (*_CODECS, _GIF)


def check_film(path: Path, rate: float) -> None:
    """Refuse a film that could not be written, before anything is run for it.

    Raises:
        InputError: As ``check_picture_file``; what is to write it is missing, or it cannot have that many frames a
            second.
    """
    check_picture_file(path, FILM_SUFFIXES)
    if _is_gif(path):
        pillow("a GIF")
        _check_rate(path, "GIF", rate, _GIF_MAX_RATE, "give another --fps, or an .mp4 file")
        return
    _check_rate(path, "film", rate, _MAX_RATE, "give another --fps")
    if shutil.which("ffmpeg") is None:
        problem = "needs ffmpeg, which is not on PATH"
        raise InputError(path, "", problem, "apt install ffmpeg, or give a .gif file")


def _check_rate(path: Path, what: str, rate: float, highest: float, mend: str) -> None:
    if not _MIN_RATE <= rate <= highest:
        problem = f"a {what} shows {_MIN_RATE:g} to {highest:g} frames a second, not {rate:g}"
        raise InputError(path, "", problem, mend)


def check_frame_count(path: Path, count: float, mend: str) -> None:
    """Refuse a film that nobody could wait for.

    Args:
        path: The film.
        count: Its frames.
        mend: What makes them fewer.

    Raises:
        InputError: They are too many.
    """
    if not count <= _MOST_FRAMES:
        raise InputError(path, "", f"would have {count:.3g} frames, more than {_MOST_FRAMES}", mend)


@contextmanager
def open_film(path: Path, rate: float, scale: PressureScale) -> Iterator[AddPicture]:
    """Write a film: what is yielded adds a picture (PNG), all of one size. After an error there is no film.

    Args:
        path: MP4, WebM or GIF.
        rate: Frames a second.
        scale: Colours that a GIF keeps.

    Raises:
        InputError: As ``check_film``; or the disk is full, or ffmpeg lacks an encoder.
    """
    check_film(path, rate)
    with written_aside(path) as aside:
        encoder = _gif(aside, rate, scale) if _is_gif(path) else _ffmpeg(path, aside, rate)
        with encoder as add:
            yield add


@contextmanager
def open_page_film(
    path: Path, rate: float, scale: PressureScale, size: PictureSize, view: CameraName
) -> Iterator[AddFrame]:
    """Film the viewer's page: what is yielded adds a frame of a scene, and returns when it is in the film.

    Args:
        path: As in ``open_film``.
        rate: As in ``open_film``.
        scale: As in ``open_film``.
        size: As in ``PageCamera``.
        view: As in ``PageCamera``.

    Raises:
        InputError: As ``open_film`` and ``PageCamera``.
    """
    with open_film(path, rate, scale) as add, PageCamera(size, view) as camera:
        yield lambda scene, frame: add(camera.picture(scene, frame))


@contextmanager
def _ffmpeg(path: Path, aside: Path, rate: float) -> Iterator[AddPicture]:
    pictures = ["-f", "image2pipe", "-c:v", "png", "-framerate", repr(rate), "-i", "-"]
    encode = ["-vf", _FILTER, *_COLOURS, *_CODECS[path.suffix.lower()]]
    command = ["ffmpeg", "-y", "-nostdin", "-loglevel", "error", *pictures, *encode, str(aside)]
    with TemporaryFile() as log:
        # A group of its own: Ctrl-C is for what is filmed, and the film ends with that.
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=log, process_group=0)
        assert process.stdin is not None
        whole = False
        try:
            with suppress(BrokenPipeError):  # the log says why
                yield process.stdin.write
                process.stdin.close()
                whole = True
        except BaseException:
            process.kill()
            raise
        finally:
            with suppress(BrokenPipeError):  # raised again for what could not be flushed
                process.stdin.close()
            status = process.wait()
        if status != 0 or not whole:
            log.seek(0)
            text = log.read().decode(errors="replace")
            for code in _DISK_FULL:
                if os.strerror(code) in text:  # seldom in the last line
                    raise OSError(code, os.strerror(code))
            lines = reversed(text.split("\n"))
            said = next((line.strip() for line in lines if line.strip()), "no reason given")
            raise InputError(path, "", f"ffmpeg failed: {said}", "give a .gif file, or another ffmpeg")


@contextmanager
def _gif(aside: Path, rate: float, scale: PressureScale) -> Iterator[AddPicture]:
    """Keeps the pictures until the end, for all of them decide on the colours."""
    pictures: list[bytes] = []
    yield pictures.append
    image = pillow("a GIF")
    palette = _palette(pictures, scale)
    # Dithering would turn even surfaces into noise that differs from frame to frame.
    frames = (_decoded(picture).quantize(palette=palette, dither=image.Dither.NONE) for picture in pictures)
    ends = np.rint(_GIF_TICKS / rate * np.arange(len(pictures) + 1))  # so that rounding does not add up
    durations = (np.diff(ends) * (1000 / _GIF_TICKS)).astype(int).tolist()
    next(frames).save(
        aside, "GIF", save_all=True, append_images=frames, duration=durations, loop=0, optimize=False
    )


def _palette(pictures: Sequence[bytes], scale: PressureScale) -> Image:
    """Colours of pressure, and those that the pictures need most beside them."""
    image = pillow("a GIF")
    sample = [
        _decoded(pictures[i]) for i in np.unique(np.linspace(0, len(pictures) - 1, _SAMPLE).astype(int))
    ]
    width, height = sample[0].size
    column = image.new("RGB", (width, height * len(sample)))
    for row, picture in enumerate(sample):
        column.paste(picture, (0, row * height))
    # This method keeps rare colours, such as those of thin arrows.
    others = column.quantize(256 - _PRESSURE_COLOURS, image.Quantize.FASTOCTREE).getpalette() or []
    table = scale.table()
    pressures = table[np.linspace(0, len(table) - 1, _PRESSURE_COLOURS).round().astype(int)]
    palette = image.new("P", (1, 1))
    palette.putpalette([*pressures.ravel().tolist(), *others[: 3 * (256 - _PRESSURE_COLOURS)]])
    return palette


def _decoded(png: bytes) -> Image:
    return pillow("a GIF").open(BytesIO(png)).convert("RGB")


def _is_gif(path: Path) -> bool:
    return path.suffix.lower() == _GIF
