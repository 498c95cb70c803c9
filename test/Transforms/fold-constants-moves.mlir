// RUN: blockscale-opt %s --blockscale-fold-constants=max-elements=64 -verify-diagnostics | FileCheck %s

// What moves or converts a constant in front of an op of the dialect is evaluated.

// A weight [K, N] of a resource: row 0 is its column 0.
// CHECK-LABEL: @transposed
// CHECK-DAG: %[[Q:.+]] = arith.constant dense<{{\[\[}}4.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 1.500000e+00, 0.000000e+00, {{[0., e+]*}}], [6.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -1.500000e+00, 0.000000e+00, {{[0., e+]*}}]]> : tensor<2x32xf4E2M1FN>
// CHECK-DAG: %[[S:.+]] = arith.constant dense<{{\[\[}}1.000000e+00], [2.000000e+00]]> : tensor<2x1xf8E8M0FNU>
// CHECK: return %[[Q]], %[[S]]
func.func @transposed() -> (tensor<2x32xf4E2M1FN>, tensor<2x1xf8E8M0FNU>) {
  %w = arith.constant dense_resource<w> : tensor<32x2xf32>
  %e = tensor.empty() : tensor<2x32xf32>
  %t = linalg.transpose ins(%w : tensor<32x2xf32>) outs(%e : tensor<2x32xf32>) permutation = [1, 0]
  %q, %s = blockscale.quantize %t block [1, 32] : tensor<2x32xf32> -> tensor<2x32xf4E2M1FN>, tensor<2x1xf8E8M0FNU>
  return %q, %s : tensor<2x32xf4E2M1FN>, tensor<2x1xf8E8M0FNU>
}

// A permutation of three dimensions, which is not its own inverse: [3, 1, 2] to [1, 2, 3].
// CHECK-LABEL: @permuted
// CHECK-DAG: %[[A:.+]] = arith.constant dense<{{\[\[}}[1.000000e+00, 3.000000e+00, 5.000000e+00], [2.000000e+00, 4.000000e+00, 6.000000e+00]]]> : tensor<1x2x3xbf16>
// CHECK-DAG: %[[M:.+]] = arith.constant dense<6.000000e+00> : tensor<1xf32>
// CHECK: return %[[M]]
func.func @permuted() -> tensor<1xf32> {
  %w = arith.constant dense<[[[1.0, 2.0]], [[3.0, 4.0]], [[5.0, 6.0]]]> : tensor<3x1x2xbf16>
  %e = tensor.empty() : tensor<1x2x3xbf16>
  %t = linalg.transpose ins(%w : tensor<3x1x2xbf16>) outs(%e : tensor<1x2x3xbf16>) permutation = [1, 2, 0]
  %a = blockscale.amax %t : tensor<1x2x3xbf16> -> tensor<1xf32>
  return %a : tensor<1xf32>
}

// Every second column of the last two rows: -5 and 7, and 9 and 11.
// CHECK-LABEL: @sliced
// CHECK-DAG: arith.constant dense<{{\[\[}}-5.000000e+00, 7.000000e+00], [9.000000e+00, 1.100000e+01]]> : tensor<2x2xf32>
// CHECK-DAG: %[[M:.+]] = arith.constant dense<1.100000e+01> : tensor<f32>
// CHECK: return %[[M]]
func.func @sliced() -> tensor<f32> {
  %w = arith.constant dense<[[50.0, 1.0, 2.0, 3.0], [4.0, -5.0, 60.0, 7.0], [80.0, 9.0, 10.0, 11.0]]> : tensor<3x4xf32>
  %t = tensor.extract_slice %w[1, 1] [2, 2] [1, 2] : tensor<3x4xf32> to tensor<2x2xf32>
  %a = blockscale.amax %t : tensor<2x2xf32> -> tensor<f32>
  return %a : tensor<f32>
}

// Reshapes keep the order of the elements; each matrix has its amax.
// CHECK-LABEL: @reshaped
// CHECK-DAG: %[[M:.+]] = arith.constant dense<[2.000000e+00, 4.000000e+00]> : tensor<2xf32>
// CHECK: return %[[M]]
func.func @reshaped() -> tensor<2xf32> {
  %w = arith.constant dense<[[[1.0], [2.0]], [[3.0], [4.0]]]> : tensor<2x2x1xf32>
  %c = tensor.collapse_shape %w [[0, 1, 2]] : tensor<2x2x1xf32> into tensor<4xf32>
  %x = tensor.expand_shape %c [[0, 1, 2]] output_shape [2, 1, 2] : tensor<4xf32> into tensor<2x1x2xf32>
  %a = blockscale.amax %x : tensor<2x1x2xf32> -> tensor<2xf32>
  return %a : tensor<2xf32>
}

// A reshape of a resource is the same resource.
// CHECK-LABEL: @reshaped_resource
// CHECK: arith.constant dense_resource<w> : tensor<64xf32>
// CHECK: arith.constant dense_resource<w> : tensor<4x16xf32>
// CHECK: %[[M:.+]] = arith.constant dense<1.200000e+01> : tensor<f32>
// CHECK: return %[[M]]
func.func @reshaped_resource() -> tensor<f32> {
  %w = arith.constant dense_resource<w> : tensor<32x2xf32>
  %c = tensor.collapse_shape %w [[0, 1]] : tensor<32x2xf32> into tensor<64xf32>
  %x = tensor.expand_shape %c [[0, 1]] output_shape [4, 16] : tensor<64xf32> into tensor<4x16xf32>
  %a = blockscale.amax %x : tensor<4x16xf32> -> tensor<f32>
  return %a : tensor<f32>
}

// Conversions round to nearest, ties to even: of 1 + 2^-8 and 1 + 3 * 2^-8 in bf16, and of
// 1 + 2^-11 and 1 + 3 * 2^-11 in f16.
// CHECK-LABEL: @rounded
// CHECK-DAG: arith.constant dense<{{\[\[}}1.000000e+00, 1.015630e+00]]> : tensor<1x2xbf16>
// CHECK-DAG: arith.constant dense<{{\[\[}}1.000000e+00, 1.001950e+00]]> : tensor<1x2xf16>
// CHECK-DAG: arith.constant dense<{{\[\[}}1.000000e+00, 1.015625]]> : tensor<1x2xf32>
// CHECK-DAG: %[[A:.+]] = arith.constant dense<1.015625> : tensor<f32>
// CHECK-DAG: %[[B:.+]] = arith.constant dense<1.001953{{[0-9]*}}> : tensor<f32>
// CHECK: return %[[A]], %{{.+}}, %[[B]]
func.func @rounded() -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %x = arith.constant dense<[[1.00390625, 1.01171875]]> : tensor<1x2xf32>
  %n = arith.truncf %x : tensor<1x2xf32> to tensor<1x2xbf16>
  %w = arith.extf %n : tensor<1x2xbf16> to tensor<1x2xf32>
  %y = arith.constant dense<[[1.00048828125, 1.00146484375]]> : tensor<1x2xf32>
  %h = arith.truncf %y : tensor<1x2xf32> to tensor<1x2xf16>
  %a = blockscale.amax %n : tensor<1x2xbf16> -> tensor<f32>
  %b = blockscale.amax %w : tensor<1x2xf32> -> tensor<f32>
  %c = blockscale.amax %h : tensor<1x2xf16> -> tensor<f32>
  return %a, %b, %c : tensor<f32>, tensor<f32>, tensor<f32>
}

// What no op of the dialect reads is left, as a copy of it would only take memory.
// CHECK-LABEL: @unread
// CHECK: tensor.collapse_shape
// CHECK: arith.truncf
func.func @unread() -> tensor<4xbf16> {
  %w = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %c = tensor.collapse_shape %w [[0, 1]] : tensor<2x2xf32> into tensor<4xf32>
  %n = arith.truncf %c : tensor<4xf32> to tensor<4xbf16>
  return %n : tensor<4xbf16>
}

// NaN has other bits where a kernel converts it.
// CHECK-LABEL: @nan
// CHECK: arith.truncf
// CHECK: blockscale.amax
func.func @nan() -> tensor<f32> {
  %x = arith.constant dense<[[0x7FC00001, 1.0]]> : tensor<1x2xf32>
  %n = arith.truncf %x : tensor<1x2xf32> to tensor<1x2xbf16>
  %a = blockscale.amax %n : tensor<1x2xbf16> -> tensor<f32>
  return %a : tensor<f32>
}

// A slice at a place that the program computes, another rounding, and types besides f32,
// bf16 and f16 are left.
// CHECK-LABEL: @kept
// CHECK: tensor.extract_slice
// CHECK: arith.truncf {{.*}} downward
// CHECK: arith.extf {{.*}} : tensor<2x2xf8E4M3FN>
// CHECK-COUNT-3: blockscale.amax
func.func @kept(%i: index) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %w = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %t = tensor.extract_slice %w[%i, 0] [1, 2] [1, 1] : tensor<2x2xf32> to tensor<1x2xf32>
  %n = arith.truncf %w downward : tensor<2x2xf32> to tensor<2x2xbf16>
  %v = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf8E4M3FN>
  %x = arith.extf %v : tensor<2x2xf8E4M3FN> to tensor<2x2xf32>
  %a = blockscale.amax %t : tensor<1x2xf32> -> tensor<f32>
  %b = blockscale.amax %n : tensor<2x2xbf16> -> tensor<f32>
  %c = blockscale.amax %x : tensor<2x2xf32> -> tensor<f32>
  return %a, %b, %c : tensor<f32>, tensor<f32>, tensor<f32>
}

// More elements than the limit stay, with a remark at each op that reads them.
// CHECK-LABEL: @limit
// CHECK: tensor.collapse_shape
// CHECK: blockscale.amax
func.func @limit() -> tensor<f32> {
  %w = arith.constant dense<1.0> : tensor<2x64x1xf32>
  // expected-remark @below {{is not evaluated at compile time: expected at most 64 elements (max-elements), but got 'tensor<2x64x1xf32>'}}
  %c = tensor.collapse_shape %w [[0], [1, 2]] : tensor<2x64x1xf32> into tensor<2x64xf32>
  %a = blockscale.amax %c : tensor<2x64xf32> -> tensor<f32>
  return %a : tensor<f32>
}

{-# dialect_resources: { builtin: {
  w: "0x04000000000080400000404100000000000000000000000000000000000000000000000000000000000000000000C03F000040C000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
} } #-}
