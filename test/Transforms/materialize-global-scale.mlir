// RUN: blockscale-opt %s -blockscale-materialize-global-scale -split-input-file | FileCheck %s
// RUN: blockscale-opt %s -blockscale-materialize-global-scale -canonicalize -split-input-file | FileCheck %s --check-prefix=BACK

// An absent global scale becomes 1.0, and canonicalization drops it again.
// CHECK-LABEL: func.func @quantize
// BACK-LABEL: func.func @quantize
func.func @quantize(%x: tensor<4x64xbf16>) -> tensor<4x64xf32> {
  // CHECK: %[[ONE:.+]] = arith.constant dense<1.000000e+00> : tensor<f32>
  // CHECK: blockscale.quantize {{.+}} recipe te global_scale(%[[ONE]] : tensor<f32>) :
  // BACK: blockscale.quantize {{.+}} recipe te :
  %q, %s = blockscale.quantize %x block [1, 16] recipe te
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  // CHECK: %[[ONE:.+]] = arith.constant dense<1.000000e+00> : tensor<f32>
  // CHECK: blockscale.dequantize {{.+}} global_scale(%[[ONE]] : tensor<f32>) :
  // BACK: blockscale.dequantize {{.+}} block [1, 16] :
  %y = blockscale.dequantize %q, %s block [1, 16]
      : tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN> -> tensor<4x64xf32>
  return %y : tensor<4x64xf32>
}

// -----

// Each missing one of a matmul; a bias stays where it is.
// CHECK-LABEL: func.func @scaled_mm
// CHECK-SAME: %[[G:[a-z0-9]+]]: f32, %[[BIAS:[a-z0-9]+]]: tensor<16xf32>
// BACK-LABEL: func.func @scaled_mm
func.func @scaled_mm(%a: tensor<8x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %b: tensor<16x64xf4E2M1FN>,
    %sb: tensor<16x4xf8E4M3FN>, %g: f32, %bias: tensor<16xf32>) -> tensor<8x16xf32> {
  // CHECK: %[[ONE:.+]] = arith.constant dense<1.000000e+00> : tensor<f32>
  // CHECK: global_scale_a(%[[ONE]] : tensor<f32>) global_scale_b(%[[G]] : f32) bias(%[[BIAS]] : tensor<16xf32>) :
  // BACK: block [1, 16] global_scale_b(%{{.+}} : f32) bias(%{{.+}} : tensor<16xf32>) :
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] global_scale_b(%g : f32) bias(%bias : tensor<16xf32>)
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// -----

// CHECK-LABEL: func.func @scaled_grouped_mm
// BACK-LABEL: func.func @scaled_grouped_mm
func.func @scaled_grouped_mm(%a: tensor<8x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %b: tensor<2x16x64xf4E2M1FN>,
    %sb: tensor<2x16x4xf8E4M3FN>, %ends: tensor<2xi32>) -> tensor<8x16xf32> {
  // CHECK: %[[ONE:.+]] = arith.constant dense<1.000000e+00> : tensor<f32>
  // CHECK: global_scale_a(%[[ONE]] : tensor<f32>) global_scale_b(%[[ONE]] : tensor<f32>) :
  // BACK: block [1, 16] :
  %y = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 16]
      : tensor<8x64xf4E2M1FN>, tensor<2x16x64xf4E2M1FN>, tensor<2xi32>, tensor<8x4xf8E4M3FN>, tensor<2x16x4xf8E4M3FN> -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// -----

// The place of a scaling that there was not would say when the bias is added; with
// one global scale it says what it said.
// CHECK-LABEL: func.func @after_rounding
// BACK-LABEL: func.func @after_rounding
func.func @after_rounding(%a: tensor<8x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>, %b: tensor<16x64xf4E2M1FN>,
    %sb: tensor<16x4xf8E4M3FN>, %g: f32, %bias: tensor<16xbf16>) -> (tensor<8x16xbf16>, tensor<8x16xbf16>) {
  // CHECK-NOT: after_rounding
  // CHECK: scaled_mm {{.+}} global_scale_a(%{{.+}} : tensor<f32>) global_scale_b(%{{.+}} : tensor<f32>) bias(%{{.+}} : tensor<16xbf16>) :
  // BACK: scaled_mm {{.+}} block [1, 16] bias(%{{.+}} : tensor<16xbf16>) :
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] global_scaling after_rounding bias(%bias : tensor<16xbf16>)
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xbf16>
  // CHECK: scaled_mm {{.+}} global_scale_a(%{{.+}} : f32) global_scale_b(%{{.+}} : tensor<f32>) global_scaling after_rounding bias(%{{.+}} : tensor<16xbf16>) :
  // BACK: scaled_mm {{.+}} block [1, 16] global_scale_a(%{{.+}} : f32) global_scaling after_rounding bias(%{{.+}} : tensor<16xbf16>) :
  %z = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] global_scale_a(%g : f32) global_scaling after_rounding bias(%bias : tensor<16xbf16>)
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xbf16>
  return %y, %z : tensor<8x16xbf16>, tensor<8x16xbf16>
}

// -----

// What has a global scale, an amax instead or none by format is left alone.
// CHECK-LABEL: func.func @untouched
// CHECK-NOT: arith.constant
func.func @untouched(%x: tensor<4x64xbf16>, %g: tensor<f32>) {
  // CHECK: global_scale(%{{.+}} : tensor<f32>)
  %0, %1 = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  // CHECK: block [1, 16] global_amax(%{{.+}} : tensor<f32>)
  %2, %3 = blockscale.quantize %x block [1, 16] global_amax(%g : tensor<f32>)
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  // CHECK: block [1, 32] :
  %4, %5 = blockscale.quantize %x block [1, 32]
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x2xf8E8M0FNU>
  return
}

// -----

// A kernel's operands are fixed when it is formed.
// CHECK-LABEL: func.func @kernel
// CHECK-NOT: arith.constant
func.func @kernel(%x: tensor<4x64xbf16>, %qi: tensor<4x64xf4E2M1FN>, %si: tensor<4x4xf8E4M3FN>) {
  // CHECK: blockscale.quantize {{.+}} block [1, 16] :
  %q, %s = blockscale.kernel ins(%x : tensor<4x64xbf16>) outs(%qi, %si : tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>) {
  ^bb0(%lx: tensor<4x64xbf16>, %lq: tensor<4x64xf4E2M1FN>, %ls: tensor<4x4xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  } -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

// A plain operand has no global scale.
// CHECK-LABEL: func.func @plain
// BACK-LABEL: func.func @plain
func.func @plain(%a: tensor<8x64xbf16>, %b: tensor<16x64xf4E2M1FN>, %sb: tensor<16x4xf8E4M3FN>) -> tensor<8x16xf32> {
  // CHECK: block [1, 16] global_scale_b(%{{.+}} : tensor<f32>) :
  // BACK: block [1, 16] :
  %y = blockscale.scaled_mm %a, %b scales(none, %sb) block [1, 16]
      : tensor<8x64xbf16>, tensor<16x64xf4E2M1FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}
