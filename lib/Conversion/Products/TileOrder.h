//===- TileOrder.h - Which tiles a CTA computes -----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernel is persistent: each CTA computes every n-th tile, where n is the
// number of CTAs. Tiles that run at the same time are a band of some rows of
// tiles, and go through it column by column, so that together they read few
// rows of both operands.
//
// Tiles of groups are those of one group after the other. How many a group has
// only the device knows: each role reads the offsets, and goes through all
// groups, most of whose tiles belong to others.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_TILEORDER_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_TILEORDER_H

#include "GemmSpec.h"

#include "DeviceEmission/KernelBuilder.h"

namespace blockscale::products {

/// One of the products of a kernel, that of a batch element or of a group.
/// Values are i32 where nothing else is said.
struct ProductRange {
  /// The number of the product among all products.
  emit::Lanes number;
  /// The matrices of data that it multiplies.
  emit::Lanes matrixA, matrixB;
  /// The first row and the first place along K of the product in these
  /// matrices, and its M and K, in elements.
  emit::Lanes firstRow, rows;
  emit::Lanes firstDepth, depth;
  /// The band of 128 rows, among all bands of scales, that its rows begin in.
  emit::Lanes firstBand;
  /// The first tile of its scales, i64; each band has `bandTiles` (i32) tiles.
  /// Bands are those of rows of A or B, or of K where B has blocks across it.
  emit::Lanes scalesA, scalesB;
  emit::Lanes bandTiles;
};

/// Numbers (i32) of a tile: its row and column among tiles of its product. The
/// tiles of a cluster are beside each other.
struct TileCoord {
  ProductRange product;
  emit::Lanes row, col;
  /// The row of results, or of sums of a part of K, that row 0 of the product
  /// is, i64.
  emit::Lanes firstResult;
  /// The first step of K, and the one after the last.
  emit::Lanes begin, end;
};

/// The work that remains for rows that no group has.
class OtherTiles {
public:
  virtual ~OtherTiles() = default;
  virtual void emitTile(const TileCoord &tile) = 0;
  /// Emits work that each cluster does once, after all tiles.
  virtual void emitRest(const ProductRange &product, mlir::Value cluster,
                        mlir::Value clusters) = 0;
};

/// The place of a CTA in a cluster, as far as tiles go by it.
struct TileNeighbours {
  /// CTAs of a cluster, and tiles beside each other that it computes.
  int64_t blocks = 1;
  int64_t tiles = 1;
  /// The number of the CTA's tile among these, i32.
  emit::Lanes tile;
  /// CTAs that have a tile together, each a part of K, and the number of the
  /// CTA's part, i32.
  int64_t parts = 1;
  emit::Lanes part = {};
};

class TileOrder {
public:
  TileOrder(KernelBuilder &b, const GemmSpec &spec,
            const GemmArguments &arguments, TileNeighbours neighbours);

  using Carried = llvm::SmallVector<mlir::Value>;
  using TileBody =
      llvm::function_ref<Carried(const TileCoord &, mlir::ValueRange)>;

  /// Runs `body` on each tile of the CTA, with values that it carries from tile
  /// to tile. Gives the last ones. `others` runs on those of rows that no group
  /// has, as a product whose first band is behind all others.
  Carried emitTiles(KernelBuilder &b, mlir::ValueRange inits, TileBody body,
                    OtherTiles *others = nullptr) const;

  /// Checks the ends of groups, where there are any, in one warp of the first
  /// CTA: that in which `isChecker` (i1) holds and of whose threads `thread`
  /// (i32) is the number. It takes the time of a load, so that a warp does it
  /// that others wait for least.
  void emitCheckGroups(KernelBuilder &b, mlir::Value isChecker,
                       mlir::Value thread) const;

private:
  /// Sizes of all tiles of a product, i32.
  struct Extent {
    emit::Lanes tileRows, count;
  };
  Extent getExtent(KernelBuilder &b, mlir::Value rows) const;
  /// Parts of K that are tiles of their own.
  int64_t getSplits() const {
    return spec.schedule.getSplits() / neighbours.parts;
  }
  /// All steps of K of a product, or those of the CTA's part.
  void setSteps(KernelBuilder &b, TileCoord &tile, mlir::Value depth) const;
  /// Row and column of tile `number` of a product.
  void setTile(KernelBuilder &b, TileCoord &tile, emit::Lanes number,
               emit::Lanes tileRows) const;
  TileCoord getCoord(KernelBuilder &b, emit::Lanes number) const;
  ProductRange getWhole(KernelBuilder &b, emit::Lanes matrix) const;
  ProductRange getGroup(KernelBuilder &b, emit::Lanes group, emit::Lanes begin,
                        emit::Lanes end, emit::Lanes scalesBefore) const;
  /// The size and the unit of the dimension that groups cut.
  mlir::Value getGroupedExtent() const {
    return spec.groups == GroupDim::Columns ? arguments.depth : arguments.rows;
  }
  int64_t getGroupUnit() const {
    return spec.groups == GroupDim::Columns ? spec.block : 1;
  }
  /// Whether a group may begin at a block and still not where copies begin.
  bool hasBeginRule() const {
    return spec.groups == GroupDim::Columns && spec.getBeginUnit() > spec.block;
  }
  emit::Lanes getEnd(KernelBuilder &b, emit::Lanes group,
                     emit::Lanes begin) const;
  /// Tiles of one product from `next` on, the first of the CTA.
  Carried emitProduct(KernelBuilder &b, const ProductRange &product,
                      emit::Lanes firstResult, mlir::ValueRange nextAndInits,
                      TileBody body) const;
  Carried emitGroups(KernelBuilder &b, mlir::ValueRange inits, TileBody body,
                     OtherTiles *others) const;

  const GemmSpec &spec;
  const GemmArguments &arguments;
  TileNeighbours neighbours;
  /// The numbers of tiles of clusters along N, of bands of scales, and of tiles
  /// of a band, i32.
  emit::Lanes tileCols, bandsA, bandsB, scaleTiles;
  /// The number of the cluster, which is that of its first tile, and the number
  /// of all clusters, i32.
  emit::Lanes first, clusters;
};

/// Emits the loop `for (i = 0; i < count; ++i)` on i32, with values carried.
llvm::SmallVector<mlir::Value>
emitCount(KernelBuilder &b, mlir::Value count, mlir::ValueRange inits,
          llvm::function_ref<llvm::SmallVector<mlir::Value>(emit::Lanes,
                                                            mlir::ValueRange)>
              body);

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_TILEORDER_H
