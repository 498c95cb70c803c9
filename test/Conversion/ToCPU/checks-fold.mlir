// RUN: blockscale-opt %s -blockscale-lower-kernels-to-cpu -cse -canonicalize | FileCheck %s

// Buffers whose sizes come from x fit, and a recipe with tails takes any last
// dimension: nothing is left to check at run time.
// CHECK-LABEL: func.func @same_sizes(
// CHECK-NOT:     scf.if
// CHECK:         call @same_sizes_quantize_0(
func.func @same_sizes(%x: memref<4x?xbf16>) {
  %c1 = arith.constant 1 : index
  %k = memref.dim %x, %c1 : memref<4x?xbf16>
  %bytes = affine.apply affine_map<()[s0] -> (s0 ceildiv 2)>()[%k]
  %blocks = affine.apply affine_map<()[s0] -> (s0 ceildiv 16)>()[%k]
  %q = memref.alloc(%bytes) : memref<4x?xi8>
  %s = memref.alloc(%blocks) : memref<4x?xf8E4M3FN>
  blockscale.kernel ins(%x : memref<4x?xbf16>) outs(%q, %s : memref<4x?xi8>, memref<4x?xf8E4M3FN>) {
  ^bb0(%lx: tensor<4x?xbf16>, %lq: tensor<4x?xf4E2M1FN>, %ls: tensor<4x?xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe te : tensor<4x?xbf16> -> tensor<4x?xf4E2M1FN>, tensor<4x?xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<4x?xf4E2M1FN>, tensor<4x?xf8E4M3FN>
  }
  return
}

// A buffer of another size does not fit. The function is the same: it computes the same.
// CHECK-LABEL: func.func @other_size(
// CHECK:         scf.if
// CHECK:           call @same_sizes_quantize_0(
func.func @other_size(%x: memref<4x?xbf16>, %n: index) {
  %c1 = arith.constant 1 : index
  %k = memref.dim %x, %c1 : memref<4x?xbf16>
  %blocks = affine.apply affine_map<()[s0] -> (s0 ceildiv 16)>()[%k]
  %q = memref.alloc(%n) : memref<4x?xi8>
  %s = memref.alloc(%blocks) : memref<4x?xf8E4M3FN>
  blockscale.kernel ins(%x : memref<4x?xbf16>) outs(%q, %s : memref<4x?xi8>, memref<4x?xf8E4M3FN>) {
  ^bb0(%lx: tensor<4x?xbf16>, %lq: tensor<4x?xf4E2M1FN>, %ls: tensor<4x?xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe te : tensor<4x?xbf16> -> tensor<4x?xf4E2M1FN>, tensor<4x?xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<4x?xf4E2M1FN>, tensor<4x?xf8E4M3FN>
  }
  return
}
