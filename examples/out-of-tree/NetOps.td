//===- NetOps.td - A dialect of this project ----------------*- tablegen -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Layers of a network, whose operands are quantized when they are lowered. The
// attribute that says how is BlockScale's.
//
//===----------------------------------------------------------------------===//

#ifndef NET_OPS_TD
#define NET_OPS_TD

include "blockscale/IR/BlockScaleAttributes.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Net_Dialect : Dialect {
  let name = "net";
  let cppNamespace = "::net";
  let summary = "layers of a network";
  let dependentDialects = ["::blockscale::BlockScaleDialect"];
}

def Net_LinearOp : Op<Net_Dialect, "linear", [Pure]> {
  let summary = "x W^T of operands in NVFP4";
  let arguments = (ins
    2DTensorOf<[BF16]>:$x,
    2DTensorOf<[BF16]>:$weight,
    OptionalAttr<BlockScale_RecipeAttr>:$recipe);
  let results = (outs 2DTensorOf<[BF16]>:$y);
  let assemblyFormat = [{
    $x `,` $weight (`recipe` $recipe^)? attr-dict
    `:` type($x) `,` type($weight) `->` type($y)
  }];
  let hasVerifier = 1;
}

#endif // NET_OPS_TD
