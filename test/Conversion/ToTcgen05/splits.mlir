// RUN: blockscale-opt %s --blockscale-to-sm100 | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>

// Parts of K are multiplied into a workspace, whose rows are whole fragments of 32 sums, and
// then added; what the result is made of is for the second kernel alone.
// CHECK: gpu.func @scaled_mm_e4m3_e4m3_e8m0_f32_128x128_stages6_band8_splits4(
// CHECK-NOT: xbf16
// CHECK: gpu.func @sum_of_scaled_mm_e4m3_e4m3_e8m0_bf16_128x128_stages6_band8_splits4_bias_bf16
// CHECK-COUNT-4: llvm.load %{{.+}} {alignment = 32 : i64} : !llvm.ptr<1> -> vector<32xf32>
// CHECK: llvm.fptrunc
// CHECK-LABEL: func.func @splits
// CHECK: %[[SUMS:.+]] = memref.alloc() : memref<4x100x128xf32>
// CHECK: gpu.launch_func @blockscale_kernels::@scaled_mm_e4m3_e4m3_e8m0_f32_128x128_stages6_band8_splits4 blocks in (%c4,
// CHECK: gpu.launch_func @blockscale_kernels::@sum_of_scaled_mm_e4m3_e4m3_e8m0_bf16_128x128_stages6_band8_splits4_bias_bf16 blocks in (%c4,
// CHECK: memref.dealloc %[[SUMS]]
func.func @splits(%a: tensor<100x2048xf8E4M3FN>, %b: tensor<98x2048xf8E4M3FN>,
                  %sa: tensor<100x64xf8E8M0FNU, #swizzled>, %sb: tensor<98x64xf8E8M0FNU, #swizzled>, %bias: tensor<98xbf16>) -> tensor<100x98xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 32] bias(%bias : tensor<98xbf16>)
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 128, stages = 6, band = 8, ctas = 148, splits = 4>}
      : tensor<100x2048xf8E4M3FN>, tensor<98x2048xf8E4M3FN>, tensor<100x64xf8E8M0FNU, #swizzled>,
        tensor<98x64xf8E8M0FNU, #swizzled> -> tensor<100x98xbf16>
  return %y : tensor<100x98xbf16>
}
