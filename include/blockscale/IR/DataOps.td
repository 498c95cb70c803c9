//===- DataOps.td - prepack --------------------------------*- tablegen -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_IR_DATAOPS_TD
#define BLOCKSCALE_IR_DATAOPS_TD

include "blockscale/IR/BlockScaleOpBase.td"

def BlockScale_PrepackOp : BlockScale_TensorOp<"prepack",
    [BlockScale_ValueBounds]> {
  let summary = "Change the layout of a data tensor";
  let description = [{
    Stores the same logical matrix of codes in the layout of the result type:
    row-major to prepacked or back. What lies beyond the matrix is written as code
    0. Between equal types the op does nothing.

    A weight is prepacked once, at compile time if it is a constant, for products
    that multiply it by a plain operand on Hopper (`scaled_mm_c10`).

    A prepacked tensor does not store its logical size, so a row-major result needs
    one size operand for each dynamic dimension.

    Constraints:
    - `prepack_c1`: source and result have the same shape and element type. If
      their layouts are equal, their types are equal.
    - `prepack_c2`: encodings are absent or data layouts; the rank is at least 2.
    - `prepack_c3`: `sizes` has one operand for each dynamic dimension if the
      source is prepacked and the result is not, and none otherwise.

    Example:

    ```mlir
    %p = blockscale.prepack %w
        : tensor<200x256xf4E2M1FN> -> tensor<200x256xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>
    %v = blockscale.prepack %q sizes(%n)
        : tensor<?x256xf8E4M3FN, #blockscale.data_layout<fragments_64x64>> -> tensor<?x256xf8E4M3FN>
    ```
  }];
  let arguments = (ins
    BlockScale_DataTensor:$source,
    Variadic<Index>:$sizes);
  let results = (outs BlockScale_DataTensor:$result);
  let assemblyFormat = [{
    $source (`sizes` `(` $sizes^ `)`)?
    attr-dict `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif // BLOCKSCALE_IR_DATAOPS_TD
