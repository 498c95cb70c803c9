//===- NpyHeader.h - The header of a .npy file ------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_RUNTIME_NPYHEADER_H
#define BLOCKSCALE_RUNTIME_NPYHEADER_H

#include "blockscale/Runtime/Result.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace blockscale::runtime {

/// Element types of the .npy files that are read and written, little endian.
/// Packed f4, f8 and e8m0 travel as UInt8, bf16 as UInt16.
enum class NpyType {
  Bool,
  UInt8,
  Int8,
  UInt16,
  Int16,
  UInt32,
  Int32,
  UInt64,
  Int64,
  Float16,
  Float32,
  Float64,
};

/// NumPy's name of the type, as in `uint16`.
std::string_view getNpyTypeName(NpyType type);
/// The type of this name, if there is one.
std::optional<NpyType> findNpyType(std::string_view name);
/// The `descr` NumPy writes for the type, as in `<u2`.
std::string_view getNpyDescr(NpyType type);
/// Bytes of one element.
int64_t getNpyByteWidth(NpyType type);
/// The shape as Python prints it: `()`, `(3,)`, `(3, 4)`.
std::string formatNpyShape(const std::vector<int64_t> &shape);

/// Bytes of a dense array. Fails if the rank exceeds kMaxNpyRank, if a
/// dimension is negative, or if the product of the non-zero dimensions (which
/// strides are made of, also in an empty array) leaves 63 bits.
Result<int64_t> computeNpyByteCount(NpyType type,
                                    const std::vector<int64_t> &shape);

/// NumPy's own limit.
inline constexpr size_t kMaxNpyRank = 64;
/// A header of kMaxNpyRank dimensions is below 2 KiB; more is not an array.
inline constexpr uint64_t kMaxNpyHeaderLength = 1 << 16;
/// Bytes that parseNpyPreamble wants to see.
inline constexpr size_t kNpyPreambleLength = 12;

/// Where the header text lies in a file; it ends where the data begin.
struct NpyPreamble {
  uint64_t headerOffset;
  uint64_t headerLength;
};

/// Reads magic, version (1.0, 2.0, 3.0) and header length from the first
/// kNpyPreambleLength bytes of a file, or all of a shorter file, and checks
/// that a file of `fileSize` bytes can hold such a header.
Result<NpyPreamble> parseNpyPreamble(std::string_view prefix,
                                     uint64_t fileSize);

/// Type and shape of an array in C order.
struct NpyHeader {
  NpyType type;
  std::vector<int64_t> shape;
};

/// Parses the header text, a Python dict with exactly the keys `descr`,
/// `fortran_order` and `shape`. Fortran order is accepted only where it is the
/// same as C order: at most one dimension differs from 1, or the array is
/// empty. The shape has passed computeNpyByteCount.
Result<NpyHeader> parseNpyHeader(std::string_view text);

/// Magic, version 1.0 and header, padded as numpy.save pads it, so that a file
/// is equal byte for byte to NumPy's. The shape must have passed
/// computeNpyByteCount.
std::string formatNpyHeader(NpyType type, const std::vector<int64_t> &shape);

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_NPYHEADER_H
