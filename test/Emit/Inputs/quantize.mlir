// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What call_object.c calls.

#swizzled = #blockscale.layout<swizzle_128x4>

func.func @quantize(%x: tensor<?x?xbf16>, %g: f32)
    -> (tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN, #swizzled>) {
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : f32)
      : tensor<?x?xbf16> -> tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN, #swizzled>
  return %q, %s : tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN, #swizzled>
}
