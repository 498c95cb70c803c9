#swizzled = #blockscale.layout<swizzle_128x4>

// A kernel of logical tensors, as formed.
func.func @logical(%x: tensor<128x64xbf16>, %qi: tensor<128x64xf4E2M1FN>, %si: tensor<128x4xf8E4M3FN>) {
  %q, %s = blockscale.kernel ins(%x : tensor<128x64xbf16>)
      outs(%qi, %si : tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>) {
  ^bb0(%lx: tensor<128x64xbf16>, %lq: tensor<128x64xf4E2M1FN>, %ls: tensor<128x4xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16]
        : tensor<128x64xbf16> -> tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>
  } -> tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>
  return
}

// Operands in storage form, for a body of logical tensors; attributes stay.
func.func @storage(%t: tensor<2x2x32x4x4xf8E4M3FN>, %n: index, %i: tensor<200x?xf8E4M3FN>) {
  %r = blockscale.kernel ins(%t, %n : tensor<2x2x32x4x4xf8E4M3FN>, index)
      outs(%i : tensor<200x?xf8E4M3FN>) attributes {tile = 4} {
  ^bb0(%lt: tensor<200x?xf8E4M3FN, #swizzled>, %ln: index, %li: tensor<200x?xf8E4M3FN>):
    %0 = blockscale.swizzle %lt sizes(%ln) : tensor<200x?xf8E4M3FN, #swizzled> -> tensor<200x?xf8E4M3FN>
    blockscale.yield %0 : tensor<200x?xf8E4M3FN>
  } -> tensor<200x?xf8E4M3FN>
  return
}

// After bufferization: memrefs, strided too, and no results.
func.func @buffers(%x: memref<4x32xf32, strided<[64, 1], offset: ?>>, %q: memref<4x16xi8>, %s: memref<4x1xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<4x32xf32, strided<[64, 1], offset: ?>>)
      outs(%q, %s : memref<4x16xi8>, memref<4x1xf8E8M0FNU>) {
  ^bb0(%lx: tensor<4x32xf32>, %lq: tensor<4x32xf4E2M1FN>, %ls: tensor<4x1xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32]
        : tensor<4x32xf32> -> tensor<4x32xf4E2M1FN>, tensor<4x1xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<4x32xf4E2M1FN>, tensor<4x1xf8E8M0FNU>
  }
  return
}
