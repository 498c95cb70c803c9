//===- AddressWindow.h - Windows of the state spaces ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The windows of the generic address space, one for each state space.
//
// PTX ISA, sections "State Spaces", "Generic Addressing", "cvta" and "mapa".
//
// A generic address belongs to the space in whose window it falls, and to
// global memory where it falls in none:
//
//   0x0100'0000'0000  shared::cluster   bits 24-31 the CTA's rank in its
//                                       cluster, bits 0-23 the byte
//   0x0200'0000'0000  local
//   0x0300'0000'0000  param             of the kernel
//   0x0400'0000'0000  const
//
// An address of a space other than global is the distance from its window, so
// shared::cta is the part of shared::cluster that has the own rank. Clearing
// bit 24 names the even CTA of a pair, which SM100 programs rely on.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_MEMORY_ADDRESSWINDOW_H
#define BLOCKSCALE_LIB_EMULATOR_MEMORY_ADDRESSWINDOW_H

#include "blockscale/Emulator/Report.h"
#include "blockscale/Emulator/StateSpace.h"

namespace blockscale::emulator {

struct SpaceAddress {
  StateSpace space;
  uint64_t address;
};

SpaceAddress resolveGeneric(uint64_t generic);

/// cvta.space: the generic address of `address` in `space`.
uint64_t toGeneric(StateSpace space, uint64_t address);

/// cvta.to.space: none, and a fault, where the address is in another window.
std::optional<uint64_t> fromGeneric(StateSpace space, uint64_t generic,
                                    Faults &faults);

constexpr unsigned kMaxClusterSize = 16;
/// The highest rank that an address can have, which no CTA has.
constexpr uint32_t kNoCtaRank = 0xFF;

inline uint32_t getSharedBase(unsigned rank) { return uint32_t(rank) << 24; }
inline unsigned getCtaRank(uint64_t shared) { return (shared >> 24) & 0xFF; }

/// mapa: the byte of the CTA of rank `rank` that corresponds to this one. PTX
/// does not say what it is where the cluster has no such CTA; here it is an
/// address of no CTA, so that its use is a fault and its computation is none:
/// CUTLASS computes such addresses and does not use them.
uint64_t mapToCta(uint64_t shared, uint32_t rank);

/// Whether an address that an instruction takes as shared::cta is the own
/// CTA's; a fault where it is not.
bool isOwnShared(uint64_t shared, unsigned ownRank, Faults &faults);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_MEMORY_ADDRESSWINDOW_H
