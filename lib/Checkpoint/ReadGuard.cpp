//===- ReadGuard.cpp - Mapped files that shrink ---------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Checkpoint/ReadGuard.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

using namespace blockscale::checkpoint;

struct blockscale::checkpoint::GuardedMapping {
  /// The addresses; both 0 of one that serves no mapping.
  std::atomic<uintptr_t> begin = 0, end = 0;
  std::atomic<bool> isCut = false;
  /// The one that was made before.
  GuardedMapping *next = nullptr;
};

// The handler reads these without a lock, which it could not take.
static_assert(std::atomic<uintptr_t>::is_always_lock_free);
static std::atomic<GuardedMapping *> mappings = nullptr;
static uintptr_t pageSize = 0;

/// Guards who add, forget and count. Memory of its own, since threads may run
/// while the process ends.
static std::mutex &getMutex() {
  static auto *mutex = new std::mutex;
  return *mutex;
}
static unsigned guardCount = 0;
/// What handled SIGBUS before the first guard.
static struct sigaction previous;

/// Puts pages of zeros in the place of those from an address on to the end of
/// its mapping, which the file has no more. False for an address of no mapping.
static bool replacePages(uintptr_t address) {
  for (GuardedMapping *each = mappings; each; each = each->next) {
    uintptr_t begin = each->begin, end = each->end;
    if (address < begin || address >= end)
      continue;
    each->isCut = true;
    uintptr_t page = address / pageSize * pageSize;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): where a signal was raised.
    return mmap(reinterpret_cast<void *>(page), end - page, PROT_READ,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE,
                /*fd=*/-1, /*offset=*/0) != MAP_FAILED;
  }
  return false;
}

static void handleBusError(int, siginfo_t *info, void *) {
  int before = errno;
  // Without the handler, the read fails once more, and comes where it would
  // have come.
  if (!replacePages(reinterpret_cast<uintptr_t>(info->si_addr)))
    sigaction(SIGBUS, &previous, nullptr);
  errno = before;
}

GuardedMapping *
blockscale::checkpoint::rememberMapping(std::string_view bytes) {
  std::lock_guard<std::mutex> lock(getMutex());
  GuardedMapping *mapping = mappings;
  while (mapping && mapping->end)
    mapping = mapping->next;
  if (!mapping) {
    mapping = new GuardedMapping;
    mapping->next = mappings;
    mappings = mapping;
  }
  mapping->isCut = false;
  auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  mapping->begin = begin;
  mapping->end = begin + bytes.size();
  return mapping;
}

void blockscale::checkpoint::forgetMapping(GuardedMapping *mapping) {
  std::lock_guard<std::mutex> lock(getMutex());
  mapping->end = 0;
  mapping->begin = 0;
}

bool blockscale::checkpoint::wasCut(const GuardedMapping *mapping) {
  return mapping->isCut;
}

void blockscale::checkpoint::beginReadGuard() {
  std::lock_guard<std::mutex> lock(getMutex());
  if (guardCount++ != 0)
    return;
  pageSize = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  struct sigaction action = {};
  action.sa_sigaction = handleBusError;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, &previous);
}

void blockscale::checkpoint::endReadGuard() {
  std::lock_guard<std::mutex> lock(getMutex());
  if (--guardCount != 0)
    return;
  // Another handler that came meanwhile stays.
  struct sigaction now = {};
  sigaction(SIGBUS, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == handleBusError)
    sigaction(SIGBUS, &previous, nullptr);
}
