//===- MatrixMove.cpp - Loads and stores of matrices ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Warp Level Matrix Load, Store, Transpose Instructions". Lane i has
// the address of row i % R of matrix i / R, for matrices of R rows of 16 bytes.
// With g = lane / 4 and t = lane % 4, a register holds of its matrix M
//
//   m8n8 .b16            M[g][2t], M[g][2t + 1]
//   the same, .trans     M[2t][g], M[2t + 1][g]
//   m8n16                M[g][4t] to M[g][4t + 3]
//   m16n16 .trans, two   M[4t][g] to M[4t + 3][g], then of column g + 8
//   m16n8 .trans, stored M[2t][g], M[2t + 1][g], then both of column g + 8
//
// where the last one's M is what memory holds: eight rows of 16 bytes.
//
//===----------------------------------------------------------------------===//

#include "Emulator/Instructions/MatrixInstructions.h"

#include "Emulator/Memory/AddressWindow.h"
#include "blockscale/Emulator/InstructionSet.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>

namespace blockscale::emulator {

namespace {
/// A byte of a register: where it is in its matrix.
struct BytePlace {
  unsigned row;
  unsigned byte;
};
using PlaceFunction = BytePlace (*)(unsigned lane, unsigned part,
                                    unsigned byte);

struct MoveData : OpData {
  PlaceFunction place;
  /// Rows of a matrix, and registers that it takes.
  unsigned rows;
  unsigned parts;
  /// Bits of a value in memory, where it has eight in the register, and bytes
  /// that a row takes in memory.
  unsigned bits;
  unsigned bytes;
  bool isGeneric;
};

/// The rows of all matrices.
struct MatrixRows {
  uint8_t bytes[kWarpSize][16] = {};
  /// Bit i of a mask is byte i.
  uint16_t defined[kWarpSize] = {};
};
} // namespace

static BytePlace getHalfPlace(unsigned lane, unsigned, unsigned byte) {
  return {lane / 4, lane % 4 * 4 + byte};
}
static BytePlace getHalfPlaceTransposed(unsigned lane, unsigned,
                                        unsigned byte) {
  return {lane % 4 * 2 + byte / 2, lane / 4 * 2 + byte % 2};
}
static BytePlace getBytePlaceTransposed(unsigned lane, unsigned part,
                                        unsigned byte) {
  return {lane % 4 * 4 + byte, lane / 4 + part * 8};
}
static BytePlace getStoredPlace(unsigned lane, unsigned, unsigned byte) {
  return {lane % 4 * 2 + byte % 2, lane / 4 + byte / 2 * 8};
}

/// Calls `visit(lane, register, shift, row, byte)` for every byte of the
/// registers: its place in the register and in the rows.
template <typename Visit>
static void forEachByte(const MoveData &data, size_t registers, Visit visit) {
  for (unsigned i = 0; i < registers; ++i)
    for (unsigned lane = 0; lane < kWarpSize; ++lane)
      for (unsigned byte = 0; byte < 4; ++byte) {
        BytePlace place = data.place(lane, i % data.parts, byte);
        visit(lane, i, 8 * byte, i / data.parts * data.rows + place.row,
              place.byte);
      }
}

/// Where a lane's row is; none, and a fault, where that is not shared memory.
static std::optional<SpaceAddress> getWhere(Warp &warp, const Op &op,
                                            unsigned lane, uint64_t address) {
  if (!op.get<MoveData>().isGeneric)
    return SpaceAddress{StateSpace::Shared, address & 0xFFFFFFFF};
  llvm::SmallVector<Fault, 1> faults;
  std::optional<uint64_t> shared =
      fromGeneric(StateSpace::Shared, address, faults);
  warp.report(op, lane, faults);
  if (!shared)
    return std::nullopt;
  return SpaceAddress{StateSpace::Shared, *shared};
}

/// Calls `visit(row, where)` for the rows whose addresses are known.
template <typename Visit>
static void forEachMatrixRow(Warp &warp, const Op &op, unsigned rows,
                             Visit visit) {
  const auto &data = op.get<MoveData>();
  LaneValues addresses;
  LaneMask known = warp.readAddresses(
      op, op.addresses[0], kAllLanes >> (kWarpSize - rows), addresses);
  for (unsigned row : lanesOf(known))
    if (std::optional<SpaceAddress> where =
            getWhere(warp, op, row, addresses[row]))
      visit(row, *where);
  warp.noteBanks(addresses, known, StateSpace::Shared, data.bytes);
}

/// The values of a row, each in its byte.
static void expandRow(llvm::ArrayRef<uint8_t> from, unsigned bits,
                      uint8_t *to) {
  for (unsigned i = 0; i < 16; ++i) {
    unsigned first = i * bits, byte = first / 8;
    unsigned word = from[byte];
    if (byte + 1 < from.size())
      word |= unsigned(from[byte + 1]) << 8;
    to[i] = (word >> first % 8) & ((1u << bits) - 1);
  }
}

static Step executeLoad(Warp &warp, const Op &op, LaneMask active) {
  const auto &data = op.get<MoveData>();
  if (!checkWholeWarp(warp, op, active))
    return Step::Next;
  MatrixRows matrix;
  forEachMatrixRow(warp, op, op.results.size() / data.parts * data.rows,
                   [&](unsigned row, SpaceAddress where) {
                     llvm::ArrayRef<uint8_t> bytes = warp.load(
                         op, row, where, data.bytes, /*alignment=*/16);
                     if (bytes.empty())
                       return;
                     expandRow(bytes, data.bits, matrix.bytes[row]);
                     matrix.defined[row] = 0xFFFF;
                   });
  LaneValues values[8] = {};
  LaneMask undefined[8] = {};
  forEachByte(data, op.results.size(),
              [&](unsigned lane, unsigned i, unsigned shift, unsigned row,
                  unsigned byte) {
                values[i][lane] |= uint64_t(matrix.bytes[row][byte]) << shift;
                if (!(matrix.defined[row] >> byte & 1))
                  undefined[i] |= LaneMask(1) << lane;
              });
  for (auto [i, result] : llvm::enumerate(op.results)) {
    std::memcpy(warp.write(result), values[i], sizeof(LaneValues));
    warp.define(result, active, ~undefined[i]);
  }
  return Step::Next;
}

static Step executeStore(Warp &warp, const Op &op, LaneMask active) {
  const auto &data = op.get<MoveData>();
  if (!checkWholeWarp(warp, op, active))
    return Step::Next;
  LaneValues scratch[4];
  const uint64_t *sources[4];
  LaneMask defined[4];
  for (auto [i, source] : llvm::enumerate(op.sources)) {
    sources[i] = warp.read(source, scratch[i]);
    defined[i] = warp.getDefined(source);
  }
  MatrixRows matrix;
  forEachByte(data, op.sources.size(),
              [&](unsigned lane, unsigned i, unsigned shift, unsigned row,
                  unsigned byte) {
                matrix.bytes[row][byte] = sources[i][lane] >> shift;
                if (defined[i] >> lane & 1)
                  matrix.defined[row] |= 1u << byte;
              });
  forEachMatrixRow(
      warp, op, op.sources.size() * data.rows,
      [&](unsigned row, SpaceAddress where) {
        llvm::MutableArrayRef<uint8_t> bytes =
            warp.store(op, row, where, data.bytes, /*alignment=*/16);
        if (bytes.empty())
          return;
        llvm::copy(matrix.bytes[row], bytes.begin());
        for (unsigned byte = 0; byte < 16; ++byte)
          if (!(matrix.defined[row] >> byte & 1))
            warp.forget(op, row, {where.space, where.address + byte}, 1);
      });
  return Step::Next;
}

/// Each lane has two values of row g, and gets two of column g.
static Step executeTranspose(Warp &warp, const Op &op, LaneMask active) {
  if (!checkWholeWarp(warp, op, active))
    return Step::Next;
  LaneValues scratch, values;
  const uint64_t *from = warp.read(op.sources[0], scratch);
  LaneMask definedFrom = warp.getDefined(op.sources[0]), defined = 0;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    unsigned column = lane / 4, row = lane % 4 * 2;
    unsigned shift = column % 2 * 16;
    // Row r, column c is half c % 2 of lane 4 r + c / 2.
    unsigned first = row * 4 + column / 2, second = first + 4;
    values[lane] = (from[first] >> shift & 0xFFFF) |
                   (from[second] >> shift & 0xFFFF) << 16;
    if ((definedFrom >> first & 1) && (definedFrom >> second & 1))
      defined |= LaneMask(1) << lane;
  }
  std::memcpy(warp.write(op.results[0]), values, sizeof(values));
  warp.define(op.results[0], active, defined);
  return Step::Next;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

static std::unique_ptr<MoveData> makeData(const Instruction &instruction) {
  auto data = std::make_unique<MoveData>();
  bool isTransposed = instruction.has("trans");
  bool isSix = instruction.has("b6x16_p32"),
       isFour = instruction.has("b4x16_p64");
  data->rows = instruction.has("m16n16") ? 16 : 8;
  data->parts = data->rows / 8;
  data->bits = isSix ? 6 : isFour ? 4 : 8;
  data->bytes = data->bits * 2;
  data->isGeneric = instruction.getModifier({"shared", "shared::cta"}).empty();
  data->place = instruction.has("m16n16")  ? getBytePlaceTransposed
                : instruction.has("m16n8") ? getStoredPlace
                : instruction.has("m8n16") ? getHalfPlace
                : isTransposed             ? getHalfPlaceTransposed
                                           : getHalfPlace;
  return data;
}

llvm::Error decodeMatrixMove(Decoder &decoder, Op &op) {
  const Instruction &instruction = *op.instruction;
  llvm::StringRef name = instruction.form->name;
  bool isStore = name == "stmatrix";
  op.convergence = Convergence::Warp;
  for (auto [i, operand] : llvm::enumerate(instruction.operands)) {
    if (operand.kind == OperandKind::Address) {
      llvm::Expected<AddressOperand> address = decoder.getAddress(operand);
      if (!address)
        return address.takeError();
      op.addresses.push_back(std::move(*address));
      continue;
    }
    for (const Operand &element : decoder.getElements(operand)) {
      if (i == 0 && !isStore) {
        llvm::Expected<Result> result = decoder.getResult(element);
        if (!result)
          return result.takeError();
        op.results.push_back(*result);
        continue;
      }
      llvm::Expected<Source> source = decoder.getSource(element, Type::B32);
      if (!source)
        return source.takeError();
      op.sources.push_back(*source);
    }
  }
  if (name == "movmatrix") {
    op.handler = executeTranspose;
    return llvm::Error::success();
  }
  op.data = makeData(instruction);
  op.handler = isStore ? executeStore : executeLoad;
  return llvm::Error::success();
}

} // namespace blockscale::emulator
