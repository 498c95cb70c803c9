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

using numerics::isPacked;

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

/// The elements memref[prefix, 0], memref[prefix, 1] and so on.
struct DecodedScaleRow {
  mlir::Value memref;
  Indices prefix;
};

/// values[i] = transform(f32 value of scale (row, first + i)), i < count, in a
/// row that is as long as one of allocateScaleRow.
void emitDecodeScaleRow(mlir::ImplicitLocOpBuilder &b,
                        const ScaleMatrix &scales, numerics::ScaleFormat format,
                        mlir::Value row, mlir::Value first, mlir::Value count,
                        const DecodedScaleRow &values,
                        llvm::function_ref<Lanes(Lanes)> transform);

/// values[i, j] = f32 value of scale (firstRow + i, first + j), i < rows,
/// j < count, in a buffer whose rows are as long as one of allocateScaleRow and
/// which has as many rows as a tile. In tiles, `firstRow` is the first row of
/// one.
void emitDecodeScaleRows(mlir::ImplicitLocOpBuilder &b,
                         const ScaleMatrix &scales,
                         numerics::ScaleFormat format, mlir::Value firstRow,
                         mlir::Value rows, mlir::Value first, mlir::Value count,
                         mlir::Value values);

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_BLOCKDECODER_H
