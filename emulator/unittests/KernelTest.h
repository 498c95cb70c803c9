//===- KernelTest.h - Tests that run kernels --------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_UNITTESTS_EMULATOR_KERNELTEST_H
#define BLOCKSCALE_UNITTESTS_EMULATOR_KERNELTEST_H

#include "blockscale/Emulator/Launch.h"

#include <cstring>
#include <gtest/gtest.h>

namespace blockscale::emulator {

/// A device with one module at a time.
class KernelRunner {
public:
  Device device;
  RunOptions options;
  /// Shape and shared memory of the launches to come.
  LaunchRequest shape;
  /// What the last launch found and counted.
  std::unique_ptr<Report> report = std::make_unique<Report>();
  Profile profile;

  /// Parses and decodes a module without its header; the error's text, or
  /// nothing.
  std::string load(const std::string &text);

  /// A buffer with these values; its address.
  template <typename T>
  uint64_t add(llvm::StringRef name, const std::vector<T> &values) {
    return device.global.allocate(
        name,
        llvm::ArrayRef(reinterpret_cast<const uint8_t *>(values.data()),
                       values.size() * sizeof(T)),
        /*alignment=*/256);
  }
  /// One of bytes that nobody has written.
  uint64_t addEmpty(llvm::StringRef name, uint64_t bytes) {
    return device.global.allocate(name, bytes, /*alignment=*/256);
  }
  /// What a buffer holds.
  template <typename T>
  std::vector<T> get(llvm::StringRef name) {
    const Buffer *buffer = device.global.find(name);
    std::vector<T> values(buffer ? buffer->bytes.size() / sizeof(T) : 0);
    if (buffer)
      std::memcpy(values.data(), buffer->bytes.data(),
                  values.size() * sizeof(T));
    return values;
  }

  /// Runs a kernel with these parameters; the error's text, or nothing.
  template <typename... Arguments>
  std::string run(llvm::StringRef kernel, const Arguments &...arguments) {
    std::vector<std::vector<uint8_t>> bytes;
    auto append = [&](const auto &argument) {
      const auto *from = reinterpret_cast<const uint8_t *>(&argument);
      bytes.emplace_back(from, from + sizeof(argument));
    };
    (append(arguments), ...);
    return launch(kernel, std::move(bytes));
  }

  /// The last launch's findings as text.
  std::string getFindings() const;

private:
  std::string launch(llvm::StringRef kernel,
                     std::vector<std::vector<uint8_t>> arguments);

  std::unique_ptr<Program> program;
};

struct KernelTest : testing::Test, KernelRunner {
  /// Runs `body` in `threads` threads of one CTA. It finds its thread's element
  /// of `a` in %a and leaves its result in %d, both .b64; %t is the thread, and
  /// %r, %q, %h, %p are ranges of 32, 64 and 16 bits and of predicates. Without
  /// findings, unless they are wanted.
  std::vector<uint64_t> runBody(const std::string &body,
                                const std::vector<uint64_t> &a,
                                bool wantsFindings = false);

  /// There is one finding: of this kind, saying this.
  void expectFinding(FaultKind kind, llvm::StringRef text) const;
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_UNITTESTS_EMULATOR_KERNELTEST_H
