//===- ProgramCreation.cpp - Programs made of modules ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Program::create and Program::load stand with the instructions, because an op
// holds the handler of its instruction: everything that a program is made of
// lies below it.
//
//===----------------------------------------------------------------------===//

#include "Emulator/Instructions/Decoder.h"
#include "Emulator/Program/FunctionLinks.h"
#include "Emulator/Program/ProgramLayout.h"
#include "blockscale/Emulator/InstructionSet.h"
#include "blockscale/Emulator/Parser.h"
#include "blockscale/Emulator/Validation.h"

#include "llvm/ADT/STLExtras.h"

namespace blockscale::emulator {

llvm::Expected<std::unique_ptr<Program>> Program::create(Module parsed,
                                                         Device &device) {
  std::unique_ptr<Program> program(new Program(std::move(parsed)));
  Module &module = program->module;
  linkFunctions(module);

  VariableLayout moduleVariables;
  if (llvm::Error error = allocateVariables(module, moduleVariables, device))
    return std::move(error);
  program->functions.resize(module.functions.size());
  for (auto [function, laidOut] :
       llvm::zip(module.functions, program->functions))
    layOutFunction(function, laidOut);
  layOutShared(module, moduleVariables, program->functions);

  for (ProgramFunction &function : program->functions) {
    function.entry = program->ops.size();
    Decoder decoder(*program, function, moduleVariables);
    for (const Instruction &instruction : function.function->instructions) {
      llvm::Expected<Op> op = decoder.decode(instruction);
      if (!op)
        function.notModelled.push_back(llvm::toString(op.takeError()));
      program->ops.push_back(op ? std::move(*op) : Op());
    }
    // A jump past the last instruction returns.
    if (function.function->hasBody)
      program->ops.push_back(makeReturn());
    function.end = program->ops.size();
  }
  return std::move(program);
}

llvm::Expected<std::unique_ptr<Program>> Program::load(llvm::StringRef ptx,
                                                       Device &device) {
  llvm::Expected<Module> module = parseModule(ptx);
  if (!module)
    return module.takeError();
  if (llvm::Error error = resolveNames(*module))
    return std::move(error);
  if (llvm::Error error = verifyInstructions(*module))
    return std::move(error);
  return create(std::move(*module), device);
}

} // namespace blockscale::emulator
