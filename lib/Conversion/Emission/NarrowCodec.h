//===- NarrowCodec.h - Narrow floats as f32 ---------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Narrow floats are those of f4, f6 and f8 that the project has codecs for.
// Targets have no arithmetic on them, so that code is generated for their bits.
// Values here are scalars or vectors of one dimension.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_EMISSION_NARROWCODEC_H
#define BLOCKSCALE_LIB_CONVERSION_EMISSION_NARROWCODEC_H

#include "blockscale/Numerics/PlainCast.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace blockscale::emit {

/// Whether `type` is f4E2M1FN, f6E2M3FN, f6E3M2FN, f8E4M3FN, f8E5M2 or
/// f8E8M0FNU.
bool isNarrowFloat(mlir::Type type);

/// `element`, or the vector or tensor `type` with elements of it.
mlir::Type withElement(mlir::Type type, mlir::Type element);

/// The value of a narrow float, which f32 has exactly.
mlir::Value emitDecodeNarrow(mlir::ImplicitLocOpBuilder &b, mlir::Value x);

/// An f32 as a number of the narrow element type `type`, rounded as
/// Numerics/PlainCast.h says.
mlir::Value emitEncodeNarrow(mlir::ImplicitLocOpBuilder &b, mlir::Value x,
                             mlir::Type type,
                             numerics::RoundingDirection direction);

/// An f64 as an f32 that rounds to the same number of each narrower type as the
/// f64 does: where f32 does not have the number, the one of its two neighbours
/// with an odd last bit.
mlir::Value emitRoundToOdd(mlir::ImplicitLocOpBuilder &b, mlir::Value x);

/// A float as one of a narrower type among bf16, f16 and f32, in a direction.
/// Targets have the nearest number alone, which is moved to its neighbour where
/// it lies on the wrong side.
mlir::Value emitRoundInDirection(mlir::ImplicitLocOpBuilder &b, mlir::Value x,
                                 mlir::Type type,
                                 numerics::RoundingDirection direction);

} // namespace blockscale::emit

#endif // BLOCKSCALE_LIB_CONVERSION_EMISSION_NARROWCODEC_H
