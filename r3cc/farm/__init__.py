"""Many evaluations: compile processes and device workers.

``LocalEvaluator.open(store, kernel, device, settings)`` of :mod:`r3cc.farm.local` gives an :class:`Evaluator`; its
module is not imported here, for a compile process, which needs none of it, starts once for each set of LLVM options.
"""

from r3cc.farm.evaluator import Evaluator, EvaluatorSettings

__all__ = ["Evaluator", "EvaluatorSettings"]
