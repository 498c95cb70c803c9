// RUN: blockscale-opt %s -verify-roundtrip | FileCheck %s
// RUN: blockscale-opt %s -mlir-print-op-generic | blockscale-opt | FileCheck %s

#prepacked = #blockscale.data_layout<fragments_64x64>

// Both ways, with a size for each dimension that prepacked data do not store.
// CHECK-LABEL: func.func @prepack
// CHECK-SAME: %[[D:.+]]: tensor<3x?x256xf4E2M1FN>, %[[N:.+]]: index
func.func @prepack(%d: tensor<3x?x256xf4E2M1FN>, %n: index) {
  // CHECK: %[[P:.+]] = blockscale.prepack %[[D]] : tensor<3x?x256xf4E2M1FN> -> tensor<3x?x256xf4E2M1FN, #prepacked>
  %p = blockscale.prepack %d : tensor<3x?x256xf4E2M1FN> -> tensor<3x?x256xf4E2M1FN, #prepacked>
  // CHECK: blockscale.prepack %[[P]] sizes(%[[N]]) : tensor<3x?x256xf4E2M1FN, #prepacked> -> tensor<3x?x256xf4E2M1FN>
  %u = blockscale.prepack %p sizes(%n) : tensor<3x?x256xf4E2M1FN, #prepacked> -> tensor<3x?x256xf4E2M1FN>
  return
}

// A product takes the operand with scales prepacked beside a plain one, on
// either side.
// CHECK-LABEL: func.func @products
func.func @products(%x: tensor<8x64xbf16>, %w: tensor<16x64xf4E2M1FN, #prepacked>, %s: tensor<16x4xf8E4M3FN>) {
  // CHECK: blockscale.scaled_mm {{.+}} : tensor<8x64xbf16>, tensor<16x64xf4E2M1FN, #prepacked>, tensor<16x4xf8E4M3FN> -> tensor<8x16xbf16>
  %0 = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16]
      : tensor<8x64xbf16>, tensor<16x64xf4E2M1FN, #prepacked>, tensor<16x4xf8E4M3FN> -> tensor<8x16xbf16>
  // CHECK: blockscale.scaled_mm {{.+}} : tensor<16x64xf4E2M1FN, #prepacked>, tensor<8x64xbf16>, tensor<16x4xf8E4M3FN> -> tensor<16x8xbf16>
  %1 = blockscale.scaled_mm %w, %x scales(%s, none) block [1, 16]
      : tensor<16x64xf4E2M1FN, #prepacked>, tensor<8x64xbf16>, tensor<16x4xf8E4M3FN> -> tensor<16x8xbf16>
  return
}

// Groups of rows take the weights of all groups prepacked.
// CHECK-LABEL: func.func @groups
func.func @groups(%x: tensor<8x64xbf16>, %w: tensor<3x16x64xf8E4M3FN, #prepacked>, %s: tensor<3x16x2xf8E8M0FNU>, %ends: tensor<3xi32>) {
  // CHECK: blockscale.scaled_grouped_mm {{.+}} : tensor<8x64xbf16>, tensor<3x16x64xf8E4M3FN, #prepacked>, tensor<3xi32>
  %0 = blockscale.scaled_grouped_mm %x, %w offsets(%ends) scales(none, %s) block [1, 32]
      : tensor<8x64xbf16>, tensor<3x16x64xf8E4M3FN, #prepacked>, tensor<3xi32>, tensor<3x16x2xf8E8M0FNU> -> tensor<8x16xbf16>
  return
}
