//===- WarpMma.cpp - Products of a warp (mma.sync) ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Matrix multiply-accumulate using mma instruction", "Block Scaling
// for mma.sync" and "mma.sp". Arithmetic as ProductSums.h has it; f64 adds one
// product after the other, each rounded once with its sum.
//
// Metadata of a sparse A (SparseOperand.h), modelled for shapes to which all
// lanes contribute: lane 4 g + t has those of row g + 8 (t % 2), for the half
// t / 2 of K, four bits for each chunk.
//
// Scale factors, with g = row % 8 or column: of row r of A they are in lane
// 4 g + 2 thread-id-a + r / 8, of column c of B in lane 4 c + thread-id-b, from
// byte byte-id of the register on, one byte for each block along K.
//
//===----------------------------------------------------------------------===//

#include "Emulator/Instructions/MatrixInstructions.h"

#include "Emulator/Machine/Cluster.h"
#include "Emulator/Matrix/SparseOperand.h"
#include "blockscale/Emulator/InstructionSet.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

namespace blockscale::emulator {

namespace {
struct WarpMmaData : OpData {
  MatrixShape shape;
  FragmentFormat a, b;
  AccumulatorFormat accumulator;
  /// Registers of each; those of C are behind A's and B's among the sources.
  unsigned countA = 0, countB = 0, countC = 0;
  /// Scale factors of a row; 0 for none.
  unsigned scales = 0;
  ScaleFormat scaleFormat = ScaleFormat::UE8M0;
  /// The values of K that a chunk of a sparse A has; 0 where A is dense.
  unsigned sparseChunk = 0;
  MetadataOrder metadataOrder = MetadataOrder::Any;
};

/// The lanes' values of each source.
using MmaSources = llvm::SmallVector<const uint64_t *, 20>;

/// Which of the lanes and bytes hold the scale factors of an operand.
struct ScaleSelector {
  const uint64_t *words;
  unsigned byte;
  unsigned thread;
};
} // namespace

/// Reads all sources; an undefined one is a fault.
static MmaSources readWarpSources(Warp &warp, const Op &op, LaneMask active) {
  MmaSources sources;
  for (const Source &source : op.sources) {
    warp.require(op, source, active, "an operand of mma");
    // Registers and immediates: nothing needs the scratch.
    LaneValues scratch;
    sources.push_back(warp.read(source, scratch));
  }
  return sources;
}

//===----------------------------------------------------------------------===//
// Scale factors
//===----------------------------------------------------------------------===//

/// The scale data and its selectors {byte-id, thread-id}, from source `first`
/// on; none, and a fault, where the selectors are not valid.
static std::optional<ScaleSelector> getSelector(Warp &warp, const Op &op,
                                                const MmaSources &sources,
                                                unsigned first, bool isA) {
  const auto &data = op.get<WarpMmaData>();
  ScaleSelector selector = {
      sources[first], static_cast<unsigned>(sources[first + 1][0] & 0xFFFF),
      static_cast<unsigned>(sources[first + 2][0] & 0xFFFF)};
  unsigned threads = isA ? 2 : 4;
  if (selector.byte % data.scales == 0 && selector.byte < 4 &&
      selector.thread < threads)
    return selector;
  warp.report(op, 0,
              Fault{FaultKind::Descriptor,
                    llvm::formatv("expected byte-id and thread-id of {0} to be "
                                  "a multiple of {1} below 4, and below {2}, "
                                  "but got {3} and {4}",
                                  isA ? "A" : "B", data.scales, threads,
                                  selector.byte, selector.thread),
                    "select whole groups of scale bytes, and for A one half "
                    "of each four threads"});
  return std::nullopt;
}

/// Multiplies a row or column by the factors of its blocks.
static void scaleRow(const WarpMmaData &data, double *values, unsigned k,
                     uint64_t word, unsigned byte) {
  unsigned block = k / data.scales;
  for (unsigned i = 0; i < data.scales; ++i) {
    double factor = decodeScale(word >> 8 * (byte + i), data.scaleFormat);
    for (unsigned j = 0; j < block; ++j)
      *values++ *= factor;
  }
}

static bool applyWarpScales(Warp &warp, const Op &op, const MmaSources &sources,
                            MmaMatrix &matrix, unsigned first, bool isA) {
  const auto &data = op.get<WarpMmaData>();
  std::optional<ScaleSelector> selector =
      getSelector(warp, op, sources, first, isA);
  if (!selector)
    return false;
  unsigned rows = isA ? data.shape.m : data.shape.n;
  bool isTold = false;
  for (unsigned row = 0; row < rows; ++row) {
    unsigned lane = row % 8 * 4 + selector->thread * (isA ? 2 : 1) + row / 8;
    uint64_t word = selector->words[lane];
    for (unsigned i = 0; i < data.scales && !isTold; ++i) {
      auto byte = static_cast<uint8_t>(word >> 8 * (selector->byte + i));
      if (!isBadScale(byte, data.scaleFormat))
        continue;
      llvm::SmallVector<Fault, 1> faults;
      reportBadScale(row, byte, data.scaleFormat, faults);
      warp.report(op, lane, faults);
      isTold = true;
    }
    scaleRow(data, matrix.row(row), matrix.k, word, selector->byte);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

/// Gives the values of a sparse A their places, by the lanes' metadata.
static void placeWarpValues(Warp &warp, const Op &op, const uint64_t *words,
                            MmaMatrix &a) {
  const auto &data = op.get<WarpMmaData>();
  unsigned chunks = a.k * 2 / data.sparseChunk;
  SparseMetadata metadata;
  for (unsigned row = 0; row < data.shape.m; ++row)
    for (unsigned i = 0; i < chunks; ++i) {
      unsigned lane = row % 8 * 4 + row / 8 + i / 8 * 2;
      metadata.push_back(words[lane] >> i % 8 * 4 & 15);
    }
  llvm::SmallVector<Fault, 1> faults;
  placeValues(a, data.sparseChunk, metadata, data.metadataOrder,
              FaultKind::Descriptor, faults);
  warp.report(op, 0, faults);
}

static Step executeMma(Warp &warp, const Op &op, LaneMask active) {
  const auto &data = op.get<WarpMmaData>();
  if (!checkWholeWarp(warp, op, active))
    return Step::Next;
  ++warp.getCluster().getProfile().mmas;
  MmaSources sources = readWarpSources(warp, op, active);
  FragmentRegisters registers = sources;
  MmaMatrix a, b;
  readFragmentA(registers.take_front(data.countA), data.a, data.shape.m, a);
  readFragmentB(registers.slice(data.countA, data.countB), data.b, b);
  FragmentRegisters c = registers.slice(data.countA + data.countB, data.countC);
  unsigned scales = data.countA + data.countB + data.countC;
  if (data.sparseChunk != 0)
    placeWarpValues(warp, op, sources[scales++], a);
  if (data.scales &&
      (!applyWarpScales(warp, op, sources, a, scales, /*isA=*/true) ||
       !applyWarpScales(warp, op, sources, b, scales + 3, /*isA=*/false)))
    return Step::Next;
  ProductSums sums;
  if (!data.scales && data.sparseChunk == 0)
    sums.law = getSumLaw(warp.getCluster().getContext().sums, MmaUnit::Warp,
                         data.a.format, data.b.format, data.accumulator.type);
  sums.a = data.a.format;
  sums.b = data.b.format;
  sums.accumulator = data.accumulator;
  std::vector<uint32_t> codes = sums.run(
      a, b, readAccumulators(c, data.accumulator, data.shape.m, data.shape.n));
  for (auto [i, result] : llvm::enumerate(op.results)) {
    getAccumulators(codes, data.accumulator, data.shape.n, i,
                    warp.write(result));
    warp.define(result, active);
  }
  return Step::Next;
}

/// m8n8k4: lane 4 g + t has A[g][t], B[t][g] and C[g][2t], C[g][2t + 1].
static Step executeMmaF64(Warp &warp, const Op &op, LaneMask active) {
  if (!checkWholeWarp(warp, op, active))
    return Step::Next;
  ++warp.getCluster().getProfile().mmas;
  MmaSources sources = readWarpSources(warp, op, active);
  LaneValues values[2];
  for (unsigned lane = 0; lane < kWarpSize; ++lane)
    for (unsigned i = 0; i < 2; ++i) {
      FragmentPlace place = getAccumulatorPlace(lane, i);
      double sum = llvm::bit_cast<double>(sources[2 + i][lane]);
      for (unsigned k = 0; k < 4; ++k)
        sum = std::fma(llvm::bit_cast<double>(sources[0][place.row * 4 + k]),
                       llvm::bit_cast<double>(sources[1][place.column * 4 + k]),
                       sum);
      values[i][lane] = llvm::bit_cast<uint64_t>(sum);
    }
  for (unsigned i = 0; i < 2; ++i) {
    std::memcpy(warp.write(op.results[i]), values[i], sizeof(LaneValues));
    warp.define(op.results[i], active);
  }
  return Step::Next;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

/// PTX ISA, "mma": kinds that mix formats keep each value in eight bits, those
/// of four bits in the middle of them.
static FragmentFormat getWarpFormat(MmaFormat format, bool isMixed) {
  switch (format) {
  case MmaFormat::F16:
  case MmaFormat::BF16:
    return {format, 16};
  case MmaFormat::TF32:
    return {format, 32};
  case MmaFormat::E2M1:
    return isMixed ? FragmentFormat{format, 8, 2} : FragmentFormat{format, 4};
  default:
    return {format, 8};
  }
}

static void setScales(const Instruction &instruction, llvm::StringRef type,
                      WarpMmaData &data) {
  data.scaleFormat = type == "ue4m3" ? ScaleFormat::UE4M3 : ScaleFormat::UE8M0;
  data.scales = instruction.has("scale_vec::4X")    ? 4
                : instruction.has("kind::mxf8f6f4") ? 1
                                                    : 2;
}

/// Metadata and the selector of a sparse A; the selector, which has one value
/// where all lanes have metadata, does not stay among the sources.
static llvm::Error setSparsity(const Instruction &instruction, bool isPacked,
                               Op &op, WarpMmaData &data) {
  data.sparseChunk = getSparseChunk(data.a.format, isPacked);
  data.metadataOrder = instruction.has("sp::ordered_metadata")
                           ? MetadataOrder::Ascending
                           : MetadataOrder::Any;
  const Operand &selector = instruction.operands[5];
  if (selector.value != 0)
    return makeError(
        selector.location,
        llvm::formatv("expected a sparsity selector of 0 for {0}, to which all "
                      "threads contribute metadata, but got {1}",
                      instruction.getSpelling(), selector.value));
  op.sources.erase(op.sources.begin() + data.countA + data.countB +
                   data.countC + 1);
  return llvm::Error::success();
}

llvm::Error decodeWarpMma(Decoder &decoder, Op &op) {
  const Instruction &instruction = *op.instruction;
  llvm::SmallVector<llvm::StringRef, 5> types = getElementTypes(instruction);
  op.convergence = Convergence::Warp;
  auto data = std::make_unique<WarpMmaData>();
  unsigned *counts[] = {&data->countA, &data->countB, &data->countC};
  for (auto [i, operand] : llvm::enumerate(instruction.operands)) {
    llvm::ArrayRef<Operand> elements = decoder.getElements(operand);
    if (i >= 1 && i <= 3)
      *counts[i - 1] = elements.size();
    for (const Operand &element : elements) {
      if (i == 0) {
        llvm::Expected<Result> result = decoder.getResult(element);
        if (!result)
          return result.takeError();
        op.results.push_back(*result);
        continue;
      }
      Type type = types[0] == "f64" ? Type::F64 : Type::B32;
      llvm::Expected<Source> source = decoder.getSource(element, type);
      if (!source)
        return source.takeError();
      op.sources.push_back(*source);
    }
  }
  data->shape = getMatrixShape(instruction);
  op.handler = executeMma;
  if (types[0] == "f64") {
    op.handler = executeMmaF64;
  } else {
    bool isMixed =
        !instruction.getModifier({"kind::f8f6f4", "kind::mxf8f6f4"}).empty();
    data->accumulator = {*findAccumulator(types[0]),
                         instruction.has("satfinite")};
    data->a = getWarpFormat(*findMmaFormat(types[1]), isMixed);
    data->b = getWarpFormat(*findMmaFormat(types[2]), isMixed);
    if (instruction.has("block_scale"))
      setScales(instruction, types.back(), *data);
    if (instruction.has("sp") || instruction.has("sp::ordered_metadata")) {
      bool isPacked =
          !instruction.getModifier({"kind::mxf4", "kind::mxf4nvf4"}).empty();
      if (llvm::Error error = setSparsity(instruction, isPacked, op, *data))
        return error;
    }
  }
  op.data = std::move(data);
  return llvm::Error::success();
}

} // namespace blockscale::emulator
