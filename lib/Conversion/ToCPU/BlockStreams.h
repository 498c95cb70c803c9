//===- BlockStreams.h - Quantization of neighbours at full speed *- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_BLOCKSTREAMS_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_BLOCKSTREAMS_H

#include "BlockQuantizer.h"
#include "Emission/LoopEmitter.h"
#include "StreamOrder.h"
#include "blockscale/Numerics/E2M1Starts.h"

namespace blockscale::cpu {

using namespace emit;

/// The place of the elements, codes and scale bytes of a run of blocks: the
/// memory of each, and the indices of the first one there.
struct BlockRun {
  mlir::Value x, data, scales;
  Indices firstElement, firstByte, firstScale;
};

/// Emits emitQuantizeBlocks of long rows of blocks whose scales follow from
/// their amaxes, rounded to nearest: the case that all others are compared with
/// for speed.
class BlockStreams {
public:
  /// Allocates buffers. `element` is x's: bf16, f16 or f32.
  BlockStreams(mlir::ImplicitLocOpBuilder &b, const BlockFormat &format,
               mlir::Type element);

  /// Blocks of a group; a run has at least as many.
  static constexpr int64_t kBlocks = 16;

  /// Quantizes `count` blocks.
  void emitRun(const BlockRun &run, mlir::Value count,
               const GlobalFactors &global);

  void emitFree();

private:
  void emitAmaxes(const BlockRun &run, mlir::Value block, mlir::Value group,
                  const GlobalFactors &global);
  void emitStarts(mlir::Value group, Lanes factor);
  numerics::E2M1Starts<Lanes> loadStarts(mlir::Value group, mlir::Value block,
                                         int64_t blocks);
  void emitCodes(const BlockRun &run, mlir::Value block, mlir::Value group);
  void emitCodes(const BlockRun &run, mlir::Value block, mlir::Value group,
                 bool byStarts);

  /// Words of numerics::E2M1Starts.
  static constexpr int64_t kStarts = 4;

  mlir::ImplicitLocOpBuilder &b;
  BlockFormat format;
  bool isPaired;
  /// Whether codes are found by numerics::E2M1Starts.
  bool countsCodes;
  /// Lanes of the data that are computed at once: few enough that an element
  /// stays in a register from its load to its code. Counting needs the most
  /// registers for a lane.
  int64_t lanesAtOnce;
  StreamOrder order;
  /// Words of x in the order of the streams, and factors of blocks, of the
  /// groups of a chunk.
  mlir::Value words, factors;
  /// The starts of the codes of blocks, and whether a group has them; null
  /// where codes are not found by them.
  mlir::Value starts, haveStarts;
};

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_BLOCKSTREAMS_H
