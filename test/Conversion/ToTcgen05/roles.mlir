// RUN: blockscale-opt %s --blockscale-to-sm100 | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>

// One warp gets barriers and tensor memory; then one thread loads, one multiplies, and
// four warps write results. Two accumulators of 256 columns share 64, so that one barrier
// (sumEmpty) is enough.
// CHECK-LABEL: gpu.func @scaled_mm_e2m1_e2m1_e4m3_bf16_128x256_stages4_band8_aone_bias_bf16
// CHECK-SAME: %[[MAP_A:[^:]+]]: !llvm.ptr {blockscale.tensor_map}, %[[SCALE_A:[^:]+]]: !llvm.ptr<1> {llvm.align = 16 : i64},
// CHECK-SAME: %[[MAP_B:[^:]+]]: !llvm.ptr {blockscale.tensor_map}, %[[SCALE_B:[^:]+]]: !llvm.ptr<1> {llvm.align = 16 : i64},
// CHECK-SAME: %{{[^:]+}}: !llvm.ptr<1> {llvm.align = 32 : i64}
// CHECK-SAME: nvvm.reqntid = array<i32: 192, 1, 1>
// CHECK: %[[MEMORY:.+]] = llvm.mlir.addressof @blockscale_shared_memory
// CHECK: %[[FULL:.+]] = llvm.getelementptr %[[MEMORY]][221184]
// CHECK: %[[EMPTY:.+]] = llvm.getelementptr %[[MEMORY]][221216]
// CHECK: %[[SUM_FULL:.+]] = llvm.getelementptr %[[MEMORY]][221248]
// CHECK: %[[SUM_EMPTY:.+]] = llvm.getelementptr %[[MEMORY]][221264]
// CHECK: nvvm.mbarrier.init %[[FULL]], %c1_i32
// CHECK: nvvm.mbarrier.init %[[EMPTY]], %c1_i32
// CHECK: nvvm.mbarrier.init %[[SUM_FULL]], %c1_i32
// CHECK: nvvm.mbarrier.init %[[SUM_EMPTY]], %c4_i32
// CHECK-NOT: nvvm.mbarrier.init
// CHECK: nvvm.fence.mbarrier.init
// CHECK: nvvm.tcgen05.alloc
// CHECK: nvvm.tcgen05.fence <before>
// CHECK-NEXT: nvvm.barrier
// CHECK-NEXT: nvvm.tcgen05.fence <after>

// Loads: data by the maps, scales of 128 and of twice 128 rows by flat copies.
// CHECK: nvvm.elect.sync
// CHECK: nvvm.prefetch tensormap, %[[MAP_A]]
// CHECK: scf.while
// CHECK: scf.for
// CHECK: nvvm.mbarrier.try_wait %{{.+}}, %{{.+}}
// CHECK: nvvm.mbarrier.arrive.expect_tx
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.+}}, %[[MAP_A]]
// CHECK: llvm.getelementptr %[[SCALE_A]]
// CHECK: nvvm.cp.async.bulk.shared.cluster.global
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.+}}, %[[MAP_B]]
// CHECK: llvm.getelementptr %[[SCALE_B]]
// CHECK: nvvm.cp.async.bulk.shared.cluster.global
// CHECK: llvm.getelementptr %[[SCALE_B]]
// CHECK: nvvm.cp.async.bulk.shared.cluster.global
// CHECK-NOT: nvvm.cp.async

// Products: a whole step copies all its scales, then multiplies four times.
// CHECK: nvvm.elect.sync
// CHECK: scf.for
// CHECK: nvvm.mbarrier.try_wait
// CHECK-COUNT-12: nvvm.tcgen05.cp
// CHECK-NOT: nvvm.tcgen05.cp
// CHECK-COUNT-4: nvvm.tcgen05.mma.block_scale
// CHECK-SAME: blockScale = #nvvm.tcgen05_mma_block_scale<block16>{{.*}}kind = #nvvm.{{block_scale|tcgen05_mma}}_kind<mxf4nvf4>
// CHECK-NEXT: llvm.getelementptr %[[EMPTY]]
// CHECK-NEXT: nvvm.tcgen05.commit
// The last one has as many as there is K.
// CHECK: scf.if
// CHECK-COUNT-3: nvvm.tcgen05.cp
// CHECK-NEXT: nvvm.tcgen05.mma.block_scale
// CHECK: llvm.getelementptr %[[SUM_FULL]]
// CHECK-NEXT: nvvm.tcgen05.commit

// Results: 32 columns a load, whose wait is part of it.
// CHECK: nvvm.mbarrier.try_wait
// CHECK: nvvm.inline_ptx "tcgen05.ld.sync.aligned.32x32b.x32.b32 {{.*}} tcgen05.wait::ld.sync.aligned;"
// CHECK: nvvm.mbarrier.arrive
// CHECK: llvm.fptrunc {{.*}} : vector<32xf32> to vector<32xbf16>
// CHECK: llvm.store {{.*}} {alignment = 32 : i64} : vector<8xi32>, !llvm.ptr<1>
// CHECK: llvm.store {{.*}} {alignment = 2 : i64} : bf16, !llvm.ptr<1>
// CHECK: nvvm.barrier
// CHECK: nvvm.tcgen05.dealloc

// The host: maps of bytes, 16 of which lie side by side in each row; as many thread
// blocks as there are tiles, at most one for each multiprocessor.
// CHECK-LABEL: func.func @nvfp4
// CHECK-SAME: %[[A:[^:]+]]: memref<?x2048xi8>
// CHECK: %[[ROWS:.+]] = memref.dim %[[A]]
// CHECK: blockscale.tensor_map %{{.+}} dims[%c2048, %[[ROWS]], %c1] strides[%c2048, %{{.+}}] box [128, 128, 1] element uint8 swizzle 128
// CHECK: blockscale.tensor_map %{{.+}} dims[%c2048, %c4096, %c1] strides[%c2048, %{{.+}}] box [128, 256, 1] element uint8 swizzle 128
// CHECK: arith.minsi %{{.+}}, %c148
// CHECK: gpu.launch_func {{.*}} threads in (%c192, %c1, %c1) dynamic_shared_memory_size %c221284_i32
func.func @nvfp4(%a: tensor<?x4096xf4E2M1FN>, %b: tensor<4096x4096xf4E2M1FN>,
                 %sa: tensor<?x256xf8E4M3FN, #swizzled>, %sb: tensor<4096x256xf8E4M3FN, #swizzled>,
                 %g: tensor<f32>, %bias: tensor<4096xbf16>) -> tensor<?x4096xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      global_scale_a(%g : tensor<f32>) bias(%bias : tensor<4096xbf16>)
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 256, stages = 4, band = 8, ctas = 148>}
      : tensor<?x4096xf4E2M1FN>, tensor<4096x4096xf4E2M1FN>, tensor<?x256xf8E4M3FN, #swizzled>,
        tensor<4096x256xf8E4M3FN, #swizzled> -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
