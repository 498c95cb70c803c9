//===- PtxKernelsTest.cpp - Kernels that a GPU ran ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels of test/Data/make_ptx_matrices.py: matrix instructions, shuffles,
// votes, matches and reductions, as an H100 executes them; and of
// make_ptx_sums.py, products whose sums are not exact, as an H200 does.
//
//===----------------------------------------------------------------------===//

#include "KernelTest.h"
#include "PtxVectors.h"

using namespace blockscale::emulator;
using llvm::StringRef;

namespace {
/// A kernel of an archive of test/Data/ptx.
struct GpuKernel {
  std::string archive, name;

  std::vector<uint32_t> readWords(StringRef part) const;
  /// The text behind the directives that KernelRunner writes itself.
  std::string readText() const;
  /// What the emulator leaves behind.
  std::vector<uint32_t> run(const RunOptions &options) const;
  /// Runs it, and compares with what the GPU left.
  void check(const RunOptions &options) const;
};
} // namespace

std::vector<uint32_t> GpuKernel::readWords(StringRef part) const {
  NpyNumbers numbers = readNumbers(archive, name + "__" + part.str());
  return {numbers.values.begin(), numbers.values.end()};
}

std::string GpuKernel::readText() const {
  NpyNumbers numbers = readNumbers(archive, name + "__ptx");
  std::string text(numbers.values.begin(), numbers.values.end());
  return text.substr(std::min(text.find(".visible"), text.size()));
}

std::vector<uint32_t> GpuKernel::run(const RunOptions &options) const {
  KernelRunner runner;
  EXPECT_EQ(runner.load(readText()), "") << name;
  uint64_t from = runner.add("in", readWords("in"));
  uint64_t to = runner.addEmpty("out", readWords("out").size() * 4);
  runner.shape.block = {readWords("threads").front(), 1, 1};
  runner.options = options;
  EXPECT_EQ(runner.run("k", from, to), "") << name;
  EXPECT_EQ(runner.getFindings(), "") << name;
  return runner.get<uint32_t>("out");
}

void GpuKernel::check(const RunOptions &options) const {
  std::vector<uint32_t> expected = readWords("out");
  std::vector<uint32_t> results = run(options);
  ASSERT_EQ(results.size(), expected.size()) << name;
  unsigned shown = 0;
  for (size_t i = 0; i < expected.size() && shown < 3; ++i)
    if (results[i] != expected[i]) {
      ++shown;
      ADD_FAILURE() << name << std::hex << ": expected 0x" << expected[i]
                    << " in word " << std::dec << i << ", but got 0x"
                    << std::hex << results[i];
    }
}

/// The kernels of an archive whose names begin so.
static std::vector<GpuKernel> findKernels(const std::string &archive,
                                          StringRef prefix = "") {
  std::vector<GpuKernel> kernels;
  for (const std::string &array : listNumbers(archive)) {
    StringRef name = array;
    if (name.consume_back("__ptx") && name.starts_with(prefix))
      kernels.push_back({archive, name.str()});
  }
  return kernels;
}

TEST(PtxKernels, EqualTheGpu) {
  std::vector<GpuKernel> kernels = findKernels("sm_90_warp");
  EXPECT_GE(kernels.size(), 95U);
  for (const GpuKernel &kernel : kernels)
    kernel.check({});
}

// Products that are done as late as can be give the same.
TEST(PtxKernels, LateProductsEqualTheGpu) {
  RunOptions options;
  options.schedule = Schedule::Adversarial;
  for (const GpuKernel &kernel : findKernels("sm_90_warp", "wgmma_"))
    kernel.check(options);
}

TEST(PtxKernels, SumsEqualTheGpu) {
  std::vector<GpuKernel> kernels = findKernels("sm_90_sums");
  EXPECT_GE(kernels.size(), 264U);
  RunOptions options;
  options.sums = SumDevice::SM90;
  for (const GpuKernel &kernel : kernels)
    kernel.check(options);
}

// Sums of other devices, and the exact ones, are others: of ordinary numbers
// in each type that they have.
TEST(PtxKernels, OtherSumsDiffer) {
  for (SumDevice device : {SumDevice::Exact, SumDevice::SM80, SumDevice::SM89})
    for (const GpuKernel &kernel : findKernels("sm_90_sums")) {
      StringRef name = kernel.name;
      // Into f16 nearly all results are the nearest ones on each device, and so
      // are those of FP8 where all bits of the sum are kept.
      bool isFP8 = name.contains("_e4m3") || name.contains("_e5m2");
      bool isNearest =
          name.contains("_f16_") ||
          (isFP8 && name.starts_with("mma_") && device != SumDevice::SM89);
      if (!name.ends_with("_near_near") || isNearest)
        continue;
      RunOptions options;
      options.sums = device;
      EXPECT_NE(kernel.run(options), kernel.readWords("out"))
          << kernel.name << ' ' << getName(device).str();
    }
}
