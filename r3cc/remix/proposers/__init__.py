"""Who proposes rewrites: models over the network, programs, folders, transcripts and R3's own rules."""

from r3cc.remix.proposers.opening import open_proposer, open_proposers

__all__ = ["open_proposer", "open_proposers"]
