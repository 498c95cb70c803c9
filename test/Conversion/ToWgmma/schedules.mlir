// RUN: blockscale-opt %s --blockscale-choose-schedules=chip=sm_90a | FileCheck %s
// RUN: blockscale-opt %s --blockscale-choose-schedules='chip=sm_90a schedule=#blockscale.gemm_schedule<rows=64,cols=128,stages=3,band=1,ctas=2>' | FileCheck %s --check-prefix=GIVEN
// RUN: blockscale-opt %s --blockscale-choose-schedules=chip=sm_90a --remarks-filter-analyse=gpu-launch -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

#swizzled = #blockscale.layout<swizzle_128x4>

// Many rows have the widest tiles: what is decoded once is multiplied most often.
// REMARK: tiles of 256 x 128 in 5 stages: a step of 64 of K takes {{[0-9.]+}} us to multiply, {{[0-9.]+}} us to decode, {{[0-9.]+}} us to load, so that it has to {{[a-z ]+}}; tiles: 2048, waves: 16
// CHECK-LABEL: func.func @large
// CHECK: blockscale.schedule = #blockscale.gemm_schedule<rows = 256, cols = 128, stages = 5, band = 4, ctas = 132>
// GIVEN-LABEL: func.func @large
// GIVEN: blockscale.schedule = #blockscale.gemm_schedule<rows = 64, cols = 128, stages = 3, band = 1, ctas = 2>
func.func @large(%a: tensor<8192x8192xbf16>, %b: tensor<8192x8192xf4E2M1FN>, %s: tensor<8192x512xf8E4M3FN, #swizzled>) -> tensor<8192x8192xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, %s) block [1, 16]
      : tensor<8192x8192xbf16>, tensor<8192x8192xf4E2M1FN>, tensor<8192x512xf8E4M3FN, #swizzled> -> tensor<8192x8192xbf16>
  return %y : tensor<8192x8192xbf16>
}

// One row has the smallest tiles, so that all multiprocessors read weights.
// REMARK: tiles of 8 x 64 in 12 stages
// REMARK-SAME: data are row-major, which take longer to decode than prepacked ones (blockscale.prepack)
// CHECK-LABEL: func.func @row
// CHECK: blockscale.schedule = #blockscale.gemm_schedule<rows = 8, cols = 64, stages = 12, band = 128, ctas = 132>
func.func @row(%a: tensor<1x8192xbf16>, %b: tensor<8192x8192xf4E2M1FN>, %s: tensor<8192x512xf8E4M3FN, #swizzled>) -> tensor<1x8192xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, %s) block [1, 16]
      : tensor<1x8192xbf16>, tensor<8192x8192xf4E2M1FN>, tensor<8192x512xf8E4M3FN, #swizzled> -> tensor<1x8192xbf16>
  return %y : tensor<1x8192xbf16>
}

// Where A has the scales, its rows are the 64, and columns those of the plain operand, which
// are at least a fragment of 32. There are too few tiles for all multiprocessors, so that
// clusters share K.
// REMARK: tiles of 64 x 32, K in 2 parts
// CHECK-LABEL: func.func @scaled_a
// CHECK: blockscale.schedule = #blockscale.gemm_schedule<rows = 64, cols = 32, stages = 12, band = 16, ctas = 132, splits = 2>
func.func @scaled_a(%a: tensor<4096x4096xf8E4M3FN>, %b: tensor<8x4096xbf16>, %s: tensor<4096x128xf8E8M0FNU, #swizzled>) -> tensor<4096x8xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(%s, none) block [1, 32]
      : tensor<4096x4096xf8E4M3FN>, tensor<8x4096xbf16>, tensor<4096x128xf8E8M0FNU, #swizzled> -> tensor<4096x8xbf16>
  return %y : tensor<4096x8xbf16>
}

// The prepacked order is no reason for other tiles, but is faster.
// REMARK: tiles of 8 x 64 in 12 stages
// REMARK-SAME: data are prepacked;
// CHECK-LABEL: func.func @prepacked
// CHECK: blockscale.schedule = #blockscale.gemm_schedule<rows = 8, cols = 64,
func.func @prepacked(%a: tensor<1x8192xbf16>, %b: tensor<8192x8192xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, %s: tensor<8192x512xf8E4M3FN, #swizzled>) -> tensor<1x8192xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, %s) block [1, 16]
      : tensor<1x8192xbf16>, tensor<8192x8192xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, tensor<8192x512xf8E4M3FN, #swizzled> -> tensor<1x8192xbf16>
  return %y : tensor<1x8192xbf16>
}

// With so many columns that all multiprocessors have several tiles, these have 128.
// REMARK: tiles of 8 x 128 in 8 stages
// CHECK-LABEL: func.func @head
// CHECK: blockscale.schedule = #blockscale.gemm_schedule<rows = 8, cols = 128, stages = 8,
func.func @head(%a: tensor<1x4096xbf16>, %b: tensor<128256x4096xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, %s: tensor<128256x256xf8E4M3FN, #swizzled>) -> tensor<1x128256xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, %s) block [1, 16]
      : tensor<1x4096xbf16>, tensor<128256x4096xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, tensor<128256x256xf8E4M3FN, #swizzled> -> tensor<1x128256xbf16>
  return %y : tensor<1x128256xbf16>
}

// One such tile for each takes longer than two of 64.
// REMARK: tiles of 8 x 64 in 12 stages
// CHECK-LABEL: func.func @once
// CHECK: blockscale.schedule = #blockscale.gemm_schedule<rows = 8, cols = 64, stages = 12,
func.func @once(%a: tensor<1x4096xbf16>, %b: tensor<14336x4096xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, %s: tensor<14336x256xf8E4M3FN, #swizzled>) -> tensor<1x14336xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, %s) block [1, 16]
      : tensor<1x4096xbf16>, tensor<14336x4096xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, tensor<14336x256xf8E4M3FN, #swizzled> -> tensor<1x14336xbf16>
  return %y : tensor<1x14336xbf16>
}

// Nine rows are no tile of eight: the rows of a second one would decode all weights again.
// REMARK: tiles of 16 x 64, K in 2 parts
// CHECK-LABEL: func.func @nine
// CHECK: blockscale.schedule = #blockscale.gemm_schedule<rows = 16, cols = 64, stages = 8, band = 64, ctas = 132, splits = 2>
func.func @nine(%a: tensor<9x4096xbf16>, %b: tensor<4096x4096xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, %s: tensor<4096x256xf8E4M3FN, #swizzled>) -> tensor<9x4096xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, %s) block [1, 16]
      : tensor<9x4096xbf16>, tensor<4096x4096xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, tensor<4096x256xf8E4M3FN, #swizzled> -> tensor<9x4096xbf16>
  return %y : tensor<9x4096xbf16>
}

// Codes of 8 bits wait for memory, whatever multiplies them.
// REMARK: tiles of 16 x 64
// CHECK-LABEL: func.func @wide
// CHECK: blockscale.schedule = #blockscale.gemm_schedule<rows = 16, cols = 64,
func.func @wide(%a: tensor<1x8192xbf16>, %b: tensor<8192x8192xf8E4M3FN, #blockscale.data_layout<fragments_64x64>>, %s: tensor<8192x256xf8E8M0FNU, #swizzled>) -> tensor<1x8192xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, %s) block [1, 32]
      : tensor<1x8192xbf16>, tensor<8192x8192xf8E4M3FN, #blockscale.data_layout<fragments_64x64>>, tensor<8192x256xf8E8M0FNU, #swizzled> -> tensor<1x8192xbf16>
  return %y : tensor<1x8192xbf16>
}

// A product whose operands both have scales has no kernel, and is not given a schedule.
// CHECK-LABEL: func.func @both
// CHECK-NOT: blockscale.schedule
func.func @both(%a: tensor<128x64xf8E4M3FN>, %s: tensor<128x2xf8E8M0FNU, #swizzled>) -> tensor<128x128xbf16> {
  %y = blockscale.scaled_mm %a, %a scales(%s, %s) block [1, 32]
      : tensor<128x64xf8E4M3FN>, tensor<128x64xf8E4M3FN>, tensor<128x2xf8E8M0FNU, #swizzled>, tensor<128x2xf8E8M0FNU, #swizzled> -> tensor<128x128xbf16>
  return %y : tensor<128x128xbf16>
}
