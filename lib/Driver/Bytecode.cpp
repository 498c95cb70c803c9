//===- Bytecode.cpp - Bytecode that may be damaged ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Driver/Bytecode.h"

#include "blockscale/Driver/BytecodeReader.h"
#include "blockscale/IR/Upstream.h"
#include "blockscale/IR/VerifyText.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using blockscale::runtime::Result;
using Kind = blockscale::BytecodeAnswer::Kind;

namespace blockscale {

/// The most bytes of a release that a message shows.
static constexpr size_t kLongestRelease = 16;

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

/// The release of MLIR, such as "23.1.4", that wrote `content`, where it is
/// later than the one that reads it, which may not know all that it finds. A
/// release reads what earlier ones wrote.
static StringRef findLaterRelease(StringRef content) {
  // Bytecode begins with four bytes that mark it and one that is the version of
  // the format. Behind them is who wrote it.
  constexpr size_t kHead = 5;
  StringRef writer = content.substr(kHead);
  unsigned release = 0;
  if (!writer.consume_front("MLIR"))
    return {};
  writer =
      writer.take_while([](char c) { return llvm::isDigit(c) || c == '.'; })
          .take_front(kLongestRelease);
  if (writer.split('.').first.getAsInteger(10, release) ||
      release <= upstream::kRelease)
    return {};
  return writer;
}

/// What is wrong with bytecode that the reader refuses, for the reason `why` if
/// it gives one.
static std::string describeRefusal(StringRef content, StringRef name,
                                   StringRef why) {
  StringRef release = findLaterRelease(content);
  if (!release.empty())
    return llvm::formatv("expected bytecode that MLIR {0} reads, but '{1}' was "
                         "written by MLIR {2} ({3}); give MLIR text instead",
                         upstream::kRelease, name, release,
                         why.empty() ? "the reader ended" : why);
  if (!why.empty())
    return why.str();
  return llvm::formatv("expected MLIR bytecode as MLIR wrote it, but '{0}' is "
                       "damaged",
                       name);
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
    if (failed(verifyText(answer->text, name, context)))
      return {};
    return parseSourceString<ModuleOp>(answer->text, &context, name);
  case Kind::Error:
  case Kind::Damaged:
    emitError(unknown) << describeRefusal(content, name, answer->text);
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
  if (failed(verifyText(content, name, context)))
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
