//===- Assignment.h - The cheapest formats under a loss ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Errors of products are taken as independent, so the noise of an assignment is
// the sum of the noise of its products, each relative to its signal. The least
// noise is that of the best candidate of each product. A loss of L decibels
// allows 10^(L/10) times as much.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TOOLS_REPORT_ASSIGNMENT_H
#define BLOCKSCALE_TOOLS_REPORT_ASSIGNMENT_H

#include <cstddef>
#include <optional>
#include <vector>

namespace blockscale::report {

/// What a product costs in a format.
struct Candidate {
  double seconds, noise;
};

/// The number of a candidate for each product. `candidates[p]` has those of
/// product p, nothing in the place of one that is not possible; each product
/// has one at least. Starts with the least noise, and takes the change that
/// saves the most seconds for the noise that it adds, as long as the noise
/// stays within the loss.
std::vector<size_t> assignCheapest(
    const std::vector<std::vector<std::optional<Candidate>>> &candidates,
    double loss);

} // namespace blockscale::report

#endif // BLOCKSCALE_TOOLS_REPORT_ASSIGNMENT_H
