// RUN: blockscale-opt %s -blockscale-verify-layout -split-input-file -verify-diagnostics

// Upstream's canonicalization of tensor.concat would drop the layout.
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @swizzled(%a: tensor<128x4xf8E4M3FN, #swizzled>, %b: tensor<72x4xf8E4M3FN, #swizzled>) {
  // expected-error @below {{'tensor.concat' op expected a concatenation of linear scales (tensor.insert_slice joins whole tiles, and blockscale.swizzle takes the result), but got 'tensor<128x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>>'}}
  %0 = tensor.concat dim(0) %a, %b : (tensor<128x4xf8E4M3FN, #swizzled>, tensor<72x4xf8E4M3FN, #swizzled>) -> tensor<200x4xf8E4M3FN, #swizzled>
  return
}

// -----

// The same of what it has made of one.
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @canonicalized(%a: tensor<128x4xf8E4M3FN, #swizzled>) {
  // expected-error @below {{'tensor.cast' op expected a cast to keep the layout of 'tensor<128x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>>' (blockscale.swizzle changes it), but got 'tensor<128x4xf8E4M3FN>'}}
  %0 = tensor.cast %a : tensor<128x4xf8E4M3FN, #swizzled> to tensor<128x4xf8E4M3FN>
  %1 = tensor.concat dim(0) %0, %0 : (tensor<128x4xf8E4M3FN>, tensor<128x4xf8E4M3FN>) -> tensor<256x4xf8E4M3FN>
  return
}

// -----

// A linear piece, or a linear result.
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @mixed(%a: tensor<128x4xf8E4M3FN>, %b: tensor<72x4xf8E4M3FN, #swizzled>) {
  // expected-error @below {{expected a concatenation of linear scales (tensor.insert_slice joins whole tiles, and blockscale.swizzle takes the result), but got 'tensor<72x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>>'}}
  %0 = tensor.concat dim(0) %a, %b : (tensor<128x4xf8E4M3FN>, tensor<72x4xf8E4M3FN, #swizzled>) -> tensor<200x4xf8E4M3FN>
  // expected-error @below {{expected a concatenation of linear scales (tensor.insert_slice joins whole tiles, and blockscale.swizzle takes the result), but got 'tensor<256x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>>'}}
  %1 = tensor.concat dim(0) %a, %a : (tensor<128x4xf8E4M3FN>, tensor<128x4xf8E4M3FN>) -> tensor<256x4xf8E4M3FN, #swizzled>
  return
}

// -----

// What the diagnostic names instead.
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @allowed(%a: tensor<128x4xf8E4M3FN>, %b: tensor<128x4xf8E4M3FN, #swizzled>, %c: tensor<72x4xf8E4M3FN, #swizzled>) {
  %0 = tensor.concat dim(0) %a, %a : (tensor<128x4xf8E4M3FN>, tensor<128x4xf8E4M3FN>) -> tensor<256x4xf8E4M3FN>
  %1 = blockscale.swizzle %0 : tensor<256x4xf8E4M3FN> -> tensor<256x4xf8E4M3FN, #swizzled>
  %2 = tensor.empty() : tensor<200x4xf8E4M3FN, #swizzled>
  %3 = tensor.insert_slice %b into %2[0, 0] [128, 4] [1, 1] : tensor<128x4xf8E4M3FN, #swizzled> into tensor<200x4xf8E4M3FN, #swizzled>
  %4 = tensor.insert_slice %c into %3[128, 0] [72, 4] [1, 1] : tensor<72x4xf8E4M3FN, #swizzled> into tensor<200x4xf8E4M3FN, #swizzled>
  return
}

// -----

// A piece of packed data ends inside a byte, or may.
func.func @packed(%q: tensor<4x9xf4E2M1FN>, %r: tensor<4x?xf4E2M1FN>) {
  // expected-error @below {{expected the size of dimension 1 of each piece but the last to be a multiple of 2, but got 'tensor<4x9xf4E2M1FN>'}}
  %0 = tensor.concat dim(1) %q, %q : (tensor<4x9xf4E2M1FN>, tensor<4x9xf4E2M1FN>) -> tensor<4x18xf4E2M1FN>
  // expected-error @below {{expected the size of dimension 1 of each piece but the last to be a multiple of 2, but got 'tensor<4x?xf4E2M1FN>'}}
  %1 = tensor.concat dim(1) %r, %q : (tensor<4x?xf4E2M1FN>, tensor<4x9xf4E2M1FN>) -> tensor<4x?xf4E2M1FN>
  return
}
