//===- StripLoads.cpp - Fragments from memory -----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StripLoads.h"
#include "DeviceEmission/DeviceCode.h"

using namespace mlir;

namespace blockscale {

using emit::Lanes;

using emit::getIndex;

using Rows = SmallVector<SmallVector<Value>>;

/// The type of a slice of a row.
static Type getSliceType(KernelBuilder &b, int64_t bytes) {
  if (bytes <= kWordBytes)
    return b.getIntegerType(bytes * 8);
  return VectorType::get({bytes / kWordBytes}, b.getI32Type());
}

/// Vectors of 16 bytes from slices of 2 to 32 bytes.
static SmallVector<Value> joinSlices(KernelBuilder &b, ValueRange slices) {
  SmallVector<Value> words, vectors;
  for (Value slice : slices) {
    auto type = dyn_cast<VectorType>(slice.getType());
    if (!type) {
      words.push_back(slice);
      continue;
    }
    for (int64_t i = 0; i < type.getNumElements(); i += kVectorWords) {
      if (type.getNumElements() >= kVectorWords) {
        vectors.push_back(b.slice(slice, i, kVectorWords));
        continue;
      }
      words.append({b.extract(slice, 0), b.extract(slice, 1)});
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

/// The words of slices.
static ElementWords splitSlices(KernelBuilder &b, ValueRange slices) {
  ElementWords words, halves;
  for (Value slice : slices) {
    auto type = dyn_cast<VectorType>(slice.getType());
    for (int64_t i = 0; type && i < type.getNumElements(); ++i)
      words.push_back(b.extract(slice, i));
    if (!type)
      (slice.getType().isInteger(16) ? halves : words).push_back(slice);
  }
  for (size_t i = 0; i < halves.size(); i += 2)
    words.push_back(
        b.bitcast(b.getI32Type(), b.pack({halves[i], halves[i + 1]})));
  return words;
}

/// Slices of `bytes` from words.
static SmallVector<Value> joinWords(KernelBuilder &b, ArrayRef<Value> words,
                                    int64_t bytes) {
  SmallVector<Value> slices;
  if (bytes < kWordBytes) {
    auto halves = VectorType::get({2}, b.getI16Type());
    for (Value word : words)
      for (int64_t i = 0; i < 2; ++i)
        slices.push_back(b.extract(b.bitcast(halves, word), i));
    return slices;
  }
  int64_t perSlice = bytes / kWordBytes;
  for (size_t i = 0; i < words.size(); i += perSlice)
    slices.push_back(perSlice == 1 ? words[i]
                                   : b.pack(words.slice(i, perSlice)));
  return slices;
}

namespace {

/// Loads of what lies like the fragment, in slices of as many elements as those
/// of x, of another size.
class StripLoads {
public:
  StripLoads(KernelBuilder &b, const StripShape &shape,
             const StripPosition &position, int64_t elementBytes);

  /// The rows of the fragment, as slices.
  Rows loadRows(Value pointer);
  /// The same of rows of padded groups, zero where padding is.
  Rows loadPaddedRows(Value pointer);
  /// A row of the elements of its columns.
  SmallVector<Value> loadColumns(Value pointer);
  /// Stores row `i` of the fragment, from words, where it exists.
  void storeRow(Value pointer, int64_t i, ArrayRef<Value> words);
  /// Whether the slices exist; nothing where all of a fragment do.
  ArrayRef<Value> getExists() const { return exists; }
  /// Number of row `i` of the fragment among all rows, or of one instead.
  Lanes getRow(int64_t i);

private:
  void loadSlices(Value address, SmallVectorImpl<Value> &slices);

  KernelBuilder &b;
  const StripShape &shape;
  const StripPosition &position;
  int64_t sliceBytes;
  int64_t count;
  /// The byte of a row at which the slices begin, and the bytes of a row.
  Lanes first, rowBytes;
  SmallVector<Value> offsets, exists;
};

} // namespace

StripLoads::StripLoads(KernelBuilder &b, const StripShape &shape,
                       const StripPosition &position, int64_t elementBytes)
    : b(b), shape(shape), position(position),
      sliceBytes(shape.loadBytes / shape.getInputBytes() * elementBytes),
      count(shape.fragmentColumns * elementBytes / sliceBytes),
      first(position.column * elementBytes),
      rowBytes(position.columns * elementBytes) {
  auto clamp = [&](Lanes byte, int64_t size) {
    return minSigned(byte, rowBytes - size);
  };
  // All of a fragment exist, or any of them.
  if (!shape.hasColumnTails())
    first = clamp(first, shape.fragmentColumns * elementBytes);
  for (int64_t i = 0; i < count; ++i) {
    Lanes byte = first + i * sliceBytes;
    if (shape.hasPartialBlocks)
      exists.push_back(isBelow(byte, rowBytes));
    if (shape.hasColumnTails())
      offsets.push_back(clamp(byte, sliceBytes));
  }
}

/// The slices of the row at `address`, or of its part that the fragment has
/// where the fragment exists as a whole.
void StripLoads::loadSlices(Value address, SmallVectorImpl<Value> &slices) {
  // Slices of elements longer than those of x may need several accesses.
  int64_t access = std::min(sliceBytes, shape.getWidestLoad());
  Type type = getSliceType(b, access);
  for (int64_t slice = 0; slice < count; ++slice) {
    Value offset = shape.hasColumnTails() ? offsets[slice]
                                          : getIndex(b, slice * sliceBytes);
    Value place = emitAddress(b, address, b.getI8Type(), offset);
    for (int64_t at = 0; at < sliceBytes; at += access)
      slices.push_back(b.load(
          type,
          at == 0 ? place
                  : emitAddress(b, place, b.getI8Type(), getIndex(b, at)),
          access));
  }
}

Lanes StripLoads::getRow(int64_t i) {
  int64_t unit = shape.rowUnit;
  Lanes last = position.rows - unit;
  Lanes before = position.matrix * position.rows;
  Lanes row = position.row + (i - i % unit);
  row = before + minSigned(row, last);
  return row + i % unit;
}

Rows StripLoads::loadRows(Value pointer) {
  int64_t unit = shape.rowUnit;
  Lanes last = position.rows - unit;
  Lanes before = position.matrix * position.rows;
  Type byteType = b.getI8Type();
  // The first row, and how far behind it there are others.
  Lanes row = minSigned(position.row, last);
  Lanes reach(b, arith::IndexCastUIOp::create(
                     b, b.getI32Type(),
                     minSigned(last - row, last.like(shape.fragmentRows))));
  Value start = emitAddress(b, pointer, byteType, (before + row) * rowBytes);
  if (!shape.hasColumnTails())
    start = emitAddress(b, start, byteType, first);
  Rows loaded;
  for (int64_t i = 0; i < shape.fragmentRows; ++i) {
    Lanes begin = minUnsigned(reach, reach.like(i - i % unit));
    Lanes behind(b, arith::IndexCastUIOp::create(b, b.getIndexType(),
                                                 begin + reach.like(i % unit)));
    loadSlices(emitAddress(b, start, byteType, behind * rowBytes),
               loaded.emplace_back());
  }
  return loaded;
}

Rows StripLoads::loadPaddedRows(Value pointer) {
  int64_t access = std::min(sliceBytes, shape.getWidestLoad());
  int64_t perRow = count * (sliceBytes / access);
  Type slice = getSliceType(b, access);
  Value zero = arith::ConstantOp::create(b, slice, b.getZeroAttr(slice));
  auto loadRow = [&](int64_t i) {
    Lanes row = position.source + i;
    Value address = emitAddress(b, pointer, b.getI8Type(), row * rowBytes);
    if (!shape.hasColumnTails())
      address = emitAddress(b, address, b.getI8Type(), first);
    SmallVector<Value> slices;
    loadSlices(address, slices);
    return slices;
  };
  auto hasRow = [&](int64_t i) {
    return isBelow(position.source + i, position.sourceEnd);
  };
  // Most fragments have all of their rows, which are loaded without a condition
  // for each.
  SmallVector<Type> types(perRow * shape.fragmentRows, slice);
  SmallVector<Value> loaded = emitIfElse(
      b, hasRow(shape.fragmentRows - 1), types,
      [&] {
        SmallVector<Value> slices;
        for (int64_t i = 0; i < shape.fragmentRows; ++i)
          llvm::append_range(slices, loadRow(i));
        return slices;
      },
      [&] {
        SmallVector<Value> slices;
        SmallVector<Value> zeros(perRow, zero);
        for (int64_t i = 0; i < shape.fragmentRows; ++i)
          llvm::append_range(
              slices, emitIfElse(
                          b, hasRow(i), ArrayRef(types).take_front(perRow),
                          [&] { return loadRow(i); }, [&] { return zeros; }));
        return slices;
      });
  Rows rows;
  for (ArrayRef<Value> rest = loaded; !rest.empty();
       rest = rest.drop_front(perRow))
    rows.emplace_back(rest.take_front(perRow));
  return rows;
}

SmallVector<Value> StripLoads::loadColumns(Value pointer) {
  if (!shape.hasColumnTails())
    pointer = emitAddress(b, pointer, b.getI8Type(), first);
  SmallVector<Value> loaded;
  loadSlices(pointer, loaded);
  return loaded;
}

void StripLoads::storeRow(Value pointer, int64_t i, ArrayRef<Value> words) {
  int64_t access = std::min(sliceBytes, shape.getWidestLoad());
  SmallVector<Value> slices = joinWords(b, words, access);
  Value address =
      emitAddress(b, pointer, b.getI8Type(), getRow(i) * rowBytes + first);
  auto store = [&](ArrayRef<Value> slices, int64_t at) {
    for (auto [j, slice] : llvm::enumerate(slices)) {
      auto byte = at + static_cast<int64_t>(j) * access;
      b.store(slice, emitAddress(b, address, b.getI8Type(), getIndex(b, byte)),
              access);
    }
  };
  Value hasRow = position.hasRow(i);
  if (!shape.hasColumnTails()) {
    Lanes exists = hasRow & position.hasColumn(0);
    emit::emitIf(b, exists, [&] { store(slices, 0); });
    return;
  }
  size_t perSlice = sliceBytes / access;
  for (int64_t slice = 0; slice < count; ++slice) {
    Lanes byte = first + slice * sliceBytes;
    Lanes exists = hasRow & isBelow(b, byte, rowBytes);
    emit::emitIf(b, exists, [&] {
      store(ArrayRef<Value>(slices).slice(slice * perSlice, perSlice),
            slice * sliceBytes);
    });
  }
}

/// Sets elements of row `row` of the fragment that do not exist to zero.
/// `exists` says for each slice whether it exists.
static void clearMissing(KernelBuilder &b, const StripPosition &position,
                         int64_t row, ArrayRef<Value> exists,
                         SmallVectorImpl<Value> &slices) {
  Lanes hasRow = position.hasRow(row);
  Type type = slices.front().getType();
  Value zero = arith::ConstantOp::create(b, type, b.getZeroAttr(type));
  for (auto [slice, hasSlice] : llvm::zip_equal(slices, exists)) {
    Lanes keeps = hasRow & hasSlice;
    slice = select(keeps, Lanes(b, slice), zero);
  }
}

/// The rows of an x that elementwise ops make, as slices. All that they take
/// is loaded before.
static Rows computeRows(KernelBuilder &b, const ElementSource &source,
                        const StripShape &shape, const StripPosition &position,
                        ValueRange arguments) {
  SmallVector<SmallVector<ElementWords>> loaded;
  ArrayRef<ElementSource::Input> inputs = source.getInputs();
  for (auto [input, argument] :
       llvm::zip_equal(inputs, arguments.take_front(inputs.size()))) {
    SmallVector<ElementWords> &rows = loaded.emplace_back();
    StripLoads loads(b, shape, position, input.getBytes());
    switch (input.spread) {
    case Spread::Elements:
      for (ArrayRef<Value> row : loads.loadRows(argument))
        rows.push_back(splitSlices(b, row));
      break;
    case Spread::Columns:
      rows.assign(shape.fragmentRows,
                  splitSlices(b, loads.loadColumns(argument)));
      break;
    case Spread::Rows:
      for (int64_t i = 0; i < shape.fragmentRows; ++i)
        rows.push_back(source.loadOne(b, input, argument, loads.getRow(i)));
      break;
    case Spread::Single:
      rows.assign(shape.fragmentRows,
                  source.loadOne(b, input, argument, getIndex(b, 0)));
      break;
    }
  }
  Rows result;
  for (int64_t i = 0; i < shape.fragmentRows; ++i) {
    auto words = llvm::map_to_vector(
        loaded,
        [&](ArrayRef<ElementWords> rows) -> ElementWords { return rows[i]; });
    ElementSource::Elements made = source.evaluate(b, words);
    result.push_back(joinWords(b, made.x, shape.loadBytes));
    for (auto [logical, words, argument] :
         llvm::zip_equal(source.getKept(), made.kept,
                         arguments.drop_front(inputs.size()))) {
      Type element = getElementTypeOrSelf(logical.getType());
      StripLoads places(b, shape, position,
                        element.getIntOrFloatBitWidth() / 8);
      places.storeRow(argument, i, words);
    }
  }
  return result;
}

/// The rows of an x that is one tensor.
static Rows loadWhole(KernelBuilder &b, const ElementSource &source,
                      const StripShape &shape, const StripPosition &position,
                      ValueRange inputs) {
  if (!source.isMemory())
    return computeRows(b, source, shape, position, inputs);
  StripLoads loads(b, shape, position, shape.getInputBytes());
  return position.isPadded() ? loads.loadPaddedRows(inputs.front())
                             : loads.loadRows(inputs.front());
}

/// The slices of all rows of a fragment that is in one of `parts`.
static SmallVector<Value> loadParts(KernelBuilder &b,
                                    ArrayRef<StripSource::Part> parts,
                                    const StripShape &shape,
                                    const StripPosition &position,
                                    ValueRange inputs) {
  const StripSource::Part &part = parts.front();
  size_t count = part.countArguments();
  auto loadFirst = [&] {
    StripPosition inPart = position;
    inPart.column = position.column - part.begin;
    inPart.columns = getIndex(b, part.columns);
    SmallVector<Value> slices;
    for (ArrayRef<Value> row :
         loadWhole(b, part.source, shape, inPart, inputs.take_front(count)))
      llvm::append_range(slices, row);
    return slices;
  };
  if (parts.size() == 1)
    return loadFirst();
  Type slice = getSliceType(b, shape.loadBytes);
  int64_t perRow =
      shape.fragmentColumns * shape.getInputBytes() / shape.loadBytes;
  SmallVector<Type> types(shape.fragmentRows * perRow, slice);
  Value isFirst =
      isBelow(position.column, getIndex(b, part.begin + part.columns));
  return emitIfElse(b, isFirst, types, loadFirst, [&] {
    return loadParts(b, parts.drop_front(), shape, position,
                     inputs.drop_front(count));
  });
}

/// The rows of an x that is tensors side by side.
static Rows loadJoined(KernelBuilder &b, const StripSource &source,
                       const StripShape &shape, const StripPosition &position,
                       ValueRange inputs) {
  SmallVector<Value> slices =
      loadParts(b, source.getParts(), shape, position, inputs);
  auto perRow = static_cast<int64_t>(slices.size()) / shape.fragmentRows;
  Rows rows;
  for (ArrayRef<Value> rest = slices; !rest.empty();
       rest = rest.drop_front(perRow))
    rows.emplace_back(rest.take_front(perRow));
  return rows;
}

Rows loadFragment(KernelBuilder &b, const StripSource &source,
                  const StripShape &shape, const StripPosition &position,
                  ValueRange inputs) {
  StripLoads loads(b, shape, position, shape.getInputBytes());
  Rows rows = source.getParts().size() > 1
                  ? loadJoined(b, source, shape, position, inputs)
                  : loadWhole(b, source.getWhole(), shape, position, inputs);
  for (auto [i, row] : llvm::enumerate(rows)) {
    if (shape.hasPartialBlocks)
      clearMissing(b, position, static_cast<int64_t>(i), loads.getExists(),
                   row);
    row = joinSlices(b, row);
  }
  return rows;
}

} // namespace blockscale
