// RUN: blockscale-opt %s --blockscale-print-roofline=model=torchao --split-input-file -verify-diagnostics

// What torchao has no formula for is refused, not guessed.

func.func @hadamard(%x: tensor<64x128xbf16>) {
  // expected-error @below {{has no cost: expected an op that torchao's formulas count (amax of a tensor and quantize by rows, of bf16; scaled_mm of two matrices to bf16; global_scale), or the model 'exact', but got a 'blockscale.hadamard' that they do not}}
  %y = blockscale.hadamard %x dim 1 : tensor<64x128xbf16>
  return
}

// -----

func.func @amax_of_rows(%x: tensor<64x128xbf16>) {
  // expected-error @below {{but got a 'blockscale.amax' that they do not}}
  %a = blockscale.amax %x : tensor<64x128xbf16> -> tensor<64xf32>
  return
}

// -----

func.func @f32(%x: tensor<64x128xf32>) {
  // expected-error @below {{but got a 'blockscale.amax' that they do not}}
  %a = blockscale.amax %x : tensor<64x128xf32> -> tensor<f32>
  // expected-error @below {{but got a 'blockscale.quantize' that they do not}}
  %q, %s = blockscale.quantize %x block [1, 32]
      : tensor<64x128xf32> -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
  return
}

// -----

func.func @squares(%x: tensor<64x128xbf16>) {
  // expected-error @below {{but got a 'blockscale.quantize' that they do not}}
  %q, %s = blockscale.quantize %x block [32, 32]
      : tensor<64x128xbf16> -> tensor<64x128xf8E4M3FN>, tensor<2x4xf8E8M0FNU>
  return
}

// -----

func.func @six_bits(%x: tensor<64x128xbf16>) {
  // expected-error @below {{but got a 'blockscale.quantize' that they do not}}
  %q, %s = blockscale.quantize %x block [1, 32]
      : tensor<64x128xbf16> -> tensor<64x128xf6E2M3FN>, tensor<64x4xf8E8M0FNU>
  return
}

// -----

func.func @mixed(%a: tensor<64x128xf4E2M1FN>, %b: tensor<64x128xf8E4M3FN>, %s: tensor<64x4xf8E8M0FNU>) {
  // expected-error @below {{but got a 'blockscale.scaled_mm' that they do not}}
  %y = blockscale.scaled_mm %a, %b scales(%s, %s) block [1, 32]
      : tensor<64x128xf4E2M1FN>, tensor<64x128xf8E4M3FN>,
        tensor<64x4xf8E8M0FNU>, tensor<64x4xf8E8M0FNU> -> tensor<64x64xbf16>
  // expected-error @below {{but got a 'blockscale.scaled_mm' that they do not}}
  %z = blockscale.scaled_mm %b, %b scales(%s, %s) block [1, 32]
      : tensor<64x128xf8E4M3FN>, tensor<64x128xf8E4M3FN>,
        tensor<64x4xf8E8M0FNU>, tensor<64x4xf8E8M0FNU> -> tensor<64x64xf32>
  return
}

// -----

// A kernel of two ops, each of which is counted alone.
func.func @fused(%x: tensor<64x128xbf16>, %ai: tensor<f32>, %gi: tensor<f32>) {
  // expected-error @below {{but got a 'blockscale.kernel' that they do not}}
  %a, %g = blockscale.kernel ins(%x : tensor<64x128xbf16>) outs(%ai, %gi : tensor<f32>, tensor<f32>) {
  ^bb0(%lx: tensor<64x128xbf16>, %la: tensor<f32>, %lg: tensor<f32>):
    %0 = blockscale.amax %lx : tensor<64x128xbf16> -> tensor<f32>
    %1 = blockscale.global_scale %0 : tensor<f32>
    blockscale.yield %0, %1 : tensor<f32>, tensor<f32>
  } -> tensor<f32>, tensor<f32>
  return
}

// -----

func.func @plain_operand(%x: tensor<64x128xbf16>, %w: tensor<64x128xf8E4M3FN>, %s: tensor<64x4xf8E8M0FNU>) {
  // expected-error @below {{but got a 'blockscale.scaled_mm' that they do not}}
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 32]
      : tensor<64x128xbf16>, tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU> -> tensor<64x64xbf16>
  return
}
