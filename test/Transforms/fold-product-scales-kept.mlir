// RUN: blockscale-opt %s --blockscale-raise-products --split-input-file --verify-diagnostics | FileCheck %s

// Numbers behind products that do not meet a clause of ProductScales.h stay, with a
// remark that names it.

// scale_c1: a product in MX.
// CHECK-LABEL: func.func @mx
// CHECK: arith.{{mulf|divf}}
func.func @mx(%a: tensor<8x64xf4E2M1FN>, %sa: tensor<8x2xf8E8M0FNU>, %b: tensor<16x64xf4E2M1FN>, %sb: tensor<16x2xf8E8M0FNU>) -> tensor<8x16xf32> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 32] : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x2xf8E8M0FNU>, tensor<16x2xf8E8M0FNU> -> tensor<8x16xf32>
  %c = arith.constant dense<2.0> : tensor<8x16xf32>
  // expected-remark @below {{is not a global scale of the product before it (scale_c1): expected a product of NVFP4, but got f8E8M0FNU scales}}
  %z = arith.mulf %y, %c : tensor<8x16xf32>
  return %z : tensor<8x16xf32>
}

// -----

// scale_c2: a product that has a global scale.
// CHECK-LABEL: func.func @second
// CHECK: arith.{{mulf|divf}}
func.func @second(%a: tensor<8x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %b: tensor<16x64xf4E2M1FN>, %sb: tensor<16x4xf8E4M3FN>, %g: f32) -> tensor<8x16xf32> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] global_scale_a(%g : f32) : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  %c = arith.constant dense<2.0> : tensor<8x16xf32>
  // expected-remark @below {{(scale_c2): expected a product without global scales, but got one that has some}}
  %z = arith.mulf %y, %c : tensor<8x16xf32>
  return %z : tensor<8x16xf32>
}

// -----

// scale_c2: a product that adds a bias before the number.
// CHECK-LABEL: func.func @bias
// CHECK: arith.{{mulf|divf}}
func.func @bias(%a: tensor<8x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %b: tensor<16x64xf4E2M1FN>, %sb: tensor<16x4xf8E4M3FN>, %bias: tensor<16xf32>) -> tensor<8x16xf32> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] bias(%bias : tensor<16xf32>) : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  %c = arith.constant dense<2.0> : tensor<8x16xf32>
  // expected-remark @below {{(scale_c2): expected a product without a bias, but got tensor<16xf32>}}
  %z = arith.mulf %y, %c : tensor<8x16xf32>
  return %z : tensor<8x16xf32>
}

// -----

// scale_c3: bf16 times f32, rounded once.
// CHECK-LABEL: func.func @wide_number
// CHECK: arith.{{mulf|divf}}
func.func @wide_number(%a: tensor<8x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %b: tensor<16x64xf4E2M1FN>, %sb: tensor<16x4xf8E4M3FN>, %g: tensor<f32>, %e: tensor<8x16xbf16>) -> tensor<8x16xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xbf16>
  // expected-remark @below {{(scale_c3): expected a number of bf16, but got f32}}
  %z = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%y, %g : tensor<8x16xbf16>, tensor<f32>) outs(%e : tensor<8x16xbf16>) {
  ^bb0(%i: bf16, %j: f32, %o: bf16):
    %w = arith.extf %i : bf16 to f32
    %v = arith.mulf %w, %j : f32
    %t = arith.truncf %v : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<8x16xbf16>
  return %z : tensor<8x16xbf16>
}

// -----

// scale_c3: a rounded product that is scaled in f32.
// CHECK-LABEL: func.func @wide_result
// CHECK: arith.{{mulf|divf}}
func.func @wide_result(%a: tensor<8x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %b: tensor<16x64xf4E2M1FN>, %sb: tensor<16x4xf8E4M3FN>, %g: tensor<f32>, %e: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xbf16>
  // expected-remark @below {{(scale_c3): expected a result of bf16, which the product was rounded to, but got f32}}
  %z = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%y, %g : tensor<8x16xbf16>, tensor<f32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%i: bf16, %j: f32, %o: f32):
    %w = arith.extf %i : bf16 to f32
    %t = arith.mulf %w, %j : f32
    linalg.yield %t : f32
  } -> tensor<8x16xf32>
  return %z : tensor<8x16xf32>
}

// -----

// scale_c3: a constant that bf16 does not hold.
// CHECK-LABEL: func.func @wide_constant
// CHECK: arith.{{mulf|divf}}
func.func @wide_constant(%a: tensor<8x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %b: tensor<16x64xf4E2M1FN>, %sb: tensor<16x4xf8E4M3FN>, %g: tensor<f32>, %e: tensor<8x16xbf16>) -> tensor<8x16xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xbf16>
  // expected-remark @below {{(scale_c3): expected a number of bf16, but got 1.000000e-01 : f32}}
  %z = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%y, %g : tensor<8x16xbf16>, tensor<f32>) outs(%e : tensor<8x16xbf16>) {
  ^bb0(%i: bf16, %j: f32, %o: bf16):
    %c = arith.constant 0.1 : f32
    %w = arith.extf %i : bf16 to f32
    %v = arith.mulf %w, %c : f32
    %t = arith.truncf %v : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<8x16xbf16>
  return %z : tensor<8x16xbf16>
}

// -----

// scale_c4: a negative constant.
// CHECK-LABEL: func.func @negative
// CHECK: arith.{{mulf|divf}}
func.func @negative(%a: tensor<8x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %b: tensor<16x64xf4E2M1FN>, %sb: tensor<16x4xf8E4M3FN>) -> tensor<8x16xf32> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  %c = arith.constant dense<-2.0> : tensor<8x16xf32>
  // expected-remark @below {{(scale_c4): expected a positive and finite constant, but got -2.000000e+00 : f32}}
  %z = arith.mulf %y, %c : tensor<8x16xf32>
  return %z : tensor<8x16xf32>
}

// -----

// scale_c4: a number behind groups, of which some rows are none.
// CHECK-LABEL: func.func @groups
// CHECK: arith.{{mulf|divf}}
func.func @groups(%a: tensor<8x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %b: tensor<3x16x64xf4E2M1FN>, %sb: tensor<3x16x4xf8E4M3FN>, %ends: tensor<3xi32>, %g: tensor<f32>, %e: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %y = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 16] : tensor<8x64xf4E2M1FN>, tensor<3x16x64xf4E2M1FN>, tensor<3xi32>, tensor<8x4xf8E4M3FN>, tensor<3x16x4xf8E4M3FN> -> tensor<8x16xf32>
  // expected-remark @below {{(scale_c4): expected a constant behind a product of groups, but got tensor<f32>}}
  %z = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%y, %g : tensor<8x16xf32>, tensor<f32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %t = arith.mulf %i, %j : f32
    linalg.yield %t : f32
  } -> tensor<8x16xf32>
  return %z : tensor<8x16xf32>
}

// -----

// scale_c5: a divisor that is no power of two.
// CHECK-LABEL: func.func @third
// CHECK: arith.{{mulf|divf}}
func.func @third(%a: tensor<8x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %b: tensor<16x64xf4E2M1FN>, %sb: tensor<16x4xf8E4M3FN>) -> tensor<8x16xf32> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  %c = arith.constant dense<3.0> : tensor<8x16xf32>
  // expected-remark @below {{(scale_c5): expected a divisor that is a constant power of two with a reciprocal in f32, but got 3.000000e+00 : f32}}
  %z = arith.divf %y, %c : tensor<8x16xf32>
  return %z : tensor<8x16xf32>
}

// -----

// scale_c5: a divisor that is known at run time.
// CHECK-LABEL: func.func @divisor
// CHECK: arith.{{mulf|divf}}
func.func @divisor(%a: tensor<8x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %b: tensor<16x64xf4E2M1FN>, %sb: tensor<16x4xf8E4M3FN>, %g: tensor<f32>, %e: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  // expected-remark @below {{(scale_c5): expected a divisor that is a constant power of two with a reciprocal in f32, but got tensor<f32>}}
  %z = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%y, %g : tensor<8x16xf32>, tensor<f32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %t = arith.divf %i, %j : f32
    linalg.yield %t : f32
  } -> tensor<8x16xf32>
  return %z : tensor<8x16xf32>
}

// -----

// scale_c5: a power of two whose reciprocal is infinite in f32.
// CHECK-LABEL: func.func @tiny_divisor
// CHECK: arith.{{mulf|divf}}
func.func @tiny_divisor(%a: tensor<8x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %b: tensor<16x64xf4E2M1FN>, %sb: tensor<16x4xf8E4M3FN>) -> tensor<8x16xf32> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  %c = arith.constant dense<0x00200000> : tensor<8x16xf32>
  // expected-remark @below {{(scale_c5)}}
  %z = arith.divf %y, %c : tensor<8x16xf32>
  return %z : tensor<8x16xf32>
}

// -----

// scale_c6: another use of the product.
// CHECK-LABEL: func.func @uses
// CHECK: arith.{{mulf|divf}}
func.func @uses(%a: tensor<8x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %b: tensor<16x64xf4E2M1FN>, %sb: tensor<16x4xf8E4M3FN>) -> tensor<8x16xf32> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  %c = arith.constant dense<2.0> : tensor<8x16xf32>
  // expected-remark @below {{(scale_c6): expected a product without other uses, but got another use}}
  %x = arith.mulf %y, %c : tensor<8x16xf32>
  %z = arith.addf %x, %y : tensor<8x16xf32>
  return %z : tensor<8x16xf32>
}

// -----

// A number over a product is no scale of it, and gets no remark.
// CHECK-LABEL: func.func @inverse
// CHECK: arith.{{mulf|divf}}
func.func @inverse(%a: tensor<8x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %b: tensor<16x64xf4E2M1FN>, %sb: tensor<16x4xf8E4M3FN>) -> tensor<8x16xf32> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  %c = arith.constant dense<2.0> : tensor<8x16xf32>
  %z = arith.divf %c, %y : tensor<8x16xf32>
  return %z : tensor<8x16xf32>
}

// -----

// A number for each column is none.
// CHECK-LABEL: func.func @columns
// CHECK: arith.{{mulf|divf}}
func.func @columns(%a: tensor<8x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %b: tensor<16x64xf4E2M1FN>, %sb: tensor<16x4xf8E4M3FN>, %g: tensor<16xf32>, %e: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  %z = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%y, %g : tensor<8x16xf32>, tensor<16xf32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %t = arith.mulf %i, %j : f32
    linalg.yield %t : f32
  } -> tensor<8x16xf32>
  return %z : tensor<8x16xf32>
}

// -----

// A division of an operand before the product stays with the operand.
// CHECK-LABEL: func.func @division_before
// CHECK: arith.{{mulf|divf}}
func.func @division_before(%a: tensor<8x64xbf16>, %b: tensor<16x64xf4E2M1FN>, %sb: tensor<16x4xf8E4M3FN>) -> tensor<8x16xf32> {
  %c = arith.constant dense<4.0> : tensor<8x64xbf16>
  %d = arith.divf %a, %c : tensor<8x64xbf16>
  %z = blockscale.scaled_mm %d, %b scales(none, %sb) block [1, 16] : tensor<8x64xbf16>, tensor<16x64xf4E2M1FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  return %z : tensor<8x16xf32>
}

// -----

// A row that is added to a product which was rounded before, without a global scale.
// CHECK-LABEL: func.func @early_bias
// CHECK: arith.addf
func.func @early_bias(%a: tensor<8x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %b: tensor<16x64xf4E2M1FN>, %sb: tensor<16x4xf8E4M3FN>, %g: tensor<16xbf16>, %e: tensor<8x16xbf16>) -> tensor<8x16xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xbf16>
  %z = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%y, %g : tensor<8x16xbf16>, tensor<16xbf16>) outs(%e : tensor<8x16xbf16>) {
  ^bb0(%i: bf16, %j: bf16, %o: bf16):
    %t = arith.addf %i, %j : bf16
    linalg.yield %t : bf16
  } -> tensor<8x16xbf16>
  return %z : tensor<8x16xbf16>
}

// -----

// A row that is added to a reshaped product, whose reshape another op reads.
#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-LABEL: func.func @bias_of_two
// CHECK-NOT: bias(
// CHECK: arith.addf
func.func @bias_of_two(%a: tensor<8x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %b: tensor<16x64xf4E2M1FN>, %sb: tensor<16x4xf8E4M3FN>, %g: f32, %bias: tensor<16xbf16>, %e: tensor<2x4x16xbf16>) -> (tensor<2x4x16xbf16>, tensor<2x4x16xbf16>) {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] global_scale_b(%g : f32) global_scaling after_rounding : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xbf16>
  %r = tensor.expand_shape %y [[0, 1], [2]] output_shape [2, 4, 16] : tensor<8x16xbf16> into tensor<2x4x16xbf16>
  %z = linalg.generic {indexing_maps = [#id, affine_map<(d0, d1, d2) -> (d2)>, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%r, %bias : tensor<2x4x16xbf16>, tensor<16xbf16>) outs(%e : tensor<2x4x16xbf16>) {
  ^bb0(%i: bf16, %j: bf16, %o: bf16):
    %t = arith.addf %i, %j : bf16
    linalg.yield %t : bf16
  } -> tensor<2x4x16xbf16>
  return %z, %r : tensor<2x4x16xbf16>, tensor<2x4x16xbf16>
}

// -----

// scale_c3: a result that is no product's.
// CHECK-LABEL: func.func @narrow_result
// CHECK: arith.mulf
func.func @narrow_result(%a: tensor<8x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %b: tensor<16x64xf4E2M1FN>, %sb: tensor<16x4xf8E4M3FN>, %g: f32, %e: tensor<8x16xf8E5M2>) -> tensor<8x16xf8E5M2> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  // expected-remark @below {{(scale_c3): expected a result of f32, bf16 or f16, but got f8E5M2}}
  %z = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<8x16xf32>) outs(%e : tensor<8x16xf8E5M2>) {
  ^bb0(%i: f32, %o: f8E5M2):
    %0 = arith.mulf %i, %g : f32
    %1 = arith.truncf %0 : f32 to f8E5M2
    linalg.yield %1 : f8E5M2
  } -> tensor<8x16xf8E5M2>
  return %z : tensor<8x16xf8E5M2>
}

// -----

// A row of two dimensions that is no reshape of a vector is no bias.
#id = affine_map<(d0, d1) -> (d0, d1)>
#none = affine_map<(d0, d1) -> ()>
#row = affine_map<(d0, d1) -> (0, d1)>
#s = affine_map<() -> ()>
// CHECK-LABEL: func.func @row_of_two_dimensions
// CHECK: blockscale.scaled_mm {{.*}} global_scaling after_rounding :
// CHECK: arith.addf
func.func @row_of_two_dimensions(%a: tensor<8x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %b: tensor<16x64xf4E2M1FN>, %sb: tensor<16x4xf8E4M3FN>, %ga: tensor<f32>, %gb: tensor<f32>, %bias: tensor<1x16xbf16>, %e: tensor<8x16xbf16>, %e0: tensor<f32>, %e1: tensor<bf16>) -> tensor<8x16xbf16> {
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
  %w = linalg.generic {indexing_maps = [#row, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%bias, %z : tensor<1x16xbf16>, tensor<8x16xbf16>) outs(%e : tensor<8x16xbf16>) {
  ^bb0(%p: bf16, %q: bf16, %o: bf16):
    %0 = arith.addf %p, %q : bf16
    linalg.yield %0 : bf16
  } -> tensor<8x16xbf16>
  return %w : tensor<8x16xbf16>
}

// -----

// scale_c4: a global scale that is the product of a number and a negative constant stays one.
#s = affine_map<() -> ()>
// CHECK-LABEL: func.func @negative_factor
// CHECK: %[[G:.+]] = linalg.generic
// CHECK: arith.mulf
// CHECK: block [1, 16] global_scale_b(%[[G]] : tensor<f32>) :
func.func @negative_factor(%a: tensor<8x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %b: tensor<16x64xf4E2M1FN>, %sb: tensor<16x4xf8E4M3FN>, %ga: tensor<f32>, %e0: tensor<f32>) -> tensor<8x16xf32> {
  %gb = arith.constant dense<-0.25> : tensor<f32>
  %g = linalg.generic {indexing_maps = [#s, #s, #s], iterator_types = []} ins(%ga, %gb : tensor<f32>, tensor<f32>) outs(%e0 : tensor<f32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] global_scale_b(%g : tensor<f32>) : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// -----

// A number that is read of a tensor with dimensions is not that tensor.
#id = affine_map<(d0, d1) -> (d0, d1)>
#none = affine_map<(d0, d1) -> ()>
// CHECK-LABEL: func.func @element
// CHECK-SAME: %[[MANY:[a-z0-9]+]]: tensor<16xf32>
// CHECK: %[[G:.+]] = linalg.generic
// CHECK: blockscale.scaled_mm {{.*}} global_scale_b(%[[G]] : tensor<f32>)
func.func @element(%a: tensor<8x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %b: tensor<16x64xf4E2M1FN>, %sb: tensor<16x4xf8E4M3FN>, %ga: tensor<f32>, %many: tensor<16xf32>, %e: tensor<8x16xf32>, %e0: tensor<f32>) -> tensor<8x16xf32> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  %g = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> (0)>, affine_map<() -> ()>], iterator_types = []} ins(%ga, %many : tensor<f32>, tensor<16xf32>) outs(%e0 : tensor<f32>) {
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

// -----

// A product that is a global scale of elements is rounded, so that it is none for each operand.
// CHECK-LABEL: func.func @elements
// CHECK: %[[G:.+]] = arith.mulf
// CHECK: blockscale.scaled_mm {{.+}} block [1, 16] global_scale_b(%[[G]] : tensor<f32>) global_scaling in_elements
func.func @elements(%x: tensor<8x64xbf16>, %b: tensor<16x64xf4E2M1FN>, %sb: tensor<16x4xf8E4M3FN>, %ga: tensor<f32>, %gb: tensor<f32>) -> tensor<8x16xf32> {
  %g = arith.mulf %ga, %gb : tensor<f32>
  %y = blockscale.scaled_mm %x, %b scales(none, %sb) block [1, 16] global_scale_b(%g : tensor<f32>) global_scaling in_elements : tensor<8x64xbf16>, tensor<16x64xf4E2M1FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}
