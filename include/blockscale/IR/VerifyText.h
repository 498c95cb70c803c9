//===- VerifyText.h - Text that MLIR's parser survives ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Some text ends the process that parses it as MLIR, where an error is due.
// Every door of the project asks here before it parses text.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_IR_VERIFYTEXT_H
#define BLOCKSCALE_IR_VERIFYTEXT_H

#include "mlir/Support/LLVM.h"

namespace mlir {
class MLIRContext;
} // namespace mlir

namespace blockscale {

/// Emits an error at the first place at which the text of the file `name` nests
/// too deep (TextNesting.h), or has no list where one is needed (TextLists.h).
llvm::LogicalResult verifyText(llvm::StringRef text, llvm::StringRef name,
                               mlir::MLIRContext &context);

} // namespace blockscale

#endif // BLOCKSCALE_IR_VERIFYTEXT_H
