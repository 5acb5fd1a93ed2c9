"""The node's web page, from configuring to cleaning up."""

from __future__ import annotations

import os
import sys

from rclpy.node import Node

from hydro_sim.parameters import Parameters
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.simulation import FixedRateRunner
from hydro_sim_core.viewer.live import Controls, LiveView
from hydro_sim_core.viewer.viewer import Viewer, ViewerOptions


class NodeViewer:
    """Serves the page and shows the node's simulations on it, one after the other.

    Args:
        node: Node whose logger prints the address.
        parameters: ``viewer_*``.

    Raises:
        InputError: The page cannot be served at the address of the parameters.
    """

    def __init__(self, node: Node, parameters: Parameters) -> None:
        token = parameters.viewer_token or None
        self._viewer = Viewer(ViewerOptions(parameters.viewer_address, parameters.viewer_port, token))
        self._view: LiveView | None = None
        url = self._viewer.start()
        node.get_logger().info(f"viewer: {url}")
        if parameters.viewer_open and _has_display():
            self._viewer.open_browser()

    def show(self, runner: FixedRateRunner, controls: Controls, scale: PressureScale) -> None:
        """Show a simulation and accept commands of pages, until another simulation is shown.

        Raises:
            InputError: A mesh of the scene cannot be read.
        """
        self.leave()
        self._view = LiveView(runner, self._viewer, scale, controls)
        self._view.start()

    def tell_loading(self, name: str | None, problem: str | None) -> None:
        """Tell pages what is being loaded; see ``Viewer.tell_loading``."""
        self._viewer.tell_loading(name, problem)

    def leave(self) -> None:
        """Stop showing the simulation; pages keep the last frame."""
        if self._view is not None:
            self._view.stop()
            self._view = None

    def close(self) -> None:
        """Tell pages that the simulation has ended, and end the server."""
        self.leave()
        self._viewer.close()


def _has_display() -> bool:
    """Whether a browser would open in a window and not in the terminal."""
    return sys.platform == "darwin" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
