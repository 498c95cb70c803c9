// RUN: blockscale-opt %s --blockscale-print-roofline="model=torchao gpu=GB200" -o /dev/null 2>&1 | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>

// torchao's formulas: scales without padding, a global scale without a kernel,
// scales of products at half a byte. 200 x 80 is quantized with 5 scales a row.
// CHECK:      roofline of GB200, model torchao
// CHECK:      @linear 94775 960000 3 6.000
// CHECK-NEXT: amax 200x80xbf16 32000 0 1 2.000 launch
// CHECK-NEXT: global_scale f32 0 0 0 0.000 -
// CHECK-NEXT: quantize 200x80xbf16 41000 0 1 2.000 launch
// CHECK-NEXT: scaled_mm 200x80xf4E2M1FN 21775 960000 1 2.000 launch
func.func @linear(%x: tensor<200x80xbf16>, %w: tensor<30x80xf4E2M1FN>, %sw: tensor<30x5xf8E4M3FN>)
    -> tensor<200x30xbf16> {
  %a = blockscale.amax %x : tensor<200x80xbf16> -> tensor<f32>
  %g = blockscale.global_scale %a : tensor<f32>
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<200x80xbf16> -> tensor<200x80xf4E2M1FN>, tensor<200x5xf8E4M3FN, #swizzled>
  %y = blockscale.scaled_mm %q, %w scales(%s, %sw) block [1, 16] global_scale_a(%g : tensor<f32>)
      : tensor<200x80xf4E2M1FN>, tensor<30x80xf4E2M1FN>,
        tensor<200x5xf8E4M3FN, #swizzled>, tensor<30x5xf8E4M3FN> -> tensor<200x30xbf16>
  return %y : tensor<200x30xbf16>
}

// Kernels of one op and batches, whose rows are all one matrix's.
// CHECK:      @mx
// CHECK-NEXT: kernel quantize 2x64x96xbf16 37248 0 1 2.000 launch
func.func @mx(%x: tensor<2x64x96xbf16>, %qi: tensor<2x64x96xf8E4M3FN>, %si: tensor<2x64x3xf8E8M0FNU>)
    -> (tensor<2x64x96xf8E4M3FN>, tensor<2x64x3xf8E8M0FNU>) {
  %q, %s = blockscale.kernel ins(%x : tensor<2x64x96xbf16>)
      outs(%qi, %si : tensor<2x64x96xf8E4M3FN>, tensor<2x64x3xf8E8M0FNU>) {
  ^bb0(%lx: tensor<2x64x96xbf16>, %lq: tensor<2x64x96xf8E4M3FN>, %ls: tensor<2x64x3xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32]
        : tensor<2x64x96xbf16> -> tensor<2x64x96xf8E4M3FN>, tensor<2x64x3xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<2x64x96xf8E4M3FN>, tensor<2x64x3xf8E8M0FNU>
  } -> tensor<2x64x96xf8E4M3FN>, tensor<2x64x3xf8E8M0FNU>
  return %q, %s : tensor<2x64x96xf8E4M3FN>, tensor<2x64x3xf8E8M0FNU>
}
