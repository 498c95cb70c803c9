//===- Bytecode.cpp - Bytecode that may be damaged ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Driver/Bytecode.h"

#include "blockscale/Pipelines/Pipelines.h"
#include "blockscale/Runtime/Result.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <array>
#include <csignal>
#include <fcntl.h>
#include <limits>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;
using blockscale::runtime::Result;
using blockscale::runtime::Status;

namespace blockscale {

// More than reading takes, which is a copy of the content at most, attributes
// and ops of some words for each byte, and their text.
static constexpr unsigned kSeconds = 10, kBytesASecond = 1 << 20;
static constexpr rlim_t kMemory = rlim_t(1) << 30, kMemoryAByte = 64;

/// What a reader that was not stopped writes: one of these, a text and a NUL.
static constexpr char kModule = 'M', kError = 'E', kEnd = 0;

/// Bytes of data that the process has.
static rlim_t getDataBytes() {
  constexpr size_t field = 5;
  auto buffer = llvm::MemoryBuffer::getFileAsStream("/proc/self/statm");
  SmallVector<StringRef> pages;
  rlim_t count = 0;
  if (buffer)
    (*buffer)->getBuffer().split(pages, ' ');
  if (pages.size() <= field || pages[field].getAsInteger(10, count))
    return 0;
  return count * sysconf(_SC_PAGESIZE);
}

static void setLimit(int resource, rlim_t most) {
  struct rlimit limit = {most, RLIM_INFINITY};
  setrlimit(static_cast<__rlimit_resource>(resource), &limit);
}

/// The module as text with its locations, or the reader's first error.
static std::string readAsText(StringRef content) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  std::string error;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (error.empty())
      error = diagnostic.str();
    return success();
  });
  auto module = parseSourceString<ModuleOp>(content, &context);
  if (!module)
    return kError + error;
  std::string text(1, kModule);
  llvm::raw_string_ostream os(text);
  // The host's options may have the printer leave things out.
  constexpr int64_t all = std::numeric_limits<int64_t>::max();
  module->print(os, OpPrintingFlags()
                        .enableDebugInfo()
                        .skipRegions(false)
                        .elideLargeElementsAttrs(all)
                        .elideLargeResourceString(all));
  return text;
}

[[noreturn]] static void readInChild(StringRef content, int pipe) {
  for (int signal : {SIGABRT, SIGALRM, SIGBUS, SIGFPE, SIGILL, SIGSEGV})
    std::signal(signal, SIG_DFL);
  // The thread that forked may have blocked some.
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  alarm(kSeconds + static_cast<unsigned>(content.size() / kBytesASecond));
  setLimit(RLIMIT_CORE, 0);
  setLimit(RLIMIT_DATA,
           getDataBytes() + kMemory + kMemoryAByte * content.size());
  if (int null = open("/dev/null", O_WRONLY); null >= 0)
    dup2(null, STDERR_FILENO);
  std::string answer = readAsText(content) + kEnd;
  llvm::raw_fd_ostream(pipe, /*shouldClose=*/true) << answer;
  _exit(0);
}

/// All that comes out of a pipe.
static std::string drain(int pipe) {
  std::string content;
  std::array<char, 1 << 16> buffer;
  while (true) {
    ssize_t count = llvm::sys::RetryAfterSignal(-1, read, pipe, buffer.data(),
                                                buffer.size());
    if (count <= 0)
      return content;
    content.append(buffer.data(), count);
  }
}

/// What a child process reads, as in kModule; empty where it did not return.
static Result<std::string> readApart(StringRef content) {
  constexpr const char *what = "cannot read bytecode in a process of its own: ";
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return Status::failure(what + llvm::sys::StrError());
  pid_t child = fork();
  if (child == 0)
    readInChild(content, ends[1]);
  Status failure = Status::failure(what + llvm::sys::StrError());
  close(ends[1]);
  std::string answer = drain(ends[0]);
  close(ends[0]);
  if (child < 0)
    return failure;
  // A host that waits for all its children may have been first.
  (void)llvm::sys::RetryAfterSignal(-1, waitpid, child, nullptr, 0);
  if (answer.empty() || answer.back() != kEnd)
    return std::string();
  answer.pop_back();
  return answer;
}

/// Emits an error where there is none.
static OwningOpRef<ModuleOp> parseBytecode(StringRef content, StringRef name,
                                           MLIRContext &context) {
  Location unknown = UnknownLoc::get(&context);
  Result<std::string> answer = readApart(content);
  if (!answer.ok())
    emitError(unknown) << answer.message();
  else if (answer->empty())
    emitError(unknown) << "expected MLIR bytecode as MLIR wrote it, but '"
                       << name << "' is damaged";
  else if (answer->front() == kError)
    emitError(unknown) << StringRef(*answer).drop_front();
  else
    return parseSourceString<ModuleOp>(StringRef(*answer).drop_front(),
                                       &context, name);
  return {};
}

OwningOpRef<ModuleOp> parseModule(StringRef content, const std::string &name,
                                  llvm::SourceMgr &sources,
                                  MLIRContext &context) {
  if (isBytecode(llvm::MemoryBufferRef(content, name)))
    return parseBytecode(content, name, context);
  // A copy: the parser reads a NUL after the end.
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(content, name), llvm::SMLoc());
  return parseSourceFile<ModuleOp>(sources, &context);
}

OwningOpRef<ModuleOp> readModule(const std::string &path,
                                 llvm::SourceMgr &sources,
                                 MLIRContext &context) {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(path);
  if (buffer)
    return parseModule((*buffer)->getBuffer(), path, sources, context);
  emitError(UnknownLoc::get(&context), "could not open input file ") << path;
  return {};
}

} // namespace blockscale
