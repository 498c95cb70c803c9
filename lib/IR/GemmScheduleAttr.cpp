//===- GemmScheduleAttr.cpp - Schedule of a matrix product ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/IR/BlockScaleDialect.h"

using namespace mlir;

namespace blockscale {

LogicalResult
GemmScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                         int64_t rows, int64_t cols, int64_t stages,
                         int64_t band, int64_t ctas, int64_t multicast,
                         int64_t splits) {
  // gemm_schedule_c1: tiles that some tensor core has instructions for.
  std::pair<StringRef, int64_t> extents[] = {{"rows", rows}, {"cols", cols}};
  for (auto [name, extent] : extents)
    if (extent < 8 || extent > 256 || extent % 8 != 0)
      return emitError() << "expected " << name
                         << " to be a multiple of 8 from 8 to 256, but got "
                         << extent;
  // gemm_schedule_c2: positive counts.
  std::pair<StringRef, int64_t> counts[] = {
      {"stages", stages}, {"band", band}, {"ctas", ctas}, {"splits", splits}};
  for (auto [name, count] : counts)
    if (count < 1)
      return emitError() << "expected " << name << " to be positive, but got "
                         << count;
  // gemm_schedule_c3: pairs that share loads.
  int64_t most = rows == 256 ? 2 : 1;
  if (multicast < 1 || multicast > most)
    return emitError() << "expected multicast to be "
                       << (most == 1 ? "1" : "1 or 2") << ", but got "
                       << multicast;
  return success();
}

} // namespace blockscale
