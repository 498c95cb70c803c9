//===- Bundle.h - A module's plans and PTX in one file ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All that a machine with a driver needs to run a module: for each chip a
// launch plan and the kernels' PTX, and maybe their machine code, and the
// constants that the plans share.
// docs/LaunchPlan.md describes the bytes.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_RUNTIME_BUNDLE_H
#define BLOCKSCALE_RUNTIME_BUNDLE_H

#include "blockscale/Runtime/LaunchPlan.h"

#include <memory>

namespace blockscale::runtime {

inline constexpr uint32_t kBundleVersion = 1;

/// What a bundle is written from.
struct BundleContent {
  struct Target {
    /// The launch plan, whose chip is the target's.
    std::string plan;
    /// The PTX of the kernels; empty where the plan has none.
    std::string ptx;
    /// Machine code of the PTX for the chip; may be empty.
    std::string cubin;
  };
  std::vector<Target> targets;
  /// The constants, which the plans give by number.
  std::vector<std::string> constants;
};

std::string writeBundle(const BundleContent &content);

/// A bundle that was read and validated whole. Everything in it lives as long
/// as it does.
class Bundle {
public:
  struct Target {
    LaunchPlan plan;
    /// The PTX of the kernels, which a NUL follows; empty where there are none.
    std::string_view ptx;
    /// The version that the PTX names, "8.8" for ".version 8.8".
    std::string ptxVersion;
    /// Machine code of the PTX, for GPUs and drivers that take it; may be
    /// empty.
    std::string_view cubin;
  };

  /// A bundle of one target that was just compiled. The plan has its constants.
  static Result<std::shared_ptr<const Bundle>>
  create(LaunchPlan plan, std::string ptx, std::string_view cubin = {});
  /// Failures name what is damaged, the expected and the found.
  static Result<std::shared_ptr<const Bundle>> parse(std::string bytes);
  /// Reads and parses a file; failures begin with its path.
  static Result<std::shared_ptr<const Bundle>> read(const std::string &path);

  const std::vector<Target> &getTargets() const { return targets; }
  /// Names of the targets' chips.
  std::vector<std::string_view> getChips() const;

private:
  friend class BundleReader;
  explicit Bundle(std::string bytes) : bytes(std::move(bytes)) {}

  std::string bytes;
  std::vector<Target> targets;
};

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_BUNDLE_H
