"""Layout of the shared memory: sections do not overlap, and what version 1 has promised stays where it is."""

from __future__ import annotations

import pytest

from hydro_sim_core.shared_memory import layout
from hydro_sim_core.shared_memory.layout import (
    REALS,
    VERSION,
    WORD,
    Header,
    Sizes,
    header_words,
    segment_path,
)

_SIZES = Sizes(num_q=20, num_v=19, joints=9, links=14, pairs=40, sensors=2, sensor_values=16, slots=8)


def test_words_that_are_real_exist() -> None:
    for section, names in REALS.items():
        assert names <= set(section.__members__), section


@pytest.mark.parametrize("sizes", [_SIZES, Sizes(1, 1, 0, 1, 0), Sizes(300, 280, 250, 300, 5000)])
def test_sections_follow_each_other(sizes: Sizes) -> None:
    words = header_words(sizes)
    lengths = {
        Header.AT_CONTROL: int(layout.Control.END),
        Header.AT_STATUS: int(layout.Status.END),
        Header.AT_HISTOGRAMS: layout.Histogram.END * words[Header.HISTOGRAM_WORDS],
        Header.AT_JOINTS: sizes.joints * words[Header.JOINT_WORDS],
        Header.AT_LINKS: sizes.links * words[Header.LINK_WORDS],
        Header.AT_PAIRS: sizes.pairs * words[Header.PAIR_WORDS],
        Header.AT_SENSORS: sizes.sensors * words[Header.SENSOR_WORDS],
        Header.AT_CHANNELS: layout.NUM_CHANNELS * words[Header.CHANNEL_WORDS],
        Header.AT_RING: sizes.slots * words[Header.SLOT_WORDS],
    }
    end = int(Header.END)
    for at, length in lengths.items():
        assert end <= words[at] < end + layout.LINE
        assert words[at] % layout.LINE == 0
        end = words[at] + length
    assert end * WORD <= words[Header.SIZE] < (end + layout.LINE) * WORD


def test_a_slot_holds_its_rows() -> None:
    words = header_words(_SIZES)
    starts = [
        (Header.SLOT_COMMANDS, layout.NUM_CHANNELS),
        (Header.SLOT_Q, 20),
        (Header.SLOT_V, 19),
        (Header.SLOT_JOINTS, 9 * layout.JointState.END),
        (Header.SLOT_LINKS, 14 * layout.LinkState.END),
        (Header.SLOT_WRENCHES, 40 * layout.Wrench.END),
        (Header.SLOT_SENSORS, 16),
    ]
    end = int(layout.Slot.END)
    for at, length in starts:
        assert words[at] == end
        end += length
    assert end <= words[Header.SLOT_WORDS]


def test_version_1_stays() -> None:
    """Clients are compiled against these numbers: whoever changes one raises ``MAJOR``, and this test with it."""
    assert VERSION == (1 << 32) + 2
    told = {
        section: [word.value for word in section]
        for section in (layout.Control, layout.Channel, layout.Command, layout.Slot, layout.JointState)
    }
    assert told[layout.Control] == [*range(11), 16]
    assert told[layout.Channel] == [0, 1, 2, 3, 4, 16, 17, 18, 19, 20, 21, 24]
    assert told[layout.Command] == list(range(9))
    assert told[layout.Slot] == [*range(18), 24]
    assert told[layout.JointState] == list(range(5))
    assert header_words(_SIZES)[Header.AT_RING] == 13808
    assert header_words(_SIZES)[Header.SLOT_WORDS] == 712


@pytest.mark.parametrize(
    ("name", "path"),
    [("hydro_sim", "/dev/shm/hydro_sim.hydro_sim"), ("/left/sim", "/dev/shm/hydro_sim.left.sim")],
)
def test_names_of_nodes_become_files(name: str, path: str) -> None:
    assert segment_path(name) == path
