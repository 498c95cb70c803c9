//===- KernelGroups.cpp - Groups of quantizations -------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Analysis/Fusion/KernelGroups.h"
#include "blockscale/Analysis/Fusion/FusionLegality.h"
#include "blockscale/IR/TypeRules.h"

#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;

namespace blockscale {

StringAttr getGroup(QuantizeOp op) {
  return op->getAttrOfType<StringAttr>(kGroupAttrName);
}

KernelGroups findGroups(ArrayRef<Operation *> ops) {
  KernelGroups groups;
  for (Operation *op : ops)
    if (auto quantize = dyn_cast<QuantizeOp>(op))
      if (StringAttr group = getGroup(quantize))
        groups[{group, op->getBlock()}].push_back(quantize);
  return groups;
}

/// The attribute is a string, of a quantization.
static LogicalResult verifyName(Operation *op) {
  Attribute name = op->getAttr(kGroupAttrName);
  if (!name || (isa<QuantizeOp>(op) && isa<StringAttr>(name)))
    return success();
  return op->emitOpError("expected ")
         << kGroupAttrName << " to be a string of a quantize, but got " << name;
}

namespace {

/// What members agree in, by name.
struct Setting {
  StringRef name;
  std::string value;
};

} // namespace

static std::string printTransform(QuantizeOp op) {
  auto hadamard = op.getX().getDefiningOp<HadamardOp>();
  if (!hadamard)
    return "none";
  return "hadamard dim " + std::to_string(hadamard.getDim()) + " sign_mask " +
         std::to_string(hadamard.getSignMask());
}

static std::string printLayout(QuantizeOp op) {
  LayoutAttr layout = getLayout(op.getScale().getType());
  return layout ? llvm::to_string(layout) : "linear";
}

static SmallVector<Setting> getSettings(QuantizeOp op) {
  auto printIf = [](bool has, const Twine &text) {
    return has ? text.str() : std::string("none");
  };
  return {{"transform", printTransform(op)},
          {"recipe", stringifyRecipe(op.getEffectiveRecipe()).str()},
          {"data", llvm::to_string(getElementTypeOrSelf(op.getData()))},
          {"block", "[" + std::to_string(op.getBlock()[0]) + ", " +
                        std::to_string(op.getBlock()[1]) + "]" +
                        (op.getTransposed() ? " transposed" : "")},
          {"scale_dim",
           printIf(op.getScaleDim().has_value(),
                   op.getScaleDim() ? stringifyScaleDim(*op.getScaleDim())
                                    : StringRef())},
          {"the layout of scales", printLayout(op)},
          {"block_amax", printIf(op.getBlockAmax() != nullptr, "one")},
          {"rng",
           printIf(op.getRng() != nullptr,
                   op.hasRandomPlace() ? "one that says where x lies" : "one")},
          {"offsets", printIf(op.getOffsets() != nullptr,
                              "group_dim " + Twine(op.getGroupDim()))}};
}

LogicalResult verifyGroups(ArrayRef<Operation *> ops) {
  for (Operation *op : ops)
    if (failed(verifyName(op)))
      return failure();
  for (const auto &[key, members] : findGroups(ops)) {
    SmallVector<Setting> expected = getSettings(members.front());
    for (auto [number, member] : llvm::enumerate(members)) {
      QuantizeOp op = member;
      for (auto [first, mine] : llvm::zip_equal(expected, getSettings(op)))
        if (first.value != mine.value)
          return op.emitOpError("expected members of group ")
                 << key.first << " to agree in " << mine.name
                 << ", but number 0 has " << first.value << " and number "
                 << number << " has " << mine.value;
    }
  }
  return success();
}

} // namespace blockscale
