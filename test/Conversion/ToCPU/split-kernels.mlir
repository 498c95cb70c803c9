// RUN: blockscale-opt %s --blockscale-lower-kernels-to-cpu | FileCheck %s

// Ops that read inputs only become calls in order, each with its own buffers.
// CHECK-LABEL: func.func @rows_and_columns
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<64x32xbf16>, %[[Q:[a-z0-9]+]]: memref<64x32xf8E4M3FN>, %[[S:[a-z0-9]+]]: memref<64x1xf8E8M0FNU>, %[[P:[a-z0-9]+]]: memref<32x64xf8E4M3FN>, %[[T:[a-z0-9]+]]: memref<32x2xf8E8M0FNU>)
// CHECK-NOT: blockscale.kernel
// CHECK: call @rows_and_columns_quantize_0(%[[X]], %[[P]], %[[T]],
// CHECK: call @rows_and_columns_quantize_1(%[[X]], %[[Q]], %[[S]],
func.func @rows_and_columns(%x: memref<64x32xbf16>, %q: memref<64x32xf8E4M3FN>, %s: memref<64x1xf8E8M0FNU>, %p: memref<32x64xf8E4M3FN>, %t: memref<32x2xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<64x32xbf16>) outs(%q, %t, %s, %p : memref<64x32xf8E4M3FN>, memref<32x2xf8E8M0FNU>, memref<64x1xf8E8M0FNU>, memref<32x64xf8E4M3FN>) {
  ^bb0(%lx: tensor<64x32xbf16>, %lq: tensor<64x32xf8E4M3FN>, %lt: tensor<32x2xf8E8M0FNU>, %ls: tensor<64x1xf8E8M0FNU>, %lp: tensor<32x64xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [32, 1] transposed : tensor<64x32xbf16> -> tensor<32x64xf8E4M3FN>, tensor<32x2xf8E8M0FNU>
    %2, %3 = blockscale.quantize %lx block [1, 32] : tensor<64x32xbf16> -> tensor<64x32xf8E4M3FN>, tensor<64x1xf8E8M0FNU>
    blockscale.yield %2, %1, %3, %0 : tensor<64x32xf8E4M3FN>, tensor<32x2xf8E8M0FNU>, tensor<64x1xf8E8M0FNU>, tensor<32x64xf8E4M3FN>
  }
  return
}
