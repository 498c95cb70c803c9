//===- LaunchOps.td - What hosts make for kernels ----------*- tablegen -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_IR_LAUNCHOPS_TD
#define BLOCKSCALE_IR_LAUNCHOPS_TD

include "blockscale/IR/BlockScaleOpBase.td"
include "mlir/Dialect/LLVMIR/LLVMOpBase.td"

def BlockScale_TensorMapOp : BlockScale_Op<"tensor_map",
    [Pure, AttrSizedOperandSegments]> {
  let summary = "How copies of tiles see a tensor in global memory";
  let description = [{
    The 128 bytes that `cp.async.bulk.tensor` takes, as cuTensorMapEncodeTiled
    makes them: a tensor of `dims`, the innermost first, whose dimensions from
    the second on are `strides` bytes apart, and the `box` of elements that a
    copy brings into shared memory. There rows of `swizzle` bytes have their
    pieces of 16 bytes exchanged; 0 leaves them in order. Elements of the box
    beyond the tensor become zero.

    The result is an argument of `gpu.launch_func`, for a parameter that is
    passed by value and marked `blockscale.tensor_map`. Launch plans write it
    down; other host code has no form of it.

    Constraints:
    - `tensor_map_c1`: 1 to 5 dims, as many sizes of the box, and a stride for
      each dimension but the first.
    - `tensor_map_c2`: sizes of the box are 1 to 256.
    - `tensor_map_c3`: the swizzle is 0, 32, 64 or 128.
    - `tensor_map_c4`: a row of the box is a multiple of 16 bytes, at most those
      of the swizzle where there is one, and 128 elements of `u4_padded`.

    Example:

    ```mlir
    %map = blockscale.tensor_map %data dims[%cols, %rows] strides[%pitch]
        box [128, 128] element uint8 swizzle 128
    ```
  }];
  let arguments = (ins
    LLVM_PointerInAddressSpace<1>:$address,
    Variadic<Index>:$dims,
    Variadic<Index>:$strides,
    DenseI64ArrayAttr:$box,
    BlockScale_MapElementAttr:$element,
    ConfinedAttr<I64Attr, [IntNonNegative]>:$swizzle);
  let results = (outs LLVM_PointerInAddressSpace<0>:$map);
  let assemblyFormat = [{
    $address `dims` `[` $dims `]` (`strides` `[` $strides^ `]`)? `box` $box
    `element` custom<Word>($element) `swizzle` $swizzle attr-dict
  }];
  let hasVerifier = 1;
}

#endif // BLOCKSCALE_IR_LAUNCHOPS_TD
