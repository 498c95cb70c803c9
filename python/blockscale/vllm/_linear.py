# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Linear layers of vLLM with quantized weights."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from vllm.model_executor.layers.linear import (
    LinearMethodBase,
    register_weight_loader_v2_supported_method,
)

from blockscale import _native
from blockscale._errors import ArgumentError
from blockscale._forms import LayerForm
from blockscale._ops import FORMATS
from blockscale.checkpoint._layouts import (
    DATA,
    FP8_BLOCK,
    FP8_BLOCKS,
    FP8_TENSOR,
    GLOBAL,
    INPUT,
    SCALES,
)
from blockscale.torch._checkpoint import check_codes, find_form, fit_form, get_decode_scale
from blockscale.torch._forms import has_product
from blockscale.torch._fp8 import Fp8Linear, check_fp8, check_fp8_options
from blockscale.torch._modules import QuantizedLinear
from blockscale.torch._state import find_wrong_codes, read_form
from blockscale.vllm._files import FORM, OWN, VARIABLES, WEIGHT_ONLY, Options, Part
from blockscale.vllm._parameters import Loader, add_parameter, list_parts, take

#: The name of our modules in a layer.
MODULES = "blockscale_parts"


def check_device(name: str, device: torch.device, form: LayerForm | None) -> None:
    """Raises ArgumentError for a device that layers of a form are not computed on. Without a form,
    PyTorch multiplies decoded numbers."""
    if device.type == "cpu":
        return
    if device.type != "cuda" or torch.version.hip is not None:
        found = "a GPU of AMD" if device.type == "cuda" else device.type
        raise ArgumentError(f"'{name}': expected a CPU or a GPU of NVIDIA, but got {found}")
    if form is not None and not has_product(device, form.activation is None, *form.formats):
        major, minor = torch.cuda.get_device_capability(device)
        raise ArgumentError(f"'{name}': expected a chip with products of {form.describe()}, of "
                            f"{_native.chips}, but got compute capability {major}.{minor}")


@register_weight_loader_v2_supported_method
class BlockScaleLinearMethod(LinearMethodBase):
    """How a layer loads the tensors of files, and computes with them. When all are there, modules
    of this package have them: one for all parts of a layer that compute alike."""

    def __init__(self, name: str, parts: Sequence[Part], options: Options):
        self.name, self.parts, self._options = name, parts, options
        if self.layout.is_fp8:
            check_fp8_options(name, self.layout, options.weight_only, options.order, VARIABLES)
        self._loaders: list[Loader] = []

    @property
    def layout(self) -> Any:
        return self.parts[0].layout

    def create_weights(self, layer: Any, input_size_per_partition: int,
                       output_partition_sizes: list[int], input_size: int, output_size: int,
                       params_dtype: torch.dtype, **extra_weight_attrs: Any) -> None:
        """vLLM gives the sizes of this rank and of all ranks."""
        self.rows, self.cols = list(output_partition_sizes), input_size_per_partition
        self._check_sizes(layer, input_size)
        self.dtype = params_dtype
        load = extra_weight_attrs["weight_loader"]
        for slot in self.parts[0].slots:
            self._loaders.append(add_parameter(layer, self.name, slot, self.rows, self.cols, load))

    def _check_sizes(self, layer: Any, input_size: int) -> None:
        """That ranks have whole blocks of the weight."""
        for slot in self.parts[0].slots:
            if slot.is_scalar:
                continue
            if slot.cols and self.cols % slot.cols and self.cols != input_size:
                raise ArgumentError(
                    f"'{self.name}': expected ranks of tensor parallelism to have whole blocks of "
                    f"{slot.cols} columns, but got {self.cols} of {input_size}")
            bad = [rows for rows in self.rows if rows % slot.rows]
            if bad and layer.tp_size > 1:
                raise ArgumentError(
                    f"'{self.name}': expected ranks of tensor parallelism to have whole blocks of "
                    f"{slot.rows} rows, but got {bad[0]}")
            # vLLM puts the blocks of a part behind the whole ones of the rows before.
            starts = [sum(self.rows[:place]) for place in range(len(self.rows))]
            if [slot.count_rows(start) for start in starts] != [
                    sum(map(slot.count_rows, self.rows[:place])) for place in range(len(starts))]:
                raise ArgumentError(
                    f"'{self.name}': expected all parts of a layer but one to have whole blocks of "
                    f"{slot.rows} rows, but got {bad[0]}")
        block = self.layout.block if self.layout.has_block_scales else 1
        if self.cols % block:
            raise ArgumentError(f"'{self.name}': expected rows of whole blocks of {block}, but the "
                                f"layer has {self.cols} columns")

    def process_weights_after_loading(self, layer: Any) -> None:
        """vLLM calls it when all tensors are loaded, on the device of the layer."""
        if hasattr(layer, MODULES):
            return
        names = list(list_parts(layer))
        for slot, loader in zip(self.parts[0].slots, self._loaders):
            lost = loader.find_lost()
            if lost:
                name = self._get_part(names.index(lost[0])).name
                raise ArgumentError(f"expected a tensor '{name}{slot.ending}', but got none")
        # vLLM does not wait for a bias. One part may have none: models add zeros for keys.
        if layer.bias is not None and not any(part.has_bias for part in self.parts):
            raise ArgumentError(f"expected a tensor '{self.parts[0].name}.bias', but got none")
        found = {slot.role: take(layer, slot.member) for slot in self.parts[0].slots}
        with torch.no_grad():
            made = self._make_fp8(found) if self.layout.is_fp8 else self._make(found)
        layer.add_module(MODULES, nn.ModuleList(made))

    def _get_part(self, place: int) -> Part:
        """The layer of the files that a part of this layer is: files may have one for all."""
        return self.parts[place if len(self.parts) == len(self.rows) else 0]

    def _read_scalars(self, role: str, found: dict[str, Tensor]) -> list[Tensor | None]:
        """The decode scales of the parts."""
        if role not in found:
            return [None] * len(self.rows)
        ending = self.layout.endings[role]
        return [get_decode_scale(f"{self._get_part(place).name}{ending}", each,
                                 self.layout.is_reciprocal)
                for place, each in enumerate(found[role])]

    def _make(self, found: dict[str, Tensor]) -> list[QuantizedLinear]:
        data, scales = (found[role].view(torch.uint8) for role in (DATA, SCALES))
        if self.layout is not OWN:
            check_codes(self.name, self.layout, data, scales)
        global_scales = self._read_scalars(GLOBAL, found)
        inputs = self._read_scalars(INPUT, found)
        forms = [self._find_form(place, found, global_scales[place] is not None,
                                 inputs[place] is not None) for place in range(len(self.rows))]
        made, begin, first = [], 0, 0
        for end in range(1, len(self.rows) + 1):
            if end < len(self.rows) and forms[end] == forms[first] and _is_same(
                    inputs[end], inputs[first]):
                continue
            rows = sum(self.rows[first:end])
            own = slice(begin, begin + rows)
            form = forms[first]
            if self.layout is OWN:
                for member, problem in find_wrong_codes(form.weight.format, data[own],
                                                        scales[own]):
                    raise ArgumentError(f"'{self._get_part(first).name}.{member}': {problem}")
            check_device(self.name, data.device, form)
            is_static = form.activation is not None and form.activation.scaling in ("amax", "scale")
            made.append(QuantizedLinear(
                data[own], scales[own], self._join(global_scales[first:end], self.rows[first:end]),
                None, in_features=self.cols, out_features=rows, form=form,
                input_global=inputs[first] if is_static else None, dtype=self.dtype))
            begin, first = begin + rows, end
        return made

    def _find_form(self, place: int, found: dict[str, Tensor], has_global: bool, has_input: bool
                   ) -> LayerForm:
        part = self._get_part(place)
        if self.layout is OWN:
            try:
                form = read_form(found[FORM][place])
            except ArgumentError as error:
                raise ArgumentError(f"'{part.name}.{FORM}': {error}") from None
            self._check_own(part, form, found)
            if self._options.weight_only is False and form.activation is None:
                raise ArgumentError(f"'{part.name}': {WEIGHT_ONLY}: expected plain activations for "
                                    "a weight that was quantized for these, but got quantized ones")
            if self._options.weight_only and form.activation is not None:
                form = dataclasses.replace(form, activation=None, plain_rows=0)
        else:
            form = find_form(part.name, part.layout, part.group, has_global, has_input,
                             self._options.weight_only)
        return fit_form(form, self.dtype, self.name).with_order(self._options.order)

    def _check_own(self, part: Part, form: LayerForm, found: dict[str, Tensor]) -> None:
        """That codes have the sizes of the format that their mark says."""
        element, _, block = FORMATS[form.weight.format]
        wanted = {DATA: 2 if element == "f4E2M1FN" else 1, SCALES: block}
        for slot in part.slots:
            if slot.role in wanted and slot.cols != wanted[slot.role]:
                count = self.cols // wanted[slot.role]
                raise ArgumentError(
                    f"'{part.name}{slot.ending}': expected {count} columns for {self.cols} of "
                    f"{form.weight.format}, but got {self.cols // slot.cols}")
        for role, scaling in ((GLOBAL, form.weight.scaling), (
                INPUT, form.activation.scaling if form.activation else "none")):
            is_needed = scaling != "none" if role == GLOBAL else scaling in ("amax", "scale")
            if is_needed and role not in found:
                raise ArgumentError(f"expected a tensor '{part.name}{OWN.endings[role]}', but got "
                                    "none")

    @staticmethod
    def _join(scales: Sequence[Tensor | None], rows: Sequence[int]) -> Tensor | None:
        """One global scale of all parts, or where they differ one for each row."""
        first = scales[0]
        if first is None or all(_is_same(first, each) for each in scales):
            return first
        return torch.cat([each.expand(count) for each, count in zip(scales, rows)
                          if each is not None]).contiguous()

    def _make_fp8(self, found: dict[str, Tensor]) -> list[Fp8Linear]:
        codes, scales = found[DATA].view(torch.uint8), found[SCALES]
        check_device(self.name, codes.device, None)
        check_fp8(self.name, self.layout, codes, scales)
        stored, scales = (scales.dtype, tuple(scales.shape)), scales.float()
        is_blocks = self.layout.format == FP8_BLOCKS
        if self.layout.format == FP8_TENSOR:
            # Parts have a scale each, so all rows have that of their part.
            scales = torch.cat([each.expand(rows) for each, rows in zip(scales, self.rows)])
        scales = scales.reshape(len(scales), -1)
        is_whole = not is_blocks or not any(rows % FP8_BLOCK for rows in self.rows)
        rows = [sum(self.rows)] if is_whole else self.rows
        block = FP8_BLOCK if is_blocks else 1
        return [Fp8Linear(each, own, None, rows=block, cols=FP8_BLOCK if is_blocks else self.cols,
                          layout=self.layout, stored=stored, dtype=self.dtype)
                for each, own in zip(codes.split(rows), scales.split(
                    [-(-count // block) for count in rows]))]

    def apply(self, layer: Any, x: Tensor, bias: Tensor | None = None) -> Tensor:
        modules: Any = getattr(layer, MODULES)
        if len(modules) == 1:
            y: Tensor = modules[0].compute(x, bias)
            return y
        made, begin = [], 0
        for module in modules:
            end = begin + module.out_features
            made.append(module.compute(x, None if bias is None else bias[begin:end]))
            begin = end
        return torch.cat(made, -1)

    def tie_weights(self, layer: Any, embed_tokens: Any) -> Any:
        raise ArgumentError(f"'{self.name}': expected a head with a weight of its own, since its "
                            "codes are none of the embedding's, but the model ties the two; set "
                            "tie_word_embeddings to false in config.json")


def _is_same(one: Tensor | None, other: Tensor | None) -> bool:
    return one is other or (one is not None and other is not None and torch.equal(one, other))
