// RUN: blockscale-opt %s -split-input-file -verify-diagnostics

func.func @quantize_c1_rank(%x: tensor<64xbf16>) {
  // expected-error @below {{expected x to have rank 2 or more, but got rank 1}}
  %0, %1 = blockscale.quantize %x block [1, 16]
      : tensor<64xbf16> -> tensor<64xf4E2M1FN>, tensor<4xf8E4M3FN>
  return
}

// -----

func.func @quantize_c1_encoding(%x: tensor<4x64xbf16, "sparse">) {
  // expected-error @below {{expected x to have no encoding, but got "sparse"}}
  %0, %1 = blockscale.quantize %x block [1, 16]
      : tensor<4x64xbf16, "sparse"> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

func.func @quantize_c2_block(%x: tensor<4x64xbf16>) {
  // expected-error @below {{expected block [1, 16], [16, 1] or [16, 16] with 'f8E4M3FN' scales, but got [1, 32]}}
  %0, %1 = blockscale.quantize %x block [1, 32]
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x2xf8E4M3FN>
  return
}

// -----

func.func @quantize_c2_block_mx(%x: tensor<64x64xbf16>) {
  // expected-error @below {{expected block [1, 32], [32, 1] or [32, 32] with 'f8E8M0FNU' scales, but got [32, 16]}}
  %0, %1 = blockscale.quantize %x block [32, 16]
      : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<2x4xf8E8M0FNU>
  return
}

// -----

func.func @quantize_c2_block_empty(%x: tensor<4x64xbf16>) {
  // expected-error @below {{expected block [1, 32], [32, 1] or [32, 32] with 'f8E8M0FNU' scales, but got []}}
  %0, %1 = blockscale.quantize %x block []
      : tensor<4x64xbf16> -> tensor<4x64xf8E4M3FN>, tensor<4x2xf8E8M0FNU>
  return
}

// -----

func.func @quantize_c2_block_rank(%x: tensor<4x64xbf16>) {
  // expected-error @below {{expected block [1, 16], [16, 1] or [16, 16] with 'f8E4M3FN' scales, but got [1, 1, 16]}}
  %0, %1 = blockscale.quantize %x block [1, 1, 16]
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

func.func @quantize_c2_block_zero(%x: tensor<4x64xbf16>) {
  // expected-error @below {{expected block [1, 32], [32, 1] or [32, 32] with 'f8E8M0FNU' scales, but got [0, 32]}}
  %0, %1 = blockscale.quantize %x block [0, 32]
      : tensor<4x64xbf16> -> tensor<4x64xf8E4M3FN>, tensor<4x2xf8E8M0FNU>
  return
}

// -----

func.func @quantize_c2_block_negative(%x: tensor<4x64xbf16>) {
  // expected-error @below {{expected block [1, 16], [16, 1] or [16, 16] with 'f8E4M3FN' scales, but got [-1, 16]}}
  %0, %1 = blockscale.quantize %x block [-1, 16]
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

// NVFP4 scales along columns are only kept with the transposed data.
func.func @quantize_c2_untransposed(%x: tensor<16x64xbf16>) {
  // expected-error @below {{expected transposed results with block [16, 1] of f8E4M3FN scales, but got results as x lies}}
  %0, %1 = blockscale.quantize %x block [16, 1]
      : tensor<16x64xbf16> -> tensor<16x64xf4E2M1FN>, tensor<1x64xf8E4M3FN>
  return
}

// -----

func.func @quantize_c2_data(%x: tensor<4x64xbf16>) {
  // expected-error @below {{expected f4E2M1FN data with f8E4M3FN scales (NVFP4), but got 'f8E4M3FN'}}
  %0, %1 = blockscale.quantize %x block [1, 16]
      : tensor<4x64xbf16> -> tensor<4x64xf8E4M3FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

func.func @quantize_c2_data_f6(%x: tensor<4x64xbf16>) {
  // expected-error @below {{expected f4E2M1FN data with f8E4M3FN scales (NVFP4), but got 'f6E2M3FN'}}
  %0, %1 = blockscale.quantize %x block [1, 16]
      : tensor<4x64xbf16> -> tensor<4x64xf6E2M3FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

func.func @quantize_c3_nvfp4(%x: tensor<4x64xbf16>) {
  // expected-error @below {{expected an NVFP4 recipe (torchao, mslk, te, modelopt, te_4over6_mae, te_4over6_mse, compressed_tensors, torchao_training) with f8E4M3FN scales, but got rceil}}
  %0, %1 = blockscale.quantize %x block [1, 16] recipe rceil
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

func.func @quantize_c3_mx(%x: tensor<4x64xbf16>) {
  // expected-error @below {{expected an MX recipe (floor, rceil, rceil_sat, ceil, even, tosa, compressed_tensors) with f8E8M0FNU scales, but got te}}
  %0, %1 = blockscale.quantize %x block [1, 32] recipe te
      : tensor<4x64xbf16> -> tensor<4x64xf8E4M3FN>, tensor<4x2xf8E8M0FNU>
  return
}

// -----

func.func @quantize_c3_elements(%x: tensor<4x64xbf16>) {
  // expected-error @below {{expected data of e2m1, e2m3, e4m3 with recipe compressed_tensors and f8E8M0FNU scales, but got f8E5M2}}
  %0, %1 = blockscale.quantize %x block [1, 32] recipe compressed_tensors
      : tensor<4x64xbf16> -> tensor<4x64xf8E5M2>, tensor<4x2xf8E8M0FNU>
  return
}

// -----

func.func @quantize_c3_mx_4over6(%x: tensor<4x64xbf16>) {
  // expected-error @below {{expected an MX recipe (floor, rceil, rceil_sat, ceil, even, tosa, compressed_tensors) with f8E8M0FNU scales, but got te_4over6_mae}}
  %0, %1 = blockscale.quantize %x block [1, 32] recipe te_4over6_mae
      : tensor<4x64xbf16> -> tensor<4x64xf8E4M3FN>, tensor<4x2xf8E8M0FNU>
  return
}

// -----

func.func @quantize_c3_4over6_square(%x: tensor<64x64xbf16>) {
  // expected-error @below {{expected blocks of one row or column with recipe te_4over6_mse, but got [16, 16]}}
  %0, %1 = blockscale.quantize %x block [16, 16] recipe te_4over6_mse
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

func.func @quantize_c4_shape(%x: tensor<4x64xbf16>) {
  // expected-error @below {{expected data to have shape 4x64, but got 64x4}}
  %0, %1 = blockscale.quantize %x block [1, 16]
      : tensor<4x64xbf16> -> tensor<64x4xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

func.func @quantize_c4_transposed(%x: tensor<3x32x64xbf16>) {
  // expected-error @below {{expected data to have shape 3x64x32, but got 3x32x64}}
  %0, %1 = blockscale.quantize %x block [32, 1] transposed
      : tensor<3x32x64xbf16> -> tensor<3x32x64xf8E4M3FN>, tensor<3x64x1xf8E8M0FNU>
  return
}

// -----

func.func @quantize_c4_rank(%x: tensor<4x64xbf16>) {
  // expected-error @below {{expected data to have shape 4x64, but got 1x4x64}}
  %0, %1 = blockscale.quantize %x block [1, 16]
      : tensor<4x64xbf16> -> tensor<1x4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

func.func @quantize_c4_encoding(%x: tensor<4x64xbf16>) {
  // expected-error @below {{expected data to have no encoding, but got "sparse"}}
  %0, %1 = blockscale.quantize %x block [1, 16]
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN, "sparse">, tensor<4x4xf8E4M3FN>
  return
}

// -----

func.func @quantize_c5(%x: tensor<?x80xbf16>) {
  // expected-error @below {{expected scale to have shape ?x5, but got 4x8}}
  %0, %1 = blockscale.quantize %x block [1, 16]
      : tensor<?x80xbf16> -> tensor<?x80xf4E2M1FN>, tensor<4x8xf8E4M3FN>
  return
}

// -----

func.func @quantize_c5_columns(%x: tensor<64x96xbf16>) {
  // expected-error @below {{expected scale to have shape 2x96, but got 64x3}}
  %0, %1 = blockscale.quantize %x block [32, 1]
      : tensor<64x96xbf16> -> tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU>
  return
}

// -----

func.func @quantize_c5_square(%x: tensor<64x96xbf16>) {
  // expected-error @below {{expected scale to have shape 2x3, but got 64x3}}
  %0, %1 = blockscale.quantize %x block [32, 32]
      : tensor<64x96xbf16> -> tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU>
  return
}

// -----

func.func @quantize_c5_transposed(%x: tensor<64x96xbf16>) {
  // expected-error @below {{expected scale to have shape 96x2, but got 2x96}}
  %0, %1 = blockscale.quantize %x block [32, 1] transposed
      : tensor<64x96xbf16> -> tensor<96x64xf8E4M3FN>, tensor<2x96xf8E8M0FNU>
  return
}

// -----

func.func @quantize_c5_scale_dim_k(%x: tensor<64x96xbf16>) {
  // expected-error @below {{expected scale to have shape 64x3, but got 96x2}}
  %0, %1 = blockscale.quantize %x block [32, 32] scale_dim k
      : tensor<64x96xbf16> -> tensor<64x96xf8E4M3FN>, tensor<96x2xf8E8M0FNU>
  return
}

// -----

// The form is said in the dimensions of x, whatever the data's.
func.func @quantize_c5_scale_dim_n(%x: tensor<64x96xbf16>) {
  // expected-error @below {{expected scale to have shape 96x2, but got 64x3}}
  %0, %1 = blockscale.quantize %x block [32, 32] transposed scale_dim n
      : tensor<64x96xbf16> -> tensor<96x64xf8E4M3FN>, tensor<64x3xf8E8M0FNU>
  return
}

// -----

func.func @quantize_c6_nvfp4(%x: tensor<4x40xbf16>) {
  // expected-error @below {{expected the last dimension of x to be a multiple of 16, but got 40}}
  %0, %1 = blockscale.quantize %x block [1, 16] recipe mslk
      : tensor<4x40xbf16> -> tensor<4x40xf4E2M1FN>, tensor<4x3xf8E4M3FN>
  return
}

// -----

func.func @quantize_c6_mx(%x: tensor<4x48xbf16>) {
  // expected-error @below {{expected the last dimension of x to be a multiple of 32, but got 48}}
  %0, %1 = blockscale.quantize %x block [1, 32]
      : tensor<4x48xbf16> -> tensor<4x48xf8E4M3FN>, tensor<4x2xf8E8M0FNU>
  return
}

// -----

func.func @quantize_c6_rows(%x: tensor<48x4xbf16>) {
  // expected-error @below {{expected the second-to-last dimension of x to be a multiple of 32, but got 48}}
  %0, %1 = blockscale.quantize %x block [32, 1]
      : tensor<48x4xbf16> -> tensor<48x4xf8E4M3FN>, tensor<2x4xf8E8M0FNU>
  return
}

// -----

func.func @quantize_c6_square(%x: tensor<40x64xbf16>) {
  // expected-error @below {{expected the second-to-last dimension of x to be a multiple of 16, but got 40}}
  %0, %1 = blockscale.quantize %x block [16, 16]
      : tensor<40x64xbf16> -> tensor<40x64xf4E2M1FN>, tensor<3x4xf8E4M3FN>
  return
}

// -----

func.func @quantize_c7_both(%x: tensor<4x64xbf16>, %g: f32) {
  // expected-error @below {{expected at most one of global_scale and global_amax, but got both}}
  %0, %1 = blockscale.quantize %x block [1, 16] global_scale(%g : f32) global_amax(%g : f32)
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

func.func @quantize_c7_mx(%x: tensor<4x64xbf16>, %g: f32) {
  // expected-error @below {{expected global_amax only with f8E4M3FN scales (NVFP4), but the scales are f8E8M0FNU}}
  %0, %1 = blockscale.quantize %x block [1, 32] global_amax(%g : f32)
      : tensor<4x64xbf16> -> tensor<4x64xf8E4M3FN>, tensor<4x2xf8E8M0FNU>
  return
}

// -----

func.func @quantize_c8_batch(%x: tensor<2x4x64xbf16>, %g: tensor<3xf32>) {
  // expected-error @below {{expected global_scale to have shape 2, but got 3}}
  %0, %1 = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<3xf32>)
      : tensor<2x4x64xbf16> -> tensor<2x4x64xf4E2M1FN>, tensor<2x4x4xf8E4M3FN>
  return
}

// -----

func.func @quantize_c8_rows(%x: tensor<4x64xbf16>, %g: tensor<64xf32>) {
  // expected-error @below {{expected global_amax to have shape 4, but got 64}}
  %0, %1 = blockscale.quantize %x block [1, 16] global_amax(%g : tensor<64xf32>)
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

func.func @quantize_c8_rank(%x: tensor<4x64xbf16>, %g: tensor<4x1xf32>) {
  // expected-error @below {{expected global_amax to be a scalar, have shape 4, or have rank 0, but got shape 4x1}}
  %0, %1 = blockscale.quantize %x block [1, 16] global_amax(%g : tensor<4x1xf32>)
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

func.func @quantize_c8_batch_rank(%x: tensor<2x4x64xbf16>, %g: tensor<2x4x1xf32>) {
  // expected-error @below {{expected global_scale to be a scalar, have shape 2, have shape 2x4, or have rank 0, but got shape 2x4x1}}
  %0, %1 = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<2x4x1xf32>)
      : tensor<2x4x64xbf16> -> tensor<2x4x64xf4E2M1FN>, tensor<2x4x4xf8E4M3FN>
  return
}

// -----

// With groups one value is a group's, not a row's.
func.func @quantize_c8_groups(%x: tensor<4x64xbf16>, %g: tensor<4xf32>, %ends: tensor<3xi32>) {
  // expected-error @below {{expected global_scale to have shape 3, but got 4}}
  %0, %1 = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<4xf32>) offsets(%ends : tensor<3xi32>)
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

#grouped = #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>
func.func @quantize_c9_grouped(%x: tensor<4x64xbf16>) {
  // expected-error @below {{expected scale to have no grouped layout, but got #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>}}
  %0, %1 = blockscale.quantize %x block [1, 16]
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN, #grouped>
  return
}

// -----

#grouped = #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>
func.func @quantize_c9_groups(%x: tensor<4x64xbf16>, %ends: tensor<3xi32>) {
  // expected-error @below {{expected a grouped layout of scale to have one group an offset along dim = 0, but got #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>}}
  %0, %1 = blockscale.quantize %x block [1, 16] offsets(%ends : tensor<3xi32>)
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN, #grouped>
  return
}

// -----

#grouped = #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>
func.func @quantize_c9_dim(%x: tensor<4x64xbf16>, %ends: tensor<2xi32>) {
  // expected-error @below {{expected a grouped layout of scale to have one group an offset along dim = 1, but got #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>}}
  %0, %1 = blockscale.quantize %x block [1, 16] offsets(%ends : tensor<2xi32>) group_dim 1
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN, #grouped>
  return
}

// -----

#grouped = #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>
// Rows of x are columns of the transposed scales.
func.func @quantize_c9_dim_transposed(%x: tensor<64x96xbf16>, %ends: tensor<2xi32>) {
  // expected-error @below {{expected a grouped layout of scale to have one group an offset along dim = 1, but got #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>}}
  %0, %1 = blockscale.quantize %x block [32, 1] transposed offsets(%ends : tensor<2xi32>)
      : tensor<64x96xbf16> -> tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU, #grouped>
  return
}

// -----

func.func @quantize_c9_encoding(%x: tensor<4x64xbf16>) {
  // expected-error @below {{expected scale to be linear or have a blockscale layout, but got "sparse"}}
  %0, %1 = blockscale.quantize %x block [1, 16]
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN, "sparse">
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>
func.func @quantize_c9_columns(%x: tensor<64x96xbf16>) {
  // expected-error @below {{expected linear scales, or transposed or expanded ones (scale_dim), of blocks of several rows, but got #blockscale.layout<swizzle_128x4>}}
  %0, %1 = blockscale.quantize %x block [32, 1]
      : tensor<64x96xbf16> -> tensor<64x96xf8E4M3FN>, tensor<2x96xf8E8M0FNU, #swizzled>
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>
// One scale a square is no row of a product, transposed or not.
func.func @quantize_c9_square(%x: tensor<64x96xbf16>) {
  // expected-error @below {{expected linear scales, or transposed or expanded ones (scale_dim), of blocks of several rows, but got #blockscale.layout<swizzle_128x4>}}
  %0, %1 = blockscale.quantize %x block [16, 16] transposed
      : tensor<64x96xbf16> -> tensor<96x64xf4E2M1FN>, tensor<6x4xf8E4M3FN, #swizzled>
  return
}

// -----

func.func @quantize_c10_nvfp4(%x: tensor<4x64xbf16>) {
  // expected-error @below {{expected blocks of several rows with transposed results, but got [1, 16]}}
  %0, %1 = blockscale.quantize %x block [1, 16] transposed
      : tensor<4x64xbf16> -> tensor<64x4xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

func.func @quantize_c10_mx(%x: tensor<4x64xbf16>) {
  // expected-error @below {{expected blocks of several rows with transposed results, but got [1, 32]}}
  %0, %1 = blockscale.quantize %x block [1, 32] transposed
      : tensor<4x64xbf16> -> tensor<64x4xf8E5M2>, tensor<2x4xf8E8M0FNU>
  return
}

// -----

func.func @quantize_c11_row(%x: tensor<4x64xbf16>) {
  // expected-error @below {{expected square blocks with scale_dim, but got [1, 16]}}
  %0, %1 = blockscale.quantize %x block [1, 16] scale_dim k
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

func.func @quantize_c11_column(%x: tensor<64x96xbf16>) {
  // expected-error @below {{expected square blocks with scale_dim, but got [32, 1]}}
  %0, %1 = blockscale.quantize %x block [32, 1] transposed scale_dim n
      : tensor<64x96xbf16> -> tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU>
  return
}

// -----

func.func @quantize_c12_square(%x: tensor<64x64xbf16>, %g: tensor<64xf32>) {
  // expected-error @below {{expected blocks of one row, no rng and no 4over6 recipe with a global value a row, but got blocks of several rows}}
  %0, %1 = blockscale.quantize %x block [16, 16] global_scale(%g : tensor<64xf32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

func.func @quantize_c12_transposed(%x: tensor<64x64xbf16>, %g: tensor<64xf32>) {
  // expected-error @below {{expected blocks of one row, no rng and no 4over6 recipe with a global value a row, but got blocks of several rows}}
  %0, %1 = blockscale.quantize %x block [16, 1] transposed global_amax(%g : tensor<64xf32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  return
}

// -----

func.func @quantize_c12_rng(%x: tensor<4x64xbf16>, %g: tensor<4xf32>, %r: tensor<2xi64>) {
  // expected-error @below {{expected blocks of one row, no rng and no 4over6 recipe with a global value a row, but got rng}}
  %0, %1 = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<4xf32>) rng(%r : tensor<2xi64>)
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

func.func @quantize_c12_4over6(%x: tensor<4x64xbf16>, %g: tensor<4xf32>) {
  // expected-error @below {{expected blocks of one row, no rng and no 4over6 recipe with a global value a row, but got a 4over6 recipe}}
  %0, %1 = blockscale.quantize %x block [1, 16] recipe te_4over6_mae global_amax(%g : tensor<4xf32>)
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

func.func @quantize_c13_mx(%x: tensor<4x64xbf16>, %b: tensor<4x2xf32>) {
  // expected-error @below {{expected block [1, 16] with block_amax, but got [1, 32]}}
  %0, %1 = blockscale.quantize %x block [1, 32] block_amax(%b : tensor<4x2xf32>)
      : tensor<4x64xbf16> -> tensor<4x64xf8E4M3FN>, tensor<4x2xf8E8M0FNU>
  return
}

// -----

func.func @quantize_c13_square(%x: tensor<64x64xbf16>, %b: tensor<4x4xf32>) {
  // expected-error @below {{expected block [1, 16] with block_amax, but got [16, 16]}}
  %0, %1 = blockscale.quantize %x block [16, 16] block_amax(%b : tensor<4x4xf32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

func.func @quantize_c13_4over6(%x: tensor<4x64xbf16>, %b: tensor<4x4xf32>) {
  // expected-error @below {{expected no 4over6 recipe with block_amax, but got te_4over6_mse}}
  %0, %1 = blockscale.quantize %x block [1, 16] recipe te_4over6_mse block_amax(%b : tensor<4x4xf32>)
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

func.func @quantize_c13_shape(%x: tensor<4x64xbf16>, %b: tensor<4x64xf32>) {
  // expected-error @below {{expected block_amax to have shape 4x4, but got 4x64}}
  %0, %1 = blockscale.quantize %x block [1, 16] block_amax(%b : tensor<4x64xf32>)
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

func.func @quantize_c14_data(%x: tensor<4x64xbf16>, %r: tensor<2xi64>) {
  // expected-error @below {{expected f4E2M1FN data with rng, but got 'f8E4M3FN'}}
  %0, %1 = blockscale.quantize %x block [1, 32] rng(%r : tensor<2xi64>)
      : tensor<4x64xbf16> -> tensor<4x64xf8E4M3FN>, tensor<4x2xf8E8M0FNU>
  return
}

// -----

func.func @quantize_c14_4over6(%x: tensor<4x64xbf16>, %r: tensor<2xi64>) {
  // expected-error @below {{expected no 4over6 recipe with rng, but got te_4over6_mae}}
  %0, %1 = blockscale.quantize %x block [1, 16] recipe te_4over6_mae rng(%r : tensor<2xi64>)
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

func.func @quantize_c14_shape(%x: tensor<4x64xbf16>, %r: tensor<3xi64>) {
  // expected-error @below {{expected rng to have shape 2 or 4, but got 3}}
  %0, %1 = blockscale.quantize %x block [1, 16] rng(%r : tensor<3xi64>)
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

func.func @quantize_c14_rank(%x: tensor<4x64xbf16>, %r: tensor<i64>) {
  // expected-error @below {{expected rng to have shape 2 or 4, but got rank 0}}
  %0, %1 = blockscale.quantize %x block [1, 16] rng(%r : tensor<i64>)
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

func.func @quantize_c15_batch(%x: tensor<2x4x64xbf16>, %ends: tensor<2xi32>) {
  // expected-error @below {{expected x to have rank 2 with offsets, but got rank 3}}
  %0, %1 = blockscale.quantize %x block [1, 16] offsets(%ends : tensor<2xi32>)
      : tensor<2x4x64xbf16> -> tensor<2x4x64xf4E2M1FN>, tensor<2x4x4xf8E4M3FN>
  return
}

// -----

func.func @quantize_c15_offsets(%x: tensor<4x64xbf16>, %ends: tensor<i32>) {
  // expected-error @below {{expected offsets to have rank 1, but got rank 0}}
  %0, %1 = blockscale.quantize %x block [1, 16] offsets(%ends : tensor<i32>)
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

func.func @quantize_c15_dim(%x: tensor<4x64xbf16>, %ends: tensor<2xi32>) {
  // expected-error @below {{expected group_dim to be 0 (rows) or 1 (columns), but got 2}}
  %0, %1 = blockscale.quantize %x block [1, 16] offsets(%ends : tensor<2xi32>) group_dim 2
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

func.func @quantize_c15_no_offsets(%x: tensor<4x64xbf16>) {
  // expected-error @below {{expected group_dim to be 0 without offsets, but got 1}}
  %0, %1 = blockscale.quantize %x block [1, 16] group_dim 1
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

func.func @quantize_c16(%x: tensor<4x64xbf16>, %g: tensor<f32>) {
  // expected-error @below {{expected global_amax with nonzero_amax, but got none}}
  %0, %1 = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>) nonzero_amax
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return
}
