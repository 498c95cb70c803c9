// RUN: blockscale-opt %s -blockscale-verify-layout -blockscale-materialize-storage | FileCheck %s

// Pieces of packed data are joined as bytes.

// Whole bytes of a row; the last piece may end in one.
// CHECK-LABEL: func.func @columns
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<4x3xi8>, %[[R:[a-z0-9]+]]: tensor<4x2xi8>
func.func @columns(%q: tensor<4x6xf4E2M1FN>, %r: tensor<4x3xf4E2M1FN>) -> tensor<4x9xf4E2M1FN> {
  // CHECK: tensor.concat dim(1) %[[Q]], %[[R]] : (tensor<4x3xi8>, tensor<4x2xi8>) -> tensor<4x5xi8>
  %0 = tensor.concat dim(1) %q, %r : (tensor<4x6xf4E2M1FN>, tensor<4x3xf4E2M1FN>) -> tensor<4x9xf4E2M1FN>
  return %0 : tensor<4x9xf4E2M1FN>
}

// Rows end in whole bytes, whatever their length and number.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x5xi8>, %[[R:[a-z0-9]+]]: tensor<2x5xi8>
func.func @rows(%q: tensor<?x9xf4E2M1FN>, %r: tensor<2x9xf4E2M1FN>) -> tensor<?x9xf4E2M1FN> {
  // CHECK: tensor.concat dim(0) %[[Q]], %[[R]] : (tensor<?x5xi8>, tensor<2x5xi8>) -> tensor<?x5xi8>
  %0 = tensor.concat dim(0) %q, %r : (tensor<?x9xf4E2M1FN>, tensor<2x9xf4E2M1FN>) -> tensor<?x9xf4E2M1FN>
  return %0 : tensor<?x9xf4E2M1FN>
}
