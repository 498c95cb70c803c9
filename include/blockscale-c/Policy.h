//===- Policy.h - Policies for layers, from C ---------------------*- C -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A policy (docs/Policy.md) decides for the products of a program that is
// compiled, and here for the layers of a model or the weights of a checkpoint,
// by the same rules, clauses and patterns. The conventions are Runtime.h's.
// Functions here may be called by any threads at the same time.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_C_POLICY_H
#define BLOCKSCALE_C_POLICY_H

#include "blockscale-c/Runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

// C names, and enumerations of the width that C gives them.
// NOLINTBEGIN(readability-identifier-naming,modernize-*)

typedef struct blockscale_policy blockscale_policy;

/// Reads the policy of a file. The message of a failure names the file, and the
/// line and column in it.
blockscale_status blockscale_policy_open(const char *path,
                                         blockscale_policy **policy);
/// Reads `size` bytes of JSON. Messages and rules call them `name`.
blockscale_status blockscale_policy_parse(const char *text, size_t size,
                                          const char *name,
                                          blockscale_policy **policy);
void blockscale_policy_destroy(blockscale_policy *policy);

/// Where the global scale of an operand comes from.
typedef enum blockscale_scaling {
  BLOCKSCALE_NO_GLOBAL_SCALE = 0,
  /// From the operand's own amax.
  BLOCKSCALE_DYNAMIC_GLOBAL_SCALE = 1,
  /// From an amax that is given.
  BLOCKSCALE_GLOBAL_SCALE_OF_AMAX = 2
} blockscale_scaling;

/// How one operand is quantized.
typedef struct blockscale_operand_form {
  /// "nvfp4", "mxfp8" ..; null for an operand that stays plain, of which the
  /// other members are 0.
  const char *format;
  /// Null for the default of the format.
  const char *recipe;
  blockscale_scaling scaling;
  float amax;
  /// Not 0: the scale of each block is searched.
  int is_swept;
} blockscale_operand_form;

/// How a layer is quantized.
typedef struct blockscale_layer_form {
  blockscale_operand_form weight;
  blockscale_operand_form activation;
  /// Not 0: both operands are transformed along K (random Hadamard transform).
  int is_transformed;
  /// "bf16" or "f16", the type that f32 is rounded to before; or null.
  const char *cast;
  /// "free" or "chain", the order of the product's sums.
  const char *order;
} blockscale_layer_form;

/// A layer: the product of activations [M, K] by one weight [N, K].
typedef struct blockscale_layer {
  /// sizeof(blockscale_layer).
  size_t struct_size;
  /// The path of the layer in the model, which patterns of `location` match.
  const char *name;
  /// What patterns of `function` match; null for "forward".
  const char *function;
  int64_t n;
  int64_t k;
  /// Not 0: it is the last projection.
  int is_last;
  /// The type of its operands: "f32", "bf16" or "f16".
  const char *type;
  /// M; 0 for any, where rules for some numbers of rows alone do not match.
  int64_t m;
} blockscale_layer;

/// What a policy makes of a layer. Texts live as long as the decision.
typedef struct blockscale_policy_decision {
  /// Not 0: the layer is quantized in `form`.
  int is_quantized;
  blockscale_layer_form form;
  /// The rule that decided, as "rule 2 of policy.json"; "" where none matches.
  const char *rule;
  /// Why it is left: the clause, as "policy_c3", what that expects, and what
  /// was found; all "" for a layer that is quantized.
  const char *clause;
  const char *expected;
  const char *found;
  /// With rows given: the most rows that rules decide for as for these, from
  /// these on. INT64_MAX if that is all of them, and where no rows are given.
  int64_t max_m;
} blockscale_policy_decision;

/// Decides for a layer; blockscale_policy_decision_destroy frees the decision.
blockscale_status
blockscale_policy_decide(const blockscale_policy *policy,
                         const blockscale_layer *layer,
                         const blockscale_policy_decision **decision);
/// Decides whether a layer whose form is known may have operands of `type`, by
/// the clauses of types (policy_c5 and policy_c6). They read the formats, the
/// transform and the cast of the form, and the decision has no other members of
/// it.
blockscale_status
blockscale_layer_form_check(const blockscale_layer_form *form, const char *type,
                            const blockscale_policy_decision **decision);
void blockscale_policy_decision_destroy(
    const blockscale_policy_decision *decision);

/// Sets `matches` to whether a pattern of policies matches a whole name, both
/// in UTF-8.
blockscale_status blockscale_pattern_matches(const char *pattern,
                                             const char *name, int *matches);

// NOLINTEND(readability-identifier-naming,modernize-*)

#ifdef __cplusplus
}
#endif

#endif // BLOCKSCALE_C_POLICY_H
