//===- Assessment.h - What quantization of products costs -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The error that quantization adds to each product of a function, measured on
// examples by compiled code, and the bytes and the time that it saves, by the
// cost model.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TOOLS_REPORT_ASSESSMENT_H
#define BLOCKSCALE_TOOLS_REPORT_ASSESSMENT_H

#include "Subject.h"

#include <limits>

namespace blockscale::report {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// A product; what is not known is NaN.
struct Product {
  std::string name;
  int64_t m, n, k;
  /// How it is quantized, or why it is not; one of them is empty.
  std::string form, reason;
  /// Bytes of its weight; 0 without one.
  double plainBytes = 0, bytes = 0;
  /// Seconds on the GPU: of the plain product, and of the quantized one with
  /// the quantization of activations.
  double plainSeconds = kUnknown, seconds = kUnknown;
  /// Sums of squares over all examples: of the product's elements, and of what
  /// quantization changes of them.
  double signal = kUnknown, noise = kUnknown;

  bool isQuantized() const { return reason.empty(); }
  /// noise / signal.
  double getNoise() const { return noise / signal; }
  /// The signal to noise ratio in decibels.
  double getSqnr() const;
};

/// The products of the subject, as `policy` decides and `adjust` changes.
runtime::Result<std::vector<Product>> assess(const Subject &subject,
                                             const QuantizationPolicy &policy,
                                             const Adjust &adjust);

/// The signal to noise ratio of each float result of the function, with all
/// products quantized, in decibels. NaN of other results.
runtime::Result<std::vector<double>>
compareResults(const Subject &subject, const QuantizationPolicy &policy,
               const Adjust &adjust);

} // namespace blockscale::report

#endif // BLOCKSCALE_TOOLS_REPORT_ASSESSMENT_H
