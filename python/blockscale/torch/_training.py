# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training with quantized products: linear layers and experts that quantize the operands of their
products in both passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from torch import Tensor, nn

from blockscale._errors import ArgumentError
from blockscale._policy import matches_pattern
from blockscale._training import AnyForm, TrainingForm, to_form
from blockscale.torch._gated_modules import join_gated_mlps_
from blockscale.torch._kernels import LOG
from blockscale.torch._library import PLAIN
from blockscale.torch._modules import RoutedExperts, autocast
from blockscale.torch._ranks import AmaxGroup, find_ranks, is_sharded
from blockscale.torch._sites import Site, find_last, find_parents, find_sites, get_stack_names
from blockscale.torch._training_layers import TrainedLinear
from blockscale.torch._training_ops import train_grouped_linear
from blockscale.torch._weight_codes import ShardedWeight, find_obstacle

#: One form, or forms by patterns of layers' names, with None for layers that stay.
Forms = AnyForm | Mapping[str, AnyForm | None]


class TrainedExperts(RoutedExperts):
    """Experts of transformers whose products are quantized in training, with their parameters.

    Attributes:
      forms: how the operands of the products are quantized, by the names of stacks.
    """

    def __init__(self, experts: nn.Module, forms: Mapping[str, TrainingForm]):
        super().__init__(experts)
        self.forms = dict(forms)

    def _get_name(self) -> str:
        return f"Trained{self.kind.__name__}"

    def multiply(self, name: str, rows: Tensor, offsets: Tensor) -> Tensor:
        weight: Tensor = getattr(self, name)
        if self.is_transposed:
            weight = weight.transpose(-2, -1)
        bias = getattr(self, f"{name}_bias") if self.has_bias else None
        return train_grouped_linear(autocast(rows), weight, offsets, bias, form=self.forms[name])

    def extra_repr(self) -> str:
        return "; ".join(f"{name}: {form.describe()}" for name, form in self.forms.items())


def _find_form(name: str, forms: Mapping[str, TrainingForm | None]) -> TrainingForm | str:
    """The form of a layer, or why it has none."""
    for pattern, form in forms.items():
        if matches_pattern(pattern, name):
            return form or f"expected a form, but '{pattern}' has none"
    return "expected a pattern that matches its name"


def _find_reason(site: Site, form: TrainingForm, is_last: bool, is_root: bool) -> str:
    """Why a layer or a stack of experts cannot be of a form, or shall not."""
    if is_last:
        return "expected a layer that is not the last projection"
    if site.is_stack:
        if site.obstacle or is_root:
            return site.obstacle or "expected experts in a model, but got experts alone"
    elif type(site.owner) is not nn.Linear:
        return f"expected a layer of nn.Linear, but got {type(site.owner).__name__}"
    if site.weight.dtype not in PLAIN:
        return f"expected a weight of float32, bfloat16 or float16, but got {site.weight.dtype}"
    for size, what, operand in zip(site.get_sizes(), ("rows", "columns"),
                                   (form.dgrad_gradient, form.forward_input)):
        if size % operand.block:
            return (f"expected a multiple of {operand.block} {what} of the weight, but got "
                    f"{size}")
    return ""


def _gather_codes(site: Site, form: TrainingForm, owners: int) -> None:
    """Has fully_shard() gather a layer's weight as codes, where it can."""
    obstacle = find_obstacle(form)
    if owners > 1:
        obstacle = f"expected a weight of one layer alone, but got one of {owners}"
    if obstacle:
        LOG.info("prepare_training_ leaves the weight of %s to be gathered: %s", site.name,
                 obstacle)
        return
    weight = site.owner.weight
    site.owner.weight = nn.Parameter(ShardedWeight(weight.detach(), form.text),
                                     weight.requires_grad)


def prepare_training_(model: nn.Module, forms: Forms, *, leave_last_projection: bool = True,
                      amax_group: AmaxGroup | None = None, gather_codes: bool = False
                      ) -> dict[str, str]:
    """Makes the linear layers of a model, and experts as transformers have them, quantize the
    operands of their products in training, in place. Parameters stay the model's, so that
    optimizers, state dicts and hooks know them as before.

    Args:
      forms: a TrainingForm or the name of one, for all layers; or a dict of forms by patterns, of
        which the first one that matches a layer's whole name decides, as in docs/Policy.md. None
        leaves a layer.
      leave_last_projection: whether the last projection stays, as by a policy.
      amax_group: ranks that train the model, each with as many rows, as train_linear() takes them.
        Experts have the amaxes of a rank's own rows.
      gather_codes: whether fully_shard() gathers weights of linear layers as codes, where a form
        has one set of them for forward and dgrad. Their parameters become other ones, so make
        optimizers behind this.

    Returns: the form of each layer and of each stack of experts, by its name. Layers of other
      classes, and those whose sizes are no multiples of the blocks, stay as they are, and experts
      of which one stack would; the log says why, at level INFO.

    Raises: ArgumentError. The model is as it was then, also where no layer is taken.
    """
    if not isinstance(model, nn.Module):
        raise ArgumentError(f"expected a torch.nn.Module, but got {type(model).__name__}")
    given = forms if isinstance(forms, Mapping) else {"*": forms}
    known = {pattern: None if each is None else to_form(each) for pattern, each in given.items()}
    ranks = None if amax_group is None else find_ranks(amax_group)
    sites = list(find_sites(model))
    last = find_last(model, sites) if leave_last_projection else ""
    taken: dict[str, tuple[Site, TrainingForm]] = {}
    left: dict[str, str] = {}
    for site in sites:
        form = _find_form(site.name, known)
        reason = form if isinstance(form, str) else _find_reason(site, form, site.name == last,
                                                                 site.owner is model)
        if reason or isinstance(form, str):
            left[site.name] = reason
        else:
            taken[site.name] = site, form
    stacks: dict[nn.Module, dict[str, TrainingForm]] = {}
    for site, form in taken.values():
        if site.is_stack:
            stacks.setdefault(site.owner, {})[site.member] = form
    for name, (site, _) in list(taken.items()):
        if site.is_stack and len(stacks[site.owner]) < len(get_stack_names(site.owner)):
            left[name] = "expected experts all of whose stacks have forms, but one is left"
            del taken[name]
    for name, reason in left.items():
        LOG.info("prepare_training_ leaves %s: %s", name, reason)
    if not taken:
        raise ArgumentError("expected a layer of nn.Linear that the forms quantize, but the "
                            f"{len(sites)} of {type(model).__name__} are left")
    owners = Counter(id(each) for _, each in model.named_parameters(remove_duplicate=False))
    for name, (site, _) in taken.items():
        if gather_codes and not site.is_stack and is_sharded(site.weight):
            raise ArgumentError("expected gather_codes of a model that is not sharded yet, but got "
                                f"a DTensor as the weight of {name}")
    parents = find_parents(model)
    for site, form in taken.values():
        if not site.is_stack:
            site.owner.__class__ = TrainedLinear
            site.owner.form, site.owner.amax_group = form, ranks
            if gather_codes:
                _gather_codes(site, form, owners[id(site.weight)])
        elif site.owner in stacks:
            experts = TrainedExperts(site.owner, stacks.pop(site.owner))
            for parent, name in parents[id(site.owner)]:
                setattr(parent, name, experts)
    for name in join_gated_mlps_(model):
        LOG.info("prepare_training_ computes the layers of %s together", name or "the model")
    return {name: form.describe() for name, (_, form) in taken.items()}
