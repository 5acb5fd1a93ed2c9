"""The page of tasks tells how long its films are, to the second."""

from __future__ import annotations

import re
import struct

import pytest

from support.docs.blocks import ROOT

PAGE = ROOT / "docs" / "tasks.md"
TOLD = dict(re.findall(r"\(pictures/(\w+)\.mp4\), (\d+) s[,.]", PAGE.read_text()))


def seconds(film: bytes) -> float:
    """By the header of the film (ISO 14496-12, 8.2.2): version, two times, units a second, units."""
    version, _, _, units, duration = struct.unpack_from(">5I", film, film.index(b"mvhd") + 4)
    assert version == 0
    return float(duration / units)


def test_every_film_has_one():
    films = {path.stem for path in (PAGE.parent / "pictures").glob("*.mp4")}
    assert films == set(TOLD)


@pytest.mark.parametrize("name", sorted(TOLD))
def test_it_is_the_length_of_the_film(name):
    film = (PAGE.parent / "pictures" / f"{name}.mp4").read_bytes()
    assert int(TOLD[name]) == round(seconds(film))
