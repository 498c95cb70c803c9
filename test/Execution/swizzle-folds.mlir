// Folding swizzles away changes no byte, padding included. See Inputs/compare.py
// for the meaning of the names.
//
// RUN: %python %S/Inputs/compare.py %s %t --passes=--canonicalize | FileCheck %s
// CHECK: 29 equal, 1 different as they must be, 0 wrong

#swizzled = #blockscale.layout<swizzle_128x4>
#rows = #blockscale.layout<swizzle_128x4, groups = 3, dim = 0>
#columns = #blockscale.layout<swizzle_128x4, groups = 2, dim = 1>

// A quantizer that stores its scales in the layout which the swizzle makes (C8: any can).
func.func @nvfp4.swizzle(%x: tensor<2x200x80xf32>)
    -> (tensor<2x200x80xf4E2M1FN>, tensor<2x200x5xf8E4M3FN, #swizzled>) {
  %q, %s = blockscale.quantize %x block [1, 16]
      : tensor<2x200x80xf32> -> tensor<2x200x80xf4E2M1FN>, tensor<2x200x5xf8E4M3FN>
  %t = blockscale.swizzle %s : tensor<2x200x5xf8E4M3FN> -> tensor<2x200x5xf8E4M3FN, #swizzled>
  return %q, %t : tensor<2x200x80xf4E2M1FN>, tensor<2x200x5xf8E4M3FN, #swizzled>
}
func.func @nvfp4.same_direct(%x: tensor<2x200x80xf32>)
    -> (tensor<2x200x80xf4E2M1FN>, tensor<2x200x5xf8E4M3FN, #swizzled>) {
  %q, %s = blockscale.quantize %x block [1, 16]
      : tensor<2x200x80xf32> -> tensor<2x200x80xf4E2M1FN>, tensor<2x200x5xf8E4M3FN, #swizzled>
  return %q, %s : tensor<2x200x80xf4E2M1FN>, tensor<2x200x5xf8E4M3FN, #swizzled>
}

// A chain of swizzles that ends in the other layout.
func.func @nvfp4.same_chain(%x: tensor<2x200x80xf32>)
    -> (tensor<2x200x80xf4E2M1FN>, tensor<2x200x5xf8E4M3FN, #swizzled>) {
  %q, %s = blockscale.quantize %x block [1, 16]
      : tensor<2x200x80xf32> -> tensor<2x200x80xf4E2M1FN>, tensor<2x200x5xf8E4M3FN>
  %t = blockscale.swizzle %s : tensor<2x200x5xf8E4M3FN> -> tensor<2x200x5xf8E4M3FN, #swizzled>
  %u = blockscale.swizzle %t : tensor<2x200x5xf8E4M3FN, #swizzled> -> tensor<2x200x5xf8E4M3FN>
  %v = blockscale.swizzle %u : tensor<2x200x5xf8E4M3FN> -> tensor<2x200x5xf8E4M3FN, #swizzled>
  return %q, %v : tensor<2x200x80xf4E2M1FN>, tensor<2x200x5xf8E4M3FN, #swizzled>
}

// Linear scales have another shape in memory: the swizzle does something.
func.func @nvfp4.other_linear(%x: tensor<2x200x80xf32>)
    -> (tensor<2x200x80xf4E2M1FN>, tensor<2x200x5xf8E4M3FN>) {
  %q, %s = blockscale.quantize %x block [1, 16]
      : tensor<2x200x80xf32> -> tensor<2x200x80xf4E2M1FN>, tensor<2x200x5xf8E4M3FN>
  return %q, %s : tensor<2x200x80xf4E2M1FN>, tensor<2x200x5xf8E4M3FN>
}

// Dynamic sizes, MX.
func.func @mx.swizzle(%x: tensor<?x96xbf16>)
    -> (tensor<?x96xf8E4M3FN>, tensor<?x3xf8E8M0FNU, #swizzled>) {
  %q, %s = blockscale.quantize %x block [1, 32]
      : tensor<?x96xbf16> -> tensor<?x96xf8E4M3FN>, tensor<?x3xf8E8M0FNU>
  %t = blockscale.swizzle %s : tensor<?x3xf8E8M0FNU> -> tensor<?x3xf8E8M0FNU, #swizzled>
  return %q, %t : tensor<?x96xf8E4M3FN>, tensor<?x3xf8E8M0FNU, #swizzled>
}
func.func @mx.same_direct(%x: tensor<?x96xbf16>)
    -> (tensor<?x96xf8E4M3FN>, tensor<?x3xf8E8M0FNU, #swizzled>) {
  %q, %s = blockscale.quantize %x block [1, 32]
      : tensor<?x96xbf16> -> tensor<?x96xf8E4M3FN>, tensor<?x3xf8E8M0FNU, #swizzled>
  return %q, %s : tensor<?x96xf8E4M3FN>, tensor<?x3xf8E8M0FNU, #swizzled>
}

// The other direction.
func.func @unswizzle(%x: tensor<?x96xbf16>) -> tensor<?x3xf8E8M0FNU> {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x96xbf16>
  %q, %s = blockscale.quantize %x block [1, 32]
      : tensor<?x96xbf16> -> tensor<?x96xf8E4M3FN>, tensor<?x3xf8E8M0FNU, #swizzled>
  %t = blockscale.swizzle %s sizes(%rows) : tensor<?x3xf8E8M0FNU, #swizzled> -> tensor<?x3xf8E8M0FNU>
  return %t : tensor<?x3xf8E8M0FNU>
}

// Two readers of the linear scales keep the swizzle.
func.func @two_readers(%x: tensor<40x64xf32>)
    -> (tensor<40x4xf8E4M3FN>, tensor<40x4xf8E4M3FN, #swizzled>) {
  %q, %s = blockscale.quantize %x block [1, 16] recipe te
      : tensor<40x64xf32> -> tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN>
  %t = blockscale.swizzle %s : tensor<40x4xf8E4M3FN> -> tensor<40x4xf8E4M3FN, #swizzled>
  return %s, %t : tensor<40x4xf8E4M3FN>, tensor<40x4xf8E4M3FN, #swizzled>
}

// Pairs, from either side.
func.func @linear_pair(%s: tensor<2x40x5xf8E4M3FN>) -> tensor<2x40x5xf8E4M3FN> {
  %0 = blockscale.swizzle %s : tensor<2x40x5xf8E4M3FN> -> tensor<2x40x5xf8E4M3FN, #swizzled>
  %1 = blockscale.swizzle %0 : tensor<2x40x5xf8E4M3FN, #swizzled> -> tensor<2x40x5xf8E4M3FN>
  return %1 : tensor<2x40x5xf8E4M3FN>
}
func.func @swizzled_pair(%s: tensor<256x8xf8E8M0FNU, #swizzled>) -> tensor<256x8xf8E8M0FNU, #swizzled> {
  %0 = blockscale.swizzle %s : tensor<256x8xf8E8M0FNU, #swizzled> -> tensor<256x8xf8E8M0FNU>
  %1 = blockscale.swizzle %0 : tensor<256x8xf8E8M0FNU> -> tensor<256x8xf8E8M0FNU, #swizzled>
  return %1 : tensor<256x8xf8E8M0FNU, #swizzled>
}

// To its own type: nothing to do (C9).
func.func @no_swizzle(%s: tensor<2x40x5xf8E4M3FN>) -> tensor<2x40x5xf8E4M3FN> {
  %0 = blockscale.swizzle %s : tensor<2x40x5xf8E4M3FN> -> tensor<2x40x5xf8E4M3FN>
  return %0 : tensor<2x40x5xf8E4M3FN>
}

// A grouped pair stays: it drops rows 30 and up, which no group covers.
func.func @grouped_rows(%s: tensor<40x5xf8E4M3FN>) -> tensor<40x5xf8E4M3FN> {
  %ends = arith.constant dense<[7, 7, 30]> : tensor<3xi32>
  %0 = blockscale.swizzle %s offsets(%ends : tensor<3xi32>) : tensor<40x5xf8E4M3FN> -> tensor<40x5xf8E4M3FN, #rows>
  %1 = blockscale.swizzle %0 offsets(%ends : tensor<3xi32>) : tensor<40x5xf8E4M3FN, #rows> -> tensor<40x5xf8E4M3FN>
  return %1 : tensor<40x5xf8E4M3FN>
}

// Behind a quantizer too.
func.func @grouped_columns(%x: tensor<200x160xf32>) -> tensor<200x10xf8E4M3FN, #columns> {
  %ends = arith.constant dense<[48, 144]> : tensor<2xi32>
  %q, %s = blockscale.quantize %x block [1, 16]
      : tensor<200x160xf32> -> tensor<200x160xf4E2M1FN>, tensor<200x10xf8E4M3FN>
  %t = blockscale.swizzle %s offsets(%ends : tensor<2xi32>) block 16
      : tensor<200x10xf8E4M3FN> -> tensor<200x10xf8E4M3FN, #columns>
  return %t : tensor<200x10xf8E4M3FN, #columns>
}
