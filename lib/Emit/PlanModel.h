//===- PlanModel.h - What a launch plan is written from ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_EMIT_PLANMODEL_H
#define BLOCKSCALE_LIB_EMIT_PLANMODEL_H

#include "PlanExpression.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace blockscale::plan {

using Expressions = llvm::SmallVector<PlanExpression>;

struct Buffer {
  enum class Role { Argument, Result, Constant, Workspace };

  Buffer(Role role, std::string name, mlir::Type type, llvm::StringRef dtype,
         Expressions shape)
      : role(role), name(std::move(name)), type(type), dtype(dtype),
        shape(std::move(shape)) {}

  Role role;
  std::string name;
  /// In the module, before it took its storage form.
  mlir::Type type;
  llvm::StringRef dtype;
  Expressions shape;
  PlanExpression bytes;
  int64_t alignment = 1;
  bool isScalar = false;
  /// Of a scalar that expressions speak of.
  std::string dim;
  /// Of a constant.
  std::string data;
};

/// A place in a buffer.
struct Pointer {
  size_t buffer;
  /// In bytes.
  PlanExpression offset = {};
};

/// The bits of an f32, or a scalar argument.
struct Float {
  std::optional<size_t> scalar;
  uint32_t bits = 0;
};

/// A condition on integers.
struct Condition {
  PlanExpression left;
  llvm::StringRef relation;
  PlanExpression right;
  std::string message;
};

/// What cuTensorMapEncodeTiled takes; names are the driver's.
struct TensorMap {
  Pointer address;
  llvm::StringRef element;
  Expressions dims;
  Expressions strides;
  llvm::SmallVector<int64_t> box;
  llvm::StringRef swizzle;
};

struct Parameter {
  enum class Kind { Pointer, I32, I64, F32, TensorMap };

  Kind kind = Kind::Pointer;
  Pointer pointer = {0};
  PlanExpression value;
  Float number;
  std::optional<TensorMap> map;
};

struct Launch {
  std::string kernel;
  std::array<PlanExpression, 3> grid = {1, 1, 1};
  std::array<PlanExpression, 3> block = {1, 1, 1};
  std::array<PlanExpression, 3> cluster = {1, 1, 1};
  PlanExpression sharedBytes;
  std::vector<Parameter> parameters;
};

struct Copy {
  Pointer from;
  Pointer to;
  PlanExpression bytes;
};

struct Step {
  std::optional<Launch> launch;
  std::optional<Copy> copy;
};

struct Function {
  std::string name;
  std::vector<std::string> dims;
  std::vector<Buffer> buffers;
  std::vector<Condition> constraints;
  std::vector<Step> steps;
};

struct Kernel {
  std::string name;
  std::vector<Parameter::Kind> parameters;
};

/// The JSON text. Contents of constants are in it, or added to `blobs`.
std::string print(llvm::StringRef chip, llvm::ArrayRef<Kernel> kernels,
                  llvm::ArrayRef<Function> functions,
                  std::vector<std::string> *blobs);

} // namespace blockscale::plan

#endif // BLOCKSCALE_LIB_EMIT_PLANMODEL_H
