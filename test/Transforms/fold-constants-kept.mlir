// RUN: blockscale-opt %s --blockscale-fold-constants=max-elements=64 -split-input-file -verify-diagnostics | FileCheck %s

// What blockscale-fold-constants leaves for run time.

// More elements than the limit: kept, and said so. Its scales are evaluated when
// they are few enough.
// CHECK-LABEL: @limit
// CHECK:         blockscale.quantize
// CHECK-NOT:     blockscale.global_scale
func.func @limit() -> (tensor<2x64xf4E2M1FN>, tensor<2x4xf8E4M3FN>, tensor<f32>) {
  %w = arith.constant dense<1.5> : tensor<2x64xbf16>
  %a = arith.constant dense<5376.0> : tensor<f32>
  %g = blockscale.global_scale %a : tensor<f32>
  // expected-remark @below {{is not evaluated at compile time: expected at most 64 elements (max-elements), but got 'tensor<2x64xbf16>'}}
  %q, %s = blockscale.quantize %w block [1, 16]
      : tensor<2x64xbf16> -> tensor<2x64xf4E2M1FN>, tensor<2x4xf8E4M3FN>
  return %q, %s, %g : tensor<2x64xf4E2M1FN>, tensor<2x4xf8E4M3FN>, tensor<f32>
}

// -----

// As many elements as the limit are evaluated.
// CHECK-LABEL: @at_the_limit
// CHECK-NOT:     blockscale.
func.func @at_the_limit() -> tensor<f32> {
  %w = arith.constant dense<1.5> : tensor<1x64xbf16>
  %a = blockscale.amax %w : tensor<1x64xbf16> -> tensor<f32>
  return %a : tensor<f32>
}

// -----

// One operand that is not constant is enough.
// CHECK-LABEL: @operand
// CHECK:         blockscale.quantize
func.func @operand(%g: tensor<f32>) -> (tensor<1x16xf4E2M1FN>, tensor<1x1xf8E4M3FN>) {
  %w = arith.constant dense<1.5> : tensor<1x16xbf16>
  %q, %s = blockscale.quantize %w block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<1x16xbf16> -> tensor<1x16xf4E2M1FN>, tensor<1x1xf8E4M3FN>
  return %q, %s : tensor<1x16xf4E2M1FN>, tensor<1x1xf8E4M3FN>
}

// -----

// Random bits and groups are drawn and bounded at run time.
// CHECK-LABEL: @rng_and_offsets
// CHECK:         blockscale.quantize {{.+}} rng(
// CHECK:         blockscale.amax {{.+}} offsets(
func.func @rng_and_offsets() -> (tensor<1x16xf4E2M1FN>, tensor<1x1xf8E4M3FN>, tensor<1xf32>) {
  %w = arith.constant dense<1.5> : tensor<1x16xbf16>
  %r = arith.constant dense<[1, 2]> : tensor<2xi64>
  %o = arith.constant dense<1> : tensor<1xi32>
  %q, %s = blockscale.quantize %w block [1, 16] rng(%r : tensor<2xi64>)
      : tensor<1x16xbf16> -> tensor<1x16xf4E2M1FN>, tensor<1x1xf8E4M3FN>
  %a = blockscale.amax %w offsets(%o : tensor<1xi32>) : tensor<1x16xbf16> -> tensor<1xf32>
  return %q, %s, %a : tensor<1x16xf4E2M1FN>, tensor<1x1xf8E4M3FN>, tensor<1xf32>
}

// -----

// Values would take more room than their codes.
// CHECK-LABEL: @dequantize
// CHECK:         blockscale.dequantize
func.func @dequantize() -> tensor<1x16xf32> {
  %q = arith.constant dense<1.0> : tensor<1x16xf4E2M1FN>
  %s = arith.constant dense<1.0> : tensor<1x1xf8E4M3FN>
  %x = blockscale.dequantize %q, %s block [1, 16]
      : tensor<1x16xf4E2M1FN>, tensor<1x1xf8E4M3FN> -> tensor<1x16xf32>
  return %x : tensor<1x16xf32>
}

// -----

// The tiles of a grouped layout depend on the offsets.
// CHECK-LABEL: @grouped
// CHECK:         blockscale.swizzle
func.func @grouped() -> tensor<4x1xf8E4M3FN, #blockscale.layout<swizzle_128x4, groups = 1, dim = 0>> {
  %s = arith.constant dense<1.0> : tensor<4x1xf8E4M3FN>
  %o = arith.constant dense<4> : tensor<1xi32>
  %t = blockscale.swizzle %s offsets(%o : tensor<1xi32>)
      : tensor<4x1xf8E4M3FN> -> tensor<4x1xf8E4M3FN, #blockscale.layout<swizzle_128x4, groups = 1, dim = 0>>
  return %t : tensor<4x1xf8E4M3FN, #blockscale.layout<swizzle_128x4, groups = 1, dim = 0>>
}

// -----

// More elements than 64 bits count.
func.func @uncountable() -> tensor<f32> {
  %x = arith.constant dense<1.0> : tensor<4294967296x4294967296xbf16>
  // expected-remark @below {{is not evaluated at compile time: expected at most 64 elements (max-elements), but got 'tensor<4294967296x4294967296xbf16>'}}
  %amax = blockscale.amax %x : tensor<4294967296x4294967296xbf16> -> tensor<f32>
  return %amax : tensor<f32>
}
