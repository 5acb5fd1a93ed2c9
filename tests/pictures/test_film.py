"""Films hold every picture in its time and colours, and are whole or not there at all."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from io import BytesIO

import numpy as np
import pytest
from PIL import Image, ImageSequence

from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.errors import InputError
from hydro_sim_core.pictures.film import check_film, open_film

SCALE = PressureScale()
SIZE = (161, 90)  # odd, as encoders do not like it


def png(pixels):
    stream = BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()


def picture(number):
    """Grey, with a white bar that wanders to the right and a patch of the colours of pressure."""
    pixels = np.full((SIZE[1], SIZE[0], 3), 128, dtype=np.uint8)
    pixels[:, 5 * number : 5 * number + 5] = 255
    pixels[40:60, 20:148] = SCALE.table()[::2]
    return png(pixels)


def write(path, count=12, rate=30.0):
    with open_film(path, rate, SCALE) as add:
        for number in range(count):
            add(picture(number))


def bar_place(frame):
    return int(np.argmax(np.asarray(frame.convert("L"), dtype=int)[5])) // 5


def test_a_gif_has_every_picture_in_its_time(tmp_path):
    write(tmp_path / "x.gif")
    with Image.open(tmp_path / "x.gif") as film:
        assert (film.size, film.n_frames) == (SIZE, 12)
        assert [bar_place(frame) for frame in ImageSequence.Iterator(film)] == list(range(12))
        durations = [frame.info["duration"] for frame in ImageSequence.Iterator(film)]
    assert set(durations) == {30, 40}  # ms, in steps of 10
    assert sum(durations) == 400


def test_a_gif_may_show_a_picture_for_as_long_as_a_film_may(tmp_path):
    write(tmp_path / "x.gif", count=2, rate=0.01)
    with Image.open(tmp_path / "x.gif") as film:
        assert [film.seek(i) or film.info["duration"] for i in range(2)] == [100_000, 100_000]  # ms


def test_a_gif_keeps_the_colours_of_pressure_and_even_surfaces(tmp_path):
    write(tmp_path / "x.gif")
    with Image.open(tmp_path / "x.gif") as film:
        pixels = np.asarray(film.convert("RGB")).astype(int)
    assert np.abs(pixels[50, 20:148] - SCALE.table()[::2]).max() <= 8  # 64 of its 256 colours stand for it
    assert (pixels[70, 40:] == pixels[70, 40]).all()  # no dithering


@pytest.mark.parametrize(("suffix", "codec"), [(".mp4", "h264"), (".webm", "vp9")])
def test_ffmpeg_encodes_every_picture(tmp_path, suffix, codec):
    path = tmp_path / f"x{suffix}"
    write(path)
    asked = ["-v", "error", "-count_frames", "-show_streams", "-of", "json"]
    (stream,) = json.loads(subprocess.check_output(["ffprobe", *asked, path]))["streams"]
    assert (stream["codec_name"], stream["nb_read_frames"], stream["avg_frame_rate"]) == (codec, "12", "30/1")
    assert (stream["width"], stream["height"]) == (162, 90)
    assert (stream["pix_fmt"], stream["color_space"]) == ("yuv420p", "bt709")
    raw = subprocess.check_output(
        ["ffmpeg", "-v", "error", "-i", path, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    )
    frames = np.frombuffer(raw, dtype=np.uint8).reshape(12, 90, 162, 3).astype(int)
    assert [int(np.argmax(frame[5].sum(axis=1))) // 5 for frame in frames] == list(range(12))
    assert np.abs(frames[0, 50, 30:140] - SCALE.table()[::2][10:120]).mean() < 10.0


@pytest.mark.parametrize("suffix", [".gif", ".mp4"])
def test_after_an_error_there_is_no_film_and_the_old_one_stays(tmp_path, suffix):
    path = tmp_path / f"x{suffix}"
    path.write_text("precious")

    def break_off():
        with open_film(path, 10.0, SCALE) as add:
            add(picture(0))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        break_off()
    assert path.read_text() == "precious"
    assert os.listdir(tmp_path) == [path.name]


def test_an_encoder_that_fails_is_quoted_in_one_line(tmp_path, monkeypatch):
    program = tmp_path / "bin" / "ffmpeg"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho >&2 'Unknown encoder libx264'\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    with pytest.raises(InputError, match=r"x.mp4: ffmpeg failed: Unknown encoder libx264; ") as error:
        write(tmp_path / "x.mp4", count=200)
    assert "\n" not in str(error.value)
    assert os.listdir(tmp_path) == ["bin"]


def test_a_full_disk_is_told_whatever_the_encoder_says_after_it(tmp_path, monkeypatch):
    program = tmp_path / "bin" / "ffmpeg"
    program.parent.mkdir()
    said = (
        "av_interleaved_write_frame(): No space left on device",
        "Error writing trailer",
        "Conversion failed!",
    )
    program.write_text("#!/bin/sh\n" + "".join(f"echo >&2 '{line}'\n" for line in said) + "exit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    with pytest.raises(InputError, match=r"x.mp4: no space left on device; give a file on a disk with room"):
        write(tmp_path / "x.mp4", count=200)


def test_missing_ffmpeg_is_told_with_its_mend(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert shutil.which("ffmpeg") is None
    with pytest.raises(InputError, match=r"x.mp4: needs ffmpeg.*apt install ffmpeg, or give a .gif file"):
        check_film(tmp_path / "x.mp4", 30.0)
    check_film(tmp_path / "x.gif", 30.0)


def test_missing_pillow_is_told_with_its_mend(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(InputError, match=r"Pillow.*pip install 'hydro-sim-core\[pictures\]'"):
        check_film(tmp_path / "x.gif", 30.0)


@pytest.mark.parametrize(
    ("name", "rate", "says"),
    [
        ("x.avi", 30.0, r"x.avi: .*end it in .mp4 or .webm or .gif"),
        ("x", 30.0, r"end it in .mp4"),
        ("nowhere/x.gif", 30.0, "there is no folder"),
        ("folder.gif", 30.0, "is a folder"),
        (
            "x.gif",
            60.0,
            "a GIF shows 0.01 to 50 frames a second, not 60; give another --fps, or an .mp4 file",
        ),
        ("x.gif", 1e-9, "a GIF shows 0.01 to 50 frames a second, not 1e-09"),
        ("x.mp4", 1e-9, "x.mp4: a film shows 0.01 to 1000 frames a second, not 1e-09"),
        ("x.webm", 1e9, r"x.webm: a film shows 0.01 to 1000 frames a second, not 1e\+09"),
    ],
)
def test_a_film_that_cannot_be_is_refused_at_once(tmp_path, name, rate, says):
    (tmp_path / "folder.gif").mkdir()
    with pytest.raises(InputError, match=says):
        check_film(tmp_path / name, rate)
