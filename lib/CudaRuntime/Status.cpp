//===- Status.cpp - Errors that the functions return ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Status.h"

#include "Session.h"

#include "llvm/Support/raw_ostream.h"

namespace blockscale::cuda {

static thread_local Error lastError = Error::Success;

Error setLastError(Error error) {
  if (error != Error::Success)
    lastError = error;
  return error;
}

/// The name of a code, and its text; empty for a code that is not here.
static const char *findName(Error error) {
  switch (error) {
#define BLOCKSCALE_CUDA_ERROR(NAME, CODE, TEXT)                                \
  case Error::NAME:                                                            \
    return CODE == 0 ? "cudaSuccess" : "cudaError" #NAME;
#include "Errors.def"
  }
  return nullptr;
}

static const char *findText(Error error) {
  switch (error) {
// NOLINTNEXTLINE(bugprone-macro-parentheses): it is a string.
#define BLOCKSCALE_CUDA_ERROR(NAME, CODE, TEXT)                                \
  case Error::NAME:                                                            \
    return TEXT;
#include "Errors.def"
  }
  return nullptr;
}

Error fail(llvm::StringRef function, Error error, const llvm::Twine &why) {
  llvm::errs() << "blockscale-emulate: " << function << ": " << why << " ("
               << findName(error) << ")\n";
  return setLastError(error);
}

Error failNotModelled(llvm::StringRef function, const llvm::Twine &what) {
  noteNotModelled((function + ": " + what).str());
  return fail(function, Error::NotSupported,
              what + " is not modelled by the emulator");
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

/// The driver's form: the text is null for a code that is not here.
Error cuGetErrorString(Error error, const char **text) {
  if (!text)
    return Error::InvalidValue;
  *text = findText(error);
  return *text ? Error::Success : Error::InvalidValue;
}

} // extern "C"

} // namespace blockscale::cuda
