//===- Status.cpp - Errors that the functions return ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Status.h"

#include "Session.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace blockscale::cuda {

static thread_local Error lastError = Error::Success;

Error setLastError(Error error) {
  if (error != Error::Success)
    lastError = error;
  return error;
}

bool isOfDriver(llvm::StringRef function) {
  return function.consume_front("cu") && !function.empty() &&
         llvm::isUpper(function.front());
}

/// What a function of the driver returns for an error.
static Error toDriver(Error error) {
  switch (error) {
#define BLOCKSCALE_CUDA_RUNTIME_ERROR(NAME, CODE, DRIVER, TEXT)                \
  case Error::NAME:                                                            \
    return Error::DRIVER;
#include "Errors.def"
  default:
    return error;
  }
}

/// The name of a code; null for a code that is not here.
static const char *findName(Error error) {
  switch (error) {
#define BLOCKSCALE_CUDA_ERROR(NAME, CODE, DRIVER_NAME, TEXT)                   \
  case Error::NAME:                                                            \
    return (CODE) == 0 ? "cudaSuccess" : "cudaError" #NAME;
#define BLOCKSCALE_CUDA_RUNTIME_ERROR(NAME, CODE, DRIVER, TEXT)                \
  case Error::NAME:                                                            \
    return "cudaError" #NAME;
#include "Errors.def"
  }
  return nullptr;
}

/// The driver's name of a code; null for a code that it has not.
static const char *findDriverName(Error error) {
  switch (error) {
#define BLOCKSCALE_CUDA_ERROR(NAME, CODE, DRIVER_NAME, TEXT)                   \
  case Error::NAME:                                                            \
    return "CUDA_" #DRIVER_NAME;
#include "Errors.def"
  default:
    return nullptr;
  }
}

static const char *findText(Error error) {
  switch (error) {
// NOLINTBEGIN(bugprone-macro-parentheses): they are strings.
#define BLOCKSCALE_CUDA_ERROR(NAME, CODE, DRIVER_NAME, TEXT)                   \
  case Error::NAME:                                                            \
    return TEXT;
#define BLOCKSCALE_CUDA_RUNTIME_ERROR(NAME, CODE, DRIVER, TEXT)                \
  case Error::NAME:                                                            \
    return TEXT;
// NOLINTEND(bugprone-macro-parentheses)
#include "Errors.def"
  }
  return nullptr;
}

Error fail(llvm::StringRef function, Error error, const llvm::Twine &why) {
  bool ofDriver = isOfDriver(function);
  Error returned = ofDriver ? toDriver(error) : setLastError(error);
  llvm::errs() << "blockscale-emulate: " << function << ": " << why << " ("
               << (ofDriver ? findDriverName(returned) : findName(returned))
               << ")\n";
  return returned;
}

Error failNotModelled(llvm::StringRef function, const llvm::Twine &what) {
  noteNotModelled((function + ": " + what).str());
  return fail(function, Error::NotSupported,
              what + " is not modelled by the emulator");
}

Error checkDevice(int device, llvm::StringRef function) {
  if (device == 0)
    return Error::Success;
  return fail(function, Error::InvalidDevice,
              "expected device 0, the only one, but got " +
                  llvm::Twine(device));
}

extern "C" {

Error cudaGetLastError() {
  Error error = lastError;
  lastError = Error::Success;
  return error;
}

Error cudaPeekAtLastError() { return lastError; }

const char *cudaGetErrorName(Error error) {
  const char *name = findName(error);
  return name ? name : "unrecognized error code";
}

const char *cudaGetErrorString(Error error) {
  const char *text = findText(error);
  return text ? text : "unrecognized error code";
}

// The driver's forms. The text is null for a code that the driver has not.

Error cuGetErrorName(Error error, const char **text) {
  if (!text)
    return Error::InvalidValue;
  *text = findDriverName(error);
  return *text ? Error::Success : Error::InvalidValue;
}

Error cuGetErrorString(Error error, const char **text) {
  if (!text)
    return Error::InvalidValue;
  *text = findDriverName(error) ? findText(error) : nullptr;
  return *text ? Error::Success : Error::InvalidValue;
}

} // extern "C"

} // namespace blockscale::cuda
