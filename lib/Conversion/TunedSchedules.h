//===- TunedSchedules.h - Measured choices of schedules ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A folder of choices has a folder for each environment in which schedules were
// measured, and that a `manifest.json` and a file for each choice
// (docs/Tuning.md). They are read and nothing else: what is missing, damaged or
// of another environment is a miss, with a reason, and never an error.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TUNEDSCHEDULES_H
#define BLOCKSCALE_LIB_CONVERSION_TUNEDSCHEDULES_H

#include "Products/ProductKey.h"
#include "blockscale/Conversion/ScheduleChoice.h"
#include "blockscale/Target/Chip.h"

#include "llvm/Support/Error.h"

namespace blockscale::products {

/// The choices of one environment for one chip.
class TunedSchedules {
public:
  /// `folder` is that of an environment, or one that has exactly one for the
  /// chip and this compiler.
  TunedSchedules(llvm::StringRef folder, const target::Chip &chip);

  /// The schedule of `candidates` that was chosen for products of this key, or
  /// why there is none.
  llvm::Expected<GemmScheduleAttr>
  find(const ProductKey &key,
       llvm::ArrayRef<ScheduleCandidate> candidates) const;

  /// Where measurements were made: "NVIDIA H200".
  llvm::StringRef getGpu() const { return gpu; }

private:
  std::string folder;
  std::string gpu;
  /// Why there are none; empty where there are.
  std::string miss;
};

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_TUNEDSCHEDULES_H
