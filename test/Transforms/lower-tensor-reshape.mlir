// RUN: blockscale-opt %s --blockscale-lower-tensor-reshape | FileCheck %s

// Reshapes to sizes that the program computes.

// CHECK-LABEL: func.func @sizes
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x64xf32>, %[[M:[a-z0-9]+]]: index, %[[N:[a-z0-9]+]]: index
// CHECK: %[[FLAT:.+]] = tensor.collapse_shape %[[X]] {{\[\[}}0, 1]] : tensor<?x64xf32> into tensor<?xf32>
// CHECK: %[[Y:.+]] = tensor.expand_shape %[[FLAT]] {{\[\[}}0, 1, 2]] output_shape [%[[M]], 4, %[[N]]] : tensor<?xf32> into tensor<?x4x?xf32>
// CHECK: return %[[Y]]
func.func @sizes(%x: tensor<?x64xf32>, %m: index, %n: index) -> tensor<?x4x?xf32> {
  %c4 = arith.constant 4 : index
  %shape = tensor.from_elements %m, %c4, %n : tensor<3xindex>
  %y = tensor.reshape %x(%shape) : (tensor<?x64xf32>, tensor<3xindex>) -> tensor<?x4x?xf32>
  return %y : tensor<?x4x?xf32>
}

// A shape of other integers that no op tells, of a static tensor: its vector loses its size.
// CHECK-LABEL: func.func @read
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3xbf16>, %[[SHAPE:[a-z0-9]+]]: tensor<2xi32>
// CHECK: %[[FLAT:.+]] = tensor.collapse_shape %[[X]] {{\[\[}}0, 1]] : tensor<2x3xbf16> into tensor<6xbf16>
// CHECK: %[[ANY:.+]] = tensor.cast %[[FLAT]] : tensor<6xbf16> to tensor<?xbf16>
// CHECK: %[[C1:.+]] = arith.constant 1 : index
// CHECK: %[[I:.+]] = tensor.extract %[[SHAPE]][%[[C1]]]
// CHECK: %[[N:.+]] = arith.index_cast %[[I]] : i32 to index
// CHECK: tensor.expand_shape %[[ANY]] {{\[\[}}0, 1]] output_shape [3, %[[N]]] : tensor<?xbf16> into tensor<3x?xbf16>
func.func @read(%x: tensor<2x3xbf16>, %shape: tensor<2xi32>) -> tensor<3x?xbf16> {
  %y = tensor.reshape %x(%shape) : (tensor<2x3xbf16>, tensor<2xi32>) -> tensor<3x?xbf16>
  return %y : tensor<3x?xbf16>
}

// To a static shape, to a vector, and from and to one number.
// CHECK-LABEL: func.func @others
// CHECK: %[[A:.+]] = tensor.collapse_shape %{{.+}} {{\[\[}}0, 1]] : tensor<?x4xf32> into tensor<?xf32>
// CHECK: %[[B:.+]] = tensor.cast %[[A]] : tensor<?xf32> to tensor<8xf32>
// CHECK: %[[STATIC:.+]] = tensor.expand_shape %[[B]] {{\[\[}}0, 1]] output_shape [4, 2] : tensor<8xf32> into tensor<4x2xf32>
// CHECK: %[[VECTOR:.+]] = tensor.collapse_shape %{{.+}} {{\[\[}}0, 1]] : tensor<?x4xf32> into tensor<?xf32>
// CHECK: %[[C:.+]] = tensor.expand_shape %{{.+}} [] output_shape [1] : tensor<f32> into tensor<1xf32>
// CHECK: %[[D:.+]] = tensor.expand_shape %[[C]] {{\[\[}}0, 1]] output_shape [1, 1] : tensor<1xf32> into tensor<1x1xf32>
// CHECK: %[[E:.+]] = tensor.cast %{{.+}} : tensor<?xf32> to tensor<1xf32>
// CHECK: %[[F:.+]] = tensor.collapse_shape %[[E]] [] : tensor<1xf32> into tensor<f32>
// CHECK: return %[[STATIC]], %[[VECTOR]], %[[D]], %[[F]]
func.func @others(%x: tensor<?x4xf32>, %s: tensor<f32>, %v: tensor<?xf32>, %two: tensor<2xindex>, %one: tensor<1xindex>, %none: tensor<0xindex>) -> (tensor<4x2xf32>, tensor<?xf32>, tensor<1x1xf32>, tensor<f32>) {
  %0 = tensor.reshape %x(%two) : (tensor<?x4xf32>, tensor<2xindex>) -> tensor<4x2xf32>
  %1 = tensor.reshape %x(%one) : (tensor<?x4xf32>, tensor<1xindex>) -> tensor<?xf32>
  %2 = tensor.reshape %s(%two) : (tensor<f32>, tensor<2xindex>) -> tensor<1x1xf32>
  %3 = tensor.reshape %v(%none) : (tensor<?xf32>, tensor<0xindex>) -> tensor<f32>
  return %0, %1, %2, %3 : tensor<4x2xf32>, tensor<?xf32>, tensor<1x1xf32>, tensor<f32>
}

// A tensor of a rank that nothing knows is left.
// CHECK-LABEL: func.func @unranked
// CHECK: tensor.reshape
func.func @unranked(%x: tensor<*xf32>, %shape: tensor<2xindex>) -> tensor<?x?xf32> {
  %y = tensor.reshape %x(%shape) : (tensor<*xf32>, tensor<2xindex>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
