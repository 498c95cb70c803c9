//===- FusionAttr.cpp - Why a kernel has the ops it has -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/IR/FusionAttr.h"

using namespace mlir;

namespace blockscale {

/// Whether `cost` is {bytes, launches, ns}, whole numbers.
static bool isCost(Attribute cost) {
  auto counts = dyn_cast<DictionaryAttr>(cost);
  return counts && counts.size() == 3 &&
         llvm::all_of(
             ArrayRef{fusion::kBytes, fusion::kLaunches, fusion::kNanoseconds},
             [&](StringRef name) {
               auto count = counts.getAs<IntegerAttr>(name);
               return count && count.getType().isSignlessInteger(64) &&
                      count.getInt() >= 0;
             });
}

// kernel_c5: the attribute has a form and costs.
LogicalResult verifyFusionAttr(KernelOp kernel) {
  Attribute attr = kernel->getDiscardableAttr(kFusionAttrName);
  if (!attr)
    return success();
  auto choice = dyn_cast<DictionaryAttr>(attr);
  if (!choice)
    return kernel.emitOpError() << "expected " << kFusionAttrName
                                << " to be a dictionary, but got " << attr;
  auto form = choice.getAs<StringAttr>(fusion::kForm);
  if (!form || !llvm::is_contained(
                   {fusion::kTogether, fusion::kKept, fusion::kRecomputed},
                   form.getValue()))
    return kernel.emitOpError()
           << "expected the form of " << kFusionAttrName
           << " to be together, kept or recomputed, but got " << attr;
  for (NamedAttribute cost : choice) {
    if (cost.getName() == fusion::kForm)
      continue;
    bool isForm = llvm::is_contained(
        {fusion::kTogether, fusion::kKept, fusion::kRecomputed, fusion::kApart},
        cost.getName().getValue());
    if (!isForm)
      return kernel.emitOpError()
             << "expected " << kFusionAttrName
             << " to have costs of together, kept, recomputed and apart, but "
                "got '"
             << cost.getName().getValue() << "'";
    if (!isCost(cost.getValue()))
      return kernel.emitOpError()
             << "expected bytes, launches and ns, each an i64 of 0 or more, "
                "for '"
             << cost.getName().getValue() << "' of " << kFusionAttrName
             << ", but got " << cost.getValue();
  }
  return success();
}

} // namespace blockscale
