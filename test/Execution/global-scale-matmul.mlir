// An absent global scale of a product means 1.0, for either operand: constants of
// 1.0 become absence, absence becomes a constant, and no byte changes. See
// Inputs/compare.py for the meaning of the names.
//
// RUN: %python %S/Inputs/compare.py %s %t --passes=--blockscale-materialize-global-scale | FileCheck %s
// CHECK: 63 equal, 8 different as they must be, 0 wrong

// Batched products without global scales.
func.func @mm.absent(%a: tensor<2x24x64xf4E2M1FN>, %b: tensor<2x20x64xf4E2M1FN>,
    %sa: tensor<2x24x4xf8E4M3FN>, %sb: tensor<2x20x4xf8E4M3FN>) -> tensor<2x24x20xf32> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      : tensor<2x24x64xf4E2M1FN>, tensor<2x20x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>, tensor<2x20x4xf8E4M3FN> -> tensor<2x24x20xf32>
  return %y : tensor<2x24x20xf32>
}

// The constant 1.0 for both operands or one, in each form it has.
func.func @mm.same_scalars(%a: tensor<2x24x64xf4E2M1FN>, %b: tensor<2x20x64xf4E2M1FN>,
    %sa: tensor<2x24x4xf8E4M3FN>, %sb: tensor<2x20x4xf8E4M3FN>) -> tensor<2x24x20xf32> {
  %g = arith.constant 1.0 : f32
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      global_scale_a(%g : f32)
      global_scale_b(%g : f32)
      : tensor<2x24x64xf4E2M1FN>, tensor<2x20x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>, tensor<2x20x4xf8E4M3FN> -> tensor<2x24x20xf32>
  return %y : tensor<2x24x20xf32>
}
func.func @mm.same_rank_0_a(%a: tensor<2x24x64xf4E2M1FN>, %b: tensor<2x20x64xf4E2M1FN>,
    %sa: tensor<2x24x4xf8E4M3FN>, %sb: tensor<2x20x4xf8E4M3FN>) -> tensor<2x24x20xf32> {
  %g = arith.constant dense<1.0> : tensor<f32>
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      global_scale_a(%g : tensor<f32>)
      : tensor<2x24x64xf4E2M1FN>, tensor<2x20x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>, tensor<2x20x4xf8E4M3FN> -> tensor<2x24x20xf32>
  return %y : tensor<2x24x20xf32>
}
func.func @mm.same_splat_b(%a: tensor<2x24x64xf4E2M1FN>, %b: tensor<2x20x64xf4E2M1FN>,
    %sa: tensor<2x24x4xf8E4M3FN>, %sb: tensor<2x20x4xf8E4M3FN>) -> tensor<2x24x20xf32> {
  %g = arith.constant dense<1.0> : tensor<2xf32>
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      global_scale_b(%g : tensor<2xf32>)
      : tensor<2x24x64xf4E2M1FN>, tensor<2x20x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>, tensor<2x20x4xf8E4M3FN> -> tensor<2x24x20xf32>
  return %y : tensor<2x24x20xf32>
}

// 1.0 that is known at run time only, for both operands or beside a constant one.
func.func @mm.same_arguments(%a: tensor<2x24x64xf4E2M1FN>, %b: tensor<2x20x64xf4E2M1FN>,
    %sa: tensor<2x24x4xf8E4M3FN>, %sb: tensor<2x20x4xf8E4M3FN>, %g: tensor<2xf32>, %h: tensor<f32>) -> tensor<2x24x20xf32> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      global_scale_a(%g : tensor<2xf32>)
      global_scale_b(%h : tensor<f32>)
      : tensor<2x24x64xf4E2M1FN>, tensor<2x20x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>, tensor<2x20x4xf8E4M3FN> -> tensor<2x24x20xf32>
  return %y : tensor<2x24x20xf32>
}
func.func @mm.same_argument_and_constant(%a: tensor<2x24x64xf4E2M1FN>, %b: tensor<2x20x64xf4E2M1FN>,
    %sa: tensor<2x24x4xf8E4M3FN>, %sb: tensor<2x20x4xf8E4M3FN>, %g: f32) -> tensor<2x24x20xf32> {
  %one = arith.constant 1.0 : f32
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      global_scale_a(%g : f32)
      global_scale_b(%one : f32)
      : tensor<2x24x64xf4E2M1FN>, tensor<2x20x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>, tensor<2x20x4xf8E4M3FN> -> tensor<2x24x20xf32>
  return %y : tensor<2x24x20xf32>
}

// Factors other than 1.0 whose product is 1.0.
func.func @mm.same_halves(%a: tensor<2x24x64xf4E2M1FN>, %b: tensor<2x20x64xf4E2M1FN>,
    %sa: tensor<2x24x4xf8E4M3FN>, %sb: tensor<2x20x4xf8E4M3FN>) -> tensor<2x24x20xf32> {
  %two = arith.constant 2.0 : f32
  %half = arith.constant dense<0.5> : tensor<2xf32>
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      global_scale_a(%two : f32)
      global_scale_b(%half : tensor<2xf32>)
      : tensor<2x24x64xf4E2M1FN>, tensor<2x20x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>, tensor<2x20x4xf8E4M3FN> -> tensor<2x24x20xf32>
  return %y : tensor<2x24x20xf32>
}

// One unit in the last place above and below 1.0.
func.func @mm.other_above(%a: tensor<2x24x64xf4E2M1FN>, %b: tensor<2x20x64xf4E2M1FN>,
    %sa: tensor<2x24x4xf8E4M3FN>, %sb: tensor<2x20x4xf8E4M3FN>) -> tensor<2x24x20xf32> {
  %g = arith.constant 0x3F800001 : f32
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      global_scale_a(%g : f32)
      : tensor<2x24x64xf4E2M1FN>, tensor<2x20x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>, tensor<2x20x4xf8E4M3FN> -> tensor<2x24x20xf32>
  return %y : tensor<2x24x20xf32>
}
func.func @mm.other_below(%a: tensor<2x24x64xf4E2M1FN>, %b: tensor<2x20x64xf4E2M1FN>,
    %sa: tensor<2x24x4xf8E4M3FN>, %sb: tensor<2x20x4xf8E4M3FN>) -> tensor<2x24x20xf32> {
  %g = arith.constant dense<0x3F7FFFFF> : tensor<f32>
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      global_scale_b(%g : tensor<f32>)
      : tensor<2x24x64xf4E2M1FN>, tensor<2x20x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>, tensor<2x20x4xf8E4M3FN> -> tensor<2x24x20xf32>
  return %y : tensor<2x24x20xf32>
}

// 1.0 for all but one batch element.
func.func @mm.other_element(%a: tensor<2x24x64xf4E2M1FN>, %b: tensor<2x20x64xf4E2M1FN>,
    %sa: tensor<2x24x4xf8E4M3FN>, %sb: tensor<2x20x4xf8E4M3FN>) -> tensor<2x24x20xf32> {
  %g = arith.constant dense<[1.0, 0x3F800001]> : tensor<2xf32>
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      global_scale_a(%g : tensor<2xf32>)
      : tensor<2x24x64xf4E2M1FN>, tensor<2x20x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>, tensor<2x20x4xf8E4M3FN> -> tensor<2x24x20xf32>
  return %y : tensor<2x24x20xf32>
}

// Groups of rows, the second empty, rows 21 to 23 in none.
func.func @rows.absent(%a: tensor<24x64xf4E2M1FN>, %b: tensor<3x20x64xf4E2M1FN>,
    %sa: tensor<24x4xf8E4M3FN>, %sb: tensor<3x20x4xf8E4M3FN>) -> tensor<24x20xf32> {
  %ends = arith.constant dense<[10, 10, 21]> : tensor<3xi32>
  %y = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 16]
      : tensor<24x64xf4E2M1FN>, tensor<3x20x64xf4E2M1FN>, tensor<3xi32>, tensor<24x4xf8E4M3FN>, tensor<3x20x4xf8E4M3FN> -> tensor<24x20xf32>
  return %y : tensor<24x20xf32>
}

// The constant 1.0 for each group.
func.func @rows.same_splat_b(%a: tensor<24x64xf4E2M1FN>, %b: tensor<3x20x64xf4E2M1FN>,
    %sa: tensor<24x4xf8E4M3FN>, %sb: tensor<3x20x4xf8E4M3FN>) -> tensor<24x20xf32> {
  %g = arith.constant dense<1.0> : tensor<3xf32>
  %ends = arith.constant dense<[10, 10, 21]> : tensor<3xi32>
  %y = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 16]
      global_scale_b(%g : tensor<3xf32>)
      : tensor<24x64xf4E2M1FN>, tensor<3x20x64xf4E2M1FN>, tensor<3xi32>, tensor<24x4xf8E4M3FN>, tensor<3x20x4xf8E4M3FN> -> tensor<24x20xf32>
  return %y : tensor<24x20xf32>
}

// 1.0 that is known at run time only, for both operands or beside a constant one.
func.func @rows.same_arguments(%a: tensor<24x64xf4E2M1FN>, %b: tensor<3x20x64xf4E2M1FN>,
    %sa: tensor<24x4xf8E4M3FN>, %sb: tensor<3x20x4xf8E4M3FN>, %g: tensor<3xf32>, %h: tensor<f32>) -> tensor<24x20xf32> {
  %ends = arith.constant dense<[10, 10, 21]> : tensor<3xi32>
  %y = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 16]
      global_scale_a(%g : tensor<3xf32>)
      global_scale_b(%h : tensor<f32>)
      : tensor<24x64xf4E2M1FN>, tensor<3x20x64xf4E2M1FN>, tensor<3xi32>, tensor<24x4xf8E4M3FN>, tensor<3x20x4xf8E4M3FN> -> tensor<24x20xf32>
  return %y : tensor<24x20xf32>
}

// Factors other than 1.0 whose product is 1.0.
func.func @rows.same_halves(%a: tensor<24x64xf4E2M1FN>, %b: tensor<3x20x64xf4E2M1FN>,
    %sa: tensor<24x4xf8E4M3FN>, %sb: tensor<3x20x4xf8E4M3FN>) -> tensor<24x20xf32> {
  %two = arith.constant 2.0 : f32
  %half = arith.constant dense<0.5> : tensor<3xf32>
  %ends = arith.constant dense<[10, 10, 21]> : tensor<3xi32>
  %y = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 16]
      global_scale_a(%two : f32)
      global_scale_b(%half : tensor<3xf32>)
      : tensor<24x64xf4E2M1FN>, tensor<3x20x64xf4E2M1FN>, tensor<3xi32>, tensor<24x4xf8E4M3FN>, tensor<3x20x4xf8E4M3FN> -> tensor<24x20xf32>
  return %y : tensor<24x20xf32>
}

// One unit in the last place above 1.0.
func.func @rows.other_above(%a: tensor<24x64xf4E2M1FN>, %b: tensor<3x20x64xf4E2M1FN>,
    %sa: tensor<24x4xf8E4M3FN>, %sb: tensor<3x20x4xf8E4M3FN>) -> tensor<24x20xf32> {
  %g = arith.constant 0x3F800001 : f32
  %ends = arith.constant dense<[10, 10, 21]> : tensor<3xi32>
  %y = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 16]
      global_scale_a(%g : f32)
      : tensor<24x64xf4E2M1FN>, tensor<3x20x64xf4E2M1FN>, tensor<3xi32>, tensor<24x4xf8E4M3FN>, tensor<3x20x4xf8E4M3FN> -> tensor<24x20xf32>
  return %y : tensor<24x20xf32>
}

// 1.0 for all but one group.
func.func @rows.other_element(%a: tensor<24x64xf4E2M1FN>, %b: tensor<3x20x64xf4E2M1FN>,
    %sa: tensor<24x4xf8E4M3FN>, %sb: tensor<3x20x4xf8E4M3FN>) -> tensor<24x20xf32> {
  %g = arith.constant dense<[1.0, 1.0, 0x3F800001]> : tensor<3xf32>
  %ends = arith.constant dense<[10, 10, 21]> : tensor<3xi32>
  %y = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 16]
      global_scale_a(%g : tensor<3xf32>)
      : tensor<24x64xf4E2M1FN>, tensor<3x20x64xf4E2M1FN>, tensor<3xi32>, tensor<24x4xf8E4M3FN>, tensor<3x20x4xf8E4M3FN> -> tensor<24x20xf32>
  return %y : tensor<24x20xf32>
}

// Groups of columns, the second empty.
func.func @columns.absent(%a: tensor<24x112xf4E2M1FN>, %b: tensor<20x112xf4E2M1FN>,
    %sa: tensor<24x7xf8E4M3FN>, %sb: tensor<20x7xf8E4M3FN>) -> tensor<3x24x20xf32> {
  %ends = arith.constant dense<[48, 48, 96]> : tensor<3xi32>
  %y = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 16]
      : tensor<24x112xf4E2M1FN>, tensor<20x112xf4E2M1FN>, tensor<3xi32>, tensor<24x7xf8E4M3FN>, tensor<20x7xf8E4M3FN> -> tensor<3x24x20xf32>
  return %y : tensor<3x24x20xf32>
}

// The constant 1.0 for each group.
func.func @columns.same_splat_b(%a: tensor<24x112xf4E2M1FN>, %b: tensor<20x112xf4E2M1FN>,
    %sa: tensor<24x7xf8E4M3FN>, %sb: tensor<20x7xf8E4M3FN>) -> tensor<3x24x20xf32> {
  %g = arith.constant dense<1.0> : tensor<3xf32>
  %ends = arith.constant dense<[48, 48, 96]> : tensor<3xi32>
  %y = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 16]
      global_scale_b(%g : tensor<3xf32>)
      : tensor<24x112xf4E2M1FN>, tensor<20x112xf4E2M1FN>, tensor<3xi32>, tensor<24x7xf8E4M3FN>, tensor<20x7xf8E4M3FN> -> tensor<3x24x20xf32>
  return %y : tensor<3x24x20xf32>
}

// 1.0 that is known at run time only, for both operands or beside a constant one.
func.func @columns.same_arguments(%a: tensor<24x112xf4E2M1FN>, %b: tensor<20x112xf4E2M1FN>,
    %sa: tensor<24x7xf8E4M3FN>, %sb: tensor<20x7xf8E4M3FN>, %g: tensor<3xf32>, %h: tensor<f32>) -> tensor<3x24x20xf32> {
  %ends = arith.constant dense<[48, 48, 96]> : tensor<3xi32>
  %y = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 16]
      global_scale_a(%g : tensor<3xf32>)
      global_scale_b(%h : tensor<f32>)
      : tensor<24x112xf4E2M1FN>, tensor<20x112xf4E2M1FN>, tensor<3xi32>, tensor<24x7xf8E4M3FN>, tensor<20x7xf8E4M3FN> -> tensor<3x24x20xf32>
  return %y : tensor<3x24x20xf32>
}

// Factors other than 1.0 whose product is 1.0.
func.func @columns.same_halves(%a: tensor<24x112xf4E2M1FN>, %b: tensor<20x112xf4E2M1FN>,
    %sa: tensor<24x7xf8E4M3FN>, %sb: tensor<20x7xf8E4M3FN>) -> tensor<3x24x20xf32> {
  %two = arith.constant 2.0 : f32
  %half = arith.constant dense<0.5> : tensor<3xf32>
  %ends = arith.constant dense<[48, 48, 96]> : tensor<3xi32>
  %y = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 16]
      global_scale_a(%two : f32)
      global_scale_b(%half : tensor<3xf32>)
      : tensor<24x112xf4E2M1FN>, tensor<20x112xf4E2M1FN>, tensor<3xi32>, tensor<24x7xf8E4M3FN>, tensor<20x7xf8E4M3FN> -> tensor<3x24x20xf32>
  return %y : tensor<3x24x20xf32>
}

// One unit in the last place above 1.0.
func.func @columns.other_above(%a: tensor<24x112xf4E2M1FN>, %b: tensor<20x112xf4E2M1FN>,
    %sa: tensor<24x7xf8E4M3FN>, %sb: tensor<20x7xf8E4M3FN>) -> tensor<3x24x20xf32> {
  %g = arith.constant 0x3F800001 : f32
  %ends = arith.constant dense<[48, 48, 96]> : tensor<3xi32>
  %y = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 16]
      global_scale_a(%g : f32)
      : tensor<24x112xf4E2M1FN>, tensor<20x112xf4E2M1FN>, tensor<3xi32>, tensor<24x7xf8E4M3FN>, tensor<20x7xf8E4M3FN> -> tensor<3x24x20xf32>
  return %y : tensor<3x24x20xf32>
}

// 1.0 for all but one group.
func.func @columns.other_element(%a: tensor<24x112xf4E2M1FN>, %b: tensor<20x112xf4E2M1FN>,
    %sa: tensor<24x7xf8E4M3FN>, %sb: tensor<20x7xf8E4M3FN>) -> tensor<3x24x20xf32> {
  %g = arith.constant dense<[1.0, 1.0, 0x3F800001]> : tensor<3xf32>
  %ends = arith.constant dense<[48, 48, 96]> : tensor<3xi32>
  %y = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 16]
      global_scale_a(%g : tensor<3xf32>)
      : tensor<24x112xf4E2M1FN>, tensor<20x112xf4E2M1FN>, tensor<3xi32>, tensor<24x7xf8E4M3FN>, tensor<20x7xf8E4M3FN> -> tensor<3x24x20xf32>
  return %y : tensor<3x24x20xf32>
}

// Scaling after the rounding, where there is nothing to scale: the bias is added
// before the rounding. With a global scale of 1.0 it is added after it.
func.func @bias.absent(%a: tensor<24x64xf4E2M1FN>, %b: tensor<20x64xf4E2M1FN>,
    %sa: tensor<24x4xf8E4M3FN>, %sb: tensor<20x4xf8E4M3FN>, %bias: tensor<20xbf16>) -> tensor<24x20xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      global_scaling after_rounding bias(%bias : tensor<20xbf16>)
      : tensor<24x64xf4E2M1FN>, tensor<20x64xf4E2M1FN>, tensor<24x4xf8E4M3FN>, tensor<20x4xf8E4M3FN> -> tensor<24x20xbf16>
  return %y : tensor<24x20xbf16>
}
func.func @bias.same_before(%a: tensor<24x64xf4E2M1FN>, %b: tensor<20x64xf4E2M1FN>,
    %sa: tensor<24x4xf8E4M3FN>, %sb: tensor<20x4xf8E4M3FN>, %bias: tensor<20xbf16>) -> tensor<24x20xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      global_scaling before_rounding bias(%bias : tensor<20xbf16>)
      : tensor<24x64xf4E2M1FN>, tensor<20x64xf4E2M1FN>, tensor<24x4xf8E4M3FN>, tensor<20x4xf8E4M3FN> -> tensor<24x20xbf16>
  return %y : tensor<24x20xbf16>
}
func.func @bias.other_scaled(%a: tensor<24x64xf4E2M1FN>, %b: tensor<20x64xf4E2M1FN>,
    %sa: tensor<24x4xf8E4M3FN>, %sb: tensor<20x4xf8E4M3FN>, %bias: tensor<20xbf16>, %g: f32) -> tensor<24x20xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      global_scale_a(%g : f32) global_scaling after_rounding bias(%bias : tensor<20xbf16>)
      : tensor<24x64xf4E2M1FN>, tensor<20x64xf4E2M1FN>, tensor<24x4xf8E4M3FN>, tensor<20x4xf8E4M3FN> -> tensor<24x20xbf16>
  return %y : tensor<24x20xbf16>
}
