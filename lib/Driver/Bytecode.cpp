//===- Bytecode.cpp - Bytecode that may be damaged ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Driver/Bytecode.h"

#include "blockscale/Driver/BytecodeReader.h"
#include "blockscale/IR/TextNesting.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using blockscale::runtime::Result;
using Kind = blockscale::BytecodeAnswer::Kind;

namespace blockscale {

static Result<BytecodeAnswer> ask(StringRef content,
                                  const std::string &reader) {
  Result<std::string> program = findBytecodeReader(
      reader.empty()
          ? getBytecodeReaderPlaces()
          : std::vector<BytecodeReaderPlace>{{"the option", reader}});
  if (!program.ok())
    return program.status();
  return askBytecodeReader(*program, content);
}

/// The module that `content` is, or null after an error was emitted, whatever
/// the program that reads it answers.
static OwningOpRef<ModuleOp> parseBytecode(StringRef content, StringRef name,
                                           MLIRContext &context,
                                           const std::string &reader) {
  Location unknown = UnknownLoc::get(&context);
  Result<BytecodeAnswer> answer = ask(content, reader);
  if (!answer.ok()) {
    emitError(unknown) << answer.message();
    return {};
  }
  switch (answer->kind) {
  case Kind::Module:
    if (failed(verifyTextNesting(answer->text, name, context)))
      return {};
    return parseSourceString<ModuleOp>(answer->text, &context, name);
  case Kind::Error:
    emitError(unknown) << answer->text;
    return {};
  case Kind::Damaged:
    emitError(unknown) << "expected MLIR bytecode as MLIR wrote it, but '"
                       << name << "' is damaged";
    return {};
  }
  return {};
}

OwningOpRef<ModuleOp> parseModule(StringRef content, const std::string &name,
                                  llvm::SourceMgr &sources,
                                  MLIRContext &context,
                                  const std::string &bytecodeReader) {
  if (isBytecode(llvm::MemoryBufferRef(content, name)))
    return parseBytecode(content, name, context, bytecodeReader);
  if (failed(verifyTextNesting(content, name, context)))
    return {};
  // A copy: the parser reads a NUL after the end.
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(content, name), llvm::SMLoc());
  return parseSourceFile<ModuleOp>(sources, &context);
}

OwningOpRef<ModuleOp> readModule(const std::string &path,
                                 llvm::SourceMgr &sources, MLIRContext &context,
                                 const std::string &bytecodeReader) {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(path);
  if (buffer)
    return parseModule((*buffer)->getBuffer(), path, sources, context,
                       bytecodeReader);
  emitError(UnknownLoc::get(&context), "could not open input file ") << path;
  return {};
}

} // namespace blockscale
