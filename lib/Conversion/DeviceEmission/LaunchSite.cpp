//===- LaunchSite.cpp - Where a kernel is launched ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchSite.h"
#include "LaunchModel.h"
#include "blockscale/IR/GlobalChain.h"
#include "blockscale/Transforms/Storage.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

namespace blockscale {

using emit::Lanes;

/// Bytes from the aligned pointer of `memref` to its first element; null where
/// these are the same.
static Value getByteOffset(ImplicitLocOpBuilder &b, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  int64_t known = type.getStridesAndOffset().second;
  if (known == 0)
    return {};
  Value offset =
      ShapedType::isDynamic(known)
          ? memref::ExtractStridedMetadataOp::create(b, memref).getOffset()
          : arith::ConstantIndexOp::create(b, known).getResult();
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  return b.createOrFold<arith::MulIOp>(
      offset, arith::ConstantIndexOp::create(b, bytes));
}

void requireAlignment(ImplicitLocOpBuilder &b, Value memref,
                      int64_t alignment) {
  Value offset = getByteOffset(b, memref);
  if (!offset || alignment <= 1)
    return;
  Value rest = b.createOrFold<arith::RemUIOp>(
      offset, arith::ConstantIndexOp::create(b, alignment));
  Value holds = b.createOrFold<arith::CmpIOp>(
      arith::CmpIPredicate::eq, rest, arith::ConstantIndexOp::create(b, 0));
  emit::createAssert(b,
                     {holds,
                      "expected a part of a buffer to begin at a multiple of " +
                          std::to_string(alignment) + " bytes (launch_c1)",
                      offset});
}

Value getGlobalPointer(ImplicitLocOpBuilder &b, Value memref) {
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(b, memref);
  if (Value offset = getByteOffset(b, memref))
    address = arith::AddIOp::create(b, address, offset);
  address = arith::IndexCastOp::create(b, b.getI64Type(), address);
  // NVPTX address space 1 is global memory.
  auto type = LLVM::LLVMPointerType::get(b.getContext(), /*addressSpace=*/1);
  return LLVM::IntToPtrOp::create(b, type, address);
}

void emitLaunchWait(KernelBuilder &b) {
  NVVM::GriddepcontrolOp::create(b, NVVM::GridDepActionKind::wait);
}

/// Whether an argument of a public function is one that callers give and no
/// step of the call writes to: no result, and not given away. Where the first
/// launch may begin before what comes before the call has ended, that does not
/// write to it either.
static bool isOnlyRead(BlockArgument argument) {
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  if (!function || !function.isPublic() || !argument.getOwner()->isEntryBlock())
    return false;
  auto signature = function->getAttrOfType<TypeAttr>(kSignatureAttrName);
  auto type =
      signature ? dyn_cast<FunctionType>(signature.getValue()) : FunctionType();
  if (!type || argument.getArgNumber() >= type.getNumInputs())
    return false;
  auto isIn = [&](DenseI64ArrayAttr numbers) {
    return llvm::is_contained(numbers.asArrayRef(), argument.getArgNumber());
  };
  auto given =
      function->getAttrOfType<DenseI64ArrayAttr>(kWritableArgumentsAttrName);
  auto settled =
      function->getAttrOfType<DenseI64ArrayAttr>(kSettledArgumentsAttrName);
  return (!given || !isIn(given)) && (!settled || isIn(settled));
}

emit::Lanes getCeilDiv(ImplicitLocOpBuilder &b, Value value, int64_t divisor) {
  return {b, b.createOrFold<arith::CeilDivUIOp>(
                 value, arith::ConstantIndexOp::create(b, divisor))};
}

std::string getGlobalName(const GlobalOperand &global) {
  if (!global.isPresent())
    return "";
  constexpr StringLiteral names[] = {"", "_each", "_each_row", "_each_group"};
  StringRef extent = names[static_cast<unsigned>(global.extent)];
  constexpr StringLiteral kinds[] = {"", "_scaled", "_amax", "_nonzero"};
  return kinds[static_cast<unsigned>(global.kind)].str() +
         (global.byValue ? "_by_value" : extent).str();
}

/// The first op of the dialect in the body that does not only compute the
/// global operand of another one, or the first op.
static Operation *getMainOp(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  for (Operation &op : body.without_terminator())
    if (isa<BlockScaleDialect>(op.getDialect()) && !findGlobalUser(&op))
      return &op;
  return &body.front();
}

bool Launcher::canLoadBeforeWait(Value memref) const {
  if (!kernels.overlapsLaunches || places)
    return false;
  while (auto view = memref.getDefiningOp<ViewLikeOpInterface>())
    memref = view.getViewSource();
  if (auto global = memref.getDefiningOp<memref::GetGlobalOp>()) {
    auto symbol = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(
        global, global.getNameAttr());
    return symbol && symbol.getConstant();
  }
  auto argument = dyn_cast<BlockArgument>(memref);
  return argument && isOnlyRead(argument);
}

LaunchSite::LaunchSite(KernelOp kernel, KernelTable &kernels,
                       const target::Chip &chip, DevicePlaces &places)
    : Launcher(kernel, kernels, chip),
      call(b, emit::KernelOperands(kernel, kernel.getOperands()),
           getMainOp(kernel)->getName().stripDialect()),
      kernel(kernel) {
  if (!places.isEmpty())
    this->places = &places;
}

LogicalResult LaunchSite::verify() {
  Block &body = kernel.getBody().front();
  ValueRange yielded = body.getTerminator()->getOperands();
  size_t count = 0;
  bool isYielded = true;
  for (Operation &op : body.without_terminator())
    for (OpResult result : op.getResults()) {
      // Transforms for other ops of the kernel stay in registers.
      if (!result.use_empty() && !llvm::is_contained(yielded, result))
        continue;
      ++count;
      isYielded &= !result.use_empty();
    }
  if (!isYielded || yielded.size() != count)
    return kernel.emitOpError("expected the body to yield each result of its "
                              "ops once on this target");
  return verifyOperands();
}

LogicalResult LaunchSite::verifyOperands() {
  for (auto [i, type] : llvm::enumerate(kernel.getOperandTypes())) {
    if (isa<RankedTensorType>(type))
      return kernel.emitOpError()
             << "expected operand " << i
             << " to be a memref (run one-shot-bufferize), but got " << type;
    auto memref = dyn_cast<MemRefType>(type);
    if (memref && !memref.areTrailingDimsContiguous(memref.getRank()))
      return kernel.emitOpError()
             << "expected operand " << i
             << " to be a memref without gaps on this target, but got " << type
             << "; copy it into one";
  }
  return success();
}

LogicalResult LaunchSite::refuse(const Twine &reason) {
  return getMainOp(kernel)->emitOpError()
         << "is not supported on " << getChip().name << " yet: " << reason;
}

void LaunchSite::emitAsserts() {
  for (const emit::CallSite::Check &check : call.getChecks())
    emit::createAssert(b, check);
}

/// A value of the host as a launch passes it.
static Value getOperand(ImplicitLocOpBuilder &b, Value value,
                        int64_t alignment) {
  if (isa<MemRefType>(value.getType())) {
    requireAlignment(b, value, alignment);
    return getGlobalPointer(b, value);
  }
  if (value.getType().isIndex())
    return arith::IndexCastOp::create(b, b.getI64Type(), value);
  return value;
}

gpu::GPUFuncOp Launcher::createFunction(gpu::GPUModuleOp module,
                                        const Shape &shape,
                                        const KernelSignature &signature,
                                        TypeRange types) {
  auto builder = OpBuilder::atBlockEnd(module.getBody());
  auto toArray = [&](int64_t x) {
    return builder.getDenseI32ArrayAttr({static_cast<int32_t>(x), 1, 1});
  };
  auto function =
      gpu::GPUFuncOp::create(builder, b.getLoc(), KernelTable::kLoneName,
                             builder.getFunctionType(types, {}));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                    builder.getUnitAttr());
  // `known_block_size` would become .maxntid, which only bounds the size.
  function->setAttr("nvvm.reqntid", toArray(shape.threads));
  if (shape.residentBlocks)
    function->setAttr("nvvm.minctasm",
                      builder.getI32IntegerAttr(shape.residentBlocks));
  if (shape.clusterBlocks > 1)
    function->setAttr("nvvm.cluster_dim", toArray(shape.clusterBlocks));
  for (auto [i, slot] : llvm::enumerate(signature.getSlots())) {
    if (isa<MemRefType>(slot.get().getType()) && slot.alignment)
      function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                          builder.getI64IntegerAttr(slot.alignment));
    if (slot.get().getDefiningOp<TensorMapOp>())
      function.setArgAttr(i, kTensorMapAttrName, builder.getUnitAttr());
  }
  return function;
}

void Launcher::launch(const Twine &stem, const Shape &shape,
                      const KernelSignature &signature,
                      function_ref<void(KernelBuilder &)> body) {
  Value one = arith::ConstantIndexOp::create(b, 1);
  gpu::KernelDim3 grid{shape.blocks ? shape.blocks : one, one, one};
  if (shape.matrices) {
    Value most = arith::ConstantIndexOp::create(b, kMaxGridY);
    grid.y = b.createOrFold<arith::MinUIOp>(shape.matrices, most);
    grid.z = getCeilDiv(b, shape.matrices, kMaxGridY);
  }
  SmallVector<Value> operands;
  for (const KernelSignature::Slot &slot : signature.getSlots()) {
    operands.push_back(getOperand(b, slot.get(), slot.alignment));
    if (places)
      (void)places->verifyAlignment(slot.get(), slot.alignment);
  }
  if (places)
    for (Value operand : places->getOperands())
      operands.push_back(getOperand(b, operand, /*alignment=*/0));

  OpBuilder outside(b.getContext());
  OwningOpRef<gpu::GPUModuleOp> alone(
      gpu::GPUModuleOp::create(outside, b.getLoc(), KernelTable::kLoneName));
  gpu::GPUFuncOp function =
      createFunction(*alone, shape, signature, TypeRange(operands));
  KernelBuilder inside(b.getLoc(), OpBuilder::atBlockBegin(&function.front()));
  if (kernels.overlapsLaunches) {
    // The launch behind waits for the end of this one, whenever it begins.
    NVVM::GriddepcontrolOp::create(inside,
                                   NVVM::GridDepActionKind::launch_dependents);
    if (!shape.waitsInBody)
      emitLaunchWait(inside);
  }
  SmallVector<Value> hostValues = signature.getValues();
  SmallVector<Value> parameters(
      function.getArguments().take_front(hostValues.size()));
  if (places)
    places->move(inside, shape.threads, hostValues,
                 function.getArguments().drop_front(hostValues.size()),
                 parameters);
  signature.setValues(inside, parameters);
  body(inside);
  gpu::ReturnOp::create(inside);
  signature.setValues(b, hostValues);
  SymbolRefAttr symbol = kernels.insert(
      std::move(alone), (stem + (places ? "_at_place" : "")).str());

  if (shape.threadBytes)
    LaunchModel(chip).remarkThreads(b.getLoc(), symbol.getLeafReference(),
                                    shape.threads, shape.threadBytes);
  gpu::KernelDim3 block{arith::ConstantIndexOp::create(b, shape.threads), one,
                        one};
  Value sharedBytes;
  if (shape.sharedBytes)
    sharedBytes =
        arith::ConstantOp::create(b, b.getI32IntegerAttr(shape.sharedBytes));
  std::optional<gpu::KernelDim3> cluster;
  if (shape.clusterBlocks > 1)
    cluster = {arith::ConstantIndexOp::create(b, shape.clusterBlocks), one,
               one};
  auto launch = gpu::LaunchFuncOp::create(
      b, symbol, grid, block, sharedBytes, operands,
      /*asyncTokenType=*/Type(), /*asyncDependencies=*/ValueRange(), cluster);
  if (kernels.overlapsLaunches)
    launch->setAttr(kProgrammaticAttrName, b.getUnitAttr());
}

} // namespace blockscale
