//===- Config.h - Configurations of any version -----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CAPI_CONFIG_H
#define BLOCKSCALE_LIB_CAPI_CONFIG_H

#include "blockscale/Runtime/Result.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace blockscale::capi {

/// Copies a caller's configuration, which begins with its size: what an older
/// one lacks is 0, and what a newer one has must be.
template <typename Config>
runtime::Status readConfig(const Config *from, Config &to) {
  using runtime::Status;
  if (!from)
    return Status::failure("expected config to be a pointer, but got null");
  size_t size = from->struct_size;
  if (size < sizeof(size_t) || size > 1 << 16)
    return Status::failure("expected struct_size of config to be its size, " +
                           std::to_string(sizeof(Config)) + ", but got " +
                           std::to_string(size));
  const char *bytes = reinterpret_cast<const char *>(from);
  for (size_t i = sizeof(Config); i < size; ++i)
    if (bytes[i] != 0)
      return Status::failure(
          "expected a config of at most " + std::to_string(sizeof(Config)) +
          " bytes, but got a field at byte " + std::to_string(i) +
          " that this version does not know");
  to = Config();
  std::memcpy(static_cast<void *>(&to), bytes, std::min(size, sizeof(Config)));
  to.struct_size = sizeof(Config);
  return Status::success();
}

/// A config that asks for nothing but defaults.
template <typename Config>
Config getDefault() {
  Config config = {};
  config.struct_size = sizeof(Config);
  return config;
}

} // namespace blockscale::capi

#endif // BLOCKSCALE_LIB_CAPI_CONFIG_H
