# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules with quantized weights."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Collection, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from blockscale._errors import ArgumentError
from blockscale._forms import LayerForm, OperandForm
from blockscale._types import element_name
from blockscale.torch._forms import ROW_MAJOR, get_layout, get_storage
from blockscale.torch._kernels import Kernel, join_tensors, to_argument
from blockscale.torch._library import PLAIN
from blockscale.torch._products_kernels import Quantizer, run
from blockscale.torch._state import (
    MARK,
    check_state,
    compare_mark,
    find_entries,
    is_no_mark,
    make_mark,
)
from blockscale.torch._weight import WeightView

_CAST = {"bf16": torch.bfloat16, "f16": torch.float16}
_OWN = ("data", "scales", "global_scale", "input_global")
_OPS = torch.ops.blockscale
#: Rows of a tile of scales.
_TILE_ROWS = 128


def quantize_weight(weight: Tensor, form: LayerForm) -> tuple[Tensor, Tensor, Tensor | None]:
    """Data, scales and global scale of a weight [N, K], or of a stack [E, N, K] with a global
    scale for each matrix, in row-major order."""
    batch = list(weight.shape[:-2])
    if weight.is_meta:
        rows, cols = weight.shape[-2:]
        data, scales = ([*batch, *shape] for shape in get_storage(rows, cols, form.weight.format,
                                                                  ROW_MAJOR))
        found = torch.empty(batch, device="meta") if form.weight.scaling != "none" else None
        return (torch.empty(data, dtype=torch.uint8, device="meta"),
                torch.empty(scales, dtype=torch.uint8, device="meta"), found)
    data, scales, *made = _run_quantizer(weight, form, ROW_MAJOR)
    if not made:
        return data, scales, None
    return data, scales, made[0].expand(batch).contiguous() if batch else made[0]


def check_finite(name: str, weight: Tensor, form: LayerForm) -> None:
    """That a weight has numbers alone, also in the type that it is quantized in. Infinity and NaN
    would make blocks, rows or all of a layer NaN, or become the largest number of a format.

    Raises: ArgumentError, with the name.
    """
    if weight.is_meta or not weight.numel():
        return
    dtype = get_cast(form, weight.dtype) or weight.dtype
    ends = torch.stack(torch.aminmax(weight.detach())).to(dtype)
    if not ends.isfinite().all():
        raise ArgumentError(f"'{name}': expected numbers that are finite, but got an amax of "
                            f"{ends.abs().max().item()}")


def _run_quantizer(weight: Tensor, form: LayerForm, layout: str,
                   out: Sequence[Tensor] | None = None) -> list[Tensor]:
    """Data and scales in an order, and the global scale if there is one: of a stack, one for each
    matrix or for all. They are in the memory of `out`, if that is given."""
    cast, amax = get_cast(form, weight.dtype), form.weight.amax
    x = to_argument(weight if cast is None else weight.to(cast))
    given = (torch.tensor(amax, dtype=torch.float32, device=weight.device)
             if form.weight.scaling == "amax" else None)
    return run(find_quantizer(x, form, layout), [x, given], out=out)


def get_cast(form: LayerForm, dtype: torch.dtype) -> torch.dtype | None:
    """What weights of a dtype are rounded to before they are quantized, if they are."""
    return _CAST[form.cast] if form.cast and dtype == torch.float32 else None


def find_quantizer(weight: Tensor, form: LayerForm, layout: str, is_settled: bool = False
                   ) -> Kernel:
    """The kernel for a weight, which is rounded by `cast` already, and an amax if the form has
    one. `is_settled` is that of Quantizer."""
    operand = form.weight
    # The number itself is an argument, so that one kernel serves all.
    if operand.amax is not None:
        operand = dataclasses.replace(operand, amax=None)
    # On the CPU one kernel serves all. On a GPU those of rows of a static length write any order.
    columns = (weight.shape[-1] or None) if weight.device.type == "cuda" else None
    return _get_quantizer(operand, weight.dtype, weight.dim(), form.rht, layout, columns,
                          is_settled)


@functools.lru_cache(maxsize=256)
def _get_quantizer(operand: OperandForm, dtype: torch.dtype, rank: int, rht: bool, layout: str,
                   columns: int | None, is_settled: bool = False) -> Kernel:
    return Quantizer(operand, dtype, rank, rht, layout, columns, is_settled).get()


class Neighbours:
    """Layers of one module that may read the same activations, as of queries, keys and values.
    Their weights lie behind one another in memory, so that the backend of torch.compile can make
    one product of them; `global_scale` of each has a number for each row then."""

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
            return
        for name in ("data", "scales"):
            if join_tensors([getattr(layer, name) for layer in layers]) is None:
                self._place(name, [getattr(layer, name) for layer in layers])
        scales = [layer.global_scale for layer in layers if layer.global_scale is not None]
        # One for all rows may have been loaded.
        if has_global and (not all(each.dim() for each in scales) or join_tensors(scales) is None):
            self._place("global_scale", [each.expand(layer.out_features)
                                         for each, layer in zip(scales, layers)])
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


def autocast(x: Tensor) -> Tensor:
    """x as a linear layer of torch takes it under torch.autocast."""
    kind = x.device.type
    if (kind in ("cpu", "cuda") and torch.is_autocast_enabled(kind)
            and x.dtype in PLAIN):
        return x.to(torch.get_autocast_dtype(kind))
    return x


class QuantizedWeight(nn.Module):
    """A weight [N, K], or a stack [E, N, K], in narrow codes with block scales.

    Attributes:
      data, scales, global_scale: the weight. A state dict has them in row-major order; on a GPU
        they are in the order that its products read, `layout`. Layers whose weights lie behind
        one another have a global scale for each row, all of which are one number.
      input_global: the static amax or global scale of activations, if there is one.
      form: how weight and activations are quantized.
      dtype: that of the plain weight, which changes with the model's.
      is_transposed: whether `weight` is [K, N].
      is_plain_transposed: whether the weight in the plain model is, also that of a stack.
      awaited: the tensors that the mark of a state dict was loaded for, and that are still to be
        loaded.
    """

    #: Whether it is a weight for each expert.
    is_stack = False

    data: Tensor
    scales: Tensor
    global_scale: Tensor | None
    input_global: Tensor | None
    bias: Tensor | None

    def __init__(self, data: Tensor, scales: Tensor, global_scale: Tensor | None,
                 bias: Tensor | None, *, in_features: int, out_features: int, form: LayerForm,
                 input_global: Tensor | None = None, dtype: torch.dtype | None = None,
                 is_transposed: bool = False, is_plain_transposed: bool | None = None):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.form = form
        self.layout = ROW_MAJOR
        self.neighbours: Neighbours | None = None
        self.dtype = dtype or (torch.bfloat16 if bias is None else bias.dtype)
        self.is_transposed = is_transposed
        self.is_plain_transposed = (is_transposed if is_plain_transposed is None
                                    else is_plain_transposed)
        self.awaited: set[str] = set()
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
        return sum(each.nbytes for each in (self.data, self.scales, self.global_scale,
                                            self.input_global) if each is not None)

    # The order in memory.

    def _convert(self, layout: str) -> tuple[Tensor, Tensor]:
        """Data and scales in another order."""
        if layout == self.layout:
            return self.data, self.scales
        data, scales = _OPS.pack(self.data, self.scales, out_features=self.out_features,
                                 in_features=self.in_features, format=self.form.weight.format,
                                 before=self.layout, after=layout)
        return data, scales

    def take_plain(self, weight: Tensor, form: LayerForm) -> tuple[Tensor, Tensor] | None:
        """Quantizes another weight, [N, K] or a stack of them, in a form that has the layer's
        formats, where this one is. Kernels write into its memory.

        Returns: the global scale of each row and the one number that is still to be copied there,
          as often, if rows have one each."""
        out, scale = [self.data, self.scales], self.global_scale
        if scale is None:
            _run_quantizer(weight, form, self.layout, out)
            return None
        made = scale
        shape = weight.shape[:-2] if form.weight.scaling == "dynamic" else torch.Size()
        if scale.shape != shape:
            made = scale.new_empty(shape)
        _run_quantizer(weight, form, self.layout, [*out, made])
        return None if made is scale else (scale, made.expand_as(scale))

    def _set_layout(self, layout: str) -> None:
        self.data, self.scales = self._convert(layout)
        self.layout = layout

    def _arrange(self) -> None:
        """Brings the weight into the order of its device."""
        layout = ROW_MAJOR if self.data.is_meta else get_layout(
            self.data.device, self.form.activation is None, *self.form.formats)
        self._set_layout(layout)
        if self.neighbours is not None:
            self.neighbours.join()

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> QuantizedWeight:
        dtype = fn(self.data.new_empty(0, dtype=self.dtype)).dtype
        self._check_dtype(dtype)
        own = {id(getattr(self, name)) for name in _OWN if getattr(self, name) is not None}

        def move(tensor: Tensor) -> Tensor:
            moved = fn(tensor)
            # Scales are f32 in a model of any type.
            return (tensor.to(moved.device)
                    if id(tensor) in own and moved.dtype != tensor.dtype else moved)
        super()._apply(move, recurse)
        self.dtype = dtype
        self._arrange()
        return self

    def _check_dtype(self, dtype: torch.dtype) -> None:
        """Raises ArgumentError where the layer could not be called in a model of a dtype."""
        if dtype == self.dtype:
            return
        if dtype not in PLAIN:
            raise ArgumentError("expected a model of float32, bfloat16 or float16 around layers in "
                                f"{self.form.describe()}, but got {dtype}")
        unmet = self.form.find_clause(element_name(dtype))
        if unmet is not None:
            raise ArgumentError(f"{unmet.name}: expected {unmet.expected} for a layer in "
                                f"{self.form.describe()}, but got a model of {unmet.found}; a rule "
                                "with \"cast\" takes f32")

    # State dicts.

    def _get_global_scale(self) -> Tensor | None:
        """The global scale as a state dict has it: one number, also where each row has it."""
        scale = self.global_scale
        if scale is None or self.is_stack or not scale.dim():
            return scale
        if not scale.is_meta and not torch.equal(scale, scale[:1].expand_as(scale)):
            raise ArgumentError("expected one global scale for all rows of a layer in its state "
                                "dict, but rows got several")
        return scale[0].clone()

    def get_extra_state(self) -> Tensor:
        return make_mark(self.form)

    def set_extra_state(self, state: Any) -> None:
        problem = "" if is_no_mark(state) else compare_mark(state, self.form)
        if problem:
            raise ArgumentError(problem)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        # Files that hold a part each have the mark in front of what it stands for.
        destination[prefix + MARK] = self.get_extra_state()
        super()._save_to_state_dict(destination, prefix, keep_vars)
        data, scales = self._convert(ROW_MAJOR)
        for name, tensor in (("data", data), ("scales", scales), ("bias", self.bias),
                             ("global_scale", self._get_global_scale())):
            if tensor is None:
                continue
            # A view of the weights of several layers would be saved with all of them.
            is_part = tensor.untyped_storage().nbytes() > tensor.nbytes
            if is_part or name != "bias":
                destination[prefix + name] = (tensor.clone() if is_part else tensor).detach()

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any,
                              strict: bool, missing_keys: Any, unexpected_keys: Any,
                              error_msgs: Any) -> None:
        problems = check_state(self, state_dict, prefix)
        if problems:
            error_msgs += problems
            return
        entries = find_entries(self, state_dict, prefix)
        self._set_layout(ROW_MAJOR)
        if "global_scale" in entries and self.global_scale is not None:
            # One number is that of all rows.
            rows = entries["global_scale"].expand(self.global_scale.shape)
            state_dict = {**state_dict, prefix + "global_scale": rows}
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys,
                                      unexpected_keys, error_msgs)
        self._arrange()

    # Numbers.

    @property
    def weight(self) -> Tensor:
        """The values of the weight, in the layer's dtype: a tensor that is computed where an op
        reads it, and that nothing can be written into."""
        if torch.compiler.is_dynamo_compiling():
            return self._read(self.dtype)
        experts = self.data.shape[:1] if self.is_stack else ()
        return WeightView.of(self, [*experts, self.out_features, self.in_features],
                             self.is_transposed)

    def _read(self, dtype: torch.dtype) -> Tensor:
        data, scales = self._convert(ROW_MAJOR)
        values: Tensor = _OPS.dequantize(data, scales, self.global_scale,
                                         in_features=self.in_features,
                                         format=self.form.weight.format, dtype=dtype)
        return values.transpose(-2, -1) if self.is_transposed else values

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "weight":
            self._check_weight(value)
        else:
            super().__setattr__(name, value)

    def _check_weight(self, value: Any) -> None:
        """A model that ties its head to its embedding again gives the head the weight whose codes
        it has: nothing changes then. Another weight is refused."""
        own = self.weight
        if isinstance(value, WeightView) and value.is_of(self):
            return
        if not isinstance(value, Tensor) or value.shape != own.shape or value.dtype not in PLAIN:
            found = (f"{value.dtype} of shape {list(value.shape)}" if isinstance(value, Tensor)
                     else type(value).__name__)
            raise ArgumentError(f"expected a weight of shape {list(own.shape)}, but got {found}")
        if value.is_meta or self.data.is_meta:
            return
        plain = value.detach().transpose(-2, -1) if self.is_transposed else value.detach()
        made = quantize_weight(plain.contiguous(), self.form)
        held = (*self._convert(ROW_MAJOR), self._get_global_scale())
        if any(one is not None and other is not None and not torch.equal(
                one.to(other.device), other) for one, other in zip(made, held)):
            raise ArgumentError("expected the weight that a quantized layer was made from, but got "
                                "other values, which its codes would not become; put a plain layer "
                                "with that weight in the place of this one, and quantize that")

    def multiply(self, x: Tensor, offsets: Tensor | None = None) -> Tensor:
        """x times the weight, with the bias; with offsets, of a stack by groups of rows."""
        return self.compute(x, self.bias, offsets)

    def compute(self, x: Tensor, bias: Tensor | None, offsets: Tensor | None = None) -> Tensor:
        """The same with another bias."""
        x = autocast(x)
        form, dtype = self.form, x.dtype
        if form.cast is not None and dtype == torch.float32:
            x = x.to(_CAST[form.cast])
        args: list[Any] = [x, self.data, self.scales, self.global_scale, bias]
        if offsets is not None:
            args.append(offsets)
        options: dict[str, Any] = dict(out_features=self.out_features,
                                       format=form.weight.format, layout=self.layout,
                                       rht=form.rht, order=form.order)
        if form.activation is None:
            op = _OPS.linear_weight_only if offsets is None else _OPS.grouped_linear_weight_only
        else:
            op = _OPS.linear_quantized if offsets is None else _OPS.grouped_linear_quantized
            args.append(self.input_global)
            options |= dict(input_format=form.activation.format,
                            input_recipe=form.activation.recipe,
                            input_scaling=form.activation.scaling)
            if offsets is None and form.plain_rows:
                options["plain_rows"] = form.plain_rows
        y: Tensor = op(*args, **options)
        return y if y.dtype == dtype else y.to(dtype)

    def extra_repr(self) -> str:
        stack = f"{self.data.shape[0]}, " if self.is_stack else ""
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

    is_stack = True

    def forward(self, input: Tensor, offsets: Tensor) -> Tensor:
        """Rows [M, K], sorted by expert, and the ends of the experts' rows, int32 [E]."""
        return self.multiply(input, offsets)


def route(top_k_index: Tensor, experts: int) -> tuple[Tensor, Tensor]:
    """The order of rows by expert, and the ends of the experts' rows, int32 [E]. Numbers from
    `experts` on are of no expert."""
    chosen, order = torch.sort(top_k_index.reshape(-1), stable=True)
    numbers = torch.arange(experts, device=chosen.device, dtype=chosen.dtype)
    return order, torch.searchsorted(chosen, numbers, right=True).to(torch.int32)


def run_experts(compute: Callable[[Tensor, Tensor], Tensor], x: Tensor, top_k_index: Tensor,
                top_k_weights: Tensor, experts: int, is_weighted_first: bool = False) -> Tensor:
    """The weighted sums of what experts make of the rows of x.

    Args:
      compute: of rows, sorted by expert, and the ends of the experts' rows.
      top_k_index, top_k_weights: [M, K], the experts of each row.
      is_weighted_first: whether weights multiply what experts get, not what they make.
    """
    tokens, count = top_k_index.shape
    order, offsets = route(top_k_index, experts)
    rows = x[torch.div(order, count, rounding_mode="floor")]
    weights = top_k_weights.reshape(-1)[order, None]
    if is_weighted_first:
        out = compute((rows * weights).to(rows.dtype), offsets)
    else:
        out = compute(rows, offsets) * weights
    back = torch.empty_like(order)
    back[order] = torch.arange(order.shape[0], device=order.device)
    return out[back].view(tokens, count, -1).sum(1).to(x.dtype)


class RoutedExperts(nn.Module):
    """Experts of transformers with products of ours: modules whose class has
    `use_experts_implementation`. What else they have, as activations and limits, is theirs."""

    def __init__(self, experts: nn.Module, replaced: Collection[str] = ()):
        """All of `experts` but the parameters that are `replaced`."""
        super().__init__()
        for name, value in vars(experts).items():
            if name not in vars(self):
                setattr(self, name, value)
        for name, module in experts.named_children():
            self.add_module(name, module)
        for name, parameter in experts.named_parameters(recurse=False):
            if name not in replaced:
                self.register_parameter(name, parameter)
        self.kind = type(experts)
        self.training = experts.training

    def multiply(self, name: str, rows: Tensor, offsets: Tensor) -> Tensor:
        """Rows, sorted by expert, times the stack of a name, with its bias."""
        raise NotImplementedError

    def forward(self, hidden_states: Tensor, top_k_index: Tensor, top_k_weights: Tensor) -> Tensor:
        return run_experts(self.compute, hidden_states, top_k_index, top_k_weights,
                           self.num_experts)

    def compute(self, rows: Tensor, offsets: Tensor) -> Tensor:
        """What the experts make of rows, sorted by expert."""
        if self.has_gate:
            inner = self.kind._apply_gate(self, self.multiply("gate_up_proj", rows, offsets))
        else:
            inner = self.act_fn(self.multiply("up_proj", rows, offsets))
        out = self.multiply("down_proj", inner, offsets)
        # Some versions of transformers have no such attribute.
        if getattr(self, "has_post_expert_norm", False):
            out = self.post_expert_norm(out)
        return out


class QuantizedExperts(RoutedExperts):
    """Experts with quantized weights."""

    def __init__(self, experts: nn.Module, stacks: dict[str, QuantizedStack]):
        super().__init__(experts, {*stacks, *(f"{name}_bias" for name in stacks)})
        for name, stack in stacks.items():
            self.add_module(name, stack)

    def _get_name(self) -> str:
        return f"Quantized{self.kind.__name__}"

    def multiply(self, name: str, rows: Tensor, offsets: Tensor) -> Tensor:
        stack: QuantizedStack = getattr(self, name)
        y: Tensor = stack(rows, offsets)
        return y
