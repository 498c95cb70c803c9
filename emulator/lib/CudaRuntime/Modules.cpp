//===- Modules.cpp - Modules that the driver loads ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Call.h"
#include "FatBinary.h"
#include "Kernels.h"
#include "Status.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstring>

namespace blockscale::cuda {

namespace {
/// Where a caller wants to read why its PTX was refused.
struct Log {
  char *text = nullptr;
  size_t bytes = 0;

  void write(llvm::StringRef message) const {
    if (!text || bytes == 0)
      return;
    message = message.take_front(bytes - 1);
    std::memcpy(text, message.data(), message.size());
    text[message.size()] = 0;
  }
};

struct Logs {
  Log info;
  Log errors;
};
} // namespace

/// Takes the options of a load. Numbers are passed in the place of pointers.
static Error readOptions(llvm::ArrayRef<JitOption> options, void **values,
                         Logs &logs, llvm::StringRef function) {
  for (size_t i = 0; i < options.size(); ++i) {
    switch (options[i]) {
    case JitOption::InfoLog:
      logs.info.text = static_cast<char *>(values[i]);
      continue;
    case JitOption::InfoLogBytes:
      logs.info.bytes =
          static_cast<uint32_t>(reinterpret_cast<uintptr_t>(values[i]));
      continue;
    case JitOption::ErrorLog:
      logs.errors.text = static_cast<char *>(values[i]);
      continue;
    case JitOption::ErrorLogBytes:
      logs.errors.bytes =
          static_cast<uint32_t>(reinterpret_cast<uintptr_t>(values[i]));
      continue;
    }
    return failNotModelled(
        function, "JIT option " + llvm::Twine(static_cast<int>(options[i])));
  }
  return Error::Success;
}

/// The kinds of images that GPUs run and the emulator does not, by the bytes
/// that they begin with; empty for others.
static llvm::StringRef findKind(const char *image) {
  const std::pair<llvm::StringRef, llvm::StringRef> kinds[] = {
      {"\x7F"
       "ELF",
       "a cubin"},
      {"\x50\xED\x55\xBA", "a fat binary"},
      {"\xB1\x43\x62\x46", "the description of a fat binary"}};
  for (auto [bytes, kind] : kinds)
    if (std::strncmp(image, bytes.data(), bytes.size()) == 0)
      return kind;
  return "";
}

extern "C" {

Error cuModuleLoadDataEx(Image **module, const char *image, unsigned count,
                         const JitOption *options, void **values) {
  Call call("cuModuleLoadDataEx");
  if (call.error != Error::Success)
    return call.error;
  if (!module || !image || (count != 0 && (!options || !values)))
    return fail(call.function, Error::InvalidValue,
                "expected pointers to a module, an image and its options");
  *module = nullptr;
  Logs logs;
  if (Error error = readOptions(llvm::ArrayRef(options, count), values, logs,
                                call.function);
      error != Error::Success)
    return error;
  logs.info.write("");
  logs.errors.write("");
  auto refuse = [&](Error error, const llvm::Twine &why) {
    logs.errors.write(why.str());
    return fail(call.function, error, why);
  };
  if (llvm::StringRef kind = findKind(image); !kind.empty()) {
    logs.errors.write("expected PTX, but got " + kind.str());
    return failNotModelled(call.function, kind + " in place of PTX");
  }
  llvm::StringRef chip = getTarget(image);
  if (chip.empty())
    return refuse(Error::InvalidKernelImage,
                  "expected PTX with a directive .target");
  if (!runtime::runsOn(std::string_view(chip), call.session.capability))
    return refuse(Error::InvalidPtx, "expected PTX for " + call.session.chip +
                                         ", but got PTX for " + chip);
  auto made = std::make_unique<Image>(std::string(image));
  Error error = Error::Success;
  if (llvm::Error why = made->compile(call.session, error)) {
    std::string text = llvm::toString(std::move(why));
    noteNotModelled(text);
    return refuse(error, text);
  }
  *module = made.get();
  addModule(std::move(made));
  return Error::Success;
}

Error cuModuleUnload(Image *module) {
  Call call("cuModuleUnload");
  if (call.error != Error::Success)
    return call.error;
  if (!removeModule(call.session, module))
    return fail(call.function, Error::InvalidResourceHandle,
                "expected what cuModuleLoadDataEx gave");
  return Error::Success;
}

Error cuModuleGetFunction(Kernel **function, Image *module, const char *name) {
  Call call("cuModuleGetFunction");
  if (call.error != Error::Success)
    return call.error;
  if (!function || !name)
    return fail(call.function, Error::InvalidValue,
                "expected pointers to a function and a name");
  *function = nullptr;
  if (!isModule(module))
    return fail(call.function, Error::InvalidResourceHandle,
                "expected what cuModuleLoadDataEx gave");
  *function = findKernel(*module, name);
  if (!*function)
    return fail(call.function, Error::SymbolNotFound,
                llvm::Twine("no kernel '") + name + "' in the module's PTX");
  return Error::Success;
}

// NOLINTNEXTLINE(readability-identifier-naming): a name of the driver's.
Error cuModuleGetGlobal_v2(void **address, size_t *bytes, Image *module,
                           const char *name) {
  Call call("cuModuleGetGlobal");
  if (call.error != Error::Success)
    return call.error;
  if (!name)
    return fail(call.function, Error::InvalidValue,
                "expected a pointer to a name");
  if (!isModule(module))
    return fail(call.function, Error::InvalidResourceHandle,
                "expected what cuModuleLoadDataEx gave");
  emulator::Buffer *buffer = module->findVariable(call.session, name);
  // A host may ask whether there is one: an answer, which is not printed.
  if (!buffer)
    return Error::SymbolNotFound;
  if (address)
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the device.
    *address = reinterpret_cast<void *>(buffer->base);
  if (bytes)
    *bytes = buffer->bytes.size();
  return Error::Success;
}

} // extern "C"

} // namespace blockscale::cuda
