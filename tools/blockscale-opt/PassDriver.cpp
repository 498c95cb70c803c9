//===- PassDriver.cpp - Passes on a module --------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PassDriver.h"
#include "ToolOptions.h"

#include "blockscale/IR/VerifyText.h"
#include "blockscale/Pipelines/Pipelines.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Support/ToolUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;

static constexpr const char *kOverview =
    "Runs passes on a module: BlockScale's (--blockscale-...) and MLIR's\n\n"
    "  blockscale-opt q.mlir --blockscale-to-cpu\n"
    "  blockscale-opt q.mlir --blockscale-to-sm100='to=bufferize'\n"
    "  blockscale-opt 04-materialize-storage.mlir "
    "--blockscale-to-cpu='from=bufferize'\n\n"
    "Both pipelines have the stages verify-layout, canonicalize, "
    "form-kernels,\n"
    "materialize-storage, bufferize and lower-kernels; blockscale-to-cpu ends "
    "with llvm.\nblockscale-compile --dump-stages writes the module after "
    "each.\n";

/// Emits an error where the text of a part of the input nests too deep.
static LogicalResult verifyPart(std::unique_ptr<llvm::MemoryBuffer> part) {
  if (isBytecode(*part))
    return success();
  MLIRContext context(MLIRContext::Threading::DISABLED);
  llvm::SourceMgr sources;
  StringRef text = part->getBuffer();
  std::string name = part->getBufferIdentifier().str();
  sources.AddNewSourceBuffer(std::move(part), llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(sources, &context);
  return blockscale::verifyText(text, name, context);
}

/// Runs the passes of the command line on the file `input`.
static LogicalResult process(StringRef input, StringRef output,
                             DialectRegistry &registry) {
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  std::string message;
  auto file = openInputFile(input, &message);
  auto result = file ? openOutputFile(output, &message) : nullptr;
  if (!result) {
    llvm::errs() << message << "\n";
    return failure();
  }
  auto verify = [](std::unique_ptr<llvm::MemoryBuffer> part, raw_ostream &) {
    return verifyPart(std::move(part));
  };
  if (failed(splitAndProcessBuffer(
          llvm::MemoryBuffer::getMemBuffer(file->getMemBufferRef()), verify,
          llvm::nulls(), config.inputSplitMarker())) ||
      failed(MlirOptMain(result->os(), std::move(file), registry, config)))
    return failure();
  result->keep();
  return success();
}

int blockscale::runPassDriver(int argc, char **argv,
                              DialectRegistry &registry) {
  llvm::InitLLVM init(argc, argv);
  setToolVersion("blockscale-opt");
  hideLibraryOptions();
  auto [input, output] =
      registerAndParseCLIOptions(argc, argv, kOverview, registry);
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  // These read no module.
  if (config.shouldShowDialects() || config.shouldListPasses())
    return asMainReturnCode(MlirOptMain(argc, argv, input, output, registry));
  return asMainReturnCode(process(input, output, registry));
}
