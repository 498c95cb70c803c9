// RUN: blockscale-opt %s -transform-preload-library=transform-library-paths=%S/../Execution/Inputs/fuse.mlir -transform-interpreter -canonicalize -cse | FileCheck %s
// RUN: sed 's/32, 64/16, 64/' %S/../Execution/Inputs/fuse.mlir > %t.mlir
// RUN: blockscale-opt %s -transform-preload-library=transform-library-paths=%t.mlir -transform-interpreter -canonicalize -cse | FileCheck %s --check-prefix=CUT

// Producers in the loops [32, 64] of quantize. The bytes are compared in
// test/Execution/tile-and-fuse.mlir.

// CHECK-LABEL: func.func @transform
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<64x128xbf16>
func.func @transform(%x: tensor<64x128xbf16>) -> (tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>) {
  // CHECK-NOT: blockscale.hadamard
  // CHECK: scf.for %[[I:.+]] = %c0 to %c64 step %c32
  // CHECK: scf.for %[[J:.+]] = %c0 to %c128 step %c64
  // CHECK: %[[XT:.+]] = tensor.extract_slice %[[X]][%[[I]], %[[J]]] [32, 64] [1, 1]
  // CHECK: %[[T:.+]] = blockscale.hadamard %[[XT]] dim 1 : tensor<32x64xbf16>
  // CHECK: blockscale.quantize %[[T]]
  %t = blockscale.hadamard %x dim 1 : tensor<64x128xbf16>
  %q, %s = blockscale.quantize %t block [1, 16] recipe te : tensor<64x128xbf16> -> tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>
  return %q, %s : tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>
}

// A quantization whose dequantized values are quantized again stays whole.
// CHECK-LABEL: func.func @again
func.func @again(%x: tensor<64x128xbf16>) -> (tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>) {
  // CHECK: scf.for
  // CHECK: blockscale.quantize {{.*}} block [1, 32]
  // CHECK: scf.for
  // CHECK: scf.for
  // CHECK-NOT: blockscale.quantize {{.*}} block [1, 32]
  // CHECK: %[[Y:.+]] = blockscale.dequantize
  // CHECK: blockscale.quantize %[[Y]] block [1, 16]
  %q, %s = blockscale.quantize %x block [1, 32] : tensor<64x128xbf16> -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
  %y = blockscale.dequantize %q, %s block [1, 32] : tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU> -> tensor<64x128xbf16>
  %p, %t = blockscale.quantize %y block [1, 16] : tensor<64x128xbf16> -> tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>
  return %p, %t : tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>
}

// Loops of 16 rows would cut blocks of 32, which are dequantized whole.
// CHECK-LABEL: func.func @cut
// CHECK-NOT: blockscale.dequantize
// CHECK: scf.for
// CHECK: scf.for
// CHECK: blockscale.dequantize
// CUT-LABEL: func.func @cut
// CUT: blockscale.dequantize
// CUT: scf.for
// CUT-NOT: blockscale.dequantize
func.func @cut(%q: tensor<64x128xf8E4M3FN>, %s: tensor<2x4xf8E8M0FNU>) -> (tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>) {
  %y = blockscale.dequantize %q, %s block [32, 32] : tensor<64x128xf8E4M3FN>, tensor<2x4xf8E8M0FNU> -> tensor<64x128xbf16>
  %p, %t = blockscale.quantize %y block [1, 16] : tensor<64x128xbf16> -> tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>
  return %p, %t : tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>
}
