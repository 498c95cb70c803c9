//===- PtxasSearchTest.cpp - Where ptxas is looked for --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakePtxas.h"
#include "blockscale/Emit/Ptxas.h"

#include <map>

using namespace blockscale;

namespace {

class PtxasSearch : public FakePtxas {
protected:
  void SetUp() override {
    FakePtxas::SetUp();
    for (const char *name :
         {"BLOCKSCALE_PTXAS", "PATH", "CUDA_ROOT", "CUDA_HOME", "CUDA_PATH"}) {
      if (const char *value = getenv(name))
        saved[name] = value;
      unsetenv(name);
    }
    setenv("PATH", (directory + "/on-path").c_str(), 1);
  }
  void TearDown() override {
    unsetenv("BLOCKSCALE_PTXAS");
    for (const char *name : {"CUDA_ROOT", "CUDA_HOME", "CUDA_PATH"})
      unsetenv(name);
    for (const auto &[name, value] : saved)
      setenv(name.c_str(), value.c_str(), 1);
    FakePtxas::TearDown();
  }

  std::string find() const {
    auto found = findPtxas(getPtxasPlaces(directory));
    return found ? *found : llvm::toString(found.takeError());
  }

  std::map<std::string, std::string> saved;
};

TEST_F(PtxasSearch, Order) {
  // Places are filled from the last one to the first: each new one is
  // preferred.
  std::string older = createRelease(
      ".venv/lib/python3.11/site-packages/nvidia/cu13/bin", "13.0");
  EXPECT_EQ(find(), older);
  for (const char *name : {"CUDA_PATH", "CUDA_HOME", "CUDA_ROOT"}) {
    std::string ptxas = createRelease(std::string(name) + "/bin", "13.1");
    EXPECT_EQ(find(), older) << name;
    setenv(name, (directory + "/" + name).c_str(), 1);
    EXPECT_EQ(find(), ptxas) << name;
    older = ptxas;
  }
  older = createRelease("on-path", "13.0");
  EXPECT_EQ(find(), older);
  std::string named = createRelease("named", "14.2");
  EXPECT_EQ(find(), older);
  setenv("BLOCKSCALE_PTXAS", named.c_str(), 1);
  EXPECT_EQ(find(), named);
}

TEST_F(PtxasSearch, PassesOverWhatIsNoPtxas13) {
  std::string wanted = createRelease("wanted", "13.0");
  std::string old = createRelease("old", "12.9");
  std::string fails = create("fails", "echo release 13.0; exit 1");
  std::string silent = create("silent", "echo hello");
  auto found = findPtxas({{"A", directory + "/absent/ptxas"},
                          {"B", ""},
                          {"C", old},
                          {"D", fails},
                          {"E", silent},
                          {"F", wanted}});
  ASSERT_TRUE(static_cast<bool>(found)) << llvm::toString(found.takeError());
  EXPECT_EQ(*found, wanted);
}

TEST_F(PtxasSearch, ErrorNamesEveryPlace) {
  std::string old = createRelease("old", "12.9");
  auto found = findPtxas({{"$UNSET", ""},
                          {"PATH", ""},
                          {"$HOME/bin", directory + "/ptxas"},
                          {"/opt", old}});
  ASSERT_FALSE(static_cast<bool>(found));
  EXPECT_EQ(llvm::toString(found.takeError()),
            "expected a ptxas of CUDA 13 or later, but found none; searched:\n"
            "  $UNSET: not set\n"
            "  PATH: none\n"
            "  $HOME/bin: " +
                directory +
                "/ptxas: no such program\n"
                "  /opt: " +
                old + ": release 12.9");
}

TEST_F(PtxasSearch, PlacesAreThoseOfTheSetupScript) {
  std::vector<std::string> names;
  for (const PtxasPlace &place : getPtxasPlaces("/project"))
    names.push_back(place.name);
  EXPECT_EQ(names, (std::vector<std::string>{
                       "$BLOCKSCALE_PTXAS", "PATH", "$CUDA_ROOT/bin",
                       "$CUDA_HOME/bin", "$CUDA_PATH/bin",
                       "/project/.venv/lib/python3*/site-packages/nvidia/cu*",
                       "/usr/local/cuda/bin"}));
}

} // namespace
