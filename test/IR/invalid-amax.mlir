// RUN: blockscale-opt %s -split-input-file -verify-diagnostics

func.func @amax_parts_c1_rank(%x: tensor<64xbf16>) {
  // expected-error @below {{expected x to have rank 2 or more, but got rank 1}}
  %0 = blockscale.amax_parts %x : tensor<64xbf16> -> tensor<1x512xf32>
  return
}

// -----

func.func @amax_parts_c1_encoding(%x: tensor<4x64xbf16, "sparse">) {
  // expected-error @below {{expected x to have no encoding, but got "sparse"}}
  %0 = blockscale.amax_parts %x : tensor<4x64xbf16, "sparse"> -> tensor<1x512xf32>
  return
}

// -----

func.func @amax_parts_c2_multiple(%x: tensor<4x64xbf16>) {
  // expected-error @below {{expected the result to be a row of a multiple of 512 numbers, at most 8192, but got 'tensor<1x1000xf32>'}}
  %0 = blockscale.amax_parts %x : tensor<4x64xbf16> -> tensor<1x1000xf32>
  return
}

// -----

func.func @amax_parts_c2_most(%x: tensor<4x64xbf16>) {
  // expected-error @below {{at most 8192, but got 'tensor<1x8704xf32>'}}
  %0 = blockscale.amax_parts %x : tensor<4x64xbf16> -> tensor<1x8704xf32>
  return
}

// -----

func.func @amax_parts_c2_dynamic(%x: tensor<4x64xbf16>) {
  // expected-error @below {{expected the result to be a row of a multiple of 512 numbers, at most 8192, but got 'tensor<1x?xf32>'}}
  %0 = blockscale.amax_parts %x : tensor<4x64xbf16> -> tensor<1x?xf32>
  return
}

// -----

func.func @amax_parts_c2_rows(%x: tensor<4x64xbf16>) {
  // expected-error @below {{but got 'tensor<2x512xf32>'}}
  %0 = blockscale.amax_parts %x : tensor<4x64xbf16> -> tensor<2x512xf32>
  return
}

// -----

func.func @amax_parts_c2_encoding(%x: tensor<4x64xbf16>) {
  // expected-error @below {{but got 'tensor<1x512xf32, "sparse">'}}
  %0 = blockscale.amax_parts %x : tensor<4x64xbf16> -> tensor<1x512xf32, "sparse">
  return
}

// -----

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

func.func @amax_c2_batch(%x: tensor<3x4x64xbf16>) {
  // expected-error @below {{expected the result to have shape 3, but got 4}}
  %0 = blockscale.amax %x : tensor<3x4x64xbf16> -> tensor<4xf32>
  return
}

// -----

func.func @amax_c2_rows(%x: tensor<3x4x64xbf16>) {
  // expected-error @below {{expected the result to have shape 3x4, but got 3x64}}
  %0 = blockscale.amax %x : tensor<3x4x64xbf16> -> tensor<3x64xf32>
  return
}

// -----

func.func @amax_c2_rank(%x: tensor<3x4x64xbf16>) {
  // expected-error @below {{expected the result to have shape 3, have shape 3x4, or have rank 0, but got shape 3x4x1}}
  %0 = blockscale.amax %x : tensor<3x4x64xbf16> -> tensor<3x4x1xf32>
  return
}

// -----

func.func @amax_c2_encoding(%x: tensor<3x4x64xbf16>) {
  // expected-error @below {{expected the result to have no encoding, but got "sparse"}}
  %0 = blockscale.amax %x : tensor<3x4x64xbf16> -> tensor<3xf32, "sparse">
  return
}

// -----

func.func @amax_c3_batch(%x: tensor<3x4x64xbf16>, %ends: tensor<2xi32>) {
  // expected-error @below {{expected x to have rank 2 with offsets, but got rank 3}}
  %0 = blockscale.amax %x offsets(%ends : tensor<2xi32>) : tensor<3x4x64xbf16> -> tensor<2xf32>
  return
}

// -----

func.func @amax_c3_offsets(%x: tensor<4x64xbf16>, %ends: tensor<2x1xi32>) {
  // expected-error @below {{expected offsets to have rank 1, but got rank 2}}
  %0 = blockscale.amax %x offsets(%ends : tensor<2x1xi32>) : tensor<4x64xbf16> -> tensor<2xf32>
  return
}

// -----

// With groups one value is a group's, not a row's.
func.func @amax_c3_result(%x: tensor<4x64xbf16>, %ends: tensor<2xi32>) {
  // expected-error @below {{expected the result to have shape 2, but got 4}}
  %0 = blockscale.amax %x offsets(%ends : tensor<2xi32>) : tensor<4x64xbf16> -> tensor<4xf32>
  return
}

// -----

func.func @amax_c3_result_rank(%x: tensor<4x64xbf16>, %ends: tensor<2xi32>) {
  // expected-error @below {{expected the result to have shape 2, but got rank 0}}
  %0 = blockscale.amax %x offsets(%ends : tensor<2xi32>) : tensor<4x64xbf16> -> tensor<f32>
  return
}

// -----

func.func @amax_c4_dim(%x: tensor<4x64xbf16>, %ends: tensor<2xi32>) {
  // expected-error @below {{expected group_dim to be 0 (rows) or 1 (columns), but got 2}}
  %0 = blockscale.amax %x offsets(%ends : tensor<2xi32>) group_dim 2 : tensor<4x64xbf16> -> tensor<2xf32>
  return
}

// -----

func.func @amax_c4_no_offsets(%x: tensor<4x64xbf16>) {
  // expected-error @below {{expected group_dim to be 0 without offsets, but got 1}}
  %0 = blockscale.amax %x group_dim 1 : tensor<4x64xbf16> -> tensor<f32>
  return
}

// -----

// Recipes compute in f32, which does not have all values of f64.
func.func @amax_f64(%x: tensor<4x64xf64>) {
  // expected-error @below {{operand #0 must be ranked tensor of 16-bit float or bfloat16 type or 32-bit float values, but got 'tensor<4x64xf64>'}}
  %0 = blockscale.amax %x : tensor<4x64xf64> -> tensor<f32>
  return
}
