//===- BlockScaleDialect.td - Dialect definition -----------*- tablegen -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_IR_BLOCKSCALEDIALECT_TD
#define BLOCKSCALE_IR_BLOCKSCALEDIALECT_TD

include "mlir/IR/OpBase.td"

def BlockScale_Dialect : Dialect {
  let name = "blockscale";
  let cppNamespace = "::blockscale";
  let summary = "Block-scaled tensors: quantize, swizzle and multiply them";
  let description = [{
    A block-scaled tensor is two tensors: narrow *data* (4 or 8 bits an
    element) and one *block scale* for every block of 16 or 32 elements, and
    optionally one f32 *global scale*:

    ```text
    x[m, k]  ~  data[m, k] * scale[m, k / B] * global
    ```

    Data, scales and the global scale are separate SSA values of builtin types.
    The element types say the format: f4E2M1FN data with f8E4M3FN scales is
    NVFP4, f8E8M0FNU scales are MX. The storage order of a scale tensor is its
    encoding, `#blockscale.layout`. Arithmetic is fixed by a named recipe.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
}

#endif // BLOCKSCALE_IR_BLOCKSCALEDIALECT_TD
