//===- PatchSpec.h - What a patch kernel computes ---------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A patch kernel quantizes blocks of several rows. A thread has a patch of x, a
// warp a rectangle of patches:
//
//            columns ->          patchColumns
//   rows   | lane 0      | lane 1      | ... laneColumns of them
//    |     | lane n      | lane n + 1  | ...
//    v     ...
//
// Along the rows of the data (the columns of x, where they are transposed) a
// patch has 16 codes. Where these are 16 bytes a thread stores them at once;
// where they are 8 the threads of two patches exchange halves before. The warp
// reaches as far as 128 elements along the dimension in which scale bytes are
// adjacent, and holds whole blocks.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_PATCHSPEC_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_PATCHSPEC_H

#include "QuantizeLeaf.h"
#include "blockscale/IR/BlockScaleDialect.h"
#include "blockscale/IR/ScaleForm.h"
#include "blockscale/Target/Chip.h"

namespace blockscale {

/// Everything that the code of a patch kernel depends on.
struct PatchSpec {
  PatchSpec(QuantizeOp op, mlir::Value global, const target::Chip &chip);

  int64_t getInputBytes() const {
    return inputType.getIntOrFloatBitWidth() / 8;
  }
  int64_t getDataBits() const {
    return numerics::getFormatInfo(format).storageBits;
  }
  int64_t getBlockRows() const { return block[0]; }
  int64_t getBlockColumns() const { return block[1]; }
  bool isSquare() const { return block[0] == block[1]; }
  /// Whether the bytes of a row of scales are of blocks side by side, rather
  /// than of blocks one below the other.
  bool hasScalesAlongRows() const { return scaleForm[1].dim == 1; }

  /// Rows and columns of a warp.
  int64_t getWarpRows() const { return patchRows * laneRows; }
  int64_t getWarpColumns() const {
    return patchColumns * (kWarpThreads / laneRows);
  }
  int64_t getLaneColumns() const { return kWarpThreads / laneRows; }

  /// Multiples that rows and columns of x are padded to, so that all tiles of
  /// scales belong to warps.
  int64_t getRowGranule() const;
  int64_t getColumnGranule() const;

  /// Rows of a patch that exist together, or not.
  int64_t getRowUnit() const {
    return rowTails ? 1 : std::min(patchRows, block[0]);
  }
  /// Whether the codes of a line of a patch are too few for a store.
  bool exchangesCodes() const { return getDataBits() < 8; }
  /// Whether a patch may reach beyond the last column.
  bool hasColumnTails() const { return columns % patchColumns != 0; }
  /// Whether a block may reach beyond the last row or column.
  bool hasPartialBlocks() const {
    return rowTails || columns % getBlockColumns() != 0;
  }

  /// A name that differs wherever the kernels do, for example
  /// `quantize_patch_32x1_e4m3_rceil_bf16_k4096`.
  std::string getKernelName(const target::Chip &chip) const;

  numerics::Recipe recipe;
  numerics::ElementFormat format;
  /// bf16 or f32.
  mlir::Type inputType;
  /// Of a matrix of x.
  int64_t columns;
  std::array<int64_t, 2> block;
  bool transposed;
  ScaleForm scaleForm;
  std::optional<ScaleDim> scaleDim;
  /// Scales in 128x4 tiles rather than linear.
  bool swizzled;
  /// Whether the last block of rows may be a part of one.
  bool rowTails;
  /// Whether the kernel tells matrices of a batch apart. Otherwise a batch is
  /// one matrix of all rows.
  bool batched;
  GlobalKind globalKind;
  /// Whether the global operand is an f32 argument rather than a pointer.
  bool globalByValue;
  /// Whether the pointer is to one value for each matrix.
  bool globalPerMatrix;

  /// The patch of a thread, and the patches of a warp below each other.
  int64_t patchRows;
  int64_t patchColumns;
  int64_t laneRows;
  /// Bytes of an access to x, and the widest one to the data.
  int64_t loadBytes;
  int64_t storeBytes;

private:
  void chooseShape(const target::Chip &chip);
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_PATCHSPEC_H
