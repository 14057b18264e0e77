"""Many evaluations: compile processes and device workers.

``LocalEvaluator.open(store, kernel, device, settings)`` gives an :class:`Evaluator`.
"""

from r3cc.farm.evaluator import Evaluator, EvaluatorSettings
from r3cc.farm.local import LocalEvaluator

__all__ = ["Evaluator", "EvaluatorSettings", "LocalEvaluator"]
