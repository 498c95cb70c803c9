// RUN: blockscale-opt %s --blockscale-relayout-scales=chip=sm_90a | FileCheck %s

// Rows of f16 and f32 whose length is dynamic: a kernel of a GPU takes their blocks without the
// rows, and writes linear scales.

// CHECK: #[[TILES:.+]] = #blockscale.layout<swizzle_128x4>
#tiles = #blockscale.layout<swizzle_128x4>

// CHECK-LABEL: func.func @f16(
func.func @f16(%x: tensor<?x?xf16>) -> (tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN, #tiles>) {
  // CHECK: %[[Q:.+]], %[[L:.+]] = blockscale.quantize {{.+}} -> tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN>
  // CHECK: %[[S:.+]] = blockscale.swizzle %[[L]] : tensor<?x?xf8E4M3FN> -> tensor<?x?xf8E4M3FN, #[[TILES]]>
  // CHECK: return %[[Q]], %[[S]]
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<?x?xf16> -> tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN, #tiles>
  return %q, %s : tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN, #tiles>
}

// Kernels for rows of bf16 write tiles, whatever the length ...
// CHECK-LABEL: func.func @bf16(
// CHECK-NOT: swizzle %
func.func @bf16(%x: tensor<?x?xbf16>) -> (tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN, #tiles>) {
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<?x?xbf16> -> tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN, #tiles>
  return %q, %s : tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN, #tiles>
}

// ... and random numbers or not ...
// CHECK-LABEL: func.func @random(
// CHECK-NOT: swizzle %
func.func @random(%x: tensor<?x?xbf16>, %r: tensor<2xi64>) -> (tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN, #tiles>) {
  %q, %s = blockscale.quantize %x block [1, 16] rng(%r : tensor<2xi64>) : tensor<?x?xbf16> -> tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN, #tiles>
  return %q, %s : tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN, #tiles>
}

// ... but not where amaxes of blocks are given.
// CHECK-LABEL: func.func @given_amaxes(
// CHECK: blockscale.swizzle
func.func @given_amaxes(%x: tensor<?x?xbf16>, %m: tensor<?x?xf32>) -> (tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN, #tiles>) {
  %q, %s = blockscale.quantize %x block [1, 16] block_amax(%m : tensor<?x?xf32>) : tensor<?x?xbf16> -> tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN, #tiles>
  return %q, %s : tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN, #tiles>
}

// Kernels for rows of a static length write tiles, and so do those for blocks of several rows.
// CHECK-LABEL: func.func @static(
// CHECK-NOT: swizzle %
func.func @static(%x: tensor<?x256xf32>, %y: tensor<64x?xf32>) -> (tensor<?x8xf8E8M0FNU, #tiles>, tensor<?x2xf8E8M0FNU, #tiles>) {
  %q, %s = blockscale.quantize %x block [1, 32] : tensor<?x256xf32> -> tensor<?x256xf8E4M3FN>, tensor<?x8xf8E8M0FNU, #tiles>
  %p, %t = blockscale.quantize %y block [32, 1] transposed : tensor<64x?xf32> -> tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU, #tiles>
  return %s, %t : tensor<?x8xf8E8M0FNU, #tiles>, tensor<?x2xf8E8M0FNU, #tiles>
}

// Tiles of groups are written by kernels that tell rows apart, or not at all.
// CHECK-LABEL: func.func @groups(
// CHECK-NOT: swizzle %
#groups = #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>
func.func @groups(%x: tensor<?x?xf32>, %o: tensor<2xi32>) -> tensor<?x?xf8E4M3FN, #groups> {
  %q, %s = blockscale.quantize %x block [1, 16] offsets(%o : tensor<2xi32>) : tensor<?x?xf32> -> tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN, #groups>
  return %s : tensor<?x?xf8E4M3FN, #groups>
}
