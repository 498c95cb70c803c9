// RUN: blockscale-opt %s -split-input-file -verify-diagnostics

func.func @scaled_grouped_mm_c1_a(%a: tensor<3x8x64xf8E4M3FN>, %b: tensor<3x16x64xf8E4M3FN>, %o: tensor<3xi32>, %sa: tensor<3x8x2xf8E8M0FNU>, %sb: tensor<3x16x2xf8E8M0FNU>) {
  // expected-error @below {{expected a to have rank 2, but got rank 3}}
  %0 = blockscale.scaled_grouped_mm %a, %b offsets(%o) scales(%sa, %sb) block [1, 32]
      : tensor<3x8x64xf8E4M3FN>, tensor<3x16x64xf8E4M3FN>, tensor<3xi32>, tensor<3x8x2xf8E8M0FNU>, tensor<3x16x2xf8E8M0FNU> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_grouped_mm_c1_b(%a: tensor<8x64xf8E4M3FN>, %b: tensor<1x3x16x64xf8E4M3FN>, %o: tensor<3xi32>, %sa: tensor<8x2xf8E8M0FNU>, %sb: tensor<1x3x16x2xf8E8M0FNU>) {
  // expected-error @below {{expected b to have rank 2 or 3, but got rank 4}}
  %0 = blockscale.scaled_grouped_mm %a, %b offsets(%o) scales(%sa, %sb) block [1, 32]
      : tensor<8x64xf8E4M3FN>, tensor<1x3x16x64xf8E4M3FN>, tensor<3xi32>, tensor<8x2xf8E8M0FNU>, tensor<1x3x16x2xf8E8M0FNU> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_grouped_mm_c1_encoding(%a: tensor<8x64xf8E4M3FN, "sparse">, %b: tensor<3x16x64xf8E4M3FN>, %o: tensor<3xi32>, %sa: tensor<8x2xf8E8M0FNU>, %sb: tensor<3x16x2xf8E8M0FNU>) {
  // expected-error @below {{expected a to have no encoding, but got "sparse"}}
  %0 = blockscale.scaled_grouped_mm %a, %b offsets(%o) scales(%sa, %sb) block [1, 32]
      : tensor<8x64xf8E4M3FN, "sparse">, tensor<3x16x64xf8E4M3FN>, tensor<3xi32>, tensor<8x2xf8E8M0FNU>, tensor<3x16x2xf8E8M0FNU> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_grouped_mm_c2(%a: tensor<8x64xf8E4M3FN>, %b: tensor<3x16x32xf8E4M3FN>, %o: tensor<3xi32>, %sa: tensor<8x2xf8E8M0FNU>, %sb: tensor<3x16x1xf8E8M0FNU>) {
  // expected-error @below {{expected the last dimension of b to be that of a, 64, but got 32}}
  %0 = blockscale.scaled_grouped_mm %a, %b offsets(%o) scales(%sa, %sb) block [1, 32]
      : tensor<8x64xf8E4M3FN>, tensor<3x16x32xf8E4M3FN>, tensor<3xi32>, tensor<8x2xf8E8M0FNU>, tensor<3x16x1xf8E8M0FNU> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_grouped_mm_c3_scales(%a: tensor<8x64xf8E4M3FN>, %b: tensor<3x16x64xf8E4M3FN>, %o: tensor<3xi32>, %sa: tensor<8x2xf8E8M0FNU>, %sb: tensor<3x16x4xf8E4M3FN>) {
  // expected-error @below {{expected both operands to have the same scale element type, but got 'f8E8M0FNU' and 'f8E4M3FN'}}
  %0 = blockscale.scaled_grouped_mm %a, %b offsets(%o) scales(%sa, %sb) block [1, 32]
      : tensor<8x64xf8E4M3FN>, tensor<3x16x64xf8E4M3FN>, tensor<3xi32>, tensor<8x2xf8E8M0FNU>, tensor<3x16x4xf8E4M3FN> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_grouped_mm_c3_block(%a: tensor<8x64xf8E4M3FN>, %b: tensor<3x16x64xf8E4M3FN>, %o: tensor<3xi32>, %sa: tensor<8x2xf8E8M0FNU>, %sb: tensor<3x16x2xf8E8M0FNU>) {
  // expected-error @below {{expected block [1, 32] with 'f8E8M0FNU' scales, but got [1, 16]}}
  %0 = blockscale.scaled_grouped_mm %a, %b offsets(%o) scales(%sa, %sb) block [1, 16]
      : tensor<8x64xf8E4M3FN>, tensor<3x16x64xf8E4M3FN>, tensor<3xi32>, tensor<8x2xf8E8M0FNU>, tensor<3x16x2xf8E8M0FNU> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_grouped_mm_c4(%a: tensor<8x64xf8E4M3FN>, %b: tensor<3x16x64xf8E4M3FN>, %o: tensor<3xi32>, %sa: tensor<8x2xf8E8M0FNU>, %sb: tensor<3x2x16xf8E8M0FNU>) {
  // expected-error @below {{expected scale_b to have shape 3x16x2, but got 3x2x16}}
  %0 = blockscale.scaled_grouped_mm %a, %b offsets(%o) scales(%sa, %sb) block [1, 32]
      : tensor<8x64xf8E4M3FN>, tensor<3x16x64xf8E4M3FN>, tensor<3xi32>, tensor<8x2xf8E8M0FNU>, tensor<3x2x16xf8E8M0FNU> -> tensor<8x16xf32>
  return
}

// -----

// Each expert's square blocks have fewer scales than a product takes.
func.func @scaled_grouped_mm_c4_compact(%a: tensor<8x64xf8E4M3FN>, %b: tensor<3x96x64xf8E4M3FN>, %o: tensor<3xi32>, %sa: tensor<8x2xf8E8M0FNU>, %sb: tensor<3x3x2xf8E8M0FNU>) {
  // expected-error @below {{expected scale_b to have shape 3x96x2, but got 3x3x2, the compact scales of square blocks (blockscale.expand_scale with scale_dim k makes it)}}
  %0 = blockscale.scaled_grouped_mm %a, %b offsets(%o) scales(%sa, %sb) block [1, 32]
      : tensor<8x64xf8E4M3FN>, tensor<3x96x64xf8E4M3FN>, tensor<3xi32>, tensor<8x2xf8E8M0FNU>, tensor<3x3x2xf8E8M0FNU> -> tensor<8x96xf32>
  return
}

// -----

func.func @scaled_grouped_mm_c5(%a: tensor<8x48xf8E4M3FN>, %b: tensor<3x16x48xf8E4M3FN>, %o: tensor<3xi32>, %sa: tensor<8x2xf8E8M0FNU>, %sb: tensor<3x16x2xf8E8M0FNU>) {
  // expected-error @below {{expected the last dimension of a to be a multiple of 32, but got 48}}
  %0 = blockscale.scaled_grouped_mm %a, %b offsets(%o) scales(%sa, %sb) block [1, 32]
      : tensor<8x48xf8E4M3FN>, tensor<3x16x48xf8E4M3FN>, tensor<3xi32>, tensor<8x2xf8E8M0FNU>, tensor<3x16x2xf8E8M0FNU> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_grouped_mm_c6_offsets_rank(%a: tensor<8x64xf8E4M3FN>, %b: tensor<3x16x64xf8E4M3FN>, %o: tensor<i32>, %sa: tensor<8x2xf8E8M0FNU>, %sb: tensor<3x16x2xf8E8M0FNU>) {
  // expected-error @below {{expected offsets to have rank 1, but got rank 0}}
  %0 = blockscale.scaled_grouped_mm %a, %b offsets(%o) scales(%sa, %sb) block [1, 32]
      : tensor<8x64xf8E4M3FN>, tensor<3x16x64xf8E4M3FN>, tensor<i32>, tensor<8x2xf8E8M0FNU>, tensor<3x16x2xf8E8M0FNU> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_grouped_mm_c6_offsets(%a: tensor<8x64xf8E4M3FN>, %b: tensor<3x16x64xf8E4M3FN>, %o: tensor<4xi32>, %sa: tensor<8x2xf8E8M0FNU>, %sb: tensor<3x16x2xf8E8M0FNU>) {
  // expected-error @below {{expected offsets to have shape 3, but got 4}}
  %0 = blockscale.scaled_grouped_mm %a, %b offsets(%o) scales(%sa, %sb) block [1, 32]
      : tensor<8x64xf8E4M3FN>, tensor<3x16x64xf8E4M3FN>, tensor<4xi32>, tensor<8x2xf8E8M0FNU>, tensor<3x16x2xf8E8M0FNU> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_grouped_mm_c6_rows(%a: tensor<8x64xf8E4M3FN>, %b: tensor<3x16x64xf8E4M3FN>, %o: tensor<3xi32>, %sa: tensor<8x2xf8E8M0FNU>, %sb: tensor<3x16x2xf8E8M0FNU>) {
  // expected-error @below {{expected the result to have shape 8x16, but got 3x8x16}}
  %0 = blockscale.scaled_grouped_mm %a, %b offsets(%o) scales(%sa, %sb) block [1, 32]
      : tensor<8x64xf8E4M3FN>, tensor<3x16x64xf8E4M3FN>, tensor<3xi32>, tensor<8x2xf8E8M0FNU>, tensor<3x16x2xf8E8M0FNU> -> tensor<3x8x16xf32>
  return
}

// -----

// 2d-2d has one product a group.
func.func @scaled_grouped_mm_c6_columns(%a: tensor<8x64xf8E4M3FN>, %b: tensor<16x64xf8E4M3FN>, %o: tensor<3xi32>, %sa: tensor<8x2xf8E8M0FNU>, %sb: tensor<16x2xf8E8M0FNU>) {
  // expected-error @below {{expected the result to have shape 3x8x16, but got 8x16}}
  %0 = blockscale.scaled_grouped_mm %a, %b offsets(%o) scales(%sa, %sb) block [1, 32]
      : tensor<8x64xf8E4M3FN>, tensor<16x64xf8E4M3FN>, tensor<3xi32>, tensor<8x2xf8E8M0FNU>, tensor<16x2xf8E8M0FNU> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_grouped_mm_c7_mx(%a: tensor<8x64xf8E4M3FN>, %b: tensor<3x16x64xf8E4M3FN>, %o: tensor<3xi32>, %sa: tensor<8x2xf8E8M0FNU>, %sb: tensor<3x16x2xf8E8M0FNU>, %g: tensor<f32>) {
  // expected-error @below {{expected global_scale_a only with f8E4M3FN scales (NVFP4), but the scales are f8E8M0FNU}}
  %0 = blockscale.scaled_grouped_mm %a, %b offsets(%o) scales(%sa, %sb) block [1, 32] global_scale_a(%g : tensor<f32>)
      : tensor<8x64xf8E4M3FN>, tensor<3x16x64xf8E4M3FN>, tensor<3xi32>, tensor<8x2xf8E8M0FNU>, tensor<3x16x2xf8E8M0FNU> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_grouped_mm_c7_shape(%a: tensor<8x64xf4E2M1FN>, %b: tensor<3x16x64xf4E2M1FN>, %o: tensor<3xi32>, %sa: tensor<8x4xf8E4M3FN>, %sb: tensor<3x16x4xf8E4M3FN>, %g: tensor<2xf32>) {
  // expected-error @below {{expected global_scale_a to have shape 3, but got 2}}
  %0 = blockscale.scaled_grouped_mm %a, %b offsets(%o) scales(%sa, %sb) block [1, 16] global_scale_a(%g : tensor<2xf32>)
      : tensor<8x64xf4E2M1FN>, tensor<3x16x64xf4E2M1FN>, tensor<3xi32>, tensor<8x4xf8E4M3FN>, tensor<3x16x4xf8E4M3FN> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_grouped_mm_c8_count(%a: tensor<8x64xf8E4M3FN>, %b: tensor<3x16x64xf8E4M3FN>, %o: tensor<3xi32>, %sa: tensor<8x2xf8E8M0FNU, #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>>, %sb: tensor<3x16x2xf8E8M0FNU>) {
  // expected-error @below {{expected scale_a to be linear, swizzled or grouped with one group an offset along dim = 0, but got #blockscale.layout<swizzle_128x4, groups = 2, dim = 0> (blockscale.swizzle makes it)}}
  %0 = blockscale.scaled_grouped_mm %a, %b offsets(%o) scales(%sa, %sb) block [1, 32]
      : tensor<8x64xf8E4M3FN>, tensor<3x16x64xf8E4M3FN>, tensor<3xi32>, tensor<8x2xf8E8M0FNU, #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>>, tensor<3x16x2xf8E8M0FNU> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_grouped_mm_c8_dim(%a: tensor<8x64xf8E4M3FN>, %b: tensor<3x16x64xf8E4M3FN>, %o: tensor<3xi32>, %sa: tensor<8x2xf8E8M0FNU, #blockscale.layout<swizzle_128x4, groups = 3, dim = 1>>, %sb: tensor<3x16x2xf8E8M0FNU>) {
  // expected-error @below {{expected scale_a to be linear, swizzled or grouped with one group an offset along dim = 0, but got #blockscale.layout<swizzle_128x4, groups = 3, dim = 1> (blockscale.swizzle makes it)}}
  %0 = blockscale.scaled_grouped_mm %a, %b offsets(%o) scales(%sa, %sb) block [1, 32]
      : tensor<8x64xf8E4M3FN>, tensor<3x16x64xf8E4M3FN>, tensor<3xi32>, tensor<8x2xf8E8M0FNU, #blockscale.layout<swizzle_128x4, groups = 3, dim = 1>>, tensor<3x16x2xf8E8M0FNU> -> tensor<8x16xf32>
  return
}

// -----

// Columns are grouped in 2d-2d.
func.func @scaled_grouped_mm_c8_columns(%a: tensor<8x64xf8E4M3FN>, %b: tensor<16x64xf8E4M3FN>, %o: tensor<3xi32>, %sa: tensor<8x2xf8E8M0FNU>, %sb: tensor<16x2xf8E8M0FNU, #blockscale.layout<swizzle_128x4, groups = 3, dim = 0>>) {
  // expected-error @below {{expected scale_b to be linear, swizzled or grouped with one group an offset along dim = 1, but got #blockscale.layout<swizzle_128x4, groups = 3, dim = 0> (blockscale.swizzle makes it)}}
  %0 = blockscale.scaled_grouped_mm %a, %b offsets(%o) scales(%sa, %sb) block [1, 32]
      : tensor<8x64xf8E4M3FN>, tensor<16x64xf8E4M3FN>, tensor<3xi32>, tensor<8x2xf8E8M0FNU>, tensor<16x2xf8E8M0FNU, #blockscale.layout<swizzle_128x4, groups = 3, dim = 0>> -> tensor<3x8x16xf32>
  return
}

// -----

func.func @scaled_grouped_mm_c8_encoding(%a: tensor<8x64xf8E4M3FN>, %b: tensor<3x16x64xf8E4M3FN>, %o: tensor<3xi32>, %sa: tensor<8x2xf8E8M0FNU>, %sb: tensor<3x16x2xf8E8M0FNU, "sparse">) {
  // expected-error @below {{expected scale_b to be linear or have a blockscale layout, but got "sparse"}}
  %0 = blockscale.scaled_grouped_mm %a, %b offsets(%o) scales(%sa, %sb) block [1, 32]
      : tensor<8x64xf8E4M3FN>, tensor<3x16x64xf8E4M3FN>, tensor<3xi32>, tensor<8x2xf8E8M0FNU>, tensor<3x16x2xf8E8M0FNU, "sparse"> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_grouped_mm_c9(%a: tensor<8x64xf8E4M3FN>, %b: tensor<3x16x64xf8E4M3FN>, %o: tensor<3xi32>, %sa: tensor<8x2xf8E8M0FNU>, %sb: tensor<3x16x2xf8E8M0FNU>, %z: tensor<3xf32>) {
  // expected-error @below {{expected bias to have shape 16, but got 3}}
  %0 = blockscale.scaled_grouped_mm %a, %b offsets(%o) scales(%sa, %sb) block [1, 32] bias(%z : tensor<3xf32>)
      : tensor<8x64xf8E4M3FN>, tensor<3x16x64xf8E4M3FN>, tensor<3xi32>, tensor<8x2xf8E8M0FNU>, tensor<3x16x2xf8E8M0FNU> -> tensor<8x16xf32>
  return
}

// -----

// A bias of rank 2 has one row a group, also where b has none.
func.func @scaled_grouped_mm_c9_groups(%a: tensor<8x64xf8E4M3FN>, %b: tensor<16x64xf8E4M3FN>, %o: tensor<3xi32>, %sa: tensor<8x2xf8E8M0FNU>, %sb: tensor<16x2xf8E8M0FNU>, %z: tensor<8x16xbf16>) {
  // expected-error @below {{expected bias to have shape 3x16, but got 8x16}}
  %0 = blockscale.scaled_grouped_mm %a, %b offsets(%o) scales(%sa, %sb) block [1, 32] bias(%z : tensor<8x16xbf16>)
      : tensor<8x64xf8E4M3FN>, tensor<16x64xf8E4M3FN>, tensor<3xi32>, tensor<8x2xf8E8M0FNU>, tensor<16x2xf8E8M0FNU> -> tensor<3x8x16xf32>
  return
}

// -----

// Groups of rows begin anywhere in a.
#prepacked = #blockscale.data_layout<fragments_64x64>
func.func @scaled_grouped_mm_c10_rows(%a: tensor<8x64xf8E4M3FN, #prepacked>, %b: tensor<3x16x64xbf16>, %o: tensor<3xi32>, %sa: tensor<8x2xf8E8M0FNU>) {
  // expected-error @below {{expected a to have no data layout, for groups of rows begin anywhere in its blocks, but got #blockscale.data_layout<fragments_64x64> (blockscale.prepack undoes it)}}
  %0 = blockscale.scaled_grouped_mm %a, %b offsets(%o) scales(%sa, none) block [1, 32]
      : tensor<8x64xf8E4M3FN, #prepacked>, tensor<3x16x64xbf16>, tensor<3xi32>, tensor<8x2xf8E8M0FNU> -> tensor<8x16xbf16>
  return
}

// -----

// Groups of K begin anywhere in both.
#prepacked = #blockscale.data_layout<fragments_64x64>
func.func @scaled_grouped_mm_c10_k(%a: tensor<8x64xbf16>, %b: tensor<16x64xf8E4M3FN, #prepacked>, %o: tensor<3xi32>, %sb: tensor<16x2xf8E8M0FNU>) {
  // expected-error @below {{expected b to have no data layout, for groups of K begin anywhere in its blocks, but got #blockscale.data_layout<fragments_64x64> (blockscale.prepack undoes it)}}
  %0 = blockscale.scaled_grouped_mm %a, %b offsets(%o) scales(none, %sb) block [1, 32]
      : tensor<8x64xbf16>, tensor<16x64xf8E4M3FN, #prepacked>, tensor<3xi32>, tensor<16x2xf8E8M0FNU> -> tensor<3x8x16xbf16>
  return
}

// -----

func.func @scaled_grouped_mm_c11_rows(%a: tensor<64x8xbf16>, %b: tensor<3x16x64xbf16>, %ends: tensor<3xi32>) {
  // expected-error @below {{expected a to be K-major, for groups of rows begin anywhere in them, but got mn_major_a}}
  %0 = blockscale.scaled_grouped_mm %a, %b mn_major_a offsets(%ends) scales(none, none) block [1, 16]
      : tensor<64x8xbf16>, tensor<3x16x64xbf16>, tensor<3xi32> -> tensor<8x16xf32>
  return
}

// -----

func.func @scaled_grouped_mm_c11_scales(%a: tensor<64x8xf8E4M3FN>, %b: tensor<16x64xf8E4M3FN>, %ends: tensor<3xi32>, %sa: tensor<8x2xf8E8M0FNU>, %sb: tensor<16x2xf8E8M0FNU>) {
  // expected-error @below {{expected mn_major_a only beside a plain b, but got 'f8E8M0FNU' scales of b}}
  %0 = blockscale.scaled_grouped_mm %a, %b mn_major_a offsets(%ends) scales(%sa, %sb) block [1, 32]
      : tensor<64x8xf8E4M3FN>, tensor<16x64xf8E4M3FN>, tensor<3xi32>, tensor<8x2xf8E8M0FNU>, tensor<16x2xf8E8M0FNU> -> tensor<3x8x16xf32>
  return
}

// -----

// Groups of K begin in rows of b, and end where no block does.
func.func @scaled_grouped_mm_c11_k(%a: tensor<8x64xbf16>, %b: tensor<64x32xf8E4M3FN>, %ends: tensor<3xi32>, %sb: tensor<64x1xf8E8M0FNU>) {
  // expected-error @below {{expected an operand with scales to be K-major where groups cut K, but got mn_major_b}}
  %0 = blockscale.scaled_grouped_mm %a, %b mn_major_b offsets(%ends) scales(none, %sb) block [1, 32]
      : tensor<8x64xbf16>, tensor<64x32xf8E4M3FN>, tensor<3xi32>, tensor<64x1xf8E8M0FNU> -> tensor<3x8x32xf32>
  return
}

// -----

func.func @scaled_grouped_mm_c4_mn_major(%a: tensor<8x64xbf16>, %b: tensor<3x64x32xf8E4M3FN>, %ends: tensor<3xi32>, %sb: tensor<3x32x2xf8E8M0FNU>) {
  // expected-error @below {{expected scale_b to have shape 3x64x1, but got 3x32x2}}
  %0 = blockscale.scaled_grouped_mm %a, %b mn_major_b offsets(%ends) scales(none, %sb) block [1, 32]
      : tensor<8x64xbf16>, tensor<3x64x32xf8E4M3FN>, tensor<3xi32>, tensor<3x32x2xf8E8M0FNU> -> tensor<8x32xf32>
  return
}

// -----

func.func @scaled_grouped_mm_c5_mn_major(%a: tensor<8x72xbf16>, %b: tensor<3x72x32xf8E4M3FN>, %ends: tensor<3xi32>, %sb: tensor<3x72x1xf8E8M0FNU>) {
  // expected-error @below {{expected K to be a multiple of 16, but got 72}}
  %0 = blockscale.scaled_grouped_mm %a, %b mn_major_b offsets(%ends) scales(none, %sb) block [1, 32]
      : tensor<8x72xbf16>, tensor<3x72x32xf8E4M3FN>, tensor<3xi32>, tensor<3x72x1xf8E8M0FNU> -> tensor<8x32xf32>
  return
}

// -----

#prepacked = #blockscale.data_layout<fragments_64x64>
func.func @scaled_grouped_mm_c10_mn_major(%a: tensor<8x?xbf16>, %b: tensor<3x?x32xf8E4M3FN, #prepacked>, %ends: tensor<3xi32>, %sb: tensor<3x?x1xf8E8M0FNU>) {
  // expected-error @below {{expected b to have static rows and columns where it is prepacked and MN-major, but got 'tensor<3x?x32xf8E4M3FN, #blockscale.data_layout<fragments_64x64>>'}}
  %0 = blockscale.scaled_grouped_mm %a, %b mn_major_b offsets(%ends) scales(none, %sb) block [1, 32]
      : tensor<8x?xbf16>, tensor<3x?x32xf8E4M3FN, #prepacked>, tensor<3xi32>, tensor<3x?x1xf8E8M0FNU> -> tensor<8x32xf32>
  return
}

// -----

func.func @scaled_grouped_mm_c12(%a: tensor<8x64xf4E2M1FN>, %b: tensor<3x16x64xf4E2M1FN>, %o: tensor<3xi32>, %sa: tensor<8x4xf8E4M3FN>, %sb: tensor<3x16x4xf8E4M3FN>, %g: tensor<3xf32>) {
  // expected-error @below {{expected global_scaling in_elements only where one operand is plain, but got scales of both}}
  %0 = blockscale.scaled_grouped_mm %a, %b offsets(%o) scales(%sa, %sb) block [1, 16] global_scale_b(%g : tensor<3xf32>) global_scaling in_elements
      : tensor<8x64xf4E2M1FN>, tensor<3x16x64xf4E2M1FN>, tensor<3xi32>, tensor<8x4xf8E4M3FN>, tensor<3x16x4xf8E4M3FN> -> tensor<8x16xf32>
  return
}
