//===- ProgramLayout.cpp - Layout of variables ----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Program/ProgramLayout.h"

#include "Emulator/Memory/AddressWindow.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace blockscale::emulator {

/// Puts a variable behind what a layout has.
static void append(VariableLayout &layout, const Variable &variable) {
  uint64_t offset = llvm::alignTo(layout.bytes, variable.alignment);
  layout.offsets.push_back(offset);
  layout.bytes = offset + variable.bytes;
  layout.alignment = std::max(layout.alignment, variable.alignment);
}

static void layOutRegisters(const Function &function,
                            ProgramFunction &laidOut) {
  laidOut.slots.resize(function.registerCount);
  for (const RegisterDeclaration &declaration : function.registers) {
    unsigned width = declaration.type == Type::B128 ? 2 : 1;
    for (uint32_t i = 0; i < declaration.getCount(); ++i) {
      laidOut.slots[declaration.firstIndex + i] = laidOut.slotCount;
      laidOut.slotCount += width;
    }
  }
  auto addRegister = [&](const Variable &variable) {
    if (!variable.isRegister)
      return;
    laidOut.slots[variable.registerIndex] = laidOut.slotCount;
    laidOut.slotCount += variable.type == Type::B128 ? 2 : 1;
  };
  llvm::for_each(function.parameters, addRegister);
  llvm::for_each(function.results, addRegister);
  laidOut.carrySlot = laidOut.slotCount++;
}

void layOutFunction(const Function &function, ProgramFunction &laidOut) {
  laidOut.function = &function;
  layOutRegisters(function, laidOut);
  for (const Variable &parameter : function.parameters)
    append(laidOut.parameters, parameter);
  // Results and variables follow the parameters in the frame.
  laidOut.results.bytes = laidOut.parameters.bytes;
  for (const Variable &result : function.results)
    append(laidOut.results, result);
  VariableLayout frame, local;
  frame.bytes = laidOut.results.bytes;
  for (const Variable &variable : function.variables) {
    uint64_t offset = 0;
    if (variable.space == StateSpace::Param) {
      append(frame, variable);
      offset = frame.offsets.back();
    } else if (variable.space == StateSpace::Local) {
      append(local, variable);
      offset = local.offsets.back();
    }
    laidOut.variables.offsets.push_back(offset);
  }
  laidOut.frameBytes = frame.bytes;
  laidOut.localBytes = local.bytes;
  laidOut.localAlignment = local.alignment;
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

namespace {
/// What the functions of a module name.
struct Reach {
  explicit Reach(const Module &module) : module(module) {
    for (const Function &function : module.functions) {
      Uses uses{llvm::SmallBitVector(module.functions.size()),
                llvm::SmallBitVector(module.variables.size())};
      for (const Instruction &instruction : function.instructions)
        for (const Operand &operand : instruction.operands)
          note(operand, uses);
      for (const TargetList &list : function.targetLists)
        for (const Operand &target : list.targets)
          note(target, uses);
      direct.push_back(std::move(uses));
    }
  }

  /// The functions that run where this one does, itself among them.
  llvm::SmallBitVector getFunctions(unsigned root) const {
    llvm::SmallBitVector seen(module.functions.size());
    llvm::SmallVector<unsigned> pending = {root};
    seen.set(root);
    while (!pending.empty())
      for (unsigned callee :
           direct[pending.pop_back_val()].functions.set_bits())
        if (!seen.test(callee)) {
          seen.set(callee);
          pending.push_back(callee);
        }
    return seen;
  }

  bool uses(unsigned function, unsigned variable) const {
    return direct[function].variables.test(variable);
  }

private:
  struct Uses {
    llvm::SmallBitVector functions;
    llvm::SmallBitVector variables;
  };
  static void note(const Operand &operand, Uses &uses) {
    if (operand.symbol.kind == SymbolKind::Function)
      uses.functions.set(operand.symbol.index);
    if (operand.symbol.kind == SymbolKind::ModuleVariable)
      uses.variables.set(operand.symbol.index);
    for (const Operand &element : operand.elements)
      note(element, uses);
  }

  const Module &module;
  std::vector<Uses> direct;
};
} // namespace

void layOutShared(const Module &module, VariableLayout &moduleVariables,
                  std::vector<ProgramFunction> &functions) {
  Reach reach(module);
  std::vector<ProgramFunction *> kernels;
  for (auto [index, function] : llvm::enumerate(functions)) {
    if (!function.function->isEntry)
      continue;
    function.reached = reach.getFunctions(index);
    kernels.push_back(&function);
  }

  auto place = [&](const Variable &variable, uint64_t &offset, auto usedBy) {
    if (variable.space != StateSpace::Shared)
      return;
    bool isDynamic = variable.bytes == 0 && !variable.extents.empty();
    uint64_t end = 0;
    for (const ProgramFunction *kernel : kernels)
      if (usedBy(*kernel))
        end = std::max(end, kernel->staticSharedBytes);
    offset = isDynamic ? 0 : llvm::alignTo(end, variable.alignment);
    for (ProgramFunction *kernel : kernels) {
      if (!usedBy(*kernel))
        continue;
      if (isDynamic) {
        kernel->dynamicSharedAlignment =
            std::max(kernel->dynamicSharedAlignment, variable.alignment);
        continue;
      }
      kernel->shared.push_back({&variable, offset});
      kernel->staticSharedBytes = offset + variable.bytes;
    }
  };
  for (auto [index, variable] : llvm::enumerate(module.variables))
    place(variable, moduleVariables.offsets[index],
          [&, index = index](const ProgramFunction &kernel) {
            return llvm::any_of(kernel.reached.set_bits(), [&](unsigned f) {
              return reach.uses(f, index);
            });
          });
  for (auto [owner, function] : llvm::enumerate(functions))
    for (auto [index, variable] : llvm::enumerate(function.function->variables))
      place(variable, function.variables.offsets[index],
            [owner = owner](const ProgramFunction &kernel) {
              return kernel.reached.test(owner);
            });
}

//===----------------------------------------------------------------------===//
// Global and constant memory
//===----------------------------------------------------------------------===//

/// The most bytes that the variables of a module may take. Constants have one
/// bank of 64 KB and ten more; the limit of global variables is what a machine
/// should be able to hold.
static constexpr uint64_t kMaxConstBytes = 11 << 16;
static constexpr uint64_t kMaxGlobalBytes = 1 << 30;

static Memory &getMemory(Device &device, const Variable &variable) {
  return variable.space == StateSpace::Global ? device.global : device.constant;
}

/// The bytes of a variable, once all of them have addresses.
static llvm::Error initialise(const Module &module,
                              const VariableLayout &moduleVariables,
                              const Variable &variable, uint64_t address,
                              Device &device) {
  unsigned size = getBytes(variable.type);
  for (const InitialValue &value : variable.initialValues) {
    uint64_t bits = value.value;
    if (value.kind == OperandKind::Symbol) {
      uint64_t base = 0;
      if (value.symbol.kind == SymbolKind::Function) {
        base = Program::getAddress(value.symbol.index);
      } else {
        const Variable &named = module.variables[value.symbol.index];
        base = moduleVariables.offsets[value.symbol.index];
        if (named.space != StateSpace::Global &&
            named.space != StateSpace::Const)
          return makeError(value.location,
                           "an initial value that is the address of '" +
                               value.name + "' in ." + getName(named.space) +
                               " memory is not modelled");
        if (value.isGeneric)
          base = toGeneric(named.space, base);
      }
      bits =
          ((base + value.value) & value.mask) >> llvm::countr_zero(value.mask);
    }
    llvm::SmallVector<Fault, 1> faults;
    llvm::MutableArrayRef<uint8_t> bytes =
        getMemory(device, variable)
            .write(address + value.position * size, size, 1, faults);
    if (!faults.empty())
      return makeError(value.location, faults.front().what);
    for (unsigned i = 0; i < size; ++i)
      bytes[i] = i < 8 ? bits >> 8 * i : 0;
  }
  return llvm::Error::success();
}

llvm::Error allocateVariables(const Module &module,
                              VariableLayout &moduleVariables, Device &device) {
  moduleVariables.offsets.assign(module.variables.size(), 0);
  auto isData = [](const Variable &variable) {
    return variable.space == StateSpace::Global ||
           variable.space == StateSpace::Const;
  };
  uint64_t constBytes = 0, globalBytes = 0;
  for (auto [index, variable] : llvm::enumerate(module.variables)) {
    if (!isData(variable))
      continue;
    bool isConst = variable.space == StateSpace::Const;
    uint64_t &bytes = isConst ? constBytes : globalBytes;
    uint64_t limit = isConst ? kMaxConstBytes : kMaxGlobalBytes;
    bytes += variable.bytes;
    if (bytes > limit)
      return makeError(variable.location,
                       "expected the variables in ." + getName(variable.space) +
                           " memory to have at most " + llvm::Twine(limit) +
                           " bytes, but got " + llvm::Twine(bytes));
    if (variable.linkage == Linkage::Extern && variable.bytes == 0)
      return makeError(variable.location,
                       "an external array of unknown size is not modelled: '" +
                           variable.name + "'");
    // Variables of these spaces are zero where nothing else is said.
    std::vector<uint8_t> zeros(variable.bytes);
    moduleVariables.offsets[index] =
        getMemory(device, variable)
            .allocate(variable.name, zeros, variable.alignment);
  }
  for (auto [index, variable] : llvm::enumerate(module.variables))
    if (isData(variable))
      if (llvm::Error error =
              initialise(module, moduleVariables, variable,
                         moduleVariables.offsets[index], device))
        return error;
  device.constant.makeReadOnly();
  return llvm::Error::success();
}

} // namespace blockscale::emulator
