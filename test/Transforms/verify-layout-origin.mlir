// RUN: blockscale-opt %s -blockscale-verify-layout -split-input-file -verify-diagnostics

// Operands that no type tells apart.

// Each tensor with its own amax, a transformed one with that of the transform
// (C11); a transform between two tensors that have nothing to do with each other.
func.func @allowed(%x: tensor<64x64xbf16>, %y: tensor<64x64xbf16>) {
  %t = blockscale.hadamard %x dim 0 : tensor<64x64xbf16>
  %xa = blockscale.amax %x : tensor<64x64xbf16> -> tensor<f32>
  %ta = blockscale.amax %t : tensor<64x64xbf16> -> tensor<f32>
  %ya = blockscale.amax %y : tensor<64x64xbf16> -> tensor<f32>
  %g = blockscale.global_scale %ta : tensor<f32>
  %0:2 = blockscale.quantize %x block [1, 16] recipe te global_amax(%xa : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %1:2 = blockscale.quantize %t block [16, 1] transposed global_scale(%g : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %2:2 = blockscale.quantize %t block [1, 16] recipe te global_amax(%ya : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  return
}

// -----

// The transform changes the amax (C11).
func.func @amax_before_transform(%x: tensor<64x64xbf16>) {
  %a = blockscale.amax %x : tensor<64x64xbf16> -> tensor<f32>
  // expected-note @below {{transformed here}}
  %t = blockscale.hadamard %x dim 1 : tensor<64x64xbf16>
  // expected-error @below {{'blockscale.quantize' op expected global_amax to come from the amax of the transformed tensor, but got that of the tensor before 'blockscale.hadamard'}}
  %0:2 = blockscale.quantize %t block [1, 16] recipe te global_amax(%a : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  return
}

// -----

// Behind casts and the decode scale too (C11).
func.func @global_scale_before_transform(%x: tensor<64x64xbf16>) {
  %a = blockscale.amax %x : tensor<64x64xbf16> -> tensor<f32>
  %g = blockscale.global_scale %a : tensor<f32>
  %d = tensor.cast %x : tensor<64x64xbf16> to tensor<?x64xbf16>
  // expected-note @below {{transformed here}}
  %t = blockscale.hadamard %d dim 0 : tensor<?x64xbf16>
  %u = tensor.cast %t : tensor<?x64xbf16> to tensor<64x64xbf16>
  // expected-error @below {{expected global_scale to come from the amax of the transformed tensor, but got that of the tensor before 'blockscale.hadamard'}}
  %0:2 = blockscale.quantize %u block [16, 1] transposed global_scale(%g : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  return
}

// -----

// The sweep of a transformed tensor is relative to its amax too (C11).
func.func @sweep_before_transform(%x: tensor<64x64xbf16>) {
  %a = blockscale.amax %x : tensor<64x64xbf16> -> tensor<f32>
  // expected-note @below {{transformed here}}
  %t = blockscale.hadamard %x dim 1 : tensor<64x64xbf16>
  %b = blockscale.amax %t : tensor<64x64xbf16> -> tensor<f32>
  %0 = blockscale.scale_sweep %t global_amax(%b : tensor<f32>) : tensor<64x64xbf16> -> tensor<64x4xf32>
  // expected-error @below {{'blockscale.scale_sweep' op expected global_amax to come from the amax of the transformed tensor, but got that of the tensor before 'blockscale.hadamard'}}
  %1 = blockscale.scale_sweep %t global_amax(%a : tensor<f32>) : tensor<64x64xbf16> -> tensor<64x4xf32>
  return
}

// -----

// The other way round: x itself is quantized (C11).
func.func @amax_after_transform(%x: tensor<64x64xbf16>) {
  // expected-note @below {{transformed here}}
  %t = blockscale.hadamard %x dim 0 : tensor<64x64xbf16>
  %a = blockscale.amax %t : tensor<64x64xbf16> -> tensor<f32>
  // expected-error @below {{expected global_amax to come from the amax of x, but got that of its transform}}
  %0:2 = blockscale.quantize %x block [1, 16] recipe te global_amax(%a : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  return
}

// -----

// The amax of another transform: of other signs, or once more (C11).
func.func @amax_of_other_transform(%x: tensor<64x64xbf16>) {
  // expected-note @below {{transformed here}}
  %t = blockscale.hadamard %x dim 0 : tensor<64x64xbf16>
  %u = blockscale.hadamard %x dim 0 sign_mask 3 : tensor<64x64xbf16>
  %a = blockscale.amax %u : tensor<64x64xbf16> -> tensor<f32>
  // expected-error @below {{expected global_amax to come from the amax of x, but got that of another transform of the same tensor}}
  %0:2 = blockscale.quantize %t block [1, 16] recipe te global_amax(%a : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  // expected-note @below {{transformed here}}
  %v = blockscale.hadamard %u dim 1 : tensor<64x64xbf16>
  // expected-error @below {{expected global_amax to come from the amax of x, but got that of another transform of the same tensor}}
  %1:2 = blockscale.quantize %v block [1, 16] recipe te global_amax(%a : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  return
}

// -----

// The same transform, written twice, has the same amax (C11).
func.func @amax_of_same_transform(%x: tensor<64x64xbf16>) {
  %t = blockscale.hadamard %x dim 0 sign_mask 3 : tensor<64x64xbf16>
  %u = blockscale.hadamard %x dim 0 sign_mask 3 : tensor<64x64xbf16>
  %a = blockscale.amax %u : tensor<64x64xbf16> -> tensor<f32>
  %0:2 = blockscale.quantize %t block [1, 16] recipe te global_amax(%a : tensor<f32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  return
}

// -----

// A global value a row excludes the transform (C15).
func.func @transformed_rows(%x: tensor<64x64xbf16>) {
  // expected-note @below {{transformed here}}
  %t = blockscale.hadamard %x dim 1 : tensor<64x64xbf16>
  %a = blockscale.amax %t : tensor<64x64xbf16> -> tensor<64xf32>
  // expected-error @below {{expected x not to be transformed with a global value a row, but got the result of 'blockscale.hadamard'}}
  %0:2 = blockscale.quantize %t block [1, 16] recipe te global_amax(%a : tensor<64xf32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  return
}

// -----

// 4over6 excludes it, with casts between too (C15).
func.func @transformed_4over6(%x: tensor<?x64xbf16>) {
  // expected-note @below {{transformed here}}
  %t = blockscale.hadamard %x dim 0 : tensor<?x64xbf16>
  %u = tensor.cast %t : tensor<?x64xbf16> to tensor<32x64xbf16>
  // expected-error @below {{expected x not to be transformed with recipe te_4over6_mse, but got the result of 'blockscale.hadamard'}}
  %0:2 = blockscale.quantize %u block [1, 16] recipe te_4over6_mse
      : tensor<32x64xbf16> -> tensor<32x64xf4E2M1FN>, tensor<32x4xf8E4M3FN>
  return
}

// -----

// Both modes take x itself (C15).
func.func @untransformed(%x: tensor<64x64xbf16>) {
  %t = blockscale.hadamard %x dim 1 : tensor<64x64xbf16>
  %a = blockscale.amax %x : tensor<64x64xbf16> -> tensor<64xf32>
  %0:2 = blockscale.quantize %x block [1, 16] recipe te global_amax(%a : tensor<64xf32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %1:2 = blockscale.quantize %x block [1, 16] recipe te_4over6_mae
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  return
}

// -----

// As many groups as rows: one value a group is not one a row (C15).
func.func @transformed_groups(%x: tensor<64x64xbf16>, %ends: tensor<64xi32>) {
  %t = blockscale.hadamard %x dim 1 : tensor<64x64xbf16>
  %a = blockscale.amax %t offsets(%ends : tensor<64xi32>) : tensor<64x64xbf16> -> tensor<64xf32>
  %0:2 = blockscale.quantize %t block [1, 16] recipe te global_amax(%a : tensor<64xf32>) offsets(%ends : tensor<64xi32>)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  return
}

// -----

// A square weight for both products: y = a w^T takes it along k, dgrad
// transposed with scales along n.
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @both_products(%w: tensor<64x64xbf16>, %a: tensor<32x64xf8E4M3FN>, %sa: tensor<32x2xf8E8M0FNU>) {
  %q, %k = blockscale.quantize %w block [32, 32] scale_dim k
      : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  %t, %c = blockscale.quantize %w block [32, 32] transposed
      : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<2x2xf8E8M0FNU>
  %n = blockscale.expand_scale %c block [32, 32] scale_dim k : tensor<2x2xf8E8M0FNU> -> tensor<64x2xf8E8M0FNU, #swizzled>
  %0 = blockscale.scaled_mm %a, %q scales(%sa, %k) block [1, 32]
      : tensor<32x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<32x2xf8E8M0FNU>, tensor<64x2xf8E8M0FNU> -> tensor<32x64xf32>
  %1 = blockscale.scaled_mm %a, %t scales(%sa, %n) block [1, 32]
      : tensor<32x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<32x2xf8E8M0FNU>, tensor<64x2xf8E8M0FNU, #swizzled> -> tensor<32x64xf32>
  return
}

// -----

func.func @other_scale_dim(%w: tensor<64x64xbf16>, %a: tensor<32x64xf8E4M3FN>, %sa: tensor<32x2xf8E8M0FNU>) {
  // expected-note @above {{the quantized tensor}}
  %q, %s = blockscale.quantize %w block [32, 32] scale_dim n
      : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  // expected-error @below {{'blockscale.scaled_mm' op expected the rows of scale_b to be those of b, dimension 0 of the quantized matrix, but got dimension 1 (scale_dim goes with transposed: k without, n with)}}
  %0 = blockscale.scaled_mm %a, %q scales(%sa, %s) block [1, 32]
      : tensor<32x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<32x2xf8E8M0FNU>, tensor<64x2xf8E8M0FNU> -> tensor<32x64xf32>
  return
}

// -----

func.func @transposed_with_k(%w: tensor<64x64xbf16>, %b: tensor<32x64xf4E2M1FN>, %sb: tensor<32x4xf8E4M3FN>) {
  // expected-note @above {{the quantized tensor}}
  %q, %s = blockscale.quantize %w block [16, 16] transposed scale_dim k
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  // expected-error @below {{expected the rows of scale_a to be those of a, dimension 1 of the quantized matrix, but got dimension 0}}
  %0 = blockscale.scaled_mm %q, %b scales(%s, %sb) block [1, 16]
      : tensor<64x64xf4E2M1FN>, tensor<32x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<32x4xf8E4M3FN> -> tensor<64x32xf32>
  return
}

// -----

// Through an expansion and a swizzle, with groups along K.
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @expanded_along_n(%w: tensor<64x64xbf16>, %b: tensor<32x64xf8E4M3FN>, %sb: tensor<32x2xf8E8M0FNU>, %ends: tensor<2xi32>) {
  // expected-note @above {{the quantized tensor}}
  %q, %c = blockscale.quantize %w block [32, 32] : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<2x2xf8E8M0FNU>
  %e = blockscale.expand_scale %c block [32, 32] scale_dim n : tensor<2x2xf8E8M0FNU> -> tensor<64x2xf8E8M0FNU>
  %s = blockscale.swizzle %e : tensor<64x2xf8E8M0FNU> -> tensor<64x2xf8E8M0FNU, #swizzled>
  // expected-error @below {{'blockscale.scaled_grouped_mm' op expected the rows of scale_a to be those of a, dimension 0 of the quantized matrix, but got dimension 1}}
  %0 = blockscale.scaled_grouped_mm %q, %b offsets(%ends) scales(%s, %sb) block [1, 32]
      : tensor<64x64xf8E4M3FN>, tensor<32x64xf8E4M3FN>, tensor<2xi32>, tensor<64x2xf8E8M0FNU, #swizzled>, tensor<32x2xf8E8M0FNU> -> tensor<2x64x32xf32>
  return
}

// -----

// The row quantization's scales with the column quantization's data.
func.func @mixed_quantizers(%x: tensor<64x64xbf16>, %b: tensor<32x64xf8E4M3FN>, %sb: tensor<32x2xf8E8M0FNU>) {
  // expected-note @above {{the quantized tensor}}
  %q:2 = blockscale.quantize %x block [1, 32] : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  %t:2 = blockscale.quantize %x block [32, 1] transposed : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  // expected-error @below {{expected the rows of scale_a to be those of a, dimension 1 of the quantized matrix, but got dimension 0}}
  %0 = blockscale.scaled_mm %t#0, %b scales(%q#1, %sb) block [1, 32]
      : tensor<64x64xf8E4M3FN>, tensor<32x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<32x2xf8E8M0FNU> -> tensor<64x32xf32>
  return
}

// -----

func.func @dequantize(%x: tensor<64x64xbf16>) {
  // expected-note @above {{the quantized tensor}}
  %q, %c = blockscale.quantize %x block [32, 32] : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<2x2xf8E8M0FNU>
  %t, %s = blockscale.quantize %x block [32, 32] transposed : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<2x2xf8E8M0FNU>
  // expected-error @below {{'blockscale.dequantize' op expected the rows of scale to be those of data, dimension 1 of the quantized matrix, but got dimension 0}}
  %0 = blockscale.dequantize %t, %c block [32, 32] : tensor<64x64xf8E4M3FN>, tensor<2x2xf8E8M0FNU> -> tensor<64x64xf32>
  return
}

// -----

// Data and scales of different tensors, on purpose, or of a caller: their rows are not known.
func.func @unknown(%x: tensor<64x64xbf16>, %y: tensor<64x64xbf16>, %b: tensor<64x64xf8E4M3FN>) {
  %q, %s = blockscale.quantize %x block [32, 32] scale_dim n : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  %r, %t = blockscale.quantize %y block [32, 32] scale_dim k : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  %0 = blockscale.scaled_mm %r, %b scales(%s, %t) block [1, 32] unchecked_origins
      : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<64x2xf8E8M0FNU> -> tensor<64x64xf32>
  return
}
