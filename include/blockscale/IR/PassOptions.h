//===- PassOptions.h - Checks of options of passes --------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pass checks its options when it is initialized, before it sees a module.
// Otherwise a wrong one would only show where an op needs it, and a pass whose
// chip is misspelt would do nothing without a word.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_IR_PASSOPTIONS_H
#define BLOCKSCALE_IR_PASSOPTIONS_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/Support/LLVM.h"

namespace blockscale {

/// Fails where `chip` is none of the table (Target/Chip.h), with an error that
/// lists them.
mlir::LogicalResult
verifyChip(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
           llvm::StringRef chip);

/// The same of the option `chip` of a pass.
mlir::LogicalResult verifyChipOption(mlir::MLIRContext *context,
                                     llvm::StringRef chip);

/// Fails where a number of things, which the option `name` of a pass gives, is
/// negative.
mlir::LogicalResult verifyCountOption(mlir::MLIRContext *context,
                                      llvm::StringRef name, int64_t count);

/// Fails where one of the sizes of the option `dynamic-sizes` of a pass is not
/// positive.
mlir::LogicalResult verifyDynamicSizesOption(mlir::MLIRContext *context,
                                             llvm::ArrayRef<int64_t> sizes);

} // namespace blockscale

#endif // BLOCKSCALE_IR_PASSOPTIONS_H
