"""Draws two pressure fields and the surface on which they balance: ``python pressure_field.py OUT.png``."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from hydro_sim_core import geometry
from hydro_sim_core.contact import compute_patch
from hydro_sim_core.drawing.figures import figure, pressure_colours

RADIUS, INDENTATION = 0.025, 0.003  # m
HALF_WIDTH, HALF_HEIGHT = 0.02, 0.004  # of the pad, m
E_PAD, E_BALL = 4e4, 2e5  # Pa
HEIGHT = HALF_HEIGHT - INDENTATION + RADIUS  # of the ball's centre above the pad's, m


def pad_pressure(x, z):
    """In the plane y = 0, Pa; NaN outside."""
    depth = np.minimum(HALF_WIDTH - np.abs(x), HALF_HEIGHT - np.abs(z))
    return np.where(depth >= 0.0, E_PAD * depth / HALF_HEIGHT, np.nan)


def ball_pressure(x, z):
    """In the plane y = 0, Pa; NaN outside."""
    depth = RADIUS - np.hypot(x, z - HEIGHT)
    return np.where(depth >= 0.0, E_BALL * depth / RADIUS, np.nan)


def contact():
    """The patch between meshes of the two."""
    pad = geometry.box(2 * HALF_WIDTH, 2 * HALF_WIDTH, 2 * HALF_HEIGHT, modulus=E_PAD, resolution=0.002)
    ball = geometry.sphere(RADIUS, resolution=0.002, modulus=E_BALL)
    X_WB = np.eye(4)
    X_WB[2, 3] = HEIGHT
    return compute_patch(pad, np.eye(4), ball, X_WB)


def draw(path):
    x, z = np.meshgrid(np.linspace(-0.022, 0.022, 1200), np.linspace(-0.0045, 0.0105, 600))
    of_pad, of_ball = pad_pressure(x, z), ball_pressure(x, z)
    with figure(path, 10.0, 4.2) as canvas:
        fields, profile = canvas.subplots(1, 2, width_ratios=[2.0, 1.0])
        # Where both are, the contact surface parts what is still the pad's from what is still the ball's.
        shown = fields.pcolormesh(
            1e3 * x, 1e3 * z, 1e-3 * np.fmax(of_pad, of_ball), vmin=0.0, cmap=pressure_colours()
        )
        fields.contour(1e3 * x, 1e3 * z, of_pad - of_ball, levels=[0.0], colors="#d5402b", linewidths=2.5)
        fields.set(xlabel="x [mm]", ylabel="z [mm]", title="ball on pad: fields, and contact surface in red")
        fields.set_aspect("equal")
        fields.axvline(0.0, color="black", linewidth=0.8, linestyle=":")
        canvas.colorbar(shown, ax=fields, orientation="horizontal", shrink=0.7).set_label("pressure [kPa]")

        line = np.linspace(-HALF_HEIGHT, 0.0105, 400)
        profile.plot(1e-3 * pad_pressure(0.0, line), 1e3 * line, color="#1f5fa8", label="pad")
        profile.plot(1e-3 * ball_pressure(0.0, line), 1e3 * line, color="#d1792c", label="ball")
        peak = contact().peak_pressure
        profile.axvline(
            1e-3 * peak, color="#d5402b", linewidth=1.0, linestyle="--", label=f"{1e-3 * peak:.1f} kPa"
        )
        profile.set(xlabel="pressure [kPa]", ylabel="z [mm]", title="on the dotted line")
        profile.set_xlim(left=0.0)
        profile.grid(alpha=0.3)
        profile.legend(loc="lower right")


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
