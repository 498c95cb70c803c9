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
  llvm::SmallVector<Fault> faults;
  uint64_t own = getSharedBase(2) + 0x1234;
  EXPECT_EQ(mapToCta(own, 2, 4, faults), own);
  auto other = mapToCta(own, 3, 4, faults);
  ASSERT_TRUE(other);
  EXPECT_EQ(getCtaRank(*other), 3u);
  EXPECT_EQ(mapToCta(*other, 2, 4, faults), own);
  EXPECT_TRUE(faults.empty());
}

// The even CTA of a pair is the one without bit 24.
TEST(AddressWindow, PairLeaderByMask) {
  llvm::SmallVector<Fault> faults;
  uint64_t odd = getSharedBase(3) + 0x88;
  EXPECT_EQ(mapToCta(odd, 2, 4, faults), odd & 0xFEFFFFFF);
}

TEST(AddressWindow, MapaOfAMissingCta) {
  llvm::SmallVector<Fault> faults;
  EXPECT_EQ(mapToCta(0x10, 4, 4, faults), std::nullopt);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].what,
            "expected the rank of a CTA of the cluster of 4, but got 4");
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
