// RUN: blockscale-opt %s -blockscale-verify-layout -blockscale-materialize-storage | FileCheck %s

// Packed data are reshaped as bytes.

// Rows end in whole bytes, so that they are counted in any way.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<2x?x5xi8>
// CHECK: tensor.collapse_shape %[[Q]] {{\[\[}}0, 1], [2]] : tensor<2x?x5xi8> into tensor<?x5xi8>
func.func @rows(%q: tensor<2x?x9xf4E2M1FN>) -> tensor<?x9xf4E2M1FN> {
  %0 = tensor.collapse_shape %q [[0, 1], [2]] : tensor<2x?x9xf4E2M1FN> into tensor<?x9xf4E2M1FN>
  return %0 : tensor<?x9xf4E2M1FN>
}

// Blocks of an even size are whole bytes.
// CHECK-LABEL: func.func @blocks
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<4x?x16xi8>
// CHECK: tensor.collapse_shape %[[Q]] {{\[\[}}0], [1, 2]] : tensor<4x?x16xi8> into tensor<4x?xi8>
func.func @blocks(%q: tensor<4x?x32xf4E2M1FN>) -> tensor<4x?xf4E2M1FN> {
  %0 = tensor.collapse_shape %q [[0], [1, 2]] : tensor<4x?x32xf4E2M1FN> into tensor<4x?xf4E2M1FN>
  return %0 : tensor<4x?xf4E2M1FN>
}

// The other way, sizes of the result are those of the storage.
// CHECK-LABEL: func.func @split
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x32xi8>, %[[M:[a-z0-9]+]]: index, %[[R:[a-z0-9]+]]: tensor<4x64xi8>
// CHECK: tensor.expand_shape %[[Q]] {{\[\[}}0, 1], [2, 3]] output_shape [2, %[[M]], 2, 16] : tensor<?x32xi8> into tensor<2x?x2x16xi8>
// CHECK: tensor.expand_shape %[[R]] {{\[\[}}0, 1], [2]] output_shape [2, 2, 64] : tensor<4x64xi8> into tensor<2x2x64xi8>
func.func @split(%q: tensor<?x64xf4E2M1FN>, %m: index, %r: tensor<4x64xf6E2M3FN>) -> (tensor<2x?x2x32xf4E2M1FN>, tensor<2x2x64xf6E2M3FN>) {
  %0 = tensor.expand_shape %q [[0, 1], [2, 3]] output_shape [2, %m, 2, 32] : tensor<?x64xf4E2M1FN> into tensor<2x?x2x32xf4E2M1FN>
  %1 = tensor.expand_shape %r [[0, 1], [2]] output_shape [2, 2, 64] : tensor<4x64xf6E2M3FN> into tensor<2x2x64xf6E2M3FN>
  return %0, %1 : tensor<2x?x2x32xf4E2M1FN>, tensor<2x2x64xf6E2M3FN>
}
