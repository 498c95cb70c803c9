// Machine code of products of order chain on Hopper whose tiles one warpgroup multiplies, which has registers for all sums, and
// of those with 32 columns, which have registers for the elements of long stages.
// REQUIRES: ptxas
// RUN: blockscale-compile %s --target=sm_90a --emit=cubin -o %t.cubin --ptxas-info 2>&1 | FileCheck %s
// CHECK-COUNT-7: _chain_{{.+}}: {{[0-9]+}} registers, 0 bytes of spill stores, 0 bytes of spill loads, 0 bytes of stack{{.*}}
// CHECK-NOT: {{.}}

#swizzled = #blockscale.layout<swizzle_128x4>
#prepacked = #blockscale.data_layout<fragments_64x64>

func.func @f0(%x: tensor<?x4096xbf16>, %w: tensor<?x4096xf4E2M1FN>, %s: tensor<?x256xf8E4M3FN, #swizzled>) -> tensor<?x?xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16] order chain
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 32, cols = 64, stages = 4, band = 8, ctas = 132>}
      : tensor<?x4096xbf16>, tensor<?x4096xf4E2M1FN>, tensor<?x256xf8E4M3FN, #swizzled> -> tensor<?x?xbf16>
  return %y : tensor<?x?xbf16>
}
func.func @f1(%x: tensor<?x4096xf16>, %w: tensor<?x4096xf4E2M1FN>, %s: tensor<?x256xf8E4M3FN, #swizzled>) -> tensor<?x?xf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16] order chain
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 64, cols = 64, stages = 3, band = 8, ctas = 132>}
      : tensor<?x4096xf16>, tensor<?x4096xf4E2M1FN>, tensor<?x256xf8E4M3FN, #swizzled> -> tensor<?x?xf16>
  return %y : tensor<?x?xf16>
}
func.func @f2(%x: tensor<?x4096xbf16>, %w: tensor<?x4096xf4E2M1FN>, %s: tensor<?x256xf8E4M3FN, #swizzled>) -> tensor<?x?xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16] order chain
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 64, stages = 3, band = 8, ctas = 132>}
      : tensor<?x4096xbf16>, tensor<?x4096xf4E2M1FN>, tensor<?x256xf8E4M3FN, #swizzled> -> tensor<?x?xbf16>
  return %y : tensor<?x?xbf16>
}
func.func @f3(%x: tensor<?x4096xbf16>, %w: tensor<?x4096xf8E4M3FN>, %s: tensor<?x128xf8E8M0FNU, #swizzled>) -> tensor<?x?xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 32] order chain
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 64, stages = 3, band = 8, ctas = 132>}
      : tensor<?x4096xbf16>, tensor<?x4096xf8E4M3FN>, tensor<?x128xf8E8M0FNU, #swizzled> -> tensor<?x?xbf16>
  return %y : tensor<?x?xbf16>
}
func.func @f4(%x: tensor<?x4096xbf16>, %w: tensor<4096x4096xf4E2M1FN, #prepacked>, %s: tensor<4096x256xf8E4M3FN, #swizzled>) -> tensor<?x4096xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16] order chain
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 8, cols = 32, stages = 8, band = 8, ctas = 132>}
      : tensor<?x4096xbf16>, tensor<4096x4096xf4E2M1FN, #prepacked>, tensor<4096x256xf8E4M3FN, #swizzled> -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
func.func @f5(%x: tensor<?x4096xf16>, %w: tensor<4096x4096xf4E2M1FN, #prepacked>, %s: tensor<4096x256xf8E4M3FN, #swizzled>, %g: tensor<f32>) -> tensor<?x4096xf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16] global_scale_b(%g : tensor<f32>) global_scaling in_elements order chain
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 8, cols = 32, stages = 8, band = 8, ctas = 132>}
      : tensor<?x4096xf16>, tensor<4096x4096xf4E2M1FN, #prepacked>, tensor<4096x256xf8E4M3FN, #swizzled> -> tensor<?x4096xf16>
  return %y : tensor<?x4096xf16>
}
func.func @f6(%x: tensor<?x4096xbf16>, %w: tensor<4096x4096xf4E2M1FN, #prepacked>, %s: tensor<4096x128xf8E8M0FNU, #swizzled>) -> tensor<?x4096xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 32] order chain
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 8, cols = 32, stages = 12, band = 8, ctas = 132>}
      : tensor<?x4096xbf16>, tensor<4096x4096xf4E2M1FN, #prepacked>, tensor<4096x128xf8E8M0FNU, #swizzled> -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
