# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""New plain weights for many quantized layers, one after the other.

A GPU quantizes a weight in less time than the host takes for an ordinary call of a kernel. So
layers of one form and size share what a call has to find out, scratch memory comes in few pieces,
and global scales that lie together are copied to their rows by one op.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import torch
from torch import Tensor

from blockscale._forms import LayerForm
from blockscale.torch import _cuda
from blockscale.torch._kernels import ALIGNMENT, join_tensors
from blockscale.torch._modules import QuantizedWeight, find_quantizer, get_cast

#: The type of devices whose kernels are launched on addresses.
_GPU = "cuda"
#: Of kinds that are kept.
_MAX_KINDS = 4096
#: Bytes between pieces of scratch memory, and those that are allocated at once, or more.
_PIECE, _CHUNK = 256, 1 << 18


@dataclasses.dataclass(frozen=True)
class _Kind:
    """What layers of a form and an order in memory share that take weights of one dtype and shape.

    Attributes:
      call: begins when all before it has ended.
      early: may begin while a call before it still runs, and reads its weight then. It is `call`
        where there is none.
    """

    call: _cuda.Call
    early: _cuda.Call


#: By what they depend on, with both calls.
_KINDS: dict[tuple[object, ...], _Kind] = {}


class _Scratch:
    """Memory of a device in pieces, which stays as long as this object."""

    def __init__(self, device: torch.device):
        self._device = device
        self._chunks: list[Tensor] = []
        self._address = self._used = self._bytes = 0

    def take(self, bytes: int) -> int:
        """The address of a piece of the last chunk."""
        if self._used + bytes > self._bytes:
            self._bytes, self._used = max(bytes, _CHUNK), 0
            self._chunks.append(torch.empty(-(-self._bytes // 4), dtype=torch.float32,
                                            device=self._device))
            self._address = self._chunks[-1].data_ptr()
        address = self._address + self._used
        self._used += -(-bytes // _PIECE) * _PIECE
        return address

    def take_number(self, shape: torch.Size) -> tuple[int, Tensor]:
        """The address of a number of f32, and as many of it as a shape has."""
        address = self.take(4)
        return address, self._chunks[-1].as_strided(shape, (0,) * len(shape),
                                                    (address - self._address) // 4)


class Requantizer:
    """Quantizes weights into layers, in the memory that these have; finish() is the end of it.

    Args:
      is_settled: whether nothing writes new weights meanwhile. Kernels may read their weight early
        then, of all layers but the first of a device: there nothing that was before may still run.
    """

    def __init__(self, is_settled: bool):
        self._is_settled = is_settled
        #: Devices where a layer's kernels began.
        self._begun: set[torch.device] = set()
        self._scratch: dict[torch.device, _Scratch] = {}
        #: Global scales of each row, and the number that is to be in all of them. A copy between
        #: kernels would keep these from overlapping.
        self._scales: list[tuple[Tensor, Tensor]] = []
        self._written: list[Tensor] = []

    def write(self, layer: QuantizedWeight, tensor: Tensor, form: LayerForm) -> None:
        """Quantizes a tensor of the shape of the layer's plain weight, in a form that has the
        layer's formats."""
        if self._launch(layer, tensor, form):
            return
        device = layer.data.device
        plain = tensor.detach().to(device)
        left = layer.take_plain(plain.transpose(-2, -1) if layer.is_plain_transposed else plain,
                                form)
        if left is not None:
            self._scales.append(left)
        self._begun.add(device)

    def finish(self) -> None:
        """Does what is left for all layers together."""
        runs: list[list[tuple[Tensor, Tensor]]] = []
        end = None
        for pair in sorted(self._scales, key=lambda pair: pair[0].data_ptr()):
            if pair[0].data_ptr() != end:
                runs.append([])
            runs[-1].append(pair)
            end = pair[0].data_ptr() + pair[0].nbytes
        for run in runs:
            joined = join_tensors([scale for scale, _ in run])
            if joined is not None:
                torch.cat([number for _, number in run], out=joined)
                continue
            # They are of several pieces of memory.
            for scale, number in run:
                scale.copy_(number)
        torch.autograd.graph.increment_version(self._written)

    def _launch(self, layer: QuantizedWeight, tensor: Tensor, form: LayerForm) -> bool:
        """Launches the layer's kernels on a GPU, if they can read the tensor as it lies and write
        into the layer as it is. It asks PyTorch little: 20 questions take as long as a launch."""
        device, address = tensor.device, tensor.data_ptr()
        if (device.type != _GPU or form is not layer.form or layer.is_plain_transposed
                or address % ALIGNMENT or not tensor.is_contiguous()):
            return False
        key = form.weight, form.rht, form.cast, tensor.dtype, tensor.shape, layer.layout, device
        kind = _KINDS.get(key) or self._find_kind(layer, tensor, key)
        if kind is None:
            return False
        call = kind.early if self._is_settled and device in self._begun else kind.call
        scratch = self._scratch.get(device)
        if scratch is None:
            scratch = self._scratch[device] = _Scratch(device)
        results = self._place(layer, call, device, scratch)
        if results is None:
            return False
        workspace = scratch.take(call.workspace) if call.workspace else 0
        call.launch([address], results, workspace, device.index)
        self._begun.add(device)
        return True

    def _find_kind(self, layer: QuantizedWeight, tensor: Tensor, key: tuple[object, ...]
                   ) -> _Kind | None:
        form = layer.form
        if form.weight.scaling not in ("none", "dynamic") or get_cast(form, tensor.dtype):
            return None
        call = find_quantizer(tensor, form, layer.layout).get_call([tensor])
        early = find_quantizer(tensor, form, layer.layout, is_settled=True)
        # While a CUDA graph is captured, nothing can be loaded.
        if not self._is_settled or (torch.cuda.is_current_stream_capturing()
                                    and not early.is_loaded(tensor.device)):
            return _Kind(call, call)
        if len(_KINDS) >= _MAX_KINDS:
            _KINDS.clear()
        _KINDS[key] = found = _Kind(call, early.get_call([tensor]))
        return found

    def _place(self, layer: QuantizedWeight, call: _cuda.Call, device: torch.device,
               scratch: _Scratch) -> list[int] | None:
        """The addresses of the results; None if the layer's tensors do not have their form."""
        shapes, buffers = call.shapes, layer._buffers
        data, scales, scale = buffers["data"], buffers["scales"], buffers["global_scale"]
        if (not _is_of(data, shapes[0], torch.uint8, device)
                or not _is_of(scales, shapes[1], torch.uint8, device)
                or len(shapes) != (2 if scale is None else 3)):
            return None
        results = [data.data_ptr(), scales.data_ptr()]
        if scale is None:
            self._written += data, scales
        elif _is_of(scale, shapes[2], torch.float32, device):
            self._written += data, scales, scale
            results.append(scale.data_ptr())
        elif shapes[2] == () and _is_of(scale, scale.shape, torch.float32, device):
            self._written += data, scales
            address, number = scratch.take_number(scale.shape)
            self._scales.append((scale, number))
            results.append(address)
        else:
            return None
        return results


def _is_of(tensor: Tensor, shape: Sequence[int], dtype: torch.dtype, device: torch.device) -> bool:
    return bool(tensor.shape == shape and tensor.dtype == dtype and tensor.device == device
                and tensor.is_contiguous())
