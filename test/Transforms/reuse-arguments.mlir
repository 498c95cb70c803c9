// RUN: blockscale-opt %s -blockscale-reuse-arguments | FileCheck %s
// RUN: blockscale-opt %s -blockscale-reuse-arguments=guard-copies=false | FileCheck %s --check-prefix=PLAN

// A result that is a copy of an argument that is given away may have its memory,
// so that the copy runs only where the addresses differ. Plans compare addresses
// where they run.
// CHECK-LABEL: func.func @f(
// CHECK-SAME:      [[CACHE:%[a-z0-9]+]]: memref<64xf32>, [[OUT:%[a-z0-9]+]]: memref<64xf32>)
// CHECK-SAME:      blockscale.result_arguments = array<i64: 0>
// CHECK-DAG:     [[FROM:%.+]] = memref.extract_aligned_pointer_as_index [[CACHE]]
// CHECK-DAG:     [[TO:%.+]] = memref.extract_aligned_pointer_as_index [[OUT]]
// CHECK:         [[DIFFER:%.+]] = arith.cmpi ne, [[FROM]], [[TO]] : index
// CHECK-NEXT:    scf.if [[DIFFER]] {
// CHECK-NEXT:      memref.copy [[CACHE]], [[OUT]]
// CHECK-NEXT:    }
// CHECK-NEXT:    return
// PLAN-LABEL: func.func @f(
// PLAN-SAME:      blockscale.result_arguments = array<i64: 0>
// PLAN-NOT:     scf.if
// PLAN:         memref.copy
func.func @f(%cache: memref<64xf32>, %out: memref<64xf32>)
    attributes {blockscale.signature = (tensor<64xf32>) -> tensor<64xf32>,
                blockscale.writable_arguments = array<i64: 0>} {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  memref.store %one, %cache[%c0] : memref<64xf32>
  memref.copy %cache, %out : memref<64xf32> to memref<64xf32>
  return
}

// Sizes are no content.
// CHECK-LABEL: func.func @sizes(
// CHECK-SAME:      blockscale.result_arguments = array<i64: 0>
func.func @sizes(%cache: memref<?xf32>, %out: memref<?xf32>)
    attributes {blockscale.signature = (tensor<?xf32>) -> tensor<?xf32>,
                blockscale.writable_arguments = array<i64: 0>} {
  %c0 = arith.constant 0 : index
  %a = memref.dim %cache, %c0 : memref<?xf32>
  %b = memref.dim %out, %c0 : memref<?xf32>
  %equal = arith.cmpi eq, %a, %b : index
  cf.assert %equal, "expected the size of the result"
  memref.copy %cache, %out : memref<?xf32> to memref<?xf32>
  return
}

// One result may be there, and only results whose argument is given away: the
// second one of @twice has memory of its own, and so has that of @kept.
// CHECK-LABEL: func.func @twice(
// CHECK-SAME:      blockscale.result_arguments = array<i64: 1, -1, -1>
func.func @twice(%kept: memref<4xf32>, %cache: memref<4xf32>, %a: memref<4xf32>, %b: memref<4xf32>, %c: memref<4xf32>)
    attributes {blockscale.signature = (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>),
                blockscale.writable_arguments = array<i64: 1>} {
  memref.copy %cache, %a : memref<4xf32> to memref<4xf32>
  memref.copy %cache, %b : memref<4xf32> to memref<4xf32>
  memref.copy %kept, %c : memref<4xf32> to memref<4xf32>
  return
}

// CHECK-LABEL: func.func @kept(
// CHECK-NOT:     result_arguments
// CHECK-NOT:     scf.if
// CHECK:         return
func.func @kept(%x: memref<4xf32>, %out: memref<4xf32>)
    attributes {blockscale.signature = (tensor<4xf32>) -> tensor<4xf32>} {
  memref.copy %x, %out : memref<4xf32> to memref<4xf32>
  return
}

// The result is what the argument was before it changed again.
// CHECK-LABEL: func.func @changed_behind(
// CHECK-NOT:     result_arguments
// CHECK-NOT:     scf.if
// CHECK:         return
func.func @changed_behind(%cache: memref<4xf32>, %out: memref<4xf32>)
    attributes {blockscale.signature = (tensor<4xf32>) -> tensor<4xf32>,
                blockscale.writable_arguments = array<i64: 0>} {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  memref.copy %cache, %out : memref<4xf32> to memref<4xf32>
  memref.store %one, %cache[%c0] : memref<4xf32>
  return
}

// The result's buffer has another content before, which is read.
// CHECK-LABEL: func.func @used_before(
// CHECK-NOT:     result_arguments
// CHECK-NOT:     scf.if
// CHECK:         return
func.func @used_before(%cache: memref<4xf32>, %out: memref<4xf32>)
    attributes {blockscale.signature = (tensor<4xf32>) -> tensor<4xf32>,
                blockscale.writable_arguments = array<i64: 0>} {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  memref.store %one, %out[%c0] : memref<4xf32>
  memref.copy %cache, %out : memref<4xf32> to memref<4xf32>
  return
}

// A part of an argument is not the argument, and a copy in a branch need not run.
// CHECK-LABEL: func.func @part(
// CHECK-NOT:     result_arguments
// CHECK:         return
func.func @part(%cache: memref<8xf32>, %out: memref<4xf32>)
    attributes {blockscale.signature = (tensor<8xf32>) -> tensor<4xf32>,
                blockscale.writable_arguments = array<i64: 0>} {
  %half = memref.subview %cache[0][4][1] : memref<8xf32> to memref<4xf32, strided<[1]>>
  memref.copy %half, %out : memref<4xf32, strided<[1]>> to memref<4xf32>
  return
}

// CHECK-LABEL: func.func @branch(
// CHECK-NOT:     result_arguments
// CHECK:         return
func.func @branch(%cache: memref<4xf32>, %b: i1, %out: memref<4xf32>)
    attributes {blockscale.signature = (tensor<4xf32>, i1) -> tensor<4xf32>,
                blockscale.writable_arguments = array<i64: 0>} {
  scf.if %b {
    memref.copy %cache, %out : memref<4xf32> to memref<4xf32>
  }
  return
}

// What a caller wrote of numbers that do not exist means nothing.
// CHECK-LABEL: func.func @odd(
// CHECK-NOT:     result_arguments
// CHECK:         return
func.func @odd(%x: memref<4xf32>, %out: memref<4xf32>)
    attributes {blockscale.signature = (tensor<4xf32>, f32) -> tensor<4xf32>,
                blockscale.writable_arguments = array<i64: -1, 0, 99>} {
  memref.copy %x, %out : memref<4xf32> to memref<4xf32>
  return
}
