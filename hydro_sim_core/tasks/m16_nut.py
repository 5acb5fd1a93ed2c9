"""An M16 nut: an arm starts it on a bolt that is not quite where it should be, and screws it on."""

from __future__ import annotations

from hydro_sim_core.tasks.screwing import BOLT, NUT, Parts, screwing_task

TASK = screwing_task(
    Parts(held=NUT, fixed=BOLT, model="stud", goes="on"),
    scene="m16_nut",
    summary="an arm starts an M16 nut on its bolt and screws it on, 0.7 mm and 1 degree off",
)
