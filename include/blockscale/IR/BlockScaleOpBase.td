//===- BlockScaleOpBase.td - Op classes and operand types --*- tablegen -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_IR_BLOCKSCALEOPBASE_TD
#define BLOCKSCALE_IR_BLOCKSCALEOPBASE_TD

include "blockscale/IR/BlockScaleAttributes.td"
include "blockscale/IR/BlockScaleInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ValueBoundsOpInterface.td"

class BlockScale_Op<string mnemonic, list<Trait> traits = []>
    : Op<BlockScale_Dialect, mnemonic, traits> {
  // lib/IR/Bytecode.cpp writes them.
  let useCustomPropertiesEncoding = 1;
}

/// A value-semantic op on logical tensors, with shapes that can be reified.
class BlockScale_TensorOp<string mnemonic, list<Trait> traits = []>
    : BlockScale_Op<mnemonic, traits # [Pure,
        DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
          ["reifyResultShapes"]>]>;

/// Sizes of results that slices are compared with.
def BlockScale_ValueBounds : DeclareOpInterfaceMethods<ValueBoundsOpInterface,
    ["populateBoundsForShapedValueDim"]>;

/// What a quantizer reads. Recipes compute in f32, and each of these types has
/// values that f32 has.
def BlockScale_InputTensor : RankedTensorOf<[F16, BF16, F32]>;
def BlockScale_DataTensor
    : RankedTensorOf<[F4E2M1FN, F6E2M3FN, F6E3M2FN, F8E4M3FN, F8E5M2, I8]>;
/// An operand of a product: data under block scales, or plain bf16 or f16.
def BlockScale_FactorTensor : RankedTensorOf<[
    F4E2M1FN, F6E2M3FN, F6E3M2FN, F8E4M3FN, F8E5M2, I8, BF16, F16]>;
def BlockScale_ScaleTensor : RankedTensorOf<[F8E4M3FN, F8E8M0FNU]>;
def BlockScale_ResultTensor : RankedTensorOf<[F32, BF16, F16]>;

/// An operand that has no layout: storage would drop the encoding.
class BlockScale_PlainTensorOf<list<Type> types> : ConfinedType<
    RankedTensorOf<types>,
    [CPred<"!::llvm::cast<::mlir::RankedTensorType>($_self).getEncoding()">],
    RankedTensorOf<types>.summary # " without encoding">;
def BlockScale_F32Tensor : BlockScale_PlainTensorOf<[F32]>;
def BlockScale_BiasTensor : BlockScale_PlainTensorOf<[F32, BF16, F16]>;
/// Seed and offset of random bits, and where x lies in a larger tensor.
def BlockScale_RngTensor : BlockScale_PlainTensorOf<[I64]>;
/// Ends of groups, on device.
def BlockScale_OffsetsTensor : BlockScale_PlainTensorOf<[I32]>;
/// One value per tensor (scalar or 0-d), batch element, row or group.
def BlockScale_GlobalValue : AnyTypeOf<[F32, BlockScale_F32Tensor]>;

#endif // BLOCKSCALE_IR_BLOCKSCALEOPBASE_TD
