//===- ModuleTool.cpp - A tool that reads one module ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModuleTool.h"
#include "ToolOptions.h"

#include "blockscale/Pipelines/Pipelines.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace blockscale {

int runModuleTool(
    int argc, char **argv, const char *toolName, const char *overview,
    llvm::cl::OptionCategory &category,
    function_ref<llvm::Error(MLIRContext &, llvm::SourceMgr &)> run) {
  llvm::InitLLVM init(argc, argv);
  setToolVersion(toolName);
  llvm::cl::HideUnrelatedOptions(category);
  llvm::cl::ParseCommandLineOptions(argc, argv, overview);

  DialectRegistry registry;
  blockscale::registerPipelineDialects(registry);
  MLIRContext context(registry);
  // The source line is shown; the op in generic form, a whole module at times,
  // would bury the message.
  context.printOpOnDiagnostic(false);
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler handler(sources, &context);
  llvm::Error error = run(context, sources);
  if (!error)
    return 0;
  llvm::WithColor::error(llvm::errs(), toolName)
      << llvm::toString(std::move(error)) << "\n";
  return 1;
}

} // namespace blockscale
