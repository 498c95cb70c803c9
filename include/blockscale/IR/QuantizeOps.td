//===- QuantizeOps.td - hadamard, quantize, dequantize -----*- tablegen -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_IR_QUANTIZEOPS_TD
#define BLOCKSCALE_IR_QUANTIZEOPS_TD

include "blockscale/IR/BlockScaleOpBase.td"

def BlockScale_HadamardOp : BlockScale_TensorOp<"hadamard",
    [SameOperandsAndResultType]> {
  let summary = "Random Hadamard transform (RHT) of segments of 16 elements";
  let description = [{
    Each segment v of 16 consecutive elements along dimension `dim` of the matrix
    (0: down a column, 1: along a row) becomes

    ```text
    v * diag(d) * H / 4,   H[i][j] = (-1)^popcount(i & j),   d[i] = -1 where bit i of sign_mask is set
    ```

    It is summed in f32 and rounded once to bf16. The default mask 0xD7E8 = 55272
    is TransformerEngine's and torchao's; mask 0 is the plain transform. The
    product of two operands that are both transformed along their contracted
    dimension stays the same, since the matrix is orthogonal. Numerics/Hadamard.h
    defines the order of the sum.

    Constraints:
    - `hadamard_c1`: `x` has rank at least 2 and no encoding.
    - `hadamard_c2`: `x` is bf16, the only type that the transform is defined for.
    - `hadamard_c3`: `dim` is 0 or 1.
    - `hadamard_c4`: the transformed dimension is a multiple of 16. If it is
      dynamic, this is checked at run time.
    - `hadamard_c5`: `sign_mask` has 16 bits.

    Example:

    ```mlir
    %y = blockscale.hadamard %x dim 0 : tensor<64x128xbf16>
    %z = blockscale.hadamard %x dim 1 sign_mask 0 : tensor<64x128xbf16>
    ```
  }];
  let arguments = (ins
    BlockScale_InputTensor:$x,
    I64Attr:$dim,
    DefaultValuedOptionalAttr<I64Attr, "0xD7E8">:$sign_mask);
  let results = (outs BlockScale_InputTensor:$result);
  let assemblyFormat = [{
    $x `dim` $dim (`sign_mask` $sign_mask^)? attr-dict `:` type($x)
  }];
  let hasVerifier = 1;
}

def BlockScale_QuantizeOp : BlockScale_TensorOp<"quantize",
    [AttrSizedOperandSegments, BlockScale_ValueBounds,
     BlockScale_QuantizerOpInterface]> {
  let summary = "Narrow data and block scales of a tensor";
  let description = [{
    The matrix is the last two dimensions of `x`. Each of its blocks b of
    `block` = [rows, columns] is quantized with the recipe's arithmetic:

    ```text
    scale[b] = cast(amax(x[b]) / largest(data type) / global)   in E4M3 or E8M0
    data[i]  = cast(x[i] / (scale[b] * global))                 nearest, ties to even
    ```

    The recipe determines the exact operations, their order and the rules for
    zero, infinity and NaN (docs/Numerics.md). An absent global scale means 1.0 in
    every recipe. With `global_amax` the recipe computes its constants from the
    amax instead, with `nonzero_amax` as the op `global_scale` takes it;
    `block_amax`, a result of `scale_sweep`, replaces the amax of
    each block. With `rng` (seed, offset, or these and where x lies in a larger
    tensor) data are rounded stochastically, with the same bits on every target.

    These are the shapes of the results for x [.., M, K] and blocks m x k:

    | attribute | data | scale |
    | --- | --- | --- |
    | none | [.., M, K] | [.., M/m, K/k] |
    | `transposed` | [.., K, M] | [.., K/k, M/m] |
    | `scale_dim k` (square blocks) | as above | [.., M, K/k], a scale in each row of its block |
    | `scale_dim n` (square blocks) | as above | [.., K, M/m], a scale in each column of its block |

    Quotients are rounded up. If the scale result has a layout, the scales are
    written in that layout, with zero bytes as padding.

    `offsets` are the ends of G row groups (`group_dim` 0) or column groups (1) of
    a matrix, in device memory. Global operands may then have one value for each
    group, and the scales may have a layout that is grouped along that dimension.
    An end is at least the end before it, at most the size of the dimension and a
    multiple of the block along it (`pad_groups` makes such groups of rows of any
    ends); else the call is an error. Elements that belong to no group give zero
    codes and zero scale bytes.

    There are two families of formats. NVFP4 has blocks [1, 16], [16, 16] or
    (transposed) [16, 1], f8E4M3FN scales and f4E2M1FN data. MX has blocks
    [1, 32], [32, 1] or [32, 32], f8E8M0FNU scales and f8E4M3FN, f8E5M2, f6E2M3FN,
    f6E3M2FN, f4E2M1FN or i8 data; an i8 stands for itself divided by 64.

    Constraints:
    - `quantize_c1`: `x` has rank at least 2 and no encoding.
    - `quantize_c2`: block, data and scale element types are those of a format.
    - `quantize_c3`: the recipe belongs to the format; 4over6 recipes take blocks
      of one row or column.
    - `quantize_c4`: the data shape is that of the table, without encoding.
    - `quantize_c5`: the scale shape is that of the table.
    - `quantize_c6`: both matrix dimensions of `x` are multiples of the block,
      unless the recipe accepts tails (`te`, `modelopt`, `te_4over6_*`). If they
      are dynamic, this is checked at run time.
    - `quantize_c7`: at most one of `global_scale` and `global_amax`, and only
      in NVFP4.
    - `quantize_c8`: a global operand is a scalar, or its shape is empty, the
      leading dimensions of `x`, or these and its rows; with `offsets`, its shape
      is empty or [G].
    - `quantize_c9`: the scale encoding is absent or a layout. Scales of blocks of
      more than one row may have a layout only if `quantize` is `transposed` or has
      `scale_dim`. A grouped layout has one group for each offset, along `group_dim`.
    - `quantize_c10`: `transposed` needs blocks of more than one row.
    - `quantize_c11`: `scale_dim` needs square blocks.
    - `quantize_c12`: a global operand with one value for each row needs blocks
      [1, 16] and no `rng`, no `transposed` and no 4over6 recipe.
    - `quantize_c13`: `block_amax` needs blocks [1, 16] and no 4over6 recipe, and
      has one value for each block.
    - `quantize_c14`: `rng` needs f4E2M1FN data and no 4over6 recipe, and has
      shape 2 or 4.
    - `quantize_c15`: with `offsets`, `x` has rank 2, `offsets` has rank 1, and
      `group_dim` is 0 or 1; without `offsets`, `group_dim` is 0.
    - `quantize_c16`: `nonzero_amax` needs `global_amax`.

    Example:

    ```mlir
    %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>)
        : tensor<200x80xbf16>
       -> tensor<200x80xf4E2M1FN>, tensor<200x5xf8E4M3FN, #blockscale.layout<swizzle_128x4>>
    %w, %t = blockscale.quantize %y block [32, 32] scale_dim k
        : tensor<64x96xbf16> -> tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU>
    ```
  }];
  let arguments = (ins
    BlockScale_InputTensor:$x,
    Optional<BlockScale_GlobalValue>:$global_scale,
    Optional<BlockScale_GlobalValue>:$global_amax,
    Optional<BlockScale_F32Tensor>:$block_amax,
    Optional<BlockScale_RngTensor>:$rng,
    Optional<BlockScale_OffsetsTensor>:$offsets,
    DenseI64ArrayAttr:$block,
    UnitAttr:$transposed,
    OptionalAttr<BlockScale_ScaleDimAttr>:$scale_dim,
    OptionalAttr<BlockScale_RecipeAttr>:$recipe,
    DefaultValuedOptionalAttr<I64Attr, "0">:$group_dim,
    UnitAttr:$nonzero_amax);
  let results = (outs BlockScale_DataTensor:$data, BlockScale_ScaleTensor:$scale);
  let assemblyFormat = [{
    $x `block` $block (`transposed` $transposed^)? (`scale_dim` custom<Word>($scale_dim)^)?
    (`recipe` custom<Word>($recipe)^)?
    (`global_scale` `(` $global_scale^ `:` type($global_scale) `)`)?
    (`global_amax` `(` $global_amax^ `:` type($global_amax) `)`)?
    (`nonzero_amax` $nonzero_amax^)?
    (`block_amax` `(` $block_amax^ `:` type($block_amax) `)`)?
    (`rng` `(` $rng^ `:` type($rng) `)`)?
    (`offsets` `(` $offsets^ `:` type($offsets) `)`)? (`group_dim` $group_dim^)?
    attr-dict `:` type($x) `->` type($data) `,` type($scale)
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    /// The recipe, or the format's default where the attribute is absent.
    Recipe getEffectiveRecipe();
    /// The arithmetic of the recipe for these types.
    numerics::Recipe getArithmetic();
    /// Whether a block lies in one row, rather than in several.
    bool hasRowBlocks() { return getBlock().front() == 1; }
    /// The longer side of a block: 16 or 32.
    int64_t getBlockSize() { return std::max(getBlock().front(), getBlock().back()); }
    /// What the scale result's matrix dimensions count.
    ScaleForm getScaleForm();
    /// The global scale or amax; null if there is neither.
    ::mlir::Value getGlobal() {
      return getGlobalScale() ? getGlobalScale() : getGlobalAmax();
    }
    GlobalOperand getGlobalOperand();
    GroupOperand getGroupOperand();
    /// Whether `rng` says where x lies in a larger tensor.
    bool hasRandomPlace();
  }];
}

def BlockScale_DequantizeOp : BlockScale_TensorOp<"dequantize",
    [AttrSizedOperandSegments, BlockScale_QuantizerOpInterface]> {
  let summary = "Values that narrow data and block scales represent";
  let description = [{
    ```text
    torchao*, mslk, te*: x[i] = f32(data[i]) * (global * f32(scale[b]))
    modelopt:            x[i] = f32(data[i]) * f32(scale[b]) * global     left to right
    MX:                  x[i] = f32(data[i]) * 2^(scale[b] - 127)
    ```

    for each block b of `block` = [rows, columns], in f32, rounded to the result
    type at the end. With `global_amax`, the global scale is the result of
    `global_scale` with this recipe. A NaN scale makes its block NaN. This op is
    not the inverse of `quantize`, and the two are never folded away.
    `unchecked_origins` is that of `scaled_mm`.

    Constraints:
    - `dequantize_c1`: data has rank at least 2 and no encoding.
    - `dequantize_c2`: block, data and scale element types are those of a format.
    - `dequantize_c3`: the recipe belongs to the format.
    - `dequantize_c4`: the result shape is the data shape, without encoding.
    - `dequantize_c5`: the scale shape is the data shape with the last two
      dimensions divided by the block, rounded up.
    - `dequantize_c6`: at most one of `global_scale` and `global_amax`, and only
      in NVFP4; no `global_amax` with a recipe that rounds to the type of x, which
      is not known here.
    - `dequantize_c7`: a global operand is a scalar, or its shape is empty, the
      leading dimensions of the data, or, with blocks [1, 16], these and its rows.
    - `dequantize_c8`: the scale encoding is absent or, for blocks of one row, an
      ungrouped layout.
    - `dequantize_c9`: both matrix dimensions of the data are multiples of the
      block, unless the recipe accepts tails (`te`, `modelopt`, `te_4over6_*`).
      If they are dynamic, this is checked at run time.

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
    OptionalAttr<BlockScale_RecipeAttr>:$recipe,
    UnitAttr:$unchecked_origins);
  let results = (outs BlockScale_ResultTensor:$result);
  let assemblyFormat = [{
    $data `,` $scale `block` $block (`recipe` custom<Word>($recipe)^)?
    (`global_scale` `(` $global_scale^ `:` type($global_scale) `)`)?
    (`global_amax` `(` $global_amax^ `:` type($global_amax) `)`)?
    (`unchecked_origins` $unchecked_origins^)?
    attr-dict `:` type($data) `,` type($scale) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    /// The recipe, or the format's default where the attribute is absent.
    Recipe getEffectiveRecipe();
    /// The arithmetic of the recipe for these types.
    numerics::Recipe getArithmetic();
    /// Whether a block lies in one row, rather than in several.
    bool hasRowBlocks() { return getBlock().front() == 1; }
    /// The longer side of a block: 16 or 32.
    int64_t getBlockSize() { return std::max(getBlock().front(), getBlock().back()); }
    /// What the scale operand's matrix dimensions count.
    ScaleForm getScaleForm();
    /// The global scale or amax; null if there is neither.
    ::mlir::Value getGlobal() {
      return getGlobalScale() ? getGlobalScale() : getGlobalAmax();
    }
    GlobalOperand getGlobalOperand();
    GroupOperand getGroupOperand() { return {}; }
    /// The `quantize` that makes the data and the scale; null if none makes both.
    QuantizeOp getQuantizer();
  }];
}

#endif // BLOCKSCALE_IR_QUANTIZEOPS_TD
