//===- FatBinary.h - PTX in what nvcc embeds --------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A fat binary is a header and a list of entries, each with a header of its
// own:
//
//   header: u32 magic, u16 version 1, u16 bytes of the header, u64 bytes behind
//   it entry:  u16 kind (1 for PTX), u16 version, u32 bytes of the header,
//           u64 bytes of the content with padding, u32 bytes of it compressed,
//           ..., u32 chip at 28, u64 flags at 40, u64 bytes when decompressed
//           at 56
//
// What the fields mean is read from files that nvcc 13.0 writes.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CUDARUNTIME_FATBINARY_H
#define BLOCKSCALE_LIB_CUDARUNTIME_FATBINARY_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace blockscale::cuda {

/// The PTX texts of a fat binary, which begins with its magic number; how long
/// it is stands in its header. The error names what cannot be read: a damaged
/// header, a compression that is not zstd.
llvm::Expected<std::vector<std::string>> readFatBinary(const void *data);

/// The chip that a PTX text is for, as its directive .target says; empty where
/// it has none.
llvm::StringRef getTarget(llvm::StringRef ptx);

} // namespace blockscale::cuda

#endif // BLOCKSCALE_LIB_CUDARUNTIME_FATBINARY_H
