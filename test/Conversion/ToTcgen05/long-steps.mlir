// Instructions of 96 elements of K on sm_103a take three full stages at a time. Bit 31 of their
// instruction descriptors is set, so that these numbers are negative.
// RUN: blockscale-opt %s --blockscale-to-sm100=chip=sm_103a | FileCheck %s --check-prefixes=CHECK,LONG
// RUN: blockscale-opt %s --blockscale-to-sm100=chip=sm_100a | FileCheck %s --check-prefixes=CHECK,SHORT

#swizzled = #blockscale.layout<swizzle_128x4>
#schedule = #blockscale.gemm_schedule<rows = 128, cols = 128, stages = 6, band = 8, ctas = 148>
#one_stage = #blockscale.gemm_schedule<rows = 128, cols = 128, stages = 1, band = 8, ctas = 148>

// NVFP4: three tiles of scales of each operand serve two steps, whose scales begin at byte 0 and 2
// of a word. The four steps of a full stage and those of the last one have 64 elements.
// LONG-LABEL: gpu.func @scaled_mm_e2m1_e2m1_e4m3_k96_f32_128x128_stages6_band8
// LONG-DAG: %[[BYTE0:.+]] = arith.constant -2011167616 : i32
// LONG-DAG: %[[BYTE2:.+]] = arith.constant -937425760 : i32
// LONG-COUNT-6: nvvm.tcgen05.cp
// LONG: nvvm.tcgen05.mma.block_scale %[[D:.+]], %{{.+}}, %{{.+}}, %[[BYTE0]], %{{.+}}, %[[A0:.+]], %[[B0:.+]] {
// LONG-NOT: nvvm.tcgen05.cp
// LONG: nvvm.tcgen05.mma.block_scale %[[D]], %{{.+}}, %{{.+}}, %[[BYTE2]], %true, %[[A1:.+]], %[[B1:.+]] {
// LONG-COUNT-6: nvvm.tcgen05.cp
// LONG: nvvm.tcgen05.mma.block_scale %[[D]], %{{.+}}, %{{.+}}, %[[BYTE0]], %true, %[[A0]], %[[B0]] {
// LONG: nvvm.tcgen05.mma.block_scale %[[D]], %{{.+}}, %{{.+}}, %[[BYTE2]], %true, %[[A1]], %[[B1]] {
// LONG-COUNT-12: nvvm.tcgen05.mma.block_scale
// LONG-NOT: nvvm.tcgen05.mma.block_scale
// SHORT-LABEL: gpu.func @scaled_mm_e2m1_e2m1_e4m3_f32_128x128_stages6_band8
// SHORT-COUNT-8: nvvm.tcgen05.mma.block_scale
// SHORT-NOT: nvvm.tcgen05.mma.block_scale
func.func @nvfp4(%a: tensor<128x1024xf4E2M1FN>, %b: tensor<128x1024xf4E2M1FN>,
                 %sa: tensor<128x64xf8E4M3FN, #swizzled>, %sb: tensor<128x64xf8E4M3FN, #swizzled>) -> tensor<128x128xf32> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] {blockscale.schedule = #schedule}
      : tensor<128x1024xf4E2M1FN>, tensor<128x1024xf4E2M1FN>, tensor<128x64xf8E4M3FN, #swizzled>,
        tensor<128x64xf8E4M3FN, #swizzled> -> tensor<128x128xf32>
  return %y : tensor<128x128xf32>
}

// MXFP4: three tiles serve four steps, whose three scales begin at each byte of a word.
// LONG-LABEL: gpu.func @scaled_mm_e2m1_e2m1_e8m0_k96_f32_128x128_stages6_band8
// LONG-DAG: %[[BYTE0:.+]] = arith.constant -2002779008 : i32
// LONG-DAG: %[[BYTE3:.+]] = arith.constant -392166224 : i32
// LONG-DAG: %[[BYTE2:.+]] = arith.constant -929037152 : i32
// LONG-DAG: %[[BYTE1:.+]] = arith.constant -1465908080 : i32
// LONG-COUNT-6: nvvm.tcgen05.cp
// LONG: nvvm.tcgen05.mma.block_scale %[[D:.+]], %{{.+}}, %{{.+}}, %[[BYTE0]], %{{.+}}, %[[A0:.+]], %[[B0:.+]] {
// LONG: nvvm.tcgen05.mma.block_scale %[[D]], %{{.+}}, %{{.+}}, %[[BYTE3]], %true, %[[A0]], %[[B0]] {
// LONG: nvvm.tcgen05.mma.block_scale %[[D]], %{{.+}}, %{{.+}}, %[[BYTE2]], %true, %[[A1:.+]], %[[B1:.+]] {
// LONG: nvvm.tcgen05.mma.block_scale %[[D]], %{{.+}}, %{{.+}}, %[[BYTE1]], %true, %{{.+}}, %{{.+}} {
// LONG-COUNT-6: nvvm.tcgen05.cp
// LONG: nvvm.tcgen05.mma.block_scale %[[D]], %{{.+}}, %{{.+}}, %[[BYTE0]], %true, %[[A0]], %[[B0]] {
// SHORT-LABEL: gpu.func @scaled_mm_e2m1_e2m1_e8m0_f32_128x128_stages6_band8
func.func @mxfp4(%a: tensor<128x1024xf4E2M1FN>, %b: tensor<128x1024xf4E2M1FN>,
                 %sa: tensor<128x32xf8E8M0FNU, #swizzled>, %sb: tensor<128x32xf8E8M0FNU, #swizzled>) -> tensor<128x128xf32> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 32] {blockscale.schedule = #schedule}
      : tensor<128x1024xf4E2M1FN>, tensor<128x1024xf4E2M1FN>, tensor<128x32xf8E8M0FNU, #swizzled>,
        tensor<128x32xf8E8M0FNU, #swizzled> -> tensor<128x128xf32>
  return %y : tensor<128x128xf32>
}

// A step may have parts of two stages, so that a schedule of one has none.
// CHECK-LABEL: gpu.func @scaled_mm_e2m1_e2m1_e4m3_f32_128x128_stages1_band8
// CHECK-COUNT-8: nvvm.tcgen05.mma.block_scale
// CHECK-NOT: nvvm.tcgen05.mma.block_scale
func.func @one_stage(%a: tensor<128x1024xf4E2M1FN>, %b: tensor<128x1024xf4E2M1FN>,
                     %sa: tensor<128x64xf8E4M3FN, #swizzled>, %sb: tensor<128x64xf8E4M3FN, #swizzled>) -> tensor<128x128xf32> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] {blockscale.schedule = #one_stage}
      : tensor<128x1024xf4E2M1FN>, tensor<128x1024xf4E2M1FN>, tensor<128x64xf8E4M3FN, #swizzled>,
        tensor<128x64xf8E4M3FN, #swizzled> -> tensor<128x128xf32>
  return %y : tensor<128x128xf32>
}

// Operands of 8 bits have no such instruction.
// CHECK-LABEL: gpu.func @scaled_mm_e4m3_e4m3_e8m0_f32_128x128_stages6_band8
func.func @mxfp8(%a: tensor<128x1024xf8E4M3FN>, %b: tensor<128x1024xf8E4M3FN>,
                 %sa: tensor<128x32xf8E8M0FNU, #swizzled>, %sb: tensor<128x32xf8E8M0FNU, #swizzled>) -> tensor<128x128xf32> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 32] {blockscale.schedule = #schedule}
      : tensor<128x1024xf8E4M3FN>, tensor<128x1024xf8E4M3FN>, tensor<128x32xf8E8M0FNU, #swizzled>,
        tensor<128x32xf8E8M0FNU, #swizzled> -> tensor<128x128xf32>
  return %y : tensor<128x128xf32>
}
