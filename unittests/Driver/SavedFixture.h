//===- SavedFixture.h - Functions that are saved ----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_UNITTESTS_DRIVER_SAVEDFIXTURE_H
#define BLOCKSCALE_UNITTESTS_DRIVER_SAVEDFIXTURE_H

#include "blockscale/Driver/Executable.h"

#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

namespace blockscale {

/// The function of a module, compiled and saved.
inline SavedFunction saveFunction(mlir::MLIRContext &context,
                                  llvm::StringRef program,
                                  ExecutableOptions options) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(program, &context);
  runtime::Result<Signature> signature = getSignature(*findEntry(*module, ""));
  EXPECT_TRUE(signature.ok());
  options.isSaved = true;
  CompileObserver observer;
  auto made = Executable::create(*module, *signature, options, observer);
  EXPECT_TRUE(made.ok()) << made.message();
  runtime::Result<SavedFunction> saved = (*made)->save();
  EXPECT_TRUE(saved.ok()) << saved.message();
  return *saved;
}

} // namespace blockscale

#endif // BLOCKSCALE_UNITTESTS_DRIVER_SAVEDFIXTURE_H
