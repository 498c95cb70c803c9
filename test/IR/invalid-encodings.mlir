// RUN: blockscale-opt %s -split-input-file -verify-diagnostics

// Operands that no layout is defined for have no encoding.

func.func @global_scale(%x: tensor<64x64xbf16>, %g: tensor<f32, "any">) {
  // expected-error @below {{operand #1 must be 32-bit float or ranked tensor of 32-bit float values without encoding, but got 'tensor<f32, "any">'}}
  %0:2 = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32, "any">)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  return
}

// -----

func.func @block_amax(%x: tensor<64x64xbf16>, %a: tensor<64x4xf32, "any">) {
  // expected-error @below {{operand #1 must be ranked tensor of 32-bit float values without encoding, but got 'tensor<64x4xf32, "any">'}}
  %0:2 = blockscale.quantize %x block [1, 16] block_amax(%a : tensor<64x4xf32, "any">)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  return
}

// -----

func.func @rng(%x: tensor<64x64xbf16>, %r: tensor<2xi64, "any">) {
  // expected-error @below {{operand #1 must be ranked tensor of 64-bit signless integer values without encoding, but got 'tensor<2xi64, "any">'}}
  %0:2 = blockscale.quantize %x block [1, 16] rng(%r : tensor<2xi64, "any">)
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  return
}

// -----

func.func @offsets(%x: tensor<64x64xbf16>, %o: tensor<2xi32, "any">) {
  // expected-error @below {{operand #1 must be ranked tensor of 32-bit signless integer values without encoding, but got 'tensor<2xi32, "any">'}}
  %0 = blockscale.amax %x offsets(%o : tensor<2xi32, "any">) : tensor<64x64xbf16> -> tensor<2xf32>
  return
}

// -----

func.func @hessian(%x: tensor<64x64xbf16>, %a: f32, %h: tensor<4x16x16xf32, "any">) {
  // expected-error @below {{operand #2 must be ranked tensor of 32-bit float values without encoding, but got 'tensor<4x16x16xf32, "any">'}}
  %0 = blockscale.scale_sweep %x global_amax(%a : f32) hessian(%h : tensor<4x16x16xf32, "any">) : tensor<64x64xbf16> -> tensor<64x4xf32>
  return
}

// -----

func.func @amax(%a: tensor<f32, "any">) {
  // expected-error @below {{operand #0 must be ranked tensor of 32-bit float values without encoding, but got 'tensor<f32, "any">'}}
  %0 = blockscale.global_scale %a : tensor<f32, "any">
  return
}

// -----

func.func @bias(%a: tensor<64x64xf4E2M1FN>, %s: tensor<64x4xf8E4M3FN>, %b: tensor<64xf32, "any">) {
  // expected-error @below {{operand #4 must be ranked tensor of 32-bit float or bfloat16 type or 16-bit float values without encoding, but got 'tensor<64xf32, "any">'}}
  %0 = blockscale.scaled_mm %a, %a scales(%s, %s) block [1, 16] bias(%b : tensor<64xf32, "any">)
      : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return
}
