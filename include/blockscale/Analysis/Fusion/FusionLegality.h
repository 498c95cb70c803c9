//===- FusionLegality.h - What may run as one kernel ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules of what ops can share a kernel. Passes that form kernels and passes
// that lower them ask here, so that they agree.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_ANALYSIS_FUSION_FUSIONLEGALITY_H
#define BLOCKSCALE_ANALYSIS_FUSION_FUSIONLEGALITY_H

#include "blockscale/Analysis/TransformSizes.h"
#include "blockscale/IR/BlockScaleDialect.h"

#include "mlir/IR/Diagnostics.h"

namespace blockscale {

/// A clause that an op does not meet.
struct FusionObstacle {
  /// Its name, for example `one_read_c2`.
  llvm::StringRef clause;
  std::string expected;
  std::string found;
};

/// Prints "(one_read_c2): expected .., but got ..".
llvm::raw_ostream &operator<<(llvm::raw_ostream &os,
                              const FusionObstacle &obstacle);
mlir::Diagnostic &operator<<(mlir::Diagnostic &diag,
                             const FusionObstacle &obstacle);

/// Why `op` cannot share a kernel on a GPU with other quantizations of its x,
/// which the kernel reads once:
///
///  - one_read_c1: x is bf16.
///  - one_read_c2: scales follow from the amax of a block, which is computed:
///    no 4over6 recipe, no `block_amax`.
///  - one_read_c4: the global operand, if any, has one value for the tensor,
///  for
///    each matrix or for each group.
std::optional<FusionObstacle> findOneReadObstacle(QuantizeOp op);

/// Why `op` cannot share such a kernel: by one_read_c1, by one_read_c4 of its
/// result, or by
///
///  - one_read_c3: groups, if any, are of rows.
std::optional<FusionObstacle> findOneReadObstacle(AmaxOp op);

/// Why `op` cannot share such a kernel with parts of the amaxes of other
/// transforms: by one_read_c1.
std::optional<FusionObstacle> findOneReadObstacle(AmaxPartsOp op);

/// Why `op`, which could share a kernel with `amaxes` of its block, takes a
/// second pass over x:
///
///  - one_pass_c1: no operand of `op` needs one of them.
std::optional<FusionObstacle>
findOnePassObstacle(QuantizeOp op, llvm::ArrayRef<AmaxOp> amaxes);

/// The attribute of a quantization that names its group.
inline constexpr llvm::StringLiteral kGroupAttrName = "blockscale.group";

/// Why `ops`, which are of one x, cannot share a kernel with `first`, which are
/// of another:
///
///  - group_c1: x has rank 2, and as many columns, a static number of them.
///  - group_c2: the ops are the same, in the same order.
///  - group_c3: so are their attributes and types, but for numbers of rows.
std::optional<FusionObstacle>
findGroupObstacle(llvm::ArrayRef<mlir::Operation *> first,
                  llvm::ArrayRef<mlir::Operation *> ops);

/// Why a strip kernel of `op` cannot have CTAs of another x as well, for which
/// it has other code:
///
///  - beside_c1: x has rank 2 and columns, so that CTAs have one number.
///  - beside_c2: it is no amax, for which another kernel clears memory before,
///    and no parts of one, of which each CTA has its own.
std::optional<FusionObstacle> findBesideObstacle(mlir::Operation *op);

/// Why a kernel of a GPU cannot transform x in registers for the quantizations
/// of the result, if the transforms it computes are of those `sizes`:
///
///  - rht_c1: groups run down the columns of x (`dim 0`).
///  - rht_c2 (of the sizes of TransformerEngine only): rows of x, with the
///    leading dimensions flattened into them, are a multiple of 64 and columns
///    of 128, and both of 128 where a quantization has `offsets` or a group.
///    What is dynamic is no multiple.
///  - rht_c3: what uses the result are quantizations and amaxes in its block,
///    or parts of amaxes, that meet the clauses above, and sizes: no memory
///    holds it.
///  - rht_c4 (of all members of a group at once): the clauses hold for each.
std::optional<FusionObstacle>
findTransformObstacle(HadamardOp op,
                      TransformSizes sizes = TransformSizes::Any);

} // namespace blockscale

#endif // BLOCKSCALE_ANALYSIS_FUSION_FUSIONLEGALITY_H
