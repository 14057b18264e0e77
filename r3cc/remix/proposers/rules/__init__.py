"""Kernel transformations at source level: the proposer that needs no model."""

from r3cc.remix.proposers.rules.proposer import RulesProposer

__all__ = ["RulesProposer"]
