//===- CApiErrorTest.cpp - What the C interface refuses -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CApiTest.h"

using namespace blockscale::runtime;

namespace {

TEST_F(CApiTest, AddressesAreChecked) {
  ASSERT_EQ(load(), BLOCKSCALE_OK) << blockscale_last_error();
  takeLog();
  blockscale_call *call = makeScale(4);
  auto launch = [&](uint64_t x, uint64_t y, size_t count) {
    const uint64_t arguments[] = {x, 0};
    return blockscale_launch(module, call, arguments, count, &y, 1, 0, 0,
                             nullptr);
  };
  EXPECT_EQ(launch(0x1008, 0x2000, 2), BLOCKSCALE_MISALIGNED);
  EXPECT_STREQ(blockscale_last_error(),
               "@scale: expected the address of x (launch_c1) to be a multiple "
               "of 16, but got 4104; copy it to such a multiple");
  EXPECT_EQ(launch(0x1000, 0, 2), BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_STREQ(blockscale_last_error(),
               "@scale: expected the address of y, which has 16 bytes, but got "
               "null");
  EXPECT_EQ(launch(0x1000, 0x2000, 1), BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_STREQ(blockscale_last_error(),
               "@scale: expected the addresses of 2 arguments, but got 1");
  EXPECT_EQ(takeLog(), "");
  blockscale_call_destroy(call);
}

// A question about nothing has an answer, as a number that is too large has.
TEST(CApiNulls, AreNothing) {
  EXPECT_EQ(blockscale_bundle_target_count(nullptr), 0u);
  EXPECT_EQ(blockscale_bundle_chip(nullptr, 0), nullptr);
  EXPECT_EQ(blockscale_function_count(nullptr, 0), 0u);
  EXPECT_EQ(blockscale_function_get(nullptr, 0, 0), nullptr);
  EXPECT_EQ(blockscale_function_name(nullptr), nullptr);
  EXPECT_EQ(blockscale_function_dim_count(nullptr), 0u);
  EXPECT_EQ(blockscale_function_dim(nullptr, 0), nullptr);
  EXPECT_EQ(blockscale_function_reduces(nullptr), 0);
  EXPECT_EQ(blockscale_function_buffer_count(nullptr, BLOCKSCALE_ARGUMENT), 0u);
  EXPECT_EQ(blockscale_function_buffer(nullptr, BLOCKSCALE_ARGUMENT, 0),
            nullptr);
  EXPECT_EQ(blockscale_buffer_name(nullptr), nullptr);
  EXPECT_EQ(blockscale_buffer_type(nullptr), nullptr);
  EXPECT_EQ(blockscale_buffer_element(nullptr), nullptr);
  EXPECT_EQ(blockscale_buffer_layout(nullptr), nullptr);
  EXPECT_EQ(blockscale_buffer_dtype(nullptr), 0);
  EXPECT_EQ(blockscale_buffer_is_scalar(nullptr), 0);
  EXPECT_EQ(blockscale_buffer_rank(nullptr), 0u);
  EXPECT_EQ(blockscale_buffer_size(nullptr, 0), nullptr);
  EXPECT_EQ(blockscale_buffer_alignment(nullptr), 0u);
  EXPECT_EQ(blockscale_buffer_is_writable(nullptr), 0);
  EXPECT_EQ(blockscale_buffer_argument(nullptr), -1);
  EXPECT_EQ(blockscale_call_bytes(nullptr, BLOCKSCALE_ARGUMENT, 0), 0u);
  EXPECT_EQ(blockscale_call_shape(nullptr, BLOCKSCALE_ARGUMENT, 0), nullptr);
  EXPECT_EQ(blockscale_call_workspace_bytes(nullptr), 0u);
  EXPECT_EQ(blockscale_device_name(nullptr), nullptr);
  EXPECT_EQ(blockscale_device_capability(nullptr), 0);
  EXPECT_EQ(blockscale_device_driver_version(nullptr), 0);
  EXPECT_EQ(blockscale_device_multiprocessors(nullptr), 0);
  EXPECT_EQ(blockscale_module_target(nullptr), 0u);
  blockscale_device_free(nullptr, 256);
  blockscale_module_set_reduce(nullptr, nullptr, nullptr);
}

TEST_F(CApiTest, ArgumentsAreChecked) {
  openBundle();
  const int64_t n = 1000001;
  const int64_t *shape = &n;
  const float g = 1;
  blockscale_argument arguments[] = {{BLOCKSCALE_FLOAT32, 1, shape, nullptr},
                                     {BLOCKSCALE_FLOAT32, 0, nullptr, &g}};
  blockscale_call *call = nullptr;
  auto create = [&](size_t count) {
    EXPECT_EQ(blockscale_call_create(find("scale"), arguments, count, &call),
              BLOCKSCALE_INVALID_ARGUMENT);
    EXPECT_EQ(call, nullptr);
    return std::string(blockscale_last_error());
  };
  EXPECT_EQ(create(2), "@scale: expected n to be at most a million (<= "
                       "1000000), but got 1000001");
  EXPECT_EQ(create(1), "@scale: expected 2 arguments, but got 1");
  arguments[0].dtype = BLOCKSCALE_INT32;
  EXPECT_EQ(create(2), "@scale: expected x to have dtype float32 "
                       "(tensor<?xf32>), but got int32");
  arguments[0].dtype = static_cast<blockscale_dtype>(12);
  EXPECT_EQ(create(2), "@scale: argument 0: expected a dtype, but got 12");
  arguments[0] = {BLOCKSCALE_FLOAT32, 0, nullptr, nullptr};
  EXPECT_EQ(create(2), "@scale: expected x to have shape (n,), but got ()");
  arguments[0].rank = 1;
  EXPECT_EQ(create(2), "@scale: argument 0: expected a shape, but got null");
  arguments[0].shape = shape;
  arguments[1].scalar = nullptr;
  EXPECT_EQ(create(2), "@scale: argument 1: expected the value of a scalar, "
                       "but got null");
  EXPECT_EQ(blockscale_call_create(nullptr, arguments, 2, &call),
            BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_STREQ(blockscale_last_error(),
               "expected function to be a pointer, but got null");
}

TEST_F(CApiTest, NamesAreChecked) {
  openBundle();
  const blockscale_function *function = nullptr;
  EXPECT_EQ(blockscale_function_find(bundle, 0, "f", &function),
            BLOCKSCALE_NOT_FOUND);
  EXPECT_STREQ(blockscale_last_error(),
               "expected the name of a function of the plan (scale, tile, "
               "ranks), but got 'f'");
  EXPECT_EQ(blockscale_function_find(bundle, 1, "f", &function),
            BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_EQ(function, nullptr);
  EXPECT_STREQ(blockscale_status_name(BLOCKSCALE_NOT_FOUND),
               "BLOCKSCALE_NOT_FOUND");
  EXPECT_EQ(blockscale_status_name(static_cast<blockscale_status>(16)),
            nullptr);
}

TEST_F(CApiTest, BundlesAreChecked) {
  EXPECT_EQ(blockscale_bundle_open(path("none").c_str(), &bundle),
            BLOCKSCALE_FILE);
  EXPECT_EQ(blockscale_bundle_open(create("bad", "bad").c_str(), &bundle),
            BLOCKSCALE_INVALID_BUNDLE);
  EXPECT_EQ(blockscale_bundle_open(nullptr, &bundle),
            BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_EQ(bundle, nullptr);
}

TEST_F(CApiTest, NoDriver) {
  EXPECT_EQ(blockscale_device_open(0, "/nowhere/libcuda.so.1", &device),
            BLOCKSCALE_NO_DRIVER);
  EXPECT_STREQ(blockscale_last_error(),
               "expected the library of a CUDA driver, but none could be "
               "loaded: tried /nowhere/libcuda.so.1 (/nowhere/libcuda.so.1: "
               "cannot open shared object file: No such file or directory)");
  setenv("BLOCKSCALE_LIBCUDA", "/elsewhere/libcuda.so", 1);
  EXPECT_EQ(blockscale_device_open(0, nullptr, &device), BLOCKSCALE_NO_DRIVER);
  unsetenv("BLOCKSCALE_LIBCUDA");
  EXPECT_NE(std::string(blockscale_last_error()).find("/elsewhere/"),
            std::string::npos);
  // A library, but not that one.
  EXPECT_EQ(blockscale_device_open(0, "libc.so.6", &device),
            BLOCKSCALE_NO_DRIVER);
  EXPECT_STREQ(blockscale_last_error(),
               "expected the CUDA driver's library to have cuInit, but it has "
               "not");
  EXPECT_EQ(device, nullptr);
}

TEST_F(CApiTest, NoDevice) {
  set("devices=0");
  EXPECT_EQ(openDevice(), BLOCKSCALE_NO_DEVICE);
  EXPECT_STREQ(blockscale_last_error(),
               "expected the number of a GPU below 0, but got 0");
  set("cuInit=100");
  EXPECT_EQ(openDevice(), BLOCKSCALE_NO_DEVICE);
  EXPECT_STREQ(blockscale_last_error(), "cuInit: error 100");
}

TEST_F(CApiTest, OtherChips) {
  set("capability=89");
  EXPECT_EQ(load(), BLOCKSCALE_WRONG_CHIP);
  EXPECT_STREQ(blockscale_last_error(),
               "expected a bundle with kernels that Fake GPU (compute "
               "capability 8.9) runs, but got kernels for sm_90");
}

/// The best of several targets is loaded; functions of the others cannot be
/// launched.
TEST_F(CApiTest, ChoosesATarget) {
  content.targets.push_back(
      {replace(content.targets[0].plan, "sm_90", "sm_80"),
       replace(content.targets[0].ptx, "target sm_90", "target sm_80"),
       {}});
  set("capability=86");
  ASSERT_EQ(load(), BLOCKSCALE_OK) << blockscale_last_error();
  EXPECT_EQ(blockscale_module_target(module), 1u);
  blockscale_call *call = makeScale(4);
  const uint64_t arguments[] = {0x1000, 0};
  const uint64_t result = 0x2000;
  EXPECT_EQ(
      blockscale_launch(module, call, arguments, 2, &result, 1, 0, 0, nullptr),
      BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_STREQ(blockscale_last_error(),
               "@scale: expected a function of the sm_80 target that was "
               "loaded, but got one of sm_90");
  blockscale_call_destroy(call);
}

TEST_F(CApiTest, DriversThatAreTooOld) {
  set("version=11080,cuModuleLoadDataEx=222");
  EXPECT_EQ(load(), BLOCKSCALE_DRIVER_TOO_OLD);
  EXPECT_STREQ(blockscale_last_error(),
               "expected a driver that knows version 8.0 of PTX, which the "
               "kernels for sm_90 are written in, but got one of CUDA 11.8");
}

/// A driver without the functions that came last runs what does not need them.
TEST_F(CApiTest, DriversWithoutFunctions) {
  set("version=11040");
  ASSERT_EQ(load(BLOCKSCALE_FAKE_CUDA_OLD), BLOCKSCALE_OK)
      << blockscale_last_error();
  EXPECT_EQ(launchRanks(BLOCKSCALE_DRIVER_TOO_OLD), "");
  EXPECT_STREQ(blockscale_last_error(),
               "expected a driver of CUDA 11.8 or later for clusters, but got "
               "one of CUDA 11.4");
}

/// Where the driver knows no attributes, a launch that may overlap the one
/// before it does not.
TEST_F(CApiTest, DriversWithoutOverlap) {
  content.targets[0].plan =
      launchTwice(replace(content.targets[0].plan, R"("cluster": [2, 1, 1])",
                          R"("cluster": [1, 1, 1])"),
                  "[1, 1, 1]");
  set("version=11040");
  ASSERT_EQ(load(BLOCKSCALE_FAKE_CUDA_OLD), BLOCKSCALE_OK)
      << blockscale_last_error();
  const std::string launch = "launch cluster_rank grid 8x1x1 block 1x1x1 "
                             "cluster 1x1x1 shared 0\n";
  EXPECT_EQ(launchRanks(BLOCKSCALE_OK), launch + launch + "copy 5\n");
}

TEST_F(CApiTest, PtxThatIsRefused) {
  set("cuModuleLoadDataEx=218");
  EXPECT_EQ(load(), BLOCKSCALE_DRIVER_ERROR);
  EXPECT_STREQ(blockscale_last_error(),
               "cannot load the kernels for sm_90 on Fake GPU (compute "
               "capability 9.0): cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX:\n"
               "line 7: no such thing");
}

/// The PTX is for where machine code is refused.
TEST_F(CApiTest, MachineCodeComesFirst) {
  const std::string elf = "\x7F"
                          "ELF";
  content.targets[0].cubin = elf + content.targets[0].ptx;
  ASSERT_EQ(load(), BLOCKSCALE_OK) << blockscale_last_error();
  std::string log = takeLog();
  EXPECT_NE(log.find(" bytes of a cubin"), std::string::npos);
  EXPECT_EQ(log.find(" bytes of PTX"), std::string::npos);
  TearDown();
  module = nullptr;
  device = nullptr;
  bundle = nullptr;
  SetUp();
  content.targets[0].cubin = elf;
  ASSERT_EQ(load(), BLOCKSCALE_OK) << blockscale_last_error();
  log = takeLog();
  EXPECT_NE(log.find("load 4 bytes of a cubin"), std::string::npos);
  EXPECT_NE(log.find(" bytes of PTX"), std::string::npos);
}

TEST_F(CApiTest, KernelsThatAreMissing) {
  content.targets[0].ptx =
      replace(content.targets[0].ptx, ".entry tile_f32(", ".entry tile(");
  EXPECT_EQ(load(), BLOCKSCALE_INVALID_BUNDLE);
  EXPECT_STREQ(blockscale_last_error(), "expected the PTX for sm_90 to have "
                                        "the kernel tile_f32, but it has not");
}

TEST_F(CApiTest, MemoryThatIsShort) {
  set("memory=100");
  ASSERT_EQ(load(), BLOCKSCALE_OK) << blockscale_last_error();
  uint64_t address = 1;
  EXPECT_EQ(blockscale_device_allocate(device, 4096, &address),
            BLOCKSCALE_OUT_OF_MEMORY);
  EXPECT_EQ(address, 1u);
  EXPECT_STREQ(blockscale_last_error(),
               "cannot allocate 4096 bytes for the caller on Fake GPU: "
               "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (out of memory)");
  EXPECT_EQ(blockscale_device_allocate(device, 0, &address), BLOCKSCALE_OK);
  EXPECT_EQ(address, 0u);
  blockscale_module_unload(module);
  module = nullptr;
  // Not even the constants.
  set("memory=4");
  EXPECT_EQ(blockscale_module_load(bundle, device, &module),
            BLOCKSCALE_OUT_OF_MEMORY);
}

TEST_F(CApiTest, ErrorsOfLaunches) {
  ASSERT_EQ(load(), BLOCKSCALE_OK) << blockscale_last_error();
  blockscale_call *call = makeScale(4);
  set("cuLaunchKernel=719");
  const uint64_t arguments[] = {0x1000, 0};
  const uint64_t result = 0x2000;
  EXPECT_EQ(
      blockscale_launch(module, call, arguments, 2, &result, 1, 0, 0, nullptr),
      BLOCKSCALE_DRIVER_ERROR);
  EXPECT_STREQ(blockscale_last_error(),
               "launch of scale_f32 with grid 1x1x1, block 256x1x1, cluster "
               "1x1x1 and 0 bytes of shared memory: CUDA_ERROR_LAUNCH_FAILED");
  blockscale_call_destroy(call);
}

TEST_F(CApiTest, ErrorsOfTimes) {
  ASSERT_EQ(load(), BLOCKSCALE_OK) << blockscale_last_error();
  blockscale_call *call = makeScale(4);
  const uint64_t arguments[] = {0x1000, 0};
  const uint64_t result = 0x2000;
  double times[] = {-1};
  auto time = [&](double *microseconds) {
    return blockscale_time(module, call, arguments, 2, &result, 1, 0, 0, 4096,
                           1, microseconds);
  };
  EXPECT_EQ(time(nullptr), BLOCKSCALE_INVALID_ARGUMENT);
  for (const char *each :
       {"cuStreamBeginCapture", "cuStreamEndCapture",
        "cuGraphInstantiateWithFlags", "cuGraphLaunch", "cuMemsetD8Async"}) {
    set(std::string(each) + "=719");
    EXPECT_EQ(time(times), BLOCKSCALE_DRIVER_ERROR) << each;
    EXPECT_STREQ(blockscale_last_error(),
                 (std::string(each) + ": CUDA_ERROR_LAUNCH_FAILED").c_str());
  }
  // A kernel that fails is told by the launch outside of the graph.
  set("cuLaunchKernel=719");
  takeLog();
  EXPECT_EQ(time(times), BLOCKSCALE_DRIVER_ERROR);
  EXPECT_EQ(takeLog().find("capture"), std::string::npos);
  set("memory=4095");
  EXPECT_EQ(time(times), BLOCKSCALE_OUT_OF_MEMORY);
  EXPECT_EQ(times[0], -1);
  blockscale_call_destroy(call);
}

/// Graphs are needed for times alone.
TEST_F(CApiTest, DriversWithoutGraphs) {
  ASSERT_EQ(load(BLOCKSCALE_FAKE_CUDA_OLD), BLOCKSCALE_OK)
      << blockscale_last_error();
  blockscale_call *call = makeScale(4);
  const uint64_t arguments[] = {0x1000, 0};
  const uint64_t result = 0x2000;
  double time = -1;
  EXPECT_EQ(
      blockscale_launch(module, call, arguments, 2, &result, 1, 0, 0, nullptr),
      BLOCKSCALE_OK);
  EXPECT_EQ(blockscale_time(module, call, arguments, 2, &result, 1, 0, 0, 4096,
                            1, &time),
            BLOCKSCALE_DRIVER_TOO_OLD);
  EXPECT_STREQ(blockscale_last_error(),
               "expected a driver with CUDA graphs, but the library of this "
               "one (CUDA 13.0) lacks their functions");
  EXPECT_EQ(time, -1);
  blockscale_call_destroy(call);
}

} // namespace
