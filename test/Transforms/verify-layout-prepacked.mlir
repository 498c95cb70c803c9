// RUN: blockscale-opt %s -blockscale-verify-layout -split-input-file -verify-diagnostics

// Prepacked data are moved as a whole, and in whole blocks; the end may be ragged.
#prepacked = #blockscale.data_layout<fragments_64x64>
func.func @allowed(%w: tensor<2x200x100xf8E4M3FN, #prepacked>, %i: index, %c: i1) -> tensor<2x200x100xf8E4M3FN, #prepacked> {
  %0 = tensor.extract_slice %w[%i, 64, 0] [1, 136, 100] [1, 1, 1] : tensor<2x200x100xf8E4M3FN, #prepacked> to tensor<136x100xf8E4M3FN, #prepacked>
  %1 = tensor.insert_slice %0 into %w[%i, 64, 0] [1, 136, 100] [1, 1, 1] : tensor<136x100xf8E4M3FN, #prepacked> into tensor<2x200x100xf8E4M3FN, #prepacked>
  %2 = tensor.cast %1 : tensor<2x200x100xf8E4M3FN, #prepacked> to tensor<?x200x100xf8E4M3FN, #prepacked>
  %3 = arith.select %c, %w, %1 : tensor<2x200x100xf8E4M3FN, #prepacked>
  return %3 : tensor<2x200x100xf8E4M3FN, #prepacked>
}

// -----

// What prepack keeps of its operand's sizes says where the end is.
#prepacked = #blockscale.data_layout<fragments_64x64>
func.func @to_the_end(%w: tensor<?x64xf8E4M3FN>, %i: index) {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %w, %c0 : tensor<?x64xf8E4M3FN>
  %row = affine.apply affine_map<()[s0] -> (64 * s0)>()[%i]
  %n = affine.apply affine_map<()[s0, s1] -> (s0 - s1)>()[%rows, %row]
  %p = blockscale.prepack %w : tensor<?x64xf8E4M3FN> -> tensor<?x64xf8E4M3FN, #prepacked>
  %0 = tensor.extract_slice %p[%row, 0] [%n, 64] [1, 1] : tensor<?x64xf8E4M3FN, #prepacked> to tensor<?x64xf8E4M3FN, #prepacked>
  %u = blockscale.prepack %p sizes(%rows) : tensor<?x64xf8E4M3FN, #prepacked> -> tensor<?x64xf8E4M3FN>
  %q = blockscale.prepack %u : tensor<?x64xf8E4M3FN> -> tensor<?x64xf8E4M3FN, #prepacked>
  %1 = tensor.extract_slice %q[%row, 0] [%n, 64] [1, 1] : tensor<?x64xf8E4M3FN, #prepacked> to tensor<?x64xf8E4M3FN, #prepacked>
  return
}

// -----

// Another dialect's op would take the bytes for rows.
#prepacked = #blockscale.data_layout<fragments_64x64>
func.func @other_op(%w: tensor<64x64xi8, #prepacked>) {
  // expected-error @below {{'arith.addi' op does not know the order of prepacked data; expected row-major data (blockscale.prepack), but got 'tensor<64x64xi8, #blockscale.data_layout<fragments_64x64>>'}}
  %0 = arith.addi %w, %w : tensor<64x64xi8, #prepacked>
  return
}

// -----

#prepacked = #blockscale.data_layout<fragments_64x64>
func.func @cast(%w: tensor<64x64xf8E5M2>) {
  // expected-error @below {{expected a cast to keep the layout of 'tensor<64x64xf8E5M2>' (blockscale.prepack changes it), but got 'tensor<64x64xf8E5M2, #blockscale.data_layout<fragments_64x64>>'}}
  %0 = tensor.cast %w : tensor<64x64xf8E5M2> to tensor<64x64xf8E5M2, #prepacked>
  return
}

// -----

// A slice that cuts a block, of rows or of columns.
#prepacked = #blockscale.data_layout<fragments_64x64>
func.func @slices(%w: tensor<200x128xf4E2M1FN, #prepacked>) {
  // expected-error @below {{expected the offset of dimension 0 to be a multiple of 64, but got 32}}
  %0 = tensor.extract_slice %w[32, 0] [64, 128] [1, 1] : tensor<200x128xf4E2M1FN, #prepacked> to tensor<64x128xf4E2M1FN, #prepacked>
  // expected-error @below {{expected the size of dimension 1 to be a multiple of 64 or to reach the end, but got 16}}
  %1 = tensor.extract_slice %w[0, 64] [64, 16] [1, 1] : tensor<200x128xf4E2M1FN, #prepacked> to tensor<64x16xf4E2M1FN, #prepacked>
  return
}

// -----

#prepacked = #blockscale.data_layout<fragments_64x64>
func.func @concat(%a: tensor<64x64xi8, #prepacked>) {
  // expected-error @below {{expected a concatenation of row-major data (tensor.insert_slice joins whole blocks, and blockscale.prepack takes the result), but got 'tensor<64x64xi8, #blockscale.data_layout<fragments_64x64>>'}}
  %0 = tensor.concat dim(0) %a, %a : (tensor<64x64xi8, #prepacked>, tensor<64x64xi8, #prepacked>) -> tensor<128x64xi8, #prepacked>
  return
}

// -----

// The rows of prepacked data are those of what was prepacked.
func.func @rows(%x: tensor<64x64xbf16>) {
  // expected-note @below {{the quantized tensor}}
  %y = arith.addf %x, %x : tensor<64x64xbf16>
  %q, %s = blockscale.quantize %y block [32, 32] scale_dim n : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  %p = blockscale.prepack %q : tensor<64x64xf8E4M3FN> -> tensor<64x64xf8E4M3FN, #blockscale.data_layout<fragments_64x64>>
  // expected-error @below {{expected the rows of scale_b to be those of b, dimension 0 of the quantized matrix, but got dimension 1}}
  %z = blockscale.scaled_mm %x, %p scales(none, %s) block [1, 32]
      : tensor<64x64xbf16>, tensor<64x64xf8E4M3FN, #blockscale.data_layout<fragments_64x64>>, tensor<64x2xf8E8M0FNU> -> tensor<64x64xf32>
  return
}
