//===- GemmFormat.h - Formats as tensor cores take them ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tcgen05.mma multiplies 32 bytes of K of each operand, a *step*, by their
// block scales. A tile of an operand has rows of 128 bytes, what TMA swizzles:
// four steps. Scales come in tiles of 512 bytes, four for each of 128 rows.
//
//   kind       data               elements a step  scales a row and step
//   mxf4nvf4   E2M1, E4M3 scales  64               4
//   mxf4       E2M1, E8M0 scales  64               2
//   mxf8f6f4   FP8, or FP8 and    32               1
//              E2M1, E8M0 scales
//
// (PTX ISA, "tcgen05.mma", "Block scaling" and "Instruction descriptor".)
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOSM100_GEMMFORMAT_H
#define BLOCKSCALE_LIB_CONVERSION_TOSM100_GEMMFORMAT_H

#include "Products/GemmSpec.h"
#include "blockscale/Numerics/Format.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

#include <string>

namespace blockscale::gemm {

/// Bytes of K of one instruction, and of a row of a tile.
inline constexpr int64_t kStepBytes = 32;
inline constexpr int64_t kRowBytes = 128;
inline constexpr int64_t kTileSteps = kRowBytes / kStepBytes;

/// Dimensions of such a tile in memory.
inline constexpr int64_t kScaleTileRank = std::size(numerics::kTileShape);
/// The columns of tensor memory that such a tile takes.
inline constexpr int64_t kScaleTileColumns = 4;

/// The formats of a product that the tensor core has an instruction for.
struct GemmFormat {
  /// The format of a product; none where the tensor core has no instruction for
  /// data stored this way, that is 6-bit codes in a byte each.
  static std::optional<GemmFormat> get(numerics::ElementFormat a,
                                       numerics::ElementFormat b,
                                       numerics::ScaleFormat scale);

  numerics::ElementFormat a, b;
  numerics::ScaleFormat scale;
  mlir::NVVM::MMABlockScaleKind kind = {};
  mlir::NVVM::Tcgen05MMABlockScale blockScale = {};
  /// Elements that share a scale.
  int64_t block = 0;
  /// Elements of a step along K, and scales of a row for them.
  int64_t stepElements = 0;
  int64_t stepScales = 0;

  int64_t getTileElements() const { return kTileSteps * stepElements; }
  /// Tiles of scales along K of a tile.
  int64_t getScaleTiles() const { return kTileSteps * stepScales / kTileCols; }
  /// The number, among these tiles of scales, of the one that has the scales of
  /// a step.
  int64_t getScaleTile(int64_t step) const {
    return step * stepScales / kTileCols;
  }
  /// Whether a copy puts each code of 4 bits in a byte's place.
  bool isPadded(numerics::ElementFormat format) const {
    return format == numerics::ElementFormat::E2M1 &&
           kind == mlir::NVVM::MMABlockScaleKind::MXF8F6F4;
  }
  /// The instruction descriptor of a step of a tile of `rows` x `cols`.
  uint32_t getDescriptor(int64_t rows, int64_t cols, int64_t step) const;

  /// The part of the names of kernels that stands for the formats, for example
  /// "e4m3_e2m1_e8m0".
  std::string getName() const;
};

/// All that the code of a kernel depends on.
struct Tcgen05Spec : GemmSpec {
  GemmFormat format;
};

} // namespace blockscale::gemm

#endif // BLOCKSCALE_LIB_CONVERSION_TOSM100_GEMMFORMAT_H
