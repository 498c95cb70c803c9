//===- Report.h - Faults that a run has found -------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Faults, the places where they happened, and the report that collects them.
//
// The parts of the machine (memories, barriers, descriptors) say what is wrong
// with an operation as Faults; they know neither kernel nor thread. Who runs
// the instruction adds the place and hands both to the Report.
//
// A part that refuses an operation says so in its return value; a fault alone
// (an uninitialised byte, a phase nobody waited for) lets the run go on.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_EMULATOR_REPORT_H
#define BLOCKSCALE_EMULATOR_REPORT_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>

namespace blockscale::emulator {

enum class FaultKind : uint8_t {
  OutOfBounds,
  Misaligned,
  ReadOnly,
  Uninitialised,
  WrongSpace,
  Barrier,
  UnobservedPhase,
  TensorMap,
  Descriptor,
  TensorMemory,
  NanScale,
  Hazard,
  Deadlock,
  Trap,
  Limit,
};

/// The name of a kind as reports spell it: "out-of-bounds".
llvm::StringRef getName(FaultKind kind);

struct Fault {
  FaultKind kind;
  /// The rule, the expected and the found; no final period.
  std::string what;
  /// What to do about it; no final period.
  std::string advice;
};

using Faults = llvm::SmallVectorImpl<Fault>;

/// Where an instruction ran.
struct Place {
  std::string kernel;
  /// Line of the PTX text; from 1.
  unsigned line = 0;
  std::array<uint32_t, 3> cta = {0, 0, 0};
  /// Linear index in the CTA; none for what no thread does (asynchronous work,
  /// the end of a CTA).
  std::optional<uint32_t> thread;
};

struct Finding {
  Fault fault;
  /// The first CTA and thread of those that met it.
  Place place;
  uint64_t count = 1;
};

/// Findings of a run, one for each kernel, line and kind: a loop of a thousand
/// threads that goes wrong is one finding with a count. Threads of the host may
/// add at once; the outcome does not depend on their order.
class Report {
public:
  void add(const Place &place, const Fault &fault);

  /// The findings in the order of kernel, line and kind.
  llvm::SmallVector<Finding> getFindings() const;
  bool empty() const;

  /// Prints two lines for each finding: place, kind and text; then the advice.
  void print(llvm::raw_ostream &os) const;

private:
  using Key = std::tuple<std::string, unsigned, FaultKind>;
  mutable std::mutex mutex;
  std::map<Key, Finding> findings;
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_EMULATOR_REPORT_H
