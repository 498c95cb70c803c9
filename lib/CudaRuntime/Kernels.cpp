//===- Kernels.cpp - What programs register -------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"

#include "FatBinary.h"
#include "Status.h"
#include "blockscale/Driver/EmulatorDevice.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace blockscale::emulator;

namespace blockscale::cuda {

namespace {
/// What __cudaRegisterFatBinary gets.
struct FatBinaryWrapper {
  uint32_t magic;
  uint32_t version;
  const void *data;
  const void *others;
};
constexpr uint32_t kWrapperMagic = 0x466243B1;

struct Symbol {
  Image *image;
  std::string name;
};

/// Under the session's mutex. Nothing is taken away: handles stay good.
struct Registry {
  std::vector<std::unique_ptr<Image>> images;
  std::vector<std::unique_ptr<Kernel>> kernels;
  llvm::DenseMap<const void *, Kernel *> byHostFunction;
  llvm::DenseMap<const void *, Symbol> variables;
};
} // namespace

static Registry &getRegistry() {
  static auto *registry = new Registry;
  return *registry;
}

/// The text that suits the device best.
static llvm::Expected<std::string> chooseText(const Session &session,
                                              const void *fatBinary) {
  llvm::Expected<std::vector<std::string>> texts = readFatBinary(fatBinary);
  if (!texts)
    return texts.takeError();
  std::vector<std::string_view> chips;
  for (const std::string &text : *texts)
    chips.emplace_back(getTarget(text));
  std::optional<size_t> choice = runtime::chooseChip(chips, session.capability);
  if (choice)
    return std::move((*texts)[*choice]);
  std::string found;
  for (std::string_view chip : chips)
    found += (found.empty() ? "" : ", ") + std::string(chip);
  return llvm::createStringError(
      "expected the program to have PTX for " + session.chip +
      " (nvcc -gencode arch=compute_100a,code=compute_100a), but got " +
      (found.empty() ? "no PTX" : "PTX for " + found));
}

const Program *Image::load(Session &session, llvm::StringRef function,
                           Error &error) {
  if (program)
    return program.get();
  llvm::Expected<std::string> chosen = chooseText(session, fatBinary);
  if (!chosen) {
    std::string why = llvm::toString(chosen.takeError());
    noteNotModelled(why);
    error = fail(function, Error::NoKernelImageForDevice, why);
    return nullptr;
  }
  text = std::move(*chosen);
  size_t globals = session.device.global.getBuffers().size();
  size_t constants = session.device.constant.getBuffers().size();
  llvm::Expected<std::unique_ptr<Program>> loaded =
      loadProgram(text, session.device);
  if (!loaded) {
    std::string why = llvm::toString(loaded.takeError());
    noteNotModelled(why);
    error = fail(function, Error::InvalidPtx, why);
    return nullptr;
  }
  program = std::move(*loaded);
  // A module's variables are the buffers that its program appended.
  for (const Buffer &buffer :
       session.device.global.getBuffers().drop_front(globals))
    variables[buffer.name] = {StateSpace::Global, buffer.base};
  for (const Buffer &buffer :
       session.device.constant.getBuffers().drop_front(constants))
    variables[buffer.name] = {StateSpace::Const, buffer.base};
  return program.get();
}

Buffer *Image::findVariable(Session &session, llvm::StringRef name) const {
  auto it = variables.find(name);
  if (it == variables.end())
    return nullptr;
  Memory &memory = it->second.space == StateSpace::Global
                       ? session.device.global
                       : session.device.constant;
  return memory.findAt(it->second.address);
}

const ProgramFunction *loadKernel(Session &session, Kernel &kernel,
                                  llvm::StringRef function, Error &error) {
  const Program *program = kernel.image->load(session, function, error);
  if (!program)
    return nullptr;
  const ProgramFunction *found = program->findKernel(kernel.name);
  if (!found)
    error = fail(function, Error::InvalidDeviceFunction,
                 "no kernel '" + kernel.name + "' in the program's PTX");
  return found;
}

Kernel *findKernel(const void *symbol) {
  const Registry &registry = getRegistry();
  if (Kernel *kernel = registry.byHostFunction.lookup(symbol))
    return kernel;
  for (const std::unique_ptr<Kernel> &kernel : registry.kernels)
    if (kernel.get() == symbol)
      return kernel.get();
  return nullptr;
}

Buffer *findSymbol(Session &session, const void *symbol,
                   llvm::StringRef function, Error &error) {
  const Registry &registry = getRegistry();
  auto it = registry.variables.find(symbol);
  if (it == registry.variables.end()) {
    error = fail(function, Error::InvalidSymbol,
                 "expected a variable of the device that the program "
                 "registered");
    return nullptr;
  }
  if (!it->second.image->load(session, function, error))
    return nullptr;
  Buffer *buffer = it->second.image->findVariable(session, it->second.name);
  if (!buffer)
    error = fail(function, Error::InvalidSymbol,
                 "no variable '" + it->second.name + "' in the program's PTX");
  return buffer;
}

// The names are those that nvcc calls.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {

void **__cudaRegisterFatBinary(const void *description) {
  std::lock_guard<std::mutex> lock(getSession().mutex);
  const auto *wrapper = static_cast<const FatBinaryWrapper *>(description);
  const void *data = nullptr;
  if (wrapper->magic == kWrapperMagic)
    data = wrapper->data;
  else
    fail("__cudaRegisterFatBinary", Error::InvalidKernelImage,
         "expected the description of a fat binary to begin with 0x466243B1, "
         "but got 0x" +
             llvm::utohexstr(wrapper->magic));
  // Reading it is put off to its first use; an image of no data has no PTX.
  static const uint32_t empty[] = {0xBA55ED50, 0x00100001, 0, 0};
  Registry &registry = getRegistry();
  registry.images.push_back(std::make_unique<Image>(data ? data : empty));
  return reinterpret_cast<void **>(registry.images.back().get());
}

void __cudaRegisterFatBinaryEnd(void ** /*image*/) {}

void __cudaUnregisterFatBinary(void ** /*image*/) {}

char __cudaInitModule(void ** /*image*/) { return 1; }

void __cudaRegisterFunction(void **image, const void *hostFunction,
                            char * /*deviceFunction*/, const char *name,
                            int /*threadLimit*/, void * /*thread*/,
                            void * /*block*/, void * /*blockSize*/,
                            void * /*gridSize*/, int * /*warpSize*/) {
  std::lock_guard<std::mutex> lock(getSession().mutex);
  Registry &registry = getRegistry();
  registry.kernels.push_back(std::make_unique<Kernel>(
      Kernel{reinterpret_cast<Image *>(image), name, kDefaultSharedBytes}));
  registry.byHostFunction[hostFunction] = registry.kernels.back().get();
}

void __cudaRegisterVar(void **image, void *hostVariable,
                       char * /*deviceAddress*/, const char *name,
                       int /*isExternal*/, size_t /*bytes*/, int /*isConstant*/,
                       int /*isGlobal*/) {
  std::lock_guard<std::mutex> lock(getSession().mutex);
  getRegistry().variables[hostVariable] = {reinterpret_cast<Image *>(image),
                                           name};
}

Error __cudaGetKernel(Kernel **kernel, const void *hostFunction) {
  std::lock_guard<std::mutex> lock(getSession().mutex);
  *kernel = findKernel(hostFunction);
  if (!*kernel)
    return fail("__cudaGetKernel", Error::InvalidDeviceFunction,
                "expected a kernel that the program registered");
  return Error::Success;
}

} // extern "C"
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

} // namespace blockscale::cuda
