// Schedules of products of order chain on Hopper, and what remarks say of the order of sums.
// RUN: blockscale-opt %s --blockscale-choose-schedules=chip=sm_90a | FileCheck %s
// RUN: blockscale-opt %s --blockscale-choose-schedules=chip=sm_90a --remarks-filter-analyse=gpu-launch -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK --implicit-check-not="sums are one chain"

#swizzled = #blockscale.layout<swizzle_128x4>

// K is not parted, though that leaves multiprocessors without a tile.
// CHECK-LABEL: func.func @row
// CHECK: order chain {blockscale.schedule = #blockscale.gemm_schedule<rows = 16, cols = 64, stages = 12, band = 64, ctas = 132>}
// REMARK: tiles of 16 x 64 in 12 stages
// REMARK-SAME: sums are one chain along K
func.func @row(%a: tensor<1x8192xbf16>, %b: tensor<4096x8192xf4E2M1FN>, %s: tensor<4096x512xf8E4M3FN, #swizzled>) -> tensor<1x4096xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, %s) block [1, 16] order chain
      : tensor<1x8192xbf16>, tensor<4096x8192xf4E2M1FN>, tensor<4096x512xf8E4M3FN, #swizzled> -> tensor<1x4096xbf16>
  return %y : tensor<1x4096xbf16>
}

// Of prepacked weights, tiles of eight rows can have 32 columns, so that there are tiles for all multiprocessors.
// CHECK-LABEL: func.func @narrow
// CHECK: order chain {blockscale.schedule = #blockscale.gemm_schedule<rows = 8, cols = 32, stages = 8, band = 128, ctas = 132>}
// REMARK: tiles of 8 x 32 in 8 stages
// REMARK-SAME: sums are one chain along K
func.func @narrow(%a: tensor<8x14336xbf16>, %b: tensor<4096x14336xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, %s: tensor<4096x896xf8E4M3FN, #swizzled>) -> tensor<8x4096xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, %s) block [1, 16] order chain
      : tensor<8x14336xbf16>, tensor<4096x14336xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, tensor<4096x896xf8E4M3FN, #swizzled> -> tensor<8x4096xbf16>
  return %y : tensor<8x4096xbf16>
}
// So can those of MXFP4.
// CHECK-LABEL: func.func @narrow_mx
// CHECK: order chain {blockscale.schedule = #blockscale.gemm_schedule<rows = 8, cols = 32, stages = 12, band = 128, ctas = 132>}
// REMARK: tiles of 8 x 32 in 12 stages
// REMARK-SAME: sums are one chain along K
func.func @narrow_mx(%a: tensor<1x4096xbf16>, %b: tensor<4096x4096xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, %s: tensor<4096x128xf8E8M0FNU, #swizzled>) -> tensor<1x4096xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, %s) block [1, 32] order chain
      : tensor<1x4096xbf16>, tensor<4096x4096xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, tensor<4096x128xf8E8M0FNU, #swizzled> -> tensor<1x4096xbf16>
  return %y : tensor<1x4096xbf16>
}
// Where they would be more than two for a multiprocessor, wider ones are faster: all of a wave run at a time.
// CHECK-LABEL: func.func @two_waves
// CHECK: order chain {blockscale.schedule = #blockscale.gemm_schedule<rows = 16, cols = 64, stages = 12, band = 64, ctas = 132>}
// REMARK: tiles of 16 x 64 in 12 stages
// REMARK-SAME: sums are one chain along K
func.func @two_waves(%a: tensor<1x4096xbf16>, %b: tensor<6144x4096xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, %s: tensor<6144x256xf8E4M3FN, #swizzled>) -> tensor<1x6144xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, %s) block [1, 16] order chain
      : tensor<1x4096xbf16>, tensor<6144x4096xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, tensor<6144x256xf8E4M3FN, #swizzled> -> tensor<1x6144xbf16>
  return %y : tensor<1x6144xbf16>
}
// Nine rows have tiles of 16.
// CHECK-LABEL: func.func @nine
// CHECK: order chain {blockscale.schedule = #blockscale.gemm_schedule<rows = 16, cols = 64, stages = 12, band = 64, ctas = 132>}
// REMARK: tiles of 16 x 64 in 12 stages
// REMARK-SAME: sums are one chain along K
func.func @nine(%a: tensor<9x4096xbf16>, %b: tensor<4096x4096xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, %s: tensor<4096x256xf8E4M3FN, #swizzled>) -> tensor<9x4096xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, %s) block [1, 16] order chain
      : tensor<9x4096xbf16>, tensor<4096x4096xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, tensor<4096x256xf8E4M3FN, #swizzled> -> tensor<9x4096xbf16>
  return %y : tensor<9x4096xbf16>
}

// Tiles of 128 columns have two teams, whose warps multiply by themselves and hand over sums two by two.
// CHECK-LABEL: func.func @head
// CHECK: order chain {blockscale.schedule = #blockscale.gemm_schedule<rows = 8, cols = 128, stages = 8, band = 128, ctas = 132>}
// REMARK: tiles of 8 x 128 in 8 stages
// REMARK-SAME: sums are one chain along K
func.func @head(%a: tensor<1x4096xbf16>, %b: tensor<128256x4096xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, %s: tensor<128256x256xf8E4M3FN, #swizzled>) -> tensor<1x128256xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, %s) block [1, 16] order chain
      : tensor<1x4096xbf16>, tensor<128256x4096xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, tensor<128256x256xf8E4M3FN, #swizzled> -> tensor<1x128256xbf16>
  return %y : tensor<1x128256xbf16>
}

// The same of free order is in two parts.
// CHECK-LABEL: func.func @free_row
// CHECK: splits = 2>
// REMARK: K in 2 parts
func.func @free_row(%a: tensor<1x8192xbf16>, %b: tensor<4096x8192xf4E2M1FN>, %s: tensor<4096x512xf8E4M3FN, #swizzled>) -> tensor<1x4096xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, %s) block [1, 16]
      : tensor<1x8192xbf16>, tensor<4096x8192xf4E2M1FN>, tensor<4096x512xf8E4M3FN, #swizzled> -> tensor<1x4096xbf16>
  return %y : tensor<1x4096xbf16>
}

// Beside more plain rows one warpgroup has the sums of a tile, of 64 columns, and of 128 plain rows where these
// fill the GPU.
// CHECK-LABEL: func.func @rows
// CHECK: order chain {blockscale.schedule = #blockscale.gemm_schedule<rows = 64, cols = 64, stages = 4, band = 16, ctas = 132>}
// REMARK: tiles of 64 x 64 in 4 stages
// REMARK-SAME: sums are one chain along K
func.func @rows(%a: tensor<64x8192xbf16>, %b: tensor<8192x8192xf4E2M1FN>, %s: tensor<8192x512xf8E4M3FN, #swizzled>) -> tensor<64x8192xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, %s) block [1, 16] order chain
      : tensor<64x8192xbf16>, tensor<8192x8192xf4E2M1FN>, tensor<8192x512xf8E4M3FN, #swizzled> -> tensor<64x8192xbf16>
  return %y : tensor<64x8192xbf16>
}
// CHECK-LABEL: func.func @more_rows
// CHECK: order chain {blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 64, stages = 5, band = 8, ctas = 132>}
// REMARK: tiles of 128 x 64 in 5 stages
// REMARK-SAME: sums are one chain along K
func.func @more_rows(%a: tensor<128x8192xbf16>, %b: tensor<8192x8192xf4E2M1FN>, %s: tensor<8192x512xf8E4M3FN, #swizzled>) -> tensor<128x8192xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, %s) block [1, 16] order chain
      : tensor<128x8192xbf16>, tensor<8192x8192xf4E2M1FN>, tensor<8192x512xf8E4M3FN, #swizzled> -> tensor<128x8192xbf16>
  return %y : tensor<128x8192xbf16>
}

// Wide tiles of MX formats keep the order of K anyway.
// CHECK-LABEL: func.func @free_mx
// CHECK: rows = 256, cols = 128
// REMARK: tiles of 256 x 128
// REMARK-SAME: sums are one chain along K
func.func @free_mx(%a: tensor<8192x8192xbf16>, %b: tensor<8192x8192xf4E2M1FN>, %s: tensor<8192x256xf8E8M0FNU, #swizzled>) -> tensor<8192x8192xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, %s) block [1, 32]
      : tensor<8192x8192xbf16>, tensor<8192x8192xf4E2M1FN>, tensor<8192x256xf8E8M0FNU, #swizzled> -> tensor<8192x8192xbf16>
  return %y : tensor<8192x8192xbf16>
}

// Those of NVFP4 leave a power of two to sums.
// CHECK-LABEL: func.func @free_nvfp4
// CHECK: rows = 256, cols = 128
// REMARK: tiles of 256 x 128
func.func @free_nvfp4(%a: tensor<8192x8192xbf16>, %b: tensor<8192x8192xf4E2M1FN>, %s: tensor<8192x512xf8E4M3FN, #swizzled>) -> tensor<8192x8192xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, %s) block [1, 16]
      : tensor<8192x8192xbf16>, tensor<8192x8192xf4E2M1FN>, tensor<8192x512xf8E4M3FN, #swizzled> -> tensor<8192x8192xbf16>
  return %y : tensor<8192x8192xbf16>
}
