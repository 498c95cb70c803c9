//===- Passes.td - Target-independent passes ---------------*- tablegen -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TRANSFORMS_PASSES_TD
#define BLOCKSCALE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyLayout : Pass<"blockscale-verify-layout", "::mlir::ModuleOp"> {
  let summary = "Refuse uses of block-scaled values that other dialects would accept";
  let description = [{
    Upstream ops accept any tensor encoding and element type, so an elementwise
    op on swizzled scales, or a linear tensor passed off as a swizzled one,
    verifies. This pass, in the first stage of each pipeline, reports

    - an op outside the dialect that takes or makes a tensor with a layout or
      f4E2M1FN elements, unless it only moves the tensor: functions, calls,
      branches, scf, select, constant, empty, cast, dim, slices and, of row-major
      data, concat, collapse_shape and expand_shape in whole bytes;
    - a cast or slice that changes the layout, and a slice that cuts storage: an
      offset along rows or columns of swizzled scales that is not a multiple of
      128 or 4, of prepacked data of 64, along packed data of 2, or a size that is
      not and does not reach the end (test/Transforms/verify-layout-slices.mlir);
    - a constant that no recipe defines: a global scale that is not positive and
      finite, a negative amax, a block amax of NaN, a scale byte with its sign set, group offsets that
      descend, leave the extent or split a block;
    - operands that do not belong together, which no type tells: a transformed x
      (`hadamard`) with a global value a row or a 4over6 recipe; a global operand
      that comes from the amax of x before its transform, or of another transform
      of the same tensor; scales whose rows are the columns of their data
      (test/Transforms/verify-layout-origin.mlir); scales or global scales of
      products and of `dequantize` that are not those of the quantizer of their
      data, unless the op has `unchecked_origins`
      (test/Transforms/verify-layout-belonging.mlir).

    Example (test/Transforms/verify-layout.mlir):

    ```text
    'math.exp' op would not keep the padding of swizzled scales zero; expected linear scales (blockscale.swizzle), but got 'tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>>'
    ```
  }];
}

def CheckSizes : Pass<"blockscale-check-sizes", "::mlir::func::FuncOp"> {
  let summary = "Assert the rules of plain ops about sizes";
  let description = [{
    Where sizes are dynamic, no verifier sees that an op reads or writes behind the
    end of a tensor. This pass asserts (`cf.assert`) what types and the arithmetic of
    sizes do not prove:

    - ops of linalg and elementwise ops: the sizes of the operands, windows included;
    - casts: the size that the type of the result says;
    - slices that are taken or inserted, `pad`, `concat`, `expand_shape`: that the
      part lies in the whole, and that the sizes of both sides are the same;
    - sizes of what is made: not negative; steps of loops: 1 or more; `dim`: a
      dimension of the tensor;
    - `memref.copy` and `bufferization.materialize_in_destination`: equal sizes.

    The sizes of ops of the dialect are checked where their kernels are called. An
    assertion moves to the begin of the function as far as what it compares is known
    there, so that nothing has been written before. The message names the op, its
    place in the source and the rule; who reports it adds the number that was found.
    With `device`, an offset that only the device knows is asserted there, and the
    nearest part that lies in the whole takes the place of one that does not.

    Example (test/Transforms/check-sizes.mlir):

    ```mlir
    %y = tensor.cast %x : tensor<?xf32> to tensor<256xf32>
    // becomes
    %n = tensor.dim %x, %c0 : tensor<?xf32>
    %holds = arith.cmpi eq, %n, %c256 : index
    cf.assert %holds, "tensor.cast at m.mlir:2:8: expected dimension 0 of the source to be 256"
    %y = tensor.cast %x : tensor<?xf32> to tensor<256xf32>
    ```
  }];
  let options = [Option<"device", "device", "bool", /*default=*/"false",
    "Assert what the host of a device knows before anything runs, and offsets">];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::cf::ControlFlowDialect", "::mlir::memref::MemRefDialect",
    "::mlir::tensor::TensorDialect"];
}

def CheckElements : Pass<"blockscale-check-elements", "::mlir::func::FuncOp"> {
  let summary = "Assert the rules of plain ops about indices and divisors";
  let description = [{
    Asserts (`cf.assert`) that indices of `tensor.extract`, `tensor.insert`, loads and
    stores are those of elements, that steps of loops in bodies are positive, and that
    integer divisions have a quotient: on a CPU a division by zero, and one of the
    smallest number by -1, end the process. In the body of a linalg op, what holds for
    all iterations is asserted once, before the op: an index that a loop moves, one that
    is clamped to sizes, or a divisor from outside.

    With `device`, what only the device knows is asserted by the kernel that reads it.
    That kernel goes on behind an assertion that does not hold, so an index becomes that
    of the nearest element, and a divisor or a step becomes 1.

    Example (test/Transforms/check-elements.mlir):

    ```mlir
    %v = tensor.extract %table[%i] : tensor<3xf32>
    // becomes
    %holds = arith.cmpi sge, %i, %c0 : index
    cf.assert %holds, "tensor.extract: expected index 0 to be at least 0"
    %below = arith.cmpi slt, %i, %c3 : index
    cf.assert %below, "tensor.extract: expected index 0 to be below 3"
    %v = tensor.extract %table[%i] : tensor<3xf32>
    ```
  }];
  let options = [Option<"device", "device", "bool", /*default=*/"false",
    "Make what only the device knows right behind its assertion">];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::cf::ControlFlowDialect", "::mlir::memref::MemRefDialect",
    "::mlir::tensor::TensorDialect"];
}

def MaterializeGlobalScale
    : Pass<"blockscale-materialize-global-scale"> {
  let summary = "Make an absent NVFP4 global scale the operand 1.0";
  let description = [{
    The inverse of the canonicalization that drops a constant 1.0, for consumers
    that want the operand. The bytes are the same in every recipe.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def FromTosa : Pass<"blockscale-from-tosa", "::mlir::ModuleOp"> {
  let summary = "Make TOSA's block-scaled ops ops of the dialect";
  let description = [{
    `tosa.cast_to_block_scaled`, `tosa.cast_from_block_scaled` and
    `tosa.matmul_t_block_scaled` become `quantize` with recipe `tosa`, `dequantize`
    and `scaled_mm`. Sizes that a type leaves open are checked at run time. A matrix B
    that all matrices of A share is read once: the rows of A are those of one matrix.
    If only the run time knows whether B is shared, the product is in both branches
    of an `scf.if`. TOSA's element type `mxint8` becomes i8, in signatures too.

    An op that does not meet a clause (include/blockscale/Transforms/FromTosa.h) is
    an error, as nothing else lowers it:

    ```text
    'tosa.matmul_t_block_scaled' op is not taken (from_tosa_c2): expected values of f32, bf16 or f16, but got i32
    ```

    Example (test/Transforms/from-tosa.mlir):

    ```mlir
    %d, %s = tosa.cast_to_block_scaled %x {block_size = BLOCK_SIZE_32}
        : (tensor<8x64xf32>) -> (tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>)
    // becomes
    %d, %s = blockscale.quantize %x block [1, 32] recipe tosa
        : tensor<8x64xf32> -> tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>
    ```
  }];
  let dependentDialects = [
    "::blockscale::BlockScaleDialect", "::mlir::arith::ArithDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def LowerTosa : Pass<"blockscale-lower-tosa", "::mlir::ModuleOp"> {
  let summary = "Lower a TOSA program to the dialect and linalg";
  let description = [{
    The first pass of each pipeline. In a module with ops or types of TOSA it runs

    ```text
    tosa-infer-shapes, blockscale-from-tosa, tosa-to-scf,
    upstream's tosa-to-linalg-pipeline without tosa-validate,
    tosa-to-arith, tosa-to-tensor, canonicalize
    ```

    and other modules do not change. What upstream does not lower (`tosa.custom`,
    variables) is an error. Large constants become resources.
  }];
  let dependentDialects = [];
}

def ToTosa : Pass<"blockscale-to-tosa", "::mlir::ModuleOp"> {
  let summary = "Write block-scaled ops as ops of TOSA";
  let description = [{
    The inverse of blockscale-from-tosa: `quantize` with recipe `tosa`,
    `dequantize` and `scaled_mm` in MX formats become TOSA's block-scaled ops with
    the same bytes, a bias `tosa.add`, and a result that is not f32 `tosa.cast`.
    MXINT8 data become tensors of `!tosa.mxint8`, in signatures too. Other ops of the
    dialect are kept, with a remark that names the clause
    (include/blockscale/Transforms/ToTosa.h):

    ```text
    is not written in TOSA (to_tosa_c2): expected recipe tosa, but got rceil
    ```

    Example (test/Transforms/to-tosa.mlir):

    ```mlir
    %x = blockscale.dequantize %q, %s block [1, 32]
        : tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU> -> tensor<64x96xf32>
    // becomes
    %x = tosa.cast_from_block_scaled %q, %s {block_size = BLOCK_SIZE_32}
        : (tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU>) -> tensor<64x96xf32>
    ```
  }];
  let dependentDialects = ["::mlir::tosa::TosaDialect"];
}

def RaiseQuantizers : Pass<"blockscale-raise-quantizers"> {
  let summary = "Make quantizers and dequantizers that others write ops of the dialect";
  let description = [{
    Arithmetic on tensors that has the bytes of `quantize` or `dequantize` becomes
    that op: `arith.scaling_truncf` and `arith.scaling_extf`, casts of scaled
    elements, products of elements and scales, and contractions of two scaled
    operands. A trial of each amax that a block can have tells which recipe computes
    the scales. What nearly has the bytes is kept, with a remark that names the
    clause (include/blockscale/Transforms/RaiseQuantizers.h) and what differs:

    ```text
    is not quantize (quantizer_c3): expected the byte 0 of floor for an amax of 0, but got 1
    ```

    Example (test/Transforms/raise-decoders.mlir):

    ```mlir
    %w = linalg.generic {indexing_maps = [affine_map<(m, k, b) -> (m, k, b)>, affine_map<(m, k, b) -> (m, k)>, affine_map<(m, k, b) -> (m, k, b)>], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%q, %s : tensor<40x2x32xf4E2M1FN>, tensor<40x2xf8E8M0FNU>) outs(%e : tensor<40x2x32xbf16>) {
    ^bb0(%in: f4E2M1FN, %scale: f8E8M0FNU, %out: bf16):
      %0 = arith.scaling_extf %in, %scale : f4E2M1FN, f8E8M0FNU to bf16
      linalg.yield %0 : bf16
    } -> tensor<40x2x32xbf16>
    // becomes
    %d = tensor.collapse_shape %q [[0], [1, 2]] : tensor<40x2x32xf4E2M1FN> into tensor<40x64xf4E2M1FN>
    %v = blockscale.dequantize %d, %s block [1, 32]
        : tensor<40x64xf4E2M1FN>, tensor<40x2xf8E8M0FNU> -> tensor<40x64xbf16>
    %w = tensor.expand_shape %v [[0], [1, 2]] output_shape [40, 2, 32] : tensor<40x64xbf16> into tensor<40x2x32xbf16>
    ```
  }];
  let dependentDialects = ["::blockscale::BlockScaleDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def RaiseProducts : Pass<"blockscale-raise-products"> {
  let summary = "Make products of dequantized operands scaled_mm";
  let description = [{
    `linalg.matmul`, `linalg.batch_matmul` and a `linalg.generic` of the same loops
    become `scaled_mm` if one operand is dequantized and the other one plain, bf16
    or f16, or if both are dequantized from NVFP4. So the product reads data and
    scales, and nothing stores wide values. Transpositions, extensions to f32, a
    broadcast of B to a batch and reshapes of rows may lie between. `scaled_mm`
    multiplies the same numbers and may add the products in another order. A product
    that might multiply other numbers is kept, with a remark that names the clause
    (include/blockscale/Transforms/RaiseProducts.h):

    ```text
    is not computed as scaled_mm (raise_c3): expected no global scale, or a constant from 2^-40 to 2^40 with which all values are exact in bf16, but got tensor<f32>
    ```

    `chip` names the GPU that the products are for. On chips that this project has
    no products for nothing changes.

    Example (test/Transforms/raise-products.mlir):

    ```mlir
    %b = blockscale.dequantize %w, %ws block [1, 16]
        : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xbf16>
    %y = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
        ins(%x, %b : tensor<48x64xbf16>, tensor<40x64xbf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
    // becomes
    %y = blockscale.scaled_mm %x, %w scales(none, %ws) block [1, 16]
        : tensor<48x64xbf16>, tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<48x40xf32>
    ```
  }];
  let dependentDialects = ["::blockscale::BlockScaleDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"chip", "chip", "std::string", /*default=*/"\"\"",
           "GPU that the products are for; none for the CPU">,
    Option<"exact", "exact", "bool", /*default=*/"true",
           "Whether the numbers that are multiplied stay the same, to the last bit">];
}

def QuantizeProducts
    : Pass<"blockscale-quantize-products", "::mlir::ModuleOp"> {
  let summary = "Quantize the operands of products by a policy";
  let description = [{
    Products of matrices in `linalg` become `scaled_mm` of quantized operands where
    a policy says so (docs/Policy.md): `matmul`, `batch_matmul` and `contract` with
    any indexing maps, `generic` that computes a product, and convolutions whose
    filter is a point, of f32, bf16 or f16. Scales are linear; the pipelines lay
    them out, and quantize constants at compile time.

    `policy` is a file; `format` stands for the policy that quantizes both operands
    of each product with a weight. A product that is left has a remark with the
    clause (include/blockscale/Transforms/QuantizeProducts.h):

    ```text
    is not quantized (policy_c4): expected a static K of whole blocks of 16, but got 40
    ```

    Remarks of the category `quantize-products` say by which rule others are
    quantized (`--remarks-filter-passed=quantize-products`). Where rules by rows
    decide of a product whose M is dynamic, each form is in a branch of `scf.if`,
    and a remark of this category has the bounds. The pass is in no
    pipeline, since it changes numbers; it is for the module as it was imported.

    Example (test/Transforms/quantize-products.mlir), of the option
    `format=mxfp8`, with a constant %w:

    ```mlir
    %y = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
        ins(%x, %w : tensor<48x64xbf16>, tensor<40x64xbf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
    // becomes
    %a, %sa = blockscale.quantize %x block [1, 32] : tensor<48x64xbf16> -> tensor<48x64xf8E4M3FN>, tensor<48x2xf8E8M0FNU>
    %b, %sb = blockscale.quantize %w block [1, 32] : tensor<40x64xbf16> -> tensor<40x64xf8E4M3FN>, tensor<40x2xf8E8M0FNU>
    %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 32]
        : tensor<48x64xf8E4M3FN>, tensor<40x64xf8E4M3FN>, tensor<48x2xf8E8M0FNU>, tensor<40x2xf8E8M0FNU> -> tensor<48x40xf32>
    ```
  }];
  let dependentDialects = [
    "::blockscale::BlockScaleDialect", "::mlir::affine::AffineDialect",
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"policyFile", "policy", "std::string", /*default=*/"\"\"",
           "File of the policy, JSON">,
    Option<"format", "format", "std::string", /*default=*/"\"\"",
           "Format of both operands of each product with a weight, in the place "
           "of a policy">];
}

def MeasureProducts
    : Pass<"blockscale-measure-products", "::mlir::ModuleOp"> {
  let summary = "Make functions return what quantization changes of their products";
  let description = [{
    A function with products that `blockscale-quantize-products` would quantize gets
    other results: for each of them, in the order of the program, the sum of the
    squares of its elements and that of the squares of what quantization changes,
    as two `tensor<f64>`. Their ratio is the signal to quantization noise. Both
    products have the operands of the plain program, so each error is that of one
    product alone. Products in loops and branches are not measured.

    Example (test/Transforms/measure-products.mlir):

    ```text
    %0:2 = linalg.generic {..} ins(%plain, %quantized : tensor<48x40xf32>, tensor<48x40xf32>)
        outs(%zero, %zero : tensor<f64>, tensor<f64>) {..} -> (tensor<f64>, tensor<f64>)
    return %0#0, %0#1 : tensor<f64>, tensor<f64>
    ```
  }];
  let dependentDialects = [
    "::blockscale::BlockScaleDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"policyFile", "policy", "std::string", /*default=*/"\"\"",
           "File of the policy, JSON">,
    Option<"format", "format", "std::string", /*default=*/"\"\"",
           "Format of both operands of each product with a weight, in the place "
           "of a policy">];
}

def MeasureAmaxes : Pass<"blockscale-measure-amaxes", "::mlir::ModuleOp"> {
  let summary = "Make functions return the amaxes of what their products read";
  let description = [{
    A function with products of weights that `blockscale-quantize-products` would
    quantize with a global scale of the other operand gets other results: for each
    of them, in the order of the program, the amax of that operand, a
    `tensor<f32>`. The largest of examples are those that the member `amaxes` of a
    policy reads. The operands are those of the plain program. Products in loops
    and branches are not measured, and neither are operands that are transformed.

    Example (test/Transforms/measure-amaxes.mlir):

    ```text
    %0 = blockscale.amax %x : tensor<48x64xbf16> -> tensor<f32>
    return %0 : tensor<f32>
    ```
  }];
  let dependentDialects = [
    "::blockscale::BlockScaleDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"policyFile", "policy", "std::string", /*default=*/"\"\"",
           "File of the policy, JSON">,
    Option<"format", "format", "std::string", /*default=*/"\"\"",
           "Format of both operands of each product with a weight, in the place "
           "of a policy">];
}

def DecodeProductOperands : Pass<"blockscale-decode-product-operands"> {
  let summary = "Decode operands of products that their kernels cannot decode";
  let description = [{
    For a chip whose tensor cores know no block scales (sm_80, sm_86, sm_89 and
    sm_90a), one operand of a `scaled_mm` or `scaled_grouped_mm` of two scaled
    ones is decoded to bf16 before the product: the one that a `quantize` makes,
    or else one that is no constant, or else A
    (include/blockscale/Transforms/DecodeProductOperands.h). Global scales stay
    the product's. Products of one operand share its values, as common
    subexpressions are eliminated. For other chips these products do not change.

    For all targets, an MN-major operand with scales is decoded to the type of the
    plain operand beside it, because most kernels decode codes along K alone. Those
    of sm_90a decode prepacked data of `b`, too, if no global scale multiplies its
    elements. A remark (`--remarks-filter-missed=gpu-launch`) says so. A global scale
    that multiplies elements is then that of the `dequantize`.

    Example (test/Transforms/decode-product-operands.mlir):

    ```mlir
    %y = blockscale.scaled_mm %q, %w scales(%s, %ws) block [1, 16]
        : tensor<48x64xf4E2M1FN>, tensor<40x64xf4E2M1FN>, tensor<48x4xf8E4M3FN>, tensor<40x4xf8E4M3FN> -> tensor<48x40xf32>
    // becomes
    %a = blockscale.dequantize %q, %s block [1, 16]
        : tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN> -> tensor<48x64xbf16>
    %y = blockscale.scaled_mm %a, %w scales(none, %ws) block [1, 16]
        : tensor<48x64xbf16>, tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<48x40xf32>
    ```
  }];
  let dependentDialects = ["::blockscale::BlockScaleDialect",
                           "::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"chip", "chip", "std::string", /*default=*/"\"sm_90a\"",
           "GPU to generate code for; none for the CPU">];
}

def RelayoutScales : Pass<"blockscale-relayout-scales"> {
  let summary = "Go by linear scales where kernels do not have a layout";
  let description = [{
    Ops that compute scales, or with scales, have kernels for linear scales and for
    `swizzle_128x4`. Where scales are in another layout, a `quantize` or an
    `expand_scale` gets linear scales, which a `swizzle` behind it brings to the
    layout, and a `dequantize` gets what a `swizzle` before it makes linear. A
    `swizzle` between two layouts of tiles becomes two. The bytes are the same.

    On a GPU, a `quantize` along rows of f16 or f32 whose length is dynamic takes
    blocks without their rows, and has linear scales alone, too.

    Example:

    ```mlir
    %q, %s = blockscale.quantize %x block [1, 16] : tensor<4x256xbf16>
        -> tensor<4x256xf4E2M1FN>, tensor<4x16xf8E4M3FN, #blockscale.layout<swizzle_8x4>>
    ```
    becomes
    ```mlir
    %q, %l = blockscale.quantize %x block [1, 16] : tensor<4x256xbf16>
        -> tensor<4x256xf4E2M1FN>, tensor<4x16xf8E4M3FN>
    %s = blockscale.swizzle %l
        : tensor<4x16xf8E4M3FN> -> tensor<4x16xf8E4M3FN, #blockscale.layout<swizzle_8x4>>
    ```
  }];
  let options = [
    Option<"chip", "chip", "std::string", /*default=*/"\"\"",
           "GPU to generate code for, if any">];
  let dependentDialects = ["::blockscale::BlockScaleDialect",
                           "::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
}

def SwizzleProductScales : Pass<"blockscale-swizzle-product-scales"> {
  let summary = "Give products the scales in the layout of tensor cores";
  let description = [{
    For a chip with kernels of products, linear scales of a `scaled_mm` or
    `scaled_grouped_mm` are swizzled before the product, group by group if its
    offsets bound them. Canonicalization folds this into the quantizer that makes
    the scales if nothing else needs them linear, and constants are swizzled at
    compile time. A quantizer without offsets whose results only products of the
    same groups read takes theirs, so that this is folded, too. For other chips
    nothing changes.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"chip", "chip", "std::string", /*default=*/"\"sm_100a\"",
           "GPU to generate code for">];
}

def MoveReshapes
    : InterfacePass<"blockscale-move-reshapes", "::mlir::FunctionOpInterface"> {
  let summary = "Move reshapes of rows behind what follows a product";
  let description = [{
    An `expand_shape` or `collapse_shape` of the rows of a product's result, or of
    what elementwise ops make of it, comes behind the elementwise op or the
    quantization of rows that takes it. So the kernel of the product can compute
    these. A reshape of the last dimension stays where it is, and so does one before
    a quantization with scales in a layout, `offsets`, `rng`, `block_amax` or several
    global values.

    A reshape of the batch comes behind a product of plain operands where the rows of
    one are gathered before, or those of the result are scattered behind
    (include/blockscale/Analysis/RowMoves.h), so that the kernel of the product can do
    that; at most one size of the batch may be dynamic, and matrices have no global
    scales of their own. No number changes.

    Example (test/Transforms/move-reshapes.mlir):

    ```mlir
    %x = tensor.expand_shape %y [[0, 1], [2]] output_shape [2, 64, 96]
        : tensor<128x96xbf16> into tensor<2x64x96xbf16>
    %g = linalg.generic .. ins(%x : tensor<2x64x96xbf16>) .. -> tensor<2x64x96xbf16>
    // becomes
    %f = linalg.generic .. ins(%y : tensor<128x96xbf16>) .. -> tensor<128x96xbf16>
    %g = tensor.expand_shape %f [[0, 1], [2]] output_shape [2, 64, 96]
        : tensor<128x96xbf16> into tensor<2x64x96xbf16>
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def PrepackProductWeights : Pass<"blockscale-prepack-product-weights"> {
  let summary = "Give products constant weights in the order of register fragments";
  let description = [{
    For a chip whose products take a register operand of `wgmma`, the constant
    operand with scales of a `scaled_mm`, or `b` of a `scaled_grouped_mm` in groups
    of rows, is prepacked before the product if the other operand is plain.
    `blockscale-fold-constants` then prepacks it at compile time. Other weights are
    kept, since a kernel that prepacks them at each call takes longer than it saves:
    those that are no constants, and, with a remark, those of more elements than are
    evaluated at compile time. For other chips nothing changes.

    Example (test/Transforms/prepack-product-weights.mlir):

    ```mlir
    %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16]
        : tensor<8x64xbf16>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN> -> tensor<8x64xbf16>
    // becomes
    %p = blockscale.prepack %w
        : tensor<64x64xf4E2M1FN> -> tensor<64x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>
    %y = blockscale.scaled_mm %x, %p scales(none, %s) block [1, 16]
        : tensor<8x64xbf16>, tensor<64x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, tensor<64x4xf8E4M3FN> -> tensor<8x64xbf16>
    ```
  }];
  let dependentDialects = ["::blockscale::BlockScaleDialect"];
  let options = [
    Option<"chip", "chip", "std::string", /*default=*/"\"sm_90a\"",
           "GPU that the products are for">,
    Option<"maxElements", "max-elements", "int64_t", "kMaxConstantElements",
           "Most elements of a weight that is prepacked">];
}

def UnpackProductData : Pass<"blockscale-unpack-product-data"> {
  let summary = "Give products row-major data";
  let description = [{
    The inverse of blockscale-prepack-product-weights, for targets whose products
    read row-major data alone: a prepacked operand is brought back before the
    product, at compile time if it is constant, and by a kernel of its own
    otherwise, which a remark says. A dynamic size that prepacked data does not
    store is that of the scales or of the bias. An MN-major operand is transposed,
    for targets whose products read K-major ones alone.

    Example (test/Transforms/unpack-product-data.mlir):

    ```text
    reads prepacked data by a kernel that brings it to row-major order, as its own kernels read no other; row-major data needs none
    ```
  }];
  let dependentDialects = [
    "::blockscale::BlockScaleDialect", "::mlir::affine::AffineDialect",
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"kMajor", "k-major", "bool", /*default=*/"true",
           "Transpose MN-major operands">];
}

def ElementwiseToLinalg : Pass<"blockscale-elementwise-to-linalg"> {
  let summary = "Write elementwise ops on plain tensors as linalg.generic";
  let description = [{
    Upstream's conversion, with two exceptions: an `arith.select` between two
    tensors by one condition is kept, and so are ops on tensors with a layout or of
    formats below 16 bits, which are only moved as a whole.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
}

def ExpandMath : Pass<"blockscale-expand-math"> {
  let summary = "Write math as arithmetic of the same value on every target";
  let description = [{
    The producers of quantized tensors must compute the same bits on the CPU, in
    the emulator and on a GPU, or the quantized bytes would differ. On scalars of
    f32, and of bf16 through f32:

    - `math.exp` becomes a polynomial, within 0.9 ulp; below 2^-125 it is 0;
    - `n / (1 + exp(x))` becomes that, Newton's iteration and a product: the
      logistic function within 6 ulp, and at least 2^-126;
    - `math.sin` and `math.cos` are reduced to a quarter turn by products of
      integers, without error for every f32, and become polynomials in f64: within
      0.5001 ulp;
    - `math.tanh`, `math.erf`, `math.log`, `math.log2`, `math.log1p` and
      `math.expm1` become upstream's polynomials, and `math.rsqrt`, `math.clampf`
      and `math.fpowi` become upstream's expansions; square roots and other
      divisions are kept and are IEEE's. `math.log` and `math.log2` of a subnormal
      number are those of one that is 2^24 times as large, less 24 binary digits;
    - `math.absi` becomes a maximum;
    - `arith.maxnumf` and `arith.minnumf` get a defined sign of zero;
    - `math.fma` of bf16 and f16 becomes one of f32, whose result is rounded again;
    - fast-math flags are dropped, because targets would use them differently.

    Elementwise named ops of linalg become `linalg.generic` first.

    Example (test/Transforms/expand-math.mlir):

    ```mlir
    %e = math.exp %x : f32
    %d = arith.addf %e, %one : f32
    %q = arith.divf %one, %d : f32
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect"
  ];
}

def LowerTensorReshape : Pass<"blockscale-lower-tensor-reshape"> {
  let summary = "Turn tensor.reshape into collapse_shape and expand_shape";
  let description = [{
    A `tensor.reshape` takes its sizes from a tensor. As a memref it would read them
    from memory, which the host of a GPU does not know. This pass makes a vector of
    all elements, and of that a tensor of these sizes.

    Example (test/Transforms/lower-tensor-reshape.mlir):

    ```mlir
    %shape = tensor.from_elements %m, %n : tensor<2xindex>
    %y = tensor.reshape %x(%shape)
        : (tensor<?x64xf32>, tensor<2xindex>) -> tensor<?x?xf32>
    // becomes
    %flat = tensor.collapse_shape %x [[0, 1]]
        : tensor<?x64xf32> into tensor<?xf32>
    %y = tensor.expand_shape %flat [[0, 1]] output_shape [%m, %n]
        : tensor<?xf32> into tensor<?x?xf32>
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}

def FoldConstants : Pass<"blockscale-fold-constants"> {
  let summary = "Quantize, swizzle and prepack constants at compile time";
  let description = [{
    Replaces amax, global_scale, hadamard, scale_sweep, quantize, expand_scale,
    swizzle and prepack of constants by their results, which are the bytes that the
    kernels compute. What moves or converts a constant in front of such an op is
    evaluated as well: tensor.collapse_shape, expand_shape and extract_slice,
    linalg.transpose, and arith.truncf and extf among f32, bf16 and f16. Results of
    more than 1 KiB are resources, not printed text.

    Some ops are kept: ops with an operand or result of more than `max-elements`
    elements, with a remark; ops with groups or random bits; and `dequantize` and
    products, whose results are larger than their operands.

    Example (test/Transforms/fold-constants.mlir):

    ```mlir
    %w = arith.constant dense<1.5> : tensor<1x16xbf16>
    %q, %s = blockscale.quantize %w block [1, 16]
        : tensor<1x16xbf16> -> tensor<1x16xf4E2M1FN>, tensor<1x1xf8E4M3FN>
    // becomes
    %q = arith.constant dense<6.0> : tensor<1x16xf4E2M1FN>
    %s = arith.constant dense<2.5e-01> : tensor<1x1xf8E4M3FN>
    ```
  }];
  let options = [
    Option<"maxElements", "max-elements", "int64_t", "kMaxConstantElements",
           "Most elements of an operand or result of an op that is evaluated">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def FormKernels : InterfacePass<"blockscale-form-kernels",
                                "::mlir::FunctionOpInterface"> {
  let summary = "Wrap the ops that run as one kernel in blockscale.kernel";
  let description = [{
    Every op of the dialect becomes one `blockscale.kernel` with its operands as
    inputs and empty tensors of its result types as outputs.

    For a GPU (`chip`), quantizations of one x share a kernel that reads x once:
    of rows and columns, or of a weight and its transpose. The kernel also computes
    transforms of columns, and amaxes of x and of these transforms. If a
    quantization needs one of the amaxes, a kernel before it computes them. With
    `transforms=te` it computes only transforms of the sizes that TransformerEngine's
    kernels take.
    Elementwise `linalg.generic` ops that compute x from one or several tensors,
    with factors of rows and columns, are computed in the first kernel that reads
    x; if other ops need x too, it is a result of that kernel. Other elementwise
    ops are kernels by themselves. So are norms (linalg ops that reduce rows),
    together with the quantization of their result. An op that cannot share a
    kernel gets a kernel of its own, which computes the same bytes, and a remark
    with the clause (FusionLegality.h, Producers.h and RowProgram.h in
    include/blockscale/Analysis):

    ```text
    reads x in a kernel of its own (one_read_c1): expected x of bf16, but got tensor<64x64xf32>
    takes a second pass over x (one_pass_c1): expected operands that need no amax of x, but got global_amax
    ```

    A kernel that computes each op once is never slower than several kernels. If
    two kernels need an x that elementwise ops compute, either the first stores x,
    or both compute it: the form that is estimated to be faster on the chip's GPU,
    or the form of the option `recompute`. Estimates need static sizes or
    `dynamic-sizes`. Kernels name the `family` of the code that they become on a
    GPU. Kernels of several ops record in `blockscale.fusion` which
    form they have and the estimates of all forms; remarks of the category
    `gpu-fusion` give the reason (`--remarks-filter-analyse=gpu-fusion`).

    Quantizations of several tensors with one name in `blockscale.group` share a
    kernel too. Members that disagree are an error on every target:

    ```text
    expected members of group "experts" to agree in recipe, but number 0 has torchao and number 2 has te
    ```

    Example (test/Transforms/form-kernels-read-once.mlir):

    ```mlir
    %q, %s = blockscale.quantize %x block [1, 16]
        : tensor<64x128xbf16> -> tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>
    %h = blockscale.hadamard %x dim 0 : tensor<64x128xbf16>
    %p, %t = blockscale.quantize %h block [16, 1] transposed
        : tensor<64x128xbf16> -> tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>
    // becomes one blockscale.kernel with four results
    ```
  }];
  let options = [
    Option<"chip", "chip", "std::string", /*default=*/"",
           "GPU whose kernels may have several ops; none for the CPU">,
    Option<"fuse", "fuse", "bool", /*default=*/"true",
           "Let kernels have several ops; otherwise each op has its own">,
    Option<"recompute", "recompute", "::blockscale::Recompute",
           /*default=*/"::blockscale::Recompute::Model",
           "Whether both of two passes over x compute what makes it",
           [{::blockscale::getRecomputeValues()}]>,
    Option<"transforms", "transforms", "::blockscale::TransformSizes",
           /*default=*/"::blockscale::TransformSizes::Any",
           "Which transforms the kernels that quantize them compute",
           [{::blockscale::getTransformSizesValues()}]>,
    ListOption<"dynamicSizes", "dynamic-sizes", "int64_t",
               "Assumed sizes of the dynamic dimensions of a function's "
               "arguments, in order, for estimates; the last one serves all "
               "that follow">];
  let dependentDialects = [
    "::blockscale::BlockScaleDialect", "::mlir::affine::AffineDialect",
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"];
}

def MaterializeStorage
    : Pass<"blockscale-materialize-storage", "::mlir::ModuleOp"> {
  let summary = "Give packed and swizzled tensors the shape that memory has";
  let description = [{
    Rewrites `tensor<MxKxf4E2M1FN>` to `tensor<Mx(K/2)xi8>`,
    `tensor<RxCxT, #swizzled>` to its tiles
    `tensor<(R/128)x(C/4)x32x4x4xT>` and `tensor<RxKxT, #prepacked>` to its blocks
    `tensor<(R/64)x(K/64)xBxi8>` (B is 2048 or 4096), sizes rounded up, through functions, calls,
    branches, scf, slices, casts, select and constants. Kernel bodies keep logical
    types. Any other op on such a type is an error, as in
    blockscale-verify-layout.

    Memory does not hold every logical size: `tensor.dim` of a dynamic row or
    column of swizzled scales, or of a dynamic last dimension of packed data, must
    follow from the op that made the tensor. If a kernel reads the packed data in
    whole blocks, the last dimension is also known to be twice the bytes.

    Example (test/Transforms/materialize-storage-slices.mlir):

    ```mlir
    %0 = tensor.extract_slice %s[128, 4] [72, 1] [1, 1]
        : tensor<200x5xf8E4M3FN, #swizzled> to tensor<72x1xf8E4M3FN, #swizzled>
    // becomes
    %0 = tensor.extract_slice %s[1, 1, 0, 0, 0] [1, 1, 32, 4, 4] [1, 1, 1, 1, 1]
        : tensor<2x2x32x4x4xf8E4M3FN> to tensor<1x1x32x4x4xf8E4M3FN>
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::tensor::TensorDialect"];
}

def ResultsToOutParams
    : Pass<"blockscale-results-to-out-params", "::mlir::ModuleOp"> {
  let summary = "Let the caller allocate the results of public functions";
  let description = [{
    Each result of a public function becomes a trailing memref argument, of rank
    0 for a scalar, that the result is materialized in. Calls in the module go to
    a private copy that returns its results. Where a result has dynamic sizes, a
    function `@NAME__result_sizes` with the same leading arguments is added: it
    writes the dynamic sizes of all results, in order, to its last argument.
    Public functions also get a C interface (`_mlir_ciface_NAME`, descriptors by
    pointer), and do not write to their arguments unless these are marked
    `bufferization.writable = true`, whose numbers the attribute
    `blockscale.writable_arguments` then has. Runs on storage types, before
    bufferization.
  }];
  let options = [Option<"checkSizes", "check-sizes", "bool", /*default=*/"false",
    "Assert that the buffers of results have their sizes">];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::bufferization::BufferizationDialect",
    "::mlir::cf::ControlFlowDialect", "::mlir::func::FuncDialect", "::mlir::memref::MemRefDialect",
    "::mlir::tensor::TensorDialect"];
}

def BufferizeKernels
    : Pass<"blockscale-bufferize", "::mlir::ModuleOp"> {
  let summary = "One-shot-bufferize everything but the bodies of kernels";
  let description = [{
    Runs upstream's empty tensor elimination and module bufferization with
    identity layouts at function boundaries. Both ways of an `scf.if` that compute a
    new tensor of one size write to one place, that of the function's result if it
    is one. A kernel bufferizes as a whole, in
    place; the logical tensors of its body are a description and stay. Packed and
    swizzled tensors must be in storage form, and control flow that carries
    tensors structured.
  }];
  let dependentDialects = [
    "::mlir::bufferization::BufferizationDialect",
    "::mlir::memref::MemRefDialect"];
}

def ReuseArguments
    : Pass<"blockscale-reuse-arguments", "::mlir::func::FuncOp"> {
  let summary = "Let results have the memory of arguments that are given away";
  let description = [{
    The result of a public function may have the memory of an argument in
    `blockscale.writable_arguments` if all that is done with the result's buffer is
    one copy of the whole argument, behind which the argument does not change: in
    the same memory there is nothing to copy. The attribute
    `blockscale.result_arguments` has the number of the argument for each such
    result, and -1 for others. An argument is that of one result. Runs on the
    functions that `blockscale-bufferize` makes.

    Example (test/Transforms/reuse-arguments.mlir):

    ```mlir
    func.func @f(%cache: memref<64xf32>, %out: memref<64xf32>)
        attributes {blockscale.writable_arguments = array<i64: 0>, ...} {
      ...
      memref.copy %cache, %out
    // becomes
    func.func @f(%cache: memref<64xf32>, %out: memref<64xf32>)
        attributes {blockscale.result_arguments = array<i64: 0>, ...} {
      ...
      %from = memref.extract_aligned_pointer_as_index %cache
      %to = memref.extract_aligned_pointer_as_index %out
      %differ = arith.cmpi ne, %from, %to : index
      scf.if %differ {
        memref.copy %cache, %out
      }
    ```
  }];
  let options = [Option<"guardCopies", "guard-copies", "bool",
    /*default=*/"true",
    "Let copies ask for addresses; without it, who runs them compares these">];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect"];
}

def PrintRoofline
    : Pass<"blockscale-print-roofline", "::mlir::ModuleOp"> {
  let summary = "Print what a module would take on a GPU";
  let description = [{
    Prints, to standard error, the bytes, FLOP, launches and least time of every
    op of the dialect and `blockscale.kernel`, and their sums for each function and
    for the module, by the roofline of docs/CostModel.md. Ops in loops count as
    often as they run; calls count nothing. The IR does not change.

    Example (test/Transforms/print-roofline.mlir):

    ```text
    roofline of B200, model exact
                                                              bytes               FLOP launches           us  limit
      @quantize                                           107479044           83886080        1       15.227
        quantize 8192x5120xbf16                           107479044           83886080        1       15.227  memory
    module                                                107479044           83886080        1       15.227
    ```
  }];
  let options = [
    Option<"gpu", "gpu", "std::string", /*default=*/"\"B200\"",
           "GPU whose rates are taken">,
    Option<"model", "model", "std::string", /*default=*/"\"exact\"",
           "How bytes are counted: exact (what memory holds) or torchao (its "
           "formulas; no other ops than they know)">,
    ListOption<"dynamicSizes", "dynamic-sizes", "int64_t",
               "Assumed sizes of the dynamic dimensions of a function's "
               "arguments, in order; the last one serves all that follow">];
  // Sizes of results are reified where nothing of them stays.
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::tensor::TensorDialect"];
}

#endif // BLOCKSCALE_TRANSFORMS_PASSES_TD
