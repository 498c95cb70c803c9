//===- KernelAssembly.h - Modules through ptxas -----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_UNITTESTS_EMIT_KERNELASSEMBLY_H
#define BLOCKSCALE_UNITTESTS_EMIT_KERNELASSEMBLY_H

#include "blockscale/Emit/Ptx.h"
#include "blockscale/Emit/Ptxas.h"
#include "blockscale/Pipelines/Pipelines.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"
#include <optional>

namespace blockscale {

/// Expects that the spills of a kernel, and its stack, have at most `most`
/// bytes.
inline void expectSpills(const KernelResources &kernel, uint64_t most) {
  EXPECT_LE(kernel.spillStoreBytes, most) << kernel.name;
  EXPECT_LE(kernel.spillLoadBytes, most) << kernel.name;
  EXPECT_LE(kernel.stackBytes, most) << kernel.name;
}

/// Compiles a module for `chip` by the passes that `build` adds, assembles it,
/// and expects `count` kernels whose spills, and stacks, have at most
/// `spillBytes` bytes, unless the caller looks at these. Skips where there is
/// no ptxas.
inline void assembleKernels(llvm::StringRef text, llvm::StringRef chip,
                            size_t count,
                            llvm::function_ref<void(mlir::PassManager &)> build,
                            std::vector<KernelResources> &kernels,
                            std::optional<uint64_t> spillBytes = 0) {
  llvm::Expected<std::string> ptxas = findPtxas();
  if (!ptxas)
    GTEST_SKIP() << llvm::toString(ptxas.takeError());
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  registerPtxTranslations(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  ASSERT_TRUE(module);
  mlir::PassManager pm(&context);
  build(pm);
  ASSERT_TRUE(succeeded(pm.run(*module)));
  llvm::FailureOr<std::string> ptx = emitPtx(*module);
  ASSERT_TRUE(succeeded(ptx));
  auto assembly = assemblePtx(*ptxas, *ptx, chip);
  ASSERT_TRUE(static_cast<bool>(assembly))
      << llvm::toString(assembly.takeError());
  EXPECT_EQ(assembly->kernels.size(), count);
  if (spillBytes)
    for (const KernelResources &kernel : assembly->kernels)
      expectSpills(kernel, *spillBytes);
  kernels = std::move(assembly->kernels);
}

/// Lowers a module of the dialect to `count` kernels for `chip` and assembles
/// them. They must not spill more than `spillBytes` bytes and have at most
/// `registers` registers.
inline void expectNoSpills(llvm::StringRef text, llvm::StringRef chip,
                           size_t count, uint64_t registers = 255,
                           uint64_t spillBytes = 0) {
  auto build = [&](mlir::PassManager &pm) {
    for (const Stage &stage : getToGPUStages(chip))
      stage.build(pm);
  };
  std::vector<KernelResources> kernels;
  assembleKernels(text, chip, count, build, kernels, spillBytes);
  for (const KernelResources &kernel : kernels)
    EXPECT_LE(kernel.registers, registers) << kernel.name;
}

} // namespace blockscale

#endif // BLOCKSCALE_UNITTESTS_EMIT_KERNELASSEMBLY_H
