//===- OutputPaths.cpp - Outputs that would replace inputs ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OutputPaths.h"

#include "blockscale/Runtime/FileOutput.h"

#include <algorithm>

using blockscale::runtime::Status;

namespace blockscale {

Status checkOutputPaths(const std::vector<std::string> &outputs,
                        const std::vector<std::string> &inputs,
                        const std::string &source, const std::string &what) {
  std::vector<runtime::FileIdentity> read(inputs.begin(), inputs.end());
  std::vector<runtime::FileIdentity> written(outputs.begin(), outputs.end());
  const runtime::FileIdentity run(source);
  auto contains = [](auto first, auto last, const runtime::FileIdentity &file) {
    return std::find(first, last, file) != last;
  };
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (contains(read.begin(), read.end(), written[i]))
      return Status::failure("expected --out to be another file than --in, "
                             "but got '" +
                             outputs[i] + "' for both");
    if (written[i] == run)
      return Status::failure("expected --out to be another file than the " +
                             what + ", but got '" + outputs[i] + "'");
    if (contains(written.begin(), written.begin() + i, written[i]))
      return Status::failure("expected each --out to be another file, but "
                             "got '" +
                             outputs[i] + "' twice");
  }
  return Status::success();
}

} // namespace blockscale
