// Slices of swizzled scales and of packed data are slices of their storage. Each
// function is compared with numpy on logical arrays.
//
// RUN: mkdir -p %t && %python %S/Inputs/storage_slices.py %s %t | FileCheck %s
// CHECK: {{^}}37 passed, 0 failed

#swizzled = #blockscale.layout<swizzle_128x4>

// Of one batch element, to the ragged end.
func.func @swizzled(%s: tensor<2x300x9xf8E4M3FN, #swizzled>) -> tensor<172x5xf8E4M3FN, #swizzled> {
  %0 = tensor.extract_slice %s[1, 128, 4] [1, 172, 5] [1, 1, 1]
      : tensor<2x300x9xf8E4M3FN, #swizzled> to tensor<172x5xf8E4M3FN, #swizzled>
  return %0 : tensor<172x5xf8E4M3FN, #swizzled>
}

// Every second batch element.
func.func @swizzled_batch(%s: tensor<5x40x5xf8E8M0FNU, #swizzled>, %b: index) -> tensor<2x40x5xf8E8M0FNU, #swizzled> {
  %0 = tensor.extract_slice %s[%b, 0, 0] [2, 40, 5] [2, 1, 1]
      : tensor<5x40x5xf8E8M0FNU, #swizzled> to tensor<2x40x5xf8E8M0FNU, #swizzled>
  return %0 : tensor<2x40x5xf8E8M0FNU, #swizzled>
}

// A tile into the middle; the rest, ragged end included, stays.
func.func @swizzled_insert(%s: tensor<?x9xf8E4M3FN, #swizzled>, %t: tensor<128x4xf8E4M3FN, #swizzled>, %i: index)
    -> tensor<?x9xf8E4M3FN, #swizzled> {
  %row = affine.apply affine_map<()[s0] -> (128 * s0)>()[%i]
  %0 = tensor.insert_slice %t into %s[%row, 4] [128, 4] [1, 1]
      : tensor<128x4xf8E4M3FN, #swizzled> into tensor<?x9xf8E4M3FN, #swizzled>
  return %0 : tensor<?x9xf8E4M3FN, #swizzled>
}

// A matrix as a new batch element.
func.func @swizzled_insert_batch(%s: tensor<?x40x5xf8E4M3FN, #swizzled>, %t: tensor<40x5xf8E4M3FN, #swizzled>, %b: index)
    -> tensor<?x40x5xf8E4M3FN, #swizzled> {
  %0 = tensor.insert_slice %t into %s[%b, 0, 0] [1, 40, 5] [1, 1, 1]
      : tensor<40x5xf8E4M3FN, #swizzled> into tensor<?x40x5xf8E4M3FN, #swizzled>
  return %0 : tensor<?x40x5xf8E4M3FN, #swizzled>
}

// Packed data from an even column to the odd end.
func.func @packed(%q: tensor<?x9xf4E2M1FN>) -> tensor<?x5xf4E2M1FN> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = tensor.dim %q, %c0 : tensor<?x9xf4E2M1FN>
  %n = arith.subi %rows, %c1 : index
  %0 = tensor.extract_slice %q[1, 4] [%n, 5] [1, 1] : tensor<?x9xf4E2M1FN> to tensor<?x5xf4E2M1FN>
  return %0 : tensor<?x5xf4E2M1FN>
}

// Every second row, a dynamic number of pairs.
func.func @packed_rows(%q: tensor<9x14xf4E2M1FN>, %i: index, %n: index) -> tensor<4x?xf4E2M1FN> {
  %c2 = arith.constant 2 : index
  %col = arith.muli %i, %c2 : index
  %size = arith.muli %n, %c2 : index
  %0 = tensor.extract_slice %q[1, %col] [4, %size] [2, 1] : tensor<9x14xf4E2M1FN> to tensor<4x?xf4E2M1FN>
  return %0 : tensor<4x?xf4E2M1FN>
}

// The neighbours' codes in other bytes stay.
func.func @packed_insert(%q: tensor<?x?xf4E2M1FN>, %t: tensor<2x6xf4E2M1FN>, %row: index, %j: index) -> tensor<?x?xf4E2M1FN> {
  %c2 = arith.constant 2 : index
  %col = arith.muli %j, %c2 : index
  %0 = tensor.insert_slice %t into %q[%row, %col] [2, 6] [1, 1] : tensor<2x6xf4E2M1FN> into tensor<?x?xf4E2M1FN>
  return %0 : tensor<?x?xf4E2M1FN>
}

// Kernels read slices in place: rows that do not follow each other, ...
func.func @dequantize(%q: tensor<256x128xf4E2M1FN>, %s: tensor<256x8xf8E4M3FN, #swizzled>) -> tensor<128x64xf32> {
  %0 = tensor.extract_slice %q[128, 64] [128, 64] [1, 1] : tensor<256x128xf4E2M1FN> to tensor<128x64xf4E2M1FN>
  %1 = tensor.extract_slice %s[128, 4] [128, 4] [1, 1]
      : tensor<256x8xf8E4M3FN, #swizzled> to tensor<128x4xf8E4M3FN, #swizzled>
  %y = blockscale.dequantize %0, %1 block [1, 16]
      : tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN, #swizzled> -> tensor<128x64xf32>
  return %y : tensor<128x64xf32>
}

// ... elements that do not follow each other, ...
func.func @quantize_columns(%x: tensor<?x96xf32>, %first: index)
    -> (tensor<?x32xf4E2M1FN>, tensor<?x2xf8E4M3FN>, tensor<f32>) {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x96xf32>
  %0 = tensor.extract_slice %x[0, %first] [%rows, 32] [1, 2] : tensor<?x96xf32> to tensor<?x32xf32>
  %q, %s = blockscale.quantize %0 block [1, 16] : tensor<?x32xf32> -> tensor<?x32xf4E2M1FN>, tensor<?x2xf8E4M3FN>
  %a = blockscale.amax %0 : tensor<?x32xf32> -> tensor<f32>
  return %q, %s, %a : tensor<?x32xf4E2M1FN>, tensor<?x2xf8E4M3FN>, tensor<f32>
}
func.func @swizzle_columns(%s: tensor<40x20xf8E8M0FNU>)
    -> (tensor<40x7xf8E8M0FNU, #swizzled>, tensor<40x6xf8E8M0FNU, #swizzled>) {
  %0 = tensor.extract_slice %s[0, 5] [40, 7] [1, 1] : tensor<40x20xf8E8M0FNU> to tensor<40x7xf8E8M0FNU>
  %1 = tensor.extract_slice %s[0, 2] [40, 6] [1, 3] : tensor<40x20xf8E8M0FNU> to tensor<40x6xf8E8M0FNU>
  %2 = blockscale.swizzle %0 : tensor<40x7xf8E8M0FNU> -> tensor<40x7xf8E8M0FNU, #swizzled>
  %3 = blockscale.swizzle %1 : tensor<40x6xf8E8M0FNU> -> tensor<40x6xf8E8M0FNU, #swizzled>
  return %2, %3 : tensor<40x7xf8E8M0FNU, #swizzled>, tensor<40x6xf8E8M0FNU, #swizzled>
}

// ... a matrix across the batch, ...
func.func @quantize_across(%x: tensor<5x3x64xbf16>, %i: index) -> (tensor<5x64xf8E5M2>, tensor<5x2xf8E8M0FNU>) {
  %0 = tensor.extract_slice %x[0, %i, 0] [5, 1, 64] [1, 1, 1] : tensor<5x3x64xbf16> to tensor<5x64xbf16>
  %q, %s = blockscale.quantize %0 block [1, 32] : tensor<5x64xbf16> -> tensor<5x64xf8E5M2>, tensor<5x2xf8E8M0FNU>
  return %q, %s : tensor<5x64xf8E5M2>, tensor<5x2xf8E8M0FNU>
}

// ... and one whose rows are the last dimension but one.
func.func @quantize_strided(%x: tensor<5x64x3xbf16>, %i: index) -> (tensor<5x64xf8E5M2>, tensor<5x2xf8E8M0FNU>) {
  %0 = tensor.extract_slice %x[0, 0, %i] [5, 64, 1] [1, 1, 1] : tensor<5x64x3xbf16> to tensor<5x64xbf16>
  %q, %s = blockscale.quantize %0 block [1, 32] : tensor<5x64xbf16> -> tensor<5x64xf8E5M2>, tensor<5x2xf8E8M0FNU>
  return %q, %s : tensor<5x64xf8E5M2>, tensor<5x2xf8E8M0FNU>
}

// They write into slices in place as well.
func.func @quantize_into(%x: tensor<128x64xf32>, %q: tensor<300x128xf4E2M1FN>, %s: tensor<300x8xf8E4M3FN, #swizzled>, %i: index)
    -> (tensor<300x128xf4E2M1FN>, tensor<300x8xf8E4M3FN, #swizzled>) {
  %c128 = arith.constant 128 : index
  %row = arith.muli %i, %c128 : index
  %0, %1 = blockscale.quantize %x block [1, 16]
      : tensor<128x64xf32> -> tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN, #swizzled>
  %2 = tensor.insert_slice %0 into %q[%row, 64] [128, 64] [1, 1]
      : tensor<128x64xf4E2M1FN> into tensor<300x128xf4E2M1FN>
  %3 = tensor.insert_slice %1 into %s[%row, 4] [128, 4] [1, 1]
      : tensor<128x4xf8E4M3FN, #swizzled> into tensor<300x8xf8E4M3FN, #swizzled>
  return %2, %3 : tensor<300x128xf4E2M1FN>, tensor<300x8xf8E4M3FN, #swizzled>
}
func.func @product_into(%a: tensor<20x64xf8E4M3FN>, %sa: tensor<20x2xf8E8M0FNU>, %y: tensor<40x30xf32>, %i: index) -> tensor<40x30xf32> {
  %0 = tensor.extract_slice %a[8, 32] [12, 32] [1, 1] : tensor<20x64xf8E4M3FN> to tensor<12x32xf8E4M3FN>
  %1 = tensor.extract_slice %sa[8, 1] [12, 1] [1, 1] : tensor<20x2xf8E8M0FNU> to tensor<12x1xf8E8M0FNU>
  %2 = blockscale.scaled_mm %0, %0 scales(%1, %1) block [1, 32]
      : tensor<12x32xf8E4M3FN>, tensor<12x32xf8E4M3FN>, tensor<12x1xf8E8M0FNU>, tensor<12x1xf8E8M0FNU> -> tensor<12x12xf32>
  %3 = tensor.insert_slice %2 into %y[%i, 7] [12, 12] [1, 1] : tensor<12x12xf32> into tensor<40x30xf32>
  return %3 : tensor<40x30xf32>
}
func.func @dequantize_into(%q: tensor<4x32xf4E2M1FN>, %s: tensor<4x2xf8E4M3FN>, %y: tensor<9x80xbf16>) -> tensor<9x80xbf16> {
  %0 = blockscale.dequantize %q, %s block [1, 16]
      : tensor<4x32xf4E2M1FN>, tensor<4x2xf8E4M3FN> -> tensor<4x32xbf16>
  %1 = tensor.insert_slice %0 into %y[1, 9] [4, 32] [2, 2] : tensor<4x32xbf16> into tensor<9x80xbf16>
  return %1 : tensor<9x80xbf16>
}
