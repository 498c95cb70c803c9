// An absent global scale of dequantize means 1.0 in every recipe: constants of 1.0
// become absence, absence becomes a constant, and no byte of the result changes.
// See Inputs/compare.py for the meaning of the names.
//
// RUN: %python %S/Inputs/compare.py %s %t --passes=--blockscale-materialize-global-scale \
// RUN:     --each RECIPE=torchao,mslk,te,modelopt | FileCheck %s
// CHECK: 112 equal, 16 different as they must be, 0 wrong

// Nothing stands for 1.0.
func.func @dequantize.absent(%q: tensor<2x24x64xf4E2M1FN>, %s: tensor<2x24x4xf8E4M3FN>)
    -> tensor<2x24x64xf32> {
  %y = blockscale.dequantize %q, %s block [1, 16] recipe RECIPE
      : tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN> -> tensor<2x24x64xf32>
  return %y : tensor<2x24x64xf32>
}

// The constant 1.0 in each form an operand has.
func.func @dequantize.same_scalar(%q: tensor<2x24x64xf4E2M1FN>, %s: tensor<2x24x4xf8E4M3FN>)
    -> tensor<2x24x64xf32> {
  %g = arith.constant 1.0 : f32
  %y = blockscale.dequantize %q, %s block [1, 16] recipe RECIPE
      global_scale(%g : f32)
      : tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN> -> tensor<2x24x64xf32>
  return %y : tensor<2x24x64xf32>
}
func.func @dequantize.same_rank_0(%q: tensor<2x24x64xf4E2M1FN>, %s: tensor<2x24x4xf8E4M3FN>)
    -> tensor<2x24x64xf32> {
  %g = arith.constant dense<1.0> : tensor<f32>
  %y = blockscale.dequantize %q, %s block [1, 16] recipe RECIPE
      global_scale(%g : tensor<f32>)
      : tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN> -> tensor<2x24x64xf32>
  return %y : tensor<2x24x64xf32>
}
func.func @dequantize.same_splat(%q: tensor<2x24x64xf4E2M1FN>, %s: tensor<2x24x4xf8E4M3FN>)
    -> tensor<2x24x64xf32> {
  %g = arith.constant dense<1.0> : tensor<2xf32>
  %y = blockscale.dequantize %q, %s block [1, 16] recipe RECIPE
      global_scale(%g : tensor<2xf32>)
      : tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN> -> tensor<2x24x64xf32>
  return %y : tensor<2x24x64xf32>
}

// 1.0 that is known at run time only.
func.func @dequantize.same_scalar_argument(%q: tensor<2x24x64xf4E2M1FN>, %s: tensor<2x24x4xf8E4M3FN>, %g: f32)
    -> tensor<2x24x64xf32> {
  %y = blockscale.dequantize %q, %s block [1, 16] recipe RECIPE
      global_scale(%g : f32)
      : tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN> -> tensor<2x24x64xf32>
  return %y : tensor<2x24x64xf32>
}
func.func @dequantize.same_rank_0_argument(%q: tensor<2x24x64xf4E2M1FN>, %s: tensor<2x24x4xf8E4M3FN>, %g: tensor<f32>)
    -> tensor<2x24x64xf32> {
  %y = blockscale.dequantize %q, %s block [1, 16] recipe RECIPE
      global_scale(%g : tensor<f32>)
      : tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN> -> tensor<2x24x64xf32>
  return %y : tensor<2x24x64xf32>
}
func.func @dequantize.same_batch_argument(%q: tensor<2x24x64xf4E2M1FN>, %s: tensor<2x24x4xf8E4M3FN>, %g: tensor<2xf32>)
    -> tensor<2x24x64xf32> {
  %y = blockscale.dequantize %q, %s block [1, 16] recipe RECIPE
      global_scale(%g : tensor<2xf32>)
      : tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN> -> tensor<2x24x64xf32>
  return %y : tensor<2x24x64xf32>
}

// One unit in the last place above and below 1.0.
func.func @dequantize.other_above(%q: tensor<2x24x64xf4E2M1FN>, %s: tensor<2x24x4xf8E4M3FN>)
    -> tensor<2x24x64xf32> {
  %g = arith.constant 0x3F800001 : f32
  %y = blockscale.dequantize %q, %s block [1, 16] recipe RECIPE
      global_scale(%g : f32)
      : tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN> -> tensor<2x24x64xf32>
  return %y : tensor<2x24x64xf32>
}
func.func @dequantize.other_below(%q: tensor<2x24x64xf4E2M1FN>, %s: tensor<2x24x4xf8E4M3FN>)
    -> tensor<2x24x64xf32> {
  %g = arith.constant dense<0x3F7FFFFF> : tensor<f32>
  %y = blockscale.dequantize %q, %s block [1, 16] recipe RECIPE
      global_scale(%g : tensor<f32>)
      : tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN> -> tensor<2x24x64xf32>
  return %y : tensor<2x24x64xf32>
}

// 1.0 for one batch element and not for the next.
func.func @dequantize.other_element(%q: tensor<2x24x64xf4E2M1FN>, %s: tensor<2x24x4xf8E4M3FN>)
    -> tensor<2x24x64xf32> {
  %g = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %y = blockscale.dequantize %q, %s block [1, 16] recipe RECIPE
      global_scale(%g : tensor<2xf32>)
      : tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN> -> tensor<2x24x64xf32>
  return %y : tensor<2x24x64xf32>
}

// A global amax of 1.0 is a scale of 1/2688.
func.func @dequantize.other_amax(%q: tensor<2x24x64xf4E2M1FN>, %s: tensor<2x24x4xf8E4M3FN>)
    -> tensor<2x24x64xf32> {
  %g = arith.constant dense<1.0> : tensor<f32>
  %y = blockscale.dequantize %q, %s block [1, 16] recipe RECIPE
      global_amax(%g : tensor<f32>)
      : tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN> -> tensor<2x24x64xf32>
  return %y : tensor<2x24x64xf32>
}
