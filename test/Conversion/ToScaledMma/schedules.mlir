// RUN: blockscale-opt %s --blockscale-choose-schedules=chip=sm_120a | FileCheck %s
// RUN: blockscale-opt %s --blockscale-choose-schedules=chip=sm_121a | FileCheck %s --check-prefix=SMALL
// RUN: blockscale-opt %s --blockscale-choose-schedules='chip=sm_120a schedule=#blockscale.gemm_schedule<rows=128,cols=128,stages=3,band=1,ctas=2>' | FileCheck %s --check-prefix=GIVEN
// RUN: blockscale-opt %s --blockscale-choose-schedules=chip=sm_120a --remarks-filter-analyse=gpu-launch -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

#swizzled = #blockscale.layout<swizzle_128x4>

// A tile for each multiprocessor at a time, and a stage takes as long to multiply as to arrive.
// REMARK: tiles of 128 x 128 in 4 stages: a step of 128 of K takes 0.43 us to multiply, 0.18 us to read shared memory, 0.43 us to load, so that it has to load; tiles: 4096, waves: 25, 703.3 us, 93.3 % of the peak
// REMARK-SAME: assumed are 4096 FLOP of 4 bits, 128 bytes of shared memory and 17.7 of the L2 cache a clock and multiprocessor
// CHECK-LABEL: func.func @large
// CHECK: blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 128, stages = 4, band = 8, ctas = 170>
// SMALL-LABEL: func.func @large
// SMALL: blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 128, stages = 4, band = 8, ctas = 48>
// GIVEN-LABEL: func.func @large
// GIVEN: blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 128, stages = 3, band = 1, ctas = 2>
func.func @large(%a: tensor<8192x8192xf4E2M1FN>, %s: tensor<8192x512xf8E4M3FN, #swizzled>) -> tensor<8192x8192xbf16> {
  %y = blockscale.scaled_mm %a, %a scales(%s, %s) block [1, 16]
      : tensor<8192x8192xf4E2M1FN>, tensor<8192x8192xf4E2M1FN>, tensor<8192x512xf8E4M3FN, #swizzled>, tensor<8192x512xf8E4M3FN, #swizzled> -> tensor<8192x8192xbf16>
  return %y : tensor<8192x8192xbf16>
}

// Few tiles with a long K are computed in parts. FP8 has half the rate of FP4.
// REMARK: tiles of 128 x 128, K in 16 parts in 4 stages: a step of 64 of K takes 0.43 us to multiply
// CHECK-LABEL: func.func @few
// CHECK: blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 128, stages = 4, band = 8, ctas = 170, splits = 16>
func.func @few(%a: tensor<256x16384xf8E4M3FN>, %s: tensor<256x512xf8E8M0FNU, #swizzled>) -> tensor<256x256xbf16> {
  %y = blockscale.scaled_mm %a, %a scales(%s, %s) block [1, 32]
      : tensor<256x16384xf8E4M3FN>, tensor<256x16384xf8E4M3FN>, tensor<256x512xf8E8M0FNU, #swizzled>, tensor<256x512xf8E8M0FNU, #swizzled> -> tensor<256x256xbf16>
  return %y : tensor<256x256xbf16>
}

// What the op says is kept, whatever the option.
// REMARK-NOT: remark
// CHECK-LABEL: func.func @kept
// CHECK: stages = 2, band = 3, ctas = 4>
// GIVEN-LABEL: func.func @kept
// GIVEN: stages = 2, band = 3, ctas = 4>
func.func @kept(%a: tensor<100x256xf4E2M1FN>, %s: tensor<100x16xf8E4M3FN, #swizzled>) -> tensor<100x100xbf16> {
  %y = blockscale.scaled_mm %a, %a scales(%s, %s) block [1, 16]
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 128, stages = 2, band = 3, ctas = 4>}
      : tensor<100x256xf4E2M1FN>, tensor<100x256xf4E2M1FN>, tensor<100x16xf8E4M3FN, #swizzled>, tensor<100x16xf8E4M3FN, #swizzled> -> tensor<100x100xbf16>
  return %y : tensor<100x100xbf16>
}
