//===- Comparison.cpp - How far two tensors are apart ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Checkpoint/Comparison.h"

#include "Elements.h"
#include "Parallel.h"

#include <cmath>

using namespace blockscale::checkpoint;

/// Elements that are on the stack as f32.
static constexpr int64_t kStep = 1024;
/// Elements that are added up together.
static constexpr int64_t kCompareGrain = kStep * 64;
/// Sums that are kept side by side, as vectors are.
static constexpr int kLanes = 8;

/// Compares `count` elements, a multiple of kLanes, of finite numbers. Returns
/// false, with nothing changed, where one is not finite.
static bool addFinite(const float *reference, const float *values,
                      int64_t count, Difference &to) {
  double squares[kLanes] = {}, differences[kLanes] = {}, largest[kLanes] = {};
  uint32_t different[kLanes] = {};
  for (int64_t i = 0; i < count; i += kLanes)
    for (int lane = 0; lane < kLanes; ++lane) {
      double x = reference[i + lane], difference = x - values[i + lane];
      squares[lane] += x * x;
      differences[lane] += difference * difference;
      double magnitude = std::fabs(difference);
      largest[lane] = largest[lane] < magnitude ? magnitude : largest[lane];
      different[lane] += difference != 0;
    }
  double sum = 0, differenceSum = 0, most = 0;
  uint64_t number = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    sum += squares[lane];
    differenceSum += differences[lane];
    most = std::max(most, largest[lane]);
    number += different[lane];
  }
  // A NaN or an infinity is in the sums, whose finite terms stay below 2^267.
  if (!std::isfinite(sum + differenceSum))
    return false;
  to.referenceSquares += sum;
  to.differenceSquares += differenceSum;
  to.different += number;
  if (most > to.largest)
    to.largest = most;
  return true;
}

/// The same for any number of any elements.
static void addAny(const float *reference, const float *values, int64_t count,
                   Difference &to) {
  for (int64_t i = 0; i < count; ++i) {
    double x = reference[i], y = values[i];
    if (x == y || (std::isnan(x) && std::isnan(y))) {
      to.referenceSquares += std::isfinite(x) ? x * x : 0;
      continue;
    }
    ++to.different;
    if (!std::isfinite(x) || !std::isfinite(y)) {
      ++to.incomparable;
      continue;
    }
    to.referenceSquares += x * x;
    to.differenceSquares += (x - y) * (x - y);
    to.largest = std::max(to.largest, std::fabs(x - y));
  }
}

/// The first element with the largest difference.
static int64_t findDifference(const float *reference, const float *values,
                              int64_t count, double largest) {
  for (int64_t i = 0; i < count; ++i)
    if (std::fabs(static_cast<double>(reference[i]) - values[i]) == largest)
      return i;
  return -1;
}

Difference blockscale::checkpoint::compareTensors(ElementType referenceType,
                                                  const void *reference,
                                                  ElementType type,
                                                  const void *elements,
                                                  int64_t count) {
  std::vector<Difference> parts = mapChunks<Difference>(
      count, kCompareGrain, [&](int64_t begin, int64_t end) {
        Difference part;
        float expected[kStep], values[kStep];
        for (int64_t first = begin; first < end; first += kStep) {
          int64_t step = std::min(kStep, end - first);
          loadElements(referenceType, reference, first, step, expected);
          loadElements(type, elements, first, step, values);
          double before = part.largest;
          int64_t whole = step / kLanes * kLanes;
          if (!addFinite(expected, values, whole, part))
            addAny(expected, values, whole, part);
          addAny(expected + whole, values + whole, step - whole, part);
          if (part.largest > before)
            part.largestIndex =
                first + findDifference(expected, values, step, part.largest);
        }
        return part;
      });
  Difference total;
  for (const Difference &part : parts) {
    total.different += part.different;
    total.incomparable += part.incomparable;
    total.referenceSquares += part.referenceSquares;
    total.differenceSquares += part.differenceSquares;
    if (part.largest > total.largest) {
      total.largest = part.largest;
      total.largestIndex = part.largestIndex;
    }
  }
  total.count = static_cast<uint64_t>(count);
  return total;
}
