//===- PtxSerializer.cpp - PTX of kernels in LLVM's dialect ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PtxSerializer.h"

#include "KernelPasses.h"
#include "KernelTexts.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Threading.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;

namespace blockscale {

static bool isGlobalMemory(Operation &op) {
  auto global = dyn_cast<LLVM::GlobalOp>(op);
  return global && global.getInitializerRegion().empty();
}

/// Kernels cannot be called, so that no kernel needs another one.
static bool isKernel(Operation &op) {
  auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
  return function && !function.isExternal() &&
         function->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName()) &&
         !function.getLoc()->findInstanceOf<FusedLocWith<LLVM::DIScopeAttr>>();
}

bool holdsKernelsAlone(gpu::GPUModuleOp module) {
  Block &body = *module.getBody();
  return llvm::any_of(body, isKernel) && llvm::all_of(body, [](Operation &op) {
           return isKernel(op) || isGlobalMemory(op);
         });
}

//===----------------------------------------------------------------------===//
// One kernel
//===----------------------------------------------------------------------===//

/// A copy of the module with one of its kernels and the memory that this one
/// takes the address of; the first kernel has all that others may see, too.
static OwningOpRef<gpu::GPUModuleOp>
extract(gpu::GPUModuleOp module, LLVM::LLVMFuncOp kernel, bool isFirst) {
  llvm::StringSet<> used;
  kernel.walk([&](LLVM::AddressOfOp op) { used.insert(op.getGlobalName()); });
  OwningOpRef<gpu::GPUModuleOp> alone(
      cast<gpu::GPUModuleOp>(module->cloneWithoutRegions()));
  Block &body = alone->getBodyRegion().emplaceBlock();
  for (Operation &op : *module.getBody()) {
    auto global = dyn_cast<LLVM::GlobalOp>(op);
    bool isNeeded =
        global ? used.contains(global.getSymName()) ||
                     (isFirst && global.getLinkage() != LLVM::Linkage::Internal)
               : &op == kernel;
    if (isNeeded)
      body.push_back(op.clone());
  }
  return alone;
}

/// What LLVM makes of a module with one kernel.
static std::optional<std::string> generate(llvm::Module &module,
                                           llvm::TargetMachine &machine) {
  runKernelPasses(module, machine);
  llvm::SmallString<0> ptx;
  llvm::raw_svector_ostream os(ptx);
  llvm::legacy::PassManager backend;
  if (machine.addPassesToEmitFile(backend, os, /*DwoOut=*/nullptr,
                                  llvm::CodeGenFileType::AssemblyFile))
    return std::nullopt;
  backend.run(module);
  return ptx.str().str();
}

/// PTX of a module with one kernel.
static std::optional<std::string> compile(gpu::GPUModuleOp module,
                                          const PtxTarget &target) {
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string message;
  const llvm::Target *registered =
      llvm::TargetRegistry::lookupTarget(triple, message);
  if (!registered) {
    module.emitError() << "no code can be generated for NVIDIA's GPUs: "
                       << message;
    return std::nullopt;
  }
  std::unique_ptr<llvm::TargetMachine> machine(
      registered->createTargetMachine(triple, target.chip, target.features,
                                      llvm::TargetOptions(), std::nullopt));
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> translated =
      translateModuleToLLVMIR(module, context);
  if (!translated) {
    module.emitError("the kernels could not be translated to LLVM IR");
    return std::nullopt;
  }
  translated->setTargetTriple(triple);
  translated->setDataLayout(machine->createDataLayout());
  std::string hash = hashKernel(*translated, target);
  if (std::optional<std::string> known = getKernelTexts().find(hash))
    return known;
  std::optional<std::string> ptx = generate(*translated, *machine);
  if (ptx)
    getKernelTexts().add(hash, *ptx);
  else
    module.emitError("the backend emits no text");
  return ptx;
}

//===----------------------------------------------------------------------===//
// The text of several kernels
//===----------------------------------------------------------------------===//

namespace {

/// The parts of the text that LLVM prints of a module of one kernel:
///
///   .version 8.8 ...                              header
///           // .globl k
///   .extern .shared .align 1024 .b8 memory[];     declarations
///   .visible .entry k( ... ) { ... }              entry
struct KernelText {
  explicit KernelText(StringRef ptx) {
    size_t begin = ptx.find('\n', ptx.find("\t// .globl\t")) + 1;
    size_t end = ptx.rfind('\n', ptx.find(".entry ", begin)) + 1;
    header = ptx.take_front(begin);
    declarations = ptx.slice(begin, end);
    entry = ptx.drop_front(end);
  }

  StringRef header, declarations, entry;
};

} // namespace

/// Appends a text of one kernel, whose labels get its number, as those of the
/// functions of one LLVM module have.
static void appendEntry(std::string &text, StringRef entry, size_t number) {
  static constexpr StringLiteral kLabel = "$L__BB0_";
  std::string label = ("$L__BB" + Twine(number) + "_").str();
  while (true) {
    auto [before, behind] = entry.split(kLabel);
    text += before;
    if (before.size() == entry.size())
      return;
    text += label;
    entry = behind;
  }
}

/// The text of a module with the kernels of all texts.
static std::string join(ArrayRef<std::string> texts) {
  SmallVector<KernelText> kernels(texts.begin(), texts.end());
  std::string joined;
  llvm::StringSet<> declared;
  joined += kernels.front().header;
  for (const KernelText &kernel : kernels)
    for (StringRef line : llvm::split(kernel.declarations, '\n'))
      if (!line.empty() && declared.insert(line).second)
        (joined += line) += '\n';
  joined += '\n';
  for (auto [number, kernel] : llvm::enumerate(kernels)) {
    if (number > 0)
      joined += kernel.header.substr(kernel.header.find("\t// .globl\t"));
    appendEntry(joined, kernel.entry, number);
  }
  return joined;
}

/// The numbers of kernels, the largest first: threads that take them in this
/// order end at about the same time.
static SmallVector<size_t> orderBySize(ArrayRef<LLVM::LLVMFuncOp> kernels) {
  SmallVector<size_t> sizes(kernels.size()), order(kernels.size());
  for (auto [number, kernel] : llvm::enumerate(kernels)) {
    order[number] = number;
    kernel->walk([&, &size = sizes[number]](Operation *) { ++size; });
  }
  llvm::sort(order, [&](size_t a, size_t b) {
    return std::make_pair(sizes[b], a) < std::make_pair(sizes[a], b);
  });
  return order;
}

std::optional<std::string> serializePtx(gpu::GPUModuleOp module,
                                        const PtxTarget &target) {
  auto kernels = llvm::to_vector(module.getOps<LLVM::LLVMFuncOp>());
  if (kernels.size() == 1)
    return compile(module, target);
  std::vector<std::optional<std::string>> compiled(kernels.size());
  {
    ParallelDiagnosticHandler handler(module.getContext());
    parallelForEach(module.getContext(), orderBySize(kernels),
                    [&](size_t number) {
                      handler.setOrderIDForThread(number);
                      OwningOpRef<gpu::GPUModuleOp> alone =
                          extract(module, kernels[number], number == 0);
                      compiled[number] = compile(*alone, target);
                      handler.eraseOrderIDForThread();
                    });
  }
  std::vector<std::string> texts;
  for (std::optional<std::string> &text : compiled) {
    if (!text)
      return std::nullopt;
    texts.push_back(std::move(*text));
  }
  return join(texts);
}

} // namespace blockscale
