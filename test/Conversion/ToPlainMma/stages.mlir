// RUN: blockscale-opt %s --blockscale-to-gpu=chip=sm_80 | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>

// Three stages: two are on their way before the first one is multiplied.
// CHECK-LABEL: gpu.func @scaled_mm_bf16_e2m1_e4m3_k1024_bf16_128x256_stages3_band2
// CHECK-SAME: nvvm.reqntid = array<i32: 256, 1, 1>
// CHECK-COUNT-7: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.commit.group
// CHECK-COUNT-7: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.commit.group
// CHECK: nvvm.cp.async.wait.group 1
// CHECK: gpu.barrier
// Before a stage is multiplied, all are through with the last one, and the next one is there.
// CHECK: scf.for
// CHECK: nvvm.cp.async.wait.group 0
// CHECK-NEXT: gpu.barrier
// A step: halves of its elements are multiplied, 16 plain rows at a time, by 32 rows with scales in
// two instructions along K.
// CHECK-COUNT-8: nvvm.mma.sync {{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 16>
// After the first ones the last stage's place is given new data.
// CHECK-COUNT-7: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.commit.group
// CHECK-COUNT-120: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK: nvvm.cp.async.wait.group 0
// CHECK-LABEL: func.func @nvfp4
func.func @nvfp4(%a: tensor<300x1024xbf16>, %b: tensor<200x1024xf4E2M1FN>, %s: tensor<200x64xf8E4M3FN, #swizzled>) -> tensor<300x200xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, %s) block [1, 16]
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 256, stages = 3, band = 2, ctas = 4>}
      : tensor<300x1024xbf16>, tensor<200x1024xf4E2M1FN>, tensor<200x64xf8E4M3FN, #swizzled> -> tensor<300x200xbf16>
  return %y : tensor<300x200xbf16>
}
