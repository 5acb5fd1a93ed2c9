"""Evaluation of Python-like expressions in files of strangers: a language of its own, with bounded work and memory.

Only what the tables of this package name exists: there is no access to attributes of Python objects, and nothing here
hands text to Python's own evaluation. Values are numbers, text, lists, tuples, sets and dicts, never changed in place.
"""

from hydro_sim_core.description.expressions.budget import Budget, BudgetExceeded
from hydro_sim_core.description.expressions.evaluator import Evaluator
from hydro_sim_core.description.expressions.values import ExpressionError, Function, Namespace

__all__ = ["Budget", "BudgetExceeded", "Evaluator", "ExpressionError", "Function", "Namespace"]
