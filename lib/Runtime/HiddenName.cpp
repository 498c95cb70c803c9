//===- HiddenName.cpp - Names of files in the making ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HiddenName.h"

#include <atomic>
#include <random>
#include <unistd.h>

std::string blockscale::runtime::makeHiddenName() {
  static const unsigned salt = std::random_device()();
  static std::atomic<unsigned> counter{0};
  return ".blockscale-" + std::to_string(getpid()) + "-" +
         std::to_string(salt) + "-" + std::to_string(counter++) + ".tmp";
}
