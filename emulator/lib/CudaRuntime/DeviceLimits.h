//===- DeviceLimits.h - Limits of the device --------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CUDARUNTIME_DEVICELIMITS_H
#define BLOCKSCALE_LIB_CUDARUNTIME_DEVICELIMITS_H

#include <cstdint>

namespace blockscale::cuda {

/// The limits that programs ask for and that all chips share, from the table of
/// the CUDA programming guide; the others are the chip's (Target/Chip.h). The
/// L2 cache is that of 10.0.
inline constexpr int kMaxThreads = 1024;
inline constexpr uint32_t kMaxCluster = 16;
inline constexpr int kRegisters = 65536;
inline constexpr int kRegistersOfThread = 255;
inline constexpr int kSharedBytes = 48 << 10;
inline constexpr int kConstBytes = 64 << 10;
inline constexpr int kL2Bytes = 126 << 20;
inline constexpr int kMaxPitch = 0x7FFFFFFF;

} // namespace blockscale::cuda

#endif // BLOCKSCALE_LIB_CUDARUNTIME_DEVICELIMITS_H
