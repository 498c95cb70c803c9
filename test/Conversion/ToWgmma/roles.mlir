// RUN: blockscale-opt %s --blockscale-to-gpu=chip=sm_90a | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>

// The sums of a thread are registers, which the first block declares. One thread makes the
// barriers: the copies of each operand of a stage arrive once, and each of the eight warps that
// multiply says that it is done with it.
// CHECK-LABEL: gpu.func @scaled_mm_bf16_e2m1_e4m3_bf16_64x128_stages3_band2
// CHECK-SAME: %[[MAP_A:[^:]+]]: !llvm.ptr {blockscale.tensor_map}, %[[MAP_B:[^:]+]]: !llvm.ptr {blockscale.tensor_map}, %[[SCALE_B:[^:]+]]: !llvm.ptr<1> {llvm.align = 16 : i64},
// CHECK-SAME: nvvm.reqntid = array<i32: 384, 1, 1>
// CHECK-NOT: scf.if
// CHECK: llvm.inline_asm has_side_effects ".reg .f32 %sum<32>;", ""
// CHECK: nvvm.prefetch tensormap, %[[MAP_A]]
// CHECK: nvvm.prefetch tensormap, %[[MAP_B]]
// CHECK: nvvm.mbarrier.init %{{.+}}, %c2_i32
// CHECK: nvvm.mbarrier.init %{{.+}}, %c8_i32
// CHECK: nvvm.fence.mbarrier.init
// CHECK: gpu.barrier

// Those that multiply take the registers that the warpgroup of the loads gives away.
// They clear the sums for each tile.
// CHECK: nvvm.setmaxregister increase 232
// CHECK: llvm.inline_asm has_side_effects "mov.b32 %sum0, 0;{{.*}} mov.b32 %sum31, 0;", ""
// Two scales, and codes of both rows of a thread: two of each pair in a byte, eight pairs a row.
// Then the four threads of a row exchange scales.
// CHECK: nvvm.mbarrier.try_wait
// CHECK: llvm.load %{{.+}} {alignment = 2 : i64} : !llvm.ptr<3> -> i16
// CHECK-COUNT-16: llvm.load %{{.+}} {alignment = 1 : i64} : !llvm.ptr<3> -> i8
// CHECK-COUNT-4: nvvm.shfl.sync idx
// Four instructions add a step to 32 sums of a thread. Those of both steps of a stage run
// while the next stage is waited for and its first step is decoded; then they are waited for
// and the stage is given back.
// CHECK: llvm.inline_asm has_side_effects
// CHECK-SAME: wgmma.fence.sync.aligned;
// CHECK-SAME: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%sum0,{{.*}}, %sum31}, {$0, $1, $2, $3}, $4, adds, 1, 1, 0;
// CHECK-SAME: {$15, $16, $17, $18}, $19, adds, 1, 1, 0; wgmma.commit_group.sync.aligned; }
// CHECK: llvm.inline_asm has_side_effects {{.*}}wgmma.mma_async
// CHECK: nvvm.mbarrier.try_wait
// CHECK: llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0;"
// CHECK: nvvm.mbarrier.arrive
// The last full stage has no next one.
// CHECK-COUNT-2: llvm.inline_asm has_side_effects {{.*}}wgmma.mma_async
// CHECK-NOT: nvvm.mbarrier.try_wait
// CHECK: llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0;"
// CHECK: nvvm.mbarrier.arrive
// A stage at the end of K has as many instructions as there is K.
// CHECK: nvvm.mbarrier.try_wait
// CHECK-COUNT-4: llvm.inline_asm has_side_effects {{.*}}wgmma.mma_async
// Behind the last wait the sums become values.
// CHECK: llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0;"
// CHECK-NOT: wgmma
// CHECK: llvm.inline_asm has_side_effects "mov.b32 $0, %sum0;{{.*}} mov.b32 $31, %sum31;"
// Sums of 64 rows are stored to shared memory, and read by the threads of their rows: a
// warpgroup, at a barrier of its own.
// CHECK: nvvm.barrier id = %{{.+}} number_of_threads = %c128_i32
// CHECK: nvvm.barrier id = %{{.+}} number_of_threads = %c128_i32

// Loads of B: a tile of scales by one flat copy, and data by the map. What is read by one tile
// only is replaced first in the cache: weights of up to 64 rows of A. Another thread loads A, each
// of two steps.
// CHECK: nvvm.setmaxregister decrease 40
// CHECK: nvvm.elect.sync
// CHECK: %[[ONCE:.+]] = llvm.inline_asm {{.*}}createpolicy.fractional.L2::evict_first
// CHECK: %[[OFTEN:.+]] = llvm.inline_asm {{.*}}createpolicy.fractional.L2::evict_normal
// CHECK: nvvm.mbarrier.arrive.expect_tx
// CHECK: llvm.getelementptr %[[SCALE_B]]
// CHECK: %[[FITS:.+]] = arith.cmpi ule, %{{.+}}, %c64_i32
// CHECK: %[[POLICY:.+]] = arith.select %[[FITS]], %[[ONCE]], %[[OFTEN]]
// CHECK: nvvm.cp.async.bulk.shared.cluster.global {{.*}} l2_cache_hint = %[[POLICY]]
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.+}}, %[[MAP_B]]{{.*}} l2_cache_hint = %[[POLICY]]
// CHECK: nvvm.elect.sync
// CHECK-NOT: createpolicy
// CHECK: nvvm.mbarrier.arrive.expect_tx
// CHECK-COUNT-2: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.+}}, %[[MAP_A]]
// CHECK-NOT: nvvm.cp.async
// CHECK: gpu.return

// Rows of the plain operand are 128 bytes, which are swizzled; those of codes are 64 for the
// two steps of a stage.
// CHECK-LABEL: func.func @weight_only
// CHECK: blockscale.tensor_map {{.+}} box [128, 64, 1] element uint8 swizzle 128
// CHECK: blockscale.tensor_map {{.+}} box [64, 128, 1] element uint8 swizzle 64
func.func @weight_only(%x: tensor<100x224xbf16>, %w: tensor<200x224xf4E2M1FN>, %s: tensor<200x14xf8E4M3FN, #swizzled>) -> tensor<100x200xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16]
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 64, cols = 128, stages = 3, band = 2, ctas = 4>}
      : tensor<100x224xbf16>, tensor<200x224xf4E2M1FN>, tensor<200x14xf8E4M3FN, #swizzled> -> tensor<100x200xbf16>
  return %y : tensor<100x200xbf16>
}
