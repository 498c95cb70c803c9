//===- ReadGuard.h - Mapped files that shrink -------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The system sends SIGBUS to who reads a mapped page that its file has no more,
// because the file was cut meanwhile. That would end the process. While there
// is a guard, such a read gives zeros instead, and the mapping remembers it, so
// that who reads asks afterwards whether all bytes were there.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_CHECKPOINT_READGUARD_H
#define BLOCKSCALE_CHECKPOINT_READGUARD_H

#include <string_view>

namespace blockscale::checkpoint {

/// A mapping that guards know. Signal handlers look at it: it is never freed,
/// and serves another mapping later.
struct GuardedMapping;

/// Makes a mapping known to guards, until it is forgotten, which must be before
/// it is unmapped.
GuardedMapping *rememberMapping(std::string_view bytes);
void forgetMapping(GuardedMapping *mapping);
/// Whether a page was read that the file had no more.
bool wasCut(const GuardedMapping *mapping);

/// Between these, which threads may nest, reads of all known mappings give
/// zeros where pages are gone. The process has its own handler of SIGBUS again
/// behind the last one; what is no read of a known mapping goes to that.
void beginReadGuard();
void endReadGuard();

/// The same in a scope.
class ReadGuard {
public:
  ReadGuard() { beginReadGuard(); }
  ~ReadGuard() { endReadGuard(); }
  ReadGuard(const ReadGuard &) = delete;
  ReadGuard &operator=(const ReadGuard &) = delete;
};

} // namespace blockscale::checkpoint

#endif // BLOCKSCALE_CHECKPOINT_READGUARD_H
