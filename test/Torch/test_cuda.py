# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels on a CUDA device, as PyTorch's tensors are passed to them, where the driver is the
emulator: the order of weights, workspaces and buckets of rows of a Hopper."""

import os
import subprocess
import sys
import types
import unittest
import unittest.mock
from pathlib import Path

import torch

BUILD = Path(os.environ.get("BLOCKSCALE_BUILD_DIR",
                            Path(__file__).resolve().parents[2] / "build"))
DRIVER = BUILD / "lib/blockscale/libcuda.so.1"
CHIP = "sm_90a"


class DeviceTensor:
    """What calls need of a tensor, in the memory of the emulated GPU."""

    def __init__(self, runtime, device, shape, dtype, value=None):
        self.shape, self.dtype = torch.Size(shape), dtype
        self._runtime, self._device = runtime, device
        self._bytes = max(self.shape.numel() * dtype.itemsize, 1)
        self._address = device.allocate(self._bytes)
        if value is not None:
            flat = value.contiguous().view(-1)
            device.upload(self._address, flat.view(torch.uint8).numpy())

    def dim(self):
        return len(self.shape)

    def data_ptr(self):
        return self._address

    def read(self):
        raw = torch.empty(self._bytes, dtype=torch.uint8)
        self._device.download(self._address, raw.numpy())
        return raw[:self.shape.numel() * self.dtype.itemsize].view(self.dtype).view(self.shape)


def call(function_class, kernel, results, tensors, rows, out=None):
    """Compiles a kernel for a number of rows, and calls it in the emulator. With `out`, results are
    in the memory that has these values."""
    from blockscale._native._library import LIBRARY
    from blockscale.torch import _kernels
    from blockscale_runtime import Runtime

    runtime = Runtime(LIBRARY._name)
    device = runtime.device()
    module = _kernels.build_for(kernel, _kernels.get_bucket(rows), CHIP)
    function = function_class(_kernels._emit(module, CHIP, _kernels._BUNDLE), module.name, 0,
                              results)
    given, taken = ([DeviceTensor(runtime, device, each.shape, each.dtype, each) for each in group]
                    for group in (tensors, out or ()))
    allocated = []

    def allocate(shape, dtype):
        allocated.append(DeviceTensor(runtime, device, shape, dtype))
        return allocated[-1]
    function._allocate = allocate
    made = function(given, taken or None)
    assert not out or (made == taken and len(allocated) <= 1), "expected a workspace alone"
    return [each.read() for each in made]


def main():
    """In a process of its own, whose driver is the emulator."""
    import blockscale_bundle
    from blockscale._errors import ArgumentError
    from blockscale._forms import OperandForm
    from blockscale._native._library import LIBRARY
    from blockscale.torch import _cuda, _kernels
    from blockscale.torch._products_kernels import Linear, Mixer, Quantizer, TransposedLinear
    from blockscale_runtime import Runtime

    for name, value in (("init", lambda: None), ("is_current_stream_capturing", lambda: False),
                        ("synchronize", lambda device: None), ("current_device", lambda: 0)):
        unittest.mock.patch.object(torch.cuda, name, value).start()
    unittest.mock.patch.object(torch._C, "_cuda_getCurrentRawStream", lambda _: 0,
                               create=True).start()
    ops = torch.ops.blockscale
    torch.manual_seed(0)
    weight, x = torch.randn(128, 128).bfloat16(), torch.randn(5, 128).bfloat16()
    bias = torch.randn(128).bfloat16()
    options = dict(out_features=128, in_features=128, format="nvfp4", before="row_major",
                   after="fragments")

    # Quantizers give the CPU's bytes.
    for form in (OperandForm("nvfp4", scaling="dynamic"), OperandForm("mxfp8")):
        quantizer = Quantizer(form, torch.bfloat16, 2)
        results = [torch.uint8] * 2 + [torch.float32] * (form.scaling == "dynamic")
        found = call(_cuda.Function, quantizer.build, results, [weight], 0)
        for one, other in zip(found, quantizer.get()([weight]), strict=True):
            assert torch.equal(one, other), form

    # They write into memory that is given, in the order that products read, with its padding, and
    # into no other.
    quantizer = Quantizer(OperandForm("nvfp4", scaling="dynamic"), torch.bfloat16, 2,
                          layout="fragments")
    results = [torch.uint8, torch.uint8, torch.float32]
    odd = weight[:100, :96].contiguous()
    wanted = quantizer.get()([odd])
    given = [torch.full_like(each, 77) for each in wanted]
    for one, other in zip(call(_cuda.Function, quantizer.build, results, [odd], 0, given), wanted,
                          strict=True):
        assert torch.equal(one, other)
    try:
        call(_cuda.Function, quantizer.build, results, [odd], 0, [given[0][1:], *given[1:]])
    except ArgumentError as error:
        assert str(error) == "expected shape (2, 2, 2048) for result 0, but got (1, 2, 2048)", error
    else:
        raise AssertionError("expected an error")

    # A product of weights alone, with a global scale for each row, and one of both operands.
    data, scales = ops.pack(*ops.quantize(weight, format="nvfp4"), **options)
    scale = torch.linspace(0.5, 2, 128)
    for activation in (None, OperandForm("nvfp4", scaling="dynamic")):
        linear = Linear((128, 128), torch.bfloat16, "nvfp4", "fragments", (128,), torch.bfloat16,
                        activation, False)
        tensors = [x, data, scales, scale, bias]
        found, = call(_cuda.Function, linear.build, [torch.bfloat16], tensors, len(x))
        wanted, = linear.get(x.device)(tensors)
        torch.testing.assert_close(found, wanted, rtol=2 ** -7, atol=1e-3)

    # Gradients of activations, whose sums of order chain have the CPU's bits: of one weight, of
    # experts that not all have rows, and behind the Hadamard transform.
    stack = [torch.stack([each, each.flip(0)]) for each in ops.quantize(weight, format="mxfp4")]
    stack = ops.pack(*stack, **{**options, "format": "mxfp4"})
    ends = torch.tensor([3, 3], dtype=torch.int32)
    for shape, format, scaling, operands in (
            ((128, 128), "nvfp4", (), (data, scales, torch.tensor(0.3))),
            ((2, 128, 128), "mxfp4", None, (*stack, ends))):
        product = TransposedLinear(shape, torch.bfloat16, torch.float32, format, "fragments",
                                   scaling, "chain")
        found, = call(_cuda.Function, product.build, [torch.float32], [x, *operands], len(x))
        wanted, = product.get(x.device)([x, *operands])
        assert torch.equal(found, wanted) and wanted[0].any(), format
    found, = call(_cuda.Function, Mixer().build, [torch.bfloat16], [x], len(x))
    wanted, = Mixer().get()([x])
    torch.testing.assert_close(found, wanted, rtol=2 ** -7, atol=1e-3)

    # What a kernel finds, the next call raises in place of its work, or synchronize(), once.
    data = Path(__file__).resolve().parents[1] / "Data/cuda"
    function = _cuda.Function(blockscale_bundle.write(
        [((data / "errors.json").read_text(), (data / "errors.ptx").read_text())], []), "check", 0,
        [torch.int32])
    runtime = Runtime(LIBRARY._name)
    device = runtime.device()
    function._allocate = lambda shape, dtype: DeviceTensor(runtime, device, shape, dtype)
    good, bad = (DeviceTensor(runtime, device, (2,), torch.int32, torch.tensor(
        ends, dtype=torch.int32)) for ends in ((16, 32), (16, 40)))
    check_errors(function, good, bad, [256, 512], [256, 0],
                 "scaled_grouped_mm: expected the end of group 1 to be a multiple of 16, "
                 "but got 40")

    # So it is of an index that is data, whose record has a text. The kernel goes on with the
    # nearest element.
    module = types.SimpleNamespace(source=GATHER.encode(), name="gather")
    function = _cuda.Function(_kernels._emit(module, CHIP, _kernels._BUNDLE), "gather", 0,
                              [torch.int32])
    function._allocate = lambda shape, dtype: DeviceTensor(runtime, device, shape, dtype)
    good, bad = (DeviceTensor(runtime, device, (3,), torch.int32, torch.tensor(
        indices, dtype=torch.int32)) for indices in ((2, 0, 1), (0, -2, 1)))
    check_errors(function, good, bad, [1, 2, 0], [0, 0, -2],
                 "tensor.extract at gather:9:10: expected index 0 to be at least 0, "
                 "but got -2")
    print("done")


#: An element of itself for each index.
GATHER = """
func.func @gather(%i: tensor<3xi32>) -> tensor<3xi32> {
  %e = tensor.empty() : tensor<3xi32>
  %y = linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%i : tensor<3xi32>) outs(%e : tensor<3xi32>) {
  ^bb0(%k: i32, %o: i32):
    %j = arith.index_cast %k : i32 to index
    %v = tensor.extract %i[%j] : tensor<3xi32>
    linalg.yield %v : i32
  } -> tensor<3xi32>
  return %y : tensor<3xi32>
}
"""


def check_errors(function, good, bad, results, kept, text):
    """A call that a kernel finds wrong gives `kept`, and its error is told once by each door."""
    import blockscale.torch

    for raise_it in (lambda: function([good]), blockscale.torch.synchronize,
                     lambda: blockscale.torch.synchronize("cuda:0"),
                     lambda: blockscale.torch.synchronize(0)):
        found, = function([bad])
        try:
            raise_it()
        except blockscale.ArgumentError as error:
            assert (str(error), error.status) == (text, "BLOCKSCALE_INVALID_DATA"), error
        else:
            raise AssertionError("expected an error")
        assert found.read().tolist() == kept
        blockscale.torch.synchronize()
        found, = function([good])
        assert found.read().tolist() == results


class CudaTest(unittest.TestCase):
    @unittest.skipUnless(DRIVER.exists(), "no emulated driver in the build")
    def test_the_emulated_gpu(self):
        root = Path(__file__).resolve().parents[2]
        path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(root / "python")]))
        run = subprocess.run([sys.executable, __file__, "--run"], capture_output=True, text=True,
                             env=dict(os.environ, PYTHONPATH=path, BLOCKSCALE_EMULATE_CHIP=CHIP,
                                      BLOCKSCALE_LIBCUDA=str(DRIVER)))
        self.assertEqual(run.stdout, "done\n", run.stderr)


if __name__ == "__main__":
    main()
