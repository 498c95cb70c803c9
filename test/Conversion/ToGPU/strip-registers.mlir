// RUN: blockscale-opt %s --blockscale-to-gpu=chip=sm_120a | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-gpu=chip=sm_100a | FileCheck %s --check-prefix=OTHER

// Left to itself, the assembler gives the better of two scales of f32 the registers of four CTAs
// on sm_120a, and spills; it is told to leave room for three. On sm_100a it finds room.
// CHECK: gpu.func @quantize_16x1_e2m1_te_4over6_mse_f32_{{.+}} kernel attributes {nvvm.minctasm = 3 : i32, nvvm.reqntid
// OTHER: gpu.func @quantize_16x1_e2m1_te_4over6_mse_f32_{{.+}} kernel attributes {nvvm.reqntid
func.func @f32(%x: tensor<4096x4096xf32>, %g: tensor<f32>) -> (tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN>) {
  %q, %s = blockscale.quantize %x block [16, 1] transposed recipe te_4over6_mse global_amax(%g : tensor<f32>)
      : tensor<4096x4096xf32> -> tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN>
  return %q, %s : tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN>
}

// Neither bf16 nor other recipes need that.
// CHECK: gpu.func @quantize_16x1_e2m1_te_4over6_mse_bf16_{{.+}} kernel attributes {nvvm.reqntid
func.func @bf16(%x: tensor<4096x4096xbf16>, %g: tensor<f32>) -> (tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN>) {
  %q, %s = blockscale.quantize %x block [16, 1] transposed recipe te_4over6_mse global_amax(%g : tensor<f32>)
      : tensor<4096x4096xbf16> -> tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN>
  return %q, %s : tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN>
}
// CHECK: gpu.func @quantize_16x1_e2m1_te_f32_{{.+}} kernel attributes {nvvm.reqntid
func.func @te(%x: tensor<4096x4096xf32>, %g: tensor<f32>) -> (tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN>) {
  %q, %s = blockscale.quantize %x block [16, 1] transposed recipe te global_amax(%g : tensor<f32>)
      : tensor<4096x4096xf32> -> tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN>
  return %q, %s : tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN>
}
