"""Threads that share jobs: every part is done once, whoever comes, goes, or is held up."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from hydro_sim_core.compilation import Handle, prepare
from hydro_sim_core.compilation.instructions import store, wake_all
from hydro_sim_core.compilation.teams import CALLS, CAME, LEAVE, MOST_PARTS, PRESENT, make_team
from support.compilation.teamwork import help_along, lead


@pytest.mark.parametrize("helpers", [1, 3])
@pytest.mark.parametrize("parts", [1, 7, MOST_PARTS - 1, 0])
def test_every_part_is_done_once(helpers, parts):
    """By threads that are more than there are cores, too."""
    prepare((lead, help_along))  # helpers would have left meanwhile
    team, jobs = make_team(), 4000
    done, by = np.zeros((jobs, MOST_PARTS), dtype=np.int64), np.zeros((jobs, 2), dtype=np.int64)
    wrong = np.zeros(helpers, dtype=np.int64)
    with ThreadPoolExecutor(helpers) as pool:
        views = [team._replace(task=np.zeros_like(team.task)) for _ in range(helpers)]
        helping = [
            pool.submit(help_along, Handle(v), done, by, wrong[i : i + 1]) for i, v in enumerate(views)
        ]
        while team.words[PRESENT] == 0:
            pass
        shared = lead(Handle(team), done, by, parts)
        store(team.words, LEAVE, 1)
        wake_all(team.words, CALLS)
        for helper in helping:
            helper.result(timeout=60)
    assert not wrong.any()
    assert np.array_equal(done.sum(axis=1), by[:, 0])
    assert all((row[:num] == 1).all() for row, num in zip(done, by[:, 0], strict=True))
    assert shared > 0
    assert 1 <= team.words[CAME] <= helpers
    assert team.words[PRESENT] == 0


def test_a_leader_alone_does_all_parts():
    team = make_team()
    done, by = np.zeros((20, MOST_PARTS), dtype=np.int64), np.zeros((20, 2), dtype=np.int64)
    assert lead(Handle(team), done, by, 5) == 0
    assert np.array_equal(done[:, :5], np.ones((20, 5)))
    lead(Handle(team), done, by, 0)
    assert by[:, 0].tolist() == 20 * [1]


def test_helpers_without_work_leave():
    team = make_team()
    done, by = np.zeros((1, MOST_PARTS), dtype=np.int64), np.zeros((1, 2), dtype=np.int64)
    with ThreadPoolExecutor(1) as pool:
        helping = pool.submit(help_along, Handle(team), done, by, np.zeros(1, dtype=np.int64))
        helping.result(timeout=60)
    assert team.words[PRESENT] == 0
