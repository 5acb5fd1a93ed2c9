"""Copies of latched messages: what is told once must outlive a damaged place of a file.

Without the description a recording has no shapes, and without fixed frames no place for some of them. Both stand in the
first chunk, of which one wrong byte leaves nothing. A copy is an attachment, which other programs pass over: a chunk of
its own, with its own checksum, of the message, its channel and its schema.
"""

from __future__ import annotations

import zlib
from contextlib import suppress
from io import BytesIO
from typing import BinaryIO, Final

import zstandard
from mcap.data_stream import ReadDataStream, RecordBuilder
from mcap.records import Channel, Chunk, Message, Schema

from hydro_sim_core.recording.mcap_records import FRAME

#: Kind of attachment; its name is the topic.
MEDIA_TYPE: Final = "application/x-mcap-chunk"
#: Where the chunk begins in a copy at the latest, bytes: topics have short names.
_LONGEST_HEAD: Final = 2**12


def packed_copy(schema: Schema, channel: Channel, message: Message) -> bytes:
    """Content of a chunk of one message and what it takes to read it."""
    builder = RecordBuilder()
    for record in (schema, channel, message):
        record.write(builder)
    records = builder.end()
    chunk = Chunk(
        compression="zstd",
        data=zstandard.compress(records),
        message_start_time=message.log_time,
        message_end_time=message.log_time,
        uncompressed_crc=zlib.crc32(records),
        uncompressed_size=len(records),
    )
    chunk.write(builder)
    return builder.end()[FRAME.size :]


def chunk_of_copy(file: BinaryIO, start: int, length: int) -> tuple[int, int] | None:
    """Place and length of the chunk in an attachment; None for an attachment that is no copy.

    Args:
        file: The file.
        start: Place of the attachment's content in it.
        length: Length of that content.
    """
    file.seek(start)
    head = ReadDataStream(BytesIO(file.read(min(length, _LONGEST_HEAD))))
    with suppress(Exception):  # damaged data may raise anything in the library
        head.read(16)  # its times
        head.read_prefixed_string()
        if head.read_prefixed_string() == MEDIA_TYPE:
            size = head.read8()
            return start + head.count, size
    return None
