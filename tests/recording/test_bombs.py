"""Small files that claim or unpack to much are refused, with little memory, and what is no file is not opened."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import zlib
from functools import cache
from io import BytesIO

import lz4.frame
import pytest
import zstandard
from mcap.writer import CompressionType, Writer

from hydro_sim_core.errors import InputError
from hydro_sim_core.recording import MessageIndex, contents, read_messages
from hydro_sim_core.recording.copies import MEDIA_TYPE
from hydro_sim_core.recording.mcap_records import FRAME, MAGIC

GIGABYTES = 2 * 2**30
#: Prints the peak of memory that reading took, MB.
MEASURE = """
import resource, sys
from pathlib import Path
from hydro_sim_core.errors import InputError
from hydro_sim_core.recording import MessageIndex
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    MessageIndex(Path(sys.argv[1])).close()
except InputError as error:
    print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


@cache
def zstd_of_zeros(size):
    stream = BytesIO()
    with zstandard.ZstdCompressor(level=1).stream_writer(stream, closefd=False) as packer:
        for _ in range(size // 2**24):
            packer.write(bytes(2**24))
    return stream.getvalue()


@cache
def lz4_of_zeros(size):
    packer = lz4.frame.LZ4FrameCompressor()
    parts = [packer.begin()] + [packer.compress(bytes(2**24)) for _ in range(size // 2**24)]
    return b"".join([*parts, packer.flush()])


def chunk(name, packed, claimed, checksum=0):
    content = struct.pack("<QQQI", 0, 0, claimed, checksum)
    content += struct.pack("<I", len(name)) + name + struct.pack("<Q", len(packed)) + packed
    return FRAME.pack(6, len(content)) + content


def file_of(*records):
    return MAGIC + FRAME.pack(1, 8) + bytes(8) + b"".join(records) + FRAME.pack(2, 20) + bytes(20) + MAGIC


@pytest.mark.heavy(4)
@pytest.mark.parametrize(("name", "pack"), [(b"zstd", zstd_of_zeros), (b"lz4", lz4_of_zeros)])
@pytest.mark.parametrize("claimed", [1000, GIGABYTES])
def test_a_chunk_is_unpacked_as_far_as_it_may_be(tmp_path, name, pack, claimed):
    """Whatever it claims: a process that reads it needs no more than a few chunks' room."""
    path = tmp_path / "bomb.mcap"
    path.write_bytes(file_of(chunk(name, pack(GIGABYTES), claimed)))
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, timeout=60, check=True
    )
    problem, peak = done.stdout.splitlines()
    assert problem == f"{path}: is damaged, and no message is left; give a recording"
    assert float(peak) < 300.0


def copy_of(chunk):
    """The same chunk as a copy of a latched message."""
    content = chunk[FRAME.size :]
    kind = MEDIA_TYPE.encode()
    body = bytes(16) + struct.pack("<II", 0, len(kind)) + kind + struct.pack("<Q", len(content)) + content
    return FRAME.pack(9, len(body) + 4) + body + bytes(4)


@pytest.mark.parametrize("told", [lambda chunk: chunk, copy_of], ids=["told", "copied"])
def test_many_chunks_of_nothing_are_refused_when_they_are_too_much(tmp_path, monkeypatch, told):
    monkeypatch.setattr(contents, "_UNPACKED", 2**20)
    monkeypatch.setattr(contents, "_UNPACKED_RATIO", 1)
    attachment = FRAME.pack(0x80, 2**16) + bytes(2**16)
    packed = zstandard.compress(attachment)
    path = tmp_path / "bomb.mcap"
    path.write_bytes(file_of(*[told(chunk(b"zstd", packed, len(attachment)))] * 40))
    with pytest.raises(InputError, match="unpacks to more than a recording of its size would"):
        MessageIndex(path)


def test_more_records_than_fit_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(contents, "_RECORDS", 1000)
    records = (FRAME.pack(5, 22) + bytes(22)) * 5000
    path = tmp_path / "bomb.mcap"
    path.write_bytes(file_of(chunk(b"zstd", zstandard.compress(records), len(records), zlib.crc32(records))))
    with pytest.raises(InputError, match="holds more records than a recording of its size would"):
        MessageIndex(path)


def test_more_descriptions_than_fit_are_refused(tmp_path):
    stream = BytesIO()
    writer = Writer(stream, compression=CompressionType.ZSTD)
    writer.start()
    for number in range(80):
        writer.add_metadata("x", {"y": f"{number}" + "z" * 10**6})
    writer.finish()
    path = tmp_path / "bomb.mcap"
    path.write_bytes(stream.getvalue())
    with pytest.raises(InputError, match="describes more than a recording does"):
        list(read_messages(path))


@pytest.mark.parametrize("read", [MessageIndex, lambda path: list(read_messages(path))])
def test_what_is_no_regular_file_is_not_opened(tmp_path, read):
    os.mkfifo(tmp_path / "pipe.mcap")
    (tmp_path / "zero.mcap").symlink_to("/dev/zero")
    for name, kind in (("pipe.mcap", "a named pipe"), ("zero.mcap", "a device")):
        with pytest.raises(InputError, match=f"{name}: is {kind}; give a recording"):
            read(tmp_path / name)


def test_a_file_of_nothing_is_not_searched_to_its_end(tmp_path):
    """It takes no room on the disk, and would take an hour."""
    path = tmp_path / "run.mcap"
    with path.open("wb") as stream:
        stream.write(MAGIC)
        stream.truncate(2**42)
    with pytest.raises(InputError, match="is damaged, and no message is left"):
        MessageIndex(path)


def test_made_up_places_of_records_end_the_search(tmp_path, monkeypatch):
    """Every eighth byte of the file looks like the beginning of a record."""
    monkeypatch.setattr("hydro_sim_core.recording.mcap_records._MOST_PLACES", 1000)
    path = tmp_path / "run.mcap"
    path.write_bytes(MAGIC + b"\x00" + b"\x05\x10\x00\x00\x00\x00\x00\x00\x00\x00" * 10**5 + MAGIC)
    with pytest.raises(InputError, match="is damaged, and no message is left"):
        MessageIndex(path)
