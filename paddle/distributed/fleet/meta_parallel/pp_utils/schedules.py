"""In which order a stage computes the forwards and backwards of the micro-batches.

An order is a list of steps; nothing in it says when something is sent or received. Sends never wait and each receive waits
for its own message, so that an order is good if, all stages taken together, every step comes after what it needs
(`complete` plays that through).

Sources: GPipe (Huang et al., 2019) for FThenB; PipeDream-Flush (Narayanan et al., "Memory-Efficient Pipeline-Parallel DNN
Training", 2021) for 1F1B; Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters", 2021, for the
interleaved one; Qi et al., "Zero Bubble Pipeline Parallelism", 2024, for ZB-H1.
"""

from __future__ import annotations

from typing import NamedTuple

from .....engine import errors


class Step(NamedTuple):
    """`kind`: "F" forward, "B" backward, "W" the gradients of the weights, where "B" leaves them for later."""

    kind: str
    micro: int  # the number of the micro-batch
    chunk: int = 0  # the number of the part of the stage


class Ring:
    """Where the parts of a net are: part p in stage p % stages, so that a stage with several has every n-th."""

    def __init__(self, stages: int, chunks: int):
        self.stages, self.chunks, self.parts = stages, chunks, stages * chunks

    def part(self, stage: int, chunk: int) -> int:
        """The number in the whole net of a part of a stage."""
        return chunk * self.stages + stage

    def owner(self, part: int) -> tuple[int, int]:
        """The stage that has a part, and its number there."""
        return part % self.stages, part // self.stages


class Vee(Ring):
    """There and back again: stage s has the parts s and 2 n - 1 - s, so the first stage has the beginning and the end."""

    def __init__(self, stages: int):
        super().__init__(stages, 2)

    def part(self, stage: int, chunk: int) -> int:
        return self.parts - 1 - stage if chunk else stage

    def owner(self, part: int) -> tuple[int, int]:
        return (part, 0) if part < self.stages else (self.parts - 1 - part, 1)


def _woven(forwards: list[tuple[int, int]], backwards: list[tuple[int, int]], startup: int) -> list[Step]:
    """Some forwards, then one forward and one backward in turns, then the rest of the backwards."""
    startup = min(startup, len(forwards))
    steps = [Step("F", *at) for at in forwards[:startup]]
    for i, at in enumerate(forwards[startup:]):
        steps += [Step("F", *at), Step("B", *backwards[i])]
    return steps + [Step("B", *at) for at in backwards[len(forwards) - startup :]]


def _by_chunks(micros: int, chunks: int, groups: list[int], backward: bool) -> list[tuple[int, int]]:
    """Groups of micro-batches, one after the other; each goes through all parts."""
    out, first = [], 0
    order = range(chunks - 1, -1, -1) if backward else range(chunks)
    for size in groups:
        out += [(micro, chunk) for chunk in order for micro in range(first, first + size)]
        first += size
    return out


def f_then_b(stage: int, stages: int, micros: int, chunks: int = 1) -> list[Step]:
    """All forwards, then all backwards: keeps all micro-batches."""
    orders = [_by_chunks(micros, chunks, [micros], backward) for backward in (False, True)]
    return _woven(*orders, len(orders[0]))


def one_f_one_b(stage: int, stages: int, micros: int, chunks: int = 1) -> list[Step]:
    """A backward as soon as it can be: stage s of n keeps at most n - s micro-batches."""
    order = [(micro, 0) for micro in range(micros)]
    return _woven(order, order, stages - stage - 1)


def interleaved(stage: int, stages: int, micros: int, chunks: int) -> list[Step]:
    """1F1B for stages of several parts, in groups of as many micro-batches as there are stages (the first group has what
    does not divide): the idle time at the beginning and the end is divided by the number of parts."""
    if micros < stages:
        return f_then_b(stage, stages, micros, chunks)
    first = stages + micros % stages
    groups = [first] + [stages] * ((micros - first) // stages)
    orders = [_by_chunks(micros, chunks, groups, backward) for backward in (False, True)]
    return _woven(*orders, (chunks - 1) * first + 2 * (stages - stage - 1))


def balanced(stage: int, stages: int, micros: int, chunks: int) -> list[Step]:
    """As `f_then_b`, but 1F1B in the last part."""
    orders = [_by_chunks(micros, chunks, [micros], backward) for backward in (False, True)]
    return _woven(*orders, (chunks - 1) * micros + stages - stage - 1)


def zero_bubble(stage: int, stages: int, micros: int, chunks: int = 1) -> list[Step]:
    """ZB-H1: as 1F1B (or as `interleaved`), with a backward that only computes what the stage before waits for. The gradients
    of the weights come later, where the stage would wait otherwise; no stage keeps more micro-batches than the first one
    does without."""
    if chunks == 1:
        order, delay = _woven(*[[(micro, 0) for micro in range(micros)]] * 2, stages - stage - 1), stage
    else:  # a stage begins its backwards two micro-batches earlier than the one before
        order, delay = interleaved(stage, stages, micros, chunks), 2 * stage
    steps: list[Step] = []
    postponed: list[Step] = []
    for step in order:
        steps.append(step)
        if step.kind == "B":
            postponed.append(Step("W", step.micro, step.chunk))
            if len(postponed) > delay:
                steps.append(postponed.pop(0))
    return steps + postponed


def dual_pipe_v(stage: int, stages: int, micros: int) -> list[Step]:
    """DualPipeV, for stages in a `Vee` and at least two micro-batches for each: forwards of one part and backwards of the
    other in turns, weights where a stage would wait. All stages keep about as much.

    Source: DeepSeek, "DualPipe" (2025), the eight phases of its variant in V.
    """
    later = stages - stage - 1
    counts = {("F", 0): 0, ("F", 1): 0, ("B", 0): 0, ("B", 1): 0}
    steps: list[Step] = []
    postponed: list[Step] = []

    def add(*kinds: tuple[str, int], postpone: bool = False) -> None:
        for kind, chunk in kinds:
            micro = counts[kind, chunk]
            counts[kind, chunk] += 1
            steps.append(Step(kind, micro, chunk))
            if kind == "B":
                (postponed if postpone else steps).append(Step("W", micro, chunk))

    for _ in range(2 * later):
        add(("F", 0))
    for _ in range(stage + 1):
        add(("F", 0), ("F", 1))
    for _ in range(later):
        add(("B", 1), ("F", 1))
    for _ in range(micros - 2 * stages + stage + 1):
        add(("F", 0), ("B", 1), ("F", 1), ("B", 0))
    for _ in range(later):
        add(("B", 1), ("F", 1), ("B", 0))
    for i in range(stage + 1):
        half = (stage + 1) // 2
        add(("B", 1), postpone=i > half or i == half and stage % 2 == 1)
        add(("B", 0), postpone=i >= half)
    for _ in range(later):
        steps.append(postponed.pop(0))
        add(("B", 0), postpone=True)
    return steps + postponed


SCHEDULES = {
    "FThenB": f_then_b,
    "F-then-B": f_then_b,
    "1F1B": one_f_one_b,
    "ZBH1": zero_bubble,
}


def named(name: str, chunks: int, allowed: tuple[str, ...]) -> str:
    """Check `schedule_mode` of `pipeline_configs`."""
    if name not in allowed:
        raise errors.ValueError_(
            f"pipeline_configs: schedule_mode must be one of {', '.join(map(repr, allowed))} for stages of "
            f"{chunks} part{'s' * (chunks > 1)}, got {name!r}"
        )
    return name


def written(steps: list[Step], chunks: int) -> str:
    """An order as officially written: "f0;f1;b0;b1;", with parts "f0_vp0;..."."""
    return "".join(f"{s.kind.lower()}{s.micro}{f'_vp{s.chunk}' if chunks > 1 else ''};" for s in steps)


def live(steps: list[Step]) -> int:
    """How many micro-batches (of one part each) a stage keeps at most, from the forward to the last use."""
    last = {(s.micro, s.chunk): i for i, s in enumerate(steps)}
    now = most = 0
    for i, step in enumerate(steps):
        now += step.kind == "F"
        most = max(most, now)
        now -= last[step.micro, step.chunk] == i
    return most


def complete(orders: list[list[Step]], chunks: int = 1, places: Ring | None = None) -> int:
    """Play the orders of all stages, each step one unit of time after what it needs; the time that it takes.

    Raises RuntimeError where the stages would wait for each other for ever.
    """
    stages = len(orders)
    places = places or Ring(stages, chunks)
    last = places.parts - 1
    done: dict[tuple, int] = {}  # (kind, micro, part of all stages) -> when
    at, clock = [0] * stages, [0] * stages
    while any(at[s] < len(orders[s]) for s in range(stages)):
        moved = False
        for stage, order in enumerate(orders):
            while at[stage] < len(order):
                kind, micro, chunk = order[at[stage]]
                part = places.part(stage, chunk)
                needs = {
                    "F": [("F", micro, part - 1)] if part else [],
                    "B": [("F", micro, part)] + ([("B", micro, part + 1)] if part < last else []),
                    "W": [("B", micro, part)],
                }[kind]
                if any(n not in done for n in needs):
                    break
                clock[stage] = max([clock[stage], *(done[n] for n in needs)]) + 1
                done[kind, micro, part] = clock[stage]
                at[stage] += 1
                moved = True
        if not moved:
            raise errors.RuntimeError_(f"the stages wait for each other at {[o[i:][:1] for o, i in zip(orders, at)]}")
    return max(clock)
