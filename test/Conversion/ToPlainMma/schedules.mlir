// RUN: blockscale-opt %s --blockscale-choose-schedules=chip=sm_80 | FileCheck %s
// RUN: blockscale-opt %s --blockscale-choose-schedules=chip=sm_89 | FileCheck %s --check-prefix=SMALL
// RUN: blockscale-opt %s --blockscale-choose-schedules='chip=sm_80 schedule=#blockscale.gemm_schedule<rows=128,cols=128,stages=3,band=1,ctas=2>' | FileCheck %s --check-prefix=GIVEN
// RUN: blockscale-opt %s --blockscale-choose-schedules=chip=sm_80 --remarks-filter-analyse=gpu-launch -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

#swizzled = #blockscale.layout<swizzle_128x4>

// Many rows have the widest tiles. Less shared memory holds fewer stages.
// REMARK: tiles of 128 x 256 in 4 stages: a step of 64 of K takes 1.27 us to multiply, 0.52 us to decode, 0.84 us to load, so that it has to multiply; tiles: 512, waves: 4, 350.
// CHECK-LABEL: func.func @large
// CHECK: blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 256, stages = 4, band = 8, ctas = 132>
// SMALL-LABEL: func.func @large
// SMALL: blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 256, stages = 3, band = 8, ctas = 132>
// GIVEN-LABEL: func.func @large
// GIVEN: blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 128, stages = 3, band = 1, ctas = 2>
func.func @large(%a: tensor<4096x4096xbf16>, %b: tensor<4096x4096xf4E2M1FN>, %s: tensor<4096x256xf8E4M3FN, #swizzled>) -> tensor<4096x4096xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, %s) block [1, 16]
      : tensor<4096x4096xbf16>, tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN, #swizzled> -> tensor<4096x4096xbf16>
  return %y : tensor<4096x4096xbf16>
}

// Few rows: all multiprocessors read weights.
// REMARK: tiles of 16 x 64 in 5 stages:
// CHECK-LABEL: func.func @few
// CHECK: blockscale.schedule = #blockscale.gemm_schedule<rows = 16, cols = 64, stages = 5, band = 64, ctas = 132>
func.func @few(%a: tensor<16x8192xbf16>, %b: tensor<8192x8192xf4E2M1FN>, %s: tensor<8192x512xf8E4M3FN, #swizzled>) -> tensor<16x8192xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, %s) block [1, 16]
      : tensor<16x8192xbf16>, tensor<8192x8192xf4E2M1FN>, tensor<8192x512xf8E4M3FN, #swizzled> -> tensor<16x8192xbf16>
  return %y : tensor<16x8192xbf16>
}

// Few tiles with a long K are computed in parts.
// REMARK: tiles of 16 x 64, K in 2 parts in 5 stages:
// CHECK-LABEL: func.func @parts
// CHECK: splits = 2>
func.func @parts(%a: tensor<16x14336xbf16>, %b: tensor<4096x14336xf4E2M1FN>, %s: tensor<4096x896xf8E4M3FN, #swizzled>) -> tensor<16x4096xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, %s) block [1, 16]
      : tensor<16x14336xbf16>, tensor<4096x14336xf4E2M1FN>, tensor<4096x896xf8E4M3FN, #swizzled> -> tensor<16x4096xbf16>
  return %y : tensor<16x4096xbf16>
}

// Where nothing is decoded, warps of the widest tiles read the least of shared memory.
// REMARK: tiles of 128 x 256 in 3 stages: a step of 64 of K takes 1.02 us to multiply, 0.90 us to read shared memory, 0.81 us to load, so that it has to multiply; tiles: 512, waves: 4, 284.
// CHECK-LABEL: func.func @plain
// CHECK: blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 256, stages = 3, band = 8, ctas = 132>
// SMALL-LABEL: func.func @plain
// SMALL: blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 128, stages = 3, band = 8, ctas = 132>
func.func @plain(%a: tensor<4096x4096xbf16>, %b: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, none) block [1, 16]
      : tensor<4096x4096xbf16>, tensor<4096x4096xbf16> -> tensor<4096x4096xbf16>
  return %y : tensor<4096x4096xbf16>
}

// With fewer tiles than multiprocessors, narrow ones keep all of these busy, and load more.
// REMARK: tiles of 64 x 128 in 3 stages: a step of 64 of K takes 0.27 us to multiply, 0.37 us to read shared memory, 0.41 us to load, so that it has to load;
// CHECK-LABEL: func.func @plain_few
// CHECK: blockscale.schedule = #blockscale.gemm_schedule<rows = 64, cols = 128, stages = 3,
func.func @plain_few(%a: tensor<128x8192xbf16>, %b: tensor<8192x8192xbf16>) -> tensor<128x8192xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, none) block [1, 16]
      : tensor<128x8192xbf16>, tensor<8192x8192xbf16> -> tensor<128x8192xbf16>
  return %y : tensor<128x8192xbf16>
}

// K in two parts does, too, where loading so long a K takes longer than adding their sums.
// REMARK: tiles of 64 x 128, K in 2 parts in 3 stages:
// CHECK-LABEL: func.func @plain_parts
// CHECK: splits = 2>
func.func @plain_parts(%a: tensor<64x8192xbf16>, %b: tensor<8192x8192xbf16>) -> tensor<64x8192xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, none) block [1, 16]
      : tensor<64x8192xbf16>, tensor<8192x8192xbf16> -> tensor<64x8192xbf16>
  return %y : tensor<64x8192xbf16>
}

// Four warps of a multiprocessor alone hide less of what they wait for.
// REMARK: tiles of 128 x 128 in 4 stages: a step of 64 of K takes 0.67 us to multiply,
// CHECK-LABEL: func.func @plain_alone
// CHECK: blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 128, stages = 4,
func.func @plain_alone(%a: tensor<512x4096xbf16>, %b: tensor<4096x4096xbf16>) -> tensor<512x4096xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, none) block [1, 16]
      : tensor<512x4096xbf16>, tensor<4096x4096xbf16> -> tensor<512x4096xbf16>
  return %y : tensor<512x4096xbf16>
}

// What the op says is kept, whatever the option.
// REMARK-NOT: remark
// CHECK-LABEL: func.func @kept
// CHECK: stages = 3, band = 3, ctas = 4>
// GIVEN-LABEL: func.func @kept
// GIVEN: stages = 3, band = 3, ctas = 4>
func.func @kept(%a: tensor<100x256xbf16>, %b: tensor<100x256xf4E2M1FN>, %s: tensor<100x16xf8E4M3FN, #swizzled>) -> tensor<100x100xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, %s) block [1, 16]
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 64, cols = 128, stages = 3, band = 3, ctas = 4>}
      : tensor<100x256xbf16>, tensor<100x256xf4E2M1FN>, tensor<100x16xf8E4M3FN, #swizzled> -> tensor<100x100xbf16>
  return %y : tensor<100x100xbf16>
}
