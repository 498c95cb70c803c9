//===- EmulatorDeviceTest.cpp - Errors that emulated kernels find ---------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Driver/EmulatorDevice.h"

#include "blockscale/Runtime/LaunchPlan.h"
#include "blockscale/Runtime/PlanResolution.h"

#include "llvm/Support/MemoryBuffer.h"

#include "gtest/gtest.h"

using namespace blockscale;
using blockscale::runtime::Result;
using blockscale::runtime::Status;

namespace {

std::string readData(const char *name) {
  auto buffer = llvm::MemoryBuffer::getFile(std::string(BLOCKSCALE_TEST_DATA) +
                                            "/cuda/" + name);
  EXPECT_TRUE(bool(buffer)) << name;
  return (*buffer)->getBuffer().str();
}

/// Runs the function of errors.json; the device is new, as it is for each call.
Status check(std::vector<int32_t> ends, std::vector<int32_t> &y) {
  std::string ptx = readData("errors.ptx");
  Result<runtime::LaunchPlan> plan =
      runtime::parseLaunchPlan(readData("errors.json"));
  EXPECT_TRUE(plan.ok()) << plan.message();
  std::vector<runtime::PlanArgument> arguments(1);
  arguments[0].dtype = runtime::NpyType::Int32;
  arguments[0].shape = {static_cast<int64_t>(ends.size())};
  arguments[0].data = reinterpret_cast<const uint8_t *>(ends.data());
  Result<runtime::ResolvedFunction> function =
      runtime::resolve(*plan, plan->functions.front(), arguments);
  EXPECT_TRUE(function.ok()) << function.message();
  EmulatorDevice device{emulator::RunOptions()};
  EXPECT_EQ(llvm::toString(device.load(ptx)), "");
  EXPECT_TRUE(device.findError().ok());
  Result<runtime::BufferAddresses> addresses =
      runtime::allocateBuffers(*function, arguments, device);
  EXPECT_TRUE(addresses.ok()) << addresses.message();
  Status run = runtime::runSteps(*function, *addresses, device);
  EXPECT_TRUE(run.ok()) << run.message();
  y.resize(ends.size());
  Status read = device.download(reinterpret_cast<uint8_t *>(y.data()),
                                (*addresses)[1], 4 * y.size());
  EXPECT_TRUE(read.ok()) << read.message();
  return device.findError();
}

TEST(EmulatorDeviceTest, ErrorsOfKernelsAreFound) {
  std::vector<int32_t> y;
  Status status = check({16, 32, 48}, y);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(y, std::vector<int32_t>({256, 512, 768}));
  status = check({16, 40, 48}, y);
  EXPECT_EQ(status.kind(), runtime::ErrorKind::InvalidData);
  EXPECT_EQ(status.message(), "scaled_grouped_mm: expected the end of group 1 "
                              "to be a multiple of 16, but got 40");
  EXPECT_EQ(y, std::vector<int32_t>({256, 0, 768}));
}

} // namespace
