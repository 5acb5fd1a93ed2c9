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

#: Options of ffmpeg by the file's suffix.
_CODECS: Final = {
    ".mp4": ["-c:v", "libx264", "-preset", "veryfast", "-crf", "18", "-movflags", "+faststart"],
    ".webm": ["-c:v", "libvpx-vp9", "-crf", "24", "-b:v", "0", "-deadline", "realtime", "-cpu-used", "6"],
}
#: Pads to even sizes, which encoders with chroma subsampling need.
_FILTER: Final = "pad=ceil(iw/2)*2:ceil(ih/2)*2,scale=out_color_matrix=bt709:out_range=tv,format=yuv420p"
_COLOURS: Final = ["-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "iec61966-2-1"]
_GIF: Final = ".gif"
#: Time units of a GIF per second, in which the durations of frames are counted.
_GIF_TICKS: Final = 100
#: Highest frame rate of a GIF, Hz: browsers slow down faster ones.
_GIF_MAX_RATE = 50.0
#: Lowest and highest frame rate of any film, Hz: a GIF counts a frame's duration in 16 bits, ffmpeg its time stamps.
_MIN_RATE, _MAX_RATE = 0.01, 1000.0
#: Largest number of frames of a film: an hour at 30 Hz, which takes hours to render.
_MOST_FRAMES = 100_000
#: Error numbers of a full disk.
_DISK_FULL: Final = (errno.ENOSPC, errno.EDQUOT)
#: Number of the 256 colours of a GIF that are reserved for pressures.
_PRESSURE_COLOURS = 64
#: Number of pictures of a film from which its other colours are chosen.
_SAMPLE = 8

#: Function that adds a frame of a scene to a film.
AddFrame = Callable[[ViewScene, ViewFrame], object]
#: Function that adds a picture, PNG, to a film.
AddPicture = Callable[[bytes], object]

FILM_SUFFIXES: Final = (*_CODECS, _GIF)


def check_film(path: Path, rate: float) -> None:
    """Check that a film can be written, before anything runs for it.

    Raises:
        InputError: As ``check_picture_file``; or its encoder is missing, or its format does not support the rate.
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
    """Check that a film is short enough to be rendered.

    Args:
        path: The film.
        count: Number of frames.
        mend: Remedy for the error message.

    Raises:
        InputError: The film has too many frames.
    """
    if not count <= _MOST_FRAMES:
        raise InputError(path, "", f"would have {count:.3g} frames, more than {_MOST_FRAMES}", mend)


@contextmanager
def open_film(path: Path, rate: float, scale: PressureScale) -> Iterator[AddPicture]:
    """Write a film. Yields a function that adds a picture (PNG); all have one size. After an error there is no file.

    Args:
        path: MP4, WebM or GIF.
        rate: Frames a second.
        scale: Colour scale, which a GIF keeps exactly.

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
    path: Path,
    rate: float,
    scale: PressureScale,
    size: PictureSize,
    view: CameraName,
    links: Sequence[str] = (),
    solid: bool = False,
) -> Iterator[AddFrame]:
    """Film the viewer's page. Yields a function that adds a frame of a scene and returns once it is in the film.

    Args:
        path: As in ``open_film``.
        rate: As in ``open_film``.
        scale: As in ``open_film``.
        size: As in ``PageCamera``.
        view: As in ``PageCamera``.
        links: As in ``PageCamera``.
        solid: As in ``PageCamera``.

    Raises:
        InputError: As ``open_film`` and ``PageCamera``.
    """
    with open_film(path, rate, scale) as add, PageCamera(size, view, links, solid) as camera:
        yield lambda scene, frame: add(camera.picture(scene, frame))


@contextmanager
def _ffmpeg(path: Path, aside: Path, rate: float) -> Iterator[AddPicture]:
    pictures = ["-f", "image2pipe", "-c:v", "png", "-framerate", repr(rate), "-i", "-"]
    encode = ["-vf", _FILTER, *_COLOURS, *_CODECS[path.suffix.lower()]]
    command = ["ffmpeg", "-y", "-nostdin", "-loglevel", "error", *pictures, *encode, str(aside)]
    with TemporaryFile() as log:
        # In a process group of its own, so that Ctrl-C reaches only the program that is filmed.
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=log, process_group=0)
        assert process.stdin is not None
        whole = False
        try:
            with suppress(BrokenPipeError):  # the log gives the reason
                yield process.stdin.write
                process.stdin.close()
                whole = True
        except BaseException:
            process.kill()
            raise
        finally:
            with suppress(BrokenPipeError):  # raised again for unflushed data
                process.stdin.close()
            status = process.wait()
        if status != 0 or not whole:
            log.seek(0)
            text = log.read().decode(errors="replace")
            for code in _DISK_FULL:
                if os.strerror(code) in text:  # rarely in the last line
                    raise OSError(code, os.strerror(code))
            lines = reversed(text.split("\n"))
            said = next((line.strip() for line in lines if line.strip()), "no reason given")
            raise InputError(path, "", f"ffmpeg failed: {said}", "give a .gif file, or another ffmpeg")


@contextmanager
def _gif(aside: Path, rate: float, scale: PressureScale) -> Iterator[AddPicture]:
    """Keep the pictures until the end, because the palette depends on all of them."""
    pictures: list[bytes] = []
    yield pictures.append
    image = pillow("a GIF")
    palette = _palette(pictures, scale)
    # Dithering would turn even surfaces into noise that differs from frame to frame.
    frames = (_decoded(picture).quantize(palette=palette, dither=image.Dither.NONE) for picture in pictures)
    ends = np.rint(
        _GIF_TICKS / rate * np.arange(len(pictures) + 1)
    )  # so that rounding errors do not accumulate
    durations = (np.diff(ends) * (1000 / _GIF_TICKS)).astype(int).tolist()
    next(frames).save(
        aside, "GIF", save_all=True, append_images=frames, duration=durations, loop=0, optimize=False
    )


def _palette(pictures: Sequence[bytes], scale: PressureScale) -> Image:
    """Palette of the pressure colours and the colours that the pictures need most besides."""
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
