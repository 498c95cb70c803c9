//===- SharedSwizzle.h - Rows that spread over banks ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of 16, 32, 64 .. bytes lie one after the other in shared memory, in
// pieces of 16 bytes. An access of so many bytes is done for eight threads at a
// time, whose pieces must have different places in the lines of 128 bytes that
// all banks make. So the pieces of a line are exchanged: piece p of a row is
// where p xor x was, and x counts lines.
//
// Rows of up to 128 bytes are what CU_TENSOR_MAP_SWIZZLE_32B, _64B and _128B
// make of a box (CUDA driver API, cuTensorMapEncodeTiled; PTX ISA, "Swizzling
// Modes"): bits 4 and up of an address, as many as number the pieces of a row,
// are exchanged by those from bit 7 on. Longer rows have x count rows.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_SHAREDSWIZZLE_H
#define BLOCKSCALE_NUMERICS_SHAREDSWIZZLE_H

#include "blockscale/Numerics/Warp.h"

namespace blockscale::numerics {

/// Bytes of a piece, and of a line.
inline constexpr int64_t kSwizzlePiece = 16;
inline constexpr int64_t kSwizzleLine = 128;

/// The number x that the pieces of row `row` are exchanged by. Rows have
/// `rowBytes` bytes.
template <typename Index>
constexpr Index getExchange(Index row, int64_t rowBytes) {
  constexpr int64_t linePieces = kSwizzleLine / kSwizzlePiece;
  int64_t pieces = rowBytes / kSwizzlePiece;
  if (pieces >= linePieces)
    return row & (linePieces - 1);
  return row >> countBits(linePieces / pieces) & (pieces - 1);
}

/// The byte where piece `piece` of a row is.
template <typename Index>
constexpr Index getSwizzledByte(Index row, Index piece, int64_t rowBytes) {
  return row * rowBytes + (piece ^ getExchange(row, rowBytes)) * kSwizzlePiece;
}

/// The place of piece `number` of all rows, in pieces.
template <typename Index>
constexpr Index getSwizzledPiece(Index number, int64_t rowBytes) {
  return number ^
         getExchange(number >> countBits(rowBytes / kSwizzlePiece), rowBytes);
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_SHAREDSWIZZLE_H
