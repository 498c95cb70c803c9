//===- Kernels.h - Kernels and variables of programs ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CUDARUNTIME_KERNELS_H
#define BLOCKSCALE_LIB_CUDARUNTIME_KERNELS_H

#include "Call.h"
#include "blockscale/Emulator/Program.h"

#include "llvm/ADT/StringMap.h"

#include <memory>

namespace blockscale::cuda {

/// A fat binary that a program registered, or the PTX of a module that the
/// driver loaded, and its program once it is needed.
class Image {
public:
  explicit Image(const void *fatBinary) : fatBinary(fatBinary) {}
  explicit Image(std::string ptx) : text(std::move(ptx)) {}

  /// Makes the program of the PTX that suits the device, where there is none
  /// yet. An error says why there cannot be one, and sets CUDA's code for that.
  llvm::Error compile(Session &session, Error &code);

  /// That program; null after an error, which `function` is to blame for.
  const emulator::Program *load(Session &session, llvm::StringRef function,
                                Error &error);

  /// Whether the program, which there is, has a kernel of this name.
  bool hasKernel(llvm::StringRef name) const {
    return program->findKernel(name) != nullptr;
  }

  /// Takes the variables of the program away from the device.
  void removeVariables(Session &session) const;

  /// Where a variable of the loaded program is.
  emulator::Buffer *findVariable(Session &session, llvm::StringRef name) const;

private:
  struct Variable {
    emulator::StateSpace space;
    uint64_t address;
  };

  const void *fatBinary = nullptr;
  /// The program refers to it.
  std::string text;
  std::unique_ptr<emulator::Program> program;
  llvm::StringMap<Variable> variables;
};

/// A kernel: cudaKernel_t, which the host also knows by a function of its own,
/// or CUfunction.
struct Kernel {
  Image *image;
  std::string name;
  uint64_t maxDynamicSharedBytes;
  bool allowsNonPortableCluster = false;
};

/// The kernel of a host function or of a handle; null for other pointers.
Kernel *findKernel(const void *symbol);

/// A call that is about a kernel.
struct KernelCall : Call {
  /// `symbol` is a host function or a handle.
  KernelCall(llvm::StringRef function, const void *symbol);

  /// The kernel and its code, null where there is an error.
  Kernel *kernel = nullptr;
  const emulator::ProgramFunction *code = nullptr;
};

/// The cluster that a kernel was compiled for, by its .reqnctapercluster; none
/// where it runs in any.
std::optional<emulator::Dim3>
getRequiredCluster(const emulator::ProgramFunction &code);

// Modules of the driver, whose handles are images.

void addModule(std::unique_ptr<Image> module);
bool isModule(const Image *module);
/// Takes away a module with its kernels and variables; false where it is none.
bool removeModule(Session &session, const Image *module);
void removeModules(Session &session);
/// The kernel of a module; null where its PTX has none of that name.
Kernel *findKernel(Image &module, llvm::StringRef name);

/// The buffer of a variable that the host knows by one of its own; null after
/// an error.
emulator::Buffer *findSymbol(Session &session, const void *symbol,
                             llvm::StringRef function, Error &error);

/// Dynamic shared memory of a launch that asked for no more.
inline constexpr uint64_t kDefaultSharedBytes = 48 << 10;

} // namespace blockscale::cuda

#endif // BLOCKSCALE_LIB_CUDARUNTIME_KERNELS_H
