// Scales of every size go to their place in tiles and back, and padding is zero:
// each function is run on many sizes and compared with numpy.
//
// RUN: mkdir -p %t && %python %S/Inputs/storage_sizes.py %s %t | FileCheck %s
// CHECK: {{^}}1626 passed, 0 failed

#swizzled = #blockscale.layout<swizzle_128x4>

func.func @swizzle(%s: tensor<?x?xf8E4M3FN>) -> tensor<?x?xf8E4M3FN, #swizzled> {
  %t = blockscale.swizzle %s : tensor<?x?xf8E4M3FN> -> tensor<?x?xf8E4M3FN, #swizzled>
  return %t : tensor<?x?xf8E4M3FN, #swizzled>
}

func.func @unswizzle(%t: tensor<?x?xf8E4M3FN, #swizzled>, %r: index, %c: index) -> tensor<?x?xf8E4M3FN> {
  %s = blockscale.swizzle %t sizes(%r, %c) : tensor<?x?xf8E4M3FN, #swizzled> -> tensor<?x?xf8E4M3FN>
  return %s : tensor<?x?xf8E4M3FN>
}

// Each batch element has tiles of its own.
func.func @batch(%s: tensor<?x2x?x?xf8E8M0FNU>) -> tensor<?x2x?x?xf8E8M0FNU, #swizzled> {
  %t = blockscale.swizzle %s : tensor<?x2x?x?xf8E8M0FNU> -> tensor<?x2x?x?xf8E8M0FNU, #swizzled>
  return %t : tensor<?x2x?x?xf8E8M0FNU, #swizzled>
}
func.func @unbatch(%t: tensor<?x2x?x?xf8E8M0FNU, #swizzled>, %b: index, %r: index, %c: index)
    -> tensor<?x2x?x?xf8E8M0FNU> {
  %s = blockscale.swizzle %t sizes(%b, %r, %c) : tensor<?x2x?x?xf8E8M0FNU, #swizzled> -> tensor<?x2x?x?xf8E8M0FNU>
  return %s : tensor<?x2x?x?xf8E8M0FNU>
}

// From tile (%i, %j) to the end: the slice's padding is the matrix's.
func.func @suffix(%s: tensor<?x?xf8E4M3FN>, %i: index, %j: index)
    -> (tensor<?x?xf8E4M3FN>, tensor<?x?xf8E4M3FN, #swizzled>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c128 = arith.constant 128 : index
  %rows = tensor.dim %s, %c0 : tensor<?x?xf8E4M3FN>
  %cols = tensor.dim %s, %c1 : tensor<?x?xf8E4M3FN>
  %row = arith.muli %i, %c128 : index
  %col = arith.muli %j, %c4 : index
  %m = arith.subi %rows, %row : index
  %n = arith.subi %cols, %col : index
  %t = blockscale.swizzle %s : tensor<?x?xf8E4M3FN> -> tensor<?x?xf8E4M3FN, #swizzled>
  %u = tensor.extract_slice %t[%row, %col] [%m, %n] [1, 1]
      : tensor<?x?xf8E4M3FN, #swizzled> to tensor<?x?xf8E4M3FN, #swizzled>
  %v = blockscale.swizzle %u sizes(%m, %n) : tensor<?x?xf8E4M3FN, #swizzled> -> tensor<?x?xf8E4M3FN>
  return %v, %u : tensor<?x?xf8E4M3FN>, tensor<?x?xf8E4M3FN, #swizzled>
}

// Whole tiles up to (%i, %j).
func.func @prefix(%s: tensor<?x?xf8E4M3FN>, %i: index, %j: index) -> tensor<?x?xf8E4M3FN> {
  %m = affine.apply affine_map<()[s0] -> (128 * s0)>()[%i]
  %n = affine.apply affine_map<()[s0] -> (4 * s0)>()[%j]
  %t = blockscale.swizzle %s : tensor<?x?xf8E4M3FN> -> tensor<?x?xf8E4M3FN, #swizzled>
  %u = tensor.extract_slice %t[0, 0] [%m, %n] [1, 1]
      : tensor<?x?xf8E4M3FN, #swizzled> to tensor<?x?xf8E4M3FN, #swizzled>
  %v = blockscale.swizzle %u sizes(%m, %n) : tensor<?x?xf8E4M3FN, #swizzled> -> tensor<?x?xf8E4M3FN>
  return %v : tensor<?x?xf8E4M3FN>
}

// Data of any width, and the padding that quantize writes itself.
func.func @quantize(%x: tensor<?x?xf32>) -> (tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN, #swizzled>) {
  %q, %s = blockscale.quantize %x block [1, 16] recipe te
      : tensor<?x?xf32> -> tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN, #swizzled>
  return %q, %s : tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN, #swizzled>
}

// What the types learn and forget is not in memory.
func.func @learn(%q: tensor<?x?xf4E2M1FN>, %s: tensor<?x?xf8E4M3FN, #swizzled>)
    -> (tensor<200x9xf4E2M1FN>, tensor<200x?xf8E4M3FN, #swizzled>) {
  %0 = tensor.cast %q : tensor<?x?xf4E2M1FN> to tensor<200x9xf4E2M1FN>
  %1 = tensor.cast %s : tensor<?x?xf8E4M3FN, #swizzled> to tensor<200x?xf8E4M3FN, #swizzled>
  return %0, %1 : tensor<200x9xf4E2M1FN>, tensor<200x?xf8E4M3FN, #swizzled>
}
func.func @forget(%q: tensor<200x9xf4E2M1FN>, %s: tensor<200x5xf8E4M3FN, #swizzled>)
    -> (tensor<?x9xf4E2M1FN>, tensor<?x5xf8E4M3FN, #swizzled>) {
  %0 = tensor.cast %q : tensor<200x9xf4E2M1FN> to tensor<?x9xf4E2M1FN>
  %1 = tensor.cast %s : tensor<200x5xf8E4M3FN, #swizzled> to tensor<?x5xf8E4M3FN, #swizzled>
  return %0, %1 : tensor<?x9xf4E2M1FN>, tensor<?x5xf8E4M3FN, #swizzled>
}

// A batch of rows of data has two sizes that only the run knows.
func.func @reshape(%x: tensor<?x32xf32>, %m: index, %n: index) -> tensor<?x?x32xf4E2M1FN> {
  %0 = tensor.expand_shape %x [[0, 1], [2]] output_shape [%m, %n, 32] : tensor<?x32xf32> into tensor<?x?x32xf32>
  %q, %s = blockscale.quantize %0 block [1, 16] recipe te
      : tensor<?x?x32xf32> -> tensor<?x?x32xf4E2M1FN>, tensor<?x?x2xf8E4M3FN>
  return %q : tensor<?x?x32xf4E2M1FN>
}
