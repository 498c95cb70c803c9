//===- Arrays.h - Executables and their arrays, from C ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CAPI_ARRAYS_H
#define BLOCKSCALE_LIB_CAPI_ARRAYS_H

#include "blockscale-c/Run.h"
#include "blockscale/Driver/Executable.h"

// C names.
// NOLINTBEGIN(readability-identifier-naming)

struct blockscale_executable {
  std::unique_ptr<blockscale::Executable> function;
  std::string target;
  /// Whether nothing was compiled to make it.
  bool isLoaded = false;
};

// NOLINTEND(readability-identifier-naming)

namespace blockscale::capi {

/// The arguments or the results of a function; nothing for other roles, and
/// where the pointer is null.
llvm::ArrayRef<Slot> getSlots(const blockscale_executable *executable,
                              blockscale_role role);

/// The array as the slot of that number has it. The failure names the function
/// and the slot. Where the array is read, its content must be right, too.
runtime::Result<ArrayView> convert(const blockscale_executable &executable,
                                   blockscale_role role, size_t number,
                                   const blockscale_array &array, bool isRead);

/// The arrays of a role, one for each slot.
runtime::Result<std::vector<ArrayView>>
convertAll(const blockscale_executable &executable, blockscale_role role,
           const blockscale_array *arrays, size_t count, bool isRead);

} // namespace blockscale::capi

#endif // BLOCKSCALE_LIB_CAPI_ARRAYS_H
