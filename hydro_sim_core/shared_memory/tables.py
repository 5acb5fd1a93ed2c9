"""What a segment tells once: the scene, its joints, links, pairs and sensors."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from hydro_sim_core.shared_memory.layout import (
    NAME_WORDS,
    NUM_SLOTS,
    REALS,
    Header,
    Joint,
    JointKind,
    Link,
    Mode,
    Pair,
    Sensor,
    SensorKind,
    Sizes,
    header_words,
)
from hydro_sim_core.shared_memory.memory import Memory


@dataclass(frozen=True)
class JointRow:
    """A joint with one coordinate.

    Attributes:
        name: Its name.
        kind: A ``JointKind``; a plain number if it is of a later version.
        interfaces: Modes that its commands may have.
        q: Its coordinate; that of its master for a mimic joint.
        v: Its velocity, likewise.
        mimics: Row of its master, -1 without.
        lower: Least position, rad or m; infinite without a limit.
        upper: Largest position.
        max_velocity: Largest velocity, rad/s or m/s.
        max_effort: Largest effort, N m or N.
        kp: Stiffness of its drive, which commands without gains have.
        kd: Damping of its drive.
    """

    name: str
    kind: int
    interfaces: Mode
    q: int
    v: int
    mimics: int = -1
    lower: float = -math.inf
    upper: float = math.inf
    max_velocity: float = math.inf
    max_effort: float = math.inf
    kp: float = 0.0
    kd: float = 0.0


@dataclass(frozen=True)
class LinkRow:
    """A link.

    Attributes:
        name: Its name.
    """

    name: str


@dataclass(frozen=True)
class PairRow:
    """A pair of shapes that may touch.

    Attributes:
        link_a: Row of the link of A, -1 for the world.
        link_b: Row of the link of B.
    """

    link_a: int
    link_b: int


@dataclass(frozen=True)
class SensorRow:
    """A sensor.

    Attributes:
        name: Its name.
        kind: A ``SensorKind``; a plain number if it is of a later version.
        first: Its first value among those of all sensors.
        count: Number of its values.
        link: Row of its link.
    """

    name: str
    kind: int
    first: int
    count: int
    link: int


_Row = JointRow | LinkRow | PairRow | SensorRow


@dataclass(frozen=True)
class Tables:
    """All that is constant in a segment.

    Attributes:
        scene: Name of the scene.
        time_step: Simulated time of a step, s.
        num_q: Number of coordinates.
        num_v: Number of velocities.
        joints: Joints with one coordinate.
        links: Links.
        pairs: Pairs of shapes that may touch.
        sensors: Sensors.
    """

    scene: str
    time_step: float
    num_q: int
    num_v: int
    joints: tuple[JointRow, ...] = ()
    links: tuple[LinkRow, ...] = ()
    pairs: tuple[PairRow, ...] = ()
    sensors: tuple[SensorRow, ...] = ()

    def sizes(self, slots: int = NUM_SLOTS) -> Sizes:
        """Numbers that the layout of a segment for them depends on."""
        return Sizes(
            num_q=self.num_q,
            num_v=self.num_v,
            joints=len(self.joints),
            links=len(self.links),
            pairs=len(self.pairs),
            sensors=len(self.sensors),
            sensor_values=sum(sensor.count for sensor in self.sensors),
            slots=slots,
        )

    def write(self, memory: Memory, slots: int = NUM_SLOTS) -> None:
        """Write header and tables into the memory of a segment; all words but those of ``READY`` and the owner."""
        header = header_words(self.sizes(slots))
        for word, value in header.items():
            memory.words[word] = value
        memory.reals[Header.TIME_STEP] = self.time_step
        memory.set_text(Header.SCENE_NAME, NAME_WORDS, self.scene)
        _write_rows(memory, Joint, header[Header.AT_JOINTS], self.joints)
        _write_rows(memory, Link, header[Header.AT_LINKS], self.links)
        _write_rows(memory, Pair, header[Header.AT_PAIRS], self.pairs)
        _write_rows(memory, Sensor, header[Header.AT_SENSORS], self.sensors)

    @classmethod
    def read(cls, memory: Memory) -> Tables:
        """Read the tables of a segment whose header has been checked."""
        words = memory.words

        def rows(at: Header, stride: Header, count: Header) -> list[int]:
            return [words[at] + i * words[stride] for i in range(words[count])]

        return cls(
            scene=memory.text(Header.SCENE_NAME, NAME_WORDS),
            time_step=memory.reals[Header.TIME_STEP],
            num_q=words[Header.NUM_Q],
            num_v=words[Header.NUM_V],
            joints=tuple(
                _read_joint(memory, at)
                for at in rows(Header.AT_JOINTS, Header.JOINT_WORDS, Header.NUM_JOINTS)
            ),
            links=tuple(
                LinkRow(memory.text(at + Link.NAME, NAME_WORDS))
                for at in rows(Header.AT_LINKS, Header.LINK_WORDS, Header.NUM_LINKS)
            ),
            pairs=tuple(
                PairRow(words[at + Pair.LINK_A], words[at + Pair.LINK_B])
                for at in rows(Header.AT_PAIRS, Header.PAIR_WORDS, Header.NUM_PAIRS)
            ),
            sensors=tuple(
                _read_sensor(memory, at)
                for at in rows(Header.AT_SENSORS, Header.SENSOR_WORDS, Header.NUM_SENSORS)
            ),
        )


def _write_rows(memory: Memory, section: type[IntEnum], begin: int, rows: Iterable[_Row]) -> None:
    """Rows of a table: attributes bear the names of their words in lower case."""
    for i, row in enumerate(rows):
        at = begin + i * section["END"]
        for name, word in section.__members__.items():
            if name == "NAME":
                memory.set_text(at + word, NAME_WORDS, row.name)  # type: ignore[union-attr]
            elif name in REALS.get(section, ()):
                memory.reals[at + word] = getattr(row, name.lower())
            elif name != "END":
                memory.words[at + word] = getattr(row, name.lower())


def _read_joint(memory: Memory, at: int) -> JointRow:
    words, reals = memory.words, memory.reals
    return JointRow(
        name=memory.text(at + Joint.NAME, NAME_WORDS),
        kind=_kind(JointKind, words[at + Joint.KIND]),
        interfaces=Mode(words[at + Joint.INTERFACES]),
        q=words[at + Joint.Q],
        v=words[at + Joint.V],
        mimics=words[at + Joint.MIMICS],
        lower=reals[at + Joint.LOWER],
        upper=reals[at + Joint.UPPER],
        max_velocity=reals[at + Joint.MAX_VELOCITY],
        max_effort=reals[at + Joint.MAX_EFFORT],
        kp=reals[at + Joint.KP],
        kd=reals[at + Joint.KD],
    )


def _read_sensor(memory: Memory, at: int) -> SensorRow:
    words = memory.words
    return SensorRow(
        name=memory.text(at + Sensor.NAME, NAME_WORDS),
        kind=_kind(SensorKind, words[at + Sensor.KIND]),
        first=words[at + Sensor.FIRST],
        count=words[at + Sensor.COUNT],
        link=words[at + Sensor.LINK],
    )


def _kind(kinds: type[IntEnum], value: int) -> int:
    return kinds(value) if value in list(kinds) else value
