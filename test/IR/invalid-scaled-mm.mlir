// RUN: blockscale-opt %s -split-input-file -verify-diagnostics

func.func @scaled_mm_c1_rank(%a: tensor<64xf4E2M1FN>, %b: tensor<16x64xf4E2M1FN>, %sa: tensor<4xf8E4M3FN>, %sb: tensor<16x4xf8E4M3FN>) {
  // expected-error @below {{expected a to have rank 2 or more, but got rank 1}}
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      : tensor<64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<16xf32>
  return
}

// -----

func.func @scaled_mm_c1_same_rank(%a: tensor<2x8x64xf4E2M1FN>, %b: tensor<16x64xf4E2M1FN>, %sa: tensor<2x8x4xf8E4M3FN>, %sb: tensor<16x4xf8E4M3FN>) {
  // expected-error @below {{expected the leading dimensions of b to have shape 2, but got rank 0}}
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      : tensor<2x8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<2x8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<2x8x16xf32>
  return
}

// -----

func.func @scaled_mm_c1_batch(%a: tensor<2x8x64xf4E2M1FN>, %b: tensor<3x16x64xf4E2M1FN>, %sa: tensor<2x8x4xf8E4M3FN>, %sb: tensor<3x16x4xf8E4M3FN>) {
  // expected-error @below {{expected the leading dimensions of b to have shape 2, but got 3}}
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      : tensor<2x8x64xf4E2M1FN>, tensor<3x16x64xf4E2M1FN>, tensor<2x8x4xf8E4M3FN>, tensor<3x16x4xf8E4M3FN> -> tensor<2x8x16xf32>
  return
}

// -----

func.func @scaled_mm_c1_encoding(%a: tensor<8x64xf4E2M1FN>, %b: tensor<16x64xf4E2M1FN, "sparse">, %sa: tensor<8x4xf8E4M3FN>, %sb: tensor<16x4xf8E4M3FN>) {
  // expected-error @below {{expected b to have no encoding, but got "sparse"}}
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN, "sparse">, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_mm_c2(%a: tensor<8x64xf4E2M1FN>, %b: tensor<16x32xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %sb: tensor<16x2xf8E4M3FN>) {
  // expected-error @below {{expected the last dimension of b to be that of a, 64, but got 32}}
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      : tensor<8x64xf4E2M1FN>, tensor<16x32xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x2xf8E4M3FN> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_mm_c3_scales(%a: tensor<8x64xf4E2M1FN>, %b: tensor<16x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %sb: tensor<16x2xf8E8M0FNU>) {
  // expected-error @below {{expected both operands to have the same scale element type, but got 'f8E4M3FN' and 'f8E8M0FNU'}}
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x2xf8E8M0FNU> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_mm_c3_block(%a: tensor<8x64xf4E2M1FN>, %b: tensor<16x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %sb: tensor<16x4xf8E4M3FN>) {
  // expected-error @below {{expected block [1, 16] with 'f8E4M3FN' scales, but got [1, 32]}}
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 32]
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_mm_c3_data(%a: tensor<8x64xf4E2M1FN>, %b: tensor<16x64xf8E5M2>, %sa: tensor<8x4xf8E4M3FN>, %sb: tensor<16x4xf8E4M3FN>) {
  // expected-error @below {{expected f4E2M1FN data with f8E4M3FN scales (NVFP4), but got 'f8E5M2'}}
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf8E5M2>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_mm_c3_plain_types(%a: tensor<8x64xbf16>, %b: tensor<16x64xf16>) {
  // expected-error @below {{expected operands without scales to be both bf16 or both f16, but got 'bf16' and 'f16'}}
  %0 = blockscale.scaled_mm %a, %b scales(none, none) block [1, 16]
      : tensor<8x64xbf16>, tensor<16x64xf16> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_mm_c3_plain_codes(%a: tensor<8x64xf8E4M3FN>, %b: tensor<16x64xf8E4M3FN>) {
  // expected-error @below {{expected operands without scales to be both bf16 or both f16, but got 'f8E4M3FN' and 'f8E4M3FN'}}
  %0 = blockscale.scaled_mm %a, %b scales(none, none) block [1, 16]
      : tensor<8x64xf8E4M3FN>, tensor<16x64xf8E4M3FN> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_mm_c5_plain(%a: tensor<8x40xbf16>, %b: tensor<16x40xbf16>) {
  // expected-error @below {{expected the last dimension of a to be a multiple of 16, but got 40}}
  %0 = blockscale.scaled_mm %a, %b scales(none, none) block [1, 16]
      : tensor<8x40xbf16>, tensor<16x40xbf16> -> tensor<8x16xf32>
  return
}

// -----

// Two plain operands may have the global scales of what was decoded, in their shapes.
func.func @scaled_mm_c7_two_plain(%a: tensor<8x64xbf16>, %b: tensor<64x16xbf16>, %g: tensor<64xf32>) {
  // expected-error @below {{expected global_scale_b to have shape 16, but got 64}}
  %0 = blockscale.scaled_mm %a, %b mn_major_b scales(none, none) block [1, 16] global_scale_b(%g : tensor<64xf32>)
      : tensor<8x64xbf16>, tensor<64x16xbf16> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_mm_c3_plain_block(%a: tensor<8x64xbf16>, %b: tensor<16x64xbf16>) {
  // expected-error @below {{expected block to be [1, 16] where no operand has scales, but got [1, 32]}}
  %0 = blockscale.scaled_mm %a, %b scales(none, none) block [1, 32]
      : tensor<8x64xbf16>, tensor<16x64xbf16> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_mm_c3_codes_without_scales(%a: tensor<8x64xf4E2M1FN>, %b: tensor<16x64xf4E2M1FN>, %sb: tensor<16x4xf8E4M3FN>) {
  // expected-error @below {{expected a, which has no scales, to be bf16 or f16 beside 'f8E4M3FN' scales, but got 'f4E2M1FN'}}
  %0 = blockscale.scaled_mm %a, %b scales(none, %sb) block [1, 16]
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_mm_c3_f16_beside_mx(%a: tensor<8x64xf8E4M3FN>, %b: tensor<16x64xf16>, %sa: tensor<8x2xf8E8M0FNU>) {
  // expected-error @below {{expected b, which has no scales, to be bf16 beside 'f8E8M0FNU' scales, but got 'f16', which does not hold the range of MX values}}
  %0 = blockscale.scaled_mm %a, %b scales(%sa, none) block [1, 32]
      : tensor<8x64xf8E4M3FN>, tensor<16x64xf16>, tensor<8x2xf8E8M0FNU> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_mm_c3_plain_with_scales(%a: tensor<8x64xbf16>, %b: tensor<16x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %sb: tensor<16x4xf8E4M3FN>) {
  // expected-error @below {{expected a to have no scales, as it is plain 'bf16', but got scale_a}}
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      : tensor<8x64xbf16>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_mm_c3_format_beside_plain(%a: tensor<8x64xbf16>, %b: tensor<16x64xf8E4M3FN>, %sb: tensor<16x4xf8E4M3FN>) {
  // expected-error @below {{expected f4E2M1FN data with f8E4M3FN scales (NVFP4), but got 'f8E4M3FN'}}
  %0 = blockscale.scaled_mm %a, %b scales(none, %sb) block [1, 16]
      : tensor<8x64xbf16>, tensor<16x64xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_mm_c4_beside_plain(%a: tensor<8x64xbf16>, %b: tensor<16x64xf4E2M1FN>, %sb: tensor<16x2xf8E4M3FN>) {
  // expected-error @below {{expected scale_b to have shape 16x4, but got 16x2}}
  %0 = blockscale.scaled_mm %a, %b scales(none, %sb) block [1, 16]
      : tensor<8x64xbf16>, tensor<16x64xf4E2M1FN>, tensor<16x2xf8E4M3FN> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_mm_c7_plain(%a: tensor<8x64xbf16>, %b: tensor<16x64xf8E4M3FN>, %sb: tensor<16x2xf8E8M0FNU>, %g: f32) {
  // expected-error @below {{expected global_scale_a only with f8E4M3FN scales (NVFP4), but the scales are f8E8M0FNU}}
  %0 = blockscale.scaled_mm %a, %b scales(none, %sb) block [1, 32] global_scale_a(%g : f32)
      : tensor<8x64xbf16>, tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_mm_c4_a(%a: tensor<8x64xf4E2M1FN>, %b: tensor<16x64xf4E2M1FN>, %sa: tensor<4x8xf8E4M3FN>, %sb: tensor<16x4xf8E4M3FN>) {
  // expected-error @below {{expected scale_a to have shape 8x4, but got 4x8}}
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<4x8xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_mm_c4_b(%a: tensor<8x64xf4E2M1FN>, %b: tensor<16x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %sb: tensor<16x2xf8E4M3FN>) {
  // expected-error @below {{expected scale_b to have shape 16x4, but got 16x2}}
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x2xf8E4M3FN> -> tensor<8x16xf32>
  return
}

// -----

// Square blocks have fewer scales than a product takes.
func.func @scaled_mm_c4_compact(%a: tensor<8x64xf4E2M1FN>, %b: tensor<96x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %sb: tensor<6x4xf8E4M3FN>) {
  // expected-error @below {{expected scale_b to have shape 96x4, but got 6x4, the compact scales of square blocks (blockscale.expand_scale with scale_dim k makes it)}}
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      : tensor<8x64xf4E2M1FN>, tensor<96x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<6x4xf8E4M3FN> -> tensor<8x96xf32>
  return
}

// -----

func.func @scaled_mm_c4_scale_dim_n(%a: tensor<8x64xf8E4M3FN>, %b: tensor<96x64xf8E4M3FN>, %sa: tensor<8x2xf8E8M0FNU>, %sb: tensor<64x3xf8E8M0FNU>) {
  // expected-error @below {{expected scale_b to have shape 96x2, but got 64x3, that of scale_dim n (scale_dim k makes it)}}
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 32]
      : tensor<8x64xf8E4M3FN>, tensor<96x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>, tensor<64x3xf8E8M0FNU> -> tensor<8x96xf32>
  return
}

// -----

func.func @scaled_mm_c4_columns(%a: tensor<2x64x96xf8E4M3FN>, %b: tensor<2x8x96xf8E4M3FN>, %sa: tensor<2x2x96xf8E8M0FNU>, %sb: tensor<2x8x3xf8E8M0FNU>) {
  // expected-error @below {{expected scale_a to have shape 2x64x3, but got 2x2x96, the scales of blocks along the other dimension}}
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 32]
      : tensor<2x64x96xf8E4M3FN>, tensor<2x8x96xf8E4M3FN>, tensor<2x2x96xf8E8M0FNU>, tensor<2x8x3xf8E8M0FNU> -> tensor<2x64x8xf32>
  return
}

// -----

func.func @scaled_mm_c5(%a: tensor<8x40xf4E2M1FN>, %b: tensor<16x40xf4E2M1FN>, %sa: tensor<8x3xf8E4M3FN>, %sb: tensor<16x3xf8E4M3FN>) {
  // expected-error @below {{expected the last dimension of a to be a multiple of 16, but got 40}}
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      : tensor<8x40xf4E2M1FN>, tensor<16x40xf4E2M1FN>, tensor<8x3xf8E4M3FN>, tensor<16x3xf8E4M3FN> -> tensor<8x16xf32>
  return
}

// -----

// The static side of a half-static contraction is checked.
func.func @scaled_mm_c5_dynamic_a(%a: tensor<8x?xf4E2M1FN>, %b: tensor<16x40xf4E2M1FN>, %sa: tensor<8x?xf8E4M3FN>, %sb: tensor<16x3xf8E4M3FN>) {
  // expected-error @below {{expected the last dimension of b to be a multiple of 16, but got 40}}
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      : tensor<8x?xf4E2M1FN>, tensor<16x40xf4E2M1FN>, tensor<8x?xf8E4M3FN>, tensor<16x3xf8E4M3FN> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_mm_c6(%a: tensor<8x64xf4E2M1FN>, %b: tensor<16x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %sb: tensor<16x4xf8E4M3FN>) {
  // expected-error @below {{expected the result to have shape 8x16, but got 16x8}}
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<16x8xf32>
  return
}

// -----

func.func @scaled_mm_c7_mx(%a: tensor<8x64xf4E2M1FN>, %b: tensor<16x64xf4E2M1FN>, %sa: tensor<8x2xf8E8M0FNU>, %sb: tensor<16x2xf8E8M0FNU>, %g: f32) {
  // expected-error @below {{expected global_scale_a only with f8E4M3FN scales (NVFP4), but the scales are f8E8M0FNU}}
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 32] global_scale_a(%g : f32)
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x2xf8E8M0FNU>, tensor<16x2xf8E8M0FNU> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_mm_c7_shape(%a: tensor<8x64xf4E2M1FN>, %b: tensor<16x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %sb: tensor<16x4xf8E4M3FN>, %h: tensor<1xf32>) {
  // expected-error @below {{expected global_scale_b to have shape 16, but got 1}}
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] global_scale_b(%h : tensor<1xf32>)
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  return
}

// -----

// One value a row is one for each row of b, not of a.
func.func @scaled_mm_c7_rows(%a: tensor<8x64xf4E2M1FN>, %b: tensor<16x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %sb: tensor<16x4xf8E4M3FN>, %h: tensor<8xf32>) {
  // expected-error @below {{expected global_scale_b to have shape 16, but got 8}}
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] global_scale_b(%h : tensor<8xf32>)
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_mm_c7_rank(%a: tensor<8x64xf4E2M1FN>, %b: tensor<16x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %sb: tensor<16x4xf8E4M3FN>, %g: tensor<8x1xf32>) {
  // expected-error @below {{expected global_scale_a to be a scalar, have shape 8, or have rank 0, but got shape 8x1}}
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] global_scale_a(%g : tensor<8x1xf32>)
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_mm_c8(%a: tensor<8x64xf4E2M1FN>, %b: tensor<16x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %sb: tensor<16x4xf8E4M3FN>, %z: tensor<8xf32>) {
  // expected-error @below {{expected bias to have shape 16, but got 8}}
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] bias(%z : tensor<8xf32>)
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_mm_c9_grouped(%a: tensor<8x64xf4E2M1FN>, %b: tensor<16x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN, #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>>, %sb: tensor<16x4xf8E4M3FN>) {
  // expected-error @below {{expected scale_a to be linear or swizzled without groups, but got #blockscale.layout<swizzle_128x4, groups = 2, dim = 0> (blockscale.swizzle makes it)}}
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN, #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  return
}

// -----

// Products read tiles of 128x4 alone.
func.func @scaled_mm_c9_layout(%a: tensor<8x64xf4E2M1FN>, %b: tensor<16x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN, #blockscale.layout<swizzle_8x4>>, %sb: tensor<16x4xf8E4M3FN>) {
  // expected-error @below {{expected scale_a to be linear or in the layout swizzle_128x4, which products read, but got #blockscale.layout<swizzle_8x4> (blockscale.swizzle changes it)}}
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN, #blockscale.layout<swizzle_8x4>>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_mm_c9_encoding(%a: tensor<8x64xf4E2M1FN>, %b: tensor<16x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %sb: tensor<16x4xf8E4M3FN, "sparse">) {
  // expected-error @below {{expected scale_b to be linear or have a blockscale layout, but got "sparse"}}
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN, "sparse"> -> tensor<8x16xf32>
  return
}

// -----

// One operand alone can be in registers.
#prepacked = #blockscale.data_layout<fragments_64x64>
func.func @scaled_mm_c10(%a: tensor<8x64xf4E2M1FN, #prepacked>, %b: tensor<16x64xf4E2M1FN, #prepacked>, %sa: tensor<8x4xf8E4M3FN>, %sb: tensor<16x4xf8E4M3FN>) {
  // expected-error @below {{expected a to have no data layout where b has one, for one of them alone can be in registers, but got #blockscale.data_layout<fragments_64x64> (blockscale.prepack undoes it)}}
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      : tensor<8x64xf4E2M1FN, #prepacked>, tensor<16x64xf4E2M1FN, #prepacked>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  return
}

// -----

// A layout of scales is none of data.
func.func @scaled_mm_c1_layout(%a: tensor<8x64xf8E4M3FN, #blockscale.layout<swizzle_128x4>>, %b: tensor<16x64xbf16>, %sa: tensor<8x2xf8E8M0FNU>) {
  // expected-error @below {{expected a to have no encoding, but got #blockscale.layout<swizzle_128x4>}}
  %0 = blockscale.scaled_mm %a, %b scales(%sa, none) block [1, 32]
      : tensor<8x64xf8E4M3FN, #blockscale.layout<swizzle_128x4>>, tensor<16x64xbf16>, tensor<8x2xf8E8M0FNU> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_mm_c11_both(%a: tensor<8x64xf4E2M1FN>, %b: tensor<64x16xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %s: tensor<64x1xf8E4M3FN>) {
  // expected-error @below {{expected mn_major_b only beside a plain a, but got 'f8E4M3FN' scales of a}}
  %0 = blockscale.scaled_mm %a, %b mn_major_b scales(%sa, %s) block [1, 16]
      : tensor<8x64xf4E2M1FN>, tensor<64x16xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<64x1xf8E4M3FN> -> tensor<8x16xf32>
  return
}

// -----

// A plain operand beside one with scales lies along K.
func.func @scaled_mm_c11_plain(%a: tensor<64x8xbf16>, %b: tensor<64x16xf4E2M1FN>, %s: tensor<64x1xf8E4M3FN>) {
  // expected-error @below {{expected mn_major_a only beside a plain b, but got 'f8E4M3FN' scales of b}}
  %0 = blockscale.scaled_mm %a, %b mn_major_a mn_major_b scales(none, %s) block [1, 16]
      : tensor<64x8xbf16>, tensor<64x16xf4E2M1FN>, tensor<64x1xf8E4M3FN> -> tensor<8x16xf32>
  return
}

// -----

// Blocks across K are those of rows in memory, of which [1, 32] has one of 32 columns.
func.func @scaled_mm_c4_mn_major(%a: tensor<8x64xbf16>, %b: tensor<64x96xf8E4M3FN>, %s: tensor<96x2xf8E8M0FNU>) {
  // expected-error @below {{expected scale_b to have shape 64x3, but got 96x2}}
  %0 = blockscale.scaled_mm %a, %b mn_major_b scales(none, %s) block [1, 32]
      : tensor<8x64xbf16>, tensor<64x96xf8E4M3FN>, tensor<96x2xf8E8M0FNU> -> tensor<8x96xf32>
  return
}

// -----

func.func @scaled_mm_c5_mn_major_rows(%a: tensor<8x?xbf16>, %b: tensor<64x48xf8E4M3FN>, %s: tensor<64x2xf8E8M0FNU>) {
  // expected-error @below {{expected the last dimension of b to be a multiple of 32, but got 48}}
  %0 = blockscale.scaled_mm %a, %b mn_major_b scales(none, %s) block [1, 32]
      : tensor<8x?xbf16>, tensor<64x48xf8E4M3FN>, tensor<64x2xf8E8M0FNU> -> tensor<8x48xf32>
  return
}

// -----

// K has no blocks, and is a multiple of what plain operands have.
func.func @scaled_mm_c5_mn_major_depth(%a: tensor<8x72xbf16>, %b: tensor<?x32xf8E4M3FN>, %s: tensor<?x1xf8E8M0FNU>) {
  // expected-error @below {{expected K to be a multiple of 16, but got 72}}
  %0 = blockscale.scaled_mm %a, %b mn_major_b scales(none, %s) block [1, 32]
      : tensor<8x72xbf16>, tensor<?x32xf8E4M3FN>, tensor<?x1xf8E8M0FNU> -> tensor<8x32xf32>
  return
}

// -----

// A global scale of each K is no factor of a sum.
func.func @scaled_mm_c7_mn_major(%a: tensor<2x8x64xbf16>, %b: tensor<2x64x32xf4E2M1FN>, %s: tensor<2x64x2xf8E4M3FN>, %g: tensor<2x64xf32>) {
  // expected-error @below {{expected global_scale_b to be a scalar, have shape 2, or have rank 0, but got shape 2x64}}
  %0 = blockscale.scaled_mm %a, %b mn_major_b scales(none, %s) block [1, 16] global_scale_b(%g : tensor<2x64xf32>)
      : tensor<2x8x64xbf16>, tensor<2x64x32xf4E2M1FN>, tensor<2x64x2xf8E4M3FN> -> tensor<2x8x32xf32>
  return
}

// -----

#prepacked = #blockscale.data_layout<fragments_64x64>
func.func @scaled_mm_c10_mn_major(%a: tensor<8x64xbf16>, %b: tensor<64x?xf4E2M1FN, #prepacked>, %s: tensor<64x?xf8E4M3FN>) {
  // expected-error @below {{expected b to have static rows and columns where it is prepacked and MN-major, but got 'tensor<64x?xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>'}}
  %0 = blockscale.scaled_mm %a, %b mn_major_b scales(none, %s) block [1, 16]
      : tensor<8x64xbf16>, tensor<64x?xf4E2M1FN, #prepacked>, tensor<64x?xf8E4M3FN> -> tensor<8x?xf32>
  return
}

// -----

func.func @scaled_mm_c2_mn_major(%a: tensor<8x64xbf16>, %b: tensor<48x16xbf16>) {
  // expected-error @below {{expected K of b to be that of a, 64, but got 48}}
  %0 = blockscale.scaled_mm %a, %b mn_major_b scales(none, none) block [1, 16]
      : tensor<8x64xbf16>, tensor<48x16xbf16> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_mm_c5_mn_major(%a: tensor<?x8xbf16>, %b: tensor<40x16xbf16>) {
  // expected-error @below {{expected K to be a multiple of 16, but got 40}}
  %0 = blockscale.scaled_mm %a, %b mn_major_a mn_major_b scales(none, none) block [1, 16]
      : tensor<?x8xbf16>, tensor<40x16xbf16> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_mm_c6_mn_major(%a: tensor<64x8xbf16>, %b: tensor<64x16xbf16>) {
  // expected-error @below {{expected the result to have shape 8x16, but got 64x64}}
  %0 = blockscale.scaled_mm %a, %b mn_major_a mn_major_b scales(none, none) block [1, 16]
      : tensor<64x8xbf16>, tensor<64x16xbf16> -> tensor<64x64xf32>
  return
}

// -----

func.func @scaled_mm_c12_both(%a: tensor<8x64xf4E2M1FN>, %b: tensor<16x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %sb: tensor<16x4xf8E4M3FN>, %g: f32) {
  // expected-error @below {{expected global_scaling in_elements only where one operand is plain, but got scales of both}}
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] global_scale_b(%g : f32) global_scaling in_elements
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_mm_c12_none(%a: tensor<8x64xbf16>, %b: tensor<16x64xbf16>) {
  // expected-error @below {{expected global_scaling in_elements only where one operand is plain, but got two plain operands}}
  %0 = blockscale.scaled_mm %a, %b scales(none, none) block [1, 16] global_scaling in_elements
      : tensor<8x64xbf16>, tensor<16x64xbf16> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_mm_c12_plain_global(%a: tensor<8x64xbf16>, %b: tensor<16x64xf4E2M1FN>, %sb: tensor<16x4xf8E4M3FN>, %g: f32) {
  // expected-error @below {{expected no global scale of the plain operand with global_scaling in_elements, but got global_scale_a}}
  %0 = blockscale.scaled_mm %a, %b scales(none, %sb) block [1, 16] global_scale_a(%g : f32) global_scale_b(%g : f32) global_scaling in_elements
      : tensor<8x64xbf16>, tensor<16x64xf4E2M1FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_mm_c12_rows(%a: tensor<8x64xf4E2M1FN>, %b: tensor<16x64xf16>, %sa: tensor<8x4xf8E4M3FN>, %g: tensor<8xf32>) {
  // expected-error @below {{expected one global scale for all rows of a matrix with global_scaling in_elements, but got one for each in global_scale_a}}
  %0 = blockscale.scaled_mm %a, %b scales(%sa, none) block [1, 16] global_scale_a(%g : tensor<8xf32>) global_scaling in_elements
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf16>, tensor<8x4xf8E4M3FN> -> tensor<8x16xf32>
  return
}
