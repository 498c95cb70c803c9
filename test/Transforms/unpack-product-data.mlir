// RUN: blockscale-opt %s -blockscale-unpack-product-data -verify-diagnostics | FileCheck %s
// RUN: blockscale-opt %s -blockscale-unpack-product-data=k-major=false 2>/dev/null | FileCheck %s --check-prefix=KEPT
// RUN: blockscale-opt %s -blockscale-unpack-product-data -blockscale-fold-constants -canonicalize 2>/dev/null | FileCheck %s --check-prefix=FOLDED

#prepacked = #blockscale.data_layout<fragments_64x64>

// A kernel brings an argument back, and a remark says so.
// CHECK-LABEL: func.func @argument
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8x64xbf16>, %[[W:[a-z0-9]+]]: tensor<16x64xf4E2M1FN, #prepacked>
// CHECK: %[[U:.+]] = blockscale.prepack %[[W]] : tensor<16x64xf4E2M1FN, #prepacked> -> tensor<16x64xf4E2M1FN>
// CHECK: blockscale.scaled_mm %[[X]], %[[U]] scales(none, %{{.+}})
func.func @argument(%x: tensor<8x64xbf16>, %w: tensor<16x64xf4E2M1FN, #prepacked>, %s: tensor<16x4xf8E4M3FN>) -> tensor<8x16xbf16> {
  // expected-remark @below {{reads prepacked data by a kernel that brings it to row-major order, as its own kernels read no other; row-major data needs none}}
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16]
      : tensor<8x64xbf16>, tensor<16x64xf4E2M1FN, #prepacked>, tensor<16x4xf8E4M3FN> -> tensor<8x16xbf16>
  return %y : tensor<8x16xbf16>
}

// What is prepacked for the product, and constants, need no kernel.
// FOLDED-LABEL: func.func @no_kernel
// FOLDED-SAME: %[[X:[a-z0-9]+]]: tensor<8x64xbf16>, %[[W:[a-z0-9]+]]: tensor<16x64xf8E4M3FN>
// FOLDED: %[[V:.+]] = arith.constant dense<1.000000e+00> : tensor<16x64xf8E4M3FN>
// FOLDED-NOT: blockscale.prepack
// FOLDED: blockscale.scaled_mm %[[W]], %[[X]] scales(%{{.+}}, none)
// FOLDED: blockscale.scaled_mm %[[X]], %[[V]] scales(none, %{{.+}})
func.func @no_kernel(%x: tensor<8x64xbf16>, %w: tensor<16x64xf8E4M3FN>, %s: tensor<16x2xf8E8M0FNU>) -> (tensor<16x8xbf16>, tensor<8x16xbf16>) {
  %v = arith.constant dense<1.0> : tensor<16x64xf8E4M3FN, #prepacked>
  %p = blockscale.prepack %w : tensor<16x64xf8E4M3FN> -> tensor<16x64xf8E4M3FN, #prepacked>
  %0 = blockscale.scaled_mm %p, %x scales(%s, none) block [1, 32]
      : tensor<16x64xf8E4M3FN, #prepacked>, tensor<8x64xbf16>, tensor<16x2xf8E8M0FNU> -> tensor<16x8xbf16>
  %1 = blockscale.scaled_mm %x, %v scales(none, %s) block [1, 32]
      : tensor<8x64xbf16>, tensor<16x64xf8E4M3FN, #prepacked>, tensor<16x2xf8E8M0FNU> -> tensor<8x16xbf16>
  return %0, %1 : tensor<16x8xbf16>, tensor<8x16xbf16>
}

// Sizes that the data do not store: groups are those of the offsets, rows those of the
// scales, or of the bias where the scales are in tiles.
// CHECK-LABEL: func.func @sizes
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<?x?x2xf8E8M0FNU>, %[[T:[a-z0-9]+]]: tensor<?x2xf8E8M0FNU, #swizzled>, %[[BIAS:[a-z0-9]+]]: tensor<?xbf16>, %[[ENDS:[a-z0-9]+]]: tensor<?xi32>
// CHECK-DAG: %[[G:.+]] = tensor.dim %[[ENDS]], %c0
// CHECK-DAG: %[[N:.+]] = tensor.dim %[[S]], %c1
// CHECK: blockscale.prepack %{{.+}} sizes(%[[G]], %[[N]]) : tensor<?x?x64xf8E4M3FN, #prepacked> -> tensor<?x?x64xf8E4M3FN>
// CHECK: %[[M:.+]] = tensor.dim %[[BIAS]], %c0
// CHECK: blockscale.prepack %{{.+}} sizes(%[[M]]) : tensor<?x64xf8E4M3FN, #prepacked> -> tensor<?x64xf8E4M3FN>
func.func @sizes(%s: tensor<?x?x2xf8E8M0FNU>, %t: tensor<?x2xf8E8M0FNU, #blockscale.layout<swizzle_128x4>>, %bias: tensor<?xbf16>, %ends: tensor<?xi32>,
                 %x: tensor<8x64xbf16>, %w: tensor<?x?x64xf8E4M3FN, #prepacked>, %v: tensor<?x64xf8E4M3FN, #prepacked>) -> (tensor<8x?xbf16>, tensor<8x?xbf16>) {
  // expected-remark @below {{reads prepacked data by a kernel}}
  %0 = blockscale.scaled_grouped_mm %x, %w offsets(%ends) scales(none, %s) block [1, 32]
      : tensor<8x64xbf16>, tensor<?x?x64xf8E4M3FN, #prepacked>, tensor<?xi32>, tensor<?x?x2xf8E8M0FNU> -> tensor<8x?xbf16>
  // expected-remark @below {{reads prepacked data by a kernel}}
  %1 = blockscale.scaled_mm %x, %v scales(none, %t) block [1, 32] bias(%bias : tensor<?xbf16>)
      : tensor<8x64xbf16>, tensor<?x64xf8E4M3FN, #prepacked>, tensor<?x2xf8E8M0FNU, #blockscale.layout<swizzle_128x4>> -> tensor<8x?xbf16>
  return %0, %1 : tensor<8x?xbf16>, tensor<8x?xbf16>
}

// Row-major data stay as they are.
// CHECK-LABEL: func.func @row_major
// CHECK-NOT: blockscale.prepack
func.func @row_major(%x: tensor<8x64xbf16>, %w: tensor<16x64xf8E4M3FN>, %s: tensor<16x2xf8E8M0FNU>) -> tensor<8x16xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 32]
      : tensor<8x64xbf16>, tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU> -> tensor<8x16xbf16>
  return %y : tensor<8x16xbf16>
}

// MN-major operands are transposed, of each matrix, for targets that read
// K-major ones alone.
// CHECK-LABEL: func.func @mn_major
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x48xbf16>, %[[W:[a-z0-9]+]]: tensor<3x?x40xbf16>, %[[R:[a-z0-9]+]]: tensor<48x64xbf16>
// CHECK: %[[T:.+]] = linalg.transpose ins(%[[X]] : tensor<?x48xbf16>) outs(%{{.+}} : tensor<48x?xbf16>) permutation = [1, 0]
// CHECK: blockscale.scaled_mm %[[T]], %{{.+}} scales(none, none) block [1, 16] : tensor<48x?xbf16>, tensor<40x64xbf16> -> tensor<48x40xf32>
// CHECK: %[[V:.+]] = linalg.transpose ins(%[[W]] : tensor<3x?x40xbf16>) outs(%{{.+}} : tensor<3x40x?xbf16>) permutation = [0, 2, 1]
// CHECK: blockscale.scaled_grouped_mm %[[R]], %[[V]] offsets(%{{.+}}) scales(none, none)
// KEPT-LABEL: func.func @mn_major
// KEPT-NOT: linalg.transpose
// KEPT: blockscale.scaled_mm %{{.+}}, %{{.+}} mn_major_a scales(none, none)
// KEPT: blockscale.scaled_grouped_mm %{{.+}}, %{{.+}} mn_major_b offsets
func.func @mn_major(%x: tensor<?x48xbf16>, %w: tensor<3x?x40xbf16>, %r: tensor<48x64xbf16>, %v: tensor<40x64xbf16>, %ends: tensor<3xi32>) -> (tensor<48x40xf32>, tensor<48x40xf32>) {
  %0 = blockscale.scaled_mm %x, %v mn_major_a scales(none, none) block [1, 16]
      : tensor<?x48xbf16>, tensor<40x64xbf16> -> tensor<48x40xf32>
  %1 = blockscale.scaled_grouped_mm %r, %w mn_major_b offsets(%ends) scales(none, none) block [1, 16]
      : tensor<48x64xbf16>, tensor<3x?x40xbf16>, tensor<3xi32> -> tensor<48x40xf32>
  return %0, %1 : tensor<48x40xf32>, tensor<48x40xf32>
}

// Blocks across K are no blocks of the transposed data: such an operand is decoded as it lies.
// CHECK-LABEL: func.func @blocks
// CHECK-NOT: linalg.transpose
// CHECK: blockscale.scaled_mm %{{.+}}, %{{.+}} mn_major_b scales(none, %{{.+}})
func.func @blocks(%x: tensor<8x64xbf16>, %w: tensor<64x48xf4E2M1FN>, %s: tensor<64x3xf8E4M3FN>) -> tensor<8x48xf32> {
  %y = blockscale.scaled_mm %x, %w mn_major_b scales(none, %s) block [1, 16]
      : tensor<8x64xbf16>, tensor<64x48xf4E2M1FN>, tensor<64x3xf8E4M3FN> -> tensor<8x48xf32>
  return %y : tensor<8x48xf32>
}
