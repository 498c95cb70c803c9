// RUN: blockscale-opt %s -canonicalize | FileCheck %s

#prepacked = #blockscale.data_layout<fragments_64x64>

// There and back.
// CHECK-LABEL: func.func @row_major_pair
// CHECK-SAME: %[[D:.+]]: tensor<2x40x70xf4E2M1FN>
func.func @row_major_pair(%d: tensor<2x40x70xf4E2M1FN>) -> tensor<2x40x70xf4E2M1FN> {
  // CHECK-NOT: blockscale.prepack
  %0 = blockscale.prepack %d : tensor<2x40x70xf4E2M1FN> -> tensor<2x40x70xf4E2M1FN, #prepacked>
  %1 = blockscale.prepack %0 : tensor<2x40x70xf4E2M1FN, #prepacked> -> tensor<2x40x70xf4E2M1FN>
  // CHECK: return %[[D]]
  return %1 : tensor<2x40x70xf4E2M1FN>
}

// Back and there.
// CHECK-LABEL: func.func @prepacked_pair
// CHECK-SAME: %[[D:[a-z0-9]+]]: tensor<?x?xi8, #prepacked>
func.func @prepacked_pair(%d: tensor<?x?xi8, #prepacked>, %r: index, %c: index) -> tensor<?x?xi8, #prepacked> {
  // CHECK-NOT: blockscale.prepack
  %0 = blockscale.prepack %d sizes(%r, %c) : tensor<?x?xi8, #prepacked> -> tensor<?x?xi8>
  %1 = blockscale.prepack %0 : tensor<?x?xi8> -> tensor<?x?xi8, #prepacked>
  // CHECK: return %[[D]]
  return %1 : tensor<?x?xi8, #prepacked>
}

// CHECK-LABEL: func.func @same_type
// CHECK-SAME: %[[D:.+]]: tensor<4x4xf8E5M2, #prepacked>
func.func @same_type(%d: tensor<4x4xf8E5M2, #prepacked>) -> tensor<4x4xf8E5M2, #prepacked> {
  // CHECK-NOT: blockscale.prepack
  %0 = blockscale.prepack %d : tensor<4x4xf8E5M2, #prepacked> -> tensor<4x4xf8E5M2, #prepacked>
  // CHECK: return %[[D]]
  return %0 : tensor<4x4xf8E5M2, #prepacked>
}

// The ends of the pair have different static shapes.
// CHECK-LABEL: func.func @shape_changes
func.func @shape_changes(%d: tensor<?x4xf8E5M2>) -> tensor<4x4xf8E5M2> {
  // CHECK-COUNT-2: blockscale.prepack
  %0 = blockscale.prepack %d : tensor<?x4xf8E5M2> -> tensor<?x4xf8E5M2, #prepacked>
  %1 = blockscale.prepack %0 : tensor<?x4xf8E5M2, #prepacked> -> tensor<4x4xf8E5M2>
  return %1 : tensor<4x4xf8E5M2>
}
