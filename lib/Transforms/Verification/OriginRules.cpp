//===- OriginRules.cpp - Operands that belong together --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OriginRules.h"
#include "Origins.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Transforms/SameValues.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace blockscale;

//===----------------------------------------------------------------------===//
// A transformed tensor
//===----------------------------------------------------------------------===//

/// The tensor whose amax a global operand is, or comes from.
static Value getAmaxSource(Value global) {
  if (auto scale = getOrigin<GlobalScaleOp>(global))
    global = scale.getAmax();
  auto amax = getAmaxOrigin(global);
  return amax ? skipCasts(amax.getX()) : Value();
}

namespace {

/// A tensor that is transformed any number of times, last transform first.
struct Transformed {
  Value root;
  SmallVector<HadamardOp> transforms;
};

} // namespace

static Transformed getTransformed(Value value) {
  Transformed found{skipCasts(value), {}};
  while (auto hadamard = found.root.getDefiningOp<HadamardOp>()) {
    found.transforms.push_back(hadamard);
    found.root = skipCasts(hadamard.getX());
  }
  return found;
}

static bool areEqual(HadamardOp a, HadamardOp b) {
  return a.getDim() == b.getDim() && a.getSignMask() == b.getSignMask();
}

template <typename OpTy>
static LogicalResult verifyAmaxOfX(OpTy op, StringRef name, Value global) {
  Value source = getAmaxSource(global);
  if (!source)
    return success();
  Transformed x = getTransformed(op.getX());
  Transformed found = getTransformed(source);
  if (x.root != found.root ||
      llvm::equal(x.transforms, found.transforms, areEqual))
    return success();
  InFlightDiagnostic diag = op.emitOpError() << "expected " << name
                                             << " to come from the amax of ";
  if (found.transforms.empty())
    diag << "the transformed tensor, but got that of the tensor before "
            "'blockscale.hadamard'";
  else if (x.transforms.empty())
    diag << "x, but got that of its transform";
  else
    diag << "x, but got that of another transform of the same tensor";
  HadamardOp transform = (x.transforms.empty() ? found : x).transforms.front();
  diag.attachNote(transform.getLoc()) << "transformed here";
  return diag;
}

static LogicalResult verifyQuantizeOrigins(QuantizeOp op) {
  auto hadamard = getOrigin<HadamardOp>(op.getX());
  Recipe recipe = op.getEffectiveRecipe();
  bool isFourOverSixRecipe = isFourOverSix(recipe);
  bool hasRowGlobals = op.getGlobalOperand().extent == GlobalExtent::Row;
  if (hadamard && (hasRowGlobals || isFourOverSixRecipe)) {
    InFlightDiagnostic diag = op.emitOpError()
                              << "expected x not to be transformed with ";
    if (isFourOverSixRecipe)
      diag << "recipe " << stringifyRecipe(recipe);
    else
      diag << "a global value a row";
    diag << ", but got the result of 'blockscale.hadamard'";
    diag.attachNote(hadamard.getLoc()) << "transformed here";
    return diag;
  }
  if (failed(verifyAmaxOfX(op, "global_scale", op.getGlobalScale())))
    return failure();
  return verifyAmaxOfX(op, "global_amax", op.getGlobalAmax());
}

//===----------------------------------------------------------------------===//
// Scales of other rows
//===----------------------------------------------------------------------===//

namespace {

/// What the rows of data or scales are: a dimension of a quantized matrix.
struct RowOrigin {
  Value x;
  unsigned dim;
};

} // namespace

static std::optional<RowOrigin> getDataOrigin(Value data) {
  // A layout keeps the logical rows.
  while (auto prepack = getOrigin<PrepackOp>(data))
    data = prepack.getSource();
  auto quantize = getOrigin<QuantizeOp>(data);
  if (!quantize)
    return std::nullopt;
  return RowOrigin{skipCasts(quantize.getX()),
                   quantize.getTransposed() ? 1U : 0U};
}

static std::optional<RowOrigin> getScaleOrigin(Value scale) {
  // A layout keeps the logical rows.
  while (auto swizzle = getOrigin<SwizzleOp>(scale))
    scale = swizzle.getSource();
  if (auto quantize = getOrigin<QuantizeOp>(scale))
    return RowOrigin{skipCasts(quantize.getX()),
                     quantize.getScaleForm()[0].dim};
  auto expand = getOrigin<ExpandScaleOp>(scale);
  if (!expand)
    return std::nullopt;
  std::optional<RowOrigin> origin = getScaleOrigin(expand.getSource());
  if (origin && expand.getScaleDim() == ScaleDim::N)
    origin->dim = 1 - origin->dim;
  return origin;
}

static LogicalResult verifyRows(Operation *op, StringRef dataName, Value data,
                                StringRef scaleName, Value scale) {
  std::optional<RowOrigin> rows = getDataOrigin(data);
  std::optional<RowOrigin> found = getScaleOrigin(scale);
  if (!rows || !found || rows->x != found->x || rows->dim == found->dim)
    return success();
  InFlightDiagnostic diag = op->emitOpError()
                            << "expected the rows of " << scaleName
                            << " to be those of " << dataName << ", dimension "
                            << rows->dim
                            << " of the quantized matrix, but got dimension "
                            << found->dim
                            << " (scale_dim goes with transposed: k without, n "
                               "with)";
  diag.attachNote(rows->x.getLoc()) << "the quantized tensor";
  return diag;
}

//===----------------------------------------------------------------------===//
// Scales of other groups
//===----------------------------------------------------------------------===//

/// The offsets that a grouped layout of `scale` was made with.
static Value getLayoutOffsets(Value scale) {
  if (!getGroupedLayout(scale.getType()))
    return {};
  if (auto swizzle = getOrigin<SwizzleOp>(scale))
    return swizzle.getOffsets();
  if (auto quantize = getOrigin<QuantizeOp>(scale))
    return quantize.getOffsets();
  return {};
}

static LogicalResult verifySameGroups(Operation *op, StringRef name,
                                      Value scale, Value offsets) {
  Value made = getLayoutOffsets(scale);
  if (!made || !offsets || areSame(made, offsets))
    return success();
  InFlightDiagnostic diag =
      op->emitOpError() << "expected offsets to be those that the layout of "
                        << name << " was made with, but got other ones";
  diag.attachNote(skipCasts(scale).getLoc()) << "the layout was made here";
  return diag;
}

static LogicalResult verifyGroupedMatmulOrigins(ScaledGroupedMMOp op) {
  for (auto [name, scale] : {std::pair("scale_a", Value(op.getScaleA())),
                             std::pair("scale_b", Value(op.getScaleB()))})
    if (scale && failed(verifySameGroups(op, name, scale, op.getOffsets())))
      return failure();
  return success();
}

template <typename OpTy>
static LogicalResult verifyMatmulOrigins(OpTy op) {
  if (op.getScaleA() &&
      failed(verifyRows(op, "a", op.getA(), "scale_a", op.getScaleA())))
    return failure();
  if (!op.getScaleB())
    return success();
  return verifyRows(op, "b", op.getB(), "scale_b", op.getScaleB());
}

static LogicalResult verifyDequantizeOrigins(DequantizeOp op) {
  return verifyRows(op, "data", op.getData(), "scale", op.getScale());
}

LogicalResult blockscale::verifyOrigins(Operation *op) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<QuantizeOp>(verifyQuantizeOrigins)
      .Case<ScaleSweepOp>([](ScaleSweepOp op) {
        return verifyAmaxOfX(op, "global_amax", op.getGlobalAmax());
      })
      .Case<DequantizeOp>(verifyDequantizeOrigins)
      .Case<ScaledMMOp>(verifyMatmulOrigins<ScaledMMOp>)
      .Case<ScaledGroupedMMOp>([](ScaledGroupedMMOp op) {
        return failed(verifyMatmulOrigins(op)) ? failure()
                                               : verifyGroupedMatmulOrigins(op);
      })
      .Case<SwizzleOp>([](SwizzleOp op) {
        return verifySameGroups(op, "source", op.getSource(), op.getOffsets());
      })
      .Default([](Operation *) { return success(); });
}
