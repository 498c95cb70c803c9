//===- CApi.h - What the C interface is made of -----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_RUNTIME_CAPI_H
#define BLOCKSCALE_LIB_RUNTIME_CAPI_H

#include "blockscale-c/Runtime.h"
#include "blockscale/Runtime/Bundle.h"
#include "blockscale/Runtime/PlanResolution.h"

// C names.
// NOLINTBEGIN(readability-identifier-naming)

struct blockscale_function {
  std::shared_ptr<const blockscale::runtime::Bundle> bundle;
  const blockscale::runtime::LaunchPlan *plan;
  const blockscale::runtime::PlanFunction *function;
};

struct blockscale_bundle {
  std::shared_ptr<const blockscale::runtime::Bundle> bundle;
  /// The functions of each target.
  std::vector<std::vector<blockscale_function>> functions;
};

struct blockscale_call {
  /// What the resolved function refers to.
  std::shared_ptr<const blockscale::runtime::Bundle> bundle;
  blockscale::runtime::ResolvedFunction resolved;
};

namespace blockscale::runtime {

/// Keeps the message for the thread, and translates the kind.
blockscale_status report(const Status &status);

/// The place of a role's buffer in a function, if there is one.
std::optional<size_t> findBuffer(const PlanFunction &function,
                                 blockscale_role role, size_t number);

/// What calls `reduce` with `user`; nothing where it is null.
RankFunction toRankFunction(blockscale_reduce_callback reduce, void *user);

/// A failure that names the first of the pointers that is null, if any is.
Status
checkNotNull(std::initializer_list<std::pair<const char *, const void *>> each);

} // namespace blockscale::runtime

// NOLINTEND(readability-identifier-naming)

#endif // BLOCKSCALE_LIB_RUNTIME_CAPI_H
