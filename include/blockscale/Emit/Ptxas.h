//===- Ptxas.h - Find and run NVIDIA's assembler ----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_EMIT_PTXAS_H
#define BLOCKSCALE_EMIT_PTXAS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace blockscale {

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

/// The first CUDA release whose ptxas knows every chip of the project.
inline constexpr unsigned kMinPtxasRelease = 13;

/// Somewhere to look for ptxas.
struct PtxasPlace {
  /// How a message names the place: "$CUDA_HOME", "PATH", or a pattern.
  std::string name;
  /// The file to try; empty where the place gives none.
  std::string path;
};

/// The places in order: $BLOCKSCALE_PTXAS, PATH, bin of $CUDA_ROOT, $CUDA_HOME
/// and $CUDA_PATH, the nvidia packages in .venv of `projectDir`, and
/// /usr/local/cuda/bin.
std::vector<PtxasPlace> getPtxasPlaces(llvm::StringRef projectDir);

/// The path of the first ptxas of `kMinPtxasRelease` or later. The error names
/// every place and what was found there.
llvm::Expected<std::string> findPtxas(llvm::ArrayRef<PtxasPlace> places);

/// The path of the first such ptxas in this project's places.
llvm::Expected<std::string> findPtxas();

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

/// What a kernel needs of the chip: registers of a thread and bytes.
struct KernelResources {
  std::string name;
  uint64_t registers = 0;
  uint64_t spillStoreBytes = 0;
  uint64_t spillLoadBytes = 0;
  uint64_t stackBytes = 0;
  /// Static shared memory of a CTA.
  uint64_t sharedBytes = 0;
};

/// Reads what `ptxas -v` printed. An entry function without its resources is an
/// error.
llvm::Expected<std::vector<KernelResources>>
parsePtxasReport(llvm::StringRef report);

struct Assembly {
  /// The bytes of an ELF file for the driver to load.
  std::string cubin;
  std::vector<KernelResources> kernels;
};

/// Assembles PTX for `chip`. The error holds what ptxas printed.
llvm::Expected<Assembly> assemblePtx(llvm::StringRef ptxas, llvm::StringRef ptx,
                                     llvm::StringRef chip);

} // namespace blockscale

#endif // BLOCKSCALE_EMIT_PTXAS_H
