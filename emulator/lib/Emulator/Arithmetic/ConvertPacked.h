//===- ConvertPacked.h - Conversions of packed elements ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_ARITHMETIC_CONVERTPACKED_H
#define BLOCKSCALE_LIB_EMULATOR_ARITHMETIC_CONVERTPACKED_H

#include "Emulator/Arithmetic/Convert.h"

namespace blockscale::emulator {

/// findConvert where one of the types is packed; null for other types.
ConvertFunction findPackedConvert(Type to, Type from, unsigned sources);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_ARITHMETIC_CONVERTPACKED_H
