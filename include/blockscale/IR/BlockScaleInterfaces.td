//===- BlockScaleInterfaces.td - What several ops share ----*- tablegen -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_IR_BLOCKSCALEINTERFACES_TD
#define BLOCKSCALE_IR_BLOCKSCALEINTERFACES_TD

include "mlir/IR/OpBase.td"

def BlockScale_QuantizerOpInterface : OpInterface<"QuantizerOpInterface"> {
  let description = [{
    An op that relates values to block scales by the arithmetic of a recipe:
    `quantize`, `dequantize` and `scale_sweep`.
  }];
  let cppNamespace = "::blockscale";
  let methods = [
    InterfaceMethod<"The recipe, or the default of the format.",
                    "::blockscale::Recipe", "getEffectiveRecipe">,
    InterfaceMethod<"The arithmetic of the recipe for the types of the op.",
                    "::blockscale::numerics::Recipe", "getArithmetic">,
    InterfaceMethod<"The global scale or amax.",
                    "::blockscale::GlobalOperand", "getGlobalOperand">,
    InterfaceMethod<"The groups that offsets make.",
                    "::blockscale::GroupOperand", "getGroupOperand">
  ];
}

class BlockScale_ProductGlobalMethod<string side> : InterfaceMethod<
    "The global scale of " # side # ".",
    "::blockscale::GlobalOperand", "getGlobalOperand" # side, (ins), "", [{
      return ::blockscale::GlobalOperand::get(
          $_op.getGlobalScale}] # side # [{(),
          ::blockscale::GlobalKind::DecodeScale,
          $_op.get}] # side # [{().getType().getRank(),
          static_cast<bool>($_op.getGroupOperand()));
    }]>;

def BlockScale_ProductOpInterface : OpInterface<"ProductOpInterface"> {
  let description = [{
    A product of block-scaled matrices, A by the transpose of B: `scaled_mm` and
    `scaled_grouped_mm`. Global scales, groups, the bias and the block scales of
    one operand, or of both, may be absent.
  }];
  let cppNamespace = "::blockscale";
  let methods = [
    InterfaceMethod<"Data of A.",
                    "::mlir::TypedValue<::mlir::RankedTensorType>", "getA">,
    InterfaceMethod<"Data of B.",
                    "::mlir::TypedValue<::mlir::RankedTensorType>", "getB">,
    InterfaceMethod<"The operand that the data of A are.",
                    "::mlir::OpOperand &", "getAMutable">,
    InterfaceMethod<"The operand that the data of B are.",
                    "::mlir::OpOperand &", "getBMutable">,
    InterfaceMethod<"Block scales of A; null where A is plain.",
                    "::mlir::TypedValue<::mlir::RankedTensorType>", "getScaleA">,
    InterfaceMethod<"Block scales of B; null where B is plain.",
                    "::mlir::TypedValue<::mlir::RankedTensorType>", "getScaleB">,
    InterfaceMethod<"The element type of the block scales; null without any.",
                    "::mlir::Type", "getScaleElementType", (ins), "", [{
      auto scale = $_op.getScaleA() ? $_op.getScaleA() : $_op.getScaleB();
      return scale ? scale.getType().getElementType() : ::mlir::Type();
    }]>,
    InterfaceMethod<"What is added to each row of the product.",
                    "::mlir::TypedValue<::mlir::RankedTensorType>", "getBias">,
    InterfaceMethod<"The product.",
                    "::mlir::TypedValue<::mlir::RankedTensorType>", "getResult">,
    InterfaceMethod<"The rows and columns of a block.",
                    "::llvm::ArrayRef<int64_t>", "getBlock">,
    InterfaceMethod<"Elements of K that share a scale.",
                    "int64_t", "getBlockSize">,
    InterfaceMethod<"Where the global scales are multiplied.",
                    "::std::optional<::blockscale::GlobalScaling>",
                    "getGlobalScaling">,
    InterfaceMethod<"Whether a global scale multiplies each element rather than sums.",
                    "bool", "scalesElements", (ins), "", [{
      return $_op.getGlobalScaling() == ::blockscale::GlobalScaling::InElements;
    }]>,
    InterfaceMethod<"The order of sums; absent where it is free.",
                    "::std::optional<::blockscale::SumOrder>", "getOrder">,
    InterfaceMethod<"Whether sums have the bits of one chain along K.",
                    "bool", "keepsChain", (ins), "", [{
      return $_op.getOrder() == ::blockscale::SumOrder::Chain;
    }]>,
    InterfaceMethod<"The groups that offsets make.",
                    "::blockscale::GroupOperand", "getGroupOperand">,
    InterfaceMethod<"Whether the data of A are [K, M].", "bool", "getMnMajorA">,
    InterfaceMethod<"Whether the data of B are [K, N].", "bool", "getMnMajorB">,
    InterfaceMethod<"Whether operands of several origins are on purpose.",
                    "bool", "getUncheckedOrigins">,
    BlockScale_ProductGlobalMethod<"A">,
    BlockScale_ProductGlobalMethod<"B">
  ];
}

#endif // BLOCKSCALE_IR_BLOCKSCALEINTERFACES_TD
