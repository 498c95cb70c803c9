//===- AddressWindowTest.cpp - State spaces and their windows -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Memory/AddressWindow.h"

#include <gtest/gtest.h>

using namespace blockscale::emulator;

// Every space's addresses survive the way to a generic address and back, and
// no other space takes them.
TEST(AddressWindow, RoundTrip) {
  StateSpace spaces[] = {StateSpace::Global, StateSpace::Shared,
                         StateSpace::Local, StateSpace::Param,
                         StateSpace::Const};
  for (StateSpace space : spaces) {
    uint64_t address = space == StateSpace::Global ? 0x7000'0000'0040 : 0x40;
    uint64_t generic = toGeneric(space, address);
    for (StateSpace other : spaces) {
      llvm::SmallVector<Fault> faults;
      auto back = fromGeneric(other, generic, faults);
      EXPECT_EQ(back.has_value(), other == space);
      EXPECT_EQ(faults.empty(), other == space);
      if (back)
        EXPECT_EQ(*back, address);
      else
        EXPECT_EQ(faults[0].kind, FaultKind::WrongSpace);
    }
  }
}

// What is in no window is global, the null pointer too.
TEST(AddressWindow, ElsewhereIsGlobal) {
  EXPECT_EQ(resolveGeneric(0).space, StateSpace::Global);
  EXPECT_EQ(resolveGeneric(~uint64_t(0)).space, StateSpace::Global);
  EXPECT_EQ(resolveGeneric(toGeneric(StateSpace::Shared, 0) - 1).space,
            StateSpace::Global);
}

// PTX ISA, mapa: the address of the same variable in another CTA. For the own
// rank it is the shared::cta address itself.
TEST(AddressWindow, MapaNamesTheSameByteOfAnotherCta) {
  uint64_t own = getSharedBase(2) + 0x1234;
  EXPECT_EQ(mapToCta(own, 2), own);
  uint64_t other = mapToCta(own, 3);
  EXPECT_EQ(getCtaRank(other), 3u);
  EXPECT_EQ(mapToCta(other, 2), own);
}

// The even CTA of a pair is the one without bit 24.
TEST(AddressWindow, PairLeaderByMask) {
  uint64_t odd = getSharedBase(3) + 0x88;
  EXPECT_EQ(mapToCta(odd, 2), odd & 0xFEFFFFFF);
}

// However large the rank is, the address is one of shared memory, of a CTA that
// no cluster has.
TEST(AddressWindow, MapaOfAMissingCta) {
  for (uint32_t rank : {kMaxClusterSize, 0x100u, 0x101u, 0xFFFFFFFFu}) {
    uint64_t shared = mapToCta(0x10, rank);
    EXPECT_GE(getCtaRank(shared), kMaxClusterSize) << rank;
    SpaceAddress found = resolveGeneric(toGeneric(StateSpace::Shared, shared));
    EXPECT_EQ(found.space, StateSpace::Shared) << rank;
    EXPECT_EQ(found.address, shared) << rank;
  }
}

// An instruction on shared::cta does not reach into another CTA.
TEST(AddressWindow, OwnShared) {
  llvm::SmallVector<Fault> faults;
  EXPECT_TRUE(isOwnShared(getSharedBase(1) + 8, 1, faults));
  EXPECT_TRUE(faults.empty());
  EXPECT_FALSE(isOwnShared(getSharedBase(1) + 8, 0, faults));
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].kind, FaultKind::WrongSpace);
}
