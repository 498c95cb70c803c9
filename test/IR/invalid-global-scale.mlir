// RUN: blockscale-opt %s -split-input-file -verify-diagnostics

func.func @global_scale_c1(%a: tensor<f32>) {
  // expected-error @below {{expected an NVFP4 recipe (torchao, mslk, te, modelopt, te_4over6_mae, te_4over6_mse, compressed_tensors, torchao_training) with f8E4M3FN scales, but got rceil}}
  %0 = blockscale.global_scale %a recipe rceil : tensor<f32>
  return
}

// -----

func.func @global_scale_type(%a: tensor<bf16>) {
  // expected-error @below {{operand #0 must be ranked tensor of 32-bit float values without encoding, but got 'tensor<bf16>'}}
  %0 = blockscale.global_scale %a : tensor<bf16>
  return
}
