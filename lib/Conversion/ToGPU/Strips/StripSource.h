//===- StripSource.h - Where the x of strips comes from ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The x of a strip kernel is one tensor, or several whose columns lie side by
// side, each in memory or computed by elementwise ops:
//
//   %x = tensor.concat dim(1) %a, %b
//
// A fragment is in one of these as a whole, so that a thread loads what one of
// them is computed from.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPSOURCE_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPSOURCE_H

#include "DeviceEmission/ElementSource.h"

namespace blockscale {

class StripSource {
public:
  struct Part {
    ElementSource source;
    /// The first column of x that is in the part, and how many are, if there
    /// are several parts.
    int64_t begin, columns;

    /// How many arguments of a kernel the part takes.
    size_t countArguments() const {
      return source.getInputs().size() + source.getKept().size();
    }
  };

  explicit StripSource(mlir::Value x);

  llvm::ArrayRef<Part> getParts() const { return parts; }
  /// The source of an x that is one tensor.
  const ElementSource &getWhole() const { return parts.front().source; }

  /// The part of a kernel's name that says what x is made by.
  std::string getName() const;
  /// About how many bytes of memory an element is read from.
  int64_t getBytes() const;

  /// Asserts that inputs have the sizes of their parts, and these as many rows.
  void emitSizeAsserts(LaunchSite &site) const;
  /// The operands of all parts, one after the other.
  llvm::SmallVector<mlir::Value> getOperands(const LaunchSite &site) const;
  void addSlots(KernelSignature &signature,
                llvm::MutableArrayRef<mlir::Value> operands, int64_t xBytes,
                int64_t widest) const;

private:
  llvm::SmallVector<Part, 1> parts;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPSOURCE_H
