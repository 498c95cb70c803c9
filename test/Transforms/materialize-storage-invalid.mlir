// RUN: blockscale-opt %s -blockscale-materialize-storage -allow-unregistered-dialect -split-input-file -verify-diagnostics

// The rules of blockscale-verify-layout hold here too (verify-layout*.mlir).
func.func @other_op(%q: tensor<4x16xf4E2M1FN>) {
  // expected-error @below {{'test.use' op does not know that memory holds two f4E2M1FN elements a byte; expected a blockscale op or dequantized data, but got 'tensor<4x16xf4E2M1FN>'}}
  "test.use"(%q) : (tensor<4x16xf4E2M1FN>) -> ()
  return
}

// -----

// Every offence is reported.
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @all(%s: tensor<256x8xf8E4M3FN, #swizzled>) {
  // expected-error @below {{'test.first' op would not keep the padding of swizzled scales zero}}
  "test.first"(%s) : (tensor<256x8xf8E4M3FN, #swizzled>) -> ()
  // expected-error @below {{'tensor.extract_slice' op expected the offset of dimension 0 to be a multiple of 128, but got 100}}
  %0 = tensor.extract_slice %s[100, 0] [128, 8] [1, 1] : tensor<256x8xf8E4M3FN, #swizzled> to tensor<128x8xf8E4M3FN, #swizzled>
  return
}

// -----

func.func @outside_kernel(%x: tensor<4x16xbf16>) {
  // expected-error @below {{'blockscale.quantize' op expected to be in a kernel (blockscale-form-kernels) where operands or results have a storage form, but got 'tensor<4x16xf4E2M1FN>'}}
  %0:2 = blockscale.quantize %x block [1, 16] : tensor<4x16xbf16> -> tensor<4x16xf4E2M1FN>, tensor<4x1xf8E4M3FN>
  return
}

// -----

// An odd size is lost in bytes, where nothing says that it is even.
func.func @packed_size(%q: tensor<4x?xf4E2M1FN>) -> index {
  %c1 = arith.constant 1 : index
  // expected-error @below {{'tensor.dim' op expected a size that memory holds, but dimension 1 of 'tensor<4x?xf4E2M1FN>' is stored in units of 2; use the size of the tensor that was quantized}}
  %0 = tensor.dim %q, %c1 : tensor<4x?xf4E2M1FN>
  return %0 : index
}

// -----

// A recipe that takes tails reads odd sizes.
func.func @tails(%q: tensor<4x?xf4E2M1FN>, %s: tensor<4x?xf8E4M3FN>) -> tensor<4x?xf32> {
  %c1 = arith.constant 1 : index
  // expected-error @below {{expected a size that memory holds, but dimension 1 of 'tensor<4x?xf4E2M1FN>' is stored in units of 2}}
  %k = tensor.dim %q, %c1 : tensor<4x?xf4E2M1FN>
  %yi = tensor.empty(%k) : tensor<4x?xf32>
  %y = blockscale.kernel ins(%q, %s : tensor<4x?xf4E2M1FN>, tensor<4x?xf8E4M3FN>) outs(%yi : tensor<4x?xf32>) {
  ^bb0(%lq: tensor<4x?xf4E2M1FN>, %ls: tensor<4x?xf8E4M3FN>, %ly: tensor<4x?xf32>):
    %0 = blockscale.dequantize %lq, %ls block [1, 16] recipe te : tensor<4x?xf4E2M1FN>, tensor<4x?xf8E4M3FN> -> tensor<4x?xf32>
    blockscale.yield %0 : tensor<4x?xf32>
  } -> tensor<4x?xf32>
  return %y : tensor<4x?xf32>
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>
func.func @swizzled_size(%s: tensor<?x8xf8E4M3FN, #swizzled>, %i: index) -> (index, index) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{expected a size that memory holds, but dimension 0 of 'tensor<?x8xf8E4M3FN, #blockscale.layout<swizzle_128x4>>' is stored in units of 128}}
  %0 = tensor.dim %s, %c0 : tensor<?x8xf8E4M3FN, #swizzled>
  // expected-error @below {{expected a constant dimension of 'tensor<?x8xf8E4M3FN, #blockscale.layout<swizzle_128x4>>', but got a value}}
  %1 = tensor.dim %s, %i : tensor<?x8xf8E4M3FN, #swizzled>
  return %0, %1 : index, index
}

// -----

// Without offsets, nothing says how many tiles there are.
#any = #blockscale.layout<swizzle_128x4, groups = ?, dim = 0>
func.func @any_groups_empty() -> tensor<4x4xf8E4M3FN, #any> {
  // expected-error @below {{expected a static number of groups in the layout of a tensor without offsets, but got 'tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_128x4, groups = ?, dim = 0>>'}}
  %0 = tensor.empty() : tensor<4x4xf8E4M3FN, #any>
  return %0 : tensor<4x4xf8E4M3FN, #any>
}

// -----

// A cast does not count groups.
#any = #blockscale.layout<swizzle_128x4, groups = ?, dim = 0>
#grouped = #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>
func.func @any_groups_cast(%s: tensor<4x4xf8E4M3FN, #any>) -> tensor<4x4xf8E4M3FN, #grouped> {
  // expected-error @below {{expected a cast to keep the layout of 'tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_128x4, groups = ?, dim = 0>>' (blockscale.swizzle changes it), but got 'tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>>'}}
  %0 = tensor.cast %s : tensor<4x4xf8E4M3FN, #any> to tensor<4x4xf8E4M3FN, #grouped>
  return %0 : tensor<4x4xf8E4M3FN, #grouped>
}

// -----

#grouped = #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>
func.func @grouped_constant() -> tensor<4x4xf8E4M3FN, #grouped> {
  // expected-error @below {{expected no constant of a grouped layout, where the place of a row depends on the offsets, but got 'tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>>'}}
  %0 = arith.constant dense<1.0> : tensor<4x4xf8E4M3FN, #grouped>
  return %0 : tensor<4x4xf8E4M3FN, #grouped>
}

// -----

func.func @resource() -> tensor<4x16xf4E2M1FN> {
  // expected-error @below {{expected a resource of one byte an element, 64, but got 4 bytes}}
  %0 = arith.constant dense_resource<short> : tensor<4x16xf4E2M1FN>
  return %0 : tensor<4x16xf4E2M1FN>
}
{-# dialect_resources: { builtin: { short: "0x0100000001020304" } } #-}

// -----

// The first has no bytes that one could allocate, the second not even a count.
func.func @huge_constants() {
  // expected-error @below {{expected a constant of at most 2147483648 elements, but got 'tensor<1099511627776x16xf4E2M1FN>'}}
  %0 = arith.constant dense<1.0> : tensor<1099511627776x16xf4E2M1FN>
  // expected-error @below {{expected a constant of at most 2147483648 elements, but got 'tensor<4294967296x4294967296xf32>'}}
  %1 = arith.constant dense<1.0> : tensor<4294967296x4294967296xf32>
  // One dimension of 0 makes it empty.
  %2 = arith.constant dense<1.0> : tensor<4294967296x4294967296x0xf32>
  return
}

// -----

// No global of LLVM can be made of these.
func.func @odd_resources() {
  // expected-error @below {{expected dense elements where the rank or the number of elements is 0, but got dense_resource<scalar> : tensor<f32>}}
  %0 = arith.constant dense_resource<scalar> : tensor<f32>
  // expected-error @below {{expected dense elements where the rank or the number of elements is 0, but got dense_resource<scalar> : tensor<4x0xf4E2M1FN>}}
  %1 = arith.constant dense_resource<scalar> : tensor<4x0xf4E2M1FN>
  %2 = arith.constant dense_resource<scalar> : tensor<1xf32>
  return
}
{-# dialect_resources: { builtin: { scalar: "0x040000000000803F" } } #-}

// -----

func.func @dim_out_of_range(%q: tensor<?x?xf4E2M1FN>) -> (index, index) {
  %c2 = arith.constant 2 : index
  %cm1 = arith.constant -1 : index
  // expected-error @below {{expected a dimension of 'tensor<?x?xf4E2M1FN>', but got 2}}
  %0 = tensor.dim %q, %c2 : tensor<?x?xf4E2M1FN>
  // expected-error @below {{expected a dimension of 'tensor<?x?xf4E2M1FN>', but got -1}}
  %1 = tensor.dim %q, %cm1 : tensor<?x?xf4E2M1FN>
  return %0, %1 : index, index
}

// -----

// Blocks do not tell how many rows there are.
#prepacked = #blockscale.data_layout<fragments_64x64>
func.func @prepacked_size(%w: tensor<?x64xf4E2M1FN, #prepacked>) -> index {
  %c0 = arith.constant 0 : index
  // expected-error @below {{'tensor.dim' op expected a size that memory holds, but dimension 0 of 'tensor<?x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>' is stored in units of 64; use the size of the tensor that was quantized}}
  %0 = tensor.dim %w, %c0 : tensor<?x64xf4E2M1FN, #prepacked>
  return %0 : index
}

// -----

// Prepacked for another use than a product, it may be odd.
#prepacked = #blockscale.data_layout<fragments_64x64>
func.func @prepacked_alone(%w: tensor<16x?xf4E2M1FN>) -> tensor<16x?xf4E2M1FN, #prepacked> {
  %c1 = arith.constant 1 : index
  // expected-error @below {{expected a size that memory holds, but dimension 1 of 'tensor<16x?xf4E2M1FN>' is stored in units of 2}}
  %k = tensor.dim %w, %c1 : tensor<16x?xf4E2M1FN>
  %e = tensor.empty(%k) : tensor<16x?xf4E2M1FN, #prepacked>
  %p = blockscale.kernel ins(%w : tensor<16x?xf4E2M1FN>) outs(%e : tensor<16x?xf4E2M1FN, #prepacked>) {
  ^bb0(%lw: tensor<16x?xf4E2M1FN>, %lp: tensor<16x?xf4E2M1FN, #prepacked>):
    %0 = blockscale.prepack %lw : tensor<16x?xf4E2M1FN> -> tensor<16x?xf4E2M1FN, #prepacked>
    blockscale.yield %0 : tensor<16x?xf4E2M1FN, #prepacked>
  } -> tensor<16x?xf4E2M1FN, #prepacked>
  return %p : tensor<16x?xf4E2M1FN, #prepacked>
}
