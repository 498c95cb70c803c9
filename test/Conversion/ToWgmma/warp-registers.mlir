// Machine code of products of up to eight rows on Hopper, which warps multiply by themselves: registers are enough.
// REQUIRES: ptxas
// RUN: blockscale-compile %s --target=sm_90a --emit=cubin -o %t.cubin --ptxas-info 2>&1 | FileCheck %s
// CHECK-COUNT-12: {{8x64|8x128}}_{{.+}}: {{[0-9]+}} registers, 0 bytes of spill stores, 0 bytes of spill loads, 0 bytes of stack{{.*}}
// CHECK-NOT: {{.}}

#prepacked = #blockscale.data_layout<fragments_64x64>
#swizzled = #blockscale.layout<swizzle_128x4>

func.func @f0(%x: tensor<?x4096xbf16>, %w: tensor<8192x4096xf4E2M1FN, #prepacked>, %s: tensor<8192x256xf8E4M3FN, #swizzled>) -> tensor<?x8192xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16]
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 8, cols = 64, stages = 12, band = 8, ctas = 132>}
      : tensor<?x4096xbf16>, tensor<8192x4096xf4E2M1FN, #prepacked>, tensor<8192x256xf8E4M3FN, #swizzled> -> tensor<?x8192xbf16>
  return %y : tensor<?x8192xbf16>
}
func.func @f1(%x: tensor<?x4096xbf16>, %w: tensor<8192x4096xf4E2M1FN>, %s: tensor<8192x256xf8E4M3FN, #swizzled>) -> tensor<?x8192xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16]
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 8, cols = 64, stages = 12, band = 8, ctas = 132>}
      : tensor<?x4096xbf16>, tensor<8192x4096xf4E2M1FN>, tensor<8192x256xf8E4M3FN, #swizzled> -> tensor<?x8192xbf16>
  return %y : tensor<?x8192xbf16>
}
func.func @f2(%x: tensor<?x4096xbf16>, %w: tensor<8192x4096xf4E2M1FN, #prepacked>, %s: tensor<8192x128xf8E8M0FNU, #swizzled>) -> tensor<?x8192xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 32]
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 8, cols = 64, stages = 12, band = 8, ctas = 132>}
      : tensor<?x4096xbf16>, tensor<8192x4096xf4E2M1FN, #prepacked>, tensor<8192x128xf8E8M0FNU, #swizzled> -> tensor<?x8192xbf16>
  return %y : tensor<?x8192xbf16>
}
func.func @f3(%x: tensor<?x4096xbf16>, %w: tensor<8192x4096xf8E4M3FN, #prepacked>, %s: tensor<8192x128xf8E8M0FNU, #swizzled>) -> tensor<?x8192xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 32]
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 8, cols = 64, stages = 8, band = 8, ctas = 132>}
      : tensor<?x4096xbf16>, tensor<8192x4096xf8E4M3FN, #prepacked>, tensor<8192x128xf8E8M0FNU, #swizzled> -> tensor<?x8192xbf16>
  return %y : tensor<?x8192xbf16>
}
func.func @f4(%x: tensor<?x4096xbf16>, %w: tensor<8192x4096xf4E2M1FN, #prepacked>, %s: tensor<8192x256xf8E4M3FN, #swizzled>) -> tensor<?x8192xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16] order chain
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 8, cols = 64, stages = 12, band = 8, ctas = 132>}
      : tensor<?x4096xbf16>, tensor<8192x4096xf4E2M1FN, #prepacked>, tensor<8192x256xf8E4M3FN, #swizzled> -> tensor<?x8192xbf16>
  return %y : tensor<?x8192xbf16>
}
func.func @f5(%x: tensor<?x4096xbf16>, %w: tensor<8192x4096xf4E2M1FN, #prepacked>, %s: tensor<8192x256xf8E4M3FN, #swizzled>) -> tensor<?x8192xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16] order chain
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 8, cols = 128, stages = 8, band = 8, ctas = 132>}
      : tensor<?x4096xbf16>, tensor<8192x4096xf4E2M1FN, #prepacked>, tensor<8192x256xf8E4M3FN, #swizzled> -> tensor<?x8192xbf16>
  return %y : tensor<?x8192xbf16>
}
func.func @f6(%x: tensor<?x4096xbf16>, %w: tensor<8192x4096xf4E2M1FN, #prepacked>, %s: tensor<8192x256xf8E4M3FN, #swizzled>) -> tensor<?x8192xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16]
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 8, cols = 128, stages = 8, band = 8, ctas = 132>}
      : tensor<?x4096xbf16>, tensor<8192x4096xf4E2M1FN, #prepacked>, tensor<8192x256xf8E4M3FN, #swizzled> -> tensor<?x8192xbf16>
  return %y : tensor<?x8192xbf16>
}
func.func @f7(%x: tensor<?x4096xbf16>, %w: tensor<8192x4096xf4E2M1FN, #prepacked>, %s: tensor<8192x256xf8E4M3FN, #swizzled>, %g: tensor<f32>) -> tensor<?x8192xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16] global_scale_b(%g : tensor<f32>) global_scaling in_elements
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 8, cols = 128, stages = 8, band = 8, ctas = 132>}
      : tensor<?x4096xbf16>, tensor<8192x4096xf4E2M1FN, #prepacked>, tensor<8192x256xf8E4M3FN, #swizzled> -> tensor<?x8192xbf16>
  return %y : tensor<?x8192xbf16>
}
func.func @f8(%x: tensor<?x4096xbf16>, %w: tensor<8192x4096xf4E2M1FN, #prepacked>, %s: tensor<8192x128xf8E8M0FNU, #swizzled>) -> tensor<?x8192xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 32]
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 8, cols = 128, stages = 8, band = 8, ctas = 132>}
      : tensor<?x4096xbf16>, tensor<8192x4096xf4E2M1FN, #prepacked>, tensor<8192x128xf8E8M0FNU, #swizzled> -> tensor<?x8192xbf16>
  return %y : tensor<?x8192xbf16>
}
func.func @f9(%x: tensor<?x4096xbf16>, %w: tensor<8192x4096xf8E4M3FN, #prepacked>, %s: tensor<8192x128xf8E8M0FNU, #swizzled>) -> tensor<?x8192xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 32]
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 8, cols = 128, stages = 4, band = 8, ctas = 132>}
      : tensor<?x4096xbf16>, tensor<8192x4096xf8E4M3FN, #prepacked>, tensor<8192x128xf8E8M0FNU, #swizzled> -> tensor<?x8192xbf16>
  return %y : tensor<?x8192xbf16>
}
func.func @f10(%x: tensor<?x4096xbf16>, %w: tensor<8192x4096xf4E2M1FN, #prepacked>, %s: tensor<8192x128xf8E8M0FNU, #swizzled>) -> tensor<?x8192xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 32] order chain
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 8, cols = 128, stages = 8, band = 8, ctas = 132>}
      : tensor<?x4096xbf16>, tensor<8192x4096xf4E2M1FN, #prepacked>, tensor<8192x128xf8E8M0FNU, #swizzled> -> tensor<?x8192xbf16>
  return %y : tensor<?x8192xbf16>
}
func.func @f11(%x: tensor<?x4096xbf16>, %w: tensor<8192x4096xf4E2M1FN, #prepacked>, %s: tensor<8192x256xf8E4M3FN, #swizzled>, %g: tensor<f32>) -> tensor<?x8192xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16] global_scale_b(%g : tensor<f32>) global_scaling in_elements order chain
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 8, cols = 128, stages = 7, band = 8, ctas = 132>}
      : tensor<?x4096xbf16>, tensor<8192x4096xf4E2M1FN, #prepacked>, tensor<8192x256xf8E4M3FN, #swizzled> -> tensor<?x8192xbf16>
  return %y : tensor<?x8192xbf16>
}
