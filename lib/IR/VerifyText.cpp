//===- VerifyText.cpp - Text that MLIR's parser survives ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/IR/VerifyText.h"
#include "blockscale/IR/TextLists.h"
#include "blockscale/IR/TextNesting.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"

using namespace mlir;

namespace blockscale {

LogicalResult verifyText(StringRef text, StringRef name, MLIRContext &context) {
  std::optional<TextFault> fault = findTextNestingFault(text);
  if (!fault)
    fault = findTextListFault(text);
  if (!fault)
    return success();
  StringRef before = text.take_front(fault->offset);
  size_t line = before.count('\n') + 1;
  size_t column = before.size() - (before.rfind('\n') + 1) + 1;
  return emitError(FileLineColLoc::get(&context, name, line, column),
                   fault->message);
}

} // namespace blockscale
