"""A small recording of numbers, to cut and damage."""

from hydro_sim_core.messages.cdr import CdrWriter
from hydro_sim_core.recording.mcap_file import RecordingFile

FLOAT = "std_msgs/msg/Float64"


def number(value):
    writer = CdrWriter()
    writer.float64(float(value))
    return writer.bytes()


def record_numbers(path, topic):
    """Bytes of a file with the numbers 0 to 59, one a millisecond, ten a chunk; ``topic`` names the topic of each."""
    file = RecordingFile(path, overwrite=False)
    file.describe({"scene": "some"})
    for i in range(60):
        file.write(topic(i), FLOAT, 0.001 * i, number(i))
        if i % 10 == 9:
            file.flush()
    file.close()
    return path.read_bytes()
