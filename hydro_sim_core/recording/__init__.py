"""Recordings: MCAP files of ROS 2 messages, their writer in a thread of its own, and readers; needs no ROS."""

from hydro_sim_core.messages.view import View
from hydro_sim_core.recording.episodes import FileLimits, check_new_recording
from hydro_sim_core.recording.message_index import MessageIndex, RecordedTopic
from hydro_sim_core.recording.of_world import WorldRecording
from hydro_sim_core.recording.parts import recording_files, run_files
from hydro_sim_core.recording.reader import RecordedMessage, read_messages
from hydro_sim_core.recording.recorder import Recorder, RecordingReport

__all__ = [
    "FileLimits",
    "MessageIndex",
    "RecordedMessage",
    "RecordedTopic",
    "Recorder",
    "RecordingReport",
    "View",
    "WorldRecording",
    "check_new_recording",
    "read_messages",
    "recording_files",
    "run_files",
]
