//===- GemmSpec.cpp - What a kernel of matrix products computes -----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GemmSpec.h"
#include "Arithmetic.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace blockscale::products {

static StringRef getName(const GlobalOperand &factor) {
  if (factor.byValue)
    return "scalar";
  switch (factor.extent) {
  case GlobalExtent::Tensor:
    return "one";
  case GlobalExtent::Matrix:
  case GlobalExtent::Group:
    return "each";
  case GlobalExtent::Row:
    return "row";
  }
  return "";
}

/// The part of the name of a kernel that says which op it computes, and which
/// dimension groups cut.
static StringRef getName(GroupDim groups) {
  switch (groups) {
  case GroupDim::None:
    return "_mm_";
  case GroupDim::Rows:
    return "_grouped_mm_rows_";
  case GroupDim::Columns:
    return "_grouped_mm_depth_";
  }
  return "";
}

std::string GemmSpec::getName() const {
  std::string name;
  llvm::raw_string_ostream os(name);
  os << (hasScales ? "scaled" : "plain") << products::getName(groups) << formats
     << "_" << result << "_" << schedule.getRows() << "x" << schedule.getCols()
     << "_stages" << schedule.getStages() << "_band" << schedule.getBand();
  if (schedule.getMulticast() > 1)
    os << "_multicast" << schedule.getMulticast();
  if (schedule.getSplits() > 1)
    os << "_splits" << schedule.getSplits();
  if (factorA.isPresent())
    os << "_a" << products::getName(factorA);
  if (factorB.isPresent())
    os << "_b" << products::getName(factorB);
  if (scalesAfterRounding)
    os << "_after";
  if (elementFactor.isPresent())
    os << "_elements_" << products::getName(elementFactor);
  if (bias)
    os << (hasBiasOfEach ? "_biases_" : "_bias_") << bias;
  if (mayBeEmptySum)
    os << "_any_k";
  if (hasWholeStages.value_or(false))
    os << "_whole_stages";
  if (!interleaved.empty())
    os << "_interleaved_" << interleaved;
  if (products > 1)
    os << "_twice";
  if (epilogue)
    os << epilogue->getName();
  return name;
}

void GemmSpec::keepSums() {
  result = Float32Type::get(result.getContext());
  bias = {};
  hasBiasOfEach = false;
  factorA = factorB = {};
  scalesAfterRounding = false;
  llvm::erase(interleaved, 'r');
}

void GemmArguments::addSlots(KernelSignature &signature, const GemmSpec &spec) {
  signature.add(mapA);
  signature.add(packedA, kCopyBytes);
  signature.add(scaleA, kCopyBytes);
  for (ProductArguments &product : products) {
    signature.add(product.mapB);
    signature.add(product.packedB, kCopyBytes);
    signature.add(product.scaleB, kCopyBytes);
    signature.add(product.elementFactor, kCopyBytes);
  }
  signature.add(result, kResultBytes);
  for (SinkArguments &store : kept)
    for (SinkArguments::Memory &memory : store.memory)
      signature.add(memory.value, memory.alignment);
  for (SinkArguments::Memory &memory : sink.memory)
    signature.add(memory.value, memory.alignment);
  for (ProductArguments &product : products)
    for (Value *operand : {&product.factorA, &product.factorB, &product.bias})
      signature.add(*operand, kCopyBytes);
  if (!inputs.empty())
    for (auto [input, operand] :
         llvm::zip_equal(spec.epilogue->getOtherInputs(), inputs))
      signature.add(operand,
                    input.isAlongRows() ? kCopyBytes : input.getBytes());
  signature.add(offsets, sizeof(int32_t));
  for (Value *size : {&rows, &cols, &depth, &matrices, &dataCols, &innerA,
                      &innerB, &innerResult})
    signature.add(*size);
  for (Value &size : sink.sizes)
    signature.add(size);
}

void GemmArguments::narrowSizes(KernelBuilder &b) {
  for (Value &size : sink.sizes)
    size = narrowSize(b, size);
  for (Value *size : {&rows, &cols, &depth, &matrices, &dataCols, &innerA,
                      &innerB, &innerResult})
    if (*size)
      *size = narrowSize(b, *size);
}

void GemmArguments::emitPrefetch(KernelBuilder &b) const {
  SmallVector<Value> maps = {mapA};
  for (const ProductArguments &product : products)
    maps.push_back(product.mapB);
  for (Value map : maps)
    if (map)
      NVVM::PrefetchOp::create(
          b, /*cacheLevel=*/NVVM::PrefetchCacheLevelAttr(),
          /*evictPriority=*/NVVM::CacheEvictionPriorityAttr(), map,
          /*predicate=*/Value(), /*tensormap=*/b.getUnitAttr());
}

Value loadFactor(KernelBuilder &b, const GlobalOperand &operand, Value factor,
                 Value matrix) {
  if (operand.byValue)
    return factor;
  if (!operand.isSingle())
    factor = b.offset(factor, b.getF32Type(), matrix);
  return b.load(b.getF32Type(), factor, sizeof(float));
}

Value loadElementFactor(KernelBuilder &b, const GemmSpec &spec,
                        const GemmArguments &arguments, Value matrix,
                        emit::Lanes owner) {
  if (!spec.elementFactor.isPresent())
    return {};
  Value found;
  for (auto [i, product] : llvm::enumerate(arguments.products)) {
    Value own =
        loadFactor(b, spec.elementFactor, product.elementFactor, matrix);
    found = i == 0 ? own
                   : Value(select(isEqual(owner, static_cast<int64_t>(i)),
                                  emit::Lanes(b, own), emit::Lanes(b, found)));
  }
  return found;
}

} // namespace blockscale::products
