// Tiles of a transform or of plain values, made in the loops that quantize them,
// are those of the whole. See Inputs/compare.py.
//
// RUN: %python %S/Inputs/compare.py %s %t --passes="--transform-preload-library=transform-library-paths=%S/Inputs/fuse.mlir --transform-interpreter" | FileCheck %s
// CHECK: {{^}}4 equal, 0 different as they must be, 0 wrong

func.func @transform(%x: tensor<96x80xbf16>) -> (tensor<96x80xf4E2M1FN>, tensor<96x5xf8E4M3FN>) {
  %t = blockscale.hadamard %x dim 1 : tensor<96x80xbf16>
  %q, %s = blockscale.quantize %t block [1, 16] recipe te : tensor<96x80xbf16> -> tensor<96x80xf4E2M1FN>, tensor<96x5xf8E4M3FN>
  return %q, %s : tensor<96x80xf4E2M1FN>, tensor<96x5xf8E4M3FN>
}

func.func @columns(%q: tensor<64x160xf8E4M3FN>, %s: tensor<64x5xf8E8M0FNU>) -> (tensor<160x64xf8E4M3FN>, tensor<160x2xf8E8M0FNU>) {
  %x = blockscale.dequantize %q, %s block [1, 32] : tensor<64x160xf8E4M3FN>, tensor<64x5xf8E8M0FNU> -> tensor<64x160xbf16>
  %p, %t = blockscale.quantize %x block [32, 1] transposed : tensor<64x160xbf16> -> tensor<160x64xf8E4M3FN>, tensor<160x2xf8E8M0FNU>
  return %p, %t : tensor<160x64xf8E4M3FN>, tensor<160x2xf8E8M0FNU>
}
