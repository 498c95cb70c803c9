// RUN: blockscale-opt %s -split-input-file -verify-diagnostics

func.func @expand_scale_c1_rank(%s: tensor<4xf8E8M0FNU>) {
  // expected-error @below {{expected source to have rank 2 or more, but got rank 1}}
  %0 = blockscale.expand_scale %s block [32, 32] scale_dim k : tensor<4xf8E8M0FNU> -> tensor<4xf8E8M0FNU>
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>
func.func @expand_scale_c1_encoding(%s: tensor<8x4xf8E8M0FNU, #swizzled>) {
  // expected-error @below {{expected source to have no encoding, but got #blockscale.layout<swizzle_128x4>}}
  %0 = blockscale.expand_scale %s block [32, 32] scale_dim k : tensor<8x4xf8E8M0FNU, #swizzled> -> tensor<256x4xf8E8M0FNU>
  return
}

// -----

func.func @expand_scale_c2_nvfp4(%s: tensor<8x4xf8E4M3FN>) {
  // expected-error @below {{expected block [16, 16] with 'f8E4M3FN' scales, but got [32, 32]}}
  %0 = blockscale.expand_scale %s block [32, 32] scale_dim k : tensor<8x4xf8E4M3FN> -> tensor<256x4xf8E4M3FN>
  return
}

// -----

func.func @expand_scale_c2_mx(%s: tensor<8x4xf8E8M0FNU>) {
  // expected-error @below {{expected block [32, 32] with 'f8E8M0FNU' scales, but got [1, 32]}}
  %0 = blockscale.expand_scale %s block [1, 32] scale_dim k : tensor<8x4xf8E8M0FNU> -> tensor<256x4xf8E8M0FNU>
  return
}

// -----

func.func @expand_scale_c2_empty(%s: tensor<8x4xf8E8M0FNU>) {
  // expected-error @below {{expected block [32, 32] with 'f8E8M0FNU' scales, but got []}}
  %0 = blockscale.expand_scale %s block [] scale_dim n : tensor<8x4xf8E8M0FNU> -> tensor<128x8xf8E8M0FNU>
  return
}

// -----

func.func @expand_scale_c3_element(%s: tensor<8x4xf8E8M0FNU>) {
  // expected-error @below {{expected the result element type to be 'f8E8M0FNU', but got 'f8E4M3FN'}}
  %0 = blockscale.expand_scale %s block [32, 32] scale_dim k : tensor<8x4xf8E8M0FNU> -> tensor<256x4xf8E4M3FN>
  return
}

// -----

#grouped = #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>
func.func @expand_scale_c3_grouped(%s: tensor<8x4xf8E8M0FNU>) {
  // expected-error @below {{expected the result to have no grouped layout, but got #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>}}
  %0 = blockscale.expand_scale %s block [32, 32] scale_dim k : tensor<8x4xf8E8M0FNU> -> tensor<256x4xf8E8M0FNU, #grouped>
  return
}

// -----

func.func @expand_scale_c4_rank(%s: tensor<8x4xf8E8M0FNU>) {
  // expected-error @below {{expected the result to have rank 2, but got 3}}
  %0 = blockscale.expand_scale %s block [32, 32] scale_dim k : tensor<8x4xf8E8M0FNU> -> tensor<1x256x4xf8E8M0FNU>
  return
}

// -----

// Along k the blocks of columns stay.
func.func @expand_scale_c4_blocks(%s: tensor<8x4xf8E8M0FNU>) {
  // expected-error @below {{expected the result to have shape 256x4, but got 256x8}}
  %0 = blockscale.expand_scale %s block [32, 32] scale_dim k : tensor<8x4xf8E8M0FNU> -> tensor<256x8xf8E8M0FNU>
  return
}

// -----

func.func @expand_scale_c4_batch(%s: tensor<3x8x4xf8E8M0FNU>) {
  // expected-error @below {{expected the result to have shape 3x128x8, but got 2x128x8}}
  %0 = blockscale.expand_scale %s block [32, 32] scale_dim n : tensor<3x8x4xf8E8M0FNU> -> tensor<2x128x8xf8E8M0FNU>
  return
}

// -----

func.func @expand_scale_c4_rows(%s: tensor<8x4xf8E8M0FNU>) {
  // expected-error @below {{expected 9 blocks for the expanded dimension of size 257, but got 8}}
  %0 = blockscale.expand_scale %s block [32, 32] scale_dim k : tensor<8x4xf8E8M0FNU> -> tensor<257x4xf8E8M0FNU>
  return
}

// -----

func.func @expand_scale_c4_columns(%s: tensor<8x4xf8E8M0FNU>) {
  // expected-error @below {{expected 3 blocks for the expanded dimension of size 96, but got 4}}
  %0 = blockscale.expand_scale %s block [32, 32] scale_dim n : tensor<8x4xf8E8M0FNU> -> tensor<96x8xf8E8M0FNU>
  return
}

// -----

func.func @expand_scale_c5_missing(%s: tensor<?x4xf8E8M0FNU>) {
  // expected-error @below {{expected sizes with a dynamic expanded dimension, but got none}}
  %0 = blockscale.expand_scale %s block [32, 32] scale_dim k : tensor<?x4xf8E8M0FNU> -> tensor<?x4xf8E8M0FNU>
  return
}

// -----

func.func @expand_scale_c5_excess(%s: tensor<?x4xf8E8M0FNU>, %n: index) {
  // expected-error @below {{expected sizes only with a dynamic expanded dimension, but got one}}
  %0 = blockscale.expand_scale %s block [32, 32] scale_dim k sizes(%n) : tensor<?x4xf8E8M0FNU> -> tensor<200x4xf8E8M0FNU>
  return
}
