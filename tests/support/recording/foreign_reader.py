"""Reads recordings with a library that is not ours."""

from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory


def decoded(path):
    """(log time in ns, message) of every topic, read by Foxglove's library from the definitions in the file."""
    messages = {}
    with path.open("rb") as file:
        reader = make_reader(file, validate_crcs=True, decoder_factories=[DecoderFactory()])
        for _, channel, message, content in reader.iter_decoded_messages():
            messages.setdefault(channel.topic, []).append((message.log_time, content))
    return messages
