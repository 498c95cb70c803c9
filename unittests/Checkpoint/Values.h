//===- Values.h - Numbers for tests of tensors ------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_UNITTESTS_CHECKPOINT_VALUES_H
#define BLOCKSCALE_UNITTESTS_CHECKPOINT_VALUES_H

#include "gtest/gtest.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

namespace blockscale::checkpoint {

/// Bytes of all kinds, the same in each run.
inline std::vector<uint8_t> makeBytes(size_t count) {
  std::mt19937 random(1);
  std::vector<uint8_t> bytes(count);
  for (uint8_t &byte : bytes)
    byte = static_cast<uint8_t>(random());
  return bytes;
}

/// Numbers of a normal distribution, the same in each run.
inline std::vector<float> makeValues(size_t count) {
  std::mt19937 random(2);
  std::normal_distribution<float> distribution;
  std::vector<float> values(count);
  for (float &value : values)
    value = distribution(random);
  return values;
}

/// Memory with the elements from byte 1 on.
template <typename Element>
std::vector<char> misalign(const std::vector<Element> &elements) {
  std::vector<char> memory(1 + elements.size() * sizeof(Element));
  std::memcpy(memory.data() + 1, elements.data(), memory.size() - 1);
  return memory;
}

} // namespace blockscale::checkpoint

#endif // BLOCKSCALE_UNITTESTS_CHECKPOINT_VALUES_H
