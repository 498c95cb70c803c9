// RUN: blockscale-opt %s --blockscale-choose-schedules | FileCheck %s
// RUN: blockscale-opt %s --blockscale-choose-schedules='schedule=#blockscale.gemm_schedule<rows=128,cols=128,stages=3,band=1,ctas=2>' | FileCheck %s --check-prefix=GIVEN
// RUN: blockscale-opt %s --blockscale-choose-schedules=chip=sm_90a | FileCheck %s --check-prefix=OTHER
// RUN: blockscale-opt %s --blockscale-choose-schedules --remarks-filter-analyse=gpu-launch -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not blockscale-opt %s --blockscale-choose-schedules=schedule=3 2>&1 | FileCheck %s --check-prefix=WRONG

// A chip without block-scaled products has none to choose for.
// OTHER-NOT: blockscale.schedule = #blockscale.gemm_schedule<rows = 256
// WRONG: error: expected the schedule to be a #blockscale.gemm_schedule, but got '3'

#id = affine_map<(i, j) -> (i, j)>
#swizzled = #blockscale.layout<swizzle_128x4>

// Pairs of CTAs that share loads keep the tensor cores of a GPU busy.
// REMARK: tiles of 256 x 256 by 2 in 5 stages: a step of 256 of K takes 0.28 us to multiply, 0.16 us to read shared memory, 0.26 us to load, so that it has to multiply; tiles: 1024, waves: 14, 128.3 us, 95.2 % of the peak (256 x 256, 151.5 us, 80.6 % of the peak; 128 x 256, 213.3 us, 57.3 % of the peak); assumed are 128 bytes of shared memory and 64 of the L2 cache a clock and multiprocessor
// CHECK-LABEL: func.func @large
// CHECK: blockscale.schedule = #blockscale.gemm_schedule<rows = 256, cols = 256, stages = 5, band = 4, ctas = 148, multicast = 2>
// GIVEN-LABEL: func.func @large
// GIVEN: blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 128, stages = 3, band = 1, ctas = 2>
func.func @large(%a: tensor<8192x8192xf4E2M1FN>, %s: tensor<8192x512xf8E4M3FN, #swizzled>) -> tensor<8192x8192xbf16> {
  %y = blockscale.scaled_mm %a, %a scales(%s, %s) block [1, 16]
      : tensor<8192x8192xf4E2M1FN>, tensor<8192x8192xf4E2M1FN>, tensor<8192x512xf8E4M3FN, #swizzled>, tensor<8192x512xf8E4M3FN, #swizzled> -> tensor<8192x8192xbf16>
  return %y : tensor<8192x8192xbf16>
}

// Few tiles with a long K are computed in parts.
// REMARK: tiles of 128 x 128, K in 16 parts in 6 stages
// CHECK-LABEL: func.func @few
// CHECK: blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 128, stages = 6, band = 8, ctas = 148, splits = 16>
func.func @few(%a: tensor<256x16384xf8E4M3FN>, %s: tensor<256x512xf8E8M0FNU, #swizzled>) -> tensor<256x256xbf16> {
  %y = blockscale.scaled_mm %a, %a scales(%s, %s) block [1, 32]
      : tensor<256x16384xf8E4M3FN>, tensor<256x16384xf8E4M3FN>, tensor<256x512xf8E8M0FNU, #swizzled>, tensor<256x512xf8E8M0FNU, #swizzled> -> tensor<256x256xbf16>
  return %y : tensor<256x256xbf16>
}

// One tile.
// REMARK: tiles of 128 x 128 in 6 stages
// CHECK-LABEL: func.func @one
// CHECK: blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 128, stages = 6, band = 8, ctas = 148>
func.func @one(%a: tensor<100x256xf4E2M1FN>, %s: tensor<100x16xf8E4M3FN, #swizzled>) -> tensor<100x100xbf16> {
  %y = blockscale.scaled_mm %a, %a scales(%s, %s) block [1, 16]
      : tensor<100x256xf4E2M1FN>, tensor<100x256xf4E2M1FN>, tensor<100x16xf8E4M3FN, #swizzled>, tensor<100x16xf8E4M3FN, #swizzled> -> tensor<100x100xbf16>
  return %y : tensor<100x100xbf16>
}

// Where other ops follow, the kernel needs whole sums, few as its tiles are: no other kernel could add parts.
// REMARK: tiles of 256 x 256 by 2 in 6 stages: {{.*}} tiles: 2,
// CHECK-LABEL: func.func @followed
// CHECK: blockscale.schedule = #blockscale.gemm_schedule<rows = 256, cols = 256, stages = 6, band = 4, ctas = 148, multicast = 2>}
// GIVEN-LABEL: func.func @followed
func.func @followed(%a: tensor<128x16384xf8E4M3FN>, %b: tensor<256x16384xf8E4M3FN>, %s: tensor<128x512xf8E8M0FNU, #swizzled>, %t: tensor<256x512xf8E8M0FNU, #swizzled>, %out: tensor<128x256xf32>) -> tensor<128x256xf32> {
  %y = blockscale.kernel ins(%a, %b, %s, %t : tensor<128x16384xf8E4M3FN>, tensor<256x16384xf8E4M3FN>, tensor<128x512xf8E8M0FNU, #swizzled>, tensor<256x512xf8E8M0FNU, #swizzled>) outs(%out : tensor<128x256xf32>) {
  ^bb0(%la: tensor<128x16384xf8E4M3FN>, %lb: tensor<256x16384xf8E4M3FN>, %ls: tensor<128x512xf8E8M0FNU, #swizzled>, %lt: tensor<256x512xf8E8M0FNU, #swizzled>, %ly: tensor<128x256xf32>):
    %0 = blockscale.scaled_mm %la, %lb scales(%ls, %lt) block [1, 32]
        : tensor<128x16384xf8E4M3FN>, tensor<256x16384xf8E4M3FN>, tensor<128x512xf8E8M0FNU, #swizzled>, tensor<256x512xf8E8M0FNU, #swizzled> -> tensor<128x256xf32>
    %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<128x256xf32>) outs(%ly : tensor<128x256xf32>) {
    ^bb0(%p: f32, %o: f32):
      %2 = arith.negf %p : f32
      linalg.yield %2 : f32
    } -> tensor<128x256xf32>
    blockscale.yield %1 : tensor<128x256xf32>
  } -> tensor<128x256xf32>
  return %y : tensor<128x256xf32>
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

// Products that share a kernel have one schedule: the one that either has.
// CHECK-LABEL: func.func @together
// CHECK-COUNT-2: stages = 2, band = 5, ctas = 4>
// GIVEN-LABEL: func.func @together
// GIVEN-COUNT-2: stages = 2, band = 5, ctas = 4>
func.func @together(%a: tensor<64x64xf8E4M3FN>, %b: tensor<64x64xf8E4M3FN>, %s: tensor<64x2xf8E8M0FNU, #swizzled>, %out: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %y = blockscale.kernel ins(%a, %b, %s : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU, #swizzled>) outs(%out : tensor<64x64xf32>) {
  ^bb0(%la: tensor<64x64xf8E4M3FN>, %lb: tensor<64x64xf8E4M3FN>, %ls: tensor<64x2xf8E8M0FNU, #swizzled>, %ly: tensor<64x64xf32>):
    %0 = blockscale.scaled_mm %la, %la scales(%ls, %ls) block [1, 32]
        : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU, #swizzled>, tensor<64x2xf8E8M0FNU, #swizzled> -> tensor<64x64xf32>
    %1 = blockscale.scaled_mm %la, %lb scales(%ls, %ls) block [1, 32]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 256, stages = 2, band = 5, ctas = 4>}
        : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU, #swizzled>, tensor<64x2xf8E8M0FNU, #swizzled> -> tensor<64x64xf32>
    %2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%0, %1 : tensor<64x64xf32>, tensor<64x64xf32>) outs(%ly : tensor<64x64xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %3 = arith.addf %p, %q : f32
      linalg.yield %3 : f32
    } -> tensor<64x64xf32>
    blockscale.yield %2 : tensor<64x64xf32>
  } -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}
