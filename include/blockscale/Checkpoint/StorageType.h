//===- StorageType.h - How files of tensors store elements ------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The types of tensors in safetensors and GGUF files, by the names that these
// formats give them. Where both have a type, it has one row.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_CHECKPOINT_STORAGETYPE_H
#define BLOCKSCALE_CHECKPOINT_STORAGETYPE_H

#include "blockscale/Runtime/Result.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace blockscale::checkpoint {

enum class FileFormat : uint8_t { Safetensors, Gguf };

/// The name of a format, as messages say it.
constexpr std::string_view getName(FileFormat format) {
  return format == FileFormat::Gguf ? "GGUF" : "safetensors";
}

struct StorageType {
  std::string_view name;
  /// The fewest elements that take whole bytes, and those bytes. In GGUF they
  /// are a block, which lies in one row.
  int64_t blockElements;
  int64_t blockBytes;
  bool isInSafetensors;
  /// The number of the type in GGUF files; negative for one that they lack.
  int ggufNumber;
};

inline constexpr StorageType kStorageTypes[] = {
    // name, elements, bytes, in safetensors, number in GGUF
    {"F32", 1, 4, true, 0},          {"F16", 1, 2, true, 1},
    {"BF16", 1, 2, true, 30},        {"F64", 1, 8, true, 28},
    {"I8", 1, 1, true, 24},          {"I16", 1, 2, true, 25},
    {"I32", 1, 4, true, 26},         {"I64", 1, 8, true, 27},
    {"BOOL", 1, 1, true, -1},        {"U8", 1, 1, true, -1},
    {"U16", 1, 2, true, -1},         {"U32", 1, 4, true, -1},
    {"U64", 1, 8, true, -1},         {"C64", 1, 8, true, -1},
    {"F4", 2, 1, true, -1},          {"F6_E2M3", 4, 3, true, -1},
    {"F6_E3M2", 4, 3, true, -1},     {"F8_E4M3", 1, 1, true, -1},
    {"F8_E5M2", 1, 1, true, -1},     {"F8_E8M0", 1, 1, true, -1},
    {"F8_E4M3FNUZ", 1, 1, true, -1}, {"F8_E5M2FNUZ", 1, 1, true, -1},
    {"MXFP4", 32, 17, false, 39},    {"NVFP4", 64, 36, false, 40},
    {"Q4_0", 32, 18, false, 2},      {"Q4_1", 32, 20, false, 3},
    {"Q5_0", 32, 22, false, 6},      {"Q5_1", 32, 24, false, 7},
    {"Q8_0", 32, 34, false, 8},      {"Q8_1", 32, 36, false, 9},
    {"Q2_K", 256, 84, false, 10},    {"Q3_K", 256, 110, false, 11},
    {"Q4_K", 256, 144, false, 12},   {"Q5_K", 256, 176, false, 13},
    {"Q6_K", 256, 210, false, 14},   {"Q8_K", 256, 292, false, 15},
    {"IQ2_XXS", 256, 66, false, 16}, {"IQ2_XS", 256, 74, false, 17},
    {"IQ3_XXS", 256, 98, false, 18}, {"IQ1_S", 256, 50, false, 19},
    {"IQ4_NL", 32, 18, false, 20},   {"IQ3_S", 256, 110, false, 21},
    {"IQ2_S", 256, 82, false, 22},   {"IQ4_XS", 256, 136, false, 23},
    {"IQ1_M", 256, 56, false, 29},   {"TQ1_0", 256, 54, false, 34},
    {"TQ2_0", 256, 66, false, 35},   {"Q1_0", 128, 18, false, 41},
    {"Q2_0", 64, 18, false, 42},
};

/// Whether files of a format have tensors of a type.
constexpr bool isIn(FileFormat format, const StorageType &type) {
  return format == FileFormat::Gguf ? type.ggufNumber >= 0
                                    : type.isInSafetensors;
}

/// The type of that name, or null.
constexpr const StorageType *findStorageType(std::string_view name) {
  for (const StorageType &type : kStorageTypes)
    if (type.name == name)
      return &type;
  return nullptr;
}

/// The type of that number in GGUF files, or null.
constexpr const StorageType *findGgufType(uint32_t number) {
  for (const StorageType &type : kStorageTypes)
    if (type.ggufNumber >= 0 &&
        static_cast<uint32_t>(type.ggufNumber) == number)
      return &type;
  return nullptr;
}

/// The names of the types that a format has, "F32, F16, .."
std::string listStorageTypes(FileFormat format);

/// The most dimensions of a tensor: NumPy and PyTorch have no more in
/// safetensors, nor ggml in GGUF.
constexpr size_t getMaxRank(FileFormat format) {
  return format == FileFormat::Gguf ? 4 : 64;
}

/// The bytes of a tensor. Fails where a format lacks the type or does not store
/// such a shape, and where a number does not fit 63 bits.
runtime::Result<uint64_t> computeBytes(FileFormat format,
                                       const StorageType &type,
                                       const std::vector<int64_t> &shape);

/// A shape as messages say it: "[2, 3]".
std::string formatShape(const std::vector<int64_t> &shape);

} // namespace blockscale::checkpoint

#endif // BLOCKSCALE_CHECKPOINT_STORAGETYPE_H
