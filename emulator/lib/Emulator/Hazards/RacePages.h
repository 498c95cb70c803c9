//===- RacePages.h - Memory that is watched page by page --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Logs of races watch memory in pages. A page has words of one size, which is
// halved when an access begins or ends within a word.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_HAZARDS_RACEPAGES_H
#define BLOCKSCALE_LIB_EMULATOR_HAZARDS_RACEPAGES_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace blockscale::emulator {

/// Repeats the values of each word, `group` of them, for its two halves.
template <typename T>
void repeatEach(std::vector<T> &values, size_t group = 1) {
  std::vector<T> twice;
  twice.reserve(2 * values.size());
  for (size_t i = 0; i < values.size(); i += group)
    for (unsigned copy = 0; copy < 2; ++copy)
      twice.insert(twice.end(), values.begin() + i, values.begin() + i + group);
  values = std::move(twice);
}

/// Calls `visit` with each part of [begin, end) that lies in one page: the
/// number of the page, and where the part begins and ends in it.
template <typename Visit>
void forEachPagePart(uint64_t begin, uint64_t end, uint64_t pageSize,
                     Visit visit) {
  while (begin < end) {
    uint64_t first = begin % pageSize;
    uint64_t last = std::min(first + (end - begin), pageSize);
    visit(begin / pageSize, first, last);
    begin += last - first;
  }
}

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_HAZARDS_RACEPAGES_H
