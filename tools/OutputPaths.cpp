//===- OutputPaths.cpp - Outputs that would replace inputs ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OutputPaths.h"

#include "blockscale/Runtime/FileOutput.h"

using blockscale::runtime::Status;

namespace blockscale {

Status checkOutputPaths(const std::vector<std::string> &outputs,
                        const std::vector<std::string> &inputs,
                        const std::string &source, const std::string &what) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (const std::string &input : inputs)
      if (runtime::sameFile(outputs[i], input))
        return Status::failure("expected --out to be another file than --in, "
                               "but got '" +
                               outputs[i] + "' for both");
    if (runtime::sameFile(outputs[i], source))
      return Status::failure("expected --out to be another file than the " +
                             what + ", but got '" + outputs[i] + "'");
    for (size_t j = 0; j < i; ++j)
      if (runtime::sameFile(outputs[i], outputs[j]))
        return Status::failure("expected each --out to be another file, but "
                               "got '" +
                               outputs[i] + "' twice");
  }
  return Status::success();
}

} // namespace blockscale
