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
  void emitCodes(const BlockRun &run, mlir::Value block, mlir::Value group);

  mlir::ImplicitLocOpBuilder &b;
  BlockFormat format;
  bool isPaired;
  StreamOrder order;
  /// Words of x in the order of the streams, and factors of blocks, of the
  /// groups of a chunk.
  mlir::Value words, factors;
};

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_BLOCKSTREAMS_H
