//===- CApiErrorRecordTest.cpp - Errors that kernels find, from C ---------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Who is told of an error that only a kernel can find, when, and what that asks
// the driver for. The kernels of the fake driver find what $FAKE_CUDA says.
//
//===----------------------------------------------------------------------===//

#include "CApiTest.h"

using namespace blockscale::runtime;

namespace {

constexpr const char *kText =
    "scaled_grouped_mm: expected the end of group 1 to be a multiple of 16, "
    "but got 24";

class CApiErrorRecordTest : public CApiTest {
protected:
  void SetUp() override {
    CApiTest::SetUp();
    content = {{{readCudaData("errors.json"), readCudaData("errors.ptx"), {}}},
               {}};
  }
  void TearDown() override {
    blockscale_call_destroy(call);
    for (uint64_t address : {ends, y})
      if (address)
        blockscale_device_free(device, address);
    CApiTest::TearDown();
  }

  /// Loads the module, and makes a call of two groups.
  void prepare(const std::string &settings = "") {
    set(settings);
    ASSERT_EQ(load(), BLOCKSCALE_OK) << blockscale_last_error();
    const int64_t n = 2;
    const blockscale_argument argument = {BLOCKSCALE_INT32, 1, &n, nullptr};
    ASSERT_EQ(blockscale_call_create(find("check"), &argument, 1, &call),
              BLOCKSCALE_OK)
        << blockscale_last_error();
    ends = allocate(8);
    y = allocate(8);
    takeLog();
  }

  /// Gives back what prepare() has made.
  void unload() {
    blockscale_call_destroy(call);
    call = nullptr;
    blockscale_device_free(device, ends);
    blockscale_device_free(device, y);
    ends = y = 0;
    blockscale_module_unload(module);
    module = nullptr;
    blockscale_device_close(device);
    device = nullptr;
    blockscale_bundle_close(bundle);
    bundle = nullptr;
  }

  blockscale_status launch() {
    return blockscale_launch(module, call, &ends, 1, &y, 1, 0, 0, nullptr);
  }

  blockscale_call *call = nullptr;
  uint64_t ends = 0;
  uint64_t y = 0;
};

/// The record is memory of the host, there when the kernels are.
TEST_F(CApiErrorRecordTest, ModulesAreConnected) {
  ASSERT_EQ(load(), BLOCKSCALE_OK) << blockscale_last_error();
  std::string log = takeLog();
  EXPECT_NE(log.find("alloc 512 of the host\nupload 8\nsynchronize\n"),
            std::string::npos)
      << log;
  // A second module has the same record.
  blockscale_module *second = nullptr;
  ASSERT_EQ(blockscale_module_load(bundle, device, &second), BLOCKSCALE_OK);
  log = takeLog();
  EXPECT_EQ(log.find("of the host"), std::string::npos) << log;
  EXPECT_NE(log.find("upload 8\n"), std::string::npos) << log;
  blockscale_module_unload(second);
  blockscale_module_unload(module);
  module = nullptr;
  blockscale_device_close(device);
  device = nullptr;
  EXPECT_EQ(takeLog(), "unload\nunload\nfree of the host\n");
}

/// A module whose kernels find no errors asks for nothing.
TEST_F(CApiErrorRecordTest, OtherModulesAreLeftAlone) {
  content = {
      {{readCudaData("portable.json"), readCudaData("portable.ptx"), {}}},
      {"hello"}};
  ASSERT_EQ(load(), BLOCKSCALE_OK) << blockscale_last_error();
  EXPECT_EQ(takeLog().find("of the host"), std::string::npos);
  EXPECT_EQ(blockscale_device_take_error(device), BLOCKSCALE_OK);
  EXPECT_EQ(takeLog(), "");
}

/// Whoever waits is told, once, and nothing more is asked for where there is no
/// error.
TEST_F(CApiErrorRecordTest, SynchronizationTells) {
  prepare("found=24");
  EXPECT_EQ(launch(), BLOCKSCALE_OK);
  EXPECT_EQ(blockscale_device_synchronize(device, nullptr),
            BLOCKSCALE_INVALID_DATA);
  EXPECT_STREQ(blockscale_last_error(), kText);
  EXPECT_STREQ(blockscale_status_name(BLOCKSCALE_INVALID_DATA),
               "BLOCKSCALE_INVALID_DATA");
  takeLog();
  EXPECT_EQ(blockscale_device_synchronize(device, nullptr), BLOCKSCALE_OK);
  EXPECT_EQ(takeLog(), "synchronize\n");
}

/// An assertion has its own text, which a shorter record after it does not
/// show, whether the host or the GPU has the memory.
TEST_F(CApiErrorRecordTest, AssertionsHaveTexts) {
  for (const char *setting : {"", ",cuMemHostAlloc=1"}) {
    prepare(std::string("asserted=-7") + setting);
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(launch(), BLOCKSCALE_OK);
      EXPECT_EQ(blockscale_device_synchronize(device, nullptr),
                BLOCKSCALE_INVALID_DATA);
      EXPECT_STREQ(blockscale_last_error(),
                   "tensor.extract at m.mlir:3:8: expected index 0 to be below "
                   "3, but got -7");
    }
    set(std::string("found=24") + setting);
    EXPECT_EQ(launch(), BLOCKSCALE_OK);
    EXPECT_EQ(blockscale_device_synchronize(device, nullptr),
              BLOCKSCALE_INVALID_DATA);
    EXPECT_STREQ(blockscale_last_error(), kText);
    unload();
  }
}

/// Modules whose kernels write no texts have a short variable.
TEST_F(CApiErrorRecordTest, BothVariablesAreConnected) {
  for (const char *setting : {"record=40", "record=520"}) {
    prepare(std::string(setting) + ",found=24");
    EXPECT_EQ(launch(), BLOCKSCALE_OK);
    EXPECT_EQ(blockscale_device_synchronize(device, nullptr),
              BLOCKSCALE_INVALID_DATA);
    unload();
  }
}

/// The query does not wait before there is an error.
TEST_F(CApiErrorRecordTest, TheQueryTells) {
  prepare();
  EXPECT_EQ(launch(), BLOCKSCALE_OK);
  takeLog();
  EXPECT_EQ(blockscale_device_take_error(device), BLOCKSCALE_OK);
  EXPECT_EQ(takeLog(), "");
  set("found=24");
  EXPECT_EQ(launch(), BLOCKSCALE_OK);
  takeLog();
  EXPECT_EQ(blockscale_device_take_error(device), BLOCKSCALE_INVALID_DATA);
  EXPECT_STREQ(blockscale_last_error(), kText);
  EXPECT_EQ(takeLog(), "wait for the context\n");
  EXPECT_EQ(blockscale_device_take_error(device), BLOCKSCALE_OK);
  EXPECT_EQ(blockscale_device_take_error(nullptr), BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_STREQ(blockscale_last_error(),
               "expected device to be a pointer, but got null");
}

/// The next launch tells it in place of its steps, the one after that works.
TEST_F(CApiErrorRecordTest, TheNextLaunchTells) {
  prepare("found=24");
  EXPECT_EQ(launch(), BLOCKSCALE_OK);
  set("");
  takeLog();
  EXPECT_EQ(launch(), BLOCKSCALE_INVALID_DATA);
  EXPECT_STREQ(blockscale_last_error(), kText);
  EXPECT_EQ(takeLog(), "wait for the context\n");
  EXPECT_EQ(launch(), BLOCKSCALE_OK);
  EXPECT_EQ(takeLog(), "launch check_ends grid 2x1x1 block 1x1x1 cluster 1x1x1 "
                       "shared 0\n");
  EXPECT_EQ(blockscale_device_synchronize(device, nullptr), BLOCKSCALE_OK);
}

/// Of several errors the first is told, and none of the others later.
TEST_F(CApiErrorRecordTest, TheFirstErrorIsKept) {
  prepare("found=24");
  EXPECT_EQ(launch(), BLOCKSCALE_OK);
  // Another device object of the GPU shares the record.
  blockscale_device *other = nullptr;
  ASSERT_EQ(blockscale_device_open(0, BLOCKSCALE_FAKE_CUDA, &other),
            BLOCKSCALE_OK);
  EXPECT_EQ(blockscale_device_synchronize(other, nullptr),
            BLOCKSCALE_INVALID_DATA);
  blockscale_device_close(other);
  EXPECT_EQ(blockscale_device_synchronize(device, nullptr), BLOCKSCALE_OK);
}

/// A kernel of a graph writes where it does outside of one: a replay that finds
/// an error ends the timing.
TEST_F(CApiErrorRecordTest, ReplaysTell) {
  prepare();
  double times[2] = {};
  EXPECT_EQ(blockscale_time(module, call, &ends, 1, &y, 1, 0, 0, 0, 2, times),
            BLOCKSCALE_OK)
      << blockscale_last_error();
  // The call before the capture, and a replay.
  for (auto [setting, replays] :
       {std::pair("found=24", false), std::pair("replayed=24", true)}) {
    set(setting);
    takeLog();
    EXPECT_EQ(blockscale_time(module, call, &ends, 1, &y, 1, 0, 0, 0, 2, times),
              BLOCKSCALE_INVALID_DATA);
    EXPECT_STREQ(blockscale_last_error(), kText);
    EXPECT_EQ(takeLog().find("launch a graph") != std::string::npos, replays);
    EXPECT_EQ(blockscale_device_synchronize(device, nullptr), BLOCKSCALE_OK);
  }
}

/// Where the driver gives no memory of the host that the GPU writes, the record
/// is the GPU's, and those who wait copy it.
TEST_F(CApiErrorRecordTest, WithoutMemoryOfTheHost) {
  for (const char *setting :
       {"cuMemHostAlloc=1", "cuMemHostGetDevicePointer=1"}) {
    prepare(std::string(setting) + ",found=24");
    EXPECT_EQ(launch(), BLOCKSCALE_OK);
    // A launch must not wait.
    EXPECT_EQ(launch(), BLOCKSCALE_OK);
    takeLog();
    EXPECT_EQ(blockscale_device_synchronize(device, nullptr),
              BLOCKSCALE_INVALID_DATA);
    EXPECT_STREQ(blockscale_last_error(), kText);
    EXPECT_EQ(takeLog(), "synchronize\ndownload 512\nset 512\n");
    EXPECT_EQ(blockscale_device_take_error(device), BLOCKSCALE_OK);
    EXPECT_EQ(takeLog(), "download 512\n");
    unload();
    EXPECT_NE(takeLog().find("free 512\n"), std::string::npos);
  }
}

/// Errors of the driver meanwhile, and a variable of another layout.
TEST_F(CApiErrorRecordTest, DriversThatFail) {
  set("cuModuleGetGlobal=719");
  EXPECT_EQ(load(), BLOCKSCALE_DRIVER_ERROR);
  EXPECT_STREQ(blockscale_last_error(),
               "cuModuleGetGlobal of blockscale_error_record: "
               "CUDA_ERROR_LAUNCH_FAILED");
  set("record=32");
  EXPECT_EQ(blockscale_module_load(bundle, device, &module),
            BLOCKSCALE_INVALID_BUNDLE);
  EXPECT_STREQ(blockscale_last_error(),
               "expected the variable blockscale_error_record of the kernels "
               "to have 40 or 520 bytes, but got 32");
  set("cuMemHostAlloc=1,memory=0");
  EXPECT_EQ(blockscale_module_load(bundle, device, &module),
            BLOCKSCALE_OUT_OF_MEMORY);
  set("");
  ASSERT_EQ(blockscale_module_load(bundle, device, &module), BLOCKSCALE_OK);
}

} // namespace
