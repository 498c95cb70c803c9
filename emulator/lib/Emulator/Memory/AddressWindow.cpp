//===- AddressWindow.cpp - Windows of the state spaces --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Memory/AddressWindow.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

namespace blockscale::emulator {

namespace {
struct Window {
  StateSpace space;
  uint64_t base;
  uint64_t size;
};
} // namespace

static constexpr Window kWindows[] = {
    {StateSpace::Shared, 0x0100'0000'0000, uint64_t(1) << 32},
    {StateSpace::Local, 0x0200'0000'0000, uint64_t(1) << 32},
    {StateSpace::Param, 0x0300'0000'0000, uint64_t(1) << 32},
    {StateSpace::Const, 0x0400'0000'0000, uint64_t(1) << 32},
};

SpaceAddress resolveGeneric(uint64_t generic) {
  for (const Window &window : kWindows)
    if (generic - window.base < window.size)
      return {window.space, generic - window.base};
  return {StateSpace::Global, generic};
}

uint64_t toGeneric(StateSpace space, uint64_t address) {
  const auto *window = llvm::find_if(
      kWindows, [&](const Window &window) { return window.space == space; });
  return window == std::end(kWindows) ? address : window->base + address;
}

std::optional<uint64_t> fromGeneric(StateSpace space, uint64_t generic,
                                    Faults &faults) {
  SpaceAddress found = resolveGeneric(generic);
  if (found.space == space)
    return found.address;
  faults.push_back(
      {FaultKind::WrongSpace,
       llvm::formatv("expected a generic address in the window of .{0}, but "
                     "{1:x} is in .{2}",
                     getName(space), generic, getName(found.space)),
       "convert an address only to the space that it came from"});
  return std::nullopt;
}

uint64_t mapToCta(uint64_t shared, uint32_t rank) {
  return (shared & 0xFFFFFF) | getSharedBase(std::min(rank, kNoCtaRank));
}

bool isOwnShared(uint64_t shared, unsigned ownRank, Faults &faults) {
  if (getCtaRank(shared) == ownRank)
    return true;
  faults.push_back(
      {FaultKind::WrongSpace,
       llvm::formatv("expected an address in .shared::cta of the CTA of rank "
                     "{0}, but {1:x} belongs to rank {2}",
                     ownRank, shared, getCtaRank(shared)),
       "use the .shared::cluster form of the instruction"});
  return false;
}

} // namespace blockscale::emulator
