//===- Session.cpp - The emulated device of this process ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Session.h"

#include "blockscale/CudaRuntime/Environment.h"
#include "blockscale/Runtime/TrustedFolder.h"
#include "blockscale/Target/Chip.h"
#include "blockscale/Target/Gpu.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <unistd.h>

namespace blockscale::cuda {

static llvm::StringRef getVariable(const char *name, llvm::StringRef other) {
  const char *value = std::getenv(name);
  return value ? llvm::StringRef(value) : other;
}

[[noreturn]] static void refuse(llvm::StringRef name, llvm::StringRef expected,
                                llvm::StringRef value) {
  llvm::errs() << "blockscale-emulate: error: expected " << name << " to be "
               << expected << ", but got '" << value << "'\n";
  // No destructor of the program may run: it has not begun.
  _exit(1);
}

static uint64_t getNumber(const char *name, uint64_t otherwise = 0) {
  if (!std::getenv(name))
    return otherwise;
  llvm::StringRef text = getVariable(name, "");
  uint64_t number = 0;
  if (text.getAsInteger(10, number))
    refuse(name, "a number", text);
  return number;
}

static void setChip(Session &session) {
  llvm::StringRef name = getVariable(kChipVariable, kDefaultChip);
  const target::Chip *chip = target::findChip(std::string_view(name));
  unsigned number = 0;
  if (!chip || !name.consume_front("sm_") || name.consumeInteger(10, number))
    refuse(kChipVariable, "one of " + target::listChips(), name);
  session.chip = chip->name;
  session.capability = {static_cast<int>(number / 10),
                        static_cast<int>(number % 10)};
  session.limits = chip->limits;
  session.multiprocessors = target::findGpu(chip->gpu)->multiprocessors;
}

static void setMultiprocessors(Session &session) {
  uint64_t number = getNumber(kMultiprocessorsVariable);
  if (number > kMostMultiprocessors)
    refuse(kMultiprocessorsVariable,
           "at most " + std::to_string(kMostMultiprocessors),
           std::to_string(number));
  if (number != 0)
    session.multiprocessors = static_cast<int>(number);
}

/// The file of this process; empty where findings go to standard error.
static std::string getReportPath() {
  llvm::StringRef folder = getVariable(kReportVariable, "");
  if (folder.empty())
    return "";
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path,
                          std::to_string(llvm::sys::Process::getProcessId()));
  return path.str().str();
}

namespace {
/// What is not modelled, each once. It has a mutex of its own, as functions
/// find it out with that of the session or without.
struct Notes {
  std::mutex mutex;
  std::set<std::string> notModelled;
};
} // namespace

static Notes &getNotes() {
  static auto *notes = new Notes;
  return *notes;
}

void noteNotModelled(const std::string &what) {
  Notes &notes = getNotes();
  std::lock_guard<std::mutex> lock(notes.mutex);
  if (notes.notModelled.insert(what).second)
    getSession().writeReport(notes.notModelled);
}

void Session::writeReport() {
  Notes &notes = getNotes();
  std::lock_guard<std::mutex> lock(notes.mutex);
  writeReport(notes.notModelled);
}

void Session::writeReport(const std::set<std::string> &notModelled) {
  std::string path = getReportPath();
  if (path.empty())
    return;
  std::string text;
  llvm::raw_string_ostream os(text);
  report.print(os);
  for (const std::string &what : notModelled)
    os << "not modelled: " << what << "\n";
  // The name is easily guessed. A link of that name is replaced, not followed.
  runtime::Status written = runtime::replaceFile(path, text);
  if (!written.ok()) {
    llvm::errs() << "blockscale-emulate: error: " << written.message() << "\n";
    _exit(1);
  }
}

static void printReport() {
  if (!getReportPath().empty())
    return;
  Session &session = getSession();
  session.report.print(llvm::errs());
  if (!session.report.empty())
    llvm::errs() << "blockscale-emulate: error: "
                 << session.report.getFindings().size() << " findings\n";
}

static Session *makeSession() {
  auto *session = new Session;
  setChip(*session);
  setMultiprocessors(*session);
  llvm::StringRef schedule = getVariable(kScheduleVariable, "prompt");
  if (auto found = emulator::findSchedule(schedule))
    session->options.schedule = *found;
  else
    refuse(kScheduleVariable, "prompt, adversarial or random", schedule);
  session->options.seed = getNumber(kSeedVariable);
  session->options.maxSteps =
      getNumber(kMaxStepsVariable, emulator::kDefaultMaxSteps);
  session->options.jobs = static_cast<unsigned>(getNumber(kJobsVariable));
  session->options.strict = getNumber(kStrictVariable) != 0;
  session->options.requireFences = getNumber(kRequireFencesVariable) != 0;
  session->options.allowNanScales = getNumber(kNanScalesVariable) != 0;
  if (std::getenv(kSumsVariable)) {
    llvm::StringRef sums = getVariable(kSumsVariable, "");
    session->options.sums = emulator::findSumDevice(sums);
    if (!session->options.sums)
      refuse(kSumsVariable, emulator::kSumDeviceNames, sums);
  }
  session->printsLaunches = getNumber(kProfileVariable) != 0;
  session->writeReport();
  // A stream that is first used behind this would end before the report.
  llvm::errs();
  std::atexit(printReport);
  return session;
}

Session &getSession() {
  // Programs call until their last destructor has run.
  static Session *session = makeSession();
  return *session;
}

/// Begins when the library is loaded, so that who set it up can tell whether a
/// program has it.
__attribute__((constructor)) static void beginSession() { getSession(); }

} // namespace blockscale::cuda
