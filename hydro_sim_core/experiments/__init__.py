"""Experiments with known results: each runs a world and compares it with reference values."""

from hydro_sim_core.experiments.registry import EXPERIMENTS, Experiment, find_experiment
from hydro_sim_core.experiments.report import Comparison, ExperimentReport

__all__ = ["EXPERIMENTS", "Comparison", "Experiment", "ExperimentReport", "find_experiment"]
