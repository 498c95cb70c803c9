//===- CApi.cpp - Bundles and calls, from C -------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CApi.h"

#include "blockscale/Runtime/PlanExecution.h"

using namespace blockscale::runtime;

static constexpr const char *kStatusNames[] = {
    "BLOCKSCALE_OK",
    "BLOCKSCALE_INVALID_ARGUMENT",
    "BLOCKSCALE_INVALID_BUNDLE",
    "BLOCKSCALE_NOT_FOUND",
    "BLOCKSCALE_FILE",
    "BLOCKSCALE_NO_DRIVER",
    "BLOCKSCALE_DRIVER_TOO_OLD",
    "BLOCKSCALE_NO_DEVICE",
    "BLOCKSCALE_WRONG_CHIP",
    "BLOCKSCALE_MISALIGNED",
    "BLOCKSCALE_OUT_OF_MEMORY",
    "BLOCKSCALE_DRIVER_ERROR",
    "BLOCKSCALE_COMPILE_ERROR",
    "BLOCKSCALE_CANCELLED",
    "BLOCKSCALE_INVALID_CHECKPOINT",
    "BLOCKSCALE_INVALID_DATA",
};

// Statuses are the kinds of errors, from 1 on; roles and dtypes are equal.
static_assert(static_cast<int>(ErrorKind::InvalidArgument) + 1 ==
              BLOCKSCALE_INVALID_ARGUMENT);
static_assert(static_cast<int>(ErrorKind::NoDriver) + 1 ==
              BLOCKSCALE_NO_DRIVER);
static_assert(static_cast<int>(ErrorKind::Driver) + 1 ==
              BLOCKSCALE_DRIVER_ERROR);
static_assert(static_cast<int>(ErrorKind::Cancelled) + 1 ==
              BLOCKSCALE_CANCELLED);
static_assert(static_cast<int>(ErrorKind::InvalidCheckpoint) + 1 ==
              BLOCKSCALE_INVALID_CHECKPOINT);
static_assert(static_cast<int>(ErrorKind::InvalidData) + 1 ==
              BLOCKSCALE_INVALID_DATA);
static_assert(static_cast<int>(PlanBuffer::Role::Workspace) ==
              BLOCKSCALE_WORKSPACE);
static_assert(static_cast<int>(NpyType::Int32) == BLOCKSCALE_INT32);
static_assert(static_cast<int>(NpyType::Float64) == BLOCKSCALE_FLOAT64);
static_assert(static_cast<int>(ReductionKind::Max) == BLOCKSCALE_REDUCTION_MAX);

static thread_local std::string lastError;

blockscale_status blockscale::runtime::report(const Status &status) {
  if (status.ok())
    return BLOCKSCALE_OK;
  lastError = status.message();
  return static_cast<blockscale_status>(static_cast<int>(status.kind()) + 1);
}

Status blockscale::runtime::checkNotNull(
    std::initializer_list<std::pair<const char *, const void *>> each) {
  for (auto [name, pointer] : each)
    if (!pointer)
      return Status::failure("expected " + std::string(name) +
                             " to be a pointer, but got null");
  return Status::success();
}

RankFunction
blockscale::runtime::toRankFunction(blockscale_reduce_callback reduce,
                                    void *user) {
  if (!reduce)
    return {};
  return [reduce, user](const RankReduction &wanted) {
    blockscale_reduction reduction = {
        wanted.address, wanted.count,
        static_cast<blockscale_dtype>(wanted.type),
        static_cast<blockscale_reduction_kind>(wanted.kind), wanted.stream};
    int failed = reduce(&reduction, user);
    if (failed == 0)
      return Status::success();
    return Status::failure("expected the function that reduces over ranks to "
                           "return 0, but got " +
                           std::to_string(failed));
  };
}

int blockscale_reduce_one_rank(const blockscale_reduction *, void *) {
  return 0;
}

std::optional<size_t>
blockscale::runtime::findBuffer(const PlanFunction &function,
                                blockscale_role role, size_t number) {
  std::vector<size_t> numbers =
      function.getBuffers(static_cast<PlanBuffer::Role>(role));
  if (number >= numbers.size())
    return std::nullopt;
  return numbers[number];
}

static const PlanBuffer *get(const blockscale_buffer *buffer) {
  return reinterpret_cast<const PlanBuffer *>(buffer);
}

/// A scalar's dim is no dimension.
static size_t getRank(const PlanBuffer *buffer) {
  return !buffer || buffer->isScalar ? 0 : buffer->shape.size();
}

const char *blockscale_status_name(blockscale_status status) {
  auto number = static_cast<size_t>(status);
  return number < std::size(kStatusNames) ? kStatusNames[number] : nullptr;
}

const char *blockscale_last_error() { return lastError.c_str(); }

const char *blockscale_version() { return BLOCKSCALE_VERSION; }

static blockscale_status finish(Result<std::shared_ptr<const Bundle>> read,
                                blockscale_bundle **bundle) {
  if (!read.ok())
    return report(read.status());
  auto opened = std::make_unique<blockscale_bundle>();
  opened->bundle = *read;
  for (const Bundle::Target &target : (*read)->getTargets()) {
    auto &functions = opened->functions.emplace_back();
    for (const PlanFunction &function : target.plan.functions)
      functions.push_back({*read, &target.plan, &function});
  }
  *bundle = opened.release();
  return BLOCKSCALE_OK;
}

blockscale_status blockscale_bundle_open(const char *path,
                                         blockscale_bundle **bundle) {
  Status status = checkNotNull({{"path", path}, {"bundle", bundle}});
  return status.ok() ? finish(Bundle::read(path), bundle) : report(status);
}

blockscale_status blockscale_bundle_open_memory(const void *bytes, size_t size,
                                                blockscale_bundle **bundle) {
  Status status = checkNotNull({{"bytes", bytes}, {"bundle", bundle}});
  if (!status.ok())
    return report(status);
  return finish(
      Bundle::parse(std::string(static_cast<const char *>(bytes), size)),
      bundle);
}

void blockscale_bundle_close(blockscale_bundle *bundle) { delete bundle; }

size_t blockscale_bundle_target_count(const blockscale_bundle *bundle) {
  return bundle ? bundle->functions.size() : 0;
}

const char *blockscale_bundle_chip(const blockscale_bundle *bundle,
                                   size_t target) {
  if (target >= blockscale_bundle_target_count(bundle))
    return nullptr;
  return bundle->bundle->getTargets()[target].plan.chip.c_str();
}

size_t blockscale_function_count(const blockscale_bundle *bundle,
                                 size_t target) {
  return target < blockscale_bundle_target_count(bundle)
             ? bundle->functions[target].size()
             : 0;
}

const blockscale_function *
blockscale_function_get(const blockscale_bundle *bundle, size_t target,
                        size_t number) {
  return number < blockscale_function_count(bundle, target)
             ? &bundle->functions[target][number]
             : nullptr;
}

blockscale_status
blockscale_function_find(const blockscale_bundle *bundle, size_t target,
                         const char *name,
                         const blockscale_function **function) {
  Status status = checkNotNull({{"bundle", bundle}, {"function", function}});
  if (status.ok() && target >= bundle->functions.size())
    status = Status::failure("expected the number of a target below " +
                             std::to_string(bundle->functions.size()) +
                             ", but got " + std::to_string(target));
  if (!status.ok())
    return report(status);
  const LaunchPlan &plan = bundle->bundle->getTargets()[target].plan;
  Result<const PlanFunction *> found = plan.find(name ? name : "");
  if (!found.ok())
    return report(Status::failure(found.message(), ErrorKind::NotFound));
  *function = &bundle->functions[target][*found - plan.functions.data()];
  return BLOCKSCALE_OK;
}

const char *blockscale_function_name(const blockscale_function *function) {
  return function ? function->function->name.c_str() : nullptr;
}

size_t blockscale_function_dim_count(const blockscale_function *function) {
  return function ? function->function->dims.size() : 0;
}

const char *blockscale_function_dim(const blockscale_function *function,
                                    size_t number) {
  return number < blockscale_function_dim_count(function)
             ? function->function->dims[number].c_str()
             : nullptr;
}

int blockscale_function_reduces(const blockscale_function *function) {
  return function && function->function->reducesOverRanks();
}

size_t blockscale_function_buffer_count(const blockscale_function *function,
                                        blockscale_role role) {
  if (!function)
    return 0;
  return function->function->getBuffers(static_cast<PlanBuffer::Role>(role))
      .size();
}

const blockscale_buffer *
blockscale_function_buffer(const blockscale_function *function,
                           blockscale_role role, size_t number) {
  if (!function)
    return nullptr;
  std::optional<size_t> found = findBuffer(*function->function, role, number);
  return found ? reinterpret_cast<const blockscale_buffer *>(
                     &function->function->buffers[*found])
               : nullptr;
}

const char *blockscale_buffer_name(const blockscale_buffer *buffer) {
  return buffer ? get(buffer)->name.c_str() : nullptr;
}

const char *blockscale_buffer_type(const blockscale_buffer *buffer) {
  return buffer ? get(buffer)->type.c_str() : nullptr;
}

const char *blockscale_buffer_element(const blockscale_buffer *buffer) {
  return buffer ? get(buffer)->element.c_str() : nullptr;
}

const char *blockscale_buffer_layout(const blockscale_buffer *buffer) {
  return buffer ? get(buffer)->layout.c_str() : nullptr;
}

blockscale_dtype blockscale_buffer_dtype(const blockscale_buffer *buffer) {
  return buffer ? static_cast<blockscale_dtype>(get(buffer)->dtype)
                : BLOCKSCALE_BOOL;
}

int blockscale_buffer_is_scalar(const blockscale_buffer *buffer) {
  return buffer && get(buffer)->isScalar;
}

size_t blockscale_buffer_rank(const blockscale_buffer *buffer) {
  return getRank(get(buffer));
}

const char *blockscale_buffer_size(const blockscale_buffer *buffer,
                                   size_t dimension) {
  return dimension < getRank(get(buffer))
             ? get(buffer)->shape[dimension].getText().c_str()
             : nullptr;
}

uint64_t blockscale_buffer_alignment(const blockscale_buffer *buffer) {
  return buffer ? get(buffer)->alignment : 0;
}

int blockscale_buffer_is_writable(const blockscale_buffer *buffer) {
  return buffer && get(buffer)->isWritable;
}

int64_t blockscale_buffer_argument(const blockscale_buffer *buffer) {
  // Arguments are the first buffers.
  if (!buffer || !get(buffer)->argument)
    return -1;
  return static_cast<int64_t>(*get(buffer)->argument);
}

static bool isDType(blockscale_dtype dtype) {
  return dtype >= BLOCKSCALE_BOOL && dtype <= BLOCKSCALE_FLOAT64;
}

const char *blockscale_dtype_name(blockscale_dtype dtype) {
  // The names are string literals.
  return isDType(dtype) ? getNpyTypeName(static_cast<NpyType>(dtype)).data()
                        : nullptr;
}

size_t blockscale_dtype_size(blockscale_dtype dtype) {
  return isDType(dtype) ? getNpyByteWidth(static_cast<NpyType>(dtype)) : 0;
}

/// The arguments as the evaluation of plans takes them. Pointers are checked
/// first.
static Result<std::vector<PlanArgument>>
convert(const PlanFunction &function, const blockscale_argument *arguments,
        size_t count) {
  std::vector<PlanArgument> converted;
  for (size_t i = 0; i < count; ++i) {
    const blockscale_argument &argument = arguments[i];
    std::string where =
        "@" + function.name + ": argument " + std::to_string(i) + ": expected ";
    if (!isDType(argument.dtype))
      return Status::failure(where + "a dtype, but got " +
                             std::to_string(static_cast<int>(argument.dtype)));
    if (argument.rank > 0 && !argument.shape)
      return Status::failure(where + "a shape, but got null");
    // Arguments are the first buffers; that there are too many is told later.
    if (i < function.buffers.size() && function.buffers[i].isScalar &&
        !argument.scalar)
      return Status::failure(where + "the value of a scalar, but got null");
    PlanArgument &result = converted.emplace_back();
    result.dtype = static_cast<NpyType>(argument.dtype);
    result.data = static_cast<const uint8_t *>(argument.scalar);
    if (argument.rank > 0)
      result.shape.assign(argument.shape, argument.shape + argument.rank);
  }
  return converted;
}

blockscale_status blockscale_call_create(const blockscale_function *function,
                                         const blockscale_argument *arguments,
                                         size_t count, blockscale_call **call) {
  Status status = checkNotNull({{"function", function}, {"call", call}});
  if (status.ok() && count > 0)
    status = checkNotNull({{"arguments", arguments}});
  if (!status.ok())
    return report(status);
  Result<std::vector<PlanArgument>> converted =
      convert(*function->function, arguments, count);
  if (!converted.ok())
    return report(converted.status());
  Result<ResolvedFunction> resolved =
      resolve(*function->plan, *function->function, *converted);
  if (!resolved.ok())
    return report(resolved.status());
  *call = new blockscale_call{function->bundle, std::move(*resolved)};
  return BLOCKSCALE_OK;
}

void blockscale_call_destroy(blockscale_call *call) { delete call; }

uint64_t blockscale_call_bytes(const blockscale_call *call,
                               blockscale_role role, size_t number) {
  if (!call)
    return 0;
  std::optional<size_t> found =
      findBuffer(*call->resolved.function, role, number);
  return found ? call->resolved.buffers[*found].bytes : 0;
}

const int64_t *blockscale_call_shape(const blockscale_call *call,
                                     blockscale_role role, size_t number) {
  if (!call)
    return nullptr;
  std::optional<size_t> found =
      findBuffer(*call->resolved.function, role, number);
  return found ? call->resolved.buffers[*found].shape.data() : nullptr;
}

uint64_t blockscale_call_workspace_bytes(const blockscale_call *call) {
  return call ? getWorkspaceBytes(call->resolved) : 0;
}
