// RUN: blockscale-opt %s --split-input-file --blockscale-to-gpu=chip=sm_80 | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>

// A tile of 16 plain rows has four teams of 64 threads. Each team loads the step that it multiplies
// of each stage, and waits for its own threads at a barrier of its own, until sums are added.
// CHECK-LABEL: gpu.func @scaled_mm_bf16_e2m1_e4m3_k1024_bf16_16x64_stages3_band2
// CHECK-SAME: nvvm.reqntid = array<i32: 256, 1, 1>
// CHECK-DAG: %[[WARP:.*]] = arith.shrui %{{.*}}, %c5_i32
// CHECK-DAG: %[[TEAM:.*]] = arith.shrui %[[WARP]], %c1_i32
// CHECK: nvvm.cp.async.wait.group 1
// CHECK-NEXT: %[[BARRIER:.*]] = arith.addi %[[TEAM]], %c1_i32
// CHECK-NEXT: nvvm.barrier id = %[[BARRIER]] number_of_threads = %c64_i32
// CHECK: scf.for
// CHECK-NEXT: nvvm.cp.async.wait.group 0
// CHECK-NEXT: nvvm.barrier id = %[[BARRIER]] number_of_threads = %c64_i32
// CHECK-NOT: barrier
// CHECK: nvvm.cp.async.wait.group 0
// CHECK-NEXT: gpu.barrier
func.func @few_rows(%a: tensor<16x1024xbf16>, %b: tensor<200x1024xf4E2M1FN>, %s: tensor<200x64xf8E4M3FN, #swizzled>) -> tensor<16x200xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, %s) block [1, 16]
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 16, cols = 64, stages = 3, band = 2, ctas = 4>}
      : tensor<16x1024xbf16>, tensor<200x1024xf4E2M1FN>, tensor<200x64xf8E4M3FN, #swizzled> -> tensor<16x200xbf16>
  return %y : tensor<16x200xbf16>
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// Teams of tiles of 32 plain rows load together, and all threads wait for each other.
// CHECK-LABEL: gpu.func @scaled_mm_bf16_e2m1_e4m3_k1024_bf16_32x64_stages3_band2
// CHECK-NOT: nvvm.barrier id
func.func @more_rows(%a: tensor<32x1024xbf16>, %b: tensor<200x1024xf4E2M1FN>, %s: tensor<200x64xf8E4M3FN, #swizzled>) -> tensor<32x200xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, %s) block [1, 16]
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 32, cols = 64, stages = 3, band = 2, ctas = 4>}
      : tensor<32x1024xbf16>, tensor<200x1024xf4E2M1FN>, tensor<200x64xf8E4M3FN, #swizzled> -> tensor<32x200xbf16>
  return %y : tensor<32x200xbf16>
}
