//===- ReplayMain.cpp - The fuzzer in builds without libFuzzer ------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the stored inputs, then as many random ones as asked for, or random ones
// for the rest of the time. It takes libFuzzer's spelling of options, so that
// scripts call either alike. No coverage leads it. An input that crashes or
// hangs is left in the file that was written before it ran.
//
//===----------------------------------------------------------------------===//

#include "Fuzzer.h"
#include "ToolOptions.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <sys/time.h>

using namespace llvm;
using namespace blockscale;

namespace {
/// The options, which exist once `main` runs.
struct CommandLine {
  cl::OptionCategory category{"options of the fuzzer"};
  cl::list<std::string> paths{cl::Positional,
                              cl::desc("<files and folders of inputs>"),
                              cl::cat(category)};
  cl::opt<unsigned> maxTotalTime{
      "max_total_time", cl::cat(category),
      cl::desc("Seconds in all, with random inputs")};
  cl::opt<unsigned> runs{
      "runs", cl::cat(category),
      cl::desc("Random inputs, behind the given ones; they are the same on "
               "every machine")};
  cl::opt<unsigned> seed{"seed", cl::init(1), cl::cat(category),
                         cl::desc("Seed of the random inputs")};
  cl::opt<unsigned> timeout{
      "timeout", cl::init(60), cl::cat(category),
      cl::desc("Seconds of a CPU that an input may take")};
  cl::opt<std::string> artifactPrefix{
      "artifact_prefix", cl::cat(category),
      cl::desc("Prefix of the file that a bad input is kept in")};
  cl::opt<bool> printTexts{"print", cl::cat(category),
                           cl::desc("Print the inputs' texts instead")};
};
} // namespace

/// The bytes of each file; a folder stands for its files, in order.
static Expected<std::vector<std::string>>
readInputs(ArrayRef<std::string> paths) {
  std::vector<std::string> files, inputs;
  for (const std::string &path : paths) {
    if (!sys::fs::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    size_t first = files.size();
    std::error_code error;
    for (sys::fs::directory_iterator it(path, error), end; it != end && !error;
         it.increment(error))
      files.push_back(it->path());
    if (error)
      return createFileError(path, error);
    std::sort(files.begin() + first, files.end());
  }
  for (const std::string &file : files) {
    auto buffer = MemoryBuffer::getFile(file);
    if (!buffer)
      return createFileError(file, buffer.getError());
    inputs.push_back((*buffer)->getBuffer().str());
  }
  return inputs;
}

/// A new description, or a stored input with a few mutations.
static std::string makeInput(ArrayRef<std::string> stored,
                             std::minstd_rand &random) {
  if (stored.empty() || random() % 2) {
    std::string input(1, '\x80');
    for (size_t i = 16 + random() % 240; i > 0; --i)
      input += static_cast<char>(random() >> 8);
    return input;
  }
  std::string input = stored[random() % stored.size()];
  for (size_t i = 1 + random() % 4; i > 0; --i)
    input = isDescription(input)
                ? mutateBytes(input, random)
                : mutateText(input, getFuzzer().getVocabulary(), random);
  return input;
}

/// Ends the process when it has used so many seconds of CPUs, whatever else the
/// machine does; 0 takes that back. The signal's default action ends even one
/// that hangs while it reports a crash.
static void limitTime(unsigned seconds) {
  struct itimerval limit = {};
  limit.it_value.tv_sec = seconds;
  setitimer(ITIMER_PROF, &limit, nullptr);
}

/// Runs `input`, which stays in the file `artifact` where the process ends.
static Error runKept(StringRef input, StringRef artifact, unsigned timeout) {
  limitTime(timeout);
  std::error_code error;
  {
    raw_fd_ostream os(artifact, error);
    if (error)
      return createFileError(artifact, error);
    os << input;
  }
  getFuzzer().run(input);
  return Error::success();
}

static Error runAll(const CommandLine &options) {
  std::vector<std::string> paths(options.paths.begin(), options.paths.end());
  Expected<std::vector<std::string>> stored = readInputs(paths);
  if (!stored)
    return stored.takeError();
  if (options.printTexts) {
    for (const std::string &input : *stored)
      outs() << getFuzzer().getText(input) << "\n// -----\n";
    return Error::success();
  }

  using Clock = std::chrono::steady_clock;
  auto start = Clock::now();
  auto end = start + std::chrono::seconds(options.maxTotalTime);
  std::string artifact = options.artifactPrefix + "last-input";
  std::minstd_rand random(options.seed);
  unsigned numRuns = 0;
  for (const std::string &input : *stored) {
    if (Error error = runKept(input, artifact, options.timeout))
      return error;
    ++numRuns;
  }
  for (unsigned i = 0; i < options.runs || Clock::now() < end; ++i, ++numRuns)
    if (Error error =
            runKept(makeInput(*stored, random), artifact, options.timeout))
      return error;
  limitTime(0);
  if (std::error_code error = sys::fs::remove(artifact))
    return createFileError(artifact, error);
  outs() << getFuzzer().getSummary() << "\n"
         << formatv("Done {0} runs in {1} second(s)\n", numRuns,
                    std::chrono::duration_cast<std::chrono::seconds>(
                        Clock::now() - start)
                        .count());
  return Error::success();
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  setToolVersion(getFuzzer().getName());
  CommandLine options;
  cl::HideUnrelatedOptions(options.category);
  cl::ParseCommandLineOptions(argc, argv, getFuzzer().getOverview());
  ExitOnError exitOnError(std::string(getFuzzer().getName()) + ": ");
  exitOnError(runAll(options));
  return 0;
}
