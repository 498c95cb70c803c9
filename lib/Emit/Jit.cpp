//===- Jit.cpp - Compile for this machine and call ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Emit/Jit.h"
#include "JitMemory.h"
#include "TableLookups.h"

#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;

namespace blockscale {

Jit::Jit(std::unique_ptr<JitMemory> memory,
         std::unique_ptr<ExecutionEngine> engine)
    : memory(std::move(memory)), engine(std::move(engine)) {}
Jit::~Jit() = default;
Jit::Jit(Jit &&) noexcept = default;

llvm::Expected<Jit> Jit::create(ModuleOp module, ArrayRef<Symbol> symbols,
                                const HostTarget &target) {
  auto machine = createHostTargetMachine(target);
  if (!machine)
    return machine.takeError();
  // The engine takes one machine; the optimizer needs its own meanwhile.
  auto optimizerMachine = createHostTargetMachine(target);
  if (!optimizerMachine)
    return optimizerMachine.takeError();
  auto optimize = makeOptimizingTransformer(
      target.optimize ? 3 : 0, /*sizeLevel=*/0, optimizerMachine->get());
  auto transform = [&](llvm::Module *llvmModule) {
    useTableLookups(*llvmModule, **optimizerMachine);
    return optimize(llvmModule);
  };
  auto memory = std::make_unique<JitMemory>();
  ExecutionEngineOptions options;
  options.sectionMemoryMapper = memory.get();
  options.transformer = transform;
  options.jitCodeGenOptLevel = target.optimize
                                   ? llvm::CodeGenOptLevel::Aggressive
                                   : llvm::CodeGenOptLevel::None;
  auto engine = ExecutionEngine::create(module, options, std::move(*machine));
  if (!engine)
    return engine.takeError();
  (*engine)->registerSymbols([&](llvm::orc::MangleAndInterner interner) {
    llvm::orc::SymbolMap map;
    for (const Symbol &symbol : symbols)
      map[interner(symbol.name)] = {
          llvm::orc::ExecutorAddr::fromPtr(symbol.address),
          llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
    return map;
  });
  (*engine)->initialize();
  return Jit(std::move(memory), std::move(*engine));
}

llvm::Error Jit::call(StringRef function, MutableArrayRef<void *> arguments) {
  return engine->invokePacked(("_mlir_ciface_" + function).str(), arguments);
}

} // namespace blockscale
