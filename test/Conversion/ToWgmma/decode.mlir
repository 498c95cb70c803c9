// RUN: blockscale-opt %s --blockscale-to-gpu=chip=sm_90a --split-input-file | FileCheck %s

// How threads decode prepacked codes of 4 bits (docs/Products.md): each register is a word that
// is rotated and masked, and multiplied.

// NVFP4: the scale takes the factor 2^118 (0x7A80 in bf16) of the 2^126 that codes want, so that
// a pair is multiplied once, and results by the 2^8 that is left. In tiles of 256 rows of A the
// tensor cores set the pace: each thread decodes all of its scales, and exchanges none.
// CHECK-LABEL: gpu.func @scaled_mm_bf16_e2m1_e4m3_packed_bf16_256x128
// CHECK-DAG: %[[C118:.+]] = arith.constant 2055240320 : i32
// CHECK-DAG: %[[EIGHT:.+]] = arith.constant {{.*}}2.560000e+02
// CHECK-NOT: nvvm.shfl
// CHECK: llvm.bitcast %[[C118]] : i32 to vector<2xbf16>
// CHECK-NOT: nvvm.shfl
// CHECK: arith.mulf %{{.+}}, %[[EIGHT]]
// CHECK: gpu.return
#prepacked = #blockscale.data_layout<fragments_64x64>
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @nvfp4(%x: tensor<8192x4096xbf16>, %w: tensor<4096x4096xf4E2M1FN, #prepacked>,
                 %s: tensor<4096x256xf8E4M3FN, #swizzled>) -> tensor<8192x4096xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16]
      : tensor<8192x4096xbf16>, tensor<4096x4096xf4E2M1FN, #prepacked>, tensor<4096x256xf8E4M3FN, #swizzled> -> tensor<8192x4096xbf16>
  return %y : tensor<8192x4096xbf16>
}

// -----

// MXFP4: not all scales of E8M0 have room for the factor 2^126 (0x7E80), so that a pair is
// multiplied twice, and results not at all. In tiles of fewer rows two threads decode what two
// others need, too.
// CHECK-LABEL: gpu.func @scaled_mm_bf16_e2m1_e8m0_packed_bf16_32x64
// CHECK: arith.constant 2122350208 : i32
// CHECK-NOT: arith.constant {{.*}}2.560000e+02
// CHECK-NOT: nvvm.vote.sync
// CHECK: nvvm.setmaxregister increase 232
// CHECK-COUNT-2: nvvm.shfl.sync idx
// CHECK: gpu.return
#prepacked = #blockscale.data_layout<fragments_64x64>
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @mxfp4_32(%x: tensor<32x4096xbf16>, %w: tensor<4096x4096xf4E2M1FN, #prepacked>,
                    %s: tensor<4096x128xf8E8M0FNU, #swizzled>) -> tensor<32x4096xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 32]
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 32, cols = 64, stages = 8, band = 1, ctas = 64>}
      : tensor<32x4096xbf16>, tensor<4096x4096xf4E2M1FN, #prepacked>, tensor<4096x128xf8E8M0FNU, #swizzled> -> tensor<32x4096xbf16>
  return %y : tensor<32x4096xbf16>
}

// -----

// In tiles of 16 x 64, four teams, of which some decode while others wait, have the time to look
// for a scale above 2 (126 beyond 128 is no exponent of bf16): if no thread of the warp has one,
// the scale takes the factor, and a pair is multiplied once.
// CHECK-LABEL: gpu.func @scaled_mm_bf16_e2m1_e8m0_packed_bf16_16x64
// CHECK-SAME: nvvm.reqntid = array<i32: 640, 1, 1>
// CHECK: nvvm.setmaxregister increase 112
// The number of the team is that of the whole warp.
// CHECK: nvvm.shfl.sync idx
// CHECK: nvvm.mbarrier.try_wait
// CHECK: %[[ANY:.+]] = nvvm.vote.sync any
// CHECK: scf.if %[[ANY]]
// CHECK-COUNT-2: nvvm.shfl.sync idx
// CHECK-COUNT-32: arith.mulf
// CHECK: } else {
// CHECK-COUNT-2: nvvm.shfl.sync idx
// CHECK-COUNT-16: arith.mulf
// CHECK-NOT: arith.mulf
// CHECK: scf.yield
// CHECK: nvvm.setmaxregister decrease 32
// CHECK: gpu.return
#prepacked = #blockscale.data_layout<fragments_64x64>
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @mxfp4(%x: tensor<16x4096xbf16>, %w: tensor<4096x4096xf4E2M1FN, #prepacked>,
                 %s: tensor<4096x128xf8E8M0FNU, #swizzled>) -> tensor<16x4096xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 32]
      : tensor<16x4096xbf16>, tensor<4096x4096xf4E2M1FN, #prepacked>, tensor<4096x128xf8E8M0FNU, #swizzled> -> tensor<16x4096xbf16>
  return %y : tensor<16x4096xbf16>
}
