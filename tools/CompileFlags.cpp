//===- CompileFlags.cpp - Options of what compiles modules ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileFlags.h"

using namespace blockscale;
namespace cl = llvm::cl;

CompileFlags::CompileFlags(cl::OptionCategory &category)
    : optimize("optimize",
               cl::desc("Optimize code of the CPU (default 1); without it the "
                        "compiler is quicker, and the code slower"),
               cl::init(true), cl::cat(category)),
      fuse("fuse", cl::desc("Let kernels have several ops (GPU; default 1)"),
           cl::init(true), cl::cat(category)),
      overlapLaunches(
          "overlap-launches",
          cl::desc("Let launches begin before those before them have ended "
                   "(GPU; default 0)"),
          cl::cat(category)),
      checks("checks",
             cl::desc("Check at run time that sizes and indices of plain ops, "
                      "and the sizes of results, fit (default 1); 0 is for "
                      "callers who have proved that they do"),
             cl::init(true), cl::cat(category)),
      policy("policy",
             cl::desc("Policy by which products of linalg are quantized first "
                      "(docs/Policy.md)"),
             cl::value_desc("file.json"), cl::cat(category)),
      tuned("tuned",
            cl::desc("Folder of measured choices of schedules, which go before "
                     "the model's (GPU)"),
            cl::value_desc("folder"), cl::cat(category)),
      bytecodeReader(
          "bytecode-reader",
          cl::desc("blockscale-read-bytecode to use, instead of a search"),
          cl::value_desc("file"), cl::cat(category)) {}
