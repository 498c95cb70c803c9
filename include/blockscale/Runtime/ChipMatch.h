//===- ChipMatch.h - Which PTX a GPU runs -----------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rule by which a GPU runs PTX or does not is that of NVIDIA's PTX manual,
// directive .target: PTX of sm_90 runs on devices of compute capability 9.0 and
// above, that of sm_90a on 9.0 alone, that of sm_100f on 10.0 and above of the
// family 10.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_RUNTIME_CHIPMATCH_H
#define BLOCKSCALE_RUNTIME_CHIPMATCH_H

#include "blockscale/Runtime/Result.h"

#include <string_view>
#include <vector>

namespace blockscale::runtime {

struct ComputeCapability {
  int major = 0;
  int minor = 0;

  /// The text of a capability, as "9.0".
  std::string format() const;
};

/// Whether PTX for `chip` runs there; false for a name of another form.
bool runsOn(std::string_view chip, ComputeCapability device);

/// The place of the chip that suits the device best: the newest of those whose
/// PTX runs there, one with features of its own before one without.
std::optional<size_t> chooseChip(const std::vector<std::string_view> &chips,
                                 ComputeCapability device);

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_CHIPMATCH_H
