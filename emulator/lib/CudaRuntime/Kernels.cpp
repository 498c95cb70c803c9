//===- Kernels.cpp - Kernels and variables of programs --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"

#include "FatBinary.h"
#include "Status.h"

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

/// Under the session's mutex. Nothing that was registered is taken away, so
/// those handles stay good; modules of the driver can be unloaded.
struct Registry {
  std::vector<std::unique_ptr<Image>> images;
  std::vector<std::unique_ptr<Image>> modules;
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

llvm::Error Image::compile(Session &session, Error &code) {
  if (program)
    return llvm::Error::success();
  if (fatBinary) {
    llvm::Expected<std::string> chosen = chooseText(session, fatBinary);
    if (!chosen) {
      code = Error::NoKernelImageForDevice;
      return chosen.takeError();
    }
    text = std::move(*chosen);
  }
  size_t globals = session.device.global.getBuffers().size();
  size_t constants = session.device.constant.getBuffers().size();
  llvm::Expected<std::unique_ptr<Program>> loaded =
      Program::load(text, session.device);
  if (!loaded) {
    code = Error::InvalidPtx;
    return loaded.takeError();
  }
  program = std::move(*loaded);
  // A module's variables are the buffers that its program appended.
  for (const Buffer &buffer :
       session.device.global.getBuffers().drop_front(globals))
    variables[buffer.name] = {StateSpace::Global, buffer.base};
  for (const Buffer &buffer :
       session.device.constant.getBuffers().drop_front(constants))
    variables[buffer.name] = {StateSpace::Const, buffer.base};
  return llvm::Error::success();
}

const Program *Image::load(Session &session, llvm::StringRef function,
                           Error &error) {
  if (llvm::Error why = compile(session, error)) {
    std::string message = llvm::toString(std::move(why));
    noteNotModelled(message);
    error = fail(function, error, message);
    return nullptr;
  }
  return program.get();
}

static Memory &getMemory(Session &session, StateSpace space) {
  return space == StateSpace::Global ? session.device.global
                                     : session.device.constant;
}

void Image::removeVariables(Session &session) const {
  for (const auto &variable : variables)
    getMemory(session, variable.second.space)
        .deallocate(variable.second.address);
}

Buffer *Image::findVariable(Session &session, llvm::StringRef name) const {
  auto it = variables.find(name);
  if (it == variables.end())
    return nullptr;
  return getMemory(session, it->second.space).findAt(it->second.address);
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

KernelCall::KernelCall(llvm::StringRef function, const void *symbol)
    : Call(function) {
  if (error != Error::Success)
    return;
  kernel = findKernel(symbol);
  if (!kernel) {
    error = fail(function, Error::InvalidDeviceFunction,
                 "expected a kernel that the program registered or loaded");
    return;
  }
  const Program *program = kernel->image->load(session, function, error);
  if (!program)
    return;
  code = program->findKernel(kernel->name);
  if (!code)
    error = fail(function, Error::InvalidDeviceFunction,
                 "no kernel '" + kernel->name + "' in the program's PTX");
}

std::optional<Dim3> getRequiredCluster(const ProgramFunction &code) {
  const PerformanceDirective *required =
      code.function->getDirective("reqnctapercluster");
  if (!required)
    return std::nullopt;
  Dim3 cluster = {1, 1, 1};
  for (size_t i = 0; i < 3 && i < required->values.size(); ++i)
    cluster[i] = required->values[i];
  return cluster;
}

void addModule(std::unique_ptr<Image> module) {
  getRegistry().modules.push_back(std::move(module));
}

static auto locateModule(const Image *module) {
  return llvm::find_if(getRegistry().modules,
                       [&](const std::unique_ptr<Image> &image) {
                         return image.get() == module;
                       });
}

bool isModule(const Image *module) {
  return locateModule(module) != getRegistry().modules.end();
}

bool removeModule(Session &session, const Image *module) {
  auto it = locateModule(module);
  Registry &registry = getRegistry();
  if (it == registry.modules.end())
    return false;
  llvm::erase_if(registry.kernels, [&](const std::unique_ptr<Kernel> &kernel) {
    return kernel->image == module;
  });
  module->removeVariables(session);
  registry.modules.erase(it);
  return true;
}

void removeModules(Session &session) {
  while (!getRegistry().modules.empty())
    removeModule(session, getRegistry().modules.back().get());
}

static Kernel *addKernel(Image &image, llvm::StringRef name) {
  auto &kernels = getRegistry().kernels;
  kernels.push_back(std::make_unique<Kernel>(
      Kernel{&image, name.str(), kDefaultSharedBytes}));
  return kernels.back().get();
}

Kernel *findKernel(Image &module, llvm::StringRef name) {
  for (const std::unique_ptr<Kernel> &kernel : getRegistry().kernels)
    if (kernel->image == &module && kernel->name == name)
      return kernel.get();
  return module.hasKernel(name) ? addKernel(module, name) : nullptr;
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
  getRegistry().byHostFunction[hostFunction] =
      addKernel(*reinterpret_cast<Image *>(image), name);
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
