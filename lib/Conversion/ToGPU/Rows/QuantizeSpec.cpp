//===- QuantizeSpec.cpp - What a quantize kernel computes -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QuantizeSpec.h"
#include "blockscale/Analysis/PrepackedCodes.h"
#include "blockscale/Analysis/RoundTrip.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Transforms/ProductSwizzle.h"

using namespace mlir;

namespace blockscale {

StringRef getGroupName(GroupDim dim) {
  constexpr StringLiteral names[] = {"", "_row_groups", "_column_groups"};
  return names[static_cast<unsigned>(dim)];
}

std::string QuantizeSpec::getKernelName(const target::Chip &chip) const {
  std::string name;
  llvm::raw_string_ostream os(name);
  os << "quantize_" << numerics::getFormatInfo(format).name << '_'
     << numerics::getName(recipe) << '_' << inputType << "_k" << rowElements;
  if (swizzled)
    os << "_swizzled";
  if (isPrepacked)
    os << "_prepacked";
  else if (isInQuads)
    os << "_quads";
  if (batched)
    os << "_batched";
  os << getGlobalName(global) << globalPrologue.getName();
  if (amaxIsGiven)
    os << "_block_amax";
  if (stochastic)
    os << (isPlaced ? "_placed_rng" : "_rng");
  if (decoding)
    os << decoding->getName();
  os << getGroupName(groupDim);
  if (groupDim != GroupDim::None && !checksEnds)
    os << "_unchecked";
  if (groupedTiles)
    os << "_tiles";
  os << source->getName() << chip.kernelSuffix;
  return name;
}

/// Data in dense row-major order from the start of its buffer.
static LogicalResult verifyMemRef(KernelOp kernel, Value value,
                                  StringRef name) {
  auto type = dyn_cast<MemRefType>(value.getType());
  if (!type)
    return kernel.emitOpError()
           << "expected " << name
           << " to be a memref (run one-shot-bufferize), but got "
           << value.getType();
  if (!type.areTrailingDimsContiguous(type.getRank()))
    return kernel.emitOpError()
           << "expected " << name
           << " to be a memref without gaps on this target, but got " << type;
  return success();
}

/// Finds the kernel's operands behind the quantize's operands and results.
static LogicalResult matchOperands(KernelOp kernel, QuantizeOp quantize,
                                   const ElementSource &source,
                                   QuantizeOperands &operands) {
  auto getOperand = [&](Value argument) -> Value {
    if (!argument)
      return {};
    return kernel.getOperand(cast<BlockArgument>(argument).getArgNumber());
  };
  operands.x = getOperand(source.getSameSized().logical);
  operands.blockAmax = getOperand(quantize.getBlockAmax());
  operands.rng = getOperand(quantize.getRng());
  operands.offsets = getOperand(quantize.getOffsets());
  GlobalChain chain = GlobalChain::find(quantize);
  if (failed(verifyChain(quantize)))
    return failure();
  operands.global =
      getOperand(chain.isEmpty() ? quantize.getGlobal() : chain.getSource());
  DequantizeOp decoder = findDecoder(quantize);
  PrepackOp prepack = findPrepack(quantize);
  Value data = prepack ? Value(prepack.getResult()) : quantize.getData();
  auto yield = cast<YieldOp>(kernel.getBody().front().getTerminator());
  bool isDense = true;
  for (auto [output, value] :
       llvm::zip_equal(kernel.getOutputs(), yield.getValues())) {
    if (value == data)
      operands.data = output;
    else if (value == quantize.getScale())
      operands.scale = output;
    else if (decoder && value == decoder.getResult())
      operands.decoded = output;
    else if (chain.amax && value == chain.amax.getAmax())
      operands.storedAmax = output;
    else if (chain.scale && value == chain.scale.getScale())
      operands.storedScale = output;
    else if (llvm::is_contained(source.getKept(), value))
      isDense &= succeeded(verifyMemRef(kernel, output, "an output"));
  }
  // Codes and scales that are decoded need not be stored.
  size_t stored = source.getKept().size();
  bool isOnce = true;
  for (Operation *op : chain.getOps()) {
    size_t count = llvm::count(yield.getValues(), op->getResult(0));
    isOnce &= count <= 1;
    stored += count;
  }
  for (Value value : {data, Value(quantize.getScale()),
                      decoder ? Value(decoder.getResult()) : Value()}) {
    if (!value)
      continue;
    size_t count = llvm::count(yield.getValues(), value);
    bool mayBeAbsent = decoder && value.getDefiningOp() == quantize;
    isOnce &= count == 1 || (count == 0 && mayBeAbsent);
    stored += count;
  }
  // Other code may compute other results beside x.
  bool isPart =
      source.isMemory() && source.getSameSized().logical != quantize.getX();
  if (!isOnce || (!isPart && yield.getNumOperands() != stored))
    return yield.emitOpError("expected the data and the scales of the "
                             "quantize, each once, on this target");
  if (!isDense)
    return failure();
  for (const ElementSource::Input &input : source.getInputs())
    if (!input.byValue &&
        failed(verifyMemRef(kernel, getOperand(input.logical), "x")))
      return failure();
  for (auto [operand, name] :
       {std::pair(operands.data, "the data output"),
        std::pair(operands.scale, "the scale output"),
        std::pair(operands.decoded, "the decoded output"),
        std::pair(operands.global, "the global operand"),
        std::pair(operands.blockAmax, "block_amax"),
        std::pair(operands.rng, "rng"), std::pair(operands.offsets, "offsets"),
        std::pair(operands.storedAmax, "the amax output"),
        std::pair(operands.storedScale, "the global scale output")})
    if (operand && !operand.getType().isF32() &&
        failed(verifyMemRef(kernel, operand, name)))
      return failure();
  return success();
}

/// Blocks are rows of their own where nothing is told apart by rows: not
/// scales, groups, global values or what x is computed from.
static LogicalResult verifyTakesBlocks(QuantizeOp quantize,
                                       const ElementSource &source,
                                       const target::Chip &chip) {
  auto fail = [&](StringRef found) {
    return quantize.emitOpError()
           << "expected a static last dimension on " << chip.name << " with "
           << found << ", but got " << quantize.getX().getType();
  };
  if (!getScaleLayout(quantize.getScale().getType()).isLinear())
    return fail("scales in tiles");
  if (quantize.getOffsets())
    return fail("offsets");
  if (quantize.hasRandomPlace())
    return fail("rng that says where x lies");
  if (quantize.getGlobalOperand().extent == GlobalExtent::Row)
    return fail("a global value for each row");
  if (!llvm::all_of(source.getInputs(), [](const ElementSource::Input &input) {
        return input.spread == Spread::Elements || input.byValue;
      }))
    return fail("x of rows or columns");
  return success();
}

static LogicalResult verifyRowElements(QuantizeOp quantize, int64_t k,
                                       const ElementSource &source,
                                       const target::Chip &chip) {
  if (ShapedType::isDynamic(k))
    return verifyTakesBlocks(quantize, source, chip);
  // Positions in a row group are 32-bit numbers.
  if (k > std::numeric_limits<int32_t>::max())
    return quantize.emitOpError()
           << "expected the last dimension to be below 2^31 on " << chip.name
           << ", but got " << k;
  return success();
}

FailureOr<QuantizeSpec> analyzeQuantize(KernelOp kernel, QuantizeOp quantize,
                                        Value from, const target::Chip &chip,
                                        QuantizeOperands &operands) {
  auto x = cast<RankedTensorType>(quantize.getX().getType());
  int64_t rowElements = x.getShape().back();
  auto source = std::make_shared<const ElementSource>(from);
  if (failed(matchOperands(kernel, quantize, *source, operands)) ||
      failed(verifyRowElements(quantize, rowElements, *source, chip)))
    return failure();

  QuantizeSpec spec;
  spec.recipe = quantize.getArithmetic();
  spec.format = getElementFormat(
      cast<RankedTensorType>(quantize.getData().getType()).getElementType());
  spec.source = source;
  spec.inputType = x.getElementType();
  spec.blockElements = quantize.getBlockSize();
  spec.takesBlocks = ShapedType::isDynamic(rowElements);
  spec.rowElements = spec.takesBlocks ? spec.blockElements : rowElements;
  if (operands.scale) {
    Type scale = quantize.getScale().getType();
    spec.groupedTiles = getGroupedLayout(scale) != nullptr;
    spec.swizzled =
        getScaleLayout(scale) == numerics::k128x4 && !spec.groupedTiles;
  }
  spec.global = quantize.getGlobalOperand();
  spec.globalPrologue = GlobalPrologue(GlobalChain::find(quantize));
  spec.amaxIsGiven = operands.blockAmax != nullptr;
  spec.stochastic = operands.rng != nullptr;
  spec.isPlaced = quantize.hasRandomPlace();
  spec.groupDim = quantize.getGroupOperand().dim;
  spec.checksEnds =
      operands.offsets && !quantize->hasAttr(kEndsCheckedAttrName);
  if (operands.decoded)
    spec.decoding.emplace(findDecoder(quantize));
  spec.isPrepacked = findPrepack(quantize) != nullptr;
  spec.isInQuads = spec.isPrepacked;
  spec.batched =
      x.getRank() > 2 && (spec.swizzled || spec.isPrepacked ||
                          spec.global.extent == GlobalExtent::Matrix);
  return spec;
}

} // namespace blockscale
