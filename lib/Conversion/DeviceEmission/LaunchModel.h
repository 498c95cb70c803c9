//===- LaunchModel.h - Why kernels are launched as they are -----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel that streams is as fast as memory where enough bytes are under way
// on each multiprocessor, and where issuing its instructions takes less time
// than moving its bytes. Both follow from the rates of the chip's GPU (Gpu.h).
// Remarks of the category `gpu-launch` say what was chosen by them.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_LAUNCHMODEL_H
#define BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_LAUNCHMODEL_H

#include "blockscale/Numerics/Recipe.h"
#include "blockscale/Target/Chip.h"
#include "blockscale/Target/Gpu.h"

#include "mlir/IR/Location.h"

#include <array>

namespace blockscale {

struct LaunchModel {
  explicit LaunchModel(const target::Chip &chip);

  /// Resident threads of a multiprocessor that have enough bytes under way,
  /// each of them `threadBytes`.
  int64_t getThreadsWanted(int64_t threadBytes) const;

  /// CTAs of so many threads that a multiprocessor has registers for, at least
  /// one.
  static int64_t getBlocksOfRegisters(int64_t threads, int64_t registers);

  /// Says at `loc` how many threads a kernel wants, and of what.
  void remarkThreads(mlir::Location loc, llvm::StringRef kernel,
                     int64_t threads, int64_t threadBytes) const;

  /// Says at `loc` what the rows and columns of a thread and of a warp are, of
  /// a kernel for blocks of several rows.
  void remarkStrip(mlir::Location loc, std::array<int64_t, 2> fragment,
                   std::array<int64_t, 2> warp) const;

  const target::Chip &chip;
  const target::Gpu &gpu;
};

/// The costs of a quantizer of blocks of rows, for each element.
struct QuantizeModel : LaunchModel {
  QuantizeModel(const target::Chip &chip, numerics::Recipe recipe,
                numerics::ElementFormat format, int64_t blockElements,
                int64_t inputBytes, int64_t producerOps = 0);

  /// Whether memory leaves time for the instructions.
  bool isMemoryBound() const { return instructions <= budget; }
  /// Resident CTAs of so many threads that the registers of a kernel with
  /// producers are kept for: no more than memory needs, so that the assembler
  /// may interleave elements, or, where instructions take longer, as many as
  /// what threads hold has room for.
  int64_t getResidentBlocks(int64_t threads, int64_t threadBytes) const;
  /// Whether memory leaves so much time that fragments may go through shared
  /// memory.
  bool hasTimeToStage() const;

  /// Says at `loc` what the elements of a thread are, and why, and whether they
  /// are loaded, or moved, through shared memory.
  void remarkFragment(mlir::Location loc, int64_t elements,
                      int64_t otherElements, bool hasBuffer,
                      bool isStaged) const;
  /// Says at `loc` why a warp has `fragments` of each of `rows` rows, `stride`
  /// apart.
  void remarkTiles(mlir::Location loc, int64_t fragments, int64_t rows,
                   int64_t stride) const;

  /// Bytes of the input, the data and the scale that are moved for each
  /// element.
  double bytes;
  /// Instructions for each element, about as many as the machine code has
  /// without staging.
  double instructions;
  /// Instructions for each element that take as long to issue as its bytes take
  /// to move.
  double budget;
  int64_t inputBytes;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_LAUNCHMODEL_H
