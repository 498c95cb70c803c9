// RUN: blockscale-opt %s -canonicalize -split-input-file | FileCheck %s

// A number behind an f32 product is its global scale: one rounding follows the sum in both.
// CHECK-LABEL: func.func @constant
// CHECK: %[[G:.+]] = arith.constant 3.000000e+00 : f32
// CHECK: %[[Y:.+]] = blockscale.scaled_mm {{.+}} block [1, 16] global_scale_b(%[[G]] : f32) :
// CHECK-NEXT: return %[[Y]]
func.func @constant(%a: tensor<32x64xf4E2M1FN>, %sa: tensor<32x4xf8E4M3FN>, %b: tensor<32x64xf4E2M1FN>, %sb: tensor<32x4xf8E4M3FN>) -> tensor<32x32xf32> {
  %c = arith.constant 3.0 : f32
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] : tensor<32x64xf4E2M1FN>, tensor<32x64xf4E2M1FN>, tensor<32x4xf8E4M3FN>, tensor<32x4xf8E4M3FN> -> tensor<32x32xf32>
  %n = tensor.splat %c : tensor<32x32xf32>
  %z = arith.mulf %y, %n : tensor<32x32xf32>
  return %z : tensor<32x32xf32>
}

// -----

// So is one known at run time; a bf16 product is scaled after its rounding, as it was.
// CHECK-LABEL: func.func @rounded
// CHECK-SAME: %[[N:[a-z0-9]+]]: bf16
// CHECK: %[[G:.+]] = arith.extf %[[N]] : bf16 to f32
// CHECK: %[[Y:.+]] = blockscale.scaled_mm {{.+}} global_scale_b(%[[G]] : f32) global_scaling after_rounding :
// CHECK-NEXT: return %[[Y]]
func.func @rounded(%a: tensor<?x64xf4E2M1FN>, %sa: tensor<?x4xf8E4M3FN>, %b: tensor<32x64xf4E2M1FN>, %sb: tensor<32x4xf8E4M3FN>, %n: bf16, %m: index) -> tensor<?x32xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] : tensor<?x64xf4E2M1FN>, tensor<32x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>, tensor<32x4xf8E4M3FN> -> tensor<?x32xbf16>
  %s = tensor.splat %n[%m] : tensor<?x32xbf16>
  %z = arith.mulf %s, %y : tensor<?x32xbf16>
  return %z : tensor<?x32xbf16>
}

// -----

// A constant behind a product of groups.
// CHECK-LABEL: func.func @groups
// CHECK: blockscale.scaled_grouped_mm {{.+}} global_scale_b(
// CHECK-NOT: arith.mulf
func.func @groups(%a: tensor<32x64xf4E2M1FN>, %sa: tensor<32x4xf8E4M3FN>, %b: tensor<3x32x64xf4E2M1FN>, %sb: tensor<3x32x4xf8E4M3FN>, %ends: tensor<3xi32>) -> tensor<32x32xf32> {
  %y = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 16] : tensor<32x64xf4E2M1FN>, tensor<3x32x64xf4E2M1FN>, tensor<3xi32>, tensor<32x4xf8E4M3FN>, tensor<3x32x4xf8E4M3FN> -> tensor<32x32xf32>
  %n = arith.constant dense<0.5> : tensor<32x32xf32>
  %z = arith.mulf %y, %n : tensor<32x32xf32>
  return %z : tensor<32x32xf32>
}

// -----

// scale_c4: rows of no group stay 0, whatever the number is at run time.
// CHECK-LABEL: func.func @scale_c4_groups
// CHECK: arith.mulf
func.func @scale_c4_groups(%a: tensor<32x64xf4E2M1FN>, %sa: tensor<32x4xf8E4M3FN>, %b: tensor<3x32x64xf4E2M1FN>, %sb: tensor<3x32x4xf8E4M3FN>, %ends: tensor<3xi32>, %n: f32) -> tensor<32x32xf32> {
  %y = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 16] : tensor<32x64xf4E2M1FN>, tensor<3x32x64xf4E2M1FN>, tensor<3xi32>, tensor<32x4xf8E4M3FN>, tensor<3x32x4xf8E4M3FN> -> tensor<32x32xf32>
  %s = tensor.splat %n : tensor<32x32xf32>
  %z = arith.mulf %y, %s : tensor<32x32xf32>
  return %z : tensor<32x32xf32>
}

// -----

// scale_c4: a global scale is positive.
// CHECK-LABEL: func.func @scale_c4
// CHECK: arith.mulf
func.func @scale_c4(%a: tensor<32x64xf4E2M1FN>, %sa: tensor<32x4xf8E4M3FN>, %b: tensor<32x64xf4E2M1FN>, %sb: tensor<32x4xf8E4M3FN>) -> tensor<32x32xf32> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] : tensor<32x64xf4E2M1FN>, tensor<32x64xf4E2M1FN>, tensor<32x4xf8E4M3FN>, tensor<32x4xf8E4M3FN> -> tensor<32x32xf32>
  %n = arith.constant dense<-2.0> : tensor<32x32xf32>
  %z = arith.mulf %y, %n : tensor<32x32xf32>
  return %z : tensor<32x32xf32>
}

// -----

// scale_c1: MX has no global scales.
// CHECK-LABEL: func.func @scale_c1
// CHECK: arith.mulf
func.func @scale_c1(%a: tensor<32x64xf8E4M3FN>, %sa: tensor<32x2xf8E8M0FNU>, %b: tensor<32x64xf8E4M3FN>, %sb: tensor<32x2xf8E8M0FNU>) -> tensor<32x32xf32> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 32] : tensor<32x64xf8E4M3FN>, tensor<32x64xf8E4M3FN>, tensor<32x2xf8E8M0FNU>, tensor<32x2xf8E8M0FNU> -> tensor<32x32xf32>
  %n = arith.constant dense<2.0> : tensor<32x32xf32>
  %z = arith.mulf %y, %n : tensor<32x32xf32>
  return %z : tensor<32x32xf32>
}

// -----

// scale_c2: a product that has a global scale multiplies the two first.
// CHECK-LABEL: func.func @scale_c2
// CHECK: arith.mulf
func.func @scale_c2(%a: tensor<32x64xf4E2M1FN>, %sa: tensor<32x4xf8E4M3FN>, %b: tensor<32x64xf4E2M1FN>, %sb: tensor<32x4xf8E4M3FN>, %g: f32) -> tensor<32x32xf32> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] global_scale_a(%g : f32) : tensor<32x64xf4E2M1FN>, tensor<32x64xf4E2M1FN>, tensor<32x4xf8E4M3FN>, tensor<32x4xf8E4M3FN> -> tensor<32x32xf32>
  %n = arith.constant dense<3.0> : tensor<32x32xf32>
  %z = arith.mulf %y, %n : tensor<32x32xf32>
  return %z : tensor<32x32xf32>
}

// -----

// scale_c2: a bias is added before the number multiplies.
// CHECK-LABEL: func.func @scale_c2_bias
// CHECK: arith.mulf
func.func @scale_c2_bias(%a: tensor<32x64xf4E2M1FN>, %sa: tensor<32x4xf8E4M3FN>, %b: tensor<32x64xf4E2M1FN>, %sb: tensor<32x4xf8E4M3FN>, %bias: tensor<32xf32>) -> tensor<32x32xf32> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] bias(%bias : tensor<32xf32>) : tensor<32x64xf4E2M1FN>, tensor<32x64xf4E2M1FN>, tensor<32x4xf8E4M3FN>, tensor<32x4xf8E4M3FN> -> tensor<32x32xf32>
  %n = arith.constant dense<3.0> : tensor<32x32xf32>
  %z = arith.mulf %y, %n : tensor<32x32xf32>
  return %z : tensor<32x32xf32>
}

// -----

// Another reader wants the product without the number.
// CHECK-LABEL: func.func @two_users
// CHECK: arith.mulf
func.func @two_users(%a: tensor<32x64xf4E2M1FN>, %sa: tensor<32x4xf8E4M3FN>, %b: tensor<32x64xf4E2M1FN>, %sb: tensor<32x4xf8E4M3FN>) -> (tensor<32x32xf32>, tensor<32x32xf32>) {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] : tensor<32x64xf4E2M1FN>, tensor<32x64xf4E2M1FN>, tensor<32x4xf8E4M3FN>, tensor<32x4xf8E4M3FN> -> tensor<32x32xf32>
  %n = arith.constant dense<3.0> : tensor<32x32xf32>
  %z = arith.mulf %y, %n : tensor<32x32xf32>
  return %y, %z : tensor<32x32xf32>, tensor<32x32xf32>
}

// -----

// Factors that differ are no number.
// CHECK-LABEL: func.func @several_numbers
// CHECK: arith.mulf
func.func @several_numbers(%a: tensor<32x64xf4E2M1FN>, %sa: tensor<32x4xf8E4M3FN>, %b: tensor<32x64xf4E2M1FN>, %sb: tensor<32x4xf8E4M3FN>, %n: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] : tensor<32x64xf4E2M1FN>, tensor<32x64xf4E2M1FN>, tensor<32x4xf8E4M3FN>, tensor<32x4xf8E4M3FN> -> tensor<32x32xf32>
  %z = arith.mulf %y, %n : tensor<32x32xf32>
  return %z : tensor<32x32xf32>
}
