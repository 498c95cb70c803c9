// Products of up to eight rows on Hopper, which warps multiply by themselves (docs/Products.md).

// RUN: blockscale-opt %s --blockscale-to-gpu=chip=sm_90a --split-input-file | FileCheck %s

#prepacked = #blockscale.data_layout<fragments_64x64>
#swizzled = #blockscale.layout<swizzle_128x4>

// A step is two loads of four matrices of the plain operand, and four instructions.
// CHECK-LABEL: gpu.func @scaled_mm_bf16_e2m1_e4m3_packed_bf16_8x64_stages8
// CHECK-SAME: nvvm.reqntid = array<i32: 640, 1, 1>
// CHECK-NOT: wgmma
// CHECK: llvm.inline_asm {{.*}}".reg .f32 %sum<4>;"
// CHECK-NOT: wgmma
// CHECK: nvvm.ldmatrix %{{.+}} {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 4 : i32
// CHECK: nvvm.ldmatrix
// CHECK-NOT: nvvm.ldmatrix
// CHECK-COUNT-4: llvm.inline_asm {{.*}}"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%sum0, %sum1, %sum2, %sum3}, {$0, $1, $2, $3}, {$4, $5}, {%sum0, %sum1, %sum2, %sum3};"
// CHECK-NOT: wgmma
// CHECK: gpu.return
func.func @few(%x: tensor<8x1024xbf16>, %w: tensor<128x1024xf4E2M1FN, #prepacked>, %s: tensor<128x64xf8E4M3FN, #swizzled>) -> tensor<8x128xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16]
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 8, cols = 64, stages = 8, band = 1, ctas = 2>}
      : tensor<8x1024xbf16>, tensor<128x1024xf4E2M1FN, #prepacked>, tensor<128x64xf8E4M3FN, #swizzled> -> tensor<8x128xbf16>
  return %y : tensor<8x128xbf16>
}

// -----

// Tiles of 128 columns have two teams of two warpgroups, which take turns at the stages. Warps of a
// team go on to the next tile while others make results of its sums: they wait at a barrier of
// hardware until all have stored theirs, and by one in memory until the sums of the tile before
// have been read.
// CHECK-LABEL: gpu.func @scaled_mm_bf16_e2m1_e4m3_packed_bf16_8x128_stages8
// CHECK-SAME: nvvm.reqntid = array<i32: 640, 1, 1>
// CHECK: mma.sync.aligned.m16n8k16
// CHECK: nvvm.mbarrier.try_wait
// CHECK: llvm.store %{{.+}} : f32, !llvm.ptr<3>
// CHECK: nvvm.barrier id
// CHECK-NOT: nvvm.barrier id
// CHECK: nvvm.mbarrier.arrive
// CHECK: gpu.return
#prepacked = #blockscale.data_layout<fragments_64x64>
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @wide(%x: tensor<8x1024xbf16>, %w: tensor<256x1024xf4E2M1FN, #prepacked>, %s: tensor<256x64xf8E4M3FN, #swizzled>) -> tensor<8x256xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16]
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 8, cols = 128, stages = 8, band = 1, ctas = 2>}
      : tensor<8x1024xbf16>, tensor<256x1024xf4E2M1FN, #prepacked>, tensor<256x64xf8E4M3FN, #swizzled> -> tensor<8x256xbf16>
  return %y : tensor<8x256xbf16>
}

// -----

// Beside f16, too. In clusters of four there are two teams, so that each adds the sums of a row.
// CHECK-LABEL: gpu.func @scaled_mm_f16_e2m1_e4m3_bf16_8x64_stages4_band1_splits4
// CHECK-SAME: nvvm.reqntid = array<i32: 384, 1, 1>
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// CHECK: gpu.return
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @parts(%x: tensor<8x1024xf16>, %w: tensor<128x1024xf4E2M1FN>, %s: tensor<128x64xf8E4M3FN, #swizzled>) -> tensor<8x128xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16]
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 8, cols = 64, stages = 4, band = 1, ctas = 4, splits = 4>}
      : tensor<8x1024xf16>, tensor<128x1024xf4E2M1FN>, tensor<128x64xf8E4M3FN, #swizzled> -> tensor<8x128xbf16>
  return %y : tensor<8x128xbf16>
}

// -----

// Tiles of 16 plain rows are multiplied by warpgroups.
// CHECK-LABEL: gpu.func @scaled_mm_bf16_e2m1_e4m3_packed_bf16_16x64_stages8
// CHECK-NOT: mma.sync
// CHECK: wgmma.mma_async.sync.aligned.m64n16k16
// CHECK-NOT: mma.sync
// CHECK: gpu.return
#prepacked = #blockscale.data_layout<fragments_64x64>
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @more(%x: tensor<9x1024xbf16>, %w: tensor<128x1024xf4E2M1FN, #prepacked>, %s: tensor<128x64xf8E4M3FN, #swizzled>) -> tensor<9x128xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16]
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 16, cols = 64, stages = 8, band = 1, ctas = 2>}
      : tensor<9x1024xbf16>, tensor<128x1024xf4E2M1FN, #prepacked>, tensor<128x64xf8E4M3FN, #swizzled> -> tensor<9x128xbf16>
  return %y : tensor<9x128xbf16>
}

// -----

// In order chain one warpgroup has all stages of a tile of 64 columns.
// CHECK-LABEL: gpu.func @scaled_mm_bf16_e2m1_e4m3_packed_chain_bf16_8x64_stages3
// CHECK-SAME: nvvm.reqntid = array<i32: 256, 1, 1>
// CHECK-NOT: nvvm.barrier id
// CHECK: mma.sync.aligned.m16n8k16
// CHECK: gpu.return
#prepacked = #blockscale.data_layout<fragments_64x64>
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @chain(%x: tensor<8x1024xbf16>, %w: tensor<128x1024xf4E2M1FN, #prepacked>, %s: tensor<128x64xf8E4M3FN, #swizzled>) -> tensor<8x128xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16] order chain
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 8, cols = 64, stages = 3, band = 1, ctas = 2>}
      : tensor<8x1024xbf16>, tensor<128x1024xf4E2M1FN, #prepacked>, tensor<128x64xf8E4M3FN, #swizzled> -> tensor<8x128xbf16>
  return %y : tensor<8x128xbf16>
}

// -----

// Tiles of 32 columns have four teams of two warps. The thread that loads copies half of each of a stage's eight blocks of codes
// by a map. Both stages are decoded before the barrier, whose loop keeps ptxas from moving that behind it.
// CHECK-LABEL: gpu.func @scaled_mm_bf16_e2m1_e4m3_packed_chain_bf16_8x32_stages8
// CHECK-SAME: nvvm.reqntid = array<i32: 384, 1, 1>
// CHECK: llvm.inline_asm {{.*}}".reg .f32 %sum<4>;"
// CHECK-NOT: mma.sync
// CHECK: llvm.inline_asm {{.*}}"{ .reg .pred again; setp.gt.u32 again, $0, 11; wait: bar.sync $0, 64; @again bra wait; }", "r,~{memory}" %{{.+}} : (i32)
// CHECK-COUNT-32: mma.sync.aligned.m16n8k16
// CHECK: nvvm.barrier.arrive id = %{{.+}} number_of_threads = %{{.+}}
// CHECK: gpu.return
#prepacked = #blockscale.data_layout<fragments_64x64>
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @narrow(%x: tensor<8x1024xbf16>, %w: tensor<128x1024xf4E2M1FN, #prepacked>, %s: tensor<128x64xf8E4M3FN, #swizzled>) -> tensor<8x128xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16] order chain
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 8, cols = 32, stages = 8, band = 1, ctas = 4>}
      : tensor<8x1024xbf16>, tensor<128x1024xf4E2M1FN, #prepacked>, tensor<128x64xf8E4M3FN, #swizzled> -> tensor<8x128xbf16>
  return %y : tensor<8x128xbf16>
}

// -----

// Tiles of 128 columns have two teams of eight warps, of which two hand over sums to two.
// CHECK-LABEL: gpu.func @scaled_mm_bf16_e2m1_e4m3_packed_chain_bf16_8x128_stages4
// CHECK-SAME: nvvm.reqntid = array<i32: 640, 1, 1>
// CHECK-NOT: mma.sync
// CHECK: llvm.inline_asm {{.*}}"{ .reg .pred again; setp.gt.u32 again, $0, 11; wait: bar.sync $0, 128; @again bra wait; }", "r,~{memory}" %{{.+}} : (i32)
// CHECK-COUNT-16: mma.sync.aligned.m16n8k16
// CHECK: nvvm.barrier.arrive id = %{{.+}} number_of_threads = %{{.+}}
// CHECK: gpu.return
#prepacked = #blockscale.data_layout<fragments_64x64>
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @two_teams(%x: tensor<8x1024xbf16>, %w: tensor<128x1024xf4E2M1FN, #prepacked>, %s: tensor<128x64xf8E4M3FN, #swizzled>) -> tensor<8x128xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16] order chain
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 8, cols = 128, stages = 4, band = 1, ctas = 1>}
      : tensor<8x1024xbf16>, tensor<128x1024xf4E2M1FN, #prepacked>, tensor<128x64xf8E4M3FN, #swizzled> -> tensor<8x128xbf16>
  return %y : tensor<8x128xbf16>
}
