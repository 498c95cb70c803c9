//===- PlainMmaRoles.h - The warps of a matrix product ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All threads of a CTA load, and all multiply. A stage is loaded by cp.async
// into the place of the one before the one that is multiplied. Before elements
// of the next stage are wanted, all wait until it is there: elements of a part
// of a step are decoded, and plain ones loaded, among the instructions of the
// part before, so that tensor cores always have some whose operands are there.
// In tiles of few plain rows each team of warps loads the steps that it
// multiplies, and "all" are those of the team.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOPLAINMMA_PLAINMMAROLES_H
#define BLOCKSCALE_LIB_CONVERSION_TOPLAINMMA_PLAINMMAROLES_H

#include "PlainMmaLayout.h"
#include "Products/DecodedPairs.h"
#include "Products/RegisterResults.h"
#include "Products/SharedMemory.h"

#include "Emission/Lanes.h"

namespace blockscale::products {

/// The values and places that the parts of a kernel share.
struct PlainMmaContext : SharedMemory {
  /// `arguments` have the sizes as i32.
  PlainMmaContext(KernelBuilder &b, const PlainMmaSpec &spec,
                  const GemmArguments &arguments);

  /// Rows of B in memory, i32.
  emit::Lanes getDataCols(KernelBuilder &b) const {
    return {b, arguments.dataCols ? arguments.dataCols : arguments.cols};
  }
  /// The tile's number along the rows with scales.
  emit::Lanes getScaledTile(const TileCoord &coord) const {
    return spec.format.isScaledA ? coord.row : coord.col;
  }

  const PlainMmaSpec &spec;
  const GemmArguments &arguments;
  DecodedTile tile;
  PlainMmaLayout shared;
  TileOrder order;
};

/// A thread, all i32.
struct PlainMmaThread {
  PlainMmaThread(const PlainMmaSpec &spec, emit::Lanes number);

  /// Its number, those of its lane and of its team, and the first row with
  /// scales and the first plain row of its warp in the tile.
  emit::Lanes number, lane, team, warpRow, warpPlain;
  /// Its number among the threads that load together.
  emit::Lanes loader;
  /// Its row among eight, and its number among the four threads of a row.
  emit::Lanes row, member;
};

/// Loads the stages of a tile. All threads of the CTA run it.
class PlainMmaLoads {
public:
  PlainMmaLoads(KernelBuilder &b, const PlainMmaContext &context,
                const PlainMmaThread &thread, const TileCoord &tile);

  /// Begins to load stage `stage` (i32) of K into slot `slot` of the ring.
  /// What is beyond the tile's part of K becomes zeros. `between` is called
  /// after each of the thread's copies, of which there are `countCopies()`.
  void emitStage(
      emit::Lanes stage, mlir::Value slot,
      llvm::function_ref<void()> between = [] {});
  int64_t countCopies() const;

private:
  /// Pieces of 16 bytes that a thread copies in each stage, all at the same
  /// element `first` (i32) of rows of it. The first piece goes from `source`,
  /// which is that of stage 0, to `target` (i32) in a stage, and is of row
  /// `row` (i32) of `rows`; the others are of each `rowDistance`-th row after
  /// it, `sourceDistance` bytes (i64) and `targetDistance` bytes apart.
  struct Pieces {
    mlir::Value source;
    emit::Lanes target, first, row, rows, sourceDistance;
    int64_t rowDistance, targetDistance, count;
    /// Whether the thread has a piece; null where all have as many.
    mlir::Value inRange;

    /// Whether the operand is MN-major, so that each piece has an element of
    /// `row` and of the rows after it. The thread's pieces are `rowDistance`
    /// elements of K apart, each in a line of shared memory, and `target` is
    /// the begin of the first line.
    bool isMnMajor = false;
    /// The place of the first piece in its line, and the bytes that pieces
    /// have, i32.
    emit::Lanes place = {}, bytes = {};
    /// Bytes from a stage to the next one in memory, i64, and from a step to
    /// the next one in shared memory.
    emit::Lanes stageDistance = {};
    int64_t stepDistance = 0;
  };
  /// The first step of a stage that the thread loads a part of, i32.
  emit::Lanes getFirstStep();
  /// Adds the pieces of an operand, K-major or MN-major.
  void addRows(bool isPlain);
  void addColumns(bool isPlain);
  void addScales();
  void emitPieces(const Pieces &pieces, int64_t bits, emit::Lanes stage,
                  mlir::Value slot, int64_t offset, int64_t stageBytes,
                  llvm::function_ref<void()> between);
  /// The same of an MN-major operand; `element` (i32) is that of K of the first
  /// piece.
  void emitColumns(const Pieces &pieces, emit::Lanes element, emit::Lanes stage,
                   mlir::Value slot, int64_t offset, int64_t stageBytes,
                   llvm::function_ref<void()> between);
  /// Copies the first `bytes` bytes (i32) of a piece, and zeros for the others.
  void emitCopy(mlir::Value target, mlir::Value source, mlir::Value bytes,
                mlir::Value inRange);

  KernelBuilder &b;
  const PlainMmaContext &context;
  const PlainMmaSpec &spec;
  const PlainMmaThread &thread;
  const TileCoord &tile;
  /// Of each product that has rows of its own.
  llvm::SmallVector<Pieces, 2> plain, codes;
  struct ScalePiece {
    mlir::Value source, inRange;
    emit::Lanes target, bandExists, tile;
  };
  llvm::SmallVector<ScalePiece> scales;
  /// The end of the tile's part of K, in elements, i32.
  emit::Lanes limit;
};

/// Loads elements of operands that are not decoded by ldmatrix, as instructions
/// take them: an instruction of the first operand and two of the second one
/// have sixteen rows alike.
class PlainMmaMatrices {
public:
  PlainMmaMatrices(KernelBuilder &b, const PlainMmaContext &context,
                   const PlainMmaThread &thread)
      : b(b), context(context), thread(thread) {}

  static constexpr int64_t kRows = kScaledFragment;

  /// The registers of instruction `instruction` of step `inStage` (i32) of a
  /// stage, for the warp's rows from `kRows` times `number` on: of the first
  /// operand; or, where `isPlain`, of the second one, for the first eight and
  /// then for the other rows.
  llvm::SmallVector<mlir::Value> load(mlir::Value slot, emit::Lanes inStage,
                                      bool isPlain, int64_t number,
                                      int64_t instruction);

private:
  KernelBuilder &b;
  const PlainMmaContext &context;
  const PlainMmaThread &thread;
};

/// Elements of a step that a thread has decoded, or begun to.
class PlainMmaDecoder {
public:
  PlainMmaDecoder(KernelBuilder &b, const PlainMmaContext &context,
                  const PlainMmaThread &thread);

  /// Words of codes of a step, as loaded: of the rows of the first fragment,
  /// then of the second.
  using Words = llvm::SmallVector<mlir::Value>;
  /// The codes of step `inStage` (i32) of a stage.
  Words loadCodes(mlir::Value slot, emit::Lanes inStage);
  /// The global scale (f32) of the elements of a tile that the thread has, null
  /// where sums have it, and whether all threads' can be split (i1).
  std::pair<mlir::Value, mlir::Value> loadGlobal(const TileCoord &tile);
  /// Steps are decoded with this one from here on.
  void setGlobal(const ElementScale &scale) { global = scale; }
  /// What `DecodedPairs::emitFactors` makes of the scale of each row. What is
  /// beyond `depth` (i32) has a scale that is no NaN. `step` (i32) is the
  /// number of the step along K.
  Words loadFactors(const TileCoord &tile, mlir::Value slot,
                    emit::Lanes inStage, emit::Lanes step, emit::Lanes depth);
  /// Rows of a thread in a step.
  static constexpr int64_t kThreadRows = 2 * kDecodedFragments;
  /// The pairs of elements that the thread has of its row `row`, in half `half`
  /// of a step.
  Words decodeRow(llvm::ArrayRef<mlir::Value> codes,
                  llvm::ArrayRef<mlir::Value> factors, int64_t half,
                  int64_t row);
  /// Pairs of all rows as instructions take them: for each instruction of a
  /// fragment its four registers, instruction after instruction.
  static Words getRegisters(llvm::ArrayRef<Words> rows);

private:
  int64_t getRowWords() const;
  Words decodeOrdered(llvm::ArrayRef<mlir::Value> words, mlir::Value factor,
                      int64_t half);

  KernelBuilder &b;
  const PlainMmaContext &context;
  const PlainMmaThread &thread;
  const DecodedFormat &format;
  DecodedPairs pairs;
  ElementScale global;
};

/// Writes results. All threads of the CTA get here together. Sums are, for each
/// eight plain rows, those of each fragment of rows with scales.
class PlainMmaResults : public RegisterResults {
public:
  PlainMmaResults(KernelBuilder &b, const PlainMmaContext &context,
                  const PlainMmaThread &thread);

private:
  void emitStoreSums(mlir::ValueRange sums) override;
  void emitStored(mlir::ValueRange carried) override;
  mlir::Value getSumAddress(int64_t copy, mlir::Value place) override;

  const PlainMmaContext &context;
  const PlainMmaThread &thread;
};

/// Emits the whole kernel. `arguments` hold its parameters.
void emitPlainMma(KernelBuilder &b, const PlainMmaSpec &spec,
                  GemmArguments arguments);

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_TOPLAINMMA_PLAINMMAROLES_H
