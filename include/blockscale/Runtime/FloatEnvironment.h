//===- FloatEnvironment.h - How a thread computes ---------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_RUNTIME_FLOATENVIRONMENT_H
#define BLOCKSCALE_RUNTIME_FLOATENVIRONMENT_H

#include <cfenv>

namespace blockscale::runtime {

/// While it lives, its thread rounds to nearest even and keeps subnormal
/// numbers, as a new process does. Programs that call BlockScale may compute
/// otherwise: XLA takes subnormals for 0.
class DefaultFloatEnvironment {
public:
  DefaultFloatEnvironment() {
    std::fegetenv(&callers);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatEnvironment() { std::fesetenv(&callers); }
  DefaultFloatEnvironment(const DefaultFloatEnvironment &) = delete;
  DefaultFloatEnvironment &operator=(const DefaultFloatEnvironment &) = delete;

private:
  std::fenv_t callers;
};

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_FLOATENVIRONMENT_H
