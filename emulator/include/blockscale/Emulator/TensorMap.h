//===- TensorMap.h - Descriptors of tensors for bulk copies -----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The 128-byte object that names a tensor of global memory to
// cp.async.bulk.tensor: what cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col
// make of a description, and what tensormap.replace edits.
//
// The object is opaque in PTX and CUDA, so its bits here are our own; a map of
// the driver is refused as no map. The rules are those of the header of the
// driver API (CUDA 13.0), those that NVIDIA's driver has besides for tiled maps
// (scripts/gpu/tensor_maps.py asked it on an H200), and those of PTX ISA,
// "Tensors" and "tensormap.replace". The modes im2col::w and im2col::w::128 are
// not modelled.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_EMULATOR_TENSORMAP_H
#define BLOCKSCALE_EMULATOR_TENSORMAP_H

#include "blockscale/Emulator/Report.h"
#include "blockscale/Emulator/Swizzle.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace blockscale::emulator {

/// The type of a tensor's values, with the numbers of CUtensorMapDataType.
enum class TensorElement : uint8_t {
  U8,
  U16,
  U32,
  S32,
  U64,
  S64,
  F16,
  F32,
  F64,
  BF16,
  F32Ftz,
  TF32,
  TF32Ftz,
  /// 16 values of 4 bits in 8 bytes: PTX b4x16.
  U4Align8,
  /// 16 values of 4 bits in 8 bytes, in shared memory in the first 8 of 16
  /// bytes: PTX b4x16_p64.
  U4Align16,
  /// 16 values of 6 bits in 12 bytes, in shared memory in the first 12 of 16
  /// bytes (b6x16_p32) or, stored from there, in a byte each (b6p2x16).
  U6Align16,
};

/// The name of a type as the driver spells it: "UINT8".
llvm::StringRef getName(TensorElement element);
/// Bits of one value in global memory.
unsigned getBits(TensorElement element);
/// Whether shared memory has gaps that global memory has not.
inline bool isPadded(TensorElement element) {
  return element == TensorElement::U4Align16 ||
         element == TensorElement::U6Align16;
}

enum class TensorInterleave : uint8_t { None, Bytes16, Bytes32 };
enum class TensorFill : uint8_t { Zero, Nan };
enum class TensorMode : uint8_t { Tiled, Im2col };

/// Dimension 0 is the innermost. In im2col mode it is that of the channels, the
/// last one that of the images, and those between are the images' own.
struct TensorMap {
  TensorMode mode = TensorMode::Tiled;
  TensorElement element = TensorElement::U8;
  unsigned rank = 0;
  uint64_t address = 0;
  /// The extents in values.
  std::array<uint64_t, 5> dims = {};
  /// The strides in bytes of the dimensions from 1 on.
  std::array<uint64_t, 4> strides = {};
  /// The extents of a tile in values. In im2col mode the first two, the
  /// channels of a pixel and the pixels of a column, which go on from one row
  /// and image to the next.
  std::array<uint32_t, 5> box = {};
  std::array<uint32_t, 5> elementStrides = {1, 1, 1, 1, 1};
  /// Im2col mode: the bounding box of an image, by its dimensions, from the
  /// first pixel and from the last one on.
  std::array<int16_t, 3> lowerCorner = {};
  std::array<int16_t, 3> upperCorner = {};
  TensorInterleave interleave = TensorInterleave::None;
  Swizzle swizzle = Swizzle::None;
  TensorFill fill = TensorFill::Zero;
};

/// The bits that a corner of the bounding box and an offset have along each
/// dimension of an image, in im2col maps of a rank.
constexpr unsigned getImageBits(unsigned rank) {
  return rank == 3 ? 16 : rank == 4 ? 8 : 5;
}

/// Whether the driver would make a map of it; a fault for every rule broken.
bool validate(const TensorMap &map, Faults &faults);

/// The same as an error that joins the rules broken: "tensor map: A; B".
llvm::Error checkTensorMap(const TensorMap &map);

constexpr unsigned kTensorMapBytes = 128;

std::array<uint8_t, kTensorMapBytes> encode(const TensorMap &map);

/// What `encode` made, or tensormap.replace after it. None, and a fault, for
/// other bytes. The map need not be valid.
std::optional<TensorMap> decodeTensorMap(llvm::ArrayRef<uint8_t> bytes,
                                         Faults &faults);

enum class TensorMapField : uint8_t {
  GlobalAddress,
  Rank,
  BoxDim,
  GlobalDim,
  GlobalStride,
  ElementStride,
  ElementType,
  InterleaveLayout,
  SwizzleMode,
  SwizzleAtomicity,
  FillMode,
};

/// tensormap.replace.tile of one field: `value` is the operand as PTX numbers
/// it (a rank less one, element types by the table of tensormap.replace, which
/// are not the driver's). False, and a fault, where no tiled map is there or
/// the value means nothing; that the map is valid is checked when it is used.
bool replaceField(llvm::MutableArrayRef<uint8_t> bytes, TensorMapField field,
                  unsigned ordinal, uint64_t value, Faults &faults);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_EMULATOR_TENSORMAP_H
