//===- HostCode.h - LLVM IR and objects for the CPU -------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_EMIT_HOSTCODE_H
#define BLOCKSCALE_EMIT_HOSTCODE_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>
#include <vector>

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace blockscale {

/// A CPU of this machine's architecture whose instructions all of them have,
/// and the name of a later one, as LLVM has them.
#ifdef __x86_64__
inline constexpr const char *kBaselineCpu = "x86-64";
inline constexpr const char *kLaterCpu = "x86-64-v3";
#else
inline constexpr const char *kBaselineCpu = "generic";
inline constexpr const char *kLaterCpu = "neoverse-v2";
#endif

/// The CPU to generate code for. `cpu` is a name of LLVM's, or "host" for this
/// machine with all its features; `features` is added to it ("+avx512f,...").
/// Code that is not optimized gives the same bits, later, and is compiled in
/// less than half of the time.
struct HostTarget {
  std::string cpu = kBaselineCpu;
  std::string features;
  bool optimize = true;
};

/// A target machine for the host's triple. Fails on an unknown CPU, naming it.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createHostTargetMachine(const HostTarget &target);

/// The name and the features of the CPU that code is generated for, in words
/// that tell any two apart.
llvm::Expected<std::string> describeCpu(const HostTarget &target);

/// The instructions that code for a target may have: features of CPUs as LLVM
/// names them, "avx2".
std::vector<std::string> listFeatures(const llvm::TargetMachine &machine);

/// Those of the features that this machine lacks.
std::vector<std::string>
findMissingFeatures(const std::vector<std::string> &features);

/// LLVM IR text of a module of the LLVM dialect, optimized for `target`.
llvm::Expected<std::string> emitLLVMText(mlir::ModuleOp module,
                                         const HostTarget &target);

/// A relocatable object of a module of the LLVM dialect.
llvm::Expected<std::string> emitObject(mlir::ModuleOp module,
                                       const HostTarget &target);

/// The same with functions for Jit.
llvm::Expected<std::string> emitPackedObject(mlir::ModuleOp module,
                                             const HostTarget &target);

} // namespace blockscale

#endif // BLOCKSCALE_EMIT_HOSTCODE_H
