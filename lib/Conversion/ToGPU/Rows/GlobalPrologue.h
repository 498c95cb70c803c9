//===- GlobalPrologue.h - Global values that kernels compute ----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWS_GLOBALPROLOGUE_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWS_GLOBALPROLOGUE_H

#include "DeviceEmission/KernelBuilder.h"
#include "blockscale/IR/GlobalChain.h"

namespace blockscale {

/// Emits an error where a kernel cannot have the chain of `quantize`: it runs
/// where there are elements, or none but at launch.
llvm::LogicalResult verifyChain(QuantizeOp quantize);

/// The code by which each CTA of a quantizer computes its global operand, as a
/// chain (GlobalChain.h) says.
class GlobalPrologue {
public:
  GlobalPrologue() = default;
  explicit GlobalPrologue(GlobalChain chain);

  bool isEmpty() const { return parts == 0 && !recipe; }
  /// Whether the chain begins with parts of an amax.
  bool hasParts() const { return parts != 0; }
  /// What the memory that the chain begins with is aligned to.
  int64_t getAlignment() const;
  /// The part of the kernel's name.
  std::string getName() const;

  struct Operands {
    /// A pointer to what the chain begins with.
    mlir::Value source;
    /// Pointers to what the amax and the scale are stored to, or null.
    mlir::Value storedAmax, storedScale;
  };

  struct Values {
    /// The global operand, and the scale of the chain, or its amax where it has
    /// no scale.
    emit::Lanes operand, scale;
  };
  /// The values of the chain, in each thread. All threads of the CTA, of
  /// `warps` warps, must come here; `thread` is the number of one, i32. `block`
  /// is that of the CTA among those of a matrix that compute the operand, an
  /// index.
  Values emit(KernelBuilder &b, emit::Lanes thread, emit::Lanes block,
              int64_t warps, const Operands &operands) const;

private:
  emit::Lanes emitAmax(KernelBuilder &b, emit::Lanes thread, int64_t warps,
                       mlir::Value source) const;

  /// The parts of the amax; 0 where it is one number in memory.
  int64_t parts = 0;
  /// The recipe of the global scale; nullopt where there is none.
  std::optional<numerics::Recipe> recipe;
  /// Whether the operand is the scale rather than the amax.
  bool givesScale = false;
  /// What the amax is to that recipe.
  GlobalKind kind = GlobalKind::Absent;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWS_GLOBALPROLOGUE_H
