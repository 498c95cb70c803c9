//===- Verification.cpp - Checks that several ops share -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verification.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace blockscale::verification {

std::string formatShape(ArrayRef<int64_t> shape) {
  if (shape.empty())
    return "rank 0";
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(
      shape, os,
      [&](int64_t size) {
        if (ShapedType::isDynamic(size))
          os << '?';
        else
          os << size;
      },
      "x");
  return text;
}

LogicalResult verifyPlainMatrix(Operation *op, StringRef name,
                                RankedTensorType type) {
  if (type.getRank() < 2)
    return op->emitOpError()
           << "expected " << name << " to have rank 2 or more, but got rank "
           << type.getRank();
  if (type.getEncoding())
    return op->emitOpError()
           << "expected " << name << " to have no encoding, but got "
           << type.getEncoding();
  return success();
}

LogicalResult verifyShape(Operation *op, StringRef name,
                          ArrayRef<int64_t> expected, ArrayRef<int64_t> found) {
  if (expected.size() == found.size() &&
      llvm::all_of_zip(expected, found, [](int64_t e, int64_t f) {
        return ShapedType::isDynamic(e) || ShapedType::isDynamic(f) || e == f;
      }))
    return success();
  return op->emitOpError() << "expected " << name << " to have shape "
                           << formatShape(expected) << ", but got "
                           << formatShape(found);
}

LogicalResult verifyFormat(Operation *op, ArrayRef<int64_t> block,
                           Type dataElement, Type scaleElement) {
  bool isNvfp4 = isNvfp4ScaleType(scaleElement);
  int64_t expected = getFormatBlockSize(scaleElement);
  if (block.size() != 2 || block[0] != 1 || block[1] != expected) {
    InFlightDiagnostic diag = op->emitOpError()
                              << "expected block [1, " << expected << "] with "
                              << scaleElement << " scales, but got [";
    llvm::interleaveComma(block, diag);
    return diag << "]";
  }
  if (isNvfp4 && !isa<Float4E2M1FNType>(dataElement))
    return op->emitOpError()
           << "expected f4E2M1FN data with f8E4M3FN scales (NVFP4), but got "
           << dataElement;
  return success();
}

LogicalResult verifyRecipe(Operation *op, Recipe recipe, bool isNvfp4) {
  if (isNvfp4Recipe(recipe) == isNvfp4)
    return success();
  return op->emitOpError() << "expected "
                           << (isNvfp4 ? "an NVFP4 recipe (torchao, mslk, te, "
                                         "modelopt) with f8E4M3FN scales"
                                       : "an MX recipe (floor, rceil, "
                                         "rceil_sat, ceil, even) with "
                                         "f8E8M0FNU scales")
                           << ", but got " << stringifyRecipe(recipe);
}

LogicalResult verifyBlockMultiple(Operation *op, StringRef name, int64_t size,
                                  int64_t block) {
  if (ShapedType::isDynamic(size) || size % block == 0)
    return success();
  return op->emitOpError() << "expected the last dimension of " << name
                           << " to be a multiple of " << block << ", but got "
                           << size;
}

LogicalResult verifyScaleLayout(Operation *op, StringRef name,
                                RankedTensorType type, int64_t groups,
                                int64_t groupedDim) {
  if (!type.getEncoding())
    return success();
  LayoutAttr layout = getLayout(type);
  if (!layout)
    return op->emitOpError()
           << "expected " << name
           << " to be linear or have a blockscale layout, but got "
           << type.getEncoding();
  if (!layout.isGrouped())
    return success();
  if (groups == 0)
    return op->emitOpError()
           << "expected " << name << " to have no grouped layout, but got "
           << layout;
  bool sameGroups =
      ShapedType::isDynamic(groups) || layout.getGroups() == groups;
  if (sameGroups && layout.getDim() == groupedDim)
    return success();
  return op->emitOpError() << "expected a grouped layout of " << name
                           << " to have one group an offset along dim = "
                           << groupedDim << ", but got " << layout;
}

LogicalResult verifyGlobalOperand(Operation *op, StringRef name, Value operand,
                                  bool isNvfp4, ArrayRef<int64_t> perElement) {
  if (!operand)
    return success();
  if (!isNvfp4)
    return op->emitOpError() << "expected " << name
                             << " only with f8E4M3FN scales (NVFP4), but the "
                                "scales are f8E8M0FNU";
  auto type = dyn_cast<RankedTensorType>(operand.getType());
  if (!type || type.getRank() == 0)
    return success();
  if (!perElement.empty())
    return verifyShape(op, name, perElement, type.getShape());
  return op->emitOpError() << "expected " << name
                           << " to be a scalar or have rank 0, but got shape "
                           << formatShape(type.getShape());
}

} // namespace blockscale::verification
