//===- FromTosa.cpp - Block-scaled ops of TOSA ----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Transforms/FromTosa.h"
#include "Raising/BlockShapes.h"
#include "blockscale/Analysis/Fusion/FusionLegality.h"
#include "blockscale/IR/BlockScaleDialect.h"
#include "blockscale/Transforms/Passes.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_FROMTOSA
#include "blockscale/Transforms/Passes.h.inc"

using Obstacle = std::optional<FusionObstacle>;

//===----------------------------------------------------------------------===//
// MXINT8
//===----------------------------------------------------------------------===//

static bool isMxInt8(Type type) {
  return isa<tosa::mxint8Type>(getElementTypeOrSelf(type));
}

/// Whether the result has the bytes of the operands, whatever they mean.
static bool movesElements(Operation *op) {
  return isa_and_present<func::FuncDialect>(op->getDialect()) ||
         isa<tosa::ConstOp, tosa::ReshapeOp, tosa::TransposeOp, tosa::SliceOp,
             tosa::ConcatOp, tosa::TileOp, tosa::ReverseOp, tosa::GatherOp,
             tosa::IdentityOp, tosa::IfOp, tosa::WhileOp, tosa::YieldOp>(op);
}

static bool isBlockScaled(Operation *op) {
  return isa<tosa::CastToBlockScaledOp, tosa::CastFromBlockScaledOp,
             tosa::MatmulTBlockScaledOp>(op);
}

LogicalResult replaceMxInt8(ModuleOp module) {
  bool isLegal = true, isUsed = false;
  auto isUse = [&](Type type) {
    isUsed |= isMxInt8(type);
    return isMxInt8(type);
  };
  module.walk([&](Operation *op) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArgumentTypes(), isUse);
    bool usesIt = llvm::any_of(op->getOperandTypes(), isUse);
    usesIt |= llvm::any_of(op->getResultTypes(), isUse);
    if (auto function = dyn_cast<func::FuncOp>(op)) {
      llvm::for_each(function.getArgumentTypes(), isUse);
      llvm::for_each(function.getResultTypes(), isUse);
    }
    if (!usesIt || movesElements(op) || isBlockScaled(op))
      return;
    op->emitOpError()
        << "expected elements of !tosa.mxint8 to be moved alone, or decoded "
           "by tosa.cast_from_block_scaled, but got an op that computes";
    isLegal = false;
  });
  if (!isLegal || !isUsed)
    return success(isLegal);
  AttrTypeReplacer replacer;
  replacer.addReplacement([](tosa::mxint8Type type) -> Type {
    return IntegerType::get(type.getContext(), 8);
  });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
  return success();
}

//===----------------------------------------------------------------------===//
// Clauses
//===----------------------------------------------------------------------===//

namespace {

/// The sizes of A [N, H, C], B [D, W, C] and of the result [N, H, W], as far as
/// a type states them.
struct ProductSizes {
  int64_t n, h, d, w;
};

} // namespace

static std::string listTypes(TypeRange types) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(types, os, " and ");
  return text;
}

/// from_tosa_c1
static Obstacle findTensorObstacle(TypeRange types) {
  for (Type type : types) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return FusionObstacle{"from_tosa_c1", "ranked tensors",
                            llvm::to_string(type)};
    if (tensor.getEncoding())
      return FusionObstacle{"from_tosa_c1", "tensors without an encoding",
                            llvm::to_string(type)};
  }
  return std::nullopt;
}

/// from_tosa_c2
static Obstacle findElementObstacle(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (element.isF32() || element.isBF16() || element.isF16())
    return std::nullopt;
  return FusionObstacle{"from_tosa_c2", "values of f32, bf16 or f16",
                        llvm::to_string(element)};
}

/// Makes the known ones of `sizes`, which have to be equal, the size of all.
static bool unify(std::initializer_list<int64_t *> sizes) {
  int64_t known = ShapedType::kDynamic;
  for (int64_t *size : sizes)
    if (!ShapedType::isDynamic(*size))
      known = *size;
  for (int64_t *size : sizes) {
    if (!ShapedType::isDynamic(*size) && *size != known)
      return false;
    *size = known;
  }
  return true;
}

static int64_t getBlockSize(tosa::BlockSize block) {
  return tosa::BlockSizeAttr::getBlockSizeValue(block);
}

/// from_tosa_c3
static Obstacle findShapeObstacle(RankedTensorType valuesType,
                                  RankedTensorType dataType,
                                  RankedTensorType scaleType, int64_t block) {
  SmallVector<int64_t> values(valuesType.getShape());
  SmallVector<int64_t> data(dataType.getShape());
  SmallVector<int64_t> scale(scaleType.getShape());
  if (!ShapedType::isDynamic(scale.back()))
    scale.back() *= block;
  bool isLegal = values.size() == data.size() && values.size() == scale.size();
  for (size_t dim = 0; isLegal && dim < values.size(); ++dim)
    isLegal = unify({&values[dim], &data[dim], &scale[dim]});
  if (isLegal &&
      (ShapedType::isDynamic(values.back()) || values.back() % block == 0))
    return std::nullopt;
  return FusionObstacle{
      "from_tosa_c3",
      llvm::formatv("values and data of one shape, and a scale for each "
                    "block of {0} of their last dimension",
                    block),
      listTypes({valuesType, dataType, scaleType})};
}

static Obstacle findCastObstacle(Type values, Type data, Type scale,
                                 tosa::BlockSize block) {
  if (Obstacle obstacle = findTensorObstacle({values, data, scale}))
    return obstacle;
  if (Obstacle obstacle = findElementObstacle(values))
    return obstacle;
  return findShapeObstacle(cast<RankedTensorType>(values),
                           cast<RankedTensorType>(data),
                           cast<RankedTensorType>(scale), getBlockSize(block));
}

static Obstacle findObstacle(tosa::CastToBlockScaledOp op) {
  return findCastObstacle(op.getInputData().getType(),
                          op.getOutputData().getType(),
                          op.getOutputScale().getType(), op.getBlockSize());
}

static Obstacle findObstacle(tosa::CastFromBlockScaledOp op) {
  return findCastObstacle(op.getOutputData().getType(),
                          op.getInputData().getType(),
                          op.getInputScale().getType(), op.getBlockSize());
}

/// The sizes of a product with ranked operands and result. The verifier of the
/// op has found that they agree.
static ProductSizes getSizes(tosa::MatmulTBlockScaledOp op) {
  auto getSize = [](Value value, int64_t dim) {
    return cast<RankedTensorType>(value.getType()).getDimSize(dim);
  };
  int64_t n = getSize(op.getAData(), 0), scaleN = getSize(op.getAScale(), 0);
  int64_t h = getSize(op.getAData(), 1), scaleH = getSize(op.getAScale(), 1);
  int64_t d = getSize(op.getBData(), 0), scaleD = getSize(op.getBScale(), 0);
  int64_t w = getSize(op.getBData(), 1), scaleW = getSize(op.getBScale(), 1);
  int64_t resultN = getSize(op.getOutputData(), 0);
  int64_t resultH = getSize(op.getOutputData(), 1);
  int64_t resultW = getSize(op.getOutputData(), 2);
  unify({&n, &scaleN, &resultN});
  unify({&h, &scaleH, &resultH});
  unify({&d, &scaleD});
  unify({&w, &scaleW, &resultW});
  return {n, h, d, w};
}

static Obstacle findObstacle(tosa::MatmulTBlockScaledOp op) {
  if (Obstacle obstacle = findTensorObstacle(op->getOperandTypes()))
    return obstacle;
  if (Obstacle obstacle = findTensorObstacle(op->getResultTypes()))
    return obstacle;
  return findElementObstacle(op.getOutputData().getType());
}

LogicalResult verifyNoBlockScaledTosa(Operation *root) {
  bool isLegal = true;
  root->walk([&](Operation *op) {
    Obstacle obstacle =
        TypeSwitch<Operation *, Obstacle>(op)
            .Case<tosa::CastToBlockScaledOp, tosa::CastFromBlockScaledOp,
                  tosa::MatmulTBlockScaledOp>(
                [](auto op) { return findObstacle(op); })
            .Default([](Operation *) { return Obstacle(); });
    if (!obstacle)
      return;
    op->emitOpError() << "is not taken " << *obstacle;
    isLegal = false;
  });
  return success(isLegal);
}

//===----------------------------------------------------------------------===//
// The rewrites
//===----------------------------------------------------------------------===//

static DenseI64ArrayAttr getBlockAttr(Builder &builder, tosa::BlockSize block) {
  return builder.getDenseI64ArrayAttr({1, getBlockSize(block)});
}

/// tensor<K> as tensor<1xK>: the ops of the dialect work on matrices.
static RankedTensorType getMatrixType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  if (tensor.getRank() != 1)
    return tensor;
  return RankedTensorType::get({1, tensor.getDimSize(0)},
                               tensor.getElementType());
}

static Value createMatrix(OpBuilder &builder, Location loc, Value value) {
  RankedTensorType type = getMatrixType(value.getType());
  if (value.getType() == type)
    return value;
  return tensor::ExpandShapeOp::create(builder, loc, type, value,
                                       ArrayRef<ReassociationIndices>{{0, 1}});
}

/// The inverse of `createMatrix`: `value` as a tensor of `type`.
static Value createResult(OpBuilder &builder, Location loc, Type type,
                          Value value) {
  if (value.getType() == type)
    return value;
  return tensor::CollapseShapeOp::create(
      builder, loc, type, value, ArrayRef<ReassociationIndices>{{0, 1}});
}

namespace {

/// %d, %s = tosa.cast_to_block_scaled %x {block_size = BLOCK_SIZE_32}
///     : (tensor<8x64xf32>) -> (tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>)
///   ->  %d, %s = blockscale.quantize %x block [1, 32] recipe tosa
///           : tensor<8x64xf32>
///           -> tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>
///
/// A vector is quantized as a matrix of one row.
struct ConvertCastTo : public OpRewritePattern<tosa::CastToBlockScaledOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tosa::CastToBlockScaledOp op,
                                PatternRewriter &rewriter) const override {
    if (Obstacle obstacle = findObstacle(op))
      return rewriter.notifyMatchFailure(op, llvm::to_string(*obstacle));
    Location loc = op.getLoc();
    Type data = op.getOutputData().getType();
    Type scale = op.getOutputScale().getType();
    Value x = createMatrix(rewriter, loc, op.getInputData());
    auto quantize = QuantizeOp::create(
        rewriter, loc, getMatrixType(data), getMatrixType(scale), x,
        /*global_scale=*/Value(), /*global_amax=*/Value(),
        /*block_amax=*/Value(), /*rng=*/Value(), /*offsets=*/Value(),
        getBlockAttr(rewriter, op.getBlockSize()),
        /*transposed=*/UnitAttr(), /*scale_dim=*/ScaleDimAttr(),
        RecipeAttr::get(rewriter.getContext(), kTosaRecipe));
    rewriter.replaceOp(
        op, {createResult(rewriter, loc, data, quantize.getData()),
             createResult(rewriter, loc, scale, quantize.getScale())});
    return success();
  }
};

/// %y = tosa.cast_from_block_scaled %d, %s {block_size = BLOCK_SIZE_32}
///     : (tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>) -> tensor<8x64xf32>
///   ->  %y = blockscale.dequantize %d, %s block [1, 32] recipe tosa
///           : tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>
///           -> tensor<8x64xf32>
struct ConvertCastFrom : public OpRewritePattern<tosa::CastFromBlockScaledOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tosa::CastFromBlockScaledOp op,
                                PatternRewriter &rewriter) const override {
    if (Obstacle obstacle = findObstacle(op))
      return rewriter.notifyMatchFailure(op, llvm::to_string(*obstacle));
    Location loc = op.getLoc();
    Type type = op.getOutputData().getType();
    Value values = DequantizeOp::create(
        rewriter, loc, getMatrixType(type),
        createMatrix(rewriter, loc, op.getInputData()),
        createMatrix(rewriter, loc, op.getInputScale()),
        /*global_scale=*/Value(), /*global_amax=*/Value(),
        getBlockAttr(rewriter, op.getBlockSize()),
        RecipeAttr::get(rewriter.getContext(), kTosaRecipe));
    rewriter.replaceOp(op, createResult(rewriter, loc, type, values));
    return success();
  }
};

/// %y = tosa.matmul_t_block_scaled %a, %sa, %b, %sb
///     : (tensor<4x8x64xf8E4M3FN>, tensor<4x8x2xf8E8M0FNU>,
///        tensor<4x16x64xf8E4M3FN>, tensor<4x16x2xf8E8M0FNU>)
///     -> tensor<4x8x16xf32>
///   ->  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 32] : ..
///
/// If B has one matrix for all of A, the matrices of A are one of N * H rows.
/// If only the run time knows that, both products stand in the branches of an
/// scf.if.
struct ConvertMatmul : public OpRewritePattern<tosa::MatmulTBlockScaledOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tosa::MatmulTBlockScaledOp op,
                                PatternRewriter &rewriter) const override {
    if (Obstacle obstacle = findObstacle(op))
      return rewriter.notifyMatchFailure(op, llvm::to_string(*obstacle));
    ProductSizes sizes = getSizes(op);
    if (sizes.d == 1) {
      rewriter.replaceOp(op, createShared(rewriter, op, sizes));
      return success();
    }
    // One matrix of A has one of B, and several of B are as many as of A.
    if (!ShapedType::isDynamic(sizes.d) || sizes.n == 1) {
      rewriter.replaceOp(op, createPairs(rewriter, op));
      return success();
    }
    Location loc = op.getLoc();
    Value d = tensor::DimOp::create(rewriter, loc, op.getBData(), 0);
    Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
    Value isShared =
        arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq, d, one);
    auto branch = scf::IfOp::create(
        rewriter, loc, isShared,
        [&](OpBuilder &builder, Location loc) {
          scf::YieldOp::create(builder, loc, createShared(builder, op, sizes));
        },
        [&](OpBuilder &builder, Location loc) {
          scf::YieldOp::create(builder, loc, createPairs(builder, op));
        });
    rewriter.replaceOp(op, branch.getResults());
    return success();
  }

private:
  static Value createProduct(OpBuilder &builder, tosa::MatmulTBlockScaledOp op,
                             Type type, Value a, Value scaleA, Value b,
                             Value scaleB) {
    return ScaledMMOp::create(builder, op.getLoc(), type, a, b, scaleA, scaleB,
                              /*global_scale_a=*/Value(),
                              /*global_scale_b=*/Value(), /*bias=*/Value(),
                              getBlockAttr(builder, op.getBlockSize()),
                              /*global_scaling=*/GlobalScalingAttr(),
                              /*order=*/SumOrderAttr());
  }

  /// Each matrix of A times that of B.
  static Value createPairs(OpBuilder &builder, tosa::MatmulTBlockScaledOp op) {
    return createProduct(builder, op, op.getOutputData().getType(),
                         op.getAData(), op.getAScale(), op.getBData(),
                         op.getBScale());
  }

  /// The matrices of A below each other, times the only one of B.
  static Value createShared(OpBuilder &builder, tosa::MatmulTBlockScaledOp op,
                            const ProductSizes &sizes) {
    Location loc = op.getLoc();
    auto type = cast<RankedTensorType>(op.getOutputData().getType());
    bool areRowsKnown =
        !ShapedType::isDynamic(sizes.n) && !ShapedType::isDynamic(sizes.h);
    int64_t rows = areRowsKnown ? sizes.n * sizes.h : ShapedType::kDynamic;
    Value y = createProduct(builder, op, type.clone({rows, sizes.w}),
                            flattenRows(builder, loc, op.getAData()),
                            flattenRows(builder, loc, op.getAScale()),
                            flattenRows(builder, loc, op.getBData()),
                            flattenRows(builder, loc, op.getBScale()));
    SmallVector<ReassociationIndices> groups = {{0, 1}, {2}};
    auto known = type.clone({sizes.n, sizes.h, sizes.w});
    if (ShapedType::isDynamic(sizes.n) && ShapedType::isDynamic(sizes.h))
      y = tensor::ExpandShapeOp::create(
          builder, loc, known, y, groups,
          {tensor::getMixedSize(builder, loc, op.getAData(), 0),
           tensor::getMixedSize(builder, loc, op.getAData(), 1),
           tensor::getMixedSize(builder, loc, y, 1)});
    else
      y = tensor::ExpandShapeOp::create(builder, loc, known, y, groups);
    return known == type ? y : tensor::CastOp::create(builder, loc, type, y);
  }
};

struct FromTosaPass : public impl::FromTosaBase<FromTosaPass> {
  void runOnOperation() override {
    if (failed(replaceMxInt8(getOperation())))
      return signalPassFailure();
    RewritePatternSet patterns(&getContext());
    populateFromTosaPatterns(patterns);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
    if (failed(verifyNoBlockScaledTosa(getOperation())))
      signalPassFailure();
  }
};

} // namespace

void populateFromTosaPatterns(RewritePatternSet &patterns) {
  patterns.add<ConvertCastTo, ConvertCastFrom, ConvertMatmul>(
      patterns.getContext());
}

} // namespace blockscale
