//===- host.cpp - A host that finds what others hide ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What compiled modules call. Memory starts as 0xFF bytes, ends at a page that
// nobody may touch, and is checked around its edges when freed. Parallel ranges
// have a chosen size and come last first.
//
// The linker sends the module's malloc and free here (--wrap).
//
//===----------------------------------------------------------------------===//

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

static constexpr size_t kPage = 4096;
static constexpr unsigned char kPoison = 0xFF;
static constexpr uint64_t kMagic = 0xB10C5CA1EB10C5CA;

namespace {

/// Lies right before the memory.
struct Header {
  unsigned char *base;
  size_t mapped, size;
  uint64_t magic;
};

} // namespace

static char report[256];

extern "C" {

int64_t hostRangeSize = 0; ///< Of parallel ranges; 0: all in one.
int64_t hostLive = 0;      ///< Allocations not freed yet.

void blockscale_report_error(const char *message, int64_t found) {
  if (!report[0])
    snprintf(report, sizeof(report), "%s, but got %lld", message,
             static_cast<long long>(found));
}

/// The first error since the last call, or null.
const char *hostTakeReport() {
  static char taken[sizeof(report)];
  memcpy(taken, report, sizeof(report));
  report[0] = 0;
  return taken[0] ? taken : nullptr;
}

/// `size` bytes whose end is as near to the guard page as `alignment` lets it.
void *hostAllocate(size_t size, size_t alignment) {
  size_t padded = (size + alignment - 1) / alignment * alignment;
  size_t used = (padded + sizeof(Header) + kPage - 1) / kPage * kPage;
  void *mapping = mmap(nullptr, used + kPage, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED)
    abort();
  auto *base = static_cast<unsigned char *>(mapping);
  mprotect(base + used, kPage, PROT_NONE);
  memset(base, kPoison, used);
  unsigned char *memory = base + used - padded;
  Header header = {base, used + kPage, size, kMagic};
  memcpy(memory - sizeof(Header), &header, sizeof(Header));
  ++hostLive;
  return memory;
}

/// Frees, and reports writes next to the memory.
void hostFree(void *pointer) {
  if (!pointer)
    return;
  --hostLive;
  auto *memory = static_cast<unsigned char *>(pointer);
  Header header;
  memcpy(&header, memory - sizeof(Header), sizeof(Header));
  if (header.magic != kMagic) {
    blockscale_report_error("expected no write before memory", 0);
    return;
  }
  auto check = [&](unsigned char *begin, unsigned char *end) {
    for (unsigned char *byte = begin; byte < end; ++byte)
      if (*byte != kPoison)
        blockscale_report_error("expected writes to memory only",
                                byte - memory);
  };
  check(header.base, memory - sizeof(Header));
  check(memory + header.size, header.base + header.mapped - kPage);
  munmap(header.base, header.mapped);
}

void *__wrap_malloc(size_t size) { return hostAllocate(size, 16); }
void __wrap_free(void *memory) { hostFree(memory); }

void blockscale_parallel_for(int64_t n, void (*body)(void *, int64_t, int64_t),
                             void *ctx) {
  int64_t size = hostRangeSize ? hostRangeSize : n;
  for (int64_t end = n; end > 0; end -= size)
    body(ctx, end > size ? end - size : 0, end);
}

} // extern "C"
