// RUN: blockscale-opt %s -canonicalize -split-input-file | FileCheck %s

// An absent global scale means 1.0: a constant 1.0 is dropped, as a scalar,
// with rank 0, or as a splat a batch element.
// CHECK-LABEL: func.func @quantize
// CHECK-SAME: %[[X:.+]]: tensor<2x4x64xbf16>
func.func @quantize(%x: tensor<2x4x64xbf16>) -> (tensor<2x4x64xf4E2M1FN>, tensor<2x4x64xf4E2M1FN>, tensor<2x4x64xf4E2M1FN>) {
  %scalar = arith.constant 1.0 : f32
  %zeroD = arith.constant dense<1.0> : tensor<f32>
  %splat = arith.constant dense<[1.0, 1.0]> : tensor<2xf32>
  // CHECK: blockscale.quantize %[[X]] block [1, 16] recipe te :
  %0, %1 = blockscale.quantize %x block [1, 16] recipe te global_scale(%scalar : f32)
      : tensor<2x4x64xbf16> -> tensor<2x4x64xf4E2M1FN>, tensor<2x4x4xf8E4M3FN>
  // CHECK: blockscale.quantize %[[X]] block [1, 16] recipe mslk :
  %2, %3 = blockscale.quantize %x block [1, 16] recipe mslk global_scale(%zeroD : tensor<f32>)
      : tensor<2x4x64xbf16> -> tensor<2x4x64xf4E2M1FN>, tensor<2x4x4xf8E4M3FN>
  // CHECK: blockscale.quantize %[[X]] block [1, 16] :
  %4, %5 = blockscale.quantize %x block [1, 16] global_scale(%splat : tensor<2xf32>)
      : tensor<2x4x64xbf16> -> tensor<2x4x64xf4E2M1FN>, tensor<2x4x4xf8E4M3FN>
  return %0, %2, %4 : tensor<2x4x64xf4E2M1FN>, tensor<2x4x64xf4E2M1FN>, tensor<2x4x64xf4E2M1FN>
}

// -----

// CHECK-LABEL: func.func @dequantize
// CHECK-SAME: %[[Q:.+]]: tensor<4x64xf4E2M1FN>, %[[S:.+]]: tensor<4x4xf8E4M3FN>
func.func @dequantize(%q: tensor<4x64xf4E2M1FN>, %s: tensor<4x4xf8E4M3FN>) -> tensor<4x64xf32> {
  %one = arith.constant dense<1.0> : tensor<f32>
  // CHECK: blockscale.dequantize %[[Q]], %[[S]] block [1, 16] :
  %0 = blockscale.dequantize %q, %s block [1, 16] global_scale(%one : tensor<f32>)
      : tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN> -> tensor<4x64xf32>
  return %0 : tensor<4x64xf32>
}

// -----

// Each operand's global scale is dropped on its own; other operands stay.
// CHECK-LABEL: func.func @scaled_mm
// CHECK-SAME: %[[G:[a-z0-9]+]]: tensor<f32>, %[[BIAS:[a-z0-9]+]]: tensor<16xf32>
func.func @scaled_mm(%a: tensor<8x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %b: tensor<16x64xf4E2M1FN>,
    %sb: tensor<16x4xf8E4M3FN>, %g: tensor<f32>, %bias: tensor<16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %one = arith.constant 1.0 : f32
  // CHECK: block [1, 16] global_scale_b(%[[G]] : tensor<f32>) bias(%[[BIAS]] : tensor<16xf32>) :
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      global_scale_a(%one : f32) global_scale_b(%g : tensor<f32>) bias(%bias : tensor<16xf32>)
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  // CHECK: block [1, 16] global_scale_a(%[[G]] : tensor<f32>) :
  %1 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      global_scale_a(%g : tensor<f32>) global_scale_b(%one : f32)
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  return %0, %1 : tensor<8x16xf32>, tensor<8x16xf32>
}

// -----

// One splat a group.
// CHECK-LABEL: func.func @scaled_grouped_mm
func.func @scaled_grouped_mm(%a: tensor<8x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %b: tensor<2x16x64xf4E2M1FN>,
    %sb: tensor<2x16x4xf8E4M3FN>, %ends: tensor<2xi32>) -> tensor<8x16xf32> {
  %ones = arith.constant dense<1.0> : tensor<2xf32>
  // CHECK: blockscale.scaled_grouped_mm {{.+}} block [1, 16] :
  %0 = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 16]
      global_scale_a(%ones : tensor<2xf32>) global_scale_b(%ones : tensor<2xf32>)
      : tensor<8x64xf4E2M1FN>, tensor<2x16x64xf4E2M1FN>, tensor<2xi32>, tensor<8x4xf8E4M3FN>, tensor<2x16x4xf8E4M3FN> -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

// One 1.0 a row, or a group.
// CHECK-LABEL: func.func @rows_and_groups
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x64xbf16>, %[[ENDS:[a-z0-9]+]]: tensor<2xi32>
func.func @rows_and_groups(%x: tensor<4x64xbf16>, %ends: tensor<2xi32>) -> (tensor<4x64xf4E2M1FN>, tensor<4x64xf4E2M1FN>, tensor<4x64xf32>) {
  %rows = arith.constant dense<[1.0, 1.0, 1.0, 1.0]> : tensor<4xf32>
  %groups = arith.constant dense<1.0> : tensor<2xf32>
  // CHECK: blockscale.quantize %[[X]] block [1, 16] :
  %0, %1 = blockscale.quantize %x block [1, 16] global_scale(%rows : tensor<4xf32>)
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  // CHECK: blockscale.quantize %[[X]] block [1, 16] offsets(%[[ENDS]] : tensor<2xi32>) :
  %2, %3 = blockscale.quantize %x block [1, 16] global_scale(%groups : tensor<2xf32>) offsets(%ends : tensor<2xi32>)
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  // CHECK: blockscale.dequantize %{{.+}}, %{{.+}} block [1, 16] :
  %4 = blockscale.dequantize %0, %1 block [1, 16] global_scale(%rows : tensor<4xf32>)
      : tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN> -> tensor<4x64xf32>
  return %0, %2, %4 : tensor<4x64xf4E2M1FN>, tensor<4x64xf4E2M1FN>, tensor<4x64xf32>
}
