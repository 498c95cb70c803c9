//===- Bytecode.cpp - The dialect in MLIR's bytecode ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bytecode.h"

#include "blockscale/IR/BlockScaleDialect.h"

#include "mlir/Bytecode/BytecodeImplementation.h"

using namespace mlir;

namespace blockscale {

namespace {

/// How properties are written. A file without a version is of release 0.1,
/// which wrote the values alone. A later number is for what an earlier reader
/// cannot ignore.
constexpr uint64_t kVersion = 1;

struct Version : DialectVersion {
  explicit Version(uint64_t number) : number(number) {}
  uint64_t number;
};

struct BytecodeVersion : BytecodeDialectInterface {
  explicit BytecodeVersion(Dialect *dialect)
      : BytecodeDialectInterface(dialect) {}

  void writeVersion(DialectBytecodeWriter &writer) const override {
    writer.writeVarInt(kVersion);
  }

  std::unique_ptr<DialectVersion>
  readVersion(DialectBytecodeReader &reader) const override {
    uint64_t number;
    if (failed(reader.readVarInt(number)))
      return nullptr;
    if (number > kVersion) {
      reader.emitError() << "expected bytecode of the dialect blockscale of "
                            "version "
                         << kVersion << " at most, but got " << number
                         << ", of a later release";
      return nullptr;
    }
    return std::make_unique<Version>(number);
  }
};

/// The properties of an op in release 0.1.
struct ReleasedOp {
  StringRef op;
  /// Attributes in the order in which they are written, with `?` behind those
  /// that may be absent.
  StringRef attributes[5];
  unsigned numOperandSegments = 0;
};

/// Ops that are not here had no properties.
constexpr ReleasedOp kRelease01[] = {
    {"blockscale.amax", {"group_dim?"}},
    {"blockscale.dequantize", {"block", "recipe?"}, 4},
    {"blockscale.expand_scale", {"block", "scale_dim"}},
    {"blockscale.global_scale", {"recipe?"}},
    {"blockscale.hadamard", {"dim", "sign_mask?"}},
    {"blockscale.kernel", {}, 2},
    {"blockscale.quantize",
     {"block", "group_dim?", "recipe?", "scale_dim?", "transposed?"},
     6},
    {"blockscale.scaled_grouped_mm", {"block", "global_scaling?"}, 8},
    {"blockscale.scaled_mm", {"block", "global_scaling?"}, 7},
    {"blockscale.swizzle", {"block?"}, 3},
    {"blockscale.tensor_map", {"box", "element", "swizzle"}, 3}};

/// The dictionary that today's writer would have written.
FailureOr<DictionaryAttr> readRelease01(DialectBytecodeReader &reader,
                                        StringRef op) {
  NamedAttrList named;
  MLIRContext *context = reader.getContext();
  for (const ReleasedOp &released : kRelease01) {
    if (released.op != op)
      continue;
    for (StringRef name : released.attributes) {
      if (name.empty())
        break;
      Attribute value;
      bool isOptional = name.consume_back("?");
      if (failed(isOptional ? reader.readOptionalAttribute(value)
                            : reader.readAttribute(value)))
        return failure();
      if (value)
        named.append(name, value);
    }
    if (released.numOperandSegments) {
      SmallVector<int32_t> segments(released.numOperandSegments);
      if (failed(reader.readSparseArray(MutableArrayRef<int32_t>(segments))))
        return failure();
      named.append("operandSegmentSizes",
                   DenseI32ArrayAttr::get(context, segments));
    }
  }
  return named.getDictionary(context);
}

template <typename OpT>
LogicalResult readNamed(DialectBytecodeReader &reader, OperationState &state) {
  auto &properties = state.getOrAddProperties<typename OpT::Properties>();
  DictionaryAttr named;
  if (succeeded(reader.getDialectVersion<BlockScaleDialect>())) {
    if (failed(reader.readAttribute(named)))
      return failure();
  } else {
    FailureOr<DictionaryAttr> read =
        readRelease01(reader, OpT::getOperationName());
    if (failed(read))
      return failure();
    named = *read;
  }
  return OpT::setPropertiesFromAttr(properties, named,
                                    [&] { return reader.emitError(); });
}

template <typename OpT>
void writeNamed(OpT op, DialectBytecodeWriter &writer) {
  Attribute named =
      OpT::getPropertiesAsAttr(op.getContext(), op.getProperties());
  writer.writeAttribute(named ? named : DictionaryAttr::get(op.getContext()));
}

} // namespace

void addBytecodeVersion(Dialect &dialect) {
  dialect.addInterfaces<BytecodeVersion>();
}

#define BLOCKSCALE_NAMED_PROPERTIES(OP)                                        \
  LogicalResult OP::readProperties(DialectBytecodeReader &reader,              \
                                   OperationState &state) {                    \
    return readNamed<OP>(reader, state);                                       \
  }                                                                            \
  void OP::writeProperties(DialectBytecodeWriter &writer) {                    \
    writeNamed(*this, writer);                                                 \
  }

BLOCKSCALE_NAMED_PROPERTIES(AmaxOp)
BLOCKSCALE_NAMED_PROPERTIES(DequantizeOp)
BLOCKSCALE_NAMED_PROPERTIES(ExpandScaleOp)
BLOCKSCALE_NAMED_PROPERTIES(GlobalScaleOp)
BLOCKSCALE_NAMED_PROPERTIES(HadamardOp)
BLOCKSCALE_NAMED_PROPERTIES(KernelOp)
BLOCKSCALE_NAMED_PROPERTIES(PadGroupsOp)
BLOCKSCALE_NAMED_PROPERTIES(QuantizeOp)
BLOCKSCALE_NAMED_PROPERTIES(ScaleSweepOp)
BLOCKSCALE_NAMED_PROPERTIES(ScaledGroupedMMOp)
BLOCKSCALE_NAMED_PROPERTIES(ScaledMMOp)
BLOCKSCALE_NAMED_PROPERTIES(SwizzleOp)
BLOCKSCALE_NAMED_PROPERTIES(TensorMapOp)

#undef BLOCKSCALE_NAMED_PROPERTIES

} // namespace blockscale
