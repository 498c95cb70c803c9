// RUN: blockscale-opt %s -blockscale-lower-kernels-to-cpu | FileCheck %s

// Upstream's casts of 4- and 8-bit floats, bf16 and f16 round otherwise or flush
// subnormals, its libm calls and approximations are not exact: all arithmetic is
// on f32 and its bits. An exact product may be fused with a sum.
// CHECK-NOT: arith.truncf
// CHECK-NOT: arith.scaling
// CHECK-NOT: math.
// CHECK-NOT: fastmath<{{(fast|arcp|reassoc|nnan|ninf|nsz|afn)}}
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @nvfp4(%x: memref<4x16xbf16>, %q: memref<4x8xi8>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<4x16xf16>) {
  blockscale.kernel ins(%x : memref<4x16xbf16>) outs(%q, %s : memref<4x8xi8>, memref<1x1x32x4x4xf8E4M3FN>) {
  ^bb0(%lx: tensor<4x16xbf16>, %lq: tensor<4x16xf4E2M1FN>, %ls: tensor<4x1xf8E4M3FN, #swizzled>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe te
        : tensor<4x16xbf16> -> tensor<4x16xf4E2M1FN>, tensor<4x1xf8E4M3FN, #swizzled>
    blockscale.yield %0, %1 : tensor<4x16xf4E2M1FN>, tensor<4x1xf8E4M3FN, #swizzled>
  }
  blockscale.kernel ins(%q, %s : memref<4x8xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<4x16xf16>) {
  ^bb0(%lq: tensor<4x16xf4E2M1FN>, %ls: tensor<4x1xf8E4M3FN, #swizzled>, %ly: tensor<4x16xf16>):
    %0 = blockscale.dequantize %lq, %ls block [1, 16]
        : tensor<4x16xf4E2M1FN>, tensor<4x1xf8E4M3FN, #swizzled> -> tensor<4x16xf16>
    blockscale.yield %0 : tensor<4x16xf16>
  }
  return
}
func.func @mxfp8(%x: memref<4x32xf32>, %q: memref<4x32xf8E5M2>, %s: memref<4x1xf8E8M0FNU>, %y: memref<4x32xbf16>) {
  blockscale.kernel ins(%x : memref<4x32xf32>) outs(%q, %s : memref<4x32xf8E5M2>, memref<4x1xf8E8M0FNU>) {
  ^bb0(%lx: tensor<4x32xf32>, %lq: tensor<4x32xf8E5M2>, %ls: tensor<4x1xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32] recipe even : tensor<4x32xf32> -> tensor<4x32xf8E5M2>, tensor<4x1xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<4x32xf8E5M2>, tensor<4x1xf8E8M0FNU>
  }
  blockscale.kernel ins(%q, %s : memref<4x32xf8E5M2>, memref<4x1xf8E8M0FNU>) outs(%y : memref<4x32xbf16>) {
  ^bb0(%lq: tensor<4x32xf8E5M2>, %ls: tensor<4x1xf8E8M0FNU>, %ly: tensor<4x32xbf16>):
    %0 = blockscale.dequantize %lq, %ls block [1, 32] : tensor<4x32xf8E5M2>, tensor<4x1xf8E8M0FNU> -> tensor<4x32xbf16>
    blockscale.yield %0 : tensor<4x32xbf16>
  }
  return
}
