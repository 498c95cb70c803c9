//===- LaunchModel.cpp - Why kernels are launched as they are -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchModel.h"
#include "blockscale/Analysis/Instructions.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace blockscale {

static constexpr StringLiteral kCategory = "gpu-launch";

/// Instructions that bring an element to shared memory and back.
static constexpr double kStageInstructions = 1;
/// Registers of a multiprocessor, the same for every chip (CUDA, "Compute
/// Capabilities").
static constexpr int64_t kRegisters = 65536;
static constexpr int64_t kRegisterBytes = 4;
/// Registers of a thread for what it loads, at least, and for all else, which
/// is what NVFP4 by arithmetic and a logistic function take without spills.
static constexpr int64_t kFewestWords = 32;
static constexpr int64_t kOtherRegisters = 24;
/// The share of the budget that a staged kernel may take: copies through shared
/// memory wait for each other, so that less of the rest overlaps.
static constexpr double kStageShare = 1.0 / 3;

LaunchModel::LaunchModel(const target::Chip &chip)
    : chip(chip), gpu(*target::findGpu(chip.gpu)) {}

int64_t LaunchModel::getThreadsWanted(int64_t threadBytes) const {
  return std::ceil(gpu.getBytesInFlight() / threadBytes);
}

int64_t LaunchModel::getBlocksOfRegisters(int64_t threads, int64_t registers) {
  return std::max<int64_t>(1, kRegisters / (threads * registers));
}

void LaunchModel::remarkThreads(Location loc, StringRef kernel, int64_t threads,
                                int64_t threadBytes) const {
  remark::analysis(
      loc,
      remark::RemarkOpts::name("threads").category(kCategory).function(kernel))
      << remark::add(
             "{0} threads a block; a thread loads {1} bytes before it uses "
             "them, so {2} on each multiprocessor keep {3} KB under way, which "
             "the memory of {4} takes",
             threads, threadBytes, getThreadsWanted(threadBytes),
             llvm::formatv("{0:f1}", gpu.getBytesInFlight() / 1000).str(),
             StringRef(gpu.name));
}

void LaunchModel::remarkStrip(Location loc, std::array<int64_t, 2> fragment,
                              std::array<int64_t, 2> warp) const {
  remark::analysis(loc,
                   remark::RemarkOpts::name("fragment").category(kCategory))
      << remark::add(
             "a thread has {0} rows of {1} columns, a warp {2} of {3}: its "
             "codes lie side by side in the data, and a warp has whole blocks "
             "and whole words of scales",
             fragment[0], fragment[1], warp[0], warp[1]);
}

QuantizeModel::QuantizeModel(const target::Chip &chip, numerics::Recipe recipe,
                             numerics::ElementFormat format,
                             int64_t blockElements, int64_t inputBytes,
                             int64_t producerOps)
    : LaunchModel(chip),
      bytes(inputBytes + numerics::getFormatInfo(format).storageBits / 8.0 +
            1.0 / static_cast<double>(blockElements)),
      instructions(estimateQuantizeInstructions(chip, recipe, format) +
                   static_cast<double>(producerOps)),
      budget(bytes * gpu.getInstructionsPerByte()), inputBytes(inputBytes) {}

int64_t QuantizeModel::getResidentBlocks(int64_t threads,
                                         int64_t threadBytes) const {
  if (isMemoryBound())
    return llvm::divideCeil(getThreadsWanted(threadBytes), threads);
  int64_t words = std::max(threadBytes / kRegisterBytes, kFewestWords);
  return getBlocksOfRegisters(threads, words + kOtherRegisters);
}

bool QuantizeModel::hasTimeToStage() const {
  return instructions + kStageInstructions <= budget * kStageShare;
}

void QuantizeModel::remarkFragment(Location loc, int64_t elements,
                                   int64_t otherElements, bool hasBuffer,
                                   bool isStaged) const {
  StringRef name(gpu.name);
  remark::analysis(loc,
                   remark::RemarkOpts::name("fragment").category(kCategory))
      << remark::add(
             "a thread has {0} elements, each {1} bytes to move and about {2} "
             "instructions, of which the memory of {3} leaves time for {4}; "
             "with "
             "{5} elements it would take {6} threads on each multiprocessor",
             elements, llvm::formatv("{0:f2}", bytes).str(),
             llvm::formatv("{0:f0}", instructions).str(), name,
             llvm::formatv("{0:f1}", budget).str(), otherElements,
             getThreadsWanted(otherElements * inputBytes));
  StringRef why =
      isStaged
          ? "through shared memory: neighbouring lanes access neighbouring "
            "vectors, for an instruction more"
      : hasBuffer
          ? "through shared memory where it is loaded, which all threads of "
            "the row wait for: lanes that are a fragment apart would keep the "
            "cache busy"
      : chip.hasWideGlobalAccess()
          ? "straight from its thread: accesses have 32 bytes, a whole sector"
      : hasTimeToStage()
          ? "straight from its thread: runs of fragments do not follow each "
            "other "
            "in whole vectors, or threads of a warp part"
          : "straight from its thread: instructions for a way through shared "
            "memory would take more than a third of the time";
  remark::analysis(loc, remark::RemarkOpts::name("staging").category(kCategory))
      << remark::add("a fragment is accessed {0}", why.str());
}

void QuantizeModel::remarkTiles(Location loc, int64_t fragments, int64_t rows,
                                int64_t stride) const {
  remark::analysis(loc, remark::RemarkOpts::name("tiles").category(kCategory))
      << remark::add(
             "a warp has {0} fragments of each of {1} rows, {2} apart: what it "
             "stores of a tile of scales lies together, where fragments of one "
             "row would have it scattered",
             fragments, rows, stride);
}

} // namespace blockscale
