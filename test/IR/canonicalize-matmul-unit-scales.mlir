// RUN: blockscale-opt %s -canonicalize -split-input-file | FileCheck %s

// One splat for each row of an operand.
// CHECK-LABEL: func.func @rows
// CHECK: block [1, 16] :
func.func @rows(%a: tensor<2x8x64xf4E2M1FN>, %b: tensor<2x16x64xf4E2M1FN>, %sa: tensor<2x8x4xf8E4M3FN>, %sb: tensor<2x16x4xf8E4M3FN>) -> tensor<2x8x16xf32> {
  %ga = arith.constant dense<1.0> : tensor<2x8xf32>
  %gb = arith.constant dense<1.0> : tensor<2x16xf32>
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      global_scale_a(%ga : tensor<2x8xf32>) global_scale_b(%gb : tensor<2x16xf32>)
      : tensor<2x8x64xf4E2M1FN>, tensor<2x16x64xf4E2M1FN>, tensor<2x8x4xf8E4M3FN>, tensor<2x16x4xf8E4M3FN> -> tensor<2x8x16xf32>
  return %0 : tensor<2x8x16xf32>
}

// -----

// One operand's state says nothing about the other's: a scale of each form beside
// the constant stays, and what is absent stays absent.
// CHECK-LABEL: func.func @mixed
// CHECK-SAME: %[[ROWS:[a-z0-9]+]]: tensor<8xf32>, %[[G:[a-z0-9]+]]: tensor<f32>)
// CHECK: block [1, 16] global_scale_a(%[[ROWS]] : tensor<8xf32>) :
// CHECK: block [1, 16] global_scale_b(%[[G]] : tensor<f32>) :
// CHECK: block [1, 16] global_scale_b(%[[G]] : tensor<f32>) :
func.func @mixed(%a: tensor<8x64xf4E2M1FN>, %b: tensor<16x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %sb: tensor<16x4xf8E4M3FN>,
    %rows: tensor<8xf32>, %g: tensor<f32>) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) {
  %scalar = arith.constant 1.0 : f32
  %splat = arith.constant dense<1.0> : tensor<8xf32>
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      global_scale_a(%rows : tensor<8xf32>) global_scale_b(%scalar : f32)
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  %1 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      global_scale_a(%splat : tensor<8xf32>) global_scale_b(%g : tensor<f32>)
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  %2 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] global_scale_b(%g : tensor<f32>)
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  return %0, %1, %2 : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>
}

// -----

// One row has another scale. Two scales whose product is 1.0 are one of 1.0.
// CHECK-LABEL: func.func @kept
// CHECK: global_scale_a(%{{.+}} : tensor<2xf32>) :
// CHECK: block [1, 16] :
func.func @kept(%a: tensor<2x64xf4E2M1FN>, %b: tensor<16x64xf4E2M1FN>, %sa: tensor<2x4xf8E4M3FN>, %sb: tensor<16x4xf8E4M3FN>) -> (tensor<2x16xf32>, tensor<2x16xf32>) {
  %rows = arith.constant dense<[1.0, 0x3F800001]> : tensor<2xf32>
  %two = arith.constant 2.0 : f32
  %half = arith.constant 0.5 : f32
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] global_scale_a(%rows : tensor<2xf32>)
      : tensor<2x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<2x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<2x16xf32>
  %1 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] global_scale_a(%two : f32) global_scale_b(%half : f32)
      : tensor<2x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<2x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<2x16xf32>
  return %0, %1 : tensor<2x16xf32>, tensor<2x16xf32>
}
