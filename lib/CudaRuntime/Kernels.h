//===- Kernels.h - What programs register -----------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CUDARUNTIME_KERNELS_H
#define BLOCKSCALE_LIB_CUDARUNTIME_KERNELS_H

#include "Session.h"
#include "blockscale/Emulator/Program.h"

#include "llvm/ADT/StringMap.h"

#include <memory>

namespace blockscale::cuda {

/// A fat binary that a program registered, and its program once it is needed.
class Image {
public:
  explicit Image(const void *fatBinary) : fatBinary(fatBinary) {}

  /// The program of the PTX that suits the device; null after an error, which
  /// `function` is to blame for.
  const emulator::Program *load(Session &session, llvm::StringRef function,
                                Error &error);

  /// Where a variable of the loaded program is.
  emulator::Buffer *findVariable(Session &session, llvm::StringRef name) const;

private:
  struct Variable {
    emulator::StateSpace space;
    uint64_t address;
  };

  const void *fatBinary;
  /// The program refers to it.
  std::string text;
  std::unique_ptr<emulator::Program> program;
  llvm::StringMap<Variable> variables;
};

/// A kernel that the host knows by a function of its own: cudaKernel_t.
struct Kernel {
  Image *image;
  std::string name;
  uint64_t maxDynamicSharedBytes;
  bool allowsNonPortableCluster = false;
};

/// The kernel's code; null after an error.
const emulator::ProgramFunction *loadKernel(Session &session, Kernel &kernel,
                                            llvm::StringRef function,
                                            Error &error);

/// The kernel of a host function or of a handle; null for other pointers.
Kernel *findKernel(const void *symbol);

/// The buffer of a variable that the host knows by one of its own; null after
/// an error.
emulator::Buffer *findSymbol(Session &session, const void *symbol,
                             llvm::StringRef function, Error &error);

/// Dynamic shared memory of a launch that asked for no more.
inline constexpr uint64_t kDefaultSharedBytes = 48 << 10;

} // namespace blockscale::cuda

#endif // BLOCKSCALE_LIB_CUDARUNTIME_KERNELS_H
