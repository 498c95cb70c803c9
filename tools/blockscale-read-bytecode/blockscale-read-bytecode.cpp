//===- blockscale-read-bytecode.cpp - Bytecode to MLIR text ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Limits.h"
#include "ToolOptions.h"
#include "Tools.h"

#include "blockscale/Driver/BytecodeAnswer.h"
#include "blockscale/Pipelines/Pipelines.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <unistd.h>

using namespace mlir;
using namespace blockscale;
using Kind = BytecodeAnswer::Kind;
namespace cl = llvm::cl;

static constexpr const char *kOverview =
    "Reads MLIR bytecode, which may be damaged, within limits of time and "
    "memory\n\n"
    "  blockscale-read-bytecode < m.mlirbc\n\n"
    "Libraries of BlockScale start it where they are given bytecode. Its "
    "answer is one line,\n\"blockscale-read-bytecode VERSION KIND LENGTH\", "
    "and LENGTH bytes of text: the module\n(KIND module), or what is wrong "
    "with the bytes (error, damaged).\n\n"
    "Exit status: 0 an answer, 1 none, or damaged.\n";

/// What bytecode with resources is aligned to in memory.
static constexpr uint64_t kAlignment = 64;

static BytecodeAnswer read(StringRef bytes) {
  auto aligned = llvm::WritableMemoryBuffer::getNewUninitMemBuffer(
      bytes.size(), "", llvm::Align(kAlignment));
  if (!aligned)
    return {Kind::Error,
            "expected memory for " + std::to_string(bytes.size()) + " bytes"};
  llvm::copy(bytes, aligned->getBufferStart());
  StringRef content(aligned->getBufferStart(), bytes.size());
  DialectRegistry registry;
  registerPipelineDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  std::string error;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (error.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error)
      error = diagnostic.str();
    return success();
  });
  auto module = parseSourceString<ModuleOp>(content, &context);
  if (!module)
    return {error.empty() ? Kind::Damaged : Kind::Error, error};
  BytecodeAnswer answer = {Kind::Module, ""};
  llvm::raw_string_ostream os(answer.text);
  module->print(os, OpPrintingFlags().enableDebugInfo());
  return answer;
}

int blockscale::tools::readBytecode(int argc, char **argv) {
  cl::OptionCategory category("blockscale-read-bytecode options");
  cl::opt<std::string> inputFile(cl::Positional, cl::init("-"),
                                 cl::desc("<module.mlirbc>"),
                                 cl::cat(category));
  setToolVersion("blockscale-read-bytecode");
  hideLibraryOptions();
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, kOverview);
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(inputFile);
  if (!buffer) {
    llvm::errs() << "blockscale-read-bytecode: cannot read '" << inputFile
                 << "': " << buffer.getError().message() << "\n";
    return 1;
  }
  StringRef content = (*buffer)->getBuffer();
  limitReading(content.size());
  std::string answer = formatAnswer(read(content));
  llvm::outs() << answer;
  llvm::outs().flush();
  // What damaged memory holds is not destroyed.
  _exit(0);
}
