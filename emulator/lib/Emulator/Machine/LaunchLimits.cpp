//===- LaunchLimits.cpp - Limits of a launch ------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Machine/LaunchLimits.h"

#include "Emulator/Memory/AddressWindow.h"

#include "llvm/Support/FormatVariadic.h"

namespace blockscale::emulator {

static constexpr unsigned kMaxThreads = 1024;
static constexpr Dim3 kMaxBlock = {1024, 1024, 64};
static constexpr Dim3 kMaxGrid = {0x7FFFFFFF, 0xFFFF, 0xFFFF};
static constexpr uint64_t kMaxParameterBytes = 32764;

static uint64_t getProduct(const Dim3 &dim) {
  return uint64_t(dim[0]) * dim[1] * dim[2];
}

namespace {
struct Limits {
  Faults &faults;
  bool isGood = true;

  void fail(std::string what, llvm::StringRef advice) {
    isGood = false;
    faults.push_back({FaultKind::Limit, std::move(what), advice.str()});
  }

  void checkDims(llvm::StringRef name, const Dim3 &dims, const Dim3 &maximum) {
    for (unsigned i = 0; i < 3; ++i)
      if (dims[i] == 0 || dims[i] > maximum[i])
        fail(llvm::formatv("expected dimension {0} of the {1} to be 1 to {2}, "
                           "but got {3}",
                           i, name, maximum[i], dims[i]),
             "launch other dimensions");
  }
};
} // namespace

uint64_t getMaxSharedBytes(llvm::StringRef target) {
  unsigned number = 0;
  if (!target.consume_front("sm_") || target.consumeInteger(10, number))
    number = 0;
  bool isSmall = number == 86 || number == 89 || number / 10 == 12;
  uint64_t kibibytes = isSmall ? 99 : number / 10 == 8 ? 163 : 227;
  return kibibytes << 10;
}

bool checkLaunch(const LaunchShape &shape, Faults &faults) {
  Limits limits{faults};
  limits.checkDims("block", shape.block, kMaxBlock);
  limits.checkDims("grid", shape.grid, kMaxGrid);
  limits.checkDims("cluster", shape.cluster,
                   {kMaxClusterSize, kMaxClusterSize, kMaxClusterSize});
  if (!limits.isGood)
    return false;
  uint64_t threads = getProduct(shape.block);
  if (threads > kMaxThreads)
    limits.fail(llvm::formatv("expected at most {0} threads in a block, but "
                              "got {1}",
                              kMaxThreads, threads),
                "launch smaller blocks");
  if (shape.requiredBlock && *shape.requiredBlock != shape.block) {
    const Dim3 &block = *shape.requiredBlock;
    limits.fail(llvm::formatv("expected the block to be ({0}, {1}, {2}), the "
                              ".reqntid of the kernel, but got ({3}, {4}, {5})",
                              block[0], block[1], block[2], shape.block[0],
                              shape.block[1], shape.block[2]),
                "launch the block that the kernel was compiled for");
  }
  if (shape.maximumBlock && threads > getProduct(*shape.maximumBlock))
    limits.fail(llvm::formatv("expected at most {0} threads in a block, the "
                              ".maxntid of the kernel, but got {1}",
                              getProduct(*shape.maximumBlock), threads),
                "launch smaller blocks");
  if (getProduct(shape.cluster) > kMaxClusterSize)
    limits.fail(llvm::formatv("expected at most {0} CTAs in a cluster, but got "
                              "{1}",
                              kMaxClusterSize, getProduct(shape.cluster)),
                "launch smaller clusters");
  for (unsigned i = 0; i < 3; ++i)
    if (shape.grid[i] % shape.cluster[i] != 0)
      limits.fail(llvm::formatv("expected dimension {0} of the grid to be a "
                                "multiple of the cluster's {1}, but got {2}",
                                i, shape.cluster[i], shape.grid[i]),
                  "round the grid up, and let the CTAs outside do nothing");
  if (shape.sharedBytes > shape.maxSharedBytes)
    limits.fail(llvm::formatv("expected at most {0} bytes of shared memory in "
                              "a CTA, but got {1}",
                              shape.maxSharedBytes, shape.sharedBytes),
                "use fewer stages or smaller tiles");
  if (shape.parameterBytes > kMaxParameterBytes)
    limits.fail(llvm::formatv("expected at most {0} bytes of parameters, but "
                              "got {1}",
                              kMaxParameterBytes, shape.parameterBytes),
                "pass a pointer to a buffer");
  if (shape.localBytes > kMaxLocalBytes)
    limits.fail(llvm::formatv("expected at most {0} bytes of local memory in a "
                              "thread, but got {1}",
                              kMaxLocalBytes, shape.localBytes),
                "put large arrays into global memory");
  return limits.isGood;
}

} // namespace blockscale::emulator
