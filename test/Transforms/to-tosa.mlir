// RUN: blockscale-opt %s --blockscale-to-tosa --canonicalize | FileCheck %s

// The three ops, of each rank that TOSA takes.
// CHECK-LABEL: func.func @casts
// CHECK-SAME: %[[X:.+]]: tensor<2x8x64xf32>
// CHECK: %[[D:.+]], %[[S:.+]] = tosa.cast_to_block_scaled %[[X]] {block_size = BLOCK_SIZE_32} : (tensor<2x8x64xf32>) -> (tensor<2x8x64xf4E2M1FN>, tensor<2x8x2xf8E8M0FNU>)
// CHECK: tosa.cast_from_block_scaled %[[D]], %[[S]] {block_size = BLOCK_SIZE_32} : {{.*}} -> tensor<2x8x64xbf16>
// CHECK-NOT: blockscale.
func.func @casts(%x: tensor<2x8x64xf32>) -> tensor<2x8x64xbf16> {
  %d, %s = blockscale.quantize %x block [1, 32] recipe tosa : tensor<2x8x64xf32> -> tensor<2x8x64xf4E2M1FN>, tensor<2x8x2xf8E8M0FNU>
  %y = blockscale.dequantize %d, %s block [1, 32] : tensor<2x8x64xf4E2M1FN>, tensor<2x8x2xf8E8M0FNU> -> tensor<2x8x64xbf16>
  return %y : tensor<2x8x64xbf16>
}

// All recipes of MX decode alike.
// CHECK-LABEL: func.func @other_recipe
// CHECK: tosa.cast_from_block_scaled
func.func @other_recipe(%d: tensor<8x64xf8E4M3FN>, %s: tensor<8x2xf8E8M0FNU>) -> tensor<8x64xf32> {
  %y = blockscale.dequantize %d, %s block [1, 32] recipe even : tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU> -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// A product of batches is one op.
// CHECK-LABEL: func.func @product
// CHECK-SAME: %[[A:.+]]: tensor<?x8x64xf8E5M2>, %[[SA:.+]]: tensor<?x8x2xf8E8M0FNU>, %[[B:.+]]: tensor<?x16x64xf8E5M2>, %[[SB:.+]]: tensor<?x16x2xf8E8M0FNU>
// CHECK-NEXT: %[[Y:.+]] = tosa.matmul_t_block_scaled %[[A]], %[[SA]], %[[B]], %[[SB]] {block_size = BLOCK_SIZE_32}
// CHECK-NEXT: return %[[Y]]
func.func @product(%a: tensor<?x8x64xf8E5M2>, %sa: tensor<?x8x2xf8E8M0FNU>, %b: tensor<?x16x64xf8E5M2>, %sb: tensor<?x16x2xf8E8M0FNU>) -> tensor<?x8x16xf32> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 32] : tensor<?x8x64xf8E5M2>, tensor<?x16x64xf8E5M2>, tensor<?x8x2xf8E8M0FNU>, tensor<?x16x2xf8E8M0FNU> -> tensor<?x8x16xf32>
  return %y : tensor<?x8x16xf32>
}

// Matrices are batches of one: what is quantized is reshaped before, since TOSA reshapes no
// MX data. The bias is added in f32, before the rounding.
// CHECK-LABEL: func.func @layer
// CHECK-SAME: %[[X:.+]]: tensor<?x64xbf16>, %[[W:.+]]: tensor<16x64xf32>, %[[V:.+]]: tensor<16xbf16>
// CHECK-DAG: %[[XB:.+]] = tosa.reshape %[[X]], %{{.+}} -> tensor<1x?x64xbf16>
// CHECK-DAG: %[[Q:.+]], %[[QS:.+]] = tosa.cast_to_block_scaled %[[XB]] {{.*}} -> (tensor<1x?x64xf8E4M3FN>, tensor<1x?x2xf8E8M0FNU>)
// CHECK-DAG: %[[WB:.+]] = tosa.reshape %[[W]], %{{.+}} -> tensor<1x16x64xf32>
// CHECK-DAG: %[[R:.+]], %[[RS:.+]] = tosa.cast_to_block_scaled %[[WB]]
// CHECK: %[[P:.+]] = tosa.matmul_t_block_scaled %[[Q]], %[[QS]], %[[R]], %[[RS]] {{.*}} -> tensor<1x?x16xf32>
// CHECK: %[[VB:.+]] = tosa.reshape %[[V]], %{{.+}} -> tensor<1x1x16xbf16>
// CHECK: %[[VW:.+]] = tosa.cast %[[VB]] : (tensor<1x1x16xbf16>) -> tensor<1x1x16xf32>
// CHECK: %[[S:.+]] = tosa.add %[[P]], %[[VW]]
// CHECK: %[[C:.+]] = tosa.cast %[[S]] : (tensor<1x?x16xf32>) -> tensor<1x?x16xbf16>
// CHECK: tosa.reshape %[[C]], %{{.+}} -> tensor<?x16xbf16>
// CHECK-NOT: blockscale.
func.func @layer(%x: tensor<?x64xbf16>, %w: tensor<16x64xf32>, %v: tensor<16xbf16>) -> tensor<?x16xbf16> {
  %q, %qs = blockscale.quantize %x block [1, 32] recipe tosa : tensor<?x64xbf16> -> tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
  %r, %rs = blockscale.quantize %w block [1, 32] recipe tosa : tensor<16x64xf32> -> tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU>
  %y = blockscale.scaled_mm %q, %r scales(%qs, %rs) block [1, 32] bias(%v : tensor<16xbf16>) : tensor<?x64xf8E4M3FN>, tensor<16x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>, tensor<16x2xf8E8M0FNU> -> tensor<?x16xbf16>
  return %y : tensor<?x16xbf16>
}

// MXINT8 data have a type of their own in TOSA, in signatures and between ops.
// CHECK-LABEL: func.func @mxint8
// CHECK-SAME: %[[X:.+]]: tensor<1x8x64xf32>, %[[B:.+]]: tensor<1x16x64x!tosa.mxint8>
// CHECK-SAME: -> (tensor<1x8x16xf32>, tensor<1x8x64x!tosa.mxint8>)
// CHECK: %[[D:.+]], %[[S:.+]] = tosa.cast_to_block_scaled %[[X]] {{.*}} -> (tensor<1x8x64x!tosa.mxint8>, tensor<1x8x2xf8E8M0FNU>)
// CHECK: %[[Y:.+]] = tosa.matmul_t_block_scaled %[[D]], %[[S]], %[[B]]
// CHECK: return %[[Y]], %[[D]]
func.func @mxint8(%x: tensor<1x8x64xf32>, %b: tensor<1x16x64xi8>, %sb: tensor<1x16x2xf8E8M0FNU>) -> (tensor<1x8x16xf32>, tensor<1x8x64xi8>) {
  %d, %s = blockscale.quantize %x block [1, 32] recipe tosa : tensor<1x8x64xf32> -> tensor<1x8x64xi8>, tensor<1x8x2xf8E8M0FNU>
  %y = blockscale.scaled_mm %d, %b scales(%s, %sb) block [1, 32] : tensor<1x8x64xi8>, tensor<1x16x64xi8>, tensor<1x8x2xf8E8M0FNU>, tensor<1x16x2xf8E8M0FNU> -> tensor<1x8x16xf32>
  return %y, %d : tensor<1x8x16xf32>, tensor<1x8x64xi8>
}
