// RUN: embed-opt %s --split-input-file --verify-diagnostics

func.func @depth(%x: tensor<4x60xbf16>, %w: tensor<8x60xbf16>) -> tensor<4x8xbf16> {
  // expected-error @+1 {{'net.linear' op expected K of x to be a multiple of 16, but got 60}}
  %y = net.linear %x, %w : tensor<4x60xbf16>, tensor<8x60xbf16> -> tensor<4x8xbf16>
  return %y : tensor<4x8xbf16>
}

// -----

func.func @unknown_depth(%x: tensor<4x?xbf16>, %w: tensor<8x?xbf16>) -> tensor<4x8xbf16> {
  // expected-error @+1 {{'net.linear' op expected K of x to be a multiple of 16, but got ?}}
  %y = net.linear %x, %w : tensor<4x?xbf16>, tensor<8x?xbf16> -> tensor<4x8xbf16>
  return %y : tensor<4x8xbf16>
}

// -----

func.func @depths(%x: tensor<4x64xbf16>, %w: tensor<8x32xbf16>) -> tensor<4x8xbf16> {
  // expected-error @+1 {{'net.linear' op expected weight and x to have one K, but got 32 and 64}}
  %y = net.linear %x, %w : tensor<4x64xbf16>, tensor<8x32xbf16> -> tensor<4x8xbf16>
  return %y : tensor<4x8xbf16>
}

// -----

func.func @result(%x: tensor<4x64xbf16>, %w: tensor<8x64xbf16>) -> tensor<8x4xbf16> {
  // expected-error @+1 {{expected the result to have the rows of x and of weight, but got 'tensor<8x4xbf16>'}}
  %y = net.linear %x, %w : tensor<4x64xbf16>, tensor<8x64xbf16> -> tensor<8x4xbf16>
  return %y : tensor<8x4xbf16>
}

// -----

// The verifiers of BlockScale are there, too.
func.func @block(%x: tensor<4x60xbf16>) -> (tensor<4x60xf4E2M1FN>, tensor<4x4xf8E4M3FN>) {
  // expected-error @+1 {{'blockscale.quantize' op expected the last dimension of x to be a multiple of 16}}
  %d, %s = blockscale.quantize %x block [1, 16] recipe torchao
      : tensor<4x60xbf16> -> tensor<4x60xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return %d, %s : tensor<4x60xf4E2M1FN>, tensor<4x4xf8E4M3FN>
}
