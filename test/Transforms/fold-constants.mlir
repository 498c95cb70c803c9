// RUN: blockscale-opt %s --blockscale-fold-constants --canonicalize | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-cpu=to=canonicalize | FileCheck %s
// RUN: blockscale-opt %s --blockscale-fold-constants | FileCheck %s --check-prefix=LARGE

// Ops on constants are evaluated at compile time.

#swizzled = #blockscale.layout<swizzle_128x4>
#prepacked = #blockscale.data_layout<fragments_64x64>

// Codes and scales of a weight that the program knows.
// CHECK-LABEL: @quantize
// CHECK-DAG:     %[[Q:.+]] = arith.constant dense<6.000000e+00> : tensor<1x16xf4E2M1FN>
// CHECK-DAG:     %[[S:.+]] = arith.constant dense<2.500000e-01> : tensor<1x1xf8E4M3FN>
// CHECK:         return %[[Q]], %[[S]]
func.func @quantize() -> (tensor<1x16xf4E2M1FN>, tensor<1x1xf8E4M3FN>) {
  %w = arith.constant dense<1.5> : tensor<1x16xbf16>
  %q, %s = blockscale.quantize %w block [1, 16]
      : tensor<1x16xbf16> -> tensor<1x16xf4E2M1FN>, tensor<1x1xf8E4M3FN>
  return %q, %s : tensor<1x16xf4E2M1FN>, tensor<1x1xf8E4M3FN>
}

// Errors of a 4over6 recipe are those of the values that the codes stand for,
// without a global scale too: 4.5 is 3 under the scale 1.5, but no code under 1.
// CHECK-LABEL: @four_over_six
// CHECK-DAG:     %[[Q:.+]] = arith.constant dense<{{\[\[}}4.000000e+00, 3.000000e+00, 0.000000e+00, {{.+}}]]> : tensor<1x16xf4E2M1FN>
// CHECK-DAG:     %[[S:.+]] = arith.constant dense<1.500000e+00> : tensor<1x1xf8E4M3FN>
// CHECK:         return %[[Q]], %[[S]]
func.func @four_over_six() -> (tensor<1x16xf4E2M1FN>, tensor<1x1xf8E4M3FN>) {
  %w = arith.constant dense<[[6.0, 4.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
                              0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]> : tensor<1x16xbf16>
  %q, %s = blockscale.quantize %w block [1, 16] recipe te_4over6_mse
      : tensor<1x16xbf16> -> tensor<1x16xf4E2M1FN>, tensor<1x1xf8E4M3FN>
  return %q, %s : tensor<1x16xf4E2M1FN>, tensor<1x1xf8E4M3FN>
}

// A chain: the amax gives the global scale, that the block scales, and these get
// their layout. A constant with a layout shows its logical elements.
// CHECK-LABEL: @chain
// CHECK-DAG:     %[[G:.+]] = arith.constant dense<2.000000e+00> : tensor<f32>
// CHECK-DAG:     %[[S:.+]] = arith.constant dense<4.480000e+02> : tensor<2x1xf8E4M3FN, #swizzled>
// CHECK-NOT:     blockscale.
// CHECK:         return %[[G]], %[[S]]
func.func @chain() -> (tensor<f32>, tensor<2x1xf8E4M3FN, #swizzled>) {
  %w = arith.constant dense<5376.0> : tensor<2x16xbf16>
  %a = blockscale.amax %w : tensor<2x16xbf16> -> tensor<f32>
  %g = blockscale.global_scale %a : tensor<f32>
  %q, %s = blockscale.quantize %w block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<2x16xbf16> -> tensor<2x16xf4E2M1FN>, tensor<2x1xf8E4M3FN>
  %t = blockscale.swizzle %s : tensor<2x1xf8E4M3FN> -> tensor<2x1xf8E4M3FN, #swizzled>
  return %g, %t : tensor<f32>, tensor<2x1xf8E4M3FN, #swizzled>
}

// An amax of zeros is taken as 2688 where the ops say so, also by a sweep.
// CHECK-LABEL: @zeros
// CHECK-DAG:     %[[ONE:.+]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-DAG:     %[[S:.+]] = arith.constant dense<1.562500e-02> : tensor<2x1xf8E4M3FN>
// CHECK-DAG:     %[[T:.+]] = arith.constant dense<1.953130e-03> : tensor<2x1xf8E4M3FN>
// CHECK-NOT:     blockscale.
// CHECK:         return %[[ONE]], %[[S]], %[[T]]
func.func @zeros() -> (tensor<f32>, tensor<2x1xf8E4M3FN>, tensor<2x1xf8E4M3FN>) {
  %w = arith.constant dense<0.0> : tensor<2x16xbf16>
  %a = blockscale.amax %w : tensor<2x16xbf16> -> tensor<f32>
  %g = blockscale.global_scale %a nonzero_amax : tensor<f32>
  %q, %s = blockscale.quantize %w block [1, 16] global_amax(%a : tensor<f32>) nonzero_amax
      : tensor<2x16xbf16> -> tensor<2x16xf4E2M1FN>, tensor<2x1xf8E4M3FN>
  %b = blockscale.scale_sweep %w global_amax(%a : tensor<f32>) nonzero_amax : tensor<2x16xbf16> -> tensor<2x1xf32>
  %r, %t = blockscale.quantize %w block [1, 16] recipe modelopt global_amax(%a : tensor<f32>) nonzero_amax block_amax(%b : tensor<2x1xf32>)
      : tensor<2x16xbf16> -> tensor<2x16xf4E2M1FN>, tensor<2x1xf8E4M3FN>
  return %g, %s, %t : tensor<f32>, tensor<2x1xf8E4M3FN>, tensor<2x1xf8E4M3FN>
}

// Data in the order of fragments, which shows logical elements too.
// CHECK-LABEL: @prepack
// CHECK-DAG:     %[[P:.+]] = arith.constant dense<{{\[\[}}1.000000e+00, -6.000000e+00]]> : tensor<1x2xf4E2M1FN, #prepacked>
// CHECK-DAG:     %[[U:.+]] = arith.constant dense<{{\[\[}}1, -2]]> : tensor<1x2xi8>
// CHECK-NOT:     blockscale.
// CHECK:         return %[[P]], %[[U]]
func.func @prepack() -> (tensor<1x2xf4E2M1FN, #prepacked>, tensor<1x2xi8>) {
  %w = arith.constant dense<[[1.0, -6.0]]> : tensor<1x2xf4E2M1FN>
  %v = arith.constant dense<[[1, -2]]> : tensor<1x2xi8, #prepacked>
  %p = blockscale.prepack %w : tensor<1x2xf4E2M1FN> -> tensor<1x2xf4E2M1FN, #prepacked>
  %u = blockscale.prepack %v : tensor<1x2xi8, #prepacked> -> tensor<1x2xi8>
  return %p, %u : tensor<1x2xf4E2M1FN, #prepacked>, tensor<1x2xi8>
}

// The transform, without signs, of ones; and the sweep of a block that the
// largest candidate represents exactly.
// CHECK-LABEL: @transform_and_sweep
// CHECK-DAG:     %[[Y:.+]] = arith.constant dense<{{\[\[}}4.000000e+00, 0.000000e+00, {{.+}}, 0.000000e+00]]> : tensor<1x16xbf16>
// CHECK-DAG:     %[[B:.+]] = arith.constant dense<6.000000e+00> : tensor<1x1xf32>
// CHECK:         return %[[Y]], %[[B]]
func.func @transform_and_sweep() -> (tensor<1x16xbf16>, tensor<1x1xf32>) {
  %ones = arith.constant dense<1.0> : tensor<1x16xbf16>
  %w = arith.constant dense<6.0> : tensor<1x16xbf16>
  %a = arith.constant 6.0 : f32
  %y = blockscale.hadamard %ones dim 1 sign_mask 0 : tensor<1x16xbf16>
  %b = blockscale.scale_sweep %w global_amax(%a : f32) : tensor<1x16xbf16> -> tensor<1x1xf32>
  return %y, %b : tensor<1x16xbf16>, tensor<1x1xf32>
}

// Scales of square blocks, expanded. Before they are folded the large constants
// are resources, which are printed at the end of the module.
// CHECK-LABEL: @expand
// CHECK:         %[[E:.+]] = arith.constant {{.+}} : tensor<64x1xf8E8M0FNU>
// CHECK:         return %{{.+}}, %[[E]]
// LARGE-LABEL: @expand
// LARGE:         arith.constant dense_resource<blockscale_constant> : tensor<64x32xf8E4M3FN>
// LARGE:         dialect_resources
// LARGE:           blockscale_constant: "0x{{[0-9A-F]+}}"
func.func @expand() -> (tensor<64x32xf8E4M3FN>, tensor<64x1xf8E8M0FNU>) {
  %w = arith.constant dense<1.0> : tensor<64x32xf32>
  %q, %s = blockscale.quantize %w block [32, 32]
      : tensor<64x32xf32> -> tensor<64x32xf8E4M3FN>, tensor<2x1xf8E8M0FNU>
  %e = blockscale.expand_scale %s block [32, 32] scale_dim k
      : tensor<2x1xf8E8M0FNU> -> tensor<64x1xf8E8M0FNU>
  return %q, %e : tensor<64x32xf8E4M3FN>, tensor<64x1xf8E8M0FNU>
}

// Rows without columns are not visited, however many there are.
// CHECK-LABEL: @empty
// CHECK-DAG:     %[[A:.+]] = arith.constant dense<0.000000e+00> : tensor<f32>
// CHECK-DAG:     %[[B:.+]] = arith.constant dense<> : tensor<4611686018427387x0xf32>
// CHECK-DAG:     %[[Q:.+]] = arith.constant dense<> : tensor<4611686018427387x0xf8E4M3FN>
// CHECK-DAG:     %[[S:.+]] = arith.constant dense<> : tensor<4611686018427387x0xf8E8M0FNU>
// CHECK:         return %[[A]], %[[B]], %[[Q]], %[[S]]
func.func @empty() -> (tensor<f32>, tensor<4611686018427387x0xf32>, tensor<4611686018427387x0xf8E4M3FN>, tensor<4611686018427387x0xf8E8M0FNU>) {
  %w = arith.constant dense<> : tensor<4611686018427387x0xf32>
  %c = arith.constant dense<> : tensor<144115188075856x0xf8E8M0FNU>
  %a = blockscale.amax %w : tensor<4611686018427387x0xf32> -> tensor<f32>
  %b = blockscale.scale_sweep %w global_amax(%a : tensor<f32>) : tensor<4611686018427387x0xf32> -> tensor<4611686018427387x0xf32>
  %q, %s = blockscale.quantize %w block [1, 32]
      : tensor<4611686018427387x0xf32> -> tensor<4611686018427387x0xf8E4M3FN>, tensor<4611686018427387x0xf8E8M0FNU>
  %e = blockscale.expand_scale %c block [32, 32] scale_dim k
      : tensor<144115188075856x0xf8E8M0FNU> -> tensor<4611686018427387x0xf8E8M0FNU>
  return %a, %b, %q, %e : tensor<f32>, tensor<4611686018427387x0xf32>, tensor<4611686018427387x0xf8E4M3FN>, tensor<4611686018427387x0xf8E8M0FNU>
}
