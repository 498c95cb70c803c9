// The functions that blockscale-bench and peers.py time, one in each part. Every
// size is known, so that the bytes of the arguments and results are what a call
// reads and writes. An operand of rank 0 is an amax in a part that has
// `global_amax(`, and a decode scale elsewhere.

func.func @quantize_mxfp8_1x32_rceil(%x: tensor<4096x4096xbf16>)
    -> (tensor<4096x4096xf8E4M3FN>, tensor<4096x128xf8E8M0FNU>) {
  %q, %s = blockscale.quantize %x block [1, 32] recipe rceil
      : tensor<4096x4096xbf16> -> tensor<4096x4096xf8E4M3FN>, tensor<4096x128xf8E8M0FNU>
  return %q, %s : tensor<4096x4096xf8E4M3FN>, tensor<4096x128xf8E8M0FNU>
}

// -----

func.func @quantize_mxfp8_1x32_floor(%x: tensor<4096x4096xbf16>)
    -> (tensor<4096x4096xf8E4M3FN>, tensor<4096x128xf8E8M0FNU>) {
  %q, %s = blockscale.quantize %x block [1, 32] recipe floor
      : tensor<4096x4096xbf16> -> tensor<4096x4096xf8E4M3FN>, tensor<4096x128xf8E8M0FNU>
  return %q, %s : tensor<4096x4096xf8E4M3FN>, tensor<4096x128xf8E8M0FNU>
}

// -----

func.func @quantize_mxfp8_1x32_even(%x: tensor<4096x4096xbf16>)
    -> (tensor<4096x4096xf8E4M3FN>, tensor<4096x128xf8E8M0FNU>) {
  %q, %s = blockscale.quantize %x block [1, 32] recipe even
      : tensor<4096x4096xbf16> -> tensor<4096x4096xf8E4M3FN>, tensor<4096x128xf8E8M0FNU>
  return %q, %s : tensor<4096x4096xf8E4M3FN>, tensor<4096x128xf8E8M0FNU>
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>
func.func @quantize_mxfp8_1x32_rceil_swizzled(%x: tensor<4096x4096xbf16>)
    -> (tensor<4096x4096xf8E4M3FN>, tensor<4096x128xf8E8M0FNU, #swizzled>) {
  %q, %s = blockscale.quantize %x block [1, 32] recipe rceil
      : tensor<4096x4096xbf16> -> tensor<4096x4096xf8E4M3FN>, tensor<4096x128xf8E8M0FNU, #swizzled>
  return %q, %s : tensor<4096x4096xf8E4M3FN>, tensor<4096x128xf8E8M0FNU, #swizzled>
}

// -----

func.func @quantize_mxfp8_e5m2_1x32_rceil(%x: tensor<4096x4096xbf16>)
    -> (tensor<4096x4096xf8E5M2>, tensor<4096x128xf8E8M0FNU>) {
  %q, %s = blockscale.quantize %x block [1, 32] recipe rceil
      : tensor<4096x4096xbf16> -> tensor<4096x4096xf8E5M2>, tensor<4096x128xf8E8M0FNU>
  return %q, %s : tensor<4096x4096xf8E5M2>, tensor<4096x128xf8E8M0FNU>
}

// -----

func.func @quantize_mxfp6_e2m3_1x32_rceil(%x: tensor<4096x4096xbf16>)
    -> (tensor<4096x4096xf6E2M3FN>, tensor<4096x128xf8E8M0FNU>) {
  %q, %s = blockscale.quantize %x block [1, 32] recipe rceil
      : tensor<4096x4096xbf16> -> tensor<4096x4096xf6E2M3FN>, tensor<4096x128xf8E8M0FNU>
  return %q, %s : tensor<4096x4096xf6E2M3FN>, tensor<4096x128xf8E8M0FNU>
}

// -----

func.func @quantize_mxfp4_1x32_rceil(%x: tensor<4096x4096xbf16>)
    -> (tensor<4096x4096xf4E2M1FN>, tensor<4096x128xf8E8M0FNU>) {
  %q, %s = blockscale.quantize %x block [1, 32] recipe rceil
      : tensor<4096x4096xbf16> -> tensor<4096x4096xf4E2M1FN>, tensor<4096x128xf8E8M0FNU>
  return %q, %s : tensor<4096x4096xf4E2M1FN>, tensor<4096x128xf8E8M0FNU>
}

// -----

func.func @quantize_mxfp8_32x1_rceil(%x: tensor<4096x4096xbf16>)
    -> (tensor<4096x4096xf8E4M3FN>, tensor<128x4096xf8E8M0FNU>) {
  %q, %s = blockscale.quantize %x block [32, 1] recipe rceil
      : tensor<4096x4096xbf16> -> tensor<4096x4096xf8E4M3FN>, tensor<128x4096xf8E8M0FNU>
  return %q, %s : tensor<4096x4096xf8E4M3FN>, tensor<128x4096xf8E8M0FNU>
}

// -----

func.func @quantize_mxfp8_32x1_transposed_rceil(%x: tensor<4096x4096xbf16>)
    -> (tensor<4096x4096xf8E4M3FN>, tensor<4096x128xf8E8M0FNU>) {
  %q, %s = blockscale.quantize %x block [32, 1] transposed recipe rceil
      : tensor<4096x4096xbf16> -> tensor<4096x4096xf8E4M3FN>, tensor<4096x128xf8E8M0FNU>
  return %q, %s : tensor<4096x4096xf8E4M3FN>, tensor<4096x128xf8E8M0FNU>
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>
func.func @quantize_mxfp8_32x1_transposed_rceil_swizzled(%x: tensor<4096x4096xbf16>)
    -> (tensor<4096x4096xf8E4M3FN>, tensor<4096x128xf8E8M0FNU, #swizzled>) {
  %q, %s = blockscale.quantize %x block [32, 1] transposed recipe rceil
      : tensor<4096x4096xbf16> -> tensor<4096x4096xf8E4M3FN>, tensor<4096x128xf8E8M0FNU, #swizzled>
  return %q, %s : tensor<4096x4096xf8E4M3FN>, tensor<4096x128xf8E8M0FNU, #swizzled>
}

// -----

func.func @quantize_mxfp8_32x32_rceil(%x: tensor<4096x4096xbf16>)
    -> (tensor<4096x4096xf8E4M3FN>, tensor<128x128xf8E8M0FNU>) {
  %q, %s = blockscale.quantize %x block [32, 32] recipe rceil
      : tensor<4096x4096xbf16> -> tensor<4096x4096xf8E4M3FN>, tensor<128x128xf8E8M0FNU>
  return %q, %s : tensor<4096x4096xf8E4M3FN>, tensor<128x128xf8E8M0FNU>
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>
func.func @quantize_mxfp8_32x32_rceil_scale_dim_k(%x: tensor<4096x4096xbf16>)
    -> (tensor<4096x4096xf8E4M3FN>, tensor<4096x128xf8E8M0FNU, #swizzled>) {
  %q, %s = blockscale.quantize %x block [32, 32] scale_dim k recipe rceil
      : tensor<4096x4096xbf16> -> tensor<4096x4096xf8E4M3FN>, tensor<4096x128xf8E8M0FNU, #swizzled>
  return %q, %s : tensor<4096x4096xf8E4M3FN>, tensor<4096x128xf8E8M0FNU, #swizzled>
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>
func.func @quantize_mxfp8_32x32_rceil_scale_dim_n(%x: tensor<4096x4096xbf16>)
    -> (tensor<4096x4096xf8E4M3FN>, tensor<4096x128xf8E8M0FNU, #swizzled>) {
  %q, %s = blockscale.quantize %x block [32, 32] scale_dim n recipe rceil
      : tensor<4096x4096xbf16> -> tensor<4096x4096xf8E4M3FN>, tensor<4096x128xf8E8M0FNU, #swizzled>
  return %q, %s : tensor<4096x4096xf8E4M3FN>, tensor<4096x128xf8E8M0FNU, #swizzled>
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>
func.func @quantize_nvfp4_1x16_torchao_swizzled(%x: tensor<4096x4096xbf16>, %g: tensor<f32>)
    -> (tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN, #swizzled>) {
  %q, %s = blockscale.quantize %x block [1, 16] recipe torchao
      global_scale(%g : tensor<f32>)
      : tensor<4096x4096xbf16> -> tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN, #swizzled>
  return %q, %s : tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN, #swizzled>
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>
func.func @quantize_nvfp4_1x16_te_swizzled(%x: tensor<4096x4096xbf16>, %g: tensor<f32>)
    -> (tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN, #swizzled>) {
  %q, %s = blockscale.quantize %x block [1, 16] recipe te
      global_scale(%g : tensor<f32>)
      : tensor<4096x4096xbf16> -> tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN, #swizzled>
  return %q, %s : tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN, #swizzled>
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>
func.func @quantize_nvfp4_1x16_mslk_swizzled(%x: tensor<4096x4096xbf16>, %g: tensor<f32>)
    -> (tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN, #swizzled>) {
  %q, %s = blockscale.quantize %x block [1, 16] recipe mslk
      global_scale(%g : tensor<f32>)
      : tensor<4096x4096xbf16> -> tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN, #swizzled>
  return %q, %s : tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN, #swizzled>
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>
func.func @quantize_nvfp4_1x16_modelopt_swizzled(%x: tensor<4096x4096xbf16>, %g: tensor<f32>)
    -> (tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN, #swizzled>) {
  %q, %s = blockscale.quantize %x block [1, 16] recipe modelopt
      global_scale(%g : tensor<f32>)
      : tensor<4096x4096xbf16> -> tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN, #swizzled>
  return %q, %s : tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN, #swizzled>
}

// -----

func.func @quantize_nvfp4_1x16_torchao(%x: tensor<4096x4096xbf16>)
    -> (tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN>) {
  %q, %s = blockscale.quantize %x block [1, 16] recipe torchao
      : tensor<4096x4096xbf16> -> tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN>
  return %q, %s : tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN>
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>
func.func @quantize_nvfp4_16x1_transposed_te_swizzled(%x: tensor<4096x4096xbf16>, %g: tensor<f32>)
    -> (tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN, #swizzled>) {
  %q, %s = blockscale.quantize %x block [16, 1] transposed recipe te
      global_amax(%g : tensor<f32>)
      : tensor<4096x4096xbf16> -> tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN, #swizzled>
  return %q, %s : tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN, #swizzled>
}

// -----

func.func @quantize_nvfp4_16x16_te(%x: tensor<4096x4096xbf16>, %g: tensor<f32>)
    -> (tensor<4096x4096xf4E2M1FN>, tensor<256x256xf8E4M3FN>) {
  %q, %s = blockscale.quantize %x block [16, 16] recipe te
      global_amax(%g : tensor<f32>)
      : tensor<4096x4096xbf16> -> tensor<4096x4096xf4E2M1FN>, tensor<256x256xf8E4M3FN>
  return %q, %s : tensor<4096x4096xf4E2M1FN>, tensor<256x256xf8E4M3FN>
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>
func.func @quantize_nvfp4_16x16_te_scale_dim_k(%x: tensor<4096x4096xbf16>, %g: tensor<f32>)
    -> (tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN, #swizzled>) {
  %q, %s = blockscale.quantize %x block [16, 16] scale_dim k recipe te
      global_amax(%g : tensor<f32>)
      : tensor<4096x4096xbf16> -> tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN, #swizzled>
  return %q, %s : tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN, #swizzled>
}

// -----

func.func @quantize_nvfp4_1x16_te_4over6_mse(%x: tensor<4096x4096xbf16>, %g: tensor<f32>)
    -> (tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN>) {
  %q, %s = blockscale.quantize %x block [1, 16] recipe te_4over6_mse
      global_amax(%g : tensor<f32>)
      : tensor<4096x4096xbf16> -> tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN>
  return %q, %s : tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN>
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>
func.func @quantize_nvfp4_1x16_te_stochastic(%x: tensor<4096x4096xbf16>, %g: tensor<f32>, %r: tensor<2xi64>)
    -> (tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN, #swizzled>) {
  %q, %s = blockscale.quantize %x block [1, 16] recipe te
      global_amax(%g : tensor<f32>)
      rng(%r : tensor<2xi64>)
      : tensor<4096x4096xbf16> -> tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN, #swizzled>
  return %q, %s : tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN, #swizzled>
}

// -----

func.func @dequantize_mxfp8(%q: tensor<4096x4096xf8E4M3FN>, %s: tensor<4096x128xf8E8M0FNU>)
    -> tensor<4096x4096xbf16> {
  %x = blockscale.dequantize %q, %s block [1, 32]
      : tensor<4096x4096xf8E4M3FN>, tensor<4096x128xf8E8M0FNU> -> tensor<4096x4096xbf16>
  return %x : tensor<4096x4096xbf16>
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>
func.func @dequantize_nvfp4_swizzled(%q: tensor<4096x4096xf4E2M1FN>, %s: tensor<4096x256xf8E4M3FN, #swizzled>, %g: tensor<f32>)
    -> tensor<4096x4096xbf16> {
  %x = blockscale.dequantize %q, %s block [1, 16] recipe torchao
      global_scale(%g : tensor<f32>)
      : tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN, #swizzled> -> tensor<4096x4096xbf16>
  return %x : tensor<4096x4096xbf16>
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>
func.func @swizzle(%s: tensor<16384x1024xf8E4M3FN>)
    -> tensor<16384x1024xf8E4M3FN, #swizzled> {
  %t = blockscale.swizzle %s : tensor<16384x1024xf8E4M3FN> -> tensor<16384x1024xf8E4M3FN, #swizzled>
  return %t : tensor<16384x1024xf8E4M3FN, #swizzled>
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>
func.func @unswizzle(%s: tensor<16384x1024xf8E4M3FN, #swizzled>)
    -> tensor<16384x1024xf8E4M3FN> {
  %t = blockscale.swizzle %s : tensor<16384x1024xf8E4M3FN, #swizzled> -> tensor<16384x1024xf8E4M3FN>
  return %t : tensor<16384x1024xf8E4M3FN>
}

// -----

func.func @amax(%x: tensor<4096x4096xbf16>)
    -> tensor<f32> {
  %a = blockscale.amax %x : tensor<4096x4096xbf16> -> tensor<f32>
  return %a : tensor<f32>
}

// -----

func.func @hadamard_dim0(%x: tensor<4096x4096xbf16>)
    -> tensor<4096x4096xbf16> {
  %y = blockscale.hadamard %x dim 0 : tensor<4096x4096xbf16>
  return %y : tensor<4096x4096xbf16>
}

// -----

func.func @hadamard_dim1(%x: tensor<4096x4096xbf16>)
    -> tensor<4096x4096xbf16> {
  %y = blockscale.hadamard %x dim 1 : tensor<4096x4096xbf16>
  return %y : tensor<4096x4096xbf16>
}

// -----

func.func @scale_sweep(%x: tensor<4096x4096xbf16>, %a: tensor<f32>)
    -> tensor<4096x256xf32> {
  %b = blockscale.scale_sweep %x global_amax(%a : tensor<f32>)
      : tensor<4096x4096xbf16> -> tensor<4096x256xf32>
  return %b : tensor<4096x256xf32>
}

// -----

func.func @scale_sweep_1024(%x: tensor<1024x1024xbf16>, %a: tensor<f32>)
    -> tensor<1024x64xf32> {
  %b = blockscale.scale_sweep %x global_amax(%a : tensor<f32>)
      : tensor<1024x1024xbf16> -> tensor<1024x64xf32>
  return %b : tensor<1024x64xf32>
}

// -----

func.func @scaled_mm_mxfp8_1024(%a: tensor<1024x1024xf8E4M3FN>, %b: tensor<1024x1024xf8E4M3FN>, %sa: tensor<1024x32xf8E8M0FNU>, %sb: tensor<1024x32xf8E8M0FNU>)
    -> tensor<1024x1024xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 32]
      : tensor<1024x1024xf8E4M3FN>, tensor<1024x1024xf8E4M3FN>, tensor<1024x32xf8E8M0FNU>, tensor<1024x32xf8E8M0FNU> -> tensor<1024x1024xbf16>
  return %y : tensor<1024x1024xbf16>
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>
func.func @scaled_mm_nvfp4_1024(%a: tensor<1024x1024xf4E2M1FN>, %b: tensor<1024x1024xf4E2M1FN>, %sa: tensor<1024x64xf8E4M3FN, #swizzled>, %sb: tensor<1024x64xf8E4M3FN, #swizzled>, %ga: tensor<f32>, %gb: tensor<f32>)
    -> tensor<1024x1024xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      global_scale_a(%ga : tensor<f32>) global_scale_b(%gb : tensor<f32>)
      : tensor<1024x1024xf4E2M1FN>, tensor<1024x1024xf4E2M1FN>, tensor<1024x64xf8E4M3FN, #swizzled>, tensor<1024x64xf8E4M3FN, #swizzled> -> tensor<1024x1024xbf16>
  return %y : tensor<1024x1024xbf16>
}

// -----

func.func @scaled_mm_mxfp8_weight_1(%a: tensor<1x4096xbf16>, %b: tensor<16384x4096xf8E4M3FN>, %sb: tensor<16384x128xf8E8M0FNU>)
    -> tensor<1x16384xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, %sb) block [1, 32]
      : tensor<1x4096xbf16>, tensor<16384x4096xf8E4M3FN>, tensor<16384x128xf8E8M0FNU> -> tensor<1x16384xbf16>
  return %y : tensor<1x16384xbf16>
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>
func.func @scaled_mm_nvfp4_weight_1(%a: tensor<1x4096xbf16>, %b: tensor<16384x4096xf4E2M1FN>, %sb: tensor<16384x256xf8E4M3FN, #swizzled>, %gb: tensor<f32>)
    -> tensor<1x16384xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, %sb) block [1, 16] global_scale_b(%gb : tensor<f32>)
      : tensor<1x4096xbf16>, tensor<16384x4096xf4E2M1FN>, tensor<16384x256xf8E4M3FN, #swizzled> -> tensor<1x16384xbf16>
  return %y : tensor<1x16384xbf16>
}
