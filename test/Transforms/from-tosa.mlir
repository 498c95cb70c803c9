// RUN: blockscale-opt %s --blockscale-from-tosa | FileCheck %s

// Values and data of one shape, in each type that TOSA has for data.
// CHECK-LABEL: func.func @cast_to
// CHECK-SAME: %[[X:.+]]: tensor<8x64xf32>, %[[Y:.+]]: tensor<3x8x64xbf16>
// CHECK: blockscale.quantize %[[X]] block [1, 32] recipe tosa : tensor<8x64xf32> -> tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>
// CHECK: blockscale.quantize %[[X]] block [1, 32] recipe tosa : tensor<8x64xf32> -> tensor<8x64xf6E3M2FN>, tensor<8x2xf8E8M0FNU>
// CHECK: blockscale.quantize %[[Y]] block [1, 32] recipe tosa : tensor<3x8x64xbf16> -> tensor<3x8x64xf4E2M1FN>, tensor<3x8x2xf8E8M0FNU>
func.func @cast_to(%x: tensor<8x64xf32>, %y: tensor<3x8x64xbf16>) -> (tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>, tensor<8x64xf6E3M2FN>, tensor<8x2xf8E8M0FNU>, tensor<3x8x64xf4E2M1FN>, tensor<3x8x2xf8E8M0FNU>) {
  %0, %1 = tosa.cast_to_block_scaled %x {block_size = BLOCK_SIZE_32} : (tensor<8x64xf32>) -> (tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>)
  %2, %3 = tosa.cast_to_block_scaled %x {block_size = BLOCK_SIZE_32} : (tensor<8x64xf32>) -> (tensor<8x64xf6E3M2FN>, tensor<8x2xf8E8M0FNU>)
  %4, %5 = tosa.cast_to_block_scaled %y {block_size = BLOCK_SIZE_32} : (tensor<3x8x64xbf16>) -> (tensor<3x8x64xf4E2M1FN>, tensor<3x8x2xf8E8M0FNU>)
  return %0, %1, %2, %3, %4, %5 : tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>, tensor<8x64xf6E3M2FN>, tensor<8x2xf8E8M0FNU>, tensor<3x8x64xf4E2M1FN>, tensor<3x8x2xf8E8M0FNU>
}

// CHECK-LABEL: func.func @cast_from
// CHECK-SAME: %[[D:.+]]: tensor<8x64xf8E5M2>, %[[S:.+]]: tensor<8x2xf8E8M0FNU>
// CHECK: blockscale.dequantize %[[D]], %[[S]] block [1, 32] recipe tosa : tensor<8x64xf8E5M2>, tensor<8x2xf8E8M0FNU> -> tensor<8x64xbf16>
func.func @cast_from(%d: tensor<8x64xf8E5M2>, %s: tensor<8x2xf8E8M0FNU>) -> tensor<8x64xbf16> {
  %0 = tosa.cast_from_block_scaled %d, %s {block_size = BLOCK_SIZE_32} : (tensor<8x64xf8E5M2>, tensor<8x2xf8E8M0FNU>) -> tensor<8x64xbf16>
  return %0 : tensor<8x64xbf16>
}

// A vector is a matrix of one row.
// CHECK-LABEL: func.func @vector
// CHECK-SAME: %[[X:.+]]: tensor<64xf32>
// CHECK: %[[M:.+]] = tensor.expand_shape %[[X]] {{\[}}[0, 1]] output_shape [1, 64]
// CHECK: %[[Q:.+]], %[[S:.+]] = blockscale.quantize %[[M]] block [1, 32] recipe tosa : tensor<1x64xf32> -> tensor<1x64xf4E2M1FN>, tensor<1x2xf8E8M0FNU>
// CHECK: %[[V:.+]] = tensor.collapse_shape %[[Q]] {{\[}}[0, 1]]
// CHECK: %[[W:.+]] = tensor.collapse_shape %[[S]] {{\[}}[0, 1]]
// CHECK: %[[QM:.+]] = tensor.expand_shape %[[V]] {{\[}}[0, 1]]
// CHECK: %[[SM:.+]] = tensor.expand_shape %[[W]] {{\[}}[0, 1]]
// CHECK: %[[Y:.+]] = blockscale.dequantize %[[QM]], %[[SM]] block [1, 32] recipe tosa
// CHECK: tensor.collapse_shape %[[Y]] {{\[}}[0, 1]]
func.func @vector(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0, %1 = tosa.cast_to_block_scaled %x {block_size = BLOCK_SIZE_32} : (tensor<64xf32>) -> (tensor<64xf4E2M1FN>, tensor<2xf8E8M0FNU>)
  %2 = tosa.cast_from_block_scaled %0, %1 {block_size = BLOCK_SIZE_32} : (tensor<64xf4E2M1FN>, tensor<2xf8E8M0FNU>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}

// Sizes that one type states and another leaves open are compared at run time: nothing is cast.
// CHECK-LABEL: func.func @partly_known
// CHECK-NOT: tensor.cast
// CHECK: blockscale.quantize %{{.+}} block [1, 32] recipe tosa : tensor<?x?xf32> -> tensor<8x?xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
func.func @partly_known(%x: tensor<?x?xf32>) -> (tensor<8x?xf8E4M3FN>, tensor<?x2xf8E8M0FNU>) {
  %0, %1 = tosa.cast_to_block_scaled %x {block_size = BLOCK_SIZE_32} : (tensor<?x?xf32>) -> (tensor<8x?xf8E4M3FN>, tensor<?x2xf8E8M0FNU>)
  return %0, %1 : tensor<8x?xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
}

// Sizes that no type states are left to the run time.
// CHECK-LABEL: func.func @unknown
// CHECK-NOT: tensor.cast
// CHECK: blockscale.quantize %{{.+}} block [1, 32] recipe tosa : tensor<?x?xf32> -> tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>
func.func @unknown(%x: tensor<?x?xf32>) -> (tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>) {
  %0, %1 = tosa.cast_to_block_scaled %x {block_size = BLOCK_SIZE_32} : (tensor<?x?xf32>) -> (tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>)
  return %0, %1 : tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>
}

// As many matrices of B as of A.
// CHECK-LABEL: func.func @matrices
// CHECK-SAME: %[[A:.+]]: tensor<4x8x64xf8E4M3FN>, %[[SA:.+]]: tensor<4x8x2xf8E8M0FNU>, %[[B:.+]]: tensor<4x16x64xf8E4M3FN>, %[[SB:.+]]: tensor<4x16x2xf8E8M0FNU>
// CHECK-NOT: tensor.
// CHECK: blockscale.scaled_mm %[[A]], %[[B]] scales(%[[SA]], %[[SB]]) block [1, 32] : {{.*}} -> tensor<4x8x16xf32>
func.func @matrices(%a: tensor<4x8x64xf8E4M3FN>, %sa: tensor<4x8x2xf8E8M0FNU>, %b: tensor<4x16x64xf8E4M3FN>, %sb: tensor<4x16x2xf8E8M0FNU>) -> tensor<4x8x16xf32> {
  %0 = tosa.matmul_t_block_scaled %a, %sa, %b, %sb {block_size = BLOCK_SIZE_32} : (tensor<4x8x64xf8E4M3FN>, tensor<4x8x2xf8E8M0FNU>, tensor<4x16x64xf8E4M3FN>, tensor<4x16x2xf8E8M0FNU>) -> tensor<4x8x16xf32>
  return %0 : tensor<4x8x16xf32>
}

// One matrix of B for all of A: the rows of A are those of one matrix.
// CHECK-LABEL: func.func @shared
// CHECK-SAME: %[[A:.+]]: tensor<4x8x64xf4E2M1FN>, %[[SA:.+]]: tensor<4x8x2xf8E8M0FNU>, %[[B:.+]]: tensor<1x16x64xf4E2M1FN>, %[[SB:.+]]: tensor<1x16x2xf8E8M0FNU>
// CHECK: %[[RA:.+]] = tensor.collapse_shape %[[A]] {{\[}}[0, 1], [2]] : tensor<4x8x64xf4E2M1FN> into tensor<32x64xf4E2M1FN>
// CHECK: %[[RSA:.+]] = tensor.collapse_shape %[[SA]]
// CHECK: %[[RB:.+]] = tensor.collapse_shape %[[B]]
// CHECK: %[[RSB:.+]] = tensor.collapse_shape %[[SB]]
// CHECK: %[[Y:.+]] = blockscale.scaled_mm %[[RA]], %[[RB]] scales(%[[RSA]], %[[RSB]]) block [1, 32] : {{.*}} -> tensor<32x16xf32>
// CHECK: tensor.expand_shape %[[Y]] {{\[}}[0, 1], [2]] output_shape [4, 8, 16]
func.func @shared(%a: tensor<4x8x64xf4E2M1FN>, %sa: tensor<4x8x2xf8E8M0FNU>, %b: tensor<1x16x64xf4E2M1FN>, %sb: tensor<1x16x2xf8E8M0FNU>) -> tensor<4x8x16xf32> {
  %0 = tosa.matmul_t_block_scaled %a, %sa, %b, %sb {block_size = BLOCK_SIZE_32} : (tensor<4x8x64xf4E2M1FN>, tensor<4x8x2xf8E8M0FNU>, tensor<1x16x64xf4E2M1FN>, tensor<1x16x2xf8E8M0FNU>) -> tensor<4x8x16xf32>
  return %0 : tensor<4x8x16xf32>
}

// Rows that only the run time knows; the sizes of the result are those of the operands.
// CHECK-LABEL: func.func @shared_dynamic
// CHECK-SAME: %[[A:.+]]: tensor<?x?x64xf8E4M3FN>
// CHECK: %[[N:.+]] = tensor.dim %[[A]], %c0
// CHECK: %[[H:.+]] = tensor.dim %[[A]], %c1
// CHECK: tensor.expand_shape %{{.+}} {{\[}}[0, 1], [2]] output_shape [%[[N]], %[[H]], 16]
func.func @shared_dynamic(%a: tensor<?x?x64xf8E4M3FN>, %sa: tensor<?x?x2xf8E8M0FNU>, %b: tensor<1x16x64xf8E4M3FN>, %sb: tensor<1x16x2xf8E8M0FNU>) -> tensor<?x?x16xf32> {
  %0 = tosa.matmul_t_block_scaled %a, %sa, %b, %sb {block_size = BLOCK_SIZE_32} : (tensor<?x?x64xf8E4M3FN>, tensor<?x?x2xf8E8M0FNU>, tensor<1x16x64xf8E4M3FN>, tensor<1x16x2xf8E8M0FNU>) -> tensor<?x?x16xf32>
  return %0 : tensor<?x?x16xf32>
}

// One of the sizes of rows is known: the other one follows from the rows that there are.
// CHECK-LABEL: func.func @shared_batches
// CHECK: %[[Y:.+]] = blockscale.scaled_mm {{.*}} -> tensor<?x16xf32>
// CHECK: %[[ROWS:.+]] = tensor.dim %[[Y]], %c0
// CHECK: %[[H:.+]] = arith.divsi %[[ROWS]], %c4
// CHECK: tensor.expand_shape %[[Y]] {{\[}}[0, 1], [2]] output_shape [4, %[[H]], 16]
func.func @shared_batches(%a: tensor<4x?x64xf8E4M3FN>, %sa: tensor<4x?x2xf8E8M0FNU>, %b: tensor<1x16x64xf8E4M3FN>, %sb: tensor<1x16x2xf8E8M0FNU>) -> tensor<4x?x16xf32> {
  %0 = tosa.matmul_t_block_scaled %a, %sa, %b, %sb {block_size = BLOCK_SIZE_32} : (tensor<4x?x64xf8E4M3FN>, tensor<4x?x2xf8E8M0FNU>, tensor<1x16x64xf8E4M3FN>, tensor<1x16x2xf8E8M0FNU>) -> tensor<4x?x16xf32>
  return %0 : tensor<4x?x16xf32>
}

// One matrix of A can only have one of B, and several of B as many of A: no branch.
// CHECK-LABEL: func.func @implied
// CHECK-NOT: scf.if
// CHECK-NOT: tensor.cast
// CHECK: blockscale.scaled_mm {{.*}} -> tensor<1x8x16xf32>
// CHECK: blockscale.scaled_mm {{.*}} -> tensor<?x8x16xf32>
func.func @implied(%a: tensor<1x8x64xf8E4M3FN>, %sa: tensor<1x8x2xf8E8M0FNU>, %b: tensor<?x16x64xf8E4M3FN>, %sb: tensor<?x16x2xf8E8M0FNU>, %c: tensor<?x8x64xf8E4M3FN>, %sc: tensor<?x8x2xf8E8M0FNU>, %d: tensor<3x16x64xf8E4M3FN>, %sd: tensor<3x16x2xf8E8M0FNU>) -> (tensor<1x8x16xf32>, tensor<?x8x16xf32>) {
  %0 = tosa.matmul_t_block_scaled %a, %sa, %b, %sb {block_size = BLOCK_SIZE_32} : (tensor<1x8x64xf8E4M3FN>, tensor<1x8x2xf8E8M0FNU>, tensor<?x16x64xf8E4M3FN>, tensor<?x16x2xf8E8M0FNU>) -> tensor<1x8x16xf32>
  %1 = tosa.matmul_t_block_scaled %c, %sc, %d, %sd {block_size = BLOCK_SIZE_32} : (tensor<?x8x64xf8E4M3FN>, tensor<?x8x2xf8E8M0FNU>, tensor<3x16x64xf8E4M3FN>, tensor<3x16x2xf8E8M0FNU>) -> tensor<?x8x16xf32>
  return %0, %1 : tensor<1x8x16xf32>, tensor<?x8x16xf32>
}

// Only the run time knows whether B is shared.
// CHECK-LABEL: func.func @either
// CHECK-SAME: %{{.+}}: tensor<4x8x64xf8E4M3FN>, %{{.+}}: tensor<4x8x2xf8E8M0FNU>, %[[B:.+]]: tensor<?x16x64xf8E4M3FN>
// CHECK: %[[D:.+]] = tensor.dim %[[B]], %c0
// CHECK: %[[ONE:.+]] = arith.cmpi eq, %[[D]], %c1
// CHECK: scf.if %[[ONE]] -> (tensor<4x8x16xf32>)
// CHECK: tensor.collapse_shape %[[B]] {{\[}}[0, 1], [2]] : tensor<?x16x64xf8E4M3FN> into tensor<?x64xf8E4M3FN>
// CHECK: blockscale.scaled_mm {{.*}} -> tensor<32x16xf32>
// CHECK: else
// CHECK: blockscale.scaled_mm %{{.+}}, %[[B]] {{.*}} -> tensor<4x8x16xf32>
func.func @either(%a: tensor<4x8x64xf8E4M3FN>, %sa: tensor<4x8x2xf8E8M0FNU>, %b: tensor<?x16x64xf8E4M3FN>, %sb: tensor<?x16x2xf8E8M0FNU>) -> tensor<4x8x16xf32> {
  %0 = tosa.matmul_t_block_scaled %a, %sa, %b, %sb {block_size = BLOCK_SIZE_32} : (tensor<4x8x64xf8E4M3FN>, tensor<4x8x2xf8E8M0FNU>, tensor<?x16x64xf8E4M3FN>, tensor<?x16x2xf8E8M0FNU>) -> tensor<4x8x16xf32>
  return %0 : tensor<4x8x16xf32>
}

// MXINT8 data are i8, in signatures and constants too. Ops that move them stay.
// CHECK-LABEL: func.func @mxint8
// CHECK-SAME: %[[X:.+]]: tensor<1x8x64xf32>, %{{.+}}: tensor<16x64xi8>
// CHECK-SAME: -> (tensor<1x8x16xf32>, tensor<1x8x64xi8>)
// CHECK: %[[Q:.+]], %{{.+}} = blockscale.quantize %[[X]] block [1, 32] recipe tosa : tensor<1x8x64xf32> -> tensor<1x8x64xi8>, tensor<1x8x2xf8E8M0FNU>
// CHECK: "tosa.const"() <{values = dense_resource<codes> : tensor<4xi8>}> : () -> tensor<4xi8>
// CHECK: tosa.reshape {{.*}} : (tensor<16x64xi8>, !tosa.shape<3>) -> tensor<1x16x64xi8>
// CHECK: blockscale.scaled_mm
// CHECK-NOT: mxint8
func.func @mxint8(%x: tensor<1x8x64xf32>, %b: tensor<16x64x!tosa.mxint8>, %sb: tensor<1x16x2xf8E8M0FNU>) -> (tensor<1x8x16xf32>, tensor<1x8x64x!tosa.mxint8>) {
  %0, %1 = tosa.cast_to_block_scaled %x {block_size = BLOCK_SIZE_32} : (tensor<1x8x64xf32>) -> (tensor<1x8x64x!tosa.mxint8>, tensor<1x8x2xf8E8M0FNU>)
  %c = "tosa.const"() {values = dense_resource<codes> : tensor<4x!tosa.mxint8>} : () -> tensor<4x!tosa.mxint8>
  %s = tosa.const_shape {values = dense<[1, 16, 64]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %2 = tosa.reshape %b, %s : (tensor<16x64x!tosa.mxint8>, !tosa.shape<3>) -> tensor<1x16x64x!tosa.mxint8>
  %3 = tosa.matmul_t_block_scaled %0, %1, %2, %sb {block_size = BLOCK_SIZE_32} : (tensor<1x8x64x!tosa.mxint8>, tensor<1x8x2xf8E8M0FNU>, tensor<1x16x64x!tosa.mxint8>, tensor<1x16x2xf8E8M0FNU>) -> tensor<1x8x16xf32>
  return %3, %0 : tensor<1x8x16xf32>, tensor<1x8x64x!tosa.mxint8>
}

// i8 that is no MXINT8 data stays what it is, and other ops of TOSA are not touched.
// CHECK-LABEL: func.func @others
// CHECK: tosa.add %{{.+}}, %{{.+}} : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
func.func @others(%x: tensor<4xi8>) -> tensor<4xi8> {
  %0 = tosa.add %x, %x : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  return %0 : tensor<4xi8>
}

{-#
  dialect_resources: { builtin: { codes: "0x0100000001020304" } }
#-}
