// RUN: blockscale-opt %s -blockscale-verify-layout -split-input-file -verify-diagnostics

// Positive and finite, the least subnormal included; NaN and zero amaxes are
// defined by the recipes; a NaN block scale makes its block NaN.
func.func @allowed(%x: tensor<4x16xbf16>, %q: tensor<2x16xf4E2M1FN>) {
  %tiny = arith.constant dense<0x00000001> : tensor<f32>
  %nan = arith.constant dense<0x7FC00000> : tensor<f32>
  %zero = arith.constant 0.0 : f32
  %scales = arith.constant dense<[[0x7F], [0x00]]> : tensor<2x1xf8E4M3FN>
  %0:2 = blockscale.quantize %x block [1, 16] global_scale(%tiny : tensor<f32>) : tensor<4x16xbf16> -> tensor<4x16xf4E2M1FN>, tensor<4x1xf8E4M3FN>
  %1:2 = blockscale.quantize %x block [1, 16] recipe te global_amax(%nan : tensor<f32>) : tensor<4x16xbf16> -> tensor<4x16xf4E2M1FN>, tensor<4x1xf8E4M3FN>
  %2 = blockscale.dequantize %q, %scales block [1, 16] recipe te global_amax(%zero : f32) : tensor<2x16xf4E2M1FN>, tensor<2x1xf8E4M3FN> -> tensor<2x16xf32>
  return
}

// -----

func.func @quantize(%x: tensor<2x4x16xbf16>) {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{'blockscale.quantize' op expected a constant global_scale to be positive and finite, but got 0}}
  %0:2 = blockscale.quantize %x block [1, 16] global_scale(%zero : f32) : tensor<2x4x16xbf16> -> tensor<2x4x16xf4E2M1FN>, tensor<2x4x1xf8E4M3FN>
  %negative = arith.constant dense<-0.5> : tensor<f32>
  // expected-error @below {{expected a constant global_scale to be positive and finite, but got -0.5}}
  %1:2 = blockscale.quantize %x block [1, 16] global_scale(%negative : tensor<f32>) : tensor<2x4x16xbf16> -> tensor<2x4x16xf4E2M1FN>, tensor<2x4x1xf8E4M3FN>
  %inf = arith.constant dense<0x7F800000> : tensor<2xf32>
  // expected-error @below {{expected a constant global_scale to be positive and finite, but got +Inf}}
  %2:2 = blockscale.quantize %x block [1, 16] global_scale(%inf : tensor<2xf32>) : tensor<2x4x16xbf16> -> tensor<2x4x16xf4E2M1FN>, tensor<2x4x1xf8E4M3FN>
  %one_nan = arith.constant dense<[1.0, 0x7FC00000]> : tensor<2xf32>
  // expected-error @below {{expected a constant global_scale to be positive and finite, but got NaN}}
  %3:2 = blockscale.quantize %x block [1, 16] global_scale(%one_nan : tensor<2xf32>) : tensor<2x4x16xbf16> -> tensor<2x4x16xf4E2M1FN>, tensor<2x4x1xf8E4M3FN>
  %amax = arith.constant dense<[1.0, -2.0]> : tensor<2xf32>
  // expected-error @below {{expected a constant global_amax to be 0 or more, but got -2}}
  %4:2 = blockscale.quantize %x block [1, 16] global_amax(%amax : tensor<2xf32>) : tensor<2x4x16xbf16> -> tensor<2x4x16xf4E2M1FN>, tensor<2x4x1xf8E4M3FN>
  return
}

// -----

// The constant is found behind what makes a tensor of it.
func.func @indirect(%q: tensor<4x16xf4E2M1FN>, %s: tensor<4x1xf8E4M3FN>) {
  %zero = arith.constant -0.0 : f32
  %tensor = tensor.from_elements %zero : tensor<f32>
  // expected-error @below {{'blockscale.dequantize' op expected a constant global_scale to be positive and finite, but got -0}}
  %0 = blockscale.dequantize %q, %s block [1, 16] global_scale(%tensor : tensor<f32>) : tensor<4x16xf4E2M1FN>, tensor<4x1xf8E4M3FN> -> tensor<4x16xf32>
  %negative = arith.constant -1.0 : f32
  %splat = tensor.splat %negative : tensor<f32>
  // expected-error @below {{'blockscale.global_scale' op expected a constant amax to be 0 or more, but got -1}}
  %1 = blockscale.global_scale %splat : tensor<f32>
  return
}

// -----

func.func @scaled_mm(%a: tensor<8x16xf4E2M1FN>, %s: tensor<8x1xf8E4M3FN>) {
  %one = arith.constant 1.0 : f32
  %inf = arith.constant 0xFF800000 : f32
  // expected-error @below {{'blockscale.scaled_mm' op expected a constant global_scale_b to be positive and finite, but got -Inf}}
  %0 = blockscale.scaled_mm %a, %a scales(%s, %s) block [1, 16] global_scale_a(%one : f32) global_scale_b(%inf : f32)
      : tensor<8x16xf4E2M1FN>, tensor<8x16xf4E2M1FN>, tensor<8x1xf8E4M3FN>, tensor<8x1xf8E4M3FN> -> tensor<8x8xf32>
  return
}

// -----

// No recipe writes a negative block scale.
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @scale_bytes(%q: tensor<2x32xf4E2M1FN>, %u: tensor<2x2xf8E4M3FN, #swizzled>) {
  %s = arith.constant dense<[[1.0, 2.0], [-0.0, 1.0]]> : tensor<2x2xf8E4M3FN>
  // expected-error @below {{'blockscale.dequantize' op expected constant block scales of scale to have no sign, but got byte 0x80 at element 2}}
  %0 = blockscale.dequantize %q, %s block [1, 16] : tensor<2x32xf4E2M1FN>, tensor<2x2xf8E4M3FN> -> tensor<2x32xf32>
  // expected-error @below {{'blockscale.swizzle' op expected constant block scales of source to have no sign, but got byte 0x80 at element 2}}
  %1 = blockscale.swizzle %s : tensor<2x2xf8E4M3FN> -> tensor<2x2xf8E4M3FN, #swizzled>
  // NaN is legal, whatever its sign.
  %n = arith.constant dense<0xFF> : tensor<2x2xf8E4M3FN>
  %3 = blockscale.swizzle %n : tensor<2x2xf8E4M3FN> -> tensor<2x2xf8E4M3FN, #swizzled>
  %t = arith.constant dense<-2.0> : tensor<2x2xf8E4M3FN, #swizzled>
  // expected-error @below {{'blockscale.scaled_mm' op expected constant block scales of scale_b to have no sign, but got byte 0xC0 at element 0}}
  %2 = blockscale.scaled_mm %q, %q scales(%u, %t) block [1, 16]
      : tensor<2x32xf4E2M1FN>, tensor<2x32xf4E2M1FN>, tensor<2x2xf8E4M3FN, #swizzled>, tensor<2x2xf8E4M3FN, #swizzled> -> tensor<2x2xf32>
  return
}

// -----

// Data of MX formats has signs, and so have exponents' top bits.
func.func @signed_data(%x: tensor<2x32xf32>) {
  %q = arith.constant dense<-1.0> : tensor<2x32xf8E4M3FN>
  %s = arith.constant dense<4.0> : tensor<2x1xf8E8M0FNU>
  %0 = blockscale.dequantize %q, %s block [1, 32] : tensor<2x32xf8E4M3FN>, tensor<2x1xf8E8M0FNU> -> tensor<2x32xf32>
  return
}

// -----

// Amaxes of blocks and rows; any seed and offset.
func.func @operands_of_quantize(%x: tensor<2x32xbf16>) {
  %blocks = arith.constant dense<[[0.0, 1.0], [2.0, -3.0]]> : tensor<2x2xf32>
  // expected-error @below {{'blockscale.quantize' op expected a constant block_amax to be 0 or more, but got -3}}
  %0:2 = blockscale.quantize %x block [1, 16] recipe modelopt block_amax(%blocks : tensor<2x2xf32>) : tensor<2x32xbf16> -> tensor<2x32xf4E2M1FN>, tensor<2x2xf8E4M3FN>
  %nan = arith.constant dense<[[0.0, 1.0], [0x7FC00000, 3.0]]> : tensor<2x2xf32>
  // expected-error @below {{'blockscale.quantize' op expected a constant block_amax to be 0 or more, but got NaN}}
  %4:2 = blockscale.quantize %x block [1, 16] recipe modelopt block_amax(%nan : tensor<2x2xf32>) : tensor<2x32xbf16> -> tensor<2x32xf4E2M1FN>, tensor<2x2xf8E4M3FN>
  %allowed = arith.constant dense<[[0.0, 1.0], [2.0, 3.0]]> : tensor<2x2xf32>
  %5:2 = blockscale.quantize %x block [1, 16] recipe modelopt block_amax(%allowed : tensor<2x2xf32>) : tensor<2x32xbf16> -> tensor<2x32xf4E2M1FN>, tensor<2x2xf8E4M3FN>
  %rows = arith.constant dense<[1.0, 0.0]> : tensor<2xf32>
  // expected-error @below {{'blockscale.quantize' op expected a constant global_scale to be positive and finite, but got 0}}
  %1:2 = blockscale.quantize %x block [1, 16] global_scale(%rows : tensor<2xf32>) : tensor<2x32xbf16> -> tensor<2x32xf4E2M1FN>, tensor<2x2xf8E4M3FN>
  %2:2 = blockscale.quantize %x block [1, 16] recipe te global_amax(%rows : tensor<2xf32>) : tensor<2x32xbf16> -> tensor<2x32xf4E2M1FN>, tensor<2x2xf8E4M3FN>
  %rng = arith.constant dense<[-1, 0]> : tensor<2xi64>
  %3:2 = blockscale.quantize %x block [1, 16] rng(%rng : tensor<2xi64>) : tensor<2x32xbf16> -> tensor<2x32xf4E2M1FN>, tensor<2x2xf8E4M3FN>
  return
}
func.func @scale_sweep(%x: tensor<2x32xbf16>) {
  %amax = arith.constant -1.0 : f32
  // expected-error @below {{'blockscale.scale_sweep' op expected a constant global_amax to be 0 or more, but got -1}}
  %0 = blockscale.scale_sweep %x global_amax(%amax : f32) : tensor<2x32xbf16> -> tensor<2x2xf32>
  return
}
func.func @expand_scale() {
  %s = arith.constant dense<[[0x38], [0x80]]> : tensor<2x1xf8E4M3FN>
  // expected-error @below {{'blockscale.expand_scale' op expected constant block scales of source to have no sign, but got byte 0x80 at element 1}}
  %0 = blockscale.expand_scale %s block [16, 16] scale_dim k : tensor<2x1xf8E4M3FN> -> tensor<32x1xf8E4M3FN>
  return
}
