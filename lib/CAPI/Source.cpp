//===- Source.cpp - Modules of callers and their diagnostics --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Source.h"

#include "blockscale/Driver/Bytecode.h"
#include "blockscale/IR/VerifyText.h"
#include "blockscale/Pipelines/Pipelines.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"

using namespace mlir;
using blockscale::runtime::ErrorKind;
using blockscale::runtime::Result;
using blockscale::runtime::Status;

namespace blockscale::capi {

/// Every dialect. LLVM's targets are registered here, once and under a lock:
/// what uses them later registers them again without one.
static const DialectRegistry &getRegistry() {
  static DialectRegistry *registry = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    auto *made = new DialectRegistry();
    registerPipelineDialects(*made);
    return made;
  }();
  return *registry;
}

Source::Source(blockscale_diagnostic_callback callback, void *user)
    : callback(callback), user(user) {
  context.appendDialectRegistry(getRegistry());
  // The place is told; the op in generic form, a whole module at times, would
  // bury the message.
  context.printOpOnDiagnostic(false);
  handler = context.getDiagEngine().registerHandler(
      [this](Diagnostic &diagnostic) { handle(diagnostic); });
}

Source::~Source() { context.getDiagEngine().eraseHandler(handler); }

static FileLineColLoc findPlace(Location location) {
  FileLineColLoc place;
  location->walk([&](Location part) {
    place = dyn_cast<FileLineColLoc>(part);
    return place ? WalkResult::interrupt() : WalkResult::advance();
  });
  return place;
}

static blockscale_severity getSeverity(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Error:
    return BLOCKSCALE_ERROR;
  case DiagnosticSeverity::Warning:
    return BLOCKSCALE_WARNING;
  case DiagnosticSeverity::Note:
    return BLOCKSCALE_NOTE;
  case DiagnosticSeverity::Remark:
    return BLOCKSCALE_REMARK;
  }
  return BLOCKSCALE_ERROR;
}

/// `message` must live as long as the result.
static blockscale_diagnostic convert(Diagnostic &diagnostic,
                                     const std::string &message) {
  blockscale_diagnostic result = {};
  result.severity = getSeverity(diagnostic.getSeverity());
  result.message = message.c_str();
  result.file = "";
  if (FileLineColLoc place = findPlace(diagnostic.getLocation())) {
    // Attributes of strings end with a NUL.
    result.file = place.getFilename().data();
    result.line = place.getLine();
    result.column = place.getColumn();
  }
  return result;
}

void Source::handle(Diagnostic &diagnostic) {
  std::vector<std::string> texts;
  for (Diagnostic &note : diagnostic.getNotes())
    texts.push_back(note.str());
  std::vector<blockscale_diagnostic> notes;
  for (auto [note, text] : llvm::zip_equal(diagnostic.getNotes(), texts))
    notes.push_back(convert(note, text));
  std::string message = diagnostic.str();
  blockscale_diagnostic converted = convert(diagnostic, message);
  converted.notes = notes.data();
  converted.note_count = notes.size();
  if (converted.severity == BLOCKSCALE_ERROR && firstError.empty()) {
    if (converted.line)
      firstError = std::string(converted.file) + ":" +
                   std::to_string(converted.line) + ":" +
                   std::to_string(converted.column) + ": ";
    firstError += message;
  }
  if (callback)
    callback(&converted, user);
}

Status Source::parse(StringRef content, const std::string &name,
                     const char *bytecodeReader) {
  llvm::SourceMgr sources;
  module = parseModule(content, name, sources, context,
                       bytecodeReader ? bytecodeReader : "");
  if (module)
    return Status::success();
  return explain(Status::failure("'" + name + "' could not be read",
                                 ErrorKind::Compilation));
}

Status Source::checkNesting(StringRef text, const std::string &name) {
  if (succeeded(verifyText(text, name, context)))
    return Status::success();
  return explain(Status::failure("'" + name + "' could not be read",
                                 ErrorKind::Compilation));
}

Status Source::enableRemarks() {
  if (succeeded(blockscale::enableRemarks(context)))
    return Status::success();
  return Status::failure("remarks could not be enabled");
}

Status Source::quantize(const char *policy) {
  return explain(quantizeProducts(*module, policy ? policy : ""));
}

Status Source::explain(const Status &status) const {
  if (status.ok() || status.kind() != ErrorKind::Compilation ||
      firstError.empty())
    return status;
  return Status::failure(firstError + " (" + status.message() + ")",
                         status.kind());
}

Result<std::string> readFile(const char *path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (buffer)
    return (*buffer)->getBuffer().str();
  return Status::failure("cannot read '" + std::string(path) +
                             "': " + buffer.getError().message(),
                         ErrorKind::File);
}

Status ProgressObserver::begin(const std::string &step, size_t number,
                               size_t count) {
  if (callback && callback(step.c_str(), number, count, user))
    return Status::failure("the progress callback ended the work before '" +
                               step + "'",
                           ErrorKind::Cancelled);
  return Status::success();
}

} // namespace blockscale::capi
