//===- GroupOps.td - pad_groups ----------------------------*- tablegen -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_IR_GROUPOPS_TD
#define BLOCKSCALE_IR_GROUPOPS_TD

include "blockscale/IR/BlockScaleOpBase.td"

def BlockScale_PadGroupsOp : BlockScale_TensorOp<"pad_groups",
    [AllTypesMatch<["offsets", "ends"]>]> {
  let summary = "Groups of rows of any length, each padded to whole blocks";
  let description = [{
    The rows of each group of x, followed by rows of zeros up to a multiple of
    `unit`, one group after the other. Behind the last group all rows are zero.

    ```text
    begin[g] = offsets[g - 1], or 0         ends[g] = ends[g - 1] + ceil((offsets[g] - begin[g]) / unit) * unit
    padded[ends[g - 1] + i] = x[begin[g] + i]   for i < offsets[g] - begin[g], and 0 for the rows up to ends[g]
    ```

    `ends` are the ends of the padded groups, which quantizers in blocks of
    several rows and products along K take as their `offsets`. So a group of any
    number of tokens has blocks of its own, which begin where it does, and the
    last of them is filled up with zeros, which change no amax and add nothing to
    a sum. An empty group stays empty.

    ```text
    rows of the result = floor((rows of x + G * (unit - 1)) / unit) * unit
    ```

    holds all that G groups can take. An end is at least the end before it and at
    most the number of rows of x; else the call is an error. Rows of x that no
    group has are not in the result.

    Constraints:
    - `pad_groups_c1`: `x` has rank 2 and no encoding, and `offsets` has rank 1.
    - `pad_groups_c2`: `unit` is from 1 to 65536.
    - `pad_groups_c3`: the result has the element type and the columns of `x`, the
      number of rows given above, and no encoding.
    - `pad_groups_c4`: there are fewer than 2^31 rows of `x`, groups, and rows of
      the result, since ends say no more. If the rows of the result are dynamic,
      they are checked at run time.

    Example:

    ```mlir
    %p, %pe = blockscale.pad_groups %x offsets(%ends : tensor<3xi32>) unit 32
        : tensor<96x128xbf16> -> tensor<160x128xbf16>
    ```
  }];
  let arguments = (ins
    BlockScale_InputTensor:$x,
    BlockScale_OffsetsTensor:$offsets,
    I64Attr:$unit);
  let results = (outs BlockScale_InputTensor:$padded, BlockScale_OffsetsTensor:$ends);
  let assemblyFormat = [{
    $x `offsets` `(` $offsets `:` type($offsets) `)` `unit` $unit
    attr-dict `:` type($x) `->` type($padded)
  }];
  let hasVerifier = 1;
}

#endif // BLOCKSCALE_IR_GROUPOPS_TD
