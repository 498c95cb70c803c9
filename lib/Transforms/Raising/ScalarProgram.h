//===- ScalarProgram.h - What computes an element of a tensor ---*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops on tensors that compute each element by itself, repeat elements along the
// last dimensions, or reshape, are a program on numbers. Elements are counted
// row by row, which no reshape changes, so that the place of an element in its
// tensor is one number, and an element that is repeated 32 times belongs to 32
// neighbours.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_TRANSFORMS_RAISING_SCALARPROGRAM_H
#define BLOCKSCALE_LIB_TRANSFORMS_RAISING_SCALARPROGRAM_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/DenseMap.h"

#include <map>

namespace blockscale {

/// A number that a node has: a float of at most f32, or the bits of an integer.
struct ScalarNumber {
  float value = 0;
  uint64_t bits = 0;
};

class ScalarProgram {
public:
  enum class Kind {
    /// An op of `arith` or `math` on numbers.
    Operation,
    Constant,
    /// An element of a tensor that no such op computes.
    Element,
    /// The maximum of neighbours, of which the operand is one.
    Maximum
  };

  struct Node {
    Kind kind;
    mlir::Type type;
    /// The op of numbers, or the op on tensors that has the maximum.
    mlir::Operation *op = nullptr;
    llvm::SmallVector<unsigned, 3> operands = {};
    mlir::Attribute constant = {};
    /// The tensor whose element it is; null of what a body computes between.
    mlir::Value tensor = {};
    /// How many neighbours of the tensor that was traced share it; 0 if all do.
    int64_t repeats = 1;
  };

  /// The node of each element of `tensor`, which `repeats` neighbours share.
  unsigned trace(mlir::Value tensor, int64_t repeats = 1);

  const Node &operator[](unsigned node) const { return nodes[node]; }

  /// Whether `node` is `leaf` or computed from it, but for what a maximum is
  /// of.
  bool needs(unsigned node, unsigned leaf) const;

  /// Nodes of maxima that `node` needs, each once.
  llvm::SmallVector<unsigned> findMaxima(unsigned node) const;

  /// The operand of extensions, which keep each number, that `node` is, or
  /// `node`.
  unsigned withoutExtension(unsigned node) const;

  /// The number of `node` where the nodes of `known` have theirs; nullopt if an
  /// op has no defined value there, or one that differs between targets, which
  /// `failed` is then.
  std::optional<ScalarNumber>
  evaluate(unsigned node,
           llvm::ArrayRef<std::pair<unsigned, ScalarNumber>> known,
           mlir::Operation *&failed) const;

private:
  unsigned add(Node node) {
    nodes.push_back(std::move(node));
    return nodes.size() - 1;
  }
  unsigned create(mlir::Value tensor, int64_t repeats);
  unsigned traceBody(mlir::linalg::LinalgOp op, mlir::Value value,
                     int64_t repeats,
                     llvm::DenseMap<mlir::Value, unsigned> &known);
  unsigned addOperation(mlir::Operation *op,
                        llvm::SmallVector<unsigned, 3> operands,
                        int64_t repeats);

  llvm::SmallVector<Node, 0> nodes;
  std::map<std::pair<void *, int64_t>, unsigned> known;
};

/// The op of `arith` by which the body of `op` takes the maximum of what
/// `result` had and of another value, which is `other` then; null if it takes
/// none.
mlir::Operation *getMaximum(mlir::linalg::LinalgOp op, mlir::OpResult result,
                            mlir::Value &other);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_TRANSFORMS_RAISING_SCALARPROGRAM_H
