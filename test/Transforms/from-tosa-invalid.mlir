// RUN: blockscale-opt %s --blockscale-from-tosa --allow-unregistered-dialect --split-input-file --verify-diagnostics

// from_tosa_c1: a rank that is not known.
func.func @unranked(%x: tensor<*xf32>) -> (tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>) {
  // expected-error @below {{'tosa.cast_to_block_scaled' op is not taken (from_tosa_c1): expected ranked tensors, but got tensor<*xf32>}}
  %0, %1 = tosa.cast_to_block_scaled %x {block_size = BLOCK_SIZE_32} : (tensor<*xf32>) -> (tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>)
  return %0, %1 : tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>
}

// -----

// from_tosa_c1: an encoding, whose meaning TOSA does not know.
func.func @encoded(%d: tensor<8x64xf8E4M3FN>, %s: tensor<8x2xf8E8M0FNU, #blockscale.layout<swizzle_128x4>>) -> tensor<8x64xf32> {
  // expected-error @below {{op is not taken (from_tosa_c1): expected tensors without an encoding, but got tensor<8x2xf8E8M0FNU, #blockscale.layout<swizzle_128x4>>}}
  %0 = tosa.cast_from_block_scaled %d, %s {block_size = BLOCK_SIZE_32} : (tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU, #blockscale.layout<swizzle_128x4>>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// -----

// from_tosa_c2: integers, which have no recipe.
func.func @integers(%x: tensor<8x64xi32>) -> (tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>) {
  // expected-error @below {{op is not taken (from_tosa_c2): expected values of f32, bf16 or f16, but got i32}}
  %0, %1 = tosa.cast_to_block_scaled %x {block_size = BLOCK_SIZE_32} : (tensor<8x64xi32>) -> (tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>)
  return %0, %1 : tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>
}

// -----

// from_tosa_c2: f64, of a product.
func.func @doubles(%a: tensor<1x8x64xf8E4M3FN>, %sa: tensor<1x8x2xf8E8M0FNU>, %b: tensor<1x16x64xf8E4M3FN>, %sb: tensor<1x16x2xf8E8M0FNU>) -> tensor<1x8x16xf64> {
  // expected-error @below {{op is not taken (from_tosa_c2): expected values of f32, bf16 or f16, but got f64}}
  %0 = tosa.matmul_t_block_scaled %a, %sa, %b, %sb {block_size = BLOCK_SIZE_32} : (tensor<1x8x64xf8E4M3FN>, tensor<1x8x2xf8E8M0FNU>, tensor<1x16x64xf8E4M3FN>, tensor<1x16x2xf8E8M0FNU>) -> tensor<1x8x16xf64>
  return %0 : tensor<1x8x16xf64>
}

// -----

// from_tosa_c3: scales of another K than that of the result. TOSA's verifier compares with the operand alone.
func.func @scales(%d: tensor<2x?xf8E4M3FN>, %s: tensor<2x1xf8E8M0FNU>) -> tensor<2x64xf32> {
  // expected-error @below {{op is not taken (from_tosa_c3): expected values and data of one shape, and a scale for each block of 32 of their last dimension, but got tensor<2x64xf32> and tensor<2x?xf8E4M3FN> and tensor<2x1xf8E8M0FNU>}}
  %0 = tosa.cast_from_block_scaled %d, %s {block_size = BLOCK_SIZE_32} : (tensor<2x?xf8E4M3FN>, tensor<2x1xf8E8M0FNU>) -> tensor<2x64xf32>
  return %0 : tensor<2x64xf32>
}

// -----

// from_tosa_c3: a tail of half a block in a result, which TOSA's verifier does not see.
func.func @tail(%d: tensor<2x?xf8E4M3FN>, %s: tensor<2x?xf8E8M0FNU>) -> tensor<2x48xf32> {
  // expected-error @below {{op is not taken (from_tosa_c3): expected values and data of one shape, and a scale for each block of 32 of their last dimension}}
  %0 = tosa.cast_from_block_scaled %d, %s {block_size = BLOCK_SIZE_32} : (tensor<2x?xf8E4M3FN>, tensor<2x?xf8E8M0FNU>) -> tensor<2x48xf32>
  return %0 : tensor<2x48xf32>
}

// -----

// from_tosa_c3: rows that differ from type to type, each pair of which agrees with the dynamic one between.
func.func @rows(%d: tensor<?x64xf8E4M3FN>, %s: tensor<3x2xf8E8M0FNU>) -> tensor<2x64xf32> {
  // expected-error @below {{op is not taken (from_tosa_c3)}}
  %0 = tosa.cast_from_block_scaled %d, %s {block_size = BLOCK_SIZE_32} : (tensor<?x64xf8E4M3FN>, tensor<3x2xf8E8M0FNU>) -> tensor<2x64xf32>
  return %0 : tensor<2x64xf32>
}

// -----

// MXINT8 data that an op computes with: i8 would be other numbers.
func.func @arithmetic(%x: tensor<4x!tosa.mxint8>) -> tensor<4x!tosa.mxint8> {
  // expected-error @below {{'tosa.abs' op expected elements of !tosa.mxint8 to be moved alone, or decoded by tosa.cast_from_block_scaled, but got an op that computes}}
  %0 = tosa.abs %x : (tensor<4x!tosa.mxint8>) -> tensor<4x!tosa.mxint8>
  return %0 : tensor<4x!tosa.mxint8>
}

// -----

// An op that nobody knows may do anything with the data.
func.func @unknown(%x: tensor<4x!tosa.mxint8>) -> tensor<4x!tosa.mxint8> {
  // expected-error @below {{'mine.op' op expected elements of !tosa.mxint8 to be moved alone}}
  %0 = "mine.op"(%x) : (tensor<4x!tosa.mxint8>) -> tensor<4x!tosa.mxint8>
  return %0 : tensor<4x!tosa.mxint8>
}
