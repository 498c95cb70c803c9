// Machine code of products with blocks across K on Hopper, whose threads have registers for what they transpose.
// REQUIRES: ptxas
// RUN: blockscale-compile %s --target=sm_90a --emit=cubin -o %t.cubin --ptxas-info 2>&1 | FileCheck %s
// CHECK-COUNT-3: _packed_kn_{{.+}}: {{[0-9]+}} registers, 0 bytes of spill stores, 0 bytes of spill loads, 0 bytes of stack{{.*}}
// CHECK-NOT: {{.}}

#swizzled = #blockscale.layout<swizzle_128x4>
#prepacked = #blockscale.data_layout<fragments_64x64>

func.func @f0(%dy: tensor<?x4096xbf16>, %w: tensor<4096x4096xf4E2M1FN, #prepacked>, %s: tensor<4096x256xf8E4M3FN, #swizzled>) -> tensor<?x4096xbf16> {
  %y = blockscale.scaled_mm %dy, %w mn_major_b scales(none, %s) block [1, 16]
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 256, cols = 128, stages = 4, band = 8, ctas = 132>}
      : tensor<?x4096xbf16>, tensor<4096x4096xf4E2M1FN, #prepacked>, tensor<4096x256xf8E4M3FN, #swizzled> -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
func.func @f1(%dy: tensor<?x4096xbf16>, %w: tensor<4096x4096xf8E4M3FN, #prepacked>, %s: tensor<4096x128xf8E8M0FNU, #swizzled>) -> tensor<?x4096xbf16> {
  %y = blockscale.scaled_mm %dy, %w mn_major_b scales(none, %s) block [1, 32]
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 256, cols = 128, stages = 4, band = 8, ctas = 132>}
      : tensor<?x4096xbf16>, tensor<4096x4096xf8E4M3FN, #prepacked>, tensor<4096x128xf8E8M0FNU, #swizzled> -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
func.func @f2(%dy: tensor<?x4096xbf16>, %w: tensor<4096x4096xf4E2M1FN, #prepacked>, %s: tensor<4096x128xf8E8M0FNU, #swizzled>) -> tensor<?x4096xbf16> {
  %y = blockscale.scaled_mm %dy, %w mn_major_b scales(none, %s) block [1, 32]
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 32, cols = 64, stages = 4, band = 8, ctas = 132>}
      : tensor<?x4096xbf16>, tensor<4096x4096xf4E2M1FN, #prepacked>, tensor<4096x128xf8E8M0FNU, #swizzled> -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
