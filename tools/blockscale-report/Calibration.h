//===- Calibration.h - Amaxes of activations on examples --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TOOLS_REPORT_CALIBRATION_H
#define BLOCKSCALE_TOOLS_REPORT_CALIBRATION_H

#include "Subject.h"

#include "blockscale/Transforms/ActivationAmaxes.h"

namespace blockscale::report {

/// What a policy can know of activations.
struct Calibration {
  /// The largest amax in any example of what the products of a name read beside
  /// their weights.
  ActivationAmaxes amaxes;
  /// The names of products that read an amax, but are in a loop, a branch or
  /// one of several blocks, so that they are not measured.
  std::vector<std::string> left;
};

/// The calibration of the subject, which has examples, for the products that
/// `policy` and `adjust` give a global scale of an amax.
runtime::Result<Calibration> calibrate(const Subject &subject,
                                       const QuantizationPolicy &policy,
                                       const Adjust &adjust);

} // namespace blockscale::report

#endif // BLOCKSCALE_TOOLS_REPORT_CALIBRATION_H
