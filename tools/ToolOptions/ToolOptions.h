//===- ToolOptions.h - Help and version of the tools ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TOOLS_TOOLOPTIONS_H
#define BLOCKSCALE_TOOLS_TOOLOPTIONS_H

namespace blockscale {

/// Makes `--version` print the tool's own version.
void setToolVersion(const char *toolName);

/// Takes what is registered so far, options of every LLVM backend, out of
/// `--help`: what remains are those that the tool registers afterwards.
/// `--help-hidden` shows them all.
void hideLibraryOptions();

} // namespace blockscale

#endif // BLOCKSCALE_TOOLS_TOOLOPTIONS_H
