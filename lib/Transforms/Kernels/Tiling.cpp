//===- Tiling.cpp - Tiles of quantizers -----------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Transforms/Tiling.h"
#include "Storage/KnownDivisor.h"
#include "Storage/SliceRules.h"
#include "blockscale/IR/TypeRules.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/TilingInterface.h"

using namespace mlir;
using namespace blockscale;

namespace {

/// A tile of a tensor.
struct Tile {
  SmallVector<OpFoldResult> offsets;
  SmallVector<OpFoldResult> sizes;
};

} // namespace

/// Tile of the scales of `tile`, whose matrix dimensions start at whole blocks.
static Tile getScaleTile(OpBuilder &builder, Location loc, const Tile &tile,
                         const ScaleForm &form) {
  return {getScaleSizes(builder, loc, tile.offsets, form),
          getScaleSizes(builder, loc, tile.sizes, form)};
}

static Tile getTransposed(Tile tile) {
  std::swap(tile.offsets.end()[-2], tile.offsets.end()[-1]);
  std::swap(tile.sizes.end()[-2], tile.sizes.end()[-1]);
  return tile;
}

/// The first dimensions of a tile: a global operand has as many.
static Tile getLeading(const Tile &tile, int64_t rank) {
  return {llvm::to_vector(ArrayRef(tile.offsets).take_front(rank)),
          llvm::to_vector(ArrayRef(tile.sizes).take_front(rank))};
}

static Value extractTile(OpBuilder &builder, Location loc, Value value,
                         const Tile &tile) {
  SmallVector<OpFoldResult> strides(tile.sizes.size(), builder.getIndexAttr(1));
  return tensor::ExtractSliceOp::create(builder, loc, value, tile.offsets,
                                        tile.sizes, strides);
}

/// The type of a result with the sizes of a tile.
static Type getTileType(Type type, const Tile &tile) {
  SmallVector<int64_t> shape;
  SmallVector<Value> dynamic;
  dispatchIndexOpFoldResults(tile.sizes, dynamic, shape);
  return RankedTensorType::get(shape,
                               cast<RankedTensorType>(type).getElementType());
}

/// The first matrix dimension along which a tile of `value` may not begin at a
/// whole block, or not be one of whole blocks or the last of the dimension.
static std::optional<int64_t> findCutDim(Value value, const Tile &tile,
                                         std::array<int64_t, 2> block) {
  int64_t batch = cast<RankedTensorType>(value.getType()).getRank() - 2;
  for (auto [i, unit] : llvm::enumerate(block)) {
    int64_t dim = batch + i;
    if (!isKnownMultiple(tile.offsets[dim], unit) ||
        !isWholeSize(value, dim, tile.offsets[dim], tile.sizes[dim], unit))
      return dim;
  }
  return std::nullopt;
}

static LogicalResult verifyWholeBlocks(Operation *op, Value value,
                                       const Tile &tile,
                                       std::array<int64_t, 2> block) {
  std::optional<int64_t> dim = findCutDim(value, tile, block);
  if (!dim)
    return success();
  int64_t batch = cast<RankedTensorType>(value.getType()).getRank() - 2;
  InFlightDiagnostic diag = op->emitOpError()
                            << "expected tiles of whole blocks, a multiple of "
                            << block[*dim - batch] << " along dimension "
                            << *dim << ", but got ";
  if (std::optional<int64_t> size = getConstantIntValue(tile.sizes[*dim]))
    return diag << "size " << *size;
  return diag << "a size not known to be one";
}

static LogicalResult verifyLinear(Operation *op, RankedTensorType scale) {
  if (!scale.getEncoding())
    return success();
  return op->emitOpError()
         << "expected linear scales to tile, which blockscale.swizzle makes, "
            "but got "
         << scale;
}

//===----------------------------------------------------------------------===//
// What the ops are to the loops
//===----------------------------------------------------------------------===//

/// The tensor whose dimensions the loops run over.
static Value getDomain(HadamardOp op) { return op.getX(); }
static Value getDomain(QuantizeOp op) { return op.getX(); }
static Value getDomain(DequantizeOp op) { return op.getData(); }

static std::array<int64_t, 2> getUnits(HadamardOp op) {
  constexpr int64_t kGroup = 16;
  return {op.getDim() == 0 ? kGroup : 1, op.getDim() == 1 ? kGroup : 1};
}
static std::array<int64_t, 2> getUnits(QuantizeOp op) {
  return {op.getBlock()[0], op.getBlock()[1]};
}
static std::array<int64_t, 2> getUnits(DequantizeOp op) {
  return {op.getBlock()[0], op.getBlock()[1]};
}

static LogicalResult verifyTileable(HadamardOp) { return success(); }
static LogicalResult verifyTileable(QuantizeOp op) {
  if (op.getRng() || op.getOffsets())
    return op.emitOpError()
           << "expected neither rng nor offsets to tile, which "
              "depend on the place in x, but got "
           << (op.getRng() ? "rng" : "offsets");
  return verifyLinear(op, op.getScale().getType());
}
static LogicalResult verifyTileable(DequantizeOp op) {
  return verifyLinear(op, op.getScale().getType());
}

/// The tile of each result.
static SmallVector<Tile> getResultTiles(HadamardOp, OpBuilder &,
                                        const Tile &tile) {
  return {tile};
}
static SmallVector<Tile> getResultTiles(QuantizeOp op, OpBuilder &builder,
                                        const Tile &tile) {
  return {op.getTransposed() ? getTransposed(tile) : tile,
          getScaleTile(builder, op.getLoc(), tile, op.getScaleForm())};
}
static SmallVector<Tile> getResultTiles(DequantizeOp, OpBuilder &,
                                        const Tile &tile) {
  return {tile};
}

/// The tile of an operand, or none where the whole is taken.
static std::optional<Tile> getOperandTile(HadamardOp, OpBuilder &, OpOperand &,
                                          const Tile &tile) {
  return tile;
}
template <typename OpTy>
static std::optional<Tile> getOperandTile(OpTy op, OpBuilder &builder,
                                          OpOperand &operand,
                                          const Tile &tile) {
  auto type = dyn_cast<RankedTensorType>(operand.get().getType());
  if (!type || type.getRank() == 0)
    return std::nullopt;
  if (operand.getOperandNumber() == 0)
    return tile;
  // One value a block: the block amax, or the scales that dequantize reads.
  if (type.getRank() == static_cast<int64_t>(tile.sizes.size()))
    return getScaleTile(builder, op.getLoc(), tile,
                        getCompactForm(op.getBlock()));
  return getLeading(tile, type.getRank());
}

//===----------------------------------------------------------------------===//
// The interface
//===----------------------------------------------------------------------===//

namespace {

/// Computes a tile of the results from tiles of the operands. In tiles [16,
/// 32],
///
///   %q, %s = blockscale.quantize %x block [1, 16] : tensor<64x96xbf16> -> ..
/// is, for each tile,
///   %t = tensor.extract_slice %x[%i, %j] [16, 32] [1, 1]
///   %q, %s = blockscale.quantize %t block [1, 16] : tensor<16x32xbf16> -> ..
///
/// with scales at [%i, %j ceildiv 16].
template <typename OpTy>
struct BlockwiseTiling
    : public TilingInterface::ExternalModel<BlockwiseTiling<OpTy>, OpTy> {
  // LLVM 23 has variants of two methods, which take the alignment of tiles too
  // and by default call those below.
  using Defaults = TilingInterface::ExternalModel<BlockwiseTiling<OpTy>, OpTy>;
  using Defaults::generateResultTileValue;
  using Defaults::getTiledImplementation;

  SmallVector<utils::IteratorType> getLoopIteratorTypes(Operation *op) const {
    auto type = cast<RankedTensorType>(getDomain(cast<OpTy>(op)).getType());
    return SmallVector<utils::IteratorType>(type.getRank(),
                                            utils::IteratorType::parallel);
  }

  SmallVector<Range> getIterationDomain(Operation *op,
                                        OpBuilder &builder) const {
    SmallVector<Range> ranges;
    for (OpFoldResult size : tensor::getMixedSizes(builder, op->getLoc(),
                                                   getDomain(cast<OpTy>(op))))
      ranges.push_back(
          {builder.getIndexAttr(0), size, builder.getIndexAttr(1)});
    return ranges;
  }

  FailureOr<TilingResult>
  getTiledImplementation(Operation *operation, OpBuilder &builder,
                         ArrayRef<OpFoldResult> offsets,
                         ArrayRef<OpFoldResult> sizes) const {
    auto op = cast<OpTy>(operation);
    Tile tile{llvm::to_vector(offsets), llvm::to_vector(sizes)};
    if (failed(verifyTileable(op)) ||
        failed(verifyWholeBlocks(op, getDomain(op), tile, getUnits(op))))
      return failure();
    SmallVector<Value> operands;
    SmallVector<Operation *> slices;
    for (OpOperand &operand : operation->getOpOperands()) {
      Value value = operand.get();
      if (std::optional<Tile> part =
              getOperandTile(op, builder, operand, tile)) {
        value = extractTile(builder, op.getLoc(), value, *part);
        slices.push_back(value.getDefiningOp());
      }
      operands.push_back(value);
    }
    SmallVector<Type> types;
    for (auto [type, part] : llvm::zip_equal(operation->getResultTypes(),
                                             getResultTiles(op, builder, tile)))
      types.push_back(getTileType(type, part));
    Operation *tiled = mlir::clone(builder, operation, types, operands);
    return TilingResult{
        {tiled}, llvm::to_vector_of<Value>(tiled->getResults()), slices};
  }

  LogicalResult
  getResultTilePosition(Operation *operation, OpBuilder &builder,
                        unsigned resultNumber, ArrayRef<OpFoldResult> offsets,
                        ArrayRef<OpFoldResult> sizes,
                        SmallVector<OpFoldResult> &resultOffsets,
                        SmallVector<OpFoldResult> &resultSizes) const {
    Tile tile{llvm::to_vector(offsets), llvm::to_vector(sizes)};
    Tile result =
        getResultTiles(cast<OpTy>(operation), builder, tile)[resultNumber];
    resultOffsets = result.offsets;
    resultSizes = result.sizes;
    return success();
  }

  /// Computes a tile of the result, for fusion into the loops of a user.
  /// quantize stays out of them: its users take tiles of two results, which
  /// would quantize twice. So does an op whose blocks the loops cut.
  FailureOr<TilingResult>
  generateResultTileValue(Operation *operation, OpBuilder &builder,
                          unsigned resultNumber, ArrayRef<OpFoldResult> offsets,
                          ArrayRef<OpFoldResult> sizes) const {
    auto op = cast<OpTy>(operation);
    Tile tile{llvm::to_vector(offsets), llvm::to_vector(sizes)};
    if (operation->getNumResults() != 1 ||
        findCutDim(getDomain(op), tile, getUnits(op)))
      return failure();
    return getTiledImplementation(operation, builder, offsets, sizes);
  }
};

} // namespace

void blockscale::registerTilingInterfaceExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, BlockScaleDialect *) {
    HadamardOp::attachInterface<BlockwiseTiling<HadamardOp>>(*context);
    QuantizeOp::attachInterface<BlockwiseTiling<QuantizeOp>>(*context);
    DequantizeOp::attachInterface<BlockwiseTiling<DequantizeOp>>(*context);
  });
}
