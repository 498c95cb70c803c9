//===- FusionRecord.cpp - What is written down about kernels --------------===//
//===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FusionRecord.h"
#include "blockscale/Analysis/RowProgram.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;

namespace blockscale {

static constexpr StringLiteral kCategory = "gpu-fusion";

/// Why a form was chosen.
static StringRef explain(StringRef form) {
  if (form == fusion::kTogether)
    return "what its ops share is read once, and what they make for each other "
           "is not moved";
  if (form == fusion::kKept)
    return "the first pass stores x for the second";
  return "both passes compute x, which no memory holds";
}

/// The names of the ops that compute something.
static std::string describe(KernelOp kernel) {
  SmallVector<StringRef> names;
  for (Operation &op : kernel.getBody().front().without_terminator())
    if ((isa<linalg::LinalgOp>(op) && !getFilledScalar(&op)) ||
        isa_and_present<BlockScaleDialect>(op.getDialect()))
      names.push_back(op.getName().stripDialect());
  return llvm::join(names, " + ");
}

static void remark(KernelOp kernel, const FusionChoice &choice) {
  std::string text = describe(kernel);
  text += llvm::formatv(": {0}, {1}", choice.form, explain(choice.form));
  if (choice.isForced)
    text += " (option recompute)";
  for (const auto &[name, cost] : choice.costs)
    text +=
        llvm::formatv("; {0}: {1:f0} bytes, {2:f0} launches, {3:f3} us on {4}",
                      name, cost.bytes, cost.launches, cost.seconds * 1e6,
                      StringRef(choice.gpu->name));
  if (!choice.unknown.empty())
    text += "; without an estimate: " + choice.unknown;
  remark::analysis(kernel.getLoc(),
                   remark::RemarkOpts::name("fusion").category(kCategory))
      << remark::add("{0}", text);
}

void remarkPlain(Operation *op, StringRef text) {
  remark::analysis(op->getLoc(),
                   remark::RemarkOpts::name("plain").category(kCategory))
      << remark::add("'{0}' {1}", op->getName().getStringRef().str(),
                     text.str());
}

void recordChoice(KernelOp kernel, const FusionChoice &choice) {
  Builder b(kernel.getContext());
  auto count = [&](double value) {
    return b.getI64IntegerAttr(std::llround(value));
  };
  SmallVector<NamedAttribute> attrs{
      b.getNamedAttr(fusion::kForm, b.getStringAttr(choice.form))};
  for (const auto &[name, cost] : choice.costs)
    attrs.push_back(b.getNamedAttr(
        name, b.getDictionaryAttr(
                  {b.getNamedAttr(fusion::kBytes, count(cost.bytes)),
                   b.getNamedAttr(fusion::kLaunches, count(cost.launches)),
                   b.getNamedAttr(fusion::kNanoseconds,
                                  count(cost.seconds * 1e9))})));
  kernel->setAttr(kFusionAttrName, b.getDictionaryAttr(attrs));
  remark(kernel, choice);
}

} // namespace blockscale
