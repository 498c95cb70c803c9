//===- TmaCopy.cpp - Bulk copies of tiles and bytes -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Async/TmaCopy.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace blockscale::emulator {

namespace {
enum class Direction : uint8_t { Load, Store };

/// The part of a row of the box that lies in the tensor: the values from
/// `first` to `end`, the first of them at `address` of global memory.
struct RowPart {
  uint32_t first;
  uint32_t end;
  uint64_t address;
};

using Coordinates = std::array<int64_t, 5>;
} // namespace

/// Rows of the box along `dimension`, as far as element strides leave them.
static uint32_t getRowCount(const TensorMap &map, unsigned dimension) {
  return llvm::divideCeil(map.box[dimension], map.elementStrides[dimension]);
}

/// Bytes of a row of the box in shared memory.
static uint32_t getSharedRowBytes(const TensorMap &map) {
  return isPadded(map.element) ? map.box[0]
                               : map.box[0] * getBits(map.element) / 8;
}

/// Rows of the whole tile.
static uint32_t getRowCount(const TensorMap &map) {
  if (map.mode == TensorMode::Im2col)
    return map.box[1];
  uint32_t count = 1;
  for (unsigned i = 1; i < map.rank; ++i)
    count *= getRowCount(map, i);
  return count;
}

uint32_t getTransactionBytes(const TensorMap &map) {
  return map.box[0] * getBits(map.element) / 8 * getRowCount(map);
}

uint32_t getTileBytes(const TensorMap &map) {
  return getSharedRowBytes(map) * getRowCount(map);
}

static bool refuseCopy(Faults &faults, FaultKind kind, std::string what,
                       llvm::StringRef advice) {
  faults.push_back({kind, std::move(what), advice.str()});
  return false;
}

static bool isModelled(const TensorMap &map, Faults &faults) {
  if (map.interleave == TensorInterleave::None &&
      map.element != TensorElement::F32Ftz &&
      map.element != TensorElement::TF32Ftz)
    return true;
  return refuseCopy(
      faults, FaultKind::TensorMap,
      "interleaved layouts and element types that flush subnormal "
      "numbers are not modelled",
      "use another layout or type in what is to be emulated");
}

/// Bytes at whose multiples loads of tiles begin.
static constexpr int kLoadBytes = 16;

/// Whether a dimension is one that the bounding box of an im2col map has.
static bool isOfImage(const TensorMap &map, unsigned dimension) {
  return map.mode == TensorMode::Im2col && dimension > 0 &&
         dimension + 1 < map.rank;
}

/// The last pixel of the bounding box of an im2col map along a dimension.
static int64_t getLastPixel(const TensorMap &map, unsigned dimension) {
  return int64_t(map.dims[dimension]) - 1 + map.upperCorner[dimension - 1];
}

static bool checkBoundingBox(const TensorMap &map,
                             llvm::ArrayRef<int32_t> coordinates,
                             Faults &faults) {
  for (unsigned i = 1; isOfImage(map, i); ++i) {
    int64_t first = map.lowerCorner[i - 1], last = getLastPixel(map, i);
    if (coordinates[i] >= first && coordinates[i] <= last)
      continue;
    return refuseCopy(
        faults, FaultKind::TensorMap,
        llvm::formatv("expected coordinate {0} of an im2col copy to lie in the "
                      "bounding box of its map, {1} to {2}, but got {3}",
                      i, first, last, coordinates[i]),
        "begin a column at a pixel of the bounding box; its last pixel is the "
        "size of the dimension - 1 + the upper corner");
  }
  return true;
}

/// What holds for a copy of the map at these coordinates, beyond the map's own
/// rules.
static bool checkCopy(const TensorMap &map, llvm::ArrayRef<int32_t> coordinates,
                      Direction direction, uint64_t sharedAddress,
                      Faults &faults) {
  if (sharedAddress % 128 != 0)
    return refuseCopy(
        faults, FaultKind::Misaligned,
        llvm::formatv("expected a tile in shared memory to be at a "
                      "multiple of 128, but got {0:x}",
                      sharedAddress),
        "align the tile to 128 bytes, or to 1024 where it is "
        "swizzled");
  unsigned multiple = isPadded(map.element)                    ? 128
                      : map.element == TensorElement::U4Align8 ? 2
                                                               : 1;
  if (coordinates[0] % int32_t(multiple) != 0)
    return refuseCopy(faults, FaultKind::TensorMap,
                      llvm::formatv("expected coordinate 0 of type {0} to be a "
                                    "multiple of {1}, but got {2}",
                                    getName(map.element), multiple,
                                    coordinates[0]),
                      "coordinates count single values");
  // An H200 stops with an illegal instruction otherwise; no document says so.
  unsigned bits = getBits(map.element);
  if (direction == Direction::Load &&
      int64_t(coordinates[0]) * bits % (int64_t{8} * kLoadBytes) != 0)
    return refuseCopy(
        faults, FaultKind::TensorMap,
        llvm::formatv("expected a load to begin at a multiple of {0} bytes "
                      "along dimension 0, but got coordinate 0 of {1} in "
                      "values of {2} bits",
                      kLoadBytes, coordinates[0], bits),
        "begin it at an earlier value, and skip those in front");
  if (direction == Direction::Load)
    return true;
  for (auto [i, coordinate] : llvm::enumerate(coordinates))
    if (coordinate < 0 && !isOfImage(map, i))
      return refuseCopy(
          faults, FaultKind::TensorMap,
          llvm::formatv("expected the coordinates of a store not to "
                        "be negative, but got {0}",
                        coordinate),
          "store from the first row and column of the tensor on");
  if (map.element == TensorElement::U4Align16 ||
      map.swizzle == Swizzle::Span128Atom32Flip8)
    return refuseCopy(
        faults, FaultKind::TensorMap,
        "expected a store to have neither type 16U4_ALIGN16B nor a "
        "swizzle that flips 8 bytes",
        "these are for loads alone");
  return true;
}

/// The part in the tensor of the row of the box that starts at `start`; empty
/// where all of it lies outside.
static RowPart clipRow(const TensorMap &map, const Coordinates &start) {
  RowPart part = {0, 0, map.address};
  for (unsigned i = 1; i < map.rank; ++i) {
    // What is negative is beyond every size, too.
    if (uint64_t(start[i]) >= map.dims[i])
      return part;
    part.address += start[i] * map.strides[i - 1];
  }
  int64_t first = std::clamp<int64_t>(-start[0], 0, map.box[0]);
  int64_t end =
      std::clamp<int64_t>(int64_t(map.dims[0]) - start[0], first, map.box[0]);
  part.first = first;
  part.end = end;
  part.address += (start[0] + first) * getBits(map.element) / 8;
  return part;
}

/// Moves to the next pixel of the bounding box, or to the next image.
static void advancePixel(const TensorMap &map, Coordinates &pixel) {
  for (unsigned i = 1; isOfImage(map, i); ++i) {
    pixel[i] += map.elementStrides[i];
    if (pixel[i] <= getLastPixel(map, i))
      return;
    pixel[i] = map.lowerCorner[i - 1];
  }
  ++pixel[map.rank - 1];
}

static bool checkOffsets(const TensorMap &map, llvm::ArrayRef<uint16_t> offsets,
                         Faults &faults) {
  unsigned bits = getImageBits(map.rank);
  for (uint16_t offset : offsets)
    if (offset >> bits != 0)
      return refuseCopy(
          faults, FaultKind::TensorMap,
          llvm::formatv("expected im2col offsets of a map of rank {0} to be "
                        "below {1}, but got {2}",
                        map.rank, 1u << bits, offset),
          "move the bounding box by its corners");
  return true;
}

/// Calls `row(start, offset)` for each pixel of a column: the coordinates of
/// its first value, and its offset in the dense tile.
template <typename Fn>
static bool forEachPixel(const TensorMap &map,
                         llvm::ArrayRef<int32_t> coordinates,
                         llvm::ArrayRef<uint16_t> offsets, Fn row) {
  Coordinates pixel = {};
  llvm::copy(coordinates, pixel.begin());
  for (uint32_t index = 0; index < map.box[1]; ++index) {
    Coordinates start = pixel;
    for (auto [i, offset] : llvm::enumerate(offsets))
      start[i + 1] += offset;
    if (!row(start, uint64_t(index) * getSharedRowBytes(map)))
      return false;
    advancePixel(map, pixel);
  }
  return true;
}

/// Calls `row(start, offset)` for each row of the box: the coordinates of its
/// first value, and its offset in the dense tile.
template <typename Fn>
static bool forEachBoxRow(const TensorMap &map,
                          llvm::ArrayRef<int32_t> coordinates,
                          llvm::ArrayRef<uint16_t> offsets, Fn row) {
  if (map.mode == TensorMode::Im2col)
    return forEachPixel(map, coordinates, offsets, row);
  std::array<uint32_t, 5> counts = {1, 1, 1, 1, 1};
  for (unsigned i = 1; i < map.rank; ++i)
    counts[i] = getRowCount(map, i);
  for (uint64_t index = 0, total = getRowCount(map); index < total; ++index) {
    Coordinates start = {};
    start[0] = coordinates[0];
    uint64_t rest = index;
    for (unsigned i = 1; i < map.rank; ++i) {
      start[i] =
          coordinates[i] + int64_t(rest % counts[i]) * map.elementStrides[i];
      rest /= counts[i];
    }
    if (!row(start, index * getSharedRowBytes(map)))
      return false;
  }
  return true;
}

/// The values of a row of the box as global memory has them, filled outside.
static bool readRow(const TensorMap &map, const RowPart &part,
                    const Memory &global, llvm::MutableArrayRef<uint8_t> row,
                    Faults &faults) {
  // All bits set are a NaN of every type that may be filled so.
  llvm::fill(row, map.fill == TensorFill::Nan ? 0xFF : 0);
  if (part.first == part.end)
    return true;
  unsigned bits = getBits(map.element);
  uint64_t begin = uint64_t(part.first) * bits / 8;
  uint64_t size = uint64_t(part.end) * bits / 8 - begin;
  llvm::ArrayRef<uint8_t> from = global.read(part.address, size, 1, faults);
  if (from.size() != size)
    return false;
  llvm::copy(from, row.begin() + begin);
  return true;
}

/// Writes a row of the box into shared memory, atom by atom.
static bool placeRow(const TensorMap &map, llvm::ArrayRef<uint8_t> row,
                     Memory &shared, uint64_t to, Faults &faults) {
  // Padded types fill a part of each 16 bytes; the rest is left undefined.
  unsigned slot =
      isPadded(map.element) ? 16 : std::min(16u, getAtom(map.swizzle));
  unsigned data = isPadded(map.element) ? 2 * getBits(map.element) : slot;
  for (size_t i = 0; i * data < row.size(); ++i) {
    uint64_t address = applySwizzle(map.swizzle, to + i * slot);
    if (data < slot)
      shared.forget(address, slot);
    llvm::MutableArrayRef<uint8_t> bytes =
        shared.write(address, data, 1, faults);
    if (bytes.size() != data)
      return false;
    llvm::copy(row.slice(i * data, data), bytes.begin());
  }
  return true;
}

static bool loadRow(const TensorMap &map, const Coordinates &start,
                    const Memory &global, Memory &shared, uint64_t to,
                    Faults &faults) {
  llvm::SmallVector<uint8_t, 256> row(size_t(map.box[0]) *
                                      getBits(map.element) / 8);
  return readRow(map, clipRow(map, start), global, row, faults) &&
         placeRow(map, row, shared, to, faults);
}

/// The first `size` bytes of a row of shared memory, in the tensor's order.
static bool collectRow(const TensorMap &map, const Memory &shared,
                       uint64_t from, uint32_t size,
                       llvm::SmallVectorImpl<uint8_t> &row, Faults &faults) {
  // No swizzle of a store moves less than 16 bytes.
  for (uint32_t i = 0; i < size; i += 16) {
    uint32_t part = std::min<uint32_t>(16, size - i);
    llvm::ArrayRef<uint8_t> bytes =
        shared.read(applySwizzle(map.swizzle, from + i), part, 1, faults);
    if (bytes.size() != part)
      return false;
    llvm::append_range(row, bytes);
  }
  return true;
}

/// b6p2x16: drops the upper two bits of each byte, and packs the rest.
static llvm::SmallVector<uint8_t, 256> pack6(llvm::ArrayRef<uint8_t> values) {
  llvm::SmallVector<uint8_t, 256> packed(values.size() * 6 / 8);
  for (auto [i, value] : llvm::enumerate(values))
    for (unsigned bit = 0; bit < 6; ++bit)
      packed[(6 * i + bit) / 8] |= (value >> bit & 1) << (6 * i + bit) % 8;
  return packed;
}

static bool storeRow(const TensorMap &map, const Coordinates &start,
                     const Memory &shared, uint64_t from, Memory &global,
                     Faults &faults) {
  // Stores have no negative coordinates: the part starts with the row.
  RowPart part = clipRow(map, start);
  if (part.first == part.end)
    return true;
  bool isPacked = map.element == TensorElement::U6Align16;
  unsigned bits = isPacked ? 8 : getBits(map.element);
  llvm::SmallVector<uint8_t, 256> row;
  if (!collectRow(map, shared, from, part.end * bits / 8, row, faults))
    return false;
  if (isPacked)
    row = pack6(row);
  llvm::MutableArrayRef<uint8_t> to =
      global.write(part.address, row.size(), 1, faults);
  if (to.size() != row.size())
    return false;
  llvm::copy(row, to.begin());
  return true;
}

static bool checkTile(const TensorMap &map, llvm::ArrayRef<int32_t> coordinates,
                      Direction direction, uint64_t sharedAddress,
                      Faults &faults) {
  if (!validate(map, faults) || !isModelled(map, faults))
    return false;
  if (coordinates.size() != map.rank)
    return refuseCopy(faults, FaultKind::TensorMap,
                      llvm::formatv("expected {0} coordinates, the rank of the "
                                    "tensor map, but got {1}",
                                    map.rank, coordinates.size()),
                      "use the .1d to .5d form of the map's rank");
  return checkBoundingBox(map, coordinates, faults) &&
         checkCopy(map, coordinates, direction, sharedAddress, faults);
}

std::optional<uint32_t> loadTile(const TensorMap &map,
                                 llvm::ArrayRef<int32_t> coordinates,
                                 const Memory &global, Memory &shared,
                                 uint64_t to, Faults &faults,
                                 llvm::ArrayRef<uint16_t> offsets) {
  if (!checkTile(map, coordinates, Direction::Load, to, faults) ||
      !checkOffsets(map, offsets, faults))
    return std::nullopt;
  bool isDone = forEachBoxRow(map, coordinates, offsets,
                              [&](const Coordinates &start, uint64_t offset) {
                                return loadRow(map, start, global, shared,
                                               to + offset, faults);
                              });
  if (!isDone)
    return std::nullopt;
  return getTransactionBytes(map);
}

bool storeTile(const TensorMap &map, llvm::ArrayRef<int32_t> coordinates,
               const Memory &shared, uint64_t from, Memory &global,
               Faults &faults) {
  return checkTile(map, coordinates, Direction::Store, from, faults) &&
         forEachBoxRow(map, coordinates, /*offsets=*/{},
                       [&](const Coordinates &start, uint64_t offset) {
                         return storeRow(map, start, shared, from + offset,
                                         global, faults);
                       });
}

/// Calls `row(start, offset)` for the four rows of gather4 and scatter4.
template <typename Fn>
static bool forFourRows(const TensorMap &map,
                        llvm::ArrayRef<int32_t> coordinates,
                        Direction direction, uint64_t sharedAddress,
                        Faults &faults, Fn row) {
  if (!validate(map, faults) || !isModelled(map, faults))
    return false;
  if (map.rank != 2 || map.box[1] != 1 || coordinates.size() != 5)
    return refuseCopy(
        faults, FaultKind::TensorMap,
        llvm::formatv("expected a tensor map of rank 2 with a box of "
                      "one row, a column and 4 rows, but got rank "
                      "{0}, a box of {1} and {2} coordinates",
                      map.rank, map.box[1], coordinates.size()),
        "make a map of its own for gather4 and scatter4");
  if (!checkCopy(map, coordinates, direction, sharedAddress, faults))
    return false;
  for (unsigned i = 0; i < 4; ++i)
    if (!row(Coordinates{coordinates[0], coordinates[1 + i]},
             i * getSharedRowBytes(map)))
      return false;
  return true;
}

std::optional<uint32_t> gatherRows(const TensorMap &map,
                                   llvm::ArrayRef<int32_t> coordinates,
                                   const Memory &global, Memory &shared,
                                   uint64_t to, Faults &faults) {
  bool isDone = forFourRows(map, coordinates, Direction::Load, to, faults,
                            [&](const Coordinates &start, uint64_t offset) {
                              return loadRow(map, start, global, shared,
                                             to + offset, faults);
                            });
  if (!isDone)
    return std::nullopt;
  return 4 * getTransactionBytes(map);
}

bool scatterRows(const TensorMap &map, llvm::ArrayRef<int32_t> coordinates,
                 const Memory &shared, uint64_t from, Memory &global,
                 Faults &faults) {
  return forFourRows(map, coordinates, Direction::Store, from, faults,
                     [&](const Coordinates &start, uint64_t offset) {
                       return storeRow(map, start, shared, from + offset,
                                       global, faults);
                     });
}

llvm::SmallVector<GlobalRange, 0>
getGlobalRanges(const TensorMap &map, llvm::ArrayRef<int32_t> coordinates,
                bool isByRows, llvm::ArrayRef<uint16_t> offsets) {
  llvm::SmallVector<GlobalRange, 0> ranges;
  llvm::SmallVector<Fault, 1> faults;
  if (!validate(map, faults) || !isModelled(map, faults))
    return ranges;
  auto add = [&](const Coordinates &start, uint64_t = 0) {
    RowPart part = clipRow(map, start);
    unsigned bits = getBits(map.element);
    uint64_t begin = uint64_t(part.first) * bits / 8;
    if (part.first != part.end)
      addRange(ranges, {part.address, uint64_t(part.end) * bits / 8 - begin});
    return true;
  };
  if (!isByRows) {
    if (coordinates.size() == map.rank)
      forEachBoxRow(map, coordinates, offsets, add);
    return ranges;
  }
  if (map.rank == 2 && map.box[1] == 1 && coordinates.size() == 5)
    for (int32_t row : coordinates.drop_front())
      add({coordinates[0], row});
  return ranges;
}

bool copyBulk(const Memory &source, uint64_t from, Memory &target, uint64_t to,
              uint32_t size, Faults &faults, uint16_t byteMask) {
  if (size % 16 != 0)
    return refuseCopy(
        faults, FaultKind::Misaligned,
        llvm::formatv("expected the size of cp.async.bulk to be a "
                      "multiple of 16, but got {0}",
                      size),
        "round the size up and pad both buffers");
  if (size == 0)
    return true;
  llvm::ArrayRef<uint8_t> bytes = source.read(from, size, 16, faults);
  if (bytes.empty())
    return false;
  if (byteMask == 0xFFFF) {
    llvm::MutableArrayRef<uint8_t> copy = target.write(to, size, 16, faults);
    llvm::copy(bytes.take_front(copy.size()), copy.begin());
    return !copy.empty();
  }
  for (uint32_t i = 0; i < size; ++i) {
    if (!(byteMask >> i % 16 & 1))
      continue;
    llvm::MutableArrayRef<uint8_t> copy = target.write(to + i, 1, 1, faults);
    if (copy.empty())
      return false;
    copy[0] = bytes[i];
  }
  return true;
}

} // namespace blockscale::emulator
