// RUN: blockscale-opt %s --blockscale-to-sm100 | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>
#schedule = #blockscale.gemm_schedule<rows = 128, cols = 128, stages = 6, band = 8, ctas = 148>

// An atom of scales serves two steps, the first by scales 0 and 1 of its words, the
// second by 2 and 3.
// CHECK-LABEL: gpu.func @scaled_mm_e2m1_e2m1_e8m0_f16_128x128_stages6_band8
// CHECK-DAG: %[[STEP0:.+]] = arith.constant 144704640 : i32
// CHECK-DAG: %[[STEP1:.+]] = arith.constant 1218446496 : i32
// CHECK-COUNT-4: nvvm.tcgen05.cp
// CHECK: nvvm.tcgen05.mma.block_scale %[[D:.+]], %{{.+}}, %{{.+}}, %[[STEP0]], %{{.+}}, %[[A0:.+]], %[[B0:.+]] {blockScale = #nvvm.tcgen05_mma_block_scale<block32>, {{.*}}kind = #nvvm.{{block_scale|tcgen05_mma}}_kind<mxf4>
// CHECK: nvvm.tcgen05.mma.block_scale %[[D]], %{{.+}}, %{{.+}}, %[[STEP1]], %true, %[[A0]], %[[B0]]
// CHECK: nvvm.tcgen05.mma.block_scale %[[D]], %{{.+}}, %{{.+}}, %[[STEP0]], %true, %[[A1:.+]], %[[B1:.+]] {
// CHECK: nvvm.tcgen05.mma.block_scale %[[D]], %{{.+}}, %{{.+}}, %[[STEP1]], %true, %[[A1]], %[[B1]]
func.func @mxfp4(%a: tensor<200x512xf4E2M1FN>, %b: tensor<100x512xf4E2M1FN>,
                 %sa: tensor<200x16xf8E8M0FNU, #swizzled>, %sb: tensor<100x16xf8E8M0FNU, #swizzled>) -> tensor<200x100xf16> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 32] {blockscale.schedule = #schedule}
      : tensor<200x512xf4E2M1FN>, tensor<100x512xf4E2M1FN>, tensor<200x16xf8E8M0FNU, #swizzled>,
        tensor<100x16xf8E8M0FNU, #swizzled> -> tensor<200x100xf16>
  return %y : tensor<200x100xf16>
}

// One atom serves four steps, each by a byte of its words. E4M3 is 0 and E5M2 1.
// CHECK-LABEL: gpu.func @scaled_mm_e4m3_e5m2_e8m0_f32_128x128_stages6_band8
// CHECK-DAG: %[[STEP0:.+]] = arith.constant 144704512 : i32
// CHECK-DAG: %[[STEP1:.+]] = arith.constant 681575440 : i32
// CHECK-DAG: %[[STEP2:.+]] = arith.constant 1218446368 : i32
// CHECK-DAG: %[[STEP3:.+]] = arith.constant 1755317296 : i32
// CHECK-COUNT-2: nvvm.tcgen05.cp
// CHECK: nvvm.tcgen05.mma.block_scale %[[D:.+]], %{{.+}}, %{{.+}}, %[[STEP0]], %{{.+}}, %[[A:.+]], %[[B:.+]] {blockScale = #nvvm.tcgen05_mma_block_scale<block32>, {{.*}}kind = #nvvm.{{block_scale|tcgen05_mma}}_kind<mxf8f6f4>
// CHECK: nvvm.tcgen05.mma.block_scale %[[D]], %{{.+}}, %{{.+}}, %[[STEP1]], %true, %[[A]], %[[B]]
// CHECK: nvvm.tcgen05.mma.block_scale %[[D]], %{{.+}}, %{{.+}}, %[[STEP2]], %true, %[[A]], %[[B]]
// CHECK: nvvm.tcgen05.mma.block_scale %[[D]], %{{.+}}, %{{.+}}, %[[STEP3]], %true, %[[A]], %[[B]]
func.func @mxfp8(%a: tensor<200x512xf8E4M3FN>, %b: tensor<100x512xf8E5M2>,
                 %sa: tensor<200x16xf8E8M0FNU, #swizzled>, %sb: tensor<100x16xf8E8M0FNU, #swizzled>) -> tensor<200x100xf32> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 32] {blockscale.schedule = #schedule}
      : tensor<200x512xf8E4M3FN>, tensor<100x512xf8E5M2>, tensor<200x16xf8E8M0FNU, #swizzled>,
        tensor<100x16xf8E8M0FNU, #swizzled> -> tensor<200x100xf32>
  return %y : tensor<200x100xf32>
}

// FP4 beside FP8 takes a byte's place in shared memory; its map counts codes.
// CHECK-LABEL: gpu.func @scaled_mm_e4m3_e2m1_e8m0_f32_128x128_stages6_band8
// CHECK: nvvm.tcgen05.mma.block_scale {{.*}}kind = #nvvm.{{block_scale|tcgen05_mma}}_kind<mxf8f6f4>
// CHECK-LABEL: func.func @mixed
// CHECK: blockscale.tensor_map %{{.+}} dims[%c512, %c200, %c1] strides[%c512, %{{.+}}] box [128, 128, 1] element uint8 swizzle 128
// CHECK: blockscale.tensor_map %{{.+}} dims[%c512, %c100, %c1] strides[%c256, %{{.+}}] box [128, 128, 1] element u4_padded swizzle 128
func.func @mixed(%a: tensor<200x512xf8E4M3FN>, %b: tensor<100x512xf4E2M1FN>,
                 %sa: tensor<200x16xf8E8M0FNU, #swizzled>, %sb: tensor<100x16xf8E8M0FNU, #swizzled>) -> tensor<200x100xf32> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 32] {blockscale.schedule = #schedule}
      : tensor<200x512xf8E4M3FN>, tensor<100x512xf4E2M1FN>, tensor<200x16xf8E8M0FNU, #swizzled>,
        tensor<100x16xf8E8M0FNU, #swizzled> -> tensor<200x100xf32>
  return %y : tensor<200x100xf32>
}
