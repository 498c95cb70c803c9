// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels))' -split-input-file -verify-diagnostics
// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_100a}))' -split-input-file -verify-diagnostics

// Members of a group that disagree are an error with the number and both values (C5), on
// every target: with and without a transform, ...
func.func @transform(%x: tensor<128x128xbf16>, %y: tensor<128x128xbf16>) {
  %h = blockscale.hadamard %x dim 0 : tensor<128x128xbf16>
  %p, %t = blockscale.quantize %h block [16, 1] transposed {blockscale.group = "g"} : tensor<128x128xbf16> -> tensor<128x128xf4E2M1FN>, tensor<128x8xf8E4M3FN>
  // expected-error @below {{expected members of group "g" to agree in transform, but number 0 has hadamard dim 0 sign_mask 55272 and number 1 has none}}
  %q, %s = blockscale.quantize %y block [16, 1] transposed {blockscale.group = "g"} : tensor<128x128xbf16> -> tensor<128x128xf4E2M1FN>, tensor<128x8xf8E4M3FN>
  return
}

// -----

// ... of one mask, ...
func.func @mask(%x: tensor<128x128xbf16>, %y: tensor<128x128xbf16>) {
  %h = blockscale.hadamard %x dim 0 : tensor<128x128xbf16>
  %i = blockscale.hadamard %y dim 0 sign_mask 0 : tensor<128x128xbf16>
  %p, %t = blockscale.quantize %h block [16, 1] transposed {blockscale.group = "g"} : tensor<128x128xbf16> -> tensor<128x128xf4E2M1FN>, tensor<128x8xf8E4M3FN>
  // expected-error @below {{to agree in transform, but number 0 has hadamard dim 0 sign_mask 55272 and number 1 has hadamard dim 0 sign_mask 0}}
  %q, %s = blockscale.quantize %i block [16, 1] transposed {blockscale.group = "g"} : tensor<128x128xbf16> -> tensor<128x128xf4E2M1FN>, tensor<128x8xf8E4M3FN>
  return
}

// -----

// ... the layout of scales, ...
func.func @layout(%x: tensor<128x128xbf16>, %y: tensor<128x128xbf16>, %z: tensor<128x128xbf16>) {
  %0, %1 = blockscale.quantize %x block [1, 16] {blockscale.group = "g"} : tensor<128x128xbf16> -> tensor<128x128xf4E2M1FN>, tensor<128x8xf8E4M3FN>
  %2, %3 = blockscale.quantize %y block [1, 16] {blockscale.group = "g"} : tensor<128x128xbf16> -> tensor<128x128xf4E2M1FN>, tensor<128x8xf8E4M3FN>
  // expected-error @below {{to agree in the layout of scales, but number 0 has linear and number 2 has #blockscale.layout<swizzle_128x4>}}
  %4, %5 = blockscale.quantize %z block [1, 16] {blockscale.group = "g"} : tensor<128x128xbf16> -> tensor<128x128xf4E2M1FN>, tensor<128x8xf8E4M3FN, #blockscale.layout<swizzle_128x4>>
  return
}

// -----

// ... the recipe, ...
func.func @recipe(%x: tensor<128x128xbf16>, %y: tensor<128x128xbf16>) {
  %0, %1 = blockscale.quantize %x block [1, 16] {blockscale.group = "g"} : tensor<128x128xbf16> -> tensor<128x128xf4E2M1FN>, tensor<128x8xf8E4M3FN>
  // expected-error @below {{to agree in recipe, but number 0 has torchao and number 1 has te}}
  %2, %3 = blockscale.quantize %y block [1, 16] recipe te {blockscale.group = "g"} : tensor<128x128xbf16> -> tensor<128x128xf4E2M1FN>, tensor<128x8xf8E4M3FN>
  return
}

// -----

// ... the block, ...
func.func @block(%x: tensor<128x128xbf16>, %y: tensor<128x128xbf16>) {
  %0, %1 = blockscale.quantize %x block [16, 16] {blockscale.group = "g"} : tensor<128x128xbf16> -> tensor<128x128xf4E2M1FN>, tensor<8x8xf8E4M3FN>
  // expected-error @below {{to agree in block, but number 0 has [16, 16] and number 1 has [16, 16] transposed}}
  %2, %3 = blockscale.quantize %y block [16, 16] transposed {blockscale.group = "g"} : tensor<128x128xbf16> -> tensor<128x128xf4E2M1FN>, tensor<8x8xf8E4M3FN>
  return
}

// -----

// ... the form of scales, ...
func.func @scale_dim(%x: tensor<128x128xbf16>, %y: tensor<128x128xbf16>) {
  %0, %1 = blockscale.quantize %x block [16, 16] {blockscale.group = "g"} : tensor<128x128xbf16> -> tensor<128x128xf4E2M1FN>, tensor<8x8xf8E4M3FN>
  // expected-error @below {{to agree in scale_dim, but number 0 has none and number 1 has k}}
  %2, %3 = blockscale.quantize %y block [16, 16] scale_dim k {blockscale.group = "g"} : tensor<128x128xbf16> -> tensor<128x128xf4E2M1FN>, tensor<128x8xf8E4M3FN>
  return
}

// -----

// ... the data type, ...
func.func @data(%x: tensor<128x128xbf16>, %y: tensor<128x128xbf16>) {
  %0, %1 = blockscale.quantize %x block [1, 32] {blockscale.group = "g"} : tensor<128x128xbf16> -> tensor<128x128xf8E4M3FN>, tensor<128x4xf8E8M0FNU>
  // expected-error @below {{to agree in data, but number 0 has f8E4M3FN and number 1 has f8E5M2}}
  %2, %3 = blockscale.quantize %y block [1, 32] {blockscale.group = "g"} : tensor<128x128xbf16> -> tensor<128x128xf8E5M2>, tensor<128x4xf8E8M0FNU>
  return
}

// -----

// ... and what they round by and are cut into.
func.func @operands(%x: tensor<128x128xbf16>, %y: tensor<128x128xbf16>, %r: tensor<2xi64>) {
  %0, %1 = blockscale.quantize %x block [1, 16] rng(%r : tensor<2xi64>) {blockscale.group = "g"} : tensor<128x128xbf16> -> tensor<128x128xf4E2M1FN>, tensor<128x8xf8E4M3FN>
  // expected-error @below {{to agree in rng, but number 0 has one and number 1 has none}}
  %2, %3 = blockscale.quantize %y block [1, 16] {blockscale.group = "g"} : tensor<128x128xbf16> -> tensor<128x128xf4E2M1FN>, tensor<128x8xf8E4M3FN>
  return
}

// -----

func.func @offsets(%x: tensor<128x128xbf16>, %y: tensor<128x128xbf16>, %o: tensor<3xi32>) {
  %0, %1 = blockscale.quantize %x block [1, 16] offsets(%o : tensor<3xi32>) {blockscale.group = "g"} : tensor<128x128xbf16> -> tensor<128x128xf4E2M1FN>, tensor<128x8xf8E4M3FN>
  // expected-error @below {{to agree in offsets, but number 0 has group_dim 0 and number 1 has group_dim 1}}
  %2, %3 = blockscale.quantize %y block [1, 16] offsets(%o : tensor<3xi32>) group_dim 1 {blockscale.group = "g"} : tensor<128x128xbf16> -> tensor<128x128xf4E2M1FN>, tensor<128x8xf8E4M3FN>
  return
}

// -----

func.func @block_amax(%x: tensor<128x128xbf16>, %y: tensor<128x128xbf16>, %a: tensor<128x8xf32>) {
  %0, %1 = blockscale.quantize %x block [1, 16] {blockscale.group = "g"} : tensor<128x128xbf16> -> tensor<128x128xf4E2M1FN>, tensor<128x8xf8E4M3FN>
  // expected-error @below {{to agree in block_amax, but number 0 has none and number 1 has one}}
  %2, %3 = blockscale.quantize %y block [1, 16] block_amax(%a : tensor<128x8xf32>) {blockscale.group = "g"} : tensor<128x128xbf16> -> tensor<128x128xf4E2M1FN>, tensor<128x8xf8E4M3FN>
  return
}

// -----

// What names a group is a string, of quantizations.
func.func @name(%x: tensor<128x128xbf16>) {
  // expected-error @below {{expected blockscale.group to be a string of a quantize, but got 1 : i64}}
  %0, %1 = blockscale.quantize %x block [1, 16] {blockscale.group = 1} : tensor<128x128xbf16> -> tensor<128x128xf4E2M1FN>, tensor<128x8xf8E4M3FN>
  return
}

// -----

func.func @amax(%x: tensor<128x128xbf16>) {
  // expected-error @below {{expected blockscale.group to be a string of a quantize, but got "g"}}
  %0 = blockscale.amax %x {blockscale.group = "g"} : tensor<128x128xbf16> -> tensor<f32>
  return
}
