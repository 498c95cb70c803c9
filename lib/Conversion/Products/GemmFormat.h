//===- GemmFormat.h - Formats as tensor cores take them ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tcgen05.mma and mma.sync multiply 32 bytes of K of each operand, a *step*, by
// their block scales. A stage of the ring has rows of a few steps, which TMA
// swizzles. Scales come in tiles of 512 bytes, four for each of 128 rows.
//
//   kind       data               elements a step  scales a row and step
//   mxf4nvf4   E2M1, E4M3 scales  64               4
//   mxf4       E2M1, E8M0 scales  64               2
//   mxf8f6f4   FP8, or FP8 and    32               1
//              E2M1, E8M0 scales
//
// (PTX ISA, "tcgen05.mma", "Block scaling", and "Block Scaling for mma.sync".)
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_GEMMFORMAT_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_GEMMFORMAT_H

#include "GemmSpec.h"
#include "blockscale/Numerics/Format.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

#include "llvm/Support/MathExtras.h"

#include <string>

namespace blockscale::products {

/// Bytes of K of one instruction.
inline constexpr int64_t kStepBytes = 32;
/// Bytes of a row in which a copy can put each code of 4 bits in a byte's place
/// (cuTensorMapEncodeTiled, CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B).
inline constexpr int64_t kPaddedRowBytes = 128;

/// The formats of a product that the tensor core has an instruction for.
struct GemmFormat {
  /// The format of a product whose stages have `stageSteps` steps; none where
  /// the tensor core has no instruction for data stored this way, that is 6-bit
  /// codes in a byte each.
  static std::optional<GemmFormat> get(numerics::ElementFormat a,
                                       numerics::ElementFormat b,
                                       numerics::ScaleFormat scale,
                                       int64_t stageSteps);

  /// The formats that a product is computed in. Codes of 6 bits, which memory
  /// has in a byte each, become FP8 before, and so do those of 4 bits beside
  /// FP8 unless K is known to be a multiple of 128 and stages have rows of as
  /// many bytes. None where the tensor cores have no such product.
  static std::optional<GemmFormat> find(const Product &product,
                                        int64_t stageSteps);

  numerics::ElementFormat a, b;
  numerics::ScaleFormat scale;
  mlir::NVVM::MMABlockScaleKind kind = {};
  /// Elements that share a scale.
  int64_t block = 0;
  /// Elements of a step along K, and scales of a row for them.
  int64_t stepElements = 0;
  int64_t stepScales = 0;
  /// Steps of a stage.
  int64_t stageSteps = 0;
  /// Whether stages are multiplied three at a time by steps of 48 bytes.
  bool hasLongSteps = false;

  int64_t getStageElements() const { return stageSteps * stepElements; }
  /// Bytes of a row of a stage.
  int64_t getRowBytes() const { return stageSteps * kStepBytes; }
  /// Tiles of scales along K that a stage needs, of the last one maybe a part.
  int64_t getScaleTiles() const {
    return llvm::divideCeil(stageSteps * stepScales, kTileCols);
  }
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
  /// Elements of K that rows of a dynamic length are a multiple of: those of a
  /// copy.
  int64_t getRowMultiple() const;
  /// The part of the names of kernels that stands for the formats, for example
  /// "e4m3_e2m1_e8m0".
  std::string getName() const;
};

/// All that the code of a kernel depends on that multiplies under block scales.
struct ScaledGemmSpec : GemmSpec {
  ScaledGemmSpec(const GemmFormat &format, GemmScheduleAttr schedule,
                 int64_t products)
      : GemmSpec{format.getName(), format.block, format.getStageElements(),
                 schedule},
        format(format) {
    this->products = products;
  }

  GemmFormat format;
};

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_GEMMFORMAT_H
