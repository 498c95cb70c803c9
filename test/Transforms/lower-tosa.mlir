// RUN: blockscale-opt %s --blockscale-lower-tosa | FileCheck %s
// RUN: %python -c "print('func.func @f() -> tensor<300xi32> { %%0 = \"tosa.const\"() {values = dense<' + str(list(range(300))) + '> : tensor<300xi32>} : () -> tensor<300xi32> return %%0 : tensor<300xi32> }')" | blockscale-opt --blockscale-lower-tosa | FileCheck %s --check-prefix=LARGE

// A constant of more than 1 KiB becomes a resource.
// LARGE: arith.constant dense_resource<blockscale_constant> : tensor<300xi32>
// LARGE: blockscale_constant: "0x40000000000000000100000002000000

// A bias that all rows share is read at 0 along each dimension of size 1, also where the result
// has one matrix: so it is a row for kernels.
// CHECK-DAG: #[[ALL:.+]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-DAG: #[[ROW:.+]] = affine_map<(d0, d1, d2) -> (0, 0, d2)>

// Block-scaled ops and others in one function.
// CHECK-LABEL: func.func @layer
// CHECK: blockscale.quantize %{{.+}} block [1, 32] recipe tosa
// CHECK: blockscale.scaled_mm
// CHECK: linalg.generic {indexing_maps = [#[[ALL]], #[[ROW]], #[[ALL]]]
// CHECK: arith.addf
// CHECK-NOT: tosa.
// CHECK: return
func.func @layer(%x: tensor<1x8x64xf32>, %w: tensor<1x32x64xf8E4M3FN>, %ws: tensor<1x32x2xf8E8M0FNU>, %b: tensor<1x1x32xf32>) -> tensor<1x8x32xf32> {
  %q, %s = tosa.cast_to_block_scaled %x {block_size = BLOCK_SIZE_32} : (tensor<1x8x64xf32>) -> (tensor<1x8x64xf8E4M3FN>, tensor<1x8x2xf8E8M0FNU>)
  %p = tosa.matmul_t_block_scaled %q, %s, %w, %ws {block_size = BLOCK_SIZE_32} : (tensor<1x8x64xf8E4M3FN>, tensor<1x8x2xf8E8M0FNU>, tensor<1x32x64xf8E4M3FN>, tensor<1x32x2xf8E8M0FNU>) -> tensor<1x8x32xf32>
  %y = tosa.add %p, %b : (tensor<1x8x32xf32>, tensor<1x1x32xf32>) -> tensor<1x8x32xf32>
  return %y : tensor<1x8x32xf32>
}

// An operand that nothing repeats keeps its map, also where a size is 1.
// CHECK-LABEL: func.func @not_repeated
// CHECK: linalg.generic {indexing_maps = [#[[ALL]], #[[ALL]], #[[ALL]]]
func.func @not_repeated(%x: tensor<1x8x32xf32>, %y: tensor<1x8x32xf32>) -> tensor<1x8x32xf32> {
  %0 = tosa.add %x, %y : (tensor<1x8x32xf32>, tensor<1x8x32xf32>) -> tensor<1x8x32xf32>
  return %0 : tensor<1x8x32xf32>
}

// Smaller constants and splats stay.
// CHECK-LABEL: func.func @constants
// CHECK-DAG: arith.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-DAG: arith.constant dense<1.500000e+00> : tensor<4096xf32>
func.func @constants() -> (tensor<2xf32>, tensor<4096xf32>) {
  %i = "tosa.const"() {values = dense<[1.0, 2.0]> : tensor<2xf32>} : () -> tensor<2xf32>
  %s = "tosa.const"() {values = dense<1.5> : tensor<4096xf32>} : () -> tensor<4096xf32>
  return %i, %s : tensor<2xf32>, tensor<4096xf32>
}

// Control flow becomes scf's.
// CHECK-LABEL: func.func @branches
// CHECK: scf.if
// CHECK: scaled_mm
// CHECK: else
func.func @branches(%c: tensor<i1>, %a: tensor<1x8x64xf8E4M3FN>, %s: tensor<1x8x2xf8E8M0FNU>, %y: tensor<1x8x8xf32>) -> tensor<1x8x8xf32> {
  %0 = tosa.cond_if %c : tensor<i1> -> tensor<1x8x8xf32> {
    %1 = tosa.matmul_t_block_scaled %a, %s, %a, %s {block_size = BLOCK_SIZE_32} : (tensor<1x8x64xf8E4M3FN>, tensor<1x8x2xf8E8M0FNU>, tensor<1x8x64xf8E4M3FN>, tensor<1x8x2xf8E8M0FNU>) -> tensor<1x8x8xf32>
    tosa.yield %1 : tensor<1x8x8xf32>
  } else {
    tosa.yield %y : tensor<1x8x8xf32>
  }
  return %0 : tensor<1x8x8xf32>
}

// Casts that MLIR folds to other numbers than they mean are kept, with their attributes, for
// blockscale-lower-narrow-floats.
// CHECK-LABEL: func.func @kept_cast
// CHECK-DAG: %[[INFINITY:.+]] = arith.constant 0x7F800000 : f32
// CHECK: %[[Y:.+]] = arith.truncf %[[INFINITY]] to_nearest_even fastmath<nnan> : f32 to f4E2M1FN
// CHECK: return %[[Y]], %{{.+}} : f4E2M1FN, tensor<2xf32>
func.func @kept_cast(%x: tensor<2xf32>) -> (f4E2M1FN, tensor<2xf32>) {
  %infinity = arith.constant 0x7F800000 : f32
  %y = arith.truncf %infinity to_nearest_even fastmath<nnan> : f32 to f4E2M1FN
  %z = tosa.abs %x : (tensor<2xf32>) -> tensor<2xf32>
  return %y, %z : f4E2M1FN, tensor<2xf32>
}
