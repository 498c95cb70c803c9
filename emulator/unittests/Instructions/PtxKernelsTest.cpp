//===- PtxKernelsTest.cpp - Kernels that a GPU ran ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels of test/Data/make_ptx_matrices.py: matrix instructions, shuffles,
// votes, matches and reductions, as an H100 executes them.
//
//===----------------------------------------------------------------------===//

#include "KernelTest.h"
#include "PtxVectors.h"

using namespace blockscale::emulator;
using llvm::StringRef;

static std::vector<uint32_t> readWords(const std::string &name) {
  NpyNumbers numbers = readNumbers("sm_90_warp", name);
  return {numbers.values.begin(), numbers.values.end()};
}

/// The text behind the directives that KernelRunner writes itself.
static std::string readText(const std::string &name) {
  NpyNumbers numbers = readNumbers("sm_90_warp", name);
  std::string text(numbers.values.begin(), numbers.values.end());
  return text.substr(std::min(text.find(".visible"), text.size()));
}

static void runKernel(const std::string &name, const RunOptions &options) {
  KernelRunner runner;
  ASSERT_EQ(runner.load(readText(name + "__ptx")), "") << name;
  std::vector<uint32_t> expected = readWords(name + "__out");
  uint64_t from = runner.add("in", readWords(name + "__in"));
  uint64_t to = runner.addEmpty("out", expected.size() * 4);
  runner.shape.block = {readWords(name + "__threads").front(), 1, 1};
  runner.options = options;
  ASSERT_EQ(runner.run("k", from, to), "") << name;
  EXPECT_EQ(runner.getFindings(), "") << name;
  std::vector<uint32_t> results = runner.get<uint32_t>("out");
  unsigned shown = 0;
  for (size_t i = 0; i < expected.size() && shown < 3; ++i)
    if (results[i] != expected[i]) {
      ++shown;
      ADD_FAILURE() << name << std::hex << ": expected 0x" << expected[i]
                    << " in word " << std::dec << i << ", but got 0x"
                    << std::hex << results[i];
    }
}

TEST(PtxKernels, EqualTheGpu) {
  unsigned count = 0;
  for (const std::string &name : listNumbers("sm_90_warp"))
    if (StringRef(name).ends_with("__ptx")) {
      runKernel(StringRef(name).drop_back(5).str(), RunOptions());
      ++count;
    }
  EXPECT_GE(count, 95u);
}

// Products that are done as late as can be give the same.
TEST(PtxKernels, LateProductsEqualTheGpu) {
  RunOptions options;
  options.schedule = Schedule::Adversarial;
  for (const std::string &name : listNumbers("sm_90_warp"))
    if (StringRef(name).starts_with("wgmma_") &&
        StringRef(name).ends_with("__ptx"))
      runKernel(StringRef(name).drop_back(5).str(), options);
}
