//===- ActivationAmaxes.h - Measured amaxes of activations ------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The largest absolute values that layers read on examples, by the names of
// the layers. Their file is a JSON object, {"layer.0.up": 3.5}, which
// `blockscale-report --write-amaxes` writes, and PyTorch's and checkpoints'
// `calibrate` measure, too. A policy names it (docs/Policy.md).
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TRANSFORMS_ACTIVATIONAMAXES_H
#define BLOCKSCALE_TRANSFORMS_ACTIVATIONAMAXES_H

#include "blockscale/Runtime/Json.h"
#include "blockscale/Runtime/JsonReader.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

namespace blockscale {

/// Positive and finite numbers by the names of layers.
using ActivationAmaxes = llvm::StringMap<float>;

/// Whether a global scale can be of that amax: it is positive and finite.
bool isAmax(double value);

/// The amax `value`, which messages call `what`; `reader` fails if it is no
/// positive and finite number of f32.
float readAmax(runtime::JsonReader &reader, const runtime::JsonValue &value,
               llvm::StringRef what);

/// The amaxes of a file. The message of a failure names the file, and the line
/// and column in it.
runtime::Result<ActivationAmaxes> readAmaxes(llvm::StringRef path);

/// The text of such a file, in the order of the names.
std::string writeAmaxes(const ActivationAmaxes &amaxes);

} // namespace blockscale

#endif // BLOCKSCALE_TRANSFORMS_ACTIVATIONAMAXES_H
