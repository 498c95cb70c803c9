//===- Listing.h - What a bundle holds, as text -----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_TOOLS_LAUNCH_LISTING_H
#define BLOCKSCALE_TOOLS_LAUNCH_LISTING_H

#include "blockscale/Runtime/Bundle.h"

namespace blockscale::launch {

/// Targets, their functions, and the buffers of these; what does not differ
/// between targets is there for each of them.
std::string listBundle(const runtime::Bundle &bundle);

} // namespace blockscale::launch

#endif // BLOCKSCALE_TOOLS_LAUNCH_LISTING_H
