// RUN: blockscale-opt %s --blockscale-print-roofline=dynamic-sizes=200,96,40 -o /dev/null 2>&1 | FileCheck %s
// RUN: blockscale-opt %s --pass-pipeline="builtin.module(func.func(blockscale-form-kernels),blockscale-print-roofline{dynamic-sizes=200,96,40})" -o /dev/null 2>&1 | FileCheck %s --check-prefix=KERNELS

#swizzled = #blockscale.layout<swizzle_128x4>

// The sizes are x's, then those of the weight, which has the last one from
// there on; the results' follow, through a cast too.
// CHECK:      @linear
// CHECK-NEXT: quantize 200x96xbf16 49200 38400 1 2.000 launch
// CHECK-NEXT: swizzle 200x6xf8E4M3FN 3248 0 1 2.000 launch
// CHECK-NEXT: swizzle 200x6xf8E4M3FN 3248 0 1 2.000 launch
// CHECK-NEXT: scaled_mm 200x96xf4E2M1FN 29808 1536000 1 2.000 launch
// KERNELS:      @linear
// KERNELS-NEXT: kernel quantize 200x96xbf16 49200 38400 1 2.000 launch
// KERNELS-NEXT: kernel swizzle 200x6xf8E4M3FN 3248 0 1 2.000 launch
// KERNELS-NEXT: kernel swizzle 200x6xf8E4M3FN 3248 0 1 2.000 launch
// KERNELS-NEXT: kernel scaled_mm 200x96xf4E2M1FN 29808 1536000 1 2.000 launch
func.func @linear(%x: tensor<?x?xbf16>, %w: tensor<?x96xf4E2M1FN>, %sw: tensor<?x6xf8E4M3FN>)
    -> (tensor<?x?xbf16>, tensor<?x?xf8E4M3FN, #swizzled>) {
  %q, %s = blockscale.quantize %x block [1, 16]
      : tensor<?x?xbf16> -> tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN>
  %t = blockscale.swizzle %s : tensor<?x?xf8E4M3FN> -> tensor<?x?xf8E4M3FN, #swizzled>
  %u = tensor.cast %t : tensor<?x?xf8E4M3FN, #swizzled> to tensor<?x6xf8E4M3FN, #swizzled>
  %c0 = arith.constant 0 : index
  %c6 = arith.constant 6 : index
  %m = tensor.dim %x, %c0 : tensor<?x?xbf16>
  %v = blockscale.swizzle %t sizes(%m, %c6) : tensor<?x?xf8E4M3FN, #swizzled> -> tensor<?x?xf8E4M3FN>
  %qc = tensor.cast %q : tensor<?x?xf4E2M1FN> to tensor<?x96xf4E2M1FN>
  %y = blockscale.scaled_mm %qc, %w scales(%u, %sw) block [1, 16]
      : tensor<?x96xf4E2M1FN>, tensor<?x96xf4E2M1FN>,
        tensor<?x6xf8E4M3FN, #swizzled>, tensor<?x6xf8E4M3FN> -> tensor<?x?xbf16>
  return %y, %t : tensor<?x?xbf16>, tensor<?x?xf8E4M3FN, #swizzled>
}

// Elementwise ops have the sizes of their operands.
// CHECK:      @computed
// CHECK-NEXT: amax 200x96xf32 76804 19200 1 2.000 launch
func.func @computed(%x: tensor<?x?xbf16>, %y: tensor<?x?xf32>) -> tensor<f32> {
  %0 = arith.extf %x : tensor<?x?xbf16> to tensor<?x?xf32>
  %1 = arith.addf %0, %y : tensor<?x?xf32>
  %a = blockscale.amax %1 : tensor<?x?xf32> -> tensor<f32>
  return %a : tensor<f32>
}
