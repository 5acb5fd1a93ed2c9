"""Recordings of strangers: cut, torn and made-up files, bombs, absurd messages and definitions."""

from __future__ import annotations

import os
import random
import struct
import zlib
from collections.abc import Callable, Sequence
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import lz4.frame
import numpy as np
import zstandard
from mcap.writer import CompressionType, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from hydro_sim_core.assets import folder as assets
from hydro_sim_core.recording.mcap_records import FRAME, MAGIC
from hydro_sim_core.recording.message_types import message_types
from support.hostile.cases import add

GROUP = "recordings"
PLAY = ("replay", "run.mcap")
PLOT = ("plot", "pitch", "run.mcap", "--out", "pitch.png")
TF, TEXT, JOINTS = "tf2_msgs/msg/TFMessage", "std_msgs/msg/String", "sensor_msgs/msg/JointState"
PATCHES = "hydro_sim_msgs/msg/ContactPatchArray"
ESCAPE = "\x1b[31mred\x07\x9b2J\u202e"
#: Topic, type, time in ns, message.
Row = tuple[str, str, int, bytes]


@cache
def store() -> Any:
    """Types that messages are made of."""
    types = get_typestore(Stores.ROS2_JAZZY)
    for path in sorted(assets("msg").glob("*.msg")):
        types.register(get_types_from_msg(path.read_text(), f"hydro_sim_msgs/msg/{path.stem}"))
    return types


def message(type_name: str, **fields: Any) -> bytes:
    return bytes(store().serialize_cdr(store().types[type_name](**fields), type_name))


def header(frame: str = "world") -> Any:
    types = store().types
    stamp = types["builtin_interfaces/msg/Time"](sec=0, nanosec=0)
    return types["std_msgs/msg/Header"](stamp=stamp, frame_id=frame)


def transform(
    parent: str = "world",
    child: str = "box",
    position: Sequence[float] = (0.0, 0.0, 1.0),
    turn: Sequence[float] = (0.0, 0.0, 0.0, 1.0),
) -> Any:
    types = store().types
    pose = types["geometry_msgs/msg/Transform"](
        types["geometry_msgs/msg/Vector3"](*position), types["geometry_msgs/msg/Quaternion"](*turn)
    )
    return types["geometry_msgs/msg/TransformStamped"](header(parent), child, pose)


def poses(*transforms: Any) -> bytes:
    return message(TF, transforms=list(transforms))


def joints(names: list[str], positions: Sequence[float]) -> bytes:
    none = np.zeros(0)
    return message(
        JOINTS, header=header(), name=names, position=np.array(positions), velocity=none, effort=none
    )


def recording(
    *rows: Row,
    definitions: dict[str, bytes] | None = None,
    encodings: tuple[str, str] = ("cdr", "ros2msg"),
    about: dict[str, str] | None = None,
    chunk_size: int = 1024,
    compression: CompressionType = CompressionType.ZSTD,
) -> bytes:
    """Bytes of a recording; ten seconds of a falling box unless there are rows."""
    rows = rows or tuple(usual())
    stream = BytesIO()
    writer = Writer(stream, chunk_size=chunk_size, compression=compression)
    writer.start("ros2", "hostile")
    if about is not None:
        writer.add_metadata("hydro_sim", about)
    channels: dict[tuple[str, str], int] = {}
    for topic, kind, time, data in rows:
        if (topic, kind) not in channels:
            definition = (definitions or {}).get(kind)
            if definition is None:
                definition = message_types().definition(kind).encode() if kind in message_types() else b""
            schema = writer.register_schema(kind, encodings[1], definition)
            channels[topic, kind] = writer.register_channel(topic, encodings[0], schema)
        writer.add_message(channels[topic, kind], time, data, time)
    writer.finish()
    return stream.getvalue()


def usual() -> list[Row]:
    urdf = '<robot name="b"><link name="box"><visual><geometry><box size="1 1 1"/></geometry></visual></link></robot>'
    rows: list[Row] = [("/robot_description", TEXT, 0, message(TEXT, data=urdf))]
    for i in range(100):
        rows.append(("/tf", TF, 10**8 * i, poses(transform(position=(0.0, 0.0, 1.0 - 0.01 * i)))))
    return rows


@cache
def plain() -> bytes:
    return recording()


def file(content: bytes | Callable[[], bytes], *arguments: str) -> Callable[[Path], Sequence[str]]:
    """Writer of a recording that is played."""

    def write(folder: Path) -> Sequence[str]:
        (folder / "run.mcap").write_bytes(content if isinstance(content, bytes) else content())
        return arguments or PLAY

    return write


def each(cases: dict[str, bytes | Callable[[], bytes]], *arguments: str) -> None:
    for name, content in cases.items():
        add(GROUP, name, file(content, *arguments), makes=("pitch.png",))


def record(opcode: int, content: bytes, length: int | None = None) -> bytes:
    return FRAME.pack(opcode, len(content) if length is None else length) + content


def text(value: bytes) -> bytes:
    return struct.pack("<I", len(value)) + value


def chunk(packed: bytes, claimed: int, name: bytes = b"zstd", checksum: int = 0) -> bytes:
    head = struct.pack("<QQQI", 0, 0, claimed, checksum) + text(name)
    return record(6, head + struct.pack("<Q", len(packed)) + packed)


def around(*records: bytes) -> bytes:
    """A file of records."""
    return MAGIC + record(1, text(b"ros2") + text(b"")) + b"".join(records) + record(2, bytes(20)) + MAGIC


def packed(content: bytes) -> bytes:
    """A chunk of these records."""
    return chunk(zstandard.compress(content), len(content), checksum=zlib.crc32(content))


def zeros(size: int) -> bytes:
    """So many zeros, packed by zstd."""
    packer = zstandard.ZstdCompressor(level=3).compressobj()
    parts = [packer.compress(bytes(2**22)) for _ in range(size // 2**22)]
    return b"".join([*parts, packer.flush()])


def lz4_zeros(size: int) -> bytes:
    packer = lz4.frame.LZ4FrameCompressor()
    parts = [packer.begin()] + [packer.compress(bytes(2**22)) for _ in range(size // 2**22)]
    return b"".join([*parts, packer.flush()])


def schema(number: int, name: bytes = b"x", definition: bytes = b"float64 x") -> bytes:
    return record(3, struct.pack("<H", number) + text(name) + text(b"ros2msg") + text(definition))


def channel(number: int, of: int, topic: bytes = b"/tf") -> bytes:
    return record(4, struct.pack("<HH", number, of) + text(topic) + text(b"cdr") + text(b""))


def sent(number: int, time: int = 0, data: bytes = b"") -> bytes:
    return record(5, struct.pack("<HIQQ", number, 0, time, time) + data)


def flipped(seed: int) -> bytes:
    content = bytearray(plain())
    content[random.Random(seed).randrange(len(content))] ^= 1 << seed % 8
    return bytes(content)


def overwritten(seed: int) -> bytes:
    """A run of a hundred bytes is noise."""
    content, noise = bytearray(plain()), random.Random(seed)
    at = noise.randrange(len(content) - 100)
    content[at : at + 100] = noise.randbytes(100)
    return bytes(content)


for share in range(0, 100, 8):
    add(GROUP, f"cut at {share} %", file(lambda share=share: plain()[: len(plain()) * share // 100]))
for seed in range(25):
    add(GROUP, f"one bit, {seed}", file(lambda seed=seed: flipped(seed), *(PLOT if seed % 5 == 0 else PLAY)),
        makes=("pitch.png",))  # fmt: skip
for seed in range(10):
    add(GROUP, f"noise, {seed}", file(lambda seed=seed: overwritten(seed)))
NOTHING = record(5, bytes(22))
each(
    {
        "empty": b"",
        "magic": MAGIC,
        "magic twice": MAGIC * 2,
        "magic often": MAGIC * 10_000,
        "another format": b"#ROSBAG V2.0\n" * 99,
        "noise": lambda: MAGIC + random.Random(1).randbytes(10**6) + MAGIC,
        "ones": MAGIC + b"\xff" * 10**5,
        "many places of records": lambda: MAGIC + b"\0" + b"\x05\x10" + b"\0" * 8 * 10**6 + MAGIC,
        "places everywhere": lambda: MAGIC + b"\0" + (b"\x05\xff\x10" + b"\0" * 6) * 10**6 + MAGIC,
        "footers": around(*[record(2, bytes(20))] * 99),
        "records longer than the file": around(record(3, b"", 2**62), record(6, b"", 2**63)),
        "record of the length of the file": around(record(9, b"", 2**20)),
        "unknown records": around(*[record(0x90, bytes(99))] * 999),
        "empty records": around(*[record(code, b"") for code in range(1, 16)]),
        "no channel": around(*[sent(7)] * 99),
        "channel without schema": around(channel(1, 9), sent(1)),
        "times without end": around(schema(1, TF.encode()), channel(1, 1), sent(1, 2**64 - 1), sent(1, 2**63)),
        "time backwards": lambda: recording(*reversed(usual())),
        "chunk in a chunk": around(packed(packed(NOTHING))),
        "chunk of noise": lambda: around(chunk(random.Random(2).randbytes(10**5), 10**6)),
        "chunk of a claim": around(chunk(zstandard.compress(bytes(99)), 2**60)),
        "chunk without bytes": around(chunk(b"", 0), chunk(b"", 99)),
        "unknown compression": around(chunk(bytes(99), 99, b"brotli"), chunk(b"", 0, b"\x1b[31m" * 99)),
        "zstd bomb of little claim": lambda: around(chunk(zeros(2**31), 1000)),
        "zstd bomb of its claim": lambda: around(chunk(zeros(2**31), 2**31)),
        "zstd bombs of the largest chunk": lambda: around(*[chunk(zeros(2**27), 2**27)] * 40),
        "zstd bombs of wrong checksums": lambda: around(*[chunk(zeros(2**27), 2**27, checksum=1)] * 100),
        "lz4 bomb of little claim": lambda: around(chunk(lz4_zeros(2**31), 1000, b"lz4")),
        "lz4 bomb of its claim": lambda: around(chunk(lz4_zeros(2**31), 2**31, b"lz4")),
        "large window": around(chunk(b"\x28\xb5\x2f\xfd\x00\xf8" + bytes(99), 99)),
        "messages of nothing": lambda: around(schema(1), channel(1, 1), packed(NOTHING * 10**6)),
        "many chunks": lambda: around(schema(1, TF.encode()), channel(0, 1), *[packed(NOTHING)] * 30_000),
        "many channels": lambda: around(packed(b"".join(
            schema(i, TF.encode()) + channel(i, i, b"/%d/tf" % i) + sent(i) for i in range(1, 20_000)))),
        "channels of one number": around(schema(1), *[channel(1, 1, b"/%d" % i) for i in range(999)], sent(1)),
        "metadata": lambda: around(*[record(12, text(b"hydro_sim") + text(text(b"a") + text(bytes(10**6))))] * 99),
        "attachment of a claim": around(record(9, bytes(16) + text(b"") * 2 + struct.pack("<Q", 2**60) + bytes(4))),
    }
)  # fmt: skip

BAD = float("nan")


def frames(*transforms: Any) -> Callable[[], bytes]:
    return lambda: recording(("/tf", TF, 0, poses(*transforms)), ("/tf", TF, 10**9, poses(*transforms)))


def described(urdf: str) -> Callable[[], bytes]:
    return lambda: recording(("/robot_description", TEXT, 0, message(TEXT, data=urdf)), *usual()[1:])


def defined(
    definition: bytes, data: bytes = bytes(400), encodings: tuple[str, str] = ("cdr", "ros2msg")
) -> Any:
    return lambda: recording(("/tf", TF, 0, data), definitions={TF: definition}, encodings=encodings)


def about(**fields: str) -> Callable[[], bytes]:
    return lambda: recording(about=fields)


LAUGHS = '<!DOCTYPE r [<!ENTITY a "' + "ha" * 99 + '">' + "".join(
    f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(9)
) + "]><robot name='r'><link name='&j;'/></robot>"  # fmt: skip
each(
    {
        "pose not a number": frames(transform(position=(BAD, 0.0, 0.0))),
        "pose without turn": frames(transform(turn=(0.0, 0.0, 0.0, 0.0))),
        "pose far away": frames(transform(position=(1e308, -1e308, 1e308))),
        "frames in a circle": frames(transform("a", "b"), transform("b", "c"), transform("c", "a")),
        "frame on itself": frames(transform("a", "a")),
        "a chain of frames": lambda: frames(*[transform(f"f{i}", f"f{i + 1}") for i in range(5000)])(),
        "frames with controls": frames(transform("world", ESCAPE)),
        "frames without names": frames(transform("", "")),
        "no frames": frames(),
        "message too short": lambda: recording(("/tf", TF, 0, b"\0\1\0\0\xff\xff\xff\xff")),
        "message empty": lambda: recording(("/tf", TF, 0, b"")),
        "message of a claim": lambda: recording(("/tf", TF, 0, b"\0\1\0\0" + struct.pack("<I", 2**31) + bytes(99))),
        "topic with controls": lambda: recording((f"/{ESCAPE}\nERROR: forged", TF, 0, poses(transform()))),
        "topic with controls that is shown": lambda: recording((f"/{ESCAPE}/tf", TF, 0, poses(transform()))),
        "topic of 60 kB": lambda: recording(("/" + "x" * 60_000, TF, 0, poses(transform()))),
        "topic of 60 kB that is shown": lambda: recording(("/" + "x" * 60_000 + "/tf", TF, 0, poses(transform()))),
        "topics": lambda: recording(*[(f"/{i}", TF, 0, poses()) for i in range(3000)]),
        "joints of one number": lambda: recording(
            *usual(), ("/joint_states", JOINTS, 0, joints(["a", "b", ESCAPE], [BAD]))),
        "description: none": described(""),
        "description: no XML": described("<robot"),
        "description: not a robot": described("<sdf/>"),
        "description: a bomb": described(LAUGHS),
        "description: a file": described("<!DOCTYPE r [<!ENTITY f SYSTEM 'file:///etc/passwd'>]><robot name='&f;'/>"),
        "description: meshes elsewhere": described(
            "<robot name='r'><link name='box'><visual><geometry><mesh filename='file:///dev/zero'/></geometry></visual>"
            "<visual><geometry><mesh filename='file:///etc/passwd'/></geometry></visual></link></robot>"),
        "description: deep": lambda: described("<a>" * 10**5)(),
        "description: names with controls": described("<robot name='r'><link name='&#x9b;2J\u202e'/></robot>"),
        "description: large box": described(
            "<robot name='r'><link name='box'><visual><geometry><box size='1e300 nan -1'/></geometry></visual></link>"
            "</robot>"),
        "definition: none": defined(b""),
        "definition: noise": lambda: defined(random.Random(3).randbytes(10**4))(),
        "definition: of itself": defined(b"tf2_msgs/TFMessage[] transforms"),
        "definition: missing types": defined(b"geometry_msgs/TransformStamped[] transforms"),
        "definition: an array of 2^40": defined(b"float64[1099511627776] transforms"),
        "definition: arrays of arrays": defined(
            b"A[99999] a\n===\nMSG: tf2_msgs/A\nB[99999] b\n===\nMSG: tf2_msgs/B\nC[99999] c\n===\nMSG: tf2_msgs/C\n"
            b"float64 x"),
        "definition: other fields": defined(b"float64[] transforms"),
        "definition: long": lambda: defined(b"float64 x\n" * 10**5)(),
        "definition: constants": defined(b"float64 x=9e999999\nint8 y=99999999999\nstring z=\x1b[31m"),
        "definition: encoded otherwise": defined(b"float64 x", encodings=("json", "jsonschema")),
        "definition: encoded with controls": defined(b"float64 x", encodings=(ESCAPE, ESCAPE)),
        "about: step": about(time_step="nan", scene=ESCAPE),
        "about: step too long": about(time_step="1e400", scene="x" * 10**5),
        "about: continues itself": about(recording="a", number="0", continues="run.mcap"),
        "about: numbers": about(recording="a", number="9" * 9999, continues=""),
        "about: number below": about(recording="a", number="-1", continues=""),
        "about: elsewhere": about(recording="../../etc/passwd", number="0", continues=""),
    }
)  # fmt: skip


def patches(**fields: Any) -> Callable[[], bytes]:
    """A contact patch of one triangle with other fields."""

    def make() -> bytes:
        kinds = store().types
        kind = kinds["hydro_sim_msgs/msg/ContactPatch"]
        zero = kinds["geometry_msgs/msg/Vector3"](0.0, 0.0, 0.0)
        values = {
            **dict.fromkeys(("body_a", "body_b", "geometry_a", "geometry_b"), "a"),
            **dict.fromkeys(("area", "peak_pressure", "energy", "force_error"), 0.0),
            **dict.fromkeys(("face_size_ratio", "lost_force_share"), 0.0),
            **dict.fromkeys(("normals", "slip_velocities"), np.zeros(3, np.float32)),
            **dict.fromkeys(("pressures", "areas"), np.ones(1, np.float32)),
            "wrench_on_b": kinds["geometry_msgs/msg/Wrench"](zero, zero),
            "reference_point": kinds["geometry_msgs/msg/Point"](0.0, 0.0, 0.0),
            "flags": 0,
            "centroids": np.zeros(3),
            "vertex_counts": np.full(1, 3, np.uint8),
            "vertices": np.zeros(9),
            "vertex_pressures": np.ones(3, np.float32),
            **{name: value for name, value in fields.items() if name != "frame"},
        }
        told = message(PATCHES, header=header(fields.get("frame", "world")), patches=[kind(**values)])
        return recording(*usual(), ("/patches", PATCHES, 10**9, told))

    return make


each(
    {
        "patch": patches(),
        "patch: more counts than vertices": patches(vertex_counts=np.full(1, 255, np.uint8)),
        "patch: faces of two": patches(vertex_counts=np.full(1, 2, np.uint8), vertices=np.zeros(6)),
        "patch: not numbers": patches(vertices=np.full(9, np.nan)),
        "patch: pressures without end": patches(pressures=np.full(1, np.inf, np.float32)),
        "patch: area below zero": patches(areas=np.full(1, -1.0, np.float32)),
        "patch: large": patches(vertices=np.full(9, 1e300)),
        "patch: bodies with controls": patches(body_a=ESCAPE, body_b="[/nope]"),
        "patch: frame of nobody": patches(frame="nowhere"),
    }
)


def kinds_of_files(folder: Path) -> dict[str, Path]:
    os.mkfifo(folder / "pipe.mcap")
    (folder / "zero.mcap").symlink_to("/dev/zero")
    (folder / "gone.mcap").symlink_to("nowhere")
    (folder / "self.mcap").symlink_to("self.mcap")
    (folder / "empty").mkdir()
    (folder / "mixed").mkdir()
    for name in ("a", "b"):
        (folder / "mixed" / f"{name}.mcap").write_bytes(plain())
    (folder / "torn").mkdir()
    (folder / "torn" / "a.mcap").write_bytes(b"x")
    with (folder / "large.mcap").open("wb") as stream:
        stream.write(plain()[:-8])
        stream.truncate(2**26)
    return {path.stem: path for path in folder.iterdir()}


def of_kind(kind: str, command: Sequence[str]) -> Callable[[Path], Sequence[str]]:
    def write(folder: Path) -> Sequence[str]:
        name = kinds_of_files(folder)[kind].name
        return [name if part == "RUN" else part for part in command]

    return write


for kind in ("pipe", "zero", "gone", "self", "empty", "mixed", "torn", "large"):
    for command in (("replay", "RUN"), ("plot", "pitch", "RUN", "--out", "pitch.png")):
        add(GROUP, f"{kind} for {command[0]}", of_kind(kind, command), makes=("pitch.png",))


def circle(folder: Path) -> Sequence[str]:
    """Each file says that it continues the other."""
    for number, (name, before) in enumerate(
        (("run.mcap", ""), ("run_1.mcap", "run.mcap"), ("run_2.mcap", "run_2.mcap"))
    ):
        fields = {"recording": "a", "number": str(number), "continues": before}
        (folder / name).write_bytes(recording(about=fields))
    return PLAY


add(GROUP, "parts in a circle", circle)
