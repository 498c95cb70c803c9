//===- StripGroups.h - Groups of the blocks of a fragment -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPGROUPS_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPGROUPS_H

#include "DeviceEmission/GroupSearch.h"
#include "FragmentElements.h"

namespace blockscale {

/// The groups of the blocks of a fragment: one, or one for each of its columns
/// or of its rows.
class StripGroups {
public:
  /// The group that has the fragment, all its rows, where the kernel pads
  /// groups, of which there are `count` (i64).
  StripGroups(KernelBuilder &b, const StripSpec &spec,
              const StripPosition &position, emit::Lanes count);
  /// `offsets` points to the ends of `count` (i64) groups.
  StripGroups(KernelBuilder &b, const StripSpec &spec,
              const StripPosition &position, mlir::Value offsets,
              emit::Lanes count);

  bool isOne() const { return numbers.size() == 1; }

  /// Whether the block at a column, or at a row, has a group.
  emit::Lanes isCovered(int64_t place) const {
    return covered[isOne() ? 0 : place];
  }
  llvm::ArrayRef<emit::Lanes> getCovered() const { return covered; }
  /// The number of its group, i64.
  emit::Lanes getNumber(int64_t place) const {
    return numbers[isOne() ? 0 : place];
  }
  llvm::ArrayRef<emit::Lanes> getNumbers() const { return numbers; }
  /// Whether there is a group of that number.
  emit::Lanes exists(emit::Lanes number) const {
    return isBelow(number, count);
  }

private:
  llvm::SmallVector<emit::Lanes> findRows(const StripSpec &spec,
                                          const StripPosition &position,
                                          const GroupEnds &ends);

  KernelBuilder &b;
  emit::Lanes count;
  llvm::SmallVector<emit::Lanes> numbers, covered;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPGROUPS_H
