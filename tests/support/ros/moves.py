"""Who waits for the moves of a gripper, and in which scene."""

from __future__ import annotations

from support.ros.arms import ROOT

SCENE = ROOT / "config" / "scenes" / "spatula_slip_welded.yaml"


class Goal:
    """Somebody who waits for the end of a move."""

    def __init__(self):
        self.progress, self.ends = [], []

    def tell(self, state):
        self.progress.append(state)

    def finish(self, outcome, state):
        self.ends.append((outcome, state))

    @property
    def end(self):
        (end,) = self.ends
        return end
