//===- BelongingRules.cpp - Operands of one quantization ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Only what is surely wrong is an error. An argument of the function may have
// any number, an op of another dialect may compute any, and a global scale may
// be multiplied at another place than the operand that is there for it.
//
//===----------------------------------------------------------------------===//

#include "BelongingRules.h"
#include "Origins.h"
#include "blockscale/IR/BlockScaleDialect.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Transforms/SameValues.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace blockscale;

//===----------------------------------------------------------------------===//
// Quantizers
//===----------------------------------------------------------------------===//

namespace {

/// The ops that made the parts of data or scales; none where another op made a
/// part.
struct PartQuantizers {
  SmallVector<QuantizeOp> ops;
  /// Whether the parts are in the order of their places.
  bool isOrdered = true;
};

} // namespace

/// Parts of one tensor that are compared, at most.
static constexpr size_t kMostParts = 64;

/// Adds the quantizers of the parts of `value`. Fails where one is unknown.
static LogicalResult addQuantizers(Value value, PartQuantizers &found) {
  Operation *op = skipMoves(value).getDefiningOp();
  if (!op || found.ops.size() >= kMostParts)
    return failure();
  if (auto quantize = dyn_cast<QuantizeOp>(op)) {
    found.ops.push_back(quantize);
    return success();
  }
  if (auto concat = dyn_cast<tensor::ConcatOp>(op)) {
    for (Value part : concat.getInputs())
      if (failed(addQuantizers(part, found)))
        return failure();
    return success();
  }
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op)) {
    found.isOrdered = false;
    if (failed(addQuantizers(insert.getDest(), found)))
      return failure();
    return addQuantizers(insert.getSource(), found);
  }
  return success(isa<tensor::EmptyOp>(op));
}

static PartQuantizers getQuantizers(Value value) {
  PartQuantizers found;
  if (!value || failed(addQuantizers(value, found)))
    return {};
  return found;
}

/// The quantizer of all of `data`, where it is one.
static QuantizeOp getOneQuantizer(Value data) {
  PartQuantizers found = getQuantizers(data);
  return found.ops.size() == 1 ? found.ops.front() : QuantizeOp();
}

//===----------------------------------------------------------------------===//
// Global scales
//===----------------------------------------------------------------------===//

/// The tensor whose amax a value is, before all that moved it, or the value.
static Value getMeasuredTensor(Value amax) {
  auto op = amax.getDefiningOp<AmaxOp>();
  return op ? skipMoves(op.getX()) : amax;
}

namespace {

/// What a global operand is.
struct GlobalOrigin {
  /// Nothing and a constant 1.0 are the same.
  bool isOne() const { return !scale && !amax; }
  /// The operand that says it.
  Value getValue() const { return scale ? scale : amax; }
  /// Whether the two are one, or parts of one, which are not told apart.
  bool isSame(const GlobalOrigin &other) const {
    if (isOne() || other.isOne())
      return isOne() && other.isOne();
    if (amax && other.amax)
      return areSame(getMeasuredTensor(amax), getMeasuredTensor(other.amax));
    if (!scale || !other.scale)
      return false;
    std::optional<double> number = findNumber(scale);
    return areSame(scale, other.scale) ||
           (number && number == findNumber(other.scale)) ||
           skipMoves(scale) == skipMoves(other.scale);
  }

  /// The decode scale, unless only the amax is given.
  Value scale;
  /// The amax that it comes from, if that is known.
  Value amax;
};

} // namespace

static GlobalOrigin readGlobalScale(Value scale) {
  if (!scale || findNumber(scale) == 1.0)
    return {};
  auto made = skipMoves(scale).getDefiningOp<GlobalScaleOp>();
  return {scale, made ? skipMoves(made.getAmax()) : Value()};
}

static GlobalOrigin readGlobalOperand(const GlobalOperand &operand) {
  if (numerics::isAmax(operand.kind))
    return {Value(), skipMoves(operand.value)};
  return readGlobalScale(operand.value);
}

/// Whether a value is one or a few numbers, as global scales are, and no
/// tensor that is quantized.
static bool isOfFewNumbers(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getRank() < 2 : value.getType().isIntOrFloat();
}

/// The values that a global scale is computed from, and itself: for each of
/// them, ops that compute with it may apply the scale.
static SetVector<Value> getSources(const GlobalOrigin &global) {
  SetVector<Value> sources;
  for (Value value : {global.scale, global.amax})
    if (value)
      sources.insert(value);
  for (size_t i = 0; i < sources.size(); ++i) {
    Operation *op = sources[i].getDefiningOp();
    if (!op || isa<AmaxOp>(op))
      continue;
    for (Value operand : op->getOperands())
      if (isOfFewNumbers(operand) && !operand.getDefiningOp<tensor::EmptyOp>())
        sources.insert(operand);
  }
  return sources;
}

/// Whether one of the sources is computed from a tensor in this function.
static bool isComputedHere(const SetVector<Value> &sources) {
  return llvm::any_of(sources, [](Value source) {
    Operation *op = source.getDefiningOp();
    return op && !llvm::all_of(op->getOperands(), isOfFewNumbers);
  });
}

/// Whether computing `value` takes one of the sources that is no constant.
static bool comesFrom(Value value, const SetVector<Value> &sources) {
  SetVector<Value> needed;
  needed.insert(value);
  for (size_t i = 0; i < needed.size(); ++i) {
    if (sources.contains(needed[i]) && !findNumber(needed[i]))
      return true;
    if (Operation *op = needed[i].getDefiningOp())
      for (Value operand : op->getOperands())
        if (isOfFewNumbers(operand))
          needed.insert(operand);
  }
  return false;
}

/// Whether something other than quantizers and products reads one of the
/// sources: it may multiply results by the global scale, or, where it returns
/// it, the caller may.
static bool isUsedOtherwise(const SetVector<Value> &sources,
                            bool productsCount) {
  SetVector<Value> derived;
  for (Value source : sources)
    if (!findNumber(source))
      derived.insert(source);
  for (size_t i = 0; i < derived.size(); ++i)
    for (Operation *user : derived[i].getUsers()) {
      if (isa<QuantizeOp, ScaleSweepOp, tensor::DimOp>(user) ||
          (!productsCount && isa<ProductOpInterface, DequantizeOp>(user)))
        continue;
      bool isMade = user->getNumResults() == 1 &&
                    (isa<GlobalScaleOp>(user) || getMoved(user->getResult(0)) ||
                     sources.contains(user->getResult(0)));
      if (!isMade)
        return true;
      derived.insert(user->getResult(0));
    }
  return false;
}

/// Whether an op computes with `value`, and does not only move or return it.
static bool isComputedWith(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    if (isa<func::ReturnOp, tensor::DimOp>(user))
      return false;
    if (user->getNumResults() == 1 && getMoved(user->getResult(0)))
      return isComputedWith(user->getResult(0));
    return true;
  });
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

namespace {

/// An operand of a product, or what `dequantize` decodes.
struct ReadOperand {
  /// Names in diagnostics.
  StringRef dataName, scaleName, globalName;
  Value data, scale;
  GlobalOperand global;
};

} // namespace

static void attachQuantizer(InFlightDiagnostic &diag, QuantizeOp quantize,
                            const ReadOperand &operand) {
  diag.attachNote(quantize.getLoc())
      << operand.dataName
      << " was quantized here; 'unchecked_origins' accepts what is not of it";
}

/// What is different about the scales of `found` from those of `data`, if they
/// surely are others.
static std::optional<StringRef> findDifference(QuantizeOp data,
                                               QuantizeOp found) {
  if (data == found)
    return std::nullopt;
  Value x = data.getX(), other = found.getX();
  if (!areSame(x, other)) {
    // Parts of one tensor may be the same part.
    if (areSame(skipMoves(x), skipMoves(other)))
      return std::nullopt;
    return "those of another tensor";
  }
  if (data.getBlock() != found.getBlock())
    return "those of other blocks";
  if (data.getData().getType().getElementType() !=
      found.getData().getType().getElementType())
    return "those of another format";
  if (data.getArithmetic() != found.getArithmetic())
    return "those of another recipe";
  GlobalOrigin global = readGlobalOperand(data.getGlobalOperand());
  if (!global.isSame(readGlobalOperand(found.getGlobalOperand())))
    return "those under another global scale";
  Value ends = data.getOffsets(), otherEnds = found.getOffsets();
  if (ends && otherEnds && !areSame(ends, otherEnds))
    return "those of other groups";
  Value amax = data.getBlockAmax(), otherAmax = found.getBlockAmax();
  if (static_cast<bool>(amax) != static_cast<bool>(otherAmax) ||
      (amax && !areSame(amax, otherAmax)))
    return "those of other block amaxes";
  return std::nullopt;
}

static LogicalResult verifyOwnScales(Operation *op,
                                     const ReadOperand &operand) {
  PartQuantizers data = getQuantizers(operand.data);
  PartQuantizers scale = getQuantizers(operand.scale);
  if (data.ops.empty() || scale.ops.empty())
    return success();
  bool isPaired =
      data.isOrdered && scale.isOrdered && data.ops.size() == scale.ops.size();
  for (auto [i, found] : llvm::enumerate(scale.ops)) {
    ArrayRef<QuantizeOp> candidates = data.ops;
    if (isPaired)
      candidates = candidates.slice(i, 1);
    std::optional<StringRef> difference;
    for (QuantizeOp candidate : candidates) {
      difference = findDifference(candidate, found);
      if (!difference)
        break;
    }
    if (!difference)
      continue;
    InFlightDiagnostic diag = op->emitOpError()
                              << "expected " << operand.scaleName
                              << " to be the scales that " << operand.dataName
                              << " was quantized with, but got " << *difference;
    attachQuantizer(diag, candidates.front(), operand);
    diag.attachNote(QuantizeOp(found).getLoc())
        << operand.scaleName << " was made here";
    return diag;
  }
  return success();
}

namespace {

/// The global scale of an operand: what it was quantized with, and what the op
/// takes for it.
struct GlobalPair {
  GlobalPair(const ReadOperand &operand)
      : quantize(getOneQuantizer(operand.data)),
        found(readGlobalOperand(operand.global)) {
    if (quantize)
      wanted = readGlobalOperand(quantize.getGlobalOperand());
  }

  /// Whether the op takes the one that it should.
  bool isRight() const { return quantize && wanted.isSame(found); }
  /// Whether it takes that of the tensor of `other`.
  bool isThatOf(const GlobalPair &other) const {
    return other.quantize && !found.isOne() && found.isSame(other.wanted) &&
           !found.isSame(wanted);
  }

  QuantizeOp quantize;
  GlobalOrigin wanted, found;
};

} // namespace

/// The number that a global scale is, 1.0 where it is absent; nothing where it
/// is no constant.
static std::optional<float> getNumber(const GlobalOrigin &global) {
  if (global.isOne())
    return 1.0f;
  std::optional<double> number;
  if (global.scale)
    number = findNumber(global.scale);
  return number ? std::optional(static_cast<float>(*number)) : std::nullopt;
}

/// Whether constants multiply to the number that they should, as after a fold
/// of two into one.
static bool areFolded(const GlobalPair &own, const GlobalPair &other) {
  std::optional<float> numbers[] = {
      getNumber(own.wanted), getNumber(other.wanted), getNumber(own.found),
      getNumber(other.found)};
  return other.quantize && !llvm::is_contained(numbers, std::nullopt) &&
         *numbers[0] * *numbers[1] == *numbers[2] * *numbers[3];
}

/// Whether the op's global scale comes from the amax of the tensor that is
/// quantized without one.
static bool isOwnAmax(const GlobalPair &pair) {
  if (!pair.found.amax)
    return false;
  auto amax = pair.found.amax.getDefiningOp<AmaxOp>();
  return amax && areSame(amax.getX(), QuantizeOp(pair.quantize).getX());
}

/// What is wrong with the global scale of an operand, if something surely is.
/// `other` is that of the other operand of a product.
static std::optional<std::string> findGlobalFault(const GlobalPair &own,
                                                  const GlobalPair *other,
                                                  Operation *op,
                                                  StringRef otherName) {
  if (!own.quantize || own.isRight() || (other && areFolded(own, *other)))
    return std::nullopt;
  bool isOthers = other && own.isThatOf(*other);
  if (own.wanted.isOne()) {
    // A product multiplies by both, so that one may stand for the other.
    if (isOthers && other->found.isOne())
      return std::nullopt;
    if (isOthers)
      return ("that of " + otherName).str();
    return isOwnAmax(own) ? std::optional<std::string>("one of its amax")
                          : std::nullopt;
  }
  SetVector<Value> sources = getSources(own.wanted);
  if (!own.found.isOne()) {
    if (comesFrom(own.found.getValue(), sources))
      return std::nullopt;
    if (isOthers)
      return ("that of " + otherName).str();
    if (own.wanted.amax && own.found.amax)
      return "one of another amax";
    return std::nullopt;
  }
  // The other one may stand for both, unless it is known, or comes from outside
  // where this one is computed here.
  if (other && !other->found.isOne() && !other->isRight() &&
      (!isComputedHere(sources) || comesFrom(other->found.getValue(), sources)))
    return std::nullopt;
  if (isUsedOtherwise(sources, /*productsCount=*/!other))
    return std::nullopt;
  // Any number may be the product of a constant one and others.
  if (own.wanted.scale && findNumber(own.wanted.scale) &&
      isComputedWith(op->getResult(0)))
    return std::nullopt;
  return "none";
}

static LogicalResult verifyOwnGlobal(Operation *op, const ReadOperand &operand,
                                     const GlobalPair &own,
                                     const GlobalPair *other = nullptr,
                                     StringRef otherName = "") {
  std::optional<std::string> fault = findGlobalFault(own, other, op, otherName);
  if (!fault)
    return success();
  InFlightDiagnostic diag = op->emitOpError() << "expected ";
  if (own.wanted.isOne())
    diag << "no " << operand.globalName << " beside " << operand.dataName
         << ", which was quantized without a global scale";
  else
    diag << operand.globalName << " to be the global scale that "
         << operand.dataName << " was quantized with";
  diag << ", but got " << *fault;
  attachQuantizer(diag, own.quantize, operand);
  return diag;
}

static LogicalResult verifyOwnOperands(ProductOpInterface op) {
  if (op.getUncheckedOrigins())
    return success();
  ReadOperand a{"a",       "scale_a",      "global_scale_a",
                op.getA(), op.getScaleA(), op.getGlobalOperandA()};
  ReadOperand b{"b",       "scale_b",      "global_scale_b",
                op.getB(), op.getScaleB(), op.getGlobalOperandB()};
  if (failed(verifyOwnScales(op, a)) || failed(verifyOwnScales(op, b)))
    return failure();
  GlobalPair globalA(a), globalB(b);
  if (failed(verifyOwnGlobal(op, a, globalA, &globalB, "b")))
    return failure();
  return verifyOwnGlobal(op, b, globalB, &globalA, "a");
}

static LogicalResult verifyOwnCodes(DequantizeOp op) {
  if (op.getUncheckedOrigins())
    return success();
  ReadOperand operand{"data",
                      "scale",
                      op.getGlobalAmax() ? StringRef("global_amax")
                                         : StringRef("global_scale"),
                      op.getData(),
                      op.getScale(),
                      op.getGlobalOperand()};
  if (failed(verifyOwnScales(op, operand)))
    return failure();
  return verifyOwnGlobal(op, operand, GlobalPair(operand));
}

UnitAttr blockscale::getRaisedOrigins(Builder &builder, Value data) {
  return getQuantizers(data).ops.empty() ? UnitAttr() : builder.getUnitAttr();
}

LogicalResult blockscale::verifyBelonging(Operation *op) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<ProductOpInterface>(verifyOwnOperands)
      .Case<DequantizeOp>(verifyOwnCodes)
      .Default([](Operation *) { return success(); });
}
