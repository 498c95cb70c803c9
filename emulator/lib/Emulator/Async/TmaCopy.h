//===- TmaCopy.h - Bulk copies of tiles and bytes ---------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The data movement of bulk copies.
//
// What cp.async.bulk and cp.async.bulk.tensor move, done at once; when they do
// it, and what they signal, is the caller's. PTX ISA, sections "Bulk copy",
// "Tensor copy" and "Tensors" (tiled and im2col mode).
//
// A tile lies dense in shared memory, dimension 0 innermost, and each of its
// atoms at the swizzled address. What lies outside the tensor is filled in
// (loads) or left out (stores).
//
// A tile of an im2col map is a column of pixels, of some channels each. They
// are those of the bounding box of an image from the coordinates on, in steps
// of the element strides, and behind its end those of the next image's. Offsets
// move each of them, as the position in a filter does.
//
// Not modelled: im2col::w and im2col::w::128, interleaved layouts, and the
// element types that flush subnormal numbers.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_ASYNC_TMACOPY_H
#define BLOCKSCALE_LIB_EMULATOR_ASYNC_TMACOPY_H

#include "Emulator/Hazards/GlobalRaceLog.h"
#include "blockscale/Emulator/Memory.h"
#include "blockscale/Emulator/TensorMap.h"

namespace blockscale::emulator {

/// Bytes of a tile as its barrier counts them: of the whole box, whatever part
/// of it lies outside the tensor. Gaps that padded types leave do not count
/// (CUTLASS expects the bits of the values alone).
uint32_t getTransactionBytes(const TensorMap &map);

/// Bytes of shared memory that a tile takes, with these gaps.
uint32_t getTileBytes(const TensorMap &map);

/// Global to shared: the tile at `coordinates` (one of each dimension), to
/// `to`. Returns the bytes for complete_tx; none, and a fault, where the copy
/// is refused. `offsets` are those of an im2col load, one of each dimension of
/// an image; none are zeros.
std::optional<uint32_t> loadTile(const TensorMap &map,
                                 llvm::ArrayRef<int32_t> coordinates,
                                 const Memory &global, Memory &shared,
                                 uint64_t to, Faults &faults,
                                 llvm::ArrayRef<uint16_t> offsets = {});

/// Shared to global; false, and a fault, where the copy is refused.
bool storeTile(const TensorMap &map, llvm::ArrayRef<int32_t> coordinates,
               const Memory &shared, uint64_t from, Memory &global,
               Faults &faults);

/// .tile::gather4: `coordinates` are a column and four rows of a map of rank 2
/// whose box has one row; they become four rows of a tile.
std::optional<uint32_t> gatherRows(const TensorMap &map,
                                   llvm::ArrayRef<int32_t> coordinates,
                                   const Memory &global, Memory &shared,
                                   uint64_t to, Faults &faults);

/// .tile::scatter4: the way back.
bool scatterRows(const TensorMap &map, llvm::ArrayRef<int32_t> coordinates,
                 const Memory &shared, uint64_t from, Memory &global,
                 Faults &faults);

/// The bytes of global memory that the part of a tile in the tensor takes;
/// with `isByRows`, that of gather4 and scatter4. None where the copy would be
/// refused.
llvm::SmallVector<GlobalRange, 0>
getGlobalRanges(const TensorMap &map, llvm::ArrayRef<int32_t> coordinates,
                bool isByRows, llvm::ArrayRef<uint16_t> offsets = {});

/// cp.async.bulk of `size` bytes. Bit i of `byteMask` (.cp_mask) says whether
/// byte i of each 16 is copied. False, and a fault, where it is refused.
bool copyBulk(const Memory &source, uint64_t from, Memory &target, uint64_t to,
              uint32_t size, Faults &faults, uint16_t byteMask = 0xFFFF);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_ASYNC_TMACOPY_H
