//===- ToolNames.cpp - Programs of the standalone library -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ToolNames.h"
#include "Tools.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

namespace {

struct Tool {
  llvm::StringRef name;
  int (*main)(int argc, char **argv);
};

constexpr Tool kTools[] = {
    {"blockscale-compile", blockscale::tools::compile},
    {"blockscale-emulate", blockscale::tools::emulate},
    {"blockscale-launch", blockscale::tools::launch},
    {"blockscale-opt", blockscale::tools::opt},
    {"blockscale-read-bytecode", blockscale::tools::readBytecode},
    {"blockscale-report", blockscale::tools::report},
    {"blockscale-roofline", blockscale::tools::roofline},
    {"blockscale-run", blockscale::tools::run},
};

} // namespace

int blockscale_tool_main(int argc, char **argv) {
  llvm::StringRef name = argc > 0 ? llvm::sys::path::filename(argv[0]) : "";
  if (name == "blockscale" && argc > 1) {
    name = argv[1];
    --argc;
    ++argv;
  }
  for (const Tool &tool : kTools)
    if (name == tool.name)
      return tool.main(argc, argv);
  llvm::errs() << "blockscale: expected the name of a program, one of ";
  llvm::interleaveComma(kTools, llvm::errs(),
                        [](const Tool &tool) { llvm::errs() << tool.name; });
  llvm::errs() << ", but got '" << name << "'\n";
  return 1;
}
