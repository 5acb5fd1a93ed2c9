"""An M16 bolt (Elandt 2019, VIII-B): an arm starts it in a nut that is not where it should be, and screws it in."""

from __future__ import annotations

from hydro_sim_core.tasks.screwing import BOLT, NUT, Parts, screwing_task

TASK = screwing_task(
    Parts(held=BOLT, fixed=NUT, model="block", goes="in"),
    scene="bolt_in_nut",
    summary="an arm starts an M16 bolt in its nut and screws it in, 0.7 mm and 1 degree off",
)
