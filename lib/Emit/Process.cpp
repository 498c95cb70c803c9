//===- Process.cpp - Run a program and read what it prints ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Process.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>
#include <utility>

using llvm::StringRef;

namespace blockscale {

llvm::Expected<TemporaryFile> TemporaryFile::create(StringRef suffix) {
  llvm::SmallString<128> path;
  if (std::error_code error =
          llvm::sys::fs::createTemporaryFile("blockscale", suffix, path))
    return llvm::createStringError(error, "cannot create a temporary file");
  llvm::sys::RemoveFileOnSignal(path);
  TemporaryFile file;
  file.path = path.str();
  return file;
}

TemporaryFile::TemporaryFile(TemporaryFile &&other) noexcept
    : path(std::exchange(other.path, std::string())) {}

TemporaryFile::~TemporaryFile() {
  if (path.empty())
    return;
  // A file that stays is in the system's folder for such files.
  [[maybe_unused]] std::error_code error = llvm::sys::fs::remove(path);
  llvm::sys::DontRemoveFileOnSignal(path);
}

llvm::Error TemporaryFile::write(StringRef content) const {
  std::error_code error;
  llvm::raw_fd_ostream stream(path, error);
  if (!error) {
    stream << content;
    stream.close();
    error = stream.error();
    stream.clear_error();
  }
  if (error)
    return llvm::createStringError(error,
                                   llvm::Twine("cannot write '") + path + "'");
  return llvm::Error::success();
}

llvm::Expected<std::string> TemporaryFile::read() const {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::createStringError(buffer.getError(),
                                   llvm::Twine("cannot read '") + path + "'");
  return (*buffer)->getBuffer().str();
}

llvm::Expected<ProcessOutput> runProgram(StringRef program,
                                         llvm::ArrayRef<StringRef> arguments) {
  auto output = TemporaryFile::create("txt");
  if (!output)
    return output.takeError();
  llvm::SmallVector<StringRef> commandLine{program};
  llvm::append_range(commandLine, arguments);
  // One file for both streams keeps their order.
  std::optional<StringRef> redirects[] = {StringRef(""), output->getPath(),
                                          output->getPath()};
  std::string message;
  bool notRun = false;
  int status = llvm::sys::ExecuteAndWait(
      program, commandLine, /*Env=*/std::nullopt, redirects,
      /*SecondsToWait=*/0, /*MemoryLimit=*/0, &message, &notRun);
  if (notRun || status < 0)
    return llvm::createStringError(llvm::Twine("cannot run '") + program +
                                   "': " + message);
  auto text = output->read();
  if (!text)
    return text.takeError();
  return ProcessOutput{status, std::move(*text)};
}

} // namespace blockscale
