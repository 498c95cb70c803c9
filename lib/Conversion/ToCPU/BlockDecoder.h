//===- BlockDecoder.h - Code that reads data and scales ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_BLOCKDECODER_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_BLOCKDECODER_H

#include "Emission/LoopEmitter.h"
#include "ScaleAddress.h"
#include "blockscale/Numerics/Format.h"

namespace blockscale::cpu {

using namespace emit;

/// f32 values of `count` codes of a row, from column `col` on. Packed codes
/// start at an even column.
Lanes emitLoadElements(mlir::ImplicitLocOpBuilder &b, mlir::Value data,
                       numerics::ElementFormat format, mlir::ValueRange row,
                       mlir::Value col, int64_t count);

/// The f32 value of one code, in any column.
Lanes emitLoadElement(mlir::ImplicitLocOpBuilder &b, mlir::Value data,
                      numerics::ElementFormat format, mlir::ValueRange row,
                      mlir::Value col);

/// A buffer of f32 for the scales of a row of up to `count`.
mlir::Value allocateScaleRow(mlir::ImplicitLocOpBuilder &b, mlir::Value count);

/// values[i] = transform(f32 value of scale (row, first + i)), i < count, in a
/// buffer of allocateScaleRow.
void emitDecodeScaleRow(mlir::ImplicitLocOpBuilder &b,
                        const ScaleMatrix &scales, numerics::ScaleFormat format,
                        mlir::Value row, mlir::Value first, mlir::Value count,
                        mlir::Value values,
                        llvm::function_ref<Lanes(Lanes)> transform = nullptr);

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_BLOCKDECODER_H
