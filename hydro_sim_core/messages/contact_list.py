"""``hydro_sim_msgs/ContactArray``: all contacts of an instant, without their faces."""

from __future__ import annotations

import numpy as np

from hydro_sim_core.contact import ContactPatch
from hydro_sim_core.messages.cdr import CdrWriter
from hydro_sim_core.messages.contact_arrows import wrench_at_centre
from hydro_sim_core.messages.contact_patches import highest_pressure, quality_flags
from hydro_sim_core.simulation.world.contact_summary import ContactSummary


def encode_contacts(summary: ContactSummary, frame_id: str, stamp: tuple[int, int]) -> bytes:
    """Serialise the patches of an instant that transmit force.

    Args:
        summary: The patches, in the world frame, and their quality.
        frame_id: Name of the world frame.
        stamp: (seconds, nanoseconds).
    """
    pressed = [patch for patch in summary.patches if np.any(patch.pressing)]
    writer = CdrWriter()
    writer.header(frame_id, stamp)
    writer.uint32(len(pressed))
    for patch in pressed:
        _write_contact(writer, patch, quality_flags(patch, summary))
    return writer.bytes()


def _write_contact(writer: CdrWriter, patch: ContactPatch, flags: int) -> None:
    centre, force, moment = wrench_at_centre([patch])
    quality = patch.quality
    for name in (patch.name_a, patch.name_b, patch.geometry_a, patch.geometry_b):
        writer.string(name)
    writer.float64(*centre, *force, *moment, *patch.normal_force_on_b)
    writer.float64(patch.area, highest_pressure(patch.faces))
    writer.uint32(flags)
    writer.float64(quality.force_error, quality.face_size_ratio, quality.lost_force_share)
