// RUN: blockscale-opt %s -canonicalize -split-input-file | FileCheck %s

// The neighbours of 1.0 are other numbers.
// CHECK-LABEL: func.func @one_ulp
func.func @one_ulp(%x: tensor<4x64xbf16>) -> (tensor<4x64xf4E2M1FN>, tensor<4x64xf4E2M1FN>) {
  %above = arith.constant dense<0x3F800001> : tensor<f32>
  %below = arith.constant 0x3F7FFFFF : f32
  // CHECK-DAG: %[[ABOVE:.+]] = arith.constant dense<1.00000012> : tensor<f32>
  // CHECK-DAG: %[[BELOW:.+]] = arith.constant 0.99999994 : f32
  // CHECK: global_scale(%[[ABOVE]] : tensor<f32>)
  %0, %1 = blockscale.quantize %x block [1, 16] global_scale(%above : tensor<f32>)
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  // CHECK: global_scale(%[[BELOW]] : f32)
  %2, %3 = blockscale.quantize %x block [1, 16] global_scale(%below : f32)
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return %0, %2 : tensor<4x64xf4E2M1FN>, tensor<4x64xf4E2M1FN>
}

// -----

// One batch element has another scale.
// CHECK-LABEL: func.func @batch
func.func @batch(%q: tensor<2x4x64xf4E2M1FN>, %s: tensor<2x4x4xf8E4M3FN>) -> tensor<2x4x64xf32> {
  %g = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  // CHECK: %[[G:.+]] = arith.constant dense<[1.000000e+00, 2.000000e+00]>
  // CHECK: global_scale(%[[G]] : tensor<2xf32>)
  %0 = blockscale.dequantize %q, %s block [1, 16] global_scale(%g : tensor<2xf32>)
      : tensor<2x4x64xf4E2M1FN>, tensor<2x4x4xf8E4M3FN> -> tensor<2x4x64xf32>
  return %0 : tensor<2x4x64xf32>
}

// -----

// One group has another scale.
// CHECK-LABEL: func.func @group
func.func @group(%a: tensor<8x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %b: tensor<2x16x64xf4E2M1FN>,
    %sb: tensor<2x16x4xf8E4M3FN>, %ends: tensor<2xi32>) -> tensor<8x16xf32> {
  %g = arith.constant dense<[0.5, 1.0]> : tensor<2xf32>
  // CHECK: %[[G:.+]] = arith.constant dense<[5.000000e-01, 1.000000e+00]>
  // CHECK: global_scale_b(%[[G]] : tensor<2xf32>)
  %0 = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 16]
      global_scale_b(%g : tensor<2xf32>)
      : tensor<8x64xf4E2M1FN>, tensor<2x16x64xf4E2M1FN>, tensor<2xi32>, tensor<8x4xf8E4M3FN>, tensor<2x16x4xf8E4M3FN> -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

// CHECK-LABEL: func.func @dynamic
// CHECK-SAME: %[[G:[a-z0-9]+]]: tensor<f32>)
func.func @dynamic(%x: tensor<4x64xbf16>, %g: tensor<f32>) -> tensor<4x64xf4E2M1FN> {
  // CHECK: global_scale(%[[G]] : tensor<f32>)
  %0, %1 = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return %0 : tensor<4x64xf4E2M1FN>
}

// -----

// An amax of 1.0 is a scale of 1/2688.
// CHECK-LABEL: func.func @global_amax
func.func @global_amax(%x: tensor<4x64xbf16>) -> tensor<4x64xf32> {
  %one = arith.constant dense<1.0> : tensor<f32>
  // CHECK: blockscale.quantize {{.+}} global_amax(%{{.+}} : tensor<f32>)
  %0, %1 = blockscale.quantize %x block [1, 16] recipe te global_amax(%one : tensor<f32>)
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  // CHECK: blockscale.dequantize {{.+}} global_amax(%{{.+}} : tensor<f32>)
  %2 = blockscale.dequantize %0, %1 block [1, 16] recipe te global_amax(%one : tensor<f32>)
      : tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN> -> tensor<4x64xf32>
  return %2 : tensor<4x64xf32>
}

// -----

// Quantization loses: this is not %x.
// CHECK-LABEL: func.func @round_trip
func.func @round_trip(%x: tensor<4x64xf32>) -> tensor<4x64xf32> {
  // CHECK: blockscale.quantize
  %0, %1 = blockscale.quantize %x block [1, 16] : tensor<4x64xf32> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  // CHECK: %[[Y:.+]] = blockscale.dequantize
  %2 = blockscale.dequantize %0, %1 block [1, 16] : tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN> -> tensor<4x64xf32>
  // CHECK: return %[[Y]]
  return %2 : tensor<4x64xf32>
}
