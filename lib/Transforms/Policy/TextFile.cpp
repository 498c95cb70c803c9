//===- TextFile.cpp - Files of JSON that passes read ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TextFile.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using blockscale::runtime::Status;

namespace blockscale {

runtime::Result<std::string> readText(llvm::StringRef path) {
  auto fail = [&](const llvm::Twine &message) {
    return Status::failure(("'" + path + "': " + message).str(),
                           runtime::ErrorKind::File);
  };
  llvm::sys::fs::file_status status;
  if (std::error_code code = llvm::sys::fs::status(path, status))
    return fail(code.message());
  if (status.type() != llvm::sys::fs::file_type::regular_file ||
      status.getSize() > kMaxTextBytes)
    return fail("expected a file of up to " + llvm::Twine(kMaxTextBytes) +
                " bytes");
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return fail(buffer.getError().message());
  return (*buffer)->getBuffer().str();
}

} // namespace blockscale
