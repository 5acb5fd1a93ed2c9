"""A damaged recording plays what is intact of it, and the gap is told."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

from hydro_sim_core.recording.mcap_records import MAGIC
from hydro_sim_core.replay import Recording, TimeLine


def damaged_copy(path, tmp_path, places):
    content = bytearray(path.read_bytes())
    for place in places:
        content[place] ^= 0x2A
    copy = tmp_path / "torn.mcap"
    copy.write_bytes(content)
    return copy


def chunk_places(path):
    """A place inside of what each chunk holds."""
    return [found.end() + 40 for found in re.finditer(b"zstd", path.read_bytes())]


@pytest.mark.parametrize("seed", range(25))
def test_one_wrong_byte_costs_no_more_than_its_chunk(run, tmp_path, seed):
    _, path, _ = run
    size = path.stat().st_size
    copy = damaged_copy(path, tmp_path, [random.Random(seed).randrange(len(MAGIC), size)])
    with Recording(path) as whole, Recording(copy) as torn:
        kept = np.isin(torn.instants, whole.instants)
        assert kept.all()
        lost = sum(end - begin for begin, end in torn.gaps)
        assert lost < 0.6  # s; the recorder begins a chunk every half second at least
        for row in range(0, len(torn.instants), 5):
            frame = torn.frame(row)
            there = whole.frame(whole.row(frame.time))
            assert len(frame.patches) == len(there.patches)


def test_gap_is_on_the_time_line(run, tmp_path, caplog):
    """Its place is told once in the log, and the scene has it for the page."""
    _, path, _ = run
    places = chunk_places(path)
    with TimeLine([Recording(damaged_copy(path, tmp_path, places[1:2]))]) as line:
        assert [record.levelname for record in caplog.records] == ["WARNING"]
        assert "is damaged" in caplog.text
        scene = line.scene(line.start)
        assert scene.gaps == line.gaps
        for begin, end in line.gaps:
            assert line.start <= begin < end <= line.end
    assert scene.as_json()["timeline"]["gaps"] == scene.gaps


def test_description_may_be_lost(run, tmp_path):
    """The first chunk holds it: then poses and contacts are left, without shapes."""
    _, path, _ = run
    with Recording(damaged_copy(path, tmp_path, chunk_places(path)[:1])) as torn:
        assert not torn.scene(0).visuals
        assert "left_finger" in torn.scene(0).links
        assert any(torn.frame(row).patches for row in range(len(torn.instants)))
