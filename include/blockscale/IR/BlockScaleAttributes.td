//===- BlockScaleAttributes.td - Layout, recipe, target ----*- tablegen -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_IR_BLOCKSCALEATTRIBUTES_TD
#define BLOCKSCALE_IR_BLOCKSCALEATTRIBUTES_TD

include "blockscale/IR/BlockScaleDialect.td"
include "mlir/Dialect/GPU/IR/CompilationAttrInterfaces.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

//===----------------------------------------------------------------------===//
// Recipe
//===----------------------------------------------------------------------===//

def BlockScale_Recipe : I32EnumAttr<"Recipe", "named rounding recipe", [
    I32EnumAttrCase<"Torchao", 0, "torchao">,
    I32EnumAttrCase<"Mslk", 1, "mslk">,
    I32EnumAttrCase<"Te", 2, "te">,
    I32EnumAttrCase<"Modelopt", 3, "modelopt">,
    I32EnumAttrCase<"Floor", 4, "floor">,
    I32EnumAttrCase<"Rceil", 5, "rceil">,
    I32EnumAttrCase<"RceilSat", 6, "rceil_sat">,
    I32EnumAttrCase<"Ceil", 7, "ceil">,
    I32EnumAttrCase<"Even", 8, "even">,
    I32EnumAttrCase<"Te4over6Mae", 9, "te_4over6_mae">,
    I32EnumAttrCase<"Te4over6Mse", 10, "te_4over6_mse">,
    I32EnumAttrCase<"Tosa", 11, "tosa">,
    I32EnumAttrCase<"CompressedTensors", 12, "compressed_tensors">,
    I32EnumAttrCase<"TorchaoTraining", 13, "torchao_training">]> {
  let cppNamespace = "::blockscale";
  let genSpecializedAttr = 0;
}

def BlockScale_RecipeAttr
    : EnumAttr<BlockScale_Dialect, BlockScale_Recipe, "recipe"> {
  let summary = "The named arithmetic of a quantizer";
  let description = [{
    "NVFP4" is several roundings. A recipe names one of them, to the last bit:
    where the scale is divided or multiplied, its floor, and the rules for zero
    and NaN. `torchao`, `mslk`, `te`, `modelopt` and `torchao_training` are NVFP4
    recipes, and so are `te_4over6_mae` and `te_4over6_mse`, which choose between
    two scales for each block by its error; `floor`, `rceil`, `rceil_sat`, `ceil`,
    `even` and `tosa` choose the E8M0 scale of MX formats. `compressed_tensors` is
    a recipe of both, and rounds to the type of x in NVFP4. The defaults are
    `torchao` and `rceil`.
  }];
  let assemblyFormat = "$value";
}

//===----------------------------------------------------------------------===//
// Kernel family
//===----------------------------------------------------------------------===//

def BlockScale_KernelFamily : I32EnumAttr<"KernelFamily", "family of a kernel's code", [
    I32EnumAttrCase<"Rows", 0, "rows">,
    I32EnumAttrCase<"Strips", 1, "strips">,
    I32EnumAttrCase<"Program", 2, "program">,
    I32EnumAttrCase<"Product", 3, "product">,
    I32EnumAttrCase<"Elementwise", 4, "elementwise">,
    I32EnumAttrCase<"Op", 5, "op">]> {
  let cppNamespace = "::blockscale";
  let genSpecializedAttr = 0;
}

def BlockScale_KernelFamilyAttr
    : EnumAttr<BlockScale_Dialect, BlockScale_KernelFamily, "family"> {
  let summary = "How a kernel becomes the code of a GPU";
  let description = [{
    | family | what its code computes |
    | --- | --- |
    | `rows` | a quantization in blocks of one row, with the elementwise ops that make x; a thread has blocks of a row |
    | `strips` | quantizations and amaxes of one x, or of several, with transforms and the elementwise ops that make x; a warp has rows and columns of x |
    | `program` | linalg ops that reduce rows, with those around them and a quantization of the result |
    | `product` | one or two products, with what follows them |
    | `elementwise` | elementwise linalg ops |
    | `op` | another op by itself: an amax, a transform, a swizzle, ... |

    Example:

    ```mlir
    %q, %s = blockscale.kernel ins(%x : tensor<128x64xbf16>)
        outs(%qi, %si : tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>) family rows {
    ```
  }];
  let assemblyFormat = "$value";
}

//===----------------------------------------------------------------------===//
// Scale dimension
//===----------------------------------------------------------------------===//

def BlockScale_ScaleDim : I32EnumAttr<"ScaleDim", "dimension that blocks run along", [
    I32EnumAttrCase<"N", 0, "n">,
    I32EnumAttrCase<"K", 1, "k">]> {
  let cppNamespace = "::blockscale";
  let genSpecializedAttr = 0;
}

def BlockScale_ScaleDimAttr
    : EnumAttr<BlockScale_Dialect, BlockScale_ScaleDim, "scale_dim"> {
  let summary = "The dimension of [N, K] that a product with replicated scales runs along";
  let description = [{
    The scales of square blocks serve products along either dimension. `k`, the
    last one, gives each row of the matrix a scale for every block of columns:
    (N, K/B). `n` gives each column one for every block of rows: (K, N/B).

    Example:

    ```mlir
    %w, %t = blockscale.quantize %y block [32, 32] scale_dim k
        : tensor<64x96xbf16> -> tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU>
    ```
  }];
  let assemblyFormat = "$value";
}

def BlockScale_GlobalScaling : I32EnumAttr<"GlobalScaling", "place of the global scales in a product", [
    I32EnumAttrCase<"BeforeRounding", 0, "before_rounding">,
    I32EnumAttrCase<"AfterRounding", 1, "after_rounding">,
    I32EnumAttrCase<"InElements", 2, "in_elements">]> {
  let cppNamespace = "::blockscale";
  let genSpecializedAttr = 0;
}

def BlockScale_GlobalScalingAttr
    : EnumAttr<BlockScale_Dialect, BlockScale_GlobalScaling, "global_scaling"> {
  let summary = "Whether a product is multiplied by its global scales before or after rounding, or its elements are";
  let description = [{
    `before_rounding` (the default) multiplies the f32 sum by the product of the
    global scales, adds the bias, and rounds once to the result type, as GEMM
    epilogues do. `after_rounding` is what torchao does: the sum is rounded to the
    result type, multiplied by the product of the global scales rounded to that
    type, and rounded; then the bias is added and the sum rounded. Where there is
    no global scale and the result is not f32, the bias is added in f32 before the
    one rounding. `in_elements` is what programs do that dequantize an operand
    before they multiply it by a plain one: the global scale multiplies each block
    scale in f32, that each element in f32, and this is rounded to the type of the
    plain operand.

    Example:

    ```mlir
    %z = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
        global_scale_a(%ga : tensor<f32>) global_scaling after_rounding
        : tensor<48x256xf4E2M1FN>, tensor<40x256xf4E2M1FN>,
          tensor<48x16xf8E4M3FN>, tensor<40x16xf8E4M3FN> -> tensor<48x40xbf16>
    %w = blockscale.scaled_mm %x, %b scales(none, %sb) block [1, 16]
        global_scale_b(%gb : tensor<f32>) global_scaling in_elements
        : tensor<48x256xbf16>, tensor<40x256xf4E2M1FN>, tensor<40x16xf8E4M3FN>
          -> tensor<48x40xbf16>
    ```
  }];
  let assemblyFormat = "$value";
}

def BlockScale_Order : I32EnumAttr<"SumOrder", "order of the sums of a product", [
    I32EnumAttrCase<"Free", 0, "free">,
    I32EnumAttrCase<"Chain", 1, "chain">]> {
  let cppNamespace = "::blockscale";
  let genSpecializedAttr = 0;
}

def BlockScale_OrderAttr
    : EnumAttr<BlockScale_Dialect, BlockScale_Order, "order"> {
  let summary = "Whether the sums of a product may have any order along K, or have defined bits";
  let description = [{
    `free` (the default) sums in f32 in any order, within the bound of the
    product. `chain` adds along K in the order of its elements, by the steps in
    which the device multiplies bf16 or f16: each step adds the products of
    consecutive elements (16 on Hopper) and the sum so far, as docs/Numerics.md,
    section 13, defines. The elements are those of a plain operand and those of
    a scaled one times their scales, rounded to the type of the plain operand; of
    two scaled operands both are rounded to bf16. A group along K has a chain of
    its own. So a result depends on its row of A and its row of B alone: not on
    other rows, on the place in a batch or a group, or on the schedule. Global
    scales and the bias follow the sum as `global_scaling` says.

    Example:

    ```mlir
    %w = blockscale.scaled_mm %x, %b scales(none, %sb) block [1, 16] order chain
        : tensor<48x256xbf16>, tensor<40x256xf4E2M1FN>, tensor<40x16xf8E4M3FN>
          -> tensor<48x40xbf16>
    ```
  }];
  let assemblyFormat = "$value";
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

def BlockScale_LayoutKind : I32EnumAttr<"LayoutKind", "scale storage order", [
    I32EnumAttrCase<"Swizzle128x4", 0, "swizzle_128x4">,
    I32EnumAttrCase<"Swizzle8x4", 1, "swizzle_8x4">]> {
  let cppNamespace = "::blockscale";
  let genSpecializedAttr = 0;
}

def BlockScale_VerifiableTensorEncoding
    : AttrInterface<"VerifiableTensorEncoding"> {
  let cppNamespace = "::mlir";
}

def BlockScale_LayoutAttr : AttrDef<BlockScale_Dialect, "Layout",
    [BlockScale_VerifiableTensorEncoding]> {
  let mnemonic = "layout";
  let summary = "How a block-scale tensor is stored";
  let description = [{
    The encoding of a scale tensor. The tensor keeps its logical shape
    `[.., R, C]` (R rows of the data matrix, C blocks along a row); the encoding
    says how the bytes lie. No encoding is linear, row-major.

    `swizzle_128x4` is the order that block-scaled tensor cores read. The matrix
    is padded with zero bytes to multiples of 128 rows and 4 columns and cut in
    tiles of 128x4 = 512 bytes; inside a tile, row `r` and column `c` are at

    ```text
    byte = (r mod 32) * 16 + (r floordiv 32) * 4 + c

               c: 0 1 2 3
      r =   0  |  0 1 2 3 |  r =  32 |  4  5  6  7 |  r = 64 | 8 .. |  r = 96 | 12 .. |
      r =   1  | 16 ..    |  r =  33 | 20 ..       |
      ...
      r =  31  | 496 ..   |                                          r = 127 | 508 .. 511 |
    ```

    so its storage shape is `[.., R ceildiv 128, C ceildiv 4, 32, 4, 4]`. Leading
    dimensions are batches: each is padded and stored alone.

    `swizzle_8x4` is the order that kernels of FlashInfer and TensorRT-LLM read for
    few rows. The matrix is padded to multiples of 8 rows and 4 columns and cut in
    tiles of 8x4 = 32 bytes, each row-major: `byte = (r mod 8) * 4 + c mod 4`. Its
    storage shape is `[.., R ceildiv 8, C ceildiv 4, 8, 4]`. No kernel of this
    compiler computes with these tiles: `blockscale-relayout-scales` makes
    quantizers and `dequantize` go by linear scales, and products refuse them.

    With `groups = G, dim = d` the matrix is G groups along rows (`dim = 0`) or
    columns (`dim = 1`), bounded by device-side end offsets. Each group is padded
    and tiled alone and the groups' tiles are concatenated; the storage shape is
    `[T, 32, 4, 4]` with T the upper bound for any offsets. Only `swizzle_128x4`
    has groups.

    With `groups = ?` there are as many groups as the offsets of the op that makes
    or reads the tensor have ends, 0 included. T follows from them at run time, and
    what has no offsets, such as `tensor.empty`, cannot make such a tensor.

    Example:

    ```mlir
    tensor<200x5xf8E4M3FN, #blockscale.layout<swizzle_128x4>>
    tensor<4x256xf8E4M3FN, #blockscale.layout<swizzle_8x4>>
    tensor<70x3xf8E8M0FNU, #blockscale.layout<swizzle_128x4, groups = 3, dim = 0>>
    tensor<?x3xf8E8M0FNU, #blockscale.layout<swizzle_128x4, groups = ?, dim = 0>>
    ```
  }];
  let parameters = (ins
    EnumParameter<BlockScale_LayoutKind>:$kind,
    DefaultValuedParameter<"int64_t", "0", "groups, or dynamic; 0 when not grouped">:$groups,
    DefaultValuedParameter<"int64_t", "0", "grouped dimension">:$dim
  );
  let assemblyFormat = "`<` $kind `` custom<LayoutGroups>($groups, $dim) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The 128x4 swizzle, not grouped.
    static LayoutAttr getSwizzle128x4(::mlir::MLIRContext *context);

    bool isGrouped() const { return getGroups() != 0; }

    /// Whether the offsets alone say how many groups there are.
    bool hasDynamicGroups() const {
      return ::mlir::ShapedType::isDynamic(getGroups());
    }

    /// Whether it may be the layout of `groups` groups, or of a dynamic number.
    bool mayHaveGroups(int64_t groups) const {
      return isGrouped() && (hasDynamicGroups() || getGroups() == groups ||
                             ::mlir::ShapedType::isDynamic(groups));
    }

    /// The order of the bytes of a matrix, or of a group.
    const ::blockscale::numerics::ScaleLayout &getOrder() const;

    /// layout_c1 and layout_c2.
    ::llvm::LogicalResult verifyEncoding(
        ::llvm::ArrayRef<int64_t> shape, ::mlir::Type elementType,
        ::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError) const;
  }];
}

//===----------------------------------------------------------------------===//
// Data layout
//===----------------------------------------------------------------------===//

def BlockScale_DataLayoutKind : I32EnumAttr<"DataLayoutKind", "data storage order", [
    I32EnumAttrCase<"Fragments64x64", 0, "fragments_64x64">]> {
  let cppNamespace = "::blockscale";
  let genSpecializedAttr = 0;
}

def BlockScale_DataLayoutAttr : AttrDef<BlockScale_Dialect, "DataLayout",
    [BlockScale_VerifiableTensorEncoding]> {
  let mnemonic = "data_layout";
  let summary = "How the codes of a block-scaled tensor are stored";
  let description = [{
    The encoding of a data tensor. The tensor keeps its logical shape `[.., R, K]`;
    the encoding says how the codes lie. Without an encoding they are row-major,
    with two codes of 4 bits in a byte.

    `fragments_64x64` is the order in which the threads of a warpgroup hold operand
    A of `wgmma.mma_async.m64nNk16` in registers: a thread loads 16 bytes at a time
    and exchanges nothing with others. The matrix is padded with code 0 to multiples
    of 64 rows and 64 columns and cut in blocks of 64x64 elements, so its storage
    shape is `[.., R ceildiv 64, K ceildiv 64, 64 * 64 * bits / 8]` of bytes, where
    `bits` is 4 with f4E2M1FN and 8 with other elements. Leading dimensions are
    batches: each is padded and stored alone.

    Four products j of 16 columns make a block. In each, lane `l` of warp `w` has
    four registers q of a pair of elements, h = 0 and h = 1:

    ```text
    row    = 16 w + l floordiv 4 + 8 (q mod 2)
    column = 16 j + 2 (l mod 4) + 8 (q floordiv 2) + h
    ```

    Elements of 8 bits (and of 6, each in a byte) of a thread are 8 bytes a product,
    two products beside each other:

    ```text
    byte = 2048 (j floordiv 2) + 16 (32 w + l) + 8 (j mod 2) + 2 q + h
    ```

    Elements of 4 bits of a thread are a little-endian word a product, at byte
    `16 (32 w + l) + 4 j`. Codes of h = 0 have bits 0 to 15, and those of h = 1 the
    same places of bits 16 to 31. Of a code `s e1 e0 m`,

    ```text
    bit   15  14  13  12  11  10   9   8   7   6   5   4   3   2   1   0
    q = 0  s                          e1  e0   m
    q = 1              s                          e1  e0   m
    q = 2                          s                         e1  e0   m
    q = 3      s  e1      e0   m
    ```

    so that the pair of q = 0 is a mask of the word, those of q = 1 and 2 are a shift
    and a mask, and what they leave is bf16 with the value of the code times 2^-126.
    A GPU decodes row-major nibbles with more instructions a value.

    Constraints:
    - `data_layout_c1`: the elements are f4E2M1FN, f6E2M3FN, f6E3M2FN, f8E4M3FN,
      f8E5M2 or i8 (MXINT8).
    - `data_layout_c2`: the rank is at least 2.

    Example:

    ```mlir
    tensor<200x256xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>
    ```
  }];
  let parameters = (ins EnumParameter<BlockScale_DataLayoutKind>:$kind);
  let assemblyFormat = "`<` $kind `>`";
  let extraClassDeclaration = [{
    static DataLayoutAttr getFragments64x64(::mlir::MLIRContext *context);

    /// data_layout_c1 and data_layout_c2.
    ::llvm::LogicalResult verifyEncoding(
        ::llvm::ArrayRef<int64_t> shape, ::mlir::Type elementType,
        ::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError) const;
  }];
}

//===----------------------------------------------------------------------===//
// Tensor maps and schedules of matrix products
//===----------------------------------------------------------------------===//

def BlockScale_MapElement : I32EnumAttr<"MapElement", "element of a tensor map", [
    I32EnumAttrCase<"UInt8", 0, "uint8">,
    I32EnumAttrCase<"U4Padded", 14, "u4_padded">]> {
  let cppNamespace = "::blockscale";
  let genSpecializedAttr = 0;
}

def BlockScale_MapElementAttr
    : EnumAttr<BlockScale_Dialect, BlockScale_MapElement, "map_element"> {
  let summary = "What a tensor map counts";
  let description = [{
    `uint8` are bytes, two codes each where data are packed. `u4_padded` are
    codes of 4 bits, of which a copy puts 16 into the first 8 of 16 bytes, as
    products of FP4 by FP8 take them (16U4_ALIGN16B).

    Example:

    ```mlir
    %codes = blockscale.tensor_map %data dims[%cols, %rows] strides[%pitch]
        box [128, 256] element u4_padded swizzle 128
    ```
  }];
  let assemblyFormat = "$value";
}

def BlockScale_GemmScheduleAttr : AttrDef<BlockScale_Dialect, "GemmSchedule"> {
  let mnemonic = "gemm_schedule";
  let summary = "How a GPU kernel computes a matrix product";
  let description = [{
    A CTA, or on SM100 a pair of them where `rows` is 256, computes tiles of
    `rows` x `cols` results, one after the other, and has room for the operands
    of `stages` steps along K. `ctas` CTAs share the tiles of a product,
    at most; those of `band` rows of tiles follow each other, column by column,
    so that the operands they read are in the L2 cache. `multicast` pairs beside
    each other load the rows of A once for all of them. K is cut into `splits`
    parts, for products with fewer tiles than the GPU has multiprocessors: they
    are computed apart and added by another kernel, or by the CTAs of a cluster
    that have them (docs/Products.md).

    Constraints:
    - `gemm_schedule_c1`: `rows` and `cols` are multiples of 8 from 8 to 256.
      Which of them a chip has kernels for is a clause of its kernels
      (docs/Products.md).
    - `gemm_schedule_c2`: `stages`, `band`, `ctas` and `splits` are positive.
    - `gemm_schedule_c3`: `multicast` is 1, or 2 where `rows` is 256.

    Example:

    ```mlir
    #blockscale.gemm_schedule<rows = 128, cols = 256, stages = 4, band = 8, ctas = 148>
    ```
  }];
  let parameters = (ins
    "int64_t":$rows,
    "int64_t":$cols,
    "int64_t":$stages,
    "int64_t":$band,
    "int64_t":$ctas,
    DefaultValuedParameter<"int64_t", "1">:$multicast,
    DefaultValuedParameter<"int64_t", "1">:$splits
  );
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Target
//===----------------------------------------------------------------------===//

def BlockScale_TargetAttr : AttrDef<BlockScale_Dialect, "Target",
    [DeclareAttrInterfaceMethods<GPUTargetAttrInterface>]> {
  let mnemonic = "target";
  let summary = "GPU compilation target, checked against the chip table";
  let description = [{
    Serializes a `gpu.module` as `#nvvm.target` does, to which it delegates. It
    exists because the upstream attribute's chip verifier refuses sm_103a and
    sm_110a for instructions that these chips have. `features` is given to the
    NVPTX backend; empty means the PTX version that the chip's instructions
    need.

    Example:

    ```mlir
    gpu.module @kernels [#blockscale.target<chip = "sm_100a">] {}
    ```
  }];
  let parameters = (ins
    StringRefParameter<"chip name">:$chip,
    StringRefParameter<"backend features", "\"\"">:$features,
    DefaultValuedParameter<"int", "3", "optimization level">:$O
  );
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif // BLOCKSCALE_IR_BLOCKSCALEATTRIBUTES_TD
