//===- Source.h - Modules of callers and their diagnostics ------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CAPI_SOURCE_H
#define BLOCKSCALE_LIB_CAPI_SOURCE_H

#include "../Runtime/CApi.h"
#include "Config.h"

#include "blockscale-c/Compile.h"
#include "blockscale/Driver/Stages.h"
#include "blockscale/Runtime/FloatEnvironment.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace blockscale::capi {

/// A module in a context of its own, whose diagnostics go to a callback while
/// it lives.
class Source {
public:
  Source(blockscale_diagnostic_callback callback, void *user);
  ~Source();
  Source(const Source &) = delete;
  Source &operator=(const Source &) = delete;

  /// Parses text or bytecode; `name` is what diagnostics call it, and
  /// `bytecodeReader` the program that reads bytecode, null for a search.
  runtime::Status parse(llvm::StringRef content, const std::string &name,
                        const char *bytecodeReader);
  /// Refuses text that nests too deep for MLIR's parser.
  runtime::Status checkNesting(llvm::StringRef text, const std::string &name);
  runtime::Status enableRemarks();
  /// Quantizes products as the policy of a file says; nothing where it is null.
  runtime::Status quantize(const char *policy);

  mlir::ModuleOp getModule() { return *module; }

  /// `status`, or where that says that the module cannot be compiled, the same
  /// with the first error and its place.
  runtime::Status explain(const runtime::Status &status) const;

private:
  void handle(mlir::Diagnostic &diagnostic);

  blockscale_diagnostic_callback callback;
  void *user;
  std::string firstError;
  mlir::MLIRContext context;
  mlir::DiagnosticEngine::HandlerID handler;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// The bytes of a file.
runtime::Result<std::string> readFile(const char *path);

/// What C functions on a module begin with: `run`, on its content and its name
/// and on the configuration, whatever its version, if all that they need is
/// there. `result` is where they store what they make.
template <typename Config, typename Run>
blockscale_status
onSource(const void *source, size_t size, const Config *config,
         std::pair<const char *, const void *> result, Run run) {
  Config read;
  runtime::Status status = runtime::checkNotNull({{"source", source}, result});
  if (status.ok())
    status = readConfig(config, read);
  runtime::DefaultFloatEnvironment environment;
  if (status.ok())
    status = run(llvm::StringRef(static_cast<const char *>(source), size),
                 read.source_name ? read.source_name : "<source>", read);
  return runtime::report(status);
}

/// Runs `run` on the text of a file as onSource does, with the path for the
/// source's name.
template <typename Config, typename Run>
blockscale_status onFile(const char *path, const Config *config,
                         std::pair<const char *, const void *> result,
                         Run run) {
  Config read;
  runtime::Status status = runtime::checkNotNull({{"path", path}, result});
  if (status.ok())
    status = readConfig(config, read);
  if (!status.ok())
    return runtime::report(status);
  runtime::DefaultFloatEnvironment environment;
  runtime::Result<std::string> content = readFile(path);
  return runtime::report(content.ok()
                             ? run(llvm::StringRef(*content), path, read)
                             : content.status());
}

/// Tells a callback of the steps.
class ProgressObserver : public CompileObserver {
public:
  ProgressObserver(blockscale_progress_callback callback, void *user)
      : callback(callback), user(user) {}

  runtime::Status begin(const std::string &step, size_t number,
                        size_t count) override;

private:
  blockscale_progress_callback callback;
  void *user;
};

} // namespace blockscale::capi

#endif // BLOCKSCALE_LIB_CAPI_SOURCE_H
