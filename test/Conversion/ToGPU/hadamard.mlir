// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu --canonicalize | FileCheck %s

// A group along a row is two vectors, wherever the row begins. Signs are in the
// factors; 64 sums and differences follow, and one rounding of each.
// CHECK: gpu.func @hadamard_rows_signs55272(
// CHECK-COUNT-2: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK-NOT: llvm.load
// CHECK-COUNT-24: arith.subf
// CHECK-NOT: arith.subf
// CHECK-COUNT-8: arith.truncf
// CHECK: llvm.store %{{.+}}, %{{.+}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
// CHECK-COUNT-8: arith.truncf
// CHECK: llvm.store %{{.+}}, %{{.+}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
// Down the columns, a thread has as many as the rows' length allows.
// CHECK: gpu.func @hadamard_columns_by8_signs0(%{{.+}}: !llvm.ptr<1> {llvm.align = 16 : i64},
// CHECK-COUNT-16: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK: gpu.func @hadamard_columns_by2_signs55272(%{{.+}}: !llvm.ptr<1> {llvm.align = 4 : i64},

// 300 groups, a thread each.
// CHECK-LABEL: func.func @rows
func.func @rows(%x: memref<4x25x48xbf16>, %y: memref<4x25x48xbf16>) {
  // CHECK: gpu.launch_func @blockscale_kernels::@hadamard_rows_signs55272 blocks in (%c3, %c1, %c1) threads in (%c128, %c1, %c1)
  blockscale.kernel ins(%x : memref<4x25x48xbf16>) outs(%y : memref<4x25x48xbf16>) {
  ^bb0(%lx: tensor<4x25x48xbf16>, %ly: tensor<4x25x48xbf16>):
    %0 = blockscale.hadamard %lx dim 1 : tensor<4x25x48xbf16>
    blockscale.yield %0 : tensor<4x25x48xbf16>
  }
  return
}

// What must be whole groups is checked before anything runs.
// CHECK-LABEL: func.func @columns
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?x48xbf16>
func.func @columns(%x: memref<?x48xbf16>, %y: memref<?x48xbf16>) {
  // CHECK: %[[M:.+]] = memref.dim %[[X]]
  // CHECK: %[[REST:.+]] = arith.remui %[[M]], %c16
  // CHECK: %[[HOLDS:.+]] = arith.cmpi eq, %[[REST]], %c0
  // CHECK: cf.assert %[[HOLDS]], "hadamard: expected the transformed dimension of x to be a multiple of 16"
  // CHECK: gpu.launch_func @blockscale_kernels::@hadamard_columns_by8_signs0
  blockscale.kernel ins(%x : memref<?x48xbf16>) outs(%y : memref<?x48xbf16>) {
  ^bb0(%lx: tensor<?x48xbf16>, %ly: tensor<?x48xbf16>):
    %0 = blockscale.hadamard %lx dim 0 sign_mask 0 : tensor<?x48xbf16>
    blockscale.yield %0 : tensor<?x48xbf16>
  }
  return
}

func.func @narrow(%x: memref<16x6xbf16>, %y: memref<16x6xbf16>) {
  blockscale.kernel ins(%x : memref<16x6xbf16>) outs(%y : memref<16x6xbf16>) {
  ^bb0(%lx: tensor<16x6xbf16>, %ly: tensor<16x6xbf16>):
    %0 = blockscale.hadamard %lx dim 0 : tensor<16x6xbf16>
    blockscale.yield %0 : tensor<16x6xbf16>
  }
  return
}
