//===- Chip.h - What each GPU can do ----------------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TARGET_CHIP_H
#define BLOCKSCALE_TARGET_CHIP_H

#include <cstdint>
#include <string>
#include <string_view>

namespace blockscale::target {

/// What fits into a multiprocessor at once.
struct MultiprocessorLimits {
  int threads;
  int blocks;
  int sharedBytes;

  /// The most that one block can have: the driver keeps the rest.
  int getSharedBytesOfBlock() const { return sharedBytes - kReservedBytes; }

  /// Shared memory that each block has and no kernel sees.
  static constexpr int kReservedBytes = 1 << 10;
};

/// Instructions and limits of one chip. Passes ask for features by name and
/// never compare chip numbers.
struct Chip {
  std::string_view name;
  /// Features for LLVM's NVPTX backend: the least PTX version that has every
  /// instruction the project emits for the chip.
  std::string_view backendFeatures;
  /// The GPU (Gpu.h) whose rates choices go by: a product with the chip, or the
  /// nearest one that is known.
  std::string_view gpu;
  /// Ends the names of the chip's kernels. Chips of one suffix have one code.
  std::string_view kernelSuffix;
  /// `cvt.rn.satfinite.TOx2.f32` to e2m1, e2m3 and e3m2, and
  /// `cvt.rp.ue8m0x2.f32`.
  bool fp4Cvt;
  /// `cvt.rn.satfinite.e4m3x2.f32`.
  bool fp8Cvt;
  /// `cvt.rs.satfinite.e2m1x4.f32`.
  bool stochasticCvt;
  /// `ld.global.v8.b32` and `st.global.v8.b32`.
  bool wideGlobalAccess;
  /// `wgmma.mma_async`.
  bool wgmma;
  /// `tcgen05.mma.block_scale`.
  bool tcgen05;
  MultiprocessorLimits limits;
  /// `mma.sync.kind::mxf4nvf4.block_scale` and its kin.
  bool blockScaleMma = false;
  /// Whether kernels of products with a plain operand multiply by `mma.sync` of
  /// bf16 and f16.
  bool plainMma = false;
  /// `tcgen05.mma.block_scale` with K = 96, of operands of 4 bits.
  bool longTcgen05 = false;
  /// `griddepcontrol`, and launches that may begin before the one before them
  /// has ended.
  bool dependentLaunch = false;

  bool hasFp4Cvt() const { return fp4Cvt; }
  bool hasFp8Cvt() const { return fp8Cvt; }
  bool hasStochasticCvt() const { return stochasticCvt; }
  bool hasWideGlobalAccess() const { return wideGlobalAccess; }
  bool hasWgmma() const { return wgmma; }
  bool hasTcgen05() const { return tcgen05; }
  bool hasBlockScaleMma() const { return blockScaleMma; }
  bool hasLongTcgen05() const { return longTcgen05; }
  bool hasDependentLaunch() const { return dependentLaunch; }
  /// Whether there are kernels of matrix products for the chip, of two operands
  /// with scales and of one and a plain one.
  bool hasProducts() const { return tcgen05 || wgmma || plainMma; }
  /// Whether products under block scales need one operand decoded before.
  bool decodesProductOperands() const { return !tcgen05 && !blockScaleMma; }
};

/// The chip called `name` (for example "sm_100a"), or null.
const Chip *findChip(std::string_view name);

/// The known names, separated by ", ".
std::string listChips();

/// The names of chips with a feature, separated by ", ":
///
///   listChips(&Chip::hasFp8Cvt)
std::string listChips(bool (Chip::*hasFeature)() const);

} // namespace blockscale::target

#endif // BLOCKSCALE_TARGET_CHIP_H
