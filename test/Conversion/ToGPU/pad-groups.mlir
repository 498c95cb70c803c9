// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu --canonicalize | FileCheck %s

// A thread has 16 bytes of each of 8 rows, which it loads before it stores one
// where its group has all of them.
// CHECK: gpu.func @pad_groups_32_by16(%{{.+}}: !llvm.ptr<1> {llvm.align = 16 : i64},
// CHECK-COUNT-8: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK-NOT: llvm.store
// CHECK: } else {
// CHECK-COUNT-8: llvm.store %{{.+}}, %{{.+}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>

// 160 rows of the result are 20 warps, and a row is 16 of the 32 pieces of a warp.
// CHECK-LABEL: func.func @pad
func.func @pad(%x: memref<96x128xbf16>, %o: memref<3xi32>, %p: memref<160x128xbf16>, %e: memref<3xi32>) {
  // CHECK: gpu.launch_func @blockscale_kernels::@pad_groups_32_by16 blocks in (%c3, %c1, %c1) threads in (%c256, %c1, %c1)
  blockscale.kernel ins(%x, %o : memref<96x128xbf16>, memref<3xi32>) outs(%p, %e : memref<160x128xbf16>, memref<3xi32>) {
  ^bb0(%lx: tensor<96x128xbf16>, %lo: tensor<3xi32>, %lp: tensor<160x128xbf16>, %le: tensor<3xi32>):
    %0, %1 = blockscale.pad_groups %lx offsets(%lo : tensor<3xi32>) unit 32 : tensor<96x128xbf16> -> tensor<160x128xbf16>
    blockscale.yield %0, %1 : tensor<160x128xbf16>, tensor<3xi32>
  }
  return
}

// Without rows there are ends to store.
// CHECK-LABEL: func.func @no_columns
func.func @no_columns(%x: memref<96x0xbf16>, %o: memref<3xi32>, %p: memref<160x0xbf16>, %e: memref<3xi32>) {
  // CHECK: gpu.launch_func @blockscale_kernels::@pad_groups_32_by16 blocks in (%c1, %c1, %c1)
  blockscale.kernel ins(%x, %o : memref<96x0xbf16>, memref<3xi32>) outs(%p, %e : memref<160x0xbf16>, memref<3xi32>) {
  ^bb0(%lx: tensor<96x0xbf16>, %lo: tensor<3xi32>, %lp: tensor<160x0xbf16>, %le: tensor<3xi32>):
    %0, %1 = blockscale.pad_groups %lx offsets(%lo : tensor<3xi32>) unit 32 : tensor<96x0xbf16> -> tensor<160x0xbf16>
    blockscale.yield %0, %1 : tensor<160x0xbf16>, tensor<3xi32>
  }
  return
}

// What only run time knows is checked before anything runs.
// CHECK-LABEL: func.func @dynamic
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?x?xf32>, %[[O:[a-z0-9]+]]: memref<?xi32>
func.func @dynamic(%x: memref<?x?xf32>, %o: memref<?xi32>, %p: memref<?x?xf32>, %e: memref<?xi32>) {
  // CHECK: cf.assert %{{.+}}, "pad_groups: expected the number of rows of the result to be below 2147483648"
  // CHECK: cf.assert %{{.+}}, "pad_groups: expected dimension 0 of the result to fit the shape of x and offsets"
  // CHECK: cf.assert %{{.+}}, "pad_groups: expected dimension 1 of the result to fit the shape of x and offsets"
  // CHECK: cf.assert %{{.+}}, "pad_groups: expected dimension 0 of ends to fit the shape of offsets"
  // CHECK: gpu.launch_func @blockscale_kernels::@pad_groups_32_by4
  blockscale.kernel ins(%x, %o : memref<?x?xf32>, memref<?xi32>) outs(%p, %e : memref<?x?xf32>, memref<?xi32>) {
  ^bb0(%lx: tensor<?x?xf32>, %lo: tensor<?xi32>, %lp: tensor<?x?xf32>, %le: tensor<?xi32>):
    %0, %1 = blockscale.pad_groups %lx offsets(%lo : tensor<?xi32>) unit 32 : tensor<?x?xf32> -> tensor<?x?xf32>
    blockscale.yield %0, %1 : tensor<?x?xf32>, tensor<?xi32>
  }
  return
}
