// RUN: blockscale-opt %s -canonicalize -split-input-file | FileCheck %s

// The default, written out.
// CHECK-LABEL: func.func @before
// CHECK: block [1, 16] global_scale_a(%{{.+}} : f32) bias(%{{.+}} : tensor<16xf32>) :
func.func @before(%a: tensor<8x64xf4E2M1FN>, %b: tensor<16x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %sb: tensor<16x4xf8E4M3FN>,
    %g: f32, %z: tensor<16xf32>) -> tensor<8x16xbf16> {
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      global_scale_a(%g : f32) global_scaling before_rounding bias(%z : tensor<16xf32>)
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xbf16>
  return %0 : tensor<8x16xbf16>
}

// -----

// Without global scales there is nothing to place, with a bias or without.
// CHECK-LABEL: func.func @no_scales
// CHECK: block [1, 16] :
// CHECK: block [1, 16] bias(%{{.+}} : tensor<16xf32>) :
func.func @no_scales(%a: tensor<8x64xf4E2M1FN>, %b: tensor<16x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %sb: tensor<16x4xf8E4M3FN>,
    %z: tensor<16xf32>) -> (tensor<8x16xbf16>, tensor<8x16xbf16>) {
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] global_scaling after_rounding
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xbf16>
  %1 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] global_scaling after_rounding bias(%z : tensor<16xf32>)
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xbf16>
  return %0, %1 : tensor<8x16xbf16>, tensor<8x16xbf16>
}

// -----

// An f32 sum is not rounded.
// CHECK-LABEL: func.func @f32
// CHECK: block [1, 16] global_scale_b(%{{.+}} : f32) bias(%{{.+}} : tensor<16xf32>) :
func.func @f32(%a: tensor<8x64xf4E2M1FN>, %b: tensor<16x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %sb: tensor<16x4xf8E4M3FN>,
    %g: f32, %z: tensor<16xf32>) -> tensor<8x16xf32> {
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      global_scale_b(%g : f32) global_scaling after_rounding bias(%z : tensor<16xf32>)
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

// A bf16 sum is: the place stays as long as one factor does.
// CHECK-LABEL: func.func @bf16
// CHECK: block [1, 16] global_scale_b(%{{.+}} : f32) global_scaling after_rounding :
func.func @bf16(%a: tensor<8x64xf4E2M1FN>, %b: tensor<16x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %sb: tensor<16x4xf8E4M3FN>,
    %g: f32) -> tensor<8x16xbf16> {
  %one = arith.constant 1.0 : f32
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      global_scale_a(%one : f32) global_scale_b(%g : f32) global_scaling after_rounding
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xbf16>
  return %0 : tensor<8x16xbf16>
}

// -----

// Multiplying a rounded sum by 1.0 is nothing: the last factor goes, and the place.
// CHECK-LABEL: func.func @unit_factors
// CHECK: block [1, 16] :
func.func @unit_factors(%a: tensor<8x64xf4E2M1FN>, %b: tensor<16x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %sb: tensor<16x4xf8E4M3FN>) -> tensor<8x16xbf16> {
  %one = arith.constant dense<1.0> : tensor<8xf32>
  %other = arith.constant dense<1.0> : tensor<f32>
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      global_scale_a(%one : tensor<8xf32>) global_scale_b(%other : tensor<f32>) global_scaling after_rounding
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xbf16>
  return %0 : tensor<8x16xbf16>
}

// -----

// With a bias the last factor says that the sum is rounded before the bias is
// added. One of two factors goes, the last one must not.
// CHECK-LABEL: func.func @rounded_before_bias
// CHECK: block [1, 16] global_scale_b(%{{.+}} : tensor<f32>) global_scaling after_rounding bias(%{{.+}} : tensor<16xbf16>) :
// CHECK: block [1, 16] global_scale_a(%{{.+}} : f32) global_scaling after_rounding bias(%{{.+}} : tensor<16xbf16>) :
func.func @rounded_before_bias(%a: tensor<8x64xf4E2M1FN>, %b: tensor<16x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %sb: tensor<16x4xf8E4M3FN>,
    %z: tensor<16xbf16>) -> (tensor<8x16xbf16>, tensor<8x16xf16>) {
  %one = arith.constant 1.0 : f32
  %other = arith.constant dense<1.0> : tensor<f32>
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      global_scale_a(%one : f32) global_scale_b(%other : tensor<f32>) global_scaling after_rounding bias(%z : tensor<16xbf16>)
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xbf16>
  %1 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      global_scale_a(%one : f32) global_scaling after_rounding bias(%z : tensor<16xbf16>)
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf16>
  return %0, %1 : tensor<8x16xbf16>, tensor<8x16xf16>
}

// -----

// The same in a grouped product.
// CHECK-LABEL: func.func @grouped
// CHECK: block [1, 16] global_scale_b(%{{.+}} : tensor<2xf32>) global_scaling after_rounding bias(%{{.+}} : tensor<2x16xbf16>) :
// CHECK: block [1, 16] bias(%{{.+}} : tensor<2x16xbf16>) :
// CHECK: block [1, 16] :
func.func @grouped(%a: tensor<8x64xf4E2M1FN>, %b: tensor<2x16x64xf4E2M1FN>, %ends: tensor<2xi32>, %sa: tensor<8x4xf8E4M3FN>,
    %sb: tensor<2x16x4xf8E4M3FN>, %z: tensor<2x16xbf16>) -> (tensor<8x16xbf16>, tensor<8x16xf32>, tensor<8x16xbf16>) {
  %ones = arith.constant dense<1.0> : tensor<2xf32>
  %0 = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 16]
      global_scale_b(%ones : tensor<2xf32>) global_scaling after_rounding bias(%z : tensor<2x16xbf16>)
      : tensor<8x64xf4E2M1FN>, tensor<2x16x64xf4E2M1FN>, tensor<2xi32>, tensor<8x4xf8E4M3FN>, tensor<2x16x4xf8E4M3FN> -> tensor<8x16xbf16>
  %1 = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 16]
      global_scale_b(%ones : tensor<2xf32>) global_scaling after_rounding bias(%z : tensor<2x16xbf16>)
      : tensor<8x64xf4E2M1FN>, tensor<2x16x64xf4E2M1FN>, tensor<2xi32>, tensor<8x4xf8E4M3FN>, tensor<2x16x4xf8E4M3FN> -> tensor<8x16xf32>
  %2 = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 16]
      global_scale_a(%ones : tensor<2xf32>) global_scaling after_rounding
      : tensor<8x64xf4E2M1FN>, tensor<2x16x64xf4E2M1FN>, tensor<2xi32>, tensor<8x4xf8E4M3FN>, tensor<2x16x4xf8E4M3FN> -> tensor<8x16xbf16>
  return %0, %1, %2 : tensor<8x16xbf16>, tensor<8x16xf32>, tensor<8x16xbf16>
}

// -----

// Two constants are one, that of B; a product multiplies them first.
// CHECK-LABEL: func.func @constants
// CHECK: %[[SIX:.+]] = arith.constant dense<6.000000e+00> : tensor<f32>
// CHECK: block [1, 16] global_scale_b(%[[SIX]] : tensor<f32>) global_scaling after_rounding :
func.func @constants(%a: tensor<8x64xf4E2M1FN>, %b: tensor<16x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %sb: tensor<16x4xf8E4M3FN>) -> tensor<8x16xbf16> {
  %two = arith.constant 2.0 : f32
  %three = arith.constant dense<3.0> : tensor<f32>
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] global_scale_a(%two : f32) global_scale_b(%three : tensor<f32>) global_scaling after_rounding
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xbf16>
  return %0 : tensor<8x16xbf16>
}

// -----

// Not where the product overflows or is 0, nor if one is not constant or has several
// numbers.
// CHECK-LABEL: func.func @not_merged
// CHECK-COUNT-4: global_scale_a(%{{.+}} : {{.+}}) global_scale_b(%{{.+}} : {{.+}}) :
func.func @not_merged(%a: tensor<8x64xf4E2M1FN>, %b: tensor<16x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %sb: tensor<16x4xf8E4M3FN>, %g: f32) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) {
  %huge = arith.constant 1.0e30 : f32
  %tiny = arith.constant 1.0e-30 : f32
  %rows = arith.constant dense<3.0> : tensor<8xf32>
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] global_scale_a(%huge : f32) global_scale_b(%huge : f32)
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  %1 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] global_scale_a(%tiny : f32) global_scale_b(%tiny : f32)
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  %2 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] global_scale_a(%huge : f32) global_scale_b(%g : f32)
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  %3 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] global_scale_a(%rows : tensor<8xf32>) global_scale_b(%tiny : f32)
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  return %0, %1, %2, %3 : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>
}

// -----

// Elements are multiplied in f32 products, too, and by nothing where the scale is 1.0.
// CHECK-LABEL: func.func @elements
// CHECK: block [1, 16] global_scale_b(%{{.+}} : f32) global_scaling in_elements :
// CHECK: block [1, 16] :
func.func @elements(%x: tensor<8x64xbf16>, %b: tensor<16x64xf4E2M1FN>, %sb: tensor<16x4xf8E4M3FN>, %g: f32) -> (tensor<8x16xf32>, tensor<8x16xbf16>) {
  %one = arith.constant 1.0 : f32
  %0 = blockscale.scaled_mm %x, %b scales(none, %sb) block [1, 16] global_scale_b(%g : f32) global_scaling in_elements
      : tensor<8x64xbf16>, tensor<16x64xf4E2M1FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  %1 = blockscale.scaled_mm %x, %b scales(none, %sb) block [1, 16] global_scale_b(%one : f32) global_scaling in_elements
      : tensor<8x64xbf16>, tensor<16x64xf4E2M1FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xbf16>
  return %0, %1 : tensor<8x16xf32>, tensor<8x16xbf16>
}
