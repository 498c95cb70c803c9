//===- NarrowTensors.cpp - Elements of f4 and f6 tensors ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NarrowTensors.h"
#include "blockscale/IR/TypeRules.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace blockscale {

/// Elements of f4 that a byte of memory has, and the bits of one.
static constexpr int64_t kPackedElements = 2;
static constexpr int64_t kPackedBits = 4;

static bool isPacked(Type type) {
  return isa<Float4E2M1FNType>(getElementTypeOrSelf(type));
}

bool isStoredAsCodes(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && !tensor.getEncoding() && needsStorageForm(tensor);
}

namespace {

/// Emits the ops around one op.
class CodeBytes {
public:
  explicit CodeBytes(Operation *op) : b(op->getLoc(), op) {}

  /// A tensor and its storage form, each seen as the other.
  Value see(Value tensor, Type type) {
    return UnrealizedConversionCastOp::create(b, type, tensor).getResult(0);
  }

  /// The codes of f4 or f6 data, one in each byte.
  Value unpack(Value tensor);
  /// Data of `type` from such codes; `sizes` are those of its dimensions.
  Value pack(Value codes, RankedTensorType type, ArrayRef<OpFoldResult> sizes);

  /// A code in a byte as a number, and a number as a code in a byte.
  Value toNumber(Value byte, Type type);
  Value toByte(Value number);

  /// An element of data in memory.
  Value extract(Value tensor, ValueRange indices);

  ImplicitLocOpBuilder b;

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  /// `byte` moved by 4 bits, right or left.
  template <typename ShiftOp>
  Value shift(Value byte) {
    Value bits = arith::ConstantOp::create(b, b.getI8IntegerAttr(kPackedBits));
    return ShiftOp::create(b, byte, bits);
  }
  /// A linalg op that makes bytes of `sizes` from their indices.
  Value generate(ArrayRef<OpFoldResult> sizes, Value input, AffineMap map,
                 function_ref<Value(ValueRange indices, Value byte)> compute);
};

} // namespace

Value CodeBytes::toNumber(Value byte, Type type) {
  Type bits = b.getIntegerType(type.getIntOrFloatBitWidth());
  Value code = arith::TruncIOp::create(b, bits, byte);
  return arith::BitcastOp::create(b, type, code);
}

Value CodeBytes::toByte(Value number) {
  Type bits = b.getIntegerType(number.getType().getIntOrFloatBitWidth());
  Value code = arith::BitcastOp::create(b, bits, number);
  return arith::ExtUIOp::create(b, b.getI8Type(), code);
}

Value CodeBytes::generate(
    ArrayRef<OpFoldResult> sizes, Value input, AffineMap map,
    function_ref<Value(ValueRange indices, Value byte)> compute) {
  Value out = tensor::EmptyOp::create(b, sizes, b.getI8Type());
  unsigned rank = sizes.size();
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  if (input) {
    inputs.push_back(input);
    maps.push_back(map);
  }
  maps.push_back(b.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
  auto op = linalg::GenericOp::create(
      b, b.getLoc(), out.getType(), inputs, out, maps, loops,
      [&](OpBuilder &builder, Location, ValueRange arguments) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPoint(builder.getInsertionBlock(),
                            builder.getInsertionPoint());
        SmallVector<Value> indices;
        for (unsigned i = 0; i < rank; ++i)
          indices.push_back(linalg::IndexOp::create(b, i));
        linalg::YieldOp::create(
            b, compute(indices, input ? arguments.front() : Value()));
      });
  return op.getResult(0);
}

Value CodeBytes::unpack(Value tensor) {
  Value bytes = see(tensor, getStorageType(tensor.getType()));
  if (!isPacked(tensor.getType()))
    return bytes;
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(b, b.getLoc(), tensor);
  unsigned last = sizes.size() - 1;
  AffineMap map = b.getMultiDimIdentityMap(sizes.size());
  map = map.insertResult(map.getResult(last).floorDiv(kPackedElements), last)
            .dropResult(last + 1);
  return generate(sizes, bytes, map, [&](ValueRange indices, Value byte) {
    Value odd =
        arith::RemUIOp::create(b, indices[last], index(kPackedElements));
    Value isLow =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, odd, index(0));
    Value mask = arith::ConstantOp::create(
        b, b.getI8IntegerAttr((1 << kPackedBits) - 1));
    Value low = arith::AndIOp::create(b, byte, mask);
    return arith::SelectOp::create(b, isLow, low, shift<arith::ShRUIOp>(byte))
        .getResult();
  });
}

Value CodeBytes::pack(Value codes, RankedTensorType type,
                      ArrayRef<OpFoldResult> sizes) {
  if (!isPacked(type))
    return see(codes, type);
  unsigned last = sizes.size() - 1;
  Value end = getValueOrCreateConstantIndexOp(b, b.getLoc(), sizes[last]);
  // A row of an odd size ends with half a byte, whose other half is 0.
  Value bytes = generate(
      getStorageSizes(b, b.getLoc(), type, sizes), /*input=*/Value(),
      /*map=*/AffineMap(), [&](ValueRange indices, Value) {
        SmallVector<Value> place(indices);
        place[last] =
            arith::MulIOp::create(b, place[last], index(kPackedElements));
        Value low = tensor::ExtractOp::create(b, codes, place);
        Value next = arith::AddIOp::create(b, place[last], index(1));
        Value isInside =
            arith::CmpIOp::create(b, arith::CmpIPredicate::ult, next, end);
        place[last] = arith::SelectOp::create(b, isInside, next, place[last]);
        Value high = tensor::ExtractOp::create(b, codes, place);
        Value zero = arith::ConstantOp::create(b, b.getI8IntegerAttr(0));
        high = arith::SelectOp::create(b, isInside, high, zero);
        return arith::OrIOp::create(b, low, shift<arith::ShLIOp>(high))
            .getResult();
      });
  return see(bytes, type);
}

Value CodeBytes::extract(Value tensor, ValueRange indices) {
  Type type = getElementTypeOrSelf(tensor.getType());
  Value bytes = see(tensor, getStorageType(tensor.getType()));
  if (!isPacked(tensor.getType()))
    return toNumber(tensor::ExtractOp::create(b, bytes, indices), type);
  SmallVector<Value> place(indices);
  Value two = index(kPackedElements);
  Value odd = arith::RemUIOp::create(b, place.back(), two);
  place.back() = arith::DivUIOp::create(b, place.back(), two);
  Value byte = tensor::ExtractOp::create(b, bytes, place);
  Value isLow =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, odd, index(0));
  Value code =
      arith::SelectOp::create(b, isLow, byte, shift<arith::ShRUIOp>(byte));
  return toNumber(code, type);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

static bool hasCodes(Operation *op) {
  return llvm::any_of(op->getOperandTypes(), isStoredAsCodes) ||
         llvm::any_of(op->getResultTypes(), isStoredAsCodes);
}

/// Gives the results of `op`, which are bytes with one code each from here on,
/// to their uses as data of the types that they had.
static void packResults(Operation *op, CodeBytes &bytes,
                        ArrayRef<SmallVector<OpFoldResult>> sizes) {
  bytes.b.setInsertionPointAfter(op);
  for (auto [result, size] : llvm::zip_equal(op->getResults(), sizes)) {
    auto type = cast<RankedTensorType>(result.getType());
    if (!isStoredAsCodes(type))
      continue;
    result.setType(type.clone(bytes.b.getI8Type()));
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : result.getUses())
      uses.push_back(&use);
    Value packed = bytes.pack(result, type, size);
    for (OpOperand *use : uses)
      use->set(packed);
  }
}

static void expandGeneric(linalg::GenericOp op) {
  CodeBytes bytes(op);
  Block *body = op.getBlock();
  SmallVector<SmallVector<OpFoldResult>> sizes;
  for (Value init : op.getDpsInits())
    sizes.push_back(tensor::getMixedSizes(bytes.b, op.getLoc(), init));
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    if (!type || !isStoredAsCodes(type))
      continue;
    BlockArgument inside = op.getMatchingBlockArgument(&operand);
    bytes.b.setInsertionPoint(op);
    unsigned output = operand.getOperandNumber() - op.getNumDpsInputs();
    if (op.isDpsInit(&operand) && inside.use_empty())
      operand.set(
          tensor::EmptyOp::create(bytes.b, sizes[output], bytes.b.getI8Type()));
    else
      operand.set(bytes.unpack(operand.get()));
    bytes.b.setInsertionPointToStart(body);
    inside.setType(bytes.b.getI8Type());
    if (!inside.use_empty()) {
      Value number = bytes.toNumber(inside, type.getElementType());
      inside.replaceAllUsesExcept(
          number, number.getDefiningOp()->getOperand(0).getDefiningOp());
    }
  }
  Operation *yield = body->getTerminator();
  bytes.b.setInsertionPoint(yield);
  for (auto [operand, result] :
       llvm::zip_equal(yield->getOpOperands(), op.getResultTypes()))
    if (isStoredAsCodes(result))
      operand.set(bytes.toByte(operand.get()));
  packResults(op, bytes, sizes);
}

/// Ops that make a tensor of scalars, which become those of bytes.
static void expandMaker(Operation *op) {
  CodeBytes bytes(op);
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  SmallVector<OpFoldResult> sizes;
  SmallVector<Value> dynamic;
  if (auto generate = dyn_cast<tensor::GenerateOp>(op))
    dynamic = generate.getDynamicExtents();
  else if (auto splat = dyn_cast<tensor::SplatOp>(op))
    dynamic = splat.getDynamicSizes();
  sizes = mlir::getMixedValues(type.getShape(), dynamic, bytes.b);
  Operation *scalars = op;
  if (auto generate = dyn_cast<tensor::GenerateOp>(op)) {
    scalars = generate.getBody().front().getTerminator();
    bytes.b.setInsertionPoint(scalars);
  }
  for (OpOperand &operand : scalars->getOpOperands())
    if (operand.get().getType() == type.getElementType())
      operand.set(bytes.toByte(operand.get()));
  packResults(op, bytes, sizes);
}

static void expandInsert(tensor::InsertOp op) {
  CodeBytes bytes(op);
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(bytes.b, op.getLoc(), op.getDest());
  op.getScalarMutable().assign(bytes.toByte(op.getScalar()));
  op.getDestMutable().assign(bytes.unpack(op.getDest()));
  packResults(op, bytes, sizes);
}

static void expandExtract(tensor::ExtractOp op) {
  CodeBytes bytes(op);
  op.replaceAllUsesWith(bytes.extract(op.getTensor(), op.getIndices()));
  op.erase();
}

void expandNarrowTensors(Operation *root) {
  SmallVector<Operation *> ops;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<KernelOp>(op))
      return WalkResult::skip();
    if (hasCodes(op) &&
        isa<linalg::GenericOp, tensor::ExtractOp, tensor::InsertOp,
            tensor::FromElementsOp, tensor::SplatOp, tensor::GenerateOp>(op))
      ops.push_back(op);
    return WalkResult::advance();
  });
  for (Operation *op : ops) {
    if (auto generic = dyn_cast<linalg::GenericOp>(op))
      expandGeneric(generic);
    else if (auto extract = dyn_cast<tensor::ExtractOp>(op))
      expandExtract(extract);
    else if (auto insert = dyn_cast<tensor::InsertOp>(op))
      expandInsert(insert);
    else
      expandMaker(op);
  }
}

} // namespace blockscale
