//===- RegisterPool.cpp - Registers of the threads of a CTA ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Machine/RegisterPool.h"
#include "Emulator/Machine/Warp.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

namespace blockscale::emulator {

/// A multiprocessor has four partitions, each with registers for the threads of
/// a lane of so many (CUDA C++ Programming Guide, "Compute Capabilities"),
/// which are given away eight at a time.
static constexpr int64_t kPartitions = 4;
static constexpr int64_t kPartitionRegisters = 512;
static constexpr int64_t kUnit = 8;
static constexpr int64_t kMostRegisters = 255;

static std::optional<int64_t> getValue(const Function &kernel,
                                       llvm::StringRef directive) {
  const PerformanceDirective *found = kernel.getDirective(directive);
  if (!found || found->values.empty())
    return std::nullopt;
  return found->values.front();
}

RegisterPool::RegisterPool(const Function &kernel, unsigned warps)
    : warps(warps), first(getValue(kernel, "maxnreg")) {
  bool isBound = getValue(kernel, "reqntid") || getValue(kernel, "maxntid");
  if (first || !isBound)
    return;
  int64_t ctas = getValue(kernel, "minnctapersm").value_or(1);
  int64_t inPartition =
      llvm::divideCeil(static_cast<int64_t>(warps) * ctas, kPartitions);
  int64_t fits = kPartitionRegisters / std::max<int64_t>(inPartition, 1);
  first = llvm::alignDown(static_cast<uint64_t>(std::min(fits, kMostRegisters)),
                          kUnit);
}

void RegisterPool::set(Warp &warp, const Op &op, unsigned lane, int64_t count) {
  requests[&warp] = {&op, lane, count};
}

void RegisterPool::check() {
  if (!first || requests.empty())
    return;
  int64_t all = *first * warps;
  int64_t wanted = *first * static_cast<int64_t>(warps - requests.size());
  for (const auto &[warp, request] : requests)
    wanted += request.count;
  if (wanted <= all)
    return;
  for (const auto &[warp, request] : requests)
    if (request.count > *first)
      return warp->report(
          *request.op, request.lane,
          Fault{FaultKind::Deadlock,
                llvm::formatv("expected the warps of the CTA to want at most "
                              "the {0} registers of a lane that they began "
                              "with, {1} each, but they want {2}",
                              all, *first, wanted),
                "ask for fewer, or let others give more back: who asks waits "
                "for ever"});
}

} // namespace blockscale::emulator
