//===- GemmSpec.h - What a kernel of matrix products computes ---*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_GEMMSPEC_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_GEMMSPEC_H

#include "EpilogueSpec.h"
#include "Product.h"
#include "blockscale/Numerics/ScaleLayout.h"

#include <algorithm>

namespace blockscale::products {

// Scales come in tiles of the 128x4 layout.
using numerics::kTileBytes;
using numerics::kTileCols;
using numerics::kTileRows;

/// Bytes that addresses are multiples of where copies and wide loads read from
/// them.
inline constexpr int64_t kCopyBytes = 16;

/// What the code of a kernel depends on, whichever instruction multiplies.
/// Each family of kernels adds its formats.
struct GemmSpec {
  /// The part of the names of kernels that stands for the formats, for example
  /// "e4m3_e2m1_e8m0".
  std::string formats;
  /// Elements of K of a block, which share a scale, and those of a stage of the
  /// ring.
  int64_t block = 0;
  int64_t stageElements = 0;
  GemmScheduleAttr schedule;
  mlir::Type result = {};
  GroupDim groups = GroupDim::None;
  /// The type of the elements of the bias; null where there is none.
  mlir::Type bias = {};
  /// Whether each group has a row of it.
  bool hasBiasOfEach = false;
  GlobalOperand factorA = {};
  GlobalOperand factorB = {};
  bool scalesAfterRounding = false;
  /// The global scale that elements are multiplied by.
  GlobalOperand elementFactor = {};
  /// Whether K can be 0, so that nothing is in the accumulator.
  bool mayBeEmptySum = false;
  /// Whether K is known to be stages as a whole, so that none has a step behind
  /// K; nullopt where code does not depend on that.
  std::optional<bool> hasWholeStages = {};
  /// Whether an operand has scales.
  bool hasScales = true;
  /// Whether B has its blocks across K.
  bool hasBlocksAcross = false;
  /// Of which of A, B and the result ("a", "b", "r") the rows of several
  /// matrices alternate in memory.
  std::string interleaved = {};
  /// Products of one A, each in its part of the columns of a tile.
  int64_t products = 1;
  /// The epilogue that products are followed by; null where results are stored
  /// as they are.
  std::shared_ptr<const EpilogueSpec> epilogue = nullptr;

  /// What groups of K that are not empty begin at multiples of, in elements:
  /// where copies may begin, of codes of 4 bits if there are scales.
  int64_t getBeginUnit() const {
    return hasScales ? std::max(block, kCopyBytes * 8 / 4) : block;
  }

  /// Whether results are sums, rounded to 16 bits.
  bool hasRoundedSums() const {
    return products == 1 && !epilogue && !bias && !factorA.isPresent() &&
           !factorB.isPresent() && result.getIntOrFloatBitWidth() == 16;
  }

  /// Columns of results of a tile.
  int64_t getResultCols() const { return schedule.getCols() / products; }

  /// Whether the kernel has work besides the rows of the result.
  bool hasRest() const { return epilogue && epilogue->sink->hasRest(); }

  /// Whether the kernel writes beyond the last row and column of the result.
  bool hasPadding() const { return epilogue && epilogue->sink->hasPadding(); }

  /// The name of the kernel.
  std::string getName() const;

  /// Makes it the spec of the kernel that computes the sums alone, in f32.
  void keepSums();
};

/// Bytes that the address of a result, or of sums, is a multiple of.
inline constexpr int64_t kResultBytes = 32;

/// The operands that each product of a kernel has of its own; absent ones are
/// null.
struct ProductArguments {
  /// B has a tensor map, or lies in memory in the order that threads want it.
  mlir::Value mapB, packedB, scaleB;
  mlir::Value elementFactor;
  mlir::Value factorA, factorB;
  mlir::Value bias;
};

/// The operands of a kernel: values of the host, or the parameters of the
/// kernel while its code is emitted. Absent ones are null.
struct GemmArguments {
  explicit GemmArguments(const GemmSpec &spec) : products(spec.products) {}

  /// Adds a slot for each operand that is there.
  void addSlots(KernelSignature &signature, const GemmSpec &spec);

  /// Sizes that the kernel is given, as i32.
  void narrowSizes(KernelBuilder &b);

  /// Fetches the tensor maps ahead, so that they are at hand when the first
  /// copies need them.
  void emitPrefetch(KernelBuilder &b) const;

  mlir::Value mapA, packedA, scaleA;
  llvm::SmallVector<ProductArguments, 2> products;
  /// The result, or the operands of the epilogue: those of its sink, and the
  /// inputs of its elementwise ops.
  mlir::Value result;
  SinkArguments sink;
  /// Those of what stores results of products besides.
  llvm::SmallVector<SinkArguments, 2> kept;
  llvm::SmallVector<mlir::Value> inputs;
  /// The ends of groups, a pointer to i32.
  mlir::Value offsets;
  /// M, N and K, and the number of matrices or of groups.
  mlir::Value rows, cols, depth, matrices;
  /// The matrices of A, of B and of the result whose rows alternate in memory;
  /// null where the rows of a matrix follow each other.
  mlir::Value innerA, innerB, innerResult;
  /// Rows of B in memory where that is not N: sums of parts of K have longer
  /// rows, and there is no map that knows.
  mlir::Value dataCols;
  /// Whether the data and scales of A, or of all B, may be loaded before the
  /// launch before has ended.
  bool loadsAEarly = false, loadsBEarly = false;
};

/// The number (f32) of `operand` that matrix `matrix` (i32) has, or that all
/// have. `factor` is the kernel's parameter.
mlir::Value loadFactor(KernelBuilder &b, const GlobalOperand &operand,
                       mlir::Value factor, mlir::Value matrix);

/// The global scale (f32) that elements of `matrix` (i32) are multiplied by;
/// null where sums are. It is that of product `owner` (i32) where each has an
/// operand with scales of its own, else that of all.
mlir::Value loadElementFactor(KernelBuilder &b, const GemmSpec &spec,
                              const GemmArguments &arguments,
                              mlir::Value matrix, emit::Lanes owner);

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_GEMMSPEC_H
