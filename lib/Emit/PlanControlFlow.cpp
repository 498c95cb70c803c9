//===- PlanControlFlow.cpp - Loops and branches of a plan -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values that loops carry from one iteration to the next, and that branches
// give, are variables if they are integers of the host. Buffers have a place of
// their own, to which each iteration or branch copies what it has made, unless
// it has made it in place.
//
//===----------------------------------------------------------------------===//

#include "PlanBuilderImpl.h"

using namespace mlir;
using Kind = blockscale::runtime::Expression::Op;
using Role = blockscale::runtime::PlanBuffer::Role;
using blockscale::runtime::Relation;

namespace blockscale::plan {

Expression Builder::addVariable(StringRef stem, bool isNotNegative) {
  std::string name = (stem + Twine(plan.variables.size())).str();
  plan.variables.push_back(name);
  size_t number = plan.dims.size() + plan.variables.size() - 1;
  if (isNotNegative)
    mayBeNegative.erase(number);
  else
    mayBeNegative.insert(number);
  return Expression::dim(number, name);
}

bool Builder::isNotNegative(const Expression &expression) const {
  return expression.isNotNegative(
      [&](size_t number) { return !mayBeNegative.contains(number); });
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

FailureOr<PlanCondition> Builder::getCondition(Operation *op, Value value) {
  if (const auto *condition = find<PlanCondition>(value))
    return *condition;
  if (const auto *flag = find<Expression>(value))
    return PlanCondition{*flag, Relation::NE, 0};
  return refuse(op, "has a condition that the host does not know before "
                    "anything runs, which has no form");
}

std::optional<Expression> Builder::getFlag(Value value) {
  if (const auto *flag = find<Expression>(value))
    return *flag;
  const auto *condition = find<PlanCondition>(value);
  if (!condition)
    return std::nullopt;
  Expression flag = addVariable("flag", /*isNotNegative=*/true);
  size_t number = *flag.getDim();
  add(runtime::PlanBranch{*condition,
                          {runtime::PlanSet{{number, 1}}},
                          {runtime::PlanSet{{number, 0}}}});
  // What a loop or a branch sets is known only there.
  if (steps == &plan.steps)
    set(value, flag);
  return flag;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

static bool areEqual(const Expressions &a, const Expressions &b) {
  return a.size() == b.size() &&
         llvm::all_of(llvm::zip(a, b), [](const auto &pair) {
           return std::get<0>(pair).getText() == std::get<1>(pair).getText();
         });
}

/// Whether both are the same elements in the same order.
static bool areEqual(const View &a, const View &b) {
  return a.buffer == b.buffer && areEqual(a.sizes, b.sizes) &&
         areEqual(a.strides, b.strides) && areEqual({a.offset}, {b.offset});
}

/// Checks the sizes of what is copied, where expressions do not tell.
static void addSizeChecks(const View &from, const View &to,
                          std::vector<PlanStep> &steps) {
  for (const auto &[size, expected] : llvm::zip_equal(from.sizes, to.sizes))
    if (size.getText() != expected.getText())
      steps.push_back(runtime::PlanConstraint{
          {size, Relation::EQ, expected},
          "expected a buffer that a loop carries, or that a branch gives, to "
          "keep its sizes"});
}

bool isRun(const View &view) {
  return llvm::all_of(
      llvm::zip_equal(view.sizes, view.strides, getRowMajorStrides(view.sizes)),
      [](const auto &dim) {
        const auto &[size, stride, expected] = dim;
        return size.getConstant() == 1 ||
               stride.getText() == expected.getText();
      });
}

PlanAddress Builder::getAddress(const View &view) const {
  int64_t width = runtime::getNpyByteWidth(plan.buffers[view.buffer].dtype);
  return {view.buffer, runtime::multiply({view.offset, width})};
}

LogicalResult Builder::addCopy(Operation *op, const View &from, const View &to,
                               std::vector<PlanStep> &steps) {
  for (const View *view : {&from, &to})
    if (!isRun(*view))
      return refuse(op, "copies a buffer with gaps, which has no form");
  int64_t width = runtime::getNpyByteWidth(plan.buffers[to.buffer].dtype);
  Expressions factors = to.sizes;
  factors.push_back(width);
  steps.push_back(runtime::PlanCopy{getAddress(from), getAddress(to),
                                    runtime::multiply(factors)});
  return success();
}

FailureOr<View> Builder::addWorkspace(Operation *op, MemRefType type,
                                      Expressions sizes) {
  size_t count = plan.getBuffers(Role::Workspace).size();
  std::optional<size_t> buffer =
      addBuffer(Role::Workspace, "workspace" + std::to_string(count),
                RankedTensorType::get(type.getShape(), type.getElementType()),
                type, sizes);
  if (!buffer)
    return refuse(op);
  return View::getWhole(*buffer, std::move(sizes));
}

FailureOr<View> Builder::addCarried(Operation *op, const View &view,
                                    MemRefType type) {
  if (llvm::any_of(view.sizes,
                   [&](const Expression &size) { return usesVariables(size); }))
    return refuse(op, "has a buffer of a size that a loop or a branch decides, "
                      "which has no form");
  return addWorkspace(op, type, view.sizes);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Gives what an iteration leaves to the next one.
LogicalResult Builder::carryOn(scf::ForOp op, ArrayRef<Symbolic> carried) {
  runtime::PlanSet next;
  std::vector<PlanStep> toTemporaries, toPlaces;
  SmallVector<std::pair<View, View>> moves;
  for (auto [value, place] : llvm::zip_equal(op.getYieldedValues(), carried)) {
    if (const auto *variable = std::get_if<Expression>(&place)) {
      std::optional<Expression> integer = getFlag(value);
      if (!integer)
        return refuse(op, "carries an integer that the host does not know, "
                          "which has no form");
      next.emplace_back(*variable->getDim(), *integer);
      continue;
    }
    const View *made = find<View>(value), &view = std::get<View>(place);
    if (!made)
      return refuse(op, "carries a buffer that has no form");
    if (areEqual(*made, view))
      continue;
    addSizeChecks(*made, view, toTemporaries);
    moves.emplace_back(*made, view);
  }
  // A buffer may be what another one is to be, or lie in it.
  for (auto &[made, place] : moves) {
    auto type = MemRefType::get(
        SmallVector<int64_t>(made.sizes.size(), ShapedType::kDynamic),
        IntegerType::get(
            op.getContext(),
            8 * runtime::getNpyByteWidth(plan.buffers[place.buffer].dtype)));
    // The sizes are those of the place.
    FailureOr<View> temporary = addCarried(op, place, type);
    if (failed(temporary) ||
        failed(addCopy(op, made, *temporary, toTemporaries)) ||
        failed(addCopy(op, *temporary, place, toPlaces)))
      return failure();
  }
  llvm::append_range(*steps, toTemporaries);
  llvm::append_range(*steps, toPlaces);
  if (!next.empty())
    add(std::move(next));
  return success();
}

/// Whether nothing but a loop that takes it knows a buffer, so that nothing has
/// written to it.
static bool isUnwritten(Value init) {
  return init.getDefiningOp<memref::AllocOp>() && init.hasOneUse();
}

LogicalResult Builder::evaluateFor(scf::ForOp op) {
  runtime::PlanLoop loop;
  Expressions bounds;
  if (failed(getExpressions(
          op, {op.getLowerBound(), op.getUpperBound(), op.getStep()}, bounds)))
    return failure();
  if (op.getUnsignedCmp())
    requireNotNegative(op, bounds);
  Expression index = addVariable("index", isNotNegative(bounds[0]));
  loop.variable = *index.getDim();
  loop.begin = bounds[0];
  loop.end = bounds[1];
  loop.step = bounds[2];
  set(op.getInductionVar(), index);
  runtime::PlanSet initial;
  SmallVector<Symbolic> carried;
  for (auto [init, argument] :
       llvm::zip_equal(op.getInitArgs(), op.getRegionIterArgs())) {
    if (const View *view = find<View>(init)) {
      View from = *view;
      FailureOr<View> place =
          addCarried(op, from, cast<MemRefType>(argument.getType()));
      if (failed(place) ||
          (!isUnwritten(init) && failed(addCopy(op, from, *place, *steps))))
        return failure();
      carried.push_back(*place);
    } else if (std::optional<Expression> value = getFlag(init)) {
      Expression variable = addVariable("carried");
      initial.emplace_back(*variable.getDim(), *value);
      carried.push_back(variable);
    } else {
      return refuse(op, "carries a value that has no form");
    }
    set(argument, carried.back());
  }
  if (!initial.empty())
    add(std::move(initial));
  std::vector<PlanStep> inner;
  std::vector<PlanStep> *outer = std::exchange(steps, &inner);
  LogicalResult result = evaluate(*op.getBody());
  if (succeeded(result))
    result = carryOn(op, carried);
  steps = outer;
  if (failed(result))
    return failure();
  loop.steps = std::move(inner);
  add(std::move(loop));
  for (auto [value, place] : llvm::zip_equal(op.getResults(), carried))
    set(value, place);
  return success();
}

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

/// A place for a copy of one of two buffers. A branch that gives buffers from
/// before it is a select in front of it, and may write to them: they are copied
/// where the first op takes what is selected.
LogicalResult Builder::selectBuffer(arith::SelectOp op,
                                    const PlanCondition &condition) {
  const View *first = find<View>(op.getTrueValue());
  if (!first || !find<View>(op.getFalseValue()))
    return refuse(op, "has an operand that has no form");
  FailureOr<View> place =
      addCarried(op, *first, cast<MemRefType>(op.getType()));
  if (failed(place))
    return failure();
  set(op.getResult(), std::move(*place));
  selected.emplace_back(op, condition);
  return success();
}

LogicalResult Builder::copySelected(Operation &user) {
  auto isTaken = [&](arith::SelectOp op) {
    return op->getBlock() == user.getBlock() &&
           llvm::any_of(op->getUsers(), [&](Operation *each) {
             return !isa<memref::DimOp>(each) && user.isAncestor(each);
           });
  };
  for (auto &[op, condition] : selected) {
    if (!isTaken(op))
      continue;
    const View &first = *find<View>(op.getTrueValue());
    const View &second = *find<View>(op.getFalseValue());
    const View &place = *find<View>(op.getResult());
    runtime::PlanBranch branch{condition, {}, {}};
    if (failed(addCopy(op, first, place, branch.thenSteps)))
      return failure();
    addSizeChecks(second, place, branch.elseSteps);
    if (failed(addCopy(op, second, place, branch.elseSteps)))
      return failure();
    add(std::move(branch));
  }
  llvm::erase_if(selected,
                 [&](const auto &each) { return isTaken(each.first); });
  return success();
}

LogicalResult Builder::evaluateSelect(arith::SelectOp op) {
  FailureOr<PlanCondition> condition = getCondition(op, op.getCondition());
  if (failed(condition))
    return failure();
  if (isa<MemRefType>(op.getType()))
    return selectBuffer(op, *condition);
  std::optional<Expression> first = getFlag(op.getTrueValue());
  std::optional<Expression> second = getFlag(op.getFalseValue());
  if (!first || !second)
    return refuse(op, "of other than integers has no form");
  Expression value = addVariable("value");
  size_t number = *value.getDim();
  add(runtime::PlanBranch{*condition,
                          {runtime::PlanSet{{number, *first}}},
                          {runtime::PlanSet{{number, *second}}}});
  set(op.getResult(), value);
  return success();
}

LogicalResult Builder::evaluateIf(scf::IfOp op) {
  runtime::PlanBranch branch;
  FailureOr<PlanCondition> condition = getCondition(op, op.getCondition());
  if (failed(condition))
    return failure();
  branch.condition = *condition;
  SmallVector<Symbolic> results;
  std::vector<PlanStep> *lists[] = {&branch.thenSteps, &branch.elseSteps};
  std::vector<PlanStep> *outer = steps;
  ++numBranches;
  for (auto [region, list] : llvm::zip_equal(op->getRegions(), lists)) {
    if (region.empty())
      continue;
    steps = list;
    LogicalResult result = evaluate(region.front());
    ValueRange yielded = region.front().getTerminator()->getOperands();
    for (auto [i, value] : llvm::enumerate(yielded)) {
      if (failed(result))
        break;
      const View *view = find<View>(value);
      std::optional<Expression> integer = view ? std::nullopt : getFlag(value);
      if (!view && !integer) {
        result = refuse(op, "gives a value that has no form");
        break;
      }
      if (list == lists[0] && view) {
        FailureOr<View> place =
            addCarried(op, *view, cast<MemRefType>(op.getResult(i).getType()));
        if (failed(place)) {
          result = failure();
          break;
        }
        results.push_back(*place);
      } else if (list == lists[0]) {
        results.push_back(addVariable("value"));
      }
      if (integer) {
        add(runtime::PlanSet{
            {*std::get<Expression>(results[i]).getDim(), *integer}});
      } else {
        const View &place = std::get<View>(results[i]);
        addSizeChecks(*view, place, *steps);
        result = addCopy(op, *view, place, *steps);
      }
    }
    steps = outer;
    if (failed(result))
      return failure();
  }
  --numBranches;
  add(std::move(branch));
  for (auto [value, result] : llvm::zip_equal(op.getResults(), results))
    set(value, result);
  return success();
}

} // namespace blockscale::plan
