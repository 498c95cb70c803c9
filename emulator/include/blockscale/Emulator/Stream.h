//===- Stream.h - Launches behind each other --------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The launches of a stream. What one of them has accessed is kept as long as a
// later one may begin before it has ended.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_EMULATOR_STREAM_H
#define BLOCKSCALE_EMULATOR_STREAM_H

#include <memory>

namespace blockscale::emulator {

class StreamLog;

class Stream {
public:
  Stream();
  ~Stream();
  Stream(Stream &&) noexcept;
  Stream &operator=(Stream &&) noexcept;

  /// What comes next begins once all launches so far have ended, as it does
  /// behind a copy or where the host has waited for them.
  void synchronize();

  StreamLog &getLog() { return *log; }

private:
  std::unique_ptr<StreamLog> log;
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_EMULATOR_STREAM_H
