//===- StripSpec.h - What a strip kernel computes ---------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A strip kernel quantizes blocks of several rows. A thread has a fragment of
// x, a warp a rectangle of fragments:
//
//            columns ->          fragmentColumns
//   rows   | lane 0      | lane 1      | ... laneColumns of them
//    |     | lane n      | lane n + 1  | ...
//    v     ...
//
// Along the rows of the data (the columns of x, where they are transposed) a
// fragment has 16 codes. Where these are 16 bytes a thread stores them at once;
// where they are 8 the threads of two fragments exchange halves before. The
// warp reaches as far as 128 elements along the dimension in which scale bytes
// are adjacent, and holds whole blocks.
//
// A kernel that makes several results of one x has fragments of another shape:
// a fragment has 16 rows of 16 bytes, and a warp is 64 rows high and as many
// bf16 wide, so that it has whole words of scales in both directions.
//
// A kernel whose only results are values of blocks of one row has fragments
// that are half as high, and a warp has them beside each other as far as x is
// wide, so that it reads and writes few long pieces of memory.
//
// Values of 16 bits of columns are 32 bytes of a thread, which two stores of 16
// bytes would write in halves of sectors. So the threads of a warp exchange
// them in shared memory, four columns of each thread at a time, and store whole
// sectors.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPSPEC_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPSPEC_H

#include "DeviceEmission/BlockDecoding.h"
#include "ToGPU/Rows/QuantizeSpec.h"
#include "blockscale/IR/ScaleForm.h"

#include <memory>

namespace blockscale {

/// How the threads of a kernel divide x.
struct StripShape {
  StripShape() = default;
  /// The shape of a kernel that makes several results of x, before any of them
  /// asks for something. The rows that transforms read exist 16 at a time.
  StripShape(mlir::RankedTensorType x, bool batched, bool hasTransforms);

  int64_t getInputBytes() const {
    return inputType.getIntOrFloatBitWidth() / 8;
  }
  /// Rows and columns of a warp.
  int64_t getWarpRows() const { return fragmentRows * laneRows; }
  int64_t getWarpColumns() const { return fragmentColumns * getLaneColumns(); }
  int64_t getLaneColumns() const { return kWarpThreads / laneRows; }
  bool hasDynamicColumns() const {
    return mlir::ShapedType::isDynamic(columns);
  }
  /// Whether a fragment may reach beyond the last column.
  bool hasColumnTails() const { return columnUnit % fragmentColumns != 0; }

  /// Bytes of the widest load.
  int64_t getWidestLoad() const { return std::max<int64_t>(loadBytes, 16); }

  /// The type of the elements of x: bf16, f16 or f32.
  mlir::Type inputType;
  /// The number of columns of a matrix of x, and a number that it is known to
  /// be a multiple of.
  int64_t columns;
  int64_t columnUnit;
  /// Whether the kernel tells matrices of a batch apart. Otherwise a batch is
  /// one matrix of all rows.
  bool batched;
  /// The fragment of a thread, and the fragments of a warp below each other.
  int64_t fragmentRows;
  int64_t fragmentColumns;
  int64_t laneRows;
  /// Bytes of an access to x.
  int64_t loadBytes;
  /// The number of rows of a fragment that exist together or not at all.
  int64_t rowUnit;
  /// Whether a block may reach beyond the last row or column.
  bool hasPartialBlocks;
};

/// One quantization that a kernel makes of fragments.
struct StripSpec {
  /// The spec of a kernel of its own, with the shape for it.
  StripSpec(QuantizeOp op, const target::Chip &chip);

  /// Changes the shape of a kernel of several results, or of a transform, so
  /// that it serves this one, too.
  void widen(StripShape &shared) const;
  /// Whether the kernel rounds blocks of one row alone, so that it may have
  /// long strips.
  bool hasLongStrips() const;
  /// Changes the shape of a kernel of such strips.
  void lengthen(StripShape &own) const;
  /// Takes such a shape.
  void share(std::shared_ptr<const StripShape> shared);
  /// Lets strips begin at any multiple of `rows` rows.
  void followGroups(int64_t rows);

  int64_t getDataBits() const {
    return numerics::getFormatInfo(format).storageBits;
  }
  bool isSquare() const { return block[0] == block[1]; }
  bool hasRowBlocks() const { return block[0] == 1; }
  /// Whether the bytes of a row of scales are of blocks side by side, rather
  /// than of blocks one below the other.
  bool hasScalesAlongRows() const { return scaleForm[1].dim == 1; }

  /// Whether the code of an odd last element has a byte of its own.
  bool splitsRowBytes() const {
    return shape->columnUnit * getDataBits() % 8 != 0;
  }
  /// Elements of a block along the groups.
  int64_t getGroupUnit() const { return block[groupDim == GroupDim::Columns]; }
  /// Whether each column, or each row, of a fragment has a group of its own.
  bool hasGroupsOfColumns() const {
    return groupDim == GroupDim::Columns && block[1] == 1;
  }
  bool hasGroupsOfRows() const {
    return groupDim == GroupDim::Rows && block[0] == 1;
  }

  /// Whether the kernel has the global operand as a number rather than in
  /// memory.
  bool hasGlobalByValue() const {
    return global.byValue || !globalPrologue.isEmpty();
  }

  /// Multiples that rows and columns of x are padded to, so that all tiles of
  /// scales belong to warps.
  int64_t getRowGranule() const;
  int64_t getColumnGranule() const;

  /// Codes of a thread side by side in the data, before it exchanges any.
  int64_t getAdjacentCodes() const {
    return transposed ? shape->fragmentRows : shape->fragmentColumns;
  }
  /// Whether codes of rows are made ahead of the conditions of their stores:
  /// those that threads exchange, or that take fewer registers than elements,
  /// which another result needs as well.
  bool encodesRowsAhead() const {
    return !transposed && getDataBits() < 8 && !roundsValues;
  }
  /// Whether values are rounded in pairs of bf16. A global scale may be less
  /// than 0, and elements of no group are 0.
  bool roundsPairs() const {
    return roundsValues && !stochastic && !global.isPresent() &&
           groupDim == GroupDim::None &&
           decoding->roundsPairs(shape->inputType);
  }

  /// Bytes of codes that a thread stores side by side.
  int64_t getAdjacentBytes() const {
    return getAdjacentCodes() * getDataBits() / (exchangesCodes ? 4 : 8);
  }

  /// Bytes of the widest store of values that are decoded.
  int64_t getDecodedStoreBytes() const;

  /// Whether the threads of a warp store values of columns together: through
  /// shared memory, so that those beside each other store pieces beside each
  /// other.
  bool sharesColumns() const;
  /// Bytes of the shared memory of a warp for that.
  int64_t getStageBytes() const;

  /// The part of the name of a kernel that stands for it, for example
  /// `quantize_32x1_e4m3_rceil_bf16_k4096`.
  std::string getKernelName() const;

  numerics::Recipe recipe;
  numerics::ElementFormat format;
  std::array<int64_t, 2> block;
  bool transposed;
  /// Signs of the transform of columns that comes before.
  std::optional<uint64_t> signMask;
  ScaleForm scaleForm;
  std::optional<ScaleDim> scaleDim;
  /// Scales in 128x4 tiles rather than linear: of the matrix, or of groups.
  bool swizzled = false;
  bool groupedTiles = false;
  /// Whether the last block of rows may be a part of one.
  bool rowTails;
  GlobalOperand global;
  /// How the kernel computes the global operand, where it does. Another result
  /// before may have computed it: `sharedGlobal` is the number of that one.
  GlobalPrologue globalPrologue;
  std::optional<size_t> sharedGlobal;
  bool stochastic;
  /// Whether random bits go by the place of x in a larger tensor.
  bool isPlaced;
  GroupDim groupDim;
  /// Whether the kernel checks the ends of groups.
  bool checksEnds;
  /// Whether the groups are those that the kernel pads.
  bool hasPaddedGroups = false;
  /// Where strips begin where padded groups do, the rows that these are
  /// multiples of; 0 elsewhere.
  int64_t groupRows = 0;
  /// How threads divide x, for all results of the kernel.
  std::shared_ptr<const StripShape> shape;
  /// Whether the codes of a thread that are adjacent become a store of 16 bytes
  /// together with as many codes of another thread. Where a kernel makes
  /// several results, or a transform, instructions are worth more than wide
  /// stores.
  bool exchangesCodes;
  /// Bytes of the widest store of codes.
  int64_t storeBytes;
  /// How codes are decoded, where values of them are a result, too, and whether
  /// these are a result alone, which is computed without codes.
  std::optional<BlockDecoding> decoding;
  bool roundsValues = false;
  /// Whether codes are decoded under the scale of the amax that the kernel
  /// quantizes under.
  bool decodesByScale = false;

private:
  void chooseShape(StripShape &own, const target::Chip &chip);
  void chooseStore(bool mayExchange);
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPSPEC_H
