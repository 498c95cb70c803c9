//===- Verification.cpp - Checks that several ops share -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verification.h"
#include "blockscale/Numerics/BlockFormat.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ScopedPrinter.h"
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
  return op->emitOpError() << "expected " << name << " to have "
                           << (expected.empty() ? "" : "shape ")
                           << formatShape(expected) << ", but got "
                           << formatShape(found);
}

LogicalResult verifyShapeAmong(Operation *op, StringRef name,
                               ArrayRef<int64_t> found,
                               ArrayRef<SmallVector<int64_t>> shapes,
                               StringRef alternative) {
  if (found.empty())
    return success();
  for (ArrayRef<int64_t> shape : shapes)
    if (shape.size() == found.size())
      return verifyShape(op, name, shape, found);
  InFlightDiagnostic diag = op->emitOpError()
                            << "expected " << name << " to " << alternative;
  for (ArrayRef<int64_t> shape : shapes)
    diag << "have shape " << formatShape(shape) << ", ";
  return diag << "or have rank 0, but got shape " << formatShape(found);
}

static void printBlock(InFlightDiagnostic &diag, ArrayRef<int64_t> block) {
  diag << "[";
  llvm::interleaveComma(block, diag);
  diag << "]";
}

static LogicalResult
verifyElementsAndBlock(Operation *op, ArrayRef<int64_t> block, Type dataElement,
                       Type scaleElement,
                       ArrayRef<std::array<int64_t, 2>> legal) {
  if (!llvm::is_contained(
          llvm::map_range(legal,
                          [](const std::array<int64_t, 2> &shape) {
                            return ArrayRef<int64_t>(shape);
                          }),
          block)) {
    InFlightDiagnostic diag = op->emitOpError() << "expected block ";
    for (auto [i, shape] : llvm::enumerate(legal)) {
      diag << (i == 0 ? "" : i + 1 == legal.size() ? " or " : ", ");
      printBlock(diag, shape);
    }
    diag << " with " << scaleElement << " scales, but got ";
    printBlock(diag, block);
    return diag;
  }
  if (!numerics::findBlockFormat(getElementFormat(dataElement),
                                 getScaleFormat(scaleElement)))
    return op->emitOpError()
           << "expected f4E2M1FN data with f8E4M3FN scales (NVFP4), but got "
           << dataElement;
  return success();
}

LogicalResult verifyFormat(Operation *op, ArrayRef<int64_t> block,
                           Type dataElement, Type scaleElement) {
  int64_t size = getFormatBlockSize(scaleElement);
  return verifyElementsAndBlock(op, block, dataElement, scaleElement,
                                {{1, size}, {size, 1}, {size, size}});
}

LogicalResult verifyRowFormat(Operation *op, ArrayRef<int64_t> block,
                              Type dataElement, Type scaleElement) {
  return verifyElementsAndBlock(op, block, dataElement, scaleElement,
                                {{1, getFormatBlockSize(scaleElement)}});
}

LogicalResult verifyRecipe(Operation *op, Recipe recipe, Type scaleElement) {
  numerics::ScaleFormat scale = getScaleFormat(scaleElement);
  if (numerics::isDefinedFor(getNumerics(recipe), scale))
    return success();
  SmallVector<StringRef> names;
  for (numerics::Recipe each : numerics::kRecipes)
    if (numerics::isDefinedFor(each, scale))
      names.push_back(numerics::getName(each));
  return op->emitOpError() << "expected "
                           << (isNvfp4ScaleType(scaleElement)
                                   ? "an NVFP4 recipe ("
                                   : "an MX recipe (")
                           << llvm::join(names, ", ") << ") with "
                           << llvm::to_string(scaleElement)
                           << " scales, but got " << stringifyRecipe(recipe);
}

LogicalResult verifyRecipe(Operation *op, Recipe recipe, Type scaleElement,
                           Type dataElement) {
  if (failed(verifyRecipe(op, recipe, scaleElement)))
    return failure();
  numerics::Recipe named = getNumerics(recipe);
  numerics::ScaleFormat scale = getScaleFormat(scaleElement);
  if (numerics::isDefinedFor(named, scale, getElementFormat(dataElement)))
    return success();
  SmallVector<StringRef> names;
  for (numerics::ElementFormat each : numerics::kElementFormats)
    if (numerics::isDefinedFor(named, scale, each))
      names.push_back(numerics::getFormatInfo(each).name);
  return op->emitOpError() << "expected data of " << llvm::join(names, ", ")
                           << " with recipe " << stringifyRecipe(recipe)
                           << " and " << llvm::to_string(scaleElement)
                           << " scales, but got "
                           << llvm::to_string(dataElement);
}

LogicalResult verifyBlockMultiples(Operation *op, StringRef name,
                                   ArrayRef<int64_t> shape,
                                   ArrayRef<int64_t> block) {
  int64_t rows = shape.take_back(2).front();
  if (!ShapedType::isDynamic(rows) && rows % block[0] != 0)
    return op->emitOpError()
           << "expected the second-to-last dimension of " << name
           << " to be a multiple of " << block[0] << ", but got " << rows;
  return verifyBlockMultiple(op, name, shape.back(), block[1]);
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
                                RankedTensorType type,
                                std::optional<int64_t> groups,
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
  if (!groups)
    return op->emitOpError()
           << "expected " << name << " to have no grouped layout, but got "
           << layout;
  if (layout.mayHaveGroups(*groups) && layout.getDim() == groupedDim)
    return success();
  return op->emitOpError() << "expected a grouped layout of " << name
                           << " to have one group an offset along dim = "
                           << groupedDim << ", but got " << layout;
}

LogicalResult verifyGlobalOperand(Operation *op, StringRef name, Value operand,
                                  bool isNvfp4,
                                  ArrayRef<SmallVector<int64_t>> shapes) {
  if (!operand)
    return success();
  if (!isNvfp4)
    return op->emitOpError() << "expected " << name
                             << " only with f8E4M3FN scales (NVFP4), but the "
                                "scales are f8E8M0FNU";
  auto type = dyn_cast<RankedTensorType>(operand.getType());
  if (!type)
    return success();
  return verifyShapeAmong(op, name, type.getShape(), shapes, "be a scalar, ");
}

SmallVector<SmallVector<int64_t>> getGlobalShapes(ArrayRef<int64_t> shape) {
  SmallVector<SmallVector<int64_t>> shapes;
  if (shape.size() > 2)
    shapes.emplace_back(shape.drop_back(2));
  shapes.emplace_back(shape.drop_back());
  return shapes;
}

LogicalResult verifyGroupDim(Operation *op, int64_t groupDim, Value offsets) {
  if (groupDim == 0 || (groupDim == 1 && offsets))
    return success();
  return op->emitOpError() << "expected group_dim to be "
                           << (offsets ? "0 (rows) or 1 (columns)"
                                       : "0 without offsets")
                           << ", but got " << groupDim;
}

LogicalResult verifyGroupedMatrix(Operation *op, StringRef name,
                                  RankedTensorType type,
                                  RankedTensorType offsets) {
  if (type.getRank() != 2)
    return op->emitOpError()
           << "expected " << name
           << " to have rank 2 with offsets, but got rank " << type.getRank();
  if (offsets.getRank() == 1)
    return success();
  return op->emitOpError() << "expected offsets to have rank 1, but got rank "
                           << offsets.getRank();
}

} // namespace blockscale::verification
