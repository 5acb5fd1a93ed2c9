"""Jobs of a team that count how often each of their parts is done."""

from __future__ import annotations

from hydro_sim_core.compilation import Int1D, Int2D, entry
from hydro_sim_core.compilation.teams import (
    ABOUT,
    KIND,
    PART,
    PARTS,
    Team,
    end_part,
    join,
    meet,
    parts_to_share,
    publish,
    take_part,
    wait_for_call,
)

COUNT = 1


@entry
def lead(team: Team, done: Int2D, by: Int2D, parts: int) -> int:
    """Do a job for each row of ``done``, in so many parts, or in as many as the team thinks fit; how many had help."""
    shared = 0
    for job in range(done.shape[0]):
        num = parts if parts > 0 else parts_to_share(team)
        shared += 1 if parts_to_share(team) > 1 else 0
        publish(team, COUNT, job, num)
        while take_part(team):
            done[job, team.task[PART]] += 1
            end_part(team)
        meet(team, num)
        by[job, 0] = num
    return shared


@entry
def help_along(team: Team, done: Int2D, by: Int2D, wrong: Int1D) -> None:
    """Do parts until the team is to leave."""
    join(team)
    while wait_for_call(team):
        while take_part(team):
            job, part = team.words[ABOUT], team.task[PART]
            if team.task[KIND] != COUNT or part < 0 or part >= team.task[PARTS]:
                wrong[0] += 1
            done[job, part] += 1
            by[job, 1] += 0 if part < 0 else 1
            end_part(team)
