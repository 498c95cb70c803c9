//===- KernelOps.td - The unit of code generation ----------*- tablegen -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_IR_KERNELOPS_TD
#define BLOCKSCALE_IR_KERNELOPS_TD

include "blockscale/IR/BlockScaleOpBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/IR/RegionKindInterface.td"

def BlockScale_KernelOp : BlockScale_Op<"kernel", [
    AttrSizedOperandSegments, IsolatedFromAbove,
    DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    SingleBlockImplicitTerminator<"::blockscale::YieldOp">]> {
  let summary = "Ops that become one kernel";
  let description = [{
    Records the decision that the ops of its body run as one kernel. It is
    isolated from above, so canonicalization and CSE cannot undo the decision.

    The body always speaks of logical tensors; the operands are what memory
    holds. So one op carries a kernel from formation (operands are the logical
    tensors) through storage materialization (operands are packed and tiled
    tensors) and bufferization (operands are memrefs) to its lowering, which
    reads formats, recipes and layouts off the body. Block arguments stand for
    the inputs, then the outputs; an output's argument is the old content of the
    destination.

    Constraints:
    - `kernel_c1`: one block argument for each input and output.
    - `kernel_c2`: each operand is its block argument's type, the storage form
      of that type, or a memref of the storage form.
    - `kernel_c3`: the yielded types are those of the output block arguments.
    - `kernel_c4`: outputs are all tensors, each with a result of its type, or
      all memrefs, without results.
    - `kernel_c5`: `blockscale.fusion`, which says why a kernel has several ops
      (FusionAttr.h), has a form and costs.
    - `kernel_c6`: the body has ops of the `family`, which says how the kernel
      becomes the code of a GPU. `rows` takes one quantization, with blocks of one
      row, and what its global operand is computed from: a `global_scale`, an amax
      of `amax_parts`, or both; `strips` quantizations, with the same for each of
      them, and amaxes, or `amax_parts` alone, with transforms; `program` linalg
      ops that reduce, and either quantizations or an `amax_parts`, or neither;
      `product` products and at most one quantization; `elementwise` no op of the
      dialect; `op` one op of the dialect, but no quantization and no product.
      Linalg ops reduce in `program` only, and `op` has none. In `rows`, `program`
      and `product` one dequantize may decode what is quantized, and in `rows` one
      prepack may take the codes instead.

    A kernel without a family gets the one that blockscale-form-kernels would
    give it.

    Example:

    ```mlir
    %q, %s = blockscale.kernel ins(%x : tensor<128x64xbf16>)
        outs(%qi, %si : tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>) {
    ^bb0(%lx: tensor<128x64xbf16>, %lq: tensor<128x64xf4E2M1FN>, %ls: tensor<128x4xf8E4M3FN>):
      %0, %1 = blockscale.quantize %lx block [1, 16]
          : tensor<128x64xbf16> -> tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>
      blockscale.yield %0, %1 : tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>
    } -> tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$inputs, Variadic<AnyShaped>:$outputs,
                       OptionalAttr<BlockScale_KernelFamilyAttr>:$family);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`ins` `(` $inputs^ `:` type($inputs) `)`)?
    `outs` `(` $outputs `:` type($outputs) `)` (`family` custom<Word>($family)^)?
    attr-dict-with-keyword
    custom<BodyAndResults>($body, type($results))
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return getOutputsMutable();
    }
    /// Block argument of output number `i`.
    ::mlir::BlockArgument getOutputArgument(unsigned i) {
      return getBody().getArgument(getInputs().size() + i);
    }
    /// The single op of the body besides the terminator, or null.
    ::mlir::Operation *getSingleOp();
  }];
}

def BlockScale_YieldOp : BlockScale_Op<"yield", [Pure, Terminator, ReturnLike,
    HasParent<"::blockscale::KernelOp">]> {
  let summary = "What a kernel stores to its outputs";
  let description = [{
    Ends the body of a `blockscale.kernel`: value i becomes output i.

    Example:

    ```mlir
    blockscale.yield %q, %s : tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{
    build($_builder, $_state, ::mlir::ValueRange());
  }]>];
}

#endif // BLOCKSCALE_IR_KERNELOPS_TD
