// The default mask is not printed.
func.func @dims(%x: tensor<2x32x?xbf16>) -> tensor<2x32x?xbf16> {
  %y = blockscale.hadamard %x dim 0 : tensor<2x32x?xbf16>
  %z = blockscale.hadamard %y dim 1 sign_mask 0 : tensor<2x32x?xbf16>
  %u = blockscale.hadamard %z dim 0 sign_mask 55272 : tensor<2x32x?xbf16>
  return %u : tensor<2x32x?xbf16>
}

// The plain transform is its own inverse, but each rounds to bf16: x does not
// come back.
func.func @twice(%x: tensor<16x16xbf16>) -> tensor<16x16xbf16> {
  // CANON: %[[Y:.+]] = blockscale.hadamard %[[X]] dim 1 sign_mask 0
  %y = blockscale.hadamard %x dim 1 sign_mask 0 : tensor<16x16xbf16>
  // CANON: %[[Z:.+]] = blockscale.hadamard %[[Y]] dim 1 sign_mask 0
  %z = blockscale.hadamard %y dim 1 sign_mask 0 : tensor<16x16xbf16>
  // CANON: return %[[Z]]
  return %z : tensor<16x16xbf16>
}

// Nor does the transform of both dimensions depend on their order only.
func.func @both_dims(%x: tensor<16x16xbf16>) -> tensor<16x16xbf16> {
  // CANON: blockscale.hadamard %{{.+}} dim 1
  // CANON: blockscale.hadamard %{{.+}} dim 0
  %y = blockscale.hadamard %x dim 1 : tensor<16x16xbf16>
  %z = blockscale.hadamard %y dim 0 : tensor<16x16xbf16>
  return %z : tensor<16x16xbf16>
}
