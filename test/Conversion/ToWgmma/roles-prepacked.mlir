// RUN: blockscale-opt %s --blockscale-to-gpu=chip=sm_90a | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>

// Prepacked codes come by flat copies, one for each 64 rows, and a thread has those of a step
// in 16 bytes. K in two parts: two CTAs of a cluster arrive at each other's barriers, and a
// thread reads the sums of both.
// CHECK-LABEL: gpu.func @scaled_mm_bf16_e2m1_e4m3_packed_bf16_64x128_stages3_band2_splits2
// CHECK-SAME: %{{[^:]+}}: !llvm.ptr {blockscale.tensor_map}, %[[PACKED_B:[^:]+]]: !llvm.ptr<1> {llvm.align = 16 : i64}, %[[OF_B:[^:]+]]: !llvm.ptr<1>
// CHECK-SAME: nvvm.cluster_dim = array<i32: 2, 1, 1>
// CHECK-COUNT-3: nvvm.mbarrier.init %{{.+}}, %c8_i32
// CHECK-COUNT-4: nvvm.mbarrier.init %{{.+}}, %c8_i32
// CHECK: nvvm.cluster.arrive
// CHECK: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
// CHECK: wgmma.mma_async
// CHECK: nvvm.mapa
// CHECK: nvvm.mbarrier.arrive %{{.+}} {scope = #nvvm.mem_scope<cluster>}
// CHECK: nvvm.mbarrier.try_wait %{{.+}} {scope = #nvvm.mem_scope<cluster>}
// CHECK: llvm.load %{{.+}} : !llvm.ptr<7> -> vector<4xi32>
// CHECK: nvvm.setmaxregister decrease 40
// CHECK: llvm.getelementptr %[[PACKED_B]]
// CHECK: nvvm.cp.async.bulk.shared.cluster.global
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global
// CHECK: nvvm.cluster.arrive
// CHECK: gpu.return
func.func @prepacked(%x: tensor<100x224xbf16>, %w: tensor<200x224xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, %s: tensor<200x14xf8E4M3FN, #swizzled>) -> tensor<100x200xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16]
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 64, cols = 128, stages = 3, band = 2, ctas = 4, splits = 2>}
      : tensor<100x224xbf16>, tensor<200x224xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, tensor<200x14xf8E4M3FN, #swizzled> -> tensor<100x200xbf16>
  return %y : tensor<100x200xbf16>
}
