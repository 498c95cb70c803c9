//===- Sink.h - Where the values of an epilogue go --------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sink of an epilogue takes the values that products and elementwise ops
// give, a fragment of a row in a thread, and writes memory: it stores them, or
// is an op as `quantize`, which takes fragments of 32 columns. A kernel of
// products knows its sink by this interface alone. A new op takes
//
//  - a row of the table in Analysis/Epilogue.cpp: when it can be a sink;
//  - a class in a file of its own, as QuantizeSink.cpp;
//  - its place in the list at the end of this file.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_SINK_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_SINK_H

#include "DeviceEmission/ElementSource.h"
#include "DeviceEmission/KernelSignature.h"
#include "DeviceEmission/LaunchSite.h"
#include "ResultRow.h"
#include "blockscale/Analysis/Epilogue.h"
#include "blockscale/Target/Chip.h"

namespace blockscale::products {

/// The operands of a sink: values of the host, or parameters of the kernel
/// while its code is emitted.
struct SinkArguments {
  struct Memory {
    /// A buffer or a scalar; null where the operand is absent.
    mlir::Value value;
    /// Bytes that the address of a buffer is a multiple of.
    int64_t alignment;
  };
  llvm::SmallVector<Memory, 3> memory;
  /// Sizes, as i32 in the kernel.
  llvm::SmallVector<mlir::Value, 1> sizes;
};

/// What a thread knows when it writes a row of results.
struct SinkContext {
  KernelBuilder &b;
  const target::Chip &chip;
  const SinkArguments &arguments;
  /// The type of the values.
  mlir::Type element;
  /// Columns of results, i32.
  mlir::Value cols;
  /// Columns of what is written at a time, and whether those of results are
  /// known to be a multiple of them.
  int64_t width;
  bool isWhole;
  const ResultRow &row;
};

/// Work of a kernel that has no row: thread `thread` of cluster `cluster`, one
/// of `clusters`, where `bands` bands of 128 rows are in groups, all i32.
struct SinkRest {
  mlir::Value bands, thread, cluster, clusters;
};

/// Writes one row, a fragment of columns at a time.
class SinkWriter {
public:
  /// Emits the words of the values of a fragment.
  using Compute = llvm::function_ref<ElementWords()>;

  virtual ~SinkWriter();

  /// Writes the fragment from `col` on, whose values are there if `exists` is
  /// true.
  virtual void emitFragment(mlir::Value col, mlir::Value exists,
                            Compute compute) = 0;
  /// The same in a row that no group has. Values made from sums of zero need
  /// not be zeros.
  virtual void emitZeros(mlir::Value col, mlir::Value exists, Compute compute) {
    emitFragment(col, exists, compute);
  }
  /// Writes what memory has besides values for the fragment from `col` on, of
  /// which no value is there. `emitFragment` does so, too.
  virtual void emitPadding(mlir::Value col) {}
};

class Sink {
public:
  virtual ~Sink();

  /// The part of the name of a kernel that says which sink it has.
  virtual std::string getName() const = 0;
  /// Asserts that what is written has the sizes of a result of sizes `result`.
  virtual void requireSizes(emit::CallSite &call,
                            const emit::CallSite::Sizes &result) const = 0;
  virtual SinkArguments getArguments(LaunchSite &site) const = 0;
  virtual std::unique_ptr<SinkWriter>
  createWriter(const SinkContext &context) const = 0;

  /// Whether memory has a place for each row and column of tiles of `kTileRows`
  /// rows and `kPaddedCols` columns, though the last ones are in no result.
  virtual bool hasPadding() const { return false; }
  static constexpr int64_t kPaddedCols = 128;

  /// Whether memory has parts that no row of the result writes, which
  /// `emitRest` does, if there are no rows too.
  virtual bool hasRest() const { return false; }
  virtual void emitRest(KernelBuilder &b, const SinkArguments &arguments,
                        mlir::Value cols, const SinkRest &rest) const {}
};

/// The sink of an epilogue: its op, or stores.
std::unique_ptr<const Sink> createSink(const Epilogue &epilogue);

/// A sink that stores `result`, a value of the kernel, as it is.
std::unique_ptr<const Sink> createStore(mlir::Value result);

/// Stores words of a fragment of elements of `bits` to `memory`: of a fragment
/// that is not whole the elements in the columns that exist.
void emitStoreFragment(const SinkContext &context, mlir::Value memory,
                       mlir::ValueRange words, mlir::Value col, int64_t bits);

//===----------------------------------------------------------------------===//
// Ops that can be sinks
//===----------------------------------------------------------------------===//

std::unique_ptr<const Sink> makeSink(QuantizeOp op);

template <typename... Ops>
struct SinkOpList {};
using SinkOps = SinkOpList<QuantizeOp>;

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_SINK_H
