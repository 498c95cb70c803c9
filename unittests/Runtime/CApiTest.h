//===- CApiTest.h - A bundle and a driver for tests -------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The fixture for tests of the C API of the runtime. The library is
// libBlockScaleRuntime, as its users link it, and the driver is FakeCuda.cpp,
// or the emulator's (emulator/lib/CudaRuntime) where kernels have results.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_UNITTESTS_RUNTIME_CAPITEST_H
#define BLOCKSCALE_UNITTESTS_RUNTIME_CAPITEST_H

#include "TestFiles.h"
#include "blockscale-c/Runtime.h"
#include "blockscale/Runtime/Bundle.h"

#include <cstdlib>

namespace blockscale::runtime {

inline std::string readCudaData(const std::string &name) {
  std::ifstream stream(std::string(BLOCKSCALE_TEST_DATA) + "/cuda/" + name);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline std::string replace(std::string text, const std::string &from,
                           const std::string &to) {
  for (size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

/// The plan with a launch before the copy of `ranks`, which may overlap the
/// launch before it.
inline std::string launchTwice(const std::string &plan,
                               const std::string &cluster) {
  const std::string copy = R"({"copy": {"from": {"buffer": "k"})";
  return replace(plan, copy,
                 R"({"launch": {"kernel": "cluster_rank", "grid": [8, 1, 1],
                     "block": [1, 1, 1], "cluster": )" +
                     cluster + R"(, "shared": 0, "programmatic": true,
                     "parameters": [{"buffer": "r"}]}}, )" +
                     copy);
}

/// A driver, $FAKE_CUDA for the fake one, and the bundle of test/Data/cuda.
class CApiTest : public FileTest {
protected:
  void SetUp() override {
    FileTest::SetUp();
    set("");
    setenv("FAKE_CUDA_LOG", path("log").c_str(), 1);
    content = {
        {{readCudaData("portable.json"), readCudaData("portable.ptx"), {}}},
        {"hello"}};
  }
  void TearDown() override {
    blockscale_module_unload(module);
    blockscale_device_close(device);
    blockscale_bundle_close(bundle);
    FileTest::TearDown();
  }

  static void set(const std::string &settings) {
    setenv("FAKE_CUDA", settings.c_str(), 1);
  }

  void openBundle() {
    std::string bytes = writeBundle(content);
    ASSERT_EQ(
        blockscale_bundle_open_memory(bytes.data(), bytes.size(), &bundle),
        BLOCKSCALE_OK)
        << blockscale_last_error();
  }

  blockscale_status openDevice(const char *driver = BLOCKSCALE_FAKE_CUDA) {
    return blockscale_device_open(0, driver, &device);
  }

  blockscale_status load(const char *driver = BLOCKSCALE_FAKE_CUDA) {
    openBundle();
    blockscale_status status = openDevice(driver);
    return status ? status : blockscale_module_load(bundle, device, &module);
  }

  const blockscale_function *find(const char *name) {
    const blockscale_function *function = nullptr;
    EXPECT_EQ(blockscale_function_find(bundle, 0, name, &function),
              BLOCKSCALE_OK)
        << blockscale_last_error();
    return function;
  }

  /// A call of scale with n elements.
  blockscale_call *makeScale(int64_t n) {
    const float g = 3;
    const blockscale_argument arguments[] = {
        {BLOCKSCALE_FLOAT32, 1, &n, nullptr},
        {BLOCKSCALE_FLOAT32, 0, nullptr, &g}};
    blockscale_call *call = nullptr;
    EXPECT_EQ(blockscale_call_create(find("scale"), arguments, 2, &call),
              BLOCKSCALE_OK)
        << blockscale_last_error();
    return call;
  }

  uint64_t allocate(uint64_t bytes) {
    uint64_t address = 0;
    EXPECT_EQ(blockscale_device_allocate(device, bytes, &address),
              BLOCKSCALE_OK)
        << blockscale_last_error();
    return address;
  }

  /// What the driver was asked for since the last time.
  std::string takeLog() {
    std::string text = contents("log");
    std::filesystem::remove(path("log"));
    return text;
  }

  /// Launches ranks, whose status is `expected`. Returns what the driver was
  /// asked for by the launch alone.
  std::string launchRanks(blockscale_status expected) {
    blockscale_call *call = nullptr;
    EXPECT_EQ(blockscale_call_create(find("ranks"), nullptr, 0, &call),
              BLOCKSCALE_OK)
        << blockscale_last_error();
    const uint64_t results[] = {allocate(32), allocate(5)};
    takeLog();
    EXPECT_EQ(
        blockscale_launch(module, call, nullptr, 0, results, 2, 0, 0, nullptr),
        expected)
        << blockscale_last_error();
    std::string asked = takeLog();
    blockscale_call_destroy(call);
    for (uint64_t address : results)
      blockscale_device_free(device, address);
    return asked;
  }

  BundleContent content;
  blockscale_bundle *bundle = nullptr;
  blockscale_device *device = nullptr;
  blockscale_module *module = nullptr;
};

} // namespace blockscale::runtime

#endif // BLOCKSCALE_UNITTESTS_RUNTIME_CAPITEST_H
