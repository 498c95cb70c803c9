//===- HostProgram.cpp - CUDA programs on the emulator --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostProgram.h"

#include "Fields.h"
#include "blockscale/CudaRuntime/Environment.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <cstdlib>
#include <tuple>

namespace blockscale::emulate {

static void setVariable(const char *name, const llvm::Twine &value) {
  setenv(name, value.str().c_str(), /*overwrite=*/1);
}

static void setEnvironment(const HostProgram &program, llvm::StringRef folder,
                           llvm::StringRef reports) {
  const emulator::RunOptions &options = program.options;
  setVariable(cuda::kChipVariable, program.chip);
  setVariable(cuda::kMultiprocessorsVariable,
              llvm::Twine(program.multiprocessors));
  setVariable(cuda::kScheduleVariable, emulator::getName(options.schedule));
  setVariable(cuda::kSeedVariable, llvm::Twine(options.seed));
  setVariable(cuda::kMaxStepsVariable, llvm::Twine(options.maxSteps));
  setVariable(cuda::kJobsVariable, llvm::Twine(options.jobs));
  setVariable(cuda::kStrictVariable, llvm::Twine(options.strict ? 1 : 0));
  setVariable(cuda::kRequireFencesVariable,
              llvm::Twine(options.requireFences ? 1 : 0));
  setVariable(cuda::kNanScalesVariable,
              llvm::Twine(options.allowNanScales ? 1 : 0));
  if (options.sums)
    setVariable(cuda::kSumsVariable, emulator::getName(*options.sums));
  setVariable(cuda::kProfileVariable, llvm::Twine(options.profile ? 1 : 0));
  setVariable(cuda::kReportVariable, reports);
  const char *path = std::getenv("LD_LIBRARY_PATH");
  setVariable("LD_LIBRARY_PATH",
              path ? folder + ":" + llvm::Twine(path) : llvm::Twine(folder));
}

/// Prints the reports of the program's processes. Sets whether one had the
/// library, and whether one has findings.
static llvm::Error printReports(llvm::StringRef folder, bool &isLoaded,
                                bool &hasFindings) {
  std::error_code error;
  for (llvm::sys::fs::directory_iterator file(folder, error), end;
       file != end && !error; file.increment(error)) {
    auto report = llvm::MemoryBuffer::getFile(file->path());
    if (!report)
      return llvm::errorCodeToError(report.getError());
    isLoaded = true;
    hasFindings |= !(*report)->getBuffer().empty();
    llvm::errs() << (*report)->getBuffer();
  }
  return llvm::errorCodeToError(error);
}

/// The folder of the library: in a wheel it is one of the tool's own folder, in
/// a build and an installation one of the folder of libraries.
static llvm::Expected<std::string> findLibrary(const std::string &self) {
  llvm::SmallString<128> folder;
  for (llvm::StringRef each : {BLOCKSCALE_CUDA_RUNTIME_FOLDER_IN_WHEEL,
                               BLOCKSCALE_CUDA_RUNTIME_FOLDER}) {
    folder = llvm::sys::path::parent_path(self);
    llvm::sys::path::append(folder, each);
    if (llvm::sys::fs::exists(folder + "/" + cuda::kLibraryName))
      return folder.str().str();
  }
  return unexpected(llvm::Twine(cuda::kLibraryName) + " of the emulator",
                    "no such file in '" + folder.str().str() + "'");
}

llvm::Expected<int> runHostProgram(const HostProgram &program,
                                   const std::string &self) {
  llvm::Expected<std::string> folder = findLibrary(self);
  if (!folder)
    return folder.takeError();
  llvm::StringRef name = program.commandLine.front();
  llvm::ErrorOr<std::string> path = llvm::sys::findProgramByName(name);
  if (!path)
    return unexpected("--program to name a program", name);
  llvm::SmallString<128> reports;
  if (std::error_code error =
          llvm::sys::fs::createUniqueDirectory("blockscale-emulate", reports))
    return llvm::errorCodeToError(error);
  llvm::scope_exit remove(
      [&] { std::ignore = llvm::sys::fs::remove_directories(reports); });
  setEnvironment(program, *folder, reports);
  std::string message;
  bool hasFailed = false;
  int status = llvm::sys::ExecuteAndWait(
      *path, program.commandLine, std::nullopt, {}, /*SecondsToWait=*/0,
      /*MemoryLimit=*/0, &message, &hasFailed);
  if (hasFailed)
    return unexpected("--program to name a program (" + message + ")", name);
  bool isLoaded = false, hasFindings = false;
  if (llvm::Error error = printReports(reports, isLoaded, hasFindings))
    return std::move(error);
  if (status < 0)
    return llvm::createStringError("'" + name +
                                   "' did not end by itself: " + message);
  if (!isLoaded)
    return llvm::createStringError(
        "expected '" + name + "' to load " + cuda::kLibraryName +
        ", but it did not; build it with nvcc 13 -cudart shared");
  return hasFindings ? 1 : status;
}

} // namespace blockscale::emulate
