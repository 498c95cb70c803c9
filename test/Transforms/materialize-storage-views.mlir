// RUN: blockscale-opt %s -blockscale-materialize-storage -split-input-file -verify-diagnostics | FileCheck %s

// A cast between a tensor and its storage form, as blockscale-lower-narrow-floats makes it, is
// the bytes themselves: pairs of f4, a byte of f6.
// CHECK-LABEL: func.func @bytes
// CHECK-SAME: %[[Q:.+]]: tensor<4x8xi8>, %[[P:.+]]: tensor<4x16xi8>
// CHECK-NEXT: return %[[Q]], %[[P]]
func.func @bytes(%q: tensor<4x15xf4E2M1FN>, %p: tensor<4x16xf6E2M3FN>) -> (tensor<4x8xi8>, tensor<4x16xi8>) {
  %b = builtin.unrealized_conversion_cast %q : tensor<4x15xf4E2M1FN> to tensor<4x8xi8>
  %c = builtin.unrealized_conversion_cast %p : tensor<4x16xf6E2M3FN> to tensor<4x16xi8>
  return %b, %c : tensor<4x8xi8>, tensor<4x16xi8>
}

// CHECK-LABEL: func.func @data
// CHECK-SAME: %[[B:.+]]: tensor<?x8xi8>
// CHECK-NEXT: return %[[B]] : tensor<?x8xi8>
func.func @data(%b: tensor<?x8xi8>) -> tensor<?x16xf4E2M1FN> {
  %q = builtin.unrealized_conversion_cast %b : tensor<?x8xi8> to tensor<?x16xf4E2M1FN>
  return %q : tensor<?x16xf4E2M1FN>
}

// -----

// Another cast would change what the bytes mean.
func.func @other(%q: tensor<4x16xf4E2M1FN>) -> tensor<4x16xi8> {
  // expected-error @below {{expected a cast between a type and its storage form, but got one from 'tensor<4x16xf4E2M1FN>' to 'tensor<4x16xi8>'}}
  %b = builtin.unrealized_conversion_cast %q : tensor<4x16xf4E2M1FN> to tensor<4x16xi8>
  return %b : tensor<4x16xi8>
}
