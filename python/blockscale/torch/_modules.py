# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules with quantized weights."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import torch
from torch import Tensor, nn

from blockscale._forms import LayerForm, OperandForm
from blockscale.torch._forms import ROW_MAJOR, get_layout, get_storage
from blockscale.torch._kernels import to_argument
from blockscale.torch._library import join_tensors
from blockscale.torch._products_kernels import Quantizer, run

_CAST = {"bf16": torch.bfloat16, "f16": torch.float16}
_OWN = ("data", "scales", "global_scale", "input_global", "row_scales")
_OPS = torch.ops.blockscale
#: Rows of a tile of scales.
_TILE_ROWS = 128


def quantize_weight(weight: Tensor, form: LayerForm) -> tuple[Tensor, Tensor, Tensor | None]:
    """Data, scales and global scale of a weight [N, K], or of a stack [E, N, K] with a global
    scale for each matrix, in row-major order."""
    operand = form.weight
    if form.cast and weight.dtype == torch.float32:
        weight = weight.to(_CAST[form.cast])
    has_global = operand.scaling != "none"
    batch = list(weight.shape[:-2])
    if weight.is_meta:
        rows, cols = weight.shape[-2:]
        data, scales = ([*batch, *shape] for shape in get_storage(rows, cols, operand.format,
                                                                  ROW_MAJOR))
        found = (torch.empty(batch, device="meta") if has_global else None)
        return (torch.empty(data, dtype=torch.uint8, device="meta"),
                torch.empty(scales, dtype=torch.uint8, device="meta"), found)
    given = (torch.tensor(operand.amax, dtype=torch.float32, device=weight.device)
             if operand.scaling == "amax" else None)
    # The number itself is an argument, so that one kernel serves all.
    key = OperandForm(operand.format, operand.recipe, operand.scaling, None, operand.is_swept)
    kernel = Quantizer(key, weight.dtype, weight.dim(), form.rht).get()
    data, scales, *made = run(kernel, [to_argument(weight), given])
    if not made:
        return data, scales, None
    return data, scales, made[0].expand(batch).contiguous() if batch else made[0]


class Neighbours:
    """Layers of one module that may read the same activations, as of queries, keys and values.
    Their weights lie behind one another in memory, so that the backend of torch.compile can make
    one product of them; each has a global scale for each row then."""

    def __init__(self, layers: Sequence[QuantizedLinear]):
        self._layers = list(layers)
        for layer in self._layers:
            layer.neighbours = self

    def _can_join(self) -> bool:
        first = self._layers[0]
        return all(layer.data.device == first.data.device and layer.layout == first.layout
                   and not layer.data.is_meta for layer in self._layers)

    def join(self) -> None:
        """Brings the weights together, if they are of one device and order."""
        layers = self._layers
        has_global = layers[0].global_scale is not None
        if not self._can_join():
            for layer in layers:
                layer.row_scales = None
            return
        for name in ("data", "scales"):
            if join_tensors([getattr(layer, name) for layer in layers]) is None:
                self._place(name, [getattr(layer, name) for layer in layers])
        if has_global:
            # The scales may have been loaded.
            self._place("row_scales", [layer.global_scale.expand(layer.out_features)
                                       for layer in layers if layer.global_scale is not None])
        biases = [layer.bias for layer in layers if layer.bias is not None]
        if biases and join_tensors([each.data for each in biases]) is None:
            parts = torch.cat([each.data for each in biases]).split([len(each) for each in biases])
            for bias, part in zip(biases, parts):
                bias.data = part

    def _place(self, name: str, tensors: list[Tensor]) -> None:
        parts = torch.cat(tensors).split([len(each) for each in tensors])
        for layer, part in zip(self._layers, parts):
            setattr(layer, name, part.detach())


def find_neighbours(model: nn.Module) -> None:
    """Brings layers with plain activations together that one module has, of one form and of rows
    in whole tiles of scales."""
    for parent in model.modules():
        groups: dict[Any, list[QuantizedLinear]] = {}
        for layer in dict.fromkeys(parent.children()):
            # On a GPU each weight ends with a whole tile of scales then.
            if (isinstance(layer, QuantizedLinear) and layer.form.activation is None
                    and layer.out_features % _TILE_ROWS == 0):
                bias = None if layer.bias is None else layer.bias.dtype
                groups.setdefault((layer.in_features, layer.form, bias), []).append(layer)
        for layers in groups.values():
            if len(layers) > 1 and not any(layer.neighbours for layer in layers):
                Neighbours(layers).join()


class QuantizedWeight(nn.Module):
    """A weight [N, K], or a stack [E, N, K], in narrow codes with block scales.

    Attributes:
      data, scales, global_scale: the weight. A state dict has them in row-major order; on a GPU
        they are in the order that its products read, `layout`.
      input_global: the static amax or global scale of activations, if there is one.
      form: how weight and activations are quantized.
    """

    data: Tensor
    scales: Tensor
    global_scale: Tensor | None
    input_global: Tensor | None
    row_scales: Tensor | None
    bias: Tensor | None

    def __init__(self, data: Tensor, scales: Tensor, global_scale: Tensor | None,
                 bias: Tensor | None, *, in_features: int, out_features: int, form: LayerForm,
                 input_global: Tensor | None = None):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.form = form
        self.layout = ROW_MAJOR
        self.neighbours: Neighbours | None = None
        self.register_buffer("row_scales", None, persistent=False)
        for name, tensor in zip(_OWN, (data, scales, global_scale, input_global)):
            self.register_buffer(name, tensor)
        self.register_parameter("bias", None if bias is None else
                                nn.Parameter(bias.detach(), requires_grad=False))
        self._arrange()

    @property
    def scaling(self) -> str:
        """Where the global scale of activations comes from."""
        return "none" if self.form.activation is None else self.form.activation.scaling

    @property
    def num_bytes(self) -> int:
        """Of the weight as it is held, without the bias."""
        return sum(each.numel() * each.element_size()
                   for each in (self.data, self.scales, self.global_scale) if each is not None)

    # The order in memory.

    def _convert(self, layout: str) -> tuple[Tensor, Tensor]:
        """Data and scales in another order."""
        if layout == self.layout:
            return self.data, self.scales
        data, scales = _OPS.pack(
            self.data, self.scales, out_features=self.out_features, in_features=self.in_features,
            format=self.form.weight.format, before=self.layout, after=layout)
        return data, scales

    def _set_layout(self, layout: str) -> None:
        self.data, self.scales = self._convert(layout)
        self.layout = layout

    def _arrange(self) -> None:
        """Brings the weight into the order of its device."""
        layout = ROW_MAJOR if self.data.is_meta else get_layout(self.data.device,
                                                                self.form.activation is None)
        self._set_layout(layout)
        if self.neighbours is not None:
            self.neighbours.join()

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> QuantizedWeight:
        own = {id(getattr(self, name)) for name in _OWN if getattr(self, name) is not None}

        def move(tensor: Tensor) -> Tensor:
            moved = fn(tensor)
            # Scales are f32 in a model of any type.
            return (tensor.to(moved.device)
                    if id(tensor) in own and moved.dtype != tensor.dtype else moved)
        super()._apply(move, recurse)
        self._arrange()
        return self

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        data, scales = self._convert(ROW_MAJOR)
        for name, tensor in (("data", data), ("scales", scales), ("bias", self.bias)):
            if tensor is None:
                continue
            # A view of the weights of several layers would be saved with all of them.
            is_part = tensor.untyped_storage().nbytes() > tensor.nbytes
            if is_part or name != "bias":
                destination[prefix + name] = (tensor.clone() if is_part else tensor).detach()

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        self._set_layout(ROW_MAJOR)
        super()._load_from_state_dict(*args, **kwargs)
        self._arrange()

    # Numbers.

    @property
    def weight(self) -> Tensor:
        """The values of the weight, which are computed at each access, in the bias's type or
        bfloat16."""
        data, scales = self._convert(ROW_MAJOR)
        dtype = torch.bfloat16 if self.bias is None else self.bias.dtype
        return _OPS.dequantize(data, scales, self.global_scale, in_features=self.in_features,
                               format=self.form.weight.format, dtype=dtype)

    def multiply(self, x: Tensor, offsets: Tensor | None = None) -> Tensor:
        """x times the weight, with the bias; with offsets, of a stack by groups of rows."""
        form, dtype = self.form, x.dtype
        if form.cast is not None and dtype == torch.float32:
            x = x.to(_CAST[form.cast])
        scale = self.global_scale if self.row_scales is None else self.row_scales
        args: list[Any] = [x, self.data, self.scales, scale, self.bias]
        if offsets is not None:
            args.append(offsets)
        options: dict[str, Any] = dict(out_features=self.out_features,
                                       format=form.weight.format, layout=self.layout,
                                       rht=form.rht)
        if form.activation is None:
            op = _OPS.linear_weight_only if offsets is None else _OPS.grouped_linear_weight_only
        else:
            op = _OPS.linear_quantized if offsets is None else _OPS.grouped_linear_quantized
            args.append(self.input_global)
            options |= dict(input_format=form.activation.format,
                            input_recipe=form.activation.recipe,
                            input_scaling=form.activation.scaling)
        y: Tensor = op(*args, **options)
        return y if y.dtype == dtype else y.to(dtype)

    def extra_repr(self) -> str:
        stack = (f"{self.data.shape[0]}, " if isinstance(self, QuantizedStack) else "")
        static = ", static" if self.scaling in ("amax", "scale") else ""
        return (f"{stack}in_features={self.in_features}, out_features={self.out_features}, "
                f"bias={self.bias is not None}, {self.form.describe()}{static}, {self.layout}, "
                f"{self.num_bytes} bytes")


class QuantizedLinear(QuantizedWeight):
    """nn.Linear with a quantized weight."""

    def forward(self, input: Tensor) -> Tensor:
        return self.multiply(input)


class QuantizedStack(QuantizedWeight):
    """The weights of experts, [E, N, K]."""

    def forward(self, input: Tensor, offsets: Tensor) -> Tensor:
        """Rows [M, K], sorted by expert, and the ends of the experts' rows, int32 [E]."""
        return self.multiply(input, offsets)


def route(top_k_index: Tensor, experts: int) -> tuple[Tensor, Tensor]:
    """The order of rows by expert, and the ends of the experts' rows, int32 [E]. Numbers from
    `experts` on are of no expert."""
    chosen, order = torch.sort(top_k_index.reshape(-1), stable=True)
    numbers = torch.arange(experts, device=chosen.device, dtype=chosen.dtype)
    return order, torch.searchsorted(chosen, numbers, right=True).to(torch.int32)


class QuantizedExperts(nn.Module):
    """Experts of transformers with quantized weights: modules whose class has
    `use_experts_implementation`. What else they have, as activations and limits, is theirs."""

    def __init__(self, experts: nn.Module, stacks: dict[str, QuantizedStack]):
        super().__init__()
        replaced = {*stacks, *(f"{name}_bias" for name in stacks)}
        for name, value in vars(experts).items():
            if name not in vars(self):
                setattr(self, name, value)
        for name, module in experts.named_children():
            self.add_module(name, module)
        for name, parameter in experts.named_parameters(recurse=False):
            if name not in replaced:
                self.register_parameter(name, parameter)
        self.kind = type(experts)
        for name, stack in stacks.items():
            self.add_module(name, stack)
        self.training = experts.training

    def _get_name(self) -> str:
        return f"Quantized{self.kind.__name__}"

    def forward(self, hidden_states: Tensor, top_k_index: Tensor, top_k_weights: Tensor) -> Tensor:
        tokens, count = top_k_index.shape
        order, offsets = route(top_k_index, self.num_experts)
        rows = hidden_states[torch.div(order, count, rounding_mode="floor")]
        if self.has_gate:
            inner = self.kind._apply_gate(self, self.gate_up_proj(rows, offsets))
        else:
            inner = self.act_fn(self.up_proj(rows, offsets))
        out = self.down_proj(inner, offsets)
        # Some versions of transformers have no such attribute.
        if getattr(self, "has_post_expert_norm", False):
            out = self.post_expert_norm(out)
        out = out * top_k_weights.reshape(-1)[order, None]
        back = torch.empty_like(order)
        back[order] = torch.arange(order.shape[0], device=order.device)
        total = out[back].view(tokens, count, -1).sum(1)
        return total.to(hidden_states.dtype)
