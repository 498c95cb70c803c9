//===- ScaleOps.td - swizzle, expand_scale -----------------*- tablegen -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_IR_SCALEOPS_TD
#define BLOCKSCALE_IR_SCALEOPS_TD

include "blockscale/IR/BlockScaleOpBase.td"

def BlockScale_SwizzleOp : BlockScale_TensorOp<"swizzle",
    [AttrSizedOperandSegments, BlockScale_ValueBounds]> {
  let summary = "Change the layout of a scale tensor";
  let description = [{
    Stores the same logical matrix in the layout of the result type: linear to
    swizzled, back, or from one layout of tiles to another. Padding is written as
    zero bytes. Between equal types the op does nothing.

    A grouped layout needs `offsets`: the end of each group in elements of the
    quantized tensor, in device memory. `block` is the number of elements that one
    row (`dim = 0`: 1) or one column (`dim = 1`: the block size) of the scales
    covers. An end is at least the end before it, at most the size of the dimension
    and a multiple of `block`; else the call is an error.

    A swizzled tensor does not store its logical size, so a result in another
    layout, or in none, needs one size operand for each dynamic dimension.

    Constraints:
    - `swizzle_c1`: source and result have the same shape and element type. If
      their layouts are equal, their types are equal.
    - `swizzle_c2`: encodings are absent or layouts.
    - `swizzle_c3`: `sizes` has one operand for each dynamic dimension if the
      source is swizzled and the result has another layout or none, and none
      otherwise.
    - `swizzle_c4`: `offsets` is present exactly if one side is grouped, with one
      end offset for each group; the other side is then linear.
    - `swizzle_c5`: `block` is positive, and 1 unless the layout is grouped
      along `dim = 1`.

    Example:

    ```mlir
    %t = blockscale.swizzle %s
        : tensor<200x5xf8E4M3FN> -> tensor<200x5xf8E4M3FN, #blockscale.layout<swizzle_128x4>>
    %u = blockscale.swizzle %d sizes(%r, %c)
        : tensor<?x?xf8E4M3FN, #blockscale.layout<swizzle_128x4>> -> tensor<?x?xf8E4M3FN>
    ```
  }];
  let arguments = (ins
    BlockScale_ScaleTensor:$source,
    Optional<BlockScale_OffsetsTensor>:$offsets,
    Variadic<Index>:$sizes,
    DefaultValuedOptionalAttr<I64Attr, "1">:$block);
  let results = (outs BlockScale_ScaleTensor:$result);
  let assemblyFormat = [{
    $source (`offsets` `(` $offsets^ `:` type($offsets) `)`)?
    (`sizes` `(` $sizes^ `)`)? (`block` $block^)?
    attr-dict `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    /// The layout of the side that is grouped, or null.
    LayoutAttr getGroupedLayout();
  }];
}

def BlockScale_ExpandScaleOp : BlockScale_TensorOp<"expand_scale"> {
  let summary = "Replicate the scales of square blocks for a matrix product";
  let description = [{
    Repeats the compact scales of B x B blocks, one for each block, as a product
    along one of the dimensions of the data [.., N, K] reads them: one for each row
    and block of columns (`k`), or for each column and block of rows (`n`).

    ```text
    scale_dim k:  result[.., n, j] = source[.., n / B, j]     [.., N, K/B]
    scale_dim n:  result[.., k, i] = source[.., i, k / B]     [.., K, N/B]
    ```

    `scaled_mm` and `scaled_grouped_mm` need `k` for a weight [N, K]; `n` is for
    the transposed weight [K, N] of a dgrad product. The result may have the
    swizzled layout. The compact scales do not determine the end of the last
    block, so a dynamic expanded size needs an operand.

    Constraints:
    - `expand_scale_c1`: `source` has rank at least 2 and no encoding.
    - `expand_scale_c2`: `block` is [16, 16] with f8E4M3FN and [32, 32] with
      f8E8M0FNU scales.
    - `expand_scale_c3`: the result has the element type of `source`, and no
      encoding or an ungrouped layout.
    - `expand_scale_c4`: the result's leading dimensions and last dimension are
      those of the formula; its rows divided by B, rounded up, are the number of
      blocks.
    - `expand_scale_c5`: `sizes` has one operand if the expanded dimension is
      dynamic, and none otherwise.

    Example:

    ```mlir
    %e = blockscale.expand_scale %s block [32, 32] scale_dim k
        : tensor<8x4xf8E8M0FNU> -> tensor<256x4xf8E8M0FNU, #blockscale.layout<swizzle_128x4>>
    ```
  }];
  let arguments = (ins
    BlockScale_ScaleTensor:$source,
    Optional<Index>:$size,
    DenseI64ArrayAttr:$block,
    BlockScale_ScaleDimAttr:$scale_dim);
  let results = (outs BlockScale_ScaleTensor:$result);
  let assemblyFormat = [{
    $source `block` $block `scale_dim` custom<Word>($scale_dim) (`sizes` `(` $size^ `)`)?
    attr-dict `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

#endif // BLOCKSCALE_IR_SCALEOPS_TD
