//===- RaiseCasts.cpp - Casts of scaled elements --------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockShapes.h"
#include "FloatText.h"
#include "QuantizerPatterns.h"
#include "ScalarProgram.h"
#include "blockscale/Analysis/ElementwiseBody.h"
#include "blockscale/Analysis/Fusion/FusionLegality.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Numerics/BlockFormat.h"
#include "blockscale/Numerics/Quantize.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/ScopedPrinter.h"

#include <cmath>

using namespace mlir;

namespace blockscale {
namespace {

constexpr int64_t kBlock =
    numerics::getBlockFormat(numerics::ScaleFormat::E8M0).blockSize;

/// The MX recipes, in the order in which they are tried: `compressed_tensors`
/// is behind `even`, which has its bytes for E2M1 and keeps -0, as a cast does.
constexpr Recipe kMxRecipes[] = {Recipe::Rceil,
                                 Recipe::Floor,
                                 Recipe::Ceil,
                                 Recipe::Even,
                                 Recipe::Tosa,
                                 Recipe::RceilSat,
                                 Recipe::CompressedTensors};

/// A cast of scaled elements, and the nodes that matter.
struct Cast {
  /// The elements, and the maximum of their magnitudes over a block.
  unsigned x = 0, amax = 0;
  /// What is cast, and within it x times or over a factor.
  unsigned wide = 0;
  std::optional<unsigned> scaled;
  unsigned factor = 0;
  bool divides = false;
  Type data;

  Value getX(const ScalarProgram &program) const { return program[x].tensor; }
};

/// A tensor of one number for each block.
struct BlockTensor {
  Value tensor;
  unsigned node;
};

} // namespace

//===----------------------------------------------------------------------===//
// The nodes
//===----------------------------------------------------------------------===//

/// x of the maximum of |x|, or nullopt.
static std::optional<unsigned> findX(const ScalarProgram &program,
                                     unsigned amax) {
  unsigned node = program[amax].operands.front();
  bool isAbsolute = false;
  while (isa_and_present<arith::ExtFOp, math::AbsFOp>(program[node].op) &&
         program[node].kind == ScalarProgram::Kind::Operation) {
    isAbsolute |= isa<math::AbsFOp>(program[node].op);
    node = program[node].operands.front();
  }
  return isAbsolute ? std::optional(node) : std::nullopt;
}

/// quantizer_c1.
static std::optional<FusionObstacle>
findAmaxObstacle(const ScalarProgram &program, ArrayRef<unsigned> maxima) {
  if (maxima.size() != 1)
    return FusionObstacle{"quantizer_c1", "scales from one maximum",
                          llvm::formatv("{0}", maxima.size())};
  const ScalarProgram::Node &amax = program[maxima.front()];
  if (amax.repeats != kBlock || program[amax.operands[0]].repeats != 1)
    return FusionObstacle{
        "quantizer_c1", llvm::formatv("one maximum for {0} neighbours", kBlock),
        llvm::formatv("one for {0}", amax.repeats)};
  Value element;
  Operation *maximum = getMaximum(cast<linalg::LinalgOp>(amax.op),
                                  cast<OpResult>(amax.tensor), element);
  if (!isa<arith::MaximumFOp>(maximum))
    return FusionObstacle{"quantizer_c1",
                          "a maximum that keeps NaN, arith.maximumf",
                          maximum->getName().getStringRef().str()};
  auto first =
      dyn_cast_if_present<FloatAttr>(program[amax.operands[1]].constant);
  if (!first || first.getValue().isNaN() || first.getValueAsDouble() > 0)
    return FusionObstacle{"quantizer_c1",
                          "a maximum from a constant that is not above 0",
                          first ? llvm::to_string(first) : "another number"};
  auto x = findX(program, maxima.front());
  if (!x)
    return FusionObstacle{"quantizer_c1", "a maximum of math.absf",
                          "another one"};
  if (!program[*x].tensor)
    return FusionObstacle{"quantizer_c1", "a maximum of a tensor's elements",
                          "one of what a body computes"};
  return std::nullopt;
}

/// What `findScaled` found of nodes. A node may have many users.
using ScaledNodes = llvm::DenseMap<unsigned, std::optional<unsigned>>;

static std::optional<unsigned> findScaled(const ScalarProgram &program,
                                          unsigned node, unsigned x,
                                          ScaledNodes &known);

/// `findScaled` of a node that is not known.
static std::optional<unsigned> computeScaled(const ScalarProgram &program,
                                             unsigned node, unsigned x,
                                             ScaledNodes &known) {
  const ScalarProgram::Node &found = program[node];
  if (found.kind != ScalarProgram::Kind::Operation)
    return std::nullopt;
  if (isa<arith::MulFOp, arith::DivFOp>(found.op)) {
    for (unsigned side : {0u, 1u})
      if (program.withoutExtension(found.operands[side]) == x &&
          !program.needs(found.operands[1 - side], x) &&
          (side == 0 || isa<arith::MulFOp>(found.op)))
        return node;
    return std::nullopt;
  }
  std::optional<unsigned> scaled;
  for (unsigned operand : found.operands) {
    if (!program.needs(operand, x))
      continue;
    auto each = findScaled(program, operand, x, known);
    if (!each || (scaled && scaled != each))
      return std::nullopt;
    scaled = each;
  }
  return scaled;
}

/// The product of x and a factor, or the quotient, that `node` needs and that
/// is all that it needs of x.
static std::optional<unsigned> findScaled(const ScalarProgram &program,
                                          unsigned node, unsigned x,
                                          ScaledNodes &known) {
  auto found = known.find(node);
  if (found != known.end())
    return found->second;
  std::optional<unsigned> scaled = computeScaled(program, node, x, known);
  known[node] = scaled;
  return scaled;
}

/// quantizer_c4, of the form of what is cast.
static std::optional<FusionObstacle>
findScaledObstacle(const ScalarProgram &program, unsigned root, Cast &cast) {
  const ScalarProgram::Node &found = program[root];
  cast.wide = found.operands.front();
  if (auto scaling = dyn_cast<arith::ScalingTruncFOp>(found.op)) {
    if (!isNearest(scaling.getRoundingmode()))
      return FusionObstacle{"quantizer_c4", "rounding to nearest even",
                            "another rounding mode"};
    if (program.withoutExtension(cast.wide) != cast.x)
      return FusionObstacle{"quantizer_c4", "the x of the maximum",
                            "another number"};
    if (program[cast.wide].type.isF16())
      return FusionObstacle{"quantizer_c4",
                            "elements of bf16 or f32, as a scale overflows f16",
                            "f16"};
    cast.factor = found.operands[1];
    cast.divides = true;
    return std::nullopt;
  }
  if (!isNearest(::llvm::cast<arith::TruncFOp>(found.op).getRoundingmode()))
    return FusionObstacle{"quantizer_c4", "rounding to nearest even",
                          "another rounding mode"};
  ScaledNodes known;
  cast.scaled = findScaled(program, cast.wide, cast.x, known);
  if (!cast.scaled)
    return FusionObstacle{"quantizer_c4", "x times or over a factor",
                          "another function of x"};
  const ScalarProgram::Node &scaled = program[*cast.scaled];
  cast.divides = isa<arith::DivFOp>(scaled.op);
  bool isFirst = program.withoutExtension(scaled.operands[0]) == cast.x;
  cast.factor = scaled.operands[isFirst ? 1 : 0];
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Saturation
//===----------------------------------------------------------------------===//

/// Whether `node` is put together of `leaf` and constants by ops that choose
/// one of their operands. Its constants are added to `constants`. Nodes of
/// `seen` are not looked at again.
static bool choosesOnly(const ScalarProgram &program, unsigned node,
                        unsigned leaf, llvm::SmallDenseSet<unsigned> &seen,
                        SmallVectorImpl<float> &constants) {
  if (node == leaf || !seen.insert(node).second)
    return true;
  const ScalarProgram::Node &found = program[node];
  if (found.kind == ScalarProgram::Kind::Constant) {
    auto number = dyn_cast<FloatAttr>(found.constant);
    if (number)
      constants.push_back(number.getValueAsDouble());
    return number != nullptr;
  }
  return found.kind == ScalarProgram::Kind::Operation &&
         isa<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
             arith::MinNumFOp, arith::SelectOp, arith::CmpFOp>(found.op) &&
         llvm::all_of(found.operands, [&](unsigned operand) {
           return choosesOnly(program, operand, leaf, seen, constants);
         });
}

/// Whether an element and one that was chosen for it have the same code, though
/// a cast of larger ones gives infinity or NaN and `quantize` does not.
static bool haveSameCode(Type data, float y, float chosen) {
  numerics::ElementFormat format = getElementFormat(data);
  return !std::isnan(chosen) &&
         numerics::encode(format, chosen, numerics::Overflow::Propagate) ==
             numerics::encode(format, y);
}

/// Whether what is cast has the code of the scaled element for each number that
/// is not NaN, up to `limit`. Between two constants a choice of them and of the
/// number is one of them or the number, which two numbers tell.
static bool hasCodesOf(const ScalarProgram &program, const Cast &cast,
                       ArrayRef<float> constants, float limit) {
  auto choose = [&](float y) -> float {
    Operation *failed = nullptr;
    auto number = program.evaluate(
        cast.wide, {{*cast.scaled, ScalarNumber{y, 0}}}, failed);
    return number ? number->value : NAN;
  };
  auto hasCode = [&](float y) { return haveSameCode(cast.data, y, choose(y)); };
  SmallVector<float> bounds{-limit, -0.0f, 0.0f, limit};
  for (float constant : constants)
    if (std::fabs(constant) < limit)
      llvm::append_values(bounds, constant, -constant);
  llvm::sort(bounds);
  if (!llvm::all_of(bounds, hasCode))
    return false;
  for (auto [low, high] :
       llvm::zip(ArrayRef(bounds).drop_back(), ArrayRef(bounds).drop_front())) {
    float first = std::nextafter(low, high), last = std::nextafter(high, low);
    if (!(low < first && first <= last))
      continue;
    bool isNumber = choose(first) == first && choose(last) == last;
    bool isConstant = choose(first) == choose(last);
    if (!(isNumber || isConstant) || !hasCode(first) || !hasCode(last))
      return false;
  }
  return true;
}

/// quantizer_c5 of a recipe that leaves scaled elements up to `limit`.
static std::optional<FusionObstacle>
findSaturationObstacle(const ScalarProgram &program, const Cast &cast,
                       Recipe recipe, float limit) {
  SmallVector<float> constants;
  llvm::SmallDenseSet<unsigned> seen;
  bool isClamped = cast.scaled && cast.wide != *cast.scaled;
  if (isClamped &&
      !choosesOnly(program, cast.wide, *cast.scaled, seen, constants))
    return FusionObstacle{"quantizer_c4", "clamps between scaling and cast",
                          "other ops"};
  bool hasCodes = isClamped ? hasCodesOf(program, cast, constants, limit)
                            : haveSameCode(cast.data, limit, limit);
  if (hasCodes)
    return std::nullopt;
  return FusionObstacle{
      "quantizer_c5",
      llvm::formatv(
          "elements clamped to {0}, as recipe {1} leaves some up to {2}",
          formatFloat(
              numerics::getFormatInfo(getElementFormat(cast.data)).maxFinite),
          stringifyRecipe(recipe), formatFloat(limit)),
      isClamped ? "another clamp" : "none"};
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

/// Tensors of f8E8M0FNU or i8 that are computed from the maximum, with one
/// number for each.
static SmallVector<BlockTensor> findBlockTensors(ScalarProgram &program,
                                                 unsigned amax, Block *block) {
  SmallVector<BlockTensor> found;
  llvm::SmallDenseSet<Operation *> seen;
  SmallVector<Value> work{program[amax].tensor};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    for (Operation *user : value.getUsers()) {
      if (user->getBlock() != block || user->getNumResults() != 1 ||
          !seen.insert(user).second)
        continue;
      Value result = user->getResult(0);
      auto type = dyn_cast<RankedTensorType>(result.getType());
      if (!type || isa<linalg::FillOp, tensor::DimOp>(user))
        continue;
      // In units of a block, so that what repeats it is not traced to it.
      unsigned node = program.trace(result, kBlock);
      if (!program.needs(node, amax) || program[node].repeats != kBlock)
        continue;
      work.push_back(result);
      if (isa<Float8E8M0FNUType>(type.getElementType()) ||
          type.getElementType().isInteger(8))
        found.push_back({result, node});
    }
  }
  return found;
}

/// A magnitude of x, from its bits.
static float getMagnitude(Type type, uint32_t bits) {
  return type.isBF16() ? numerics::decodeBF16(bits) : numerics::decodeF16(bits);
}

static uint32_t getByte(Type type, ScalarNumber number) {
  if (type.isInteger(8))
    return number.bits;
  return std::isnan(number.value) ? 255
                                  : uint32_t(std::ilogb(number.value) + 127);
}

namespace {

/// What was tried of each amax of a block of x.
class Trial {
public:
  Trial(const ScalarProgram &program, const Cast &cast)
      : program(program), cast(cast) {}

  /// quantizer_c3 and quantizer_c4 of each amax; `scales` keeps those that have
  /// the bytes.
  std::optional<FusionObstacle> run(SmallVectorImpl<BlockTensor> &scales,
                                    Recipe &recipe);

  /// The largest magnitude of an element that `recipe` scales, unless its scale
  /// is NaN.
  float getLargestScaled(Recipe recipe) const;

private:
  /// The first recipe that has the bytes of a tensor, or why there is none.
  std::optional<FusionObstacle> findRecipe(const BlockTensor &scale,
                                           Recipe &recipe);
  uint8_t getByteOf(Recipe recipe, float amax) const {
    Type x = program[cast.x].type;
    Type scale = Float8E8M0FNUType::get(x.getContext());
    return numerics::getScaleByte(getArithmetic(recipe, scale, cast.data, x),
                                  getElementFormat(cast.data), amax);
  }
  std::optional<ScalarNumber> evaluate(unsigned node, float amax,
                                       Operation *&failed) const {
    return program.evaluate(node, {{cast.amax, ScalarNumber{amax, 0}}}, failed);
  }
  std::optional<FusionObstacle> findFactorObstacle(Recipe recipe) const;

  const ScalarProgram &program;
  const Cast &cast;
};

} // namespace

/// The magnitudes of bf16 and f16, infinity and NaN among them.
static constexpr uint32_t kMagnitudes = 1u << 15;

static std::string describeFailure(Operation *failed) {
  return failed ? failed->getName().getStringRef().str() : "another tensor";
}

std::optional<FusionObstacle> Trial::findRecipe(const BlockTensor &scale,
                                                Recipe &recipe) {
  Type type = program[cast.x].type;
  SmallVector<Recipe> left;
  for (Recipe each : kMxRecipes)
    if (numerics::findVariant(getNumerics(each), numerics::ScaleFormat::E8M0,
                              getElementFormat(cast.data),
                              getInputFormat(type)))
      left.push_back(each);
  std::optional<FusionObstacle> last;
  for (uint32_t bits = 0; bits < kMagnitudes; ++bits) {
    float amax = getMagnitude(type, bits);
    Operation *failed = nullptr;
    auto number = evaluate(scale.node, amax, failed);
    if (!number)
      return FusionObstacle{
          "quantizer_c3",
          llvm::formatv("a power of two or NaN as the scale of an amax of {0}, "
                        "the same on all targets",
                        formatFloat(amax)),
          describeFailure(failed)};
    uint32_t byte = getByte(program[scale.node].type, *number);
    SmallVector<Recipe> next;
    for (Recipe each : left)
      if (getByteOf(each, amax) == byte)
        next.push_back(each);
    if (next.empty())
      return FusionObstacle{
          "quantizer_c3",
          llvm::formatv("the byte {0} of {1} for an amax of {2}",
                        getByteOf(left.front(), amax),
                        stringifyRecipe(left.front()), formatFloat(amax)),
          llvm::to_string(byte)};
    left = next;
  }
  recipe = left.front();
  return std::nullopt;
}

std::optional<FusionObstacle> Trial::findFactorObstacle(Recipe recipe) const {
  Type type = program[cast.x].type;
  for (uint32_t bits = 0; bits < kMagnitudes; ++bits) {
    float amax = getMagnitude(type, bits);
    uint8_t byte = getByteOf(recipe, amax);
    if (byte == 255)
      continue;
    Operation *failed = nullptr;
    auto number = evaluate(cast.factor, amax, failed);
    float expected = cast.divides ? numerics::decodeE8M0(byte)
                                  : numerics::decodeE8M0Reciprocal(byte);
    StringRef role = cast.divides ? "divisor" : "factor";
    if (!number)
      return FusionObstacle{
          "quantizer_c4",
          llvm::formatv("a {0} that is the same on all targets", role),
          describeFailure(failed)};
    if (number->value != expected)
      return FusionObstacle{
          "quantizer_c4",
          llvm::formatv("a {0} of {1} for an amax of {2}, whose scale is {3} "
                        "by {4}",
                        role, formatFloat(expected), formatFloat(amax), byte,
                        stringifyRecipe(recipe)),
          formatFloat(number->value)};
  }
  return std::nullopt;
}

float Trial::getLargestScaled(Recipe recipe) const {
  float largest = 0;
  for (uint32_t bits = 0; bits < kMagnitudes; ++bits) {
    float amax = getMagnitude(program[cast.x].type, bits);
    uint8_t byte = getByteOf(recipe, amax);
    if (byte != 255)
      largest = std::max(largest, amax * numerics::decodeE8M0Reciprocal(byte));
  }
  return largest;
}

std::optional<FusionObstacle> Trial::run(SmallVectorImpl<BlockTensor> &scales,
                                         Recipe &recipe) {
  if (scales.empty())
    return FusionObstacle{"quantizer_c3",
                          "a tensor of scales of f8E8M0FNU or i8", "none"};
  std::optional<FusionObstacle> first;
  std::optional<Recipe> found;
  SmallVector<BlockTensor> kept;
  for (const BlockTensor &scale : scales) {
    Recipe each;
    auto obstacle = findRecipe(scale, each);
    if (!obstacle && (!found || *found == each)) {
      found = each;
      kept.push_back(scale);
    } else if (!first) {
      first = obstacle;
    }
  }
  if (!found)
    return first;
  recipe = *found;
  scales.assign(kept.begin(), kept.end());
  return findFactorObstacle(recipe);
}

//===----------------------------------------------------------------------===//
// The rewrite
//===----------------------------------------------------------------------===//

/// quantizer_c2, of x as rows along K.
static std::optional<FusionObstacle> findShapeObstacle(RankedTensorType x,
                                                       RankedTensorType rows,
                                                       RankedTensorType data) {
  if (!x.getElementType().isBF16() && !x.getElementType().isF16())
    return FusionObstacle{"quantizer_c2",
                          "x of bf16 or f16, of which each amax is tried",
                          llvm::to_string(x.getElementType())};
  if (x.getEncoding())
    return FusionObstacle{"quantizer_c2", "an x without an encoding",
                          llvm::to_string(x)};
  int64_t k = x.getRank() ? x.getShape().back() : 1;
  if (rows.getRank() < 2 || ShapedType::isDynamic(k) || k % kBlock != 0)
    return FusionObstacle{
        "quantizer_c2",
        llvm::formatv("matrices with a last dimension of a static multiple of "
                      "{0}",
                      kBlock),
        llvm::to_string(x)};
  if (x.getShape() != data.getShape() &&
      !canReshape(rows.getShape(), data.getShape()))
    return FusionObstacle{"quantizer_c2", "data of the shape of x",
                          llvm::to_string(data)};
  return std::nullopt;
}

/// The scales of `quantize` in the type and the shape of `tensor`.
static Value createScales(PatternRewriter &rewriter, Location loc, Value scales,
                          RankedTensorType type) {
  Value result = createReshape(rewriter, loc, scales, type.getShape());
  if (!type.getElementType().isInteger(8))
    return result;
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(rewriter, loc, result);
  Value bytes =
      tensor::EmptyOp::create(rewriter, loc, sizes, type.getElementType());
  SmallVector<AffineMap> maps(2,
                              rewriter.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             rewriter, loc, type, result, bytes, maps, loops,
             [](OpBuilder &builder, Location loc, ValueRange arguments) {
               Value byte = arith::BitcastOp::create(
                   builder, loc, builder.getI8Type(), arguments[0]);
               linalg::YieldOp::create(builder, loc, byte);
             })
      ->getResult(0);
}

/// Whether the body of `op`, or `op` itself, casts to a narrow format.
static bool casts(Operation *op) {
  if (op->getNumResults() != 1 ||
      !isa<RankedTensorType>(op->getResult(0).getType()) ||
      !isFloatData(getElementTypeOrSelf(op->getResult(0))))
    return false;
  if (isa<arith::TruncFOp, arith::ScalingTruncFOp>(op))
    return true;
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  return structured && structured.hasPureTensorSemantics() &&
         isa_and_present<arith::TruncFOp, arith::ScalingTruncFOp>(
             structured.getBlock()
                 ->getTerminator()
                 ->getOperand(0)
                 .getDefiningOp());
}

namespace {

/// %m = linalg.generic .. { arith.maximumf of math.absf of x, over a block }
/// %b = linalg.generic .. { the scale of an amax, of f8E8M0FNU or i8 }
/// %q = linalg.generic .. { arith.truncf of x times a power of two }
///   ->  %q, %b = blockscale.quantize %x block [1, 32] recipe ..
///
/// A trial of each amax that x can have tells which recipe it is.
struct RaiseCast : public RewritePattern {
  explicit RaiseCast(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!casts(op))
      return rewriter.notifyMatchFailure(op, "casts nothing");
    ScalarProgram program;
    unsigned root = program.trace(op->getResult(0));
    if (program[root].kind != ScalarProgram::Kind::Operation)
      return rewriter.notifyMatchFailure(op, "casts nothing");
    SmallVector<unsigned> maxima = program.findMaxima(root);
    if (maxima.empty() && !isa<arith::ScalingTruncFOp>(program[root].op))
      return rewriter.notifyMatchFailure(op, "a cast without scales");
    if (auto obstacle = raise(rewriter, op, program, root, maxima)) {
      op->emitRemark("is not quantize " + llvm::to_string(*obstacle));
      return rewriter.notifyMatchFailure(op, "a clause is not met");
    }
    return success();
  }

private:
  static std::optional<FusionObstacle>
  raise(PatternRewriter &rewriter, Operation *op, ScalarProgram &program,
        unsigned root, ArrayRef<unsigned> maxima) {
    if (auto obstacle = findAmaxObstacle(program, maxima))
      return obstacle;
    Cast cast;
    cast.data = program[root].type;
    cast.amax = maxima.front();
    cast.x = *findX(program, cast.amax);
    Value x = cast.getX(program);
    auto type = ::llvm::cast<RankedTensorType>(x.getType());
    auto data = ::llvm::cast<RankedTensorType>(op->getResult(0).getType());
    bool joins = hasBlockDim(type, kBlock);
    RankedTensorType rows = joins ? getJoinedType(type) : type;
    if (auto obstacle = findShapeObstacle(type, rows, data))
      return obstacle;
    if (auto obstacle = findScaledObstacle(program, root, cast))
      return obstacle;
    SmallVector<BlockTensor> scales =
        findBlockTensors(program, cast.amax, op->getBlock());
    SmallVector<int64_t> scaleShape = getScaleShape(rows.getShape(), kBlock);
    llvm::erase_if(scales, [&](const BlockTensor &scale) {
      auto type = ::llvm::cast<RankedTensorType>(scale.tensor.getType());
      return !canReshape(scaleShape, type.getShape());
    });
    Recipe recipe;
    Trial trial(program, cast);
    if (auto obstacle = trial.run(scales, recipe))
      return obstacle;
    if (auto obstacle = findSaturationObstacle(program, cast, recipe,
                                               trial.getLargestScaled(recipe)))
      return obstacle;

    // Where x is made, before all uses of what is replaced.
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointAfterValue(x);
    Location loc = op->getLoc();
    Value source = joins ? createJoinedBlocks(rewriter, loc, x) : x;
    auto quantize = QuantizeOp::create(
        rewriter, loc, rows.clone(cast.data),
        RankedTensorType::get(scaleShape,
                              rewriter.getType<Float8E8M0FNUType>()),
        source, /*global_scale=*/Value(), /*global_amax=*/Value(),
        /*block_amax=*/Value(), /*rng=*/Value(), /*offsets=*/Value(),
        rewriter.getDenseI64ArrayAttr({1, kBlock}),
        /*transposed=*/UnitAttr(), /*scale_dim=*/ScaleDimAttr(),
        RecipeAttr::get(rewriter.getContext(), recipe));
    for (const BlockTensor &scale : scales) {
      auto type = ::llvm::cast<RankedTensorType>(scale.tensor.getType());
      rewriter.replaceAllUsesWith(
          scale.tensor, createScales(rewriter, loc, quantize.getScale(), type));
    }
    Value codes = quantize.getData();
    codes = joins && type.getShape() == data.getShape()
                ? createSplitBlocks(rewriter, loc, codes, x)
                : createReshape(rewriter, loc, codes, data.getShape());
    rewriter.replaceOp(op, codes);
    return std::nullopt;
  }
};

} // namespace

void populateRaiseCastPatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseCast>(patterns.getContext());
}

} // namespace blockscale
