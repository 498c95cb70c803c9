// RUN: blockscale-opt %s -verify-roundtrip | FileCheck %s
// RUN: blockscale-opt %s -mlir-print-op-generic | blockscale-opt | FileCheck %s
// RUN: blockscale-opt %s -canonicalize | FileCheck %s --check-prefix=CANON

// The default mask is not printed.
// CHECK-LABEL: func.func @dims
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x32x?xbf16>
func.func @dims(%x: tensor<2x32x?xbf16>) -> tensor<2x32x?xbf16> {
  // CHECK: %[[Y:.+]] = blockscale.hadamard %[[X]] dim 0 : tensor<2x32x?xbf16>
  %y = blockscale.hadamard %x dim 0 : tensor<2x32x?xbf16>
  // CHECK: %[[Z:.+]] = blockscale.hadamard %[[Y]] dim 1 sign_mask 0 : tensor<2x32x?xbf16>
  %z = blockscale.hadamard %y dim 1 sign_mask 0 : tensor<2x32x?xbf16>
  // CHECK: blockscale.hadamard %[[Z]] dim 0 : tensor<2x32x?xbf16>
  %u = blockscale.hadamard %z dim 0 sign_mask 55272 : tensor<2x32x?xbf16>
  return %u : tensor<2x32x?xbf16>
}

// The plain transform is its own inverse, but each rounds to bf16: x does not
// come back.
// CANON-LABEL: func.func @twice
// CANON-SAME: %[[X:[a-z0-9]+]]: tensor<16x16xbf16>
func.func @twice(%x: tensor<16x16xbf16>) -> tensor<16x16xbf16> {
  // CANON: %[[Y:.+]] = blockscale.hadamard %[[X]] dim 1 sign_mask 0
  %y = blockscale.hadamard %x dim 1 sign_mask 0 : tensor<16x16xbf16>
  // CANON: %[[Z:.+]] = blockscale.hadamard %[[Y]] dim 1 sign_mask 0
  %z = blockscale.hadamard %y dim 1 sign_mask 0 : tensor<16x16xbf16>
  // CANON: return %[[Z]]
  return %z : tensor<16x16xbf16>
}

// Nor does the transform of both dimensions depend on their order only.
// CANON-LABEL: func.func @both_dims
func.func @both_dims(%x: tensor<16x16xbf16>) -> tensor<16x16xbf16> {
  // CANON: blockscale.hadamard %{{.+}} dim 1
  // CANON: blockscale.hadamard %{{.+}} dim 0
  %y = blockscale.hadamard %x dim 1 : tensor<16x16xbf16>
  %z = blockscale.hadamard %y dim 0 : tensor<16x16xbf16>
  return %z : tensor<16x16xbf16>
}
