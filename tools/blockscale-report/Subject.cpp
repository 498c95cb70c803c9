//===- Subject.cpp - A function and examples of its arguments -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Subject.h"

#include "blockscale/Analysis/Cost/CostModel.h"
#include "blockscale/Driver/Executable.h"

using namespace mlir;
using blockscale::runtime::NpyArray;
using blockscale::runtime::Result;

namespace blockscale::report {

/// Decides products by the rows that the assumed sizes give them; if they give
/// none, as for the most rows.
static void settleRows(std::vector<ProductDecision> &decisions,
                       const Subject &subject) {
  CostModel model(*subject.gpu, Model::Exact, subject.sizes);
  for (ProductDecision &decision : decisions) {
    if (decision.byRows.empty())
      continue;
    const ProductFactor &a = decision.product.a;
    auto shape = model.getShape(a.source);
    if (!shape) {
      llvm::consumeError(shape.takeError());
      decision.byRows.clear();
      continue;
    }
    int64_t rows = 1;
    for (auto [size, loop] : llvm::zip_equal(*shape, a.loops))
      if (llvm::is_contained(a.rows, loop))
        rows *= size;
    decision.decideFor(rows);
  }
}

Result<Copy> copySubject(const Subject &subject,
                         const QuantizationPolicy &policy,
                         const Adjust &adjust) {
  Copy made;
  made.module = ModuleOp(subject.module).clone();
  Result<func::FuncOp> function = findEntry(*made.module, subject.entry);
  if (!function.ok())
    return function.status();
  made.function = *function;
  made.decisions = decideProducts(made.function, policy);
  settleRows(made.decisions, subject);
  adjust(made.decisions);
  return made;
}

Result<std::vector<std::vector<NpyArray>>> runExamples(Copy &copied,
                                                       Examples &examples) {
  Result<Signature> signature = getSignature(copied.function);
  if (!signature.ok())
    return signature.status();
  CompileObserver observer;
  Result<std::unique_ptr<Executable>> executable = Executable::create(
      *copied.module, *signature, ExecutableOptions(), observer);
  if (!executable.ok())
    return executable.status();
  std::vector<std::vector<NpyArray>> results;
  for (std::vector<NpyArray> &arguments : examples) {
    CallReport report;
    auto called =
        (*executable)->run(arguments, /*repeat=*/1, CallOptions(), report);
    if (!called.ok())
      return called.status();
    results.push_back(std::move(*called));
  }
  return results;
}

} // namespace blockscale::report
