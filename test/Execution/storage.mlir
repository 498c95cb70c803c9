// Storage keeps every byte where the logical tensors say: each function is run
// and compared with numpy on logical arrays.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %python %S/Inputs/run_storage.py %s %t

#swizzled = #blockscale.layout<swizzle_128x4>

func.func @swizzled_slice(%s: tensor<2x300x9xf8E4M3FN, #swizzled>) -> tensor<172x5xf8E4M3FN, #swizzled> {
  %0 = tensor.extract_slice %s[1, 128, 4] [1, 172, 5] [1, 1, 1]
      : tensor<2x300x9xf8E4M3FN, #swizzled> to tensor<172x5xf8E4M3FN, #swizzled>
  return %0 : tensor<172x5xf8E4M3FN, #swizzled>
}

func.func @swizzled_insert(%s: tensor<?x9xf8E4M3FN, #swizzled>, %t: tensor<128x4xf8E4M3FN, #swizzled>) -> tensor<?x9xf8E4M3FN, #swizzled> {
  %0 = tensor.insert_slice %t into %s[128, 4] [128, 4] [1, 1]
      : tensor<128x4xf8E4M3FN, #swizzled> into tensor<?x9xf8E4M3FN, #swizzled>
  return %0 : tensor<?x9xf8E4M3FN, #swizzled>
}

func.func @packed_slice(%q: tensor<?x9xf4E2M1FN>) -> tensor<?x5xf4E2M1FN> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = tensor.dim %q, %c0 : tensor<?x9xf4E2M1FN>
  %n = arith.subi %rows, %c1 : index
  %0 = tensor.extract_slice %q[1, 4] [%n, 5] [1, 1] : tensor<?x9xf4E2M1FN> to tensor<?x5xf4E2M1FN>
  return %0 : tensor<?x5xf4E2M1FN>
}

func.func private @overwrite(%q: tensor<6x8xf4E2M1FN>, %row: index) -> tensor<6x8xf4E2M1FN> {
  %0 = tensor.extract_slice %q[0, 0] [1, 8] [1, 1] : tensor<6x8xf4E2M1FN> to tensor<1x8xf4E2M1FN>
  %1 = tensor.insert_slice %0 into %q[%row, 0] [1, 8] [1, 1] : tensor<1x8xf4E2M1FN> into tensor<6x8xf4E2M1FN>
  return %1 : tensor<6x8xf4E2M1FN>
}

// Row 0 to the odd rows, by a call from a loop and a branch.
func.func @odd_rows(%q: tensor<6x8xf4E2M1FN>) -> tensor<6x8xf4E2M1FN> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c6 = arith.constant 6 : index
  %r = scf.for %i = %c0 to %c6 step %c1 iter_args(%b = %q) -> tensor<6x8xf4E2M1FN> {
    %bit = arith.remui %i, %c2 : index
    %odd = arith.cmpi eq, %bit, %c1 : index
    %0 = scf.if %odd -> tensor<6x8xf4E2M1FN> {
      %1 = func.call @overwrite(%b, %i) : (tensor<6x8xf4E2M1FN>, index) -> tensor<6x8xf4E2M1FN>
      scf.yield %1 : tensor<6x8xf4E2M1FN>
    } else {
      scf.yield %b : tensor<6x8xf4E2M1FN>
    }
    scf.yield %0 : tensor<6x8xf4E2M1FN>
  }
  return %r : tensor<6x8xf4E2M1FN>
}

func.func @constants() -> (tensor<3x5xf4E2M1FN>, tensor<2x3x5xf8E4M3FN, #swizzled>, tensor<4x6xf4E2M1FN>) {
  %0 = arith.constant dense<"0x0102030405060708090A0B0C0D0E0F"> : tensor<3x5xf4E2M1FN>
  %1 = arith.constant dense<"0x0102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E"> : tensor<2x3x5xf8E4M3FN, #swizzled>
  %2 = arith.constant dense_resource<codes> : tensor<4x6xf4E2M1FN>
  return %0, %1, %2 : tensor<3x5xf4E2M1FN>, tensor<2x3x5xf8E4M3FN, #swizzled>, tensor<4x6xf4E2M1FN>
}

func.func @whole(%x: tensor<?x96xf32>) -> (tensor<?x96xf4E2M1FN>, tensor<?x6xf8E4M3FN, #swizzled>) {
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<?x96xf32> -> tensor<?x96xf4E2M1FN>, tensor<?x6xf8E4M3FN, #swizzled>
  return %q, %s : tensor<?x96xf4E2M1FN>, tensor<?x6xf8E4M3FN, #swizzled>
}

// The same in tiles of 128 rows, the last one shorter.
func.func @tiled(%x: tensor<?x96xf32>) -> (tensor<?x96xf4E2M1FN>, tensor<?x6xf8E4M3FN, #swizzled>) {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x96xf32>
  %qi = tensor.empty(%rows) : tensor<?x96xf4E2M1FN>
  %si = tensor.empty(%rows) : tensor<?x6xf8E4M3FN, #swizzled>
  %r:2 = scf.forall (%i) = (0) to (%rows) step (128) shared_outs(%qo = %qi, %so = %si)
      -> (tensor<?x96xf4E2M1FN>, tensor<?x6xf8E4M3FN, #swizzled>) {
    %n = affine.min affine_map<(d0)[s0] -> (128, s0 - d0)>(%i)[%rows]
    %t = tensor.extract_slice %x[%i, 0] [%n, 96] [1, 1] : tensor<?x96xf32> to tensor<?x96xf32>
    %q, %s = blockscale.quantize %t block [1, 16] : tensor<?x96xf32> -> tensor<?x96xf4E2M1FN>, tensor<?x6xf8E4M3FN, #swizzled>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %q into %qo[%i, 0] [%n, 96] [1, 1] : tensor<?x96xf4E2M1FN> into tensor<?x96xf4E2M1FN>
      tensor.parallel_insert_slice %s into %so[%i, 0] [%n, 6] [1, 1] : tensor<?x6xf8E4M3FN, #swizzled> into tensor<?x6xf8E4M3FN, #swizzled>
    }
  }
  return %r#0, %r#1 : tensor<?x96xf4E2M1FN>, tensor<?x6xf8E4M3FN, #swizzled>
}

{-# dialect_resources: { builtin: {
  codes: "0x01000000000102030405060708090A0B0C0D0E0F0F0E0D0C0B0A0908"
} } #-}
