//===- Arguments.h - What a kernel is called with ---------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_TOOLS_EMULATE_ARGUMENTS_H
#define BLOCKSCALE_TOOLS_EMULATE_ARGUMENTS_H

#include "blockscale/Emulator/Device.h"
#include "blockscale/Runtime/Npy.h"

#include "llvm/Support/Error.h"

namespace blockscale::emulate {

/// Buffers of a device and the parameters of a kernel, as the options
/// --buffer and --arg describe them.
class Arguments {
public:
  explicit Arguments(emulator::Device &device) : device(device) {}

  /// NAME=BUFFER, where BUFFER is
  ///
  ///   in:FILE               an array that the kernel may only read
  ///   inout:FILE:FILE       one that it may change, and where the result goes
  ///   out:FILE:DTYPE:SHAPE  one that it has to write; SHAPE as in 4x16
  ///   zero:BYTES, uninit:BYTES
  ///   map:BUFFER,FIELD=VALUE,...  128 bytes, a tensor map
  llvm::Error addBuffer(llvm::StringRef option);

  /// The next parameter:
  ///
  ///   TYPE:VALUE            a scalar: i8 .. i64, u8 .. u64, b8 .. b64, f32,
  ///   f64 BUFFER                the address of a new buffer, called argN
  ///   buffer:NAME[+BYTES]   an address in one
  ///   map:BUFFER,FIELD=VALUE,...  a tensor map by value
  ///   bytes:FILE            the bytes of a struct
  llvm::Error addArgument(llvm::StringRef option);

  const std::vector<std::vector<uint8_t>> &getParameters() const {
    return parameters;
  }

  /// Writes the files of `out` and `inout`, or none of them.
  llvm::Error writeOutputs();

private:
  struct Output {
    std::string path;
    std::string buffer;
    runtime::NpyArray array;
  };

  /// Whether `kind`, what stands before the first colon, is one of a buffer.
  static bool isBuffer(llvm::StringRef kind);
  llvm::Expected<uint64_t> makeBuffer(llvm::StringRef name,
                                      llvm::StringRef text);
  llvm::Expected<uint64_t> makeInput(llvm::StringRef name,
                                     llvm::StringRef path);
  llvm::Expected<uint64_t> makeInOut(llvm::StringRef name,
                                     llvm::StringRef text);
  llvm::Expected<uint64_t> makeOutput(llvm::StringRef name,
                                      llvm::StringRef text);
  llvm::Expected<std::vector<uint8_t>> makeMap(llvm::StringRef text);
  llvm::Expected<std::vector<uint8_t>> makeParameter(llvm::StringRef option);
  llvm::Expected<uint64_t> findAddress(llvm::StringRef text);

  emulator::Device &device;
  std::vector<std::vector<uint8_t>> parameters;
  std::vector<Output> outputs;
};

} // namespace blockscale::emulate

#endif // BLOCKSCALE_TOOLS_EMULATE_ARGUMENTS_H
