//===- QuantizationPolicy.h - How products are quantized --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A policy says for each product of a program whether and how it is quantized.
// It is a list of rules, of which the first one that matches a product decides.
// Policies are written in JSON (docs/Policy.md).
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TRANSFORMS_QUANTIZATIONPOLICY_H
#define BLOCKSCALE_TRANSFORMS_QUANTIZATIONPOLICY_H

#include "blockscale/Analysis/MatrixProduct.h"
#include "blockscale/Numerics/BlockFormat.h"
#include "blockscale/Runtime/Result.h"
#include "blockscale/Transforms/ActivationAmaxes.h"

#include <limits>
#include <tuple>

namespace blockscale {

/// The format of that name ("nvfp4", "mxfp8"), or null.
const numerics::BlockFormat *findFormat(llvm::StringRef name);
llvm::StringRef getFormatName(const numerics::BlockFormat &format);
/// The names of all formats.
std::vector<std::string_view> listFormats();

/// How one operand of a product is quantized.
struct OperandForm {
  /// Null of an operand that stays plain.
  const numerics::BlockFormat *format = nullptr;
  /// The format's default where there is none.
  std::optional<Recipe> recipe;
  /// Whether the amax of each block is searched (scale_sweep).
  bool isSwept = false;
  /// Whether there is a global scale.
  bool hasGlobal = false;
  /// The amax that the global scale is of; that of the operand, computed at
  /// each call, where there is none.
  std::optional<float> amax;

  bool operator==(const OperandForm &other) const {
    return std::tie(format, recipe, isSwept, hasGlobal, amax) ==
           std::tie(other.format, other.recipe, other.isSwept, other.hasGlobal,
                    other.amax);
  }
};

/// The type of a layer, in which its operands are stored.
enum class LayerType { BF16, F16, F32 };

/// The names of these types, in their order.
inline constexpr std::string_view kLayerTypeNames[] = {"bf16", "f16", "f32"};
/// How many of them, from the first, f32 is rounded to by a cast.
inline constexpr size_t kCastTypeCount = 2;

/// The layer type of an element type that products have: f32, bf16 or f16.
LayerType toLayerType(mlir::Type element);
/// The layer type of that name, if it is one.
std::optional<LayerType> findLayerType(llvm::StringRef name);

/// How a product is quantized.
struct ProductForm {
  /// The operand that is a weight, and the other one. Of two operands that are
  /// no weights, or both, each is one of activations.
  OperandForm weight, activation;
  /// Whether the random Hadamard transform is applied to both along K.
  bool isTransformed = false;
  /// What f32 operands are rounded to before they are quantized, and an f32
  /// result after its bias was added.
  std::optional<LayerType> cast;
  /// That of the product's sums.
  SumOrder order = SumOrder::Free;
};

/// Whether both forms make the same codes and scales of a weight.
bool haveSameWeight(const ProductForm &a, const ProductForm &b);

/// "nvfp4", or "mxfp4 by mxfp8", or "nvfp4, weights only", or "nvfp4 of bf16",
/// and ", order chain" behind it.
std::string describe(const ProductForm &form);

/// The type in which a layer of that form stores numbers that are `element`
/// outside of it.
mlir::Type getLayerType(const ProductForm &form, mlir::Type element);
LayerType getLayerType(const ProductForm &form, LayerType type);

/// The sizes that a rule is for.
struct SizeRange {
  int64_t min = 0;
  int64_t max = std::numeric_limits<int64_t>::max();

  /// A dynamic size is in a range only if that has every size.
  bool contains(int64_t size) const;

  bool operator==(const SizeRange &other) const {
    return min == other.min && max == other.max;
  }
};

/// "M up to 16", or "M from 17 to 64", or "M from 65 on".
std::string describeRows(const SizeRange &rows);

/// A product as rules see it: one of a program, or a layer of a model that is
/// no program yet.
struct PolicyProduct {
  /// The names of its location.
  llvm::SmallVector<std::string> names;
  llvm::StringRef function;
  /// Whether an operand is a weight.
  bool hasWeight = false;
  /// Whether this is the last projection: a product with a weight that needs
  /// the result of another one, and that no other one needs.
  bool isLast = false;
  /// Any of them may be dynamic.
  int64_t m = mlir::ShapedType::kDynamic, n = mlir::ShapedType::kDynamic,
          k = mlir::ShapedType::kDynamic;
  /// The rows of the weight, else those of B: M or N.
  int64_t weightRows = mlir::ShapedType::kDynamic;
  /// The types of the operand beside the weight, and of the weight.
  LayerType plain = LayerType::BF16, weight = LayerType::BF16;
};

struct PolicyRule {
  /// Patterns that one of the names of the location, and the name of the
  /// function, match as a whole (matchesPattern).
  std::optional<std::string> location, function;
  std::optional<bool> hasWeight, isLast;
  SizeRange m, n, k;
  /// Nothing of a rule that leaves the products it matches.
  std::optional<ProductForm> form;
  /// What remarks call the rule: "rule 2 of policy.json".
  std::string name;

  bool matches(const PolicyProduct &product) const;
};

/// What a policy makes of a product.
struct PolicyDecision {
  /// The first rule that matches, or null.
  const PolicyRule *rule = nullptr;
  /// Why the product is left.
  std::optional<FusionObstacle> obstacle;
  /// How it is quantized, if there is no obstacle: in the form of the rule,
  /// with the amax that was measured for it.
  std::optional<ProductForm> form;
};

/// What a policy makes of a product if it has so many rows.
struct RowsDecision {
  SizeRange rows;
  PolicyDecision decision;
};

struct QuantizationPolicy {
  std::vector<PolicyRule> rules;
  /// Whether the last projection, and weights of fewer rows than a block has
  /// elements, are left whatever the rules say.
  bool leavesLast = true, leavesNarrow = true;
  /// The file of the amaxes that were measured, empty if there is none, and
  /// what it says. They are those of activations whose global scale would be
  /// computed at each call.
  std::string amaxesFile;
  ActivationAmaxes amaxes;

  /// The first rule that matches, or null.
  const PolicyRule *find(const PolicyProduct &product) const;
  /// What the first rule that matches says, by the clauses policy_c1 to
  /// policy_c6 (QuantizeProducts.h).
  PolicyDecision decide(const PolicyProduct &product) const;
  /// What it says for each number of rows, from 1 on and in order, where M is
  /// dynamic and rules by `m` tell numbers apart; one decision for all
  /// otherwise. Neighbours are by different rules.
  std::vector<RowsDecision> decideByRows(const PolicyProduct &product) const;
};

/// Whether the amax of what a product reads beside its weight may be measured
/// before: its global scale is of that amax. A transformed operand has another
/// one.
bool readsAmax(const PolicyProduct &product, const ProductForm &form);

/// The obstacle of clauses policy_c3 to policy_c6 to quantizing a product in
/// that form.
std::optional<FusionObstacle> findFormObstacle(const PolicyProduct &product,
                                               const ProductForm &form,
                                               bool leavesNarrow);
/// That of policy_c5 and policy_c6, the clauses of types.
std::optional<FusionObstacle> findTypeObstacle(const PolicyProduct &product,
                                               const ProductForm &form);

/// Why `pattern` is none; success if it is one. `*` stands for any characters,
/// `?` for one, `[ab]` for one of these, `{a,b}` for one of these texts. A
/// character is a code point of UTF-8; a byte that is of none is one, too.
runtime::Status checkPattern(llvm::StringRef pattern);
bool matchesPattern(llvm::StringRef pattern, llvm::StringRef name);

/// The names of a location: those of NameLoc and "FILE:LINE", of it and of the
/// locations that it is made of.
llvm::SmallVector<std::string> getLocationNames(mlir::Location location);

/// The policy of a file. The message of a failure names the file, and the line
/// and column in it.
runtime::Result<QuantizationPolicy> readPolicy(llvm::StringRef path);
/// The policy of a text, which messages call `name`. A file that it names is
/// looked for in the folder of `name`.
runtime::Result<QuantizationPolicy> parsePolicy(llvm::StringRef text,
                                                llvm::StringRef name);

/// The policy without a file: every product with a weight in one format.
QuantizationPolicy getUniformPolicy(const numerics::BlockFormat &format);

/// The policy of the file, or of the name of a format, whichever is not empty.
/// The failure speaks of the options 'policy' and 'format'.
runtime::Result<QuantizationPolicy> choosePolicy(llvm::StringRef file,
                                                 llvm::StringRef format);

/// Sets `policy` to that of the options of a pass, or emits the error.
llvm::LogicalResult readPolicyOptions(mlir::MLIRContext *context,
                                      llvm::StringRef file,
                                      llvm::StringRef format,
                                      QuantizationPolicy &policy);

} // namespace blockscale

#endif // BLOCKSCALE_TRANSFORMS_QUANTIZATIONPOLICY_H
