// RUN: blockscale-opt %s -blockscale-verify-layout -allow-unregistered-dialect -split-input-file -verify-diagnostics

// Functions, control flow and moves keep the bytes as they are; shapes of the
// dialect's ops are their own business.
#swizzled = #blockscale.layout<swizzle_128x4>
func.func private @callee(tensor<200x5xf8E4M3FN, #swizzled>) -> tensor<200x5xf8E4M3FN, #swizzled>
func.func @allowed(%x: tensor<200x80xbf16>, %s: tensor<200x5xf8E4M3FN, #swizzled>, %c: i1) -> (tensor<200x80xf4E2M1FN>, tensor<200x5xf8E4M3FN, #swizzled>) {
  %0 = func.call @callee(%s) : (tensor<200x5xf8E4M3FN, #swizzled>) -> tensor<200x5xf8E4M3FN, #swizzled>
  %1 = arith.select %c, %0, %s : tensor<200x5xf8E4M3FN, #swizzled>
  %2 = scf.if %c -> tensor<200x5xf8E4M3FN, #swizzled> {
    scf.yield %1 : tensor<200x5xf8E4M3FN, #swizzled>
  } else {
    scf.yield %s : tensor<200x5xf8E4M3FN, #swizzled>
  }
  %q, %t = blockscale.quantize %x block [1, 16] : tensor<200x80xbf16> -> tensor<200x80xf4E2M1FN>, tensor<200x5xf8E4M3FN, #swizzled>
  cf.br ^bb1(%2 : tensor<200x5xf8E4M3FN, #swizzled>)
^bb1(%3: tensor<200x5xf8E4M3FN, #swizzled>):
  return %q, %3 : tensor<200x80xf4E2M1FN>, tensor<200x5xf8E4M3FN, #swizzled>
}

// -----

// Linear scales and 8-bit data are ordinary tensors, and so are other
// encodings.
func.func @ordinary(%s: tensor<4x4xf8E4M3FN>, %e: tensor<4x4xf32, "sparse">) -> (tensor<16xf8E4M3FN>, tensor<4x4xf32, "sparse">) {
  %0 = tensor.collapse_shape %s [[0, 1]] : tensor<4x4xf8E4M3FN> into tensor<16xf8E4M3FN>
  %1 = math.exp %e : tensor<4x4xf32, "sparse">
  return %0, %1 : tensor<16xf8E4M3FN>, tensor<4x4xf32, "sparse">
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>
func.func @elementwise(%s: tensor<4x4xf8E4M3FN, #swizzled>) -> tensor<4x4xf8E4M3FN, #swizzled> {
  // expected-error @below {{'math.exp' op would not keep the padding of swizzled scales zero; expected linear scales (blockscale.swizzle), but got 'tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>>'}}
  %0 = math.exp %s : tensor<4x4xf8E4M3FN, #swizzled>
  return %0 : tensor<4x4xf8E4M3FN, #swizzled>
}

// -----

func.func @packed(%q: tensor<4x16xf4E2M1FN>) -> tensor<4x16xf32> {
  // expected-error @below {{'arith.extf' op does not know that memory holds two f4E2M1FN elements a byte; expected a blockscale op or dequantized data, but got 'tensor<4x16xf4E2M1FN>'}}
  %0 = arith.extf %q : tensor<4x16xf4E2M1FN> to tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>
func.func @reshapes(%q: tensor<4x15xf4E2M1FN>, %s: tensor<2x4x4xf8E4M3FN, #swizzled>, %r: tensor<2x?xf4E2M1FN>, %p: tensor<64x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>) {
  // expected-error @below {{'tensor.collapse_shape' op expected columns of packed data to be split or joined in rows of a static multiple of 2 elements, but got 'tensor<4x15xf4E2M1FN>'}}
  %0 = tensor.collapse_shape %q [[0, 1]] : tensor<4x15xf4E2M1FN> into tensor<60xf4E2M1FN>
  // expected-error @below {{'tensor.expand_shape' op expected columns of packed data to be split or joined in rows of a static multiple of 2 elements, but got 'tensor<4x5x3xf4E2M1FN>'}}
  %1 = tensor.expand_shape %q [[0], [1, 2]] output_shape [4, 5, 3] : tensor<4x15xf4E2M1FN> into tensor<4x5x3xf4E2M1FN>
  // expected-error @below {{in rows of a static multiple of 2 elements, but got 'tensor<2x?xf4E2M1FN>'}}
  %4 = tensor.collapse_shape %r [[0, 1]] : tensor<2x?xf4E2M1FN> into tensor<?xf4E2M1FN>
  // expected-error @below {{'tensor.collapse_shape' op expected a reshape of row-major data (blockscale.prepack), but got 'tensor<64x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>'}}
  %5 = tensor.collapse_shape %p [[0, 1]] : tensor<64x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>> into tensor<4096xf4E2M1FN>
  // expected-error @below {{'tensor.bitcast' op does not know}}
  %2 = tensor.bitcast %q : tensor<4x15xf4E2M1FN> to tensor<4x15xi4>
  // expected-error @below {{'tensor.collapse_shape' op expected a reshape of linear scales (blockscale.swizzle), but got 'tensor<2x4x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>>'}}
  %3 = tensor.collapse_shape %s [[0, 1], [2]] : tensor<2x4x4xf8E4M3FN, #swizzled> into tensor<8x4xf8E4M3FN, #swizzled>
  return
}

// -----

// What another dialect produces is refused as well as what it takes.
func.func @producer(%b: memref<4x16xf4E2M1FN>) {
  // expected-error @below {{'bufferization.to_tensor' op does not know}}
  %0 = bufferization.to_tensor %b : memref<4x16xf4E2M1FN> to tensor<4x16xf4E2M1FN>
  return
}

// -----

// So is a block argument.
func.func @region() {
  // expected-error @below {{'test.region' op does not know}}
  "test.region"() ({
  ^bb0(%q: tensor<4x16xf4E2M1FN>):
  }) : () -> ()
  return
}

// -----

// A linear tensor passed off as a swizzled one, at once or in two steps.
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @cast(%s: tensor<4x4xf8E4M3FN>, %u: tensor<*xf8E4M3FN>) {
  // expected-error @below {{expected a cast to keep the layout of 'tensor<4x4xf8E4M3FN>' (blockscale.swizzle changes it), but got 'tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>>'}}
  %0 = tensor.cast %s : tensor<4x4xf8E4M3FN> to tensor<4x4xf8E4M3FN, #swizzled>
  // expected-error @below {{expected a cast to keep the layout of 'tensor<*xf8E4M3FN>'}}
  %1 = tensor.cast %u : tensor<*xf8E4M3FN> to tensor<4x4xf8E4M3FN, #swizzled>
  return
}

// -----

func.func @no_storage_form(%q: tensor<4x16xf4E2M1FN>) {
  // expected-error @below {{expected f4E2M1FN tensors to be ranked, with rank 1 or more and no encoding but a data layout, but got 'tensor<*xf4E2M1FN>'}}
  %0 = tensor.cast %q : tensor<4x16xf4E2M1FN> to tensor<*xf4E2M1FN>
  // expected-error @below {{expected f4E2M1FN tensors to be ranked, with rank 1 or more and no encoding but a data layout, but got 'tensor<f4E2M1FN>'}}
  %1 = tensor.empty() : tensor<f4E2M1FN>
  return
}

// -----

// Packing would drop the encoding.
#csr = #sparse_tensor.encoding<{map = (d0, d1) -> (d0 : dense, d1 : compressed)}>
// expected-error @below {{and no encoding but a data layout, but got 'tensor<4x16xf4E2M1FN, #sparse_tensor.encoding}}
func.func private @other_encoding(tensor<4x16xf4E2M1FN, #csr>)

// -----

func.func @select(%c: tensor<4x16xi1>, %q: tensor<4x16xf4E2M1FN>) {
  // expected-error @below {{expected a scalar condition to select between 'tensor<4x16xf4E2M1FN>', but got 'tensor<4x16xi1>'}}
  %0 = arith.select %c, %q, %q : tensor<4x16xi1>, tensor<4x16xf4E2M1FN>
  return
}

// -----

// Lowering does not look into nested modules, nor outside functions.
module @nested {
  func.func @f(%x: tensor<16x32xf32>) {
    // expected-error @below {{'blockscale.amax' op expected to be in a func.func of the outermost module, but got an op in a function of a nested 'builtin.module'}}
    %0 = blockscale.amax %x : tensor<16x32xf32> -> tensor<f32>
    return
  }
}
%x = arith.constant dense<1.0> : tensor<16x32xf32>
// expected-error @below {{'blockscale.amax' op expected to be in a func.func of the outermost module, but got an op in a 'builtin.module'}}
%0 = blockscale.amax %x : tensor<16x32xf32> -> tensor<f32>
