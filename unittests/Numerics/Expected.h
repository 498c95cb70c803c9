//===- Expected.h - Expected arrays from files ------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_UNITTESTS_NUMERICS_EXPECTED_H
#define BLOCKSCALE_UNITTESTS_NUMERICS_EXPECTED_H

#include "gtest/gtest.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace blockscale::numerics {

/// An array of raw bits, in C order.
struct ExpectedArray {
  std::string name;
  size_t itemSize = 0;
  std::vector<int64_t> shape;
  std::vector<char> bytes;

  /// The elements as `T`. Fails the test, with an empty result, where the
  /// element size differs.
  template <typename T>
  std::vector<T> getAs() const {
    if (itemSize != sizeof(T)) {
      ADD_FAILURE() << name << ": expected elements of " << sizeof(T)
                    << " bytes, but got " << itemSize;
      return {};
    }
    std::vector<T> elements(bytes.size() / sizeof(T));
    if (!elements.empty())
      std::memcpy(elements.data(), bytes.data(), bytes.size());
    return elements;
  }
};

bool hasExpected(const std::string &archive, const std::string &array);

/// Reads an array of an archive; fails the test where that is not possible.
ExpectedArray readExpected(const std::string &archive,
                           const std::string &array);

/// The elements of an array of an archive.
template <typename T>
std::vector<T> readExpectedAs(const std::string &archive,
                              const std::string &array) {
  return readExpected(archive, array).getAs<T>();
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_UNITTESTS_NUMERICS_EXPECTED_H
