"""What sensors on a simulated robot see of a contact."""

from hydro_sim_core.sensors.bubble_camera import BubbleCamera, BubbleImages, EllipsoidCap, PinholeCamera

__all__ = ["BubbleCamera", "BubbleImages", "EllipsoidCap", "PinholeCamera"]
