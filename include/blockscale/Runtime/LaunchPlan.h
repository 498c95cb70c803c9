//===- LaunchPlan.h - How functions run on a device -------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launch plan says, for each function of a module, which buffers there are
// and which kernels run on them, in order. Sizes are expressions of the dims of
// its arguments. docs/LaunchPlan.md describes the JSON form.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_RUNTIME_LAUNCHPLAN_H
#define BLOCKSCALE_RUNTIME_LAUNCHPLAN_H

#include "blockscale/Runtime/Expression.h"
#include "blockscale/Runtime/RankReduction.h"

#include <array>

namespace blockscale::runtime {

inline constexpr int64_t kLaunchPlanVersion = 2;
/// Of what writeChoices writes.
inline constexpr int64_t kChoicesVersion = 1;

/// What a parameter of a kernel is.
enum class ParameterKind { Pointer, I32, I64, F32, TensorMap };

struct PlanKernel {
  std::string name;
  std::vector<ParameterKind> parameters;
};

/// Memory of a function: an argument, a result, a constant or a workspace.
struct PlanBuffer {
  enum class Role { Argument, Result, Constant, Workspace };

  Role role = Role::Argument;
  std::string name;
  /// The type in the module, for messages: `tensor<?x64xf4E2M1FN>`.
  std::string type;
  /// What the bytes mean: the element type and layout of `type`.
  std::string element;
  std::string layout;
  /// Storage form.
  NpyType dtype = NpyType::UInt8;
  std::vector<Expression> shape;
  Expression bytes;
  /// That the device address must have.
  int64_t alignment = 1;
  /// An argument passed by value; its shape is empty.
  bool isScalar = false;
  /// Whether the caller gives an argument away: steps may write to it.
  bool isWritable = false;
  /// Whether nothing writes to an argument that may still run when a call
  /// begins.
  bool isSettled = false;
  /// The argument whose memory a result may have: that of the same storage form
  /// which a step copies to the result.
  std::optional<size_t> argument;
  /// The content of a constant: its own, or that of a bundle's constant, which
  /// must outlive the plan.
  std::vector<uint8_t> data;
  std::optional<std::string_view> blob;

  const uint8_t *getData() const {
    return blob ? reinterpret_cast<const uint8_t *>(blob->data()) : data.data();
  }
  size_t getDataSize() const { return blob ? blob->size() : data.size(); }

  /// Whether both have the same dtype, and their sizes the same expressions.
  bool isStoredAs(const PlanBuffer &other) const;
};

/// `offset` bytes into a buffer.
struct PlanAddress {
  size_t buffer = 0;
  Expression offset;
};

/// What cuTensorMapEncodeTiled takes; dimension 0 is the innermost. Numbers of
/// enumerations are those of the driver.
struct PlanTensorMap {
  PlanAddress address;
  uint32_t element = 0;
  std::vector<Expression> dims;
  /// The strides of the dimensions from 1 on, in bytes.
  std::vector<Expression> strides;
  std::vector<uint32_t> box;
  std::vector<uint32_t> elementStrides;
  uint32_t interleave = 0;
  uint32_t swizzle = 0;
  uint32_t l2Promotion = 0;
  uint32_t fill = 0;
};

struct PlanParameter {
  ParameterKind kind = ParameterKind::Pointer;
  PlanAddress address;
  /// The value of an integer.
  Expression value;
  /// The argument that gives the value of an f32; nullopt for a constant.
  std::optional<size_t> scalar;
  /// The bits of an f32 that is a constant.
  uint32_t bits = 0;
  PlanTensorMap map;
};

using PlanDim3 = std::array<Expression, 3>;

/// A kernel that runs, unless the grid is empty.
struct PlanLaunch {
  size_t kernel = 0;
  PlanDim3 grid = {1, 1, 1};
  PlanDim3 block = {1, 1, 1};
  PlanDim3 cluster = {1, 1, 1};
  Expression sharedBytes;
  /// Whether it may begin before the launch before it has ended: its kernel
  /// waits for that one where it must.
  bool isProgrammatic = false;
  std::vector<PlanParameter> parameters;
};

struct PlanCopy {
  PlanAddress from;
  PlanAddress to;
  Expression bytes;
};

/// Elements of float32 that the host reduces over ranks, in place.
struct PlanReduction {
  PlanAddress address;
  Expression count;
  ReductionKind kind = ReductionKind::Max;
};

enum class Relation { EQ, NE, LT, LE, GT, GE };

/// A relation of two integers.
struct PlanCondition {
  Expression left;
  Relation relation = Relation::EQ;
  Expression right;
};

/// What must hold.
struct PlanConstraint : PlanCondition {
  /// The rule: "expected ...".
  std::string message;
};

struct PlanStep;

/// Steps that run once for each value of a variable from `begin` on, below
/// `end`, `step` apart.
struct PlanLoop {
  /// The number of the variable, among dims and variables.
  size_t variable = 0;
  Expression begin;
  Expression end;
  Expression step = 1;
  std::vector<PlanStep> steps;
};

/// Steps of which those of one list run.
struct PlanBranch {
  PlanCondition condition;
  std::vector<PlanStep> thenSteps;
  std::vector<PlanStep> elseSteps;
};

/// Gives variables values, all of which are computed before the first changes.
using PlanSet = std::vector<std::pair<size_t, Expression>>;

/// A step of a function, which is one of these.
struct PlanStep {
  std::optional<PlanLaunch> launch;
  std::optional<PlanCopy> copy;
  std::optional<PlanReduction> reduction;
  std::optional<PlanLoop> loop;
  std::optional<PlanBranch> branch;
  std::optional<PlanSet> set;
  /// What must hold where the step stands.
  std::optional<PlanConstraint> check;

  PlanStep() = default;
  PlanStep(PlanLaunch launch) : launch(std::move(launch)) {}
  PlanStep(PlanCopy copy) : copy(std::move(copy)) {}
  PlanStep(PlanReduction reduction) : reduction(std::move(reduction)) {}
  PlanStep(PlanLoop loop) : loop(std::move(loop)) {}
  PlanStep(PlanBranch branch) : branch(std::move(branch)) {}
  PlanStep(PlanSet set) : set(std::move(set)) {}
  PlanStep(PlanConstraint check) : check(std::move(check)) {}
};

/// Calls `visit` for each step, and for those of loops and branches in them.
void visitSteps(const std::vector<PlanStep> &steps,
                const std::function<void(const PlanStep &)> &visit);

struct PlanFunction {
  std::string name;
  /// Integers that the arguments give, and integers that steps give and change,
  /// which are 0 at first. Expressions of steps have both, all others dims.
  /// Variables have the numbers behind those of the dims.
  std::vector<std::string> dims;
  std::vector<std::string> variables;
  /// Arguments and results in the order of the call, then constants and
  /// workspaces in any order.
  std::vector<PlanBuffer> buffers;
  /// What must hold before anything runs.
  std::vector<PlanConstraint> constraints;
  std::vector<PlanStep> steps;

  /// Numbers of the buffers of a role, in order.
  std::vector<size_t> getBuffers(PlanBuffer::Role role) const;

  /// Whether some step is a reduction over ranks.
  bool reducesOverRanks() const;
};

/// The parameters of a schedule by their names, in order.
using PlanSchedule = std::vector<std::pair<std::string, int64_t>>;

/// A schedule that a product can have, and the nanoseconds that a model expects
/// of it.
struct PlanCandidate {
  PlanSchedule schedule;
  int64_t predicted = 0;
};

/// What schedule the kernel of a product has and by what it was chosen. Nothing
/// runs by it: it is for those who ask why a kernel is as it is.
struct PlanChoice {
  /// The name of the function that the product is in.
  std::string function;
  /// What the schedule is good for: the kernel and the buckets of its sizes,
  /// and all of that in one word.
  std::string name;
  std::vector<std::pair<std::string, std::string>> key;
  PlanSchedule schedule;
  /// What chose: "model", "tuned", "attribute" or "option".
  std::string source;
  /// The nanoseconds that the model expects, where it rates the schedule.
  std::optional<int64_t> predicted;
  /// The model's best; empty in plans.
  std::vector<PlanCandidate> candidates;
};

struct LaunchPlan {
  std::string chip;
  std::vector<PlanKernel> kernels;
  std::vector<PlanFunction> functions;
  /// One for each kernel of products.
  std::vector<PlanChoice> choices;

  /// The function of this name, or the only one where `name` is empty. Fails
  /// with the names to choose from.
  Result<const PlanFunction *> find(const std::string &name) const;
};

/// Names as plans spell them, in the order of the numbers.
extern const std::vector<std::string_view> kParameterNames;
extern const std::vector<std::string_view> kTensorElementNames;
extern const std::vector<std::string_view> kSwizzleNames;
extern const std::vector<std::string_view> kInterleaveNames;
extern const std::vector<std::string_view> kPromotionNames;
extern const std::vector<std::string_view> kFillNames;
extern const std::vector<std::string_view> kRelationNames;
extern const std::vector<std::string_view> kReductionNames;

/// Reads and validates the JSON form: unknown and missing members, names that
/// stand for nothing, parameters that are not the kernel's. A failure begins
/// with "LINE:COLUMN: ". `blobs` are the constants of the bundle that the plan
/// is in.
Result<LaunchPlan>
parseLaunchPlan(std::string_view text,
                const std::vector<std::string_view> &blobs = {});

/// Writes the JSON form. Contents of constants are in it, or where `blobs` is
/// given they are added to it, equal ones once. Names and messages must be
/// UTF-8.
std::string writeLaunchPlan(const LaunchPlan &plan,
                            std::vector<std::string> *blobs = nullptr);

/// Writes choices with their candidates and what they are made for, as JSON.
std::string writeChoices(const std::string &chip, const std::string &compiler,
                         const std::vector<PlanChoice> &choices);

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_LAUNCHPLAN_H
