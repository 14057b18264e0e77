"""Kernels modelled after event logs of real searches: what a candidate would have taken, where nobody measured it.

On GPUs the block and the registers a thread decide nearly all of what launch knobs do: settings with the same code and
block differ by less than 0.5 %. Registers follow from the knobs by ptxas's rules. So a kernel is modelled as a smooth
random function of block, registers and the warps that a multiprocessor then holds, drawn from a Gaussian process that
passes through what the log measured; as many such *worlds* as there are seeds. On top come what single edits and
constants did in the log, as factors. Edits that the log does not know change nothing, mostly; those that do are given
an effect of another edit of some log. Names of passes decide it together with places, so a pass that works in one place
is likelier to work in another.
"""

from __future__ import annotations

import hashlib
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from r3cc.llvm import KernelDescription
from r3cc.replay.events import Answer, Begin, Proposal, read_log
from r3cc.replay.model import Candidate, Evaluation, Interval, Status
from r3cc.store.model import Dim3
from r3cc.tune.blocks import Shape, dimensions, volume
from r3cc.tune.edits import Change, Edit, Insert, Preset
from r3cc.tune.genotype import Genotype, Knobs
from r3cc.tune.knobs import BLOCK, KERNEL_KNOBS
from r3cc.tune.llvm_facts import TargetFacts
from r3cc.tune.register_bounds import GRANULE, MAXNTID, MOST_THREADS, REGISTERS, bound
from r3cc.tune.space import Space
from r3cc.tune.specialisation import BLOCK as BLOCK_CONSTANT
from r3cc.tune.specialisation import PREFIX, Constants

FEWEST_POINTS = 12
ACTIVE_PLACE = 0.5
"""In how many places a pass changes the code that does so anywhere."""
EFFECT_SPREAD = 0.3
"""How much an edit's effect varies with block and registers, of its size."""
OWN_EFFECT = 0.85
"""How often an unknown edit that changes the code does what another one did to the same kernel, not to another."""
RIDGE = 0.3
SAMPLE_NOISE = 0.0015
BELOW_BEST = 0.03
"""How much better than the best that was measured a launch may be: far above it losses differ by more than near it, so
the process is one of the logarithm of what lies between a loss and this bound."""
MEASURED_NOISE = 0.1
"""Standard deviation of such a logarithm for one block and one count of registers."""
LaunchPoint = tuple[Dim3, int]
"""Block, registers a thread."""
Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Logged:
    """What a log says about one kernel."""

    name: str
    recorded: Dim3
    constants: Constants
    own_registers: int
    """Of the baseline."""
    free_registers: int
    """With any directive that bounds them, but not tightly."""
    points: Mapping[LaunchPoint, float]
    """Log of the ratio to the baseline's time."""
    effects: Mapping[str, float]
    """The same of what single edits add, by their text; 0 for what left the code as it was."""
    constants_effects: Mapping[str, float]
    """The same of constants, by their knobs' keys."""
    active: float
    """The part of all its edits that changed the code."""

    @property
    def two_axes(self) -> bool:
        """Whether blocks have a second axis."""
        return any(block[1] > 1 for block, _ in self.points)

    @property
    def changes(self) -> list[float]:
        """Effects of the edits that changed the code."""
        return [effect for effect in self.effects.values() if effect]

    @property
    def least(self) -> float:
        """Below every launch's loss."""
        return min(self.points.values()) - BELOW_BEST

    @property
    def measured(self) -> tuple[list[LaunchPoint], Array]:
        """The points, and where the process is at them."""
        return list(self.points), np.log(np.array(list(self.points.values())) - self.least)

    def registers(self, candidate: Candidate) -> int | None:
        """Registers a thread that ptxas would give a candidate; None where its block cannot be launched with them."""
        knobs = dict(candidate.codegen)
        block = candidate.launch.block or self.recorded
        most = bound(knobs, volume(dimensions(knobs[MAXNTID]) if MAXNTID in knobs else block))
        count = self.own_registers if most is None else min(self.free_registers, most)
        return count if volume(block) * -(-count // GRANULE) * GRANULE <= REGISTERS else None


def read_kernels(path: Path) -> list[Logged]:
    """The kernels of a log that has enough launch settings of them."""
    events = read_log(path)
    begin = events[0]
    assert isinstance(begin, Begin)
    proposals = {event.n: event for event in events if isinstance(event, Proposal)}
    judged: defaultdict[str, list[tuple[Genotype, Evaluation]]] = defaultdict(list)
    for event in events:
        if isinstance(event, Answer):
            judged[event.kernel].append((Genotype.of(proposals[event.n].genotype), event.evaluation))
    kernels = [_logged(plan.demangled.split("(")[0], judged[plan.kernel]) for plan in begin.kernels]
    return [kernel for kernel in kernels if kernel is not None and len(kernel.points) >= FEWEST_POINTS]


def _logged(name: str, judged: Sequence[tuple[Genotype, Evaluation]]) -> Logged | None:
    valid = [(genotype, found) for genotype, found in judged if found.status is Status.OK]
    plain = [found for genotype, found in valid if not genotype.edits and not _constants(genotype)]
    own = [found for found in plain if found.candidate == Candidate()]
    if not own:
        return None
    recorded = _recorded_block(valid)
    points: defaultdict[LaunchPoint, list[float]] = defaultdict(list)
    for found in plain:
        points[found.candidate.launch.block or recorded, _registers(found)].append(_loss(found))
    without = [(genotype, found) for genotype, found in valid if not genotype.edits]
    idle, changed = _compared(valid, without, lambda genotype: tuple(map(str, genotype.edits)))
    active = _fewest([parts for parts, _ in changed], idle)
    edits = sorted({*idle, *(part for parts, _ in changed for part in parts)})
    bare = [(genotype, found) for genotype, found in without if not _constants(genotype)]
    unused, special = _compared(without, bare, _constants)
    constants = sorted({part for parts, _ in special for part in parts})
    return Logged(
        name,
        recorded,
        _constants_of(valid),
        _registers(own[0]),
        max(_registers(found) for found in plain),
        {point: statistics.fmean(losses) for point, losses in points.items()},
        dict.fromkeys(edits, 0.0) | _effects(changed, active),
        dict.fromkeys(sorted(unused), 0.0) | _effects(special, constants),
        len(active) / max(len(edits), 1),
    )


def _recorded_block(valid: Iterable[tuple[Genotype, Evaluation]]) -> Dim3:
    """What ``maxntid`` promises where no block was chosen."""
    for genotype, found in valid:
        knobs = dict(found.candidate.codegen)
        if BLOCK not in dict(genotype.knobs) and "maxntid" in knobs:
            return dimensions(knobs["maxntid"])
    return 16, 16, 1


def _constants_of(valid: Iterable[tuple[Genotype, Evaluation]]) -> Constants:
    keys = {key for genotype, _ in valid for key, _ in genotype.knobs if key.startswith(PREFIX)}
    numbers = sorted(int(key.removeprefix(PREFIX)) for key in keys if key.removeprefix(PREFIX).isdigit())
    return Constants(tuple((number, "00", str(number)) for number in numbers), block=BLOCK_CONSTANT in keys)


def _constants(genotype: Genotype) -> tuple[str, ...]:
    return tuple(key for key, _ in genotype.knobs if key.startswith(PREFIX))


Judged = Sequence[tuple[Genotype, Evaluation]]
Changed = list[tuple[tuple[str, ...], float]]
"""Edits or constants that changed the code, and what its loss differed by."""


def _compared(
    valid: Judged, beside: Judged, parts_of: Callable[[Genotype], tuple[str, ...]]
) -> tuple[set[str], Changed]:
    """Parts that left the code as it is without them, and lists of those that did not, all else being the same."""
    plain = {(found.candidate.launch, _others(genotype, parts_of)): found for genotype, found in beside}
    idle: set[str] = set()
    changed: Changed = []
    for genotype, found in valid:
        parts, other = parts_of(genotype), plain.get((found.candidate.launch, _others(genotype, parts_of)))
        if not parts or other is None:
            continue
        if found.object_hash == other.object_hash:
            idle.update(parts)
        else:
            changed.append((parts, _loss(found) - _loss(other)))
    return idle, changed


def _fewest(lists: Iterable[Sequence[str]], idle: set[str]) -> list[str]:
    """Few parts of which every list has one that is not idle; the rest came with them and did nothing, it seems."""
    left = [rest for parts in lists if (rest := [part for part in parts if part not in idle])]
    chosen: list[str] = []
    while left:
        counts = Counter(part for parts in left for part in dict.fromkeys(parts))
        chosen.append(max(sorted(counts), key=counts.__getitem__))
        left = [parts for parts in left if chosen[-1] not in parts]
    return chosen


def _effects(changed: Changed, active: Sequence[str]) -> dict[str, float]:
    """What each of these adds, as if effects added up: by ridge regression."""
    if not active:
        return {}
    matrix = np.array([[name in parts for name in active] for parts, _ in changed], dtype=float)
    losses = np.array([loss for _, loss in changed])
    weights = np.linalg.solve(matrix.T @ matrix + RIDGE * np.eye(len(active)), matrix.T @ losses)
    return {name: float(weight) for name, weight in zip(active, weights, strict=True)}


def _others(genotype: Genotype, parts_of: Callable[[Genotype], tuple[str, ...]]) -> Knobs:
    """The knobs that are no such parts."""
    return tuple(pair for pair in genotype.knobs if pair[0] not in parts_of(genotype))


def _registers(found: Evaluation) -> int:
    return int(found.resources["registers"])


def _loss(found: Evaluation) -> float:
    assert found.ratio is not None
    return math.log(found.ratio.median)


def space_of(kernel: Logged, target: TargetFacts, *, specialise: bool) -> Space:
    """The space that ``r3 tune`` would search for the kernel, at LLVM's base pipeline for the GPU."""
    facts = msgspec.convert(_PLAIN, KernelDescription)
    block = kernel.recorded
    shape = Shape((4096 // block[0], 2048 // block[1] if kernel.two_axes else 1, 1), block)
    shapes = [shape]
    constants = kernel.constants if specialise else Constants()
    return Space(target.base, target.vocabulary, KERNEL_KNOBS, facts, shapes, constants=constants)


_PLAIN = {
    "name": "k",
    "line": 1,
    "parameters": [],
    "globals": [],
    "reads_block_size": True,
    "reads_grid_size": False,
    "static_shared": 0,
    "dynamic_shared": False,
    "barriers": 0,
    "warp_operations": 0,
    "atomics": 0,
    "max_threads": None,
    "element_types": {},
    "global_element_types": {},
}


class World:
    """One way in which a kernel may behave: what the log measured, and a draw of the rest."""

    def __init__(self, kernel: Logged, blocks: Sequence[Dim3], others: Sequence[Logged], seed: int) -> None:
        """``others``: kernels whose edits' effects unknown edits may have, too."""
        self.kernel = kernel
        self._blocks = [kernel.recorded, *blocks]
        self._effects = [change for other in others for change in other.changes]
        self._seed = seed
        self._memo: dict[str, float | None] = {}

    def judge(self, genotype: Genotype, candidate: Candidate) -> Evaluation:
        """A candidate as a search would see it, with noise."""
        loss = self.loss(genotype, candidate)
        if loss is None:
            return Evaluation(candidate, Status.LAUNCH_ERROR)
        seen = math.exp(loss + SAMPLE_NOISE * self._normal(f"noise {self.code(genotype, candidate)}"))
        interval = Interval(seen, seen * (1 - SAMPLE_NOISE), seen * (1 + SAMPLE_NOISE), 2)
        return Evaluation(candidate, Status.OK, object_hash=self.code(genotype, candidate), ratio=interval)

    def loss(self, genotype: Genotype, candidate: Candidate) -> float | None:
        """Log of the candidate's time over the baseline's; None where it cannot be launched."""
        registers = self.kernel.registers(candidate)
        if registers is None:
            return None
        block = candidate.launch.block or self.kernel.recorded
        own = self._losses[self.kernel.recorded, self.kernel.own_registers]
        loss = self._losses[block, registers] - own
        for name, effect in self._changes(genotype).items():
            loss += effect * (1 + EFFECT_SPREAD * self._normal(f"{name} at {block} {registers}"))
        return loss

    def code(self, genotype: Genotype, candidate: Candidate) -> str:
        """What stands for the code object, with the block."""
        parts = sorted(self._changes(genotype))
        return hashlib.sha256(f"{self.kernel.registers(candidate)} {candidate.launch} {parts}".encode()).hexdigest()

    def _changes(self, genotype: Genotype) -> dict[str, float]:
        """What a genotype does to the code, and to the loss; edits that do the same do it once."""
        constants = {key: self.kernel.constants_effects.get(key, 0.0) for key in _constants(genotype)}
        return dict(map(self._change, self._active(genotype))) | {key: each for key, each in constants.items() if each}

    def _change(self, text: str) -> tuple[str, float]:
        if text in self.kernel.effects:
            return text, self.kernel.effects[text]
        own = self.kernel.changes and self._uniform(f"own {text}") < OWN_EFFECT
        effects = self.kernel.changes if own else self._effects
        at = int(self._uniform(f"effect {text}") * len(effects))
        return f"{'own' if own else 'other'} {at}", effects[at]

    def _active(self, genotype: Genotype) -> list[str]:
        """Edits that change the code."""
        preset = next((edit for edit in genotype.edits if isinstance(edit, Preset)), None)
        edits = genotype.edits if preset is None else (preset,)
        return [str(edit) for edit in dict.fromkeys(edits) if self._is_active(edit)]

    def _is_active(self, edit: Edit) -> bool:
        text = str(edit)
        if text in self.kernel.effects:
            return self.kernel.effects[text] != 0.0
        somewhere = self._uniform(f"pass {_pass_of(edit)}") < self.kernel.active / ACTIVE_PLACE
        return somewhere and self._uniform(f"place {text}") < ACTIVE_PLACE

    def _uniform(self, text: str) -> float:
        digest = hashlib.sha256(f"{self.kernel.name} {self._seed} {text}".encode()).digest()
        return int.from_bytes(digest[:8], "big") / 2**64

    def _normal(self, text: str) -> float:
        return statistics.NormalDist().inv_cdf(min(max(self._uniform(text), 1e-9), 1 - 1e-9))

    @cached_property
    def _losses(self) -> dict[LaunchPoint, float]:
        """Of every block with every count of registers that may come up."""
        kernel = self.kernel
        counts = {kernel.own_registers, kernel.free_registers, *(registers for _, registers in kernel.points)}
        counts |= {int(value) for knob in KERNEL_KNOBS if knob.key == "maxnreg" for value in knob.values}
        blocks = [int(value) for knob in KERNEL_KNOBS if knob.key == "minctasm" for value in knob.values]
        threads = {volume(block) for block in self._blocks}
        counts |= {REGISTERS // (t * b) // GRANULE * GRANULE for t in threads for b in blocks if t * b <= MOST_THREADS}
        counts |= {REGISTERS // t // GRANULE * GRANULE for t in threads}
        used = sorted(count for count in counts if 0 < count <= kernel.free_registers)
        every = [(block, count) for block in self._blocks for count in used]
        return dict(zip(every, map(float, self._draw(every)), strict=True))

    def _draw(self, every: Sequence[LaunchPoint]) -> Array:
        """A sample of the process at all points, given the measured ones."""
        known, heights = self.kernel.measured
        scale = scale_of(self.kernel)
        one, other = places(self.kernel, known), places(self.kernel, every)
        inner = scale * covariance(one, one) + MEASURED_NOISE**2 * np.eye(len(known))
        cross = scale * covariance(one, other)
        solved = np.linalg.solve(inner, cross)
        mean = heights.mean() + solved.T @ (heights - heights.mean())
        rest = scale * (covariance(other, other) + 1e-6 * np.eye(len(every))) - cross.T @ solved
        rng = np.random.RandomState(int(self._uniform("launches") * 2**32))
        drawn = mean + np.linalg.cholesky(rest) @ rng.normal(size=len(every))
        losses: Array = self.kernel.least + np.exp(drawn)
        return losses


def _pass_of(edit: Edit) -> str:
    match edit:
        case Insert():
            return f"insert {edit.name}"
        case Change():
            return f"change {edit.anchor.name}"
        case Preset():
            return str(edit)
        case _:
            return f"without {edit.anchor}"


def places(kernel: Logged, points: Sequence[LaunchPoint]) -> Array:
    """Logarithms of a block's extents and threads, of registers and of the warps that a multiprocessor holds."""
    rows = []
    for block, registers in points:
        threads = volume(block)
        held = max(1, min(MOST_THREADS, REGISTERS // max(registers, 16)) // threads) * threads / 32
        x, y, _ = map(math.log2, block)
        rows.append((x, y, math.log2(threads), math.log2(registers), math.log2(held)))
    return np.array(rows)


def covariance(one: Array, other: Array) -> Array:
    """Of a kernel's losses, up to its scale: a part of the block, one of registers and warps, one of all together."""
    block, code, both = ((0, 1, 2), (1.2, 1.2, 1.5)), ((3, 4), (1.0, 0.7)), ((0, 1, 3, 4), (1.5, 1.5, 1.5, 1.0))
    terms = ((1.0, block), (1.0, code), (0.5, both))
    found = sum(weight * _matern(one, other, *which) for weight, which in terms)
    assert isinstance(found, np.ndarray)
    return found


def _matern(one: Array, other: Array, columns: Sequence[int], ranges: Sequence[float]) -> Array:
    a, b = one[:, list(columns)] / ranges, other[:, list(columns)] / ranges
    apart = math.sqrt(3) * np.sqrt(((a[:, None] - b[None]) ** 2).sum(axis=2))
    found: Array = (1 + apart) * np.exp(-apart)
    return found


def scale_of(kernel: Logged) -> float:
    """Variance of the process that makes what was measured likeliest."""
    known, heights = kernel.measured
    matrix = covariance(places(kernel, known), places(kernel, known)) + 0.01 * np.eye(len(known))
    centred = heights - heights.mean()
    return max(1e-6, float(centred @ np.linalg.solve(matrix, centred)) / len(known))


def foretold(kernel: Logged) -> tuple[float, float]:
    """How faithful the process is: standard deviation of the losses, and of what is left when each is foretold."""
    known, heights = kernel.measured
    scale = scale_of(kernel)
    matrix = scale * covariance(places(kernel, known), places(kernel, known)) + MEASURED_NOISE**2 * np.eye(len(known))
    inverse = np.linalg.inv(matrix)
    missed = inverse @ (heights - heights.mean()) / np.diag(inverse)
    return float(heights.std()), float(np.sqrt((missed**2).mean()))
