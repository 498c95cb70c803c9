// RUN: blockscale-opt %s --blockscale-choose-schedules=chip=sm_100a | FileCheck %s
// RUN: blockscale-opt %s --blockscale-choose-schedules='chip=sm_100a schedule=#blockscale.gemm_schedule<rows=64,cols=128,stages=3,band=1,ctas=2>' | FileCheck %s --check-prefix=GIVEN
// RUN: blockscale-opt %s --blockscale-choose-schedules=chip=sm_100a --remarks-filter-analyse=gpu-launch -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

#swizzled = #blockscale.layout<swizzle_128x4>

// Many rows have the widest tiles: what is decoded once is multiplied most often.
// REMARK: tiles of 256 x 128 in 5 stages: a step of 64 of K takes {{[0-9.]+}} us to multiply, {{[0-9.]+}} us to decode, {{[0-9.]+}} us to read shared memory, {{[0-9.]+}} us to load, so that it has to {{[a-z ]+}}; tiles: 2048, waves: 14
// REMARK-SAME: assumed are 128 bytes of shared memory and 64 of the L2 cache a clock and multiprocessor
// CHECK-LABEL: func.func @large
// CHECK: blockscale.schedule = #blockscale.gemm_schedule<rows = 256, cols = 128, stages = 5, band = 4, ctas = 148>
// GIVEN-LABEL: func.func @large
// GIVEN: blockscale.schedule = #blockscale.gemm_schedule<rows = 64, cols = 128, stages = 3, band = 1, ctas = 2>
func.func @large(%a: tensor<8192x8192xbf16>, %b: tensor<8192x8192xf4E2M1FN>, %s: tensor<8192x512xf8E4M3FN, #swizzled>) -> tensor<8192x8192xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, %s) block [1, 16]
      : tensor<8192x8192xbf16>, tensor<8192x8192xf4E2M1FN>, tensor<8192x512xf8E4M3FN, #swizzled> -> tensor<8192x8192xbf16>
  return %y : tensor<8192x8192xbf16>
}

// One row has the narrowest tiles, and K in parts, so that all multiprocessors read weights.
// REMARK: tiles of 16 x 128, K in 16 parts in 8 stages: a step of 64 of K takes {{.*}} so that it has to decode
// CHECK-LABEL: func.func @row
// CHECK: blockscale.schedule = #blockscale.gemm_schedule<rows = 16, cols = 128, stages = 8, band = 64, ctas = 148, splits = 16>
func.func @row(%a: tensor<1x8192xbf16>, %b: tensor<8192x8192xf4E2M1FN>, %s: tensor<8192x512xf8E4M3FN, #swizzled>) -> tensor<1x8192xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, %s) block [1, 16]
      : tensor<1x8192xbf16>, tensor<8192x8192xf4E2M1FN>, tensor<8192x512xf8E4M3FN, #swizzled> -> tensor<1x8192xbf16>
  return %y : tensor<1x8192xbf16>
}

// Where A has the scales, its rows are the 128, and columns those of the plain operand, which are
// at least a fragment of 32.
// REMARK: tiles of 128 x 32, K in 4 parts in 4 stages
// CHECK-LABEL: func.func @scaled_a
// CHECK: blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 32, stages = 4, band = 8, ctas = 148, splits = 4>
func.func @scaled_a(%a: tensor<4096x4096xf8E4M3FN>, %b: tensor<8x4096xbf16>, %s: tensor<4096x128xf8E8M0FNU, #swizzled>) -> tensor<4096x8xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(%s, none) block [1, 32]
      : tensor<4096x4096xf8E4M3FN>, tensor<8x4096xbf16>, tensor<4096x128xf8E8M0FNU, #swizzled> -> tensor<4096x8xbf16>
  return %y : tensor<4096x8xbf16>
}
