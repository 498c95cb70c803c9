// RUN: blockscale-opt %s -blockscale-elementwise-to-linalg -split-input-file | FileCheck %s

// Arithmetic on plain tensors is computed element by element.
// CHECK-LABEL: func.func @arithmetic
// CHECK-SAME: (%[[X:.+]]: tensor<4x?xf32>, %[[Y:.+]]: tensor<4x?xf32>)
// CHECK: %[[SUM:.+]] = linalg.generic {{.+}} ins(%[[X]], %[[Y]] : tensor<4x?xf32>, tensor<4x?xf32>)
// CHECK: %[[S:.+]] = arith.addf %{{.+}}, %{{.+}} : f32
// CHECK: linalg.yield %[[S]] : f32
// CHECK: return %[[SUM]]
func.func @arithmetic(%x: tensor<4x?xf32>, %y: tensor<4x?xf32>) -> tensor<4x?xf32> {
  %0 = arith.addf %x, %y : tensor<4x?xf32>
  return %0 : tensor<4x?xf32>
}

// -----

// A select with a condition for each element computes, too.
// CHECK-LABEL: func.func @select_of_elements
// CHECK: linalg.generic
// CHECK: arith.select %{{.+}}, %{{.+}}, %{{.+}} : bf16
func.func @select_of_elements(%c: tensor<4xi1>, %x: tensor<4xbf16>,
                              %y: tensor<4xbf16>) -> tensor<4xbf16> {
  %0 = arith.select %c, %x, %y : tensor<4xi1>, tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

// -----

// A select under one condition is a choice between two tensors.
// CHECK-LABEL: func.func @select_of_tensors
// CHECK-NOT: linalg
// CHECK: arith.select %{{.+}}, %{{.+}}, %{{.+}} : tensor<4xbf16>
func.func @select_of_tensors(%c: i1, %x: tensor<4xbf16>, %y: tensor<4xbf16>) -> tensor<4xbf16> {
  %0 = arith.select %c, %x, %y : tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

// -----

// Elements below 16 bits are moved as a whole.
// CHECK-LABEL: func.func @narrow
// CHECK-NOT: linalg
// CHECK: arith.select %{{.+}} : tensor<4xi1>, tensor<4xf8E4M3FN>
func.func @narrow(%c: tensor<4xi1>, %x: tensor<4xf8E4M3FN>,
                  %y: tensor<4xf8E4M3FN>) -> tensor<4xf8E4M3FN> {
  %0 = arith.select %c, %x, %y : tensor<4xi1>, tensor<4xf8E4M3FN>
  return %0 : tensor<4xf8E4M3FN>
}
