// RUN: blockscale-opt %s -blockscale-verify-layout --split-input-file --verify-diagnostics

// Rows of an odd length have half a byte at their end.
func.func @odd(%q: tensor<4x9xf4E2M1FN>) -> tensor<36xf4E2M1FN> {
  // expected-error @below {{'tensor.collapse_shape' op expected columns of packed data to be split or joined in rows of a static multiple of 2 elements, but got 'tensor<4x9xf4E2M1FN>'}}
  %0 = tensor.collapse_shape %q [[0, 1]] : tensor<4x9xf4E2M1FN> into tensor<36xf4E2M1FN>
  return %0 : tensor<36xf4E2M1FN>
}

// -----

// Whether rows have an even length is known at run time only.
func.func @unknown(%q: tensor<64xf4E2M1FN>, %k: index) -> tensor<?x?xf4E2M1FN> {
  %c = tensor.cast %q : tensor<64xf4E2M1FN> to tensor<?xf4E2M1FN>
  // expected-error @below {{'tensor.expand_shape' op expected columns of packed data to be split or joined in rows of a static multiple of 2 elements, but got 'tensor<?x?xf4E2M1FN>'}}
  %0 = tensor.expand_shape %c [[0, 1]] output_shape [%k, %k] : tensor<?xf4E2M1FN> into tensor<?x?xf4E2M1FN>
  return %0 : tensor<?x?xf4E2M1FN>
}

// -----

// A last dimension that is split in odd parts.
func.func @odd_parts(%q: tensor<4x18xf4E2M1FN>) -> tensor<4x6x3xf4E2M1FN> {
  // expected-error @below {{'tensor.expand_shape' op expected columns of packed data to be split or joined in rows of a static multiple of 2 elements, but got 'tensor<4x6x3xf4E2M1FN>'}}
  %0 = tensor.expand_shape %q [[0], [1, 2]] output_shape [4, 6, 3] : tensor<4x18xf4E2M1FN> into tensor<4x6x3xf4E2M1FN>
  return %0 : tensor<4x6x3xf4E2M1FN>
}

// -----

// Prepacked data, and a result that says so.
func.func @prepacked(%q: tensor<2x64x64xf8E4M3FN, #blockscale.data_layout<fragments_64x64>>, %r: tensor<2x64x64xf4E2M1FN>) {
  // expected-error @below {{'tensor.collapse_shape' op expected a reshape of row-major data (blockscale.prepack), but got 'tensor<2x64x64xf8E4M3FN, #blockscale.data_layout<fragments_64x64>>'}}
  %0 = tensor.collapse_shape %q [[0, 1], [2]] : tensor<2x64x64xf8E4M3FN, #blockscale.data_layout<fragments_64x64>> into tensor<128x64xf8E4M3FN>
  // expected-error @below {{'tensor.collapse_shape' op expected a reshape of row-major data (blockscale.prepack), but got 'tensor<128x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>'}}
  %1 = tensor.collapse_shape %r [[0, 1], [2]] : tensor<2x64x64xf4E2M1FN> into tensor<128x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>
  return
}

// -----

// Rows of whole bytes, joined and split: nothing is refused.
func.func @whole(%q: tensor<4x?x16xf4E2M1FN>) -> tensor<?xf4E2M1FN> {
  %0 = tensor.collapse_shape %q [[0, 1, 2]] : tensor<4x?x16xf4E2M1FN> into tensor<?xf4E2M1FN>
  return %0 : tensor<?xf4E2M1FN>
}
