//===- QuantizeOps.td - amax, quantize, dequantize, swizzle -*- tablegen -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_IR_QUANTIZEOPS_TD
#define BLOCKSCALE_IR_QUANTIZEOPS_TD

include "blockscale/IR/BlockScaleOpBase.td"

def BlockScale_AmaxOp : BlockScale_TensorOp<"amax"> {
  let summary = "Largest absolute value of a tensor or of each batch element";
  let description = [{
    ```text
    amax = max |x[.., m, k]|
    ```

    over the whole tensor (result `tensor<f32>`) or over each matrix of a
    batched tensor (result shape = the leading dimensions). NaN propagates; an
    empty range gives 0.

    Constraints:
    - `amax_c1`: `x` has rank at least 2 and no encoding.
    - `amax_c2`: the result shape is empty or equals the leading dimensions of
      `x`, without encoding.

    Example:

    ```mlir
    %a = blockscale.amax %x : tensor<64x128xbf16> -> tensor<f32>
    %e = blockscale.amax %w : tensor<8x64x128xbf16> -> tensor<8xf32>
    ```
  }];
  let arguments = (ins BlockScale_InputTensor:$x);
  let results = (outs RankedTensorOf<[F32]>:$amax);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($amax)";
  let hasVerifier = 1;
}

def BlockScale_GlobalScaleOp : BlockScale_TensorOp<"global_scale",
    [SameOperandsAndResultType]> {
  let summary = "Decode scale of a tensor from its amax";
  let description = [{
    The largest block scale times the largest code is 448 * 6 = 2688, so the
    decode scale that maps the tensor's amax onto it is

    | recipe | global scale |
    | --- | --- |
    | `torchao`, `modelopt` | `amax / 2688` |
    | `mslk` | `1 / (2688 / max(amax, 1e-8))` |
    | `te` | `1 / S`, `S = min(2688 / amax, FLT_MAX)`, 1 where amax or S is 0 |

    in f32, one rounding an operation. For `te` and `mslk` the encode scale S is
    what the recipe computes with, and 1/(1/S) is not S to the last bit: give
    `quantize` the amax (`global_amax`) where their exact bytes matter.

    Constraints:
    - `global_scale_c1`: the recipe is an NVFP4 recipe.

    Example:

    ```mlir
    %g = blockscale.global_scale %a recipe torchao : tensor<f32>
    ```
  }];
  let arguments = (ins
    RankedTensorOf<[F32]>:$amax,
    OptionalAttr<BlockScale_RecipeAttr>:$recipe);
  let results = (outs RankedTensorOf<[F32]>:$scale);
  let assemblyFormat = [{
    $amax (`recipe` `` $recipe^)? attr-dict `:` type($amax)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The recipe, or the format's default where the attribute is absent.
    Recipe getEffectiveRecipe();
  }];
}

def BlockScale_QuantizeOp : BlockScale_TensorOp<"quantize",
    [AttrSizedOperandSegments, BlockScale_ValueBounds]> {
  let summary = "Narrow data and block scales of a tensor";
  let description = [{
    For each block b of `block` consecutive elements of the last dimension,
    with the recipe's arithmetic,

    ```text
    scale[b] = cast(amax(x[b]) / largest(data type) / global)   in E4M3 or E8M0
    data[i]  = cast(x[i] / (scale[b] * global))                 nearest, ties to even
    ```

    The exact operations, their order and the rules for zero, infinity and NaN
    are the recipe's (docs/Numerics.md). An absent global scale means 1.0 in
    every recipe. `global_amax` gives the recipe the tensor's amax instead, from
    which it derives its own constants. With an encoded scale result the scales
    are written in that layout, padding as zero bytes.

    Formats: NVFP4 is block `[1, 16]`, f8E4M3FN scales, f4E2M1FN data; MX is
    block `[1, 32]`, f8E8M0FNU scales, f8E4M3FN, f8E5M2 or f4E2M1FN data.

    Constraints:
    - `quantize_c1`: `x` has rank at least 2 and no encoding.
    - `quantize_c2`: block, data and scale element types are those of a format.
    - `quantize_c3`: the recipe belongs to the format.
    - `quantize_c4`: the data shape is the shape of `x`, without encoding.
    - `quantize_c5`: the scale shape is that of `x` with the last dimension
      divided by the block, rounded up.
    - `quantize_c6`: the last dimension of `x` is a multiple of the block, unless
      the recipe takes tails (`te`, `modelopt`). Where it is dynamic this is
      checked at run time.
    - `quantize_c7`: at most one of `global_scale` and `global_amax`, and only
      in NVFP4.
    - `quantize_c8`: a global operand is a scalar, has rank 0, or the leading
      dimensions of `x`.
    - `quantize_c9`: the scale encoding is absent or an ungrouped layout.

    Example:

    ```mlir
    %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>)
        : tensor<200x80xbf16>
       -> tensor<200x80xf4E2M1FN>, tensor<200x5xf8E4M3FN, #blockscale.layout<swizzle_128x4>>
    ```
  }];
  let arguments = (ins
    BlockScale_InputTensor:$x,
    Optional<BlockScale_GlobalValue>:$global_scale,
    Optional<BlockScale_GlobalValue>:$global_amax,
    DenseI64ArrayAttr:$block,
    OptionalAttr<BlockScale_RecipeAttr>:$recipe);
  let results = (outs BlockScale_DataTensor:$data, BlockScale_ScaleTensor:$scale);
  let assemblyFormat = [{
    $x `block` $block (`recipe` `` $recipe^)?
    (`global_scale` `(` $global_scale^ `:` type($global_scale) `)`)?
    (`global_amax` `(` $global_amax^ `:` type($global_amax) `)`)?
    attr-dict `:` type($x) `->` type($data) `,` type($scale)
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    /// The recipe, or the format's default where the attribute is absent.
    Recipe getEffectiveRecipe();
    /// Elements of the last dimension that share a scale.
    int64_t getBlockSize() { return getBlock().back(); }
  }];
}

def BlockScale_DequantizeOp : BlockScale_TensorOp<"dequantize",
    [AttrSizedOperandSegments]> {
  let summary = "Values that narrow data and block scales stand for";
  let description = [{
    ```text
    torchao, mslk, te:  x[i] = f32(data[i]) * (global * f32(scale[b]))
    modelopt:           x[i] = f32(data[i]) * f32(scale[b]) * global     left to right
    MX:                 x[i] = f32(data[i]) * 2^(scale[b] - 127)
    ```

    in f32, rounded to the result type at the end. `global_amax` stands for the
    decode scale that the recipe's `global_scale` gives. A NaN scale makes its
    block NaN. This is not the inverse of `quantize`, and never folded as one.

    Constraints:
    - `dequantize_c1`: data has rank at least 2 and no encoding.
    - `dequantize_c2`: block, data and scale element types are those of a format.
    - `dequantize_c3`: the recipe belongs to the format.
    - `dequantize_c4`: the result shape is the data shape, without encoding.
    - `dequantize_c5`: the scale shape is the data shape with the last dimension
      divided by the block, rounded up.
    - `dequantize_c6`: at most one of `global_scale` and `global_amax`, and only
      in NVFP4.
    - `dequantize_c7`: a global operand is a scalar, has rank 0, or the leading
      dimensions of the data.
    - `dequantize_c8`: the scale encoding is absent or an ungrouped layout.
    - `dequantize_c9`: the last dimension of the data is a multiple of the block,
      unless the recipe takes tails (`te`, `modelopt`). Where it is dynamic this
      is checked at run time.

    Example:

    ```mlir
    %x = blockscale.dequantize %q, %s block [1, 32]
        : tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU> -> tensor<64x96xbf16>
    ```
  }];
  let arguments = (ins
    BlockScale_DataTensor:$data,
    BlockScale_ScaleTensor:$scale,
    Optional<BlockScale_GlobalValue>:$global_scale,
    Optional<BlockScale_GlobalValue>:$global_amax,
    DenseI64ArrayAttr:$block,
    OptionalAttr<BlockScale_RecipeAttr>:$recipe);
  let results = (outs BlockScale_ResultTensor:$result);
  let assemblyFormat = [{
    $data `,` $scale `block` $block (`recipe` `` $recipe^)?
    (`global_scale` `(` $global_scale^ `:` type($global_scale) `)`)?
    (`global_amax` `(` $global_amax^ `:` type($global_amax) `)`)?
    attr-dict `:` type($data) `,` type($scale) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    /// The recipe, or the format's default where the attribute is absent.
    Recipe getEffectiveRecipe();
    /// Elements of the last dimension that share a scale.
    int64_t getBlockSize() { return getBlock().back(); }
  }];
}

def BlockScale_SwizzleOp : BlockScale_TensorOp<"swizzle",
    [AttrSizedOperandSegments, BlockScale_ValueBounds]> {
  let summary = "Change the layout of a scale tensor";
  let description = [{
    The same logical matrix in the layout of the result type: linear to swizzled
    or back. Padding is written as zero bytes. Between equal types it is a no-op.

    A grouped layout needs `offsets`: the end of each group in elements of the
    quantized tensor, on device. `block` is the number of those elements a row
    (`dim = 0`: 1) or column (`dim = 1`: the block size) of the scale stands for.

    A swizzled tensor does not store its logical size, so a linear result with
    dynamic dimensions takes one size operand for each.

    Constraints:
    - `swizzle_c1`: source and result have the same shape and element type, and
      are equal where their layouts are.
    - `swizzle_c2`: encodings are absent or layouts.
    - `swizzle_c3`: `sizes` has one operand for each dynamic dimension of a
      linear result of a swizzled source, else none.
    - `swizzle_c4`: `offsets` is present exactly where one side is grouped, with
      one end offset a group; then the other side is linear.
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
    Optional<RankedTensorOf<[I32]>>:$offsets,
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
}

#endif // BLOCKSCALE_IR_QUANTIZEOPS_TD
