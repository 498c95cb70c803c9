// RUN: blockscale-opt %s --blockscale-raise-products --canonicalize | FileCheck %s

// Numbers and biases behind products become their global scales and biases.
// CHECK-NOT: linalg.generic
// CHECK-NOT: arith.divf

#id = affine_map<(d0, d1) -> (d0, d1)>
#none = affine_map<(d0, d1) -> ()>
#cols = affine_map<(d0, d1) -> (d1)>
#ones = affine_map<(d0, d1) -> (0, 0)>
#s = affine_map<() -> ()>
// A number of f32 behind a product of f32.
// CHECK-LABEL: func.func @mul_f32
// CHECK-SAME: %[[G:[a-z0-9]+]]: tensor<f32>
// CHECK-NEXT: %[[Y:.+]] = blockscale.scaled_mm {{.*}} block [1, 16] global_scale_b(%[[G]] : tensor<f32>) :
// CHECK-NEXT: return %[[Y]]
func.func @mul_f32(%a: tensor<8x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %b: tensor<16x64xf4E2M1FN>, %sb: tensor<16x4xf8E4M3FN>, %g: tensor<f32>, %e: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  %z = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %g : tensor<8x16xf32>, tensor<f32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<8x16xf32>
  return %z : tensor<8x16xf32>
}
// torchao's order: bf16 times the rounded product of two numbers, plus a bias.
// CHECK-LABEL: func.func @mul_bf16
// CHECK-SAME: %[[GA:[a-z0-9]+]]: tensor<f32>, %[[GB:[a-z0-9]+]]: tensor<f32>, %[[BIAS:[a-z0-9]+]]: tensor<16xbf16>
// CHECK-NEXT: %[[Y:.+]] = blockscale.scaled_mm {{.*}} global_scale_a(%[[GA]] : tensor<f32>) global_scale_b(%[[GB]] : tensor<f32>) global_scaling after_rounding bias(%[[BIAS]] : tensor<16xbf16>)
// CHECK-NEXT: return %[[Y]]
func.func @mul_bf16(%a: tensor<8x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %b: tensor<16x64xf4E2M1FN>, %sb: tensor<16x4xf8E4M3FN>, %ga: tensor<f32>, %gb: tensor<f32>, %bias: tensor<16xbf16>, %e: tensor<8x16xbf16>, %e0: tensor<f32>, %e1: tensor<bf16>) -> tensor<8x16xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xbf16>
  %g = linalg.generic {indexing_maps = [#s, #s, #s], iterator_types = []} ins(%ga, %gb : tensor<f32>, tensor<f32>) outs(%e0 : tensor<f32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  %t = linalg.generic {indexing_maps = [#s, #s], iterator_types = []} ins(%g : tensor<f32>) outs(%e1 : tensor<bf16>) {
  ^bb0(%p: f32, %o: bf16):
    %0 = arith.truncf %p : f32 to bf16
    linalg.yield %0 : bf16
  } -> tensor<bf16>
  %z = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %t : tensor<8x16xbf16>, tensor<bf16>) outs(%e : tensor<8x16xbf16>) {
  ^bb0(%p: bf16, %q: bf16, %o: bf16):
    %0 = arith.extf %p : bf16 to f32
    %1 = arith.extf %q : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.truncf %2 : f32 to bf16
    linalg.yield %3 : bf16
  } -> tensor<8x16xbf16>
  %w = linalg.generic {indexing_maps = [#cols, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%bias, %z : tensor<16xbf16>, tensor<8x16xbf16>) outs(%e : tensor<8x16xbf16>) {
  ^bb0(%p: bf16, %q: bf16, %o: bf16):
    %0 = arith.addf %p, %q : bf16
    linalg.yield %0 : bf16
  } -> tensor<8x16xbf16>
  return %w : tensor<8x16xbf16>
}
// The same with a bias that is a reshape of a row.
// CHECK-LABEL: func.func @reshaped_bias
// CHECK-SAME: %[[BIAS:[a-z0-9]+]]: tensor<16xbf16>
// CHECK: blockscale.scaled_mm {{.*}} global_scaling after_rounding bias(%[[BIAS]] : tensor<16xbf16>)
func.func @reshaped_bias(%a: tensor<8x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %b: tensor<16x64xf4E2M1FN>, %sb: tensor<16x4xf8E4M3FN>, %ga: tensor<f32>, %gb: tensor<f32>, %bias: tensor<16xbf16>, %e: tensor<8x16xbf16>, %e0: tensor<f32>, %e1: tensor<bf16>) -> tensor<8x16xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xbf16>
  %g = linalg.generic {indexing_maps = [#s, #s, #s], iterator_types = []} ins(%ga, %gb : tensor<f32>, tensor<f32>) outs(%e0 : tensor<f32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  %t = linalg.generic {indexing_maps = [#s, #s], iterator_types = []} ins(%g : tensor<f32>) outs(%e1 : tensor<bf16>) {
  ^bb0(%p: f32, %o: bf16):
    %0 = arith.truncf %p : f32 to bf16
    linalg.yield %0 : bf16
  } -> tensor<bf16>
  %z = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %t : tensor<8x16xbf16>, tensor<bf16>) outs(%e : tensor<8x16xbf16>) {
  ^bb0(%p: bf16, %q: bf16, %o: bf16):
    %0 = arith.extf %p : bf16 to f32
    %1 = arith.extf %q : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.truncf %2 : f32 to bf16
    linalg.yield %3 : bf16
  } -> tensor<8x16xbf16>
  %row = tensor.expand_shape %bias [[0, 1]] output_shape [1, 16] : tensor<16xbf16> into tensor<1x16xbf16>
  %w = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (0, d1)>, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%row, %z : tensor<1x16xbf16>, tensor<8x16xbf16>) outs(%e : tensor<8x16xbf16>) {
  ^bb0(%p: bf16, %q: bf16, %o: bf16):
    %0 = arith.addf %p, %q : bf16
    linalg.yield %0 : bf16
  } -> tensor<8x16xbf16>
  return %w : tensor<8x16xbf16>
}
// Over a power of two.
// CHECK-LABEL: func.func @div_f32
// CHECK-NEXT: %[[G:.+]] = arith.constant 1.250000e-01 : f32
// CHECK-NEXT: blockscale.scaled_mm {{.*}} global_scale_b(%[[G]] : f32)
func.func @div_f32(%a: tensor<8x64xbf16>, %b: tensor<16x64xf4E2M1FN>, %sb: tensor<16x4xf8E4M3FN>) -> tensor<8x16xf32> {
  %y = blockscale.scaled_mm %a, %b scales(none, %sb) block [1, 16] : tensor<8x64xbf16>, tensor<16x64xf4E2M1FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  %c = arith.constant dense<8.0> : tensor<8x16xf32>
  %z = arith.divf %y, %c : tensor<8x16xf32>
  return %z : tensor<8x16xf32>
}

// What is rounded behind the number is a product of the narrower type, also through a
// reshape, and sizes are no other uses.
// CHECK-LABEL: func.func @narrowed
// CHECK-SAME: %[[G:[a-z0-9]+]]: f32
// CHECK: %[[Y:.+]] = blockscale.scaled_mm {{.*}} global_scale_b(%[[G]] : f32) : {{.*}} -> tensor<?x16xf16>
// CHECK: tensor.expand_shape %[[Y]] {{.*}} : tensor<?x16xf16> into tensor<2x?x16xf16>
func.func @narrowed(%a: tensor<?x64xbf16>, %b: tensor<16x64xf4E2M1FN>, %sb: tensor<16x4xf8E4M3FN>, %m: index, %g: f32) -> tensor<2x?x16xf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, %sb) block [1, 16] : tensor<?x64xbf16>, tensor<16x64xf4E2M1FN>, tensor<16x4xf8E4M3FN> -> tensor<?x16xf32>
  %r = tensor.expand_shape %y [[0, 1], [2]] output_shape [2, %m, 16] : tensor<?x16xf32> into tensor<2x?x16xf32>
  %c1 = arith.constant 1 : index
  %d = tensor.dim %r, %c1 : tensor<2x?x16xf32>
  %e = tensor.empty(%d) : tensor<2x?x16xf16>
  %z = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%r : tensor<2x?x16xf32>) outs(%e : tensor<2x?x16xf16>) {
  ^bb0(%p: f32, %o: f16):
    %0 = arith.mulf %g, %p : f32
    %1 = arith.truncf %0 : f32 to f16
    linalg.yield %1 : f16
  } -> tensor<2x?x16xf16>
  return %z : tensor<2x?x16xf16>
}

// Behind a product of groups, a constant.
// CHECK-LABEL: func.func @groups
// CHECK: blockscale.scaled_grouped_mm {{.*}} global_scale_b(%{{.+}} : f32)
func.func @groups(%a: tensor<96x64xf4E2M1FN>, %sa: tensor<96x4xf8E4M3FN>, %b: tensor<3x48x64xf4E2M1FN>, %sb: tensor<3x48x4xf8E4M3FN>, %ends: tensor<3xi32>) -> tensor<96x48xf32> {
  %y = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 16] : tensor<96x64xf4E2M1FN>, tensor<3x48x64xf4E2M1FN>, tensor<3xi32>, tensor<96x4xf8E4M3FN>, tensor<3x48x4xf8E4M3FN> -> tensor<96x48xf32>
  %c = arith.constant dense<0.1> : tensor<96x48xf32>
  %z = arith.mulf %c, %y : tensor<96x48xf32>
  return %z : tensor<96x48xf32>
}

// A number that is the product of a constant and another one, as of a weight whose global scale
// is known.
// CHECK-LABEL: func.func @constant_factor
// CHECK-SAME: %[[GA:[a-z0-9]+]]: tensor<f32>
// CHECK: %[[GB:.+]] = arith.constant dense<2.500000e-01> : tensor<f32>
// CHECK: blockscale.scaled_mm {{.*}} block [1, 16] global_scale_a(%[[GA]] : tensor<f32>) global_scale_b(%[[GB]] : tensor<f32>) :
func.func @constant_factor(%a: tensor<8x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %b: tensor<16x64xf4E2M1FN>, %sb: tensor<16x4xf8E4M3FN>, %ga: tensor<f32>, %e: tensor<8x16xf32>, %e0: tensor<f32>) -> tensor<8x16xf32> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  %gb = arith.constant dense<0.25> : tensor<f32>
  %g = linalg.generic {indexing_maps = [#s, #s, #s], iterator_types = []} ins(%ga, %gb : tensor<f32>, tensor<f32>) outs(%e0 : tensor<f32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  %z = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %g : tensor<8x16xf32>, tensor<f32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<8x16xf32>
  return %z : tensor<8x16xf32>
}

// A global scale that is the product of two constants is one constant.
// CHECK-LABEL: func.func @constant_factors
// CHECK: %[[G:.+]] = arith.constant dense<1.250000e-01> : tensor<f32>
// CHECK: blockscale.scaled_mm {{.*}} block [1, 16] global_scale_b(%[[G]] : tensor<f32>) :
func.func @constant_factors(%a: tensor<8x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %b: tensor<16x64xf4E2M1FN>, %sb: tensor<16x4xf8E4M3FN>, %e0: tensor<f32>) -> tensor<8x16xf32> {
  %ga = arith.constant dense<0.5> : tensor<f32>
  %gb = arith.constant dense<0.25> : tensor<f32>
  %g = linalg.generic {indexing_maps = [#s, #s, #s], iterator_types = []} ins(%ga, %gb : tensor<f32>, tensor<f32>) outs(%e0 : tensor<f32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] global_scale_b(%g : tensor<f32>) : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// An f32 product times a number that was rounded to bf16 is scaled by the rounded number.
// CHECK-LABEL: func.func @rounded_number
// CHECK-SAME: %[[G:[a-z0-9]+]]: tensor<f32>,
// CHECK: %[[ROUNDED:.+]] = arith.truncf %[[G]] : tensor<f32> to tensor<bf16>
// CHECK: %[[NUMBER:.+]] = arith.extf %[[ROUNDED]] : tensor<bf16> to tensor<f32>
// CHECK: blockscale.scaled_mm {{.*}} global_scale_b(%[[NUMBER]] : tensor<f32>) :
func.func @rounded_number(%a: tensor<8x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %b: tensor<16x64xf4E2M1FN>, %sb: tensor<16x4xf8E4M3FN>, %g: tensor<f32>, %e: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  %n = arith.truncf %g : tensor<f32> to tensor<bf16>
  %z = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %n : tensor<8x16xf32>, tensor<bf16>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%p: f32, %q: bf16, %o: f32):
    %w = arith.extf %q : bf16 to f32
    %v = arith.mulf %p, %w : f32
    linalg.yield %v : f32
  } -> tensor<8x16xf32>
  return %z : tensor<8x16xf32>
}

// A number that is the second result of an op is what the body yields for it.
// CHECK-LABEL: func.func @second_result
// CHECK-SAME: %[[G:[a-z0-9]+]]: tensor<f32>, %[[H:[a-z0-9]+]]: tensor<f32>,
// CHECK: blockscale.scaled_mm {{.*}} global_scale_b(%[[H]] : tensor<f32>) global_scaling after_rounding :
func.func @second_result(%a: tensor<8x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %b: tensor<16x64xf4E2M1FN>, %sb: tensor<16x4xf8E4M3FN>, %g: tensor<f32>, %h: tensor<f32>, %e: tensor<8x16xbf16>, %e0: tensor<bf16>) -> (tensor<8x16xbf16>, tensor<bf16>) {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xbf16>
  %n:2 = linalg.generic {indexing_maps = [#s, #s, #s, #s], iterator_types = []} ins(%g, %h : tensor<f32>, tensor<f32>) outs(%e0, %e0 : tensor<bf16>, tensor<bf16>) {
  ^bb0(%p: f32, %q: f32, %o: bf16, %r: bf16):
    %0 = arith.truncf %p : f32 to bf16
    %1 = arith.truncf %q : f32 to bf16
    linalg.yield %0, %1 : bf16, bf16
  } -> (tensor<bf16>, tensor<bf16>)
  %z = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %n#1 : tensor<8x16xbf16>, tensor<bf16>) outs(%e : tensor<8x16xbf16>) {
  ^bb0(%p: bf16, %q: bf16, %o: bf16):
    %v = arith.mulf %p, %q : bf16
    linalg.yield %v : bf16
  } -> tensor<8x16xbf16>
  return %z, %n#0 : tensor<8x16xbf16>, tensor<bf16>
}
