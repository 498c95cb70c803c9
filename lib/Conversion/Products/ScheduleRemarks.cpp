//===- ScheduleRemarks.cpp - What is said of schedules --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleRemarks.h"

namespace blockscale::gemm {

std::string printTile(GemmScheduleAttr schedule) {
  std::string text =
      llvm::formatv("{0} x {1}", schedule.getRows(), schedule.getCols());
  if (schedule.getMulticast() > 1)
    text += llvm::formatv(" by {0}", schedule.getMulticast());
  if (schedule.getSplits() > 1)
    text += llvm::formatv(", K in {0} parts", schedule.getSplits());
  return text;
}

} // namespace blockscale::gemm
