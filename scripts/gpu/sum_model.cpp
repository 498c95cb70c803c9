//===- sum_model.cpp - Sums of matrices by Numerics/TensorCoreSum.h -------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library for Python (sum_model.py), which compiles it where it runs.
//
//===----------------------------------------------------------------------===//

#include "blockscale/Numerics/TensorCoreSum.h"

#include <algorithm>
#include <thread>
#include <vector>

using namespace blockscale::numerics;

namespace {

/// Products that a search may suppose to be added at once.
static_assert(AdditionTerms<uint32_t>::kMost >= 32);

template <typename Visit>
void forEachRow(int64_t rows, Visit visit) {
  int64_t threads = std::max<int64_t>(1, std::thread::hardware_concurrency());
  threads = std::min(threads, rows);
  std::vector<std::thread> all;
  all.reserve(static_cast<size_t>(threads));
  for (int64_t thread = 0; thread < threads; ++thread)
    all.emplace_back([=] {
      for (int64_t row = thread; row < rows; row += threads)
        visit(row);
    });
  for (std::thread &thread : all)
    thread.join();
}

TensorCoreSum makeSum(const int32_t *numbers) {
  return {numbers[0],
          numbers[1],
          numbers[2],
          numbers[3],
          static_cast<AdditionOrder>(numbers[4]),
          SumSource::Measured};
}

} // namespace

/// Terms of codes, for a sum of such numbers: significands, exponents, and the
/// bits behind a point of the former, which it returns.
extern "C" int decodeTerms(const int32_t *numbers, int format,
                           const uint32_t *codes, int64_t count,
                           int32_t *significands, int32_t *exponents) {
  TensorCoreSum sum = makeSum(numbers);
  FactorFormat factors = static_cast<FactorFormat>(format);
  for (int64_t i = 0; i < count; ++i) {
    Term<uint32_t> term = decodeFactor(sum, factors, codes[i]);
    significands[i] = static_cast<int32_t>(term.significand);
    exponents[i] = static_cast<int32_t>(term.exponent);
  }
  return getTermBits(sum, factors, factors) / 2;
}

/// The numbers of a sum that is known: products, fraction bits, result bits,
/// least exponent, order. 0 where none is.
extern "C" int findSum(int tensorCores, int instruction, int format,
                       int32_t *numbers) {
  std::optional<TensorCoreSum> sum =
      getTensorCoreSum(static_cast<TensorCores>(tensorCores),
                       static_cast<MatrixInstruction>(instruction),
                       static_cast<FactorFormat>(format));
  if (!sum)
    return 0;
  numbers[0] = sum->products;
  numbers[1] = sum->fractionBits;
  numbers[2] = sum->resultBits;
  numbers[3] = sum->leastExponent;
  numbers[4] = static_cast<int>(sum->order);
  return 1;
}

/// The bits of f32 of all rows of A [rows, depth] times rows of B
/// [cols, depth], added to `starts` [rows, cols]. Operands are terms.
extern "C" void multiplyTerms(const int32_t *numbers, int termBits,
                              const int32_t *significandsA,
                              const int32_t *exponentsA,
                              const int32_t *significandsB,
                              const int32_t *exponentsB, int64_t rows,
                              int64_t cols, int64_t depth,
                              const uint32_t *starts, uint32_t *results) {
  TensorCoreSum sum = makeSum(numbers);
  auto getTerms = [depth](const int32_t *significands, const int32_t *exponents,
                          int64_t row) {
    return [significands = significands + row * depth,
            exponents = exponents + row * depth](int64_t k) {
      return Term<uint32_t>{static_cast<uint32_t>(significands[k]),
                            static_cast<uint32_t>(exponents[k])};
    };
  };
  forEachRow(rows, [=](int64_t row) {
    auto a = getTerms(significandsA, exponentsA, row);
    for (int64_t col = 0; col < cols; ++col)
      results[row * cols + col] = addProducts(
          sum, termBits, a, getTerms(significandsB, exponentsB, col), depth,
          starts[row * cols + col]);
  });
}
