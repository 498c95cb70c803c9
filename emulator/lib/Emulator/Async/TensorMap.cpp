//===- TensorMap.cpp - Descriptors of tensors for bulk copies -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Emulator/TensorMap.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"

namespace blockscale::emulator {

namespace {
struct ElementInfo {
  llvm::StringLiteral name;
  unsigned bits;
};

/// Swizzle modes as tensormap.replace splits them.
struct SwizzleFields {
  uint8_t mode;
  uint8_t atomicity;
};

/// Offsets of the fields in the 128 bytes.
enum Offset : unsigned {
  kMagic = 0,
  kRank = 4,
  kElement = 5,
  kInterleave = 6,
  kSwizzleMode = 7,
  kSwizzleAtomicity = 8,
  kFill = 9,
  kMode = 10,
  kAddress = 16,
  kDims = 24,
  kStrides = 64,
  kBox = 96,
  // In place of extents that an im2col map has none of.
  kLowerCorner = 104,
  kUpperCorner = 110,
  kElementStrides = 116,
};
} // namespace

/// In the order of the enumeration.
static constexpr ElementInfo kElements[] = {
    {"UINT8", 8},         {"UINT16", 16},      {"UINT32", 32},
    {"INT32", 32},        {"UINT64", 64},      {"INT64", 64},
    {"FLOAT16", 16},      {"FLOAT32", 32},     {"FLOAT64", 64},
    {"BFLOAT16", 16},     {"FLOAT32_FTZ", 32}, {"TFLOAT32", 32},
    {"TFLOAT32_FTZ", 32}, {"16U4_ALIGN8B", 4}, {"16U4_ALIGN16B", 4},
    {"16U6_ALIGN16B", 6},
};

/// By the numbers of tensormap.replace.
static constexpr TensorElement kReplaceElements[] = {
    TensorElement::U8,       TensorElement::U16,      TensorElement::U32,
    TensorElement::S32,      TensorElement::U64,      TensorElement::S64,
    TensorElement::F16,      TensorElement::F32,      TensorElement::F32Ftz,
    TensorElement::F64,      TensorElement::BF16,     TensorElement::TF32,
    TensorElement::TF32Ftz,  TensorElement::U4Align8, TensorElement::U4Align16,
    TensorElement::U6Align16};

/// In the order of Swizzle.
static constexpr SwizzleFields kSwizzleFields[] = {
    {0, 0}, {1, 0}, {2, 0}, {3, 0}, {3, 1}, {3, 2}, {3, 3},
};

static constexpr uint32_t kMagicValue = 0x4D545342; // "BSTM"

llvm::StringRef getName(TensorElement element) {
  return kElements[static_cast<unsigned>(element)].name;
}

unsigned getBits(TensorElement element) {
  return kElements[static_cast<unsigned>(element)].bits;
}

/// Integers of `values` side by side from `to` on.
template <typename Stored, typename Array>
static void put(uint8_t *to, const Array &values) {
  for (auto [i, value] : llvm::enumerate(values))
    llvm::support::endian::write(to + i * sizeof(Stored), Stored(value),
                                 llvm::endianness::little);
}

template <typename Stored, typename Array>
static void get(const uint8_t *from, Array &values) {
  for (auto [i, value] : llvm::enumerate(values))
    value = llvm::support::endian::read<Stored>(from + i * sizeof(Stored),
                                                llvm::endianness::little);
}

std::array<uint8_t, kTensorMapBytes> encode(const TensorMap &map) {
  std::array<uint8_t, kTensorMapBytes> bytes = {};
  uint8_t *to = bytes.data();
  llvm::support::endian::write32le(to + kMagic, kMagicValue);
  to[kRank] = map.rank;
  to[kElement] = static_cast<uint8_t>(map.element);
  to[kInterleave] = static_cast<uint8_t>(map.interleave);
  const SwizzleFields &swizzle =
      kSwizzleFields[static_cast<unsigned>(map.swizzle)];
  to[kSwizzleMode] = swizzle.mode;
  to[kSwizzleAtomicity] = swizzle.atomicity;
  to[kFill] = static_cast<uint8_t>(map.fill);
  to[kMode] = static_cast<uint8_t>(map.mode);
  llvm::support::endian::write64le(to + kAddress, map.address);
  put<uint64_t>(to + kDims, map.dims);
  put<uint64_t>(to + kStrides, map.strides);
  put<uint32_t>(to + kBox, map.box);
  if (map.mode == TensorMode::Im2col) {
    put<int16_t>(to + kLowerCorner, map.lowerCorner);
    put<int16_t>(to + kUpperCorner, map.upperCorner);
  }
  put<uint8_t>(to + kElementStrides, map.elementStrides);
  return bytes;
}

static bool isMap(llvm::ArrayRef<uint8_t> bytes, Faults &faults) {
  if (bytes.size() == kTensorMapBytes &&
      llvm::support::endian::read32le(bytes.data() + kMagic) == kMagicValue)
    return true;
  faults.push_back({FaultKind::TensorMap,
                    "expected a tensor map, but these 128 bytes hold none",
                    "pass the address of a map that the host encoded, or copy "
                    "one there before it is edited"});
  return false;
}

std::optional<TensorMap> decodeTensorMap(llvm::ArrayRef<uint8_t> bytes,
                                         Faults &faults) {
  if (!isMap(bytes, faults))
    return std::nullopt;
  const uint8_t *from = bytes.data();
  TensorMap map;
  map.mode = static_cast<TensorMode>(from[kMode]);
  map.rank = from[kRank];
  map.element = static_cast<TensorElement>(from[kElement]);
  map.interleave = static_cast<TensorInterleave>(from[kInterleave]);
  map.fill = static_cast<TensorFill>(from[kFill]);
  const auto *swizzle =
      llvm::find_if(kSwizzleFields, [&](const SwizzleFields &fields) {
        return fields.mode == from[kSwizzleMode] &&
               fields.atomicity == from[kSwizzleAtomicity];
      });
  if (map.mode > TensorMode::Im2col || map.element > TensorElement::U6Align16 ||
      map.interleave > TensorInterleave::Bytes32 ||
      map.fill > TensorFill::Nan || swizzle == std::end(kSwizzleFields)) {
    faults.push_back(
        {FaultKind::TensorMap,
         llvm::formatv("expected a tensor map with known modes, but got "
                       "mode {0}, element type {1}, interleave {2}, fill {3}, "
                       "swizzle mode {4} with atomicity {5}",
                       from[kMode], from[kElement], from[kInterleave],
                       from[kFill], from[kSwizzleMode],
                       from[kSwizzleAtomicity]),
         "a swizzle atomicity other than 16 bytes needs the swizzle mode of "
         "128 bytes; edit maps by tensormap.replace alone"});
    return std::nullopt;
  }
  map.swizzle = static_cast<Swizzle>(swizzle - kSwizzleFields);
  map.address = llvm::support::endian::read64le(from + kAddress);
  get<uint64_t>(from + kDims, map.dims);
  get<uint64_t>(from + kStrides, map.strides);
  get<uint32_t>(from + kBox, map.box);
  if (map.mode == TensorMode::Im2col) {
    get<int16_t>(from + kLowerCorner, map.lowerCorner);
    get<int16_t>(from + kUpperCorner, map.upperCorner);
    std::fill(map.box.begin() + 2, map.box.end(), 0);
  }
  get<uint8_t>(from + kElementStrides, map.elementStrides);
  return map;
}

/// Where a field lies, how many ordinals and which values it takes.
namespace {
struct FieldInfo {
  llvm::StringLiteral name;
  unsigned offset;
  unsigned bytes;
  unsigned ordinals;
  uint64_t maximum;
};
} // namespace

/// In the order of the enumeration. Whether dimensions and strides are legal
/// depends on each other and is left to `validate`.
static constexpr FieldInfo kFieldInfos[] = {
    {"global_address", kAddress, 8, 1, ~uint64_t(0)},
    {"rank", kRank, 1, 1, 4},
    {"box_dim", kBox, 4, 5, 0xFFFFFFFF},
    {"global_dim", kDims, 8, 5, 0xFFFFFFFF},
    {"global_stride", kStrides, 8, 4, ~uint64_t(0)},
    {"element_stride", kElementStrides, 1, 5, 0xFF},
    {"elemtype", kElement, 1, 1, 15},
    {"interleave_layout", kInterleave, 1, 1, 2},
    {"swizzle_mode", kSwizzleMode, 1, 1, 3},
    {"swizzle_atomicity", kSwizzleAtomicity, 1, 1, 3},
    {"fill_mode", kFill, 1, 1, 1},
};

bool replaceField(llvm::MutableArrayRef<uint8_t> bytes, TensorMapField field,
                  unsigned ordinal, uint64_t value, Faults &faults) {
  if (!isMap(bytes, faults))
    return false;
  if (bytes[kMode] != static_cast<uint8_t>(TensorMode::Tiled)) {
    faults.push_back({FaultKind::TensorMap,
                      "expected tensormap.replace.tile to edit a tiled map, "
                      "but this one is of im2col mode",
                      "have the host encode a map for each convolution"});
    return false;
  }
  const FieldInfo &info = kFieldInfos[static_cast<unsigned>(field)];
  if (ordinal >= info.ordinals || value > info.maximum) {
    faults.push_back(
        {FaultKind::TensorMap,
         llvm::formatv("expected tensormap.replace.{0} to have an ordinal "
                       "below {1} and a value up to {2}, but got {3} and {4}",
                       info.name, info.ordinals, info.maximum, ordinal, value),
         "see the table of values in PTX ISA, tensormap.replace"});
    return false;
  }
  if (field == TensorMapField::Rank)
    ++value;
  if (field == TensorMapField::ElementType)
    value = static_cast<uint64_t>(kReplaceElements[value]);
  uint8_t *to = bytes.data() + info.offset + size_t(ordinal) * info.bytes;
  for (unsigned i = 0; i < info.bytes; ++i)
    to[i] = value >> (8 * i);
  return true;
}

} // namespace blockscale::emulator
