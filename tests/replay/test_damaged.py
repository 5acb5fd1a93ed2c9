"""A damaged recording plays what is intact of it, and the gap is told."""

from __future__ import annotations

import random

import numpy as np
import pytest
from mcap.opcode import Opcode

from hydro_sim_core.recording import read_messages
from hydro_sim_core.recording.mcap_records import MAGIC, RecordWalk
from hydro_sim_core.replay import Recording, TimeLine


def damaged_copy(path, tmp_path, places):
    content = bytearray(path.read_bytes())
    for place in places:
        content[place] ^= 0x2A
    copy = tmp_path / "torn.mcap"
    copy.write_bytes(content)
    return copy


def places_in(path, kind):
    """A place in the middle of every record of a kind."""
    with path.open("rb") as file:
        walk = RecordWalk(file, path.stat().st_size)
        return [start + length // 2 for opcode, start, length in walk if opcode == kind]


@pytest.mark.heavy(5)
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
    places = places_in(path, Opcode.CHUNK)
    with TimeLine([Recording(damaged_copy(path, tmp_path, places[1:2]))]) as line:
        assert [record.levelname for record in caplog.records] == ["WARNING"]
        assert "is damaged" in caplog.text
        scene = line.scene(line.start)
        assert scene.gaps == line.gaps
        for begin, end in line.gaps:
            assert line.start <= begin < end <= line.end
    assert scene.as_json()["timeline"]["gaps"] == scene.gaps


def topics_told_once(recording):
    return {topic.name: topic.count for topic in recording.topics if topic.count == 1}


def test_shapes_outlive_the_first_chunk(run, tmp_path):
    """It holds the description and the fixed frames, which an attachment before it repeats."""
    _, path, _ = run
    torn_path = damaged_copy(path, tmp_path, places_in(path, Opcode.CHUNK)[:1])
    with Recording(path) as whole, Recording(torn_path) as torn:
        assert len(torn.instants) < len(whole.instants)
        assert {visual.link for visual in torn.scene(0).visuals} == {
            visual.link for visual in whole.scene(0).visuals
        }
        assert torn.scene(0).meshes.keys() == whole.scene(0).meshes.keys()
        assert topics_told_once(torn) == topics_told_once(whole)
        before = whole.frame(whole.row(torn.start))
        assert np.array_equal(torn.frame(0).poses, before.poses)
    read, there = (
        [message for message in read_messages(one) if message.topic in ("/robot_description", "/tf_static")]
        for one in (torn_path, path)
    )
    assert read == there


def test_damaged_copies_cost_nothing(run, tmp_path, caplog):
    _, path, _ = run
    copies = places_in(path, Opcode.ATTACHMENT)
    assert len(copies) == 2
    with Recording(path) as whole, Recording(damaged_copy(path, tmp_path, copies)) as torn:
        assert [topic.count for topic in torn.topics] == [topic.count for topic in whole.topics]
        assert torn.scene(0).meshes.keys() == whole.scene(0).meshes.keys()
        assert torn.gaps == ()
    assert not caplog.records


def test_lost_shapes_are_told(run, tmp_path, caplog):
    """Where the copies are lost too: then poses and contacts are left, and one line says what is missing."""
    world, path, _ = run
    places = places_in(path, Opcode.CHUNK)[:1] + places_in(path, Opcode.ATTACHMENT)
    with Recording(damaged_copy(path, tmp_path, places)) as torn:
        caplog.clear()
        assert not torn.scene(0).visuals
        assert "left_finger" in torn.scene(0).links
        assert any(torn.frame(row).patches for row in range(len(torn.instants)))
    (record,) = caplog.records
    why = "no shapes are drawn, for its robot_description is lost with what is damaged"
    assert record.getMessage() == f"{torn.path}: {why}; they are those of {world.scene.source}"
