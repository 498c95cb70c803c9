// RUN: blockscale-opt %s -split-input-file -verify-diagnostics

func.func @quantize_c1_rank(%x: tensor<64xbf16>) {
  // expected-error @below {{expected x to have rank 2 or more, but got rank 1}}
  %0, %1 = blockscale.quantize %x block [1, 16] : tensor<64xbf16> -> tensor<64xf4E2M1FN>, tensor<4xf8E4M3FN>
  return
}

// -----

func.func @quantize_c1_encoding(%x: tensor<4x64xbf16, "sparse">) {
  // expected-error @below {{expected x to have no encoding, but got "sparse"}}
  %0, %1 = blockscale.quantize %x block [1, 16] : tensor<4x64xbf16, "sparse"> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

func.func @quantize_c2_block(%x: tensor<4x64xbf16>) {
  // expected-error @below {{expected block [1, 16] with 'f8E4M3FN' scales, but got [1, 32]}}
  %0, %1 = blockscale.quantize %x block [1, 32] : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x2xf8E4M3FN>
  return
}

// -----

func.func @quantize_c2_block_rows(%x: tensor<4x64xbf16>) {
  // expected-error @below {{expected block [1, 32] with 'f8E8M0FNU' scales, but got [32, 1]}}
  %0, %1 = blockscale.quantize %x block [32, 1] : tensor<4x64xbf16> -> tensor<4x64xf8E4M3FN>, tensor<4x2xf8E8M0FNU>
  return
}

// -----

func.func @quantize_c2_block_empty(%x: tensor<4x64xbf16>) {
  // expected-error @below {{expected block [1, 32] with 'f8E8M0FNU' scales, but got []}}
  %0, %1 = blockscale.quantize %x block [] : tensor<4x64xbf16> -> tensor<4x64xf8E4M3FN>, tensor<4x2xf8E8M0FNU>
  return
}

// -----

func.func @quantize_c2_data(%x: tensor<4x64xbf16>) {
  // expected-error @below {{expected f4E2M1FN data with f8E4M3FN scales (NVFP4), but got 'f8E4M3FN'}}
  %0, %1 = blockscale.quantize %x block [1, 16] : tensor<4x64xbf16> -> tensor<4x64xf8E4M3FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

func.func @quantize_c3_nvfp4(%x: tensor<4x64xbf16>) {
  // expected-error @below {{expected an NVFP4 recipe (torchao, mslk, te, modelopt) with f8E4M3FN scales, but got rceil}}
  %0, %1 = blockscale.quantize %x block [1, 16] recipe rceil : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

func.func @quantize_c3_mx(%x: tensor<4x64xbf16>) {
  // expected-error @below {{expected an MX recipe (floor, rceil, rceil_sat, ceil, even) with f8E8M0FNU scales, but got te}}
  %0, %1 = blockscale.quantize %x block [1, 32] recipe te : tensor<4x64xbf16> -> tensor<4x64xf8E5M2>, tensor<4x2xf8E8M0FNU>
  return
}

// -----

func.func @quantize_c4_shape(%x: tensor<4x64xbf16>) {
  // expected-error @below {{expected data to have shape 4x64, but got 64x4}}
  %0, %1 = blockscale.quantize %x block [1, 16] : tensor<4x64xbf16> -> tensor<64x4xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

func.func @quantize_c4_encoding(%x: tensor<4x64xbf16>) {
  // expected-error @below {{expected data to have no encoding, but got "sparse"}}
  %0, %1 = blockscale.quantize %x block [1, 16] : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN, "sparse">, tensor<4x4xf8E4M3FN>
  return
}

// -----

func.func @quantize_c5(%x: tensor<?x80xbf16>) {
  // expected-error @below {{expected scale to have shape ?x5, but got 4x8}}
  %0, %1 = blockscale.quantize %x block [1, 16] : tensor<?x80xbf16> -> tensor<?x80xf4E2M1FN>, tensor<4x8xf8E4M3FN>
  return
}

// -----

func.func @quantize_c6_nvfp4(%x: tensor<4x40xbf16>) {
  // expected-error @below {{expected the last dimension of x to be a multiple of 16, but got 40}}
  %0, %1 = blockscale.quantize %x block [1, 16] recipe mslk : tensor<4x40xbf16> -> tensor<4x40xf4E2M1FN>, tensor<4x3xf8E4M3FN>
  return
}

// -----

func.func @quantize_c6_mx(%x: tensor<4x48xbf16>) {
  // expected-error @below {{expected the last dimension of x to be a multiple of 32, but got 48}}
  %0, %1 = blockscale.quantize %x block [1, 32] : tensor<4x48xbf16> -> tensor<4x48xf8E4M3FN>, tensor<4x2xf8E8M0FNU>
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

func.func @quantize_c8_no_batch(%x: tensor<4x64xbf16>, %g: tensor<1xf32>) {
  // expected-error @below {{expected global_amax to be a scalar or have rank 0, but got shape 1}}
  %0, %1 = blockscale.quantize %x block [1, 16] global_amax(%g : tensor<1xf32>)
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

func.func @quantize_c9_grouped(%x: tensor<4x64xbf16>) {
  // expected-error @below {{expected scale to have no grouped layout, but got #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>}}
  %0, %1 = blockscale.quantize %x block [1, 16]
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>>
  return
}

// -----

func.func @quantize_c9_encoding(%x: tensor<4x64xbf16>) {
  // expected-error @below {{expected scale to be linear or have a blockscale layout, but got "sparse"}}
  %0, %1 = blockscale.quantize %x block [1, 16]
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN, "sparse">
  return
}
