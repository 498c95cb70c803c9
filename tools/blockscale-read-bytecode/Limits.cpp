//===- Limits.cpp - Ends of a program that reads anything -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Limits.h"

#include "blockscale/Driver/BytecodeAnswer.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>
#include <csignal>
#include <new>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/common_interface_defs.h>
#define BLOCKSCALE_HAS_SANITIZER 1
#endif
#endif

using llvm::StringRef;
using Kind = blockscale::BytecodeAnswer::Kind;

namespace blockscale {

/// Bytes of the stack, which nested regions or types can use up: half of what
/// the system keeps free for a stack below the libraries.
static constexpr rlim_t kStack = rlim_t(64) << 20;

/// The answers of the handlers below. They are written beforehand, since a
/// handler can compute nothing, and never freed.
static const std::string *whenDamaged, *whenOutOfMemory;

[[noreturn]] static void answerAndExit(const std::string &answer) {
  // One that was cut off is none.
  [[maybe_unused]] ssize_t written =
      write(STDOUT_FILENO, answer.data(), answer.size());
  _exit(1);
}

static void onSignal(int) { answerAndExit(*whenDamaged); }

static void onOutOfMemory() { answerAndExit(*whenOutOfMemory); }

/// Bytes of data that the process has.
static rlim_t getDataBytes() {
  constexpr size_t field = 5;
  auto buffer = llvm::MemoryBuffer::getFileAsStream("/proc/self/statm");
  llvm::SmallVector<StringRef> pages;
  rlim_t count = 0;
  if (buffer)
    (*buffer)->getBuffer().split(pages, ' ');
  if (pages.size() <= field || pages[field].getAsInteger(10, count))
    return 0;
  return count * sysconf(_SC_PAGESIZE);
}

/// Sets the limit to `most`, or to what the parent allows where that is less.
/// Whether it is `most`.
static bool setLimit(int resource, rlim_t most) {
  auto which = static_cast<__rlimit_resource>(resource);
  struct rlimit limit;
  if (getrlimit(which, &limit) != 0)
    return false;
  limit.rlim_cur = std::min(most, limit.rlim_max);
  return setrlimit(which, &limit) == 0 && limit.rlim_cur == most;
}

/// Answers where the reader crashes.
static void handleSignals() {
  // One that has used up its stack needs another.
  static char stack[1 << 16];
  stack_t alternate = {};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof(stack);
  sigaltstack(&alternate, nullptr);
  struct sigaction action = {};
  action.sa_handler = onSignal;
  action.sa_flags = SA_ONSTACK;
  for (int signal : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGXCPU})
    sigaction(signal, &action, nullptr);
#ifdef BLOCKSCALE_HAS_SANITIZER
  // A sanitizer ends the process without a signal.
  __sanitizer_set_death_callback([] { onSignal(SIGABRT); });
#endif
}

void limitReading(size_t bytes) {
  setLimit(RLIMIT_CORE, 0);
  setLimit(RLIMIT_STACK, kStack);
  setLimit(RLIMIT_CPU, getReadingSeconds(bytes));
  bool hasAll = setLimit(RLIMIT_AS, RLIM_INFINITY);
  hasAll &= setLimit(RLIMIT_DATA, getDataBytes() + getReadingMemory(bytes));
  whenDamaged = new std::string(formatAnswer({Kind::Damaged, ""}));
  whenOutOfMemory =
      hasAll ? whenDamaged
             : new std::string(formatAnswer(
                   {Kind::Error, "expected " +
                                     std::to_string(getReadingMemory(bytes)) +
                                     " bytes of memory to read bytecode in, "
                                     "but the limits of this process "
                                     "(RLIMIT_AS, RLIMIT_DATA) leave less"}));
  handleSignals();
  std::set_new_handler(onOutOfMemory);
  llvm::install_bad_alloc_error_handler(
      [](void *, const char *, bool) { onOutOfMemory(); });
}

} // namespace blockscale
