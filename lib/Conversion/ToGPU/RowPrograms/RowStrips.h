//===- RowStrips.h - Norms that are quantized in strips ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row program whose elements are quantized in blocks of several rows, or
// several times. A CTA has all columns of the rows of a strip. It computes what
// these rows have one value of, which goes to shared memory, and then goes
// through the strips of its rows as the kernels of StripSpec.h do, where the
// elements are computed again.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWPROGRAMS_ROWSTRIPS_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWPROGRAMS_ROWSTRIPS_H

#include "RowEmitter.h"
#include "ToGPU/Strips/StripRequest.h"

namespace blockscale {

class RowStrips {
public:
  /// `quantizes` are those of the kernel at `site`.
  RowStrips(LaunchSite &site, llvm::ArrayRef<QuantizeOp> quantizes);

  /// Emits an error where a quantization has no such kernel.
  llvm::LogicalResult verify();

  /// What the rows are divided by: whole rows of a CTA, in row sets.
  RowLayout getLayout(int64_t rowElements, int64_t inputBytes) const;
  /// The elements that are stored where strips compute them.
  llvm::ArrayRef<mlir::Value> getKept() const {
    return request.source->getWhole().getKept();
  }
  bool isBatched() const { return request.shape->batched; }
  std::string getName() const;
  /// CTAs whose registers a multiprocessor has room for; 0 if the assembler is
  /// to decide.
  int64_t getResidentBlocks() const;

  /// Asserts the rules of run-time sizes, and adds the slots of results. Gives
  /// the number of CTAs for so many rows of a matrix.
  emit::Lanes prepareLaunch(KernelSignature &signature, emit::Lanes rows);

  /// Emits the work of a CTA. `emitPiece` computes the rows of a piece of the
  /// layout, an index, and `arguments` are those of the kernel.
  void emit(KernelBuilder &b, const RowLayout &layout,
            const mlir::IRMapping &arguments, emit::Lanes rows,
            emit::Lanes matrices,
            llvm::function_ref<void(emit::Lanes piece)> emitPiece);
  /// Stores what the strips need of the rows of a piece.
  void storeRows(KernelBuilder &b, RowEmitter &rows,
                 const RowPosition &position);

private:
  void emitRows(KernelBuilder &b, const RowLayout &layout, emit::Lanes block,
                llvm::function_ref<void(emit::Lanes)> emitPiece);
  llvm::SmallVector<mlir::Value> getInputs(KernelBuilder &b,
                                           const mlir::IRMapping &arguments,
                                           emit::Lanes block);

  LaunchSite &site;
  StripMember member;
  StripRequest request;
  StripOperands operands;
  /// Rows of a CTA.
  int64_t blockRows = 0;

  /// A value of each row: its array in shared memory.
  llvm::MapVector<mlir::Value, mlir::Value> shared;
  /// The first row of the piece among those of the CTA, i32.
  emit::Lanes pieceRow;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWPROGRAMS_ROWSTRIPS_H
