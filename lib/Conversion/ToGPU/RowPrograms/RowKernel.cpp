//===- RowKernel.cpp - Kernels of row programs ----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowKernel.h"
#include "DeviceEmission/AmaxRaise.h"
#include "DeviceEmission/BlockElements.h"
#include "DeviceEmission/DeviceCode.h"
#include "DeviceEmission/LaunchModel.h"
#include "Emission/OperandChecks.h"
#include "RowEmitter.h"
#include "RowStrips.h"
#include "ToGPU/Rows/QuantizeArguments.h"
#include "ToGPU/Rows/QuantizeFragment.h"
#include "ToGPU/Rows/QuantizeLaunch.h"
#include "blockscale/Analysis/MatrixProduct.h"
#include "blockscale/Analysis/RoundTrip.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <numeric>

using namespace mlir;

namespace blockscale {

using emit::Lanes;

/// Registers of a thread beside those for its inputs, where they are staged. A
/// thread would use more, but if it has so few, more CTAs run at once, and
/// others work while one waits for the sums of a row.
static constexpr int64_t kOtherRegisters = 32;

/// Registers of a thread for values of columns that are loaded before the
/// kernel waits for the launch before.
static constexpr int64_t kEarlyRegisters = 64;

namespace {

/// A kernel of a row program, and the code for it.
class RowKernel {
public:
  RowKernel(KernelOp kernel, LaunchSite &site)
      : kernel(kernel), site(site), chip(site.getChip()) {}

  LogicalResult analyze();
  void launch();

private:
  LogicalResult analyzeOps();
  LogicalResult analyzeOutputs();
  std::string getName() const;
  int64_t getMostRows() const;
  int64_t getAlignment(Value operand) const;
  void findEarlyColumns();

  void emit(KernelBuilder &b);
  void emitBlock(KernelBuilder &b, Lanes block);
  void emitAmaxParts(KernelBuilder &b);
  void emitStrips(KernelBuilder &b);
  SmallVector<Lanes> emitRows(KernelBuilder &b, const RowPosition &position);
  SmallVector<Lanes> emitPass(KernelBuilder &b, RowEmitter &rows,
                              const RowPass &pass, const RowPosition &position);
  SmallVector<Lanes> emitElements(KernelBuilder &b, RowEmitter &rows,
                                  const RowPass &pass);
  Lanes computeAmax(KernelBuilder &b, FragmentVectors &vectors,
                    int64_t elements);
  void emitQuantize(KernelBuilder &b, RowEmitter &rows, const RowPass &pass,
                    FragmentPosition position, bool storesElements);
  SmallVector<BlockElements>
  getBlocks(KernelBuilder &b, FragmentVectors &vectors, int64_t elements);
  void storeElements(KernelBuilder &b, RowEmitter &rows, const RowPass &pass,
                     FragmentVectors &vectors, int64_t elements);
  void storeRows(KernelBuilder &b, RowEmitter &rows,
                 const RowPosition &position);

  KernelOp kernel;
  LaunchSite &site;
  const target::Chip &chip;

  SmallVector<RowOp> ops;
  RankedTensorType elements;
  /// Arguments of the body that the ops read, and values that outputs hold.
  SmallVector<BlockArgument> inputs;
  /// Bytes for each element of all inputs that have the shape of the elements.
  int64_t inputBytes = 0;
  SmallVector<Value> elementOutputs, rowOutputs;
  /// Elements that are stored where strips compute them.
  SmallVector<Value> stripOutputs;

  /// The parts of an amax of what the ops compute, and the number (i64) of the
  /// pieces of x that a CTA takes one after the other; null where it has none.
  AmaxPartsOp parts;
  Lanes pieces;

  /// Values of columns that no step of the call writes, as the weight of a
  /// norm. They are loaded before the kernel waits for the launch before, where
  /// launches overlap, so that they are there when the rows are.
  llvm::SmallSetVector<Value, 2> earlyColumns;

  /// The quantizations, and the code of those that take strips.
  SmallVector<QuantizeOp> quantizes;
  std::optional<RowStrips> strips;
  /// The quantization that takes the fragments of rows; null where there is
  /// none.
  QuantizeOp quantize;
  std::optional<QuantizeSpec> spec;
  std::optional<ThreadMapping> mapping;
  std::optional<RowLayout> layout;
  QuantizeOperands operands;
  /// The parameters that inputs and outputs of the body arrive in.
  IRMapping values;
  std::optional<WarpBuffer> buffer;
  /// The tiles of groups that scales are stored to; null where there are none.
  const GroupedScales *grouped = nullptr;
};

} // namespace

//===----------------------------------------------------------------------===//
// Analysis
//===----------------------------------------------------------------------===//

LogicalResult RowKernel::analyzeOps() {
  Block &body = kernel.getBody().front();
  for (auto op : body.getOps<linalg::LinalgOp>())
    if (!elements)
      elements = getReducedElements(op);
  for (Operation &op : body.without_terminator()) {
    if (auto found = dyn_cast<QuantizeOp>(op)) {
      quantizes.push_back(found);
      continue;
    }
    if (auto found = dyn_cast<AmaxPartsOp>(op); found && !parts) {
      parts = found;
      continue;
    }
    auto decoder = dyn_cast<DequantizeOp>(op);
    if (decoder && quantizes.size() == 1 &&
        decoder == findDecoder(quantizes.front()))
      continue;
    bool isHelp = isa<tensor::EmptyOp, tensor::DimOp, arith::ConstantOp>(op) ||
                  getFilledScalar(&op);
    if (isHelp)
      continue;
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (!linalgOp || !elements)
      return op.emitOpError("expected a kernel that reduces rows to consist of "
                            "linalg ops and a quantization on this target");
    RowOp row;
    if (std::optional<FusionObstacle> obstacle =
            analyzeRowOp(linalgOp, elements, row))
      return op.emitOpError() << "has no kernel " << *obstacle;
    ops.push_back(row);
  }
  auto isComputed = [&](Value x) {
    return llvm::any_of(ops, [&](const RowOp &row) {
      return row.getResultForm() == RowForm::Elements &&
             row.op == x.getDefiningOp();
    });
  };
  if (parts && !isComputed(parts.getX()))
    return parts.emitOpError("expected x to be elements that linalg ops of the "
                             "kernel compute on this target");
  if (quantizes.empty())
    return success();
  if (std::optional<FusionObstacle> obstacle =
          findRowQuantizeObstacle(quantizes, [](Operation *) { return true; }))
    return quantizes.front().emitOpError()
           << "does not share its kernel " << *obstacle;
  if (!takeStrips(quantizes)) {
    quantize = quantizes.front();
    return success();
  }
  for (QuantizeOp op : quantizes)
    if (op.getX() != quantizes.front().getX() || !isComputed(op.getX()))
      return op.emitOpError("expected x to be the elements that linalg ops of "
                            "the kernel compute, the same for all "
                            "quantizations, on this target");
  strips.emplace(site, quantizes);
  return success();
}

LogicalResult RowKernel::analyzeOutputs() {
  Block &body = kernel.getBody().front();
  SmallVector<Value> yielded(body.getTerminator()->getOperands());
  for (RowOp &row : ops) {
    for (OpOperand &operand : row.op->getOpOperands())
      if (auto argument = dyn_cast<BlockArgument>(operand.get()))
        // Strips load all that an elementwise op lists.
        if ((row.op.payloadUsesValueFromOperand(&operand) ||
             (strips && row.op.isDpsInput(&operand))) &&
            !llvm::is_contained(inputs, argument))
          inputs.push_back(argument);
    row.op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (auto argument = dyn_cast<BlockArgument>(operand))
          if (argument.getOwner() == &body && inner != row.op &&
              !llvm::is_contained(inputs, argument))
            inputs.push_back(argument);
    });
    if (auto argument = dyn_cast_if_present<BlockArgument>(row.initial))
      if (!llvm::is_contained(inputs, argument))
        inputs.push_back(argument);
    for (OpResult result : row.op->getResults())
      if (llvm::is_contained(yielded, result))
        (row.getResultForm() == RowForm::Rows ? rowOutputs : elementOutputs)
            .push_back(result);
  }
  for (Value value : yielded) {
    if (llvm::count(yielded, value) != 1)
      return kernel.emitOpError("expected the body to yield each result of its "
                                "ops once on this target");
    bool isKnown =
        llvm::is_contained(elementOutputs, value) ||
        llvm::is_contained(rowOutputs, value) ||
        llvm::is_contained(quantizes, value.getDefiningOp<QuantizeOp>()) ||
        (parts && value.getDefiningOp() == parts) ||
        (quantize && value.getDefiningOp() == findDecoder(quantize));
    if (!isKnown)
      return kernel.emitOpError("expected the body to yield what its linalg "
                                "ops and quantization compute");
  }
  return success();
}

/// How many rows there are at most, as far as types or the function say
/// (ShapedType::kDynamic if they do not).
int64_t RowKernel::getMostRows() const {
  ArrayRef<int64_t> leading = elements.getShape().drop_back();
  if (!ShapedType::isDynamicShape(leading))
    return ShapedType::getNumElements(leading);
  auto function = kernel->getParentOfType<FunctionOpInterface>();
  auto most = function->getAttrOfType<IntegerAttr>(kMaxRowsAttrName);
  return leading.size() == 1 && most ? most.getInt() : ShapedType::kDynamic;
}

LogicalResult RowKernel::analyze() {
  if (failed(analyzeOps()) || failed(analyzeOutputs()) ||
      failed(site.verifyOperands()))
    return failure();
  auto isOfElements = [&](BlockArgument input) {
    auto type = dyn_cast<RankedTensorType>(input.getType());
    return type && type.getShape() == elements.getShape();
  };
  auto *like = llvm::find_if(inputs, isOfElements);
  if (like == inputs.end())
    return kernel.emitOpError()
           << "expected an input of the shape of " << elements;
  operands.x = site.lookup(*like);
  for (BlockArgument input : llvm::make_filter_range(inputs, isOfElements))
    inputBytes +=
        cast<RankedTensorType>(input.getType()).getElementTypeBitWidth() / 8;
  if (strips) {
    layout = strips->getLayout(elements.getShape().back(), inputBytes);
    llvm::append_range(stripOutputs, strips->getKept());
    llvm::erase_if(elementOutputs, [&](Value output) {
      return llvm::is_contained(stripOutputs, output);
    });
    return strips->verify();
  }
  if (!quantize) {
    layout.emplace(elements.getShape().back(), inputBytes,
                   RowLayout::areFew(getMostRows()));
    return success();
  }
  FailureOr<QuantizeSpec> found =
      analyzeQuantize(kernel, quantize, *like, chip, operands);
  if (failed(found))
    return failure();
  if (found->takesBlocks)
    return quantize.emitOpError()
           << "expected a static last dimension where x is computed from whole "
              "rows, but got "
           << quantize.getX().getType();
  spec = *found;
  spec->ownedBytes = inputBytes;
  mapping.emplace(*spec, chip);
  layout.emplace(*spec, *mapping);
  return success();
}

//===----------------------------------------------------------------------===//
// Launch
//===----------------------------------------------------------------------===//

std::string RowKernel::getName() const {
  if (spec)
    return "rows_" + spec->getKernelName(chip);
  if (strips)
    return "rows_" + strips->getName();
  std::string name = "rows_k" + std::to_string(layout->rowElements);
  if (parts)
    name += "_amax_parts";
  return name + std::string(chip.kernelSuffix);
}

/// Bytes that the address of an operand is a multiple of; 0 for a scalar.
int64_t RowKernel::getAlignment(Value operand) const {
  auto type = dyn_cast<MemRefType>(operand.getType());
  if (!type)
    return 0;
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  bool isLong =
      type.getRank() > 0 && type.getShape().back() == layout->rowElements;
  return isLong ? std::gcd(layout->rowElements * bytes, getAccessBytes(chip))
                : bytes;
}

/// A quantization reads more than rows, from its own places.
void RowKernel::findEarlyColumns() {
  if (!quantizes.empty() || parts || layout->passes != 1)
    return;
  int64_t registers = kEarlyRegisters;
  for (const RowOp &row : ops)
    for (auto [i, form] : llvm::enumerate(row.operands)) {
      linalg::LinalgOp op = row.op;
      auto value = dyn_cast<BlockArgument>(op->getOperand(i));
      if (form != RowForm::Columns || !value ||
          op.getBlock()->getArgument(i).use_empty() ||
          earlyColumns.contains(value) ||
          !site.canLoadBeforeWait(site.lookup(value)))
        continue;
      registers -= layout->fragmentElements *
                   getElementTypeOrSelf(value).getIntOrFloatBitWidth() / 32;
      if (registers < 0)
        return;
      earlyColumns.insert(value);
    }
}

void RowKernel::launch() {
  // Rows without elements have nothing to reduce.
  ImplicitLocOpBuilder &b = site.b;
  int64_t rank = elements.getRank();
  bool batched = (spec && spec->batched) || (strips && strips->isBatched());
  int64_t firstMatrixDim = batched ? rank - 2 : 0;
  operands.rows = getSizeProduct(b, operands.x, firstMatrixDim, rank - 1);
  operands.matrices = getSizeProduct(b, operands.x, 0, firstMatrixDim);
  if (spec) {
    emit::requireOperands(quantize, site.call);
    site.emitAsserts();
  }
  for (const RowOp &row : ops)
    for (auto [value, form] :
         llvm::zip_equal(row.op->getOperands(), row.operands))
      if (auto input = dyn_cast<BlockArgument>(value))
        if (form != RowForm::Columns && form != RowForm::Scalar)
          requireSizes(b, site.lookup(input), rank - 1, operands.x,
                       "an input of linalg ops", "the rows");
  if (mapping)
    mapping->remark(b.getLoc(), *spec, chip);
  Lanes rowSets =
      layout->rowStride == 1
          ? getCeilDiv(b, operands.rows, layout->getRowSetRows())
          : getCeilDiv(b, operands.rows, kTileRows) * layout->rowStride;
  Lanes blocks = getCeilDiv(b, rowSets, layout->rowSetsPerBlock);
  if (spec)
    blocks = addGroups(b, *spec, operands, blocks, layout->getThreads());
  KernelSignature signature;
  if (strips)
    blocks = strips->prepareLaunch(signature, operands.rows);
  if (parts) {
    pieces = blocks;
    blocks = getPartBlocks(b, pieces, parts.getParts().getType().getDimSize(1));
  }
  LaunchSite::Shape shape{layout->getThreads(), blocks, operands.matrices,
                          layout->fragmentElements * inputBytes};
  if (strips)
    shape.residentBlocks = strips->getResidentBlocks();
  if (mapping && mapping->hasBuffer && layout->passes == 1)
    shape.residentBlocks = LaunchModel::getBlocksOfRegisters(
        shape.threads, shape.threadBytes / 4 + kOtherRegisters);

  findEarlyColumns();
  shape.waitsInBody = !earlyColumns.empty();

  if (spec)
    addQuantizeSlots(signature, operands, *spec, chip);
  else
    signature.add(operands.rows);
  if (strips && batched)
    signature.add(operands.matrices);
  if (parts)
    signature.add(pieces);
  SmallVector<Value> logical(inputs.begin(), inputs.end());
  llvm::append_range(logical, elementOutputs);
  llvm::append_range(logical, rowOutputs);
  llvm::append_range(logical, stripOutputs);
  if (parts)
    logical.push_back(parts.getParts());
  auto others = llvm::map_to_vector(
      logical, [&](Value value) { return site.lookup(value); });
  for (Value &operand : others)
    signature.add(operand, getAlignment(operand));
  site.launch(getName(), shape, signature, [&](KernelBuilder &inside) {
    values.map(logical, others);
    emit(inside);
  });
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

void RowKernel::emit(KernelBuilder &b) {
  if (parts)
    return emitAmaxParts(b);
  if (strips)
    return emitStrips(b);
  Lanes block = emitBlockNumber(b);
  if (!spec)
    return emitBlock(b, block);
  emitInGroups(b, *spec, operands, block,
               emitThreadNumber(b, layout->getThreads()), layout->getThreads(),
               [&](Lanes other, const GroupedScales *tiles) {
                 grouped = tiles;
                 emitBlock(b, other);
               });
}

/// The work of a CTA, of those on x the one of a number, an index.
void RowKernel::emitBlock(KernelBuilder &b, Lanes block) {
  bool batched = spec && spec->batched;
  RowPosition position = RowPosition::emit(b, *layout, batched, block);
  // Matrices beyond the last one are those of whole CTAs.
  if (batched)
    emit::emitIf(b, isBelow(position.fragment.matrix, operands.matrices),
                 [&] { emitRows(b, position); });
  else
    emitRows(b, position);
}

/// The work of a CTA that takes several pieces, for the amax of all of them.
void RowKernel::emitAmaxParts(KernelBuilder &b) {
  int64_t threads = layout->getThreads();
  emitParts(
      b, pieces, {values.lookup(parts.getParts())},
      parts.getParts().getType().getDimSize(1), emitThreadNumber(b, threads),
      threads / kWarpThreads, [&](Lanes piece) -> SmallVector<Value> {
        Value bits = emitRows(b, RowPosition::emit(b, *layout,
                                                   /*batched=*/false, piece))
                         .front();
        // The next piece takes the shared memory of this one.
        gpu::BarrierOp::create(b);
        return {bits};
      });
}

/// The work of a CTA that quantizes strips of its rows.
void RowKernel::emitStrips(KernelBuilder &b) {
  auto emitAll = [&] {
    strips->emit(
        b, *layout, values, operands.rows, operands.matrices, [&](Lanes piece) {
          emitRows(b,
                   RowPosition::emit(b, *layout, strips->isBatched(), piece));
        });
  };
  // Matrices beyond the last one are those of whole CTAs.
  if (strips->isBatched())
    emit::emitIf(b, isBelow(emitMatrixNumber(b), toIndex(b, operands.matrices)),
                 emitAll);
  else
    emitAll();
}

/// Computes and stores all that the rows of a CTA have. Returns the bits of
/// their amax that the thread has, where the kernel computes it.
SmallVector<Lanes> RowKernel::emitRows(KernelBuilder &b,
                                       const RowPosition &position) {
  RowEmitter rows(b, *layout, getAccessBytes(chip), ops, values, position,
                  operands.rows);
  std::optional<StagedMoves> moves;
  if (mapping && mapping->hasBuffer && layout->passes == 1) {
    int64_t bytes = mapping->fragmentElements * spec->getInputBytes();
    buffer.emplace(b, position.thread, layout->getThreads(), bytes,
                   layout->runLanes);
    Fragment fragment(b, *spec, *mapping, chip, operands, position.fragment);
    moves.emplace(*buffer, fragment.isFullWarp(), bytes);
  }
  if (!earlyColumns.empty()) {
    rows.loadEarly(earlyColumns.getArrayRef());
    emitLaunchWait(b);
  }
  rows.emitRows(moves ? &*moves : nullptr);
  storeRows(b, rows, position);
  if (layout->passes == 1)
    return emitPass(b, rows, rows.getFirstPass(), position);
  if (parts)
    return {rows.emitPasses(b.i32(0), [&](Lanes amax, const RowPass &pass) {
      return maxUnsigned(amax, emitPass(b, rows, pass, position).front());
    })};
  rows.emitPasses(
      [&](Lanes, const RowPass &pass) { emitPass(b, rows, pass, position); });
  return {};
}

/// Computes and stores what has a value an element. Returns the bits of the
/// amax of these elements, where the kernel computes it.
SmallVector<Lanes> RowKernel::emitPass(KernelBuilder &b, RowEmitter &rows,
                                       const RowPass &pass,
                                       const RowPosition &position) {
  if (!quantize)
    return emitElements(b, rows, pass);
  // What no group has is not quantized, but has elements, too.
  bool storesApart = spec->groupDim != GroupDim::None;
  if (storesApart)
    emitElements(b, rows, pass);
  FragmentPosition place = position.fragment;
  place.fragment = pass.fragment;
  emitQuantize(b, rows, pass, place, /*storesElements=*/!storesApart);
  return {};
}

/// Stores the elements of a fragment. Returns the bits of their amax, where the
/// kernel computes it.
SmallVector<Lanes> RowKernel::emitElements(KernelBuilder &b, RowEmitter &rows,
                                           const RowPass &pass) {
  if (elementOutputs.empty() && !parts)
    return {};
  auto store = [&](int64_t elements) {
    return [&, elements]() -> SmallVector<Lanes> {
      FragmentVectors vectors(rows, pass, elements);
      storeElements(b, rows, pass, vectors, elements);
      if (!parts)
        return {};
      return {computeAmax(b, vectors, elements)};
    };
  };
  int64_t tail = layout->getTailElements();
  return emitIfElseZero(b, rows.hasRow(), [&] {
    auto emitTail = [&] {
      return emitIfElseZero(b, rows.isFragmentBelow(pass, layout->fragments),
                            store(tail));
    };
    Lanes isFull = rows.isFragmentBelow(pass, layout->getFullFragments());
    if (layout->getFullFragments() == 0)
      return emitTail();
    if (tail == 0)
      return emitIfElseZero(b, isFull, store(layout->fragmentElements));
    return emitIfElse(b, isFull, store(layout->fragmentElements), emitTail);
  });
}

void RowKernel::emitQuantize(KernelBuilder &b, RowEmitter &rows,
                             const RowPass &pass, FragmentPosition position,
                             bool storesElements) {
  Fragment fragment(b, *spec, *mapping, chip, operands, position);
  std::optional<StagedMoves> moves;
  if (buffer && mapping->isStaged)
    moves.emplace(*buffer, fragment.isFullWarp(),
                  mapping->fragmentElements * spec->getInputBytes());
  quantizeFragment(fragment, moves ? &*moves : nullptr, grouped,
                   [&](int64_t elements) {
                     FragmentVectors vectors(rows, pass, elements);
                     if (storesElements)
                       storeElements(b, rows, pass, vectors, elements);
                     return getBlocks(b, vectors, elements);
                   });
}

/// The elements of `value` as words, those behind the first `elements` zero.
static SmallVector<Value> getWords(KernelBuilder &b, FragmentVectors &vectors,
                                   Value value, int64_t elements) {
  SmallVector<Value> words;
  constexpr int64_t size = RowEmitter::kVectorElements;
  int64_t bits = getElementTypeOrSelf(value).getIntOrFloatBitWidth();
  auto type = VectorType::get({size * bits / 32}, b.getI32Type());
  for (auto [i, values] : llvm::enumerate(vectors.get(value))) {
    int64_t present = elements - static_cast<int64_t>(i) * size;
    if (present <= 0)
      break;
    Lanes vector = b.bitcast(type, values);
    for (int64_t at = 0; at < type.getNumElements(); ++at) {
      int64_t held = present * bits - at * 32;
      Lanes word = held > 0 ? b.extract(vector, at) : b.i32(0);
      if (held > 0 && held < 32)
        word = word & ((1u << held) - 1);
      words.push_back(word);
    }
  }
  return words;
}

/// Bits of the amax of the first `elements` elements of a fragment.
Lanes RowKernel::computeAmax(KernelBuilder &b, FragmentVectors &vectors,
                             int64_t elements) {
  SmallVector<Value> words = getWords(b, vectors, parts.getX(), elements);
  constexpr int64_t kVectorWords = 4;
  words.resize(llvm::alignTo(words.size(), kVectorWords), b.i32(0));
  SmallVector<Value> packed;
  for (size_t i = 0; i < words.size(); i += kVectorWords)
    packed.push_back(b.pack(ArrayRef(words).slice(i, kVectorWords)));
  std::unique_ptr<CvtEmitter> cvt = createCvtEmitter(chip);
  Lanes amax =
      BlockElements::fromWords(packed, getElementTypeOrSelf(parts.getX()))
          .computeAmax(b, *cvt);
  return b.toBits(amax);
}

SmallVector<BlockElements> RowKernel::getBlocks(KernelBuilder &b,
                                                FragmentVectors &vectors,
                                                int64_t elements) {
  SmallVector<Value> words = getWords(b, vectors, quantize.getX(), elements);
  int64_t blockWords = spec->getBlockElements() * spec->getInputBytes() / 4;
  words.resize(llvm::alignTo(words.size(), blockWords), b.i32(0));
  constexpr int64_t kVectorWords = 4;
  SmallVector<BlockElements> blocks;
  for (ArrayRef<Value> rest = words; !rest.empty();
       rest = rest.drop_front(blockWords)) {
    SmallVector<Value> packed;
    for (int64_t i = 0; i < blockWords; i += kVectorWords)
      packed.push_back(b.pack(rest.slice(i, kVectorWords)));
    blocks.push_back(BlockElements::fromWords(packed, spec->inputType));
  }
  return blocks;
}

void RowKernel::storeElements(KernelBuilder &b, RowEmitter &rows,
                              const RowPass &pass, FragmentVectors &vectors,
                              int64_t elements) {
  for (Value output : elementOutputs) {
    Type type = getElementTypeOrSelf(output);
    int64_t bytes = type.getIntOrFloatBitWidth() / 8;
    Lanes first = rows.getRowNumber() * layout->rowElements;
    Lanes inRow = extend(pass.fragment, 64) * layout->fragmentElements;
    Value pointer = b.offset(values.lookup(output), type, first + inRow);
    emitStoreBytes(b, getWords(b, vectors, output, elements), pointer,
                   elements * bytes,
                   std::gcd(layout->rowElements * bytes, getAccessBytes(chip)));
  }
}

void RowKernel::storeRows(KernelBuilder &b, RowEmitter &rows,
                          const RowPosition &position) {
  if (strips)
    strips->storeRows(b, rows, position);
  if (rowOutputs.empty())
    return;
  Lanes isFirst = isEqual(position.fragment.fragment, 0);
  isFirst = isFirst & rows.hasRow();
  emit::emitIf(b, isFirst, [&] {
    for (Value output : rowOutputs) {
      Type type = getElementTypeOrSelf(output);
      b.store(rows.getRow(output),
              b.offset(values.lookup(output), type, rows.getRowNumber()),
              type.getIntOrFloatBitWidth() / 8);
    }
  });
}

LogicalResult lowerRowProgram(KernelOp kernel, LaunchSite &site) {
  RowKernel rows(kernel, site);
  if (failed(rows.analyze()))
    return failure();
  rows.launch();
  return success();
}

} // namespace blockscale
