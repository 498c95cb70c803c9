//===- RaiseContractions.cpp - Contractions with scales in their body -----===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockShapes.h"
#include "QuantizerPatterns.h"
#include "Verification/BelongingRules.h"
#include "blockscale/Analysis/MatrixProduct.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Numerics/BlockFormat.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;

namespace blockscale {
namespace {

/// The numbers of the inputs that are the data and the scales of an operand.
struct ScaledInput {
  unsigned data, scale;
};

} // namespace

/// The inputs that `value`, in the body of `op`, is by `arith.scaling_extf`.
static std::optional<ScaledInput> getScaledInput(linalg::GenericOp op,
                                                 Value value) {
  auto extend = value.getDefiningOp<arith::ScalingExtFOp>();
  if (!extend || !extend.getType().isF32())
    return std::nullopt;
  auto data = dyn_cast<BlockArgument>(extend.getIn());
  auto scale = dyn_cast<BlockArgument>(extend.getScale());
  unsigned count = op.getNumDpsInputs();
  if (!data || !scale || data.getOwner() != op.getBody() ||
      scale.getOwner() != op.getBody() || data.getArgNumber() >= count ||
      scale.getArgNumber() >= count)
    return std::nullopt;
  return ScaledInput{data.getArgNumber(), scale.getArgNumber()};
}

/// The operands that a body multiplies and adds to the sum: those of the first
/// and of the second of its two factors.
static std::optional<std::array<ScaledInput, 2>>
getScaledInputs(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 4 || op.getNumDpsInits() != 1)
    return std::nullopt;
  arith::MulFOp multiply = getAddedProduct(*op.getBody());
  if (!multiply)
    return std::nullopt;
  auto a = getScaledInput(op, multiply.getLhs());
  auto b = getScaledInput(op, multiply.getRhs());
  if (!a || !b)
    return std::nullopt;
  return std::array<ScaledInput, 2>{*a, *b};
}

static AffineMap getMap(linalg::GenericOp op, ArrayRef<unsigned> targets) {
  return AffineMap::getMultiDimMapWithTargets(op.getNumLoops(), targets,
                                              op.getContext());
}

/// The loops (batch.., `last`..).
static SmallVector<unsigned> withBatch(unsigned batches,
                                       ArrayRef<unsigned> last) {
  SmallVector<unsigned> loops = llvm::to_vector(llvm::seq<unsigned>(batches));
  llvm::append_range(loops, last);
  return loops;
}

/// contraction_c1, of the operand that has the rows that loop `rows` counts.
static std::optional<FusionObstacle>
findOperandObstacle(linalg::GenericOp op, const ScaledInput &input,
                    unsigned batches, unsigned rows, int64_t block) {
  unsigned ko = batches + 2, kb = batches + 3;
  auto maps = op.getIndexingMapsArray();
  if (maps[input.data] != getMap(op, withBatch(batches, {rows, ko, kb})))
    return FusionObstacle{"contraction_c1",
                          "an operand [batch.., rows, k / 32, 32]",
                          llvm::to_string(maps[input.data])};
  if (maps[input.scale] != getMap(op, withBatch(batches, {rows, ko})))
    return FusionObstacle{"contraction_c1", "scales [batch.., rows, k / 32]",
                          llvm::to_string(maps[input.scale])};
  auto data = cast<RankedTensorType>(op.getDpsInputs()[input.data].getType());
  auto scale = cast<RankedTensorType>(op.getDpsInputs()[input.scale].getType());
  if (!isa<Float8E8M0FNUType>(scale.getElementType()))
    return FusionObstacle{
        "contraction_c1",
        "scales of f8E8M0FNU, as arith.scaling_extf takes the "
        "exponent alone of others",
        llvm::to_string(scale.getElementType())};
  if (data.getShape().back() != block)
    return FusionObstacle{"contraction_c1",
                          llvm::formatv("a last dimension of {0}", block),
                          llvm::to_string(data)};
  for (RankedTensorType type : {data, scale})
    if (type.getEncoding())
      return FusionObstacle{"contraction_c1", "tensors without an encoding",
                            llvm::to_string(type)};
  return std::nullopt;
}

static std::optional<FusionObstacle>
findObstacle(linalg::GenericOp op, const std::array<ScaledInput, 2> &inputs) {
  constexpr int64_t kBlock =
      numerics::getBlockFormat(numerics::ScaleFormat::E8M0).blockSize;
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  if (!result.getElementType().isF32())
    return FusionObstacle{"contraction_c1", "a result of f32",
                          llvm::to_string(result)};
  auto iterators = op.getIteratorTypesArray();
  bool hasLoops = op.getNumLoops() >= 4 && op.getNumReductionLoops() == 2 &&
                  llvm::all_of(ArrayRef(iterators).take_back(2), [](auto type) {
                    return type == utils::IteratorType::reduction;
                  });
  if (!hasLoops)
    return FusionObstacle{
        "contraction_c1",
        "loops (batch.., m, n, k / 32, 32), of which the last two reduce",
        llvm::formatv("{0} loops, {1} of which reduce", op.getNumLoops(),
                      op.getNumReductionLoops())};
  unsigned batches = op.getNumLoops() - 4;
  if (op.getIndexingMapsArray().back() !=
      getMap(op, withBatch(batches, {batches, batches + 1})))
    return FusionObstacle{"contraction_c1", "a result [batch.., m, n]",
                          llvm::to_string(op.getIndexingMapsArray().back())};
  for (unsigned number : {0u, 1u})
    if (auto obstacle = findOperandObstacle(op, inputs[number], batches,
                                            batches + number, kBlock))
      return obstacle;
  return std::nullopt;
}

namespace {

/// %y = linalg.generic .. ins(%a, %b, %sa, %sb : tensor<MxKx32xf4E2M1FN>,
///          tensor<NxKx32xf4E2M1FN>, tensor<MxKxf8E8M0FNU>,
///          tensor<NxKxf8E8M0FNU>) outs(%c : tensor<MxNxf32>) {
///        arith.scaling_extf, arith.scaling_extf, arith.mulf, arith.addf
///      }
///   ->  %p = tensor.collapse_shape %a [[0], [1, 2]] ..
///       %v = blockscale.dequantize %p, %sa block [1, 32] : ..
///       %q = tensor.collapse_shape %b [[0], [1, 2]] ..
///       %w = blockscale.dequantize %q, %sb block [1, 32] : ..
///       %y = linalg.generic .. ins(%v, %w) outs(%c : tensor<MxNxf32>) {
///              arith.mulf, arith.addf
///            }
///
/// Values are bf16 if all of a format are numbers of bf16, and f32 otherwise.
struct RaiseContraction : public OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasPureTensorSemantics())
      return rewriter.notifyMatchFailure(op, "operands are buffers");
    auto inputs = getScaledInputs(op);
    if (!inputs)
      return rewriter.notifyMatchFailure(op, "no product of scaled operands");
    // A is the operand with the rows of the result.
    unsigned batches = op.getNumLoops() < 4 ? 0 : op.getNumLoops() - 4;
    if (op.getNumLoops() >= 4 &&
        op.getIndexingMapsArray()[(*inputs)[0].data] ==
            getMap(op,
                   withBatch(batches, {batches + 1, batches + 2, batches + 3})))
      std::swap((*inputs)[0], (*inputs)[1]);
    if (auto obstacle = findObstacle(op, *inputs)) {
      op.emitRemark("is not a product of dequantize " +
                    llvm::to_string(*obstacle));
      return rewriter.notifyMatchFailure(op, "a clause is not met");
    }
    SmallVector<Value> values;
    SmallVector<AffineMap> maps;
    unsigned loops = batches + 3;
    auto addMap = [&](ArrayRef<unsigned> last) {
      maps.push_back(AffineMap::getMultiDimMapWithTargets(
          loops, withBatch(batches, last), op.getContext()));
    };
    for (unsigned number : {0u, 1u}) {
      values.push_back(createValues(rewriter, op, (*inputs)[number]));
      addMap({batches + number, batches + 2});
    }
    addMap({batches, batches + 1});
    SmallVector<utils::IteratorType> iterators(loops,
                                               utils::IteratorType::parallel);
    iterators.back() = utils::IteratorType::reduction;
    rewriter.replaceOpWithNewOp<linalg::GenericOp>(
        op, op->getResultTypes(), values, op.getDpsInits(), maps, iterators,
        [](OpBuilder &builder, Location loc, ValueRange arguments) {
          Type f32 = builder.getF32Type();
          SmallVector<Value> factors;
          for (Value argument : arguments.take_front(2))
            factors.push_back(
                argument.getType() == f32
                    ? argument
                    : arith::ExtFOp::create(builder, loc, f32, argument));
          Value product =
              arith::MulFOp::create(builder, loc, factors[0], factors[1]);
          Value sum =
              arith::AddFOp::create(builder, loc, arguments[2], product);
          linalg::YieldOp::create(builder, loc, sum);
        });
    return success();
  }

private:
  /// The operand [batch.., rows, k], dequantized.
  static Value createValues(PatternRewriter &rewriter, linalg::GenericOp op,
                            const ScaledInput &input) {
    Location loc = op.getLoc();
    Value data = op.getDpsInputs()[input.data];
    Value scale = op.getDpsInputs()[input.scale];
    Value rows = createJoinedBlocks(rewriter, loc, data);
    auto type = cast<RankedTensorType>(rows.getType());
    bool isExact = numerics::isExactInBF16(
        getElementFormat(type.getElementType()), numerics::ScaleFormat::E8M0);
    Type wide = isExact ? Type(rewriter.getBF16Type()) : rewriter.getF32Type();
    int64_t block = cast<RankedTensorType>(data.getType()).getShape().back();
    return DequantizeOp::create(rewriter, loc, type.clone(wide), rows, scale,
                                /*global_scale=*/Value(),
                                /*global_amax=*/Value(),
                                rewriter.getDenseI64ArrayAttr({1, block}),
                                RecipeAttr(), getRaisedOrigins(rewriter, data));
  }
};

} // namespace

void populateRaiseContractionPatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseContraction>(patterns.getContext());
}

} // namespace blockscale
