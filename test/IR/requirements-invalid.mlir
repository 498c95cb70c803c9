// RUN: blockscale-opt %s -split-input-file -verify-diagnostics

// What requirements A12, C14, C15, E1 and E2 refuse (see docs/Testing.md). C15 with the
// transform is in test/Transforms/verify-layout-origin.mlir.

// A12: both operands are matrices, in blocks of 16, with one global scale each.
func.func @a12_rank(%a: tensor<64xf4E2M1FN>, %b: tensor<16x64xf4E2M1FN>, %sa: tensor<4xf8E4M3FN>, %sb: tensor<16x4xf8E4M3FN>) {
  // expected-error @below {{expected a to have rank 2 or more, but got rank 1}}
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      : tensor<64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  return
}

// -----

func.func @a12_block(%a: tensor<8x64xf4E2M1FN>, %b: tensor<16x64xf4E2M1FN>, %sa: tensor<8x2xf8E4M3FN>, %sb: tensor<16x2xf8E4M3FN>) {
  // expected-error @below {{expected block [1, 16] with 'f8E4M3FN' scales, but got [1, 32]}}
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 32]
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x2xf8E4M3FN>, tensor<16x2xf8E4M3FN> -> tensor<8x16xf32>
  return
}

// -----

// B is [N, K], with K contiguous: not [K, N].
func.func @a12_transposed(%a: tensor<8x64xf4E2M1FN>, %b: tensor<64x16xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %sb: tensor<64x1xf8E4M3FN>) {
  // expected-error @below {{expected the last dimension of b to be that of a, 64, but got 16}}
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      : tensor<8x64xf4E2M1FN>, tensor<64x16xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<64x1xf8E4M3FN> -> tensor<8x16xf32>
  return
}

// -----

func.func @a12_experts(%a: tensor<8x64xf4E2M1FN>, %b: tensor<16x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %sb: tensor<16x4xf8E4M3FN>, %g: tensor<3xf32>) {
  // expected-error @below {{expected global_scale_b to have shape 16, but got 3}}
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] global_scale_b(%g : tensor<3xf32>)
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  return
}

// -----

// C14: whole groups of 16, named with the shape; bf16; random bits from two i64.
func.func @c14_rows(%x: tensor<24x64xbf16>) {
  // expected-error @below {{expected the transformed dimension of x to be a multiple of 16, but got 24 in shape 24x64}}
  %0 = blockscale.hadamard %x dim 0 : tensor<24x64xbf16>
  return
}

// -----

func.func @c14_columns(%x: tensor<64x40xbf16>) {
  // expected-error @below {{expected the last dimension of x to be a multiple of 16, but got 40}}
  %0, %1 = blockscale.quantize %x block [1, 16]
      : tensor<64x40xbf16> -> tensor<64x40xf4E2M1FN>, tensor<64x3xf8E4M3FN>
  return
}

// -----

func.func @c14_element(%x: tensor<32x64xf32>) {
  // expected-error @below {{expected x to be bf16, for which the transform is defined, but got 'f32'}}
  %0 = blockscale.hadamard %x dim 0 : tensor<32x64xf32>
  return
}

// -----

func.func @c14_state(%x: tensor<4x64xbf16>, %r: tensor<3xi64>) {
  // expected-error @below {{expected rng to have shape 2 or 4, but got 3}}
  %0, %1 = blockscale.quantize %x block [1, 16] rng(%r : tensor<3xi64>)
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

// C15: neither 4over6 nor scaled rows round at random; scaled rows are no tiles.
func.func @c15_4over6(%x: tensor<4x64xbf16>, %r: tensor<2xi64>) {
  // expected-error @below {{expected no 4over6 recipe with rng, but got te_4over6_mse}}
  %0, %1 = blockscale.quantize %x block [1, 16] recipe te_4over6_mse rng(%r : tensor<2xi64>)
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

func.func @c15_rows(%x: tensor<4x64xbf16>, %a: tensor<4xf32>, %r: tensor<2xi64>) {
  // expected-error @below {{expected blocks of one row, no rng and no 4over6 recipe with a global value a row, but got rng}}
  %0, %1 = blockscale.quantize %x block [1, 16] recipe te global_amax(%a : tensor<4xf32>) rng(%r : tensor<2xi64>)
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

func.func @c15_tiles(%x: tensor<16x64xbf16>, %a: tensor<16xf32>) {
  // expected-error @below {{expected blocks of one row, no rng and no 4over6 recipe with a global value a row, but got blocks of several rows}}
  %0, %1 = blockscale.quantize %x block [16, 16] recipe te global_amax(%a : tensor<16xf32>)
      : tensor<16x64xbf16> -> tensor<16x64xf4E2M1FN>, tensor<1x4xf8E4M3FN>
  return
}

// -----

// E1: other pairs of block sizes, with those that there are.
func.func @e1(%x: tensor<2x64x64xbf16>) {
  // expected-error @below {{expected block [1, 32], [32, 1] or [32, 32] with 'f8E8M0FNU' scales, but got [32, 16]}}
  %0, %1 = blockscale.quantize %x block [32, 16]
      : tensor<2x64x64xbf16> -> tensor<2x64x64xf8E4M3FN>, tensor<2x2x4xf8E8M0FNU>
  return
}

// -----

// E2: N and K are multiples of 32.
func.func @e2_n(%x: tensor<2x48x64xbf16>) {
  // expected-error @below {{expected the second-to-last dimension of x to be a multiple of 32, but got 48}}
  %0, %1 = blockscale.quantize %x block [32, 1]
      : tensor<2x48x64xbf16> -> tensor<2x48x64xf8E4M3FN>, tensor<2x2x64xf8E8M0FNU>
  return
}

// -----

func.func @e2_k(%x: tensor<2x64x48xbf16>) {
  // expected-error @below {{expected the last dimension of x to be a multiple of 32, but got 48}}
  %0, %1 = blockscale.quantize %x block [32, 32]
      : tensor<2x64x48xbf16> -> tensor<2x64x48xf8E4M3FN>, tensor<2x2x2xf8E8M0FNU>
  return
}
