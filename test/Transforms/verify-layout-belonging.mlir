// RUN: blockscale-opt %s -blockscale-verify-layout -split-input-file -verify-diagnostics

// Scales and global scales of products and of `dequantize` are those that the data were
// quantized with, where the function says what these were.

// Each with its own. Constants, arguments and equal ops that are not merged yet.
func.func @right(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>) -> tensor<64x64xf32> {
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %t, %u = blockscale.quantize %w block [1, 16] global_scale(%h : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %y = blockscale.scaled_mm %q, %t scales(%s, %u) block [1, 16] global_scale_a(%g : tensor<f32>) global_scale_b(%h : tensor<f32>)
      : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// The scales of each other.
func.func @swapped_scales(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>) -> tensor<64x64xf32> {
  // expected-note @below {{a was quantized here; 'unchecked_origins' accepts what is not of it}}
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  // expected-note @below {{scale_a was made here}}
  %t, %u = blockscale.quantize %w block [1, 16] global_scale(%h : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  // expected-error @below {{'blockscale.scaled_mm' op expected scale_a to be the scales that a was quantized with, but got those of another tensor}}
  %y = blockscale.scaled_mm %q, %t scales(%u, %s) block [1, 16] global_scale_a(%g : tensor<f32>) global_scale_b(%h : tensor<f32>)
      : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// On purpose.
func.func @swapped_scales_on_purpose(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>) -> tensor<64x64xf32> {
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %t, %u = blockscale.quantize %w block [1, 16] global_scale(%h : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %y = blockscale.scaled_mm %q, %t scales(%u, %s) block [1, 16] global_scale_a(%g : tensor<f32>) global_scale_b(%h : tensor<f32>) unchecked_origins
      : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// Behind all that moves scales and data, and for the other operand.
func.func @scales_of_b(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>) -> tensor<64x64xf32> {
  %d = tensor.cast %w : tensor<64x64xbf16> to tensor<?x64xbf16>
  // expected-note @below {{b was quantized here; 'unchecked_origins' accepts what is not of it}}
  %t, %u = blockscale.quantize %d block [1, 16] global_scale(%h : tensor<f32>)
      : tensor<?x64xbf16> -> tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
  // expected-note @below {{scale_b was made here}}
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %c = tensor.cast %t : tensor<?x64xf4E2M1FN> to tensor<64x64xf4E2M1FN>
  %p = blockscale.prepack %c : tensor<64x64xf4E2M1FN> -> tensor<64x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>
  %v = blockscale.swizzle %s : tensor<64x4xf8E4M3FN> -> tensor<64x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>>
  // expected-error @below {{expected scale_b to be the scales that b was quantized with, but got those of another tensor}}
  %y = blockscale.scaled_mm %q, %p scales(%s, %v) block [1, 16] global_scale_a(%g : tensor<f32>) global_scale_b(%h : tensor<f32>)
      : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// What comes from outside is unknown.
func.func @unknown_origins(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>, %d: tensor<64x64xf4E2M1FN>, %e: tensor<64x4xf8E4M3FN>) -> tensor<64x64xf32> {
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %y = blockscale.scaled_mm %q, %d scales(%s, %e) block [1, 16] global_scale_a(%g : tensor<f32>) global_scale_b(%h : tensor<f32>)
      : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// So are scales beside data that are known.
func.func @unknown_scales(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>, %e: tensor<64x4xf8E4M3FN>) -> tensor<64x64xf32> {
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %y = blockscale.scaled_mm %q, %q scales(%s, %e) block [1, 16] global_scale_a(%g : tensor<f32>) global_scale_b(%g : tensor<f32>)
      : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// Scales of the same tensor in other blocks, of another recipe, or under another global scale.
func.func @other_blocks(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>) -> tensor<64x64xf32> {
  // expected-note @below {{a was quantized here; 'unchecked_origins' accepts what is not of it}}
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  // expected-note @below {{scale_a was made here}}
  %t, %u = blockscale.quantize %x block [16, 16] scale_dim k global_scale(%g : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  // expected-error @below {{expected scale_a to be the scales that a was quantized with, but got those of other blocks}}
  %y = blockscale.scaled_mm %q, %q scales(%u, %s) block [1, 16] global_scale_a(%g : tensor<f32>) global_scale_b(%g : tensor<f32>)
      : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// The same.
func.func @other_recipe(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>) -> tensor<64x64xf32> {
  // expected-note @below {{a was quantized here; 'unchecked_origins' accepts what is not of it}}
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  // expected-note @below {{scale_a was made here}}
  %t, %u = blockscale.quantize %x block [1, 16] recipe te global_scale(%g : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  // expected-error @below {{but got those of another recipe}}
  %y = blockscale.scaled_mm %q, %q scales(%u, %s) block [1, 16] global_scale_a(%g : tensor<f32>) global_scale_b(%g : tensor<f32>)
      : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// The same.
func.func @other_global(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>) -> tensor<64x64xf32> {
  // expected-note @below {{a was quantized here; 'unchecked_origins' accepts what is not of it}}
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  // expected-note @below {{scale_a was made here}}
  %t, %u = blockscale.quantize %x block [1, 16] global_scale(%h : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  // expected-error @below {{but got those under another global scale}}
  %y = blockscale.scaled_mm %q, %q scales(%u, %s) block [1, 16] global_scale_a(%g : tensor<f32>) global_scale_b(%g : tensor<f32>)
      : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// Scales of an equal quantizer, with another layout or stochastic codes, are the same.
func.func @equal_quantizers(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>) -> tensor<64x64xf32> {
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %r = arith.constant dense<1> : tensor<2xi64>
  %t, %u = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>) rng(%r : tensor<2xi64>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>>
  %y = blockscale.scaled_mm %t, %q scales(%s, %u) block [1, 16] global_scale_a(%g : tensor<f32>) global_scale_b(%g : tensor<f32>)
      : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// Tensors that equal ops compute of the same are one.
func.func @equal_tensors(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>) -> tensor<64x64xf32> {
  %e = tensor.empty() : tensor<64x64xbf16>
  %m = linalg.abs ins(%x : tensor<64x64xbf16>) outs(%e : tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %f = tensor.empty() : tensor<64x64xbf16>
  %n = linalg.abs ins(%x : tensor<64x64xbf16>) outs(%f : tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %q, %s = blockscale.quantize %m block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %t, %u = blockscale.quantize %n block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %y = blockscale.scaled_mm %q, %t scales(%u, %s) block [1, 16] global_scale_a(%g : tensor<f32>) global_scale_b(%g : tensor<f32>)
      : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// Parts of one tensor may be the same part.
func.func @slices(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>) -> tensor<32x64xf32> {
  %m = tensor.extract_slice %x[0, 0] [32, 64] [1, 1] : tensor<64x64xbf16> to tensor<32x64xbf16>
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %t, %u = blockscale.quantize %m block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<32x64xbf16> -> tensor<32x64xf4E2M1FN>, tensor<32x4xf8E4M3FN>
  %c = tensor.extract_slice %q[0, 0] [32, 64] [1, 1] : tensor<64x64xf4E2M1FN> to tensor<32x64xf4E2M1FN>
  %y = blockscale.scaled_mm %c, %q scales(%u, %s) block [1, 16] global_scale_a(%g : tensor<f32>) global_scale_b(%g : tensor<f32>)
      : tensor<32x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<32x4xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<32x64xf32>
  return %y : tensor<32x64xf32>
}

// -----

// Parts of a whole, each with its own scales.
func.func @concatenated(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>) -> tensor<128x64xf32> {
  %q, %s = blockscale.quantize %x block [1, 16]
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %t, %u = blockscale.quantize %w block [1, 16]
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %c = tensor.concat dim(0) %q, %t : (tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>) -> tensor<128x64xf4E2M1FN>
  %d = tensor.concat dim(0) %s, %u : (tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN>) -> tensor<128x4xf8E4M3FN>
  %y = blockscale.scaled_mm %c, %q scales(%d, %s) block [1, 16]
      : tensor<128x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<128x64xf32>
  return %y : tensor<128x64xf32>
}

// -----

// In another order.
func.func @concatenated_in_another_order(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>) -> tensor<128x64xf32> {
  // expected-note @below {{a was quantized here; 'unchecked_origins' accepts what is not of it}}
  %q, %s = blockscale.quantize %x block [1, 16]
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  // expected-note @below {{scale_a was made here}}
  %t, %u = blockscale.quantize %w block [1, 16]
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %c = tensor.concat dim(0) %q, %t : (tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>) -> tensor<128x64xf4E2M1FN>
  %d = tensor.concat dim(0) %u, %s : (tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN>) -> tensor<128x4xf8E4M3FN>
  // expected-error @below {{expected scale_a to be the scales that a was quantized with, but got those of another tensor}}
  %y = blockscale.scaled_mm %c, %q scales(%d, %s) block [1, 16]
      : tensor<128x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<128x64xf32>
  return %y : tensor<128x64xf32>
}

// -----

// A global scale that nobody multiplies by.
func.func @no_global_scale(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>) -> tensor<64x64xf32> {
  // expected-note @below {{a was quantized here; 'unchecked_origins' accepts what is not of it}}
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %t, %u = blockscale.quantize %w block [1, 16] global_scale(%h : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  // expected-error @below {{expected global_scale_a to be the global scale that a was quantized with, but got none}}
  %y = blockscale.scaled_mm %q, %t scales(%s, %u) block [1, 16] global_scale_b(%h : tensor<f32>)
      : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// On purpose.
func.func @no_global_scale_on_purpose(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>) -> tensor<64x64xf32> {
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %t, %u = blockscale.quantize %w block [1, 16] global_scale(%h : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %y = blockscale.scaled_mm %q, %t scales(%s, %u) block [1, 16] global_scale_b(%h : tensor<f32>) unchecked_origins
      : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// That of the other operand.
func.func @global_scale_of_b(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>) -> tensor<64x64xf32> {
  // expected-note @below {{a was quantized here; 'unchecked_origins' accepts what is not of it}}
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %t, %u = blockscale.quantize %w block [1, 16] global_scale(%h : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  // expected-error @below {{expected global_scale_a to be the global scale that a was quantized with, but got that of b}}
  %y = blockscale.scaled_mm %q, %t scales(%s, %u) block [1, 16] global_scale_a(%h : tensor<f32>) global_scale_b(%h : tensor<f32>)
      : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// Both of them.
func.func @swapped_global_scales(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>) -> tensor<64x64xf32> {
  // expected-note @below {{a was quantized here; 'unchecked_origins' accepts what is not of it}}
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %t, %u = blockscale.quantize %w block [1, 16] global_scale(%h : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  // expected-error @below {{but got that of b}}
  %y = blockscale.scaled_mm %q, %t scales(%s, %u) block [1, 16] global_scale_a(%h : tensor<f32>) global_scale_b(%g : tensor<f32>)
      : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// One that is multiplied twice.
func.func @global_scale_twice(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>) -> tensor<64x64xf32> {
  // expected-note @below {{a was quantized here; 'unchecked_origins' accepts what is not of it}}
  %q, %s = blockscale.quantize %x block [1, 16]
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %t, %u = blockscale.quantize %w block [1, 16] global_scale(%h : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  // expected-error @below {{expected no global_scale_a beside a, which was quantized without a global scale, but got that of b}}
  %y = blockscale.scaled_mm %q, %t scales(%s, %u) block [1, 16] global_scale_a(%h : tensor<f32>) global_scale_b(%h : tensor<f32>)
      : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// None is 1.0, on both sides.
func.func @unit_global_scales(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>) -> tensor<64x64xf32> {
  %one = arith.constant dense<1.0> : tensor<f32>
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%one : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %t, %u = blockscale.quantize %w block [1, 16]
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %y = blockscale.scaled_mm %q, %t scales(%s, %u) block [1, 16] global_scale_b(%one : tensor<f32>)
      : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// One operand of the product may have both factors, or that of the other.
func.func @one_for_both(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>) -> tensor<64x64xf32> {
  %gt = tensor.extract %g[] : tensor<f32>
  %ht = tensor.extract %h[] : tensor<f32>
  %p = arith.mulf %gt, %ht : f32
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %t, %u = blockscale.quantize %w block [1, 16] global_scale(%h : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %y = blockscale.scaled_mm %q, %t scales(%s, %u) block [1, 16] global_scale_a(%p : f32)
      : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  %r, %v = blockscale.quantize %x block [1, 16]
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %z = blockscale.scaled_mm %r, %t scales(%v, %u) block [1, 16] global_scale_a(%h : tensor<f32>)
      : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// The result may be multiplied by it, by this function or its caller.
func.func @multiplied_later(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>) -> tensor<64x64xf32> {
  %gt = tensor.extract %g[] : tensor<f32>
  %e = tensor.empty() : tensor<64x64xf32>
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %t, %u = blockscale.quantize %w block [1, 16] global_scale(%h : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %z = blockscale.scaled_mm %q, %t scales(%s, %u) block [1, 16] global_scale_b(%h : tensor<f32>)
      : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%z : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %gt : f32
    linalg.yield %p : f32
  } -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// The same.
func.func @returned(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>) -> (tensor<64x64xf32>, tensor<f32>) {
  %a = blockscale.amax %x : tensor<64x64xbf16> -> tensor<f32>
  %k = blockscale.global_scale %a : tensor<f32>
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%k : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %t, %u = blockscale.quantize %w block [1, 16] global_scale(%h : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %y = blockscale.scaled_mm %q, %t scales(%s, %u) block [1, 16] global_scale_b(%h : tensor<f32>)
      : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %y, %k : tensor<64x64xf32>, tensor<f32>
}

// -----

// An encode scale that was turned, of which the product's factor comes.
func.func @reciprocal(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>) -> tensor<64x64xf32> {
  %c1 = arith.constant 1.0 : f32
  %gt = tensor.extract %g[] : tensor<f32>
  %k = arith.divf %c1, %gt : f32
  %l = arith.divf %k, %c1 : f32
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%k : f32)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %t, %u = blockscale.quantize %w block [1, 16] global_scale(%h : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %y = blockscale.scaled_mm %q, %t scales(%s, %u) block [1, 16] global_scale_a(%l : f32) global_scale_b(%h : tensor<f32>)
      : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// A factor from outside has none that is computed here.
func.func @computed_here(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>, %d: tensor<64x64xf4E2M1FN>, %e: tensor<64x4xf8E4M3FN>) -> tensor<64x64xf32> {
  %a = blockscale.amax %x : tensor<64x64xbf16> -> tensor<f32>
  %k = blockscale.global_scale %a : tensor<f32>
  // expected-note @below {{a was quantized here; 'unchecked_origins' accepts what is not of it}}
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%k : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  // expected-error @below {{expected global_scale_a to be the global scale that a was quantized with, but got none}}
  %y = blockscale.scaled_mm %q, %d scales(%s, %e) block [1, 16] global_scale_b(%h : tensor<f32>)
      : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// By the amax, the scale that an op makes of it belongs to it: by any recipe of its range, made twice or once.
func.func @of_an_amax(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>) -> tensor<64x64xf32> {
  %a = blockscale.amax %x : tensor<64x64xbf16> -> tensor<f32>
  %k = blockscale.global_scale %a recipe te : tensor<f32>
  %b = blockscale.amax %w : tensor<64x64xbf16> -> tensor<f32>
  %l = blockscale.global_scale %b : tensor<f32>
  %c = blockscale.amax %w : tensor<64x64xbf16> -> tensor<f32>
  %m = blockscale.global_scale %c nonzero_amax : tensor<f32>
  %q, %s = blockscale.quantize %x block [1, 16] recipe mslk global_amax(%a : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %t, %u = blockscale.quantize %w block [1, 16] global_scale(%l : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %y = blockscale.scaled_mm %q, %t scales(%s, %u) block [1, 16] global_scale_a(%k : tensor<f32>) global_scale_b(%m : tensor<f32>)
      : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// That of another tensor.
func.func @another_amax(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>, %d: tensor<64x64xf4E2M1FN>, %e: tensor<64x4xf8E4M3FN>) -> tensor<64x64xf32> {
  %a = blockscale.amax %x : tensor<64x64xbf16> -> tensor<f32>
  %b = blockscale.amax %w : tensor<64x64xbf16> -> tensor<f32>
  %k = blockscale.global_scale %b : tensor<f32>
  // expected-note @below {{a was quantized here; 'unchecked_origins' accepts what is not of it}}
  %q, %s = blockscale.quantize %x block [1, 16] recipe te global_amax(%a : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  // expected-error @below {{expected global_scale_a to be the global scale that a was quantized with, but got one of another amax}}
  %y = blockscale.scaled_mm %q, %d scales(%s, %e) block [1, 16] global_scale_a(%k : tensor<f32>)
      : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// Its own, though it was quantized without one.
func.func @own_amax(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>, %d: tensor<64x64xf4E2M1FN>, %e: tensor<64x4xf8E4M3FN>) -> tensor<64x64xf32> {
  %a = blockscale.amax %x : tensor<64x64xbf16> -> tensor<f32>
  %k = blockscale.global_scale %a : tensor<f32>
  // expected-note @below {{a was quantized here; 'unchecked_origins' accepts what is not of it}}
  %q, %s = blockscale.quantize %x block [1, 16]
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  // expected-error @below {{expected no global_scale_a beside a, which was quantized without a global scale, but got one of its amax}}
  %y = blockscale.scaled_mm %q, %d scales(%s, %e) block [1, 16] global_scale_a(%k : tensor<f32>)
      : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// The range of 4over6 is another one.
func.func @another_range(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>, %d: tensor<64x64xf4E2M1FN>, %e: tensor<64x4xf8E4M3FN>) -> tensor<64x64xf32> {
  %a = blockscale.amax %x : tensor<64x64xbf16> -> tensor<f32>
  // expected-note @below {{made here}}
  %k = blockscale.global_scale %a : tensor<f32>
  %q, %s = blockscale.quantize %x block [1, 16] recipe te_4over6_mae global_amax(%a : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  // expected-error @below {{expected global_scale_a to be made for the range of recipe te_4over6_mae, but got one of recipe torchao}}
  %y = blockscale.scaled_mm %q, %d scales(%s, %e) block [1, 16] global_scale_a(%k : tensor<f32>)
      : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// A constant one may be part of a constant, which the result is multiplied by.
func.func @constants(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>) -> tensor<64x64xf32> {
  %c = arith.constant dense<0.5> : tensor<f32>
  %k = arith.constant dense<0.25> : tensor<f32>
  %e = tensor.empty() : tensor<64x64xf32>
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%c : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %y0 = blockscale.scaled_mm %q, %q scales(%s, %s) block [1, 16] global_scale_a(%k : tensor<f32>)
      : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  %z = blockscale.scaled_mm %q, %q scales(%s, %s) block [1, 16]
      : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  %y = linalg.mul ins(%y0, %z : tensor<64x64xf32>, tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// If nothing multiplies, it is missing.
func.func @constant(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>) -> tensor<64x64xf32> {
  %c = arith.constant dense<0.5> : tensor<f32>
  // expected-note @below {{a was quantized here; 'unchecked_origins' accepts what is not of it}}
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%c : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  // expected-error @below {{expected global_scale_a to be the global scale that a was quantized with, but got none}}
  %y = blockscale.scaled_mm %q, %q scales(%s, %s) block [1, 16]
      : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// Two constants that were folded into one, which may be 1.0.
func.func @folded_constants(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %c = arith.constant dense<0.5> : tensor<f32>
  %d = arith.constant dense<2.0> : tensor<f32>
  %k = arith.constant dense<0.25> : tensor<f32>
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%c : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %t, %u = blockscale.quantize %w block [1, 16] global_scale(%d : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %y0 = blockscale.scaled_mm %q, %t scales(%s, %u) block [1, 16]
      : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  %y = blockscale.scaled_mm %q, %q scales(%s, %s) block [1, 16] global_scale_a(%k : tensor<f32>)
      : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %y, %y0 : tensor<64x64xf32>, tensor<64x64xf32>
}

// -----

// Decoding takes its own, too.
func.func @dequantize(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>) -> tensor<64x64xf32> {
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %y = blockscale.dequantize %q, %s block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// Of another tensor.
func.func @dequantize_other_scales(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>) -> tensor<64x64xf32> {
  // expected-note @below {{data was quantized here; 'unchecked_origins' accepts what is not of it}}
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  // expected-note @below {{scale was made here}}
  %t, %u = blockscale.quantize %w block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  // expected-error @below {{'blockscale.dequantize' op expected scale to be the scales that data was quantized with, but got those of another tensor}}
  %y = blockscale.dequantize %q, %u block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// On purpose.
func.func @dequantize_on_purpose(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>) -> tensor<64x64xf32> {
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %t, %u = blockscale.quantize %w block [1, 16] global_scale(%h : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %y = blockscale.dequantize %q, %u block [1, 16] global_scale(%g : tensor<f32>) unchecked_origins
      : tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// None.
func.func @dequantize_no_global_scale(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>) -> tensor<64x64xf32> {
  // expected-note @below {{data was quantized here; 'unchecked_origins' accepts what is not of it}}
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  // expected-error @below {{expected global_scale to be the global scale that data was quantized with, but got none}}
  %y = blockscale.dequantize %q, %s block [1, 16]
      : tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// Another amax.
func.func @dequantize_other_amax(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>) -> tensor<64x64xf32> {
  %a = blockscale.amax %x : tensor<64x64xbf16> -> tensor<f32>
  %b = blockscale.amax %w : tensor<64x64xbf16> -> tensor<f32>
  // expected-note @below {{data was quantized here; 'unchecked_origins' accepts what is not of it}}
  %q, %s = blockscale.quantize %x block [1, 16] recipe te global_amax(%a : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  // expected-error @below {{expected global_amax to be the global scale that data was quantized with, but got one of another amax}}
  %y = blockscale.dequantize %q, %s block [1, 16] recipe te global_amax(%b : tensor<f32>)
      : tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// A product by what is decoded without it takes it as its own.
func.func @decoded_without_it(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>) -> tensor<64x64xf32> {
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %v = blockscale.dequantize %q, %s block [1, 16] : tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xbf16>
  %t, %u = blockscale.quantize %w block [1, 16] global_scale(%h : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %y = blockscale.scaled_mm %v, %t scales(none, %u) block [1, 16] global_scale_a(%g : tensor<f32>) global_scale_b(%h : tensor<f32>)
      : tensor<64x64xbf16>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// Products of groups: experts with a global scale each.
func.func @groups(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>, %v: tensor<2x64x64xbf16>, %ends: tensor<2xi32>) -> tensor<64x64xf32> {
  %a = blockscale.amax %v : tensor<2x64x64xbf16> -> tensor<2xf32>
  %k = blockscale.global_scale %a : tensor<2xf32>
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %t, %u = blockscale.quantize %v block [1, 16] global_scale(%k : tensor<2xf32>)
      : tensor<2x64x64xbf16> -> tensor<2x64x64xf4E2M1FN>, tensor<2x64x4xf8E4M3FN>
  %y = blockscale.scaled_grouped_mm %q, %t offsets(%ends) scales(%s, %u) block [1, 16] global_scale_a(%g : tensor<f32>) global_scale_b(%k : tensor<2xf32>)
      : tensor<64x64xf4E2M1FN>, tensor<2x64x64xf4E2M1FN>, tensor<2xi32>, tensor<64x4xf8E4M3FN>, tensor<2x64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// Without it.
func.func @groups_without_global_scale(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>, %v: tensor<2x64x64xbf16>, %ends: tensor<2xi32>) -> tensor<64x64xf32> {
  %a = blockscale.amax %v : tensor<2x64x64xbf16> -> tensor<2xf32>
  %k = blockscale.global_scale %a : tensor<2xf32>
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  // expected-note @below {{b was quantized here; 'unchecked_origins' accepts what is not of it}}
  %t, %u = blockscale.quantize %v block [1, 16] global_scale(%k : tensor<2xf32>)
      : tensor<2x64x64xbf16> -> tensor<2x64x64xf4E2M1FN>, tensor<2x64x4xf8E4M3FN>
  // expected-error @below {{'blockscale.scaled_grouped_mm' op expected global_scale_b to be the global scale that b was quantized with, but got none}}
  %y = blockscale.scaled_grouped_mm %q, %t offsets(%ends) scales(%s, %u) block [1, 16] global_scale_a(%g : tensor<f32>)
      : tensor<64x64xf4E2M1FN>, tensor<2x64x64xf4E2M1FN>, tensor<2xi32>, tensor<64x4xf8E4M3FN>, tensor<2x64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// MX, whose scales are all that there is.
func.func @mx(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>, %h: tensor<f32>) -> tensor<64x64xf32> {
  // expected-note @below {{a was quantized here; 'unchecked_origins' accepts what is not of it}}
  %q, %s = blockscale.quantize %x block [1, 32] : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  // expected-note @below {{scale_a was made here}}
  %t, %u = blockscale.quantize %x block [1, 32] recipe floor : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  // expected-error @below {{but got those of another recipe}}
  %y = blockscale.scaled_mm %q, %q scales(%u, %s) block [1, 32] : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<64x2xf8E8M0FNU> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// A weight across whose blocks the gradient of an input is summed has the origins that it has in the forward
// product.
func.func @across_blocks(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<f32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  // expected-note @below {{b was quantized here; 'unchecked_origins' accepts what is not of it}}
  %t, %u = blockscale.quantize %w block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %y = blockscale.scaled_mm %x, %t mn_major_b scales(none, %u) block [1, 16] global_scale_b(%g : tensor<f32>)
      : tensor<64x64xbf16>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  // expected-error @below {{'blockscale.scaled_mm' op expected global_scale_b to be the global scale that b was quantized with, but got none}}
  %z = blockscale.scaled_mm %x, %t mn_major_b scales(none, %u) block [1, 16]
      : tensor<64x64xbf16>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %y, %z : tensor<64x64xf32>, tensor<64x64xf32>
}
