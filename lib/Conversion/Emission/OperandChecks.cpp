//===- OperandChecks.cpp - Rules that only run-time sizes break -----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OperandChecks.h"
#include "blockscale/Numerics/Hadamard.h"
#include "blockscale/Numerics/Philox.h"
#include "blockscale/Numerics/ScaleSweep.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"

using namespace mlir;
using blockscale::numerics::kHadamardSize;
using blockscale::numerics::kSweepBlock;

namespace blockscale::emit {

/// Requires offsets with an end for each group of the layout of `scale`, where
/// this has a static number of them.
static void requireGroups(CallSite &site, StringRef name, Value scale,
                          Value offsets) {
  LayoutAttr layout = scale ? getGroupedLayout(scale.getType()) : LayoutAttr();
  if (layout && offsets && !layout.hasDynamicGroups())
    site.requireSizes("offsets", offsets,
                      {site.b.getIndexAttr(layout.getGroups())},
                      "the layout of " + name);
}

void requireOperands(AmaxOp op, CallSite &site) {
  CallSite::Sizes sizes = site.getSizes(op.getX());
  if (Value offsets = op.getOffsets()) {
    site.requireSizes("the result", op.getAmax(), site.getSizes(offsets),
                      "offsets");
    return;
  }
  site.requireGlobalSizes(
      "the result", op.getAmax(),
      ArrayRef<OpFoldResult>(sizes).drop_back(op.isPerRow() ? 1 : 2), "x");
}

/// The number of parts is static, and x may have any sizes.
void requireOperands(AmaxPartsOp, CallSite &) {}

void requireOperands(DequantizeOp op, CallSite &site) {
  ImplicitLocOpBuilder &b = site.b;
  CallSite::Sizes sizes = site.getSizes(op.getResult());
  ArrayRef<int64_t> block = op.getBlock();
  if (!acceptsTails(op.getEffectiveRecipe())) {
    site.requireMultiple(sizes.end()[-2], block[0],
                         "the second-to-last dimension of the result");
    site.requireMultiple(sizes.back(), block[1],
                         "the last dimension of the result");
  }
  site.requireSizes("data", op.getData(), sizes, "the result");
  site.requireSizes("scale", op.getScale(),
                    getScaleSizes(b, b.getLoc(), sizes, op.getScaleForm()),
                    "the result");
  bool hasRowGlobals = op.getGlobalOperand().extent == GlobalExtent::Row;
  ArrayRef<OpFoldResult> leading =
      ArrayRef<OpFoldResult>(sizes).drop_back(hasRowGlobals ? 1 : 2);
  site.requireGlobalSizes("global_scale", op.getGlobalScale(), leading,
                          "the result");
  site.requireGlobalSizes("global_amax", op.getGlobalAmax(), leading,
                          "the result");
}

OpFoldResult getExpandedRows(ImplicitLocOpBuilder &b, ExpandScaleOp op,
                             Value size) {
  ArrayRef<int64_t> shape = op.getResult().getType().getShape();
  return size ? OpFoldResult(size) : b.getIndexAttr(shape[shape.size() - 2]);
}

void requireOperands(ExpandScaleOp op, CallSite &site) {
  ImplicitLocOpBuilder &b = site.b;
  bool isAlongK = op.getScaleDim() == ScaleDim::K;
  OpFoldResult expanded = getExpandedRows(b, op, site.lookup(op.getSize()));
  OpFoldResult blocks =
      getAsOpFoldResult(ceilDiv(b, toIndex(b, expanded), op.getBlock()[0]));
  CallSite::Sizes source = site.getSizes(op.getSource());
  CallSite::Sizes result = source;
  if (!isAlongK)
    std::swap(result.end()[-2], result.end()[-1]);
  result.end()[-2] = expanded;
  (isAlongK ? source.end()[-2] : source.end()[-1]) = blocks;
  site.requireSizes("source", op.getSource(), source, "the result");
  site.requireSizes("the result", op.getResult(), result, "source");
}

void requireOperands(GlobalScaleOp op, CallSite &site) {
  site.requireSizes("the result", op.getScale(), site.getSizes(op.getAmax()),
                    "the amax");
}

void requireOperands(HadamardOp op, CallSite &site) {
  CallSite::Sizes sizes = site.getSizes(op.getX());
  site.requireMultiple(op.getDim() == 1 ? sizes.back() : sizes.end()[-2],
                       kHadamardSize, "the transformed dimension of x");
  site.requireSizes("the result", op.getResult(), sizes, "x");
}

void requireOperands(PadGroupsOp op, CallSite &site) {
  ImplicitLocOpBuilder &b = site.b;
  CallSite::Sizes sizes = site.getSizes(op.getX());
  CallSite::Sizes groups = site.getSizes(op.getOffsets());
  sizes.front() = getPaddedRows(b, b.getLoc(), sizes.front(), groups.front(),
                                static_cast<int64_t>(op.getUnit()));
  site.requireBelow(sizes.front(), kMostPaddedRows + 1,
                    "the number of rows of the result");
  site.requireSizes("the result", op.getPadded(), sizes, "x and offsets");
  site.requireSizes("ends", op.getEnds(), groups, "offsets");
}

void requireOperands(PrepackOp op, CallSite &site) {
  bool toBlocks = isPrepacked(op.getResult().getType());
  Value rowMajor = toBlocks ? op.getSource() : op.getResult();
  site.requireSizes(toBlocks ? "the result" : "source",
                    toBlocks ? op.getResult() : op.getSource(),
                    site.getDataSizes(rowMajor, rowMajor),
                    toBlocks ? "source" : "the result");
}

/// The sizes of the data of an x of sizes `sizes`.
CallSite::Sizes getDataSizes(QuantizeOp op, CallSite::Sizes sizes) {
  if (op.getTransposed())
    std::swap(sizes.end()[-2], sizes.end()[-1]);
  return sizes;
}

void requireOperands(QuantizeOp op, CallSite &site) {
  ImplicitLocOpBuilder &b = site.b;
  CallSite::Sizes sizes = site.getSizes(op.getX());
  CallSite::Sizes globals(ArrayRef<OpFoldResult>(sizes).drop_back(2));
  if (op.getGlobalOperand().extent == GlobalExtent::Row)
    globals.push_back(sizes.end()[-2]);
  if (op.getOffsets())
    globals = site.getSizes(op.getOffsets());
  if (!acceptsTails(op.getEffectiveRecipe())) {
    site.requireMultiple(sizes.end()[-2], op.getBlock()[0],
                         "the second-to-last dimension of x");
    site.requireMultiple(sizes.back(), op.getBlock()[1],
                         "the last dimension of x");
  }
  CallSite::Sizes scales =
      getScaleSizes(b, b.getLoc(), sizes, op.getScaleForm());
  site.requireSizes("data", op.getData(), getDataSizes(op, sizes), "x");
  OpFoldResult groups = op.getOffsets() ? globals.front() : OpFoldResult();
  site.requireSizes("scale", op.getScale(), scales, "x", groups);
  StringRef source = op.getOffsets() ? "offsets" : "x";
  site.requireGlobalSizes("global_scale", op.getGlobalScale(), globals, source);
  site.requireGlobalSizes("global_amax", op.getGlobalAmax(), globals, source);
  site.requireSizes("block_amax", op.getBlockAmax(), scales, "x");
  // A place is there by the type alone.
  if (!op.hasRandomPlace())
    site.requireSizes("rng", op.getRng(),
                      {b.getIndexAttr(numerics::kRandomNumbers)},
                      "a seed and an offset");
  requireGroups(site, "scale", op.getScale(), op.getOffsets());
}

void requireOperands(ScaleSweepOp op, CallSite &site) {
  CallSite::Sizes sizes = site.getSizes(op.getX());
  ImplicitLocOpBuilder &b = site.b;
  site.requireMultiple(sizes.back(), kSweepBlock, "the last dimension of x");
  CallSite::Sizes blocks = getScaleSizes(b, b.getLoc(), sizes, kSweepBlock);
  site.requireSizes("the result", op.getBlockAmax(), blocks, "x");
  site.requireGlobalSizes("global_amax", op.getGlobalAmax(),
                          ArrayRef<OpFoldResult>(sizes).drop_back(2), "x");
  OpFoldResult side = b.getIndexAttr(kSweepBlock);
  site.requireSizes("hessian", op.getHessian(), {blocks.back(), side, side},
                    "x");
}

namespace {

/// The sizes that the matrices of a product have to have.
struct ProductSizes {
  CallSite::Sizes a, b, result;
};

} // namespace

LogicalResult verifyRowMajor(ProductOpInterface op) {
  for (Value data : {op.getA(), op.getB()})
    if (isPrepacked(data.getType()))
      return op.emitOpError()
             << "expected row-major data (blockscale-unpack-product-data makes "
                "it), but got "
             << data.getType();
  return success();
}

LogicalResult verifyKMajor(ProductOpInterface op) {
  for (auto [name, isMnMajor, ofB] : {std::tuple("a", op.getMnMajorA(), false),
                                      std::tuple("b", op.getMnMajorB(), true)})
    if (isMnMajor)
      return op.emitOpError() << "expected a K-major " << name << " ("
                              << (hasMnMajorScales(op, ofB)
                                      ? "blockscale-decode-product-operands "
                                        "makes it plain"
                                      : "blockscale-unpack-product-data "
                                        "makes it")
                              << "), but got mn_major_" << name;
  return success();
}

LogicalResult verifyChangesLayout(PrepackOp op) {
  if (!getUnchangedSource(op))
    return success();
  return op.emitOpError() << "expected another layout than that of the source "
                             "(canonicalization drops the op), but got "
                          << op.getType();
}

/// Rows of the data of `op`, M or N, which are at `resultDim` of the result:
/// prepacked data do not tell them.
static OpFoldResult getDataRows(CallSite &site, ProductOpInterface op,
                                Value data, int64_t resultDim) {
  RankedTensorType type = getTensorType(data);
  int64_t dim = getProductDims(op, /*ofB=*/data == op.getB()).rows;
  if (!type.isDynamicDim(dim))
    return site.b.getIndexAttr(type.getDimSize(dim));
  if (isPrepacked(type))
    return site.getSizes(op.getResult())[resultDim];
  // Of packed data, memory has another last size.
  return dim + 1 == type.getRank() ? site.getDataSizes(data, data).back()
                                   : site.getSizes(data)[dim];
}

/// Sizes [.., rows, K] in the order of the data of B, or of A, and back.
static CallSite::Sizes orderSizes(ProductOpInterface op, bool ofB,
                                  CallSite::Sizes sizes) {
  if (ofB ? op.getMnMajorB() : op.getMnMajorA())
    std::swap(sizes.end()[-2], sizes.end()[-1]);
  return sizes;
}

CallSite::Sizes getSizesOfA(const CallSite &site, ProductOpInterface op) {
  Value a = op.getA(), b = op.getB();
  if (op.getMnMajorA())
    return orderSizes(op, /*ofB=*/false, site.getSizes(a));
  // An MN-major B has its K elsewhere, and no data that hide it.
  return site.getDataSizes(a, op.getMnMajorB() ? a : b);
}

/// Requires the sizes of the data, the scales and the result of a product;
/// those of b follow from `sourceOfB`.
static void requireMatrices(CallSite &site, ProductOpInterface op,
                            const ProductSizes &sizes, StringRef sourceOfB,
                            OpFoldResult groups = {}) {
  ImplicitLocOpBuilder &b = site.b;
  int64_t blockSize = op.getBlockSize();
  CallSite::Sizes ofA = orderSizes(op, /*ofB=*/false, sizes.a);
  CallSite::Sizes ofB = orderSizes(op, /*ofB=*/true, sizes.b);
  site.requireMultiple(sizes.a.back(), getDepthUnit(op),
                       op.getMnMajorA() ? "K" : "the last dimension of a");
  if (hasMnMajorScales(op, /*ofB=*/false))
    site.requireMultiple(ofA.back(), blockSize, "the last dimension of a");
  if (hasMnMajorScales(op, /*ofB=*/true))
    site.requireMultiple(ofB.back(), blockSize, "the last dimension of b");
  site.requireSizes("a", op.getA(), ofA, "b");
  site.requireSizes("b", op.getB(), ofB, sourceOfB);
  site.requireSizes("scale_a", op.getScaleA(),
                    getScaleSizes(b, b.getLoc(), ofA, blockSize), "a", groups);
  site.requireSizes("scale_b", op.getScaleB(),
                    getScaleSizes(b, b.getLoc(), ofB, blockSize), "b", groups);
  site.requireSizes("the result", op.getResult(), sizes.result, "a and b");
}

void requireOperands(ScaledGroupedMMOp op, CallSite &site) {
  CallSite::Sizes a = getSizesOfA(site, op);
  CallSite::Sizes bSizes = site.getSizes(op.getB());
  CallSite::Sizes groups = site.getSizes(op.getOffsets());
  int64_t resultRank = op.getResult().getType().getRank();
  OpFoldResult rows = a.front(),
               cols = getDataRows(site, op, op.getB(), resultRank - 1);
  bSizes[bSizes.size() - 2] = cols;
  bSizes.back() = a.back();
  CallSite::Sizes result = {rows, cols};
  if (op.isKGrouped())
    result.insert(result.begin(), groups.front());
  else
    bSizes.front() = groups.front();

  requireMatrices(site, op, {a, bSizes, result}, "a and offsets",
                  groups.front());
  requireGroups(site, "scale_a", op.getScaleA(), op.getOffsets());
  requireGroups(site, "scale_b", op.getScaleB(), op.getOffsets());
  for (auto [name, global] :
       {std::pair("global_scale_a", op.getGlobalScaleA()),
        std::pair("global_scale_b", op.getGlobalScaleB())})
    site.requireGlobalSizes(name, global, groups, "offsets");
  if (op.getBias()) {
    CallSite::Sizes bias = {cols};
    if (getTensorType(op.getBias()).getRank() == 2)
      bias.insert(bias.begin(), groups.front());
    site.requireSizes("bias", op.getBias(), bias, "b and offsets");
  }
}

void requireOperands(ScaledMMOp op, CallSite &site) {
  CallSite::Sizes a = isPrepacked(op.getA().getType())
                          ? site.getDataSizes(op.getB(), op.getA())
                          : getSizesOfA(site, op);
  a.end()[-2] = getDataRows(site, op, op.getA(), a.size() - 2);
  CallSite::Sizes bSizes = a, result = a, batch = a;
  batch.truncate(a.size() - 2);
  OpFoldResult cols = getDataRows(site, op, op.getB(), a.size() - 1);
  bSizes[a.size() - 2] = cols;
  result.back() = cols;

  requireMatrices(site, op, {a, bSizes, result}, "a");
  site.requireSizes("bias", op.getBias(), cols, "b");
  auto requireGlobal = [&](StringRef name, const GlobalOperand &global,
                           ArrayRef<OpFoldResult> sizes, StringRef source) {
    if (global.extent == GlobalExtent::Row)
      site.requireSizes(name, global.value, sizes.drop_back(), source);
    else
      site.requireGlobalSizes(name, global.value, batch, "a");
  };
  requireGlobal("global_scale_a", op.getGlobalOperandA(), a, "a");
  requireGlobal("global_scale_b", op.getGlobalOperandB(), bSizes, "b");
}

LogicalResult verifyScaleLayouts(Operation *op) {
  auto refuse = [&](StringRef expected, Type found) {
    return op->emitOpError()
           << "expected " << expected
           << " (blockscale-relayout-scales makes them), but got " << found;
  };
  if (auto swizzle = dyn_cast<SwizzleOp>(op)) {
    Type source = swizzle.getSource().getType();
    bool isBetweenTiles = !getScaleLayout(source).isLinear() &&
                          !getScaleLayout(swizzle.getType()).isLinear();
    if (isBetweenTiles && !isCopy(swizzle))
      return refuse("linear scales on one side", source);
    return success();
  }
  SmallVector<Type> types(op->getOperandTypes());
  llvm::append_range(types, op->getResultTypes());
  for (Type type : types)
    if (!hasKernelOrder(type))
      return refuse("scales that are linear or in the layout swizzle_128x4",
                    type);
  return success();
}

bool isCopy(SwizzleOp op) {
  return getLayout(op.getSource().getType()) ==
         getLayout(op.getResult().getType());
}

void requireOperands(SwizzleOp op, CallSite &site) {
  if (isCopy(op))
    return;
  bool fromLinear = getScaleLayout(op.getSource().getType()).isLinear();
  Value linear = fromLinear ? op.getSource() : op.getResult();
  Value other = fromLinear ? op.getResult() : op.getSource();
  OpFoldResult groups;
  if (Value offsets = op.getOffsets())
    groups = site.getSizes(offsets).front();
  site.requireSizes(fromLinear ? "the result" : "source", other,
                    site.getSizes(linear), fromLinear ? "source" : "the result",
                    groups);
  requireGroups(site, fromLinear ? "the result" : "source", other,
                op.getOffsets());
}

} // namespace blockscale::emit
