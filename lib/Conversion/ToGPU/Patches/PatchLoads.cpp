//===- PatchLoads.cpp - Patches from memory -------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PatchLoads.h"
#include "DeviceEmission/DeviceCode.h"

using namespace mlir;

namespace blockscale {

using emit::add;
using emit::getIndex;
using emit::mul;

using Rows = SmallVector<SmallVector<Value>>;

/// The type of a fragment of a row.
static Type getFragmentType(KernelBuilder &b, int64_t bytes) {
  if (bytes <= kWordBytes)
    return b.getIntegerType(bytes * 8);
  return VectorType::get({bytes / kWordBytes}, b.getI32Type());
}

/// Vectors of 16 bytes from fragments of 2 to 32 bytes.
static SmallVector<Value> joinFragments(KernelBuilder &b,
                                        ValueRange fragments) {
  SmallVector<Value> words, vectors;
  for (Value fragment : fragments) {
    auto type = dyn_cast<VectorType>(fragment.getType());
    if (!type) {
      words.push_back(fragment);
      continue;
    }
    for (int64_t i = 0; i < type.getNumElements(); i += kVectorWords) {
      if (type.getNumElements() >= kVectorWords) {
        vectors.push_back(b.slice(fragment, i, kVectorWords));
        continue;
      }
      words.append({b.extract(fragment, 0), b.extract(fragment, 1)});
    }
  }
  if (!words.empty() && words.front().getType().isInteger(16)) {
    SmallVector<Value> halves = std::exchange(words, {});
    for (size_t i = 0; i < halves.size(); i += 2)
      words.push_back(
          b.bitcast(b.getI32Type(), b.pack({halves[i], halves[i + 1]})));
  }
  for (size_t i = 0; i < words.size(); i += kVectorWords)
    vectors.push_back(b.pack(ArrayRef<Value>(words).slice(i, kVectorWords)));
  return vectors;
}

/// The words of fragments.
static ElementWords splitFragments(KernelBuilder &b, ValueRange fragments) {
  ElementWords words, halves;
  for (Value fragment : fragments) {
    auto type = dyn_cast<VectorType>(fragment.getType());
    for (int64_t i = 0; type && i < type.getNumElements(); ++i)
      words.push_back(b.extract(fragment, i));
    if (!type)
      (fragment.getType().isInteger(16) ? halves : words).push_back(fragment);
  }
  for (size_t i = 0; i < halves.size(); i += 2)
    words.push_back(
        b.bitcast(b.getI32Type(), b.pack({halves[i], halves[i + 1]})));
  return words;
}

/// Fragments of `bytes` from words.
static SmallVector<Value> joinWords(KernelBuilder &b, ArrayRef<Value> words,
                                    int64_t bytes) {
  SmallVector<Value> fragments;
  if (bytes < kWordBytes) {
    auto halves = VectorType::get({2}, b.getI16Type());
    for (Value word : words)
      for (int64_t i = 0; i < 2; ++i)
        fragments.push_back(b.extract(b.bitcast(halves, word), i));
    return fragments;
  }
  int64_t perFragment = bytes / kWordBytes;
  for (size_t i = 0; i < words.size(); i += perFragment)
    fragments.push_back(perFragment == 1 ? words[i]
                                         : b.pack(words.slice(i, perFragment)));
  return fragments;
}

namespace {

/// Loads of what lies like the patch, in fragments of as many elements as those
/// of x, of another size.
class PatchLoads {
public:
  PatchLoads(KernelBuilder &b, const PatchShape &shape,
             const PatchPosition &position, int64_t elementBytes);

  /// The rows of the patch, as fragments.
  Rows loadRows(Value pointer);
  /// A row of the elements of its columns.
  SmallVector<Value> loadColumns(Value pointer);
  /// Stores row `i` of the patch, from words, where it exists.
  void storeRow(Value pointer, int64_t i, ArrayRef<Value> words);
  /// Whether the fragments exist; nothing where all of a patch do.
  ArrayRef<Value> getExists() const { return exists; }
  /// Number of row `i` of the patch among all rows, or of one instead.
  Value getRow(int64_t i);

private:
  void loadFragments(Value address, SmallVectorImpl<Value> &fragments);

  KernelBuilder &b;
  const PatchShape &shape;
  const PatchPosition &position;
  int64_t fragmentBytes;
  int64_t count;
  /// The byte of a row at which the fragments begin, and the bytes of a row.
  Value first, rowBytes;
  SmallVector<Value> offsets, exists;
};

} // namespace

PatchLoads::PatchLoads(KernelBuilder &b, const PatchShape &shape,
                       const PatchPosition &position, int64_t elementBytes)
    : b(b), shape(shape), position(position),
      fragmentBytes(shape.loadBytes / shape.getInputBytes() * elementBytes),
      count(shape.patchColumns * elementBytes / fragmentBytes),
      first(mul(b, position.column, elementBytes)),
      rowBytes(mul(b, position.columns, elementBytes)) {
  auto clamp = [&](Value byte, int64_t size) {
    return emit::min(b, byte, emit::sub(b, rowBytes, getIndex(b, size)));
  };
  // All of a patch exist, or any of them.
  if (!shape.hasColumnTails())
    first = clamp(first, shape.patchColumns * elementBytes);
  for (int64_t i = 0; i < count; ++i) {
    Value byte = add(b, first, getIndex(b, i * fragmentBytes));
    if (shape.hasPartialBlocks)
      exists.push_back(isBelow(b, byte, rowBytes));
    if (shape.hasColumnTails())
      offsets.push_back(clamp(byte, fragmentBytes));
  }
}

/// The fragments of the row at `address`, or of its part that the patch has
/// where the patch exists as a whole.
void PatchLoads::loadFragments(Value address,
                               SmallVectorImpl<Value> &fragments) {
  // Fragments of elements longer than those of x may need several accesses.
  int64_t access = std::min(fragmentBytes, shape.getWidestLoad());
  Type type = getFragmentType(b, access);
  for (int64_t fragment = 0; fragment < count; ++fragment) {
    Value offset = shape.hasColumnTails()
                       ? offsets[fragment]
                       : getIndex(b, fragment * fragmentBytes);
    Value place = emitAddress(b, address, b.getI8Type(), offset);
    for (int64_t at = 0; at < fragmentBytes; at += access)
      fragments.push_back(b.load(
          type,
          at == 0 ? place
                  : emitAddress(b, place, b.getI8Type(), getIndex(b, at)),
          access));
  }
}

Value PatchLoads::getRow(int64_t i) {
  int64_t unit = shape.rowUnit;
  Value last = emit::sub(b, position.rows, getIndex(b, unit));
  Value before = mul(b, position.matrix, position.rows);
  Value row = add(b, position.row, getIndex(b, i - i % unit));
  row = add(b, before, emit::min(b, row, last));
  return add(b, row, getIndex(b, i % unit));
}

Rows PatchLoads::loadRows(Value pointer) {
  int64_t unit = shape.rowUnit;
  Value last = emit::sub(b, position.rows, getIndex(b, unit));
  Value before = mul(b, position.matrix, position.rows);
  Type byteType = b.getI8Type();
  Rows loaded;
  for (int64_t i = 0; i < shape.patchRows; ++i) {
    loaded.emplace_back();
    Value inUnit = getIndex(b, i % unit);
    Value row = add(b, position.row, getIndex(b, i - i % unit));
    row = add(b, before, emit::min(b, row, last));
    Value address = emitAddress(b, pointer, byteType, mul(b, row, rowBytes));
    if (!shape.hasColumnTails())
      address = emitAddress(b, address, byteType, first);
    address = emitAddress(b, address, byteType, mul(b, inUnit, rowBytes));
    loadFragments(address, loaded.back());
  }
  return loaded;
}

SmallVector<Value> PatchLoads::loadColumns(Value pointer) {
  if (!shape.hasColumnTails())
    pointer = emitAddress(b, pointer, b.getI8Type(), first);
  SmallVector<Value> loaded;
  loadFragments(pointer, loaded);
  return loaded;
}

void PatchLoads::storeRow(Value pointer, int64_t i, ArrayRef<Value> words) {
  int64_t access = std::min(fragmentBytes, shape.getWidestLoad());
  SmallVector<Value> fragments = joinWords(b, words, access);
  Value address = emitAddress(b, pointer, b.getI8Type(),
                              add(b, mul(b, getRow(i), rowBytes), first));
  auto store = [&](ArrayRef<Value> fragments, int64_t at) {
    for (auto [j, fragment] : llvm::enumerate(fragments)) {
      auto byte = at + static_cast<int64_t>(j) * access;
      b.store(fragment,
              emitAddress(b, address, b.getI8Type(), getIndex(b, byte)),
              access);
    }
  };
  Value hasRow = position.hasRow(b, i);
  if (!shape.hasColumnTails()) {
    Value exists = arith::AndIOp::create(b, hasRow, position.hasColumn(b, 0));
    emit::emitIf(b, exists, [&] { store(fragments, 0); });
    return;
  }
  size_t perFragment = fragmentBytes / access;
  for (int64_t fragment = 0; fragment < count; ++fragment) {
    Value byte = add(b, first, getIndex(b, fragment * fragmentBytes));
    Value exists = arith::AndIOp::create(b, hasRow, isBelow(b, byte, rowBytes));
    emit::emitIf(b, exists, [&] {
      store(
          ArrayRef<Value>(fragments).slice(fragment * perFragment, perFragment),
          fragment * fragmentBytes);
    });
  }
}

/// Sets elements of row `row` of the patch that do not exist to zero. `exists`
/// says for each fragment whether it exists.
static void clearMissing(KernelBuilder &b, const PatchPosition &position,
                         int64_t row, ArrayRef<Value> exists,
                         SmallVectorImpl<Value> &fragments) {
  Value hasRow = position.hasRow(b, row);
  Type type = fragments.front().getType();
  Value zero = arith::ConstantOp::create(b, type, b.getZeroAttr(type));
  for (auto [fragment, hasFragment] : llvm::zip_equal(fragments, exists)) {
    Value keeps = arith::AndIOp::create(b, hasRow, hasFragment);
    fragment = arith::SelectOp::create(b, keeps, fragment, zero);
  }
}

/// The rows of an x that elementwise ops make, as fragments. All that they take
/// is loaded before.
static Rows computeRows(KernelBuilder &b, const PatchShape &shape,
                        const PatchPosition &position, ValueRange arguments) {
  const ElementSource &source = *shape.source;
  SmallVector<SmallVector<ElementWords>> loaded;
  ArrayRef<ElementSource::Input> inputs = source.getInputs();
  for (auto [input, argument] :
       llvm::zip_equal(inputs, arguments.take_front(inputs.size()))) {
    SmallVector<ElementWords> &rows = loaded.emplace_back();
    PatchLoads loads(b, shape, position, input.getBytes());
    switch (input.spread) {
    case Spread::Elements:
      for (ArrayRef<Value> row : loads.loadRows(argument))
        rows.push_back(splitFragments(b, row));
      break;
    case Spread::Columns:
      rows.assign(shape.patchRows,
                  splitFragments(b, loads.loadColumns(argument)));
      break;
    case Spread::Rows:
      for (int64_t i = 0; i < shape.patchRows; ++i)
        rows.push_back(source.loadOne(b, input, argument, loads.getRow(i)));
      break;
    case Spread::Single:
      rows.assign(shape.patchRows,
                  source.loadOne(b, input, argument, getIndex(b, 0)));
      break;
    }
  }
  Rows result;
  for (int64_t i = 0; i < shape.patchRows; ++i) {
    auto words = llvm::map_to_vector(
        loaded,
        [&](ArrayRef<ElementWords> rows) -> ElementWords { return rows[i]; });
    ElementSource::Elements made = source.evaluate(b, words);
    result.push_back(joinWords(b, made.x, shape.loadBytes));
    for (auto [logical, words, argument] :
         llvm::zip_equal(source.getKept(), made.kept,
                         arguments.drop_front(inputs.size()))) {
      Type element = getElementTypeOrSelf(logical.getType());
      PatchLoads places(b, shape, position,
                        element.getIntOrFloatBitWidth() / 8);
      places.storeRow(argument, i, words);
    }
  }
  return result;
}

Rows loadPatch(KernelBuilder &b, const PatchShape &shape,
               const PatchPosition &position, ValueRange inputs) {
  PatchLoads loads(b, shape, position, shape.getInputBytes());
  Rows rows = shape.source->isMemory()
                  ? loads.loadRows(inputs.front())
                  : computeRows(b, shape, position, inputs);
  for (auto [i, row] : llvm::enumerate(rows)) {
    if (shape.hasPartialBlocks)
      clearMissing(b, position, static_cast<int64_t>(i), loads.getExists(),
                   row);
    row = joinFragments(b, row);
  }
  return rows;
}

} // namespace blockscale
