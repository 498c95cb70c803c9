// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu --canonicalize | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>
#groups = #blockscale.layout<swizzle_128x4, groups = 2, dim = 1>

// Rows of a multiple of 16 scales are read 16 bytes at a time, others in the widest
// vectors that divide them; 16 bytes of a tile are stored at once.
// CHECK: gpu.func @swizzle_to_tiles_x16(%{{.+}}: !llvm.ptr<1> {llvm.align = 16 : i64}, %{{.+}}: !llvm.ptr<1> {llvm.align = 16 : i64}, %{{.+}}: i64, %{{.+}}: i64, %{{.+}}: i64) kernel
// CHECK-COUNT-4: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK-COUNT-4: llvm.store %{{.+}}, %{{.+}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
// CHECK: gpu.func @swizzle_from_tiles_x2(%{{.+}}: !llvm.ptr<1> {llvm.align = 16 : i64}, %{{.+}}: !llvm.ptr<1> {llvm.align = 2 : i64},
// CHECK: gpu.func @swizzle_column_groups_to_tiles_x1_block16(

// Two bands of 128 rows; a CTA has 16 tiles of a band.
// CHECK-LABEL: func.func @wide
func.func @wide(%s: memref<200x80xf8E4M3FN>, %t: memref<2x20x32x4x4xf8E4M3FN>) {
  // CHECK: gpu.launch_func @blockscale_kernels::@swizzle_to_tiles_x16 blocks in (%c4, %c1, %c1) threads in (%c128, %c1, %c1)
  blockscale.kernel ins(%s : memref<200x80xf8E4M3FN>) outs(%t : memref<2x20x32x4x4xf8E4M3FN>) {
  ^bb0(%ls: tensor<200x80xf8E4M3FN>, %lt: tensor<200x80xf8E4M3FN, #swizzled>):
    %0 = blockscale.swizzle %ls : tensor<200x80xf8E4M3FN> -> tensor<200x80xf8E4M3FN, #swizzled>
    blockscale.yield %0 : tensor<200x80xf8E4M3FN, #swizzled>
  }
  return
}

// CHECK-LABEL: func.func @batch
func.func @batch(%t: memref<3x2x3x32x4x4xf8E4M3FN>, %s: memref<3x200x10xf8E4M3FN>) {
  // CHECK: gpu.launch_func @blockscale_kernels::@swizzle_from_tiles_x2 blocks in (%c2, %c3, %c1)
  blockscale.kernel ins(%t : memref<3x2x3x32x4x4xf8E4M3FN>) outs(%s : memref<3x200x10xf8E4M3FN>) {
  ^bb0(%lt: tensor<3x200x10xf8E4M3FN, #swizzled>, %ls: tensor<3x200x10xf8E4M3FN>):
    %0 = blockscale.swizzle %lt : tensor<3x200x10xf8E4M3FN, #swizzled> -> tensor<3x200x10xf8E4M3FN>
    blockscale.yield %0 : tensor<3x200x10xf8E4M3FN>
  }
  return
}

// All tiles that groups could have are written.
// CHECK-LABEL: func.func @groups
func.func @groups(%s: memref<130x21xf8E4M3FN>, %o: memref<2xi32>, %t: memref<12x32x4x4xf8E4M3FN>) {
  // CHECK: gpu.launch_func @blockscale_kernels::@swizzle_column_groups_to_tiles_x1_block16 blocks in (%c3, %c1, %c1)
  blockscale.kernel ins(%s, %o : memref<130x21xf8E4M3FN>, memref<2xi32>) outs(%t : memref<12x32x4x4xf8E4M3FN>) {
  ^bb0(%ls: tensor<130x21xf8E4M3FN>, %lo: tensor<2xi32>, %lt: tensor<130x21xf8E4M3FN, #groups>):
    %0 = blockscale.swizzle %ls offsets(%lo : tensor<2xi32>) block 16 : tensor<130x21xf8E4M3FN> -> tensor<130x21xf8E4M3FN, #groups>
    blockscale.yield %0 : tensor<130x21xf8E4M3FN, #groups>
  }
  return
}
