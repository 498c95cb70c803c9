//===- AmaxOps.td - amax, amax_parts, global_scale, .. -----*- tablegen -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_IR_AMAXOPS_TD
#define BLOCKSCALE_IR_AMAXOPS_TD

include "blockscale/IR/BlockScaleOpBase.td"

def BlockScale_AmaxOp : BlockScale_TensorOp<"amax"> {
  let summary = "Largest absolute value of a tensor, batch element, row or group";
  let description = [{
    ```text
    amax = max |x[.., m, k]|
    ```

    over the whole tensor (result `tensor<f32>`), each matrix of a batched tensor
    (result shape = the leading dimensions), each row (the leading dimensions and
    M), or each row group (`group_dim` 0) or column group (1) of a matrix, whose
    ends are the elements of `offsets` (result `[G]`). NaN propagates. An empty
    range gives 0. An end is at least the end before it and at most the size of
    the dimension; else the call is an error. Ends may cut a block of `quantize`,
    whose groups have whole blocks.

    Constraints:
    - `amax_c1`: `x` has rank at least 2 and no encoding.
    - `amax_c2`: without `offsets`, the shape of the result is empty, the leading
      dimensions of `x`, or these and its rows. The result has no encoding.
    - `amax_c3`: with `offsets`, `x` has rank 2, `offsets` has rank 1, and the
      result has the size of `offsets`.
    - `amax_c4`: `group_dim` is 0 or 1, and 0 without `offsets`.

    Example:

    ```mlir
    %a = blockscale.amax %x : tensor<64x128xbf16> -> tensor<f32>
    %r = blockscale.amax %x : tensor<64x128xbf16> -> tensor<64xf32>
    %e = blockscale.amax %w : tensor<8x64x128xbf16> -> tensor<8xf32>
    %g = blockscale.amax %x offsets(%ends : tensor<3xi32>) : tensor<64x128xbf16> -> tensor<3xf32>
    ```
  }];
  let arguments = (ins
    BlockScale_InputTensor:$x,
    Optional<BlockScale_OffsetsTensor>:$offsets,
    DefaultValuedOptionalAttr<I64Attr, "0">:$group_dim);
  let results = (outs RankedTensorOf<[F32]>:$amax);
  let assemblyFormat = [{
    $x (`offsets` `(` $offsets^ `:` type($offsets) `)`)? (`group_dim` $group_dim^)?
    attr-dict `:` type($x) `->` type($amax)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether the result has one value a row of the last two dimensions.
    bool isPerRow();
  }];
}

def BlockScale_AmaxPartsOp : BlockScale_TensorOp<"amax_parts"> {
  let summary = "Numbers of which the largest is the amax of a tensor";
  let description = [{
    Each number is the amax of some elements of x, or 0, and each element is in
    one of them; which one is up to the kernel. So the amax of a whole tensor is

    ```text
    amax(x) = amax(amax_parts(x))
    ```

    A CTA stores a number of its own, and the kernel that needs the amax takes the
    largest. So nothing is cleared first, and no kernel waits for another one to
    raise a result. `blockscale-form-kernels` makes it for GPUs; frontends do not.

    Constraints:
    - `amax_parts_c1`: `x` has rank at least 2 and no encoding.
    - `amax_parts_c2`: the result has no encoding, one row, and a multiple of 512
      numbers from 512 to 8192.

    Example:

    ```mlir
    %p = blockscale.amax_parts %x : tensor<64x128xbf16> -> tensor<1x1024xf32>
    ```
  }];
  let arguments = (ins BlockScale_InputTensor:$x);
  let results = (outs RankedTensorOf<[F32]>:$parts);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($parts)";
  let hasVerifier = 1;
}

def BlockScale_AmaxOverRanksOp : BlockScale_Op<"amax_over_ranks", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
      ["reifyResultShapes"]>]> {
  let summary = "Largest of each amax over all ranks";
  let description = [{
    Ranks are the processes, or GPUs, that each call the same function on their
    part of a tensor. With a[r] the amaxes of rank r, each rank gets

    ```text
    result[..] = max over all ranks r of a[r][..]
    ```

    so that the parts have the codes that they have in the whole tensor:
    `global_scale`, `quantize` and `scale_sweep` take the result in the place of
    the amax. NaN propagates. The op is not folded, also not of a constant, which
    other ranks may have another one of. It is in no kernel: what is before it and
    what is behind it are kernels of their own.

    The host reduces over ranks, since it knows what connects them: launch plans
    have a step for the op, between two launches, and code of the CPU has a call;
    the host gives a function for both (docs/LaunchPlan.md). All ranks need the
    same ops in the same order: let them compile one module, with equal control
    flow around the op and equal sizes of the amaxes. A rank that does not reach
    the op, because its call failed before, leaves the others waiting.

    Bufferization makes the tensor a memref, which is reduced in place, without a
    result.

    Constraints:
    - `amax_over_ranks_c1`: a tensor gives a result of its type, and a memref none.
    - `amax_over_ranks_c2`: the op is in no kernel, and in no loop whose iterations
      run at the same time.

    Example:

    ```mlir
    %r = blockscale.amax_over_ranks %a : tensor<f32> -> tensor<f32>
    ```
  }];
  let arguments = (ins AnyTypeOf<[BlockScale_F32Tensor, MemRefOf<[F32]>]>:$amax);
  let results = (outs Optional<BlockScale_F32Tensor>:$result);
  let assemblyFormat = [{
    $amax attr-dict `:` type($amax) (`->` type($result)^)?
  }];
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
    | `torchao`, `torchao_training`, `modelopt` | `amax / 2688` |
    | `mslk` | `1 / (2688 / max(amax, 1e-8))` |
    | `te` | `1 / S`, `S = min(2688 / amax, FLT_MAX)`, 1 where amax or S is 0 |
    | `te_4over6_mae`, `te_4over6_mse` | the same with 256 * 6 = 1536 |

    in f32, with one rounding for each operation, for each element of `amax`. With
    `nonzero_amax`, an amax of 0, or one so small that `amax / 2688` is 0, is taken
    as 2688: the scale of a tensor of zeros is then no 0, under which `torchao` and
    `modelopt` give NaN. Every global scale that the project chooses is computed
    with it; without it, the op is the recipe's own. The
    recipes `te`, `mslk` and `torchao_training` compute with the encode scale S,
    which does not follow from the decode scale to the last bit: give `quantize` the amax (`global_amax`) if their
    exact bytes matter.

    Constraints:
    - `global_scale_c1`: the recipe is an NVFP4 recipe.

    Example:

    ```mlir
    %g = blockscale.global_scale %a recipe torchao : tensor<f32>
    %h = blockscale.global_scale %a recipe torchao nonzero_amax : tensor<f32>
    ```
  }];
  let arguments = (ins
    BlockScale_F32Tensor:$amax,
    OptionalAttr<BlockScale_RecipeAttr>:$recipe,
    UnitAttr:$nonzero_amax);
  let results = (outs RankedTensorOf<[F32]>:$scale);
  let assemblyFormat = [{
    $amax (`recipe` custom<Word>($recipe)^)? (`nonzero_amax` $nonzero_amax^)? attr-dict `:` type($amax)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The recipe, or the format's default where the attribute is absent.
    Recipe getEffectiveRecipe();
    /// The arithmetic of the recipe for f32.
    numerics::Recipe getArithmetic();
    /// What the amax is.
    GlobalKind getAmaxKind();
  }];
}

def BlockScale_ScaleSweepOp : BlockScale_TensorOp<"scale_sweep",
    [DeclareOpInterfaceMethods<InferTypeOpInterface>,
     BlockScale_QuantizerOpInterface]> {
  let summary = "Block amax with the least squared error of 126 E4M3 candidates";
  let description = [{
    For each block w of 16 elements of a row, with G the global amax and v_1 ..
    v_126 the positive finite E4M3 values in ascending order, in f32:

    ```text
    c_k    = v_k / 448
    s_k    = c_k * G / 6, left to right; 1 where that is 0
    loss_k = sum_i (|w_i| - e2m1(|w_i| / s_k) * s_k)^2
    result = G * c_k of the first k with the least loss
    ```

    Quantization with recipe `modelopt`, `global_amax` G and the result as
    `block_amax` gives these blocks the scale byte v_k. With `nonzero_amax`, here
    and there, G is what `global_scale` takes the amax as. With `hessian`, one 16x16
    matrix H for each block of columns, the loss is d^T H d with d the signed
    errors. (ModelOpt NVFP4MSECalibrator and its Hessian-weighted form.) Which
    candidate wins under a negative G is not specified.

    Constraints:
    - `scale_sweep_c1`: `x` has rank at least 2 and no encoding.
    - `scale_sweep_c2`: the last dimension of `x` is a multiple of 16. If it is
      dynamic, this is checked at run time.
    - `scale_sweep_c3`: `global_amax` is a scalar, or its shape is empty or the
      leading dimensions of `x`.
    - `scale_sweep_c4`: the result has the shape of `x` with the last dimension
      divided by 16, without encoding.
    - `scale_sweep_c5`: the shape of `hessian` is [K / 16, 16, 16].

    Example:

    ```mlir
    %b = blockscale.scale_sweep %x global_amax(%a : tensor<f32>)
        : tensor<64x128xbf16> -> tensor<64x8xf32>
    ```
  }];
  let arguments = (ins
    BlockScale_InputTensor:$x,
    BlockScale_GlobalValue:$global_amax,
    Optional<BlockScale_F32Tensor>:$hessian,
    UnitAttr:$nonzero_amax);
  let results = (outs RankedTensorOf<[F32]>:$block_amax);
  let assemblyFormat = [{
    $x `global_amax` `(` $global_amax `:` type($global_amax) `)`
    (`nonzero_amax` $nonzero_amax^)?
    (`hessian` `(` $hessian^ `:` type($hessian) `)`)?
    attr-dict `:` type($x) `->` type($block_amax)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The recipe that block amaxes are chosen for.
    Recipe getEffectiveRecipe() { return Recipe::Modelopt; }
    numerics::Recipe getArithmetic() { return numerics::Recipe::Modelopt; }
    GlobalOperand getGlobalOperand();
    GroupOperand getGroupOperand() { return {}; }
    /// A dynamic and a static size agree.
    static bool isCompatibleReturnTypes(::mlir::TypeRange inferred,
                                        ::mlir::TypeRange found);
  }];
}

#endif // BLOCKSCALE_IR_AMAXOPS_TD
