# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which changed rules explain the bytes of a foreign quantizer."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .changes import Change

# Blocks that the search looks at, of those that differ and of others.
_MOST_BLOCKS = 1024
_MOST_CHANGES = 6
_KEPT = 4  # explanations that go on at each step
_MOST_IDLE = 2  # steps without a better one


@dataclass(frozen=True)
class Stage:
    """One kind of bytes of all blocks: their scales, or their codes under given scales."""

    name: str
    setting: object
    changes: tuple[Change, ...]
    #: The bytes [N, ..] that a setting of some of the blocks gives, with the places of these.
    compute: Callable
    #: Whether bytes of blocks differ [N, ..], of (expected bytes, places).
    differ: Callable


@dataclass(frozen=True)
class Finding:
    """A rule that the quantizer broke."""

    stage: str
    change: object  # a Change, or what is said in its place
    count: int  # bytes that it explains
    alternatives: tuple = ()  # other changes of one rule that explain as many

    def __str__(self):
        text = f"{self.stage}: {self.change} ({self.count} differ by it)"
        others = [str(change) for change in self.alternatives]
        return text + "".join(f"\n    or {other}" for other in others)


@dataclass(frozen=True)
class Explanation:
    compared: int
    differing: int
    findings: tuple[Finding, ...]
    unexplained: int
    seen: tuple[Change, ...]  # changes that give other bytes than the recipe does
    unseen: tuple[Change, ...]


def explain(stage):
    """The least set of changes that explains most of the bytes."""
    count = len(stage.setting.x)
    everything = np.arange(count)
    differs = _evaluate(stage, (), everything)
    differing = int(differs.sum())
    own = stage.compute(stage.setting, everything)
    unseen = tuple(change for change in stage.changes
                   if np.array_equal(_computed(stage, (change,), everything), own))
    seen = tuple(change for change in stage.changes if change not in unseen)
    if not differing:
        return Explanation(differs.size, 0, (), 0, seen, unseen)
    places = _sample(differs)
    # Changes that alone are not seen count, too: beside others they may be.
    chosen, equals = _choose(stage, _search(stage, places), places, everything)
    findings = tuple(_finding(stage, chosen, i, equals[i], everything)
                     for i in range(len(chosen)))
    left = _cost(stage, chosen, everything)
    return Explanation(differs.size, differing, findings, left, seen, unseen)


def _computed(stage, changes, places):
    setting = stage.setting.take(places)
    with np.errstate(all="ignore"):
        for change in changes:
            setting = change.apply(setting)
        return stage.compute(setting, places)


def _evaluate(stage, changes, places):
    """Whether each byte at places differs under changes."""
    return stage.differ(_computed(stage, changes, places), places)


def _cost(stage, changes, places):
    return int(_evaluate(stage, changes, places).sum())


def _sample(differs):
    by_block = differs.reshape(len(differs), -1).any(axis=1)
    chosen = []
    for places in (np.flatnonzero(by_block), np.flatnonzero(~by_block)):
        step = max(1, -(-len(places) // _MOST_BLOCKS))
        chosen.append(places[::step])
    return np.sort(np.concatenate(chosen))


def _search(stage, places):
    """A beam search: at each step the best explanations take one change more."""
    def cost(chosen):
        return _cost(stage, chosen, places)

    best, best_cost, idle = (), cost(()), 0
    beam = [((), best_cost)]
    for _ in range(_MOST_CHANGES):
        longer = {}
        for chosen, _ in beam:
            rules = {change.rule for change in chosen}
            for change in stage.changes:
                if change.rule not in rules:
                    longer[_ordered(stage, (*chosen, change))] = None
        beam = sorted(((chosen, cost(chosen)) for chosen in longer),
                      key=lambda pair: pair[1])[:_KEPT]
        idle += 1
        if beam and beam[0][1] < best_cost:
            (best, best_cost), idle = beam[0], 0
        if not beam or best_cost == 0 or idle == _MOST_IDLE:
            break
    return _without_needless(best, best_cost, cost)


def _ordered(stage, chosen):
    """Changes in the order of the stage's, in which they are applied."""
    return tuple(sorted(chosen, key=stage.changes.index))


def _without_needless(chosen, chosen_cost, cost):
    for change in chosen:
        fewer = tuple(other for other in chosen if other is not change)
        if cost(fewer) <= chosen_cost:
            return _without_needless(fewer, chosen_cost, cost)
    return chosen


def _choose(stage, chosen, places, everything):
    """The changes, and for each the others that explain as many bytes in its place. Of changes
    that explain the same bytes of the sample, those are chosen that explain most of all."""
    found = {}
    for change in chosen:
        others = tuple(other for other in chosen if other is not change)
        rules = {other.rule for other in others}
        cost = _cost(stage, chosen, places)
        sets = [_ordered(stage, (*others, other)) for other in stage.changes
                if other.rule not in rules]
        costs = {candidate: _cost(stage, candidate, everything) for candidate in sets
                 if _cost(stage, candidate, places) == cost}
        best = min(costs, key=lambda candidate: (costs[candidate], candidate != chosen))
        if costs[best] < costs[chosen]:
            return _choose(stage, best, places, everything)
        found[change] = tuple(
            other for candidate in costs for other in candidate
            if costs[candidate] == costs[chosen] and other not in chosen)
    return chosen, tuple(found[change] for change in chosen)


def _finding(stage, chosen, i, alternatives, everything):
    others = (*chosen[:i], *chosen[i + 1:])
    with_all = _evaluate(stage, chosen, everything)
    without = _evaluate(stage, others, everything)
    return Finding(stage.name, chosen[i], int((without & ~with_all).sum()), alternatives)
