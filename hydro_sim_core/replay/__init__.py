"""Replays: recordings as time lines of viewer frames."""

from hydro_sim_core.replay.player import Player
from hydro_sim_core.replay.recording import Recording, ReplayedTopic
from hydro_sim_core.replay.time_line import TimeLine

__all__ = ["Player", "Recording", "ReplayedTopic", "TimeLine"]
