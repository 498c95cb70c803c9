// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module that every target compiles.

#swizzled = #blockscale.layout<swizzle_128x4>

func.func @quantize(%x: tensor<?x64xbf16>, %g: tensor<f32>)
    -> (tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN, #swizzled>) {
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<?x64xbf16> -> tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN, #swizzled>
  return %q, %s : tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN, #swizzled>
}
