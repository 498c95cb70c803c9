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
    I32EnumAttrCase<"Even", 8, "even">]> {
  let cppNamespace = "::blockscale";
  let genSpecializedAttr = 0;
}

def BlockScale_RecipeAttr
    : EnumAttr<BlockScale_Dialect, BlockScale_Recipe, "recipe"> {
  let summary = "The named arithmetic of a quantizer";
  let description = [{
    "NVFP4" is several roundings. A recipe names one of them, to the last bit:
    where the scale is divided or multiplied, its floor, and the rules for zero
    and NaN. `torchao`, `mslk`, `te` and `modelopt` are NVFP4 recipes; `floor`,
    `rceil`, `rceil_sat`, `ceil` and `even` choose the E8M0 scale of MX formats.
    The defaults are `torchao` and `rceil`.
  }];
  let assemblyFormat = "$value";
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

def BlockScale_LayoutKind : I32EnumAttr<"LayoutKind", "scale storage order", [
    I32EnumAttrCase<"Swizzle128x4", 0, "swizzle_128x4">]> {
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

    With `groups = G, dim = d` the matrix is G groups along rows (`dim = 0`) or
    columns (`dim = 1`), bounded by device-side end offsets. Each group is padded
    and tiled alone and the groups' tiles are concatenated; the storage shape is
    `[T, 32, 4, 4]` with T the upper bound for any offsets.

    Example:

    ```mlir
    tensor<200x5xf8E4M3FN, #blockscale.layout<swizzle_128x4>>
    tensor<70x3xf8E8M0FNU, #blockscale.layout<swizzle_128x4, groups = 3, dim = 0>>
    ```
  }];
  let parameters = (ins
    EnumParameter<BlockScale_LayoutKind>:$kind,
    DefaultValuedParameter<"int64_t", "0", "groups; 0 when not grouped">:$groups,
    DefaultValuedParameter<"int64_t", "0", "grouped dimension">:$dim
  );
  let assemblyFormat = "`<` $kind `` custom<LayoutGroups>($groups, $dim) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The 128x4 swizzle, not grouped.
    static LayoutAttr getSwizzle128x4(::mlir::MLIRContext *context);

    bool isGrouped() const { return getGroups() != 0; }

    /// layout_c1 and layout_c2.
    ::llvm::LogicalResult verifyEncoding(
        ::llvm::ArrayRef<int64_t> shape, ::mlir::Type elementType,
        ::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError) const;
  }];
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
