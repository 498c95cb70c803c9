//===- PtxVectorsTest.cpp - Against what a GPU gave -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PtxVectors.h"

#include "Emulator/Arithmetic/FloatFormats.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

using namespace blockscale::emulator;
using llvm::StringRef;

namespace {

/// An instruction of the archive, over the rows of its set of sources.
struct Vectors {
  std::string instruction;
  NpyNumbers sources, results;

  /// The sources of a row; those beyond the set's are its last.
  void getRow(size_t row, uint64_t (&into)[3]) const {
    for (size_t i = 0; i < 3; ++i)
      into[i] =
          sources.values[std::min(i, sources.rows - 1) * sources.columns + row];
  }
};

} // namespace

/// Every f16 pattern v in the low half, 65535 - v in the high one.
static NpyNumbers makeAll16() {
  NpyNumbers numbers;
  for (uint64_t v = 0; v < 65536; ++v)
    numbers.values.push_back(v | (65535 - v) << 16);
  numbers.columns = numbers.values.size();
  return numbers;
}

static std::vector<Vectors> readVectors(bool isApprox) {
  std::vector<Vectors> result;
  for (const std::string &name : listNumbers("sm_90")) {
    auto [set, instruction] = StringRef(name).split("__");
    bool bounded =
        instruction.contains(".approx") || instruction.contains(".full");
    if (set == "in" || name == "meta" || bounded != isApprox)
      continue;
    result.push_back({instruction.str(),
                      set == "all16_1"
                          ? makeAll16()
                          : readNumbers("sm_90", "in__" + set.str()),
                      readNumbers("sm_90", name)});
  }
  return result;
}

/// cvt.rna.tf32 of NaN: sm_90 rounds its payload as a number's mantissa, even
/// to infinity; the emulator gives a NaN, as PTX says of `.satfinite`.
static bool isUnspecified(StringRef instruction, const uint64_t *sources) {
  return instruction.starts_with("cvt.rna") && isNaN<F32>(sources[0]);
}

// Bit for bit, of all instructions that PTX defines exactly.
TEST(PtxVectors, EqualTheGpu) {
  std::vector<Vectors> all = readVectors(/*isApprox=*/false);
  EXPECT_GT(all.size(), 900u);
  for (const Vectors &vectors : all) {
    std::vector<uint64_t> results =
        runInstruction(vectors.instruction, vectors.sources);
    if (results.size() < vectors.results.columns)
      continue;
    unsigned shown = 0;
    for (size_t row = 0; row < vectors.results.columns && shown < 3; ++row) {
      uint64_t sources[3];
      vectors.getRow(row, sources);
      uint64_t got = results[row], expected = vectors.results.values[row];
      if (got == expected || isUnspecified(vectors.instruction, sources))
        continue;
      ++shown;
      ADD_FAILURE() << std::hex << vectors.instruction << " of 0x" << sources[0]
                    << ", 0x" << sources[1] << ", 0x" << sources[2]
                    << ": expected 0x" << expected << ", but got 0x" << got;
    }
  }
}

//===----------------------------------------------------------------------===//
// .approx and .full
//===----------------------------------------------------------------------===//

namespace {
/// A difference that two values within the bounds of the ISA may have.
struct Bound {
  double relative, absolute;
};
} // namespace

static Bound getBound(StringRef instruction) {
  StringRef op = instruction.split('.').first;
  if (instruction.ends_with("f64"))
    return {0x1p-19, 0};
  if (op == "tanh")
    return {instruction.ends_with("bf16") ? 0x1p-7 : 0x1p-10, 0x1p-24};
  if (instruction.ends_with("f16"))
    return {instruction.ends_with("bf16") ? 0x1p-7 : 0x1p-9, 0x1p-24};
  if (op == "sin" || op == "cos")
    return {0, 0x1p-20};
  if (op == "lg2")
    return {0x1p-21, 0x1p-21};
  return {0x1p-21, 0};
}

/// sin and cos are bounded from -2 pi to 2 pi.
static bool isBounded(StringRef instruction, uint64_t source) {
  bool isPeriodic =
      instruction.starts_with("sin") || instruction.starts_with("cos");
  return !isPeriodic || !(std::fabs(asFloat(source)) > 6.28f);
}

template <typename F>
static bool isClose(Bound bound, uint64_t got, uint64_t expected) {
  if (isNaN<F>(expected) || isInfinite<F>(expected))
    return got == expected;
  double x = F::decode(got), y = F::decode(expected);
  // Results below the least normal are as coarse as its last bit.
  double least = std::ldexp(F::kLeastNormal, -int(F::kFormat.mantissaBits) + 1);
  return std::fabs(x - y) <=
         std::max({bound.relative * std::fabs(y), bound.absolute, least});
}

// Within the bounds of the ISA, and the same where the result is NaN or
// infinite.
TEST(PtxVectors, ApproximationsAreClose) {
  std::vector<Vectors> all = readVectors(/*isApprox=*/true);
  EXPECT_GT(all.size(), 20u);
  for (const Vectors &vectors : all) {
    StringRef instruction = vectors.instruction;
    std::vector<uint64_t> results =
        runInstruction(instruction, vectors.sources);
    ASSERT_GE(results.size(), vectors.results.columns) << vectors.instruction;
    Bound bound = getBound(instruction);
    unsigned shown = 0;
    for (size_t row = 0; row < vectors.results.columns && shown < 3; ++row) {
      uint64_t sources[3];
      vectors.getRow(row, sources);
      uint64_t got = results[row], expected = vectors.results.values[row];
      bool isCloseEnough =
          instruction.ends_with(".f64")    ? isClose<F64>(bound, got, expected)
          : instruction.ends_with(".f32")  ? isClose<F32>(bound, got, expected)
          : instruction.ends_with(".bf16") ? isClose<BF16>(bound, got, expected)
                                           : isClose<F16>(bound, got, expected);
      if (isCloseEnough || !isBounded(instruction, sources[0]))
        continue;
      ++shown;
      ADD_FAILURE() << std::hex << vectors.instruction << " of 0x" << sources[0]
                    << ", 0x" << sources[1] << ": expected 0x" << expected
                    << " or so, but got 0x" << got;
    }
  }
}
