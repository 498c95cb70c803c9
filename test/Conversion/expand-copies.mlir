// RUN: blockscale-opt %s -blockscale-expand-copies | FileCheck %s

// Strided rows become a loop nest.
// CHECK-LABEL: func.func @strided
// CHECK-SAME: %[[A:.+]]: memref<4x?xi8, strided<[?, 1], offset: ?>>, %[[B:.+]]: memref<4x?xi8>
func.func @strided(%a: memref<4x?xi8, strided<[?, 1], offset: ?>>, %b: memref<4x?xi8>) {
  // CHECK-NOT: memref.copy
  // CHECK: linalg.generic {{.+}} ins(%[[A]] : {{.+}}) outs(%[[B]] : memref<4x?xi8>) {
  // CHECK-NEXT: ^bb0(%[[IN:.+]]: i8, %{{.+}}: i8):
  // CHECK-NEXT: linalg.yield %[[IN]] : i8
  memref.copy %a, %b : memref<4x?xi8, strided<[?, 1], offset: ?>> to memref<4x?xi8>
  return
}

// One run of bytes is a memcpy later, at an offset as well.
// CHECK-LABEL: func.func @contiguous
// CHECK-NOT: linalg.generic
func.func @contiguous(%a: memref<?x?xi8>, %b: memref<?x?xi8>, %c: memref<1x4x4xi8, strided<[64, 4, 1], offset: ?>>, %d: memref<1x4x4xi8>) {
  // CHECK: memref.copy
  memref.copy %a, %b : memref<?x?xi8> to memref<?x?xi8>
  // CHECK: memref.copy
  memref.copy %c, %d : memref<1x4x4xi8, strided<[64, 4, 1], offset: ?>> to memref<1x4x4xi8>
  return
}
