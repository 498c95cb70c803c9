// Parsers of linalg end the process where a list of integers is none: the project refuses the text
// before, at the place and with what it expected.
// RUN: not blockscale-opt %s -split-input-file 2>&1 | FileCheck %s
// RUN: not blockscale-compile %s --target=cpu --emit=mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=FIRST

// FIRST: invalid-lists.mlir:[[#@LINE+4]]:91: error: expected an integer of 64 bits in a list of integers, as [1, 0], but got '[1, 0floor'
// FIRST-NOT: Stack dump
// CHECK: error: expected an integer of 64 bits in a list of integers, as [1, 0], but got '[1, 0floor'
func.func @transpose(%x: memref<?x8xf32>, %y: memref<8x?xf32>) {
  linalg.transpose ins(%x : memref<?x8xf32>) outs(%y : memref<8x?xf32>) permutation = [1, 0floor
  return
}

// -----

// CHECK: error: expected ',' or ']' in a list of integers, as [1, 0], but got '[1.0]'
func.func @broadcast(%x: memref<8xf32>, %y: memref<8x4xf32>) {
  linalg.broadcast ins(%x : memref<8xf32>) outs(%y : memref<8x4xf32>) dimensions = [1.0]
  return
}

// -----

// CHECK: error: expected '[' in a list of integers, as [1, 0], but got 'all'
// CHECK-NOT: Stack dump
func.func @reduce(%x: memref<8x4xf32>, %y: memref<8xf32>) {
  linalg.reduce { arith.addf } ins(%x : memref<8x4xf32>) outs(%y : memref<8xf32>) dimensions = all
  return
}
