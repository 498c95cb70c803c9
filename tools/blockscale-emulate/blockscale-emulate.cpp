//===- blockscale-emulate.cpp - Emulator of PTX kernels -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Emulator/InstructionSet.h"
#include "blockscale/Emulator/Parser.h"
#include "blockscale/Emulator/Validation.h"

#include "ToolOptions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

#include <map>

namespace cl = llvm::cl;
using namespace blockscale::emulator;

static constexpr const char *kOverview =
    "Reads PTX and checks it against the instruction set that the emulator "
    "knows.\nNothing is executed yet: --check is the only thing to ask "
    "for.\n\n"
    "  blockscale-compile q.mlir --target=sm_100a --emit=ptx -o - | "
    "blockscale-emulate - --check\n\n"
    "Exit status: 0 success, 1 an error\n";

/// "FILE:LINE:COL: error: MESSAGE" for each.
static void printErrors(llvm::StringRef file, llvm::Error errors) {
  llvm::handleAllErrors(
      std::move(errors), [&](const llvm::ErrorInfoBase &error) {
        llvm::errs() << file << ":" << error.message() << "\n";
      });
}

static void printCounts(const Module &module) {
  size_t kernels = 0, functions = 0, instructions = 0;
  std::map<std::string, size_t> counts;
  for (const Function &function : module.functions) {
    kernels += function.isEntry && function.hasBody;
    functions += !function.isEntry && function.hasBody;
    instructions += function.instructions.size();
    for (const Instruction &instruction : function.instructions)
      ++counts[instruction.getSpelling()];
  }
  llvm::outs() << "kernels: " << kernels << "\n"
               << "device functions: " << functions << "\n"
               << "instructions: " << instructions << "\n";
  std::vector<std::pair<std::string, size_t>> sorted(counts.begin(),
                                                     counts.end());
  llvm::sort(sorted, [](const auto &a, const auto &b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  for (const auto &[spelling, count] : sorted)
    llvm::outs() << llvm::format_decimal(count, 8) << "  " << spelling << "\n";
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  blockscale::setToolVersion("blockscale-emulate");
  blockscale::hideLibraryOptions();
  cl::opt<std::string> input(cl::Positional, cl::Required, cl::desc("<k.ptx>"));
  cl::opt<bool> check("check",
                      cl::desc("Parse, look up every instruction, count them"));
  cl::ParseCommandLineOptions(argc, argv, kOverview);

  if (!check) {
    llvm::WithColor::error(llvm::errs(), "blockscale-emulate")
        << "expected --check: nothing is executed yet\n";
    return 1;
  }
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(input);
  if (!file) {
    llvm::WithColor::error(llvm::errs(), "blockscale-emulate")
        << "cannot read '" << input << "': " << file.getError().message()
        << "\n";
    return 1;
  }
  llvm::StringRef name = (*file)->getBufferIdentifier();
  llvm::Expected<Module> module = parseModule((*file)->getBuffer());
  if (!module) {
    printErrors(name, module.takeError());
    return 1;
  }
  if (llvm::Error errors = resolveNames(*module)) {
    printErrors(name, std::move(errors));
    return 1;
  }
  if (llvm::Error errors = verifyInstructions(*module)) {
    printErrors(name, std::move(errors));
    return 1;
  }
  printCounts(*module);
  return 0;
}
