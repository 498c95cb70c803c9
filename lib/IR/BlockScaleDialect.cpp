//===- BlockScaleDialect.cpp - Dialect registration -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/IR/BlockScaleDialect.h"

#include "Bytecode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "blockscale/IR/BlockScaleDialect.cpp.inc"
#include "blockscale/IR/BlockScaleEnums.cpp.inc"
#include "blockscale/IR/BlockScaleInterfaces.cpp.inc"

/// `, groups = G, dim = d` of a layout; absent when not grouped. G is a number
/// or `?`.
static ParseResult parseLayoutGroups(AsmParser &parser, int64_t &groups,
                                     int64_t &dim) {
  groups = 0;
  dim = 0;
  if (failed(parser.parseOptionalComma()))
    return success();
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword("groups") || parser.parseEqual())
    return failure();
  bool isDynamic = succeeded(parser.parseOptionalQuestion());
  if ((!isDynamic && parser.parseInteger(groups)) || parser.parseComma() ||
      parser.parseKeyword("dim") || parser.parseEqual() ||
      parser.parseInteger(dim))
    return failure();
  if (isDynamic)
    groups = ShapedType::kDynamic;
  else if (groups <= 0)
    return parser.emitError(loc)
           << "expected groups to be positive, but got " << groups;
  return success();
}

static void printLayoutGroups(AsmPrinter &printer, int64_t groups,
                              int64_t dim) {
  if (groups == 0)
    return;
  printer << ", groups = ";
  if (ShapedType::isDynamic(groups))
    printer << '?';
  else
    printer << groups;
  printer << ", dim = " << dim;
}

/// An attribute of an enumeration as its word alone, `te` of
/// `#blockscale<recipe te>`. A variable of the format would print a space or
/// none before the word, as the release of MLIR has it.
template <typename AttrTy>
static ParseResult parseWord(OpAsmParser &parser, AttrTy &attribute) {
  return parser.parseCustomAttributeWithFallback(attribute);
}

template <typename AttrTy>
static void printWord(OpAsmPrinter &printer, Operation *, AttrTy attribute) {
  printer << stringifyEnum(attribute.getValue());
}

/// The block scales of a product: `%sa, %sb`, with `none` for a plain
/// operand's.
static ParseResult
parseProductScales(OpAsmParser &parser,
                   std::optional<OpAsmParser::UnresolvedOperand> &scaleA,
                   std::optional<OpAsmParser::UnresolvedOperand> &scaleB) {
  auto parseScale =
      [&](std::optional<OpAsmParser::UnresolvedOperand> &scale) -> ParseResult {
    if (succeeded(parser.parseOptionalKeyword("none")))
      return success();
    return parser.parseOperand(scale.emplace());
  };
  return failure(parseScale(scaleA) || parser.parseComma() ||
                 parseScale(scaleB));
}

static void printProductScales(OpAsmPrinter &printer, Operation *, Value scaleA,
                               Value scaleB) {
  auto printScale = [&](Value scale) {
    if (scale)
      printer << scale;
    else
      printer << "none";
  };
  printScale(scaleA);
  printer << ", ";
  printScale(scaleB);
}

/// The types of the scales that are there, each behind a comma.
static ParseResult parseProductScaleTypes(
    OpAsmParser &parser,
    const std::optional<OpAsmParser::UnresolvedOperand> &scaleA,
    const std::optional<OpAsmParser::UnresolvedOperand> &scaleB, Type &typeA,
    Type &typeB) {
  if (scaleA && (parser.parseComma() || parser.parseType(typeA)))
    return failure();
  return failure(scaleB && (parser.parseComma() || parser.parseType(typeB)));
}

static void printProductScaleTypes(OpAsmPrinter &printer, Operation *,
                                   Value scaleA, Value scaleB, Type, Type) {
  for (Value scale : {scaleA, scaleB})
    if (scale)
      printer << ", " << scale.getType();
}

/// A kernel's body and `-> types`. What comes before the body may name values
/// of it, which the parser connects; where parsing fails, these uses go before
/// the body does. A region of the generated format would leave them dangling.
static ParseResult parseBodyAndResults(OpAsmParser &parser, Region &body,
                                       SmallVectorImpl<Type> &results) {
  Location loc = parser.getEncodedSourceLoc(parser.getCurrentLocation());
  if (!parser.parseRegion(body) &&
      (failed(parser.parseOptionalArrow()) || !parser.parseTypeList(results))) {
    blockscale::KernelOp::ensureTerminator(body, parser.getBuilder(), loc);
    return success();
  }
  for (Block &block : body)
    block.dropAllDefinedValueUses();
  return failure();
}

static void printBodyAndResults(OpAsmPrinter &printer, blockscale::KernelOp,
                                Region &body, TypeRange results) {
  Operation *yield = body.empty() ? nullptr : body.front().getTerminator();
  bool isYieldImplied = yield && yield->getNumOperands() == 0 &&
                        yield->getAttrDictionary().empty();
  printer.printRegion(body, /*printEntryBlockArgs=*/true,
                      /*printBlockTerminators=*/!isYieldImplied);
  if (!results.empty())
    printer << " -> " << results;
}

#define GET_ATTRDEF_CLASSES
#include "blockscale/IR/BlockScaleAttributes.cpp.inc"

#define GET_OP_CLASSES
#include "blockscale/IR/BlockScaleOps.cpp.inc"

namespace {

/// Short names for layouts, which stand in most types of a module.
struct AliasInterface : public OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Attribute attr, raw_ostream &os) const override {
    if (isa<blockscale::DataLayoutAttr>(attr)) {
      os << "prepacked";
      return AliasResult::FinalAlias;
    }
    auto layout = dyn_cast<blockscale::LayoutAttr>(attr);
    if (!layout)
      return AliasResult::NoAlias;
    os << (layout.isGrouped() ? "swizzled_groups" : "swizzled");
    return AliasResult::FinalAlias;
  }
};

} // namespace

namespace blockscale {

void BlockScaleDialect::initialize() {
  addInterfaces<AliasInterface>();
  addBytecodeVersion(*this);
  addAttributes<
#define GET_ATTRDEF_LIST
#include "blockscale/IR/BlockScaleAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "blockscale/IR/BlockScaleOps.cpp.inc"
      >();
}

Operation *BlockScaleDialect::materializeConstant(OpBuilder &builder,
                                                  Attribute value, Type type,
                                                  Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

} // namespace blockscale
