//===- GlobalChain.h - Where a global scale comes from ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_IR_GLOBALCHAIN_H
#define BLOCKSCALE_IR_GLOBALCHAIN_H

#include "blockscale/IR/BlockScaleDialect.h"

namespace blockscale {

/// What the number of parts of an amax is a multiple of, and the most of them.
inline constexpr int64_t kPartsUnit = 512;
inline constexpr int64_t kMostParts = 8192;

/// The ops that compute the one global value of a quantization from a number in
/// memory, or from the parts of an amax:
///
///   %a = blockscale.amax %parts : tensor<1x1024xf32> -> tensor<f32>
///   %g = blockscale.global_scale %a : tensor<f32>
///   %q, %s = blockscale.quantize %x global_scale(%g : tensor<f32>)
///
/// A quantization that takes the amax itself has the scale of that amax in its
/// chain as well, for those that decode what it makes:
///
///   %g = blockscale.global_scale %a recipe te : tensor<f32>
///   %q, %s = blockscale.quantize %x recipe te global_amax(%a : tensor<f32>)
///
/// They take no time beside the quantization, so its kernel may have them, too.
struct GlobalChain {
  /// The chain of `op`: its longest one, of ops that `isMember` holds for.
  static GlobalChain find(QuantizeOp op,
                          llvm::function_ref<bool(mlir::Operation *)> isMember);
  /// The chain of `op` in the block of `op`.
  static GlobalChain find(QuantizeOp op);

  bool isEmpty() const { return !amax && !scale; }
  /// The ops, each after what it reads.
  llvm::SmallVector<mlir::Operation *> getOps() const;
  /// The memory that the chain begins with.
  mlir::Value getSource();

  /// The largest of the parts; null where the source is the amax.
  AmaxOp amax;
  /// The scale of the amax; null where there is none.
  GlobalScaleOp scale;
  /// Whether the quantization takes the scale rather than the amax.
  bool takesScale = false;
};

/// Whether the x of `op` is the parts of an amax, as `amax_parts` makes them.
bool isAmaxOfParts(AmaxOp op);

/// Whether `type` is that of the parts of an amax.
bool isPartsType(mlir::RankedTensorType type);

/// The op whose chain an amax or global scale in the block of a kernel is part
/// of; null for others.
QuantizeOp findGlobalUser(mlir::Operation *op);

} // namespace blockscale

#endif // BLOCKSCALE_IR_GLOBALCHAIN_H
