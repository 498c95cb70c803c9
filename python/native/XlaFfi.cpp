//===- XlaFfi.cpp - Compiled functions as XLA calls them ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A handler of XLA's typed FFI, whose calls need no Python. The structures are
// those of version 0 of its C interface, as far as the handler reads them: XLA
// only adds fields at their ends, and every structure begins with its size.
//
//===----------------------------------------------------------------------===//

#include "XlaFfi.h"
#include "blockscale-c/Runtime.h"

#include <exception>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace {

//===----------------------------------------------------------------------===//
// XLA's C interface
//===----------------------------------------------------------------------===//

constexpr int kMetadataExtension = 1;
constexpr int kExecuteStage = 3;
constexpr int kBuffer = 1;
constexpr int kScalarAttribute = 3;
constexpr int kSigned64 = 5;
constexpr int kInvalidArgument = 3;
// The version whose structures these are.
constexpr int kMajor = 0;
constexpr int kMinor = 1;

struct Extension {
  size_t structSize;
  int type;
  Extension *next;
};

struct ApiVersion {
  size_t structSize;
  Extension *extensions;
  int major, minor;
};

struct ErrorArguments {
  size_t structSize;
  Extension *extensions;
  const char *message;
  int code;
};

struct Api {
  size_t structSize;
  Extension *extensions;
  ApiVersion version;
  const void *internal;
  void *(*createError)(ErrorArguments *);
};

struct Buffer {
  size_t structSize;
  Extension *extensions;
  int dtype;
  void *data;
  int64_t rank;
  int64_t *dims;
};

struct Values {
  size_t structSize;
  Extension *extensions;
  int64_t size;
  int *types;
  void **values;
};

struct Name {
  const char *data;
  size_t size;
};

struct Scalar {
  int dtype;
  void *value;
};

struct Attributes {
  size_t structSize;
  Extension *extensions;
  int64_t size;
  int *types;
  Name **names;
  void **values;
};

struct CallFrame {
  size_t structSize;
  Extension *extensions;
  const Api *api;
  void *context;
  int stage;
  Values arguments;
  Values results;
  Attributes attributes;
};

struct Metadata {
  size_t structSize;
  ApiVersion version;
  uint32_t traits;
};

struct MetadataExtension {
  Extension base;
  Metadata *metadata;
};

/// Bytes of an element, by XLA's number of its type; 0 for types that no
/// function has.
size_t getXlaSize(int dtype) {
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

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

struct Call {
  blockscale_executable *executable;
  std::vector<blockscale_array> constants;
  std::vector<std::vector<int64_t>> shapes;
};

std::mutex callsMutex;
std::vector<const Call *> calls;

const Call *findCall(int64_t number) {
  std::lock_guard<std::mutex> lock(callsMutex);
  bool isKnown = number >= 0 && number < static_cast<int64_t>(calls.size());
  return isKnown ? calls[number] : nullptr;
}

/// Adds the arrays of buffers, stored as the function has them; returns what is
/// wrong, or nothing.
std::string addArrays(const Call &call, blockscale_role role,
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
int64_t getNumber(const Attributes &attributes) {
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
std::string call(const CallFrame &frame) {
  const Call *call = findCall(getNumber(frame.attributes));
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
  // JAX has no errors that depend on numbers.
  config.accept_nan_scales = 1;
  blockscale_status status = blockscale_executable_call(
      call->executable, arguments.data(), arguments.size(), results.data(),
      results.size(), &config);
  return status == BLOCKSCALE_OK ? "" : blockscale_last_error();
}

void *fail(const CallFrame &frame, const std::string &message) {
  ErrorArguments arguments = {sizeof(ErrorArguments), nullptr, message.c_str(),
                              kInvalidArgument};
  return frame.api->createError(&arguments);
}

extern "C" void *handleXlaCall(CallFrame *frame) {
  Extension *extension = frame->extensions;
  if (extension && extension->type == kMetadataExtension) {
    auto *metadata = reinterpret_cast<MetadataExtension *>(extension)->metadata;
    metadata->version = {sizeof(ApiVersion), nullptr, kMajor, kMinor};
    metadata->traits = 0;
    return nullptr;
  }
  if (frame->stage != kExecuteStage)
    return nullptr;
  try {
    std::string error = call(*frame);
    return error.empty() ? nullptr : fail(*frame, error);
  } catch (const std::exception &error) {
    return fail(*frame, error.what());
  }
}

} // namespace

int64_t addXlaCall(blockscale_executable *executable,
                   const blockscale_array *constants, size_t count) {
  auto *call = new Call{executable, {constants, constants + count}, {}};
  for (blockscale_array &constant : call->constants) {
    const int64_t *shape = constant.shape;
    // A vector keeps its memory where the vector of vectors grows.
    constant.shape =
        call->shapes.emplace_back(shape, shape + constant.rank).data();
    constant.strides = nullptr;
  }
  std::lock_guard<std::mutex> lock(callsMutex);
  calls.push_back(call);
  return static_cast<int64_t>(calls.size()) - 1;
}

void *getXlaHandler() { return reinterpret_cast<void *>(&handleXlaCall); }
