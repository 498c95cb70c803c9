// RUN: blockscale-opt %s --blockscale-to-gpu=chip=sm_90a | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>
#prepacked = #blockscale.data_layout<fragments_64x64>

// Blocks across K: a thread loads units of eight bytes from the places of all four warps, and pairs of scales of rows 32
// apart. Matrices are transposed when no instruction runs: those of the second step of a stage wait for the first one.
// Codes and scales of a row of blocks come by a copy for each block and tile.
// CHECK-LABEL: gpu.func @scaled_mm_bf16_e2m1_e4m3_packed_kn_bf16_128x128_stages3_band2
// CHECK-SAME: %{{[^:]+}}: !llvm.ptr {blockscale.tensor_map}, %[[PACKED_B:[^:]+]]: !llvm.ptr<1> {llvm.align = 16 : i64}, %[[OF_B:[^:]+]]: !llvm.ptr<1>
// CHECK: nvvm.mbarrier.try_wait
// CHECK-COUNT-8: llvm.load %{{.+}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xi32>
// CHECK-NOT: movmatrix
// CHECK: scf.for
// CHECK-COUNT-16: movmatrix.sync.aligned.m8n8.trans.b16
// CHECK-NOT: movmatrix
// CHECK: wgmma.mma_async
// CHECK-COUNT-8: llvm.load %{{.+}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xi32>
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK-COUNT-16: movmatrix.sync.aligned.m8n8.trans.b16
// CHECK: wgmma.mma_async
// CHECK: llvm.getelementptr %[[PACKED_B]]
// CHECK: nvvm.cp.async.bulk.shared.cluster.global
// CHECK: llvm.getelementptr %[[PACKED_B]]
// CHECK: nvvm.cp.async.bulk.shared.cluster.global
// CHECK: llvm.getelementptr %[[OF_B]]
// CHECK: nvvm.cp.async.bulk.shared.cluster.global
// CHECK: llvm.getelementptr %[[OF_B]]
// CHECK: nvvm.cp.async.bulk.shared.cluster.global
// CHECK: gpu.return
func.func @across(%dy: tensor<200x384xbf16>, %w: tensor<384x208xf4E2M1FN, #prepacked>, %s: tensor<384x13xf8E4M3FN, #swizzled>) -> tensor<200x208xbf16> {
  %y = blockscale.scaled_mm %dy, %w mn_major_b scales(none, %s) block [1, 16]
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 128, stages = 3, band = 2, ctas = 4>}
      : tensor<200x384xbf16>, tensor<384x208xf4E2M1FN, #prepacked>, tensor<384x13xf8E4M3FN, #swizzled> -> tensor<200x208xbf16>
  return %y : tensor<200x208xbf16>
}
