// RUN: blockscale-opt %s -split-input-file -verify-diagnostics

func.func @scale_sweep_c1_rank(%x: tensor<64xbf16>, %a: tensor<f32>) {
  // expected-error @below {{expected x to have rank 2 or more, but got rank 1}}
  %0 = blockscale.scale_sweep %x global_amax(%a : tensor<f32>)
      : tensor<64xbf16> -> tensor<4xf32>
  return
}

// -----

func.func @scale_sweep_c1_scalar(%x: tensor<bf16>, %a: tensor<f32>) {
  // expected-error @below {{expected x to have rank 2 or more, but got rank 0}}
  %0 = blockscale.scale_sweep %x global_amax(%a : tensor<f32>)
      : tensor<bf16> -> tensor<f32>
  return
}

// -----

func.func @scale_sweep_c1_encoding(%x: tensor<4x64xbf16, "sparse">, %a: tensor<f32>) {
  // expected-error @below {{expected x to have no encoding, but got "sparse"}}
  %0 = blockscale.scale_sweep %x global_amax(%a : tensor<f32>)
      : tensor<4x64xbf16, "sparse"> -> tensor<4x4xf32>
  return
}

// -----

func.func @scale_sweep_c2(%x: tensor<4x40xbf16>, %a: tensor<f32>) {
  // expected-error @below {{expected the last dimension of x to be a multiple of 16, but got 40}}
  %0 = blockscale.scale_sweep %x global_amax(%a : tensor<f32>)
      : tensor<4x40xbf16> -> tensor<4x3xf32>
  return
}

// -----

func.func @scale_sweep_c3(%x: tensor<2x4x64xbf16>, %a: tensor<3xf32>) {
  // expected-error @below {{expected global_amax to have shape 2, but got 3}}
  %0 = blockscale.scale_sweep %x global_amax(%a : tensor<3xf32>)
      : tensor<2x4x64xbf16> -> tensor<2x4x4xf32>
  return
}

// -----

// The candidates of a tensor are the same in each row.
func.func @scale_sweep_c3_rows(%x: tensor<4x64xbf16>, %a: tensor<4xf32>) {
  // expected-error @below {{expected global_amax to be a scalar, or have rank 0, but got shape 4}}
  %0 = blockscale.scale_sweep %x global_amax(%a : tensor<4xf32>)
      : tensor<4x64xbf16> -> tensor<4x4xf32>
  return
}

// -----

func.func @scale_sweep_c4_shape(%x: tensor<4x64xbf16>, %a: tensor<f32>) {
  // expected-error @below {{expected the result to have shape 4x4, but got 4x2}}
  %0 = blockscale.scale_sweep %x global_amax(%a : tensor<f32>)
      : tensor<4x64xbf16> -> tensor<4x2xf32>
  return
}

// -----

func.func @scale_sweep_c4_encoding(%x: tensor<4x64xbf16>, %a: tensor<f32>) {
  // expected-error @below {{expected the result to have no encoding, but got "sparse"}}
  %0 = blockscale.scale_sweep %x global_amax(%a : tensor<f32>)
      : tensor<4x64xbf16> -> tensor<4x4xf32, "sparse">
  return
}

// -----

func.func @scale_sweep_c5(%x: tensor<4x64xbf16>, %a: f32, %h: tensor<4x16xf32>) {
  // expected-error @below {{expected hessian to have shape 4x16x16, but got 4x16}}
  %0 = blockscale.scale_sweep %x global_amax(%a : f32) hessian(%h : tensor<4x16xf32>)
      : tensor<4x64xbf16> -> tensor<4x4xf32>
  return
}
