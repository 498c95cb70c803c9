// Machine code of products of order chain on Hopper whose tiles one warpgroup multiplies, which has registers for all sums.
// REQUIRES: ptxas
// RUN: blockscale-compile %s --target=sm_90a --emit=cubin -o %t.cubin --ptxas-info 2>&1 | FileCheck %s
// CHECK-COUNT-4: _chain_{{.+}}: {{[0-9]+}} registers, 0 bytes of spill stores, 0 bytes of spill loads, 0 bytes of stack{{.*}}
// CHECK-NOT: {{.}}

#swizzled = #blockscale.layout<swizzle_128x4>

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
