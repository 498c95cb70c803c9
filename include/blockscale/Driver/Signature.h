//===- Signature.h - What an entry function takes and gives -----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_DRIVER_SIGNATURE_H
#define BLOCKSCALE_DRIVER_SIGNATURE_H

#include "blockscale/Driver/Arrays.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>
#include <string>
#include <vector>

namespace blockscale {

/// An argument or result in storage form.
struct Slot {
  /// The type in the source, for messages.
  std::string logicalType;
  runtime::NpyType type;
  /// Storage shape; ShapedType::kDynamic where any size is accepted.
  std::vector<int64_t> shape;
  /// Whether the value is a scalar rather than a tensor of rank 0.
  bool isScalar = false;
  /// Which scale operand of some op it is, if any: of blocks in one of two
  /// formats, or global.
  enum class Scale { None, E4M3, E8M0, Global };
  Scale scale = Scale::None;
  /// Whether the caller gives an argument away, so that the call may write to
  /// it.
  bool isWritable = false;
  /// The number of the argument whose memory a result may have. Compilation
  /// tells it, the module does not.
  std::optional<size_t> argument;
};

struct Signature {
  std::string name;
  std::vector<Slot> arguments;
  std::vector<Slot> results;
};

/// The function called `entry`, or the only public one where `entry` is empty.
/// Fails with the names to choose from.
runtime::Result<mlir::func::FuncOp> findEntry(mlir::ModuleOp module,
                                              const std::string &entry);

/// The entry's storage-form signature. Fails on types that no .npy holds.
runtime::Result<Signature> getSignature(mlir::func::FuncOp function);

/// Whether `array` can be passed as `slot`; the message says what differs. With
/// `isRead` its content, in the host's memory, must be no scale with a sign and
/// no truth value but 0 and 1.
runtime::Status checkArgument(const Slot &slot, const ArrayView &array,
                              bool isRead);

/// Whether `array`, which has passed checkArgument, has a value where it is a
/// scale of some op: no NaN.
runtime::Status checkScaleValues(const Slot &slot, const ArrayView &array);

} // namespace blockscale

#endif // BLOCKSCALE_DRIVER_SIGNATURE_H
