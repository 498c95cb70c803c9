//===- FaultTest.h - Tests that expect faults -------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_UNITTESTS_EMULATOR_FAULTTEST_H
#define BLOCKSCALE_UNITTESTS_EMULATOR_FAULTTEST_H

#include "blockscale/Emulator/Report.h"

#include <gtest/gtest.h>

namespace blockscale::emulator {

struct FaultTest : testing::Test {
  llvm::SmallVector<Fault> faults;

  /// The first fault is of this kind and says this; forgets all.
  void expectFirstFault(FaultKind kind, llvm::StringRef text) {
    ASSERT_FALSE(faults.empty()) << text.str();
    EXPECT_EQ(faults[0].kind, kind);
    EXPECT_NE(faults[0].what.find(text.str()), std::string::npos)
        << faults[0].what;
    faults.clear();
  }

  /// The only fault is of this kind and says this; forgets it.
  void expectFault(FaultKind kind, llvm::StringRef text) {
    ASSERT_EQ(faults.size(), 1u) << text.str();
    expectFirstFault(kind, text);
  }
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_UNITTESTS_EMULATOR_FAULTTEST_H
