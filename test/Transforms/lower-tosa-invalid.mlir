// RUN: blockscale-opt %s --blockscale-lower-tosa --split-input-file --verify-diagnostics

// What MLIR does not lower is named, each op.
func.func @custom(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'tosa.custom' op expected an op of TOSA that MLIR lowers to linalg, arith, tensor or scf, but got one that it does not}}
  %0 = tosa.custom %x {operator_name = "mine", domain_name = "d", implementation_attrs = ""} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{'tosa.custom' op expected an op of TOSA that MLIR lowers}}
  %1 = tosa.custom %0 {operator_name = "yours", domain_name = "d", implementation_attrs = ""} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// A block-scaled op that is not taken is an error of blockscale-from-tosa.
func.func @integers(%x: tensor<8x64xi32>) -> (tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>) {
  // expected-error @below {{op is not taken (from_tosa_c2)}}
  %0, %1 = tosa.cast_to_block_scaled %x {block_size = BLOCK_SIZE_32} : (tensor<8x64xi32>) -> (tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>)
  return %0, %1 : tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>
}
