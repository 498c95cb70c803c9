//===- TensorCopy.cpp - Bulk copies of tiles ------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Async/TensorReduction.h"
#include "Emulator/Instructions/AsyncInstructions.h"

#include "Emulator/Async/TmaCopy.h"
#include "Emulator/Memory/AddressWindow.h"
#include "blockscale/Emulator/InstructionSet.h"

#include "llvm/Support/FormatVariadic.h"

namespace blockscale::emulator {

namespace {
struct TensorCopyData : OpData {
  enum Kind : uint8_t { Load, Store, Prefetch };
  Kind kind = Load;
  TensorMode mode = TensorMode::Tiled;
  /// Im2col offsets, which come first among the sources.
  unsigned offsets = 0;
  /// gather4 and scatter4.
  bool isByRows = false;
  /// "add" and the like of a reduction.
  llvm::StringRef reduction;
};

/// A tile of a tensor.
struct Tile {
  TensorMap map;
  llvm::SmallVector<int32_t, 5> coordinates;
  llvm::SmallVector<uint16_t, 3> offsets;
};
} // namespace

/// The map that an operand names; none, and reported, where it is not valid.
static std::optional<TensorMap> readMap(const Issuer &issuer,
                                        uint64_t address) {
  SpaceAddress where = resolveGeneric(address);
  llvm::SmallVector<Fault, 1> faults;
  if (where.space == StateSpace::Shared || where.space == StateSpace::Local) {
    issuer.report(
        {FaultKind::WrongSpace,
         llvm::formatv("expected a tensor map in global, constant or parameter "
                       "memory, but {0:x} is in .{1}",
                       address, getName(where.space)),
         "pass it as a .grid_constant parameter, or copy it to global memory "
         "with tensormap.cp_fenceproxy"});
    return std::nullopt;
  }
  llvm::ArrayRef<uint8_t> bytes =
      issuer.warp.load(issuer.op, issuer.lane, where, kTensorMapBytes, 64);
  if (bytes.empty())
    return std::nullopt;
  if (where.space == StateSpace::Global &&
      !issuer.getCluster().tensorMaps.isAcquired(address, issuer.getAgent()))
    issuer.report(
        {FaultKind::Hazard,
         llvm::formatv("missing fence.proxy.tensormap: {0} uses the tensor map "
                       "at {1:x}, which was edited since",
                       issuer.getName(), address),
         "execute fence.proxy.tensormap::generic.acquire on the map in the "
         "thread that uses it"});
  std::optional<TensorMap> map = decodeTensorMap(bytes, faults);
  if (map && !validate(*map, faults))
    map = std::nullopt;
  issuer.report(faults);
  return map;
}

static std::optional<uint32_t> loadTo(const Tile &tile, bool isByRows,
                                      const Memory &global, Memory &shared,
                                      uint64_t to, Faults &faults) {
  if (isByRows)
    return gatherRows(tile.map, tile.coordinates, global, shared, to, faults);
  return loadTile(tile.map, tile.coordinates, global, shared, to, faults,
                  tile.offsets);
}

static void issueTensorLoad(const Issuer &issuer, const Tile &tile,
                            CopyTarget named, std::optional<uint16_t> mask) {
  if (!checkOwnTarget(issuer, named))
    return;
  bool isByRows = issuer.op.get<TensorCopyData>().isByRows;
  uint64_t tiles = isByRows ? 4 : 1;
  auto bytes = uint32_t(tiles * getTransactionBytes(tile.map));
  issuer.noteGlobalLoad(
      getGlobalRanges(tile.map, tile.coordinates, isByRows, tile.offsets),
      /*isAsync=*/true);
  bool isRead = true;
  for (const CopyTarget &target : getTargets(issuer, named, mask)) {
    Cta *cta = issuer.findCta(target.to);
    if (!cta)
      continue;
    AsyncWork work;
    work.writes = {{target.to, tiles * getTileBytes(tile.map)}};
    pushLoad(issuer, std::move(work), target, bytes, [=](Faults &faults) {
      const Memory &global = issuer.getCluster().getContext().device.global;
      loadTo(tile, isByRows, global, cta->getShared(), target.to, faults);
      countBytes(issuer, StateSpace::Global, StateSpace::Shared, bytes, isRead);
    });
    isRead = false;
  }
}

static void issueTensorStore(const Issuer &issuer, const Tile &tile,
                             uint64_t from) {
  const auto &data = issuer.op.get<TensorCopyData>();
  llvm::SmallVector<Fault, 1> faults;
  if (!isOwnShared(from, issuer.warp.getCta().getRank(), faults)) {
    issuer.report(faults);
    return;
  }
  uint64_t tiles = data.isByRows ? 4 : 1;
  AsyncWork work;
  work.reads = {{from, tiles * getTileBytes(tile.map)}};
  work.globalWrites =
      getGlobalRanges(tile.map, tile.coordinates, data.isByRows);
  pushStore(issuer, std::move(work), [=, &data](Faults &faults) {
    LaunchContext &context = issuer.getCluster().getContext();
    Memory &global = context.device.global;
    const Memory &shared = issuer.warp.getCta().getShared();
    if (!data.reduction.empty()) {
      std::lock_guard<std::mutex> lock(context.globalAtomics);
      reduceTile(data.reduction, tile.map, tile.coordinates, shared, from,
                 global, faults);
    } else {
      (data.isByRows ? scatterRows : storeTile)(tile.map, tile.coordinates,
                                                shared, from, global, faults);
    }
    countBytes(issuer, StateSpace::Shared, StateSpace::Global,
               tiles * getTransactionBytes(tile.map));
  });
}

/// Whether the map is of the instruction's mode; a fault where it is not.
static bool checkMode(const Issuer &issuer, const TensorMap &map) {
  bool isIm2col = issuer.op.get<TensorCopyData>().mode == TensorMode::Im2col;
  if (isIm2col == (map.mode == TensorMode::Im2col))
    return true;
  issuer.report(
      {FaultKind::TensorMap,
       llvm::formatv("expected a tensor map of {0} mode, but got one of {1} "
                     "mode",
                     isIm2col ? "im2col" : "tiled",
                     isIm2col ? "tiled" : "im2col"),
       "encode it with cuTensorMapEncodeIm2col for .im2col, and with "
       "cuTensorMapEncodeTiled for .tile"});
  return false;
}

static Step runTensorCopy(Warp &warp, const Op &op, LaneMask active) {
  const auto &data = op.get<TensorCopyData>();
  bool isLoad = data.kind == TensorCopyData::Load;
  const AddressOperand &map = op.addresses[isLoad ? 1 : 0];
  LaneValues maps, shared, barriers, masks;
  LaneMask known = warp.readAddresses(op, map, active, maps);
  if (data.kind != TensorCopyData::Prefetch)
    known = warp.readAddresses(op, op.addresses[isLoad ? 0 : 1], known, shared);
  if (isLoad)
    known = warp.readAddresses(op, op.addresses[2], known, barriers);
  for (const Source &coordinate : map.coordinates)
    known = warp.require(op, coordinate, known, "the coordinate");
  llvm::ArrayRef<Source> sources = op.sources;
  llvm::ArrayRef<Source> offsets = sources.take_front(data.offsets);
  llvm::ArrayRef<Source> others = sources.drop_front(data.offsets);
  for (const Source &offset : offsets)
    known = warp.require(op, offset, known, "the offset");
  const uint64_t *mask = nullptr;
  if (!others.empty()) {
    known = warp.require(op, others[0], known, "the mask");
    mask = warp.read(others[0], masks);
  }
  for (unsigned lane : lanesOf(known)) {
    Issuer issuer{warp, op, lane};
    Tile tile;
    for (const Source &coordinate : map.coordinates) {
      LaneValues scratch;
      tile.coordinates.push_back(int32_t(warp.read(coordinate, scratch)[lane]));
    }
    for (const Source &offset : offsets) {
      LaneValues scratch;
      tile.offsets.push_back(uint16_t(warp.read(offset, scratch)[lane]));
    }
    std::optional<TensorMap> found = readMap(issuer, maps[lane]);
    if (!found || !checkMode(issuer, *found))
      continue;
    tile.map = *found;
    uint64_t address = shared[lane] & 0xFFFFFFFF;
    if (isLoad)
      issueTensorLoad(issuer, tile, {address, barriers[lane] & 0xFFFFFFFF},
                      mask ? std::optional<uint16_t>(mask[lane])
                           : std::nullopt);
    else if (data.kind == TensorCopyData::Store)
      issueTensorStore(issuer, tile, address);
  }
  return Step::Next;
}

/// The dimensions that .1d to .5d name.
static unsigned getRank(const Instruction &instruction) {
  return instruction.getModifier({"1d", "2d", "3d", "4d", "5d"})[0] - '0';
}

llvm::Error decodeTensorCopy(Decoder &decoder, Op &op) {
  const Instruction &instruction = *op.instruction;
  llvm::StringRef name = instruction.form->name;
  if (llvm::StringRef mode =
          instruction.getModifier({"im2col::w", "im2col::w::128"});
      !mode.empty())
    return makeError(instruction.location,
                     "copies with ." + mode + " are not modelled");
  auto data = std::make_unique<TensorCopyData>();
  data->kind = name == "cp.async.bulk.prefetch.tensor"
                   ? TensorCopyData::Prefetch
               : instruction.has("bulk_group") ? TensorCopyData::Store
                                               : TensorCopyData::Load;
  data->isByRows =
      instruction.has("tile::gather4") || instruction.has("tile::scatter4");
  if (name.starts_with("cp.reduce"))
    data->reduction = instruction.getModifier(
        {"add", "min", "max", "inc", "dec", "and", "or", "xor"});
  if (llvm::Error error = addOperands(decoder, op, 0, Type::B32))
    return error;
  if (instruction.has("im2col") || instruction.has("im2col_no_offs"))
    data->mode = TensorMode::Im2col;
  for (const Operand &operand : instruction.operands)
    if (operand.kind == OperandKind::Vector)
      data->offsets = decoder.getElements(operand).size();
  if (unsigned expected =
          instruction.has("im2col") ? getRank(instruction) - 2 : 0;
      data->offsets != expected)
    return makeError(instruction.location,
                     llvm::formatv("expected {0} im2col offsets, two less than "
                                   "dimensions, but got {1}",
                                   expected, data->offsets));
  // The offsets and the CTAs of a multicast stay; a cache policy means nothing.
  op.sources.truncate(data->offsets +
                      (instruction.has("multicast::cluster") ? 1 : 0));
  op.handler = runTensorCopy;
  op.data = std::move(data);
  return llvm::Error::success();
}

} // namespace blockscale::emulator
