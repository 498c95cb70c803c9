//===- RaiseProducts.cpp - Products of dequantized operands ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Transforms/RaiseProducts.h"
#include "blockscale/Analysis/FusionLegality.h"
#include "blockscale/Analysis/MatrixProduct.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Numerics/BlockFormat.h"
#include "blockscale/Target/Chip.h"
#include "blockscale/Transforms/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_RAISEPRODUCTS
#include "blockscale/Transforms/Passes.h.inc"

namespace {

/// An operand of a product, before the ops between it and the product that
/// change no number: extensions to f32 and transpositions.
struct Factor {
  /// Whether the product reads it as a matrix of rows by K or of K by rows, and
  /// repeats no element.
  bool isMatrix;
  /// Whether the rows of `source` run along its last dimension, and not K.
  bool isTransposed;
  Value source;
  /// What makes `source`, if it is dequantized.
  DequantizeOp dequantize;

  RankedTensorType getType() const {
    return cast<RankedTensorType>(source.getType());
  }
  Type getElementType() const { return getType().getElementType(); }
};

/// Which operands of a `scaled_mm` have scales.
struct Form {
  bool hasScaleA, hasScaleB;
};

} // namespace

/// Whether a permutation exchanges the last two dimensions, and no others.
static bool transposesMatrices(ArrayRef<int64_t> permutation) {
  if (permutation.size() < 2)
    return false;
  SmallVector<int64_t> expected =
      llvm::to_vector(llvm::seq<int64_t>(permutation.size()));
  std::swap(expected[expected.size() - 2], expected.back());
  return permutation == ArrayRef<int64_t>(expected);
}

/// The map from (batch.., m, n, k), of which `rank` - 2 are batch, to (batch..,
/// `row`, `col`).
static AffineMap getMatrixMap(MLIRContext *context, int64_t rank, int64_t row,
                              int64_t col) {
  SmallVector<unsigned> targets =
      llvm::to_vector(llvm::seq<unsigned>(rank - 2));
  targets.push_back(row);
  targets.push_back(col);
  return AffineMap::getMultiDimMapWithTargets(rank + 1, targets, context);
}

/// A (`number` 0), whose rows are m, or B (1), whose rows are n.
static Factor getFactor(linalg::LinalgOp op, unsigned number) {
  MLIRContext *context = op.getContext();
  int64_t rank = op.getNumLoops() - 1, rows = rank - 2 + number, k = rank;
  AffineMap map = op.getIndexingMapsArray()[number];
  Factor factor;
  factor.isTransposed = map == getMatrixMap(context, rank, k, rows);
  factor.isMatrix =
      factor.isTransposed || map == getMatrixMap(context, rank, rows, k);
  factor.source = op.getDpsInputs()[number];
  while (Operation *producer = factor.source.getDefiningOp()) {
    auto transpose = dyn_cast<linalg::TransposeOp>(producer);
    if (Value narrow = getExtended(producer)) {
      factor.source = narrow;
    } else if (transpose && transposesMatrices(transpose.getPermutation())) {
      factor.source = transpose.getInput();
      factor.isTransposed = !factor.isTransposed;
    } else {
      break;
    }
  }
  factor.dequantize = factor.source.getDefiningOp<DequantizeOp>();
  return factor;
}

//===----------------------------------------------------------------------===//
// Clauses
//===----------------------------------------------------------------------===//

/// raise_c1, of tensors.
static std::optional<FusionObstacle> findSumObstacle(linalg::LinalgOp op) {
  Value init = op.getDpsInits().front();
  auto type = cast<RankedTensorType>(init.getType());
  if (!type.getElementType().isF32())
    return FusionObstacle{"raise_c1", "sums of f32",
                          llvm::to_string(type.getElementType())};
  auto fill = init.getDefiningOp<linalg::FillOp>();
  if (!fill || !matchPattern(fill.value(), m_PosZeroFloat()))
    return FusionObstacle{"raise_c1", "a sum that begins with linalg.fill of 0",
                          fill ? "another number" : "another tensor"};
  if (type.getEncoding())
    return FusionObstacle{"raise_c1", "a result without an encoding",
                          llvm::to_string(type)};
  return std::nullopt;
}

/// raise_c2, of the result.
static std::optional<FusionObstacle> findResultObstacle(linalg::LinalgOp op) {
  int64_t rank = op.getNumLoops() - 1;
  AffineMap map = op.getIndexingMapsArray().back();
  if (map == getMatrixMap(op.getContext(), rank, rank - 2, rank - 1))
    return std::nullopt;
  return FusionObstacle{"raise_c2", "a result of M rows and N columns",
                        "the map " + llvm::to_string(map)};
}

/// raise_c1 and raise_c2, of one factor.
static std::optional<FusionObstacle> findMatrixObstacle(const Factor &factor) {
  if (factor.getType().getEncoding())
    return FusionObstacle{"raise_c1", "operands without an encoding",
                          llvm::to_string(factor.getType())};
  if (!factor.isMatrix)
    return FusionObstacle{"raise_c2", "operands of the rank of the result",
                          "one that is broadcast"};
  return std::nullopt;
}

/// raise_c2, raise_c3 and raise_c4, of a factor whose data and scales are to be
/// read; `k` is the size of K as the other operand knows it.
static std::optional<FusionObstacle> findScaledObstacle(const Factor &factor,
                                                        int64_t otherK) {
  DequantizeOp op = factor.dequantize;
  if (!op.hasRowBlocks())
    return FusionObstacle{"raise_c3", "blocks of one row",
                          llvm::formatv("[{0}, {1}]", op.getBlock().front(),
                                        op.getBlock().back())};
  if (factor.isTransposed)
    return FusionObstacle{"raise_c2", "blocks along K",
                          "blocks along its rows"};
  if (Value global = op.getGlobal())
    return FusionObstacle{"raise_c3", "no global scale",
                          llvm::to_string(global.getType())};
  int64_t k = factor.getType().getShape().back();
  if (ShapedType::isDynamic(k))
    k = otherK;
  if (ShapedType::isDynamic(k) && acceptsTails(op.getEffectiveRecipe()))
    return FusionObstacle{"raise_c4",
                          "a static K, or a recipe that refuses tails",
                          stringifyRecipe(op.getEffectiveRecipe()).str()};
  if (!ShapedType::isDynamic(k) && k % op.getBlockSize() != 0)
    return FusionObstacle{
        "raise_c4",
        llvm::formatv("K of whole blocks of {0}", op.getBlockSize()),
        llvm::to_string(k)};
  return std::nullopt;
}

static numerics::ScaleFormat getScaleFormat(DequantizeOp op) {
  return getScaleFormat(op.getScale().getType().getElementType());
}

static bool isNvfp4(DequantizeOp op) {
  return getScaleFormat(op) == numerics::ScaleFormat::E4M3;
}

/// raise_c5 of two dequantized factors.
static std::optional<FusionObstacle>
findPairObstacle(const Factor &a, const Factor &b, bool allowScaled) {
  if (!allowScaled)
    return FusionObstacle{"raise_c5",
                          "one dequantized operand, as the target has no "
                          "products of two",
                          "two"};
  for (DequantizeOp op : {a.dequantize, b.dequantize})
    if (!isNvfp4(op))
      return FusionObstacle{
          "raise_c5", "two operands in NVFP4",
          llvm::to_string(op.getScale().getType().getElementType()) +
              " scales"};
  return std::nullopt;
}

/// Whether the results of `op`, rounded to `plain`, are data times scales
/// rounded to `plain` once.
static bool roundsOnce(DequantizeOp op, Type plain) {
  Type result = op.getResult().getType().getElementType();
  numerics::ElementFormat format =
      getElementFormat(op.getData().getType().getElementType());
  return isNvfp4(op) || result == plain ||
         (result.isF32() && plain.isBF16() &&
          numerics::isExactInBF16(format, getScaleFormat(op)));
}

/// raise_c5 and raise_c6, of the dequantized `factor` beside `plain`.
static std::optional<FusionObstacle>
findPlainObstacle(const Factor &factor, const Factor &plain, bool allowPlain) {
  DequantizeOp op = factor.dequantize;
  Type type = plain.getElementType();
  if (!allowPlain)
    return FusionObstacle{"raise_c5",
                          "two dequantized operands, as the target has no "
                          "products of a plain one",
                          llvm::to_string(type)};
  if (!type.isBF16() && !(type.isF16() && isNvfp4(op)))
    return FusionObstacle{"raise_c5",
                          isNvfp4(op) ? "another operand of bf16 or f16"
                                      : "another operand of bf16",
                          llvm::to_string(type)};
  if (roundsOnce(op, type))
    return std::nullopt;
  return FusionObstacle{
      "raise_c6",
      llvm::formatv("values of {0} with {1} scales dequantized to {2}",
                    op.getData().getType().getElementType(),
                    op.getScale().getType().getElementType(), type),
      llvm::to_string(op.getResult().getType().getElementType())};
}

/// Why `op` is not a `scaled_mm` of that form, if it is not.
static std::optional<FusionObstacle>
findFormObstacle(linalg::LinalgOp op, const Factor &a, const Factor &b,
                 const Form &form, bool allowPlain, bool allowScaled) {
  if (auto obstacle = findSumObstacle(op))
    return obstacle;
  if (auto obstacle = findResultObstacle(op))
    return obstacle;
  for (const Factor &factor : {a, b})
    if (auto obstacle = findMatrixObstacle(factor))
      return obstacle;
  auto getK = [](const Factor &factor) {
    ArrayRef<int64_t> shape = factor.getType().getShape();
    return factor.isTransposed ? shape[shape.size() - 2] : shape.back();
  };
  if (form.hasScaleA)
    if (auto obstacle = findScaledObstacle(a, getK(b)))
      return obstacle;
  if (form.hasScaleB)
    if (auto obstacle = findScaledObstacle(b, getK(a)))
      return obstacle;
  if (form.hasScaleA && form.hasScaleB)
    return findPairObstacle(a, b, allowScaled);
  return form.hasScaleB ? findPlainObstacle(b, a, allowPlain)
                        : findPlainObstacle(a, b, allowPlain);
}

//===----------------------------------------------------------------------===//
// The rewrite
//===----------------------------------------------------------------------===//

/// `factor` as a matrix of rows along K.
static Value createRows(PatternRewriter &rewriter, Location loc,
                        const Factor &factor) {
  if (!factor.isTransposed)
    return factor.source;
  int64_t rank = factor.getType().getRank();
  SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(rank));
  std::swap(permutation[rank - 2], permutation[rank - 1]);
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(rewriter, loc, factor.source);
  std::swap(sizes[rank - 2], sizes[rank - 1]);
  Value rows =
      tensor::EmptyOp::create(rewriter, loc, sizes, factor.getElementType());
  return linalg::TransposeOp::create(rewriter, loc, factor.source, rows,
                                     permutation)
      ->getResult(0);
}

namespace {

/// %w = blockscale.dequantize %b, %sb block [1, 16] : .. -> tensor<NxKxbf16>
/// %z = linalg.fill ins(0.0) ..
/// %y = linalg.matmul indexing_maps = [(m, n, k) -> (m, k), (n, k), (m, n)]
///          ins(%a, %w : tensor<MxKxbf16>, tensor<NxKxbf16>)
///          outs(%z : tensor<MxNxf32>)
///   ->  %y = blockscale.scaled_mm %a, %b scales(none, %sb) block [1, 16]
///           : .. -> tensor<MxNxf32>
///
/// and the same for A, for both, and for batch_matmul. A plain operand whose
/// rows run along its last dimension is transposed.
template <typename OpTy>
struct RaiseProduct : public OpRewritePattern<OpTy> {
  RaiseProduct(MLIRContext *context, bool allowPlain, bool allowScaled)
      : OpRewritePattern<OpTy>(context), allowPlain(allowPlain),
        allowScaled(allowScaled) {}

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasPureTensorSemantics())
      return rewriter.notifyMatchFailure(op, "operands are buffers");
    if (op->template getParentOfType<KernelOp>())
      return rewriter.notifyMatchFailure(op, "a kernel's operands are fixed");
    Factor a = getFactor(op, 0), b = getFactor(op, 1);
    std::optional<FusionObstacle> first;
    for (const Form &form : {Form{true, true}, {false, true}, {true, false}}) {
      if ((form.hasScaleA && !a.dequantize) ||
          (form.hasScaleB && !b.dequantize))
        continue;
      auto obstacle = findFormObstacle(op, a, b, form, allowPlain, allowScaled);
      if (!obstacle) {
        create(rewriter, op, a, b, form);
        return success();
      }
      if (!first)
        first = obstacle;
    }
    if (!first)
      return rewriter.notifyMatchFailure(op, "no operand is dequantized");
    op.emitRemark("is not computed as scaled_mm " + llvm::to_string(*first));
    return rewriter.notifyMatchFailure(op, "a clause is not met");
  }

private:
  static void create(PatternRewriter &rewriter, OpTy op, Factor a, Factor b,
                     const Form &form) {
    Value scaleA, scaleB;
    DenseI64ArrayAttr block;
    auto readScaled = [&](Factor &factor, Value &scale) {
      DequantizeOp dequantize = factor.dequantize;
      factor.source = dequantize.getData();
      scale = dequantize.getScale();
      block = dequantize.getBlockAttr();
    };
    if (form.hasScaleA)
      readScaled(a, scaleA);
    if (form.hasScaleB)
      readScaled(b, scaleB);
    Value rowsA = createRows(rewriter, op.getLoc(), a);
    Value rowsB = createRows(rewriter, op.getLoc(), b);
    rewriter.replaceOpWithNewOp<ScaledMMOp>(
        op, op->getResult(0).getType(), rowsA, rowsB, scaleA, scaleB,
        /*global_scale_a=*/Value(), /*global_scale_b=*/Value(),
        /*bias=*/Value(), block, /*global_scaling=*/GlobalScalingAttr());
  }

  bool allowPlain, allowScaled;
};

struct RaiseProductsPass : public impl::RaiseProductsBase<RaiseProductsPass> {
  using RaiseProductsBase::RaiseProductsBase;

  void runOnOperation() override {
    const target::Chip *target = target::findChip(chip);
    if (!chip.empty() && !(target && target->hasProducts()))
      return;
    RewritePatternSet patterns(&getContext());
    // Drops global scales of 1.0.
    DequantizeOp::getCanonicalizationPatterns(patterns, &getContext());
    // The CPU has products of every form.
    bool allowPlain = !target || target->hasWgmma();
    bool allowScaled = !target || target->hasTcgen05();
    populateRaiseProductPatterns(patterns, allowPlain, allowScaled);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace

void populateRaiseProductPatterns(RewritePatternSet &patterns, bool allowPlain,
                                  bool allowScaled) {
  patterns
      .add<RaiseProduct<linalg::MatmulOp>, RaiseProduct<linalg::BatchMatmulOp>>(
          patterns.getContext(), allowPlain, allowScaled);
}

} // namespace blockscale
