//===- TensorMapRules.cpp - Rules of cuTensorMapEncode* -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Emulator/TensorMap.h"

#include "llvm/Support/FormatVariadic.h"

namespace blockscale::emulator {

// Bounds that NVIDIA's driver has and its documentation does not name
// (docs/logs/tensor-maps-h200.txt).
/// Where addresses end.
static constexpr uint64_t kAddressEnd = uint64_t(1) << 57;
/// The shared memory of a multiprocessor, which a box must fit into.
static constexpr uint64_t kMaxBoxBytes = 228 << 10;

namespace {
/// Collects broken rules.
struct Rules {
  const TensorMap &map;
  Faults &faults;
  bool isValid = true;

  template <typename... Args>
  void fail(llvm::StringRef advice, const char *format, Args &&...args) {
    isValid = false;
    faults.push_back({FaultKind::TensorMap,
                      llvm::formatv(format, std::forward<Args>(args)...).str(),
                      advice.str()});
  }

  /// Alignment of the address and of the strides.
  unsigned getAlignment() const {
    return map.interleave == TensorInterleave::Bytes32 || isPadded(map.element)
               ? 32
               : 16;
  }

  uint64_t getInnerBytes() const {
    return uint64_t(map.box[0]) * getBits(map.element) / 8;
  }

  void checkModes();
  void checkSizes();
  void checkElementStrides();
  void checkBox();
  void checkColumn();
  void checkInnerBytes();
  void checkBoxBytes();
  void checkSwizzle();
};
} // namespace

void Rules::checkModes() {
  if (map.interleave != TensorInterleave::None && map.rank < 3)
    fail("add dimensions of size 1, or use no interleave",
         "expected an interleaved tensor map to have rank 3 to 5, but got {0}",
         map.rank);
  if (map.interleave != TensorInterleave::None &&
      map.element == TensorElement::U6Align16)
    fail("use no interleave",
         "expected element type 16U6_ALIGN16B to have no interleave");
  bool isFloat = (map.element >= TensorElement::F16 &&
                  map.element <= TensorElement::TF32Ftz);
  if (map.fill == TensorFill::Nan && !isFloat)
    fail("fill with zeros",
         "expected a floating-point element type for NaN fill, but got {0}",
         getName(map.element));
}

void Rules::checkSizes() {
  unsigned alignment = getAlignment();
  if (map.address % alignment != 0)
    fail("align the buffer and the offset into it",
         "expected the global address to be a multiple of {0}, but got {1:x}",
         alignment, map.address);
  if (map.address >= kAddressEnd)
    fail("pass an address of global memory",
         "expected the global address to be below 2^57, but got {0:x}",
         map.address);
  for (unsigned i = 0; i < map.rank; ++i)
    if (map.dims[i] == 0 || map.dims[i] > (uint64_t(1) << 32))
      fail("launch nothing for an empty tensor",
           "expected the size of dimension {0} to be 1 to 2^32, but got {1}", i,
           map.dims[i]);
  unsigned multiple = isPadded(map.element)                    ? 128
                      : map.element == TensorElement::U4Align8 ? 2
                                                               : 1;
  if (map.dims[0] % multiple != 0)
    fail("pad the rows of the tensor",
         "expected the size of dimension 0 of type {0} to be a multiple of "
         "{1}, but got {2}",
         getName(map.element), multiple, map.dims[0]);
  for (unsigned i = 1; i < map.rank; ++i)
    if (map.strides[i - 1] % alignment != 0 ||
        map.strides[i - 1] >= (uint64_t(1) << 40))
      fail("strides are in bytes; pad the rows of the tensor",
           "expected the stride of dimension {0} to be a multiple of {1} bytes "
           "below 2^40, but got {2}",
           i, alignment, map.strides[i - 1]);
}

void Rules::checkElementStrides() {
  // That of dimension 0 too, which means nothing without an interleave.
  for (unsigned i = 0; i < map.rank; ++i)
    if (map.elementStrides[i] == 0 || map.elementStrides[i] > 8)
      fail("use 1 where nothing is skipped",
           "expected the element stride of dimension {0} to be 1 to 8, but got "
           "{1}",
           i, map.elementStrides[i]);
}

void Rules::checkBox() {
  for (unsigned i = 0; i < map.rank; ++i)
    if (map.box[i] == 0 || map.box[i] > 256)
      fail("copy a larger tile by several copies",
           "expected the box to be 1 to 256 along dimension {0}, but got {1}",
           i, map.box[i]);
}

void Rules::checkColumn() {
  if (map.box[0] == 0 || map.box[0] > 256)
    fail("copy more channels by several copies",
         "expected 1 to 256 channels of a pixel, but got {0}", map.box[0]);
  if (map.box[1] == 0 || map.box[1] > 1024)
    fail("copy a longer column by several copies",
         "expected 1 to 1024 pixels of a column, but got {0}", map.box[1]);
  int end = 1 << (getImageBits(map.rank) - 1);
  for (unsigned i = 0; i + 2 < map.rank; ++i)
    for (int corner : {map.lowerCorner[i], map.upperCorner[i]})
      if (corner < -end || corner >= end)
        fail("cut the images into parts",
             "expected corners of the bounding box of a map of rank {0} to be "
             "{1} to {2}, but got {3} along dimension {4}",
             map.rank, -end, end - 1, corner, i + 1);
}

void Rules::checkInnerBytes() {
  if (isPadded(map.element) && map.box[0] != 128)
    fail("copy 128 values along dimension 0",
         "expected the box of type {0} to be 128 along dimension 0, but got "
         "{1}",
         getName(map.element), map.box[0]);
  // Documented without an interleave alone, but so with each.
  if (map.box[0] * getBits(map.element) % 128 != 0)
    fail("widen the box along dimension 0",
         "expected the box to be a multiple of 16 bytes along dimension 0, but "
         "got {0} values of {1} bits",
         map.box[0], getBits(map.element));
}

/// Of a dimension with an element stride the driver counts as many values as
/// whole strides, though one more is copied where the box does not end with
/// one.
void Rules::checkBoxBytes() {
  // In shared memory, a value of a padded type has a byte.
  uint64_t bytes = isPadded(map.element) ? 1 : getBits(map.element);
  if (map.mode == TensorMode::Im2col)
    bytes *= uint64_t(map.box[0]) * map.box[1];
  else
    for (unsigned i = 0; i < map.rank; ++i)
      bytes *= map.box[i] / map.elementStrides[i];
  if (!isPadded(map.element))
    bytes /= 8;
  if (bytes > kMaxBoxBytes)
    fail("copy a larger tile by several copies",
         "expected the box to have at most {0} bytes, but got {1}",
         kMaxBoxBytes, bytes);
}

void Rules::checkSwizzle() {
  if (map.interleave == TensorInterleave::Bytes32 &&
      map.swizzle != Swizzle::Span32)
    fail("swizzle within 32 bytes",
         "expected an interleave of 32 bytes to be swizzled within 32 bytes");
  if (map.interleave == TensorInterleave::None &&
      map.swizzle != Swizzle::None && getInnerBytes() > getSpan(map.swizzle))
    fail("copy a wider tile by several copies, side by side",
         "expected the box to be at most {0} bytes along dimension 0, the span "
         "of its swizzle, but got {1}",
         getSpan(map.swizzle), getInnerBytes());
  // Atoms of 64 bytes are for stores alone, which 4-bit values have none of.
  bool isKnown = map.swizzle == Swizzle::None ||
                 map.swizzle == Swizzle::Span128 ||
                 map.swizzle == Swizzle::Span128Atom32 ||
                 (map.swizzle == Swizzle::Span128Atom64 &&
                  map.element == TensorElement::U6Align16);
  if (isPadded(map.element) && !isKnown)
    fail("swizzle within 128 bytes",
         "expected type {0} to have no swizzle or one of 128 bytes without "
         "flip",
         getName(map.element));
}

bool validate(const TensorMap &map, Faults &faults) {
  Rules rules{map, faults};
  if (map.rank < 1 || map.rank > 5) {
    rules.fail("merge dimensions", "expected a rank of 1 to 5, but got {0}",
               map.rank);
    return false;
  }
  bool isIm2col = map.mode == TensorMode::Im2col;
  if (isIm2col && map.rank < 3) {
    rules.fail("add dimensions of size 1",
               "expected a rank of 3 to 5 of an im2col map, but got {0}",
               map.rank);
    return false;
  }
  rules.checkModes();
  rules.checkSizes();
  rules.checkElementStrides();
  if (isIm2col)
    rules.checkColumn();
  else
    rules.checkBox();
  rules.checkInnerBytes();
  if (rules.isValid)
    rules.checkBoxBytes();
  rules.checkSwizzle();
  return rules.isValid;
}

llvm::Error checkTensorMap(const TensorMap &map) {
  llvm::SmallVector<Fault, 2> faults;
  if (validate(map, faults))
    return llvm::Error::success();
  std::string text = "tensor map: ";
  for (const Fault &fault : faults)
    text += (&fault == faults.begin() ? "" : "; ") + fault.what;
  return llvm::createStringError(text);
}

} // namespace blockscale::emulator
