//===- StripData.cpp - Codes of a fragment and their places ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StripData.h"
#include "DeviceEmission/DeviceCode.h"
#include "DeviceEmission/WarpExchange.h"
#include "blockscale/Numerics/SharedSwizzle.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace blockscale {

using emit::Lanes;

namespace {

/// The rows of codes, or of values, that a fragment is part of.
struct RowMemory {
  /// The first byte of the fragment.
  Value address;
  /// Bytes of a row, and those before the fragment.
  Lanes rowBytes, inRow;
  /// Bits of an element, and bytes of the widest store.
  int64_t bits, width;
};

class StripDataEmitter {
public:
  StripDataEmitter(KernelBuilder &b, const StripSpec &spec,
                   const StripPosition &position, CvtEmitter &cvt,
                   const StripBuffers &buffers, StripScales &scales,
                   StripRandom *random)
      : b(b), spec(spec), position(position), cvt(cvt), buffers(buffers),
        scales(scales), random(random) {}

  void emitRows(PartVisitor afterPart);
  void emitColumns();

private:
  int64_t countParts() const {
    return spec.shape->fragmentColumns / FragmentElements::kPartColumns;
  }
  SmallVector<Value> encode(ValueRange elements, ArrayRef<Value> random);
  /// The random words of a row, none where codes are rounded to nearest. Rows
  /// come in their order.
  SmallVector<Value> drawRow(int64_t row) {
    return random ? random->drawRow(row) : SmallVector<Value>();
  }
  SmallVector<SmallVector<Value>> drawRows();
  SmallVector<SmallVector<Value>>
  roundColumns(int64_t part, ArrayRef<SmallVector<Value>> drawn);
  void storeRoundedColumns();
  void storeSharedColumns();
  /// Stores the words of 16 bytes in accesses of `width`, those that `exists`,
  /// given the first byte, says. It may give null for all.
  void store(ArrayRef<Value> words, Value address, int64_t width,
             function_ref<Value(int64_t)> exists);
  RowMemory getRows(const StripPosition &place, Value memory, int64_t bits,
                    int64_t width);
  void storeRow(const RowMemory &memory, ArrayRef<Value> words, int64_t row);
  void storeRounded(const RowMemory &memory, int64_t unit);
  void storeColumns(const StripPosition &place,
                    ArrayRef<SmallVector<Value>> columns, Value memory,
                    int64_t bits, int64_t width);
  /// The element, or zero where it does not exist: a byte may have one code
  /// that exists and one that does not.
  Value keepIf(Value exists, Value element) {
    return select(exists, Lanes(b, element), b.f32(0.0f));
  }

  KernelBuilder &b;
  const StripSpec &spec;
  const StripPosition &position;
  CvtEmitter &cvt;
  StripBuffers buffers;
  StripScales &scales;
  /// The random words for stochastic rounding; null where codes are rounded to
  /// nearest.
  StripRandom *random;
};

} // namespace

/// Codes as words, rounded under random words where there are any.
SmallVector<Value> StripDataEmitter::encode(ValueRange elements,
                                            ArrayRef<Value> random) {
  size_t perWord = 32 / spec.getDataBits();
  SmallVector<Value> words;
  for (ValueRange rest = elements; !rest.empty();
       rest = rest.drop_front(perWord)) {
    ValueRange some = rest.take_front(perWord);
    if (random.empty()) {
      words.push_back(cvt.encodeWord(b, spec.format, some));
      continue;
    }
    words.push_back(cvt.encodeStochasticWord(b, some, random.take_front(2)));
    random = random.drop_front(2);
  }
  return words;
}

void StripDataEmitter::store(ArrayRef<Value> words, Value address,
                             int64_t width,
                             function_ref<Value(int64_t)> exists) {
  int64_t size = static_cast<int64_t>(words.size()) * kWordBytes;
  for (int64_t byte = 0; byte < size; byte += width) {
    auto emitAccess = [&] {
      Value value = words[byte / kWordBytes];
      if (width > kWordBytes) {
        value = b.pack(words.slice(byte / kWordBytes, width / kWordBytes));
      } else if (width < kWordBytes) {
        value = truncate(Lanes(b, value) >> (byte % kWordBytes * 8), width * 8);
      }
      b.store(value, b.offset(address, b.getI8Type(), b.i64(byte)), width);
    };
    if (Value condition = exists(byte))
      emit::emitIf(b, condition, emitAccess);
    else
      emitAccess();
  }
}

RowMemory StripDataEmitter::getRows(const StripPosition &place, Value memory,
                                    int64_t bits, int64_t width) {
  Lanes rowBytes = emit::ceilDiv(b, position.columns * bits, 8);
  Lanes first = place.matrix * place.rows + place.row;
  Lanes inRow = place.column * bits / 8;
  Value address =
      emitAddress(b, memory, b.getI8Type(), first * rowBytes + inRow);
  return {address, rowBytes, inRow, bits, width};
}

/// Stores the words of row `row` of the fragment.
void StripDataEmitter::storeRow(const RowMemory &memory, ArrayRef<Value> words,
                                int64_t row) {
  bool isWhole =
      memory.width == static_cast<int64_t>(words.size()) * kWordBytes;
  store(words,
        emitAddress(b, memory.address, b.getI8Type(), memory.rowBytes * row),
        memory.width, [&](int64_t byte) -> Value {
          if (isWhole)
            return {};
          return isBelow(memory.inRow + byte, memory.rowBytes);
        });
}

/// Stores the values of all rows, of which `unit` exist together, computed
/// without codes. Most fragments have all of their rows, so that a condition
/// for each costs others alone.
void StripDataEmitter::storeRounded(const RowMemory &memory, int64_t unit) {
  int64_t count = spec.shape->fragmentRows;
  SmallVector<SmallVector<Value>> rows(count);
  for (int64_t i = 0; i < count; ++i) {
    SmallVector<Value> words = drawRow(i);
    for (int64_t part = 0; part < countParts(); ++part)
      llvm::append_range(rows[i], scales.getRoundedPart(i, part, words));
  }
  auto storeRows = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      storeRow(memory, rows[i], i);
  };
  Lanes hasColumn = position.hasColumn(0);
  emit::emitIf(
      b, position.hasRow(count - unit) & hasColumn,
      [&] { storeRows(0, count); },
      [&] {
        for (int64_t begin = 0; begin < count - unit; begin += unit)
          emit::emitIf(b, position.hasRow(begin) & hasColumn,
                       [&] { storeRows(begin, begin + unit); });
      });
}

void StripDataEmitter::emitRows(PartVisitor afterPart) {
  bool splitsBytes = spec.splitsRowBytes();
  auto encodeRow = [&](int64_t i, SmallVector<Value> elements) {
    if (splitsBytes)
      for (int64_t j = 1; j < spec.shape->fragmentColumns; j += 2)
        elements[j] = keepIf(position.hasColumn(j), elements[j]);
    return encode(elements, drawRow(i));
  };
  auto scaleRow = [&](int64_t i) {
    SmallVector<Value> elements;
    for (int64_t part = 0; part < countParts(); ++part)
      llvm::append_range(elements, scales.getScaledPart(i, part));
    return elements;
  };
  StripPosition place = position;
  SmallVector<SmallVector<Value>> codeRows;
  if (spec.encodesRowsAhead()) {
    SmallVector<SmallVector<Value>> elements(spec.shape->fragmentRows);
    for (int64_t part = 0; part < countParts(); ++part) {
      for (auto [i, row] : llvm::enumerate(elements))
        llvm::append_range(row,
                           scales.getScaledPart(static_cast<int64_t>(i), part));
      if (afterPart)
        afterPart(part);
    }
    for (auto [i, row] : llvm::enumerate(elements))
      codeRows.push_back(encodeRow(static_cast<int64_t>(i), row));
  }
  if (spec.exchangesCodes) {
    Lanes inPair = position.laneColumn % 2;
    exchangeHalves(b, codeRows, isBelow(inPair.like(0), inPair), /*mask=*/1);
    place.column = place.column - inPair * spec.shape->fragmentColumns;
    place.row = place.row + inPair * (spec.shape->fragmentRows / 2);
  }

  RowMemory codes, values;
  if (buffers.data)
    codes = getRows(place, buffers.data, spec.getDataBits(), spec.storeBytes);
  if (spec.decoding)
    values = getRows(place, buffers.decoded, spec.decoding->getValueBits(),
                     spec.getDecodedStoreBytes());
  Lanes hasColumn = place.hasColumn(0);
  int64_t count = spec.shape->fragmentRows / (spec.exchangesCodes ? 2 : 1);
  int64_t unit = std::min(count, spec.shape->rowUnit);
  if (spec.roundsValues)
    return storeRounded(values, unit);
  for (int64_t begin = 0; begin < count; begin += unit) {
    Lanes hasUnit = place.hasRow(begin) & hasColumn;
    emit::emitIf(b, hasUnit, [&] {
      for (int64_t i = begin; i < begin + unit; ++i) {
        SmallVector<Value> words =
            codeRows.empty() ? encodeRow(i, scaleRow(i)) : codeRows[i];
        if (buffers.data)
          storeRow(codes, words, i);
        if (spec.decoding)
          storeRow(values,
                   spec.decoding->emitValues(
                       b, words,
                       [&](int64_t j) { return scales.getDecodeFactor(i, j); },
                       scales.getDecodeGlobal()),
                   i);
      }
    });
  }
}

/// Stores the words of elements of `bits` of each column, which `memory` has as
/// rows, in accesses of at most `width` bytes.
void StripDataEmitter::storeColumns(const StripPosition &place,
                                    ArrayRef<SmallVector<Value>> columns,
                                    Value memory, int64_t bits, int64_t width) {
  Lanes rowBytes = emit::ceilDiv(b, place.rows * bits, 8);
  Lanes first = place.matrix * place.columns + place.column;
  auto emitAll = [&](int64_t access) {
    for (size_t j = 0; j < columns.size(); ++j) {
      ArrayRef<Value> column = columns[j];
      Lanes row = first + j;
      Lanes byte = place.row * bits / 8;
      Value address =
          emitAddress(b, memory, b.getI8Type(), row * rowBytes + byte);
      auto emitColumn = [&] {
        bool isWhole =
            access == static_cast<int64_t>(column.size()) * kWordBytes;
        store(column, address, access, [&](int64_t byte) -> Value {
          if (isWhole)
            return {};
          return place.hasRow(byte * 8 / bits);
        });
      };
      if (spec.shape->hasColumnTails())
        emit::emitIf(b, place.hasColumn(j), emitColumn);
      else
        emitColumn();
    }
  };
  // Rows that exist together have so many bytes.
  int64_t unit = spec.rowTails ? 1 : spec.block[0];
  int64_t unitBytes = std::max<int64_t>(unit * bits / 8, 1);
  Lanes exists = place.hasRow(0) & place.hasColumn(0);
  emit::emitIf(b, exists, [&] {
    if (unitBytes >= width)
      return emitAll(width);
    // Rows that are aligned to the widest store also end where such a store
    // does.
    Lanes left = rowBytes % width;
    emit::emitIf(
        b, isBelow(left, 1), [&] { emitAll(width); },
        [&] { emitAll(unitBytes); });
  });
}

/// The random words of all rows.
SmallVector<SmallVector<Value>> StripDataEmitter::drawRows() {
  SmallVector<SmallVector<Value>> drawn;
  for (int64_t i = 0; i < spec.shape->fragmentRows; ++i)
    drawn.push_back(drawRow(i));
  return drawn;
}

/// The values of each column of a part, as words, computed without codes. A
/// word has the values of one row and two columns first, where values are of 16
/// bits.
SmallVector<SmallVector<Value>>
StripDataEmitter::roundColumns(int64_t part,
                               ArrayRef<SmallVector<Value>> drawn) {
  SmallVector<SmallVector<Value>> columns(FragmentElements::kPartColumns);
  bool isPacked = spec.decoding->getValueBits() == 16;
  auto pair = VectorType::get({2}, b.getI16Type());
  SmallVector<Value> above;
  for (int64_t i = 0; i < spec.shape->fragmentRows; ++i) {
    SmallVector<Value> words = scales.getRoundedPart(i, part, drawn[i]);
    if (!isPacked) {
      for (auto [column, word] : llvm::zip_equal(columns, words))
        column.push_back(word);
      continue;
    }
    if (i % 2 == 0) {
      above = words;
      continue;
    }
    for (auto [j, upper, lower] : llvm::enumerate(above, words))
      for (int32_t half : {0, 1})
        columns[2 * j + half].push_back(b.toBits(LLVM::ShuffleVectorOp::create(
            b, b.bitcast(pair, upper), b.bitcast(pair, lower),
            ArrayRef<int32_t>{half, 2 + half})));
  }
  return columns;
}

void StripDataEmitter::storeRoundedColumns() {
  SmallVector<SmallVector<Value>> drawn = drawRows(), columns;
  for (int64_t part = 0; part < countParts(); ++part)
    llvm::append_range(columns, roundColumns(part, drawn));
  storeColumns(position, columns, buffers.decoded,
               spec.decoding->getValueBits(), spec.getDecodedStoreBytes());
}

/// The same, where the threads of a warp store together. Row
/// `i * laneColumns + c` of shared memory has column i of the part of those
/// threads that are number c along a row of x.
void StripDataEmitter::storeSharedColumns() {
  const StripShape &shape = *spec.shape;
  constexpr int64_t piece = numerics::kSwizzlePiece;
  int64_t elements = piece * 8 / spec.decoding->getValueBits();
  int64_t ofFragment = shape.fragmentRows / elements;
  int64_t ofColumn = shape.getWarpRows() / elements;
  int64_t laneColumns = shape.getLaneColumns();
  auto getStaged = [&](Lanes row, Lanes number) {
    return emitAddress(
        b, buffers.stage, b.getI8Type(),
        numerics::getSwizzledByte(row, number, ofColumn * piece));
  };
  // In a step the warp stores the pieces of so many columns.
  int64_t ofStep = kWarpThreads / ofColumn;
  auto [step, pieceNumber] = numerics::split(position.lane, ofColumn);
  Lanes column = position.warpColumn + step * shape.fragmentColumns;
  Lanes row = position.warpRow + pieceNumber * elements;
  Lanes rowBytes = position.rows * piece / elements;
  Lanes first = position.matrix * position.columns + column;
  Value address = emitAddress(b, buffers.decoded, b.getI8Type(),
                              first * rowBytes + row * piece / elements);
  bool hasTails = shape.columnUnit % shape.getWarpColumns() != 0;
  auto type = VectorType::get({piece / kWordBytes}, b.getI32Type());
  auto storePart = [&, mine = step, number = pieceNumber](int64_t part) {
    for (int64_t i = 0; i < FragmentElements::kPartColumns; ++i)
      for (int64_t c = 0; c < laneColumns; c += ofStep) {
        Lanes staged = mine + (i * laneColumns + c);
        int64_t behind = c * shape.fragmentColumns +
                         part * FragmentElements::kPartColumns + i;
        auto storePiece = [&] {
          b.store(b.load(type, getStaged(staged, number), piece),
                  emitAddress(b, address, b.getI8Type(), rowBytes * behind),
                  piece);
        };
        if (hasTails)
          emit::emitIf(b, isBelow(column + behind, position.columns),
                       storePiece);
        else
          storePiece();
      }
  };
  SmallVector<SmallVector<Value>> drawn = drawRows();
  for (int64_t part = 0; part < countParts(); ++part) {
    SmallVector<SmallVector<Value>> columns = roundColumns(part, drawn);
    // Others may still read what these values replace.
    NVVM::SyncWarpOp::create(b, b.i32(kAllLanes));
    for (auto [i, words] : llvm::enumerate(columns))
      for (int64_t j = 0; j < ofFragment; ++j) {
        ArrayRef<Value> ofPiece = ArrayRef(words)
                                      .slice(j * type.getNumElements())
                                      .take_front(type.getNumElements());
        b.store(b.pack(ofPiece),
                getStaged(position.laneColumn + i * laneColumns,
                          position.laneRow * ofFragment + j),
                piece);
      }
    NVVM::SyncWarpOp::create(b, b.i32(kAllLanes));
    emit::emitIf(b, isBelow(row, position.rowEnd), [&] { storePart(part); });
  }
}

void StripDataEmitter::emitColumns() {
  if (spec.roundsValues)
    return buffers.stage ? storeSharedColumns() : storeRoundedColumns();
  bool splitsBytes = spec.rowTails && spec.getDataBits() < 8;
  SmallVector<Value> hasRow;
  for (int64_t i = 0; splitsBytes && i < spec.shape->fragmentRows; ++i)
    hasRow.push_back(position.hasRow(i));
  SmallVector<SmallVector<Value>> words(spec.shape->fragmentColumns);
  if (random)
    words = random->drawColumns();
  // Part by part: codes take fewer registers than elements.
  SmallVector<SmallVector<Value>> columns;
  for (int64_t part = 0; part < countParts(); ++part) {
    SmallVector<SmallVector<Value>> scaled(FragmentElements::kPartColumns);
    for (int64_t i = 0; i < spec.shape->fragmentRows; ++i)
      for (auto [column, element] :
           llvm::zip_equal(scaled, scales.getScaledPart(i, part)))
        column.push_back(splitsBytes ? keepIf(hasRow[i], element) : element);
    for (ArrayRef<Value> column : scaled)
      columns.push_back(encode(column, words[columns.size()]));
  }

  StripPosition place = position;
  if (spec.exchangesCodes) {
    Lanes inPair = position.laneRow % 2;
    exchangeHalves(b, columns, isBelow(inPair.like(0), inPair),
                   spec.shape->getLaneColumns());
    place.row = place.row - inPair * spec.shape->fragmentRows;
    place.column = place.column + inPair * (spec.shape->fragmentColumns / 2);
  }

  if (buffers.data)
    storeColumns(place, columns, buffers.data, spec.getDataBits(),
                 spec.storeBytes);
  if (!spec.decoding)
    return;
  for (size_t j = 0; j < columns.size(); ++j)
    columns[j] = spec.decoding->emitValues(
        b, columns[j],
        [&](int64_t i) {
          return scales.getDecodeFactor(i, static_cast<int64_t>(j));
        },
        scales.getDecodeGlobal());
  storeColumns(place, columns, buffers.decoded, spec.decoding->getValueBits(),
               spec.getDecodedStoreBytes());
}

void emitStripData(KernelBuilder &b, const StripSpec &spec,
                   const StripPosition &position, CvtEmitter &cvt,
                   const StripBuffers &buffers, StripScales &scales,
                   StripRandom *random, PartVisitor afterPart) {
  StripDataEmitter emitter(b, spec, position, cvt, buffers, scales, random);
  if (spec.transposed)
    emitter.emitColumns();
  else
    emitter.emitRows(afterPart);
}

} // namespace blockscale
