// RUN: blockscale-opt %s -blockscale-verify-layout -split-input-file -verify-diagnostics

// What a global operand is, which its type does not tell.

// Each kind in its place; the range of 4over6 on both sides; values of unknown
// origin.
func.func @allowed(%x: tensor<64x64xbf16>, %v: tensor<f32>) {
  %a = blockscale.amax %x : tensor<64x64xbf16> -> tensor<f32>
  %g = blockscale.global_scale %a : tensor<f32>
  %n = blockscale.global_scale %a recipe te_4over6_mae : tensor<f32>
  %0:2 = blockscale.quantize %x block [1, 16] recipe mslk global_scale(%g : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %1:2 = blockscale.quantize %x block [1, 16] recipe te_4over6_mse global_scale(%n : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %2 = blockscale.dequantize %1#0, %1#1 block [1, 16] global_scale(%n : tensor<f32>)
      : tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xbf16>
  %3:2 = blockscale.quantize %x block [1, 16] recipe te_4over6_mae global_scale(%v : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %4:2 = blockscale.quantize %x block [1, 16] recipe te global_amax(%v : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %r = blockscale.amax_over_ranks %a : tensor<f32> -> tensor<f32>
  %h = blockscale.global_scale %r : tensor<f32>
  %5:2 = blockscale.quantize %x block [1, 16] global_scale(%h : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %6:2 = blockscale.quantize %x block [1, 16] recipe te global_amax(%r : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  return
}

// -----

// An amax over ranks is an amax.
func.func @amax_over_ranks_as_scale(%x: tensor<64x64xbf16>) {
  // expected-note @below {{computed here}}
  %a = blockscale.amax %x : tensor<64x64xbf16> -> tensor<f32>
  %r = blockscale.amax_over_ranks %a : tensor<f32> -> tensor<f32>
  // expected-error @below {{'blockscale.quantize' op expected global_scale to be a decode scale, which 'blockscale.global_scale' makes of an amax, but got an amax}}
  %0:2 = blockscale.quantize %x block [1, 16] global_scale(%r : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  return
}

// -----

// The largest decode scale over ranks may be that of a smaller amax.
func.func @scale_over_ranks(%a: tensor<f32>) {
  // expected-note @below {{computed here}}
  %g = blockscale.global_scale %a recipe te : tensor<f32>
  // expected-error @below {{'blockscale.amax_over_ranks' op expected amax to be an amax, but got a decode scale}}
  %r = blockscale.amax_over_ranks %g : tensor<f32> -> tensor<f32>
  return
}

// -----

// An amax is no decode scale, behind casts either.
func.func @amax_as_scale(%x: tensor<2x64x64xbf16>) {
  // expected-note @below {{computed here}}
  %a = blockscale.amax %x : tensor<2x64x64xbf16> -> tensor<2xf32>
  %d = tensor.cast %a : tensor<2xf32> to tensor<?xf32>
  // expected-error @below {{'blockscale.quantize' op expected global_scale to be a decode scale, which 'blockscale.global_scale' makes of an amax, but got an amax}}
  %0:2 = blockscale.quantize %x block [1, 16] global_scale(%d : tensor<?xf32>)
      : tensor<2x64x64xbf16> -> tensor<2x64x64xf4E2M1FN>, tensor<2x64x4xf8E4M3FN>
  return
}

// -----

// A product takes decode scales too.
func.func @amax_as_scale_of_product(%q: tensor<64x64xf4E2M1FN>, %s: tensor<64x4xf8E4M3FN>, %x: tensor<64x64xbf16>) {
  // expected-note @below {{computed here}}
  %a = blockscale.amax %x : tensor<64x64xbf16> -> tensor<f32>
  // expected-error @below {{'blockscale.scaled_mm' op expected global_scale_b to be a decode scale, which 'blockscale.global_scale' makes of an amax, but got an amax}}
  %0 = blockscale.scaled_mm %q, %q scales(%s, %s) block [1, 16] global_scale_b(%a : tensor<f32>)
      : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return
}

// -----

// A decode scale is no amax.
func.func @scale_as_amax(%a: tensor<f32>, %x: tensor<64x64xbf16>) {
  // expected-note @below {{computed here}}
  %g = blockscale.global_scale %a : tensor<f32>
  // expected-error @below {{'blockscale.scale_sweep' op expected global_amax to be an amax, but got a decode scale}}
  %0 = blockscale.scale_sweep %x global_amax(%g : tensor<f32>) : tensor<64x64xbf16> -> tensor<64x4xf32>
  return
}

// -----

// The decode scale of 4over6 maps the amax to 256 * 6, others to 448 * 6.
func.func @other_range(%a: tensor<f32>, %x: tensor<64x64xbf16>) {
  // expected-note @below {{made here}}
  %g = blockscale.global_scale %a recipe te_4over6_mae : tensor<f32>
  // expected-error @below {{'blockscale.quantize' op expected global_scale to be made for the range of recipe torchao, but got one of recipe te_4over6_mae}}
  %0:2 = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  return
}

// -----

// The amax means another decode scale to dequantize.
func.func @other_range_of_data(%a: tensor<f32>, %x: tensor<64x64xbf16>) {
  // expected-note @below {{made here}}
  %0:2 = blockscale.quantize %x block [1, 16] recipe te_4over6_mae global_amax(%a : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  // expected-error @below {{'blockscale.dequantize' op expected data to be made for the range of recipe te, but got one of recipe te_4over6_mae}}
  %1 = blockscale.dequantize %0#0, %0#1 block [1, 16] recipe te global_amax(%a : tensor<f32>)
      : tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xbf16>
  return
}
