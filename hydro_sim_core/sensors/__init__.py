"""Simulated sensors on links: IMU, force-torque sensor and Soft-bubble camera."""

from hydro_sim_core.sensors.bubble_camera import BubbleCamera, BubbleImages, EllipsoidCap, PinholeCamera

__all__ = ["BubbleCamera", "BubbleImages", "EllipsoidCap", "PinholeCamera"]
