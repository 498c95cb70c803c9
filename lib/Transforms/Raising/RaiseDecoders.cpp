//===- RaiseDecoders.cpp - Products of elements and scales ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockShapes.h"
#include "QuantizerPatterns.h"
#include "ScalarProgram.h"
#include "Verification/BelongingRules.h"
#include "blockscale/Analysis/ElementwiseBody.h"
#include "blockscale/Analysis/Fusion/FusionLegality.h"
#include "blockscale/IR/TypeRules.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;

namespace blockscale {
namespace {

/// What is multiplied: nodes of elements, of block scales, and of the global
/// scale, if there is one.
struct Decoder {
  unsigned data = 0, scale = 0;
  std::optional<unsigned> global;
  /// Whether the global scale multiplies last.
  bool isInSteps = false;
  /// Whether `arith.scaling_extf` multiplies, in the type of its result.
  bool isScalingOp = false;
  /// The type in which elements are multiplied.
  Type type;
};

} // namespace

/// A node that is stored as a tensor of elements of a narrow format.
static bool isStoredData(const ScalarProgram &program, unsigned node) {
  return program[node].repeats == 1 && program[node].tensor &&
         isFloatData(program[node].type);
}

static bool isSingle(const ScalarProgram &program, unsigned node) {
  return program[node].repeats == 0 && program[node].type.isF32() &&
         (program[node].tensor || program[node].constant);
}

/// The operands of an op of the kind that `node` is, without extensions.
template <typename OpTy>
static std::optional<std::pair<unsigned, unsigned>>
getPair(const ScalarProgram &program, unsigned node) {
  const ScalarProgram::Node &found = program[node];
  if (found.kind != ScalarProgram::Kind::Operation || !isa<OpTy>(found.op))
    return std::nullopt;
  return std::make_pair(program.withoutExtension(found.operands[0]),
                        program.withoutExtension(found.operands[1]));
}

/// The pair, the first of which `isFirst`.
static std::optional<std::pair<unsigned, unsigned>>
order(std::optional<std::pair<unsigned, unsigned>> pair,
      function_ref<bool(unsigned)> isFirst) {
  if (!pair || isFirst(pair->first))
    return pair;
  if (isFirst(pair->second))
    return std::make_pair(pair->second, pair->first);
  return std::nullopt;
}

/// The factors of `root`; nullopt if they are not elements of a narrow format
/// and another factor.
static std::optional<Decoder> findDecoder(const ScalarProgram &program,
                                          unsigned root) {
  auto isElement = [&](unsigned node) { return isStoredData(program, node); };
  auto isGlobal = [&](unsigned node) { return isSingle(program, node); };
  Decoder decoder;
  decoder.type = program[root].type;
  if (auto pair = getPair<arith::ScalingExtFOp>(program, root)) {
    if (!isElement(pair->first))
      return std::nullopt;
    std::tie(decoder.data, decoder.scale) = *pair;
    decoder.isScalingOp = true;
    return decoder;
  }
  auto product = getPair<arith::MulFOp>(program, root);
  if (!product)
    return std::nullopt;
  // (data * scale) * global
  if (auto steps = order(product, isGlobal); steps && isGlobal(steps->first))
    if (auto pair =
            order(getPair<arith::MulFOp>(program, steps->second), isElement)) {
      std::tie(decoder.data, decoder.scale) = *pair;
      decoder.global = steps->first;
      decoder.isInSteps = true;
      return isElement(decoder.data) ? std::optional(decoder) : std::nullopt;
    }
  auto pair = order(product, isElement);
  if (!pair || !isElement(pair->first))
    return std::nullopt;
  std::tie(decoder.data, decoder.scale) = *pair;
  // data * (global * scale)
  if (auto scales =
          order(getPair<arith::MulFOp>(program, decoder.scale), isGlobal)) {
    decoder.global = scales->first;
    decoder.scale = scales->second;
  }
  return decoder;
}

static RankedTensorType getTensorType(const ScalarProgram &program,
                                      unsigned node) {
  return cast<RankedTensorType>(program[node].tensor.getType());
}

/// decoder_c1.
static std::optional<FusionObstacle>
findScaleObstacle(const ScalarProgram &program, const Decoder &decoder) {
  const ScalarProgram::Node &scale = program[decoder.scale];
  Type data = program[decoder.data].type;
  bool isE4M3 = isa<Float8E4M3FNType>(scale.type) &&
                isa<Float4E2M1FNType>(data) && !decoder.isScalingOp;
  if (!isa<Float8E8M0FNUType>(scale.type) && !isE4M3)
    return FusionObstacle{
        "decoder_c1",
        decoder.isScalingOp
            ? "scales of f8E8M0FNU, as arith.scaling_extf takes the exponent "
              "alone of others"
            : "scales of f8E8M0FNU, or of f8E4M3FN beside f4E2M1FN",
        llvm::to_string(scale.type) + " beside " + llvm::to_string(data)};
  int64_t block = getFormatBlockSize(scale.type);
  if (scale.repeats != block || !scale.tensor)
    return FusionObstacle{
        "decoder_c1",
        llvm::formatv("a tensor of one {0} for {1} neighbours", scale.type,
                      block),
        scale.tensor ? llvm::formatv("one for {0}", scale.repeats).str()
                     : "one that no tensor has"};
  return std::nullopt;
}

/// decoder_c2 and decoder_c4; the values are of type `result`.
static std::optional<FusionObstacle>
findTypeObstacle(const ScalarProgram &program, const Decoder &decoder,
                 Type result) {
  Type type = decoder.type;
  bool isMx = isa<Float8E8M0FNUType>(program[decoder.scale].type);
  if (!type.isF32() && !type.isBF16() && !(type.isF16() && !isMx))
    return FusionObstacle{"decoder_c2", "products in f32 or bf16",
                          llvm::to_string(type)};
  if (!isElementFloat(result))
    return FusionObstacle{"decoder_c2", "values of f32, bf16 or f16",
                          llvm::to_string(result)};
  // A global scale is f32, and so is what it multiplies.
  if (decoder.global && isMx)
    return FusionObstacle{"decoder_c4", "no global scale beside f8E8M0FNU",
                          "one"};
  return std::nullopt;
}

/// decoder_c3, of the type of the data as rows along K and of the result.
static std::optional<FusionObstacle> findShapeObstacle(RankedTensorType data,
                                                       RankedTensorType rows,
                                                       RankedTensorType scale,
                                                       RankedTensorType result,
                                                       int64_t block) {
  for (RankedTensorType type : {data, scale})
    if (type.getEncoding())
      return FusionObstacle{"decoder_c3", "tensors without an encoding",
                            llvm::to_string(type)};
  int64_t k = data.getRank() ? data.getShape().back() : 1;
  if (rows.getRank() < 2 || ShapedType::isDynamic(k) || k % block != 0)
    return FusionObstacle{
        "decoder_c3",
        llvm::formatv("matrices with a last dimension of a static multiple of "
                      "{0}",
                      block),
        llvm::to_string(data)};
  if (!canReshape(scale.getShape(), getScaleShape(rows.getShape(), block)))
    return FusionObstacle{"decoder_c3", "scales of the shape of the blocks",
                          llvm::to_string(scale)};
  if (data.getShape() != result.getShape() &&
      !canReshape(rows.getShape(), result.getShape()))
    return FusionObstacle{"decoder_c3", "a result of the shape of the data",
                          llvm::to_string(result)};
  return std::nullopt;
}

/// Whether `op` multiplies elements of tensors, by itself or in its body.
static bool multiplies(Operation *op) {
  if (op->getNumResults() != 1 ||
      !isa<RankedTensorType>(op->getResult(0).getType()) ||
      !isa<FloatType>(getElementTypeOrSelf(op->getResult(0))))
    return false;
  auto isProduct = [](Operation &inner) {
    return isa<arith::MulFOp, arith::ScalingExtFOp>(inner);
  };
  if (isProduct(*op))
    return true;
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  return structured && structured.hasPureTensorSemantics() &&
         structured.getNumParallelLoops() == structured.getNumLoops() &&
         llvm::any_of(*structured.getBlock(), isProduct);
}

namespace {

/// %w = linalg.generic .. ins(%q, %s : tensor<MxKx32xf4E2M1FN>,
///          tensor<MxKxf8E8M0FNU>) {
///        arith.scaling_extf
///      } -> tensor<MxKx32xbf16>
///   ->  %d = tensor.collapse_shape %q [[0], [1, 2]] ..
///       %v = blockscale.dequantize %d, %s block [1, 32] : ..
///       %w = tensor.expand_shape %v [[0], [1, 2]] ..
///
/// and so of a product of extended elements and scales, and of other shapes in
/// which the elements of a block are neighbours.
struct RaiseDecoder : public RewritePattern {
  explicit RaiseDecoder(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!multiplies(op))
      return rewriter.notifyMatchFailure(op, "multiplies no elements");
    ScalarProgram program;
    unsigned root = program.trace(op->getResult(0));
    if (auto truncate =
            dyn_cast_if_present<arith::TruncFOp>(program[root].op)) {
      if (!isNearest(truncate.getRoundingmode()))
        return rewriter.notifyMatchFailure(op, "not rounded to nearest even");
      root = program[root].operands.front();
    }
    std::optional<Decoder> decoder = findDecoder(program, root);
    if (!decoder)
      return rewriter.notifyMatchFailure(op, "no elements of a narrow format");
    bool isNear =
        decoder->isScalingOp ||
        isa<Float8E8M0FNUType, Float8E4M3FNType>(program[decoder->scale].type);
    if (!isNear)
      return rewriter.notifyMatchFailure(op, "no scales of a format");
    if (auto obstacle = raise(rewriter, op, program, *decoder)) {
      op->emitRemark("is not dequantize " + llvm::to_string(*obstacle));
      return rewriter.notifyMatchFailure(op, "a clause is not met");
    }
    return success();
  }

private:
  /// Replaces `op`, or says why not.
  static std::optional<FusionObstacle> raise(PatternRewriter &rewriter,
                                             Operation *op,
                                             const ScalarProgram &program,
                                             const Decoder &decoder) {
    if (auto obstacle = findScaleObstacle(program, decoder))
      return obstacle;
    auto result = cast<RankedTensorType>(op->getResult(0).getType());
    if (auto obstacle =
            findTypeObstacle(program, decoder, result.getElementType()))
      return obstacle;
    int64_t block = getFormatBlockSize(program[decoder.scale].type);
    RankedTensorType data = getTensorType(program, decoder.data);
    bool joins = hasBlockDim(data, block);
    RankedTensorType rows = joins ? getJoinedType(data) : data;
    if (auto obstacle = findShapeObstacle(
            data, rows, getTensorType(program, decoder.scale), result, block))
      return obstacle;
    Location loc = op->getLoc();
    Value codes = program[decoder.data].tensor;
    Value joined = joins ? createJoinedBlocks(rewriter, loc, codes) : codes;
    Value scales = createReshape(rewriter, loc, program[decoder.scale].tensor,
                                 getScaleShape(rows.getShape(), block));
    Value values = DequantizeOp::create(
        rewriter, loc, rows.clone(result.getElementType()), joined, scales,
        createGlobal(rewriter, loc, program, decoder), /*global_amax=*/Value(),
        rewriter.getDenseI64ArrayAttr({1, block}),
        decoder.isInSteps
            ? RecipeAttr::get(rewriter.getContext(), Recipe::Modelopt)
            : RecipeAttr(),
        getRaisedOrigins(rewriter, codes));
    if (joins && data.getShape() == result.getShape())
      values = createSplitBlocks(rewriter, loc, values, codes);
    else
      values = createReshape(rewriter, loc, values, result.getShape());
    rewriter.replaceOp(op, values);
    return std::nullopt;
  }

  static Value createGlobal(PatternRewriter &rewriter, Location loc,
                            const ScalarProgram &program,
                            const Decoder &decoder) {
    if (!decoder.global)
      return {};
    const ScalarProgram::Node &global = program[*decoder.global];
    if (global.constant)
      return arith::ConstantOp::create(rewriter, loc,
                                       cast<TypedAttr>(global.constant));
    auto type = dyn_cast<RankedTensorType>(global.tensor.getType());
    if (type && type.getRank() != 0)
      return tensor::CollapseShapeOp::create(rewriter, loc, global.tensor,
                                             ArrayRef<ReassociationIndices>());
    return global.tensor;
  }
};

} // namespace

void populateRaiseDecoderPatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseDecoder>(patterns.getContext());
}

} // namespace blockscale
