// RUN: blockscale-opt %s -verify-roundtrip | FileCheck %s
// RUN: blockscale-opt %s -mlir-print-op-generic | blockscale-opt | FileCheck %s
// RUN: blockscale-opt %s -canonicalize -cse -loop-invariant-code-motion | FileCheck %s --check-prefix=FOLDED

// Amaxes of a tensor, of each group, and in memory, which has no result.
// CHECK-LABEL: func.func @forms
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<f32>, %[[B:[a-z0-9]+]]: tensor<?x3xf32>, %[[M:[a-z0-9]+]]: memref<?xf32>
func.func @forms(%a: tensor<f32>, %b: tensor<?x3xf32>, %m: memref<?xf32>) -> (tensor<f32>, tensor<?x3xf32>) {
  // CHECK: blockscale.amax_over_ranks %[[A]] : tensor<f32> -> tensor<f32>
  %0 = blockscale.amax_over_ranks %a : tensor<f32> -> tensor<f32>
  // CHECK: blockscale.amax_over_ranks %[[B]] : tensor<?x3xf32> -> tensor<?x3xf32>
  %1 = blockscale.amax_over_ranks %b : tensor<?x3xf32> -> tensor<?x3xf32>
  // CHECK: blockscale.amax_over_ranks %[[M]] : memref<?xf32>{{$}}
  blockscale.amax_over_ranks %m : memref<?xf32>
  return %0, %1 : tensor<f32>, tensor<?x3xf32>
}

// A constant of this rank is no constant of all of them.
// FOLDED-LABEL: func.func @constant
// FOLDED: %[[C:.+]] = arith.constant dense<3.000000e+00> : tensor<f32>
// FOLDED: %[[R:.+]] = blockscale.amax_over_ranks %[[C]]
// FOLDED: return %[[R]]
func.func @constant() -> tensor<f32> {
  %c = arith.constant dense<3.0> : tensor<f32>
  %0 = blockscale.amax_over_ranks %c : tensor<f32> -> tensor<f32>
  return %0 : tensor<f32>
}

// It does not leave a loop, which may have no iteration, but memory is reduced whether
// something reads it or not.
// FOLDED-LABEL: func.func @loop
// FOLDED: scf.for
// FOLDED: blockscale.amax_over_ranks %{{.+}} : tensor<f32>
// FOLDED: blockscale.amax_over_ranks %{{.+}} : memref<f32>
func.func @loop(%a: tensor<f32>, %m: memref<f32>, %n: index) -> tensor<f32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a) -> tensor<f32> {
    %0 = blockscale.amax_over_ranks %a : tensor<f32> -> tensor<f32>
    scf.yield %0 : tensor<f32>
  }
  blockscale.amax_over_ranks %m : memref<f32>
  return %r : tensor<f32>
}

// Of equal ones there is one, and of those that nobody reads none, on all ranks alike.
// FOLDED-LABEL: func.func @equal
// FOLDED: %[[R:.+]] = blockscale.amax_over_ranks
// FOLDED-NOT: amax_over_ranks
// FOLDED: return %[[R]], %[[R]]
func.func @equal(%a: tensor<f32>, %b: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %0 = blockscale.amax_over_ranks %a : tensor<f32> -> tensor<f32>
  %1 = blockscale.amax_over_ranks %a : tensor<f32> -> tensor<f32>
  %2 = blockscale.amax_over_ranks %b : tensor<f32> -> tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}
