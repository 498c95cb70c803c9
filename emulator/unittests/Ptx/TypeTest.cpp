//===- TypeTest.cpp - Fundamental types of PTX ----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Emulator/Type.h"

#include <gtest/gtest.h>

using namespace blockscale::emulator;

// The table has the order of the enumeration: each name finds its own type.
TEST(Type, NamesAndTypesBelongTogether) {
  for (auto i = static_cast<unsigned>(Type::Pred);
       i <= static_cast<unsigned>(Type::E2M1x4); ++i) {
    auto type = static_cast<Type>(i);
    EXPECT_EQ(findType(getInfo(type).name), type) << getInfo(type).name.str();
  }
}

// Sizes that memory and registers have.
TEST(Type, Sizes) {
  EXPECT_EQ(getBytes(Type::B128), 16u);
  EXPECT_EQ(getBytes(Type::F32x2), 8u);
  EXPECT_EQ(getBytes(Type::E2M1x2), 1u);
  EXPECT_EQ(getBytes(Type::E2M1x4), 2u);
  EXPECT_EQ(getInfo(Type::Pred).bits, 1u);
}

// A name is matched whole, without its dot.
TEST(Type, UnknownNames) {
  for (const char *name : {"", ".b32", "b33", "B32", "b32 "})
    EXPECT_EQ(findType(name), std::nullopt) << name;
}
