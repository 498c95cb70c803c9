// RUN: blockscale-opt %s -blockscale-results-to-out-params | FileCheck %s

// Callers inside the module keep a function with results: a private copy.
// CHECK-LABEL: func.func private @callee_0(
// CHECK-SAME:      tensor<4xf32>) -> tensor<4xf32> {
// CHECK-LABEL: func.func @callee(
// CHECK-SAME:      memref<4xf32>) attributes {llvm.emit_c_interface}
func.func @callee(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// CHECK-LABEL: func.func @caller(
// CHECK:         call @callee_0(
func.func @caller(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @callee(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// A recursive function is its own caller.
// CHECK-LABEL: func.func private @recursive_0(
// CHECK:         call @recursive_0(
// CHECK-LABEL: func.func @recursive(
// CHECK:         call @recursive_0(
func.func @recursive(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @recursive(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// A function without results has the same type for all its callers.
// CHECK-LABEL: func.func @no_results(
// CHECK-LABEL: func.func @calls_no_results(
// CHECK:         call @no_results(
func.func @no_results(%x: tensor<4xf32>) {
  return
}
func.func @calls_no_results(%x: tensor<4xf32>) {
  call @no_results(%x) : (tensor<4xf32>) -> ()
  return
}
