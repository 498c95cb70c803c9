//===- Sizes.h - How large what C gives may be ------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CAPI_SIZES_H
#define BLOCKSCALE_LIB_CAPI_SIZES_H

#include <cstdint>

namespace blockscale::capi {

/// The largest number of rows or columns. Beyond it places and sizes in bytes
/// would not fit 64 bits.
inline constexpr int64_t kMaxSize = int64_t(1) << 31;

} // namespace blockscale::capi

#endif // BLOCKSCALE_LIB_CAPI_SIZES_H
