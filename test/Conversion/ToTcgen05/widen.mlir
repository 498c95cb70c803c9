// RUN: blockscale-opt %s --blockscale-to-sm100 | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>

// Codes of 6 bits, and of 4 bits beside FP8 in rows that are not whole boxes of padded
// codes, become E4M3 in a workspace.
// CHECK: gpu.func @widen_e2m3
// CHECK: llvm.load {{.*}} -> vector<4xi32>
// CHECK: nvvm.convert.f32x2.to.f8x2 {{.*}} : i16(f8E4M3FN)
// CHECK: gpu.func @widen_e2m1
// CHECK: gpu.func @scaled_mm_e4m3_e4m3_e8m0_f32
// CHECK-LABEL: func.func @widen
// CHECK: %[[A:.+]] = memref.alloc({{.*}}) : memref<9600xi8>
// CHECK: gpu.launch_func @blockscale_kernels::@widen_e2m3 blocks in (%c3,
// CHECK: %[[B:.+]] = memref.alloc({{.*}}) : memref<4800xi8>
// CHECK: gpu.launch_func @blockscale_kernels::@widen_e2m1 blocks in (%c2,
// CHECK: gpu.launch_func @blockscale_kernels::@scaled_mm_e4m3_e4m3_e8m0_f32
// CHECK: memref.dealloc %[[A]]
// CHECK: memref.dealloc %[[B]]
func.func @widen(%a: tensor<100x96xf6E2M3FN>, %b: tensor<50x96xf4E2M1FN>,
                 %sa: tensor<100x3xf8E8M0FNU, #swizzled>, %sb: tensor<50x3xf8E8M0FNU, #swizzled>) -> tensor<100x50xf32> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 32]
      : tensor<100x96xf6E2M3FN>, tensor<50x96xf4E2M1FN>, tensor<100x3xf8E8M0FNU, #swizzled>,
        tensor<50x3xf8E8M0FNU, #swizzled> -> tensor<100x50xf32>
  return %y : tensor<100x50xf32>
}
