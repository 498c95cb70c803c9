// RUN: blockscale-opt %s --split-input-file --blockscale-to-gpu=chip=sm_80 | FileCheck %s

// How products of two plain operands load what they multiply, and when they wait for it.

// Warps of the widest tiles have 64 rows of each operand. ldmatrix loads the 16 elements of K of an
// instruction, of 16 rows at a time: of the first instruction all of them, before it is there.
// CHECK-LABEL: gpu.func @plain_mm_bf16_bf16_k1024_bf16_128x256_stages3_band2
// CHECK-SAME: nvvm.reqntid = array<i32: 256, 1, 1>
// CHECK-COUNT-12: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.commit.group
// CHECK-COUNT-12: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.commit.group
// CHECK: nvvm.cp.async.wait.group 1
// CHECK-NEXT: gpu.barrier
// CHECK-COUNT-8: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<row>
// CHECK-NOT: nvvm.ldmatrix
// Each quarter of a step loads those of the next one, first all that its first instructions want:
// four fragments of one operand, and two of the other one. Behind them the thread copies a part of
// the stage that takes the last one's place.
// CHECK: scf.for
// CHECK-NOT: nvvm.cp.async.wait.group
// CHECK-COUNT-3: nvvm.ldmatrix
// CHECK-COUNT-8: nvvm.mma.sync {{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 16>
// CHECK-COUNT-4: nvvm.cp.async.shared.global
// CHECK-COUNT-3: nvvm.ldmatrix
// CHECK-COUNT-8: nvvm.mma.sync
// CHECK: nvvm.ldmatrix
// CHECK-COUNT-8: nvvm.mma.sync
// CHECK: nvvm.ldmatrix
// CHECK-COUNT-8: nvvm.mma.sync
// CHECK-COUNT-3: nvvm.ldmatrix
// CHECK-COUNT-8: nvvm.mma.sync
// CHECK-COUNT-4: nvvm.cp.async.shared.global
// CHECK-COUNT-32: nvvm.mma.sync
// CHECK-COUNT-4: nvvm.cp.async.shared.global
// CHECK-COUNT-24: nvvm.mma.sync
// CHECK: nvvm.cp.async.commit.group
// The last quarter is in registers, so that all are through with the stage. Those of the next one
// are loaded when it is there.
// CHECK: nvvm.cp.async.wait.group 1
// CHECK-NEXT: gpu.barrier
// CHECK-COUNT-3: nvvm.ldmatrix
// CHECK-COUNT-32: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// The sums of all warps go through shared memory at once.
// CHECK: nvvm.cp.async.wait.group 0
// CHECK-NEXT: gpu.barrier
// CHECK-COUNT-128: llvm.store {{.*}} : f32, !llvm.ptr<3>
// CHECK-NOT: llvm.store {{.*}} : f32, !llvm.ptr<3>
// CHECK-LABEL: func.func @square
func.func @square(%a: tensor<300x1024xbf16>, %b: tensor<200x1024xbf16>) -> tensor<300x200xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, none) block [1, 16]
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 256, stages = 3, band = 2, ctas = 4>}
      : tensor<300x1024xbf16>, tensor<200x1024xbf16> -> tensor<300x200xbf16>
  return %y : tensor<300x200xbf16>
}

// -----

// An operand that lies across K is transposed as it is loaded; the other one is not. B has the place
// of the operand with scales, whose fragments come first.
// CHECK-LABEL: gpu.func @plain_mm_bf16_bf16_kn_k1024_bf16_128x256_stages3_band2
// CHECK-NOT: layout = #nvvm.mma_layout<row>
// CHECK-COUNT-4: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<col>
// CHECK-NOT: layout = #nvvm.mma_layout<col>
// CHECK-COUNT-4: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<row>
// CHECK: scf.for
// CHECK-LABEL: func.func @across
func.func @across(%a: tensor<300x1024xbf16>, %b: tensor<1024x200xbf16>) -> tensor<300x200xbf16> {
  %y = blockscale.scaled_mm %a, %b mn_major_b scales(none, none) block [1, 16]
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 256, stages = 3, band = 2, ctas = 4>}
      : tensor<300x1024xbf16>, tensor<1024x200xbf16> -> tensor<300x200xbf16>
  return %y : tensor<300x200xbf16>
}

// -----

// Warps of few plain rows have all of them, and 32 of the others: four instructions a quarter of a
// step.
// CHECK-LABEL: gpu.func @plain_mm_bf16_bf16_k1024_bf16_16x64_stages3_band2
// CHECK-COUNT-3: nvvm.ldmatrix
// CHECK-NOT: nvvm.ldmatrix
// CHECK: scf.for
// CHECK-COUNT-3: nvvm.ldmatrix
// CHECK-COUNT-4: nvvm.mma.sync
// CHECK-COUNT-4: nvvm.cp.async.shared.global
// CHECK-COUNT-3: nvvm.ldmatrix
// CHECK-COUNT-4: nvvm.mma.sync
// CHECK-COUNT-3: nvvm.cp.async.shared.global
// CHECK-COUNT-3: nvvm.ldmatrix
// CHECK-COUNT-4: nvvm.mma.sync
// CHECK-COUNT-3: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.wait.group 1
// CHECK-COUNT-3: nvvm.ldmatrix
// CHECK-COUNT-4: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK-LABEL: func.func @narrow
func.func @narrow(%a: tensor<16x1024xbf16>, %b: tensor<200x1024xbf16>) -> tensor<16x200xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, none) block [1, 16]
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 16, cols = 64, stages = 3, band = 2, ctas = 4>}
      : tensor<16x1024xbf16>, tensor<200x1024xbf16> -> tensor<16x200xbf16>
  return %y : tensor<16x200xbf16>
}

// -----

// An operand that is decoded sets the order of K for both: no matrix is loaded.
// CHECK-LABEL: gpu.func @scaled_mm_bf16_e2m1_e4m3_k1024_bf16_128x256_stages3_band2
// CHECK-NOT: nvvm.ldmatrix
// CHECK-LABEL: func.func @decoded
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @decoded(%a: tensor<300x1024xbf16>, %b: tensor<200x1024xf4E2M1FN>, %s: tensor<200x64xf8E4M3FN, #swizzled>) -> tensor<300x200xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, %s) block [1, 16]
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 256, stages = 3, band = 2, ctas = 4>}
      : tensor<300x1024xbf16>, tensor<200x1024xf4E2M1FN>, tensor<200x64xf8E4M3FN, #swizzled> -> tensor<300x200xbf16>
  return %y : tensor<300x200xbf16>
}
