// RUN: blockscale-opt %s -blockscale-prepack-product-weights -split-input-file | FileCheck %s
// RUN: blockscale-opt %s -blockscale-prepack-product-weights -blockscale-fold-constants -split-input-file | FileCheck %s --check-prefix=FOLDED
// RUN: blockscale-opt %s -blockscale-prepack-product-weights=chip=sm_100a -split-input-file | FileCheck %s --check-prefix=OTHER
// RUN: blockscale-opt %s -blockscale-prepack-product-weights=chip=sm_80 -split-input-file | FileCheck %s --check-prefix=OTHER
// RUN: blockscale-opt %s -blockscale-prepack-product-weights=max-elements=64 -split-input-file 2>&1 | FileCheck %s --check-prefix=LARGE

// Weights that are not evaluated at compile time are kept.
// LARGE: remark: has row-major weights: expected a constant of at most 64 elements (max-elements) to prepack, but got 'tensor<16x64xf4E2M1FN>'
// LARGE-NOT: blockscale.prepack

// Other chips have no products that read prepacked data.
// OTHER-NOT: blockscale.prepack

// A constant weight is prepacked, at compile time.
// CHECK-LABEL: func.func @weight
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8x64xbf16>
// CHECK: %[[W:.+]] = arith.constant dense<1.000000e+00> : tensor<16x64xf4E2M1FN>
// CHECK: %[[P:.+]] = blockscale.prepack %[[W]] : tensor<16x64xf4E2M1FN> -> tensor<16x64xf4E2M1FN, #prepacked>
// CHECK: blockscale.scaled_mm %[[X]], %[[P]] scales(none, %{{.+}})
// FOLDED-LABEL: func.func @weight
// FOLDED: %[[P:.+]] = arith.constant {{.+}} : tensor<16x64xf4E2M1FN, #prepacked>
// FOLDED-NOT: blockscale.prepack
// FOLDED: blockscale.scaled_mm %{{.+}}, %[[P]] scales(none, %{{.+}})
func.func @weight(%x: tensor<8x64xbf16>, %s: tensor<16x4xf8E4M3FN>) -> tensor<8x16xbf16> {
  %w = arith.constant dense<1.0> : tensor<16x64xf4E2M1FN>
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16]
      : tensor<8x64xbf16>, tensor<16x64xf4E2M1FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xbf16>
  return %y : tensor<8x16xbf16>
}

// -----

// The operand with scales may be the first one.
// CHECK-LABEL: func.func @first
// CHECK: %[[P:.+]] = blockscale.prepack
// CHECK: blockscale.scaled_mm %[[P]], %{{.+}} scales(%{{.+}}, none)
func.func @first(%x: tensor<8x64xbf16>, %s: tensor<16x2xf8E8M0FNU>) -> tensor<16x8xbf16> {
  %w = arith.constant dense<1.0> : tensor<16x64xf8E4M3FN>
  %y = blockscale.scaled_mm %w, %x scales(%s, none) block [1, 32]
      : tensor<16x64xf8E4M3FN>, tensor<8x64xbf16>, tensor<16x2xf8E8M0FNU> -> tensor<16x8xbf16>
  return %y : tensor<16x8xbf16>
}

// -----

// Weights of the groups of rows.
// CHECK-LABEL: func.func @experts
// CHECK: %[[P:.+]] = blockscale.prepack
// CHECK: blockscale.scaled_grouped_mm %{{.+}}, %[[P]] offsets
func.func @experts(%x: tensor<8x64xbf16>, %s: tensor<3x16x2xf8E8M0FNU>, %ends: tensor<3xi32>) -> tensor<8x16xbf16> {
  %w = arith.constant dense<1.0> : tensor<3x16x64xf8E4M3FN>
  %y = blockscale.scaled_grouped_mm %x, %w offsets(%ends) scales(none, %s) block [1, 32]
      : tensor<8x64xbf16>, tensor<3x16x64xf8E4M3FN>, tensor<3xi32>, tensor<3x16x2xf8E8M0FNU> -> tensor<8x16xbf16>
  return %y : tensor<8x16xbf16>
}

// -----

// Weights that are not known here, both operands with scales, and groups that begin in
// the data are kept.
// CHECK-LABEL: func.func @kept
// CHECK-NOT: blockscale.prepack
func.func @kept(%x: tensor<8x64xbf16>, %v: tensor<16x64xf8E4M3FN>, %s: tensor<16x2xf8E8M0FNU>, %z: tensor<3x8x64xbf16>, %ends: tensor<3xi32>)
    -> (tensor<8x16xbf16>, tensor<16x16xbf16>, tensor<3x8x16xbf16>, tensor<16x8xbf16>) {
  %w = arith.constant dense<1.0> : tensor<16x64xf8E4M3FN>
  %0 = blockscale.scaled_mm %x, %v scales(none, %s) block [1, 32]
      : tensor<8x64xbf16>, tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU> -> tensor<8x16xbf16>
  %1 = blockscale.scaled_mm %v, %w scales(%s, %s) block [1, 32]
      : tensor<16x64xf8E4M3FN>, tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU>, tensor<16x2xf8E8M0FNU> -> tensor<16x16xbf16>
  %2 = blockscale.scaled_grouped_mm %x, %w offsets(%ends) scales(none, %s) block [1, 32]
      : tensor<8x64xbf16>, tensor<16x64xf8E4M3FN>, tensor<3xi32>, tensor<16x2xf8E8M0FNU> -> tensor<3x8x16xbf16>
  %3 = blockscale.scaled_grouped_mm %w, %z offsets(%ends) scales(%s, none) block [1, 32]
      : tensor<16x64xf8E4M3FN>, tensor<3x8x64xbf16>, tensor<3xi32>, tensor<16x2xf8E8M0FNU> -> tensor<16x8xbf16>
  return %0, %1, %2, %3 : tensor<8x16xbf16>, tensor<16x16xbf16>, tensor<3x8x16xbf16>, tensor<16x8xbf16>
}

// -----

// Constants of a product without scales are no codes.
// CHECK-LABEL: func.func @no_scales
// CHECK-NOT: blockscale.prepack
// FOLDED-LABEL: func.func @no_scales
func.func @no_scales() -> tensor<8x16xbf16> {
  %x = arith.constant dense<1.0> : tensor<8x64xbf16>
  %w = arith.constant dense<1.0> : tensor<16x64xbf16>
  %y = blockscale.scaled_mm %x, %w scales(none, none) block [1, 16]
      : tensor<8x64xbf16>, tensor<16x64xbf16> -> tensor<8x16xbf16>
  return %y : tensor<8x16xbf16>
}

// -----

// No kernel of a product reads data across K, in whatever order.
// CHECK-LABEL: func.func @mn_major
// CHECK-NOT: blockscale.prepack
// CHECK: blockscale.scaled_mm
func.func @mn_major(%x: tensor<8x64xbf16>, %s: tensor<64x4xf8E4M3FN>) -> tensor<8x64xbf16> {
  %w = arith.constant dense<1.0> : tensor<64x64xf4E2M1FN>
  %y = blockscale.scaled_mm %x, %w mn_major_b scales(none, %s) block [1, 16]
      : tensor<8x64xbf16>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN> -> tensor<8x64xbf16>
  return %y : tensor<8x64xbf16>
}
