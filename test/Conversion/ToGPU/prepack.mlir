// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu --canonicalize | FileCheck %s

#prepacked = #blockscale.data_layout<fragments_64x64>

// A thread stores 16 bytes of 4-bit codes, which are of 32 bytes of two rows each, or loads twice
// as many of others.
// CHECK: gpu.func @prepack_4_bits(%{{.+}}: !llvm.ptr<1>{{.*}}, %{{.+}}: !llvm.ptr<1> {llvm.align = 16 : i64}, %{{.+}}: i64, %{{.+}}: i64, %{{.+}}: i64) kernel attributes {nvvm.reqntid = array<i32: 128, 1, 1>}
// CHECK-COUNT-4: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK-COUNT-16: llvm.load %{{.+}} {alignment = 1 : i64} : !llvm.ptr<1> -> i8
// CHECK-COUNT-1: llvm.store %{{.+}}, %{{.+}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
// CHECK: gpu.func @unpack_8_bits(%{{.+}}: !llvm.ptr<1> {llvm.align = 16 : i64},
// CHECK-COUNT-2: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>

// A CTA has a block.
// CHECK-LABEL: func.func @to
func.func @to(%w: memref<3x200x40xi8>, %p: memref<3x4x2x2048xi8>) {
  // CHECK: gpu.launch_func @blockscale_kernels::@prepack_4_bits blocks in (%c8, %c3, %c1) threads in (%c128, %c1, %c1)
  blockscale.kernel ins(%w : memref<3x200x40xi8>) outs(%p : memref<3x4x2x2048xi8>) {
  ^bb0(%lw: tensor<3x200x80xf4E2M1FN>, %lp: tensor<3x200x80xf4E2M1FN, #prepacked>):
    %0 = blockscale.prepack %lw : tensor<3x200x80xf4E2M1FN> -> tensor<3x200x80xf4E2M1FN, #prepacked>
    blockscale.yield %0 : tensor<3x200x80xf4E2M1FN, #prepacked>
  }
  return
}

// CHECK-LABEL: func.func @from
func.func @from(%p: memref<1x2x4096xi8>, %w: memref<7x80xf8E5M2>) {
  // CHECK: gpu.launch_func @blockscale_kernels::@unpack_8_bits blocks in (%c2, %c1, %c1)
  blockscale.kernel ins(%p : memref<1x2x4096xi8>) outs(%w : memref<7x80xf8E5M2>) {
  ^bb0(%lp: tensor<7x80xf8E5M2, #prepacked>, %lw: tensor<7x80xf8E5M2>):
    %0 = blockscale.prepack %lp : tensor<7x80xf8E5M2, #prepacked> -> tensor<7x80xf8E5M2>
    blockscale.yield %0 : tensor<7x80xf8E5M2>
  }
  return
}

// Sizes of memory that do not fit each other are found at run time.
// CHECK-LABEL: func.func @dynamic
func.func @dynamic(%w: memref<?x?xi8>, %p: memref<?x?x2048xi8>) {
  // CHECK-COUNT-2: cf.assert %{{.+}}, "prepack: expected dimension {{[01]}} of the result in memory to fit the shape of source"
  blockscale.kernel ins(%w : memref<?x?xi8>) outs(%p : memref<?x?x2048xi8>) {
  ^bb0(%lw: tensor<?x?xf4E2M1FN>, %lp: tensor<?x?xf4E2M1FN, #prepacked>):
    %0 = blockscale.prepack %lw : tensor<?x?xf4E2M1FN> -> tensor<?x?xf4E2M1FN, #prepacked>
    blockscale.yield %0 : tensor<?x?xf4E2M1FN, #prepacked>
  }
  return
}
