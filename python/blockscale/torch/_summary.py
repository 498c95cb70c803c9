# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What became of each weight of a model, and of its bytes."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator, Mapping, Sequence

from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter

from blockscale._tables import make_table
from blockscale.torch._modules import QuantizedWeight
from blockscale.torch._sites import Site, explain_parameter


@dataclasses.dataclass(frozen=True)
class LayerSummary:
    """What became of a layer, or of another parameter: its form as text, or "" and why it was
    left. `before` and `after` are bytes of the weight; a weight that two layers share counts at
    the first."""

    name: str
    form: str
    reason: str
    before: int
    after: int


@dataclasses.dataclass(frozen=True)
class Summary:
    """What quantize_ and load_quantized_ did. `print` shows a table.

    Attributes:
      layers: one for each linear layer, each stack of experts, and each other parameter of two or
        more dimensions.
      amaxes: names of amaxes that were given and that no layer took.
      others: bytes of all other parameters and of buffers, before and after.
    """

    layers: tuple[LayerSummary, ...]
    amaxes: tuple[str, ...] = ()
    others: tuple[int, int] = (0, 0)

    @property
    def quantized(self) -> tuple[LayerSummary, ...]:
        return tuple(each for each in self.layers if each.form)

    @property
    def left(self) -> tuple[LayerSummary, ...]:
        return tuple(each for each in self.layers if not each.form)

    @property
    def before(self) -> int:
        """Bytes of the model's parameters and buffers before."""
        return sum(each.before for each in self.layers) + self.others[0]

    @property
    def after(self) -> int:
        return sum(each.after for each in self.layers) + self.others[1]

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [
            (each.name, str(each.before), str(each.after), each.form or f"left: {each.reason}")
            for each in self.layers]
        rows.append(("others", *map(str, self.others), "vectors, numbers and buffers"))
        rows.append(("sum", str(self.before), str(self.after),
                     f"{len(self.quantized)} quantized, {len(self.left)} left"))
        return make_table(rows, (1, 2))


def _count(tensor: Tensor) -> int:
    return 0 if isinstance(tensor, UninitializedParameter) else tensor.numel() * (
        tensor.element_size())


def _count_model(model: nn.Module) -> int:
    tensors = {id(each): each for each in (*model.parameters(), *model.buffers())}
    return sum(map(_count, tensors.values()))


def _has_matrix(parameter: Tensor) -> bool:
    return isinstance(parameter, UninitializedParameter) or parameter.dim() > 1


@dataclasses.dataclass
class _Line:
    name: str
    #: The site, or why the parameter is none.
    site: Site | None
    reason: str
    parameter: Tensor
    before: int


class Ledger:
    """The weights of a model before they are replaced.

    Args:
      sites: as find_sites() has them.
    """

    def __init__(self, model: nn.Module, sites: Sequence[Site]):
        self._model = model
        self._sites = {(id(site.owner), site.member): site for site in sites}
        self._total = _count_model(model)
        seen: set[int] = set()
        self._lines = list[_Line]()
        for line in self._list_lines():
            if id(line.parameter) not in seen:
                seen.add(id(line.parameter))
                line.before = _count(line.parameter)
            self._lines.append(line)

    def _list_lines(self) -> Iterator[_Line]:
        for path, module in self._model.named_modules():
            for name, parameter in module._parameters.items():
                if parameter is None:
                    continue
                site = self._sites.get((id(module), name))
                if site is not None:
                    yield _Line(site.name, site, "", parameter, 0)
                elif _has_matrix(parameter):
                    yield _Line(f"{path}.{name}" if path else name, None,
                                explain_parameter(module, name), parameter, 0)

    def close(self, made: Mapping[Site, tuple[str, QuantizedWeight]], reasons: Mapping[Site, str],
              amaxes: Sequence[str] = ()) -> Summary:
        """The summary of the model as it is now.

        Args:
          made: the form, as text, and the module of each site that was replaced.
          reasons: why others were left.
        """
        counted: set[int] = set()
        layers = []

        def count(held: object, size: int) -> int:
            if id(held) in counted:
                return 0
            counted.add(id(held))
            return size

        for line in self._lines:
            if line.site is not None and line.site in made:
                form, module = made[line.site]
                layers.append(LayerSummary(line.name, form, "", line.before,
                                           count(module, module.num_bytes)))
                continue
            reason = line.reason if line.site is None else reasons[line.site]
            layers.append(LayerSummary(line.name, "", reason, line.before,
                                       count(line.parameter, _count(line.parameter))))
        listed = [sum(getattr(each, name) for each in layers) for name in ("before", "after")]
        summary = Summary(tuple(layers), tuple(amaxes), (
            self._total - listed[0], _count_model(self._model) - listed[1]))
        self._warn(summary)
        return summary

    def _warn(self, summary: Summary) -> None:
        if summary.quantized:
            return
        sites = {site.name for site in self._sites.values()}
        left = [each for each in summary.left if each.name in sites]
        why = f"; '{left[0].name}' is left: {left[0].reason}" if left else ""
        warnings.warn(f"expected to quantize a layer of {type(self._model).__name__}, but all of "
                      f"its {len(left)} were left{why}", stacklevel=4)
