// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu --canonicalize | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>

// A thread has 32 elements where rows are a multiple of that, in four pieces of 16 bytes of the
// result: the same piece of the elements of four threads. All are loaded before one is stored.
// CHECK: gpu.func @dequantize_e2m1_torchao_bf16_1x16_by32_swizzled_scaled(%{{.+}}: !llvm.ptr<1> {llvm.align = 4 : i64}, %{{.+}}: !llvm.ptr<1> {llvm.align = 1 : i64}, %{{.+}}: !llvm.ptr<1> {llvm.align = 16 : i64}, %{{.+}}: i64, %{{.+}}: i64, %{{.+}}: i64, %{{.+}}: !llvm.ptr<1> {llvm.align = 4 : i64}) kernel
// CHECK-NOT: llvm.store
// CHECK-COUNT-4: llvm.load %{{.+}} {alignment = 1 : i64} : !llvm.ptr<1> -> i8
// CHECK-NOT: alignment = 1 :
// CHECK-COUNT-4: llvm.store %{{.+}}, %{{.+}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
// CHECK-NOT: llvm.store
// Scales of columns: as many as elements.
// CHECK: gpu.func @dequantize_e4m3_f32_32x1_by8(%{{.+}}: !llvm.ptr<1> {llvm.align = 4 : i64}, %{{.+}}: !llvm.ptr<1> {llvm.align = 4 : i64}, %{{.+}}: !llvm.ptr<1> {llvm.align = 16 : i64},
// CHECK: gpu.func @dequantize_e4m3_f32_1x32_by32(

// CHECK-LABEL: func.func @rows
func.func @rows(%q: memref<?x48xi8>, %s: memref<?x2x32x4x4xf8E4M3FN>, %g: memref<f32>, %x: memref<?x96xbf16>) {
  // CHECK: cf.assert %{{.+}}, "dequantize: expected dimension 0 of data in memory to fit the shape of the result"
  // CHECK: gpu.launch_func @blockscale_kernels::@dequantize_e2m1_torchao_bf16_1x16_by32_swizzled_scaled
  blockscale.kernel ins(%q, %s, %g : memref<?x48xi8>, memref<?x2x32x4x4xf8E4M3FN>, memref<f32>) outs(%x : memref<?x96xbf16>) {
  ^bb0(%lq: tensor<?x96xf4E2M1FN>, %ls: tensor<?x6xf8E4M3FN, #swizzled>, %lg: tensor<f32>, %lx: tensor<?x96xbf16>):
    %0 = blockscale.dequantize %lq, %ls block [1, 16] recipe torchao global_scale(%lg : tensor<f32>)
        : tensor<?x96xf4E2M1FN>, tensor<?x6xf8E4M3FN, #swizzled> -> tensor<?x96xbf16>
    blockscale.yield %0 : tensor<?x96xbf16>
  }
  return
}

// Matrices whose rows are 64 and whose scale rows are 2 are told apart.
// CHECK-LABEL: func.func @columns
func.func @columns(%q: memref<3x64x40xf8E4M3FN>, %s: memref<3x2x40xf8E8M0FNU>, %x: memref<3x64x40xf32>) {
  // CHECK: gpu.launch_func @blockscale_kernels::@dequantize_e4m3_f32_32x1_by8 blocks in (%c3, %c3, %c1)
  blockscale.kernel ins(%q, %s : memref<3x64x40xf8E4M3FN>, memref<3x2x40xf8E8M0FNU>) outs(%x : memref<3x64x40xf32>) {
  ^bb0(%lq: tensor<3x64x40xf8E4M3FN>, %ls: tensor<3x2x40xf8E8M0FNU>, %lx: tensor<3x64x40xf32>):
    %0 = blockscale.dequantize %lq, %ls block [32, 1] : tensor<3x64x40xf8E4M3FN>, tensor<3x2x40xf8E8M0FNU> -> tensor<3x64x40xf32>
    blockscale.yield %0 : tensor<3x64x40xf32>
  }
  return
}

// Where nothing tells matrices apart, their rows are one matrix's; a row that is not
// known now has whole blocks.
// CHECK-LABEL: func.func @flat
func.func @flat(%q: memref<3x64x?xf8E4M3FN>, %s: memref<3x64x?xf8E8M0FNU>, %x: memref<3x64x?xf32>) {
  // CHECK: gpu.launch_func @blockscale_kernels::@dequantize_e4m3_f32_1x32_by32 blocks in (%{{.+}}, %c1, %c1)
  // CHECK-SAME: %c192_i64 : i64
  blockscale.kernel ins(%q, %s : memref<3x64x?xf8E4M3FN>, memref<3x64x?xf8E8M0FNU>) outs(%x : memref<3x64x?xf32>) {
  ^bb0(%lq: tensor<3x64x?xf8E4M3FN>, %ls: tensor<3x64x?xf8E8M0FNU>, %lx: tensor<3x64x?xf32>):
    %0 = blockscale.dequantize %lq, %ls block [1, 32] : tensor<3x64x?xf8E4M3FN>, tensor<3x64x?xf8E8M0FNU> -> tensor<3x64x?xf32>
    blockscale.yield %0 : tensor<3x64x?xf32>
  }
  return
}
