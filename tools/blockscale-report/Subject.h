//===- Subject.h - A function and examples of its arguments -----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is measured of products is what compiled code of the CPU returns for
// examples. The code is of a copy of the module, which a pass changes first.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TOOLS_REPORT_SUBJECT_H
#define BLOCKSCALE_TOOLS_REPORT_SUBJECT_H

#include "blockscale/Runtime/Npy.h"
#include "blockscale/Target/Gpu.h"
#include "blockscale/Transforms/QuantizeProducts.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <functional>

namespace blockscale::report {

/// Arguments of the function, one set for each example.
using Examples = std::vector<std::vector<runtime::NpyArray>>;

/// What is assessed.
struct Subject {
  mlir::ModuleOp module;
  std::string entry;
  const target::Gpu *gpu = nullptr;
  /// May be empty: nothing is measured then.
  Examples *examples = nullptr;
  /// Sizes of the dynamic dimensions of the arguments, in order.
  std::vector<int64_t> sizes;
};

/// Changes decisions of a policy.
using Adjust = std::function<void(std::vector<ProductDecision> &)>;

/// A copy of the subject's module, its function, and the decisions for it.
struct Copy {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  std::vector<ProductDecision> decisions;
};

runtime::Result<Copy> copySubject(const Subject &subject,
                                  const QuantizationPolicy &policy,
                                  const Adjust &adjust);

/// The results of the function for each example.
runtime::Result<std::vector<std::vector<runtime::NpyArray>>>
runExamples(Copy &copied, Examples &examples);

} // namespace blockscale::report

#endif // BLOCKSCALE_TOOLS_REPORT_SUBJECT_H
