"""The node's transports: more shared memory than Fast DDS takes by itself, unless a user chooses."""

import os
from pathlib import Path

import pytest

from hydro_sim.fast_dds import choose_shared_memory

PROFILES = ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")
LARGE = 30 * 2**20  # bytes


def test_fast_dds_makes_the_large_segment_and_has_no_complaint(node):
    """A message of contact markers is as large as the default segment: see docs/ros_topics.md."""
    maps = Path(f"/proc/{node.pid}/maps").read_text().splitlines()
    segments = [line.split() for line in maps if "/fastrtps_" in line or "/fastdds_" in line]
    sizes = [int(end, 16) - int(start, 16) for start, end in (words[0].split("-") for words in segments)]
    assert max(sizes, default=0) > LARGE
    assert "XMLPARSER" not in node.output


@pytest.mark.parametrize(
    "chosen",
    [
        {PROFILES[0]: "/profiles.xml"},
        {PROFILES[1]: "/profiles.xml"},
        {"FASTDDS_BUILTIN_TRANSPORTS": "UDPv4"},
        {"ROS_DISCOVERY_SERVER": "127.0.0.1:11811"},
        {"ROS_STATIC_PEERS": "192.168.0.1"},
    ],
    ids=lambda chosen: next(iter(chosen)),
)
def test_what_a_user_has_chosen_stays(chosen):
    environment = dict(chosen)
    assert not choose_shared_memory(environment)
    assert environment == chosen


def test_a_profile_in_the_working_directory_stays(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    environment: dict[str, str] = {}
    assert choose_shared_memory(environment)
    assert all(os.path.isfile(environment[name]) for name in PROFILES)
    environment.clear()
    (tmp_path / "DEFAULT_FASTRTPS_PROFILES.xml").touch()
    assert not choose_shared_memory(environment)
    assert not environment
