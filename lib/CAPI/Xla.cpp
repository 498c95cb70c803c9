//===- Xla.cpp - Compiled functions as XLA calls them, from C -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale-c/Xla.h"

#include "../Runtime/CApi.h"
#include "Arrays.h"
#include "XlaAbi.h"

#include <mutex>
#include <string_view>

using namespace mlir;
using namespace blockscale;
using namespace blockscale::capi;
using namespace blockscale::capi::xla;
using blockscale::runtime::checkNotNull;
using blockscale::runtime::report;
using blockscale::runtime::Result;
using blockscale::runtime::Status;

namespace {

/// A function that XLA may call, and the arrays that are its last arguments.
struct XlaCall {
  blockscale_executable *executable;
  std::vector<blockscale_array> constants;
  std::vector<std::vector<int64_t>> shapes;
};

} // namespace

//===----------------------------------------------------------------------===//
// Numbers of functions
//===----------------------------------------------------------------------===//

static std::mutex callsMutex;
// None is ever freed: programs that XLA compiled have their numbers.
static std::vector<const XlaCall *> calls;

static const XlaCall *findXlaCall(int64_t number) {
  std::lock_guard<std::mutex> lock(callsMutex);
  bool isKnown = number >= 0 && number < static_cast<int64_t>(calls.size());
  return isKnown ? calls[number] : nullptr;
}

static Status checkConstants(const blockscale_executable &executable,
                             const blockscale_array *constants, size_t count) {
  if (!executable.function->isInHostMemory())
    return Status::failure("expected a function whose arrays are in the host's "
                           "memory, but got one of a GPU");
  if (executable.function->reducesOverRanks())
    return Status::failure("expected a function without amaxes over ranks, "
                           "which XLA would have to reduce, but got one with "
                           "them");
  ArrayRef<Slot> slots = getSlots(&executable, BLOCKSCALE_ARGUMENT);
  for (auto [i, slot] : llvm::enumerate(slots))
    if (slot.isWritable)
      return Status::failure("expected a function that writes to no argument, "
                             "whose array is XLA's, but argument " +
                             std::to_string(i) + " is given away");
  if (count && !constants)
    return Status::failure("expected constants to be a pointer, but got null");
  size_t most = slots.size();
  if (count > most)
    return Status::failure("expected at most " + std::to_string(most) +
                           " constants, but got " + std::to_string(count));
  for (size_t i = 0; i < count; ++i) {
    Result<ArrayView> view =
        convert(executable, BLOCKSCALE_ARGUMENT, most - count + i, constants[i],
                /*isRead=*/true);
    if (!view.ok())
      return view.status();
  }
  return Status::success();
}

blockscale_status blockscale_xla_add_call(blockscale_executable *executable,
                                          const blockscale_array *constants,
                                          size_t count, int64_t *number) {
  Status status =
      checkNotNull({{"executable", executable}, {"number", number}});
  if (status.ok())
    status = checkConstants(*executable, constants, count);
  if (!status.ok())
    return report(status);
  auto added = std::make_unique<XlaCall>();
  added->executable = executable;
  for (blockscale_array constant : llvm::ArrayRef(constants, count)) {
    const int64_t *shape = constant.shape;
    // A vector keeps its memory where the vector of vectors grows.
    constant.shape =
        added->shapes.emplace_back(shape, shape + constant.rank).data();
    constant.strides = nullptr;
    added->constants.push_back(constant);
  }
  std::lock_guard<std::mutex> lock(callsMutex);
  *number = static_cast<int64_t>(calls.size());
  calls.push_back(added.release());
  return BLOCKSCALE_OK;
}

//===----------------------------------------------------------------------===//
// The handler
//===----------------------------------------------------------------------===//

/// Bytes of an element, by XLA's number of its type; 0 for types that no
/// function has.
static size_t getXlaSize(int dtype) {
  switch (dtype) {
  case 1:  // PRED
  case 2:  // S8
  case 6:  // U8
  case 19: // F8E5M2
  case 20: // F8E4M3FN
  case 33: // F8E8M0FNU
    return 1;
  case 3:  // S16
  case 10: // F16
  case 16: // BF16
    return 2;
  case 4:  // S32
  case 11: // F32
    return 4;
  case kSigned64:
  case 12: // F64
    return 8;
  default:
    return 0;
  }
}

/// Adds the arrays of buffers, stored as the function has them; returns what is
/// wrong, or nothing.
static std::string addArrays(const XlaCall &call, blockscale_role role,
                             const Values &values,
                             std::vector<blockscale_array> &arrays) {
  for (int64_t i = 0; i < values.size; ++i) {
    blockscale_slot slot;
    if (values.types[i] != kBuffer)
      return "expected buffers, but got another kind of value";
    if (blockscale_executable_slot(call.executable, role, i, &slot) !=
        BLOCKSCALE_OK)
      return blockscale_last_error();
    const auto *buffer = static_cast<const Buffer *>(values.values[i]);
    if (getXlaSize(buffer->dtype) != blockscale_dtype_size(slot.dtype))
      return std::string("expected a buffer of ") +
             blockscale_dtype_name(slot.dtype) + ", but got type " +
             std::to_string(buffer->dtype) + " of XLA";
    arrays.push_back({buffer->data, slot.dtype,
                      static_cast<size_t>(buffer->rank), buffer->dims,
                      nullptr});
  }
  return "";
}

/// The number in the attribute `call`, or -1.
static int64_t getNumber(const Attributes &attributes) {
  for (int64_t i = 0; i < attributes.size; ++i) {
    std::string_view name(attributes.names[i]->data, attributes.names[i]->size);
    if (name != "call" || attributes.types[i] != kScalarAttribute)
      continue;
    const auto *scalar = static_cast<const Scalar *>(attributes.values[i]);
    if (scalar->dtype == kSigned64)
      return *static_cast<const int64_t *>(scalar->value);
  }
  return -1;
}

/// Calls a function; returns what is wrong, or nothing.
static std::string callFunction(const CallFrame &frame) {
  const XlaCall *call = findXlaCall(getNumber(frame.attributes));
  if (!call)
    return "expected a function that this process imported; import and compile "
           "it again here";
  std::vector<blockscale_array> arguments, results;
  std::string error =
      addArrays(*call, BLOCKSCALE_ARGUMENT, frame.arguments, arguments);
  if (error.empty())
    error = addArrays(*call, BLOCKSCALE_RESULT, frame.results, results);
  if (!error.empty())
    return error;
  arguments.insert(arguments.end(), call->constants.begin(),
                   call->constants.end());
  blockscale_call_config config = blockscale_call_config_default();
  // XLA has no errors that depend on numbers.
  config.accept_nan_scales = 1;
  blockscale_status status = blockscale_executable_call(
      call->executable, arguments.data(), arguments.size(), results.data(),
      results.size(), &config);
  return status == BLOCKSCALE_OK ? "" : blockscale_last_error();
}

static void *handleXlaCall(CallFrame *frame) {
  Extension *extension = frame->extensions;
  if (extension && extension->type == kMetadataExtension) {
    auto *metadata = reinterpret_cast<MetadataExtension *>(extension)->metadata;
    metadata->version = {sizeof(ApiVersion), nullptr, kMajor, kMinor};
    metadata->traits = 0;
    return nullptr;
  }
  if (frame->stage != kExecuteStage)
    return nullptr;
  std::string error = callFunction(*frame);
  if (error.empty())
    return nullptr;
  ErrorArguments arguments = {sizeof(ErrorArguments), nullptr, error.c_str(),
                              kInvalidArgument};
  return frame->api->createError(&arguments);
}

void *blockscale_xla_handler() {
  return reinterpret_cast<void *>(&handleXlaCall);
}
