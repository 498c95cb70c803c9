//===- Calibration.cpp - Amaxes of activations on examples ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Calibration.h"

#include "blockscale/Transforms/MeasureProducts.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using blockscale::runtime::Result;
using blockscale::runtime::Status;

namespace blockscale::report {

Result<Calibration> calibrate(const Subject &subject,
                              const QuantizationPolicy &policy,
                              const Adjust &adjust) {
  Result<Copy> copied = copySubject(subject, policy, adjust);
  if (!copied.ok())
    return copied.status();
  Calibration found;
  // The ops of decisions are others once the module is compiled.
  std::vector<std::string> measured;
  for (const ProductDecision &decision : copied->decisions) {
    if (!decision.readsAmax())
      continue;
    SmallVector<std::string> names = getLocationNames(decision.op->getLoc());
    if (names.empty())
      return Status::failure(
          "expected products with names or lines in their locations for "
          "--write-amaxes, but got one without");
    (isMeasured(decision) ? measured : found.left).push_back(names.front());
  }
  if (measured.empty())
    return Status::failure("expected a product outside of loops and branches "
                           "with a global scale of what it reads beside its "
                           "weight for --write-amaxes, but got none");
  measureAmaxes(copied->function, copied->decisions);
  auto results = runExamples(*copied, *subject.examples);
  if (!results.ok())
    return results.status();
  for (const auto &amaxes : *results)
    for (auto [name, amax] : llvm::zip_equal(measured, amaxes)) {
      float value = *amax.getAs<float>();
      if (!isAmax(value))
        return Status::failure(
            llvm::formatv("expected the amax of what '{0}' reads to be "
                          "positive and finite, but got {1}",
                          name, value)
                .str());
      float &largest = found.amaxes[name];
      largest = std::max(largest, value);
    }
  return found;
}

} // namespace blockscale::report
