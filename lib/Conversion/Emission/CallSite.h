//===- CallSite.h - Sizes and checks before a kernel runs -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_EMISSION_CALLSITE_H
#define BLOCKSCALE_LIB_CONVERSION_EMISSION_CALLSITE_H

#include "KernelOperands.h"

namespace blockscale::emit {

/// The place of a kernel in its function, where sizes are asked for and rules
/// that only run-time sizes can break are checked.
class CallSite {
public:
  using Sizes = llvm::SmallVector<mlir::OpFoldResult>;

  /// A rule that holds, or is reported with the value found.
  struct Check {
    mlir::Value holds;
    std::string rule;
    mlir::Value found;
  };

  /// `opName` begins every message.
  CallSite(mlir::ImplicitLocOpBuilder &builder, KernelOperands operands,
           llvm::StringRef opName)
      : b(builder), operands(operands), opName(opName) {}

  mlir::Value lookup(mlir::Value logical) const {
    return operands.lookup(logical);
  }
  const KernelOperands &getOperands() const { return operands; }

  /// Sizes of a value whose memory has its logical shape.
  Sizes getSizes(mlir::Value logical) const;

  /// Logical sizes of data, the last one from whichever of `data` and `other`
  /// tells it best: packed data with a dynamic size hides whether it is odd.
  Sizes getDataSizes(mlir::Value data, mlir::Value other) const;

  /// Requires `size % divisor == 0`. The name of the size is for example "the
  /// last dimension of x".
  void requireMultiple(mlir::OpFoldResult size, int64_t divisor,
                       const llvm::Twine &what);

  /// Requires `size < bound`.
  void requireBelow(mlir::OpFoldResult size, int64_t bound,
                    const llvm::Twine &what);

  /// Requires that the memory of `logical` has the sizes that a tensor of its
  /// type and of logical sizes `sizes` takes; `source` is where these come
  /// from. An absent operand is right, and so is what stays in registers.
  /// `groups` is the number of groups, where the op has any.
  void requireSizes(const llvm::Twine &name, mlir::Value logical,
                    llvm::ArrayRef<mlir::OpFoldResult> sizes,
                    const llvm::Twine &source, mlir::OpFoldResult groups = {});

  /// Requires as `requireSizes` does the sizes of an operand that has one value
  /// for each batch element, or one for all.
  void requireGlobalSizes(const llvm::Twine &name, mlir::Value logical,
                          llvm::ArrayRef<mlir::OpFoldResult> batch,
                          const llvm::Twine &source);

  /// `perMatrix` items for each matrix of a tensor of sizes `sizes`; none where
  /// its rows are empty, however many there are.
  mlir::Value countItems(llvm::ArrayRef<mlir::OpFoldResult> sizes,
                         mlir::Value perMatrix) const;

  llvm::ArrayRef<Check> getChecks() const { return checks; }

  mlir::ImplicitLocOpBuilder &b;

private:
  void require(mlir::Value holds, const llvm::Twine &rule, mlir::Value found);

  KernelOperands operands;
  llvm::StringRef opName;
  llvm::SmallVector<Check> checks;
};

/// Asserts what a check requires.
void createAssert(mlir::ImplicitLocOpBuilder &b, const CallSite::Check &check);

/// An OpFoldResult as an index value.
mlir::Value toIndex(mlir::ImplicitLocOpBuilder &b, mlir::OpFoldResult size);

} // namespace blockscale::emit

#endif // BLOCKSCALE_LIB_CONVERSION_EMISSION_CALLSITE_H
