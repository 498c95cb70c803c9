//===- FunctionWriter.h - Text of one random function -----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the ops that are generated share: types as plain data, the values in
// scope, operands and results.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TOOLS_FUZZ_FUNCTIONWRITER_H
#define BLOCKSCALE_TOOLS_FUZZ_FUNCTIONWRITER_H

#include "ByteSource.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"

#include <optional>
#include <string>
#include <vector>

namespace blockscale {

/// A size that is known only at run time.
constexpr int64_t kDynamicSize = -1;

/// What ops that read data, scales and global scales have: these are picked by
/// their types, so that they seldom belong together.
inline constexpr const char *kUncheckedOrigins = " unchecked_origins";

/// A builtin type of a generated value.
struct FuzzType {
  std::string element;
  llvm::SmallVector<int64_t, 4> shape;
  /// What follows the element, with its comma: ", #blockscale.layout<...>".
  std::string encoding;
  bool isScalar = false;

  std::string str() const;
  bool isDynamic(unsigned dim) const { return shape[dim] == kDynamicSize; }
  bool hasDynamicSizes() const;
  bool operator==(const FuzzType &other) const;
};

FuzzType scalarType(llvm::StringRef element);

struct FuzzValue {
  std::string name;
  FuzzType type;
};

/// A function that later ones may call.
struct FuzzFunction {
  std::string name;
  std::vector<FuzzType> arguments;
  std::vector<FuzzType> results;
};

/// Writes one function. An operand that no value in scope has the type of
/// becomes an argument of the function, so ops can ask for whatever they need.
class FunctionWriter {
public:
  /// A basic function has 1xB blocks and one global scale a matrix or tensor.
  FunctionWriter(ByteSource &bytes, std::vector<FuzzFunction> &functions,
                 bool isBasic)
      : bytes(bytes), functions(functions), isBasic(isBasic) {}

  /// The function's text; it is added to the functions that can be called.
  std::string write();

private:
  // Sizes and types (FunctionWriter.cpp).
  int64_t size();
  int64_t sizeOf(int64_t unit, bool allowTail);
  /// `size` divided by `divisor`, rounded up.
  static int64_t ceilDiv(int64_t size, int64_t divisor);
  llvm::SmallVector<int64_t, 4> batch();
  FuzzType tensor(llvm::ArrayRef<int64_t> shape, llvm::StringRef element);
  FuzzType withLayout(FuzzType type);
  FuzzType grouped(FuzzType type, int64_t groups, int64_t dim);
  FuzzType prepacked(FuzzType type);
  /// The type `type`, but once in a while with another size, element or
  /// encoding.
  FuzzType spoiled(FuzzType type);

  /// Rarely true, and never in a basic function.
  bool rarelyWider(unsigned count) { return !isBasic && bytes.rarely(count); }

  // Values.
  std::string fresh();
  std::string argument(const FuzzType &type);
  std::string constant(const FuzzType &type);
  /// A value of `type`, from scope where there is one.
  std::string operand(const FuzzType &type);
  /// A random value in scope whose type `matches`, or null.
  template <typename Predicate>
  const FuzzValue *find(Predicate matches);
  std::string index(int64_t value);
  std::string sizeValue(const FuzzValue &value, unsigned dim);
  /// The clause ` sizes(..)` with a value for each dynamic size of `type`, of
  /// which there is one.
  std::string sizesClause(const FuzzType &type);
  /// Names for results of `types`, which enter the scope.
  std::string define(llvm::ArrayRef<FuzzType> types);
  void line(const llvm::Twine &text);

  // Ops of other dialects (ForeignOps.cpp).
  void statement();
  void writeCast();
  void writeSlice();
  void writeInsert();
  void writeDim();
  void writeEmpty();
  void writeSelect();
  void writeElementwise();
  void writeReshape();
  void writeIf();
  void writeFor();
  void writeCall();

  // Ops of the dialect (DialectOps.cpp, ProductOps.cpp).
  void writeQuantize();
  void writeAmax();
  void writeGlobalScale();
  void writeDequantize();
  void writeSwizzle();
  void writePrepack();
  void writeExpandScale();
  void writeHadamard();
  void writeScaleSweep();
  void writeScaledMM();
  void writeGroupedMM();
  /// A recipe's name, or nothing for the default.
  llvm::StringRef recipe(bool isNvfp4);
  std::string dataElement(bool isNvfp4);
  /// A type of a global scale or amax. Without `rows` it is not one value a
  /// row.
  FuzzType globalType(llvm::ArrayRef<int64_t> leading,
                      std::optional<int64_t> rows);
  std::string globalOperand(llvm::StringRef name,
                            llvm::ArrayRef<int64_t> leading,
                            std::optional<int64_t> rows);
  FuzzType productScale(llvm::ArrayRef<int64_t> shape, int64_t block);
  bool makesPlain(FuzzType &a, int64_t block);
  /// What all products have up to global_scaling; `offsets` and `scaleA` may be
  /// null.
  std::string productOperands(const FuzzType &a, const FuzzType &b,
                              const FuzzType *offsets, const FuzzType *scaleA,
                              const FuzzType &scaleB, int64_t block);

  ByteSource &bytes;
  std::vector<FuzzFunction> &functions;
  bool isBasic;
  std::vector<FuzzValue> arguments;
  std::vector<FuzzValue> scope;
  std::string body;
  unsigned numNames = 0;
  unsigned depth = 0;
};

template <typename Predicate>
const FuzzValue *FunctionWriter::find(Predicate matches) {
  llvm::SmallVector<const FuzzValue *> found;
  for (const FuzzValue &value : scope)
    if (matches(value.type))
      found.push_back(&value);
  if (found.empty())
    return nullptr;
  // Recent values first, so that chains of ops are likely.
  unsigned back = bytes.choose(std::min<size_t>(found.size(), 8));
  return found[found.size() - 1 - back];
}

} // namespace blockscale

#endif // BLOCKSCALE_TOOLS_FUZZ_FUNCTIONWRITER_H
