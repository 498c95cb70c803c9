// RUN: blockscale-opt %s -blockscale-materialize-storage | FileCheck %s

// Rows are joined and split as they are, beside bytes of two codes.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: %[[Q:.+]]: tensor<4x8x32xi8>
// CHECK: %[[C:.+]] = tensor.collapse_shape %[[Q]] {{\[}}[0, 1], [2]] : tensor<4x8x32xi8> into tensor<32x32xi8>
// CHECK: tensor.expand_shape %[[C]] {{\[}}[0, 1], [2]] output_shape [2, 16, 32] : tensor<32x32xi8> into tensor<2x16x32xi8>
func.func @rows(%q: tensor<4x8x64xf4E2M1FN>) -> tensor<2x16x64xf4E2M1FN> {
  %0 = tensor.collapse_shape %q [[0, 1], [2]] : tensor<4x8x64xf4E2M1FN> into tensor<32x64xf4E2M1FN>
  %1 = tensor.expand_shape %0 [[0, 1], [2]] output_shape [2, 16, 64] : tensor<32x64xf4E2M1FN> into tensor<2x16x64xf4E2M1FN>
  return %1 : tensor<2x16x64xf4E2M1FN>
}

// An odd last dimension stays, and a dimension of size 1 comes and goes beside it.
// CHECK-LABEL: func.func @odd
// CHECK-SAME: %[[Q:.+]]: tensor<4x8x5xi8>, %[[V:.+]]: tensor<5xi8>
// CHECK: tensor.collapse_shape %[[Q]] {{\[}}[0, 1], [2]] : tensor<4x8x5xi8> into tensor<32x5xi8>
// CHECK: tensor.expand_shape %[[V]] {{\[}}[0, 1]] output_shape [1, 5] : tensor<5xi8> into tensor<1x5xi8>
func.func @odd(%q: tensor<4x8x9xf4E2M1FN>, %v: tensor<9xf4E2M1FN>) -> (tensor<32x9xf4E2M1FN>, tensor<1x9xf4E2M1FN>) {
  %0 = tensor.collapse_shape %q [[0, 1], [2]] : tensor<4x8x9xf4E2M1FN> into tensor<32x9xf4E2M1FN>
  %1 = tensor.expand_shape %v [[0, 1]] output_shape [1, 9] : tensor<9xf4E2M1FN> into tensor<1x9xf4E2M1FN>
  return %0, %1 : tensor<32x9xf4E2M1FN>, tensor<1x9xf4E2M1FN>
}

// Rows of an even length follow each other without a gap.
// CHECK-LABEL: func.func @even
// CHECK: tensor.collapse_shape %{{.+}} {{\[}}[0, 1]] : tensor<4x8xi8> into tensor<32xi8>
func.func @even(%q: tensor<4x16xf4E2M1FN>) -> tensor<64xf4E2M1FN> {
  %0 = tensor.collapse_shape %q [[0, 1]] : tensor<4x16xf4E2M1FN> into tensor<64xf4E2M1FN>
  return %0 : tensor<64xf4E2M1FN>
}

// Sizes that only the run time knows: the last one counts bytes.
// CHECK-LABEL: func.func @dynamic
// CHECK-SAME: %[[Q:.+]]: tensor<?x?xi8>, %[[N:.+]]: index, %[[K:.+]]: index
// CHECK: %[[B:.+]] = affine.apply #{{.+}}()[%[[K]]]
// CHECK: tensor.expand_shape %[[Q]] {{\[}}[0, 1], [2]] output_shape [%[[N]], 8, %[[B]]] : tensor<?x?xi8> into tensor<?x8x?xi8>
func.func @dynamic(%q: tensor<?x?xf4E2M1FN>, %n: index, %k: index) -> tensor<?x8x?xf4E2M1FN> {
  %0 = tensor.expand_shape %q [[0, 1], [2]] output_shape [%n, 8, %k] : tensor<?x?xf4E2M1FN> into tensor<?x8x?xf4E2M1FN>
  return %0 : tensor<?x8x?xf4E2M1FN>
}

// Codes of six bits have a byte each, whose dimensions are those of the codes.
// CHECK-LABEL: func.func @six_bits
// CHECK: tensor.collapse_shape %{{.+}} {{\[}}[0, 1]] : tensor<?x3xi8> into tensor<?xi8>
func.func @six_bits(%q: tensor<?x3xf6E2M3FN>) -> tensor<?xf6E2M3FN> {
  %0 = tensor.collapse_shape %q [[0, 1]] : tensor<?x3xf6E2M3FN> into tensor<?xf6E2M3FN>
  return %0 : tensor<?xf6E2M3FN>
}

// Blocks of an even size are whole bytes.
// CHECK-LABEL: func.func @blocks
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<4x?x16xi8>
// CHECK: tensor.collapse_shape %[[Q]] {{\[}}[0], [1, 2]] : tensor<4x?x16xi8> into tensor<4x?xi8>
func.func @blocks(%q: tensor<4x?x32xf4E2M1FN>) -> tensor<4x?xf4E2M1FN> {
  %0 = tensor.collapse_shape %q [[0], [1, 2]] : tensor<4x?x32xf4E2M1FN> into tensor<4x?xf4E2M1FN>
  return %0 : tensor<4x?xf4E2M1FN>
}

// The other way, sizes of the result are those of the storage.
// CHECK-LABEL: func.func @split
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x32xi8>, %[[M:[a-z0-9]+]]: index, %[[R:[a-z0-9]+]]: tensor<4x64xi8>
// CHECK: tensor.expand_shape %[[Q]] {{\[}}[0, 1], [2, 3]] output_shape [2, %[[M]], 2, 16] : tensor<?x32xi8> into tensor<2x?x2x16xi8>
// CHECK: tensor.expand_shape %[[R]] {{\[}}[0, 1], [2]] output_shape [2, 2, 64] : tensor<4x64xi8> into tensor<2x2x64xi8>
func.func @split(%q: tensor<?x64xf4E2M1FN>, %m: index, %r: tensor<4x64xf6E2M3FN>) -> (tensor<2x?x2x32xf4E2M1FN>, tensor<2x2x64xf6E2M3FN>) {
  %0 = tensor.expand_shape %q [[0, 1], [2, 3]] output_shape [2, %m, 2, 32] : tensor<?x64xf4E2M1FN> into tensor<2x?x2x32xf4E2M1FN>
  %1 = tensor.expand_shape %r [[0, 1], [2]] output_shape [2, 2, 64] : tensor<4x64xf6E2M3FN> into tensor<2x2x64xf6E2M3FN>
  return %0, %1 : tensor<2x?x2x32xf4E2M1FN>, tensor<2x2x64xf6E2M3FN>
}
