//===- RankBufferization.cpp - Bufferization of reductions over ranks -----===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bufferization.h"
#include "blockscale/IR/BlockScaleDialect.h"
#include "blockscale/IR/Upstream.h"

using namespace mlir;
using namespace mlir::bufferization;

namespace blockscale {

namespace {

/// Amaxes are reduced where they are. The host takes memory without gaps, so
/// others are reduced in a copy.
struct AmaxOverRanksModel
    : public BufferizableOpInterface::ExternalModel<AmaxOverRanksModel,
                                                    AmaxOverRanksOp> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &,
                              const AnalysisState &) const {
    return true;
  }

  bool bufferizesToMemoryWrite(Operation *, OpOperand &,
                               const AnalysisState &) const {
    return true;
  }

  AliasingValueList getAliasingValues(Operation *op, OpOperand &,
                                      const AnalysisState &) const {
    return {{op->getResult(0), BufferRelation::Equivalent}};
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    Location loc = op->getLoc();
    FailureOr<Value> buffer =
        getBuffer(rewriter, op->getOperand(0), options, state);
    if (failed(buffer))
      return failure();
    auto type = cast<MemRefType>(buffer->getType());
    bool hasGaps = !type.areTrailingDimsContiguous(type.getRank());
    FailureOr<Value> place =
        hasGaps ? allocateLike(rewriter, *buffer, options) : buffer;
    if (failed(place))
      return failure();
    if (hasGaps &&
        failed(upstream::createMemCpy(options, rewriter, loc, *buffer, *place)))
      return failure();
    AmaxOverRanksOp::create(rewriter, loc, Type(), *place);
    if (hasGaps &&
        failed(upstream::createMemCpy(options, rewriter, loc, *place, *buffer)))
      return failure();
    replaceOpWithBufferizedValues(rewriter, op, *buffer);
    return success();
  }
};

} // namespace

void attachAmaxOverRanksModel(MLIRContext &context) {
  AmaxOverRanksOp::attachInterface<AmaxOverRanksModel>(context);
}

} // namespace blockscale
