"""Many evaluations: compile processes and device workers.

``LocalEvaluator.open(store, kernel, device, settings)`` gives an :class:`Evaluator`.
"""

from r3cc.farm.evaluator import Evaluator, EvaluatorSettings

__all__ = ["Evaluator", "EvaluatorSettings"]
