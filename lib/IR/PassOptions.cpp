//===- PassOptions.cpp - Checks of options of passes ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/IR/PassOptions.h"
#include "blockscale/Target/Chip.h"

#include "mlir/IR/Location.h"

using namespace mlir;

namespace blockscale {

LogicalResult verifyChip(function_ref<InFlightDiagnostic()> emitError,
                         StringRef chip) {
  if (target::findChip(chip))
    return success();
  return emitError() << "expected the chip to be one of " << target::listChips()
                     << ", but got '" << chip << "'";
}

LogicalResult verifyChipOption(MLIRContext *context, StringRef chip) {
  return verifyChip([&] { return emitError(UnknownLoc::get(context)); }, chip);
}

LogicalResult verifyCountOption(MLIRContext *context, StringRef name,
                                int64_t count) {
  if (count >= 0)
    return success();
  return emitError(UnknownLoc::get(context))
         << "expected option '" << name << "' to be at least 0, but got "
         << count;
}

LogicalResult verifyDynamicSizesOption(MLIRContext *context,
                                       ArrayRef<int64_t> sizes) {
  for (int64_t size : sizes)
    if (size <= 0)
      return emitError(UnknownLoc::get(context))
             << "expected option 'dynamic-sizes' to be positive sizes, but got "
             << size;
  return success();
}

} // namespace blockscale
