# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a policy says of the weights of a checkpoint: how each is quantized, or why it is left."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from blockscale._errors import ArgumentError
from blockscale._forms import LayerForm
from blockscale._policy import Decision, Layer, Rules
from blockscale.checkpoint._checkpoint import Checkpoint
from blockscale.checkpoint._families import Family
from blockscale.checkpoint._layouts import Layout
from blockscale.checkpoint._tensors import Weight
from blockscale.checkpoint._values import get_computed


@dataclasses.dataclass(frozen=True)
class Choice:
    """What becomes of a weight of the source: how it is quantized, or why it is left."""

    weight: Weight
    form: LayerForm | None
    layout: Layout | None
    reason: str = ""

    def leave(self, reason: str) -> Choice:
        return Choice(self.weight, None, None, reason)


def _find_reason(checkpoint: Checkpoint, weight: Weight, family: Family) -> str:
    """Why a weight cannot be quantized, whatever a policy says."""
    rank = len(weight.shape)
    found = family.find_obstacle(weight.name, rank)
    if not found and rank == 2:
        found = checkpoint.names.find_obstacle(weight.name)
    return found


def _check_form(form: LayerForm, name: str, rule: str, family: Family) -> Layout:
    """The layout of a form.

    Raises: ArgumentError for what the family has no layout for.
    """
    layout = family.find_layout(form.weight.format)
    if layout is None:
        raise ArgumentError(f"{rule}: expected a format that {family.name} has "
                            f"({', '.join(family.formats)}) for "
                            f"'{name}', but got {form.weight.format}")
    if form.rht:
        raise ArgumentError(f"{rule}: expected no 'rht' for '{name}', since no checkpoint says "
                            "that weights are transformed, but got true")
    activation = form.activation
    if activation is not None and activation.format != form.weight.format:
        raise ArgumentError(f"{rule}: expected activations of {form.weight.format} or plain ones "
                            f"for '{name}', as {family.name} has them, but got {activation.format}")
    found = "plain" if activation is None else "quantized"
    if layout.activations not in ("", found):
        raise ArgumentError(
            f"{rule}: expected {layout.activations} activations for '{name}', since models with "
            f"{layout.name} have no others, but got {found} ones; "
            + ("remove" if activation is None else "give") + " 'weight_only': true")
    return layout


def choose(checkpoint: Checkpoint, rules: Rules, family: Family) -> list[Choice]:
    """What a policy says of each weight, in the order of the source."""
    choices = []
    for weight in checkpoint.weights.values():
        if not (weight.layout.is_plain or weight.layout.is_fp8):
            raise ArgumentError(f"expected plain weights to quantize, but '{weight.name}' is "
                                f"{weight.layout.name}; convert the checkpoint instead")
        found = Choice(weight, None, None, _find_reason(checkpoint, weight, family))
        if not found.reason:
            decision = _decide(checkpoint, weight, rules)
            found = found.leave(decision.reason)
            if decision.form is not None:
                found = Choice(weight, decision.form, _check_form(
                    decision.form, weight.name, decision.rule, family))
        choices.append(found)
    _keep_stacks_together(choices)
    _keep_groups_together(checkpoint, choices)
    _check_groups(checkpoint, choices)
    return choices


def _keep_groups_together(checkpoint: Checkpoint, choices: list[Choice]) -> None:
    """Layers that loaders fuse are left where one of them has no form for its sizes or its kind;
    what a policy says of one of them is the policy's fault."""
    first: dict[str, Choice] = {}
    for choice in choices:
        if choice.form is None and not choice.reason.startswith("policy_c1"):
            first.setdefault(checkpoint.names.get_group(choice.weight.name), choice)
    for number, choice in enumerate(choices):
        group = checkpoint.names.get_group(choice.weight.name)
        if len(choice.weight.shape) == 2 and choice.form is not None and group in first:
            other = first[group]
            choices[number] = choice.leave(
                "expected all layers that loaders fuse to be quantized, but "
                f"'{other.weight.name}' is left: {other.reason}")


def _check_groups(checkpoint: Checkpoint, choices: Sequence[Choice]) -> None:
    """Layers that loaders fuse are quantized alike.

    Raises: ArgumentError where a policy says otherwise.
    """
    groups: dict[str, Choice] = {}
    for choice in choices:
        if len(choice.weight.shape) != 2:
            continue
        first = groups.setdefault(checkpoint.names.get_group(choice.weight.name), choice)
        if first.form != choice.form:
            raise ArgumentError(
                "expected one form for layers that loaders fuse, but got "
                + " and ".join(f"'{each.weight.name}' " + (each.form.describe() if each.form
                                                           else f"left ({each.reason})")
                               for each in (first, choice)) + "; give them one rule")


def _decide(checkpoint: Checkpoint, weight: Weight, rules: Rules) -> Decision:
    n, k = weight.shape[-2:]
    is_head = checkpoint.names.is_head(weight.name)
    return rules.decide(Layer(weight.name, n, k, is_head), get_computed(weight))


def _keep_stacks_together(choices: list[Choice]) -> None:
    """Stacks of the same experts are quantized alike, or left."""
    first: dict[str, Choice] = {}
    for choice in choices:
        if len(choice.weight.shape) == 3 and choice.form is None:
            first.setdefault(choice.weight.name.rpartition(".")[0], choice)
    for number, choice in enumerate(choices):
        path = choice.weight.name.rpartition(".")[0]
        if len(choice.weight.shape) == 3 and choice.form is not None and path in first:
            other = first[path]
            choices[number] = choice.leave(
                "expected all stacks of these experts to be quantized, but "
                f"'{other.weight.name}' is left: {other.reason}")
