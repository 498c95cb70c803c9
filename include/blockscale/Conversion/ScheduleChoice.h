//===- ScheduleChoice.h - Where schedules come from -------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// blockscale-choose-schedules leaves a record of its choices at the module,
// which outlives the products: launch plans and bundles carry it, and
// blockscale_tune.py learns from it which other schedules are worth a
// measurement (docs/Tuning.md).
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_CONVERSION_SCHEDULECHOICE_H
#define BLOCKSCALE_CONVERSION_SCHEDULECHOICE_H

#include "blockscale/IR/BlockScaleDialect.h"

#include "mlir/IR/BuiltinOps.h"

#include <array>
#include <optional>

namespace blockscale {

/// The attribute of a module that holds its choices.
inline constexpr llvm::StringLiteral kChoicesAttrName = "blockscale.choices";

/// The version of the compiler, which measurements of its kernels name.
llvm::StringRef getCompilerVersion();

/// The parameters of a schedule, by the names that its attribute has.
std::array<std::pair<llvm::StringRef, int64_t>, 7>
getParameters(GemmScheduleAttr schedule);

/// A schedule that a product can have, and the nanoseconds that the model
/// expects of it.
struct ScheduleCandidate {
  GemmScheduleAttr schedule;
  int64_t predicted;
};

/// The schedule of one kernel of products.
struct ScheduleChoice {
  /// The name of the function that the product is in.
  std::string function;
  /// The kernel and the buckets of its sizes, a dictionary of strings, and its
  /// values in one word.
  mlir::DictionaryAttr key;
  std::string name;
  GemmScheduleAttr schedule;
  /// "model", "tuned", "attribute" or "option".
  std::string source;
  /// What the model expects, where it rates the schedule.
  std::optional<int64_t> predicted;
  /// The model's best, the best first, where they were asked for.
  llvm::SmallVector<ScheduleCandidate> candidates;
};

void setChoices(mlir::ModuleOp module, llvm::ArrayRef<ScheduleChoice> choices);

/// The choices of a module; none where there is no record, and an error at the
/// module where the attribute is something else.
mlir::FailureOr<llvm::SmallVector<ScheduleChoice>>
getChoices(mlir::ModuleOp module);

} // namespace blockscale

#endif // BLOCKSCALE_CONVERSION_SCHEDULECHOICE_H
