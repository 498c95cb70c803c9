//===- CudaSteps.cpp - Steps of a plan on a stream ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaSteps.h"

#include "CudaDriver.h"

#include <algorithm>
#include <array>

using namespace blockscale::runtime;

static Status failMissing(const CudaDriver &driver, const std::string &what,
                          const std::string &since) {
  return Status::failure("expected a driver of " + since + " or later for " +
                             what + ", but got one of " +
                             driver.formatVersion(),
                         ErrorKind::DriverTooOld);
}

Status CudaSteps::copy(uint64_t to, uint64_t from, uint64_t bytes) {
  return driver.check(driver.cuMemcpyDtoDAsync(to, from, bytes, stream), [&] {
    return "copy of " + std::to_string(bytes) + " bytes: cuMemcpyDtoDAsync";
  });
}

template <typename T>
static std::string formatList(const std::vector<T> &numbers) {
  std::string text;
  for (T number : numbers)
    text += (text.empty() ? "(" : ", ") + std::to_string(number);
  return text.empty() ? "()" : text + ")";
}

/// What the driver does not say: which value it is that it refuses.
static std::string describe(const PlanTensorMap &plan,
                            const ResolvedTensorMap &map, uint64_t address) {
  return "element " + std::string(kTensorElementNames[plan.element]) +
         ", address " + std::to_string(address) + ", dims " +
         formatList(map.dims) + ", strides " + formatList(map.strides) +
         ", box " + formatList(plan.box) + ", element strides " +
         formatList(plan.elementStrides) + ", interleave " +
         std::string(kInterleaveNames[plan.interleave]) + ", swizzle " +
         std::string(kSwizzleNames[plan.swizzle]);
}

Result<std::vector<uint8_t>>
CudaSteps::encodeTensorMap(const PlanTensorMap &plan,
                           const ResolvedTensorMap &map, uint64_t address) {
  if (!driver.cuTensorMapEncodeTiled)
    return failMissing(driver, "tensor maps", "CUDA 12.0");
  // Whatever the element type; some want more.
  constexpr uint64_t kAlignment = 16;
  if (address % kAlignment != 0)
    return Status::failure("expected the address of a tensor map to be a "
                           "multiple of " +
                               std::to_string(kAlignment) + ", but got " +
                               std::to_string(address),
                           ErrorKind::Misaligned);
  // The driver refuses a null pointer, also where there are no strides.
  constexpr uint64_t kNone = 0;
  CudaTensorMap encoded;
  int result = driver.cuTensorMapEncodeTiled(
      &encoded, static_cast<int>(plan.element),
      static_cast<unsigned>(map.dims.size()),
      reinterpret_cast<void *>(address), // NOLINT(performance-no-int-to-ptr)
      map.dims.data(), map.strides.empty() ? &kNone : map.strides.data(),
      plan.box.data(), plan.elementStrides.data(),
      static_cast<int>(plan.interleave), static_cast<int>(plan.swizzle),
      static_cast<int>(plan.l2Promotion), static_cast<int>(plan.fill));
  if (result != kCudaSuccess)
    return driver.check(result, "tensor map of " +
                                    describe(plan, map, address) +
                                    ": cuTensorMapEncodeTiled");
  return std::vector<uint8_t>(std::begin(encoded.bytes),
                              std::end(encoded.bytes));
}

static bool isCluster(const DeviceLaunch &launch) {
  return launch.cluster != ResolvedDim3{1, 1, 1};
}

int CudaSteps::launchWithAttributes(const DeviceLaunch &launch, void *kernel,
                                    void **parameters) const {
  std::array<CudaLaunchAttribute, 2> attributes = {};
  CudaLaunchConfig config = {};
  config.attributes = attributes.data();
  if (isCluster(launch)) {
    CudaLaunchAttribute &attribute = attributes[config.numAttributes++];
    attribute.id = kCudaClusterDimension;
    std::copy(launch.cluster.begin(), launch.cluster.end(), attribute.cluster);
  }
  if (launch.isProgrammatic) {
    CudaLaunchAttribute &attribute = attributes[config.numAttributes++];
    attribute.id = kCudaProgrammaticSerialization;
    attribute.isProgrammatic = 1;
  }
  std::copy(launch.grid.begin(), launch.grid.end(), config.grid);
  std::copy(launch.block.begin(), launch.block.end(), config.block);
  config.sharedBytes = static_cast<unsigned>(launch.sharedBytes);
  config.stream = stream;
  return driver.cuLaunchKernelEx(&config, kernel, parameters, nullptr);
}

static std::string format(const ResolvedDim3 &sizes) {
  return std::to_string(sizes[0]) + "x" + std::to_string(sizes[1]) + "x" +
         std::to_string(sizes[2]);
}

Status CudaSteps::launch(const DeviceLaunch &launch) {
  void *kernel = module.getKernel(*launch.kernel);
  std::vector<void *> parameters;
  parameters.reserve(launch.parameters.size());
  for (const std::vector<uint8_t> &parameter : launch.parameters)
    parameters.push_back(const_cast<uint8_t *>(parameter.data()));
  auto largest = static_cast<uint64_t>(module.getContext().getMaxSharedBytes());
  if (launch.sharedBytes > largest)
    return Status::failure("expected kernel " + *launch.kernel +
                           " to have at most " + std::to_string(largest) +
                           " bytes of dynamic shared memory, but got " +
                           std::to_string(launch.sharedBytes));
  int result;
  // Without the attribute a launch does the same, later.
  bool isPlain = !launch.isProgrammatic || !driver.cuLaunchKernelEx;
  if (!isCluster(launch) && isPlain) {
    auto [gridX, gridY, gridZ] = launch.grid;
    auto [blockX, blockY, blockZ] = launch.block;
    result =
        driver.cuLaunchKernel(kernel, gridX, gridY, gridZ, blockX, blockY,
                              blockZ, static_cast<unsigned>(launch.sharedBytes),
                              stream, parameters.data(), nullptr);
  } else if (driver.cuLaunchKernelEx) {
    result = launchWithAttributes(launch, kernel, parameters.data());
  } else {
    return failMissing(driver, "clusters", "CUDA 11.8");
  }
  return driver.check(result, [&] {
    return "launch of " + *launch.kernel + " with grid " + format(launch.grid) +
           ", block " + format(launch.block) + ", cluster " +
           format(launch.cluster) + " and " +
           std::to_string(launch.sharedBytes) + " bytes of shared memory";
  });
}

Status CudaSteps::reduceOverRanks(RankReduction reduction,
                                  const RankFunction &overRanks) {
  reduction.stream = stream;
  return overRanks(reduction);
}
