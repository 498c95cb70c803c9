//===- Epilogue.cpp - What a kernel makes of its products -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Analysis/Epilogue.h"
#include "blockscale/Analysis/ElementwiseBody.h"
#include "blockscale/Analysis/OnlyUser.h"
#include "blockscale/Analysis/Producers.h"
#include "blockscale/Analysis/RowMoves.h"
#include "blockscale/IR/TypeRules.h"

#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;

namespace blockscale {

SmallVector<Operation *> Epilogue::getOps() const {
  SmallVector<Operation *> ops(products);
  for (linalg::LinalgOp op : elementwise)
    ops.push_back(op);
  if (sink)
    ops.push_back(sink);
  for (linalg::LinalgOp op : gathers)
    ops.push_back(op);
  if (scatter)
    ops.push_back(scatter);
  return ops;
}

Value Epilogue::getValue() const {
  if (elementwise.empty())
    return products.front()->getResult(0);
  linalg::LinalgOp last = elementwise.back();
  return last->getResult(0);
}

Value Epilogue::getStored() const {
  linalg::LinalgOp move = scatter;
  return move ? Value(move->getResult(0)) : getValue();
}

bool isProduct(Operation *op) {
  return isa_and_present<ProductOpInterface>(op);
}

SmallVector<Operation *> getProducts(KernelOp kernel) {
  SmallVector<Operation *> products;
  for (Operation &op : kernel.getBody().front())
    if (isProduct(&op))
      products.push_back(&op);
  return products;
}

/// Groups of rows; null where a product has none.
static Value getRowGroups(Operation *product) {
  GroupOperand groups = cast<ProductOpInterface>(product).getGroupOperand();
  return groups.dim == GroupDim::Rows ? groups.ends : Value();
}

static std::optional<FusionObstacle> findQuantizeObstacle(Operation *sink,
                                                          Operation *product) {
  auto op = cast<QuantizeOp>(sink);
  auto fail = [](StringRef found) {
    return FusionObstacle{"epilogue_c2",
                          "a quantization of blocks of one row, by amaxes of "
                          "the blocks, to nearest, with one global value or "
                          "one for each group",
                          found.str()};
  };
  if (!op.hasRowBlocks())
    return fail("blocks of several rows");
  if (op.getRng() || op.getBlockAmax())
    return fail(op.getRng() ? "rng" : "block_amax");
  Value global = op.getGlobal();
  auto globalType = global ? dyn_cast<RankedTensorType>(global.getType())
                           : RankedTensorType();
  bool isOfEach = globalType && globalType.getRank() > 0;
  if (isOfEach && !op.getOffsets())
    return fail("global values of type " + llvm::to_string(globalType));

  bool isLinear = getScaleLayout(op.getScale().getType()).isLinear();
  Value groups = getRowGroups(product);
  bool isGrouped = getGroupedLayout(op.getScale().getType()) != nullptr;
  bool fits = op.getOffsets()
                  ? op.getOffsets() == groups && op.getGroupDim() == 0
                  : !groups || isLinear;
  // Tiles of all groups at once have rows of several.
  if (fits && (isLinear || isGrouped == static_cast<bool>(groups)))
    return std::nullopt;
  return FusionObstacle{
      "epilogue_c3",
      groups ? "scales that are linear, or in the layout of the product's "
               "groups of rows"
             : "scales without groups",
      llvm::to_string(op.getScale().getType()) +
          (op.getOffsets() ? " with offsets" : "")};
}

namespace {

/// A kind of op that can be the sink of an epilogue.
struct SinkKind {
  /// What the op takes from the kernel; null where it is of another kind.
  Value (*getInput)(Operation *op);
  /// Why the op cannot follow `product`.
  std::optional<FusionObstacle> (*findObstacle)(Operation *op,
                                                Operation *product);
};

} // namespace

static Value getQuantized(Operation *op) {
  auto quantize = dyn_cast<QuantizeOp>(op);
  return quantize ? quantize.getX() : Value();
}

static constexpr SinkKind kSinkKinds[] = {
    {getQuantized, findQuantizeObstacle},
};

/// The kind of sink that `op` is of `value`; null where it is none.
static const SinkKind *findSinkKind(Operation *op, Value value) {
  const auto *kind = llvm::find_if(kSinkKinds, [&](const SinkKind &each) {
    return op && each.getInput(op) == value;
  });
  return kind == std::end(kSinkKinds) ? nullptr : kind;
}

/// Operands of a product that a second one shares, and those that it has of its
/// own.
struct ProductOperands {
  explicit ProductOperands(ProductOpInterface op)
      : shared{op.getA(), op.getScaleA(), op.getGroupOperand().ends},
        own{op.getB(), op.getScaleB(), op.getGlobalOperandB().value,
            op.getBias()} {
    // Elements of A are decoded once.
    (op.scalesElements() ? shared : own)
        .push_back(op.getGlobalOperandA().value);
  }

  SmallVector<Value> shared, own;
};

static std::optional<FusionObstacle> findTwinObstacle(Operation *first,
                                                      Operation *second) {
  auto fail = [](StringRef found) {
    return FusionObstacle{"epilogue_c4",
                          "a second product of the same A, groups, types and "
                          "forms of operands",
                          found.str()};
  };
  if (first->getName() != second->getName())
    return fail("'" + llvm::to_string(second->getName()) + "'");
  // These say which operands are shared, and how sums are made.
  for (StringRef name : {"global_scaling", "order", "mn_major_a", "mn_major_b"})
    if (first->getAttr(name) != second->getAttr(name))
      return fail("another " + name.str());
  ProductOperands mine(cast<ProductOpInterface>(first));
  ProductOperands other(cast<ProductOpInterface>(second));
  if (mine.shared != other.shared)
    return fail("another A");
  auto getType = [](Value value) { return value ? value.getType() : Type(); };
  for (auto [x, y] : llvm::zip_equal(mine.own, other.own))
    if (getType(x) != getType(y))
      return fail(y ? llvm::to_string(y.getType()) : "an absent operand");
  if (first->getResultTypes() != second->getResultTypes())
    return fail(llvm::to_string(second->getResult(0).getType()));
  return std::nullopt;
}

/// Whether `op` can follow, and what it takes besides.
static std::optional<FusionObstacle>
addElementwise(Epilogue &epilogue, linalg::LinalgOp op,
               function_ref<bool(Operation *)> isTaken) {
  SmallVector<Operation *> ops = {op};
  Epilogue extended = epilogue;
  for (Value input : op.getDpsInputs()) {
    Operation *product = input.getDefiningOp();
    if (!isProduct(product) || product->getBlock() != op->getBlock() ||
        (isTaken && isTaken(product)) ||
        llvm::is_contained(extended.products, product))
      continue;
    if (extended.products.size() == kMostProducts)
      continue;
    std::optional<FusionObstacle> obstacle =
        findTwinObstacle(epilogue.products.front(), product);
    if (!obstacle)
      extended.products.push_back(product);
    else if (getOnlyUser(input) == op)
      return obstacle;
    // Others need the results of the product, which memory has.
  }
  if (std::optional<FusionObstacle> obstacle = findElementwiseObstacle(op))
    return obstacle;
  for (OpOperand *operand : op.getDpsInputOperands())
    if (extended.getValue() == operand->get() ||
        llvm::any_of(extended.products, [&](Operation *product) {
          return operand->get() == product->getResult(0);
        }))
      if (!op.getMatchingIndexingMap(operand).isIdentity())
        return FusionObstacle{
            "epilogue_c1", "a use of each element for itself",
            llvm::to_string(op.getMatchingIndexingMap(operand))};
  epilogue = extended;
  epilogue.elementwise.push_back(op);
  return std::nullopt;
}

/// The op that goes on from what `epilogue` has: the only one that reads it, or
/// one of several that makes something of the results of two products, which
/// are stored for the others; null if there is none.
static Operation *findNext(const Epilogue &epilogue,
                           function_ref<bool(Operation *)> isTaken) {
  Value value = epilogue.getValue();
  if (Operation *user = getOnlyUser(value))
    return user;
  Operation *product = epilogue.products.front();
  if (!epilogue.elementwise.empty())
    return nullptr;
  auto isTwin = [&](Value input) {
    Operation *other = input.getDefiningOp();
    return isProduct(other) && other != product &&
           other->getBlock() == product->getBlock() &&
           !(isTaken && isTaken(other)) && !findTwinObstacle(product, other);
  };
  Operation *first = nullptr;
  for (Operation *user : value.getUsers()) {
    auto op = dyn_cast<linalg::LinalgOp>(user);
    if (op && op->getBlock() == product->getBlock() &&
        !(isTaken && isTaken(op)) && llvm::any_of(op.getDpsInputs(), isTwin) &&
        (!first || op->isBeforeInBlock(first)))
      first = op;
  }
  return first;
}

/// epilogue_c5, of an op that moves the rows of `values`, an operand or what
/// becomes the result, for `user`.
static std::optional<FusionObstacle>
findMoveObstacle(const Epilogue &epilogue, Value values, Operation *user) {
  auto fail = [](StringRef found) {
    return FusionObstacle{"epilogue_c5",
                          "interleaved rows of one product without scales and "
                          "groups, whose operand or result nothing else takes",
                          found.str()};
  };
  auto product = cast<ProductOpInterface>(epilogue.products.front());
  if (epilogue.products.size() > 1)
    return fail("two products");
  if (product.getScaleA() || product.getScaleB())
    return fail("an operand with scales");
  if (product.getGroupOperand().ends)
    return fail("groups");
  if (getOnlyUser(values) != user)
    return fail("another use");
  return std::nullopt;
}

/// Adds what gathers the rows of operands.
static void addGathers(Epilogue &epilogue,
                       function_ref<bool(Operation *)> isTaken) {
  Operation *product = epilogue.products.front();
  auto op = cast<ProductOpInterface>(product);
  llvm::SmallSetVector<Value, 2> operands;
  operands.insert_range(ValueRange{op.getA(), op.getB()});
  for (Value operand : operands) {
    Operation *move = operand.getDefiningOp();
    if (!move || move->getBlock() != product->getBlock() ||
        (isTaken && isTaken(move)) || !getGatheredRows(move))
      continue;
    if (auto found = findMoveObstacle(epilogue, operand, product))
      epilogue.moveObstacle = found;
    else
      epilogue.gathers.push_back(cast<linalg::LinalgOp>(move));
  }
}

/// What follows `product`, up to what scatters its rows.
static Epilogue findFollowing(Operation *product,
                              std::optional<FusionObstacle> &obstacle,
                              function_ref<bool(Operation *)> isTaken) {
  Epilogue epilogue;
  epilogue.products.push_back(product);
  while (true) {
    Value value = epilogue.getValue();
    Operation *user = findNext(epilogue, isTaken);
    if (user && isTaken && isTaken(user))
      return epilogue;
    auto elementwise = dyn_cast_if_present<linalg::LinalgOp>(user);
    const SinkKind *sink = findSinkKind(user, value);
    if (!user || user->getBlock() != product->getBlock() ||
        (!elementwise && !sink))
      return epilogue;
    if (getScatteredRows(user)) {
      epilogue.moveObstacle = findMoveObstacle(epilogue, value, user);
      if (!epilogue.moveObstacle)
        epilogue.scatter = elementwise;
      return epilogue;
    }
    obstacle = sink ? sink->findObstacle(user, product)
                    : addElementwise(epilogue, elementwise, isTaken);
    if (obstacle)
      return epilogue;
    if (sink) {
      epilogue.sink = user;
      return epilogue;
    }
  }
}

Epilogue findEpilogue(Operation *product,
                      std::optional<FusionObstacle> &obstacle,
                      function_ref<bool(Operation *)> isTaken) {
  Epilogue epilogue = findFollowing(product, obstacle, isTaken);
  addGathers(epilogue, isTaken);
  return epilogue;
}

Epilogue findWholeEpilogue(ArrayRef<Operation *> ops,
                           std::optional<FusionObstacle> &obstacle) {
  Epilogue epilogue = findEpilogue(*llvm::find_if(ops, isProduct), obstacle);
  if (!obstacle)
    obstacle = epilogue.moveObstacle;
  SmallVector<Operation *> found = epilogue.getOps();
  for (Operation *op : ops)
    if (!obstacle && !llvm::is_contained(found, op))
      obstacle = {"epilogue_c1",
                  "each op to be the one use of what is computed before",
                  "'" + llvm::to_string(op->getName()) + "'"};
  return epilogue;
}

} // namespace blockscale
