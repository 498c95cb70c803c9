//===- PtxasRunTest.cpp - Running ptxas -----------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakePtxas.h"
#include "blockscale/Emit/Ptxas.h"

using namespace blockscale;

namespace {

/// Temporary files go to a directory of their own.
class PtxasRun : public FakePtxas {
protected:
  void SetUp() override {
    FakePtxas::SetUp();
    const char *before = getenv("TMPDIR");
    if (before)
      saved = before;
    std::filesystem::create_directory(directory + "/tmp");
    setenv("TMPDIR", (directory + "/tmp").c_str(), 1);
  }
  void TearDown() override {
    EXPECT_TRUE(std::filesystem::is_empty(directory + "/tmp"))
        << "temporary files are left";
    if (saved.empty())
      unsetenv("TMPDIR");
    else
      setenv("TMPDIR", saved.c_str(), 1);
    FakePtxas::TearDown();
  }

  std::string saved;
};

TEST_F(PtxasRun, ReturnsCubinAndResources) {
  // Checks its arguments, "assembles" by adding a line, reports on stderr.
  std::string ptxas = create("bin", R"(
[ "$1 $2 $4" = "-arch=sm_100a -v -o" ] || exit 3
(cat "$3"; echo assembled) > "$5"
echo "ptxas info    : Compiling entry function 'f' for 'sm_100a'" >&2
echo "    0 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads" >&2
echo "ptxas info    : Used 40 registers, used 0 barriers" >&2)");
  auto assembly = assemblePtx(ptxas, ".version 8.8\n", "sm_100a");
  ASSERT_TRUE(static_cast<bool>(assembly))
      << llvm::toString(assembly.takeError());
  EXPECT_EQ(assembly->cubin, ".version 8.8\nassembled\n");
  ASSERT_EQ(assembly->kernels.size(), 1u);
  EXPECT_EQ(assembly->kernels[0].name, "f");
  EXPECT_EQ(assembly->kernels[0].registers, 40u);
  EXPECT_EQ(assembly->kernels[0].spillStoreBytes, 4u);
  EXPECT_EQ(assembly->kernels[0].spillLoadBytes, 8u);
}

TEST_F(PtxasRun, ErrorHoldsWhatPtxasPrinted) {
  std::string ptxas = create(
      "bin", "echo 'x.ptx, line 3; error   : Unknown symbol' >&2; exit 255");
  auto assembly = assemblePtx(ptxas, "", "sm_100a");
  ASSERT_FALSE(static_cast<bool>(assembly));
  EXPECT_EQ(llvm::toString(assembly.takeError()),
            "'" + ptxas +
                "' failed with status 255:\n"
                "x.ptx, line 3; error   : Unknown symbol");
}

TEST_F(PtxasRun, NoSuchProgram) {
  auto assembly = assemblePtx(directory + "/absent", "", "sm_100a");
  ASSERT_FALSE(static_cast<bool>(assembly));
  EXPECT_NE(llvm::toString(assembly.takeError())
                .find("cannot run '" + directory + "/absent'"),
            std::string::npos);
}

} // namespace
