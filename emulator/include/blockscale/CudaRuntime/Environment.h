//===- Environment.h - How the emulated CUDA is set up ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The library that stands for the CUDA runtime is loaded by programs that know
// nothing of it, so its options come from environment variables, which
// blockscale-emulate --program sets.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_CUDARUNTIME_ENVIRONMENT_H
#define BLOCKSCALE_CUDARUNTIME_ENVIRONMENT_H

namespace blockscale::cuda {

/// The file name of the library, which programs ask for by this name. Those
/// that are linked with the driver's library find it as libcuda.so.1, too.
inline constexpr const char *kLibraryName = "libcudart.so.13";

/// The chip of the device: "sm_100a".
inline constexpr const char *kChipVariable = "BLOCKSCALE_EMULATE_CHIP";
inline constexpr const char *kDefaultChip = "sm_100a";
/// Its number of multiprocessors, as of a part of a GPU; 0 for that of the GPU.
inline constexpr const char *kMultiprocessorsVariable =
    "BLOCKSCALE_EMULATE_MULTIPROCESSORS";
inline constexpr int kMostMultiprocessors = 1024;
/// "prompt", "adversarial" or "random", and the seed of the latter two.
inline constexpr const char *kScheduleVariable = "BLOCKSCALE_EMULATE_SCHEDULE";
inline constexpr const char *kSeedVariable = "BLOCKSCALE_EMULATE_SEED";
/// Numbers, 0 for no limit of steps and for all threads of the machine. Without
/// the former the limit is kDefaultMaxSteps.
inline constexpr const char *kMaxStepsVariable = "BLOCKSCALE_EMULATE_MAX_STEPS";
inline constexpr const char *kJobsVariable = "BLOCKSCALE_EMULATE_JOBS";
/// "1" for the strict checks.
inline constexpr const char *kStrictVariable = "BLOCKSCALE_EMULATE_STRICT";
/// "1" to report missing fences in modules that have none, and to let NaN among
/// the scale factors of products give NaN.
inline constexpr const char *kRequireFencesVariable =
    "BLOCKSCALE_EMULATE_REQUIRE_FENCES";
inline constexpr const char *kNanScalesVariable =
    "BLOCKSCALE_EMULATE_NAN_SCALES";
/// The chip whose tensor cores add products, or "exact"; without it that of the
/// PTX.
inline constexpr const char *kSumsVariable = "BLOCKSCALE_EMULATE_SUMS";
/// "1" to count the instructions of each launch on standard error.
inline constexpr const char *kProfileVariable = "BLOCKSCALE_EMULATE_PROFILE";
/// A folder for the findings of each process: a file that its number names,
/// made when the library is loaded, empty while there are no findings. Without
/// it findings go to standard error when the process ends.
inline constexpr const char *kReportVariable = "BLOCKSCALE_EMULATE_REPORT";

} // namespace blockscale::cuda

#endif // BLOCKSCALE_CUDARUNTIME_ENVIRONMENT_H
