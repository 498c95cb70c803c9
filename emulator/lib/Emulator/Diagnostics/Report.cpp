//===- Report.cpp - Faults that a run has found ---------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Emulator/Report.h"

namespace blockscale::emulator {

llvm::StringRef getName(FaultKind kind) {
  static constexpr llvm::StringLiteral kNames[] = {
      "out-of-bounds",    "misaligned",  "read-only",
      "uninitialised",    "wrong-space", "barrier",
      "unobserved-phase", "tensor-map",  "descriptor",
      "tensor-memory",    "nan-scale",   "hazard",
      "deadlock",         "trap",        "limit",
  };
  static_assert(std::size(kNames) == unsigned(FaultKind::Limit) + 1);
  return kNames[static_cast<unsigned>(kind)];
}

/// CTAs in launch order, x fastest; what no thread did comes first in its CTA.
static auto getOrder(const Place &place) {
  return std::tuple(place.cta[2], place.cta[1], place.cta[0],
                    place.thread ? uint64_t(*place.thread) + 1 : 0);
}

void Report::add(const Place &place, const Fault &fault) {
  std::lock_guard<std::mutex> lock(mutex);
  auto [it, isNew] = findings.try_emplace(
      Key(place.kernel, place.line, fault.kind), Finding{fault, place, 1});
  if (isNew)
    return;
  Finding &finding = it->second;
  ++finding.count;
  // One thread may meet it twice, with two texts: the lesser one stays.
  if (std::tuple(getOrder(place), fault.what) <
      std::tuple(getOrder(finding.place), finding.fault.what)) {
    finding.place = place;
    finding.fault = fault;
  }
}

llvm::SmallVector<Finding> Report::getFindings() const {
  std::lock_guard<std::mutex> lock(mutex);
  llvm::SmallVector<Finding> result;
  for (const auto &entry : findings)
    result.push_back(entry.second);
  return result;
}

bool Report::empty() const {
  std::lock_guard<std::mutex> lock(mutex);
  return findings.empty();
}

void Report::print(llvm::raw_ostream &os) const {
  for (const Finding &finding : getFindings()) {
    const Place &place = finding.place;
    os << "kernel '" << place.kernel << "', line " << place.line << ", cta ("
       << place.cta[0] << ", " << place.cta[1] << ", " << place.cta[2] << ')';
    if (place.thread)
      os << ", thread " << *place.thread;
    os << ": " << getName(finding.fault.kind) << ": " << finding.fault.what;
    if (finding.count > 1)
      os << " (" << finding.count << " times)";
    os << "\n  help: " << finding.fault.advice << '\n';
  }
}

} // namespace blockscale::emulator
