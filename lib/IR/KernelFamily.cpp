//===- KernelFamily.cpp - Ops of the families of kernels ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verification.h"
#include "blockscale/IR/GlobalChain.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace blockscale {

namespace {

/// How many ops of each kind a body has.
struct OpCounts {
  explicit OpCounts(Block &body) {
    for (Operation &op : body.without_terminator()) {
      if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
        ++(linalgOp.getNumReductionLoops() != 0 ? reductions : elementwise);
      if (findGlobalUser(&op)) {
        ++globals;
        continue;
      }
      quantizes += isa<QuantizeOp>(op);
      amaxes += isa<AmaxOp>(op);
      parts += isa<AmaxPartsOp>(op);
      transforms += isa<HadamardOp, PadGroupsOp>(op);
      products += isa<ScaledMMOp, ScaledGroupedMMOp>(op);
      auto dequantize = dyn_cast<DequantizeOp>(op);
      if (dequantize && dequantize.getQuantizer()) {
        ++decoders;
        continue;
      }
      auto prepack = dyn_cast<PrepackOp>(op);
      if (prepack && prepack.getSource().getDefiningOp<QuantizeOp>()) {
        ++prepacks;
        continue;
      }
      ofDialect += isa_and_present<BlockScaleDialect>(op.getDialect());
    }
  }

  int64_t reductions = 0;
  int64_t elementwise = 0;
  int64_t quantizes = 0;
  int64_t amaxes = 0;
  int64_t parts = 0;
  /// Transforms, and paddings of groups.
  int64_t transforms = 0;
  int64_t products = 0;
  /// Dequantizations of what the body quantizes.
  int64_t decoders = 0;
  /// What prepacks the codes of these.
  int64_t prepacks = 0;
  /// What global operands of the body's quantizations are computed from.
  int64_t globals = 0;
  /// All other ops of the dialect, those above and others.
  int64_t ofDialect = 0;
};

} // namespace

static bool hasOpsOf(KernelFamily family, const OpCounts &count) {
  bool reduces = count.reductions != 0;
  bool decodesOne = family == KernelFamily::Rows ||
                    family == KernelFamily::Program ||
                    family == KernelFamily::Product;
  int64_t mostDecoders = decodesOne                       ? 1
                         : family == KernelFamily::Strips ? count.quantizes
                                                          : 0;
  if (count.decoders > mostDecoders ||
      count.prepacks > (family == KernelFamily::Rows ? 1 : 0) ||
      (count.globals > 0 && family != KernelFamily::Rows &&
       family != KernelFamily::Strips))
    return false;
  switch (family) {
  case KernelFamily::Rows:
    return !reduces && count.quantizes == 1 && count.ofDialect == 1;
  case KernelFamily::Strips:
    return !reduces && count.quantizes + count.amaxes + count.parts > 0 &&
           (count.parts == 0 || count.quantizes + count.amaxes == 0) &&
           count.ofDialect ==
               count.quantizes + count.amaxes + count.parts + count.transforms;
  case KernelFamily::Program:
    return reduces && count.parts <= (count.quantizes == 0 ? 1 : 0) &&
           count.ofDialect == count.quantizes + count.parts;
  case KernelFamily::Product:
    return !reduces && count.products > 0 && count.quantizes <= 1 &&
           count.ofDialect == count.products + count.quantizes;
  case KernelFamily::Elementwise:
    return !reduces && count.elementwise > 0 && count.ofDialect == 0;
  case KernelFamily::Op:
    return !reduces && count.elementwise == 0 && count.ofDialect == 1 &&
           count.quantizes + count.products == 0;
  }
  return false;
}

static StringRef describeOps(KernelFamily family) {
  switch (family) {
  case KernelFamily::Rows:
    return "one quantization, which may be decoded or prepacked, what its "
           "global operand is computed from, and elementwise ops";
  case KernelFamily::Strips:
    return "quantizations, which may be decoded, with what their global "
           "operands are computed from, or amaxes, or amax_parts alone, with "
           "transforms and elementwise ops";
  case KernelFamily::Program:
    return "linalg ops that reduce rows, and quantizations or one amax_parts";
  case KernelFamily::Product:
    return "products, with elementwise ops and at most one quantization";
  case KernelFamily::Elementwise:
    return "elementwise ops only";
  case KernelFamily::Op:
    return "one op that is no quantization and no product";
  }
  return "";
}

/// The names of the ops that have a part in the family of `body`.
static std::string listOps(Block &body) {
  SmallVector<StringRef> names;
  for (Operation &op : body.without_terminator())
    if (isa<linalg::LinalgOp>(op) ||
        isa_and_present<BlockScaleDialect>(op.getDialect()))
      names.push_back(op.getName().getStringRef());
  return names.empty() ? "none" : llvm::join(names, ", ");
}

LogicalResult verification::verifyFamily(KernelOp kernel) {
  std::optional<KernelFamily> family = kernel.getFamily();
  if (!family)
    return success();
  Block &body = kernel.getBody().front();
  if (!hasOpsOf(*family, OpCounts(body)))
    return kernel.emitOpError()
           << "expected a kernel of family '" << stringifyKernelFamily(*family)
           << "' to have " << describeOps(*family) << ", but got "
           << listOps(body);
  if (family != KernelFamily::Rows)
    return success();
  QuantizeOp quantize = *body.getOps<QuantizeOp>().begin();
  ArrayRef<int64_t> block = quantize.getBlock();
  if (block[0] == 1)
    return success();
  return kernel.emitOpError()
         << "expected a kernel of family 'rows' to have blocks of one row, but "
            "got ["
         << block[0] << ", " << block[1] << "]";
}

} // namespace blockscale
