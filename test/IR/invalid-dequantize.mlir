// RUN: blockscale-opt %s -split-input-file -verify-diagnostics

func.func @dequantize_c1_rank(%q: tensor<64xf4E2M1FN>, %s: tensor<4xf8E4M3FN>) {
  // expected-error @below {{expected data to have rank 2 or more, but got rank 1}}
  %0 = blockscale.dequantize %q, %s block [1, 16]
      : tensor<64xf4E2M1FN>, tensor<4xf8E4M3FN> -> tensor<64xf32>
  return
}

// -----

func.func @dequantize_c1_encoding(%q: tensor<4x64xf4E2M1FN, "sparse">, %s: tensor<4x4xf8E4M3FN>) {
  // expected-error @below {{expected data to have no encoding, but got "sparse"}}
  %0 = blockscale.dequantize %q, %s block [1, 16]
      : tensor<4x64xf4E2M1FN, "sparse">, tensor<4x4xf8E4M3FN> -> tensor<4x64xf32>
  return
}

// -----

func.func @dequantize_c2_block(%q: tensor<4x64xf4E2M1FN>, %s: tensor<4x4xf8E4M3FN>) {
  // expected-error @below {{expected block [1, 16], [16, 1] or [16, 16] with 'f8E4M3FN' scales, but got [4, 16]}}
  %0 = blockscale.dequantize %q, %s block [4, 16]
      : tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN> -> tensor<4x64xf32>
  return
}

// -----

func.func @dequantize_c2_block_short(%q: tensor<4x64xf4E2M1FN>, %s: tensor<4x4xf8E4M3FN>) {
  // expected-error @below {{expected block [1, 16], [16, 1] or [16, 16] with 'f8E4M3FN' scales, but got [16]}}
  %0 = blockscale.dequantize %q, %s block [16]
      : tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN> -> tensor<4x64xf32>
  return
}

// -----

func.func @dequantize_c2_data(%q: tensor<4x64xf8E5M2>, %s: tensor<4x4xf8E4M3FN>) {
  // expected-error @below {{expected f4E2M1FN data with f8E4M3FN scales (NVFP4), but got 'f8E5M2'}}
  %0 = blockscale.dequantize %q, %s block [1, 16]
      : tensor<4x64xf8E5M2>, tensor<4x4xf8E4M3FN> -> tensor<4x64xf32>
  return
}

// -----

func.func @dequantize_c3(%q: tensor<4x64xf8E5M2>, %s: tensor<4x2xf8E8M0FNU>) {
  // expected-error @below {{expected an MX recipe (floor, rceil, rceil_sat, ceil, even, tosa, compressed_tensors) with f8E8M0FNU scales, but got torchao}}
  %0 = blockscale.dequantize %q, %s block [1, 32] recipe torchao
      : tensor<4x64xf8E5M2>, tensor<4x2xf8E8M0FNU> -> tensor<4x64xf32>
  return
}

// -----

func.func @dequantize_c3_elements(%q: tensor<4x64xf6E3M2FN>, %s: tensor<4x2xf8E8M0FNU>) {
  // expected-error @below {{expected data of e2m1, e2m3, e4m3 with recipe compressed_tensors and f8E8M0FNU scales, but got f6E3M2FN}}
  %0 = blockscale.dequantize %q, %s block [1, 32] recipe compressed_tensors
      : tensor<4x64xf6E3M2FN>, tensor<4x2xf8E8M0FNU> -> tensor<4x64xf32>
  return
}

// -----

func.func @dequantize_c6_input(%q: tensor<4x64xf4E2M1FN>, %s: tensor<4x4xf8E4M3FN>, %a: f32) {
  // expected-error @below {{expected global_scale with recipe compressed_tensors, which derives the global scale by the type of what was quantized, but got global_amax}}
  %0 = blockscale.dequantize %q, %s block [1, 16] recipe compressed_tensors global_amax(%a : f32)
      : tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN> -> tensor<4x64xf32>
  return
}

// -----

func.func @dequantize_c4_shape(%q: tensor<4x64xf4E2M1FN>, %s: tensor<4x4xf8E4M3FN>) {
  // expected-error @below {{expected the result to have shape 4x64, but got 4x32}}
  %0 = blockscale.dequantize %q, %s block [1, 16]
      : tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN> -> tensor<4x32xf32>
  return
}

// -----

func.func @dequantize_c4_encoding(%q: tensor<4x64xf4E2M1FN>, %s: tensor<4x4xf8E4M3FN>) {
  // expected-error @below {{expected the result to have no encoding, but got "sparse"}}
  %0 = blockscale.dequantize %q, %s block [1, 16]
      : tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN> -> tensor<4x64xf32, "sparse">
  return
}

// -----

func.func @dequantize_c5(%q: tensor<4x40xf4E2M1FN>, %s: tensor<4x2xf8E4M3FN>) {
  // expected-error @below {{expected scale to have shape 4x3, but got 4x2}}
  %0 = blockscale.dequantize %q, %s block [1, 16] recipe te
      : tensor<4x40xf4E2M1FN>, tensor<4x2xf8E4M3FN> -> tensor<4x40xf32>
  return
}

// -----

func.func @dequantize_c5_columns(%q: tensor<64x64xf8E5M2>, %s: tensor<64x2xf8E8M0FNU>) {
  // expected-error @below {{expected scale to have shape 2x64, but got 64x2}}
  %0 = blockscale.dequantize %q, %s block [32, 1]
      : tensor<64x64xf8E5M2>, tensor<64x2xf8E8M0FNU> -> tensor<64x64xf32>
  return
}

// -----

// Expanded scales are for products.
func.func @dequantize_c5_square(%q: tensor<64x64xf8E5M2>, %s: tensor<64x2xf8E8M0FNU>) {
  // expected-error @below {{expected scale to have shape 2x2, but got 64x2}}
  %0 = blockscale.dequantize %q, %s block [32, 32]
      : tensor<64x64xf8E5M2>, tensor<64x2xf8E8M0FNU> -> tensor<64x64xf32>
  return
}

// -----

func.func @dequantize_c6_both(%q: tensor<4x64xf4E2M1FN>, %s: tensor<4x4xf8E4M3FN>, %g: f32) {
  // expected-error @below {{expected at most one of global_scale and global_amax, but got both}}
  %0 = blockscale.dequantize %q, %s block [1, 16] global_scale(%g : f32) global_amax(%g : f32)
      : tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN> -> tensor<4x64xf32>
  return
}

// -----

func.func @dequantize_c6_mx(%q: tensor<4x64xf4E2M1FN>, %s: tensor<4x2xf8E8M0FNU>, %g: f32) {
  // expected-error @below {{expected global_scale only with f8E4M3FN scales (NVFP4), but the scales are f8E8M0FNU}}
  %0 = blockscale.dequantize %q, %s block [1, 32] global_scale(%g : f32)
      : tensor<4x64xf4E2M1FN>, tensor<4x2xf8E8M0FNU> -> tensor<4x64xf32>
  return
}

// -----

func.func @dequantize_c7_rows(%q: tensor<2x4x64xf4E2M1FN>, %s: tensor<2x4x4xf8E4M3FN>, %g: tensor<2x1xf32>) {
  // expected-error @below {{expected global_scale to have shape 2x4, but got 2x1}}
  %0 = blockscale.dequantize %q, %s block [1, 16] global_scale(%g : tensor<2x1xf32>)
      : tensor<2x4x64xf4E2M1FN>, tensor<2x4x4xf8E4M3FN> -> tensor<2x4x64xf32>
  return
}

// -----

func.func @dequantize_c7_batch(%q: tensor<2x4x64xf4E2M1FN>, %s: tensor<2x4x4xf8E4M3FN>, %g: tensor<4xf32>) {
  // expected-error @below {{expected global_amax to have shape 2, but got 4}}
  %0 = blockscale.dequantize %q, %s block [1, 16] global_amax(%g : tensor<4xf32>)
      : tensor<2x4x64xf4E2M1FN>, tensor<2x4x4xf8E4M3FN> -> tensor<2x4x64xf32>
  return
}

// -----

func.func @dequantize_c7_rank(%q: tensor<2x4x64xf4E2M1FN>, %s: tensor<2x4x4xf8E4M3FN>, %g: tensor<2x4x1xf32>) {
  // expected-error @below {{expected global_scale to be a scalar, have shape 2, have shape 2x4, or have rank 0, but got shape 2x4x1}}
  %0 = blockscale.dequantize %q, %s block [1, 16] global_scale(%g : tensor<2x4x1xf32>)
      : tensor<2x4x64xf4E2M1FN>, tensor<2x4x4xf8E4M3FN> -> tensor<2x4x64xf32>
  return
}

// -----

func.func @dequantize_c7_square(%q: tensor<16x64xf4E2M1FN>, %s: tensor<1x4xf8E4M3FN>, %g: tensor<16xf32>) {
  // expected-error @below {{expected blocks of one row with a global value a row, but got [16, 16]}}
  %0 = blockscale.dequantize %q, %s block [16, 16] global_scale(%g : tensor<16xf32>)
      : tensor<16x64xf4E2M1FN>, tensor<1x4xf8E4M3FN> -> tensor<16x64xf32>
  return
}

// -----

#grouped = #blockscale.layout<swizzle_128x4, groups = 1, dim = 1>
func.func @dequantize_c8_grouped(%q: tensor<4x64xf4E2M1FN>, %s: tensor<4x4xf8E4M3FN, #grouped>) {
  // expected-error @below {{expected scale to have no grouped layout, but got #blockscale.layout<swizzle_128x4, groups = 1, dim = 1>}}
  %0 = blockscale.dequantize %q, %s block [1, 16]
      : tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN, #grouped> -> tensor<4x64xf32>
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>
func.func @dequantize_c8_square(%q: tensor<64x64xf8E5M2>, %s: tensor<2x2xf8E8M0FNU, #swizzled>) {
  // expected-error @below {{expected linear scales of blocks of several rows, but got #blockscale.layout<swizzle_128x4>}}
  %0 = blockscale.dequantize %q, %s block [32, 32]
      : tensor<64x64xf8E5M2>, tensor<2x2xf8E8M0FNU, #swizzled> -> tensor<64x64xf32>
  return
}

// -----

func.func @dequantize_c9(%q: tensor<4x40xf4E2M1FN>, %s: tensor<4x3xf8E4M3FN>) {
  // expected-error @below {{expected the last dimension of data to be a multiple of 16, but got 40}}
  %0 = blockscale.dequantize %q, %s block [1, 16]
      : tensor<4x40xf4E2M1FN>, tensor<4x3xf8E4M3FN> -> tensor<4x40xf32>
  return
}

// -----

func.func @dequantize_c9_rows(%q: tensor<40x4xf8E5M2>, %s: tensor<2x4xf8E8M0FNU>) {
  // expected-error @below {{expected the second-to-last dimension of data to be a multiple of 32, but got 40}}
  %0 = blockscale.dequantize %q, %s block [32, 1]
      : tensor<40x4xf8E5M2>, tensor<2x4xf8E8M0FNU> -> tensor<40x4xf32>
  return
}
