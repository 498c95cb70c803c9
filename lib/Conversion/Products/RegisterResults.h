//===- RegisterResults.h - Sums of registers into results -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels whose threads have the sums of a tile in registers bring them to
// shared memory, part by part, since a thread has pairs of neighbours and
// results are written by 16 bytes or by fragments. A family says how its
// instruction places sums, and how its threads wait for each other:
//
//   for each part of the tile:
//     emitBegin        until the results of the last part were written
//     emitStoreSums    the sums of this part, from registers
//     emitStored       until all threads have stored theirs
//     rows and fragments of the part: add the copies, write results
//     emitRead         says that the sums were read
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_REGISTERRESULTS_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_REGISTERRESULTS_H

#include "GemmSpec.h"
#include "ResultRow.h"
#include "TileOrder.h"
#include "blockscale/Numerics/BitLayout.h"

namespace blockscale::products {

/// The sums of a tile in shared memory, a part at a time, and the threads that
/// make results of them.
struct SumParts {
  /// How many parts a tile has, and whether the next one has the next columns
  /// of the tile or the next rows.
  int64_t count = 1;
  bool areColumns = false;
  /// Rows and columns of a part, those of all products of a tile counted, and
  /// what its rows are apart, in f32.
  int64_t rows = 0, cols = 0, pitch = 0;
  /// How many threads share the results of a part, and the rows of these, and
  /// fragments of a row, that they share.
  int64_t threads = 0, sharedRows = 0, fragments = 0;
  /// The thread's number among them, and the first row and column that they
  /// share, i32; null is 0.
  emit::Lanes number, firstRow, firstCol;
  /// How many sums of a part of K make up a result, which is then multiplied by
  /// two to the power of `shift`.
  int64_t copies = 1;
  int shift = 0;
  /// Whether the sums in shared memory are rounded to results already, whose
  /// places then count results instead of f32.
  bool areRounded = false;
};

class RegisterResults : public OtherTiles {
public:
  /// `thread` (i32) is the number of the calling one of `allThreads`, which do
  /// what no result is: padding and the rest.
  RegisterResults(KernelBuilder &b, const GemmSpec &spec,
                  const GemmArguments &arguments, mlir::Value thread,
                  int64_t allThreads);

  /// Makes results of the sums of a tile: those of the first part, then those
  /// of the next, in the order of the family. `carried` goes through the parts;
  /// what it becomes.
  llvm::SmallVector<mlir::Value> emitSums(const TileCoord &tile,
                                          mlir::ValueRange sums,
                                          mlir::ValueRange carried = {});
  void emitTile(const TileCoord &tile) override;
  void emitRest(const ProductRange &product, mlir::Value cluster,
                mlir::Value clusters) override;

protected:
  virtual void emitBegin(mlir::ValueRange carried) {}
  virtual void emitStoreSums(mlir::ValueRange sums) = 0;
  /// Stores the sums of part `part` (i32) of `sums`, those of all parts.
  /// Registers cannot be indexed, so each part has stores of its own.
  virtual void emitStorePart(emit::Lanes part, mlir::ValueRange sums);
  virtual void emitStored(mlir::ValueRange carried) = 0;
  /// Gives what the next part is carried. Where nothing is, threads wait for
  /// each other once more.
  virtual llvm::SmallVector<mlir::Value> emitRead(mlir::ValueRange carried) {
    emitStored(carried);
    return {};
  }
  /// Stores `sums`, the registers of fragments of `layout` one after another:
  /// those of a row and a column are `rowPitch` and `colPitch` f32 apart, and
  /// `base` is the thread's first. `getOrigin` gives the row and the column
  /// where a fragment begins.
  void storeFragments(
      const numerics::BitLayout &layout, mlir::ValueRange sums,
      mlir::Value base, int64_t rowPitch, int64_t colPitch,
      llvm::function_ref<numerics::ElementIndex<int64_t>(int64_t fragment)>
          getOrigin);
  /// The address of the sum at `place`, in f32 from the first of a part, in a
  /// copy of the sums.
  virtual mlir::Value getSumAddress(int64_t copy, mlir::Value place) = 0;
  /// Runs `body` where one of those that share a result does what is done once.
  virtual void emitOnce(llvm::function_ref<void()> body) { body(); }

  KernelBuilder &b;
  /// Columns of a fragment.
  int64_t width;
  /// A family fills it when it is made.
  SumParts parts;

private:
  /// Runs `write` for each fragment of part `part` (i32) of a tile that the
  /// thread has: with the row of the result, the place of the sums of the first
  /// product, in f32 from the first of the part, and the column of the result.
  void emitItems(const TileCoord &tile, emit::Lanes part,
                 llvm::function_ref<void(const ResultRow &row,
                                         mlir::Value place, mlir::Value col)>
                     write);
  mlir::Value loadSums(mlir::Value place);
  mlir::Value loadResults(mlir::Value place);

  const GemmSpec &spec;
  const GemmArguments &arguments;
  mlir::Value thread;
  int64_t allThreads;
};

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_REGISTERRESULTS_H
