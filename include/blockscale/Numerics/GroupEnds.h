//===- GroupEnds.h - Where groups end ---------------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ends of groups are numbers in memory, in elements. Where one breaks a
// rule the call is an error; the functions below say how code goes on until
// somebody learns of it, on every target alike. They are templates over the
// type of their indices (Index.h).
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_GROUPENDS_H
#define BLOCKSCALE_NUMERICS_GROUPENDS_H

#include "blockscale/Numerics/Index.h"

namespace blockscale::numerics {

/// `end` where a group may end there, whatever begins before: at most at
/// `extent` and at a multiple of `unit`; else 0.
template <typename Index>
constexpr Index keepGroupEnd(Index end, Index extent, int64_t unit) {
  Index none = like(end, 0);
  Index inside = select(isLess(extent, end), none, end);
  return unit == 1 ? inside
                   : select(isLess(none, Index(end % unit)), none, inside);
}

/// Where a group ends that begins at `begin`, the end of the group before. An
/// end has to be at least `begin`, at most `extent` and a multiple of `unit`.
/// What is no such end makes the group empty, and the next one begins where
/// this one does: whatever the ends are, groups lie beside each other and in
/// the extent. So each group ends at the largest of what `keepGroupEnd` gives
/// of its end and of those before, which threads can find together.
template <typename Index>
constexpr Index getGroupEnd(Index end, Index begin, Index extent,
                            int64_t unit) {
  return maxSigned(keepGroupEnd(end, extent, unit), begin);
}

/// A step of the search for the group of `position`, which is the first group
/// whose end is behind it: after `takeGroup` of the ends that `getGroupEnd`
/// gives, in their order and starting from 0, `found` is that group, or the
/// number of groups where none is.
template <typename Index>
constexpr Index takeGroup(Index found, Index end, Index position) {
  return select(isLess(position, end), found, Index(found + 1));
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_GROUPENDS_H
