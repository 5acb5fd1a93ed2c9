"""Recordings: MCAP files of ROS 2 messages, their writer in a thread of its own, and readers; needs no ROS."""

from hydro_sim_core.messages.view import View
from hydro_sim_core.recording.episodes import episode_path
from hydro_sim_core.recording.mcap_file import check_new_file
from hydro_sim_core.recording.message_index import MessageIndex, RecordedTopic
from hydro_sim_core.recording.reader import RecordedMessage, read_messages
from hydro_sim_core.recording.recorder import Recorder, RecordingReport

__all__ = [
    "MessageIndex",
    "RecordedMessage",
    "RecordedTopic",
    "Recorder",
    "RecordingReport",
    "View",
    "check_new_file",
    "episode_path",
    "read_messages",
]
