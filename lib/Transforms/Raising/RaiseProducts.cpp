//===- RaiseProducts.cpp - Products of dequantized operands ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Transforms/RaiseProducts.h"
#include "BlockShapes.h"
#include "FloatText.h"
#include "RaisedFactor.h"
#include "blockscale/Analysis/ElementwiseBody.h"
#include "blockscale/Analysis/Fusion/FusionLegality.h"
#include "blockscale/IR/PassOptions.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Numerics/BlockFormat.h"
#include "blockscale/Numerics/Dequantize.h"
#include "blockscale/Target/Chip.h"
#include "blockscale/Transforms/Passes.h"
#include "blockscale/Transforms/ProductScales.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_RAISEPRODUCTS
#include "blockscale/Transforms/Passes.h.inc"

namespace {

/// Which operands of a `scaled_mm` have scales, and whether a global scale
/// multiplies elements of the only one rather than sums.
struct Form {
  bool hasScaleA, hasScaleB;
  bool scalesElements = false;
};

} // namespace

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
  if (hasMatrixResult(op))
    return std::nullopt;
  return FusionObstacle{"raise_c2", "a result of M rows and N columns",
                        "the map " +
                            llvm::to_string(op.getIndexingMapsArray().back())};
}

/// raise_c1 and raise_c2, of one factor, which is B if `isB`.
static std::optional<FusionObstacle>
findMatrixObstacle(const RaisedFactor &factor, bool isB) {
  // Others may be no tensors.
  if (factor.kind == RaisedFactor::Kind::Other)
    return FusionObstacle{"raise_c2", "operands of the rank of the result",
                          "one that is broadcast"};
  if (factor.getType().getEncoding())
    return FusionObstacle{"raise_c1", "operands without an encoding",
                          llvm::to_string(factor.getType())};
  if (DequantizeOp dequantize = factor.dequantize;
      dequantize && !hasKernelOrder(dequantize.getScale().getType()))
    return FusionObstacle{
        "raise_c1", "scales that are linear or in the layout swizzle_128x4",
        llvm::to_string(dequantize.getScale().getType())};
  if (factor.kind == RaisedFactor::Kind::Shared && !isB)
    return FusionObstacle{"raise_c2", "an A of the rank of the result",
                          "one that is broadcast"};
  return std::nullopt;
}

/// raise_c2, of an A whose leading dimensions are flattened into its rows, as B
/// is one matrix for all of them.
static std::optional<FusionObstacle> findFlatObstacle(linalg::LinalgOp op,
                                                      const RaisedFactor &a) {
  if (a.isTransposed)
    return FusionObstacle{"raise_c2", "an A with rows along K beside one B",
                          "a transposed one"};
  DequantizeOp dequantize = a.dequantize;
  if (dequantize && !getScaleLayout(dequantize.getScale().getType()).isLinear())
    return FusionObstacle{"raise_c2", "linear scales of an A beside one B",
                          llvm::to_string(dequantize.getScale().getType())};
  if (dequantize && dequantize.getGlobalScale())
    if (auto type =
            dyn_cast<RankedTensorType>(dequantize.getGlobalScale().getType());
        type && type.getRank() != 0)
      return FusionObstacle{"raise_c2", "one global scale of an A beside one B",
                            llvm::to_string(type)};
  // MLIR 22 crashes where it lowers an expand_shape of one dimension to several
  // of unknown size.
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (llvm::count_if(type.getShape().drop_back(), ShapedType::isDynamic) > 1)
    return FusionObstacle{"raise_c2",
                          "at most one dynamic size of the rows of all "
                          "matrices of A beside one B",
                          llvm::to_string(type)};
  return std::nullopt;
}

/// raise_c2, raise_c3 and raise_c4, of a factor whose data and scales are to be
/// read; `otherK` is the size of K as the other operand knows it.
static std::optional<FusionObstacle>
findScaledObstacle(const RaisedFactor &factor, int64_t otherK) {
  DequantizeOp op = factor.dequantize;
  if (!op.hasRowBlocks())
    return FusionObstacle{"raise_c3", "blocks of one row",
                          llvm::formatv("[{0}, {1}]", op.getBlock().front(),
                                        op.getBlock().back())};
  if (factor.isTransposed)
    return FusionObstacle{"raise_c2", "blocks along K",
                          "blocks along its rows"};
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

/// Whether the factor's codes and scales may be of several origins.
static bool hasUncheckedOrigins(const RaisedFactor &factor) {
  DequantizeOp op = factor.dequantize;
  return op && op.getUncheckedOrigins();
}

/// Whether the values of every code and scale are exact in the type that `op`
/// gives them, if its global scale is `global`.
static bool isExactWith(DequantizeOp op, float global) {
  Type type = op.getResult().getType().getElementType();
  const llvm::fltSemantics &semantics =
      cast<FloatType>(type).getFloatSemantics();
  Type data = op.getData().getType().getElementType();
  numerics::ElementFormat format = getElementFormat(data);
  numerics::Recipe recipe =
      getArithmetic(op.getEffectiveRecipe(),
                    op.getScale().getType().getElementType(), data, type);
  // The positive codes and scales, but for the scale that is NaN.
  for (uint8_t byte = 1; byte < 0x7F; ++byte)
    for (uint8_t code = 1; code < 8; ++code) {
      float value =
          numerics::dequantizeElement(recipe, format, code, byte, global);
      // Six significant bits and 24 of the global scale, so f64 holds it.
      double exact = double(numerics::decode(format, code)) *
                     numerics::decodeScale(numerics::ScaleFormat::E4M3, byte) *
                     global;
      bool isRounded = value != exact;
      llvm::APFloat rounded(value);
      if (!isRounded)
        rounded.convert(semantics, llvm::APFloat::rmNearestTiesToEven,
                        &isRounded);
      if (isRounded)
        return false;
    }
  return true;
}

/// The constant that all numbers of a global scale are, if it is in the range
/// in which products with it neither overflow nor lose bits.
static std::optional<float> getModerateConstant(Value global) {
  auto constant = dyn_cast_if_present<FloatAttr>(getUniformConstant(global));
  if (!constant)
    return std::nullopt;
  float value = constant.getValue().convertToFloat();
  return value >= 0x1p-40f && value <= 0x1p40f ? std::optional(value)
                                               : std::nullopt;
}

/// raise_c3, of a factor with a global operand beside `other`; `isPair` if both
/// are read as data and scales.
static std::optional<FusionObstacle>
findGlobalObstacle(const RaisedFactor &factor, const RaisedFactor &other,
                   bool isPair, bool exact) {
  DequantizeOp op = factor.dequantize;
  if (op.getGlobalAmax())
    return FusionObstacle{"raise_c3", "a global scale or none",
                          "a global amax"};
  Value global = op.getGlobalScale();
  if (!global)
    return std::nullopt;
  Type type = op.getResult().getType().getElementType();
  std::optional<float> constant = getModerateConstant(global);
  if (!exact && type.isF32())
    return std::nullopt;
  if (!constant)
    return FusionObstacle{
        "raise_c3",
        "no global scale, or a constant from 2^-40 to 2^40 with which all "
        "values are exact in " +
            llvm::to_string(type),
        getUniformConstant(global) ? "another constant"
                                   : llvm::to_string(global.getType())};
  if (!isExactWith(op, *constant))
    return FusionObstacle{"raise_c3",
                          "a global scale with which all values are exact in " +
                              llvm::to_string(type),
                          formatFloat(*constant) +
                              ", with which some are rounded"};
  if (exact && !isPair && !other.getElementType().isF16())
    return FusionObstacle{"raise_c3",
                          "another operand of f16 or NVFP4 beside a global "
                          "scale, as sums without the scale may overflow",
                          llvm::to_string(other.getElementType())};
  return std::nullopt;
}

/// Whether the values of a factor are of a narrow type and have a global scale,
/// which may multiply elements then.
static bool mayScaleElements(const RaisedFactor &factor) {
  DequantizeOp op = factor.dequantize;
  return op && op.getGlobalScale() && !factor.getElementType().isF32();
}

/// raise_c8, of a factor whose elements its global scale is to multiply beside
/// `plain`.
static std::optional<FusionObstacle>
findElementsObstacle(const RaisedFactor &factor, const RaisedFactor &plain) {
  DequantizeOp op = factor.dequantize;
  Type type = factor.getElementType();
  if (type != plain.getElementType())
    return FusionObstacle{"raise_c8",
                          "another operand of " + llvm::to_string(type) +
                              " beside a global scale, with which values are "
                              "rounded to that type",
                          llvm::to_string(plain.getElementType())};
  if (!numerics::dequantizesAsProducts(op.getArithmetic()))
    return FusionObstacle{"raise_c8",
                          "a recipe that multiplies the scale of a block by "
                          "the global scale before it multiplies elements",
                          stringifyRecipe(op.getEffectiveRecipe()).str()};
  if (op.getGlobalOperand().extent == GlobalExtent::Row)
    return FusionObstacle{"raise_c8",
                          "one global scale for all rows of a matrix",
                          llvm::to_string(op.getGlobalScale().getType())};
  if (!feedsProductsOnly(op.getResult()))
    return FusionObstacle{"raise_c8", "values that products alone take",
                          "another use"};
  return std::nullopt;
}

static numerics::ScaleFormat getScaleFormat(DequantizeOp op) {
  return getScaleFormat(op.getScale().getType().getElementType());
}

static bool isNvfp4(DequantizeOp op) {
  return getScaleFormat(op) == numerics::ScaleFormat::E4M3;
}

static std::string describeFormat(DequantizeOp op) {
  return llvm::formatv("{0} with {1} scales",
                       op.getData().getType().getElementType(),
                       op.getScale().getType().getElementType());
}

/// raise_c5 of two dequantized factors.
static std::optional<FusionObstacle>
findPairObstacle(const RaisedFactor &a, const RaisedFactor &b,
                 const RaiseProductRules &rules) {
  DequantizeOp left = a.dequantize, right = b.dequantize;
  Type data = left.getData().getType().getElementType();
  Type other = right.getData().getType().getElementType();
  if (left.getBlock() != right.getBlock() || data != other)
    return FusionObstacle{"raise_c5", "two operands in one format",
                          describeFormat(left) + " and " +
                              describeFormat(right)};
  for (DequantizeOp op : {left, right}) {
    if (isNvfp4(op) ||
        (!rules.exact && !op.getResult().getType().getElementType().isF16()))
      continue;
    return FusionObstacle{
        "raise_c5", "two operands in NVFP4",
        llvm::to_string(op.getScale().getType().getElementType()) + " scales"};
  }
  return std::nullopt;
}

/// Whether the results of `op`, rounded to `plain`, are data times scales
/// rounded to `plain` once; at the ends of bf16's range only if `exact`.
static bool roundsOnce(DequantizeOp op, Type plain, bool exact) {
  Type result = op.getResult().getType().getElementType();
  numerics::ElementFormat format =
      getElementFormat(op.getData().getType().getElementType());
  return isNvfp4(op) || result == plain ||
         (result.isF32() && plain.isBF16() &&
          (!exact || numerics::isExactInBF16(format, getScaleFormat(op))));
}

/// raise_c5 and raise_c6, of the dequantized `factor` beside `plain`.
static std::optional<FusionObstacle>
findPlainObstacle(const RaisedFactor &factor, const RaisedFactor &plain,
                  const RaiseProductRules &rules) {
  DequantizeOp op = factor.dequantize;
  Type type = plain.getElementType();
  if (!type.isBF16() && !(type.isF16() && isNvfp4(op)))
    return FusionObstacle{"raise_c5",
                          isNvfp4(op) ? "another operand of bf16 or f16"
                                      : "another operand of bf16",
                          llvm::to_string(type)};
  if (roundsOnce(op, type, rules.exact))
    return std::nullopt;
  return FusionObstacle{
      "raise_c6",
      llvm::formatv("values of {0} with {1} scales dequantized to {2}",
                    op.getData().getType().getElementType(),
                    op.getScale().getType().getElementType(), type),
      llvm::to_string(op.getResult().getType().getElementType())};
}

/// The size of K as one of the operands knows it.
static int64_t getKnownK(const RaisedFactor &a, const RaisedFactor &b) {
  return ShapedType::isDynamic(a.getK()) ? b.getK() : a.getK();
}

/// raise_c7, of two plain factors.
static std::optional<FusionObstacle>
findPlainPairObstacle(const RaisedFactor &a, const RaisedFactor &b) {
  Type type = a.getElementType();
  if (type != b.getElementType() || !isa<BFloat16Type, Float16Type>(type))
    return FusionObstacle{"raise_c7", "two operands of bf16 or two of f16",
                          llvm::to_string(type) + " and " +
                              llvm::to_string(b.getElementType())};
  int64_t k = getKnownK(a, b);
  if (ShapedType::isDynamic(k) || k >= kPlainBlockSize)
    return std::nullopt;
  return FusionObstacle{"raise_c7",
                        llvm::formatv("a K of {0} or more", kPlainBlockSize),
                        llvm::to_string(k)};
}

/// Why `op` is not a `scaled_mm` of that form, if it is not.
static std::optional<FusionObstacle>
findFormObstacle(linalg::LinalgOp op, const RaisedFactor &a,
                 const RaisedFactor &b, const Form &form,
                 const RaiseProductRules &rules) {
  if (auto obstacle = findSumObstacle(op))
    return obstacle;
  if (auto obstacle = findResultObstacle(op))
    return obstacle;
  if (auto obstacle = findMatrixObstacle(a, /*isB=*/false))
    return obstacle;
  if (auto obstacle = findMatrixObstacle(b, /*isB=*/true))
    return obstacle;
  if (b.kind == RaisedFactor::Kind::Shared)
    if (auto obstacle = findFlatObstacle(op, a))
      return obstacle;
  bool isPair = form.hasScaleA && form.hasScaleB;
  for (bool isB : {false, true}) {
    if (!(isB ? form.hasScaleB : form.hasScaleA))
      continue;
    const RaisedFactor &factor = isB ? b : a, &other = isB ? a : b;
    if (auto obstacle = findScaledObstacle(factor, other.getK()))
      return obstacle;
    if (auto obstacle =
            form.scalesElements
                ? findElementsObstacle(factor, other)
                : findGlobalObstacle(factor, other, isPair, rules.exact))
      return obstacle;
  }
  if (isPair)
    return findPairObstacle(a, b, rules);
  if (!form.hasScaleA && !form.hasScaleB)
    return findPlainPairObstacle(a, b);
  return form.hasScaleB ? findPlainObstacle(b, a, rules)
                        : findPlainObstacle(a, b, rules);
}

//===----------------------------------------------------------------------===//
// The rewrite
//===----------------------------------------------------------------------===//

/// Says why a product of plain operands takes no kernel of products.
static void remarkPlain(linalg::LinalgOp op, const FusionObstacle &obstacle) {
  remark::missed(op.getLoc(),
                 remark::RemarkOpts::name("plain").category("gpu-launch"))
      << remark::add("'{0}' is not computed on tensor cores {1}",
                     op->getName().getStringRef().str(),
                     llvm::to_string(obstacle));
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
/// and the same for A, for both, for batch_matmul, and for a linalg.generic of
/// the same loops. A global scale with which values are rounded multiplies
/// elements (`global_scaling in_elements`). A plain operand whose rows run
/// along its last dimension is transposed; beside another plain one it is
/// MN-major where its rows have a static length. If all matrices of A are
/// multiplied by one B, they are one matrix:
///
/// %w = linalg.broadcast ins(%b : tensor<NxKxbf16>) .. dimensions = [0]
/// %y = linalg.batch_matmul .. ins(%a, %w) ..
///   ->  %f = tensor.collapse_shape %a [[0, 1], [2]] : .. into tensor<?xKxbf16>
///       %z = blockscale.scaled_mm %f, ..
///       %y = tensor.expand_shape %z [[0, 1], [2]] ..
struct RaiseProduct : public OpInterfaceRewritePattern<linalg::LinalgOp> {
  RaiseProduct(MLIRContext *context, const RaiseProductRules &rules)
      : OpInterfaceRewritePattern(context), rules(rules) {}

  LogicalResult matchAndRewrite(linalg::LinalgOp op,
                                PatternRewriter &rewriter) const override {
    if (!isProductByLinalg(op))
      return rewriter.notifyMatchFailure(op, "not a product");
    if (!op.hasPureTensorSemantics())
      return rewriter.notifyMatchFailure(op, "operands are buffers");
    if (op->getParentOfType<KernelOp>())
      return rewriter.notifyMatchFailure(op, "a kernel's operands are fixed");
    RaisedFactor a = getRaisedFactor(op, 0), b = getRaisedFactor(op, 1);
    std::optional<FusionObstacle> first;
    for (const Form &form : {Form{true, true},
                             {false, true},
                             {true, false},
                             Form{false, true, /*scalesElements=*/true},
                             Form{true, false, /*scalesElements=*/true},
                             {false, false}}) {
      bool isPlain = !form.hasScaleA && !form.hasScaleB;
      if ((form.hasScaleA && !a.dequantize) ||
          (form.hasScaleB && !b.dequantize) || (isPlain && !rules.plain) ||
          (form.scalesElements && !mayScaleElements(form.hasScaleA ? a : b)))
        continue;
      auto obstacle = findFormObstacle(op, a, b, form, rules);
      if (!obstacle) {
        // Its kernel reads what is dequantized, which another one stores.
        if (first && (form.hasScaleA != bool(a.dequantize) ||
                      form.hasScaleB != bool(b.dequantize)))
          op.emitRemark("does not read codes " + llvm::to_string(*first));
        create(rewriter, op, a, b, form);
        return success();
      }
      // Of the places of a global scale the last one counts.
      if (!first || form.scalesElements)
        first = obstacle;
    }
    if (!first)
      return rewriter.notifyMatchFailure(op, "no operand is dequantized");
    // A product of plain operands keeps what it has, a plain kernel.
    if (!a.dequantize && !b.dequantize) {
      remarkPlain(op, *first);
      return rewriter.notifyMatchFailure(op, "a clause is not met");
    }
    op.emitRemark("is not computed as scaled_mm " + llvm::to_string(*first));
    return rewriter.notifyMatchFailure(op, "a clause is not met");
  }

private:
  static void create(PatternRewriter &rewriter, linalg::LinalgOp op,
                     RaisedFactor a, RaisedFactor b, const Form &form) {
    Location loc = op.getLoc();
    Value scaleA, scaleB, globalA, globalB;
    auto block = rewriter.getDenseI64ArrayAttr({1, kPlainBlockSize});
    auto readScaled = [&](RaisedFactor &factor, Value &scale, Value &global) {
      DequantizeOp dequantize = factor.dequantize;
      factor.source = dequantize.getData();
      scale = dequantize.getScale();
      global = dequantize.getGlobalScale();
      block = dequantize.getBlockAttr();
    };
    if (form.hasScaleA)
      readScaled(a, scaleA, globalA);
    if (form.hasScaleB)
      readScaled(b, scaleB, globalB);
    bool isPlain = !form.hasScaleA && !form.hasScaleB;
    bool isMnMajorA = isPlain && hasMnMajorKernels(a);
    bool isMnMajorB = isPlain && hasMnMajorKernels(b);
    Value rowsA = isMnMajorA ? a.source : createRows(rewriter, loc, a);
    Value rowsB = isMnMajorB ? b.source : createRows(rewriter, loc, b);
    if (isPlain) {
      int64_t k = getKnownK(a, b);
      rowsA = createBlocks(rewriter, loc, rowsA, k, isMnMajorA);
      rowsB = createBlocks(rewriter, loc, rowsB, k, isMnMajorB);
    }
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    RankedTensorType flat = type;
    bool flattens = b.kind == RaisedFactor::Kind::Shared;
    if (flattens) {
      rowsA = flattenRows(rewriter, loc, rowsA);
      if (scaleA)
        scaleA = flattenRows(rewriter, loc, scaleA);
      flat = tensor::CollapseShapeOp::inferCollapsedType(
          type, getRowReassociation(type.getRank()));
    }
    GlobalScalingAttr scaling;
    if (form.scalesElements)
      scaling = GlobalScalingAttr::get(rewriter.getContext(),
                                       GlobalScaling::InElements);
    bool isUnchecked = hasUncheckedOrigins(a) || hasUncheckedOrigins(b);
    Value y = ScaledMMOp::create(
        rewriter, loc, flat, rowsA, rowsB, scaleA, scaleB, globalA, globalB,
        /*bias=*/Value(), block, scaling, /*order=*/SumOrderAttr(),
        isUnchecked ? rewriter.getUnitAttr() : UnitAttr(),
        isMnMajorA ? rewriter.getUnitAttr() : UnitAttr(),
        isMnMajorB ? rewriter.getUnitAttr() : UnitAttr());
    if (flattens)
      y = tensor::ExpandShapeOp::create(
          rewriter, loc, type, y, getRowReassociation(type.getRank()),
          tensor::getMixedSizes(rewriter, loc, op.getDpsInits().front()));
    rewriter.replaceOp(op, y);
  }

  /// Whether kernels read the rows of a transposed factor, along M or N, as
  /// they are: those whose length is known, as copies need some multiple.
  static bool hasMnMajorKernels(const RaisedFactor &factor) {
    return factor.isTransposed &&
           !ShapedType::isDynamic(factor.getType().getShape().back());
  }

  /// Whole blocks of plain elements along K: the `k` elements of `rows`, and
  /// zeros behind them, of whose products sums do not change.
  static Value createBlocks(PatternRewriter &rewriter, Location loc, Value rows,
                            int64_t k, bool isMnMajor) {
    if (!ShapedType::isDynamic(k) && k % kPlainBlockSize == 0)
      return rows;
    AffineExpr size = rewriter.getAffineDimExpr(0);
    AffineMap missing = AffineMap::get(
        1, 0, size.ceilDiv(kPlainBlockSize) * kPlainBlockSize - size);
    auto type = cast<RankedTensorType>(rows.getType());
    int64_t dim = type.getRank() - (isMnMajor ? 2 : 1);
    SmallVector<OpFoldResult> low(type.getRank(), rewriter.getIndexAttr(0));
    SmallVector<OpFoldResult> high(low);
    high[dim] = affine::makeComposedFoldedAffineApply(
        rewriter, loc, missing, tensor::getMixedSize(rewriter, loc, rows, dim));
    SmallVector<int64_t> shape(type.getShape());
    if (!ShapedType::isDynamic(shape[dim]))
      shape[dim] = llvm::alignTo(shape[dim], kPlainBlockSize);
    Value zero = arith::ConstantOp::create(
        rewriter, loc, rewriter.getZeroAttr(type.getElementType()));
    return tensor::PadOp::create(rewriter, loc, type.clone(shape), rows, low,
                                 high, zero);
  }

  RaiseProductRules rules;
};

/// The rows of dequantized matrices are flattened, or split into matrices,
/// before they are dequantized, so that a product finds them:
///
///   %x = blockscale.dequantize %q, %s : .. -> tensor<BxSxKxbf16>
///   %y = tensor.collapse_shape %x [[0, 1], [2]] : .. into tensor<?xKxbf16>
/// becomes
///   %d = tensor.collapse_shape %q [[0, 1], [2]]
///   %t = tensor.collapse_shape %s [[0, 1], [2]]
///   %y = blockscale.dequantize %d, %t : .. -> tensor<?xKxbf16>
///
/// and so with expand_shape. Blocks are of one row, so that they stay the same.
template <typename OpTy>
struct ReshapeBeforeDequantize : public OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    auto dequantize = op.getSrc().template getDefiningOp<DequantizeOp>();
    if (!dequantize)
      return rewriter.notifyMatchFailure(op, "the source is not dequantized");
    if (!dequantize.getResult().hasOneUse())
      return rewriter.notifyMatchFailure(op, "the values have other uses");
    if (!dequantize.hasRowBlocks())
      return rewriter.notifyMatchFailure(op, "blocks of several rows");
    if (op.getResultType().getRank() < 2 || op.getSrcType().getRank() < 2)
      return rewriter.notifyMatchFailure(op, "not between matrices");
    if (op.getReassociationIndices().back().size() != 1)
      return rewriter.notifyMatchFailure(op, "the last dimension changes");
    if (!getScaleLayout(dequantize.getScale().getType()).isLinear())
      return rewriter.notifyMatchFailure(op, "the scales have a layout");
    if (Value global = dequantize.getGlobal())
      if (auto type = dyn_cast<RankedTensorType>(global.getType());
          type && type.getRank() != 0)
        return rewriter.notifyMatchFailure(op, "several global scales");
    Location loc = op.getLoc();
    Value data = createRowReshape(rewriter, op, dequantize.getData());
    Value scale = createRowReshape(rewriter, op, dequantize.getScale());
    auto reshaped = DequantizeOp::create(
        rewriter, loc, op.getResultType(), data, scale,
        dequantize.getGlobalScale(), dequantize.getGlobalAmax(),
        dequantize.getBlockAttr(), dequantize.getRecipeAttr(),
        dequantize.getUncheckedOriginsAttr());
    rewriter.replaceOp(op, reshaped);
    return success();
  }
};

struct RaiseProductsPass : public impl::RaiseProductsBase<RaiseProductsPass> {
  using RaiseProductsBase::RaiseProductsBase;

  LogicalResult initialize(MLIRContext *context) override {
    return chip.empty() ? success() : verifyChipOption(context, chip);
  }

  void runOnOperation() override {
    const target::Chip *target = target::findChip(chip);
    if (target && !target->hasProducts())
      return;
    RewritePatternSet patterns(&getContext());
    // Drops global scales of 1.0.
    DequantizeOp::getCanonicalizationPatterns(patterns, &getContext());
    RaiseProductRules rules;
    rules.exact = exact;
    rules.plain = target != nullptr;
    populateRaiseProductPatterns(patterns, rules);
    populateFoldProductScalePatterns(patterns);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace

void populateRaiseProductPatterns(RewritePatternSet &patterns,
                                  const RaiseProductRules &rules) {
  patterns.add<ReshapeBeforeDequantize<tensor::CollapseShapeOp>,
               ReshapeBeforeDequantize<tensor::ExpandShapeOp>>(
      patterns.getContext());
  patterns.add<RaiseProduct>(patterns.getContext(), rules);
}

} // namespace blockscale
