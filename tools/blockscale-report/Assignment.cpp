//===- Assignment.cpp - The cheapest formats under a loss -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Assignment.h"

#include <cmath>
#include <limits>

namespace blockscale::report {

using Candidates = std::vector<std::optional<Candidate>>;

/// The candidate of the least noise, and of those the fastest.
static size_t findQuietest(const Candidates &candidates) {
  std::optional<size_t> best;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (!candidates[i])
      continue;
    const Candidate &each = *candidates[i];
    if (!best || each.noise < candidates[*best]->noise ||
        (each.noise == candidates[*best]->noise &&
         each.seconds < candidates[*best]->seconds))
      best = i;
  }
  return best.value_or(0);
}

namespace {

/// A product that takes another candidate.
struct Change {
  size_t product, candidate;
  double noise;
  /// Seconds saved for each unit of noise.
  double rate;
};

} // namespace

/// The best change that is faster and adds at most `room`.
static std::optional<Change>
findChange(const std::vector<Candidates> &candidates,
           const std::vector<size_t> &chosen, double room) {
  std::optional<Change> best;
  for (size_t p = 0; p < candidates.size(); ++p) {
    const Candidate &now = *candidates[p][chosen[p]];
    for (size_t i = 0; i < candidates[p].size(); ++i) {
      if (!candidates[p][i])
        continue;
      double saved = now.seconds - candidates[p][i]->seconds;
      double noise = candidates[p][i]->noise - now.noise;
      if (!(saved > 0) || !(noise <= room))
        continue;
      double rate =
          noise > 0 ? saved / noise : std::numeric_limits<double>::infinity();
      if (!best || rate > best->rate)
        best = Change{p, i, noise, rate};
    }
  }
  return best;
}

std::vector<size_t> assignCheapest(const std::vector<Candidates> &candidates,
                                   double loss) {
  std::vector<size_t> chosen;
  double least = 0;
  for (const Candidates &each : candidates) {
    chosen.push_back(findQuietest(each));
    least += each[chosen.back()]->noise;
  }
  double room = least * (std::pow(10, loss / 10) - 1);
  // Each change makes the whole faster, so there is an end.
  while (auto change = findChange(candidates, chosen, room)) {
    chosen[change->product] = change->candidate;
    room -= change->noise;
  }
  return chosen;
}

} // namespace blockscale::report
