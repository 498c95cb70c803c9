//===- Compile.h - Compile a module for targets -----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_DRIVER_COMPILE_H
#define BLOCKSCALE_DRIVER_COMPILE_H

#include "blockscale/Driver/Stages.h"
#include "blockscale/Emit/HostCode.h"
#include "blockscale/Emit/Ptxas.h"

namespace blockscale {

/// What a module becomes.
enum class Emission { MLIR, LLVM, PTX, Plan, Bundle, Cubin, Object, Choices };

/// The name of an emission, as "mlir".
llvm::StringRef getName(Emission emission);

/// Whether bytes that were found somewhere can be an output of compilation: a
/// bundle, a plan and an object can be read. Of text any bytes can be.
bool isOutput(const std::string &bytes, Emission emission);

struct CompileOptions {
  /// The target: "cpu" or a chip; several chips for a bundle.
  std::vector<std::string> targets;
  Emission emission = Emission::MLIR;
  /// The CPU of target cpu.
  HostTarget host;
  /// The ptxas that makes machine code; found by a search where it is empty.
  std::string ptxas;
  /// Whether a bundle has machine code of kernels beside their PTX: by `ptxas`,
  /// or by one that a search finds, if it finds one.
  bool machineCode = false;
  /// Whether kernels of a GPU may have several ops.
  bool fuse = true;
  /// Whether products of a dynamic number of rows choose tiles by those of each
  /// call.
  bool branchOnRows = true;
  /// Whether launches may begin before those before them have ended, on chips
  /// that can.
  bool overlapLaunches = false;
  /// Whether sizes and indices that the compiler cannot prove to fit are
  /// checked at run time.
  bool checks = true;
  /// A folder of measured choices of schedules; none where it is empty.
  std::string tuned;
  /// Most schedules of a product that Emission::Choices has.
  unsigned candidates = 4;
};

/// What is wrong with the options, before any work.
runtime::Status checkOptions(const CompileOptions &options);

struct Compilation {
  std::string output;
  /// What each kernel of a cubin needs; empty for other outputs.
  std::vector<KernelResources> kernels;
};

/// Compiles `module`, which is another one then. Diagnostics go to the context;
/// the failure names what else is wrong.
runtime::Result<Compilation> compile(mlir::ModuleOp module,
                                     const CompileOptions &options,
                                     CompileObserver &observer);

} // namespace blockscale

#endif // BLOCKSCALE_DRIVER_COMPILE_H
