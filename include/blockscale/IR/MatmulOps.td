//===- MatmulOps.td - Scaled and grouped matmul ------------*- tablegen -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_IR_MATMULOPS_TD
#define BLOCKSCALE_IR_MATMULOPS_TD

include "blockscale/IR/BlockScaleOpBase.td"

def BlockScale_ScaledMMOp : BlockScale_TensorOp<"scaled_mm",
    [AttrSizedOperandSegments, BlockScale_ProductOpInterface]> {
  let summary = "Matrix product of block-scaled tensors";
  let description = [{
    ```text
    y[m, n] = global_a * global_b * sum_k (a[m,k] * sa[m,k/B]) * (b[n,k] * sb[n,k/B]) + bias[n]
    ```

    with f32 accumulation in any order: a result differs from the exact sum by
    at most 1e-6 * max(1, K/256) * sum_k |a sa b sb|, plus its own final
    rounding. `order chain` makes the sum one of defined bits: that of a chain of
    bf16 or f16 tensor-core steps along K. Both operands run along K, so B is given transposed, [N, K]. The
    product of the global scales multiplies the sum in f32 and the bias is added
    in f32 before the rounding to the result type; `global_scaling after_rounding`
    does both in the result type instead. Either operand may have its own data
    type (E4M3 by E2M1, say) within one scale type. Each scale operand may be
    linear or swizzled. Scales of square blocks enter expanded (`expand_scale`).

    One operand may be plain: bf16 or f16 without scales (`scales(none, %sb)`),
    as activations beside weights that alone are quantized. The values of the
    other one are then its data times their scales, in the plain operand's type:

    ```text
    y[m, n] = global_b * sum_k a[m,k] * round(b[n,k] * sb[n,k/B]) + bias[n]
    ```

    where `round` changes nothing but at the ends of E8M0's range, for bf16
    holds E2M1 by E4M3 and each MX element by its power of two: values of 2^128
    and more become infinity, and those below 2^-126 are multiples of 2^-133.
    f16 holds the values of NVFP4 (2^-10 to 2688) but not those of MX.
    `global_scaling in_elements` multiplies the values of the operand with scales
    by its global scale, as `dequantize` does, with two roundings to f32 before
    that to the plain operand's type T:

    ```text
    y[m, n] = sum_k a[m,k] * T(f32(b[n,k] * f32(global_b * sb[n,k/B]))) + bias[n]
    ```

    Both operands may be plain, of one type (`scales(none, none)`), as the
    products of a program that are not quantized. The block, [1, 16], then says
    what K is a multiple of. Each of two plain operands may lie MN-major, its
    rows along M or N instead of along K: `mn_major_a` says that `a` is [K, M],
    and `mn_major_b` that `b` is [K, N], as the weights of x W are. Kernels of
    tensor cores read both orders as they are.

    An operand with scales may lie MN-major beside a plain one. Its blocks run
    along its rows in memory, so across K:

    ```text
    y[m, n] = global_b * sum_k a[m,k] * round(b[k,n] * sb[k,n/B]) + bias[n]
    y[m, n] = sum_k a[m,k] * T(f32(b[k,n] * f32(global_b * sb[k,n/B]))) + bias[n]
    ```

    So the gradient of x in y = x W^T, which is dy W, has the data and scales of W
    that the forward product has, and each element the same value.

    Where data, scales and global scales come from ops of the same function,
    `blockscale-verify-layout` refuses a product of what does not belong together
    (docs/Spec.md, section 6). `unchecked_origins` says that it is on purpose.

    Constraints:
    - `scaled_mm_c1`: `a`, `b` and the result have the same rank, at least 2,
      equal leading dimensions and no encoding but data layouts.
    - `scaled_mm_c2`: the last dimensions of `a` and `b` (K) are equal.
    - `scaled_mm_c3`: block, data and scale element types are those of a format,
      the same for both operands. A plain operand is bf16, or f16 beside NVFP4.
      Two plain operands are both bf16 or both f16, in blocks of [1, 16].
    - `scaled_mm_c4`: each scale shape is its operand's with its last dimension
      divided by the block: K, or M or N of an MN-major one.
    - `scaled_mm_c5`: K is a multiple of the block. If an operand with scales is
      MN-major, its M or N is that, and K is a multiple of 16.
    - `scaled_mm_c6`: the result is [.., M, N].
    - `scaled_mm_c7`: global scales not in MX; each is a scalar, has rank 0, the
      leading dimensions, or these and the rows of its operand (M or N), but not
      of one with scales that is MN-major. A plain operand may have one, as its
      values may be decoded without it.
    - `scaled_mm_c8`: the bias is [N].
    - `scaled_mm_c9`: scale encodings are absent or `swizzle_128x4` without
      groups.
    - `scaled_mm_c10`: one operand at most has a data layout, and only if it has
      scales. If it is MN-major, its last two dimensions are static.
    - `scaled_mm_c11`: an operand is MN-major only beside a plain one. What is said
      above of its last two dimensions is then said of them exchanged, but for
      its blocks and scales.
    - `scaled_mm_c12`: `global_scaling in_elements` only where one operand is
      plain. That one has no global scale then, and that of the other one is a
      scalar, has rank 0 or the leading dimensions.

    Example:

    ```mlir
    %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
        global_scale_a(%ga : tensor<f32>)
        : tensor<48x256xf4E2M1FN>, tensor<40x256xf4E2M1FN>,
          tensor<48x16xf8E4M3FN>, tensor<40x16xf8E4M3FN> -> tensor<48x40xbf16>
    %z = blockscale.scaled_mm %x, %b scales(none, %sb) block [1, 16]
        : tensor<48x256xbf16>, tensor<40x256xf4E2M1FN>, tensor<40x16xf8E4M3FN>
          -> tensor<48x40xbf16>
    %p = blockscale.scaled_mm %x, %v scales(none, none) block [1, 16]
        : tensor<48x256xbf16>, tensor<40x256xbf16> -> tensor<48x40xbf16>
    %o = blockscale.scaled_mm %x, %w mn_major_b scales(none, none) block [1, 16]
        : tensor<48x256xbf16>, tensor<256x40xbf16> -> tensor<48x40xbf16>
    %dx = blockscale.scaled_mm %dy, %u mn_major_b scales(none, %su) block [1, 16]
        : tensor<48x80xbf16>, tensor<80x256xf4E2M1FN>, tensor<80x16xf8E4M3FN>
          -> tensor<48x256xbf16>
    ```
  }];
  let arguments = (ins
    BlockScale_FactorTensor:$a,
    BlockScale_FactorTensor:$b,
    Optional<BlockScale_ScaleTensor>:$scale_a,
    Optional<BlockScale_ScaleTensor>:$scale_b,
    Optional<BlockScale_GlobalValue>:$global_scale_a,
    Optional<BlockScale_GlobalValue>:$global_scale_b,
    Optional<BlockScale_BiasTensor>:$bias,
    DenseI64ArrayAttr:$block,
    OptionalAttr<BlockScale_GlobalScalingAttr>:$global_scaling,
    OptionalAttr<BlockScale_OrderAttr>:$order,
    UnitAttr:$unchecked_origins,
    UnitAttr:$mn_major_a,
    UnitAttr:$mn_major_b);
  let results = (outs BlockScale_ResultTensor:$result);
  let assemblyFormat = [{
    $a `,` $b (`mn_major_a` $mn_major_a^)? (`mn_major_b` $mn_major_b^)?
    `scales` `(` custom<ProductScales>($scale_a, $scale_b) `)`
    `block` $block
    (`global_scale_a` `(` $global_scale_a^ `:` type($global_scale_a) `)`)?
    (`global_scale_b` `(` $global_scale_b^ `:` type($global_scale_b) `)`)?
    (`global_scaling` custom<Word>($global_scaling)^)?
    (`order` custom<Word>($order)^)?
    (`bias` `(` $bias^ `:` type($bias) `)`)?
    (`unchecked_origins` $unchecked_origins^)? attr-dict `:` type($a) `,` type($b) ``
    custom<ProductScaleTypes>(ref($scale_a), ref($scale_b), type($scale_a), type($scale_b))
    `->` type($result)
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    int64_t getBlockSize() { return getBlock().back(); }
    GroupOperand getGroupOperand() { return {}; }
  }];
}

def BlockScale_ScaledGroupedMMOp : BlockScale_TensorOp<"scaled_grouped_mm",
    [AttrSizedOperandSegments, BlockScale_ProductOpInterface]> {
  let summary = "Matrix products of G groups bounded by device-side offsets";
  let description = [{
    `offsets[g]` is the end of group g (its start is the end of group g-1, or 0);
    empty groups are legal. Two forms, told by the rank of `b`:

    ```text
    2d-3d  a[M, K], b[G, N, K]:  y[m, n]    = sum_k a[m, k] b[g(m), n, k]      groups of rows m
    2d-2d  a[M, K], b[N, K]:     y[g, m, n] = sum_{k in group g} a[m, k] b[n, k]   groups of k
    ```

    with block scales, global scales, bias, plain operands, MN-major ones,
    `unchecked_origins` and the accuracy of `scaled_mm`. Rows of a 2d-3d result that no group covers are zero; in the 2d-2d form an empty
    group's sum is zero. An end is at least the end before it, at most the size
    of the dimension and, in the 2d-2d form, a multiple of the block (`pad_groups`
    makes such groups of any); else the call is an error.

    Constraints:
    - `scaled_grouped_mm_c1`: `a` has rank 2, `b` rank 3 or 2; no encodings but
      data layouts.
    - `scaled_grouped_mm_c2`: the last dimensions of `a` and `b` (K) are equal.
    - `scaled_grouped_mm_c3`: block, data and scale element types are those of a
      format, the same for both operands. A plain operand is bf16, or f16 beside
      NVFP4. Two plain operands are both bf16 or both f16, in blocks of [1, 16].
    - `scaled_grouped_mm_c4`: each scale shape is its operand's with its last
      dimension divided by the block: K, or N of an MN-major one.
    - `scaled_grouped_mm_c5`: K is a multiple of the block. If `b` with scales is
      MN-major, N is that, and K is a multiple of 16.
    - `scaled_grouped_mm_c6`: the result is [M, N] (2d-3d) or [G, M, N] (2d-2d),
      G being the size of `offsets` and, in 2d-3d, the first dimension of `b`.
    - `scaled_grouped_mm_c7`: global scales not in MX, as in `scaled_mm`; each is a
      scalar, has rank 0, or shape [G].
    - `scaled_grouped_mm_c8`: scale encodings are absent or `swizzle_128x4`,
      without groups or grouped G times along the dimension that the offsets
      bound: rows of `scale_a` in 2d-3d, columns of both scales in 2d-2d.
    - `scaled_grouped_mm_c9`: the bias is [N] or [G, N].
    - `scaled_grouped_mm_c10`: only `b` of 2d-3d has a data layout: groups begin
      anywhere in the rows of `a`, and anywhere along K. If it is MN-major, its
      last two dimensions are static.
    - `scaled_grouped_mm_c11`: an operand is MN-major only beside a plain one, with
      scales only in 2d-3d, and `a` only in 2d-2d: elements of a row that groups
      of rows cut begin anywhere. What is said above of the last two dimensions
      of an MN-major operand is then said of them exchanged, but for its blocks
      and scales.
    - `scaled_grouped_mm_c12`: `global_scaling in_elements` as in `scaled_mm`,
      with a global scale for all groups or for each.

    Example:

    ```mlir
    %y = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 32]
        : tensor<96x64xf8E4M3FN>, tensor<3x48x64xf8E4M3FN>, tensor<3xi32>,
          tensor<96x2xf8E8M0FNU>, tensor<3x48x2xf8E8M0FNU> -> tensor<96x48xbf16>
    ```
  }];
  let arguments = (ins
    BlockScale_FactorTensor:$a,
    BlockScale_FactorTensor:$b,
    BlockScale_OffsetsTensor:$offsets,
    Optional<BlockScale_ScaleTensor>:$scale_a,
    Optional<BlockScale_ScaleTensor>:$scale_b,
    Optional<BlockScale_GlobalValue>:$global_scale_a,
    Optional<BlockScale_GlobalValue>:$global_scale_b,
    Optional<BlockScale_BiasTensor>:$bias,
    DenseI64ArrayAttr:$block,
    OptionalAttr<BlockScale_GlobalScalingAttr>:$global_scaling,
    OptionalAttr<BlockScale_OrderAttr>:$order,
    UnitAttr:$unchecked_origins,
    UnitAttr:$mn_major_a,
    UnitAttr:$mn_major_b);
  let results = (outs BlockScale_ResultTensor:$result);
  let assemblyFormat = [{
    $a `,` $b (`mn_major_a` $mn_major_a^)? (`mn_major_b` $mn_major_b^)?
    `offsets` `(` $offsets `)` `scales` `(`
    custom<ProductScales>($scale_a, $scale_b) `)` `block` $block
    (`global_scale_a` `(` $global_scale_a^ `:` type($global_scale_a) `)`)?
    (`global_scale_b` `(` $global_scale_b^ `:` type($global_scale_b) `)`)?
    (`global_scaling` custom<Word>($global_scaling)^)?
    (`order` custom<Word>($order)^)?
    (`bias` `(` $bias^ `:` type($bias) `)`)?
    (`unchecked_origins` $unchecked_origins^)? attr-dict `:` type($a) `,` type($b) `,` type($offsets) ``
    custom<ProductScaleTypes>(ref($scale_a), ref($scale_b), type($scale_a), type($scale_b))
    `->` type($result)
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    int64_t getBlockSize() { return getBlock().back(); }
    GroupOperand getGroupOperand();
    /// Groups along K (2d-2d) rather than along M (2d-3d).
    bool isKGrouped();
  }];
}

#endif // BLOCKSCALE_IR_MATMULOPS_TD
