"""The search over one kernel as a state machine: it is asked for proposals and told evaluations, and never waits.

A live search and the replay of an event log drive it in the same way, so both end in the same state.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec

from r3cc.replay.events import Answer, AnyEvent, Compared, Proposal, Stop
from r3cc.replay.model import Candidate, Evaluation, LaunchConfiguration, Status
from r3cc.tune.genotype import Genotype
from r3cc.tune.knobs import Knob
from r3cc.tune.proposers import Proposer

PENALTY = 0.1
"""How far above the worst valid loss a failure lies: finite and near, so that no optimizer's scale is wrecked."""
PATIENCE = 6
"""Proposals per knob without an improvement beyond noise that make a plateau."""
LEAST_PATIENCE = 80
USUAL_GAIN, USUAL_EVALUATIONS = 0.02, 10
"""Gain that a search is expected to make before it is known better, and how many evaluations that is worth."""
NEAR_FLOOR = 1.1
"""Times the kernel's floor at which a search has found what there is."""
SEED = "seed"
"""Source of proposals that every search tries."""
SEED_EVERY = 4
"""One of so many proposals is a seed, as long as there are any that need not come first."""
MINIMIZE = "minimize"
"""Source of proposals that take changes away from the best."""
SHAPES = "shapes"
"""Source of proposals that restrict a block to some launch shapes."""
REPEATS_IN_A_ROW = 200
"""Repeated candidates without a new one that show the space to be exhausted."""


class SearchSpace(Protocol):
    """What a search needs to know of its space."""

    @property
    def knobs(self) -> tuple[Knob, ...]:
        """What may be chosen beside the pipeline."""
        ...

    def candidate(self, genotype: Genotype) -> Candidate:
        """The candidate of a genotype."""
        ...

    def changes(self, genotype: Genotype) -> tuple[str, ...]:
        """What a genotype changes, as people read it."""
        ...


class Judged(msgspec.Struct, frozen=True):
    """A proposal with its answer."""

    n: int
    genotype: Genotype
    evaluation: Evaluation
    loss: float


class Asked(msgspec.Struct, frozen=True):
    """A proposal that waits for its answer."""

    n: int
    source: str
    genotype: Genotype
    candidate: Candidate
    repeats: int | None
    """The proposal with the same candidate, if there was one."""
    ticket: int | None
    """The optimizer's; None when it did not ask for this one."""


class KernelSearch:
    """Proposals, answers and incumbents of one kernel."""

    def __init__(
        self,
        space: SearchSpace,
        proposer: Proposer,
        baseline: Evaluation,
        noise: float,
        seeds: Sequence[Genotype] = (),
        later: Sequence[Genotype] = (),
    ) -> None:
        """``seeds`` are tried first, ``later`` in between what the proposer asks for."""
        self.space = space
        self.noise = noise
        self.baseline = baseline
        self.incumbents: list[Judged] = []
        """Best so far, each better than the one before."""
        self.judged: dict[int, Judged] = {}
        self.pending: dict[int, Asked] = {}
        self.simplified: Judged | None = None
        """What the best was found to be as good as, with fewer changes; itself, where none could be spared."""
        self.stopped: str | None = None
        """Why it is over; None while it goes on."""
        self._proposer = proposer
        self._seeds = deque((*seeds, *later))
        self._first = len(seeds)
        self._asks = 0
        self._diverged = False
        self._by_candidate: dict[str, int] = {}
        self._worst = 0.0
        self._last_gain = 0
        self._gains: list[tuple[int, float]] = []
        """Evaluations at which incumbents were found, and their losses."""
        self._repeats = 0

    @property
    def evaluations(self) -> int:
        """Candidates evaluated or under way."""
        return len(self._by_candidate)

    @property
    def best_loss(self) -> float:
        """Loss of the incumbent; 0, the baseline, when there is none."""
        return self.incumbents[-1].loss if self.incumbents else 0.0

    @property
    def expected_gain(self) -> float:
        """Relative gain to expect of as many evaluations again.

        The mean of what each doubling so far brought and of what the last one did, beyond noise. Few evaluations say
        little: they are taken together with what is usual.
        """
        half = self.evaluations / 2
        before = min((loss for at, loss in self._gains if at <= half), default=0.0)
        each = max(0.0, -self.best_loss - self.noise) / math.log2(max(self.evaluations, 2))
        last = max(0.0, before - self.best_loss - self.noise)
        return (half * (each + last) / 2 + USUAL_EVALUATIONS * USUAL_GAIN) / (half + USUAL_EVALUATIONS)

    @property
    def plateau(self) -> bool:
        """No improvement beyond noise for as many evaluations as the space's size deserves."""
        patience = max(LEAST_PATIENCE, PATIENCE * (len(self.space.knobs) + 4))
        return self.evaluations - self._last_gain >= patience

    @property
    def at_floor(self) -> bool:
        """The incumbent takes hardly longer than writing its results does: there is nothing left to find."""
        baseline = self.baseline.time_ns
        if baseline is None or not self.baseline.floor_ns:
            return False
        return math.exp(self.best_loss) * baseline.median <= NEAR_FLOOR * self.baseline.floor_ns

    def ask(self, n: int) -> Asked | None:
        """The next proposal, numbered ``n``; None when there is nothing new to propose.

        A candidate that was evaluated before is told again at once. One whose evaluation is under way waits for it.
        """
        if self._seeds and (self._asks < self._first or self._asks % SEED_EVERY == 0):
            return self._propose_seed(n)
        suggestion = None if self._repeats > REPEATS_IN_A_ROW else self._proposer.ask()
        if suggestion is None:
            return self._propose_seed(n) if self._seeds else None
        genotype = suggestion.genotype
        return self._register(n, suggestion.source, genotype, self.space.candidate(genotype), suggestion.ticket)

    def _propose_seed(self, n: int) -> Asked:
        return self.propose(n, SEED, self._seeds.popleft())

    def propose(self, n: int, source: str, genotype: Genotype) -> Asked:
        """A proposal that does not come from the optimizer, which learns from it all the same."""
        return self._register(n, source, genotype, self.space.candidate(genotype), None)

    def repeat(self, n: int, source: str, genotype: Genotype, candidate: Candidate) -> Asked:
        """A proposal of the log. The optimizer asks for it again; one that has changed since then is told of it.

        ``candidate`` is what was evaluated, whatever the genotype means by now.
        """
        if source == SEED and self._seeds and self._seeds[0] == genotype:
            self._seeds.popleft()
        from_optimizer = source not in (SEED, MINIMIZE, SHAPES) and not self._diverged
        suggestion = self._proposer.ask() if from_optimizer else None
        if from_optimizer and (suggestion is None or suggestion.genotype != genotype):
            self._diverged, suggestion = True, None
        return self._register(n, source, genotype, candidate, suggestion.ticket if suggestion else None)

    def tell(self, n: int, evaluation: Evaluation) -> tuple[float, bool]:
        """The answer to proposal ``n``: its loss, and whether it is the new incumbent."""
        asked = self.pending.pop(n)
        loss = self._loss(evaluation)
        judged = Judged(n, asked.genotype, evaluation, loss)
        self.judged[n] = judged
        self._teach(asked, loss, repeated=False)
        for other in [p for p in self.pending.values() if p.repeats == n]:
            self._teach(self.pending.pop(other.n), loss, repeated=True)
        better = self.is_faster(judged) and loss < self.best_loss
        if better:
            self._last_gain = self.evaluations if loss < self.best_loss - self.noise else self._last_gain
            self.incumbents.append(judged)
            self._gains.append((self.evaluations, loss))
        return loss, better

    def compared(self, n: int, against: int, slower: bool) -> None:
        """Proposal ``n``, which is ``against`` less some changes, was measured beside it."""
        if slower:
            self.simplified = self.simplified or self.judged[against]
        else:
            self.simplified = self.judged[n]

    def is_faster(self, judged: Judged) -> bool:
        """Whether a candidate is valid, seems faster than the baseline, and is not the baseline's own code."""
        return self.is_valid(judged) and judged.loss < 0

    def is_valid(self, judged: Judged) -> bool:
        """Whether a candidate is valid, and is not the baseline's own code."""
        evaluation = judged.evaluation
        own = evaluation.object_hash is not None and evaluation.object_hash == self.baseline.object_hash
        unchanged = own and evaluation.candidate.launch == LaunchConfiguration()
        return evaluation.status is Status.OK and not unchanged

    def _register(self, n: int, source: str, genotype: Genotype, candidate: Candidate, ticket: int | None) -> Asked:
        self._asks += 1
        asked = Asked(n, source, genotype, candidate, self._by_candidate.get(candidate.id), ticket)
        if asked.repeats is None:
            self._repeats = 0
            self._by_candidate[candidate.id] = n
            self.pending[n] = asked
            return asked
        self._repeats += 1
        earlier = self.judged.get(asked.repeats)
        if earlier is None:
            self.pending[n] = asked
        else:
            self._teach(asked, earlier.loss, repeated=True)
        return asked

    def _teach(self, asked: Asked, loss: float, *, repeated: bool) -> None:
        if asked.ticket is None:
            self._proposer.adopt(asked.genotype, loss)
        else:
            self._proposer.tell(asked.ticket, loss, repeated)

    def _loss(self, evaluation: Evaluation) -> float:
        """Log of the ratio to the baseline; for a failure just above the worst valid one."""
        if evaluation.status is Status.OK and evaluation.ratio is not None and evaluation.ratio.median > 0:
            loss = math.log(evaluation.ratio.median)
            self._worst = max(self._worst, loss)
            return loss
        return self._worst + PENALTY


def replay(search: KernelSearch, events: Iterable[AnyEvent]) -> None:
    """Bring a new search to the state in which a log's events left it; what has no answer is in ``search.pending``."""
    for event in events:
        if isinstance(event, Proposal):
            search.repeat(event.n, event.source, Genotype.of(event.genotype), event.candidate)
        elif isinstance(event, Answer):
            search.tell(event.n, event.evaluation)
        elif isinstance(event, Compared):
            search.compared(event.n, event.against, event.slower)
        elif isinstance(event, Stop):
            search.stopped = event.reason
