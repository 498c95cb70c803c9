// Tiles of quantizers are the bytes of the whole: static and dynamic sizes, with
// ragged last tiles. See Inputs/compare.py.
//
// RUN: %python %S/Inputs/compare.py %s %t --passes="--transform-preload-library=transform-library-paths=%S/Inputs/tile.mlir --transform-interpreter" | FileCheck %s
// CHECK: {{^}}22 equal, 0 different as they must be, 0 wrong

func.func @rows(%x: tensor<40x96xf32>, %g: tensor<40xf32>) -> (tensor<40x96xf4E2M1FN>, tensor<40x6xf8E4M3FN>) {
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<40xf32>) : tensor<40x96xf32> -> tensor<40x96xf4E2M1FN>, tensor<40x6xf8E4M3FN>
  return %q, %s : tensor<40x96xf4E2M1FN>, tensor<40x6xf8E4M3FN>
}

func.func @square(%x: tensor<96x160xbf16>) -> (tensor<96x160xf8E4M3FN>, tensor<3x5xf8E8M0FNU>) {
  %q, %s = blockscale.quantize %x block [32, 32] : tensor<96x160xbf16> -> tensor<96x160xf8E4M3FN>, tensor<3x5xf8E8M0FNU>
  return %q, %s : tensor<96x160xf8E4M3FN>, tensor<3x5xf8E8M0FNU>
}

func.func @transposed(%x: tensor<96x160xbf16>) -> (tensor<160x96xf8E4M3FN>, tensor<160x3xf8E8M0FNU>) {
  %q, %s = blockscale.quantize %x block [32, 1] transposed : tensor<96x160xbf16> -> tensor<160x96xf8E4M3FN>, tensor<160x3xf8E8M0FNU>
  return %q, %s : tensor<160x96xf8E4M3FN>, tensor<160x3xf8E8M0FNU>
}

func.func @expanded(%x: tensor<96x160xbf16>) -> (tensor<96x160xf8E4M3FN>, tensor<160x3xf8E8M0FNU>) {
  %q, %s = blockscale.quantize %x block [32, 32] scale_dim n : tensor<96x160xbf16> -> tensor<96x160xf8E4M3FN>, tensor<160x3xf8E8M0FNU>
  return %q, %s : tensor<96x160xf8E4M3FN>, tensor<160x3xf8E8M0FNU>
}

// Tiles of batches and rows, each with its own global scale.
func.func @batches(%x: tensor<40x70x32xf32>, %g: tensor<40xf32>, %r: tensor<40x70xf32>) -> (tensor<40x70x2xf8E4M3FN>, tensor<40x70x2xf8E4M3FN>) {
  %q, %s = blockscale.quantize %x block [1, 16] recipe te global_scale(%g : tensor<40xf32>) : tensor<40x70x32xf32> -> tensor<40x70x32xf4E2M1FN>, tensor<40x70x2xf8E4M3FN>
  %p, %t = blockscale.quantize %x block [1, 16] recipe mslk global_scale(%r : tensor<40x70xf32>) : tensor<40x70x32xf32> -> tensor<40x70x32xf4E2M1FN>, tensor<40x70x2xf8E4M3FN>
  return %s, %t : tensor<40x70x2xf8E4M3FN>, tensor<40x70x2xf8E4M3FN>
}

// The last block is short, along one or both dimensions.
func.func @square_tails(%x: tensor<70x88xf32>) -> (tensor<70x88xf4E2M1FN>, tensor<5x6xf8E4M3FN>, tensor<88x70xf4E2M1FN>, tensor<88x5xf8E4M3FN>) {
  %q, %s = blockscale.quantize %x block [16, 16] recipe te : tensor<70x88xf32> -> tensor<70x88xf4E2M1FN>, tensor<5x6xf8E4M3FN>
  %t, %u = blockscale.quantize %x block [16, 16] transposed scale_dim n recipe te : tensor<70x88xf32> -> tensor<88x70xf4E2M1FN>, tensor<88x5xf8E4M3FN>
  return %q, %s, %t, %u : tensor<70x88xf4E2M1FN>, tensor<5x6xf8E4M3FN>, tensor<88x70xf4E2M1FN>, tensor<88x5xf8E4M3FN>
}
func.func @tail(%x: tensor<40x88xf32>, %b: tensor<40x6xf32>) -> (tensor<40x88xf4E2M1FN>, tensor<40x6xf8E4M3FN>) {
  %q, %s = blockscale.quantize %x block [1, 16] recipe modelopt block_amax(%b : tensor<40x6xf32>) : tensor<40x88xf32> -> tensor<40x88xf4E2M1FN>, tensor<40x6xf8E4M3FN>
  return %q, %s : tensor<40x88xf4E2M1FN>, tensor<40x6xf8E4M3FN>
}

func.func @dynamic_rows(%x: tensor<?x96xbf16>) -> (tensor<?x96xf4E2M1FN>, tensor<?x3xf8E8M0FNU>) {
  %q, %s = blockscale.quantize %x block [1, 32] : tensor<?x96xbf16> -> tensor<?x96xf4E2M1FN>, tensor<?x3xf8E8M0FNU>
  return %q, %s : tensor<?x96xf4E2M1FN>, tensor<?x3xf8E8M0FNU>
}

// Data and scales in tiles of the same blocks.
func.func @dequantize_square(%q: tensor<96x160xf8E4M3FN>, %s: tensor<3x5xf8E8M0FNU>) -> tensor<96x160xf32> {
  %0 = blockscale.dequantize %q, %s block [32, 32] : tensor<96x160xf8E4M3FN>, tensor<3x5xf8E8M0FNU> -> tensor<96x160xf32>
  return %0 : tensor<96x160xf32>
}
func.func @dequantize(%q: tensor<40x96xf8E4M3FN>, %s: tensor<40x3xf8E8M0FNU>) -> tensor<40x96xf32> {
  %0 = blockscale.dequantize %q, %s block [1, 32] : tensor<40x96xf8E4M3FN>, tensor<40x3xf8E8M0FNU> -> tensor<40x96xf32>
  return %0 : tensor<40x96xf32>
}

func.func @hadamard(%x: tensor<48x80xbf16>) -> (tensor<48x80xbf16>, tensor<48x80xbf16>) {
  %0 = blockscale.hadamard %x dim 0 : tensor<48x80xbf16>
  %1 = blockscale.hadamard %x dim 1 sign_mask 0 : tensor<48x80xbf16>
  return %0, %1 : tensor<48x80xbf16>, tensor<48x80xbf16>
}
