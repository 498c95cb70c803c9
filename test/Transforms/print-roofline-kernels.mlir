// RUN: blockscale-opt %s --blockscale-print-roofline=dynamic-sizes=100 -o /dev/null 2>&1 | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-cpu=to=form-kernels --blockscale-print-roofline=dynamic-sizes=100 -o /dev/null 2>&1 | FileCheck %s --check-prefix=FORMED
// RUN: blockscale-opt %s --blockscale-to-cpu=to=materialize-storage --blockscale-print-roofline=dynamic-sizes=100 -o /dev/null 2>&1 | FileCheck %s --check-prefix=FORMED
// RUN: blockscale-opt %s --blockscale-to-cpu=to=bufferize --blockscale-print-roofline=dynamic-sizes=100 -o /dev/null 2>&1 | FileCheck %s --check-prefix=FORMED

#swizzled = #blockscale.layout<swizzle_128x4>

// A kernel costs what its op did, whether its operands are logical tensors or
// memory.
// CHECK:       @op 25024 19200 1 2.000
// CHECK-NEXT:  quantize 100x96xbf16 25024 19200 1 2.000 launch
// FORMED:      @op 25024 19200 1 2.000
// FORMED-NEXT: kernel quantize 100x96xbf16 25024 19200 1 2.000 launch
func.func @op(%x: tensor<100x96xbf16>)
    -> (tensor<100x96xf4E2M1FN>, tensor<100x6xf8E4M3FN, #swizzled>) {
  %q, %s = blockscale.quantize %x block [1, 16]
      : tensor<100x96xbf16> -> tensor<100x96xf4E2M1FN>, tensor<100x6xf8E4M3FN, #swizzled>
  return %q, %s : tensor<100x96xf4E2M1FN>, tensor<100x6xf8E4M3FN, #swizzled>
}

// So with dynamic sizes: packed data and tiled scales are as large as the op
// that makes them says.
// CHECK:       @dynamic 25024 19200 1 2.000
// CHECK-NEXT:  quantize 100x96xbf16 25024 19200 1 2.000 launch
// FORMED:      @dynamic 25024 19200 1 2.000
// FORMED-NEXT: kernel quantize 100x96xbf16 25024 19200 1 2.000 launch
func.func @dynamic(%x: tensor<?x96xbf16>)
    -> (tensor<?x96xf4E2M1FN>, tensor<?x6xf8E4M3FN, #swizzled>) {
  %q, %s = blockscale.quantize %x block [1, 16]
      : tensor<?x96xbf16> -> tensor<?x96xf4E2M1FN>, tensor<?x6xf8E4M3FN, #swizzled>
  return %q, %s : tensor<?x96xf4E2M1FN>, tensor<?x6xf8E4M3FN, #swizzled>
}
