//===- XlaAbi.h - The C interface of XLA's typed FFI ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The structures of version 0 of that interface, as far as a handler reads
// them: XLA only adds fields at their ends, and every structure begins with its
// size.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CAPI_XLAABI_H
#define BLOCKSCALE_LIB_CAPI_XLAABI_H

#include <cstddef>
#include <cstdint>

namespace blockscale::capi::xla {

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

/// A handler: null, or the error that it made.
using Handler = void *(CallFrame *frame);

} // namespace blockscale::capi::xla

#endif // BLOCKSCALE_LIB_CAPI_XLAABI_H
