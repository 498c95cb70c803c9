// An absent global scale of quantize means 1.0 in every recipe: constants of 1.0
// become absence, absence becomes a constant, and no byte of the result changes.
// See Inputs/compare.py for the meaning of the names.
//
// RUN: %python %S/Inputs/compare.py %s %t --passes=--blockscale-materialize-global-scale \
// RUN:     --each RECIPE=torchao,mslk,te,modelopt | FileCheck %s
// CHECK: 132 equal, 16 different as they must be, 0 wrong

#swizzled = #blockscale.layout<swizzle_128x4>

// Nothing stands for 1.0.
func.func @quantize.absent(%x: tensor<2x24x64xf32>)
    -> (tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>) {
  %q, %s = blockscale.quantize %x block [1, 16] recipe RECIPE
      : tensor<2x24x64xf32> -> tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>
  return %q, %s : tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>
}

// The constant 1.0 in each form an operand has.
func.func @quantize.same_scalar(%x: tensor<2x24x64xf32>)
    -> (tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>) {
  %g = arith.constant 1.0 : f32
  %q, %s = blockscale.quantize %x block [1, 16] recipe RECIPE
      global_scale(%g : f32)
      : tensor<2x24x64xf32> -> tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>
  return %q, %s : tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>
}
func.func @quantize.same_rank_0(%x: tensor<2x24x64xf32>)
    -> (tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>) {
  %g = arith.constant dense<1.0> : tensor<f32>
  %q, %s = blockscale.quantize %x block [1, 16] recipe RECIPE
      global_scale(%g : tensor<f32>)
      : tensor<2x24x64xf32> -> tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>
  return %q, %s : tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>
}
func.func @quantize.same_splat(%x: tensor<2x24x64xf32>)
    -> (tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>) {
  %g = arith.constant dense<1.0> : tensor<2xf32>
  %q, %s = blockscale.quantize %x block [1, 16] recipe RECIPE
      global_scale(%g : tensor<2xf32>)
      : tensor<2x24x64xf32> -> tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>
  return %q, %s : tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>
}

// 1.0 that is known at run time only.
func.func @quantize.same_scalar_argument(%x: tensor<2x24x64xf32>, %g: f32)
    -> (tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>) {
  %q, %s = blockscale.quantize %x block [1, 16] recipe RECIPE
      global_scale(%g : f32)
      : tensor<2x24x64xf32> -> tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>
  return %q, %s : tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>
}
func.func @quantize.same_rank_0_argument(%x: tensor<2x24x64xf32>, %g: tensor<f32>)
    -> (tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>) {
  %q, %s = blockscale.quantize %x block [1, 16] recipe RECIPE
      global_scale(%g : tensor<f32>)
      : tensor<2x24x64xf32> -> tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>
  return %q, %s : tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>
}
func.func @quantize.same_batch_argument(%x: tensor<2x24x64xf32>, %g: tensor<2xf32>)
    -> (tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>) {
  %q, %s = blockscale.quantize %x block [1, 16] recipe RECIPE
      global_scale(%g : tensor<2xf32>)
      : tensor<2x24x64xf32> -> tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>
  return %q, %s : tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>
}

// One unit in the last place above and below 1.0.
func.func @quantize.other_above(%x: tensor<2x24x64xf32>)
    -> (tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>) {
  %g = arith.constant 0x3F800001 : f32
  %q, %s = blockscale.quantize %x block [1, 16] recipe RECIPE
      global_scale(%g : f32)
      : tensor<2x24x64xf32> -> tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>
  return %q, %s : tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>
}
func.func @quantize.other_below(%x: tensor<2x24x64xf32>)
    -> (tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>) {
  %g = arith.constant dense<0x3F7FFFFF> : tensor<f32>
  %q, %s = blockscale.quantize %x block [1, 16] recipe RECIPE
      global_scale(%g : tensor<f32>)
      : tensor<2x24x64xf32> -> tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>
  return %q, %s : tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>
}

// 1.0 for one batch element and not for the next.
func.func @quantize.other_element(%x: tensor<2x24x64xf32>)
    -> (tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>) {
  %g = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %q, %s = blockscale.quantize %x block [1, 16] recipe RECIPE
      global_scale(%g : tensor<2xf32>)
      : tensor<2x24x64xf32> -> tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>
  return %q, %s : tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>
}

// A global amax of 1.0 is a scale of 1/2688.
func.func @quantize.other_amax(%x: tensor<2x24x64xf32>)
    -> (tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>) {
  %g = arith.constant dense<1.0> : tensor<f32>
  %q, %s = blockscale.quantize %x block [1, 16] recipe RECIPE
      global_amax(%g : tensor<f32>)
      : tensor<2x24x64xf32> -> tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>
  return %q, %s : tensor<2x24x64xf4E2M1FN>, tensor<2x24x4xf8E4M3FN>
}

// bf16, dynamic sizes and swizzled scales.
func.func @dynamic.absent(%x: tensor<?x?xbf16>)
    -> (tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN, #swizzled>) {
  %q, %s = blockscale.quantize %x block [1, 16] recipe RECIPE
      : tensor<?x?xbf16> -> tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN, #swizzled>
  return %q, %s : tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN, #swizzled>
}
func.func @dynamic.same_argument(%x: tensor<?x?xbf16>, %g: tensor<f32>)
    -> (tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN, #swizzled>) {
  %q, %s = blockscale.quantize %x block [1, 16] recipe RECIPE
      global_scale(%g : tensor<f32>)
      : tensor<?x?xbf16> -> tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN, #swizzled>
  return %q, %s : tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN, #swizzled>
}
