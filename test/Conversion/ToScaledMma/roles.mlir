// RUN: blockscale-opt %s --blockscale-to-gpu=chip=sm_120a | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>

// One thread makes the barriers: copies of a stage arrive once, and each of the eight warps that
// multiply says that it is done with it.
// CHECK-LABEL: gpu.func @scaled_mm_e2m1_e2m1_e4m3_bf16_128x128_stages3_band2
// CHECK-SAME: %[[MAP_A:[^:]+]]: !llvm.ptr {blockscale.tensor_map}, %[[SCALE_A:[^:]+]]: !llvm.ptr<1> {llvm.align = 16 : i64}, %[[MAP_B:[^:]+]]: !llvm.ptr {blockscale.tensor_map}, %[[SCALE_B:[^:]+]]: !llvm.ptr<1> {llvm.align = 16 : i64},
// CHECK-SAME: nvvm.reqntid = array<i32: 288, 1, 1>
// CHECK: nvvm.prefetch tensormap, %[[MAP_A]]
// CHECK: nvvm.prefetch tensormap, %[[MAP_B]]
// CHECK: nvvm.mbarrier.init %{{.+}}, %c1_i32
// CHECK: nvvm.mbarrier.init %{{.+}}, %c8_i32
// CHECK: nvvm.fence.mbarrier.init
// CHECK: gpu.barrier

// A step of 64 of K: four loads of four matrices bring the fragments of 64 rows, two those of 32
// columns, and one load each the scales of all of them. Sixteen instructions multiply.
// CHECK: nvvm.mbarrier.try_wait
// CHECK-COUNT-6: nvvm.ldmatrix %{{.+}} {eltType = {{.*}}b16
// CHECK-COUNT-2: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
// CHECK-COUNT-16: nvvm.mma.block_scale {{.*}}blockScaleFormat = {{.*}}ue4m3{{.*}}kind = {{.*}}mxf4nvf4{{.*}}scaleVecSize = {{.*}}x4{{.*}}k = 64
// The second step of the stage: it is given back as soon as it is in registers.
// CHECK-COUNT-6: nvvm.ldmatrix
// CHECK-COUNT-2: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
// CHECK: nvvm.mbarrier.arrive
// CHECK-COUNT-16: nvvm.mma.block_scale
// A stage at the end of K has two steps, or one. In the last one scales behind K are 0.
// CHECK: nvvm.mbarrier.try_wait
// CHECK-COUNT-16: nvvm.mma.block_scale
// CHECK-COUNT-8: arith.andi %{{.+}}, %{{.+}} : i32
// CHECK: nvvm.mbarrier.arrive
// CHECK-COUNT-16: nvvm.mma.block_scale
// CHECK: } else {
// CHECK: nvvm.mbarrier.try_wait
// CHECK-COUNT-8: arith.andi
// CHECK: nvvm.mbarrier.arrive
// CHECK-COUNT-16: nvvm.mma.block_scale
// CHECK-NOT: nvvm.mma.block_scale

// Sums of 32 rows at a time go through shared memory.
// CHECK: nvvm.barrier id = %{{.+}} number_of_threads = %c256_i32
// CHECK: nvvm.barrier id = %{{.+}} number_of_threads = %c256_i32

// Loads: a box of 64 bytes of 128 rows of each operand, and their tiles of scales.
// CHECK: nvvm.mbarrier.arrive.expect_tx
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.+}}, %[[MAP_A]], %{{.+}}, box
// CHECK: nvvm.cp.async.bulk.shared.cluster.global
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.+}}, %[[MAP_B]], %{{.+}}, box
// CHECK: nvvm.cp.async.bulk.shared.cluster.global
// CHECK-LABEL: func.func @nvfp4
// CHECK: blockscale.tensor_map {{.*}}box [64, 128, 1] element uint8 swizzle 64
func.func @nvfp4(%a: tensor<300x1024xf4E2M1FN>, %b: tensor<200x1024xf4E2M1FN>, %sa: tensor<300x64xf8E4M3FN, #swizzled>, %sb: tensor<200x64xf8E4M3FN, #swizzled>) -> tensor<300x200xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 128, stages = 3, band = 2, ctas = 4>}
      : tensor<300x1024xf4E2M1FN>, tensor<200x1024xf4E2M1FN>, tensor<300x64xf8E4M3FN, #swizzled>, tensor<200x64xf8E4M3FN, #swizzled> -> tensor<300x200xbf16>
  return %y : tensor<300x200xbf16>
}
