//===- blockscale-reduce.cpp - Test case reducer --------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ToolOptions.h"

#include "blockscale/Driver/Bytecode.h"
#include "blockscale/Pipelines/Pipelines.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Reducer/Passes.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
namespace cl = llvm::cl;

static constexpr const char *kOverview = "MLIR test case reduction tool.\n";
static constexpr const char *kUsage =
    "\nREDUCING:\n\n"
    "  blockscale-reduce big.mlir --reduction-tree='traversal-mode=0 "
    "test=check.sh' -o small.mlir\n\n"
    "check.sh gets the path of a smaller module. It exits with 1 where the "
    "module still\nhas the property of interest, such as a crash, and with 0 "
    "where not.\n";

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  blockscale::setToolVersion("blockscale-reduce");
  blockscale::hideLibraryOptions();
  cl::extrahelp usage(kUsage);
  cl::opt<std::string> inputFile(cl::Positional, cl::init("-"),
                                 cl::desc("<input file>"));
  cl::opt<std::string> outputFile(
      "o", cl::init("-"),
      cl::desc("Output filename for the reduced test case"));
  cl::opt<bool> allowUnregistered(
      "allow-unregistered-dialect",
      cl::desc("Allow operation with no registered dialects"));
  mlir::registerAllPasses();
  blockscale::registerAllPasses();
  registerReducerPasses();
  PassPipelineCLParser passes("", "Reduction Passes to Run");
  cl::ParseCommandLineOptions(argc, argv, kOverview);

  DialectRegistry registry;
  blockscale::registerAllDialects(registry);
  MLIRContext context(registry);
  context.allowUnregisteredDialects(allowUnregistered);
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler handler(sources, &context);
  std::string message;
  auto output = openOutputFile(outputFile, &message);
  if (!output) {
    llvm::errs() << message << "\n";
    return 1;
  }
  OwningOpRef<ModuleOp> module =
      blockscale::readModule(inputFile, sources, context);
  if (!module)
    return 1;
  PassManager manager(&context, ModuleOp::getOperationName());
  auto emitMessage = [&](const Twine &text) {
    return emitError(UnknownLoc::get(&context)) << text;
  };
  if (failed(passes.addToPipeline(manager, emitMessage)) ||
      failed(manager.run(*module)))
    return 1;
  module->print(output->os());
  output->keep();
  return 0;
}
