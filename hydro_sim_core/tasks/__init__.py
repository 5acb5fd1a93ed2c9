"""Tasks: a scene, a controller that takes only what a node publishes, and a measure of success."""

from hydro_sim_core.tasks.registry import TASKS, find_task, tasks
from hydro_sim_core.tasks.trial import Trial, run_trial

__all__ = ["TASKS", "Trial", "find_task", "run_trial", "tasks"]
