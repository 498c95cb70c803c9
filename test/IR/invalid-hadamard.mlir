// RUN: blockscale-opt %s -split-input-file -verify-diagnostics

func.func @hadamard_c1_rank(%x: tensor<64xbf16>) {
  // expected-error @below {{expected x to have rank 2 or more, but got rank 1}}
  %0 = blockscale.hadamard %x dim 1 : tensor<64xbf16>
  return
}

// -----

func.func @hadamard_c1_encoding(%x: tensor<16x64xbf16, "sparse">) {
  // expected-error @below {{expected x to have no encoding, but got "sparse"}}
  %0 = blockscale.hadamard %x dim 1 : tensor<16x64xbf16, "sparse">
  return
}

// -----

func.func @hadamard_c2(%x: tensor<16x64xf32>) {
  // expected-error @below {{expected x to be bf16, for which the transform is defined, but got 'f32'}}
  %0 = blockscale.hadamard %x dim 1 : tensor<16x64xf32>
  return
}

// -----

// Dimensions are the matrix', whatever the rank.
func.func @hadamard_c3(%x: tensor<3x16x64xbf16>) {
  // expected-error @below {{expected dim to be 0 (down columns) or 1 (along rows), but got 2}}
  %0 = blockscale.hadamard %x dim 2 : tensor<3x16x64xbf16>
  return
}

// -----

func.func @hadamard_c3_negative(%x: tensor<16x64xbf16>) {
  // expected-error @below {{expected dim to be 0 (down columns) or 1 (along rows), but got -1}}
  %0 = blockscale.hadamard %x dim -1 : tensor<16x64xbf16>
  return
}

// -----

func.func @hadamard_c4_rows(%x: tensor<24x64xbf16>) {
  // expected-error @below {{expected the transformed dimension of x to be a multiple of 16, but got 24 in shape 24x64}}
  %0 = blockscale.hadamard %x dim 0 : tensor<24x64xbf16>
  return
}

// -----

func.func @hadamard_c4_columns(%x: tensor<3x24x40xbf16>) {
  // expected-error @below {{expected the transformed dimension of x to be a multiple of 16, but got 40 in shape 3x24x40}}
  %0 = blockscale.hadamard %x dim 1 : tensor<3x24x40xbf16>
  return
}

// -----

func.func @hadamard_c5(%x: tensor<16x64xbf16>) {
  // expected-error @below {{expected sign_mask to be 0 .. 65535, but got 65536}}
  %0 = blockscale.hadamard %x dim 1 sign_mask 65536 : tensor<16x64xbf16>
  return
}

// -----

func.func @hadamard_c5_negative(%x: tensor<16x64xbf16>) {
  // expected-error @below {{expected sign_mask to be 0 .. 65535, but got -1}}
  %0 = blockscale.hadamard %x dim 1 sign_mask -1 : tensor<16x64xbf16>
  return
}
