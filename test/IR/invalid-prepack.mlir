// RUN: blockscale-opt %s -split-input-file -verify-diagnostics

#prepacked = #blockscale.data_layout<fragments_64x64>
func.func @prepack_c1_element(%d: tensor<4x64xf8E4M3FN>) {
  // expected-error @below {{expected the result element type to be 'f8E4M3FN', but got 'f8E5M2'}}
  %0 = blockscale.prepack %d : tensor<4x64xf8E4M3FN> -> tensor<4x64xf8E5M2, #prepacked>
  return
}

// -----

#prepacked = #blockscale.data_layout<fragments_64x64>
func.func @prepack_c1_shape(%d: tensor<4x64xf8E4M3FN>) {
  // expected-error @below {{expected the result to have shape 4x64, but got 64x64}}
  %0 = blockscale.prepack %d : tensor<4x64xf8E4M3FN> -> tensor<64x64xf8E4M3FN, #prepacked>
  return
}

// -----

// A change of static sizes alone is a cast.
#prepacked = #blockscale.data_layout<fragments_64x64>
func.func @prepack_c1_layout(%d: tensor<4x64xf8E4M3FN, #prepacked>) {
  // expected-error @below {{expected equal types between equal layouts, but got 'tensor<4x64xf8E4M3FN, #blockscale.data_layout<fragments_64x64>>' and 'tensor<?x64xf8E4M3FN, #blockscale.data_layout<fragments_64x64>>'}}
  %0 = blockscale.prepack %d : tensor<4x64xf8E4M3FN, #prepacked> -> tensor<?x64xf8E4M3FN, #prepacked>
  return
}

// -----

// A layout of scales is none of data.
#prepacked = #blockscale.data_layout<fragments_64x64>
func.func @prepack_c2_encoding(%d: tensor<4x64xf8E4M3FN, #blockscale.layout<swizzle_128x4>>) {
  // expected-error @below {{expected an absent encoding or a blockscale data layout, but got #blockscale.layout<swizzle_128x4>}}
  %0 = blockscale.prepack %d : tensor<4x64xf8E4M3FN, #blockscale.layout<swizzle_128x4>> -> tensor<4x64xf8E4M3FN, #prepacked>
  return
}

// -----

func.func @prepack_c2_rank(%d: tensor<64xf8E4M3FN>) {
  // expected-error @below {{expected source to have rank 2 or more, but got rank 1}}
  %0 = blockscale.prepack %d : tensor<64xf8E4M3FN> -> tensor<64xf8E4M3FN>
  return
}

// -----

#prepacked = #blockscale.data_layout<fragments_64x64>
func.func @prepack_c3_absent(%d: tensor<?x64xf8E4M3FN, #prepacked>) {
  // expected-error @below {{expected one size operand for each dynamic dimension of a row-major result of a prepacked source, 1, but got 0}}
  %0 = blockscale.prepack %d : tensor<?x64xf8E4M3FN, #prepacked> -> tensor<?x64xf8E4M3FN>
  return
}

// -----

#prepacked = #blockscale.data_layout<fragments_64x64>
func.func @prepack_c3_present(%d: tensor<?x64xf8E4M3FN>, %n: index) {
  // expected-error @below {{expected one size operand for each dynamic dimension of a row-major result of a prepacked source, 0, but got 1}}
  %0 = blockscale.prepack %d sizes(%n) : tensor<?x64xf8E4M3FN> -> tensor<?x64xf8E4M3FN, #prepacked>
  return
}
