// RUN: blockscale-opt %s -split-input-file -verify-diagnostics

func.func @amax_c1_rank(%x: tensor<64xbf16>) {
  // expected-error @below {{expected x to have rank 2 or more, but got rank 1}}
  %0 = blockscale.amax %x : tensor<64xbf16> -> tensor<f32>
  return
}

// -----

func.func @amax_c1_encoding(%x: tensor<4x64xbf16, "sparse">) {
  // expected-error @below {{expected x to have no encoding, but got "sparse"}}
  %0 = blockscale.amax %x : tensor<4x64xbf16, "sparse"> -> tensor<f32>
  return
}

// -----

func.func @amax_c2_shape(%x: tensor<3x4x64xbf16>) {
  // expected-error @below {{expected the result to have shape 3, but got 4}}
  %0 = blockscale.amax %x : tensor<3x4x64xbf16> -> tensor<4xf32>
  return
}

// -----

func.func @amax_c2_encoding(%x: tensor<3x4x64xbf16>) {
  // expected-error @below {{expected the result to have no encoding, but got "sparse"}}
  %0 = blockscale.amax %x : tensor<3x4x64xbf16> -> tensor<3xf32, "sparse">
  return
}

// -----

// No recipe defines f16 input.
func.func @amax_f16(%x: tensor<4x64xf16>) {
  // expected-error @below {{operand #0 must be ranked tensor of bfloat16 type or 32-bit float values, but got 'tensor<4x64xf16>'}}
  %0 = blockscale.amax %x : tensor<4x64xf16> -> tensor<f32>
  return
}
