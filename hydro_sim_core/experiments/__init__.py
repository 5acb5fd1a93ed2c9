"""Experiments with known answers, as programs: each runs a world, compares and says whether it agrees."""

from hydro_sim_core.experiments.registry import EXPERIMENTS, Experiment, find_experiment
from hydro_sim_core.experiments.report import Comparison, ExperimentReport

__all__ = ["EXPERIMENTS", "Comparison", "Experiment", "ExperimentReport", "find_experiment"]
