//===- EpilogueSpec.h - What a kernel makes of its products -----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOSM100_EPILOGUESPEC_H
#define BLOCKSCALE_LIB_CONVERSION_TOSM100_EPILOGUESPEC_H

#include "DeviceEmission/ElementSource.h"
#include "DeviceEmission/QuantizeLeaf.h"
#include "blockscale/Analysis/Epilogue.h"
#include "blockscale/Target/Chip.h"

namespace blockscale::sm100 {

/// The quantization of a result, in blocks of one row.
struct QuantizeEpilogue {
  explicit QuantizeEpilogue(QuantizeOp op);

  int64_t getBlockElements() const { return blockElements; }
  int64_t getDataBits() const {
    return numerics::getFormatInfo(format).storageBits;
  }
  std::string getName() const;

  numerics::Recipe recipe;
  numerics::ElementFormat format;
  int64_t blockElements;
  /// The global scale: one for all of the result, or one for each group.
  GlobalOperand global;
  /// Whether rows of no group are zeros, and whether scales are in tiles of
  /// 128 x 4, of all rows or of each group.
  bool isOfGroups, isSwizzled, isGrouped;
};

/// The elementwise ops and the quantization that follow products in their
/// kernel.
struct EpilogueSpec {
  EpilogueSpec(const Epilogue &epilogue, const target::Chip &chip);

  /// Inputs of the elementwise ops that are no products.
  llvm::SmallVector<ElementSource::Input> getOtherInputs() const;
  std::string getName() const;

  const target::Chip *chip;
  ElementSource source;
  static constexpr int64_t kNone = -1;
  /// For each input of `source` the number of the product that it is; `kNone`
  /// for inputs that are no products.
  llvm::SmallVector<int64_t> productOf;
  std::optional<QuantizeEpilogue> quantize;
};

} // namespace blockscale::sm100

#endif // BLOCKSCALE_LIB_CONVERSION_TOSM100_EPILOGUESPEC_H
