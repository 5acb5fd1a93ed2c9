"""Topics of kinetic, potential and elastic energy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from hydro_sim_core.messages.cdr import TemplateWriter
from hydro_sim_core.messages.stream import Stream
from hydro_sim_core.simulation import Snapshot, World
from hydro_sim_core.simulation.world.energies import Energies

if TYPE_CHECKING:
    from hydro_sim_core.messages.view import View


def energy_streams(world: World, view: View) -> Iterable[Stream]:
    """Streams ``~/energy/kinetic``, ``~/energy/potential`` and ``~/energy/elastic``, J."""
    for name in Energies._fields:
        yield _energy(name)


def _energy(name: str) -> Stream:
    writer = TemplateWriter()
    writer.float64(0.0)
    template = writer.template()

    def encode(snapshot: Snapshot) -> bytes:
        return template.fill((0, 0), [getattr(snapshot.energies, name)])

    return Stream(f"~/energy/{name}", "std_msgs/msg/Float64", encode)
